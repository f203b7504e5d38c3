"""Words that speak for one label and against another."""

import math
import random

import pytest

from subsvms.app.desk.evidence import CHARACTERS, MOST_MARKS, WordCounts, count_units

TEXTS = ["my card is blocked", "a card, please", "a refund, please", "refund my order"] * 10
CODES = [0, 0, 1, 1] * 10


def test_a_word_is_compared_as_a_plain_count_says():
    counts = WordCounts(TEXTS, CODES, 2)
    share = [(20 + 0.5) / 21, 0.5 / 21]
    expected = math.log(share[0] / (1 - share[0])) - math.log(share[1] / (1 - share[1]))
    assert counts.compare("card", 0, 1) == pytest.approx(expected)
    assert counts.compare("card", 1, 0) == pytest.approx(-expected)
    assert counts.compare("please", 0, 1) == 0.0  # as often in both


def test_a_rare_word_is_left_alone_and_one_without_a_given_label_is_compared_with_all_others():
    counts = WordCounts([*TEXTS, "zebra"], [*CODES, 0], 2)
    assert counts.compare("zebra", 0, 1) == 0.0
    three = WordCounts([*TEXTS, *["my login"] * 20], [*CODES, *[2] * 20], 3)
    assert three.compare("login", 2, -1) > 3 and three.compare("card", 2, -1) < 0


def test_rows_without_a_label_are_not_counted():
    counts = WordCounts(["card"] * 9, [-1] * 9, 2)
    assert counts.n_texts == [0, 0] and counts.compare("card", 0, 1) == 0.0


def test_places_are_those_of_javascript():
    text = "\U0001f642\U0001f642 Card \U0001f642 refund"
    marks = WordCounts(TEXTS, CODES, 2).mark(text, 0, 1)
    units = text.encode("utf-16-le")
    words = [(units[2 * start : 2 * end].decode("utf-16-le"), side) for start, end, side, _ in marks]
    assert words == [("Card", "for"), ("refund", "against")]
    assert count_units("", []) == []


def test_marks_are_few_strong_and_in_order():
    marks = WordCounts(TEXTS, CODES, 2).mark("card refund " * 500, 0, 1)
    assert len(marks) == MOST_MARKS and marks == sorted(marks)
    assert all(0 < strength <= 1 for *_, strength in marks)


def test_random_labels_give_next_to_no_words():
    """Twice the error is one word in twenty, and discrete counts of few texts give fewer."""
    chance = random.Random(0)
    words = [f"word{i}" for i in range(300)]
    texts = [" ".join(chance.sample(words, 30)) for _ in range(400)]
    counts = WordCounts(texts, [chance.randrange(2) for _ in texts], 2)
    assert sum(counts.compare(word, 0, 1) != 0 for word in words) < 0.08 * len(words)


def test_a_text_without_end_takes_a_bounded_time():
    counts = WordCounts(["x" * 10**6 + " card"], [0], 2)
    assert max(map(len, counts.counts[0])) == CHARACTERS

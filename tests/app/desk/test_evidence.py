"""What reviewers see of columns: long texts whole, those that separate first, words that speak for labels."""

import json
import math
import random
from contextlib import closing

import numpy as np
import pytest
from loans import call, read, write
from pyarrow import parquet
from tickets import TOPICS

from subsvms.app.desk import evidence
from subsvms.app.desk.evidence import WordCounts, count_units, separate_categories, separate_numbers, shorten
from subsvms.app.desk.review import Filter, ReviewDesk
from subsvms.app.desk.rows import space_evenly
from subsvms.app.runs.answer_store import Act
from subsvms.app.runs.parquet_files import ODDS


def test_a_long_text_is_whole_in_a_row_and_its_witnesses_and_an_excerpt_in_the_list(tickets):
    rows = read(tickets.folder.with_name("tickets.csv"))
    row = int(tickets.rows[0])
    found = tickets.describe(row)
    names = [column["name"] for column in found["columns"]]
    assert found["values"][names.index("text")] == rows[row - 1]["text"] and len(rows[row - 1]["text"]) > 400
    for witness in found["supporting"] + found["opposing"]:
        assert witness["values"][names.index("text")] == rows[witness["row"] - 1]["text"]
    (preview,) = tickets.list_briefly([0])[0]["preview"]
    assert preview["column"] == "text" and len(preview["excerpt"]) == evidence.EXCERPT + 1
    assert tickets.meta["long_columns"] == ["text"] and tickets.meta["keys"] == ["card", "login", "refund"]


def test_the_search_looks_at_the_whole_text(tickets):
    rows = read(tickets.folder.with_name("tickets.csv"))
    found = tickets.rows[tickets.find(Filter(search="REFUND"))].tolist()
    expected = [row for row in tickets.rows.tolist() if "refund" in rows[row - 1]["text"]]
    assert sorted(found) == sorted(expected) and expected
    assert any("refund" not in rows[row - 1]["text"][:300] for row in expected)


def test_marked_words_are_those_of_the_topics_on_the_right_side(tickets):
    row = int(tickets.rows[tickets.flagged][0])
    found = tickets.describe(row)
    text = found["values"][[column["name"] for column in found["columns"]].index("text")]
    units = text.encode("utf-16-le")
    sides = {"for": set(), "against": set()}
    for start, end, side, strength in found["marks"]["text"]:
        sides[side].add(units[2 * start : 2 * end].decode("utf-16-le"))
        assert 0 < strength <= 1
    assert sides["for"] and len(sides["for"] & set(TOPICS[found["suggested"]])) >= 0.7 * len(sides["for"])
    assert not sides["against"] & set(TOPICS[found["suggested"]])
    assert any(witness["marks"]["text"] for witness in found["supporting"])


def test_columns_that_separate_come_first_and_those_that_were_not_used_last(quiet):
    found = quiet.describe(int(quiet.rows[0]))["columns"]
    names = [column["name"] for column in found]
    assert set(names[:3]) == {"age", "size", "colour"}
    assert [column["name"] for column in found if not column["used"]] == names[-2:]
    assert set(names[-2:]) == {"id", "who"}  # an identifier, and what --by groups
    separation = [column["separation"] for column in found if column["used"]]
    assert separation == sorted(separation, reverse=True) and 0 <= min(separation) < max(separation) <= 1
    preview = quiet.list_briefly([0])[0]["preview"]
    assert [one["column"] for one in preview] == names[:2]


def test_a_row_without_witnesses_is_placed_among_the_rows_of_its_classes(quiet, monkeypatch):
    assert quiet.describe(int(quiet.rows[0]))["places"] == {}
    monkeypatch.setattr(quiet, "compared", [([], [])] * len(quiet))
    rows = read(quiet.folder.with_name("loans.csv"))
    for number in (0, int(np.flatnonzero(quiet.given < 0)[0])):
        row = int(quiet.rows[number])
        found, new = quiet.describe(row), quiet.classes[quiet.suggested[number]]
        ranked = [column for column in found["columns"] if column["used"]]
        assert {column["name"] for column in ranked[:3]} == {"age", "size", "colour"}
        separation = [column["separation"] for column in ranked]
        assert separation == sorted(separation, reverse=True) and separation[2] > 0.2 > separation[3]
        own = found["given"] if found["given"] is not None else "no" if new == "yes" else "yes"
        sides = [[one for one in rows if one["default"] == label] for label in (new, own)]
        sizes = [[float(one["size"]) for one in side] for side in sides]
        place = found["places"]["size"]
        for known, side in zip(place["ranges"], sizes, strict=True):
            assert known == pytest.approx(np.quantile(side, evidence.RANGE))
        assert place["own"] == float(rows[row - 1]["size"])
        assert place["low"] == min(*place["ranges"][0], *place["ranges"][1], place["own"])
        colour = rows[row - 1]["colour"]
        shares = [np.mean([one["colour"] == colour for one in side]) for side in sides]
        assert found["places"]["colour"]["shares"] == pytest.approx(shares)
        assert json.dumps(found["places"], allow_nan=False)


def test_numbers_of_other_rows_are_measured_in_standard_deviations(quiet):
    row = int(quiet.rows[0])
    rows, found = read(quiet.folder.with_name("loans.csv")), quiet.describe(row)
    scale = np.std([float(one["size"]) for one in rows])
    for witness in found["supporting"] + found["opposing"]:
        far = float(rows[witness["row"] - 1]["size"]) - float(rows[row - 1]["size"])
        assert witness["apart"]["size"] == pytest.approx(far / scale, abs=0.006)
        assert set(witness["apart"]) <= {"age", "size"}


def test_probabilities_of_a_row_add_up_and_the_suggestion_is_never_surer_than_the_error(quiet, tickets):
    for desk in (quiet, tickets):
        assert np.all(desk.probability[desk.given >= 0] <= desk.expected[desk.given >= 0] + 1e-9)
        shown = [desk.brief(number) for number in range(len(desk))]
        for one in shown:
            rest = one["next"][1] if one["next"] else 0.0
            total = one["probability"] + rest + (0 if one["expected"] is None else 1 - one["expected"])
            known = 2 if one["expected"] is None else 3
            assert rest <= 1 and total <= 1.0002 and (len(desk.classes) > known or total >= 0.9998)
            assert one["next"] is None or one["next"][0] not in (one["given"], one["suggested"])
    assert any(one["next"] for one in shown)


def test_a_run_of_an_earlier_version_has_no_runner_up(tickets):
    path = tickets.folder / "issues.parquet"
    parquet.write_table(parquet.read_table(path).drop_columns([*ODDS]), path)
    with closing(ReviewDesk(tickets.folder)) as old:
        assert old.brief(0)["next"] is None and np.all(old.probability <= 1)
        assert np.all(old.probability[old.given >= 0] <= old.expected[old.given >= 0])


@pytest.mark.parametrize("sides, expected", [
    (([1.0, 2.0], [np.nan]), 0.0), (([], [1.0]), 0.0), (([0.0], [9.0]), 1.0), (([1.0], [2.0]), 0.5),
])  # fmt: skip
def test_numbers_are_compared_in_standard_deviations_and_categories_by_their_shares(sides, expected):
    assert separate_categories(["a", "b"], ["b", "a"]) == 0.0
    assert separate_numbers(*sides, 1.0) == expected
    assert separate_numbers(*sides, 0.0) == 0.0


def test_tables_without_names_of_columns_and_wide_or_odd_cells_can_be_shown(tmp_path):
    lines = [f"{i % 2 if i % 9 else 1 - i % 2} 1:{i % 2 + i / 900:.3f} 2:{i % 5}" for i in range(200)]
    (tmp_path / "t.svm").write_text("\n".join(lines))
    call("correct", tmp_path / "t.svm", "--label", "label", "--quiet", "--svms", 30)
    desk = ReviewDesk(tmp_path / "t.subsvms")
    found = desk.describe(int(desk.rows[0]))
    assert [column["name"] for column in found["columns"]] == ["features"] and found["columns"][0]["used"]
    assert found["values"][0].startswith("1:") and desk.list_briefly([0])[0]["preview"]
    assert len(desk.find(Filter(search="2:3"))) == sum("2:3" in line for (line,) in desk.show(desk.rows))
    desk.decisions.close()


def test_a_million_characters_are_cut_where_absurd_and_can_be_decided(tmp_path):
    rows = [{"a": i % 2 + i / 500, "text": "x" * (150_000 if i == 0 else 5), "y": i % 2} for i in range(60)]
    rows[0]["y"] = 1
    call("correct", write(tmp_path / "t.csv", rows), "--label", "y", "--quiet", "--svms", 30)
    desk = ReviewDesk(tmp_path / "t.subsvms")
    found = desk.describe(1)
    lengths = sorted(map(len, found["values"]))
    assert lengths[-1] == 100_001
    desk.decide_many([Act([desk.settle(1, "drop", None, "too long")], "Ann")])
    assert desk.progress.describe()["dropped"] == 1
    desk.decisions.close()


def test_excerpts_are_one_line():
    assert shorten("a\n\tb " * 200).startswith("a b a b") and len(shorten("x" * 999)) == evidence.EXCERPT + 1
    assert evidence.LONG < evidence.EXCERPT and space_evenly(0, 5).tolist() == []


# Words

TEXTS = ["my card is blocked", "a card, please", "a refund, please", "refund my order"] * 10
CODES = [0, 0, 1, 1] * 10


def test_a_word_is_compared_as_a_plain_count_says():
    counts = WordCounts(TEXTS, CODES, 2)
    share = [(20 + 0.5) / 21, 0.5 / 21]
    expected = math.log(share[0] / (1 - share[0])) - math.log(share[1] / (1 - share[1]))
    assert counts.compare("card", 0, 1) == pytest.approx(expected)
    assert counts.compare("card", 1, 0) == pytest.approx(-expected)
    assert counts.compare("please", 0, 1) == 0.0  # as often in both


def test_stop_words_are_no_evidence_in_any_of_the_languages():
    texts = ["the und les para non het card"] * 30 + ["refund"] * 30
    counts = WordCounts(texts, [0] * 30 + [1] * 30, 2)
    assert [text[start:end] for text in texts[:1] for start, end, *_ in counts.mark(text, 0, 1)] == ["card"]
    assert counts.compare("refund", 1, 0) > 3 and counts.lean(["the und les"], 0, 1) == 0.0
    assert all(word == word.casefold() and len(word) > 1 for word in evidence.read_stop_words())


def test_an_excerpt_is_around_what_is_searched_for():
    text = "a " * 300 + "needle " + "b " * 300
    assert "needle" in shorten(text, around="NEEDLE") and shorten(text, around="NEEDLE").startswith("…")
    assert shorten(text, around="nothing") == shorten(text)
    assert shorten("short needle", around="needle") == "short needle"


def test_a_rare_word_is_left_alone_and_one_without_a_given_label_is_compared_with_all_others():
    counts = WordCounts([*TEXTS, "zebra"], [*CODES, 0], 2)
    assert counts.compare("zebra", 0, 1) == 0.0
    three = WordCounts([*TEXTS, *["my login"] * 20], [*CODES, *[2] * 20], 3)
    assert three.compare("login", 2, -1) > 3 and three.compare("card", 2, -1) < 0
    none = WordCounts(["card"] * 9, [-1] * 9, 2)
    assert none.n_texts == [0, 0] and none.compare("card", 0, 1) == 0.0


def test_places_are_those_of_javascript():
    text = "\U0001f642\U0001f642 Card \U0001f642 refund"
    marks = WordCounts(TEXTS, CODES, 2).mark(text, 0, 1)
    units = text.encode("utf-16-le")
    words = [(units[2 * start : 2 * end].decode("utf-16-le"), side) for start, end, side, _ in marks]
    assert words == [("Card", "for"), ("refund", "against")]
    assert count_units("", []) == []


def test_marks_are_few_strong_and_in_order():
    marks = WordCounts(TEXTS, CODES, 2).mark("card refund " * 500, 0, 1)
    assert len(marks) == evidence.MOST_MARKS and marks == sorted(marks)
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
    assert max(map(len, counts.counts[0])) == evidence.CHARACTERS

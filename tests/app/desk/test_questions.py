"""Answers that came before their turn, about rows of a set that passed without them."""

import pytest

from subsvms.app.desk.questions import Turns
from subsvms.audit import Audit, Ranking


def answer_early(early, *, repeat=False, classes=("a", "b", "c")):
    """Answer all by the suggestion, but first some rows of the first set as `early` says."""
    n = 300
    given = [classes[i % len(classes)] for i in range(n)]
    suggested = [classes[(i + 1) % len(classes)] for i in range(n)]
    ranking = Ranking.make(given, suggested, range(n), flagged=[i < 100 for i in range(n)])
    turns = Turns(Audit(ranking, 40, repeat=repeat))
    rows = turns.list_open()[-len(early) :]
    for row, which in zip(rows, early, strict=True):
        turns.add(row, {"given": given[row], "suggested": suggested[row], None: None}.get(which, which))
    while not turns.audit.claim.sets:
        row = turns.list_open()[0]
        turns.add(row, suggested[row])
    assert rows and set(turns.early) == set(rows)
    return turns, rows, given, suggested


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c")])
def test_answers_outside_the_claim_are_not_changed_unseen(classes):
    turns, rows, given, suggested = answer_early(["given", "suggested", None], classes=classes)
    assert set(turns.audit.claim.changed) - set(turns.changed) == set(rows)
    assert turns.said.startswith(str(turns.audit.claim)) and turns.said.endswith(
        " 3 other answers that came out of their turn count more, and are in none of these numbers."
    )
    assert turns.labels[rows[0]] == given[rows[0]] and turns.labels[rows[1]] == suggested[rows[1]]


def test_one_answer_outside_the_claim_is_said_in_the_singular():
    turns, *_ = answer_early(["given"])
    assert turns.said.endswith(
        " 1 other answer that came out of its turn counts more, and is in none of these numbers."
    )


def test_cannot_tell_leaves_the_label_of_a_set_that_passed():
    turns, (row,), *_ = answer_early([None])
    assert row in turns.audit.claim.changed and row not in turns.changed and row not in turns.labels


@pytest.mark.parametrize("repeat", [False, True])
def test_one_answer_alone_overturns_no_label_that_would_be_asked_again(repeat):
    turns, rows, given, suggested = answer_early(["a", "b", "c"], repeat=repeat)
    for row, label in zip(rows, "abc", strict=True):
        assert row not in turns.changed
        if not repeat or label in (given[row], suggested[row]):
            assert turns.labels[row] == label
        else:
            assert row not in turns.labels
    others = [label not in (given[row], suggested[row]) for row, label in zip(rows, "abc", strict=True)]
    assert any(others)

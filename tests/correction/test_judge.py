"""What the user is told about the labels of a whole table."""

import numpy as np
from judged_votes import make_rule, make_table

from subsvms.correction._judge import gather_notes


def find_notes(votes, labels, matrix, **more):
    return gather_notes(make_rule(votes, labels, matrix, **more), votes, labels)


def test_a_class_with_too_few_rows_is_named():
    votes, labels, _, _ = make_table(0)
    labels[:] = 0
    labels[:4] = 1
    assert "4 labelled rows" in find_notes(votes, labels, np.eye(2))[0]


def test_labels_that_the_votes_do_not_predict_are_noted():
    votes, labels, _, _ = make_table(0)
    notes = find_notes(votes, labels, [[0.9, 0.1], [0.3, 0.7]], evidence=1.0)
    assert any("do not predict the labels" in note for note in notes)


def test_a_class_whose_majority_is_contradicted_is_named():
    votes, labels, _, u = make_table(0, rates=(0.0, 0.0))
    labels[u > -0.5] = 1
    labels[(u > 0) & (np.arange(len(u)) % 2 == 0)] = 0  # class 1 now holds more of the others than its own
    notes = find_notes(votes, labels, [[0.4, 0.6], [0.0, 1.0]])
    assert any("contradicts most rows labelled '1'" in note for note in notes)


def test_clean_votes_raise_no_note():
    votes, labels, _, _ = make_table(0, rates=(0.0, 0.0))
    assert find_notes(votes, labels, np.eye(2)) == ()


def test_labels_that_run_against_the_votes_near_the_border_are_noted(seed):
    votes, labels, _, u = make_table(seed, rates=(0.0, 0.0))
    near = np.abs(u) < 0.25
    labels = np.where(near, u < 0, u > 0).astype(int)
    notes = find_notes(votes, labels, np.eye(2))
    assert any("labels run against them" in note and "rule='majority'" in note for note in notes)


def test_uniform_flips_are_not_mistaken_for_flips_near_the_border(seed):
    votes, labels, _, _ = make_table(seed, rates=(0.2, 0.2))
    notes = find_notes(votes, labels, [[0.8, 0.2], [0.2, 0.8]])
    assert not any("run against" in note for note in notes)

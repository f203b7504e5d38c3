from dataclasses import replace

import numpy as np
import pytest
from judged_votes import make_rule, make_table, make_votes

from subsvms.correction._learn import gather_notes
from subsvms.correction._noise import NoiseEstimate
from subsvms.correction._rule import Rule, Settings
from subsvms.ensemble._votes import Votes


def find_notes(votes, labels, matrix, **more):
    return gather_notes(make_rule(votes, labels, matrix, **more), votes, labels)


def test_a_class_whose_majority_is_contradicted_is_named():
    votes, labels, _, u = make_table(0, rates=(0.0, 0.0))
    labels[u > -0.5] = 1
    labels[(u > 0) & (np.arange(len(u)) % 2 == 0)] = 0  # class 1 now holds more of the others than its own
    notes = find_notes(votes, labels, [[0.4, 0.6], [0.0, 1.0]])
    assert any("contradicts most rows labelled '1'" in note for note in notes)


def test_of_several_classes_any_with_more_votes_contradicts_a_label_and_an_equal_number_does_not():
    counts = np.array([[4, 6, 0], [5, 5, 0], [0, 1, 9], [0, 0, 0], [1, 9, 0]])
    votes = Votes(counts, 2.0 * counts - 10, counts.sum(axis=1))
    assert votes.contradict(np.array([0, 1, 1, 0, -1])).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("share, changing, high, noted", [
    (0.25, True, 0.1, "overlap"), (0.25, False, 0.1, None), (0.08, True, 0.0, None),
    (0.15, True, 0.05, "overlap"), (0.25, True, 0.22, None), (0.4, True, 0.38, "half"),
    (0.4, False, 0.1, "overlap"),
])  # fmt: skip
def test_a_note_says_what_contradicted_labels_may_be_instead(share, changing, high, noted):
    labels = np.tile([0, 1], 500)
    against = np.arange(1000) < 1000 * share
    votes = make_votes(np.where(labels ^ against, 0.9, -0.9))
    rule = make_rule(votes, labels, np.eye(2))
    rule = replace(rule, noise=replace(rule.noise, error_rate_interval=np.array([0.0, high])))
    notes = gather_notes(rule, votes, labels, changing=changing)
    assert [note.kind for note in notes] == ([] if noted is None else ["contradicted"])
    assert all(("more than half of the labels are wrong" in note) == (noted == "half") for note in notes)


def test_labels_that_run_against_the_votes_near_the_border_are_noted_and_uniform_flips_are_not(seed):
    votes, labels, _, u = make_table(seed, rates=(0.0, 0.0))
    assert find_notes(votes, labels, np.eye(2)) == ()
    against = np.where(np.abs(u) < 0.25, u < 0, u > 0).astype(int)
    notes = find_notes(votes, against, np.eye(2))
    assert any("labels run against them" in note and "rule='majority'" in note for note in notes)
    votes, labels, _, _ = make_table(seed, rates=(0.2, 0.2))
    notes = find_notes(votes, labels, [[0.8, 0.2], [0.2, 0.8]])
    assert not any("run against" in note for note in notes)


def test_many_classes_give_one_note_that_names_five():
    """Nine classes have two rows each; of eleven others, all rows of six are contradicted."""
    given = np.concatenate([np.repeat(np.arange(9), 2), np.repeat(np.arange(9, 20), 40)])
    winners = np.where((given >= 9) & (given < 15), given + 5, given)
    counts = 100 * np.eye(20, dtype=int)[winners]
    votes = Votes(counts, 2.0 * counts - 100, np.full(len(given), 100))
    matrix, sizes = np.eye(20), np.bincount(given)
    noise = NoiseEstimate(
        np.array([f"c{i}" for i in range(20)]), matrix, np.zeros((20, 2)), sizes / len(given), np.zeros(2),
        np.full(20, 50.0),
    )  # fmt: skip
    scarce, contradicted = gather_notes(Rule(noise, sizes, sizes, Settings()), votes, given)
    assert scarce.startswith("9 classes, 'c0' (2), ") and "c5" not in scarce
    assert "'c4' (2) and 4 more: " in scarce
    assert "most rows labelled 'c9' (100 %), " in contradicted and "c14" not in contradicted
    assert "'c13' (100 %) and 1 more, and 52 % of all labels." in contradicted
    assert "classes that overlap look the same." in contradicted
    pooled, _ = gather_notes(Rule(noise, np.maximum(sizes, 10), sizes, Settings()), votes, given)
    assert "in the sample" in pooled and "'c4' (2 of 10) and 4 more: " in pooled

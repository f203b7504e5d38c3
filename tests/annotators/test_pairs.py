"""Copies are found, and people who are merely good are not taken for copies."""

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

from subsvms.annotators import find_consensus
from subsvms.annotators._answers import read_answers
from subsvms.annotators._pairs import ALWAYS, count_pairs, find_constant, find_copying, weigh_answers


def find(wide):
    _, both, equal = count_pairs(read_answers(wide))
    return find_copying(both, equal, 3)


def test_copies_of_one_person_count_as_one(ask, seed):
    truth, wide = ask([0.2, 0.2, 0.3, 0.25, 0.3, 0.3], n=300, seed=seed)
    wide[:, 1] = wide[:, 0]
    shared = find(wide)
    assert shared[0, 1] > 0.9 and shared[2:, 2:].max() < 0.2
    weights = weigh_answers(read_answers(wide), judged=False)
    assert (weights.weight[weights.person < 2] < 0.55).all()
    consensus = find_consensus(None, wide, random_state=0)
    assert np.mean(consensus.labels != truth) <= np.mean(consensus.majority != truth) + 0.01


def test_good_people_are_no_copies_of_each_other(ask, seed):
    _, wide = ask([0.02, 0.03, 0.03, 0.3, 0.4, 2 / 3], n=300, seed=seed)
    assert find(wide).max() < 0.3


def test_the_order_of_people_does_not_matter(ask, seed):
    _, wide = ask([0.1, 0.2, 0.3, 0.2], n=100, seed=seed)
    wide[:, 2] = wide[:, 3]
    order = np.array([2, 0, 3, 1])
    np.testing.assert_allclose(find(wide[:, order]), find(wide)[np.ix_(order, order)], atol=1e-9)


def test_who_always_says_the_same_has_no_say_unless_everybody_nearly_does(ask):
    _, wide = ask([0.1, 0.2, 0.2], n=100)
    wide[:, 2] = "a"
    read = read_answers(wide)
    assert_array_equal(find_constant(read), [2])
    assert not weigh_answers(read, judged=True).weight[read.person == 2].any()
    rare = np.full((60, 3), "a", dtype=object)
    rare[0, 0] = "b"
    assert not len(find_constant(read_answers(rare)))
    assert ALWAYS < 1.0


def test_who_saw_a_batch_of_one_class_is_not_thought_to_always_say_the_same():
    truth = np.repeat(["a", "b"], 60)
    lines = [(row, person, truth[row]) for row in range(120) for person in ("ann", "bob")]
    lines += [(row, "cem", "a") for row in range(30)]
    assert not len(find_constant(read_answers(pd.DataFrame(lines, columns=["row", "person", "label"]))))
    lines += [(row, "cem", "a") for row in range(60, 90)]
    found = read_answers(pd.DataFrame(lines, columns=["row", "person", "label"]))
    assert [found.names[one] for one in find_constant(found)] == ["cem"]


def test_two_people_are_not_told_apart_without_a_judge(ask):
    _, wide = ask([0.1, 0.4], n=100)
    read = read_answers(wide)
    assert weigh_answers(read, judged=False).alike and not weigh_answers(read, judged=True).alike

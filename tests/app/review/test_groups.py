"""Similar issues."""

import numpy as np

from subsvms.app.review.groups import find_groups


def test_issues_that_share_witnesses_and_both_labels_are_a_group():
    given = np.array([0, 0, 1, 0, 0])
    witnesses = [[1, 2, 3], [3, 2, 9], [1, 2, 3], [9, 3, 4], []]
    assert find_groups(given, 1 - given, witnesses, 2).tolist() == [0, 0, -1, 0, -1]
    assert find_groups(given[:0], given[:0], []).tolist() == []


def test_the_groups_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    given, suggested = rng.integers(0, 2, 200), rng.integers(2, 4, 200)
    witnesses = rng.integers(0, 40, (200, 3)).tolist()
    order = rng.permutation(200)
    first = find_groups(given, suggested, witnesses, 2)
    second = find_groups(given[order], suggested[order], [witnesses[i] for i in order], 2)
    as_sets = [{frozenset(np.flatnonzero(one == g).tolist()) for g in one[one >= 0]} for one in (first,)]
    assert as_sets[0] == {frozenset(order[second == g].tolist()) for g in second[second >= 0]}

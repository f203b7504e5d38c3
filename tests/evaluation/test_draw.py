import numpy as np
import pytest

from subsvms._numbers import lower_limit, upper_limit
from subsvms.evaluation import _draw as limits
from subsvms.evaluation._draw import Strata


def accuracy(a, b):
    return (a + b) / 20.0


def f1(a, b):
    return 2.0 * a / np.maximum(a + 20.0 - b, 1e-12)


def list_missed(number, sizes, asked, alpha):
    """Yield the exact probability that the upper limit is below the truth, for each pair of counts."""
    found = np.empty((asked[0] + 1, asked[1] + 1))
    for x in np.ndindex(found.shape):
        found[x] = limits.find_upper(number, Strata(np.array(sizes), np.array(asked), np.array(x)), alpha)
    one, two = (limits.list_chances(n, np.arange(n + 1), m) for n, m in zip(sizes, asked, strict=True))
    for a in range(sizes[0] + 1):
        for b in range(sizes[1] + 1):
            yield np.sum(np.outer(one[a], two[b]) * (found < number(np.array(a), np.array(b)) - 1e-9))


@pytest.mark.parametrize("number", [accuracy, f1])
@pytest.mark.parametrize(("sizes", "asked"), [((12, 8), (5, 4)), ((15, 5), (6, 5)), ((13, 7), (6, 0))])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_no_pair_of_counts_is_missed_more_often_than_alpha_and_some_nearly_so(number, sizes, asked, alpha):
    missed = list(list_missed(number, sizes, asked, alpha))
    assert max(missed) <= alpha
    assert max(missed) > alpha / 8  # it is no wider than small counts make it


def test_blocks_can_only_widen_a_limit(monkeypatch):
    strata = Strata(np.array([60, 40]), np.array([12, 9]), np.array([10, 4]))
    exact = limits.find_upper(np.add, strata, 0.05)
    for blocks in (1, 3, 10):
        monkeypatch.setattr(limits, "MOST_BLOCKS", blocks)
        assert exact <= limits.find_upper(np.add, strata, 0.05) <= 100
    monkeypatch.setattr(limits, "MOST_BLOCKS", 40)
    assert limits.find_upper(np.add, strata, 0.05) <= exact + 2


def test_lower_limits_are_upper_ones_of_the_wrong_rows():
    strata = Strata(np.array([60, 40]), np.array([12, 9]), np.array([10, 4]))
    low, high = limits.find_lower(np.add, strata, 0.05), limits.find_upper(np.add, strata.swap(), 0.05)
    assert low == 100 - high


def test_one_stratum_is_the_exact_hypergeometric_limit_and_a_stratum_that_is_asked_in_full_is_known():
    alone = Strata(np.array([50, 0]), np.array([10, 0]), np.array([7, 0]))
    chances = limits.list_chances(50, np.arange(51), 10)
    possible = np.flatnonzero(chances[:, :8].sum(axis=1) > 0.05 * (1 - limits.FOR_REGION))
    assert limits.find_upper(np.add, alone, 0.05) == possible.max()
    both = Strata(np.array([6, 4]), np.array([6, 4]), np.array([5, 1]))
    assert limits.find_upper(np.add, both, 0.05) == limits.find_lower(np.add, both, 0.05) == 6


@pytest.mark.parametrize("m", [50, 100, 200])
@pytest.mark.parametrize(
    ("sizes", "shares"), [((850, 150), (0.97, 0.4)), ((900, 100), (0.9, 0.5)), ((1800, 200), (0.99, 0.3))]
)
def test_two_strata_are_narrower_than_a_plain_sample_with_the_interval_of_clopper_and_pearson(
    m, sizes, shares
):
    sizes = np.array(sizes)
    right = np.round(sizes * shares).astype(int)
    few = round(m * sizes[1] * 0.46 / (sizes[0] * 0.36 + sizes[1] * 0.46))
    asked = np.array([m - few, few])
    seen = Strata(sizes, asked, np.round(asked * shares).astype(int))
    width = limits.find_upper(np.add, seen, 0.025) - limits.find_lower(np.add, seen, 0.025)
    k = round(m * right.sum() / sizes.sum())
    plain = upper_limit(k, m, 0.975) - lower_limit(k, m, 0.975)
    assert width / sizes.sum() < 0.97 * plain

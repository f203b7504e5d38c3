import itertools

import numpy as np
import pytest
from known_rings import list_passes

from subsvms.audit import _evidence as _exact

SETTINGS = [(8, 7), (15, 14), (30, 15), (60, 30), (150, 40), (600, 40)]  # rows, and answers at most
THRESHOLDS = [0.5, 2 / 3]


def walk(N, W, needed, threshold):
    """Return the chance of a false pass of a set with W hits, one outcome after another: slow and plain."""
    return sum(p for n, h, p in list_passes(N, W, needed) if W - h <= threshold * (N - n) + 1e-9)


@pytest.mark.parametrize("threshold", THRESHOLDS)
def test_the_chance_is_that_of_counting_all_orders(threshold):
    N, needed = 8, np.array([1, 2, 3, 3, 4, 4, 5, 8])
    for W in range(N + 1):
        false = 0
        for hits in itertools.combinations(range(N), W):
            answers = np.isin(np.arange(N), hits)
            for n in range(1, len(needed)):
                if answers[:n].sum() >= needed[n]:
                    false += answers[n:].sum() <= threshold * (N - n) + 1e-9
                    break
        share = false / len(list(itertools.combinations(range(N), W)))
        assert _exact.compute_false_pass(N, needed, np.array([W]), threshold)[0] == pytest.approx(share)
        assert walk(N, W, needed, threshold) == pytest.approx(share)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("level", [0.0125, 0.0225, 0.1])
@pytest.mark.parametrize("N, n_most", SETTINGS)
def test_no_set_passes_falsely_with_more_than_the_level_whatever_its_hits(N, n_most, level, threshold):
    """Over all W, and not only those for which the limit is found; and it is hardly lower than it must be."""
    needed = _exact.find_needed(N, n_most, level, threshold)
    every = np.arange(N + 1)
    worst = _exact.compute_false_pass(N, needed, every, threshold)
    looked_at = _exact.list_hits(N, n_most, threshold)
    assert worst.max() <= level + 1e-12 and worst[looked_at].max() == pytest.approx(worst.max(), abs=1e-12)
    if N >= 60:
        assert worst.max() > level / 3
        assert walk(N, int(np.argmax(worst)), needed, threshold) == pytest.approx(worst.max())


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("N, n_most", [(60, 30), (150, 40), (600, 40)])
def test_one_hit_fewer_would_be_too_few(N, n_most, threshold):
    needed = _exact.find_needed(N, n_most, 0.0225, threshold)
    fewer = np.where(needed <= np.arange(n_most + 1), needed - 1, needed)
    assert _exact.compute_false_pass(N, fewer, np.arange(N + 1), threshold).max() > 0.0225


def test_a_set_passes_only_with_more_hits_than_the_threshold_and_while_rows_are_unseen():
    for (N, n_most), threshold in itertools.product(SETTINGS, THRESHOLDS):
        needed = _exact.find_needed(N, n_most, 0.05, threshold)
        n = np.arange(n_most + 1)
        assert np.all(needed >= threshold * n) and np.all(needed[n < 3] > n[n < 3])
        assert len(needed) == n_most + 1 and not needed.flags.writeable
    assert np.all(_exact.find_needed(8, 8, 0.05, 0.5)[8:] > 8)


def test_the_exact_limit_needs_fewer_answers_than_one_for_any_evidence():
    """A set of 150, most of it wrong: seven hits in a row pass at .0225; 1 / .0225 by Ville takes more."""
    needed = _exact.find_needed(150, 40, 0.0225, 0.5)
    assert needed[7] == 7
    assert _exact.compute_evidence(150, 40, 0.5)[7, 7] < -np.log(0.0225)

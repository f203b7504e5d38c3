import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_rings import list_passes
from scipy.stats import hypergeom

from subsvms.audit import _evidence
from subsvms.audit._evidence import find_needed


def test_the_chance_of_a_sequence_is_what_counting_gives():
    for N, W in itertools.product((3, 6), range(7)):
        if W > N:
            continue
        tables = set(itertools.permutations([1] * W + [0] * (N - W)))
        for n in range(N + 1):
            for h in range(n + 1):
                start = (1,) * h + (0,) * (n - h)
                share = np.mean([table[:n] == start for table in tables])
                assert np.exp(_evidence.log_chance(N, W, n, h)) == pytest.approx(share)


@given(N=st.integers(2, 40), data=st.data())
def test_the_fewest_hits_are_enough_and_one_fewer_is_not(N, data):
    n = data.draw(st.integers(1, N))
    h = data.draw(st.integers(0, n))
    fewest = _evidence.find_fewest(N, n, h, 0.05)
    assert hypergeom.sf(h - 1, N, fewest, n) > 0.05
    assert fewest == h or hypergeom.sf(h - 1, N, fewest - 1, n) <= 0.05


@given(N=st.integers(2, 60), threshold=st.sampled_from([0.5, 2 / 3]), data=st.data())
def test_enough_hits_are_enough_and_one_fewer_is_not(N, threshold, data):
    n = data.draw(st.integers(1, N))
    h = _evidence.count_enough(N, n, 0.05, threshold)
    for hits, enough in ((h, True), (h - 1, False)):
        if 0 <= hits <= n:
            most = hits + int(threshold * (N - n) + 1e-9)  # of the null
            assert (hypergeom.sf(hits - 1, N, most, n) <= 0.05) == enough


@pytest.mark.parametrize("N, n_most", [(20, 12), (60, 40), (300, 30)])
@pytest.mark.parametrize("level", [0.0125, 0.04])
def test_fewer_hits_than_the_bound_are_as_improbable_as_its_level(N, n_most, level):
    """For every W, exactly: sets that passed after n answers with h hits have fewer than L."""
    needed = find_needed(N, n_most, level, 0.5)
    bounds: dict = {}
    for W in range(N + 1):
        false = 0.0
        for n, h, p in list_passes(N, W, needed):
            if (n, h) not in bounds:
                bounds[n, h] = _evidence.find_fewest(N, n, h, level, needed)
            false += p * (W < bounds[n, h])
        assert false <= level + 1e-12
    assert bounds


def test_the_mean_evidence_for_several_classes_is_one_if_changes_do_no_good():
    """All orders of a small ring: for the true sum E has mean one; for the sum so far it is no larger."""
    truth, bets, weights = np.array([1, 1, 0, -1, -1, 0]), np.array([0.3, 0.9]), np.array([0.5, 0.5])
    orders = np.array(list(itertools.permutations(truth)))
    mean = np.mean([np.exp(_evidence.log_evidence_several(6, order, bets, weights)) for order in orders])
    assert mean == pytest.approx(1.0)
    for n in (2, 4):
        starts = {tuple(order[:n]) for order in orders if truth.sum() <= order[:n].sum()}
        for start in starts:
            last = _evidence.log_evidence_several(6, np.array(start), bets, weights)
            before = np.cumsum(start) - start
            m = (truth.sum() - before) / (6 - np.arange(n))
            bet = np.minimum(bets[:, None], 0.99 / (1 + m))
            assert last <= np.log(weights @ np.prod(1 + bet * (np.array(start) - m), axis=1)) + 1e-12


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
        assert _evidence.compute_false_pass(N, needed, np.array([W]), threshold)[0] == pytest.approx(share)
        assert walk(N, W, needed, threshold) == pytest.approx(share)


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("level", [0.0125, 0.0225, 0.1])
@pytest.mark.parametrize("N, n_most", SETTINGS)
def test_no_set_passes_falsely_with_more_than_the_level_whatever_its_hits(N, n_most, level, threshold):
    """Over all W, and not only those for which the limit is found; and it is hardly lower than it must be."""
    needed = _evidence.find_needed(N, n_most, level, threshold)
    every = np.arange(N + 1)
    worst = _evidence.compute_false_pass(N, needed, every, threshold)
    looked_at = _evidence.list_hits(N, n_most, threshold)
    assert worst.max() <= level + 1e-12 and worst[looked_at].max() == pytest.approx(worst.max(), abs=1e-12)
    if N >= 60:
        assert worst.max() > level / 3
        assert walk(N, int(np.argmax(worst)), needed, threshold) == pytest.approx(worst.max())


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("N, n_most", [(60, 30), (150, 40), (600, 40)])
def test_one_hit_fewer_would_be_too_few(N, n_most, threshold):
    needed = _evidence.find_needed(N, n_most, 0.0225, threshold)
    fewer = np.where(needed <= np.arange(n_most + 1), needed - 1, needed)
    assert _evidence.compute_false_pass(N, fewer, np.arange(N + 1), threshold).max() > 0.0225


def test_a_set_passes_only_with_more_hits_than_the_threshold_and_while_rows_are_unseen():
    for (N, n_most), threshold in itertools.product(SETTINGS, THRESHOLDS):
        needed = _evidence.find_needed(N, n_most, 0.05, threshold)
        n = np.arange(n_most + 1)
        assert np.all(needed >= threshold * n) and np.all(needed[n < 3] > n[n < 3])
        assert len(needed) == n_most + 1 and not needed.flags.writeable
    assert np.all(_evidence.find_needed(8, 8, 0.05, 0.5)[8:] > 8)


def test_the_exact_limit_needs_fewer_answers_than_one_for_any_evidence():
    """A set of 150, most of it wrong: seven hits in a row pass at .0225; 1 / .0225 by Ville takes more."""
    needed = _evidence.find_needed(150, 40, 0.0225, 0.5)
    assert needed[7] == 7
    assert _evidence.compute_evidence(150, 40, 0.5)[7, 7] < -np.log(0.0225)

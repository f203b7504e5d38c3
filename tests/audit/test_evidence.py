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

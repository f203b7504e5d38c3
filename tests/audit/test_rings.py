import numpy as np
import pytest
from known_rings import decide, list_passes, look_up, make_ring

from subsvms.audit import _evidence, _rings


def walk(N, W, n_answers, passed):
    """Return, for a ring with W hits, the probability of each (answers, hits) at which it stops or ends."""
    alive, ends = {0: 1.0}, {}
    for t in range(n_answers):
        after = {}
        for h, p in alive.items():
            for hit, q in ((1, (W - h) / (N - t)), (0, 1 - (W - h) / (N - t))):
                after[h + hit] = after.get(h + hit, 0.0) + p * q
        alive = {h: p for h, p in after.items() if p > 0 and not passed[t + 1, h]}
        ends |= {
            (t + 1, h): p for h, p in after.items() if p > 0 and (passed[t + 1, h] or t + 1 == n_answers)
        }
    return ends


@pytest.mark.parametrize("N, n_answers", [(10, 9), (17, 10), (30, 20), (60, 40), (200, 50)])
def test_the_exact_probability_of_a_false_pass_is_below_its_level_for_every_share(N, n_answers, seed):
    """E at any time, and the bound at the end: at most .3 delta and .8 delta together, whatever W is."""
    ring = make_ring(N, n_answers, seed)
    passed = _rings.list_passes(ring, n_answers)
    for W in range(N + 1):
        early = late = 0.0
        for (n, h), p in walk(N, W, n_answers, passed).items():
            useless = W <= _evidence.count_null(N, n, h)
            early += p * (useless and passed[n, h])
            late += p * (useless and not passed[n, h] and _evidence.exceeds_half(N, n, h, 0.025))
        assert early <= 0.3 * 0.05 + 1e-12 and late <= 0.5 * 0.05 + 1e-12


@pytest.mark.parametrize("N, n_answers", [(17, 10), (60, 40), (300, 30)])
def test_the_exact_probability_of_fewer_hits_than_the_bound_is_below_its_level(N, n_answers, seed):
    ring, level = make_ring(N, n_answers, seed), 0.04
    passed = _rings.list_passes(ring, n_answers)
    ends = {end for W in range(N + 1) for end in walk(N, W, n_answers, passed)}
    fewest = {(n, h): _evidence.find_fewest(N, n, h, level, passed[: n + 1, : n + 1]) for n, h in ends}
    for W in range(N + 1):
        assert sum(p for end, p in walk(N, W, n_answers, passed).items() if W < fewest[end]) <= level + 1e-12


def test_the_table_of_passes_agrees_with_the_verdicts(seed):
    """So that simulations may use it."""
    rng = np.random.default_rng(seed)
    for N in (10, 50, 300):
        ring = make_ring(N, 25, seed)
        for share in (0.3, 0.6, 0.9):
            scores = np.where(rng.random(len(ring.draws)) < share, 1, -1)
            assert decide(ring, scores) == look_up(ring, scores, list_passes(ring))


@pytest.mark.parametrize("N", [10, 25, 80, 400])
def test_more_hits_never_prevent_a_pass(N, seed):
    """So that what is as extreme as the answers becomes more probable with W, which `find_fewest` needs."""
    passed = _rings.list_passes(make_ring(N, 40, seed), min(40, N - 1))
    reached = np.zeros(len(passed), dtype=bool)
    reached[0] = True
    for t in range(1, len(passed)):
        reached[1 : t + 1] |= reached[:t].copy()
        hits = np.flatnonzero(reached)
        assert np.all(np.diff(passed[t, hits].astype(int)) >= 0)
        reached &= ~passed[t]


def test_sizes_of_rings_and_their_power():
    assert _rings.list_sizes(7).size == 0 and _rings.list_sizes(2000)[-1] > 1500
    power = _rings.chance_to_pass(100, np.linspace(0.5, 1, 6), 20, 0.05)
    assert np.all(np.diff(power) > 0) and power[0] < 0.025

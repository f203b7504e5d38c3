import numpy as np
import pytest
from known_rings import decide, make_ring

from subsvms.audit import _evidence, _rings


def test_sets_spend_less_than_delta_together_whatever_happens():
    first = sum(_rings.FIRST_SHARES.values())
    left = 1 - first
    for _ in range(100):  # rings, passed ones included
        left -= _rings.RING_SHARE * left
    assert 0 <= left < 1 and _rings.WHOLE + _rings.HALF == 1


@pytest.mark.parametrize("several", [False, True])
def test_only_hits_pass_and_misses_never_do(seed, several):
    ring = make_ring(150, 40, seed, several)
    assert decide(ring, np.ones(40, dtype=int))[1] == "all"
    assert decide(ring, -np.ones(40, dtype=int)) == (6, "none")


def test_a_ring_passes_as_soon_as_its_limit_says_and_not_before(seed):
    ring, rng = make_ring(150, 40, seed), np.random.default_rng(seed)
    for share in (0.6, 0.8, 0.95):
        scores = np.where(rng.random(40) < share, 1, -1)
        n, verdict = decide(ring, scores)
        early = np.cumsum(scores == 1) >= ring.needed[1:]
        assert not early[: n - 1].any() and early[n - 1] == (verdict == "all")


def test_the_half_is_judged_by_the_draws_in_it():
    """Most are hits in the first half; in the second, too few for the whole to pass."""
    ring = make_ring(200, 100, 0)
    enough = _evidence.count_enough(100, int(np.sum(ring.draws < 100)), _rings.HALF * ring.level, 0.5)
    for surplus, verdict in ((0, "half"), (-1, "none")):
        first, second = (np.flatnonzero(part) for part in (ring.draws < 100, ring.draws >= 100))
        scores = -np.ones(100, dtype=int)
        scores[first[: enough + surplus]] = 1
        scores[second[: len(second) // 4]] = 1
        assert not _rings.passes(ring, scores) and _rings.judge_ring(ring, scores) == verdict
    assert np.array_equal(_rings.find_passed(ring, "half"), np.arange(100))


def test_the_changes_of_the_rule_are_taken_back_after_three_misses_and_small_sets_asked_in_full():
    def ask(n_rows, scores):
        ring = _rings.Ring(np.arange(n_rows), np.arange(min(n_rows, 15)), 0.0125)
        return decide(ring, np.array(scores[: len(ring.draws)]))

    assert ask(100, [-1, -1, -1] + [1] * 12) == (3, "none")
    assert ask(100, [1] * 15) == (7, "all")
    assert ask(100, [1, -1, 1, -1, 1, -1] + [1] * 9)[0] >= 6
    assert ask(6, [1] * 6) == ask(6, [-1] * 6) == (6, "none")


def test_nobody_is_asked_for_a_pass_that_is_impossible(seed):
    """As soon as no answers could let the changes of the rule pass, and at least six were given."""
    rng = np.random.default_rng(seed)
    ring = _rings.Ring(np.arange(80), np.arange(15), 0.0125)
    for _ in range(50):
        scores = np.where(rng.random(15) < 0.65, 1, -1)
        n, verdict = decide(ring, scores)
        if verdict == "none" and scores[:n].sum() > -3:
            best = np.cumsum(np.concatenate([scores[:n], np.ones(15 - n)]) == 1)
            assert np.all(best[n:] < ring.needed[n + 1 :])
            best = np.cumsum(np.concatenate([scores[: n - 1], np.ones(16 - n)]) == 1)
            late = n == 10 or np.sum(scores[:n] == -1) == 4  # else it might have been kept
            assert n in (6, 15) or late or np.any(best[n - 1 :] >= ring.needed[n:])


@pytest.mark.parametrize("several", [False, True])
def test_evidence_that_is_shown_is_a_share_and_full_at_a_pass(seed, several):
    ring = make_ring(150, 40, seed, several)
    shown = [_rings.measure_evidence(ring, np.ones(n, dtype=int)) for n in range(41)]
    n, _ = decide(ring, np.ones(40, dtype=int))
    assert shown[0] == 0 and shown[n] == 1 and 0 < shown[n - 1] < 1 and np.all(np.diff(shown[: n + 1]) >= 0)
    assert _rings.measure_evidence(ring, -np.ones(10, dtype=int)) == 0


def test_the_bound_is_below_what_the_claim_allows(seed):
    """More than half of the unseen rows are hits, so less than half of them are wrong."""
    for n_rows in (60, 150, 600):
        ring = make_ring(n_rows, 40, seed)
        n, verdict = decide(ring, np.ones(len(ring.draws), dtype=int))
        most = _rings.bound_wrong(ring, np.ones(n, dtype=int), verdict)
        assert verdict == "all" and 0 <= most < (n_rows - n) / 2
    assert _evidence.find_needed(30, 30, 0.024, 0.5)[30] > 30

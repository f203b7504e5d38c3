"""Rings and rankings with known hits, and what an audit of them claims falsely."""

import numpy as np

from subsvms.audit import Audit, Ranking, SimulatedAnnotator, run_audit
from subsvms.audit import _rings as rings


def make_ring(n_rows, n_answers, seed, several=False, level=0.03, threshold=0.5):
    """Return a ring as an audit makes it; the claim must hold whatever the model believes."""
    rng = np.random.default_rng([seed, n_rows])
    believed = rng.beta(6, 3, size=40)
    draws = rings.draw_positions(n_rows, min(n_answers, n_rows), rng)
    shares = rings.list_shares(believed) if several else None
    return rings.Ring(np.arange(n_rows), draws, level, shares, float(believed.mean()), threshold)


def decide(ring, scores):
    """Answer until a ring is decided."""
    for n in range(1, len(scores) + 1):
        verdict = rings.judge_ring(ring, scores[:n])
        if verdict != "open":
            return n, verdict
    raise AssertionError("a ring must be decided at last")


def list_passes(N, W, needed):
    """Yield when a set of N rows with W hits passes: after n answers with h hits, and with which chance."""
    going = {0: 1.0}
    for n in range(1, len(needed)):
        after: dict = {}
        for h, p in going.items():
            hit = (W - h) / (N - n + 1)
            after[h + 1] = after.get(h + 1, 0.0) + p * hit
            after[h] = after.get(h, 0.0) + p * (1 - hit)
        going = {h: p for h, p in after.items() if p > 0 and h < needed[n]}
        yield from ((n, h, p) for h, p in after.items() if p > 0 and h >= needed[n])


def is_false(ring, truth):
    """Answer until a ring is decided, and return whether labels change unseen that do no good.

    `truth` has the score of each row of the ring. Whoever stops before changes nothing.
    """
    n, verdict = decide(ring, truth[ring.draws])
    changed = np.isin(ring.rows, rings.find_passed(ring, verdict))
    changed[ring.draws[:n]] = False
    if ring.shares is not None:
        return bool(changed.any() and truth[changed].sum() <= 0)
    return bool(changed.any() and np.sum(truth[changed] == 1) <= ring.threshold * changed.sum() + 1e-9)


def make_ranking(truth_score, seed=0, n_classes=2, **marks):
    """Return a ranking, rows from worst to best, and true labels: the suggestion where the score is 1."""
    rng = np.random.default_rng([seed, 5])
    n = len(truth_score)
    given = rng.integers(n_classes, size=n)
    suggested = (given + rng.integers(1, n_classes, size=n)) % n_classes
    other = (given + suggested) % n_classes  # some third class, for a score of 0
    other = np.where((other == given) | (other == suggested), (suggested + 1) % n_classes, other)
    other = np.where(other == given, (given + 1) % n_classes, other)
    truth = np.where(truth_score == 1, suggested, np.where(truth_score == 0, other, given))
    return Ranking.make(given, suggested, np.arange(n, dtype=float), **marks), truth


def make_suspicious(seed, n=600, n_wrong=150, n_classes=2, **marks):
    """Return a ranking whose worst rows are mostly wrong, and the true labels."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(n) < np.where(np.arange(n) < n_wrong, 0.85, 0.03)
    return make_ranking(np.where(wrong, 1, -1), seed, n_classes, **marks)


def mark_rows(first, last, n=600):
    """Return which rows of a table lie in a range."""
    return (np.arange(n) >= first) & (np.arange(n) < last)


def audited(ranking, truth, n_answers=50, person=None, **options):
    return run_audit(Audit(ranking, n_answers, **options), person or SimulatedAnnotator(truth))

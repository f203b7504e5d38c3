"""Rings and rankings with known hits, and what an audit of them claims falsely."""

import numpy as np

from subsvms.audit import Audit, Ranking, SimulatedAnnotator, run_audit
from subsvms.audit import _rings as rings


def make_ring(n_rows, n_answers, seed, several=False, delta=0.05):
    """Return a ring as an audit makes it; the claim must hold whatever the model believes."""
    rng = np.random.default_rng([seed, n_rows])
    shares = rings.list_shares(rng.beta(6, 3, size=60))
    draws = rings.draw_positions(n_rows, min(n_answers, n_rows - 1), rng)
    return rings.Ring(np.arange(n_rows), draws, shares, several, delta)


def list_passes(ring):
    """Return `passes_early` of a ring of two classes for all numbers of answers (row) and hits (column)."""
    return rings.list_passes(ring, len(ring.draws))


def is_false(ring, truth, table=None):
    """Answer until a ring is decided, and return whether labels change unseen that do no good.

    `truth` has the score of each row of the ring; `table` spares computing E again for each of many runs.
    Rings that pass early are judged at that moment, so stopping at any answer is included: an unfinished ring
    changes nothing.
    """
    scores = truth[ring.draws]
    n, verdict = decide(ring, scores) if table is None else look_up(ring, scores, table)
    if verdict == "none":
        return False
    changed = np.ones(len(ring), dtype=bool)
    changed[ring.draws[:n]] = False
    if verdict == "half":
        changed[len(ring) // 2 :] = False
    return bool(truth[changed].sum() <= 0)


def decide(ring, scores):
    for n in range(1, len(scores) + 1):
        verdict = rings.judge_ring(ring, scores[:n])
        if verdict != "open":
            return n, verdict
    raise AssertionError("a ring must be decided at last")


def look_up(ring, scores, table):
    """Return the same from a table of passes."""
    n = np.arange(1, len(scores) + 1)
    early = table[n, np.cumsum(scores == 1)]
    if early.any():
        return int(np.argmax(early)) + 1, "all"
    return len(scores), rings.judge_finally(ring, scores)


def make_ranking(truth_score, seed=0, n_classes=2):
    """Return a ranking, rows from worst to best, and true labels: the suggestion where the score is 1."""
    rng = np.random.default_rng([seed, 5])
    n = len(truth_score)
    given = rng.integers(n_classes, size=n)
    suggested = (given + rng.integers(1, n_classes, size=n)) % n_classes
    other = (0 + given + suggested) % n_classes  # some third class, for a score of 0
    other = np.where((other == given) | (other == suggested), (suggested + 1) % n_classes, other)
    other = np.where(other == given, (given + 1) % n_classes, other)
    truth = np.where(truth_score == 1, suggested, np.where(truth_score == 0, other, given))
    return Ranking.make(given, suggested, np.arange(n, dtype=float)), truth


def make_suspicious(seed, n=600, n_wrong=150, n_classes=2):
    """Return a ranking whose worst rows are mostly wrong, and the true labels."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(n) < np.where(np.arange(n) < n_wrong, 0.85, 0.03)
    return make_ranking(np.where(wrong, 1, -1), seed, n_classes)


def audited(ranking, truth, n_answers=50, person=None, **options):
    return run_audit(Audit(ranking, n_answers, **options), person or SimulatedAnnotator(truth))

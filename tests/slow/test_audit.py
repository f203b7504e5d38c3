"""The guarantee of the audit by simulation, over the worst nulls; three wrong versions fail the same test."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from known_rings import is_false, list_passes, make_ranking, make_ring
from scipy.stats import binom

from subsvms.audit import Audit, SimulatedAnnotator, _evidence, _rings, run_audit

pytestmark = pytest.mark.slow
DELTA = 0.05
SIZES = [(10, 10), (30, 20), (60, 50), (400, 100), (2000, 200)]  # rows of a ring, and answers
RUNS = 400


def list_truths(n_rows, several, rng):
    """Yield scores of the rows of rings that should not pass, or only while enough hits are unseen.

    A share of exactly one half, in random order, and with all hits where the model expects them; and rings in
    which most rows are hits, but the unseen ones may not be: the number of rows is finite.
    """
    for share in (0.5, 0.6, 0.7, 0.8, 0.9, "sorted"):
        n_hits = n_rows // 2 if share == "sorted" else int(share * n_rows)
        truth = np.where(np.arange(n_rows) < n_hits, 1, -1)
        if several:  # as many hits as labels that are right, and others between
            truth[[n_hits - 1, n_rows - 1 if share == "sorted" else n_hits - 2]] = 0
        yield share, (lambda truth=truth: truth) if share == "sorted" else partial(rng.permutation, truth)


def measure(several=False, runs=RUNS, sizes=SIZES):
    """Return how often rings pass falsely: {(rows, answers, kind of null): share of the runs}."""
    rng, found = np.random.default_rng(several), {}
    for n_rows, n_answers in sizes:
        rings = [make_ring(n_rows, n_answers, seed, several) for seed in range(4)]
        tables = [None if several else list_passes(ring) for ring in rings]
        for kind, draw_truth in list_truths(n_rows, several, rng):
            false = 0
            for run in range(runs):
                ring, table = rings[run % 4], tables[run % 4]
                draws = _rings.draw_positions(n_rows, len(ring.draws), rng)
                false += is_false(replace(ring, draws=draws), draw_truth(), table)
            found[n_rows, n_answers, kind] = false / runs
    return found


def check_guarantee(found, runs=RUNS):
    """Fail unless false claims are as rare everywhere as promised, but for chance, and rarer on average."""
    most = DELTA + 2 * np.sqrt(DELTA * (1 - DELTA) / runs)
    assert max(found.values()) <= most and np.mean(list(found.values())) <= 0.01, found


def forget_finite_population(monkeypatch):
    """Take the draws for draws with replacement, and a ring that is mostly wrong for one worth changing."""

    def log_evidence(N, n, h, alternatives, weights):
        p = np.minimum(alternatives / N, 0.99)
        ratio = np.asarray(h)[..., None] * np.log(2 * p) + np.asarray(n - h)[..., None] * np.log(2 - 2 * p)
        return np.log(np.sum(weights * np.exp(ratio), axis=-1))

    monkeypatch.setattr(_evidence, "log_evidence", log_evidence)
    monkeypatch.setattr(_evidence, "exceeds_half", lambda N, n, h, a: binom.sf(h - 1, n, 0.5) <= a)


def peek(monkeypatch):
    """Look at the bound that is meant for the end after each answer."""

    def log_evidence(N, n, h, alternatives, weights):
        return np.where(_evidence.exceeds_half(N, n, h, _rings.FINAL * DELTA), np.inf, -np.inf)

    monkeypatch.setattr(_evidence, "log_evidence", log_evidence)


def draw_worst_first(monkeypatch):
    monkeypatch.setattr(_rings, "draw_positions", lambda n_rows, n_draws, rng: np.arange(n_draws))


def test_false_claims_are_rare_for_two_classes():
    check_guarantee(measure())


@pytest.mark.parametrize("mutate", [forget_finite_population, peek, draw_worst_first])
def test_wrong_versions_are_caught(monkeypatch, mutate):
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check_guarantee(measure(runs=100, sizes=SIZES[:4]), 100)


def test_false_claims_are_rare_for_several_classes():
    check_guarantee(measure(several=True, runs=100, sizes=[(10, 10), (30, 20), (120, 30)]), 100)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", ["half", "lure", "rising"])
def test_false_claims_of_whole_audits_are_rare(kind, n_classes):
    """Tables that mislead the model: half of the suspicious rows are wrong; all of the worst, no others."""
    false = bound = passed = 0
    runs = 60
    for seed in range(runs):
        rng, n = np.random.default_rng(seed), 500
        if kind == "half":
            wrong = (np.arange(n) < 200) & (rng.random(n) < 0.5)
        elif kind == "lure":
            wrong = np.arange(n) < 25
        else:  # the least suspicious rows are wrong
            wrong = rng.random(n) < np.linspace(0.2, 0.6, n)
        ranking, truth = make_ranking(np.where(wrong, 1, -1), seed, n_classes)
        audit = run_audit(Audit(ranking, 30 + 20 * (seed % 2), random_state=seed), SimulatedAnnotator(truth))
        claim = audit.claim
        n_hits = int(np.sum(ranking.suggested[claim.changed] == truth[claim.changed]))
        n_wrong = len(claim.changed) - n_hits
        passed += bool(claim.rings)
        false += bool(claim.rings) and n_hits <= n_wrong
        bound += claim.at_most_wrong is not None and n_wrong > claim.at_most_wrong
    most = DELTA * runs + 2 * np.sqrt(DELTA * (1 - DELTA) * runs)
    assert false <= most and bound <= most, (false, bound, passed)

"""The claims of quality targets and of scores by simulation: any order, any noise; wrong versions fail."""

import numpy as np
import pytest

from subsvms.audit import Ranking, SimulatedAnnotator, _target, certify_target, run_audit
from subsvms.evaluation import _draw, compare_models, draw_test_rows, score_interval

pytestmark = pytest.mark.slow
RUNS, DELTA = 300, 0.05  # `benchmarks.targets` makes 1,000 of each of 204 cells
MOST = DELTA + 2 * np.sqrt(DELTA * (1 - DELTA) / RUNS)
ORDERS = ("good", "random", "worst")


def count_false_targets(order, wrong_share, rate, runs=RUNS, n=300):
    """Return the share of audits that leave more wrong labels than they claim."""
    rng, false = np.random.default_rng([ORDERS.index(order), int(1000 * rate)]), 0
    for run in range(runs):
        wrong = rng.random(n) < wrong_share
        suspicion = {"good": wrong + rng.normal(0, 0.7, n), "random": rng.random(n), "worst": -1.0 * wrong}[
            order
        ]
        ranking = Ranking.make(np.zeros(n, dtype=int), np.ones(n, dtype=int), -suspicion)
        target = run_audit(
            certify_target(ranking, rate, random_state=run), SimulatedAnnotator(wrong.astype(int))
        )
        false += np.sum(target.labels != wrong) > target.claim.at_most
    return false / runs


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("wrong_share", "rate"), [
    (0.3, 0.05),
    *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((0.06, 0.05), (0.1, 0.05), (0.2, 0.02))),
])  # fmt: skip
def test_a_target_is_missed_as_seldom_as_it_says_even_if_suspicion_misleads(order, wrong_share, rate):
    assert count_false_targets(order, wrong_share, rate) <= MOST


@pytest.mark.parametrize("more", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_threshold_that_spares_more_rows_breaks_the_claim(monkeypatch, more):
    right = _target.count_spared
    monkeypatch.setattr(_target, "count_spared", lambda *how: right(*how) + more)
    assert count_false_targets("worst", 0.3, 0.05, runs=300) > MOST


def measure_scores(metric, kind, m, runs=RUNS, n=600):
    """Return how often the lower and the upper limit are wrong; the noise is of one kind."""
    rng = np.random.default_rng([m, ORDERS.index(kind)])
    clean = (rng.random(n) < 0.3).astype(int)
    one = np.where(rng.random(n) < 0.1, 1 - clean, clean)
    hard = one != clean
    rate = {"good": np.where(hard, 0.0, 0.1), "random": 0.15, "worst": np.where(hard, 0.9, 0.02)}[kind]
    noisy = np.where(rng.random(n) < rate, 1 - clean, clean)  # the worst errs as the model does
    everything = draw_test_rows(noisy, one, n, metric=metric)
    truth = score_interval(noisy, one, everything, clean[everything].tolist(), metric=metric).low
    known, below, above = {}, 0, 0
    for run in range(runs):
        rows = draw_test_rows(noisy, one, m, metric=metric, random_state=run)
        key = tuple(np.bincount(4 * noisy[rows] + 2 * one[rows] + clean[rows], minlength=8))
        if key not in known:
            found = score_interval(noisy, one, rows, clean[rows].tolist(), metric=metric)
            known[key] = found.low, found.high
        below, above = below + (known[key][1] < truth - 1e-9), above + (known[key][0] > truth + 1e-9)
    return np.array([below, above]) / runs


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f1"])
@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("m", [30, pytest.param(100, marks=pytest.mark.nightly)])
def test_each_limit_of_a_score_is_wrong_as_seldom_as_it_says(metric, kind, m):
    assert measure_scores(metric, kind, m).max() <= DELTA / 2 + 3.5 * np.sqrt(DELTA / 2 / RUNS)  # of 36


def test_a_limit_that_looks_at_a_narrower_region_than_it_pays_for_is_caught(monkeypatch):
    monkeypatch.setattr(_draw, "FOR_REGION", 0.99)
    whole = _draw.find_region
    monkeypatch.setattr(_draw, "find_region", lambda *how: whole(*how[:3], 0.9))
    assert max(measure_scores("accuracy", kind, 30, runs=300).max() for kind in ORDERS) > 0.06


def test_the_difference_of_two_models_is_covered():
    rng, missed = np.random.default_rng(0), 0
    for run in range(RUNS // 2):
        clean = rng.integers(3, size=300)
        noisy, one, two = (
            np.where(rng.random(300) < p, rng.integers(3, size=300), clean) for p in (0.2, 0.2, 0.3)
        )
        rows = draw_test_rows(noisy, one, 20, other=two, random_state=run)
        found = compare_models(noisy, one, two, rows, clean[rows].tolist())
        missed += not found.low - 1e-9 <= np.mean(one == clean) - np.mean(two == clean) <= found.high + 1e-9
    assert missed / (RUNS // 2) <= MOST

"""The guarantee of the audit by simulation, over the worst nulls; wrong versions fail the same tests."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from known_rings import is_false, make_ranking, make_ring, mark_rows
from scipy.stats import binom

from subsvms.audit import Audit, SimulatedAnnotator, _evidence, _locate, _rings, confirm, run_audit

pytestmark = pytest.mark.slow
DELTA = 0.05
SIZES = [(10, 10), (30, 20), (60, 40), (400, 60)]  # rows of a ring, and answers
RUNS = 200


@pytest.fixture(autouse=True)
def forget_limits():
    """Limits are remembered: those of a wrong version must not be, nor be hidden by right ones."""
    _evidence.find_needed.cache_clear()
    yield
    _evidence.find_needed.cache_clear()


def list_truths(n_rows, several, threshold, rng):
    """Yield scores of the rows of rings that should not pass, or only while enough hits are unseen.

    A share of exactly the threshold, in random order, and with all hits where the model expects them; and
    rings in which most rows are hits, but the unseen ones may not be: the number of rows is finite.
    """
    for share in (threshold, 0.6, 0.7, 0.8, 0.9, "sorted"):
        n_hits = int(threshold * n_rows) if share == "sorted" else int(share * n_rows)
        truth = np.where(np.arange(n_rows) < n_hits, 1, -1)
        if several:  # as many hits as labels that are right, and others between
            truth[[n_hits - 1, n_rows - 1 if share == "sorted" else n_hits - 2]] = 0
        yield share, (lambda truth=truth: truth) if share == "sorted" else partial(rng.permutation, truth)


def measure(several=False, runs=RUNS, sizes=SIZES, threshold=0.5):
    """Return how often rings pass falsely at level DELTA: {(rows, answers, null): share of runs}."""
    rng, found = np.random.default_rng(int(several)), {}
    for n_rows, n_answers in sizes:
        rings = [make_ring(n_rows, n_answers, seed, several, DELTA, threshold) for seed in range(4)]
        for kind, draw_truth in list_truths(n_rows, several, threshold, rng):
            false = 0
            for run in range(runs):
                draws = _rings.draw_positions(n_rows, len(rings[run % 4].draws), rng)
                false += is_false(replace(rings[run % 4], draws=draws), draw_truth())
            found[n_rows, n_answers, kind] = false / runs
    return found


def check_guarantee(found, runs=RUNS):
    """Fail unless false claims are as rare everywhere as promised, but for chance, and rarer on average."""
    most = DELTA + 2 * np.sqrt(DELTA * (1 - DELTA) / runs)
    assert max(found.values()) <= most and np.mean(list(found.values())) <= 0.02, found


def forget_finite_population(monkeypatch):
    """Take the draws for draws with replacement, and a ring that is mostly wrong for one worth changing."""

    @cache
    def find_needed(N, n_most, level, threshold):
        n = np.arange(n_most + 1)
        return np.where(n < 3, n + 1, binom.isf(level, n, threshold).astype(int) + 1)

    monkeypatch.setattr(_rings, "find_needed", find_needed)


def peek(monkeypatch):
    """Look after each answer at a bound that is meant for the end."""

    def find_needed(N, n_most, level, threshold):
        enough = [_evidence.count_enough(N, n, level, threshold) for n in range(min(n_most, N - 1) + 1)]
        return np.array(enough + [n_most + 1] * (n_most + 1 - len(enough)))

    monkeypatch.setattr(_rings, "find_needed", find_needed)


def draw_worst_first(monkeypatch):
    monkeypatch.setattr(_rings, "draw_positions", lambda n_rows, n_draws, rng: np.arange(n_draws))


def need_one_fewer(monkeypatch):
    """An error by one in the limit."""
    find = _evidence.find_needed

    def find_needed(*args):
        needed = find(*args)
        return np.where(needed <= np.arange(len(needed)), needed - 1, needed)

    monkeypatch.setattr(_rings, "find_needed", find_needed)


@pytest.mark.parametrize("threshold", [0.5, 2 / 3])
def test_false_claims_are_rare_for_two_classes(threshold):
    check_guarantee(measure(threshold=threshold))


@pytest.mark.parametrize("mutate", [forget_finite_population, peek, draw_worst_first, need_one_fewer])
def test_wrong_versions_are_caught(monkeypatch, mutate):
    mutate(monkeypatch)
    with pytest.raises(AssertionError):
        check_guarantee(measure())


@pytest.mark.nightly
def test_false_claims_are_rare_for_several_classes():
    check_guarantee(measure(several=True, runs=100, sizes=[(10, 10), (30, 20), (120, 30)]), 100)


def tell(found, truth):
    """Return whether an audit, or a confirmation, changed labels unseen for no good, or too many wrongly."""
    claim, ranking = found.claim, found.ranking
    n_hits = int(np.sum(ranking.suggested[claim.changed] == truth[claim.changed]))
    n_wrong = len(claim.changed) - n_hits
    any_passed = len(claim.changed) > 0
    too_many = claim.at_most_wrong is not None and n_wrong > claim.at_most_wrong
    return any_passed and n_hits <= found._threshold * len(claim.changed), too_many


def check_rare(false, runs):
    most = DELTA * runs + 2 * np.sqrt(DELTA * (1 - DELTA) * runs)
    assert np.all(np.sum(false, axis=0) <= most), np.sum(false, axis=0)


@pytest.mark.parametrize("n_classes", [2, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", ["half", "lure", "rising", "changes"])
def test_false_claims_of_whole_audits_are_rare(kind, n_classes):
    """Tables that mislead the model: half of the suspicious rows are wrong; all of the worst, no others."""
    false, runs = [], 100
    for seed in range(runs):
        rng, n = np.random.default_rng(seed), 500
        if kind == "half" or kind == "changes":
            wrong = (np.arange(n) < 200) & (rng.random(n) < 0.5)
        elif kind == "lure":
            wrong = np.arange(n) < 25
        else:  # the least suspicious rows are wrong
            wrong = rng.random(n) < np.linspace(0.2, 0.6, n)
        flagged = mark_rows(0, 200, n) if kind == "changes" else None
        ranking, truth = make_ranking(np.where(wrong, 1, -1), seed, n_classes, flagged=flagged)
        audit = Audit(ranking, 30 + 20 * (seed % 2), random_state=seed)
        false.append(tell(run_audit(audit, SimulatedAnnotator(truth)), truth))
    check_rare(false, runs)


@pytest.mark.parametrize(
    "share, for_model",
    [(0.5, False), *(pytest.param(*one, marks=pytest.mark.nightly) for one in ((0.4, False), (0.66, True)))],
)
def test_false_claims_are_rare_if_rings_are_tried_in_any_case(monkeypatch, share, for_model):
    """All sets are null: the changes of the rule, what it held back, and rings that nobody should try."""
    monkeypatch.setattr(_locate, "choose_size", lambda found, *args: (
        (size := min(100, found.shape[1])), found[:, size - 1] / size
    ))  # fmt: skip
    false, false_first, runs = [], [], 200
    for seed in range(runs):
        rng, n = np.random.default_rng(seed), 600
        score = np.full(n, -1)
        for first in range(0, n, 100):  # exactly this share in each part
            score[first + rng.permutation(100)[: round(100 * share)]] = 1
        marks = {} if for_model else {"flagged": mark_rows(0, 100), "held_back": mark_rows(100, 200)}
        ranking, truth = make_ranking(score, seed, **marks)
        audit = Audit(ranking, 100, random_state=seed, held_back=True, for_model=for_model)
        false.append(tell(run_audit(audit, SimulatedAnnotator(truth)), truth))
        found = run_audit(confirm(ranking, random_state=seed), SimulatedAnnotator(truth))
        false_first.append(tell(found, truth))
    check_rare(false, runs)
    if not for_model:
        check_rare(false_first, runs)

from itertools import combinations
from math import comb

import numpy as np
import pytest
from known_rings import make_suspicious
from scipy.stats import hypergeom

from subsvms import correct_labels
from subsvms.audit import Ranking, SimulatedAnnotator, Target, certify_target, run_audit
from subsvms.audit import _target as target_of
from subsvms.exceptions import InputError


def leave(wrong, sampled, spared, allowed):
    """Return how many wrong rows nobody looks at, the least suspicious row first."""
    seen = sampled.copy()
    seen[target_of.list_rest(wrong & sampled, sampled, spared, allowed)] = True
    return int(np.sum(wrong & ~seen))


def count_false(n, allowed, m, spared, wrong):
    """Return the share of all samples after which more than `allowed` labels are wrong."""
    false = 0
    for sample in combinations(range(n), m):
        sampled = np.isin(np.arange(n), sample)
        false += leave(wrong, sampled, spared, allowed) > allowed
    return false / comb(n, m)


@pytest.mark.parametrize(("n", "allowed", "m", "delta"), [(7, 1, 4, 0.4), (6, 0, 4, 0.4), (7, 2, 3, 0.35)])
def test_no_set_of_wrong_rows_breaks_the_claim_too_often_and_one_more_spared_row_would(n, allowed, m, delta):
    spared = target_of.count_spared(n, allowed, m, delta)
    assert spared >= 0
    worst = bound = 0.0
    for bits in range(2**n):
        wrong = np.array([bits >> i & 1 for i in range(n)], dtype=bool)
        worst = max(worst, count_false(n, allowed, m, spared, wrong))
        if worst < (once := count_false(n, allowed, m, spared + 1, wrong)):
            bound = max(bound, once)
    assert worst <= delta < bound


def test_the_number_of_spared_rows_is_the_largest_that_the_theorem_allows():
    for n, allowed, m, delta in [
        (200, 4, 60, 0.05),
        (2000, 40, 447, 0.05),
        (50, 1, 30, 0.1),
        (40, 2, 5, 0.05),
    ]:
        c = np.arange(min(m, n - allowed))
        allowed_c = np.flatnonzero(hypergeom.cdf(c, n, c + allowed + 1, m) <= delta)
        assert target_of.count_spared(n, allowed, m, delta) == (allowed_c[-1] if len(allowed_c) else -1)


@pytest.mark.parametrize("place", ["safe", "suspicious", "anywhere"])
@pytest.mark.parametrize("rate", [0.03, 0.1, 0.5])
def test_the_claim_holds_wherever_the_wrong_rows_are(place, rate, seed):
    """Their number where the chance is largest: all of c + K + 1 and more give H(c) exactly."""
    n, allowed, m = 400, 12, 100
    spared = target_of.count_spared(n, allowed, m, 0.05)
    rng = np.random.default_rng([seed, 1])
    number = max(int(rate * n), allowed + 1)
    wrong = np.zeros(n, dtype=bool)
    rows = {"safe": np.arange(number), "suspicious": np.arange(n - number, n)}.get(place)
    wrong[rng.choice(n, number, replace=False) if rows is None else rows] = True
    false, runs = 0, 1000
    for _ in range(runs):
        sampled = np.zeros(n, dtype=bool)
        sampled[rng.choice(n, m, replace=False)] = True
        false += leave(wrong, sampled, spared, allowed) > allowed
    assert false / runs <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / runs)
    if number >= spared + allowed + 1 and place == "safe":  # nothing is given away, either
        exact = hypergeom.cdf(spared, n, spared + allowed + 1, m)
        assert abs(false / runs - exact) <= 4 * np.sqrt(exact * (1 - exact) / runs)


def make_target(seed=0, error_rate=0.05, **how):
    ranking, truth = make_suspicious(seed)
    return certify_target(ranking, error_rate, **how), ranking, truth


def test_a_target_ends_with_at_most_so_many_wrong_labels(seed):
    target, ranking, truth = make_target(seed)
    assert "nothing is claimed" in str(target.claim) and target.stage == "sample"
    run_audit(target, SimulatedAnnotator(truth))
    claim = target.claim
    assert claim.finished and claim.n_answers == target.forecast.n_answers <= target.most_questions
    assert claim.n_overturned == np.sum(target.labels != ranking.given) > 0
    assert claim.at_most == target.n_allowed == 30
    assert "at most 30 of the 600 labels (5.00 %) are wrong now, if your answers" in str(claim)


def test_a_row_about_which_nobody_can_tell_stays_wrong_in_the_claim():
    target, ranking, truth = make_target()
    row = target.next_row
    people = SimulatedAnnotator([None if i == row else label for i, label in enumerate(truth.tolist())])
    run_audit(target, people)
    assert target.claim.at_most == target.n_allowed + 1 and "about which you could not tell" in str(
        target.claim
    )
    assert target.labels[row] == ranking.classes[ranking.given[row]]


def test_the_sample_is_uniform_and_all_more_suspicious_rows_follow_worst_first():
    target, ranking, truth = make_target()
    asked = []
    while (row := target.next_row) is not None:
        asked.append(row)
        target.answer(row, truth[row])
    rank = {row: i for i, row in enumerate(ranking.order.tolist())}
    rest = [rank[row] for row in asked[target.n_sample :]]
    sample = {rank[row] for row in asked[: target.n_sample]}
    assert rest == sorted(rest) == [one for one in range(rest[-1] + 1) if one not in sample]
    counts = np.zeros(600)
    for seed in range(200):
        other, _, _ = make_target(random_state=seed)
        counts[other.ranking.order[other.upcoming(other.n_sample)]] += 1
    assert np.abs(counts - counts.mean()).max() < 6 * np.sqrt(counts.mean())


def test_a_table_that_is_too_small_for_a_sample_is_looked_at_but_for_the_labels_that_may_be_wrong():
    ranking = Ranking.make(["a", "b"] * 10, ["b", "a"] * 10, range(20))
    target = run_audit(certify_target(ranking, 0.1), lambda row: "a")
    assert target.n_sample == 0 and target.claim.n_answers == 18
    assert str(target.claim).endswith(
        "So at most 2 of the 20 labels (10.00 %) are wrong now, if your answers are right."
    )


def test_a_target_goes_on_from_its_state(seed):
    target, ranking, truth = make_target(seed)
    for _ in range(50):
        target.answer(target.next_row, truth[target.next_row])
    again = Target.load(target.state, ranking)
    assert again.next_row == target.next_row and again.forecast == target.forecast
    for change, message in [
        ({"error_rate": 2}, "no valid 'error_rate'"),
        ({"made_from": "x"}, "was made from other"),
    ]:
        with pytest.raises(InputError, match=message):
            Target.load(target.state | change, ranking)


def test_applying_it_gives_the_labels_of_the_claim():
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    clean = (X.sum(axis=1) > 1).astype(int)
    given = np.where(rng.random(600) < 0.1, 1 - clean, clean)
    correction = correct_labels(X, given, random_state=0)
    target = certify_target(correction, 0.05)
    assert target.apply(correction) is correction
    half = run_audit_until(target, clean, 20)
    assert np.sum(half.apply(correction).changed) > 0
    run_audit(target, SimulatedAnnotator(clean))
    done = target.apply(correction)
    assert np.array_equal(done.labels, target.labels) and np.sum(done.labels != clean) <= 30
    assert "at most 30 of the 600" in str(done.audit.claim)


def test_changes_of_the_rule_that_nobody_looked_at_are_taken_back_in_the_end_and_not_before():
    changed = np.arange(600) >= 590  # the least suspicious rows
    ranking = Ranking.make(["a"] * 600, ["b"] * 600, range(600), flagged=changed)
    target = certify_target(ranking, 0.05)
    assert np.all(target.labels[changed] == "b") and len(target.claim.standing) == 10
    run_audit(target, lambda row: "a")
    assert np.all(target.labels == "a") and len(target.claim.standing) == 0


def run_audit_until(target, clean, n):
    for _ in range(n):
        target.answer(target.next_row, clean[target.next_row])
    return target


@pytest.mark.parametrize("with_quality", [False, True])
def test_a_forecast_is_near_and_becomes_exact(with_quality):
    rng = np.random.default_rng(1)
    n = 2000
    quality = np.sort(rng.beta(4, 0.5, n))
    wrong = rng.random(n) < 1 / (1 + np.exp(-(0.6 + 0.8 * np.log((1 - quality) / quality))))
    ranking = Ranking.make(np.zeros(n, dtype=int), np.ones(n, dtype=int), quality)
    if with_quality:
        object.__setattr__(ranking, "quality", quality)
    target = certify_target(ranking, 0.05)
    first = target.forecast
    run_audit(target, SimulatedAnnotator(wrong.astype(int)))
    taken = target.claim.n_answers
    assert target.forecast.n_answers == taken and str(target.forecast) == f"{taken:,} answers"
    assert taken / first.factor / (1 if with_quality else 2) < first.n_answers < taken * first.factor * 2


def test_targets_that_make_no_sense_are_refused():
    for how, message in [
        ({"error_rate": 0.0}, "error_rate must be more than 0"),
        ({"level": 1}, "level must be"),
    ]:
        with pytest.raises(InputError, match=message):
            make_target(**how)

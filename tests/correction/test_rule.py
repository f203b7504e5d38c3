import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged_votes import make_rule, make_table, make_votes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from subsvms import correct_labels
from subsvms.correction import _rule
from subsvms.correction._noise import estimate_noise
from subsvms.correction._rule import (
    Halt,
    Judgement,
    Overlap,
    Settings,
    apply_rule,
    count_allowed,
    fill_large,
    find_lacking,
)
from subsvms.exceptions import LabelNoiseWarning

MATRIX = [[0.9, 0.1], [0.3, 0.7]]


def judge(votes, labels, matrix, settings, **more):
    return apply_rule(make_rule(votes, labels, matrix, settings, **more), votes, labels)


def test_the_posterior_rule_leaves_fewer_wrong_labels_than_given_and_than_the_majority_of_votes(seed):
    votes, labels, true, _ = make_table(seed)
    posterior, majority = (
        judge(votes, labels, MATRIX, Settings(rule=rule)) for rule in ("posterior", "majority")
    )
    assert_array_equal(majority.suggested, votes.winners([1200, 800], labels))
    assert_array_equal(majority.flagged, majority.suggested != labels)
    left, by_votes = (
        np.mean(np.where(one.flagged, one.suggested, labels) != true) for one in (posterior, majority)
    )
    assert left < np.mean(labels != true) / 2 and left <= by_votes + 0.01


@pytest.mark.parametrize("rule", ["posterior", "majority"])
def test_asking_for_more_confidence_flags_a_subset_of_the_rows(seed, rule):
    votes, labels, _, _ = make_table(seed)
    free, surer, surest = (
        judge(votes, labels, MATRIX, Settings(rule=rule, min_confidence=c)).flagged for c in (0.5, 0.8, 0.95)
    )
    assert np.all(free | ~surer) and np.all(surer | ~surest) and surest.sum() < free.sum()


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=30), rate=st.floats(0, 1), data=st.data())
def test_the_limit_on_changes_is_never_exceeded(scores, rate, data):
    flagged = np.array([data.draw(st.booleans()) for _ in scores])
    score = np.array(scores)
    n = len(scores)
    nothing, zeros = np.zeros(n, dtype=np.int8), np.zeros(n, dtype=int)
    judgement = Judgement(np.zeros((n, 2)), zeros, flagged, zeros, score, 1 - score, nothing)
    rows = np.flatnonzero(flagged)
    cutoff = _rule.find_cutoff(score[rows], 1 - score[rows], rows, count_allowed(rate, n))
    capped = judgement if cutoff is None else cutoff.apply(judgement, np.arange(n))
    assert capped.flagged.sum() <= rate * n + 1e-6
    surest = sorted(np.flatnonzero(flagged), key=lambda row: (-score[row], row))
    assert np.flatnonzero(capped.flagged).tolist() == sorted(surest[: int(rate * n + 1e-9)])
    assert np.all((capped.halt == Halt.CAPPED) == (flagged & ~capped.flagged))


def test_doubtful_rows_have_ranks_even_without_noise(seed):
    votes, labels, _, u = make_table(seed, rates=(0.0, 0.0))
    quality = judge(votes, labels, np.eye(2), Settings()).quality
    assert np.all((quality >= 0) & (quality <= 1))
    assert len(np.unique(quality)) > 0.5 * len(np.unique(u))  # only the surest are all alike
    within = quality[labels == 1][np.argsort(u[labels == 1])]
    assert np.all(np.diff(within) >= -1e-12)  # the more votes for the label, the more credible it is


def test_a_contradicted_label_ranks_low_in_a_class_thought_free_of_noise(seed):
    """To contradict all votes without noise is worse than to contradict a few with a little noise."""
    votes, labels, _, u = make_table(seed, rates=(0.05, 0.0))
    labels[np.argsort(u)[-3:]] = 0  # three against all votes: by the rates, class 1 loses no rows
    quality = judge(votes, labels, [[0.97, 0.03], [0.0, 1.0]], Settings()).quality
    divided = (labels == 1) & (np.abs(u) < 0.1)
    assert quality[np.argsort(u)[-3:]].max() < np.median(quality[divided])


def test_second_votes_change_the_ranks_alone_and_only_of_rows_that_they_judge(seed):
    votes, labels, true, u = make_table(seed)
    rng = np.random.default_rng(seed)
    others = make_votes(np.clip(rng.normal(1.0 * (true - 0.5), 0.3), -1, 1))
    labels[5] = -1
    second = others.mean_value
    second[:5] = np.nan
    rule = make_rule(votes, np.abs(labels), MATRIX)
    both = replace(rule, second=(make_rule(others, np.abs(labels), MATRIX).noise, 0.25))
    plain, ranked = (apply_rule(one, replace(votes, second=second), labels) for one in (rule, both))
    alone = apply_rule(replace(rule, noise=both.second[0]), others, labels)
    for name in set(vars(plain)) - {"quality"}:
        assert_array_equal(getattr(plain, name), getattr(ranked, name))
    assert_array_equal(ranked.quality[:5], plain.quality[:5])
    assert_allclose(ranked.quality[5:], 0.75 * plain.quality[5:] + 0.25 * alone.quality[5:])
    known = labels >= 0
    area, before = (roc_auc_score((labels != true)[known], -one.quality[known]) for one in (ranked, plain))
    assert area > before
    assert_array_equal(apply_rule(both, votes, labels).quality, plain.quality)  # without second votes


def test_where_overlap_is_certain_labels_stand_and_ranks_rely_more_on_votes(seed):
    """Rates that are wrong: no label of class 1 was lost, and those of class 0 that became 1 are hidden."""
    votes, labels, true, _ = make_table(seed, rates=(0.2, 0.0))
    rule = make_rule(votes, labels, [[1.0, 0.0], [0.4, 0.6]])
    found = Overlap(np.ones(2), np.zeros(2, dtype=bool))
    by_noise, by_overlap = (apply_rule(replace(rule, overlap=one), votes, labels) for one in (None, found))
    assert by_noise.flagged.any() and not by_overlap.flagged.any()
    assert_array_equal(by_overlap.posterior, np.eye(2)[labels])
    assert_array_equal(by_overlap.halt == Halt.TOLD_APART, by_noise.flagged)
    areas = [roc_auc_score(labels != true, -judgement.quality) for judgement in (by_noise, by_overlap)]
    assert areas[0] < 0.7 < areas[1]


def test_overlap_takes_probability_from_the_class_that_rows_would_join(seed):
    votes, labels, _, _ = make_table(seed, rates=(0.1, 0.1))
    rule = make_rule(votes, labels, [[0.9, 0.1], [0.1, 0.9]])
    some = Overlap(np.array([0.0, 0.25]), np.zeros(2, dtype=bool))
    whole, part = (apply_rule(replace(rule, overlap=one), votes, labels) for one in (None, some))
    assert_array_equal(part.posterior[labels == 1], whole.posterior[labels == 1])
    assert_allclose(part.posterior[labels == 0, 1], 0.75 * whole.posterior[labels == 0, 1])
    assert_allclose(part.posterior.sum(axis=1), 1.0)
    assert not np.any(part.halt)  # labels that are kept are just probable
    untested = Overlap(np.array([0.0, 1.0]), np.array([False, True]))
    kept = apply_rule(replace(rule, overlap=untested), votes, labels)
    assert_array_equal(kept.halt == Halt.UNTESTED, whole.flagged & (labels == 0))


def test_a_change_against_most_labels_of_its_kind_needs_sure_rows_with_the_label_or_errors_both_ways():
    votes, labels, _, _ = make_table(0, rates=(0.0, 0.7))
    enough = make_rule(votes, labels, [[1.0, 0.0], [0.7, 0.3]])
    others, lacking = (replace(enough, lacking=np.arange(2) == b) for b in range(2))
    both_ways = replace(lacking.noise, rate_interval=np.array([[0.0, 0.15], [0.6, 0.8]]))
    free = [apply_rule(rule, votes, labels) for rule in (enough, others, replace(lacking, noise=both_ways))]
    assert all(one.flagged.mean() > 0.2 and not np.any(one.halt) for one in free)
    held = apply_rule(lacking, votes, labels)
    assert_array_equal(held.halt == Halt.OUTNUMBERED, free[0].flagged)
    assert not held.flagged.any() and np.all(held.posterior[free[0].flagged, 1] > 0.5)
    majority = replace(lacking, settings=Settings(rule="majority"))
    assert apply_rule(majority, votes, labels).flagged.any()


def test_the_surest_rows_lack_the_label_if_their_labels_were_flipped_and_not_if_any_were(seed):
    rng = np.random.default_rng(seed)
    true = np.arange(4000) % 2
    u = np.clip(rng.normal(0.25 * (2 * true - 1), 0.4), -1, 1)
    second = np.flatnonzero(true == 1)
    surest = second[np.argsort(-u[second])[:150]]

    def lacks(flipped, values):
        labels = true.copy()
        labels[flipped] = 0
        return find_lacking(estimate_noise(values, labels, np.arange(2)), values, labels)

    mixed, apart = np.column_stack([-u, u]), 0.9 * np.column_stack([1 - 2 * true, 2 * true - 1])
    drawn = [rng.choice(second, 150, replace=False) for _ in range(5)]
    assert (
        lacks(surest, mixed)[1] and sum(lacks(rows, mixed)[1] for rows in drawn) <= 2
    )  # one in six, by chance
    assert lacks(drawn[0], apart) is None


@pytest.mark.parametrize("rate", [0.3, 0.36, 0.395])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_ranks_make_sense_under_heavy_noise(rate, weight):
    votes, labels, true, _ = make_table(0, rates=(rate, rate))
    rule = make_rule(votes, labels, [[1 - rate, rate], [rate, 1 - rate]])
    overlap = Overlap(np.full(2, weight), np.zeros(2, dtype=bool))
    judgement = apply_rule(replace(rule, overlap=overlap), votes, labels)
    assert roc_auc_score(labels != true, -judgement.quality) > 0.9


def test_rows_that_no_svm_can_judge_keep_their_labels():
    votes, labels, _, _ = make_table(0)
    for array in (votes.counts, votes.sums, votes.n_voters):
        array[:50] = 0
    judgement = judge(votes, labels, MATRIX, Settings())
    assert not judgement.flagged[:50].any() and judgement.flagged[50:].any()
    assert np.all(judgement.quality[:50] == 1)


@pytest.mark.parametrize("rule", ["posterior", "majority"])
def test_unexplained_labels_and_a_class_with_few_rows_are_left_alone(rule):
    votes, labels, _, _ = make_table(0)
    assert not judge(votes, labels, MATRIX, Settings(rule=rule), evidence=1.0).flagged.any()
    labels = (np.arange(len(labels)) < 4).astype(int)
    assert not judge(votes, labels, np.eye(2), Settings(rule=rule)).flagged.any()


@pytest.mark.parametrize("rule", ["posterior", "majority"])
def test_rows_without_a_label_are_filled_in_with_no_class_that_is_left_alone(rule):
    rng = np.random.default_rng(0)
    y = np.array(["common"] * 60 + ["usual"] * 60 + ["rare"] * 3 + [None] * 40, dtype=object)
    X = rng.normal(size=(163, 2)) + 6.0 * (y == "usual")[:, None] - 6.0 * (y == "rare")[:, None]
    X[123:] -= 6.0  # where the rare ones are
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        correction = correct_labels(X, y, rule=rule, random_state=0)
    assert correction.missing.sum() == 40
    assert set(correction.labels[123:]) <= {"common", "usual"}
    np.testing.assert_allclose(correction.judgement.posterior.sum(axis=1), 1.0)


def test_what_is_known_about_labels_stays_as_it_is_where_others_are_filled_in():
    posterior = np.array([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7], [0.0, 0.0, 1.0], [np.nan] * 3]) * (1 + 1e-15)
    found = fill_large(posterior, np.array([True, False, False, False]), np.array([50, 60, 3]))
    np.testing.assert_array_equal(found[0], posterior[0])
    np.testing.assert_allclose(found[1:3], [[1 / 3, 2 / 3, 0], [0.5, 0.5, 0]])
    np.testing.assert_array_equal(fill_large(posterior, np.zeros(4, dtype=bool), np.full(3, 9)), posterior)

"""The guards that distinguish wrong labels from classes that overlap."""

import numpy as np
import pytest
from corrections import quick
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from subsvms import SubSVMClassifier, adversaries
from subsvms.correction._guards import (
    DOUBTED,
    LARGEST_SIDE,
    Guards,
    SVMLook,
    can_separate,
    find_distinct,
)
from subsvms.correction._rule import Halt, Judgement
from subsvms.exceptions import LabelNoiseWarning


def make_model(**params):
    return SubSVMClassifier(n_estimators=100, **params)


def look_at(X, seed, **params):
    return SVMLook(make_model(random_state=seed, **params), X)


def make_sides(seed, gap, n=300):
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n, 5))
    X[:n, 0] += gap
    return X, np.arange(n), np.arange(n, 2 * n)


@pytest.mark.parametrize("kind", ["dense", "csr", "precomputed"])
def test_rows_of_two_distributions_are_separated(seed, kind):
    X, one, other = make_sides(seed, gap=0.5)
    kernel = "precomputed" if kind == "precomputed" else "rbf"
    table = {"dense": X, "csr": sparse.csr_array(X), "precomputed": rbf_kernel(X, gamma=0.2)}[kind]
    assert can_separate(look_at(table, seed, kernel=kernel), one, other)


def test_rows_of_one_distribution_are_seldom_separated():
    found = []
    for seed in range(20):
        X, one, other = make_sides(seed, gap=0.0, n=100)
        found.append(can_separate(look_at(X, seed), one, other))
    assert np.sum(found) <= 1


def test_a_large_table_is_sampled(seed):
    X, one, other = make_sides(seed, gap=0.5, n=2 * LARGEST_SIDE)
    assert can_separate(look_at(X, seed), one, other)


def judge(flagged, suggested, n):
    nothing = np.zeros(n)
    return Judgement(
        np.zeros((n, 2)), suggested, flagged, suggested, nothing, nothing, np.zeros(n, dtype=np.int8)
    )


def test_labels_are_kept_where_their_rows_differ_and_only_there(seed):
    """Rows 0 to 299 look unlike those labelled 1; rows 300 to 599 look like them."""
    rng = np.random.default_rng(seed)
    X = rng.random((900, 5))
    X[:300, 0] += 0.7
    given = np.repeat([0, 1], [600, 300])
    values = np.zeros((900, 2))
    for rows, spared in ((np.arange(300), True), (np.arange(300, 600), False)):
        flagged = np.zeros(900, dtype=bool)
        flagged[rows] = True
        judgement = judge(flagged, np.where(flagged, 1, given), 900)
        distinct = find_distinct(look_at(X, seed), given, values, judgement)
        assert distinct == ((1,) if spared else ())
        kept = Guards(distinct=distinct).apply(judgement, given)
        assert_array_equal(kept.flagged, flagged & (not spared))


def test_a_few_changes_pass_but_not_many_to_a_class_without_other_rows():
    X = np.random.default_rng(0).random((60, 3))
    given, values = np.zeros(60, dtype=int), np.zeros((60, 2))
    for n, spared in ((4, False), (30, True)):
        flagged = np.arange(60) < n
        judgement = judge(flagged, flagged.astype(int), 60)
        assert find_distinct(look_at(X, 0), given, values, judgement) == ((1,) if spared else ())


def make_chessboard(seed, n=600):
    """Two features that decide, square by square, and two that do not: tiny, wide SVMs cannot learn it."""
    X = np.random.default_rng(seed).random((n, 4))
    return X, (np.floor(4 * X[:, :2]).sum(axis=1) % 2).astype(int)


def test_a_vote_that_cannot_see_a_chessboard_changes_nothing(seed):
    X, clean = make_chessboard(seed + 3)
    for given in (clean, adversaries.uniform_flips(clean, error_rate=0.1, random_state=seed).labels):
        with pytest.warns(LabelNoiseWarning):
            correction = quick(X, given, random_state=seed)
        assert not correction.changed.any()


def test_a_note_says_why_changes_were_dropped():
    flagged, suggested = np.array([True, True, True, False]), np.array([0, 1, 1, 1])
    guards = Guards(distinct=(0,), untested=(1,))
    judgement = guards.apply(judge(flagged, suggested, 4), np.array([1, 0, 0, 1]))
    assert judgement.halt.tolist() == [Halt.TOLD_APART, Halt.UNTESTED, Halt.UNTESTED, Halt.NONE]
    assert not judgement.flagged.any()
    told_apart, untested = judgement.notes
    assert told_apart.startswith("1 label that") and "the features distinguish" in told_apart
    assert untested.startswith("2 labels") and "larger pool" in untested


def test_noise_is_denied_where_a_guard_contradicts_it():
    assert not Guards().denied and not Guards(untested=(0, 1)).denied
    assert Guards(distinct=(0,)).denied and Guards(coarse=True).denied


@pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")
def test_heavy_noise_is_not_mistaken_for_a_coarse_vote(seed):
    """Labels that no SVM can learn well, because they are wrong, are still corrected."""
    rng = np.random.default_rng(seed)
    clean = np.arange(600) % 2
    X = rng.normal(0.4 * clean[:, None], 0.25, (600, 6))
    given = adversaries.uniform_flips(clean, error_rate=0.36, random_state=seed).labels
    model = make_model(random_state=seed).fit(X, given)
    assert not SVMLook(model, X).is_too_coarse(given, 5.0)
    correction = quick(X, given, random_state=seed)
    assert np.sum(correction.labels != clean) < 0.7 * np.sum(given != clean)


def test_only_a_weak_vote_is_doubted():
    X, given = make_chessboard(3)
    model = make_model(random_state=0).fit(X, given)
    assert SVMLook(model, X).is_too_coarse(given, 4.0)
    assert not SVMLook(model, X).is_too_coarse(given, DOUBTED)
    assert not SVMLook(model, X, chosen=True).is_too_coarse(given, 4.0)
    linear = make_model(kernel="linear", random_state=0).fit(X, given)
    assert SVMLook(linear, sparse.csr_array(X)).is_too_coarse(given, 4.0)
    own = make_model(kernel="precomputed", random_state=0).fit(rbf_kernel(X), given)
    assert not SVMLook(own, rbf_kernel(X)).is_too_coarse(given, 4.0)

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import minmax_scale

from subsvms import (
    LabelCorrector,
    SubSVMClassifier,
    adversaries,
    estimate_regularity,
    make_separable_gaussians,
    plan,
)
from subsvms.planning import FEWEST, MOST, USUAL, choose_size, disagreement_limits, find_rho
from subsvms.subset_bounds import smallest_size
from subsvms.vote_bounds import vote_failure, votes_needed


def test_a_plan_for_easy_data_says_what_it_knows():
    X, y = make_separable_gaussians(500, 4, beta=0.4, random_state=0)
    found = plan(X, y, max_error_rate=0.1, failure=1e-6, random_state=0)
    assert found.votes_needed == votes_needed(found.phi, 1e-6)
    assert vote_failure(found.n_estimators, found.phi) <= 1e-6
    assert found.n_estimators >= FEWEST and found.phi < 0.35
    r = found.regularity.smallest_size
    assert found.subsample_size >= smallest_size(r, find_rho(0.1, np.array([0.4, 0.6])))
    text = str(found)
    for words in ("Guaranteed:", "Estimated:", "Assumed:", "Theorem 6", "certificate", "Nothing in a table"):
        assert words in text


def test_the_limit_on_errors_holds_against_the_clean_labels(seed):
    """phi bounds the mean error of an SVM by the clean labels if the wrong ones are as few as said."""
    X, clean = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)
    given = adversaries.uniform_flips(clean, error_rate=0.15, random_state=seed).labels
    found = plan(X, given, max_error_rate=0.15, random_state=seed)
    model = SubSVMClassifier(**found.parameters, random_state=seed).fit(X, given)
    share = model.predict_proba(X)[np.arange(len(clean)), clean]
    assert 1 - share.mean() <= found.phi


def test_the_plan_can_be_used_as_it_is():
    X, y = make_separable_gaussians(300, 3, random_state=1)
    found = plan(X, y, random_state=0)
    correction = LabelCorrector(**found.parameters, random_state=0).fit(X, y).correction_
    assert not correction.changed.any()
    assert found.seconds > 0


def test_labels_without_sense_promise_nothing():
    rng = np.random.default_rng(0)
    found = plan(rng.random((200, 3)), rng.integers(0, 2, 200), max_error_rate=0.1, random_state=0)
    assert found.votes_needed is None and found.phi >= 0.5 and found.n_estimators == USUAL
    assert "Nothing is promised" in str(found) and "Theorem 6" not in " ".join(found.guaranteed)


def test_a_promise_that_takes_too_many_votes_is_not_kept_silently():
    """Labels hardly better than chance: the plan stays sensible and says how many votes it would take."""
    X, y = make_separable_gaussians(300, 2, random_state=0)
    rate = 0.499 - plan(X, y, max_error_rate=0.0, random_state=0).phi
    found = plan(X, y, max_error_rate=rate, random_state=0)
    assert found.votes_needed > found.n_estimators == MOST
    assert f"it would take {found.votes_needed}" in found.guaranteed[0]


def test_wrong_labels_that_could_be_a_whole_class_are_named():
    X, y = make_separable_gaussians(400, 2, beta=0.05, random_state=0)
    found = plan(X, y, max_error_rate=0.1, random_state=0)
    assert "a whole class" in " ".join(found.assumed)
    assert not any("clean rows of each" in text for text in found.guaranteed)


def test_several_classes_lists_and_the_same_seed():
    X, y = load_iris(return_X_y=True)
    X = minmax_scale(X)
    one = plan(X.tolist(), np.array(["a", "b", "c"])[y].tolist(), random_state=3)
    other = plan(X, y, random_state=3)
    assert (one.parameters, one.phi, one.guaranteed) == (other.parameters, other.phi, other.guaranteed)


def test_the_smallest_size_that_is_nearly_as_good_is_chosen():
    sizes, limits = np.array([5, 10, 20, 40]), np.array([0.49, 0.33, 0.319, 0.3])
    assert choose_size(sizes, limits, least=2, usual=40) == 20  # 0.181 of 0.2 is enough, 0.17 is not
    assert choose_size(sizes, limits, least=21, usual=20) == 40
    assert choose_size(sizes, np.full(4, 0.6), least=2, usual=20) == 20
    assert choose_size(sizes, np.array([0.6, 0.6, 0.6, 0.4]), least=2, usual=20) == 40


def test_limits_shrink_with_more_trials():
    X, y = make_separable_gaussians(300, 2, random_state=0)
    few, many = (estimate_regularity(X, y, sizes=[10], n_trials=n, random_state=0) for n in (20, 500))
    widths = [disagreement_limits(found) - found.uniform_errors for found in (few, many)]
    assert 0 < widths[1][0] < widths[0][0]


@pytest.mark.parametrize(
    "bad, message",
    [
        (dict(max_error_rate=0.5), "max_error_rate must be at least 0 and less than 0.5"),
        (dict(max_error_rate=-0.1), "max_error_rate must be at least 0"),
        (dict(failure=0.0), "failure must be more than 0 and less than 1"),
        (dict(failure=1.0), "failure must be more than 0 and less than 1"),
    ],
)
def test_values_out_of_range_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        plan(np.eye(10), [0, 1] * 5, **bad)

import re

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import minmax_scale

from subsvms import LabelCorrector, SubSVMClassifier, adversaries
from subsvms.certificates import count_withstood
from subsvms.datasets import make_separable_gaussians
from subsvms.ensemble._sampling import draw_subsets
from subsvms.ensemble._votes import Votes
from subsvms.theory import _planning as planning
from subsvms.theory import estimate_regularity, plan
from subsvms.theory._planning import (
    FEWEST,
    MOST,
    USUAL,
    choose_size,
    disagreement_limits,
    expect_seconds,
    find_rho,
    round_down,
    round_up,
    unanimous_withstands,
    unseen_share,
)
from subsvms.theory._subset_bounds import smallest_size
from subsvms.theory._vote_bounds import vote_failure, votes_needed


def test_a_plan_for_easy_data_says_what_it_knows():
    X, y = make_separable_gaussians(500, 4, beta=0.4, random_state=0)
    found = plan(X, y, max_error_rate=0.1, failure=1e-6, random_state=0)
    asked = unseen_share(found.subsample_size, np.array([300, 200]), np.array([0.5, 0.5]))
    assert found.votes_needed == np.ceil(votes_needed(found.phi, 1e-6) / asked)
    assert vote_failure(int(found.n_estimators * asked), found.phi) <= 1e-6
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
    assert found.votes_needed > MOST and found.n_estimators == USUAL
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


def draw(labels, size, n=4000, p=0.5, seed=0):
    return draw_subsets(labels, n, size, p, seed=seed)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("beta", [0.3, 0.45])
def test_subsets_have_as_many_clean_rows_as_guaranteed(alpha, beta):
    """The sentence on clean rows, against subsets of labels that an adversary with that rho has changed."""
    X, clean = make_separable_gaussians(400, 3, beta=beta, random_state=0)
    given = adversaries.directed_flips(clean, rho=0.3, alpha=alpha, random_state=0).labels
    wrong = np.mean(given != clean)
    found = plan(X, given, max_error_rate=wrong, random_state=0)
    sentence = next(text for text in found.guaranteed if "clean rows" in text)
    rows, kept = (
        int(re.search(r"has (\d+) clean", sentence)[1]),
        float(re.search(r"probability ([\d.]+)", sentence)[1]),
    )
    subsets = draw(given, found.subsample_size)
    right = given == clean
    enough = [np.sum((right & (clean == c))[subsets], axis=1) >= rows for c in (0, 1)]
    assert np.mean(enough[0] & enough[1]) >= kept - 0.01
    assert kept < 1


def test_of_several_classes_nothing_is_said_that_holds_for_two():
    X, y = load_iris(return_X_y=True)
    found = plan(minmax_scale(X), y, random_state=0)
    assert not any("clean rows" in text for text in found.guaranteed)


@pytest.mark.parametrize("counts", [[900, 100], [100, 900], [50, 60, 400]])
def test_the_certificate_of_a_plan_holds_for_every_class(counts):
    labels = np.repeat(np.arange(len(counts)), counts)
    model = SubSVMClassifier(n_estimators=1000, subsample_size=20)
    m = unanimous_withstands(model, np.array(counts))
    n = np.array([1000])
    each = []
    for winner in range(len(counts)):
        for given in range(len(counts)):
            votes = Votes(1000 * np.eye(len(counts), dtype=int)[[winner]], np.zeros((1, len(counts))), n)
            each.append(count_withstood(votes, np.bincount(labels), np.array([given]), 20)[0])
    assert m == min(each) > 0
    assert unanimous_withstands(model.set_params(class_weight="balanced"), np.array(counts)) == 0


def test_a_plan_without_a_certificate_makes_no_promise_of_it():
    X, y = make_separable_gaussians(300, 2, random_state=0)
    found = plan(X, y, class_weight="balanced", random_state=0)
    assert not any("certificate" in text for text in found.guaranteed)


def test_limits_are_rounded_to_the_safe_side():
    assert (round_up(0.1231), round_up(0.123), round_down(0.99999), round_down(0.918)) == (
        "0.124",
        "0.123",
        "0.999",
        "0.918",
    )


@pytest.mark.parametrize("n, d", [(60, 10), (100, 20)])
def test_phi_limits_errors_on_rows_that_an_svm_has_not_seen(n, d, seed):
    """In small tables that is more than on all rows."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(0.25 * y[:, None], 0.3, (n, d))
    found = plan(X, y, max_error_rate=0.0, random_state=seed)
    model = SubSVMClassifier(
        n_estimators=2000, subsample_size=found.subsample_size, random_state=seed + 1
    ).fit(X, y)
    unseen = 1 - model.oob_vote_share_[np.arange(n), y].mean()
    assert 1 - model.predict_proba(X)[np.arange(n), y].mean() < unseen <= found.phi
    if found.votes_needed is not None:
        asked = model.oob_votes_.n_voters.min() / 2000  # share of the SVMs that have not seen a row
        assert found.votes_needed * asked >= 0.95 * votes_needed(found.phi, 0.01)


def test_seconds_grow_with_the_rows_that_the_pilot_left_out(monkeypatch):
    X, y = make_separable_gaussians(3000, 2, beta=0.01, random_state=0)
    model = SubSVMClassifier(n_estimators=200, subsample_size=20)
    spent = iter(np.cumsum([0.0, 1, 0, 1, 0, 2] + [0, 0]).tolist())
    monkeypatch.setattr(planning, "PILOT_ROWS", 300)
    monkeypatch.setattr(planning.time, "perf_counter", lambda: next(spent))
    # pilots of 64 and 192 SVMs took 1 s and 2 s on a tenth of the rows: (0.5 + 200 / 128) * 10 or so
    assert expect_seconds(model, X, y, 0) == pytest.approx((0.5 + 200 / 128) * 10, rel=0.02)


@pytest.mark.parametrize("name", ["n_estimators", "subsample_size"])
def test_what_a_plan_recommends_cannot_be_handed_to_it(name):
    with pytest.raises(ValueError, match=f"A plan recommends {name}"):
        plan(np.eye(10), [0, 1] * 5, **{name: 50})


def test_the_smallest_size_that_is_nearly_as_good_is_chosen():
    sizes, limits = np.array([5, 10, 20, 40]), np.array([0.49, 0.33, 0.319, 0.3])
    assert choose_size(sizes, limits, least=2, usual=40) == 20  # 0.181 of 0.2 is enough, 0.17 is not
    assert choose_size(sizes, limits, least=21, usual=20) == 40
    assert choose_size(sizes, limits, least=100, usual=20) == 40
    assert choose_size(sizes, np.full(4, 0.6), least=2, usual=20) == 20
    assert choose_size(sizes, np.array([0.499, 0.35, 0.45, 0.51]), least=2, usual=40) == 10


def test_limits_shrink_with_more_trials():
    X, y = make_separable_gaussians(300, 2, random_state=0)
    few, many = (estimate_regularity(X, y, sizes=[10], n_trials=n, random_state=0) for n in (20, 500))
    widths = [disagreement_limits(found) - found.unseen_errors for found in (few, many)]
    spreads = [found.unseen_sd / np.sqrt(n) for found, n in ((few, 20), (many, 500))]
    np.testing.assert_allclose(widths, norm.isf(0.05) * np.array(spreads))


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

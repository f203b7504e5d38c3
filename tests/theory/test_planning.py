import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale

from subsvms import SubSVMClassifier, adversaries
from subsvms.certificates import count_withstood
from subsvms.datasets import make_separable_gaussians
from subsvms.ensemble._sampling import draw_subsets
from subsvms.ensemble._votes import Votes
from subsvms.theory import _planning as planning
from subsvms.theory import plan
from subsvms.theory._bounds import smallest_size, vote_failure, votes_needed
from subsvms.theory._planning import expect_seconds


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Train fewer SVMs of each size, and skip the runs that measure seconds; one test below makes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "N_TRIALS", 60)
        patch.setattr(planning, "expect_seconds", lambda *args: 1.5)
        yield


def test_a_plan_for_easy_data_says_what_it_knows():
    X, y = make_separable_gaussians(500, 4, beta=0.4, random_state=0)
    found = plan(X, y, error_rate=0.1, failure=1e-6, random_state=0)
    asked = planning.unseen_share(found.subsample_size, np.array([300, 200]), np.array([0.5, 0.5]))
    assert found.votes_needed == np.ceil(votes_needed(found.phi, 1e-6) / asked)
    assert vote_failure(int(found.n_estimators * asked), found.phi) <= 1e-6
    assert found.n_estimators >= planning.FEWEST_SVMS and found.phi < 0.35
    r = found.regularity.smallest_size
    assert found.subsample_size >= smallest_size(r, planning.largest_rho(0.1, np.array([0.4, 0.6])))
    text = str(found)
    for words in ("Guaranteed:", "Estimated:", "Assumed:", "Theorem 6", "certificate", "No table can prove"):
        assert words in text
    assert "about 1.5 seconds" in text
    assert np.mean(SubSVMClassifier(**found.parameters, random_state=0).fit(X, y).oob_labels_ != y) < 0.01


def test_phi_bounds_the_error_rate_by_the_clean_labels(cancer):
    """Phi bounds the mean error of an SVM if no more labels are wrong than error_rate says."""
    X, clean = cancer
    given = adversaries.uniform_flips(clean, error_rate=0.15, random_state=0).labels
    found = plan(X, given, error_rate=0.15, random_state=0)
    size = {"n_estimators": 300, "subsample_size": found.subsample_size}
    share = SubSVMClassifier(**size, random_state=0).fit(X, given).predict_proba(X)
    assert 1 - share[np.arange(len(clean)), clean].mean() <= found.phi


def test_phi_bounds_the_error_rate_on_rows_that_an_svm_has_not_seen(seed):
    """In small tables it is larger there than on all rows."""
    n = 60
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(0.25 * y[:, None], 0.3, (n, 10))
    found = plan(X, y, error_rate=0.0, random_state=seed)
    size = {"n_estimators": 2000, "subsample_size": found.subsample_size}
    model = SubSVMClassifier(**size, random_state=seed + 1).fit(X, y)
    unseen = 1 - model.oob_vote_share_[np.arange(n), y].mean()
    assert 1 - model.predict_proba(X)[np.arange(n), y].mean() < unseen
    assert unseen <= found.phi + 0.02  # phi is a limit with confidence 0.95, from 60 SVMs
    asked = model.oob_votes_.n_voters.mean() / 2000  # share of the SVMs that have not seen a row
    assert found.votes_needed * asked >= 0.98 * votes_needed(found.phi, 0.01)


def test_for_random_labels_nothing_is_promised():
    rng = np.random.default_rng(0)
    found = plan(rng.random((100, 3)), rng.integers(0, 2, 100), error_rate=0.1, random_state=0)
    assert found.votes_needed is None and found.phi >= 0.5 and found.n_estimators == planning.USUAL_SVMS
    assert "Nothing is promised" in str(found) and "Theorem 6" not in " ".join(found.guaranteed)


def test_a_promise_that_would_take_too_many_votes_is_not_made():
    """Where phi is just below 1/2, the plan stays sensible and says how many votes it would take."""
    X, y = make_separable_gaussians(200, 2, random_state=0)
    rate = 0.499 - plan(X, y, error_rate=0.0, random_state=0).phi
    found = plan(X, y, error_rate=rate, random_state=0)
    assert found.votes_needed > planning.MOST_SVMS and found.n_estimators == planning.USUAL_SVMS
    assert f"it would take {found.votes_needed}" in found.guaranteed[0]


def test_a_plan_claims_no_clean_rows_of_a_class_that_may_be_all_wrong_and_no_certificate_without_one():
    X, y = make_separable_gaussians(200, 2, beta=0.05, random_state=0)
    found = plan(X, y, error_rate=0.1, class_weight="balanced", random_state=0)
    assert "a whole class" in " ".join(found.assumed)
    assert not any("clean rows" in text or "certificate" in text for text in found.guaranteed)


def test_the_same_seed_gives_the_same_plan_for_lists_and_other_names_and_three_classes_claim_less():
    X, y = load_iris(return_X_y=True)
    X, names = minmax_scale(X), np.array(["a", "b", "c"])[y].tolist()
    one, other = plan(X.tolist(), names, random_state=3), plan(X, y, random_state=3)
    assert (one.parameters, one.phi, one.guaranteed) == (other.parameters, other.phi, other.guaranteed)
    assert one.guaranteed and not any("clean rows" in text for text in one.guaranteed)


@pytest.mark.parametrize("alpha, beta", [(0.0, 0.3), (1.0, 0.3), (0.5, 0.45)])
def test_subsets_have_as_many_clean_rows_as_guaranteed(alpha, beta):
    """Checked on subsets of labels that an adversary with that rho has changed."""
    X, clean = make_separable_gaussians(400, 3, beta=beta, random_state=0)
    given = adversaries.directed_flips(clean, rho=0.3, alpha=alpha, random_state=0).labels
    right = given == clean
    found = plan(X, given, error_rate=np.mean(~right), random_state=0)
    sentence = next(text for text in found.guaranteed if "clean rows" in text)
    rows = int(re.search(r"has (\d+) clean", sentence)[1])
    kept = float(re.search(r"at least ([\d.]+\d)", sentence)[1])
    subsets = draw_subsets(given, 4000, found.subsample_size, 0.5, seed=0)
    enough = [np.sum((right & (clean == c))[subsets], axis=1) >= rows for c in (0, 1)]
    assert np.mean(enough[0] & enough[1]) >= kept - 0.01
    assert 0 < kept < 1


@pytest.mark.parametrize("counts", [[900, 100], [100, 900], [50, 60, 400]])
def test_the_certificate_of_a_plan_holds_for_every_class(counts):
    model = SubSVMClassifier(n_estimators=1000, subsample_size=20)
    m = planning.unanimous_withstands(model, np.array(counts))
    each = []
    for winner in range(len(counts)):
        for given in range(len(counts)):
            unanimous = 1000 * np.eye(len(counts), dtype=int)[[winner]]
            votes = Votes(unanimous, np.zeros((1, len(counts))), np.array([1000]))
            each.append(count_withstood(votes, np.array(counts), np.array([given]), 20)[0])
    assert m == min(each) > 0
    assert planning.unanimous_withstands(model.set_params(class_weight="balanced"), np.array(counts)) == 0


def test_limits_are_rounded_to_the_safe_side():
    assert (planning.round_up(0.1231), planning.round_up(0.123)) == ("0.124", "0.123")
    assert (planning.round_down(0.99999), planning.round_down(0.918)) == ("0.999", "0.918")


def test_seconds_grow_with_the_rows_that_the_pilot_runs_left_out(monkeypatch):
    X, y = make_separable_gaussians(3000, 2, beta=0.01, random_state=0)
    model = SubSVMClassifier(n_estimators=200, subsample_size=20)
    spent = iter(np.cumsum([0.0, 1, 0, 1, 0, 2] + [0, 0]).tolist())
    monkeypatch.setattr(planning, "PILOT_ROWS", 300)
    monkeypatch.setattr(planning.time, "perf_counter", lambda: next(spent))
    # pilots of 64 and 192 SVMs took 1 s and 2 s on a tenth of the rows: (0.5 + 200 / 128) * 10 or so
    assert expect_seconds(model, X, y, 0) == pytest.approx((0.5 + 200 / 128) * 10, rel=0.02)


def test_the_smallest_size_that_is_nearly_as_good_is_chosen():
    sizes, limits = np.array([5, 10, 20, 40]), np.array([0.49, 0.33, 0.319, 0.3])
    assert planning.choose_size(sizes, limits, least=2, usual=40) == 20  # 0.181 of 0.2 is enough, 0.17 is not
    assert planning.choose_size(sizes, limits, least=21, usual=20) == 40
    assert planning.choose_size(sizes, limits, least=100, usual=20) == 40
    assert planning.choose_size(sizes, np.full(4, 0.6), least=2, usual=20) == 20
    assert planning.choose_size(sizes, np.array([0.499, 0.35, 0.45, 0.51]), least=2, usual=40) == 10


@pytest.mark.parametrize("bad, message", [
    (dict(error_rate=0.5), "error_rate must be at least 0 and less than 0.5"),
    (dict(error_rate=-0.1), "error_rate must be at least 0"),
    (dict(failure=0.0), "failure must be more than 0 and less than 1"),
    (dict(failure=1.0), "failure must be more than 0 and less than 1"),
    (dict(n_estimators=50), "A plan recommends n_estimators"),
    (dict(subsample_size=50), "A plan recommends subsample_size"),
])  # fmt: skip
def test_a_value_out_of_range_and_a_parameter_that_a_plan_recommends_are_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        plan(np.eye(10), [0, 1] * 5, **bad)

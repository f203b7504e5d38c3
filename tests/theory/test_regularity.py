import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from subsvms import SubSVMClassifier, adversaries
from subsvms.datasets import make_separable_gaussians
from subsvms.ensemble._sampling import draw_subsets
from subsvms.theory import estimate_regularity
from subsvms.theory._regularity import MOST_ROWS, default_sizes, pick_rows, quantile_ranks


def overlap(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < n // 4).astype(int)
    return rng.normal(0.35 * y[:, None], 0.25, (n, 3)), y


@pytest.mark.parametrize("p", [0.5, 0.3])
def test_error_rates_are_those_of_svms_trained_one_by_one(p):
    """Against scikit-learn's SVC on the same subsets; the classes weigh p and 1 - p."""
    X, y = overlap()
    options = dict(sampling_bias=p, loss="hinge", C=1.0, tol=1e-5)
    ours = estimate_regularity(X, y, sizes=[20], n_trials=30, random_state=0, **options)
    drawn = np.random.RandomState(0).randint(2**31 - 1)
    errors = []
    for subset in draw_subsets(y, 30, 20, p, seed=drawn):
        drawn_labels = y[subset]  # if they are of one class, it wins everywhere
        one = len(set(drawn_labels)) == 1
        svm = None if one else SVC(C=1.0, gamma=1 / 3, tol=1e-5).fit(X[subset], drawn_labels)
        wrong = (np.full(len(y), drawn_labels[0]) if one else svm.predict(X)) != y
        errors.append((1 - p) * wrong[y == 0].mean() + p * wrong[y == 1].mean())
    np.testing.assert_allclose(ours.errors[0], np.sort(errors), atol=1.5 * p / 75)  # a row near zero


def test_theta_is_the_quantile_of_the_trials_and_too_few_have_no_upper_limit():
    X, y = overlap()
    found = estimate_regularity(X, y, sizes=[10, 30], n_trials=100, delta=0.1, random_state=0)
    np.testing.assert_array_equal(found.theta, found.errors[:, 89])
    assert np.all(found.interval[:, 0] <= found.theta) and np.all(found.theta <= found.interval[:, 1])
    X, y = make_separable_gaussians(100, random_state=0)
    found = estimate_regularity(X, y, sizes=[30], n_trials=10, random_state=0)
    assert np.isnan(found.interval[0, 1]) and found.smallest_size is None


@pytest.mark.parametrize("n, level", [(50, 0.9), (200, 0.9), (200, 0.6)])
def test_the_interval_covers_the_quantile_and_a_narrower_one_does_not(n, level):
    low, high = quantile_ranks(n, level, 0.9)
    below = lambda k: binom.cdf(k, n, level)  # noqa: E731
    assert below(low) <= 0.05 < below(low + 1)
    assert high == n or below(high) >= 0.95 > below(high - 1)


def test_the_smallest_size_and_all_larger_ones_are_regular_and_random_labels_at_none():
    X, y = make_separable_gaussians(200, 4, random_state=0)
    found = estimate_regularity(X, y, theta=0.1, n_trials=100, random_state=0)
    r = found.smallest_size
    later = found.sizes >= r
    assert np.all(found.interval[later, 1] <= 0.1) and found.interval[~later, 1][-1] > 0.1
    assert f"Regular from r = {r} on" in str(found)
    rng = np.random.default_rng(0)
    found = estimate_regularity(rng.random((100, 3)), rng.integers(0, 2, 100), n_trials=50, random_state=0)
    assert found.smallest_size is None and "Not regular" in str(found)


def test_the_limit_for_clean_labels_holds_when_svms_learn_corrupted_ones():
    """Judged by the clean labels, SVMs that saw corrupted ones err no more than `clean_theta` allows."""
    X, clean = make_separable_gaussians(300, 2, beta=0.3, random_state=0)
    given = adversaries.directed_flips(clean, rho=0.4, alpha=0.5, random_state=0).labels
    wrong = np.mean(given != clean)
    options = dict(sizes=[30], n_trials=60, random_state=0)
    found = estimate_regularity(X, given, **options)
    assert found.theta[0] > estimate_regularity(X, clean, **options).theta[0]
    drawn = np.random.RandomState(0).randint(2**31 - 1)
    errors = []
    for subset in draw_subsets(given, 60, 30, seed=drawn):
        svm = SVC(C=100.0, gamma=0.5).fit(X[subset], given[subset])
        mistaken = svm.predict(X) != clean
        errors.append(np.mean([mistaken[given == c].mean() for c in (0, 1)]))
    assert np.quantile(errors, 0.9) <= found.clean_theta(wrong)[0]
    heaviest = np.max(0.5 / np.bincount(given) * len(given))  # a row against uniform draws
    assert found.clean_theta(wrong)[0] == pytest.approx(found.interval[0, 1] + wrong * heaviest)
    assert "wrong" in str(found)


def test_mean_errors_are_those_of_the_votes_and_rows_that_an_svm_has_seen_do_not_count_as_unseen():
    """Random labels are learnt by heart: right on rows that were seen, a coin toss on the others."""
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 30)), np.arange(40) % 2
    found = estimate_regularity(X, y, sizes=[30], n_trials=256, random_state=0)
    assert found.unseen_errors[0] > 0.4 and found.uniform_errors[0] < 0.35
    model = SubSVMClassifier(n_estimators=256, subsample_size=30, random_state=0).fit(X, y)
    assert found.uniform_errors[0] == pytest.approx(1 - model.predict_proba(X)[np.arange(40), y].mean())
    unseen = 1 - np.average(model.oob_vote_share_[np.arange(40), y], weights=model.oob_votes_.n_voters)
    assert found.unseen_errors[0] == pytest.approx(unseen, abs=0.03)


def test_every_kind_of_table_and_any_number_of_threads_give_the_same_error_rates():
    X, y = load_iris(return_X_y=True)
    X = minmax_scale(X)
    names = np.array(["a", "b", "c"])[y]
    options = dict(sizes=[12, 40], n_trials=40, random_state=0)
    plain = estimate_regularity(X, names, **options)
    assert plain.class_errors.shape == (2, 3) and plain.theta[1] < plain.theta[0] < 0.7
    for table, more in ((sparse.csr_array(X), {}), (rbf_kernel(X, gamma=0.25), dict(kernel="precomputed"))):
        other = estimate_regularity(table, names, **options, **more)
        np.testing.assert_allclose(other.errors, plain.errors, atol=2 / 150)
    np.testing.assert_array_equal(plain.errors, estimate_regularity(X, names, n_jobs=2, **options).errors)


@pytest.mark.parametrize("n", [5, 60, 1605, 100_000])
def test_default_sizes_fit_the_table_and_of_a_large_class_a_sample_is_counted(n):
    sizes = default_sizes(n)
    assert sizes[0] >= 2 and sizes[-1] <= n and np.all(np.diff(sizes) > 0)
    labels = np.repeat([0, 1], [n, 30])
    rows = pick_rows(labels, np.random.RandomState(0))
    assert np.bincount(labels[rows]).tolist() == [min(n, MOST_ROWS), 30] and np.all(np.diff(rows) > 0)


@pytest.mark.parametrize("bad, message", [
    (dict(delta=0.5), "delta must be more than 0 and less than 0.5; got 0.5"),
    (dict(theta=0.6), "theta must be more than 0 and less than 0.5"),
    (dict(level=1.0), "level must be more than 0 and less than 1"),
    (dict(n_trials=0), "n_trials must be a whole number, at least 1"),
    *[
        (dict(sizes=sizes), "sizes must be whole numbers from 2 to the number of rows, 300")
        for sizes in ([1, 5], [400], [], [4.5])
    ],
    (dict(C=-1.0), "'C' parameter"),
    (dict(n_estimators=50), "leave n_estimators out"),
])  # fmt: skip
def test_a_value_out_of_range_is_refused(bad, message):
    with pytest.raises(ValueError, match=message):
        estimate_regularity(*overlap(), **bad)

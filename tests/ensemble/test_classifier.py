from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

from subsvms import SubSVMClassifier, adversaries


def make_table(seed, n=200, n_classes=2):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    return rng.normal(size=(n, 5)) + labels[:, None], labels


def quick(**params):
    return SubSVMClassifier(n_estimators=60, random_state=0).set_params(**params)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_it_withstands_the_papers_attack(cancer, alpha, seed):
    X, clean = cancer
    given_labels = adversaries.directed_flips(clean, rho=0.6, alpha=alpha, random_state=seed).labels
    model = SubSVMClassifier(random_state=seed).fit(X, given_labels)
    assert np.mean(given_labels == clean) < 0.8
    assert model.score(X, clean) > 0.88


def test_several_classes_withstand_random_labels(seed):
    X, clean = (part[:900] for part in load_digits(return_X_y=True))
    rng = np.random.default_rng(seed)
    given_labels = np.where(rng.random(len(clean)) < 0.4, rng.integers(0, 10, len(clean)), clean)
    model = quick(n_estimators=40).fit(X / 16, given_labels)
    assert np.mean(given_labels == clean) < 0.7
    assert model.score(X / 16, clean) > 0.9


@pytest.mark.parametrize("n_classes, coef_shape, pair_shape", [(2, (), ()), (4, (3,), (6,))])
def test_the_attributes_have_the_documented_shapes_and_give_the_votes(n_classes, coef_shape, pair_shape):
    X, y = make_table(0, n_classes=n_classes)
    model = quick().fit(X, y)
    size = round(n_classes / 2 * np.log(200) ** 2)
    assert model.subsets_.shape == (60, size)
    assert model.dual_coef_.shape == (60, *coef_shape, size)
    assert model.intercept_.shape == model.duality_gap_.shape == (60, *pair_shape)
    assert model.oob_vote_share_.shape == model.oob_mean_value_.shape == (200, n_classes)
    assert model.duality_gap_.max() <= model.tol
    assert model.n_features_in_ == 5
    if n_classes == 2:
        K = rbf_kernel(X, gamma=1 / 5)
        f = np.stack([K[:, rows] @ c for rows, c in zip(model.subsets_, model.dual_coef_, strict=True)])
        mean = np.clip(f + model.intercept_[:, None], -1, 1).mean(axis=0)
        assert_allclose(model.count_votes(X).mean_value[:, 1], mean, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_margins_and_predictions_agree_and_ties_go_to_the_larger_class(n_classes):
    X, y = make_table(0, n_classes=n_classes)
    y[:60] = 1
    model = quick(n_estimators=10).fit(X, y)
    share, margin = model.predict_proba(X), model.decision_function(X)
    best = np.sort(share, axis=1)
    assert_allclose(share.sum(axis=1), 1)
    if n_classes == 2:
        assert_allclose(margin, share[:, 1] - share[:, 0])
    else:
        assert_array_equal(np.argmax(margin, axis=1), np.argmax(share, axis=1))
        assert_allclose(margin.max(axis=1), best[:, -1] - best[:, -2], atol=1e-12)
    assert np.any(best[:, -1] == best[:, -2])
    sizes_of_best = np.where(share == best[:, [-1]], model.class_sizes_, 0)
    assert_array_equal(model.predict(X), model.classes_[sizes_of_best.argmax(axis=1)])


def test_rows_without_an_out_of_bag_majority_keep_their_labels():
    """Every SVM saw the row, or its out-of-bag vote is tied."""
    X = np.arange(20.0)[:, None] / 20
    y = np.array([0] * 18 + [1] * 2)
    model = quick(n_estimators=4, subsample_size=20).fit(X, y)
    share = model.oob_vote_share_
    unsure = np.isnan(share[:, 0]) | (share[:, 0] == 0.5)
    assert np.isnan(share[:, 0]).any()
    assert_array_equal(model.oob_labels_[unsure], y[unsure])
    assert_array_equal(model.oob_labels_[~unsure], np.argmax(share[~unsure], axis=1))


def test_unscaled_features_give_a_warning_unless_gamma_is_chosen_and_do_not_overflow():
    X, y = make_table(0)
    for factor in (100, 1e200):
        with pytest.warns(UserWarning, match="scale the features, for example with MinMaxScaler") as caught:
            model = quick().fit(factor * X, y)
        assert caught[0].filename == __file__ and np.isfinite(model.oob_mean_value_).all()
    quick().fit(X, y)
    quick(gamma="scale").fit(100 * X, y)


def test_several_python_threads_can_fit_at_once():
    X, y = make_table(0)
    expected = quick().fit(X, y).oob_mean_value_
    with ThreadPoolExecutor(6) as threads:
        for model in threads.map(lambda _: quick(n_jobs=2).fit(X, y), range(6)):
            assert_array_equal(model.oob_mean_value_, expected)


def test_single_precision_and_a_precomputed_kernel_give_nearly_the_same_votes():
    X, y = make_table(0)
    K, new = rbf_kernel(X, gamma=1 / 5), X[:10] + 0.1
    plain, single = quick().fit(X, y), quick().fit(X.astype(np.float32), y)
    from_gram = quick(kernel="precomputed").fit(K, y)
    assert_allclose(single.oob_mean_value_, plain.oob_mean_value_, atol=1e-3)
    assert_allclose(from_gram.oob_mean_value_, plain.oob_mean_value_, atol=1e-4)
    assert_array_equal(from_gram.predict(rbf_kernel(new, X, gamma=1 / 5)), plain.predict(new))


@given(seed=st.integers(0, 10**6))
def test_renaming_the_classes_renames_the_predictions(seed):
    """The subsets are the same; the solver's steps differ, and so do values within tol."""
    X, y = make_table(seed)
    one = quick().fit(X, np.array(["a", "b"])[y])
    other = quick().fit(X, np.array(["z", "c"])[y])  # the order of the names is reversed
    assert_array_equal(one.subsets_, other.subsets_)
    assert_allclose(one.oob_mean_value_, other.oob_mean_value_[:, ::-1], atol=1e-3)


@pytest.mark.parametrize("dtype", [str, object, int, bool, float])
def test_predictions_have_the_type_of_the_labels(dtype):
    X, numbers = make_table(0)
    y = np.array(["é", "ß"] if dtype in (str, object) else [0, 1], dtype=dtype)[numbers]
    predicted = quick().fit(X, y).predict(X)
    assert predicted.dtype == y.dtype
    assert np.mean(predicted == y) > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_column_names_of_data_frames_are_kept(library):
    library = pytest.importorskip(library)
    X, y = make_table(0)
    columns = list("pqrst")
    table = library.DataFrame(dict(zip(columns, X.T, strict=True)))
    model = quick().fit(table, library.Series(y))
    assert_array_equal(model.feature_names_in_, columns)
    assert_array_equal(model.predict(table), quick().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[columns[::-1]])


def test_input_is_never_changed():
    X, y = make_table(0)
    csr = sparse.csr_array(X)
    csr.indices[:2] = csr.indices[1::-1].copy()  # unsorted, as users' matrices are
    csr.has_sorted_indices = csr.has_canonical_format = False
    before = X.copy(), y.copy(), csr.data.copy(), csr.indices.copy()
    X.setflags(write=False)
    quick().fit(X, y).predict(X)
    quick().fit(csr, y).predict(csr)
    for now, then in zip((X, y, csr.data, csr.indices), before, strict=True):
        assert_array_equal(now, then)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = make_table(0)
    fresh, fitted = quick(), quick().fit(X, y)
    for model in (fresh, fitted):
        with pytest.raises(ValueError, match="two classes"):
            model.fit(X[:, :3], np.zeros(len(y)))
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.full((10, 3), np.nan), y[:10])
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert not hasattr(fresh, "n_features_in_") and fitted.n_features_in_ == 5
    assert fitted.score(X, y) > 0.9


PARAMS = {
    "unknown kernel": ({"kernel": "rbff"}, "'kernel' parameter.*Got 'rbff'"),
    "unknown loss": ({"loss": "l2"}, "'loss' parameter"),
    "unknown size": ({"subsample_size": "sqrt"}, "'subsample_size' parameter"),
    "negative size": ({"subsample_size": -3}, "'subsample_size' parameter.*Got -3"),
    "more rows than there are": ({"subsample_size": 201}, "between 2 and the number of rows, 200; got 201"),
    "no SVMs": ({"n_estimators": 0}, "'n_estimators' parameter"),
    "too many SVMs": ({"n_estimators": 10**9}, "lower n_estimators to"),
    "bias of one": ({"sampling_bias": 1.0}, "'sampling_bias' parameter"),
    "negative C": ({"C": -1.0}, "'C' parameter"),
    "zero tol": ({"tol": 0.0}, "'tol' parameter"),
    "unknown gamma": ({"gamma": "wide"}, "'gamma' parameter"),
    "weight of an unknown class": ({"class_weight": {7: 1.0}}, "known classes"),
    "no threads": ({"n_jobs": 0}, "'n_jobs' parameter"),
    "a table as a kernel": ({"kernel": "precomputed"}, "must be square"),
}


@pytest.mark.parametrize("name", PARAMS)
def test_bad_parameters_are_refused_with_one_sentence(name):
    params, message = PARAMS[name]
    with pytest.raises(ValueError, match=message) as error:
        quick(**params).fit(*make_table(0))
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_sixty_classes_can_be_fitted():
    labels = np.arange(600) % 60
    model = quick(n_estimators=10, gamma=10.0).fit(labels[:, None] / 6, labels)
    assert model.score(labels[:, None] / 6, labels) > 0.9


def test_a_polynomial_that_is_not_a_kernel_gives_a_warning():
    model = quick(kernel="poly", coef0=-1.0, degree=2)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite.*coef0 >= 0"):
        model.fit(*make_table(0))
    assert np.isfinite(model.oob_mean_value_).all()


def test_constant_features_split_the_vote_and_two_rows_are_enough():
    """Each SVM follows the majority of its own draws, and both classes are equally likely to be drawn."""
    model = quick(n_estimators=1000).fit(np.ones((40, 3)), np.arange(40) % 2)
    assert abs(model.decision_function(np.ones((1, 3)))[0]) < 0.2
    assert np.isfinite(model.duality_gap_).all()
    model = quick().fit([[0.0], [1.0]], ["no", "yes"])
    assert list(model.predict([[0.1], [0.9]])) == ["no", "yes"]
    with pytest.raises(ValueError, match="one class"):
        model.fit([[0.0]], ["no"])

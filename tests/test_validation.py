"""Bad input gets one sentence that says what was wrong and what to do."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from subsvms import SubSVMClassifier

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2


def with_value(value, row=3, column=1):
    table = X.copy()
    table[row, column] = value
    return table


TABLES = {
    "NaN": (with_value(np.nan), "row 3, column 1 holds NaN.*SimpleImputer"),
    "infinity": (with_value(np.inf), "row 3, column 1 holds infinity"),
    "minus infinity": (with_value(-np.inf, row=39), "row 39, column 1 holds infinity"),
    "NaN in CSR": (sparse.csr_array(with_value(np.nan)), "row 3, column 1 holds NaN"),
    "NaN in a frame": (pd.DataFrame(with_value(np.nan), columns=list("abc")), "column 'b' holds NaN"),
    "text": (pd.DataFrame({"a": ["x", "y"] * 20}), "could not convert string.*TableVectorizer"),
    "one dimension": (X[:, 0], r"two dimensions.*has 1.*reshape\(-1, 1\)"),
    "complex numbers": (X + 1j, "Complex data not supported: X must hold real numbers"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
}


@pytest.mark.parametrize("name", TABLES)
def test_bad_tables(name):
    table, message = TABLES[name]
    y = Y[: table.shape[0]]
    with pytest.raises(ValueError, match=message) as error:
        SubSVMClassifier(n_estimators=5).fit(table, y)
    assert "\n" not in str(error.value)


LABELS = {
    "one class": (np.zeros(40), "at least two classes, but only one class, '0.0', came"),
    "too few": (Y[:30], "same number of rows; got 40 and 30"),
    "none": (None, "y is None"),
    "continuous": (X[:, 0], "Unknown label type: continuous"),
    "mixed types": (np.array([1, "a"] * 20, dtype=object), "one type, but holds number and text"),
    "a mixed list": ([1, "a"] * 20, "one type, but holds number and text"),
    "missing number": (np.where(Y == 1, np.nan, 0.0), "NaN.* in 20 of 40 rows, the first in row 1"),
    "missing text": (np.array(["a", None] * 20, dtype=object), "None.* in 20 of 40 rows"),
    "missing in a list": (["a", float("nan")] * 20, "NaN.* in 20 of 40 rows, the first in row 1"),
    "missing in pandas": (pd.Series(["a", pd.NA] * 20, dtype="string"), "in 20 of 40 rows"),
    "missing whole numbers": (pd.Series([1, pd.NA] * 20, dtype="Int64"), "in 20 of 40 rows"),
    "complex": (Y + 1j, "y must hold labels"),
    "infinite": (np.where(Y == 1, np.inf, 0.0), "infinity"),
}


@pytest.mark.parametrize("name", LABELS)
def test_bad_labels(name):
    labels, message = LABELS[name]
    with pytest.raises(ValueError, match=message) as error:
        SubSVMClassifier(n_estimators=5).fit(X, labels)
    assert "\n" not in str(error.value)


PARAMS = {
    "unknown kernel": ({"kernel": "rbff"}, "'kernel' parameter.*Got 'rbff'"),
    "unknown loss": ({"loss": "l2"}, "'loss' parameter"),
    "unknown size": ({"subsample_size": "sqrt"}, "'subsample_size' parameter"),
    "negative size": ({"subsample_size": -3}, "'subsample_size' parameter.*Got -3"),
    "fewer rows than needed": ({"subsample_size": 41}, "between 2 and the number of rows, 40; got 41"),
    "no SVMs": ({"n_estimators": 0}, "'n_estimators' parameter"),
    "bias of one": ({"sampling_bias": 1.0}, "'sampling_bias' parameter"),
    "negative C": ({"C": -1.0}, "'C' parameter"),
    "zero tol": ({"tol": 0.0}, "'tol' parameter"),
    "unknown gamma": ({"gamma": "wide"}, "'gamma' parameter"),
    "weight of an unknown class": ({"class_weight": {7: 1.0}}, r"known classes.*\[0, 1\]"),
    "weight in words": ({"class_weight": {0: "heavy"}}, "positive finite weights"),
    "no threads": ({"n_jobs": 0}, "'n_jobs' parameter"),
    "negative weight": ({"class_weight": {0: -1.0}}, "positive finite weights"),
    "table for a kernel": ({"kernel": "precomputed"}, r"must be square.*\(40, 3\)"),
}


@pytest.mark.parametrize("name", PARAMS)
def test_bad_parameters(name):
    params, message = PARAMS[name]
    with pytest.raises(ValueError, match=message) as error:
        SubSVMClassifier(n_estimators=5).set_params(**params).fit(X, Y)
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_more_classes_than_memory_are_refused_before_anything_starts():
    rows = np.random.default_rng(0).random((2000, 2))
    with pytest.raises(ValueError, match="2000 classes need 1999000 SVMs.*lower n_estimators to 2, or check"):
        SubSVMClassifier().fit(rows, [f"id{i}" for i in range(2000)])


def test_sixty_classes_are_fine():
    labels = np.arange(600) % 60
    model = SubSVMClassifier(n_estimators=20, random_state=0, gamma=10.0)
    assert model.fit(labels[:, None] / 6, labels).score(labels[:, None] / 6, labels) > 0.9


def test_a_billion_svms_are_refused_before_anything_starts():
    with pytest.raises(ValueError, match="lower n_estimators to"):
        SubSVMClassifier(n_estimators=10**9).fit(X, Y)


def test_dates_beside_numbers_are_refused_in_one_sentence():
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2020", periods=40)})
    with pytest.raises(TypeError, match="turn dates and the like into numbers") as error:
        SubSVMClassifier(n_estimators=5).fit(frame, Y)
    assert "\n" not in str(error.value)


def test_one_row_is_not_enough():
    with pytest.raises(ValueError, match="one class"):
        SubSVMClassifier().fit(X[:1], Y[:1])


@pytest.mark.parametrize("name", ["NaN", "infinity", "NaN in CSR", "text", "one dimension", "no rows"])
def test_bad_tables_are_refused_by_predict_too(name):
    table, message = TABLES[name]
    model = SubSVMClassifier(n_estimators=5).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(table)


MALFORMED = {
    "an index outside": (np.ones(3), [0, 1, 10**8], [0, 3]),
    "an index just outside": (np.ones(3), [0, 1, 3], [0, 3]),
    "a negative index": (np.ones(3), [0, -3, 1], [0, 3]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_csr_matrix_that_points_outside_itself_is_refused(name):
    model = SubSVMClassifier(n_estimators=5).fit(X, Y)
    broken = sparse.csr_matrix((1, 3))
    broken.data, broken.indices, broken.indptr = (np.array(part) for part in MALFORMED[name])
    with pytest.raises(ValueError, match="sound CSR matrix"):
        model.predict(broken)


def test_a_csr_matrix_with_a_wild_pointer_is_refused():
    model = SubSVMClassifier(n_estimators=5).fit(X, Y)
    broken = sparse.csr_matrix(X[:2])
    broken.indptr = broken.indptr.copy()
    broken.indptr[-1] = 10**8
    with pytest.raises(ValueError, match="sound CSR matrix"):
        model.predict(broken)


def test_a_polynomial_that_is_no_kernel_is_warned_of():
    model = SubSVMClassifier(n_estimators=50, kernel="poly", coef0=-1.0, degree=2, random_state=0)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite.*coef0 >= 0"):
        model.fit(X, Y)
    assert np.isfinite(model.oob_mean_value_).all()


@pytest.mark.parametrize("kind", [int, bool, float])
def test_numbers_in_an_object_array_are_labels(kind):
    labels = np.array([kind(label) for label in Y], dtype=object)
    predicted = SubSVMClassifier(n_estimators=5).fit(X, labels).predict(X)
    assert set(predicted.tolist()) <= {kind(0), kind(1)}


def test_a_sparse_kernel_matrix_is_refused():
    with pytest.raises(TypeError, match="toarray"):
        SubSVMClassifier(kernel="precomputed").fit(sparse.csr_array(X @ X.T), Y)


def test_a_million_features_in_csr_just_work():
    rng = np.random.default_rng(0)
    wide = sparse.random(200, 1_000_000, density=1e-5, format="lil", random_state=rng)
    wide[:100, 0] = 5.0
    model = SubSVMClassifier(n_estimators=50, gamma=0.01, random_state=0)
    labels = np.arange(200) < 100
    assert model.fit(wide.tocsr(), labels).score(wide.tocsr(), labels) == 1


def test_large_values_do_not_overflow():
    with pytest.warns(UserWarning, match="scale the features"):
        model = SubSVMClassifier(n_estimators=20, random_state=0).fit(X * 1e200, Y)
    assert np.isfinite(model.oob_mean_value_).all()


def test_constant_features_split_the_vote():
    """Each SVM goes with the majority of its own draws, so classes drawn alike share the votes."""
    model = SubSVMClassifier(n_estimators=1000, random_state=0).fit(np.ones((40, 3)), Y)
    assert abs(model.decision_function(np.ones((1, 3)))[0]) < 0.2
    assert np.isfinite(model.duality_gap_).all()


def test_two_rows_are_enough():
    model = SubSVMClassifier(n_estimators=50, random_state=0).fit([[0.0], [1.0]], ["no", "yes"])
    assert list(model.predict([[0.1], [0.9]])) == ["no", "yes"]

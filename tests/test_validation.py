"""Bad input is refused with one sentence that says what is wrong and what to do."""

import numpy as np
import pytest
from scipy import sparse

from subsvms import SubSVMClassifier
from subsvms._validation import (
    check_class_weight,
    check_cost,
    check_count,
    check_labels,
    check_range,
    check_square,
    check_subset,
    check_table,
    check_verified,
    find_missing,
    warn_unscaled,
)

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2


def with_value(value, row=3, column=1):
    table = X.copy()
    table[row, column] = value
    return table


def make_coo():
    """Make a COO matrix with a row that is not there."""
    matrix = sparse.coo_array(np.eye(3))
    matrix.row[1] = 10**8
    return matrix


def make_csr(data, indices, indptr, kind=sparse.csr_matrix):
    """Make a matrix without SciPy's checks."""
    matrix = kind((1, 3) if kind is sparse.csr_matrix else (3, 1))
    matrix.data, matrix.indices, matrix.indptr = np.array(data), np.array(indices), np.array(indptr)
    return matrix


TABLES = {
    "NaN": (with_value(np.nan), "row 3, column 1 holds NaN.*SimpleImputer"),
    "infinity": (with_value(np.inf), "row 3, column 1 holds infinity"),
    "minus infinity": (with_value(-np.inf, row=39), "row 39, column 1 holds infinity"),
    "NaN in CSR": (sparse.csr_array(with_value(np.nan)), "row 3, column 1 holds NaN"),
    "NaN far down": (np.append(np.zeros((5000, 1)), [[np.nan]], axis=0), "row 5000, column 0 holds NaN"),
    "text": (np.array([["x"], ["y"]]), "could not convert string.*TableVectorizer"),
    "one dimension": (X[:, 0], r"two dimensions.*has 1.*reshape\(-1, 1\)"),
    "complex numbers": (X + 1j, "Complex data not supported: X must hold real numbers"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "masked cells": (np.ma.masked_greater(X, 1.0), "some are masked: fill or drop them"),
    "a number too large": (np.array([[10**400]], dtype=object), "int too large to convert to float"),
    "a list in a cell": ([[1.0, [2.0]], [3.0, 4.0]], "with a number in each cell"),
    "a COO index out of range": (make_coo(), "valid COO matrix"),
    "a CSC index out of range": (make_csr(np.ones(3), [0, 1, 10**8], [0, 3], sparse.csc_matrix), "valid CSC"),
    "an index out of range": (make_csr(np.ones(3), [0, 1, 10**8], [0, 3]), "valid CSR matrix"),
    "an index just out of range": (make_csr(np.ones(3), [0, 1, 3], [0, 3]), "valid CSR matrix"),
    "a negative index": (make_csr(np.ones(3), [0, -3, 1], [0, 3]), "valid CSR matrix"),
    "a pointer out of range": (make_csr(np.ones(3), [0, 1, 2], [0, 10**8]), "valid CSR matrix"),
}


@pytest.mark.parametrize("name", TABLES)
def test_bad_tables_are_refused(name):
    table, message = TABLES[name]
    with pytest.raises(ValueError, match=message) as error:
        check_table(SubSVMClassifier(), table, reset=True)
    assert "\n" not in str(error.value)


def test_bad_data_frames_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="column 'b' holds NaN"):
        check_table(SubSVMClassifier(), pd.DataFrame(with_value(np.nan), columns=list("abc")), reset=True)
    dates = pd.DataFrame({"a": X[:, 0], "b": pd.date_range("2020", periods=40)})
    with pytest.raises(TypeError, match="convert dates and so on to numbers"):
        check_table(SubSVMClassifier(), dates, reset=True)


def test_large_numbers_are_finite():
    """Although their sum is not."""
    assert check_table(SubSVMClassifier(), np.full((2, 2), 1e308), reset=True).max() == 1e308


LABELS = {
    "one class": (np.zeros(40), "at least two classes, but holds only one class, '0.0'"),
    "too few": (Y[:30], "same number of rows; got 40 and 30"),
    "none": (None, "y is None"),
    "continuous": (X[:, 0], "Unknown label type: continuous"),
    "mixed types": (np.array([1, "a"] * 20, dtype=object), "one type, but holds number and text"),
    "a mixed list": ([1, "a"] * 20, "one type, but holds number and text"),
    "missing number": (np.where(Y == 1, np.nan, 0.0), "NaN.* in 20 of 40 rows, the first in row 1"),
    "missing text": (np.array(["a", None] * 20, dtype=object), "None.* in 20 of 40 rows"),
    "missing in a list": (["a", float("nan")] * 20, "NaN.* in 20 of 40 rows, the first in row 1"),
    "complex": (Y + 1j, "y must hold labels"),
    "infinite": (np.where(Y == 1, np.inf, 0.0), "infinity"),
    "masked": (np.ma.masked_equal(Y, 1), "None.* in 20 of 40 rows"),
    "bytes": (np.array([b"a", b"b"])[Y], "text, whole numbers or booleans, but holds np.bytes_"),
    "integers of 100 bits": ([10**30 + label for label in Y.tolist()], "but holds 1000000000000"),
    "dates": (np.array(["2020", "2021"], dtype="M8[Y]")[Y], "but holds datetime64"),
    "records": (np.zeros(40, dtype=[("a", int)]), "Unknown label type: y must hold text"),
    "sets": ([{label} for label in Y.tolist()], "text, whole numbers or booleans, but holds {0}"),
    "two columns": (np.stack([Y, Y], axis=1), "1d array, got an array of shape .*: give one label for each"),
    "a number": (3, "give one label for each row"),
    "a sparse column": (sparse.csr_array(Y[:, None]), "Sparse data .*give one label for each row"),
    "half a character": (np.array(["a", "\ud800"], dtype=object)[Y], "has half a character: fix the label"),
}


@pytest.mark.parametrize("name", LABELS)
def test_bad_labels_are_refused(name):
    labels, message = LABELS[name]
    with pytest.raises(ValueError, match=message) as error:
        check_labels(labels, 40)
    assert "\n" not in str(error.value)


def test_cells_that_are_no_numbers_are_refused():
    for table in (np.array([[{}]], dtype=object), {"a": 1}, iter(X)):
        with pytest.raises(TypeError, match="X must hold numbers") as error:
            check_table(SubSVMClassifier(), table, reset=True)
        assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="holds dates or times"):
        check_table(SubSVMClassifier(), np.zeros((3, 2), dtype="m8[s]"), reset=True)


def test_text_that_ends_in_nul_stays_apart():
    """NumPy cuts it off."""
    for labels in (["a\0", "a"], np.array(["a\0", "a"], dtype=object)):
        assert check_labels(labels, 2)[0].tolist() == ["a", "a\0"]


def test_whole_numbers_of_any_type_stay_whole():
    large = [2**64 - 1, 2**64 - 2]
    assert check_labels(large, 2)[0].tolist() == large[::-1]
    pd = pytest.importorskip("pandas")
    large = [2**62 + 1, 2**62]
    for kind in ("Int64", "int64[pyarrow]"):
        assert check_labels(pd.Series(large, dtype=kind), 2)[0].tolist() == large[::-1]
    assert check_labels(pd.Series([True, False], dtype="boolean"), 2)[0].dtype == bool


@pytest.mark.parametrize("kind", [int, bool, float])
def test_numbers_in_an_object_array_are_labels(kind):
    classes, numbers = check_labels(np.array([kind(label) for label in Y], dtype=object), 40)
    assert classes.tolist() == [kind(0), kind(1)] and classes.dtype == np.dtype(kind)
    np.testing.assert_array_equal(numbers, Y)


def test_missing_labels_are_found_in_any_type():
    assert find_missing(None).tolist() == []
    assert find_missing(np.arange(2)).tolist() == [False, False]
    assert find_missing([np.inf, np.nan]).tolist() == [False, True]
    assert find_missing(np.ma.masked_equal([1, 2], 2)).tolist() == [False, True]
    assert find_missing(sparse.csr_array([[1]])).tolist() == find_missing(3).tolist() == []
    assert find_missing([[1], [1, 2]]).tolist() == [False, False]
    assert find_missing(pytest.importorskip("pyarrow").array(["a", None])).tolist() == [False, True]
    pd = pytest.importorskip("pandas")
    for labels in (pd.Series([1, pd.NA], dtype="Int64"), pd.Series(["a", pd.NA], dtype="string")):
        assert find_missing(labels).tolist() == [False, True]
        with pytest.raises(ValueError, match="in 1 of 2 rows, the first in row 1"):
            check_labels(labels, 2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_unscaled_features_give_a_warning(kind):
    warn_unscaled(kind(X), 1 / 3)
    with pytest.warns(UserWarning, match="scale the features, for example with MinMaxScaler"):
        warn_unscaled(kind(100 * X), 1 / 3)


def test_a_precomputed_kernel_is_square_and_dense():
    check_square(X @ X.T)
    with pytest.raises(ValueError, match=r"must be square.*\(40, 3\)"):
        check_square(X)
    with pytest.raises(TypeError, match="toarray"):
        check_square(sparse.csr_array(X @ X.T))


def test_more_svms_than_fit_in_memory_are_refused():
    check_cost(2, 2000, 289)
    with pytest.raises(ValueError, match="2000 classes need 1999000 SVMs.*lower n_estimators to 2, or check"):
        check_cost(3, 2000, 289)
    with pytest.raises(ValueError, match="lower n_estimators to 5000000"):
        check_cost(10**9, 2, 2)
    with pytest.raises(ValueError, match="lower subsample_size"):
        check_cost(1, 2, 10**8)


def test_class_weights_are_in_the_order_of_the_classes():
    classes, numbers = np.array(["a", "b"]), np.array([0, 0, 0, 1])
    np.testing.assert_array_equal(check_class_weight(None, classes, numbers), [1, 1])
    np.testing.assert_array_equal(check_class_weight({"b": 3}, classes, numbers), [1, 3])
    np.testing.assert_allclose(check_class_weight("balanced", classes, numbers), [2 / 3, 2])


@pytest.mark.parametrize("weight", [{"c": 1.0}, {"a": "heavy"}, {"a": -1.0}, {"a": np.nan}], ids=str)
def test_bad_class_weights_are_refused(weight):
    with pytest.raises(ValueError, match=r"known classes positive finite weights.*\['a', 'b'\]"):
        check_class_weight(weight, np.array(["a", "b"]), np.array([0, 1]))


def test_verified_labels_become_class_numbers():
    classes = np.array(["no", "yes"])
    assert check_verified(None, classes, 2).tolist() == [-1, -1]
    assert check_verified(["yes", None, np.nan, "no"], classes, 4).tolist() == [1, -1, -1, 0]
    with pytest.raises(ValueError, match="one entry for each of the 3 rows; got 1"):
        check_verified(["yes"], classes, 3)
    with pytest.raises(ValueError, match="such as 'no'; got 'maybe' in row 1"):
        check_verified(["yes", "maybe"], classes, 2)
    with pytest.raises(ValueError, match=r"got \['no'\] in row 0"):
        check_verified([["no"], None], classes, 2)
    for verified in (3, np.zeros((2, 2)), sparse.csr_array((2, 2))):
        with pytest.raises(ValueError, match="each of the 2 rows, in one dimension"):
            check_verified(verified, classes, 2)
    pd = pytest.importorskip("pandas")
    assert check_verified(pd.Series([None, "no"], dtype="string"), classes, 2).tolist() == [-1, 0]


def test_numbers_out_of_range_are_refused():
    check_range("a", np.inf, 0, np.inf)
    with pytest.raises(ValueError, match="a must be at least 0 and finite; got inf"):
        check_range("a", np.inf, 0, np.inf, "[)")
    with pytest.raises(ValueError, match="a must be more than 0 and at most 1; got nan"):
        check_range("a", np.nan, 0, 1, "(]")
    with pytest.raises(TypeError, match="a must be a number; got True"):
        check_range("a", True, 0, 1)
    check_count("n", np.int64(3), 3)
    for value in (2, 3.0, True):
        with pytest.raises(ValueError, match=f"n must be a whole number, at least 3; got {value}"):
            check_count("n", value, 3)


def test_a_subset_has_at_least_half_of_r_rows_of_each_class():
    assert [check_subset(3, r) for r in (1, 2, 3)] == [1, 1, 2]
    with pytest.raises(ValueError, match="r must be at most s, the size of the subset, 4; got 5"):
        check_subset(4, 5)

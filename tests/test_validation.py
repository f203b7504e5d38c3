"""Bad input is refused with one sentence that says what is wrong and what to do."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from subsvms import SubSVMClassifier
from subsvms._validation import check_cost, check_format, check_square, check_table, warn_unscaled
from subsvms.exceptions import InputError

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
    "a number too large": (np.array([[10**400]], dtype=object), "64-bit numbers, but int too large to"),
    "a list in a cell": ([[1.0, [2.0]], [3.0, 4.0]], "and a number in each cell"),
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


def test_a_coo_matrix_of_an_older_scipy_is_checked():
    """SciPy before 1.13 has no `coords`."""
    one = np.array([1])
    old = SimpleNamespace(format="coo", ndim=2, shape=(3, 3), data=one / 1, row=one, col=one + 1)
    check_format(old)
    old.row[0] = 10**8
    with pytest.raises(ValueError, match="valid COO matrix"):
        check_format(old)


def test_large_numbers_are_finite():
    """Although their sum is not."""
    assert check_table(SubSVMClassifier(), np.full((2, 2), 1e308), reset=True).max() == 1e308


def test_cells_that_are_no_numbers_are_refused():
    for table in (np.array([[{}]], dtype=object), {"a": 1}, iter(X)):
        with pytest.raises(TypeError, match="X must hold numbers") as error:
            check_table(SubSVMClassifier(), table, reset=True)
        assert "\n" not in str(error.value)
    with pytest.raises(TypeError, match="holds dates or times: convert them to numbers"):
        check_table(SubSVMClassifier(), np.zeros((3, 2), dtype="m8[s]"), reset=True)


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


@pytest.mark.parametrize("name", ["n_estimators", "C", "gamma", "subsample_size", "random_state"])
def test_a_number_that_python_does_not_write_is_refused_in_a_sentence(name):
    svms = SubSVMClassifier(**{name: 10**5000})
    with pytest.raises(InputError, match=rf"^{name} must be within 64 bits; got a number of 16,610 bits\.$"):
        svms.fit([[0.0], [1.0]], [0, 1])

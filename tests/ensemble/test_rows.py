import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from subsvms.ensemble._rows import PAD, gather_rows, resolve_gamma
from subsvms.ensemble._votes import cut_huge


def to_matrix(rows):
    """Return the kept features of padded lists as a matrix."""
    matrix = np.zeros((len(rows.norm), rows.n_columns))
    for i in range(len(rows.norm)):
        for k in range(rows.pointer[i], rows.pointer[i + 1]):
            if rows.value[k]:
                matrix[i, rows.column[k]] += rows.value[k]
    return matrix


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 20), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_lists_hold_exactly_the_rows(seed, n, d, density):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    numbers = rng.integers(0, n, size=rng.integers(0, n + 1))
    dense, csr = gather_rows(X, numbers), gather_rows(sparse.csr_array(X), numbers)
    kept = np.arange(d) if dense.full else np.flatnonzero(np.any(X[numbers] != 0, axis=0))
    np.testing.assert_array_equal(dense.features, kept)
    np.testing.assert_array_equal(to_matrix(dense), X[numbers][:, kept])
    np.testing.assert_allclose(dense.norm, np.sum(X[numbers] ** 2, axis=1))
    assert np.all(dense.pointer % PAD == 0)
    for one, other in zip(dense, csr, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_values_of_full_lists_are_a_matrix():
    X = np.arange(1.0, 31.0).reshape(3, 10)
    rows = gather_rows(X, [2, 0])
    assert rows.full
    np.testing.assert_array_equal(rows.value.reshape(2, 16)[:, :10], X[[2, 0]])


def test_duplicate_entries_of_a_csr_row_are_added_and_features_without_entries_dropped():
    X = sparse.csr_array((np.array([1.0, 2.0]), np.array([3, 3]), np.array([0, 2])), shape=(1, 5))
    np.testing.assert_array_equal(to_matrix(gather_rows(X, [0])), [[0.0, 0.0, 0.0, 3.0, 0.0]])
    X = sparse.csr_array((np.ones(3), ([0, 1, 1], [5, 5, 999_999])), shape=(2, 1_000_000))
    assert gather_rows(X, [0, 1]).n_columns == 2


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_huge_values_are_clipped_in_a_copy_and_have_finite_squares(kind):
    X = kind(np.array([[1e300, 0.0], [-1e20, 3.0]]))
    cut = cut_huge(X)
    np.testing.assert_array_equal(cut.toarray() if sparse.issparse(cut) else cut, [[1e15, 0], [-1e15, 3]])
    assert X.max() == 1e300
    assert cut_huge(cut) is cut
    assert np.isfinite(gather_rows(-X, [0, 1]).astype(np.float32).norm).all()


def test_gamma_is_that_of_svc():
    X = np.random.default_rng(0).normal(size=(200, 5))
    assert resolve_gamma("auto", X) == 1 / 5
    np.testing.assert_allclose(resolve_gamma("scale", X), 1 / (5 * X.var()))
    np.testing.assert_allclose(resolve_gamma("scale", sparse.csr_array(X)), 1 / (5 * X.var()))
    assert resolve_gamma("scale", np.ones((3, 2))) == 1.0
    assert resolve_gamma(0.7, X) == 0.7

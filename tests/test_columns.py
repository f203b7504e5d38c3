"""Tables with far more columns than values take the memory of their values; columns come to one scale."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

import subsvms
from subsvms import SubSVMClassifier, correct_labels
from subsvms._columns import FAR, ColumnScaler, drop_empty, find_places, find_stored, take_columns

WIDE = 2_000_000_000


def make_rows(seed=0, n=120, d=3000):
    """Return a CSR matrix whose first columns follow the class, the classes, and labels with some wrong."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 2, n)
    X = sparse.random_array((n, d), density=6 / d, rng=rng, format="lil")
    X[np.arange(n), clean * 3 + rng.integers(0, 3, n)] = 1.0
    return sparse.csr_matrix(X), clean, np.where(np.arange(n) % 9 == 0, 1 - clean, clean)


def spread(X, width):
    """Return the same values in a table with this many columns, far apart."""
    step = width // X.shape[1]
    return sparse.csr_matrix((X.data, X.indices.astype(np.int64) * step, X.indptr), shape=(X.shape[0], width))


@given(seed=st.integers(0, 10**6), d=st.integers(1, 30), nnz=st.integers(0, 40))
def test_stored_columns_are_taken_as_by_indexing(seed, d, nnz):
    rng = np.random.default_rng(seed)
    X = sparse.csr_matrix((rng.normal(size=nnz), (rng.integers(0, 5, nnz), rng.integers(0, d, nnz))), (5, d))
    stored = np.flatnonzero(np.diff(X.tocsc().indptr))
    assert np.array_equal(find_stored(X.indices, d), stored)
    columns = np.flatnonzero(rng.random(d) < 0.5)
    assert np.array_equal(take_columns(X, columns).toarray(), X.toarray()[:, columns])
    small, kept = drop_empty(X)
    assert np.array_equal(small.toarray(), X.toarray()[:, kept]) and set(stored) <= set(kept)


@pytest.mark.parametrize("n_columns", [10, WIDE])
def test_a_column_of_a_wider_table_is_found_nowhere(n_columns):
    indices = np.array([1, 4, 9, 1, 4, 9, 1, 4, 9, 9])
    assert find_places(np.array([4, 9, 700]), indices, n_columns).tolist() == [-1, 0, 1] * 3 + [1]
    assert find_places(np.array([], dtype=int), indices, n_columns).tolist() == [-1] * 10


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_empty_columns_change_no_bit(kernel, tmp_path):
    X, _, given = make_rows()
    new = make_rows(seed=1, n=30)[0]  # with columns that are empty in X
    found = []
    for table, rows in ((X, new), (spread(X, WIDE), spread(new, WIDE))):
        model = SubSVMClassifier(n_estimators=50, kernel=kernel, gamma=0.1, random_state=0)
        model.fit(table, given)
        subsvms.save(model, tmp_path / "m")
        loaded = subsvms.load(tmp_path / "m")
        found.append((model.oob_votes_.sums, model.count_votes(rows).sums, loaded.count_votes(rows).sums))
    for narrow, same in zip(*found, strict=True):
        assert np.array_equal(narrow, same)
    assert (tmp_path / "m").stat().st_size < 200_000


def test_corrections_of_narrow_and_wide_tables_are_the_same():
    X, clean, given = make_rows(n=400)
    one, other = (
        correct_labels(table, given, estimator=SubSVMClassifier(gamma=0.1, n_estimators=200), random_state=0)
        for table in (X, spread(X, WIDE // 20))
    )
    assert one.changed.any() and np.array_equal(one.judgement.posterior, other.judgement.posterior)
    assert one.witnesses.supporting == other.witnesses.supporting
    assert one.witnesses.opposing == other.witnesses.opposing


LIMITED = """
import resource, sys
import numpy as np
from scipy import sparse
import subsvms
from subsvms.ensemble._compiled import ballots, smo

rng = np.random.default_rng(0)
n, d, k = 500, 2_000_000_000, 20
y = rng.integers(0, 2, n)
columns = np.sort(rng.integers(0, d, (n, k)), axis=1)
columns[:, 0] = y  # so that something is found
X = sparse.csr_matrix((rng.random(n * k), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, d))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
estimator = subsvms.SubSVMClassifier(n_estimators=50, gamma=0.2)
subsvms.correct_labels(X, y, estimator=estimator, random_state=0)
subsvms.SubSVMClassifier(n_estimators=50, kernel="linear", random_state=0).fit(X, y).predict(X)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_follows_the_stored_values():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LIMITED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300  # MB; two billion columns would take 16 GB


# One scale


def scale(X):
    return ColumnScaler.fit(X).transform(X)


def test_units_do_not_matter():
    X = np.random.default_rng(0).normal(size=(300, 4))
    assert_allclose(scale(X * [1, 1e6, 1e-9, 3] + [0, 5e6, 1, -2]), scale(X), atol=1e-6)


def test_a_few_huge_values_change_nothing_for_the_others():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    odd = X.copy()
    odd[:5, 0] = 1e12
    assert_allclose(scale(odd)[5:], scale(X)[5:], atol=0.05)
    assert np.abs(scale(odd)).max() <= FAR


@pytest.mark.parametrize("column", [[3.0] * 100, [0.0] * 99 + [7.0], [0.0] * 98 + [1.0, 1e300]])
def test_columns_that_hardly_vary_stay_finite(column):
    X = np.array(column)[:, None]
    for table in (X, sparse.csr_array(X)):
        before = table.copy()
        found = scale(table)
        found = found.toarray() if sparse.issparse(found) else found
        assert np.isfinite(found).all() and np.abs(found).max() <= FAR
        assert (table != before).sum() == 0  # the input stays as it was


def test_sparse_columns_stay_sparse_and_binary_ones_stay_as_they_are():
    X = sparse.random_array((200, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    scaled = scale(X * 1000.0)
    assert sparse.issparse(scaled) and scaled.nnz == X.nnz
    assert_allclose(scaled.toarray(), scale(X).toarray())
    binary = (X > 0).astype(float)
    assert_allclose(scale(binary).toarray(), binary.toarray())


@pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_raw_columns_are_corrected_as_well_as_scaled_ones(make):
    rng = np.random.default_rng(0)
    clean = np.arange(400) % 2
    X = rng.normal(size=(400, 2)) + 2.5 * clean[:, None]
    given = np.where(rng.random(400) < 0.15, 1 - clean, clean)
    raw = make(X * [1, 40_000])
    plain, large = (correct_labels(table, given, random_state=0) for table in (make(X), raw))
    assert (plain.labels == large.labels).mean() > 0.99  # rounding may turn a tie
    assert (large.labels != clean).mean() < 0.7 * (given != clean).mean()
    refused = correct_labels(raw, given, scale=False, random_state=0)
    assert refused.choice.chosen.log_loss > large.choice.chosen.log_loss  # only one column counts

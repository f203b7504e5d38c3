"""Tables with far more columns than values take the memory of their values, and give the same bits."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import subsvms
from subsvms import SubSVMClassifier, correct_labels
from subsvms._columns import drop_empty, find_places, find_stored, take_columns

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
        for table in (X, spread(X, WIDE))
    )
    assert one.changed.any() and np.array_equal(one.judgement.posterior, other.judgement.posterior)
    assert one.witnesses.supporting == other.witnesses.supporting
    assert one.witnesses.opposing == other.witnesses.opposing


def test_gamma_counts_the_columns_that_hold_nothing():
    X, _, given = make_rows()
    wide = SubSVMClassifier(n_estimators=5, random_state=0).fit(spread(X, 10**6), given)
    assert wide.voters_.kernel.gamma == 1e-6


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

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import minmax_scale

from subsvms.correction._copies import Finder, find_copies


def count_grouped(copies):
    return int((np.bincount(copies.numbers)[copies.numbers] > 1).sum())


def plant(X, n, moved, seed):
    """Return a table with copies of n rows at its end, and these rows."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:n]
    return np.vstack([X, X[rows] + moved * rng.normal(size=(n, X.shape[1]))]), rows


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits, load_wine])
def test_tables_without_copies_have_no_groups(load):
    copies = find_copies(minmax_scale(load().data))
    assert count_grouped(copies) == 0 and copies.left_alone == ""


@pytest.mark.parametrize("d", [1, 2, 3, 5, 20])
def test_random_rows_are_no_copies(d, seed):
    rng = np.random.default_rng(seed)
    for X in (rng.random((800, d)), np.exp(2 * rng.normal(size=(800, d)))):
        assert count_grouped(find_copies(X)) == 0
    categories = np.eye(4)[rng.integers(0, 4, 800)]  # rows of a category are near, whatever the number is
    assert count_grouped(find_copies(np.hstack([categories, rng.random((800, d))]))) <= 4


@pytest.mark.parametrize(
    "load, moved", [(load_breast_cancer, 0.0), (load_breast_cancer, 1e-3), (load_digits, 1e-3)]
)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_planted_copies_are_found_and_nothing_else(load, moved, kind, seed):
    X, rows = plant(minmax_scale(load().data), 20, moved, seed)
    copies = find_copies(sparse.csr_array(X) if kind == "csr" else X)
    assert (copies.numbers[-20:] == copies.numbers[rows]).all() and count_grouped(copies) == 40


@pytest.mark.parametrize("d", [3, 4, 6])
def test_copies_in_few_columns_are_found_if_they_are_many(d, seed):
    X, rows = plant(np.random.default_rng(seed).normal(size=(600, d)), 60, 0.005, seed)
    copies = find_copies(X)
    found = copies.numbers[-60:] == copies.numbers[rows]
    assert found.mean() > 0.9 and count_grouped(copies) <= 1.1 * 2 * found.sum()


def test_the_copies_do_not_depend_on_the_order_of_the_rows(seed):
    X, _ = plant(minmax_scale(load_breast_cancer().data), 20, 1e-3, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    one, other = find_copies(X).numbers[order], find_copies(X[order]).numbers
    assert len(np.unique(one)) == len(np.unique(other)) == len(np.unique(np.stack([one, other]), axis=1).T)


def test_equal_rows_are_left_alone_where_columns_take_few_values_or_most_rows_have_some(seed):
    rng = np.random.default_rng(seed)
    copies = find_copies(rng.integers(0, 5, (500, 4)).astype(float))
    assert copies.left_alone == "nature" and count_grouped(copies) == 0
    X = rng.normal(size=(300, 5))
    copies = find_copies(np.vstack([X, X[:200]]))
    assert copies.left_alone == "many" and count_grouped(copies) == 0
    copies = find_copies(np.vstack([X, np.repeat(X[:1], 60, axis=0), X[1:3]]))  # empty answers, say
    assert copies.left_alone == "" and count_grouped(copies) == 4


@pytest.mark.parametrize("moved", [0.0, 1e-3])
def test_copies_of_known_rows_are_found_among_others(moved, seed):
    X, rows = plant(minmax_scale(load_breast_cancer().data), 20, moved, seed)
    copies = find_copies(X)
    finder = Finder(X, copies.numbers, copies)
    others, twins = plant(X[:569], 50, moved, seed + 1)
    assert (finder.find(others[-50:]) == copies.numbers[twins]).all()
    assert (finder.find(others[-50:] + 0.3) == -1).all()
    assert len(rows) == 20


def test_a_wide_sparse_table_has_the_copies_of_a_narrow_one():
    rows = sparse.random_array((200, 300), density=0.05, rng=np.random.default_rng(0), format="csr")
    narrow = sparse.csr_matrix(sparse.vstack([rows, rows[:20] * 1.001]))
    indices = narrow.indices.astype(np.int64) * 5_000_000
    wide = sparse.csr_matrix((narrow.data, indices, narrow.indptr), shape=(220, 2_000_000_000))
    copies = find_copies(wide)
    assert count_grouped(copies) == 40
    assert np.array_equal(copies.numbers, find_copies(narrow).numbers)
    found = Finder(wide[:200], copies.numbers[:200], copies).find(wide[200:])
    assert np.array_equal(found, copies.numbers[:20])

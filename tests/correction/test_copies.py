import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import minmax_scale

from subsvms import correct_labels
from subsvms.correction import _copies
from subsvms.correction._copies import (
    Finder,
    find_contradictory,
    find_copies,
    find_witnesses,
    number_contents,
)


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


def make_table(seed, n=400):
    """Rows of integers, many of them equal, and labels that follow them with a chance of one in ten."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 3)).astype(float)
    clean = (X.sum(axis=1) > 7.5).astype(int)
    return X, np.where(rng.random(n) < 0.1, 1 - clean, clean)


def drop_duplicates(X, y):
    _, rows = np.unique(np.column_stack([X, y]), axis=0, return_index=True)
    return X[np.sort(rows)], y[np.sort(rows)]


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_pairs_are_found_after_duplicates_were_dropped(seed, kind):
    X, y = make_table(seed)
    table = sparse.csr_array if kind == "csr" else np.asarray
    assert not find_contradictory(
        number_contents(table(X)), y
    ).any()  # equal rows that agree: nothing was dropped
    X, y = drop_duplicates(X, y)
    found = find_contradictory(number_contents(table(X)), y)
    slow = [any((X[j] == X[i]).all() and y[j] != y[i] for j in range(len(y))) for i in range(len(y))]
    assert found.tolist() == slow and found.sum() >= 10


def test_signed_zeros_are_equal_missing_labels_contradict_none_and_few_pairs_may_be_an_accident():
    X = np.repeat(np.arange(6.0), 2)[:, None] * np.tile([-1.0, 1.0], 6)[:, None]
    X[2:] = np.abs(X[2:])
    y = np.tile([0, 1], 6)
    assert find_contradictory(number_contents(X), y).all()
    assert not find_contradictory(number_contents(X[:8]), y[:8]).any()
    y[1] = -1
    assert find_contradictory(number_contents(X), y).tolist() == [False, False, *[True] * 10]


@pytest.mark.parametrize("judge", [None, LogisticRegression()])
def test_such_labels_are_kept_and_said(seed, judge):
    X, y = drop_duplicates(*make_table(seed))
    with pytest.warns(UserWarning, match="rows share their features with a row of another label"):
        correction = correct_labels(X, y, estimator=judge, random_state=seed)
    twins = find_contradictory(number_contents(X), y)
    assert not correction.changed[twins].any()
    assert "same features" in correction.explain(int(np.flatnonzero(twins)[0]))


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X, given = rng.random((80, 3)), rng.integers(-1, 3, 80)
    rows = rng.permutation(80)[:12]
    return X, given, rows, (np.maximum(given[rows], 0) + 1) % 3


def find_plainly(X, given, rows, suggested):
    """Return the nearest rows on either side, one suspicious row at a time."""
    sides = [], []
    for row, new in zip(rows, suggested, strict=True):
        others = given[row] if given[row] >= 0 else set(range(3)) - {new}
        for side, wanted in zip(sides, (new, others), strict=True):
            carries = np.isin(given, list(wanted) if isinstance(wanted, set) else [wanted])
            pool = [i for i in np.flatnonzero(carries) if i not in rows]
            side.append(sorted(pool, key=lambda i: np.sum((X[i] - X[row]) ** 2))[:3])
    return sides


@pytest.mark.parametrize("kind", ["dense", "csr", "precomputed"])
def test_they_are_the_nearest_unsuspicious_rows_of_either_label(table, kind):
    X, *question = table
    form = {"dense": X, "csr": sparse.csr_array(X), "precomputed": X @ X.T}[kind]
    found = find_witnesses(form, *question, precomputed=kind == "precomputed")
    assert (found.supporting, found.opposing) == find_plainly(*table)


def test_only_the_worst_rows_get_witnesses_and_a_class_without_unsuspicious_rows_has_none(table, monkeypatch):
    X, given = np.arange(4.0)[:, None], np.array([0, 0, 0, 1])
    found = find_witnesses(X, given, np.array([3]), np.array([0]))
    assert found.supporting == [[2, 1, 0]] and found.opposing == [[]]
    monkeypatch.setattr(_copies, "LARGEST_LIST", 5)
    found = find_witnesses(*table)
    assert all(found.supporting[:5]) and not any(found.supporting[5:]) and len(found.opposing) == 12

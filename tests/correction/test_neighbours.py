import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from subsvms import correct_labels
from subsvms.correction import _copies as _neighbours
from subsvms.correction._copies import find_contradictory, find_witnesses, number_contents


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
    monkeypatch.setattr(_neighbours, "LARGEST_LIST", 5)
    found = find_witnesses(*table)
    assert all(found.supporting[:5]) and not any(found.supporting[5:]) and len(found.opposing) == 12

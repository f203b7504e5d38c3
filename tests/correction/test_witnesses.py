"""Witnesses, against a plain sort of distances."""

import numpy as np
import pytest
from scipy import sparse

from subsvms.correction import _witnesses
from subsvms.correction._witnesses import find_witnesses


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


def test_only_the_worst_rows_get_witnesses(table, monkeypatch):
    monkeypatch.setattr(_witnesses, "LARGEST_LIST", 5)
    found = find_witnesses(*table)
    assert all(found.supporting[:5]) and not any(found.supporting[5:]) and len(found.opposing) == 12


def test_a_class_without_unsuspicious_rows_has_no_witness():
    X, given = np.arange(4.0)[:, None], np.array([0, 0, 0, 1])
    found = find_witnesses(X, given, np.array([3]), np.array([0]))
    assert found.supporting == [[2, 1, 0]] and found.opposing == [[]]

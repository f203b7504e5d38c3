"""Sparse tables with far more columns than values, such as hashed text: work on the stored columns only.

SciPy and scikit-learn take memory for every column of a CSR matrix when they compute a product, pick columns
or reduce along rows. Columns that hold nothing change none of these results, so they are left out first; the
order of the others, and with it the order of every sum, stays the same.
"""

import numpy as np
from scipy import sparse

from subsvms._typing import Table


def find_stored(indices: np.ndarray, n_columns: int) -> np.ndarray:
    """Return the columns that occur among the indices of stored values, sorted."""
    if n_columns > len(indices):
        return np.unique(indices).astype(np.int64)
    return np.flatnonzero(np.bincount(indices, minlength=n_columns))


def find_places(columns: np.ndarray, indices: np.ndarray, n_columns: int) -> np.ndarray:
    """Return the place of each index in a sorted list of columns; -1 where it is not in the list."""
    n_columns = max(n_columns, int(columns.max(initial=-1)) + 1)  # the list may be that of a wider table
    if n_columns > len(indices):
        place = np.searchsorted(columns, indices)
        found = place < len(columns)
        found[found] = columns[place[found]] == indices[found]
        return np.where(found, place, -1)
    place_of = np.full(n_columns, -1)
    place_of[columns] = np.arange(len(columns))
    return place_of[indices]


def take_columns(X: Table, columns: np.ndarray) -> sparse.csr_matrix:
    """Return some columns, sorted, of a CSR matrix; like X[:, columns], without memory for the others."""
    place = find_places(columns, X.indices, X.shape[1])
    taken = place >= 0
    pointer = np.concatenate([[0], np.cumsum(taken)])[X.indptr]
    return sparse.csr_matrix((X.data[taken], place[taken], pointer), shape=(X.shape[0], len(columns)))


def drop_empty(X: Table) -> tuple[Table, np.ndarray]:
    """Return a CSR matrix without its empty columns, and the numbers of the columns that are left.

    A matrix that has at least as many values as columns is returned as it is, with all its columns.
    """
    if X.shape[1] <= X.nnz:
        return X, np.arange(X.shape[1])
    columns = find_stored(X.indices, X.shape[1])
    return take_columns(X, columns), columns

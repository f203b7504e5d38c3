"""Columns of a table of numbers: those of a sparse table that hold something, and one scale for all.

*Stored columns.* SciPy and scikit-learn take memory for every column of a CSR matrix when they compute a
product, pick columns or reduce along rows. Columns that hold nothing, such as most of hashed text, change
none of these results, so they are left out first; the order of the others, and with it the order of every
sum, stays the same.

*One scale*, whatever the units, and not misled by outliers: for a column x with median m and r the distance
from its 5 % to its 95 % quantile, x becomes (x - m) / r, cut to [-2, 2]. Where nine tenths of a column are
equal, r is the 95 % quantile of |x - m| over the others. Of sparse columns only stored values count, and
nothing is subtracted, so they stay sparse.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

Table = Any  # an ndarray, or a CSR matrix or array
LOW, HIGH = 0.05, 0.95  # quantiles that span a column
FAR = 2.0  # spans from the median at which values are cut


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
    """Return a CSR matrix without its empty columns, and the numbers of the columns that are left."""
    # A matrix that has at least as many values as columns is returned as it is, with all its columns.
    if X.shape[1] <= X.nnz:
        return X, np.arange(X.shape[1])
    columns = find_stored(X.indices, X.shape[1])
    return take_columns(X, columns), columns


@dataclass(frozen=True, eq=False)
class ColumnScaler:
    """Scales each column by its span."""

    center: np.ndarray  # (n_features,): medians; zeros for sparse input
    scale: np.ndarray  # (n_features,): factors

    @classmethod
    def fit(cls, X: Table) -> "ColumnScaler":
        """Learn medians and spans from a table of finite numbers."""
        if sparse.issparse(X):
            span = _span_stored(X)
            center = np.zeros(X.shape[1])
        else:
            low, center, high = np.quantile(X, (LOW, 0.5, HIGH), axis=0)
            span = high - low
            for c in np.flatnonzero(span == 0):
                others = np.abs(X[:, c] - center[c])
                span[c] = np.quantile(others[others > 0], HIGH) if others.any() else 0.0
        with np.errstate(divide="ignore", over="ignore"):
            scale = np.where(span > 0, 1.0 / span, 1.0)
        return cls(center, np.where(np.isfinite(scale), scale, 1.0))

    def transform(self, X: Table) -> Table:
        if sparse.issparse(X):
            scaled = sparse.csr_array(X, dtype=np.float64, copy=True)
            scaled.data = np.clip(scaled.data * self.scale[scaled.indices], -FAR, FAR)
            return scaled
        return np.clip((X - self.center) * self.scale, -FAR, FAR)


def _span_stored(X):
    """Return the 95 % quantile of the absolute stored values of each sparse column; 0 without any."""
    column, value = X.indices[X.data != 0], np.abs(X.data[X.data != 0])
    order = np.lexsort((value, column))
    columns, first, counts = np.unique(column[order], return_index=True, return_counts=True)
    span = np.zeros(X.shape[1])
    span[columns] = value[order][first + np.round(HIGH * (counts - 1)).astype(int)]
    return span

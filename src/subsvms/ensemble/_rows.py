"""A kernel, and the training rows that the subsets use, in the form the compiled loops read.

A row becomes a list of its nonzero features, padded with zero values to a multiple of `PAD`. Features
that are zero in all of these rows cannot change an inner product, so they are dropped and the rest are
renumbered: a table with a million features costs only as much as its nonzeros. If the table is not sparse,
the lists name every feature, and `value` is also an ordinary matrix. Which form is used depends on the
table, never on the rows picked from it, so a row's sums are always added up in the same order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from subsvms._columns import Table, find_places, find_stored

LINEAR, POLY, RBF, PRECOMPUTED = 0, 1, 2, 3
KINDS = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "precomputed": PRECOMPUTED}
LN_2 = 0.6931471805599453  # exp(-gamma t) = 2^(-gamma t / LN_2)
PAD = 8  # the compiled sums take eight terms at a time
HUGE = 1e15  # values are clipped here: squares stay finite even in single precision
FULL = 0.25  # share of nonzeros above which full lists train faster: 0.2 at 30 features, 0.3 at 120


class Kernel(NamedTuple):
    """A kernel and its parameters, in the form the compiled loops take."""

    kind: int
    gamma: float
    coef0: float
    degree: int

    @classmethod
    def named(cls, name: str, gamma: float = 1.0, coef0: float = 0.0, degree: int = 3) -> "Kernel":
        return cls(KINDS[name], float(gamma), float(coef0), int(degree))

    @property
    def needs_rows(self) -> bool:
        """Whether a decision value is a sum over training rows rather than over features."""
        return self.kind in (RBF, POLY)


def resolve_gamma(gamma: str | float, X: Table) -> float:
    """Return gamma as a number: "auto" is 1/d, "scale" 1/(d var(X)) as in scikit-learn's SVC."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        if sparse.issparse(X):
            n_values = X.shape[0] * X.shape[1]
            variance = (X.data**2).sum() / n_values - (X.data.sum() / n_values) ** 2
        else:
            variance = X.var()
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    return float(gamma)


class Rows(NamedTuple):
    """Rows as padded lists: row i holds the entries pointer[i] to pointer[i + 1] - 1."""

    pointer: np.ndarray  # (n_rows + 1,), int64
    column: np.ndarray  # (n_entries,), int64, numbers of the kept features
    value: np.ndarray  # (n_entries,), float
    norm: np.ndarray  # (n_rows,), float, squared lengths
    full: bool  # every row lists every kept feature, in order
    features: np.ndarray  # (n_columns,), int64, the feature in each column, increasing
    n_columns: int

    def astype(self, dtype: DTypeLike) -> "Rows":
        return self._replace(value=self.value.astype(dtype), norm=self.norm.astype(dtype))


def gather_rows(X: Table, numbers: ArrayLike) -> Rows:
    """Return the rows of X with these numbers as `Rows`, in double precision."""
    picked = sparse.csr_array(X[numbers], dtype=np.float64)
    picked.sum_duplicates()
    picked.eliminate_zeros()
    np.clip(picked.data, -HUGE, HUGE, out=picked.data)
    n_values = X.shape[0] * X.shape[1]
    full = bool(0 < FULL * n_values <= np.count_nonzero(X.data if sparse.issparse(X) else X))  # for JSON
    features = np.arange(X.shape[1]) if full else find_stored(picked.indices, X.shape[1])
    n_columns = len(features)
    counts = np.diff(picked.indptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    norm = np.bincount(owner, picked.data**2, minlength=len(counts))

    lengths = np.full(len(counts), n_columns) if full else counts
    pointer = np.concatenate([[0], np.cumsum(-(-lengths // PAD) * PAD)])
    column = np.zeros(pointer[-1], dtype=np.int64)
    value = np.zeros(pointer[-1])
    columns = find_places(features, picked.indices, X.shape[1])
    place = columns if full else np.arange(picked.nnz) - picked.indptr[owner]
    column[pointer[owner] + place] = columns
    value[pointer[owner] + place] = picked.data
    if full:
        width = -(-n_columns // PAD) * PAD
        column.reshape(len(counts), width)[:, :n_columns] = np.arange(n_columns)
    return Rows(pointer, column, value, norm, full, features, n_columns)


def find_lines(X: Table, rows: Rows) -> np.ndarray:
    """Return the line of a block's table for each column of X, or for each stored value of a CSR matrix."""
    # It is -1 for features that are zero in all of these rows.
    indices = X.indices if sparse.issparse(X) else np.arange(X.shape[1])
    return find_places(rows.features, indices, X.shape[1])


def take_rows(X: Table, rows: np.ndarray, kernel: str) -> Table:
    """Return some rows of a table, and the same columns where it is a precomputed kernel matrix."""
    taken = X[rows]
    return np.ascontiguousarray(taken[:, rows]) if kernel == "precomputed" else taken


def take_lists(rows: Rows, numbers: np.ndarray) -> Rows:
    """Return some of the rows, unchanged."""
    lengths = np.diff(rows.pointer)[numbers]
    pointer = np.concatenate([[0], np.cumsum(lengths)])
    entries = np.repeat(rows.pointer[numbers] - pointer[:-1], lengths) + np.arange(pointer[-1])
    parts = {"column": rows.column[entries], "value": rows.value[entries], "norm": rows.norm[numbers]}
    return rows._replace(pointer=pointer, **parts)

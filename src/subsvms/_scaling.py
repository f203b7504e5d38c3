"""Bring columns of any units to one scale, without being misled by outliers; sparse columns stay sparse.

For a column x with median m and r the distance from its 5 % to its 95 % quantile, x becomes (x - m) / r, cut
to [-2, 2]. Where nine tenths of a column are equal, r is the 95 % quantile of |x - m| over the others. Of
sparse columns only stored values count, and nothing is subtracted. Distances then do not depend on units, nor
on a few huge values.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from subsvms._typing import Table

LOW, HIGH = 0.05, 0.95  # quantiles that span a column
FAR = 2.0  # spans from the median at which values are cut


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
        """Return the scaled table, of the type of the input."""
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

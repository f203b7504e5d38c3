"""The nearest rows that speak for and against a suggested label, for people to compare with.

"For" are the nearest rows that carry the suggested label, and "against" those that carry the given one, each
among the rows that are not suspicious themselves. (The rows that pull the SVMs hardest would explain the
vote, but with a wide kernel they are a few extreme rows, the same for every issue, and of no help.)
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from subsvms._columns import Table, drop_empty

LARGEST_LIST = 2000  # suspicious rows, worst first, that get witnesses; time grows with them and the table
SEARCHED = 20_000  # rows of a class; of more, evenly spaced ones are looked at


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Rows to compare suspicious rows with."""

    rows: np.ndarray  # (n_suspicious,): the suspicious rows, worst first
    # for each of them the rows that speak for the suggested label, and against it, nearest first; empty
    # after the first `LARGEST_LIST`
    supporting: list[list[int]]
    opposing: list[list[int]]


def find_witnesses(
    X: Table,
    given: np.ndarray,
    rows: np.ndarray,
    suggested: np.ndarray,
    *,
    suspicious: np.ndarray | None = None,
    n_witnesses: int = 3,
    precomputed: bool = False,
) -> Witnesses:
    """Return the nearest unsuspicious rows of the suggested class, and of the given one (or any other).

    Shapes: X (n_rows, n_features); given (n_rows,); rows (n_suspicious,); suggested (n_suspicious,).
    """
    if sparse.issparse(X):
        X, _ = drop_empty(X)
    trusted = given >= 0
    trusted[rows if suspicious is None else suspicious] = False
    asked = rows[:LARGEST_LIST]
    supporting: list[list[int]] = [[] for _ in rows]
    opposing: list[list[int]] = [[] for _ in rows]
    wanted = np.stack([suggested[: len(asked)], given[asked]], axis=1)
    for new, old in np.unique(wanted, axis=0).tolist():
        places = np.flatnonzero((wanted == (new, old)).all(axis=1))
        others = trusted & (given == old if old >= 0 else given != new)
        for side, pool in ((supporting, trusted & (given == new)), (opposing, others)):
            nearest = _nearest(X, asked[places], np.flatnonzero(pool), n_witnesses, precomputed)
            for place, found in zip(places, nearest, strict=True):
                side[place] = found
    return Witnesses(rows, supporting, opposing)


def _nearest(X, asked, pool, n, precomputed):
    pool = pool[:: -(-len(pool) // SEARCHED) or 1]
    n = min(n, len(pool))
    if n == 0:
        return [[] for _ in asked]
    if precomputed:  # |x - z|^2 = k(x, x) + k(z, z) - 2 k(x, z), of which k(x, x) changes no order
        distance = np.diag(X)[pool] - 2.0 * X[np.ix_(asked, pool)]
        return pool[np.argsort(distance, axis=1, kind="stable")[:, :n]].tolist()
    finder = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(X[pool])
    return pool[finder.kneighbors(X[asked], return_distance=False)].tolist()

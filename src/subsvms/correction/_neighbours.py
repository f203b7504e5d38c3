"""Rows beside others: equal ones with other labels, and the nearest ones, for people to compare with.

*Contradictory rows.* Whoever drops duplicates with the label among the columns leaves of each group of equal
rows one row for every label that occurred, however often. Then such rows contradict each other, nothing is
left of how often, and each looks wrong to SVMs that were trained on the other. Their labels say nothing about
noise. Where duplicates were not dropped, there are also equal rows with equal labels: tables without any are
how such a loss is recognised. Of a large table only the rows that SVMs are trained on are compared.

*Witnesses* for a suggested label are the nearest rows that carry it, and against it those that carry the
given one, each among the rows that are not suspicious themselves. (The rows that pull the SVMs hardest would
explain the vote, but with a wide kernel they are a few extreme rows, the same for every issue.)
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from subsvms._columns import Table, drop_empty
from subsvms.correction._noise import SMALLEST_CLASS

LARGEST_LIST = 2000  # suspicious rows, worst first, that get witnesses; time grows with them and the table
ONE_CHUNK = 256  # rows that scikit-learn leaves to one thread; others would only wait, and burn CPU
SEARCHED = 20_000  # rows of a class; of more, evenly spaced ones are looked at


def find_contradictory(X: Table, given: np.ndarray) -> np.ndarray:
    """Return which rows have an equal row with another label, if duplicates were dropped; else none."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for row, content in enumerate(read_contents(X)):
        if given[row] >= 0:
            groups[content].append(row)
    contradictory = np.zeros(len(given), dtype=bool)
    n_groups = 0
    for rows in groups.values():
        if len(rows) == 1:
            continue
        if len(set(given[rows].tolist())) < len(rows):  # equal in features and label: none were dropped
            return np.zeros(len(given), dtype=bool)
        contradictory[rows] = True
        n_groups += 1
    return contradictory & (n_groups >= SMALLEST_CLASS)


def read_contents(X: Table) -> Iterator[bytes]:
    """Yield a digest of each row; the rows themselves would take as much memory as the table."""
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr))
    else:
        contents = ((row + 0.0).tobytes() for row in X)  # -0.0 becomes 0.0
    return (blake2b(content, digest_size=16).digest() for content in contents)


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Rows to compare suspicious rows with."""

    rows: np.ndarray  # (n_suspicious,): the suspicious rows, worst first
    # for each of them the rows that speak for the suggested label, and against it, nearest first; empty
    # after the first `LARGEST_LIST`
    supporting: list[list[int]]
    opposing: list[list[int]]


def find_witnesses(
    X: Table, given: np.ndarray, rows: np.ndarray, suggested: np.ndarray, *,
    suspicious: np.ndarray | None = None, n_witnesses: int = 3, precomputed: bool = False,
) -> Witnesses:  # fmt: skip
    """Return the nearest unsuspicious rows of the suggested class, and of the given one (or any other)."""
    if sparse.issparse(X):
        X, _ = drop_empty(X)
    trusted = given >= 0
    trusted[rows if suspicious is None else suspicious] = False
    asked = rows[:LARGEST_LIST]
    supporting, opposing = ([list[int]() for _ in rows] for _ in range(2))
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
    if (n := min(n, len(pool))) == 0:
        return [[] for _ in asked]
    if precomputed:  # |x - z|^2 = k(x, x) + k(z, z) - 2 k(x, z), of which k(x, x) changes no order
        distance = np.diag(X)[pool] - 2.0 * X[np.ix_(asked, pool)]
        return pool[np.argsort(distance, axis=1, kind="stable")[:, :n]].tolist()
    finder = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(X[pool])
    with threadpool_limits(1 if len(pool) <= ONE_CHUNK else None, "openmp"):
        return pool[finder.kneighbors(X[asked], return_distance=False)].tolist()

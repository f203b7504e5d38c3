"""Rows beside others: equal ones with other labels, and the nearest ones, for people to compare with.

*Contradictory rows.* In tables whose columns take few values, rows are equal by nature (`_copies`). Whoever
drops duplicates there with the label among the columns leaves of each set of equal rows one row for every
label that occurred, however often. Nothing is left of how often, and each looks wrong to SVMs that were
trained on the other: their labels say nothing about noise. Where duplicates were not dropped, there are also
equal rows with equal labels, so tables without any keep such labels. Of a large table only the rows that SVMs
are trained on are compared.

*Witnesses* for a suggested label are the nearest rows that carry it, and against it those that carry the
given one, each among the rows that are not suspicious themselves. (The rows that pull the SVMs hardest would
explain the vote, but with a wide kernel they are a few extreme rows, the same for every issue.)
"""

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


def find_contradictory(equal: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return which rows have an equal row with another label, if none has one with its own; else none."""
    # `equal` holds a number for each row, the same for equal rows (`number_contents`).
    contradictory = np.zeros(len(given), dtype=bool)
    sets = list_sets(np.where(given >= 0, equal, -1))
    if len(sets) < SMALLEST_CLASS or any(len(set(given[rows].tolist())) < len(rows) for rows in sets):
        return contradictory
    contradictory[np.concatenate(sets)] = True
    return contradictory


def list_sets(numbers: np.ndarray) -> list[np.ndarray]:
    """Return the rows that share a number with others, those of each number together; -1 is no number."""
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-2))
    parts = np.split(order, starts[1:])
    return [rows for rows in parts if len(rows) > 1 and numbers[rows[0]] >= 0]


def number_contents(X: Table) -> np.ndarray:
    """Return a number for each row, from 0 in the order of the rows, which equal rows share."""
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(content, len(seen)) for content in read_contents(X)], dtype=int)


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

"""Rows that are copies of each other: equal ones, and such as differ by far less than neighbours do.

A copy in the training half vouches for its twin: an SVM that saw a wrong label finds it right in a copy. So
copies are a group, of which no SVM may have seen a row to be heard about one (`ensemble._votes`).

Let R(x) be the distance from a row x to the `NEIGHBOURS`-th of (at most) `REFERENCE` other rows. Rows x and z
are copies if |x - z| <= f min(R(x), R(z)). If rows lie evenly in d dimensions, n m f^d rows have another so
near by chance, with m the rows of the table within R; d follows from how fast distances grow from one
neighbour to the next. f is at most `NEAR`, and so small that at most the share `SPURIOUS` of the rows found
is expected by chance, and that so many pairs have a probability of at most `RARE` by chance. Real tables are
not even: in one with a number beside categories, rows of the same categories are near each other whatever the
number is. So there must be a gap as well: at most a quarter as many rows between f and 2f as below f. f is
the largest of some fractions for which all of this holds.

*Equal rows by nature.* Where columns take few values, equal rows are to be expected, and what their labels
say is all there is to learn from: they are left alone. There, distances to the nearest other row take few
values, too; elsewhere hardly two are the same. (In splice, DNA of 60 letters, distances differ, but equal
rows have labels of their own: to group them left more wrong labels.) Groups of more than `LARGEST` of the
rows, such as empty answers, are left alone as well, and all of them if they hold more than a third of the
rows.

Among at most `PROJECTED` dimensions, of random projections, which no distance grows in, a tree finds
candidates fast.

*Contradictory rows.* In tables whose columns take few values, rows are equal by nature. Whoever
drops duplicates there with the label among the columns leaves of each set of equal rows one row for every
label that occurred, however often. Nothing is left of how often, and each looks wrong to SVMs that were
trained on the other: their labels say nothing about noise. Where duplicates were not dropped, there are also
equal rows with equal labels, so tables without any keep such labels. Of a large table only the rows that SVMs
are trained on are compared.

*Witnesses* for a suggested label are the nearest rows that carry it, and against it those that carry the
given one, each among the rows that are not suspicious themselves. (The rows that pull the SVMs hardest would
explain the vote, but with a wide kernel they are a few extreme rows, the same for every issue.)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.stats import poisson
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from subsvms._columns import Table, drop_empty, take_columns
from subsvms.correction._noise import SMALLEST_CLASS

NEIGHBOURS, REFERENCE, ASKED = 10, 5000, 500
NEAR, SPURIOUS, RARE, GAP = 0.1, 0.05, 0.001, 0.25
SMALLER = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1)  # times the largest f: where to look for a gap
LARGEST, FEW, MOST = 0.01, 10, 1 / 3  # shares of the rows; groups of up to FEW rows are never too large
SAME = 0.1  # share of the rows with the same distance to their nearest: columns take few values
SEARCHED = 10_000  # rows, to find the gap
VALUES = 20  # that every column takes at most where equal rows need not be copies
PROJECTED, CANDIDATES = 6, 5
FEWEST = 50  # distinct rows, to say what is near
CHUNK = 2**22  # values of pairs of rows at once
LARGEST_LIST = 2000  # suspicious rows, worst first, that get witnesses; time grows with them and the table
ONE_CHUNK = 256  # rows that scikit-learn leaves to one thread; others would only wait, and burn CPU
SEARCHED_OF_CLASS = 20_000  # rows of a class; of more, evenly spaced ones are looked at


@dataclass(frozen=True, eq=False)
class Copies:
    """Which rows are copies of each other."""

    numbers: np.ndarray  # (n_rows,): the group of each row; most have one of their own
    equal: np.ndarray  # (n_rows,): the same of rows that are equal, whether or not they are grouped
    left_alone: str = ""  # why equal rows are no group: "nature", "many" or ""
    fraction: float = 0.0  # f
    reference: Any = None  # the rows that R is measured to, in the columns that are looked at
    columns: np.ndarray | None = None  # which these are, of a wide sparse table: the others are empty

    @classmethod
    def none(cls, n_rows: int) -> "Copies":
        """Return what is known of rows without features."""
        return cls(np.arange(n_rows), np.arange(n_rows))


class Finder:
    """Finds for any rows the group of the row that they are a copy of."""

    def __init__(self, X: Table, numbers: np.ndarray, copies: Copies):
        self.numbers, self.tree = numbers, None  # (n_rows,): group of each row of X
        self.contents = dict(zip(read_contents(X), range(len(numbers)), strict=True))
        if copies.fraction > 0.0:
            self.X, self.columns = X, copies.columns
            kept = self.narrow(X)
            self.basis = find_basis(kept.shape[1])
            self.reach = copies.fraction * find_distances(kept, copies.reference)[:, -1]
            self.tree = cKDTree(project(kept, self.basis))

    def narrow(self, X: Table) -> Table:
        """Return the columns that are looked at to find what is near."""
        return X if self.columns is None else take_columns(X, self.columns)

    def find(self, X: Table) -> np.ndarray:
        """Return the number of a group for each row; -1 for a row that is no copy."""
        found = np.array([self.contents.get(content, -1) for content in read_contents(X)], dtype=int)
        rows = np.flatnonzero(found < 0)
        if self.tree is not None and len(rows):
            asked = self.narrow(X[rows])
            points = project(asked, self.basis)
            places, others = list_candidates(self.tree, points, self.reach.max(), asked.shape[1])
            distance = measure(X, rows[places], self.X, others)
            near = np.flatnonzero(distance <= self.reach[others])
            near = near[np.lexsort((others[near], -distance[near]))]  # the nearest is written last
            found[rows[places[near]]] = others[near]
        return np.where(found >= 0, self.numbers[found], -1)


def find_copies(X: Table) -> Copies:
    """Return the copies among rows whose columns have one scale."""
    n_rows, n_columns = X.shape
    equal, alone = number_contents(X), np.arange(n_rows)
    _, first = np.unique(equal, return_index=True)
    n_equal = n_rows - len(first)
    if len(first) < FEWEST:
        return Copies(alone, equal, "nature" * (n_equal > 0))
    columns = None
    if sparse.issparse(X):
        X, stored = drop_empty(X)
        columns = stored if len(stored) < n_columns else None
    distinct = X if n_equal == 0 else X[first]
    reference = distinct[:: -(-len(first) // REFERENCE)]
    asked = reference[:: -(-reference.shape[0] // ASKED)]
    distances = find_distances(asked, reference)
    by_nature = count_same(distances[:, 1]) > SAME * len(distances) or not has_numbers(reference)
    m, d = NEIGHBOURS * n_rows / reference.shape[0], find_dimension(distances)
    fraction = 0.0 if by_nature else min(NEAR, (MOST * SPURIOUS / m) ** (1.0 / d))  # else even MOST are few
    some = np.arange(len(first))[:: -(-len(first) // SEARCHED)]
    pairs, ratio = find_pairs(distinct, some, reference, 2.0 * fraction, distances[:, -1])
    fraction = choose_fraction(pairs, ratio, some, fraction, lambda f: len(some) * m * f**d)
    if len(some) < len(first):
        pairs, ratio = find_pairs(distinct, np.arange(len(first)), reference, fraction, distances[:, -1])
    pairs = pairs[:, ratio <= fraction]
    links = sparse.csr_array((np.ones(pairs.shape[1]), pairs), shape=(len(first), len(first)))
    numbers = connected_components(links, directed=False)[1][equal]
    if by_nature:
        return Copies(alone, equal, "nature" * (n_equal > 0))
    sizes = np.bincount(numbers)[numbers]
    numbers = np.where(sizes > max(FEW, LARGEST * n_rows), numbers.max() + 1 + alone, numbers)
    numbers = np.unique(numbers, return_inverse=True)[1]
    share = np.mean(np.bincount(numbers)[numbers] > 1)
    if share > MOST:
        return Copies(alone, equal, "many")
    if share == 0:
        return Copies(alone, equal, "many" * (n_equal > 0))
    return Copies(numbers, equal, "", fraction, reference, columns)


def find_distances(asked: Table, reference: Table) -> np.ndarray:
    """Return the distances of rows to themselves, if they are among the others, and to the nearest others."""
    n = min(NEIGHBOURS + 1, reference.shape[0])
    with threadpool_limits(1, "openmp"):
        return NearestNeighbors(n_neighbors=n, algorithm="brute").fit(reference).kneighbors(asked)[0]


def has_numbers(X: Table) -> bool:
    """Return whether a column takes more than `VALUES` values, as measured quantities do."""
    columns: Any = sparse.csc_array(X) if sparse.issparse(X) else np.asarray(X).T
    parts = np.split(columns.data, columns.indptr[1:-1]) if sparse.issparse(X) else columns
    return any(len(np.unique(part)) > VALUES for part in parts)


def count_same(distances: np.ndarray) -> int:
    """Return how many distances are the same, up to rounding, at the most frequent one."""
    ordered = np.sort(distances)
    steps = np.cumsum(np.append(True, np.diff(ordered) > 1e-4 * ordered[1:]))
    return int(np.bincount(steps).max())


def find_dimension(distances: np.ndarray) -> float:
    """Return d: distances to the k-th neighbour grow like k^(1/d)."""
    half = (distances.shape[1] - 1) // 2
    growth = np.median(np.log(distances[:, -1] / np.maximum(distances[:, half], 1e-300)))
    return float(np.log((distances.shape[1] - 1) / half) / max(growth, 1e-3))


def choose_fraction(
    pairs: np.ndarray, ratio: np.ndarray, asked: np.ndarray, largest: float, expect: Callable[[float], float]
) -> float:
    """Return the largest f with few rows by chance below, and far fewer beyond than below; 0 without any."""
    n = int(max(asked.max(), pairs.max(initial=0))) + 1
    nearest = np.full(n, np.inf)
    for side in pairs:
        np.minimum.at(nearest, side, ratio)
    nearest = nearest[asked]
    for f in largest * np.array(SMALLER):
        below, beyond = np.sum(nearest <= f), np.sum((nearest > f) & (nearest <= 2.0 * f))
        if beyond > GAP * below or expect(f) > SPURIOUS * below:
            continue
        if poisson.sf(below // 2 - 1, expect(f) / 2) <= RARE:
            return float(f)
    return 0.0


def find_pairs(
    X: Table, asked: np.ndarray, reference: Table, fraction: float, typical: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that are asked and a near one, (2, n_pairs), and how near they are, as a fraction of R."""
    if fraction == 0.0:
        return np.zeros((2, 0), dtype=int), np.zeros(0)
    R = np.full(X.shape[0], np.nan)
    points = project(X, find_basis(X.shape[1]))
    radius = fraction * float(np.quantile(typical, 0.9))
    left, right = list_candidates(cKDTree(points), points[asked], radius, X.shape[1])
    left, right = asked[left][asked[left] != right], right[asked[left] != right]
    pairs = np.unique(np.sort(np.stack([left, right]), axis=0), axis=1)
    distance = measure(X, pairs[0], X, pairs[1])
    pairs, distance = pairs[:, distance <= radius], distance[distance <= radius]
    rows = np.unique(pairs)
    for part in np.array_split(rows, -(-len(rows) // REFERENCE) or 1):
        if len(part):
            R[part] = find_distances(X[part], reference)[:, -1]
    return pairs, distance / np.minimum(R[pairs[0]], R[pairs[1]])


def find_basis(n_columns: int) -> np.ndarray | None:
    """Return orthonormal directions, (n_columns, n_directions); None if there are few columns."""
    if n_columns <= PROJECTED:
        return None
    return np.linalg.qr(np.random.default_rng(0).normal(size=(n_columns, PROJECTED)))[0]


def project(X: Table, basis: np.ndarray | None) -> np.ndarray:
    """Return rows in a few dimensions."""
    if basis is not None:
        return np.asarray(X @ basis, dtype=float)
    return X.toarray().astype(float) if sparse.issparse(X) else np.asarray(X, dtype=float)


def list_candidates(
    tree: cKDTree, points: np.ndarray, radius: float, n_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return places of points, and for each those of a few of the tree that are near enough."""
    shorter = min(1.0, 2.0 * np.sqrt(PROJECTED / n_columns))  # what projecting leaves of a distance, and more
    distance, found = tree.query(points, CANDIDATES, distance_upper_bound=radius * shorter * (1 + 1e-9))
    places, nearest = np.nonzero(np.isfinite(distance))
    return places, found[places, nearest]


def measure(X: Table, rows: np.ndarray, Z: Table, others: np.ndarray) -> np.ndarray:
    """Return the distances of pairs of rows, without a product of matrices, which rounds too much."""
    squares, width = [np.zeros(0)], X.nnz // X.shape[0] + 1 if sparse.issparse(X) else X.shape[1]
    for first in range(0, len(rows), step := max(CHUNK // width, 1)):
        part = slice(first, first + step)
        difference = X[rows[part]].astype(float) - Z[others[part]].astype(float)
        if sparse.issparse(difference):
            squares.append(np.asarray(difference.multiply(difference).sum(axis=1)).ravel())
        else:
            squares.append(np.einsum("ij,ij->i", difference, difference))
    return np.sqrt(np.concatenate(squares))


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
    pool = pool[:: -(-len(pool) // SEARCHED_OF_CLASS) or 1]
    if (n := min(n, len(pool))) == 0:
        return [[] for _ in asked]
    if precomputed:  # |x - z|^2 = k(x, x) + k(z, z) - 2 k(x, z), of which k(x, x) changes no order
        distance = np.diag(X)[pool] - 2.0 * X[np.ix_(asked, pool)]
        return pool[np.argsort(distance, axis=1, kind="stable")[:, :n]].tolist()
    finder = NearestNeighbors(n_neighbors=n, algorithm="brute").fit(X[pool])
    with threadpool_limits(1 if len(pool) <= ONE_CHUNK else None, "openmp"):
        return pool[finder.kneighbors(X[asked], return_distance=False)].tolist()

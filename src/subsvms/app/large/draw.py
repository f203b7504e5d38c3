"""Draw samples of a table that depend on the rows' numbers and labels only, not on how the table is read.

Every row has a hash of (seed, row number); no two rows share one. The rows with the smallest hashes form two
samples:

- the *pool*, at most 2 P / K rows of each of the K classes: subsets are drawn from it, class by class;
- the *sample*, 2 P rows of the table, whatever their labels: the scales of the features, the noise and the
  rule are learned from it, because balanced classes would mislead all three.

Smallest hashes merge: those of two parts of a table are among the smallest of each part. So parts can be
read in any order, on any number of machines. If no class has more than 2 P / K rows, and the table no more
than 2 P, both samples are the whole table, and a run in parts gives the same bits as a run in memory.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

POOL_SIZE = 20_000  # P: see docs/scale.md
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio


def hash_rows(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return a hash of each row number: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a bijection.

    Parameters
    ----------
    rows : ndarray of int of shape (n_rows,)
    seed : int

    Examples
    --------
    >>> hash_rows(np.arange(3), 0)
    array([ 9669442505924063346, 12855374104877926600,  2012481149599441470],
          dtype=uint64)
    """
    start = _mix(np.array([seed], dtype=np.uint64))
    return _mix((rows.astype(np.uint64) + start) * GOLDEN)


def _mix(x):
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Census:
    """How often each label occurs in some rows, and the smallest hashes.

    Attributes
    ----------
    counts : dict of label to int
        Rows with each label; None stands for no label.
    smallest : dict of label to ndarray of shape (n_hashes,), uint64
        The P smallest hashes of the rows with each label, sorted; all if there are fewer.
    overall : ndarray of shape (n_hashes,), uint64
        The 2 P smallest hashes of all rows, sorted.
    """

    counts: dict[Any, int]
    smallest: dict[Any, np.ndarray]
    overall: np.ndarray

    def merge(self, other: "Census", pool_size: int) -> "Census":
        """Return the census of the rows of both."""
        counts, smallest = dict(self.counts), dict(self.smallest)
        for value, count in other.counts.items():
            counts[value] = counts.get(value, 0) + count
            both = np.concatenate([smallest.get(value, np.array([], np.uint64)), other.smallest[value]])
            smallest[value] = keep_smallest(both, pool_size)
        overall = keep_smallest(np.concatenate([self.overall, other.overall]), 2 * pool_size)
        return Census(counts, smallest, overall)


EMPTY = Census({}, {}, np.array([], np.uint64))


def keep_smallest(hashes: np.ndarray, n: int) -> np.ndarray:
    """Return the n smallest hashes, sorted.

    Examples
    --------
    >>> keep_smallest(np.array([5, 3, 9], np.uint64), 2)
    array([3, 5], dtype=uint64)
    """
    return np.sort(np.partition(hashes, n - 1)[:n] if len(hashes) > n else hashes)


def take_census(values: list, codes: np.ndarray, rows: np.ndarray, *, seed: int, pool_size: int) -> Census:
    """Return the census of some rows.

    Parameters
    ----------
    values : list
        Distinct labels.
    codes : ndarray of int of shape (n_rows,)
        Place of each row's label in `values`; -1 for none.
    rows : ndarray of int of shape (n_rows,)
        Row numbers.
    seed, pool_size : int

    Examples
    --------
    >>> census = take_census(["no", "yes"], np.array([0, 1, -1, 0]), np.arange(4), seed=0, pool_size=1)
    >>> census.counts, len(census.overall)
    ({'no': 2, 'yes': 1, None: 1}, 2)
    """
    hashes = hash_rows(rows, seed)
    counts: dict[Any, int] = {}
    smallest: dict[Any, np.ndarray] = {}
    for code, value in (*enumerate(values), (-1, None)):
        own = hashes[codes == code]
        if len(own):
            counts[value] = counts.get(value, 0) + len(own)
            before = smallest.get(value, np.array([], np.uint64))
            smallest[value] = keep_smallest(np.concatenate([before, own]), pool_size)
    return Census(counts, smallest, keep_smallest(hashes, 2 * pool_size))


@dataclass(frozen=True, eq=False)
class Drawing:
    """Which rows are in the pool, and which in the sample.

    Attributes
    ----------
    seed : int
    last : ndarray of shape (n_classes,), uint64
        The largest hash in the pool, of each class.
    last_overall : uint64
        The largest hash in the sample.
    sizes : ndarray of int of shape (n_classes,)
        Rows of each class in the table.
    capped : bool
        Whether a class has rows outside the pool, or would have some if labels changed.
    n_sample : int
        Rows in the sample: 2 P, or all if there are fewer.
    """

    seed: int
    last: np.ndarray
    last_overall: np.uint64
    sizes: np.ndarray
    capped: bool
    n_sample: int

    def in_pool(self, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return which rows are in the pool; `given` holds their class numbers, -1 without a label."""
        return (given >= 0) & (hash_rows(rows, self.seed) <= self.last[given])

    def in_sample(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows are in the sample."""
        return hash_rows(rows, self.seed) <= self.last_overall


def draw(census: Census, numbers: dict[Any, int], *, seed: int, pool_size: int) -> Drawing:
    """Return which rows to fetch.

    Parameters
    ----------
    census : Census
        Of the whole table.
    numbers : dict
        Class number of each label that occurs, -1 if it marks a missing label; several labels may belong to
        the same class.
    seed, pool_size : int

    Examples
    --------
    >>> rows, given = np.arange(1000), np.arange(1000) % 2
    >>> census = take_census(["no", "yes"], given, rows, seed=0, pool_size=50)
    >>> drawing = draw(census, {"no": 0, "yes": 1}, seed=0, pool_size=50)
    >>> int(drawing.in_pool(rows, given).sum()), int(drawing.in_sample(rows).sum())
    (100, 100)
    """
    n_classes = max(numbers.values()) + 1
    quota = max(2 * pool_size // n_classes, 1)
    last = np.full(n_classes, np.iinfo(np.uint64).max)
    sizes = np.zeros(n_classes, dtype=np.int64)
    for c in range(n_classes):
        own = [value for value, number in numbers.items() if number == c]
        sizes[c] = sum(census.counts[value] for value in own)
        if sizes[c] > quota:
            last[c] = keep_smallest(np.concatenate([census.smallest[value] for value in own]), quota)[-1]
    capped = bool(sizes.max() + sizes.min() > quota)
    n_rows = sum(census.counts.values())
    whole = n_rows <= 2 * pool_size
    last_overall = np.uint64(np.iinfo(np.uint64).max) if whole else census.overall[-1]
    return Drawing(seed, last, last_overall, sizes, capped, min(n_rows, 2 * pool_size))

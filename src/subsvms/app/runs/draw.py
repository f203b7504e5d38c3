"""Count the labels of a table that is read in parts, and draw the rows to learn from."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms.ensemble._sampling import (
    EVERY,
    SAMPLE,
    Drawing,
    choose_pool_size,
    count_kept,
    hash_rows,
    keep_smallest,
    limit_pool,
)


@dataclass(frozen=True, eq=False)
class Census:
    """How often each label occurs in some rows, and the smallest hashes."""

    counts: dict[Any, int]  # rows with each label; None stands for no label
    smallest: dict[Any, np.ndarray]  # (n_hashes,): the smallest hashes of the rows with each label, sorted
    overall: np.ndarray  # (n_hashes,): the smallest hashes of all rows, sorted

    def merge(self, other: "Census", pool_size: int | None) -> "Census":
        """Return the census of the rows of both."""
        counts, smallest, kept = dict(self.counts), dict(self.smallest), count_kept(pool_size)
        for value, count in other.counts.items():
            counts[value] = counts.get(value, 0) + count
            both = np.concatenate([smallest.get(value, np.array([], np.uint64)), other.smallest[value]])
            smallest[value] = keep_smallest(both, kept)
        overall = keep_smallest(np.concatenate([self.overall, other.overall]), kept)
        return Census(counts, smallest, overall)


EMPTY = Census({}, {}, np.array([], np.uint64))


def take_census(
    values: list, codes: np.ndarray, rows: np.ndarray, *, seed: int, pool_size: int | None
) -> Census:
    """Return the census of some rows."""
    hashes, kept = hash_rows(rows, seed), count_kept(pool_size)
    counts: dict[Any, int] = {}
    smallest: dict[Any, np.ndarray] = {}
    for code, value in (*enumerate(values), (-1, None)):
        own = hashes[codes == code]
        if len(own):
            counts[value] = counts.get(value, 0) + len(own)
            before = smallest.get(value, np.array([], np.uint64))
            smallest[value] = keep_smallest(np.concatenate([before, own]), kept)
    return Census(counts, smallest, keep_smallest(hashes, kept))


def draw(census: Census, numbers: dict[Any, int], *, seed: int, pool_size: int | None) -> Drawing:
    """Return which rows to fetch."""
    n_classes = max(numbers.values()) + 1
    own = [[value for value, number in numbers.items() if number == c] for c in range(n_classes)]
    sizes = np.array([sum(census.counts[value] for value in values) for values in own])
    n_rows = sum(census.counts.values())
    pool_size = pool_size or choose_pool_size(n_rows)
    quota, capped = limit_pool(sizes, pool_size)
    last = np.full(n_classes, EVERY)
    for c in np.flatnonzero(sizes > quota):
        last[c] = keep_smallest(np.concatenate([census.smallest[value] for value in own[c]]), quota)[-1]
    n_sample = min(n_rows, SAMPLE * pool_size)
    last_overall = EVERY if n_sample == n_rows else census.overall[n_sample - 1]
    return Drawing(seed, last, last_overall, sizes, capped, n_sample)

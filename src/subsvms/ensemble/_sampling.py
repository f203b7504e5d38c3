"""Draw rows: of a large table those to learn from, and of these the subsets that SVMs are trained on.

*The pool and the sample.* Which rows they are depends on row numbers and labels only. Every row has a hash of
(seed, row number); no two rows share one. The rows with the smallest hashes form two samples:

- the *pool*, at most P / K rows of each of the K classes: subsets are drawn from it, class by class;
- the *sample*, 4 P rows of the table, whatever their labels: the scales of the features, the noise and the
  rule are learned from it, because balanced classes would mislead all three.

If no class has more than P / K rows, and the table no more than 4 P, both are the whole table. Smallest
hashes merge: those of two parts of a table are among the smallest of each part. So parts can be read in any
order, on any number of machines, and the rows drawn are those that would be drawn in memory.

*Subsets*: p-biased sampling (Definition 5 of the paper). A subset is s independent draws. Each draw chooses a
class and then a row of that class uniformly, with replacement. For two classes the smaller is chosen with
probability p: p = 1/2 is class-balanced, and p = beta, the share of the smaller class, is uniform over the
rows. For K classes with shares beta_1 <= ... <= beta_K the class probabilities lie on the line through those
two points,

    pi_c = (1 - t) beta_c + t / K    with    t = (p - beta_1) / (1/2 - beta_1),

so that p = 1/2 is class-balanced and p = beta_1 uniform for any K, and K = 2 gives (p, 1 - p) for any p.

*Groups.* If rows come in groups, an SVM is not heard about the rows of a group of which it saw one. Of each
group that fewer than `LEAST_UNSEEN` of the SVMs would not see, half of them, drawn at random, see no row:
draws of its rows are repeated within the class. Subsets without such draws stay as they are.

Each numbered block of subsets has its own random generator, whichever worker draws it: a seed stands for the
same endless list of subsets everywhere. Classes are ordered by size, not by name, so renaming them changes no
subset.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from subsvms.exceptions import InputError

POOL_SIZE = 9_000  # P for large tables; the votes on a row take time in proportion to it (docs/scale.md)
KERNELS = 800_000_000  # P times rows up to which a larger pool costs only seconds
POOLS_IN_SAMPLE = 4  # times P
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
EVERY = np.uint64(np.iinfo(np.uint64).max)  # no hash is larger
BLOCK = 256  # subsets per block; changing it changes the subsets that a seed gives
LEAST_UNSEEN = 0.25  # share of the SVMs that see no row of a group, without drawing again
ROUNDS = 64  # of repeated draws: half of them end in each, but for classes that hardly any other group has
MANY = 10  # classes; with more than this, subsets do not grow further


def hash_rows(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return a hash of each row number: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a bijection."""
    start = _mix(np.array([seed], dtype=np.uint64))
    return _mix((rows.astype(np.uint64) + start) * GOLDEN)


def _mix(x):
    x = x + GOLDEN
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keep_smallest(hashes: np.ndarray, n: int) -> np.ndarray:
    return np.sort(np.partition(hashes, n - 1)[:n] if len(hashes) > n else hashes)


@dataclass(frozen=True, eq=False)
class Drawing:
    """Which rows are in the pool, and which in the sample."""

    seed: int
    last: np.ndarray  # (n_classes,): the largest hash in the pool, of each class
    last_overall: np.uint64  # the largest hash in the sample
    sizes: np.ndarray  # (n_classes,): rows of each class in the table
    capped: bool  # whether a class has rows outside the pool, or would have some if labels changed
    n_sample: int  # rows in the sample: 4 P, or all if there are fewer

    @property
    def is_whole(self) -> bool:
        return bool(self.last_overall == EVERY)

    @property
    def n_rows(self) -> int:
        """Rows that the size of a subset follows from: not those of the pool, which depend on the labels."""
        return min(int(self.sizes.sum()), self.n_sample)

    def in_pool(self, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return which rows are in the pool; `given` holds their class numbers, -1 without a label."""
        if (self.last == EVERY).all():
            return given >= 0
        return (given >= 0) & (hash_rows(rows, self.seed) <= self.last[given])

    def in_sample(self, rows: np.ndarray) -> np.ndarray:
        """Return which rows are in the sample."""
        if self.last_overall == EVERY:
            return np.ones(len(rows), dtype=bool)
        return hash_rows(rows, self.seed) <= self.last_overall

    def list_rows(self, given: np.ndarray) -> np.ndarray:
        """Return the rows of a table in memory that are in the pool or in the sample."""
        rows = np.arange(len(given))
        return np.flatnonzero(self.in_sample(rows) | self.in_pool(rows, given))


def choose_pool_size(n_rows: int) -> int:
    """Return P for a table: more for smaller tables, where it costs little."""
    return max(POOL_SIZE, KERNELS // max(n_rows, 1))


def count_kept(pool_size: int | None) -> int:
    """Return how many smallest hashes are enough to draw from, before the number of rows is known."""
    # The default P is at most KERNELS / n for n rows, so 4 P and n meet at twice the root of KERNELS.
    return POOLS_IN_SAMPLE * pool_size if pool_size else 2 * math.isqrt(KERNELS) + 2


def draw_rows(given: np.ndarray, n_classes: int, *, seed: int) -> Drawing:
    """Return which rows of a table in memory to learn from."""
    sizes = np.bincount(given[given >= 0], minlength=n_classes)
    hashes = hash_rows(np.arange(len(given)), seed)
    return draw_hashed(sizes, len(given), hashes, lambda c: hashes[given == c], seed=seed)


def draw_hashed(
    sizes: np.ndarray, n_rows: int, overall: np.ndarray, of_class: Callable[[int], np.ndarray], *,
    seed: int, pool_size: int | None = None,
) -> Drawing:  # fmt: skip
    """Return which rows to learn from, by hashes of all rows and of each class; the smallest are enough."""
    pool_size = pool_size or choose_pool_size(n_rows)
    quota = max(pool_size // len(sizes), 1)  # rows of a class that may be in the pool
    last = np.full(len(sizes), EVERY)
    for c in np.flatnonzero(sizes > quota).tolist():
        last[c] = keep_smallest(of_class(c), quota)[-1]
    n_sample = min(n_rows, POOLS_IN_SAMPLE * pool_size)
    last_overall = EVERY if n_sample == n_rows else keep_smallest(overall, n_sample)[-1]
    return Drawing(seed, last, last_overall, sizes, bool(sizes.max() + sizes.min() > quota), n_sample)


def subset_size(rule: str | int, n_samples: int, n_classes: int = 2) -> int:
    """Return the number of rows in a subset."""
    # "log" and "log_squared" are the paper's log l and log^2 l (natural logarithm, rounded) for the two
    # classes of one SVM, so K classes take K/2 times as many, up to `MANY` classes: beyond that the cost of
    # an SVM would grow with the square of K. At least 2, at most all rows of the table.
    if isinstance(rule, str):
        powers = {"log": 1, "log_squared": 2}
        if rule not in powers:
            words = "{subsample_size} must be 'log', 'log_squared' or a whole number; got {rule!r}."
            raise InputError(words, rule=rule)
        size = round(min(n_classes, MANY) / 2 * np.log(n_samples) ** powers[rule])
        return int(min(max(size, 2), n_samples))
    if not 2 <= rule <= n_samples:
        raise InputError(
            "{subsample_size} must lie between 2 and the number of rows, {n_samples}; got {rule!r}: "
            "use 'log_squared' to derive it from the number of rows.",
            n_samples=n_samples, rule=rule,
        )  # fmt: skip
    return int(rule)


def class_probabilities(sizes: ArrayLike, p: float) -> np.ndarray:
    """Return the probability of each class in one draw, for class sizes in any order."""
    if not 0 < p < 1:
        raise InputError(f"sampling_bias must lie between 0 and 1, both excluded; got {p!r}.")
    shares = np.asarray(sizes, dtype=float) / np.sum(sizes)
    if len(shares) == 2:  # the general formula divides by zero if both are equally common
        return np.where(np.arange(2) == np.argmin(shares), p, 1.0 - p)
    beta = shares.min()
    t = (p - beta) / (0.5 - beta)
    chances = (1.0 - t) * shares + t / len(shares)
    if chances.min() <= 0:
        said = f"sampling_bias={p!r} leaves a class of this table no chance of being drawn"
        raise InputError(f"{said}: use 0.5 for equally likely classes.")
    return chances


def draw_block(labels: np.ndarray, size: int, p: float, block: int, *, seed: int) -> np.ndarray:
    """Return one block, (BLOCK, size), of the endless list of subsets that `seed` stands for."""
    sizes = np.bincount(labels)
    by_class = np.argsort(labels, kind="stable")  # row numbers, class after class
    first = np.cumsum(sizes) - sizes
    order = np.lexsort((by_class[first], sizes))  # by size, then by first row in the table
    limits = np.cumsum(class_probabilities(sizes[order], p))[:-1]
    rng = np.random.default_rng([seed, block])
    drawn = order[np.searchsorted(limits, rng.random((BLOCK, size)), side="right")]
    return by_class[first[drawn] + (rng.random((BLOCK, size)) * sizes[drawn]).astype(np.int64)]


def draw_subsets(
    labels: np.ndarray, n_subsets: int, size: int, p: float = 0.5, *, seed: int,
    groups: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Return the first `n_subsets` of the subsets that `seed` stands for: row numbers, repeats included."""
    # Each class must be used in the labels at least once. `groups` numbers the group of each row.
    blocks = range(-(-n_subsets // BLOCK))
    drawn = [draw_block(labels, size, p, b, seed=seed) for b in blocks]
    if groups is not None and (large := find_large(groups, labels, size, p)).any():
        rngs = [np.random.default_rng([seed, b, 1]) for b in blocks]
        drawn = [leave_out(one, labels, groups, large, rng) for one, rng in zip(drawn, rngs, strict=True)]
    return np.concatenate(drawn)[:n_subsets]


def find_large(groups: np.ndarray, labels: np.ndarray, size: int, p: float) -> np.ndarray:
    """Return which groups of several rows are seen by more of the subsets than `LEAST_UNSEEN` allows."""
    sizes = np.bincount(labels)
    chance = np.bincount(groups, weights=(class_probabilities(sizes, p) / sizes)[labels])  # in one draw
    unseen = np.exp(size * np.log1p(-np.minimum(chance, 1.0 - 1e-12)))
    return (np.bincount(groups) > 1) & (unseen < LEAST_UNSEEN)


def leave_out(
    subsets: np.ndarray, labels: np.ndarray, groups: np.ndarray, large: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return a block of subsets of which each leaves out half of the large groups, drawn at random."""
    subsets, places = subsets.copy(), np.cumsum(large) - 1
    closed = rng.random((len(subsets), int(large.sum()))) < 0.5
    by_class, sizes = np.argsort(labels, kind="stable"), np.bincount(labels)
    first = np.cumsum(sizes) - sizes
    for trial in range(ROUNDS):
        group = groups[subsets]
        svm, draw = np.nonzero(large[group] & closed[np.arange(len(subsets))[:, None], places[group]])
        if len(svm) == 0:
            break
        luck = rng.random(len(svm))
        c = labels[subsets[svm, draw]]
        own = by_class[first[c] + (luck * sizes[c]).astype(np.int64)]
        any_row = (luck * len(labels)).astype(np.int64)  # where all rows of a class seem to be left out
        subsets[svm, draw] = own if trial < ROUNDS // 2 else any_row
    return subsets

"""Draw the subsets: p-biased sampling (Definition 5 of the paper).

A subset is s independent draws. Each draw chooses a class and then a row of that class uniformly, with
replacement. For two classes the smaller is chosen with probability p: p = 1/2 is class-balanced, and
p = beta, the share of the smaller class, is uniform over the rows.

For K classes with shares beta_1 <= ... <= beta_K the class probabilities lie on the line through those
two points,

    pi_c = (1 - t) beta_c + t / K    with    t = (p - beta_1) / (1/2 - beta_1),

so that p = 1/2 is class-balanced and p = beta_1 uniform for any K, and K = 2 gives (p, 1 - p) for any p.

Each numbered block of subsets has its own random generator, whichever worker draws it: a seed stands for the
same endless list of subsets everywhere. Classes are ordered by size, not by name, so renaming them changes no
subset.
"""

import numpy as np
from numpy.typing import ArrayLike

from subsvms.exceptions import InputError

BLOCK = 256  # subsets per block; changing it changes the subsets that a seed gives
MANY = 10  # classes; with more than this, subsets do not grow further


def subset_size(rule: str | int, n_samples: int, n_classes: int = 2) -> int:
    """Return the number of rows in a subset.

    "log" and "log_squared" are the paper's log l and log^2 l (natural logarithm, rounded) for the two
    classes of one SVM, so K classes take K/2 times as many, up to `MANY` classes: beyond that the cost of
    an SVM would grow with the square of K. At least 2, at most all rows of the table.
    """
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
        raise InputError(
            f"sampling_bias={p!r} leaves a class of this table no chance of being drawn: "
            "use 0.5 for equally likely classes."
        )
    return chances


def draw_block(labels: np.ndarray, size: int, p: float, block: int, *, seed: int) -> np.ndarray:
    """Return one block of the endless list of subsets that `seed` stands for.

    Shapes: returns (BLOCK, size).
    """
    sizes = np.bincount(labels)
    by_class = np.argsort(labels, kind="stable")  # row numbers, class after class
    first = np.cumsum(sizes) - sizes
    order = np.lexsort((by_class[first], sizes))  # by size, then by first row in the table
    limits = np.cumsum(class_probabilities(sizes[order], p))[:-1]
    rng = np.random.default_rng([seed, block])
    drawn = order[np.searchsorted(limits, rng.random((BLOCK, size)), side="right")]
    return by_class[first[drawn] + (rng.random((BLOCK, size)) * sizes[drawn]).astype(np.int64)]


def draw_subsets(labels: np.ndarray, n_subsets: int, size: int, p: float = 0.5, *, seed: int) -> np.ndarray:
    """Return the first `n_subsets` of the subsets that `seed` stands for: row numbers, repeats included.

    Shapes: labels (n_samples,), each class used at least once; returns (n_subsets, size).
    """
    blocks = range(-(-n_subsets // BLOCK))
    return np.concatenate([draw_block(labels, size, p, b, seed=seed) for b in blocks])[:n_subsets]

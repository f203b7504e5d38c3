"""Locate wrong labels: a first sample that prefers suspicious rows, and leaves none out for certain.

Row i is drawn with probability m1 p_i, p_i = .7 q_i + .3 / n. For two classes q_i is proportional to

    sqrt(n_d) / (rank within its given class d + 10), divided by the sum of 1 / (rank + 10) over the class,

so that both directions of errors are seen; three classes and more are one ranking. The sample is systematic,
class by class and worst first: it is spread over the ranks, and has exactly m1 rows.
"""

import numpy as np

from subsvms.audit._ranking import Ranking

LOCATING_SHARE, FEWEST_LOCATING = 0.4, 6  # of all answers
FOCUS = 0.7  # of the sample by rank; the rest is uniform
FLATTEN = 10  # ranks; the first ten are about as suspicious as each other


def count_pilot(n_answers: int) -> int:
    """Return m1, how many answers locate wrong labels."""
    return min(max(FEWEST_LOCATING, round(LOCATING_SHARE * n_answers)), n_answers)


def draw_pilot(ranking: Ranking, n_pilot: int, rng: np.random.Generator) -> np.ndarray:
    """Return the rows to ask first, in random order: neighbours in rank do not follow each other."""
    order = ranking.order
    strata = np.zeros(len(order), dtype=int) if ranking.several else ranking.given[order]
    by_class = np.argsort(strata, kind="stable")
    chances = include(weigh_ranks(strata), n_pilot)
    return rng.permutation(order[by_class[sample_systematically(chances[by_class], rng)]])


def weigh_ranks(strata: np.ndarray) -> np.ndarray:
    """Return p_i of each row, worst first; `strata` are classes that are ranked on their own."""
    q = np.zeros(len(strata))
    for d in np.unique(strata):
        own = np.flatnonzero(strata == d)
        weight = 1.0 / (np.arange(1, len(own) + 1) + FLATTEN)
        q[own] = np.sqrt(len(own)) * weight / weight.sum()
    return FOCUS * q / q.sum() + (1.0 - FOCUS) / len(q)


def include(p: np.ndarray, n: int) -> np.ndarray:
    """Return the probability that each row is in a sample of n: n p_i, at most one, and n in sum."""
    certain = np.zeros(len(p), dtype=bool)
    while True:
        chances = np.where(certain, 1.0, p * (n - certain.sum()) / max(p[~certain].sum(), 1e-300))
        beyond = (chances >= 1.0) & ~certain
        if not beyond.any():
            return chances
        certain |= beyond


def sample_systematically(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return positions, each with its chance: one random start, then steps of one through their sums."""
    ends = np.cumsum(chances)
    n = round(ends[-1])
    ends *= n / ends[-1]  # rounding errors would lose a row
    return np.minimum(np.searchsorted(ends, rng.random() + np.arange(n), side="right"), len(ends) - 1)

"""Where wrong labels are: a first sample of rows to ask about, and a model of all answers so far.

*The first sample* prefers suspicious rows, and leaves none out for certain. Row i is drawn with probability
m1 p_i, p_i = .7 q_i + .3 / n. For two classes q_i is proportional to

    sqrt(n_d) / (rank within its given class d + 10), divided by the sum of 1 / (rank + 10) over the class,

so that both directions of errors are seen; three classes and more are one ranking. The sample is systematic,
class by class and worst first: it is spread over the ranks, and has exactly m1 rows.

*The model* says which rows are hits, to place rings; no claim rests on it. With f = log(n / rank), e = +1/2
or -1/2 by the given class, and v = 1 if the vote contradicts the label,

    two classes         logit P(hit) = a + b f + s v + c e + d e f
    three and more      logit P(hit) = a + b f + s v + o_given + u_suggested,

with independent normal priors; the mode by Newton's method, and draws from the normal distribution around it
that has the curvature of the posterior there (Laplace).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from subsvms.audit._ranking import Ranking

LOCATING_SHARE, FEWEST_LOCATING = 0.4, 6  # of all answers
FOCUS = 0.7  # of the sample by rank; the rest is uniform
FLATTEN = 10  # ranks; the first ten are about as suspicious as each other
PRIORS = {"a": (-2.0, 1.5), "b": (0.6, 0.5), "s": (0.5, 1.0), "c": (0.0, 1.0), "d": (0.0, 0.3)}  # mean, sd
OFFSET = (0.0, 0.5)  # of a given and of a suggested class
N_DRAWS = 60
NEWTON_STEPS = 100


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


@dataclass(frozen=True, eq=False)
class Features:
    """What the model sees of each row of a table."""

    numbers: np.ndarray  # (n_rows, n_numbers)
    given: np.ndarray  # (n_rows,): class numbers, for the offsets
    suggested: np.ndarray
    n_offsets: int  # classes with offsets; 0 for two classes

    @classmethod
    def of(cls, ranking: Ranking) -> "Features":
        """Return the features of all rows; those of rows that are not ranked are never used."""
        n_rows, n = len(ranking.given), len(ranking.order)
        f = np.zeros(n_rows)
        f[ranking.order] = np.log(n / np.arange(1.0, n + 1.0))
        numbers = [np.ones(n_rows), f, ranking.contradicted]
        n_offsets = len(ranking.classes) if ranking.several else 0
        if not ranking.several:
            e = ranking.given - 0.5
            numbers += [e, e * f]
        return cls(np.column_stack(numbers), ranking.given, ranking.suggested, n_offsets)

    def design(self, rows: np.ndarray) -> np.ndarray:
        """Return the columns of the model for some rows."""
        if not self.n_offsets:
            return self.numbers[rows]
        unit = np.eye(self.n_offsets)
        return np.hstack([self.numbers[rows], unit[self.given[rows]], unit[self.suggested[rows]]])

    def predict(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return P(hit) of some rows; the same as with `design`, which would be large."""
        k, n = self.numbers.shape[1], self.n_offsets
        linear = self.numbers[rows] @ coefficients[:k]
        if n:
            linear += coefficients[k + self.given[rows]] + coefficients[k + n + self.suggested[rows]]
        return expit(linear)

    @property
    def priors(self) -> np.ndarray:
        """Mean and standard deviation of each coefficient: shape (2, n_coefficients)."""
        pairs = list(PRIORS.values())[: self.numbers.shape[1]] + [OFFSET] * (2 * self.n_offsets)
        return np.array(pairs).T


@dataclass(frozen=True, eq=False)
class Posterior:
    """What answers say about the coefficients."""

    mode: np.ndarray  # (n_coefficients,)
    root: np.ndarray  # (n_coefficients, n_coefficients): lower Cholesky factor of the curvature at the mode

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return coefficients drawn at random: shape (N_DRAWS, n_coefficients)."""
        noise = rng.standard_normal((N_DRAWS, len(self.mode)))
        return self.mode + solve_triangular(self.root, noise.T, trans="T", lower=True).T


def fit_hits(design: np.ndarray, hits: np.ndarray, priors: np.ndarray) -> Posterior:
    """Return what answers, with a design of (n_answers, n_coefficients), say about the coefficients."""
    mean, precision = priors[0], 1.0 / priors[1] ** 2

    def log_density(beta):
        linear = design @ beta
        return np.sum(hits * linear - np.logaddexp(0.0, linear)) - np.sum(precision * (beta - mean) ** 2) / 2

    beta = mean.copy()
    for _ in range(NEWTON_STEPS):
        p = expit(design @ beta)
        curvature = (design.T * (p * (1.0 - p))) @ design + np.diag(precision)
        slope = design.T @ (hits - p) - precision * (beta - mean)
        step = np.linalg.solve(curvature, slope)
        if np.abs(step).max() < 1e-9:
            break
        while log_density(beta + step) < log_density(beta) and np.abs(step).max() > 1e-9:
            step /= 2.0  # Newton's step may be too long; the density is concave, so a shorter one will do
        beta = beta + step
    return Posterior(beta, np.linalg.cholesky(curvature))

"""Where wrong labels are: the first rows to ask about, and a model of all answers so far.

*The model* says which rows are hits, to place rings; no claim rests on it. With f = log(n / rank), e = +1/2
or -1/2 by the given class, v = 1 if the vote contradicts the label, and r = 1 if the rule changes it,

    two classes         logit P(hit) = a + b f + s v + u r + c e + d e f
    three and more      logit P(hit) = a + b f + s v + u r + o_given + o_suggested,

with independent normal priors; the mode by Newton's method, and draws from the normal distribution around it
that has the curvature of the posterior there (Laplace).

*The first rows* are those whose P(hit) at the mode is nearest to `TARGET`, one after another, the model
fitted again after each answer; with two classes, of either given class in turn. There is no chance in it:
what is looked for is the border between labels that are mostly wrong and mostly right.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from subsvms.audit._ranking import Ranking

LOCATING_SHARE, FEWEST_LOCATING = 0.15, 6  # of all answers
TARGET = 0.55
MANY_HITS = 0.85  # of at least six answers: then locating ends, in audits of at least `LONG` answers
LONG = 30
PRIORS = {  # mean, standard deviation
    "a": (-2.0, 1.5), "b": (0.6, 0.5), "s": (0.5, 1.0), "u": (0.5, 1.0), "c": (0.0, 1.0), "d": (0.0, 0.3)
}  # fmt: skip
OFFSET = (0.0, 0.5)  # of a given and of a suggested class
N_DRAWS = 40
NEWTON_STEPS = 100


def count_locating(n_answers: int) -> int:
    """Return how many answers locate wrong labels, at most."""
    return max(FEWEST_LOCATING, round(LOCATING_SHARE * n_answers))


def has_located(n_answers: int, hits: list[bool]) -> bool:
    """Return whether the answers so far are enough to go on to rings."""
    early = n_answers >= LONG and len(hits) >= FEWEST_LOCATING and sum(hits) > MANY_HITS * len(hits)
    return early or len(hits) >= count_locating(n_answers)


def pick_uncertain(features: "Features", free: np.ndarray, mode: np.ndarray, turn: int) -> int:
    """Return the row to ask about next, of those that are free, worst first; `turn` counts from 0."""
    if not features.n_offsets:
        own = free[features.given[free] == (turn + 1) % 2]
        free = own if len(own) else free
    distance = np.abs(features.compute_logit(free, mode) - math.log(TARGET / (1.0 - TARGET)))
    return int(free[np.argmin(distance.round(9))])


def sort_by_hits(features: "Features", free: np.ndarray, mode: np.ndarray) -> np.ndarray:
    """Return the free rows, the most probable hits first."""
    return free[np.argsort(-features.compute_logit(free, mode).round(6), kind="stable")]


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
        numbers = [np.ones(n_rows), f, ranking.contradicted, ranking.flagged]
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

    def compute_logit(self, rows: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return the logit of P(hit) of some rows; the same as with `design`, which would be large."""
        k, n = self.numbers.shape[1], self.n_offsets
        logit = self.numbers[rows] @ coefficients[:k]
        if n:
            logit += coefficients[k + self.given[rows]] + coefficients[k + n + self.suggested[rows]]
        return logit

    def sum_hits(self, rows: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """Return P(hit) by draw, summed from the first row on: shape (n_draws, n_rows)."""
        return np.cumsum([expit(self.compute_logit(rows, one)) for one in draws], axis=1)

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

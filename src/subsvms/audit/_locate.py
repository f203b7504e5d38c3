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

*Which ring to ask about next*, if any: no claim rests on this. Candidates are the first N free rows by
P(hit), N = 8 x 1.3^j. The gain of a ring, in wrong labels, is compared with worst first, by draws from the
model (`_locate`). Let p be the share of hits in a ring under one draw, and with KL(p, t) = p log(p / t) + (1
- p) log((1 - p) / (1 - t)) let

    tau = .65 (log(1 / (.3 delta)) + .7) / KL(p, t),

nearly the answers that a pass takes (without .65 for three classes and more, where it takes more). If the
ring passes, tau p of the answers correct a label, N - tau suggestions are followed, and the answers left go
worst first to rows outside. If not, about twelve answers are spent on it before that begins.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit
from scipy.stats import hypergeom

from subsvms.audit._evidence import count_enough
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
SMALLEST, GROWTH = 8, 1.3  # sizes of rings that are compared
GRID = np.linspace(0.0, 1.0, 41)  # shares of hits at which power is computed
LOST = 12  # answers about a ring that fails
EXACT_SAVES = 0.65  # of the answers that a pass takes with a limit that is not exact


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


def list_sizes(n_rows: int) -> np.ndarray:
    """Return the sizes of rings to compare: 8, 10, 13, ... up to the number of rows."""
    steps = max(int(np.log(max(n_rows, 1) / SMALLEST) / np.log(GROWTH)) + 2, 0)
    sizes = (SMALLEST * GROWTH ** np.arange(steps)).astype(int)
    return sizes[sizes <= n_rows]


def chance_to_pass(N: int, n: int, level: float, threshold: float) -> np.ndarray:
    """Return the probability that n answers show enough hits, for each share in `GRID`."""
    h = count_enough(N, n, level, threshold)
    if h > n:
        return np.zeros(len(GRID))
    return hypergeom.sf(h - 1, N, np.round(GRID * N).astype(int), n)


def choose_size(
    found: np.ndarray, n_left: int, delta: float, threshold: float, several: bool
) -> tuple[int, np.ndarray] | None:
    """Return the size of the ring that gains most, and its shares of hits by draw; None if none gains."""
    # found: (n_draws, n_rows), P(hit) of each free row by draw, summed from the most probable row on.
    n_rows = found.shape[1]
    best, most = None, 0.0
    base = np.mean(found[:, min(n_left, n_rows) - 1])
    for N in list_sizes(n_rows).tolist():
        p = found[:, N - 1] / N
        gain = round(np.mean(estimate_gain(found, N, n_left, delta, threshold, several)) - base, 9)
        if gain > most:
            best, most = (N, p), gain
    return best


def estimate_gain(
    found: np.ndarray, N: int, n_left: int, delta: float, threshold: float, several: bool
) -> np.ndarray:
    """Return how many labels are corrected with a ring of N rows, by draw."""
    n_rows, p, n = found.shape[1], found[:, N - 1] / N, min(n_left, N)
    power = np.interp(p, GRID, chance_to_pass(N, n, delta / 2.0, threshold))
    lost = min(n, LOST)
    tau = (math.log(1.0 / (0.3 * delta)) + 0.7) / np.maximum(diverge(p, threshold), 1e-9)
    tau = np.clip(tau, 5, n) if several else np.maximum(EXACT_SAVES * np.clip(tau, 5, n), 5)
    tau = np.where(p > threshold, tau, lost)
    after = np.minimum(N + (n_left - tau).astype(int), n_rows) - 1
    outside = np.take_along_axis(found, after[:, None], axis=1)[:, 0] - found[:, N - 1]
    passed = tau * p + (N - tau) * (2.0 * p - 1.0) + outside
    inside = found[:, max(min(n_left - lost, n_rows), 1) - 1]
    failed = lost * p + inside * (1.0 - lost / max(N, n_left))
    return power * passed + (1.0 - power) * failed


def diverge(p: np.ndarray, threshold: float) -> np.ndarray:
    """Return KL(p, threshold), 0 below the threshold."""
    p = np.clip(p, 1e-3, 1.0 - 1e-3)
    distance = p * np.log(p / threshold) + (1.0 - p) * np.log((1.0 - p) / (1.0 - threshold))
    return np.where(p > threshold, distance, 0.0)

"""One explanation of the labels of three or more classes: a softmax, and a kind of noise.

For a row with out-of-bag mean values u, of which u_w is the largest,

    P(true c | u) = q_c = pi_c l_c / sum_d pi_d l_d,    l_c = floor + (1 - floor) exp(a_c (u_c - u_w)),

a softmax with bounded lift: floor = 1 / (LIFT (K - 1)), so that unanimous votes leave the K - 1 other
classes together a share of about 1 / LIFT, however many they are. Labels are noisy by class: P(given d | u) =
(q T)_d. Classes overlap by nature, some more than others: each has a slope a_c of its own, so that overlap
need not pass for noise.

The prior: a rate has density (1 - e)^(`FEW` - 1), as that of two classes; directions follow a Dirichlet
distribution, which is sparse; log a_c is normal around the log of a slope that is given, and log pi_c around
the log of the class's share of the given labels, with the standard deviations in `SPREAD`.

An explanation is fitted by variational Bayes (Attias, UAI 1999): with responsibilities r_c proportional to
q_c exp(E log T[c, given]), the rates have beta, the directions Dirichlet posteriors; slopes and weights
climb. That also approximates its evidence, which charges it for every number that it leaves free.

Where people said that a row is of class v, its r_c are also multiplied by their answer's probability, (1 -
`SLIP`) [c = v] + SLIP / K. Rows may be fitted without those that people looked at, so an answer is a term of
its own: r with it, less r without it.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from subsvms.correction._noise_curve import FEW, LOG_LIFT, SLIP, Answers

IMPOSSIBLE = 1e-12  # a probability; what rests on a smaller one rests on rounding errors
LIFT = float(np.exp(np.exp(LOG_LIFT[0])))  # in odds, of unanimous votes: as usual with two classes
# Standard deviations of log slopes, and of log weights: with 0.5, weights can hide the noise of a class.
SPREAD = np.array([[0.5], [0.3]])
DIRECTIONS = 0.1  # of the Dirichlet prior: small, so that few directions are expected

N_STEPS, STEP = 100, 0.7  # at most; STEP damps those of slopes and weights
SETTLED = 0.01  # change of the bound, in nats, at which an explanation is fitted


class Softmax(NamedTuple):
    """P(true c | u)."""

    slopes: np.ndarray  # (n_classes,)
    weights: np.ndarray  # (n_classes,), which add up to one
    floor: float  # of the lifts

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of each class, from mean values of shape (n_rows, n_classes)."""
        behind = values - values.max(axis=1, keepdims=True)
        joint = self.weights * lift(behind, self.slopes, self.floor)[0]
        return joint / joint.sum(axis=1, keepdims=True)


class Kind(NamedTuple):
    """A kind of noise."""

    group: np.ndarray  # (n_classes,), number of each class's rate; -1 if no label of the class is wrong
    spread: np.ndarray | None  # (n_classes, n_classes), where wrong labels go; None if that is to be learned
    cost: float = 0.0  # logarithm of how many such kinds there are
    pair: tuple[int, ...] = ()  # classes that must be apart


class Noise(NamedTuple):
    """What is known about the noise, for a kind."""

    log_matrix: np.ndarray  # (n_classes, n_classes), expected log T
    divergence: float  # of posterior from prior
    counts: np.ndarray  # (n_classes, 2), of the beta posteriors: wrong and right
    spread: np.ndarray  # (n_classes, n_classes)

    @property
    def rates(self) -> np.ndarray:
        return self.counts[:, 0] / self.counts.sum(axis=1)

    @property
    def matrix(self) -> np.ndarray:
        """T, P(given column | true row)."""
        return np.diag(1.0 - self.rates) + self.rates[:, None] * self.spread


class Explanation(NamedTuple):
    """One way in which the labels may have come about."""

    softmax: Softmax
    matrix: np.ndarray  # (n_classes, n_classes), T
    counts: np.ndarray  # (n_classes, 2), of beta distributions as wide as what is known about the rates
    pooled: np.ndarray  # (2,), the same for the share of wrong labels in the table
    shares: np.ndarray  # (n_classes,), of the true classes
    evidence: float  # logarithm


def explain(
    values: np.ndarray, given: np.ndarray, slope: float, kind: Kind, answers: Answers | None = None
) -> Explanation:
    """Fit a kind of noise to mean values (n_rows, n_classes) and given labels."""
    n_classes, floor = values.shape[1], find_floor(values.shape[1])
    behind = values - values.max(axis=1, keepdims=True)
    counts = np.bincount(given, minlength=n_classes).astype(float)
    starts = np.cumsum(counts).astype(int) - counts.astype(int)
    start = np.stack([np.full(n_classes, np.log(slope)), np.log(counts / counts.sum())])
    point = start.copy()  # log slopes and log weights
    lifts, by_slope = lift(behind, np.exp(point[0]), floor)
    won = np.eye(n_classes)[np.argmax(lifts * np.exp(point[1]), axis=1)]
    noise = weigh_noise(np.add.reduceat(won, starts).T, kind)
    bound = -np.inf
    for _ in range(N_STEPS):
        q = lifts * np.exp(point[1])
        q /= q.sum(axis=1, keepdims=True)
        r = q * np.exp(noise.log_matrix).T[given]
        total = np.maximum(r.sum(axis=1, keepdims=True), IMPOSSIBLE**2)
        r /= total
        before = bound
        bound = float(np.log(total).sum() - np.sum(((point - start) / SPREAD) ** 2) / 2.0)
        bound -= noise.divergence + kind.cost
        doubt = q * (1.0 - q)
        curvature = np.stack([(doubt * by_slope**2).sum(axis=0), doubt.sum(axis=0)]) + 1.0 / SPREAD**2
        expected = np.add.reduceat(r, starts).T
        rise = np.stack([((r - q) * by_slope).sum(axis=0), (r - q).sum(axis=0)])
        if answers is not None:
            terms = add_answers(answers, point, floor, noise)
            bound, rise, curvature = bound + terms.fit, rise + terms.rise, curvature + terms.curvature
            expected = np.maximum(expected + terms.counts, 0.0)
        noise = weigh_noise(expected, kind)
        if abs(bound - before) < SETTLED:
            break
        point += STEP * np.clip((rise - (point - start) / SPREAD**2) / curvature, -SPREAD, SPREAD)
        lifts, by_slope = lift(behind, np.exp(point[0]), floor)
    evidence = bound - float(np.log(curvature * SPREAD**2).sum()) / 2.0  # as by Laplace
    weights = np.exp(point[1])
    softmax = Softmax(np.exp(point[0]), weights / weights.sum(), floor)
    shares, loose = q.mean(axis=0), loosen(noise, kind, q, given)
    return Explanation(softmax, noise.matrix, loose, pool_rates(loose, shares, kind), shares, evidence)


class Terms(NamedTuple):
    """What answers add while an explanation is fitted."""

    fit: float  # to the log likelihood
    counts: np.ndarray  # (n_classes, n_classes), to the expected counts of (true, given)
    rise: np.ndarray  # (2, n_classes), to the derivative by log slopes and log weights
    curvature: np.ndarray  # (2, n_classes)


def add_answers(answers: Answers, point: np.ndarray, floor: float, noise: Noise) -> Terms:
    """Return what people's answers add: the probability of the answer, given votes and label."""
    n_classes = answers.values.shape[1]
    behind = answers.values - answers.values.max(axis=1, keepdims=True)
    lifts, by_slope = lift(behind, np.exp(point[0]), floor)
    q = lifts * np.exp(point[1])
    q /= q.sum(axis=1, keepdims=True)
    label_or_none = np.vstack([np.exp(noise.log_matrix).T, np.ones(n_classes)])
    before = q * label_or_none[answers.given]
    after = before * ((1.0 - SLIP) * np.eye(n_classes)[answers.verified] + SLIP / n_classes)
    totals = [np.maximum(part.sum(axis=1, keepdims=True), IMPOSSIBLE**2) for part in (before, after)]
    gain = after / totals[1] - before / totals[0]
    unlabelled = (answers.given < 0)[:, None]  # elsewhere the row itself has all the curvature already
    doubt = np.where(unlabelled, q * (1.0 - q), 0.0)
    return Terms(
        float(np.log(totals[1] / totals[0]).sum()),
        gain.T @ np.eye(n_classes + 1)[answers.given][:, :n_classes],
        np.stack([(gain * by_slope).sum(axis=0), gain.sum(axis=0)]),
        np.stack([(doubt * by_slope**2).sum(axis=0), doubt.sum(axis=0)]),
    )


def find_floor(n_classes: int) -> float:
    """Return the least lift."""
    return 1.0 / (LIFT * (n_classes - 1))


def lift(behind: np.ndarray, slopes: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return l, and the derivative of log l by log slope; `behind` is u_c - u_w."""
    steep = (1.0 - floor) * np.exp(slopes * behind)
    return floor + steep, slopes * behind * steep / (floor + steep)


def weigh_noise(counts: np.ndarray, kind: Kind) -> Noise:
    """Return what expected counts of (true, given) say about the noise."""
    n_classes = len(counts)
    other = ~np.eye(n_classes, dtype=bool)
    noisy = np.flatnonzero(kind.group >= 0)
    of_rate = kind.group[noisy]
    wrong, right = np.where(other, counts, 0.0).sum(axis=1), np.diag(counts)
    log_matrix, beta = np.where(other, np.log(IMPOSSIBLE), 0.0), np.tile([0.0, 1.0], (n_classes, 1))
    if len(noisy) == 0:
        return Noise(log_matrix, 0.0, beta, np.zeros_like(counts))
    prior = np.array([1.0, FEW])
    rates = prior + np.stack([np.bincount(of_rate, weights=part[noisy]) for part in (wrong, right)], axis=1)
    divergence = float(diverge(rates, np.broadcast_to(prior, rates.shape)).sum())
    spread = kind.spread
    if spread is None:
        ways = DIRECTIONS + counts[other].reshape(n_classes, n_classes - 1)
        divergence += float(diverge(ways, np.full_like(ways, DIRECTIONS)).sum())
        spread, log_spread = np.zeros_like(counts), np.zeros_like(counts)
        spread[other] = (ways / ways.sum(axis=1, keepdims=True)).ravel()
        log_spread[other] = expect_logs(ways).ravel()
    else:
        log_spread = np.log(np.maximum(spread, IMPOSSIBLE))
    log_rates = expect_logs(rates)[of_rate]
    log_matrix[noisy] = np.where(other[noisy], log_rates[:, :1] + log_spread[noisy], log_rates[:, 1:])
    beta[noisy] = rates[of_rate]
    return Noise(log_matrix, divergence, beta, spread)


def expect_logs(counts: np.ndarray) -> np.ndarray:
    """Return the expected logs of the shares under Dirichlet distributions, one in each row."""
    return digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))


def diverge(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the divergence of Kullback and Leibler of Dirichlet distributions from others, row by row."""
    scale = gammaln(counts.sum(axis=1)) - gammaln(prior.sum(axis=1))
    scale -= (gammaln(counts) - gammaln(prior)).sum(axis=1)
    return scale + ((counts - prior) * expect_logs(counts)).sum(axis=1)


def compute_posterior(q: np.ndarray, matrix: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return P(true c | votes, label g) = q_c T[c, g] / sum_d q_d T[d, g], of the shape of q."""
    known = given >= 0
    sure = np.eye(len(matrix))[np.maximum(given, 0)]
    joint = np.where(known[:, None], q * matrix[:, np.maximum(given, 0)].T, q)
    total = joint.sum(axis=1, keepdims=True)
    possible = total > IMPOSSIBLE  # elsewhere votes and label exclude each other
    return np.where(possible, joint / np.where(possible, total, 1.0), sure)


def loosen(noise: Noise, kind: Kind, q: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the beta counts of rates, reduced to what the labels say without knowing the true classes.

    The responsibilities are taken for known while rates are fitted, so the posteriors are too narrow. Those
    returned have the same means, and the variance that follows from Fisher's information, sum (d log P(given)
    / d rate)^2.
    """
    n_classes, matrix = q.shape[1], noise.matrix
    score = q * (noise.spread - np.eye(n_classes)).T[given]
    score /= np.maximum((q * matrix.T[given]).sum(axis=1, keepdims=True), IMPOSSIBLE)
    counts = noise.counts.copy()
    for number in np.unique(kind.group[kind.group >= 0]):
        members = kind.group == number
        wrong, right = counts[members][0]
        mean = wrong / (wrong + right)
        known = mean * (1.0 - mean) * np.sum(score[:, members].sum(axis=1) ** 2) - 1.0
        counts[members] *= np.clip(known, 1.0 + FEW, wrong + right) / (wrong + right)
    return counts


def pool_rates(counts: np.ndarray, shares: np.ndarray, kind: Kind) -> np.ndarray:
    """Return beta counts of the share of wrong labels in the table; its variance adds those of the rates."""
    total = counts.sum(axis=1)
    rates = counts[:, 0] / total
    mean = float(shares @ rates)
    if mean <= 0.0:
        return np.array([0.0, 1.0])
    noisy = kind.group >= 0
    deviation = shares * np.sqrt(rates * (1.0 - rates) / (total + 1.0))
    variance = np.sum(np.bincount(kind.group[noisy], weights=deviation[noisy]) ** 2)
    known = max(mean * (1.0 - mean) / variance - 1.0, 1.0)
    return known * np.array([mean, 1.0 - mean])

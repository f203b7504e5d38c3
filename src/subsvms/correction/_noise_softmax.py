"""One explanation of the labels of three or more classes: a softmax, and a kind of noise (`_noise_kinds`).

For a row with out-of-bag mean values u, of which u_w is the largest,

    P(true c | u) = q_c = pi_c l_c / sum_d pi_d l_d,    l_c = floor + (1 - floor) exp(a_c (u_c - u_w)),

a softmax with bounded lift: floor = 1 / (LIFT (K - 1)), so that unanimous votes leave the K - 1 other
classes together a share of about 1 / LIFT, however many they are. Classes overlap by nature, some more than
others: each has a slope a_c of its own, so that overlap need not pass for noise.

The prior: log a_c is normal around the log of a slope that is given, and log pi_c around the log of the
class's share of the given labels, with the standard deviations in `SPREAD`. Where labels of one class are
given as one other, the given shares are not those of the true classes: then log pi_c is normal around the log
of the mean responsibility of class c, which is found anew at every step, and its standard deviation is `WIDE`
for the classes from which labels go away.

An explanation is fitted by variational Bayes (Attias, UAI 1999): with responsibilities r_c proportional to
q_c exp(E log P(given | true c)), the numbers of the noise have beta and Dirichlet posteriors; slopes and
weights climb. That also approximates its evidence, which charges it for every number that it leaves free.

Where people said that a row is of class v, its r_c are also multiplied by their answer's probability, (1 -
`SLIP`) [c = v] + SLIP / K. Rows may be fitted without those that people looked at, so an answer is a term of
its own: r with it, less r without it.
"""

from typing import Any, NamedTuple

import numpy as np

from subsvms.correction._noise_curve import LOG_LIFT, SLIP, Answers
from subsvms.correction._noise_kinds import IMPOSSIBLE, Blur, Kind, Noise

LIFT = float(np.exp(np.exp(LOG_LIFT[0])))  # in odds, of unanimous votes: as usual with two classes
# Standard deviations of log slopes, and of log weights: with 0.5, weights can hide the noise of a class,
SPREAD = np.array([[0.5], [0.3]])
WIDE = 1.0  # but the border of a class that lost labels has to move into the gap that they left
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
        joint = self.weights * (self.floor + (1.0 - self.floor) * np.exp(self.slopes * behind))
        return joint / joint.sum(axis=1, keepdims=True)


class Explanation(NamedTuple):
    """One way in which the labels may have come about."""

    softmax: Softmax
    noise: Noise
    counts: np.ndarray  # (n_classes, 2), of beta distributions as wide as what is known about the rates
    pooled: np.ndarray  # (2,), the same for the share of wrong labels in the table
    matrix: np.ndarray  # (n_classes, n_classes), T, the mean over the rows
    shares: np.ndarray  # (n_classes,), of the true classes
    evidence: float  # logarithm

    def judge(self, values: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the probability of each true class; `given` is -1 for a row without a label."""
        behind = values - values.max(axis=1, keepdims=True)
        return weigh_classes(self.softmax.shares(values), self.noise.allow(behind, given), given)


class Sums(NamedTuple):
    """What rows add up to, at a point of log slopes and log weights."""

    fit: float  # log likelihood
    rise: np.ndarray  # (2, n_classes): its derivative by log slopes and log weights
    curvature: np.ndarray  # (2, n_classes)
    counts: np.ndarray  # (n_classes, n_classes): expected, of (true, given)
    sharp: float  # labels that are expected to come from a sharp look

    def plus(self, other: "Sums", sign: float = 1.0) -> "Sums":
        """Return the sums with others added, or taken away."""
        pairs: Any = zip(self, other, strict=True)
        return Sums(*(mine + sign * its for mine, its in pairs))


class Rows(NamedTuple):
    """Rows that are fitted."""

    behind: np.ndarray  # (n_rows, n_classes): u_c - u_w
    given: np.ndarray  # (n_rows,); -1 for a row without a label
    verified: np.ndarray  # (n_rows,); -1 for a row without an answer
    own: np.ndarray  # (n_rows,): probability of the label if it came from a blurred look

    @classmethod
    def of(cls, kind: Kind | Blur, values: np.ndarray, given: np.ndarray, verified: np.ndarray) -> "Rows":
        """Return rows of these mean values (n_rows, n_classes), and what a kind of noise sees in them."""
        given, behind = given.astype(np.int64), values - values.max(axis=1, keepdims=True)
        own = np.where(given >= 0, kind.look(behind)[np.arange(len(given)), given], 0.0)
        return cls(behind, given, verified, own)

    def add_up(self, point: np.ndarray, noise: Noise) -> Sums:
        """Return what the rows say at a point."""
        from subsvms.correction._noise_pass import pass_rows  # here: importing numba takes a while

        slopes, weights = np.exp(point)
        floor, powers = find_floor(len(slopes)), np.exp(slopes * self.behind)
        found = pass_rows(
            self.behind, powers, self.given, self.verified, self.own, slopes, weights, floor,
            np.vstack([noise.expected.T, np.ones(len(slopes))]), noise.blurred, SLIP,
        )  # fmt: skip
        return Sums(*found)._replace(counts=found[3].T)


def explain(
    values: np.ndarray, given: np.ndarray, slope: float, kind: Kind | Blur, answers: Answers | None = None
) -> Explanation:
    """Fit a kind of noise to mean values (n_rows, n_classes) and given labels."""
    n_classes, rows = values.shape[1], Rows.of(kind, values, given, np.full(len(given), -1))
    shares = np.bincount(given, minlength=n_classes) / len(given)
    start = np.stack([np.full(n_classes, np.log(slope)), np.log(shares)])
    spread = np.tile(SPREAD, (1, n_classes))
    spread[1, kind.sources] = WIDE
    point = start.copy()  # log slopes and log weights
    won = make_softmax(point).shares(values).argmax(axis=1)
    noise: Noise = kind.begin(count_pairs(won, given, n_classes))
    bound = -np.inf
    for _ in range(N_STEPS):
        sums = rows.add_up(point, noise)
        if len(kind.sources):
            start[1] = np.log((sums.counts.sum(axis=1) + 0.5) / (len(given) + 0.5 * n_classes))
        if answers is not None:
            sums = sums.plus(add_answers(answers, point, kind, noise))
        before = bound
        bound = sums.fit - float(np.sum(((point - start) / spread) ** 2)) / 2.0
        bound += kind.log_prior - noise.divergence
        curvature = sums.curvature + 1.0 / spread**2
        noise = noise.weigh(np.maximum(sums.counts, 0.0), max(sums.sharp, 0.0))
        if abs(bound - before) < SETTLED:
            break
        point += STEP * np.clip((sums.rise - (point - start) / spread**2) / curvature, -spread, spread)
    evidence = bound - float(np.log(curvature * spread**2).sum()) / 2.0  # as by Laplace
    softmax = make_softmax(point)
    q = softmax.shares(values)
    measured = noise.measure(given, q, kind.look(rows.behind))
    return Explanation(softmax, noise, *measured, q.mean(axis=0), evidence)


def add_answers(answers: Answers, point: np.ndarray, kind: Kind | Blur, noise: Noise) -> Sums:
    """Return what people's answers add: the probability of the answer, given votes and label."""
    nobody = np.full(len(answers.given), -1)
    both = (Rows.of(kind, *answers[:2], said) for said in (answers.verified, nobody))
    told, untold = (rows.add_up(point, noise) for rows in both)
    unlabelled = answers.given < 0  # elsewhere the row itself has all the curvature already
    alone = Rows.of(kind, answers.values[unlabelled], answers.given[unlabelled], nobody[unlabelled])
    return told.plus(untold, -1.0)._replace(curvature=alone.add_up(point, noise).curvature)


def make_softmax(point: np.ndarray) -> Softmax:
    """Return the softmax of log slopes and log weights."""
    slopes, weights = np.exp(point)
    return Softmax(slopes, weights / weights.sum(), find_floor(len(slopes)))


def count_pairs(true: np.ndarray, given: np.ndarray, n_classes: int) -> np.ndarray:
    """Return how many rows have each (true, given); shape (n_classes, n_classes)."""
    return np.bincount(true * n_classes + given, minlength=n_classes**2).reshape(n_classes, n_classes)


def find_floor(n_classes: int) -> float:
    return 1.0 / (LIFT * (n_classes - 1))


def compute_posterior(q: np.ndarray, matrix: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return P(true c | votes, label g) = q_c T[c, g] / sum_d q_d T[d, g], of the shape of q."""
    return weigh_classes(q, matrix.T[given], given)


def weigh_classes(q: np.ndarray, allowed: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return P(true c | votes, label), from the probability of the label for each true class."""
    joint = np.where((given >= 0)[:, None], q * allowed, q)
    total = joint.sum(axis=1, keepdims=True)
    possible = total > IMPOSSIBLE  # elsewhere votes and label exclude each other
    sure = np.eye(q.shape[1])[np.maximum(given, 0)]
    return np.where(possible, joint / np.where(possible, total, 1.0), sure)

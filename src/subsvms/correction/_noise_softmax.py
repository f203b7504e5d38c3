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

from typing import NamedTuple

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
        joint = self.weights * lift(behind, self.slopes, self.floor)[0]
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


def explain(
    values: np.ndarray, given: np.ndarray, slope: float, kind: Kind | Blur, answers: Answers | None = None
) -> Explanation:
    """Fit a kind of noise to mean values (n_rows, n_classes) and given labels."""
    n_classes, floor = values.shape[1], find_floor(values.shape[1])
    behind = values - values.max(axis=1, keepdims=True)
    seen = kind.look(behind, given)
    shares = np.bincount(given, minlength=n_classes) / len(given)
    start = np.stack([np.full(n_classes, np.log(slope)), np.log(shares)])
    spread = np.tile(SPREAD, (1, n_classes))
    spread[1, kind.sources] = WIDE
    point = start.copy()  # log slopes and log weights
    lifts, by_slope = lift(behind, np.exp(point[0]), floor)
    noise: Noise = kind.begin(seen, np.eye(n_classes)[np.argmax(lifts * np.exp(point[1]), axis=1)])
    bound = -np.inf
    for _ in range(N_STEPS):
        q = lifts * np.exp(point[1])
        q /= add_classes(q)
        r = q * noise.expect(seen)
        total = np.maximum(add_classes(r), IMPOSSIBLE**2)
        r /= total
        if len(kind.sources):
            start[1] = np.log((add_rows(r) + 0.5) / (len(r) + 0.5 * n_classes))
        before = bound
        bound = float(np.log(total).sum() - np.sum(((point - start) / spread) ** 2) / 2.0)
        bound += kind.log_prior - noise.divergence
        doubt = q * (1.0 - q)
        curvature = np.stack([add_rows(doubt * by_slope * by_slope), add_rows(doubt)]) + 1.0 / spread**2
        rise = np.stack([add_rows((r - q) * by_slope), add_rows(r - q)])
        counts = noise.count_labels(seen, r)
        if answers is not None:
            terms = add_answers(answers, point, floor, kind, noise)
            bound, rise, curvature = bound + terms.fit, rise + terms.rise, curvature + terms.curvature
            counts = np.maximum(counts + terms.counts, 0.0)
        noise = noise.weigh(counts)
        if abs(bound - before) < SETTLED:
            break
        point += STEP * np.clip((rise - (point - start) / spread**2) / curvature, -spread, spread)
        lifts, by_slope = lift(behind, np.exp(point[0]), floor)
    evidence = bound - float(np.log(curvature * spread**2).sum()) / 2.0  # as by Laplace
    weights = np.exp(point[1])
    softmax = Softmax(np.exp(point[0]), weights / weights.sum(), floor)
    return Explanation(softmax, noise, *noise.measure(seen, q), q.mean(axis=0), evidence)


class Terms(NamedTuple):
    """What answers add while an explanation is fitted."""

    fit: float  # to the log likelihood
    counts: np.ndarray  # to what `count_labels` returns
    rise: np.ndarray  # (2, n_classes), to the derivative by log slopes and log weights
    curvature: np.ndarray  # (2, n_classes)


def add_answers(answers: Answers, point: np.ndarray, floor: float, kind: Kind | Blur, noise: Noise) -> Terms:
    """Return what people's answers add: the probability of the answer, given votes and label."""
    n_classes = answers.values.shape[1]
    behind = answers.values - answers.values.max(axis=1, keepdims=True)
    lifts, by_slope = lift(behind, np.exp(point[0]), floor)
    q = lifts * np.exp(point[1])
    q /= q.sum(axis=1, keepdims=True)
    seen = kind.look(behind, answers.given)
    before = q * noise.expect(seen)
    after = before * ((1.0 - SLIP) * np.eye(n_classes)[answers.verified] + SLIP / n_classes)
    totals = [np.maximum(part.sum(axis=1, keepdims=True), IMPOSSIBLE**2) for part in (before, after)]
    gain = after / totals[1] - before / totals[0]
    unlabelled = (answers.given < 0)[:, None]  # elsewhere the row itself has all the curvature already
    doubt = np.where(unlabelled, q * (1.0 - q), 0.0)
    return Terms(
        float(np.log(totals[1] / totals[0]).sum()), noise.count_labels(seen, gain),
        np.stack([(gain * by_slope).sum(axis=0), gain.sum(axis=0)]),
        np.stack([(doubt * by_slope**2).sum(axis=0), doubt.sum(axis=0)]),
    )  # fmt: skip


def add_rows(amounts: np.ndarray) -> np.ndarray:
    """Return the sums over rows, five times as fast as NumPy's own where rows are short."""
    return np.einsum("ij->j", amounts)


def add_classes(amounts: np.ndarray) -> np.ndarray:
    """Return the sum of each row, of shape (n_rows, 1)."""
    return np.einsum("ij->i", amounts)[:, None]


def find_floor(n_classes: int) -> float:
    """Return the least lift."""
    return 1.0 / (LIFT * (n_classes - 1))


def lift(behind: np.ndarray, slopes: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return l, and the derivative of log l by log slope; `behind` is u_c - u_w."""
    steep = (1.0 - floor) * np.exp(slopes * behind)
    return floor + steep, slopes * behind * steep / (floor + steep)


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

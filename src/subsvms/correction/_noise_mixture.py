"""The noise of three or more classes, averaged over kinds of noise.

These kinds are considered, all equally likely beforehand:

- none;
- *shared*: labels of all classes are wrong at one rate, and every other class is equally likely;
- *own*: each class has its own rate, and every other class is equally likely;
- *directed*: one rate, but the wrong labels of each class prefer some of the others;
- *one way*: some labels of one class are given as one other class, and no other label is wrong. Overlap of
  two classes looks like this, too, so it is considered only where both are apart: the rows that they win are
  on average `SURE_ENOUGH` of their class.

Each kind, with each of `SLOPES`, is an explanation of the labels (`_noise_softmax`). Whatever is asked is
averaged over the explanations, each weighed by its evidence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from subsvms.correction._noise_curve import LEVEL, Answers, widen
from subsvms.correction._noise_softmax import LIFT, Explanation, Kind, Softmax, compute_posterior, explain

SLOPES = (4.0, 8.0, 16.0)  # of the softmax
SURE_ENOUGH = 0.85  # below, overlapping classes pass for noise: see benchmarks/several.py
LARGEST_TABLE, FEWEST_FITTED = 100_000, 10  # values that are fitted, or so many rows for each class
NEGLIGIBLE_EXPLANATION = 1e-3  # probability of an explanation that is left out


@dataclass(frozen=True, eq=False)
class Mixture:
    """What is known about the noise of several classes, averaged over the explanations."""

    explanations: tuple[Explanation, ...]
    weight: np.ndarray  # (n_explanations,): how probable each is

    def average(self, terms: Iterable[np.ndarray]) -> np.ndarray:
        """Return the mean of one term for each explanation."""
        first, *others = (weight * term for weight, term in zip(self.weight, terms, strict=True))
        return sum(others, first)

    def expect(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of each true class, whatever label is given."""
        return self.average(one.softmax.shares(values) for one in self.explanations)

    def judge(self, values: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the probability of each true class; `given` is -1 for a row without a label."""
        return self.average(
            compute_posterior(one.softmax.shares(values), one.matrix, given) for one in self.explanations
        )

    @property
    def matrix(self) -> np.ndarray:
        """T, the mean over the explanations."""
        return self.average(one.matrix for one in self.explanations)

    @property
    def shares(self) -> np.ndarray:
        return self.average(one.shares for one in self.explanations)

    @property
    def rate_interval(self) -> np.ndarray:
        """Limits of each class's rate; shape (n_classes, 2)."""
        n_classes = len(self.explanations[0].shares)
        return np.array([self._limit([one.counts[c] for one in self.explanations]) for c in range(n_classes)])

    @property
    def error_rate_interval(self) -> np.ndarray:
        """Limits of the share of wrong labels."""
        return np.array(self._limit([one.pooled for one in self.explanations]))

    def _limit(self, counts):
        """Return the limits of a rate, from its beta counts in each explanation."""
        low, high = find_limits(np.array(counts), self.weight)
        return low, min(high + 1.0 / LIFT, 1.0)  # what the softmax leaves to other classes may be noise


def integrate_kinds(values: np.ndarray, given: np.ndarray, answers: Answers | None = None) -> Mixture:
    """Return what labels and votes, of mean values (n_rows, n_classes), say about the noise."""
    n_classes = values.shape[1]
    kept = thin(values, given)
    whole, fitted = (np.bincount(labels, minlength=n_classes) for labels in (given, given[kept]))
    values, given = values[kept], given[kept]
    even = (1.0 - np.eye(n_classes)) / (n_classes - 1)
    no_rate, one_rate, own_rates = np.full(n_classes, -1), np.zeros(n_classes, int), np.arange(n_classes)
    kinds = [Kind(one_rate, even), Kind(own_rates, even)]
    if n_classes > 2:
        kinds.append(Kind(one_rate, None))
    found = []
    for slope in SLOPES:
        none = explain(values, given, slope, Kind(no_rate, even), answers)
        found.append(none)
        found += [explain(values, given, slope, kind, answers) for kind in kinds]
        way = find_way(none.softmax.shares(values), given)
        if way is not None:
            explanation = explain(values, given, slope, way, answers)
            if are_apart(explanation.softmax.shares(values), way.pair):
                found.append(explanation)
    evidence = np.array([explanation.evidence for explanation in found])
    assert np.isfinite(evidence).all()
    weight = np.exp(evidence - evidence.max())
    likely = np.flatnonzero(weight > NEGLIGIBLE_EXPLANATION * weight.sum())
    factor = (whole / whole.sum()) / (fitted / fitted.sum())
    mixture = tuple(reweigh(found[i], factor) for i in likely)
    return Mixture(mixture, weight[likely] / weight[likely].sum())


def find_way(q: np.ndarray, given: np.ndarray) -> Kind | None:
    """Return the kind in which labels of one class are given as one other, the likeliest such pair, if any.

    For true class c and label d the likelihood gains at least, at the best of some rates e,
    sum log(1 + e q_c / q_d) over the rows given d, plus n_c log(1 - e).
    """
    n_classes = q.shape[1]
    rates = np.array([0.03, 0.1, 0.2, 0.3, 0.5, 0.7])  # near enough: the pair is what matters
    n_rows = np.bincount(given, minlength=n_classes)
    gain = np.tile((n_rows[:, None] * np.log1p(-rates))[:, None], (1, n_classes, 1))
    for d in range(n_classes):
        ratio = q[given == d] / q[given == d, d][:, None]
        for number, rate in enumerate(rates):
            gain[:, d, number] += np.log1p(rate * ratio).sum(axis=0)
        gain[d, d] = -np.inf
    best = gain.max(axis=2)
    if best.max() <= 0.0:
        return None
    c, d = divmod(int(np.argmax(best)), n_classes)
    group, spread = np.full(n_classes, -1), np.zeros((n_classes, n_classes))
    group[c], spread[c, d] = 0, 1.0
    return Kind(group, spread, float(np.log(n_classes * (n_classes - 1))), (c, d))


def thin(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return rows to fit, sorted by their labels: evenly spaced ones of each class, if there are too many.

    Within a class rows are ordered by their values, so that the order of the table does not matter.
    """
    n_rows, n_classes = values.shape
    order = np.lexsort((values[np.arange(n_rows), given], given))
    most = max(LARGEST_TABLE // n_classes, FEWEST_FITTED * n_classes)
    if n_rows <= most:
        return order
    place = np.arange(n_rows) - np.searchsorted(given[order], given[order])  # within the class
    counts = np.bincount(given)[given[order]]
    quota = np.maximum(counts * most // n_rows, np.minimum(counts, FEWEST_FITTED))
    before, after = ((step * quota + counts // 2) // counts for step in (place, place + 1))  # middles
    return order[after > before]


def are_apart(q: np.ndarray, classes: tuple[int, ...]) -> bool:
    """Return whether the rows that each of these classes wins are on average sure of it."""
    winner, surest = q.argmax(axis=1), q.max(axis=1)
    return all(surest[winner == c].sum() >= SURE_ENOUGH * max(np.sum(winner == c), 1) for c in classes)


def reweigh(explanation: Explanation, factor: np.ndarray) -> Explanation:
    """Return an explanation of the table from one of fitted rows; classes occur `factor` times as often."""
    softmax = explanation.softmax
    weights, shares = (part * factor / (part @ factor) for part in (softmax.weights, explanation.shares))
    return explanation._replace(softmax=softmax._replace(weights=weights), shares=shares)


def find_limits(counts: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the limits of a rate that has one of several beta distributions; counts (0, 1) mean zero."""
    points = np.linspace(0.0, 1.0, 2001)
    limits = []
    for of_prior, level in ((1.0, 1.0 - LEVEL), (0.0, LEVEL)):  # its one wrong label is no evidence of noise
        reached = np.zeros(len(points))
        for (wrong, right), share in zip(counts, weight, strict=True):
            reached += share * (betainc(wrong - of_prior, right, points) if wrong > of_prior else 1.0)
        place = int(np.searchsorted(reached, level))
        limits.append(float(points[min(place, len(points) - 1)]))
    low, high = widen(np.array(limits), weight @ (counts[:, 0] / counts.sum(axis=1)))
    return float(low), float(high)


def embed(mixture: Mixture, classes: np.ndarray, counts: np.ndarray) -> Mixture:
    """Return the mixture for all classes of a table, of which only some were learned about."""
    if len(classes) == len(counts):
        return mixture
    return Mixture(tuple(_embed(one, classes, counts) for one in mixture.explanations), mixture.weight)


def _embed(explanation: Explanation, classes: np.ndarray, counts: np.ndarray) -> Explanation:
    n_classes = len(counts)
    shares = (counts + 1.0) / (counts + 1.0).sum()
    weights, slopes, true_shares = shares.copy(), np.full(n_classes, SLOPES[1]), shares.copy()
    matrix, beta = np.eye(n_classes), np.tile([0.0, 1.0], (n_classes, 1))
    slopes[classes] = explanation.softmax.slopes
    weights[classes] = explanation.softmax.weights * shares[classes].sum()
    true_shares[classes] = explanation.shares * shares[classes].sum()
    matrix[np.ix_(classes, classes)] = explanation.matrix
    beta[classes] = explanation.counts
    softmax = Softmax(slopes, weights, explanation.softmax.floor)
    return explanation._replace(softmax=softmax, matrix=matrix, counts=beta, shares=true_shares)

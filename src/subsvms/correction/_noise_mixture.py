"""The noise of three or more classes, averaged over kinds of noise (`_noise_kinds`).

These kinds are considered, with how likely each is beforehand beside the others:

- none, 4: most labels of most tables are right, and a small table does not say much;
- *own*, 1: each class has its own rate, and every other class is equally likely;
- *shared*, 1/4: as own, with one rate for all classes;
- *blur*, 1: people err where rows are hard;
- *directed*, 1: one rate, but the wrong labels of each class prefer some of the others;
- *ways*, 1: labels of some classes are given as some others; and ways beside a shared rate, 1.

Overlap of two classes looks like a way, too, so ways are considered only between classes that are apart: the
rows that they win are on average `SURE` of their class, and `LIKELY` before there are ways. They are found
one by one, as long as the evidence rises, and tested at the end: a second way makes the first look like
overlap until it is in the model. For the same reason directed noise, which may go all ways, is considered
only if no class is less than `LIKELY`.

Each kind, with each slope of `list_slopes`, is an explanation of the labels (`_noise_softmax`). Whatever is
asked is averaged over the explanations, each weighed by its evidence.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from subsvms.correction._noise_curve import LEVEL, Answers, widen
from subsvms.correction._noise_kinds import IMPOSSIBLE, Blur, Kind
from subsvms.correction._noise_softmax import LIFT, Explanation, Softmax, explain

SLOPES = (4.0, 8.0, 16.0)  # of the softmax of twenty classes or fewer
FEW_CLASSES = 20  # of more, slopes grow in proportion: a value is a mean over all pairs of its class
BLUR = 0.25  # slope of a blurred look, beside that of the softmax: it sees a quarter as much
NONE, SHARED = 4.0, 0.25  # how likely these kinds are, beside each of the others
SURE = 0.80  # below, overlapping classes pass for noise: see benchmarks/several.py
LIKELY = 0.60  # the same without noise: with 0.58, cuts of diamonds would be changed that are right
MOST_WAYS = 8  # a bound on the time; more were not seen
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
        return self.average(one.judge(values, given) for one in self.explanations)

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
        return np.array(self._limit([one.pooled for one in self.explanations]))

    def _limit(self, counts):
        """Return the limits of a rate, from its beta counts in each explanation."""
        low, high = find_limits(np.array(counts), self.weight)
        return low, min(high + 1.0 / LIFT, 1.0)  # what the softmax leaves to other classes may be noise


def list_slopes(n_classes: int) -> list[float]:
    return [slope * max(1.0, n_classes / FEW_CLASSES) for slope in SLOPES]


def integrate_kinds(values: np.ndarray, given: np.ndarray, answers: Answers | None = None) -> Mixture:
    """Return what labels and votes, of mean values (n_rows, n_classes), say about the noise."""
    n_classes = values.shape[1]
    kept = thin(values, given)
    whole, fitted = (np.bincount(labels, minlength=n_classes) for labels in (given, given[kept]))
    rows = values[kept], given[kept]
    none, shared, own = np.full(n_classes, -1), np.zeros(n_classes, int), np.arange(n_classes)
    slopes = list_slopes(n_classes)
    found = [explain(*rows, slope, Kind(own), answers) for slope in slopes]
    found += [explain(*rows, slope, Blur(slope * BLUR, fitted / fitted.sum()), answers) for slope in slopes]
    for group, factor in ((none, NONE), (shared, SHARED)):
        found += explain_ways(*rows, Kind(group, (), np.log(factor)), answers)
    directed = [explain(*rows, slope, Kind(shared, directed=True), answers) for slope in slopes]
    found += [one for one in directed if measure_sureness(one.softmax.shares(rows[0])).min() >= LIKELY]
    evidence = np.array([explanation.evidence for explanation in found])
    assert np.isfinite(evidence).all()
    weight = np.exp(evidence - evidence.max())
    likely = np.flatnonzero(weight > NEGLIGIBLE_EXPLANATION * weight.sum())
    factor = (whole / whole.sum()) / (fitted / fitted.sum())
    mixture = tuple(reweigh(found[i], factor) for i in likely)
    return Mixture(mixture, weight[likely] / weight[likely].sum())


def explain_ways(
    values: np.ndarray, given: np.ndarray, kind: Kind, answers: Answers | None = None
) -> list[Explanation]:
    """Return explanations of a kind without ways, and with those that explain most, if there are any."""
    n_classes = values.shape[1]
    slopes = list_slopes(n_classes)
    each = float(np.log(n_classes * (n_classes - 1)))  # a way is one of so many

    def fit(slope, ways):
        with_ways = kind._replace(ways=tuple(ways), log_prior=-each * len(ways))
        return explain(values, given, slope, with_ways, answers)

    plain = [explain(values, given, slope, kind, answers) for slope in slopes]
    best = int(np.argmax([one.evidence for one in plain]))
    slope, found, evidence = slopes[best], plain[best], plain[best].evidence - kind.log_prior
    ways: list[tuple[int, int]] = []
    likely = measure_sureness(found.softmax.shares(values)) >= LIKELY
    possible = np.outer(likely, likely) & ~np.eye(n_classes, dtype=bool)
    while possible.any() and len(ways) < MOST_WAYS:
        way = find_way(found.softmax.shares(values), found.matrix, given, possible)
        more = fit(slope, [*ways, way])
        if more.evidence <= evidence:
            break
        ways.append(way)
        possible[way] = False
        found, evidence = more, more.evidence
    while ways:
        sure = measure_sureness(found.softmax.shares(values))
        weakest = min(ways, key=lambda way: min(sure[list(way)]))
        if min(sure[list(weakest)]) >= SURE:
            return [*plain, *(found if one == slope else fit(one, ways) for one in slopes)]
        ways.remove(weakest)
        found = fit(slope, ways) if ways else found
    return plain


def find_way(q: np.ndarray, matrix: np.ndarray, given: np.ndarray, possible: np.ndarray) -> tuple[int, int]:
    """Return the true class and the label between which a way explains most that T and q do not."""
    # If a share e of the labels of c that stay goes to d as well, the log likelihood rises by the sum of
    # log(1 + e q_c T[c, c] / p) over the rows given d, and of log(1 - e q_c T[c, c] / p) over those given c,
    # where p = P(given | u).
    n_classes, rates = q.shape[1], (0.03, 0.1, 0.2, 0.3, 0.5)  # near enough: the pair is what matters
    p = np.maximum((q @ matrix)[np.arange(len(q)), given], IMPOSSIBLE)
    ratio = q * np.diag(matrix) / p[:, None]
    gain = np.full((len(rates), n_classes, n_classes), -np.inf)
    for number, rate in enumerate(rates):
        for d in range(n_classes):
            gain[number, :, d] = np.log1p(rate * ratio[given == d]).sum(axis=0)
        loss = np.log1p(-rate * np.minimum(ratio[np.arange(len(q)), given], 1.0))
        gain[number] += np.bincount(given, weights=loss, minlength=n_classes)[:, None]
    best = np.where(possible, gain.max(axis=0), -np.inf)  # (n_classes, n_classes)
    c, d = divmod(int(np.argmax(best)), n_classes)
    return c, d


def thin(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return rows to fit, sorted by their labels: evenly spaced ones of each class, if there are too many."""
    # Within a class rows are ordered by their values, so that the order of the table does not matter.
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


def measure_sureness(q: np.ndarray) -> np.ndarray:
    """Return how sure the rows that each class wins are of it, on average; 0 for a class that wins none."""
    winner = q.argmax(axis=1)
    total = np.bincount(winner, weights=q.max(axis=1), minlength=q.shape[1])
    return total / np.maximum(np.bincount(winner, minlength=q.shape[1]), 1)


def reweigh(explanation: Explanation, factor: np.ndarray) -> Explanation:
    """Return an explanation of the table from one of fitted rows; classes occur `factor` times as often."""
    softmax, noise = explanation.softmax, explanation.noise
    weights, shares = (part * factor / (part @ factor) for part in (softmax.weights, explanation.shares))
    softmax, noise = softmax._replace(weights=weights), noise.reweigh(factor)
    return explanation._replace(softmax=softmax, shares=shares, noise=noise)


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
    weights, slopes, true_shares = shares.copy(), np.full(n_classes, list_slopes(n_classes)[1]), shares.copy()
    matrix, beta = np.eye(n_classes), np.tile([0.0, 1.0], (n_classes, 1))
    slopes[classes] = explanation.softmax.slopes
    weights[classes] = explanation.softmax.weights * shares[classes].sum()
    true_shares[classes] = explanation.shares * shares[classes].sum()
    matrix[np.ix_(classes, classes)] = explanation.matrix
    beta[classes] = explanation.counts
    softmax = Softmax(slopes, weights, explanation.softmax.floor)
    noise = explanation.noise.embed(classes, n_classes)
    return explanation._replace(softmax=softmax, noise=noise, matrix=matrix, counts=beta, shares=true_shares)

"""Kinds of noise of three or more classes: what the probability of a label depends on.

*Noise by class*: P(given d | true c) = T[c, d] whatever the row looks like, with

    T[c] = (1 - rho_c) W[c] + rho_c (J - I)[c] / (K - 1),

J the matrix of ones. A label is lost to the background at the rate rho_c, of which classes may share one:
then every other class is equally likely, or, if the noise is *directed*, as likely as is learned. Or it goes
one of a few *ways*: row c of W is c itself and the classes that labels of c are given as.

*Blur*: people err where rows are hard. With probability e the label comes from a blurred look at the row,

    P(given d | true c, u) = (1 - e) [c = d] + e s_d(u),    s = softmax(log share + b (u - max u)),

share: of the given labels. The smaller the slope b, the less the look sees.

The prior: a rate has density (1 - e)^(`FEW` - 1), as that of two classes; directions follow a Dirichlet
distribution, which is sparse; row c of W is Dirichlet, FEW on c and 1 on each of its targets; each way costs
the logarithm of how many ways there are.

While a kind is fitted (`_noise_softmax`) it has posteriors of these numbers, from expected counts: of (true,
given) pairs, split between background and ways in proportion to what each explains, or of labels from a
blurred and from a sharp look.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from subsvms.correction._noise_curve import FEW

DIRECTIONS = 0.1  # of a Dirichlet prior: small, so that lost labels of a class go to few others
Measured = tuple[np.ndarray, np.ndarray, np.ndarray]
IMPOSSIBLE = 1e-12  # a probability; what rests on a smaller one rests on rounding errors


class Kind(NamedTuple):
    """Noise by class."""

    group: np.ndarray  # (n_classes,): number of each class's rho; -1 if it is zero
    ways: tuple[tuple[int, int], ...] = ()  # from a class, to another
    log_prior: float = 0.0  # of the kind
    directed: bool = False  # whether labels that are lost prefer some classes

    @property
    def sources(self) -> list[int]:
        return sorted({source for source, _ in self.ways})

    def look(self, behind: np.ndarray) -> np.ndarray:
        """Return s: no label comes from a blurred look."""
        return np.zeros_like(behind)

    def begin(self, counts: np.ndarray) -> "ClassNoise":
        """Return what is thought of the noise at first, from counts of (class that wins, given)."""
        n_classes = len(self.group)
        rates = np.log(np.tile([0.1, 0.9], (n_classes, 1)))
        log_ways = np.full((n_classes, n_classes), np.log(0.2))
        evenly = np.full((n_classes, n_classes), -np.log(n_classes - 1))
        first = ClassNoise(self, log_ways, log_ways, 0.0, np.eye(n_classes), log_ways, evenly, rates)
        return self.weigh(counts, first)

    def weigh(self, counts: np.ndarray, before: "ClassNoise") -> "ClassNoise":
        """Return what expected counts of (true, given) say about the noise."""
        n_classes = len(counts)
        other, noisy, on = ~np.eye(n_classes, dtype=bool), self.group >= 0, np.zeros(counts.shape, dtype=bool)
        on[tuple(np.array(self.ways, dtype=int).reshape(-1, 2).T)] = True
        by_chance = np.where(noisy, np.exp(before.log_rates[:, 0]), 0.0)[:, None] * np.exp(before.log_spread)
        by_way = np.where(on, np.exp(before.log_rates[:, 1:] + before.log_ways), 0.0)
        lost = counts * np.where(other, by_chance / np.maximum(by_chance + by_way, IMPOSSIBLE**2), 0.0)
        divergence, log_rates, rho = 0.0, np.tile([-np.inf, 0.0], (n_classes, 1)), np.zeros(n_classes)
        if noisy.any():
            numbers = self.group[noisy]
            totals = [np.bincount(numbers, weights=part.sum(axis=1)[noisy]) for part in (lost, counts - lost)]
            rates = np.array([1.0, FEW]) + np.stack(totals, axis=1)
            divergence = float(diverge(rates, np.array([[1.0, FEW]])).sum())
            log_rates[noisy] = expect_logs(rates)[numbers]
            rho[noisy] = (rates[:, 0] / rates.sum(axis=1))[numbers]
        spread = other / (n_classes - 1)
        log_spread = np.log(np.maximum(spread, IMPOSSIBLE))
        if self.directed:
            there = DIRECTIONS + lost[other].reshape(n_classes, -1)
            divergence += float(diverge(there, np.full_like(there, DIRECTIONS)).sum())
            spread[other] = (there / there.sum(axis=1, keepdims=True)).ravel()
            log_spread[other] = expect_logs(there).ravel()
        ways, log_ways = np.eye(n_classes), np.full((n_classes, n_classes), np.log(IMPOSSIBLE))
        np.fill_diagonal(log_ways, 0.0)
        for c in self.sources:
            there = on[c] | ~other[c]
            row = np.where(~other[c], FEW, 1.0)[None, there]
            found = row + (counts - lost)[c, there]
            divergence += float(diverge(found, row).sum())
            log_ways[c, there], ways[c, there] = expect_logs(found), found / found.sum()
        log_matrix = log_rates[:, 1:] + log_ways
        if noisy.any():
            background = log_rates[:, :1] + log_spread
            log_matrix = np.where(other, np.logaddexp(log_matrix, background), log_matrix)
        matrix = (1.0 - rho)[:, None] * ways + rho[:, None] * spread
        expected = np.exp(log_matrix)
        return ClassNoise(self, counts, expected, divergence, matrix, log_ways, log_spread, log_rates)


class ClassNoise(NamedTuple):
    """What is known about noise by class."""

    kind: Kind
    counts: np.ndarray  # (n_classes, n_classes): expected, of (true, given)
    expected: np.ndarray  # (n_classes, n_classes): exp(E log T)
    divergence: float  # of posterior from prior
    matrix: np.ndarray  # (n_classes, n_classes): E T
    log_ways: np.ndarray  # (n_classes, n_classes): E log W
    log_spread: np.ndarray  # (n_classes, n_classes): expected logarithms of where lost labels go
    log_rates: np.ndarray  # (n_classes, 2): E log rho, E log(1 - rho)
    blurred: float = 0.0  # no label comes from a blurred look

    def weigh(self, counts: np.ndarray, sharp: float) -> "ClassNoise":
        return self.kind.weigh(counts, self)

    def allow(self, behind: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return P(given | true c) for each class; shape (n_rows, n_classes)."""
        return self.matrix.T[given]

    def reweigh(self, factor: np.ndarray) -> "ClassNoise":
        """Return the noise of a table in which labels occur `factor` times as often."""
        return self

    def embed(self, classes: np.ndarray, n_classes: int) -> "ClassNoise":
        """Return the noise of a table with more classes, of whose labels none is wrong."""
        matrix = np.eye(n_classes)
        matrix[np.ix_(classes, classes)] = self.matrix
        return self._replace(matrix=matrix)

    def measure(self, given: np.ndarray, q: np.ndarray, s: np.ndarray) -> Measured:
        """Return beta counts of the rates and of the share of wrong labels, and T."""
        # The responsibilities are taken for known while rates are fitted, so the posteriors are too narrow.
        # Those returned have the same means, and the variance that follows from Fisher's information, sum (d
        # log P(given) / d rate)^2. Classes that share a rate share its error; others err independently.
        n_classes, rates = len(self.matrix), 1.0 - np.diag(self.matrix)
        spread = (self.matrix - np.diag(np.diag(self.matrix))) / np.maximum(rates, IMPOSSIBLE)[:, None]
        score = q * (spread - np.eye(n_classes)).T[given]
        score /= np.maximum((q * self.matrix.T[given]).sum(axis=1, keepdims=True), IMPOSSIBLE)
        group = self.kind.group.copy()
        group[self.kind.sources] = n_classes + np.array(self.kind.sources, dtype=int)
        counts, shares, variance = np.tile([0.0, 1.0], (n_classes, 1)), q.mean(axis=0), 0.0
        for number in np.unique(group[group >= 0]):
            own = group == number
            mean, most = rates[own].mean(), self.counts[own].sum() + 1.0 + FEW
            known = mean * (1.0 - mean) * np.sum(score[:, own].sum(axis=1) ** 2) - 1.0
            known = np.clip(known, 1.0 + FEW, most)
            counts[own] = known * np.array([mean, 1.0 - mean])
            variance += shares[own].sum() ** 2 * mean * (1.0 - mean) / (known + 1.0)
        return counts, fit_beta(float(shares @ rates), variance), self.matrix


class Blur(NamedTuple):
    """A kind of noise in which some labels come from a blurred look; its methods are those of `Kind`."""

    slope: float  # b
    # (n_classes,): of the given labels; a class with none is neither taken for another nor missed
    share: np.ndarray
    log_prior: float = 0.0
    sources: tuple[int, ...] = ()  # no class loses labels to another one more than to the rest

    def look(self, behind: np.ndarray) -> np.ndarray:
        """Return s, (n_rows, n_classes)."""
        s = self.share * np.exp(self.slope * behind)
        return s / s.sum(axis=1, keepdims=True)

    def begin(self, counts: np.ndarray) -> "BlurNoise":
        return self.weigh(counts.sum() * np.array([0.2, 0.8]))

    def weigh(self, counts: np.ndarray) -> "BlurNoise":
        """Return what expected counts of blurred and sharp labels say about the noise."""
        prior = np.array([1.0, FEW])
        rates = prior + counts
        return BlurNoise(self, rates, float(diverge(rates[None], prior[None]).sum()))


class BlurNoise(NamedTuple):
    """What is known about labels from a blurred look; its methods are those of `ClassNoise`."""

    kind: Blur
    rates: np.ndarray  # (2,), of the beta posterior of e
    divergence: float

    @property
    def e(self) -> float:
        return float(self.rates[0] / self.rates.sum())

    @property
    def blurred(self) -> float:
        """exp(E log e)."""
        return float(np.exp(expect_logs(self.rates[None])[0, 0]))

    @property
    def expected(self) -> np.ndarray:
        """exp(E log(1 - e)) for the true class; shape (n_classes, n_classes)."""
        return np.exp(expect_logs(self.rates[None])[0, 1]) * np.eye(len(self.kind.share))

    def weigh(self, counts: np.ndarray, sharp: float) -> "BlurNoise":
        return self.kind.weigh(np.array([max(counts.sum() - sharp, 0.0), sharp]))

    def allow(self, behind: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return P(given | true c) for each class; shape (n_rows, n_classes)."""
        rows = np.arange(len(given))
        mixed = self.e * self.kind.look(behind)[rows, given][:, None] * (self.kind.share > 0)
        mixed[rows, given] += 1.0 - self.e
        return mixed

    def reweigh(self, factor: np.ndarray) -> "BlurNoise":
        return self._replace(kind=self.kind._replace(share=self.kind.share * factor))

    def embed(self, classes: np.ndarray, n_classes: int) -> "BlurNoise":
        share = np.zeros(n_classes)
        share[classes] = self.kind.share
        return self._replace(kind=self.kind._replace(share=share))

    def measure(self, given: np.ndarray, q: np.ndarray, s: np.ndarray) -> Measured:
        e, rows, n_classes = self.e, np.arange(len(q)), q.shape[1]
        wrong = 1.0 - np.diag(q.T @ s) / q.sum(axis=0)  # of blurred labels
        matrix = (1.0 - e) * np.eye(n_classes) + e * (q.T @ s) / q.sum(axis=0)[:, None]
        sharp, blurred = q[rows, given], s[rows, given]
        score = (blurred - sharp) / ((1.0 - e) * sharp + e * blurred)
        known = np.clip(e * (1.0 - e) * np.sum(score**2) - 1.0, 1.0 + FEW, self.rates.sum())
        variance = e * (1.0 - e) / (known + 1.0)
        counts = [fit_beta(e * share, share**2 * variance) for share in wrong]
        overall = float(q.mean(axis=0) @ wrong)
        return np.array(counts), fit_beta(e * overall, overall**2 * variance), matrix


def fit_beta(mean: float, variance: float) -> np.ndarray:
    """Return the counts of a beta distribution with this mean and variance; (0, 1) for a rate of zero."""
    if mean <= 0.0:
        return np.array([0.0, 1.0])
    return max(mean * (1.0 - mean) / variance - 1.0, 1.0) * np.array([mean, 1.0 - mean])


def expect_logs(counts: np.ndarray) -> np.ndarray:
    """Return the expected logs of the shares under Dirichlet distributions, one in each row."""
    return digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))


def diverge(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the divergence of Kullback and Leibler of Dirichlet distributions from others, row by row."""
    scale = gammaln(counts.sum(axis=1)) - gammaln(prior.sum(axis=1))
    scale -= (gammaln(counts) - gammaln(prior)).sum(axis=1)
    return scale + ((counts - prior) * expect_logs(counts)).sum(axis=1)


Noise = ClassNoise | BlurNoise

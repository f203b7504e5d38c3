"""Estimate the noise rates of the classes from the out-of-bag votes.

Labels are noisy by class: T[c, d] = P(given d | true c), and the rate of class c is e_c = 1 - T[c, c]. For a
row let u be its out-of-bag mean value for class c, and q(u) = P(true c | u). Then

    eta(u) = P(given c | u) = f_c + (1 - e_c - f_c) q(u),    f_c = P(given c | true class is another).

Only eta can be observed, so noise and classes that overlap by nature can look alike. Two classes are judged
by `_noise_curve`, which takes q for a logistic curve and averages over all that it might be. With three or
more, `_noise_softmax` looks at all classes at once; a rate that is too high does harm there, and one that is
too low only leaves wrong labels, so rates are moved by a share `CAUTION` of the way to their lower limits.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, rankdata

from subsvms._intervals import lower_limit
from subsvms.correction._noise_curve import LEVEL, Curve, integrate_curve
from subsvms.correction._noise_softmax import Softmax, fit_noise, least_scale, lower_rates, thin
from subsvms.correction._posterior import compute_posterior

FIRST, GROWTH = 10, 1.5  # numbers k of extreme rows: 10, 15, 22, ...; each further k is a chance for a fluke
CHOOSE = 0.999  # confidence that chooses k
CHANCE = 0.005  # that random labels pass for explained; the measured share is close to it
CAUTION = 0.2  # with 0.1 some small noisy tables are still harmed; with 0.4 many wrong labels stay
FEWEST = 5  # rows of a class; no share can be estimated from fewer
SOLVABLE = 0.2  # least difference in a column of T, 1 - e_1 - e_2 for two classes, at which labels are used


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """How often each class is given another label.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    matrix : ndarray of shape (n_classes, n_classes)
        T, the probability that a row of the true class (row of T) is given a label (column of T).
    rate_interval : ndarray of shape (n_classes, 2)
        Interval of each class's rate, 1 - the diagonal; each end with confidence 0.95 (credible limits, for
        two classes).
    shares : ndarray of shape (n_classes,)
        Shares of the true classes in the table.
    error_rate_interval : ndarray of shape (2,)
        Of the share of all labels that are wrong. For three classes or more: with all class rates at the
        lower and at the upper ends of their intervals.
    evidence : ndarray of shape (n_classes,)
        Standard deviations by which the votes predict the labels better than chance.
    curve : Curve or None
        With two classes, what is known about each row.
    softmax : Softmax or None
        With three or more classes, the probability of each true class.
    """

    classes: np.ndarray
    matrix: np.ndarray
    rate_interval: np.ndarray
    shares: np.ndarray
    error_rate_interval: np.ndarray
    evidence: np.ndarray
    curve: Curve | None = None
    softmax: Softmax | None = None

    def expect(self, values: np.ndarray) -> np.ndarray:
        """Return q, the probability of each true class whatever label is given, from mean values."""
        if self.curve is not None:
            return self.curve.expect(values[:, 1])
        if self.softmax is not None:
            return self.softmax.shares(values)
        return np.tile(self.shares, (len(values), 1))

    def judge(self, values: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the probability of each true class; `given` is -1 for a row without a label."""
        if self.curve is not None:
            return self.curve.judge(values[:, 1], given)
        if not is_solvable(self.matrix):  # given labels hardly say anything about true ones: leave them
            sure = np.eye(len(self.matrix))[np.maximum(given, 0)]
            return np.where((given >= 0)[:, None], sure, self.expect(values))
        return compute_posterior(self.expect(values), self.matrix, given)

    @property
    def rates(self) -> np.ndarray:
        """Share of each class's rows with a wrong label."""
        return 1.0 - np.diag(self.matrix)

    @property
    def error_rate(self) -> float:
        """Share of all rows with a wrong label; the paper's rho * beta."""
        return float(self.shares @ self.rates)

    @property
    def beta(self) -> float:
        """Share of the smallest true class."""
        return float(self.shares.min())

    @property
    def rho(self) -> float:
        """Wrong labels, as a share of the smallest class's size."""
        return self.error_rate / self.beta if self.beta > 0 else np.nan

    @property
    def alpha(self) -> float:
        """Share of the wrong labels whose true class is not the smallest; NaN if none is wrong."""
        wrong = self.shares * self.rates
        return float(1.0 - wrong[np.argmin(self.shares)] / wrong.sum()) if wrong.sum() > 0 else np.nan

    @property
    def explained(self) -> bool:
        """Whether the votes predict the given labels better than chance."""
        return bool(self.evidence.max() >= evidence_needed(len(self.classes)))

    def __str__(self) -> str:
        low, high = self.error_rate_interval
        lines = [f"{self.error_rate:.1%} of the labels are thought wrong ({low:.1%} to {high:.1%})"]
        for name, rate, (low, high) in zip(self.classes, self.rates, self.rate_interval, strict=True):
            lines.append(f"  of true {str(name)!r}: {rate:.1%} ({low:.1%} to {high:.1%})")
        return "\n".join(lines)


def estimate_noise(mean_value: np.ndarray, given: np.ndarray, classes: np.ndarray) -> NoiseEstimate:
    """Estimate the noise of each class from out-of-bag votes.

    Parameters
    ----------
    mean_value : ndarray of shape (n_rows, n_classes)
        Out-of-bag mean values, finite.
    given : ndarray of int of shape (n_rows,)
        Class numbers.
    classes : ndarray of shape (n_classes,)
        Their names.

    Returns
    -------
    NoiseEstimate

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = np.repeat([0, 1], 1000)
    >>> u = np.clip(rng.normal(1.2 * true - 0.6, 0.3), -1, 1)
    >>> given = np.where(rng.random(2000) < np.where(true == 1, 0.3, 0.0), 0, true)  # 30 % of class 1
    >>> noise = estimate_noise(np.stack([-u, u], axis=1), given, np.array(["no", "yes"]))
    >>> noise.rates.round(1), round(noise.rho, 1)
    (array([0. , 0.3]), 0.3)
    """
    n_classes = len(classes)
    counts = np.bincount(given, minlength=n_classes)
    evidence = np.array([rank_evidence(mean_value[:, c], given == c) for c in range(n_classes)])
    if evidence.max() < evidence_needed(n_classes):
        nothing = np.tile([0.0, 1.0], (n_classes, 1))  # any rate fits labels that no feature explains
        shares = counts / counts.sum()
        return NoiseEstimate(classes, np.eye(n_classes), nothing, shares, np.array([0.0, 1.0]), evidence)
    if n_classes > 2:
        return estimate_several(mean_value, given, classes, evidence)
    if counts.min() < FEWEST:  # no rate can be estimated: labels stand, and votes judge rows without one
        unknown = conclude(classes, counts, np.eye(2), np.tile([0.0, 1.0], (2, 1)), evidence)
        return replace(unknown, curve=integrate_curve(mean_value[:, 1], given == 1, rates=np.zeros(2)))
    curve = integrate_curve(mean_value[:, 1], given == 1)
    shares = curve.expect(mean_value[:, 1]).mean(axis=0)
    matrix = np.stack([[1.0 - curve.rates[0], curve.rates[0]], [curve.rates[1], 1.0 - curve.rates[1]]])
    return NoiseEstimate(
        classes, matrix, curve.rate_interval, shares, curve.error_rate_interval, evidence, curve=curve
    )


def estimate_several(
    mean_value: np.ndarray, given: np.ndarray, classes: np.ndarray, evidence: np.ndarray
) -> NoiseEstimate:
    """Estimate the noise of three classes or more; parameters as in `estimate_noise`."""
    counts = np.bincount(given, minlength=len(classes))
    large = np.flatnonzero(counts >= FEWEST)  # nothing can be learned about smaller ones: left alone
    matrix, interval = np.eye(len(classes)), np.tile([0.0, 1.0], (len(classes), 1))
    weights = (counts + 1.0) / (counts + 1.0).sum()
    if len(large) < 2:
        return conclude(classes, counts, matrix, interval, evidence, Softmax(1.0, weights))
    used = np.isin(given, large)
    values, labels = mean_value[np.ix_(used, large)], np.searchsorted(large, given[used])
    fewer = thin(values, labels)
    fit = fit_noise(*fewer)
    least = least_scale(*fewer, fit)
    cautious = lower_rates(*fewer, fit, 1.0 - CAUTION * (1.0 - least))
    for i, c in enumerate(large.tolist()):
        lead = values[:, i] - np.delete(values, i, axis=1).max(axis=1)
        highest = max(highest_rate(lead, labels == i), cautious.rates[i])
        interval[c] = least * fit.rates[i], highest
    matrix[np.ix_(large, large)] = cautious.matrix
    weights[large] = cautious.softmax.weights * weights[large].sum()
    return conclude(classes, counts, matrix, interval, evidence, Softmax(cautious.softmax.slope, weights))


def conclude(
    classes: np.ndarray,
    counts: np.ndarray,
    matrix: np.ndarray,
    interval: np.ndarray,
    evidence: np.ndarray,
    softmax: Softmax | None = None,
) -> NoiseEstimate:
    """Return the estimate, with the shares and the error rate that follow from T."""
    given_shares = counts / counts.sum()
    shares = true_shares(given_shares, matrix)
    known = np.where((counts >= FEWEST)[:, None], interval, (1.0 - np.diag(matrix))[:, None])
    errors = [error_rate_at(given_shares, matrix, rates) for rates in known.T]
    return NoiseEstimate(classes, matrix, interval, shares, np.array(errors), evidence, softmax=softmax)


def highest_rate(u: np.ndarray, is_given: np.ndarray) -> float:
    """Return the upper limit of a rate: 1 - the lower limit of the class's share among its surest rows."""
    top = top_rows(u, is_given)
    return 1.0 - float(lower_limit(np.sum(is_given[top]), len(top), LEVEL))


def error_rate_at(given_shares: np.ndarray, matrix: np.ndarray, rates: np.ndarray) -> float:
    """Return the error rate that other rates would imply; wrong labels go where T sends them."""
    others = np.where(np.eye(len(matrix), dtype=bool), 0.0, matrix) + 1e-12
    np.fill_diagonal(others, 0.0)
    moved = np.diag(1.0 - rates) + rates[:, None] * others / others.sum(axis=1, keepdims=True)
    return float(true_shares(given_shares, moved) @ rates)


def evidence_needed(n_classes: int) -> float:
    """Return the standard deviations that one of the classes must show; two classes are one comparison."""
    return float(norm.isf(CHANCE / (1 if n_classes == 2 else n_classes)))


def rank_evidence(u: np.ndarray, is_given: np.ndarray) -> float:
    """Return by how many standard deviations rows given the class rank above the others.

    The statistic of Mann and Whitney (1947), ties corrected, under the hypothesis that u and the label are
    independent.

    Examples
    --------
    >>> round(rank_evidence(np.arange(8.0), np.arange(8) >= 4), 2)
    2.31
    """
    n, n_given = len(u), int(is_given.sum())
    if n_given in (0, n):
        return 0.0
    ranks = rankdata(u)
    variance = n_given * (n - n_given) * ranks.var(ddof=1) / n
    surplus = ranks[is_given].sum() - n_given * (n + 1) / 2
    return float(surplus / np.sqrt(variance)) if variance > 0 else 0.0


def extreme_sizes(n_rows: int) -> np.ndarray:
    """Return the numbers of extreme rows to look at.

    Examples
    --------
    >>> extreme_sizes(60)
    array([10, 15, 22, 34, 51, 60])
    """
    n_steps = max(int(np.ceil(np.log(max(n_rows / FIRST, 1.0)) / np.log(GROWTH))), 0)
    sizes = np.round(FIRST * GROWTH ** np.arange(n_steps + 1)).astype(int)
    return np.unique(np.minimum(sizes, n_rows))


def top_rows(u: np.ndarray, is_given: np.ndarray) -> np.ndarray:
    """Return the rows with the largest u: as many as give the class's share the largest lower limit."""
    order = np.argsort(-u, kind="stable")
    sizes = extreme_sizes(len(u))
    counts = np.cumsum(is_given[order])[sizes - 1]
    return order[: sizes[np.argmax(lower_limit(counts, sizes, CHOOSE))]]


def true_shares(given_shares: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the shares pi of the true classes: given = pi T, solved, and cut to be shares.

    Examples
    --------
    >>> true_shares(np.array([0.65, 0.35]), np.array([[1.0, 0.0], [0.3, 0.7]]))
    array([0.5, 0.5])
    """
    if not is_solvable(matrix):
        return given_shares
    shares = np.maximum(given_shares @ np.linalg.inv(matrix), 0.0)
    return shares / shares.sum()


def is_solvable(matrix: np.ndarray) -> bool:
    """Return whether each label is clearly likelier for its own class than for others, so that T inverts."""
    others = np.where(np.eye(len(matrix), dtype=bool), -np.inf, matrix)
    return bool(np.min(np.diag(matrix) - others.max(axis=0)) > SOLVABLE)

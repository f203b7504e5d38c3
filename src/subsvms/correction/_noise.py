"""Estimate the noise rates of the classes from the out-of-bag votes.

Labels are noisy by class: T[c, d] = P(given d | true c), and the rate of class c is e_c = 1 - T[c, c]. For a
row let u be its out-of-bag mean value for class c, and q(u) = P(true c | u). Then

    eta(u) = P(given c | u) = f_c + (1 - e_c - f_c) q(u),    f_c = P(given c | true class is another).

Only eta can be observed, so noise and classes that overlap by nature can look alike. So whatever is asked is
averaged over what the noise might be, by `_noise_curve` for two classes and by `_noise_mixture` for more.

What people say about some rows takes part in the likelihood. They look at the worst rows, and real noise
follows no model exactly, so what they say is not extrapolated in full: see `moderate`.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, rankdata

from subsvms.correction._noise_curve import TOGETHER, Answers, Curve, integrate_curve
from subsvms.correction._noise_mixture import Mixture, embed, integrate_kinds
from subsvms.exceptions import format_others, format_rate, format_rates

CHANCE = 0.001  # that random labels pass for explained; the measured share is close to it
UNSEEN = 0.5  # weight of a belief in noise that the rule does not know of
SMALLEST_CLASS = 5  # rows of a class; no share can be estimated from fewer


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """How often each class is given another label, if errors depend on the class alone.

    Errors of other kinds (near the border, in a region, by one person) look like classes that overlap:
    `contradicted` says up to which share they cannot be excluded.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    matrix : ndarray of shape (n_classes, n_classes)
        T, the probability that a row of the true class (row of T) is given a label (column of T).
    rate_interval : ndarray of shape (n_classes, 2)
        Credible limits of each class's rate, 1 - the diagonal; each end holds with probability 0.95 or more.
    shares : ndarray of shape (n_classes,)
        Shares of the true classes in the table.
    error_rate_interval : ndarray of shape (2,)
        Of the share of all labels that are wrong, by errors that depend on the class alone.
    evidence : ndarray of shape (n_classes,)
        Standard deviations by which the votes predict the labels better than chance.
    curve, mixture : Curve or Mixture or None
        What is known about each row, with two classes, and with more.
    before : NoiseEstimate or None
        What the given labels alone say, if people verified some.
    heard : ndarray of bool of shape (n_classes,) or None
        Labels that people looked at, in `SMALLEST_CLASS` rows or more.
    contradicted : float or None
        Share of the labels for which fewer SVMs vote than for another class, among those that were judged;
        for another judge, those that it finds less probable.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["cat", "dog"], 300)
    >>> X = rng.normal(0.3 + 0.4 * (clean == "dog")[:, None], 0.12, (600, 4))
    >>> y = np.where(np.arange(600) < 60, "dog", clean)  # a fifth of the cats
    >>> print(correct_labels(X, y, random_state=0).noise)
    Errors that depend on the class alone: 9.7 % (7.6 to 12 %)
      of true 'cat': 19 % (15 to 24 %)
      of true 'dog': < 0.1 % (0 to < 0.1 %)
    The votes contradict 10 % of the labels: at least up to that share, errors of other kinds ... can tell.
    """

    classes: np.ndarray
    matrix: np.ndarray
    rate_interval: np.ndarray
    shares: np.ndarray
    error_rate_interval: np.ndarray
    evidence: np.ndarray
    curve: Curve | None = None
    mixture: Mixture | None = None
    before: "NoiseEstimate | None" = None
    heard: np.ndarray | None = None
    contradicted: float | None = None

    def expect(self, values: np.ndarray) -> np.ndarray:
        """Return q, the probability of each true class whatever label is given, from mean values."""
        if self.curve is not None:
            return self.curve.expect(values[:, 1])
        if self.mixture is not None:
            return self.mixture.expect(values)
        return np.tile(self.shares, (len(values), 1))

    def judge(self, values: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the probability of each true class; `given` is -1 for a row without a label."""
        posterior = self._judge(values, given)
        if self.before is None or self.heard is None:
            return posterior
        return moderate(posterior, self.before.judge(values, given), given, self.heard)

    def _judge(self, values, given):
        if self.curve is not None:
            return self.curve.judge(values[:, 1], given)
        if self.mixture is not None and is_solvable(self.matrix):
            return self.mixture.judge(values, given)
        # Nothing is known, or given labels hardly say anything about true ones: leave them.
        sure = np.eye(len(self.matrix))[np.maximum(given, 0)]
        return np.where((given >= 0)[:, None], sure, self.expect(values))

    @property
    def rates(self) -> np.ndarray:
        """Share of each class's rows with a wrong label."""
        return np.clip(1.0 - np.diag(self.matrix), 0.0, 1.0)

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

    def __repr__(self) -> str:
        return f"NoiseEstimate({format_rates(self.error_rate, self.error_rate_interval, self.contradicted)})"

    def __str__(self) -> str:
        rate = format_rate(self.error_rate, *self.error_rate_interval)
        lines = [f"Errors that depend on the class alone: {rate}"]
        for name, rate, limits in zip(self.classes, self.rates, self.rate_interval, strict=True):
            lines.append(f"  of true {str(name)!r}: {format_rate(rate, *limits)}")
        return "\n".join([*lines, format_others(self.contradicted)])


def estimate_noise(
    mean_value: np.ndarray, given: np.ndarray, classes: np.ndarray, verified: np.ndarray | None = None,
    *, rates: np.ndarray | None = None,
) -> NoiseEstimate:  # fmt: skip
    """Estimate the noise of each class from out-of-bag votes, mean_value (n_rows, n_classes)."""
    # If the rates of two classes are given, only what the values say about each row is learned.
    labelled = given >= 0
    rows = mean_value[labelled], given[labelled], classes
    before = _estimate(*rows, rates=rates)
    if verified is None or not np.any(verified >= 0):
        return before
    decided = verified >= 0
    heard = np.bincount(given[decided & labelled], minlength=len(classes)) >= SMALLEST_CLASS
    answers = Answers(mean_value[decided], given[decided], verified[decided])
    return replace(_estimate(*rows, answers), before=before, heard=heard)


def _estimate(mean_value, given, classes, answers=None, rates=None):
    n_classes = len(classes)
    counts = np.bincount(given, minlength=n_classes)
    large = np.flatnonzero(counts >= SMALLEST_CLASS)  # nothing can be learned about smaller ones: left alone
    evidence = np.array([rank_evidence(mean_value[:, c], given == c) for c in range(n_classes)])
    shares = counts / counts.sum()
    unknown = np.tile([0.0, 1.0], (n_classes, 1))
    nothing = NoiseEstimate(classes, np.eye(n_classes), unknown, shares, np.array([0.0, 1.0]), evidence)
    if evidence.max() < evidence_needed(n_classes):
        return nothing  # any rate fits labels that no feature explains
    if n_classes == 2:
        u, is_given = mean_value[:, 1], given == 1
        if len(large) < 2:  # labels stand, and votes judge rows without one
            curve = integrate_curve(u, is_given, answers, rates=np.zeros(2))
            return replace(nothing, curve=curve)
        curve = integrate_curve(u, is_given, answers, rates=rates)
        e, f = curve.rates[1], curve.rates[0]
        return NoiseEstimate(
            classes, np.array([[1.0 - f, f], [e, 1.0 - e]]), curve.rate_interval,
            curve.expect(u).mean(axis=0), curve.error_rate_interval, evidence, curve=curve,
        )  # fmt: skip
    if len(large) < 2:
        return nothing
    used = np.isin(given, large)
    values, numbers = mean_value[np.ix_(used, large)], np.searchsorted(large, given[used])
    learned = integrate_kinds(values, numbers, narrow(answers, large))
    mixture = embed(learned, large, counts)
    unknown[large] = mixture.rate_interval[large]
    return NoiseEstimate(
        classes, mixture.matrix, unknown, mixture.shares, mixture.error_rate_interval, evidence,
        mixture=mixture,
    )  # fmt: skip


def moderate(after: np.ndarray, before: np.ndarray, given: np.ndarray, heard: np.ndarray) -> np.ndarray:
    """Return the probability of each true class; answers of people count for less where they embolden."""
    # Where answers make a label more credible, they count in full. Where less, the mean of two beliefs is
    # returned: that what was said about the worst rows holds for this one, and, with weight `UNSEEN`, that it
    # says nothing about it; if nobody looked at rows with this label, the second alone. (In full, changes
    # that only answers allowed did harm on 13 of 37 tables.)
    rows, own = np.arange(len(given)), np.maximum(given, 0)
    bolder = (given >= 0) & (after[rows, own] < before[rows, own])
    share = np.where(bolder, np.where(heard[own], 1.0 - UNSEEN, 0.0), 1.0)[:, None]
    return share * after + (1.0 - share) * before


def narrow(answers: Answers | None, classes: np.ndarray) -> Answers | None:
    """Return the answers that are about these classes alone, which get new numbers; None without any."""
    if answers is None:
        return None
    values, given, verified = answers
    kept = np.isin(verified, classes) & np.isin(given, [*classes, -1])
    numbers = np.full(values.shape[1] + 1, -1)  # the last stands for rows without a label
    numbers[classes] = np.arange(len(classes))
    if not kept.any():
        return None
    return Answers(values[np.ix_(kept, classes)], numbers[given[kept]], numbers[verified[kept]])


def evidence_needed(n_classes: int) -> float:
    """Return the standard deviations that one of the classes must show; two classes are one comparison."""
    return float(norm.isf(CHANCE / (1 if n_classes == 2 else n_classes)))


def rank_evidence(u: np.ndarray, is_given: np.ndarray) -> float:
    """Return by how many standard deviations rows given the class rank above the others."""
    # The statistic of Mann and Whitney (1947), ties corrected, under the hypothesis that u and the label are
    # independent.
    n, n_given = len(u), int(is_given.sum())
    if n_given in (0, n):
        return 0.0
    ranks = rankdata(u)
    variance = n_given * (n - n_given) * ranks.var(ddof=1) / n
    surplus = ranks[is_given].sum() - n_given * (n + 1) / 2
    return float(surplus / np.sqrt(variance)) if variance > 0 else 0.0


def is_solvable(matrix: np.ndarray) -> bool:
    """Return whether each label is clearly likelier for its own class than for others, so that T inverts."""
    others = np.where(np.eye(len(matrix), dtype=bool), -np.inf, matrix)
    return bool(np.min(np.diag(matrix) - others.max(axis=0)) > 1.0 - TOGETHER)

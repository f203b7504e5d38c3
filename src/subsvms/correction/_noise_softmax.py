"""Estimate the noise of three or more classes from the votes, and the probability of each class.

For a row with out-of-bag mean values u, of which u_w is the largest,

    P(true c | u) = q_c = pi_c l_c / sum_d pi_d l_d,    l_c = floor + (1 - floor) exp(a (u_c - u_w)),

a softmax with bounded lift: floor = 1 / (LIFT (K - 1)), so that unanimous votes leave the K - 1 other
classes together a share of about 1 / LIFT, however many they are. Labels are noisy by class: P(given d | u) =
(q T)_d. The slope a, the weights pi and the noise maximise the likelihood of the given labels (robust
logistic regression: Bootkrajang and Kaban, ECML 2012; one curve for each class would ignore that classes
exclude each other). These kinds of noise are tried:

- none;
- *blind*: labels of all classes are wrong at one rate, and every other class is equally likely;
- *directed*: one rate, but wrong labels go where those of the surest rows went, which takes K (K - 2) shares;
- *uneven*: each class has its own rate (K - 1 more), and every other class is equally likely; where that can
  be believed, also with the directions of the surest rows.

Noise is charged the quantile of chi-square at which a likelihood ratio is significant (Wilks, 1938):
one-sided, at `LEVEL`, for its rate, and at `FREER` for each parameter that blind noise does not have.
(Directions are read off, not fitted, so for them this is a guide.) The kind with the best likelihood after
these charges is believed.

Classes also overlap by nature, with their neighbours, and some more than others. Overlap does not look like
one rate for all classes, but it can look like separate rates and directions. So blind noise is believed if it
explains at least half of what uneven noise would; directed noise up to the rate `DIRECTED_LIMIT`; and uneven
noise if the classes hardly overlap, that is, if with it rows are on average `SURE` of their class. These
limits were set on tables whose classes overlap (benchmarks/several.py): without them a tenth of the right
labels, or more, are thought wrong.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

from subsvms._intervals import halve_to_limit
from subsvms.correction._noise_curve import LEVEL

LIFT = 100.0  # times as likely, in odds, as in the table: no vote says more
MINIMISER = "TNC"  # as good and as fast here as L-BFGS-B, whose BLAS threads spin on so few numbers
HIGHEST = 0.98  # the largest rate that is considered
FREER = 0.99  # confidence that noise is not blind; LEVEL is that of any noise at all
DIRECTED_LIMIT, SURE = 0.3, 0.9  # see above
LARGEST_TABLE = 400_000  # values that are fitted; with 200 classes more would take minutes
STEEPEST, FLATTEST = np.exp(6.0), np.exp(-1.0)  # slopes: the former is a step, the latter says nothing
FARTHEST = 2.0  # log weight of a class, from the log of its share of the given labels
STARTS = ((10.0, 0.1), (10.0, 0.4), (3.0, 0.1))  # slope and rates from which the likelihood is climbed


class Softmax(NamedTuple):
    """P(true c | u)."""

    slope: float
    weights: np.ndarray  # (n_classes,), which add up to one

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Return the probability of each class, from mean values of shape (n_rows, n_classes).

        Examples
        --------
        >>> Softmax(10.0, np.ones(3) / 3).shares(np.array([[0.5, 0.1, -0.6], [0.1, 0.1, -0.2]])).round(3)
        array([[0.973, 0.023, 0.005],
               [0.487, 0.487, 0.027]])
        """
        lifts, _ = lift(values - values.max(axis=1, keepdims=True), self.slope)
        joint = lifts * self.weights
        return joint / joint.sum(axis=1, keepdims=True)


class Fit(NamedTuple):
    """A softmax, the noise that goes with it, and how badly they fit."""

    softmax: Softmax
    rates: np.ndarray  # (n_classes,)
    spread: np.ndarray  # (n_classes, n_classes), where wrong labels of each class go
    loss: float  # negative log likelihood

    @property
    def matrix(self) -> np.ndarray:
        """T, P(given column | true row)."""
        return mix(self.rates, self.spread)


def mix(rates: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return T for rates and directions."""
    return np.diag(1.0 - rates) + rates[:, None] * spread


def lift(behind: np.ndarray, slope: float) -> tuple[np.ndarray, np.ndarray]:
    """Return l, and its derivative by log slope; `behind` is u_c - u_w."""
    floor = 1.0 / (LIFT * (behind.shape[1] - 1))
    steep = (1.0 - floor) * np.exp(slope * behind)
    return floor + steep, slope * behind * steep


def fit_noise(values: np.ndarray, given: np.ndarray) -> Fit:
    """Return the noise that explains the given labels best, and the softmax.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_classes)
        Out-of-bag mean values.
    given : ndarray of int of shape (n_rows,)
        Class numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = rng.integers(4, size=2000)
    >>> values = np.clip(rng.normal(0.8 * np.eye(4)[true] - 0.6, 0.2), -1, 1)
    >>> given = np.where(rng.random(2000) < 0.2, (true + rng.integers(1, 4, 2000)) % 4, true)
    >>> fit_noise(values, given).rates.round(1)
    array([0.2, 0.2, 0.2, 0.2])
    >>> fit_noise(values, true).rates
    array([0., 0., 0., 0.])
    """
    n_classes = values.shape[1]
    evenly = (1.0 - np.eye(n_classes)) / (n_classes - 1)
    followed = follow_surest(values, given)
    one, own = np.zeros(n_classes, int), np.arange(n_classes)
    none = climb(values, given, evenly, None)
    blind, directed = (climb(values, given, spread, one) for spread in (evenly, followed))
    uneven = climb(values, given, evenly, own)
    blind_cost = chi2.ppf(2.0 * LEVEL - 1.0, 1)  # one-sided: no rate is less than zero
    n_rates, n_ways = n_classes - 1, n_classes * (n_classes - 2)
    found = [(none, 0.0)]
    if none.loss - blind.loss >= blind.loss - uneven.loss:
        found.append((blind, blind_cost))
    if n_ways > 0 and directed.rates[0] <= DIRECTED_LIMIT:
        found.append((directed, blind_cost + chi2.ppf(FREER, n_ways)))
    if uneven.softmax.shares(values).max(axis=1).mean() >= SURE:
        found.append((uneven, blind_cost + chi2.ppf(FREER, n_rates)))
        both = climb(values, given, followed, own)
        found.append((both, blind_cost + chi2.ppf(FREER, n_rates + n_ways)))
    return min(found, key=lambda pair: 2.0 * pair[0].loss + pair[1])[0]


def least_scale(values: np.ndarray, given: np.ndarray, fit: Fit) -> float:
    """Return the least share of the fitted rates that the likelihood does not reject; one-sided.

    Twice the difference of the log likelihoods is compared with the quantile of chi-square with one degree
    of freedom (Wilks, 1938). Slope and weights are fitted again for each share.
    """
    allowed = fit.loss + chi2.ppf(2.0 * LEVEL - 1.0, 1) / 2.0
    if fit.rates.max() == 0.0 or climb(values, given, fit.spread, None).loss <= allowed:
        return 0.0

    def is_allowed(share):
        return lower_rates(values, given, fit, share).loss <= allowed

    return halve_to_limit(is_allowed, 1.0)


def lower_rates(values: np.ndarray, given: np.ndarray, fit: Fit, share: float) -> Fit:
    """Return a fit with this share of the rates, and the softmax that goes with them."""
    return climb(values, given, fit.spread, None, fixed=share * fit.rates, start=fit)


def thin(values: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return evenly spaced rows, with `LARGEST_TABLE` values at most, or less than a row more."""
    step = max(-(-values.size // LARGEST_TABLE), 1)
    return values[::step], given[::step]


def follow_surest(values: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return where wrong labels go: as in the surer half of the rows whose votes each class has won.

    Examples
    --------
    >>> values = np.array([[0.9, 0.0, 0.0], [0.8, 0.0, 0.0], [0.1, 0.0, 0.0]])
    >>> follow_surest(values, np.array([0, 1, 2]))[0]  # the third row does not count; one is spread evenly
    array([0.  , 0.75, 0.25])
    """
    n_classes = values.shape[1]
    ordered = np.sort(values, axis=1)
    lead, winner = ordered[:, -1] - ordered[:, -2], values.argmax(axis=1)
    counts = (1.0 - np.eye(n_classes)) / (n_classes - 1)
    for c in np.unique(winner):
        own = np.flatnonzero(winner == c)
        surer = own[lead[own] >= np.median(lead[own])]
        counts[c] += np.bincount(given[surer], minlength=n_classes)
    np.fill_diagonal(counts, 0.0)
    return counts / counts.sum(axis=1, keepdims=True)


def climb(
    values: np.ndarray,
    given: np.ndarray,
    spread: np.ndarray,
    group: np.ndarray | None,
    *,
    fixed: np.ndarray | None = None,
    start: Fit | None = None,
) -> Fit:
    """Return the fit of greatest likelihood.

    Parameters
    ----------
    values, given
        As in `fit_noise`.
    spread : ndarray of shape (n_classes, n_classes)
    group : ndarray of int of shape (n_classes,) or None
        Number of each class's rate; with None the rates are `fixed`.
    fixed : ndarray of shape (n_classes,), optional
        Zero by default.
    start : Fit, optional
        A fit nearby, for fixed rates; `STARTS` by default.
    """
    n_classes = values.shape[1]
    behind = values - values.max(axis=1, keepdims=True)
    counts = np.bincount(given, minlength=n_classes) + 1.0
    log_shares = np.log(counts / counts[0])[1:]  # the weight of the first class is one, for now
    n_rates = 0 if group is None else int(group.max()) + 1
    rates = np.zeros(n_classes) if fixed is None else fixed
    limits = [(np.log(FLATTEST), np.log(STEEPEST))]
    limits += [(center - FARTHEST, center + FARTHEST) for center in log_shares]
    limits += [(0.0, HIGHEST)] * n_rates
    if start is None:
        points = [
            np.concatenate([[np.log(slope)], log_shares, np.full(n_rates, rate)])
            for slope, rate in (STARTS if n_rates else STARTS[::2])
        ]
    else:
        weights = start.softmax.weights
        points = [np.concatenate([[np.log(start.softmax.slope)], np.log(weights[1:] / weights[0])])]
    best = None
    for point in points:
        inside = np.clip(point, *np.transpose(limits))
        result = minimize(
            measure_loss, inside, args=(behind, given, spread, group, rates),
            jac=True, bounds=limits, method=MINIMISER,
        )  # fmt: skip
        if best is None or result.fun < best.fun:
            best = result
    assert best is not None
    weights = np.exp(np.concatenate([[0.0], best.x[1:n_classes]]))
    if group is not None:
        rates = best.x[n_classes:][group]
    softmax = Softmax(float(np.exp(best.x[0])), weights / weights.sum())
    return Fit(softmax, rates, spread, float(best.fun * len(given)))


def measure_loss(
    point: np.ndarray,
    behind: np.ndarray,
    given: np.ndarray,
    spread: np.ndarray,
    group: np.ndarray | None,
    rates: np.ndarray,
) -> tuple[float, np.ndarray]:
    """Return the mean negative log likelihood of (log slope, log weights, rates), and its slope.

    With joint_c = q_c T[c, g], eta = sum_c joint_c and r = joint / eta, the derivative of log eta by the
    logarithm of pi_c l_c is r_c - q_c.
    """
    n_rows, n_classes = behind.shape
    if group is not None:
        rates = point[n_classes:][group]
    lifts, by_slope = lift(behind, np.exp(point[0]))
    q = lifts * np.exp(np.concatenate([[0.0], point[1:n_classes]]))
    q /= q.sum(axis=1, keepdims=True)
    joint = q * mix(rates, spread).T[given]
    eta = np.maximum(joint.sum(axis=1), 1e-12)
    surplus = joint / eta[:, None] - q
    slopes = [[np.sum(surplus * by_slope / lifts)], surplus.sum(axis=0)[1:]]
    if group is not None:
        by_rate = ((spread - np.eye(n_classes)).T[given] * q / eta[:, None]).sum(axis=0)
        slopes.append(np.bincount(group, weights=by_rate))
    return -float(np.log(eta).mean()), -np.concatenate(slopes) / n_rows

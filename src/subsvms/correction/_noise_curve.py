"""The curve of one class: how often rows are given it, by the value u of their votes.

    eta(u) = f + (1 - e - f) q(u),    q a logistic function of u with bounded lift

with the rates e of the class and f of the others; see `_noise`, which says where it comes from.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2

from subsvms._intervals import halve_to_limit

LIFT = 100.0  # at 50, more wrong labels stay; at 200, right ones of a1a and w5a begin to change
LEVEL = 0.95  # of each end of an interval
N_BINS = 512  # of u: finer than u is known from a thousand votes
ENDS = (0.002, 0.998)  # quantiles of u at which the lift is bounded; the curve is flat beyond them
MINIMISER = "TNC"  # as good and as fast here as L-BFGS-B, whose BLAS threads spin on four numbers
HIGHEST = 0.98  # the largest rate that is considered
STARTS = ((0.001, 0.001), (0.1, 0.02), (0.02, 0.1), (0.5, 0.01), (0.01, 0.5), (0.3, 0.3))


class Bins(NamedTuple):
    """Rows grouped by their u."""

    place: np.ndarray  # (n_bins,), from 0 at the lower end of u to 1 at the upper
    n_rows: np.ndarray  # (n_bins,)
    n_given: np.ndarray  # (n_bins,), rows given the class
    logit: float  # log odds of the class in the table
    highest: float  # the largest log odds that bounded lift allows


class CurveFit(NamedTuple):
    """The curve f + (1 - e - f) q(u), and how badly it fits."""

    top: float  # log odds of q at the upper end
    bottom: float  # and at the lower
    e: float
    f: float
    loss: float  # negative log likelihood


def bin_values(u: np.ndarray, is_given: np.ndarray, odds: float) -> Bins:
    """Group rows in bins of equal width; `odds` are those of the class against its largest rival."""
    low, high = np.quantile(u, ENDS)
    place = np.clip((u - low) / max(high - low, 1e-9), 0.0, 1.0)
    number = np.minimum((place * N_BINS).astype(int), N_BINS - 1)
    n_rows = np.bincount(number, minlength=N_BINS)
    used = n_rows > 0
    mean_place = np.bincount(number, weights=place, minlength=N_BINS)[used] / n_rows[used]
    n_given = np.bincount(number, weights=is_given, minlength=N_BINS)[used]
    share = is_given.mean()
    logit = float(np.log(share / (1.0 - share)))
    return Bins(mean_place, n_rows[used].astype(float), n_given, logit, float(np.log(LIFT * odds)))


def fit_curve(bins: Bins, *, e: float | None = None, start: CurveFit | None = None) -> CurveFit:
    """Return the curve of greatest likelihood; for a fixed `e` if there is one.

    The likelihood can have several peaks, so the search begins at each of `STARTS`, or at a curve nearby.

    Examples
    --------
    >>> u = np.linspace(-1, 1, 4000)
    >>> rng = np.random.default_rng(0)
    >>> is_given = rng.random(4000) < 0.1 + 0.6 * expit(4 * u)  # e = 0.3, f = 0.1
    >>> curve = fit_curve(bin_values(u, is_given, 1.0))
    >>> round(curve.e, 1), round(curve.f, 1)
    (0.3, 0.1)
    """
    lowest = bins.logit - np.log(LIFT)
    limits = [(bins.logit - 2.0, bins.highest), (lowest, bins.logit + 2.0)]
    limits += [(0.0, HIGHEST) if e is None else (e, e), (0.0, HIGHEST)]
    first = (
        [(bins.logit + 2.0, bins.logit - 2.0, *rates) for rates in STARTS] if start is None else [start[:4]]
    )
    best = None
    for point in first:
        inside = np.clip(point, *np.transpose(limits))
        result = minimize(curve_loss, inside, args=(bins,), jac=True, bounds=limits, method=MINIMISER)
        if best is None or result.fun < best.fun:
            best = result
    assert best is not None
    top, bottom, e_fit, f = best.x.tolist()
    return CurveFit(top, bottom, e_fit, f, float(best.fun * bins.n_rows.sum()))


def curve_loss(point: np.ndarray, bins: Bins) -> tuple[float, np.ndarray]:
    """Return the mean negative log likelihood of (top, bottom, e, f), and its slope."""
    top, bottom, e, f = point
    q = expit(bottom + (top - bottom) * bins.place)
    eta = np.clip(f + (1.0 - e - f) * q, 1e-9, 1.0 - 1e-9)
    missed = bins.n_rows - bins.n_given
    loss = -np.sum(bins.n_given * np.log(eta) + missed * np.log1p(-eta))
    by_eta = missed / (1.0 - eta) - bins.n_given / eta
    by_logit = by_eta * (1.0 - e - f) * q * (1.0 - q)
    slope = (by_logit @ bins.place, by_logit @ (1.0 - bins.place), -by_eta @ q, by_eta @ (1.0 - q))
    n = bins.n_rows.sum()
    return loss / n, np.array(slope) / n


def profile_limit(bins: Bins, curve: CurveFit) -> float:
    """Return the least rate e whose best curve is not rejected against the best of all; one-sided.

    Twice the difference of the log likelihoods is compared with the quantile of chi-square with one degree
    of freedom (Wilks, 1938). Zero means that overlap alone explains the labels.
    """
    allowed = curve.loss + chi2.ppf(2.0 * LEVEL - 1.0, 1) / 2.0
    if fit_curve(bins, e=0.0).loss <= allowed:
        return 0.0
    start = curve

    def is_allowed(e):
        nonlocal start
        fit = fit_curve(bins, e=e, start=start)
        start = fit if fit.loss <= allowed else start
        return fit.loss <= allowed

    return halve_to_limit(is_allowed, curve.e)

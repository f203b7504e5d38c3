"""The noise of two classes: a curve of four numbers, averaged over all that they might be.

Let u be the out-of-bag mean value of the second class, and t its place in [0, 1] between the ends of u. With
the rate e of the second class and f of the first, the labels follow

    q(t) = P(true second | t) = logistic(bottom + (top - bottom) t)
    eta(t) = P(given second | t) = f + (1 - e - f) q(t)

(logistic regression with label noise: Bootkrajang and Kaban, ECML 2012; the four-parameter logistic of Barton
and Lord, ETS 1981).

Noise and natural overlap of the classes can look alike: then the likelihood is flat, and its maximum may lie
anywhere. So nothing is maximised. Every curve counts with its probability, likelihood times prior, and
whatever is asked is averaged over all curves: the probability that a label is wrong, and the rates.
Intervals are quantiles. The prior: a rate is zero with probability `NO_NOISE`, else it has density
(1 - e)^(`FEW` - 1), and e + f < `TOGETHER`; top and bottom are the log odds of the table plus
and minus a log lift, whose own logarithm is normal with mean and standard deviation `LOG_LIFT`. (Curves that
also bend either way left as many wrong labels on 300 tables, and took three times as long.)

Where people verified the label of a row at t, given g, and said v, the likelihood has one more factor,

    (1 - SLIP) P(true v | t, g) + SLIP / 2,

without g if the row has no label. People look at the worst rows first; which these are depends on t and g
alone, so it need not be modelled. Answers can make the rule bolder or more careful.

The four numbers are taken from a grid, which zooms in: first a share of the likelihood is used, so that no
peak is missed between the points, then all of it on the part of the grid that matters.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

NO_NOISE = 0.2  # many tables have a class without noise; 0.1 leaves as many wrong labels, 0.5 leaves more
FEW = 4.0  # half of the rates that are not zero lie below 0.16; 2 leaves as many, and harms more tables
TOGETHER = 0.8  # rates of both classes: beyond, labels hardly distinguish them
LOG_LIFT = (np.log(5.0), 0.7)  # of clean tables of all kinds: 1.5 to 30, mostly 3 to 9
LEVEL = 0.95  # of each end of an interval
SLIP = 0.02  # chance that a person answers at random: so no answer alone can exclude what the labels say

N_POINTS = 11  # of the grid along each axis
N_BINS = 24  # of equal width, and as many of equal numbers of rows
ENDS = (0.002, 0.998)  # quantiles of u; the curve is flat beyond them
ZOOM = 8.0  # factor between the shares of the likelihood
FIRST_ROWS = 1200  # that the first share is worth, at most
NEGLIGIBLE_POINT = 2e-3  # probability, as a share of the largest, beyond which the grid ends
WIDEST = ((-1.0, 3.6), (-1.0, 3.6), (0.0, TOGETHER), (0.0, TOGETHER))  # logarithms of log lifts, and rates


class Answers(NamedTuple):
    """What people said about rows."""

    values: np.ndarray  # (n_answers, n_classes), mean values of the votes
    given: np.ndarray  # (n_answers,), class numbers; -1 for a row without a label
    verified: np.ndarray  # (n_answers,)


class Bins(NamedTuple):
    """Rows grouped by their u."""

    ends: tuple[float, float]  # of u
    place: np.ndarray  # (n_bins,), mean t
    n_rows: np.ndarray  # (n_bins,)
    n_given: np.ndarray  # (n_bins,), rows given the second class
    n_verified: np.ndarray | None = None  # (3, 2, n_bins), by given label (last: none) and by answer

    @property
    def logit(self) -> float:
        """Log odds of the second class in the table."""
        given, n_rows = self.n_given.sum() + 0.5, self.n_rows.sum() + 1.0
        return float(np.log(given / (n_rows - given)))


class Grid(NamedTuple):
    """Curves, and how probable each is."""

    axes: tuple[np.ndarray, ...]  # log lift of the top and of the bottom, e and f, these two with zero first
    weight: np.ndarray  # (n_tops, n_bottoms, n_e, n_f), which add up to one
    q: np.ndarray  # (n_tops, n_bottoms, n_bins)


@dataclass(frozen=True, eq=False)
class Curve:
    """What is known about the noise of two classes, averaged over the curves."""

    ends: tuple[float, float]  # values u at places 0 and 1
    place: np.ndarray  # (n_places,): where the next two are known
    p_second: np.ndarray  # (n_places,): probability that the true class is the second
    # (2, n_places): probability that the given label is wrong, if it is the first class, and if it is the
    # second
    p_wrong: np.ndarray
    rates: np.ndarray  # (2,): of the first class (f), and of the second (e)
    rate_interval: np.ndarray  # (2, 2): their limits
    error_rate_interval: np.ndarray  # (2,): limits of the share of wrong labels

    def expect(self, u: np.ndarray) -> np.ndarray:
        """Return the probability of both true classes, whatever label is given; shape (n_rows, 2)."""
        q = np.interp(find_places(u, self.ends), self.place, self.p_second)
        return np.stack([1.0 - q, q], axis=1)

    def judge(self, u: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Return the probability of both true classes; `given` is -1 for a row without a label."""
        places = find_places(u, self.ends)
        if_first, if_second = (np.interp(places, self.place, p) for p in self.p_wrong)
        second = np.where(given == 1, 1.0 - if_second, if_first)
        found = np.stack([1.0 - second, second], axis=1)
        found[given < 0] = self.expect(u[given < 0])
        return found


def find_places(u: np.ndarray, ends: tuple[float, float]) -> np.ndarray:
    """Return the place of each value between the ends."""
    low, high = ends
    return np.clip((u - low) / max(high - low, 1e-9), 0.0, 1.0)


def bin_values(u: np.ndarray, is_given: np.ndarray, answers: Answers | None = None) -> Bins:
    """Group rows by u: narrow bins where rows are many, and where u is large or small."""
    ends = tuple(np.quantile(u, ENDS).tolist())
    t = find_places(u, ends)
    cuts = [np.linspace(0, 1, N_BINS + 1)[1:-1], np.quantile(t, np.linspace(0, 1, N_BINS + 1)[1:-1])]
    edges = np.unique(np.concatenate(cuts))
    number = np.searchsorted(edges, t, side="right")
    n_rows = np.bincount(number, minlength=len(edges) + 1)
    used = n_rows > 0
    place, n_given = (np.bincount(number, one, len(edges) + 1)[used] for one in (t, is_given))
    bins = Bins(ends, place / n_rows[used], n_rows[used].astype(float), n_given)
    if answers is None:
        return bins
    t = find_places(answers.values[:, 1], ends)
    n_verified = np.zeros((3, 2, len(bins.place)))
    nearest = np.abs(t[:, None] - bins.place).argmin(axis=1)
    np.add.at(n_verified, (answers.given, answers.verified, nearest), 1.0)
    return bins._replace(n_verified=n_verified)


def integrate_curve(
    u: np.ndarray, is_given: np.ndarray, answers: Answers | None = None, *, rates: np.ndarray | None = None
) -> Curve:
    """Return what labels and values say about the noise of two classes."""
    bins, box = bin_values(u, is_given, answers), WIDEST
    shares = [1.0]
    while shares[0] * len(u) > FIRST_ROWS:
        shares.insert(0, shares[0] / ZOOM)
    for share in shares:
        box = zoom_in(weigh_curves(bins, box, rates, share), box)
    curve = average_curves(bins, weigh_curves(bins, box, rates), box)
    return curve if rates is None else replace(curve, rate_interval=np.repeat(rates[:, None], 2, axis=1))


def weigh_curves(bins: Bins, box: tuple, rates: np.ndarray | None = None, share: float = 1.0) -> Grid:
    """Return the curves of a grid over a box, with the probability of each from a share of the likelihood."""
    axes, log_prior = [], np.zeros(())
    for number, (low, high) in enumerate(box):
        width = (high - low) / N_POINTS
        points = low + (np.arange(N_POINTS) + 0.5) * width
        if number >= 2 and rates is not None:
            points, log_mass = rates[[3 - number]], np.zeros(1)
        elif number < 2:
            log_mass = -(((points - LOG_LIFT[0]) / LOG_LIFT[1]) ** 2) / 2.0
            points = np.exp(points)
        else:
            mass = FEW * (1.0 - points) ** (FEW - 1.0) * width / (1.0 - (1.0 - TOGETHER) ** FEW)
            points, log_mass = np.append(0.0, points), np.log(np.append(NO_NOISE, (1.0 - NO_NOISE) * mass))
        axes.append(points)
        log_prior = log_prior[..., None] + log_mass
    tops, bottoms, e, f = axes
    q = compute_q(bins.place, bins.logit + tops, bins.logit - bottoms)
    possible = (e[:, None] + f < (TOGETHER if rates is None else np.inf)).ravel()
    slope = (1.0 - e[:, None] - f).ravel()[possible]
    floor = np.broadcast_to(f, (len(e), len(f))).ravel()[possible]
    eta = np.clip(floor[:, None] + slope[:, None] * q[:, :, None], 1e-9, 1.0 - 1e-9)
    log_weight = np.full((*q.shape[:-1], len(possible)), -np.inf)
    log_weight[..., possible] = np.log(eta) @ bins.n_given + np.log1p(-eta) @ (bins.n_rows - bins.n_given)
    if bins.n_verified is not None:
        log_weight[..., possible] += weigh_answers(bins.n_verified, q, 1.0 - slope - floor, floor)
    log_weight = share * log_weight.reshape(*q.shape[:-1], len(e), len(f)) + log_prior
    weight = np.exp(log_weight - log_weight.max())
    return Grid(tuple(axes), weight / weight.sum(), q)


def weigh_answers(n_verified: np.ndarray, q: np.ndarray, e: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the log likelihood of answers, for all q and all pairs of rates; `Bins` has the counts."""
    e, f = e[:, None], f[:, None]
    log_weight = np.zeros((*q.shape[:-1], len(e)))
    whole = np.ones_like(e)
    given_if = ((1.0 - f, e), (f, 1.0 - e), (whole, whole))  # true class first, second
    for counts, (if_first, if_second) in zip(n_verified, given_if, strict=True):
        there = np.flatnonzero(counts.sum(axis=0))
        if len(there) == 0:
            continue
        joint_first, joint_second = if_first * (1.0 - q[:, :, None, there]), if_second * q[:, :, None, there]
        second = joint_second / (joint_first + joint_second)
        for p, n in zip((1.0 - second, second), counts[:, there], strict=True):
            log_weight += np.log((1.0 - SLIP) * p + SLIP / 2.0) @ n
    return log_weight


def compute_q(place: np.ndarray, top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Return q at these places, for all log odds of both ends: shape (n_tops, n_bottoms, n_places)."""
    q = expit(bottom[:, None] + (top[:, None, None] - bottom[:, None]) * place)
    return np.clip(q, 1e-12, 1.0 - 1e-12)  # no class is ever impossible: else 0 / 0 where there is no noise


def zoom_in(grid: Grid, box: tuple) -> tuple:
    """Return the part of a box that matters, one point larger on each side."""
    smaller = []
    for number, (low, high) in enumerate(box):
        mass = grid.weight.sum(axis=tuple(axis for axis in range(4) if axis != number))[-N_POINTS:]
        kept, width = np.flatnonzero(mass > NEGLIGIBLE_POINT * mass.max()), (high - low) / N_POINTS
        limits = low + (kept[0] - 0.5) * width, low + (kept[-1] + 1.5) * width
        smaller.append((max(limits[0], WIDEST[number][0]), min(limits[1], WIDEST[number][1])))
    return tuple(smaller)


def average_curves(bins: Bins, grid: Grid, box: tuple) -> Curve:
    """Return the means over all curves, and intervals."""
    chosen = np.nonzero(grid.weight > 1e-7 * grid.weight.max())
    weight, q = grid.weight[chosen], grid.q[chosen[:2]]
    weight = weight / weight.sum()
    e, f = grid.axes[2][chosen[2]], grid.axes[3][chosen[3]]
    from_first, from_second = f[:, None] * (1.0 - q), e[:, None] * q  # P(wrong, true class | t)
    if_first = weight @ (from_second / (from_second + (1.0 - f[:, None]) * (1.0 - q)))
    if_second = weight @ (from_first / (from_first + (1.0 - e[:, None]) * q))
    errors = (from_first + from_second) @ (bins.n_rows / bins.n_rows.sum())
    order = np.argsort(errors, kind="stable")
    reached = np.searchsorted(np.cumsum(weight[order]), [1.0 - LEVEL, LEVEL])
    rates = np.array([weight @ f, weight @ e])
    marginal = (grid.weight.sum(axis=axes) for axes in ((0, 1, 2), (0, 1, 3)))
    limits = np.stack([find_limits(mass, *box[3 - c]) for c, mass in enumerate(marginal)])
    return Curve(
        bins.ends, bins.place, weight @ q, np.stack([if_first, if_second]), rates, widen(limits, rates),
        widen(errors[order[np.minimum(reached, len(order) - 1)]], weight @ errors),
    )  # fmt: skip


def widen(limits: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return intervals that contain the mean: it can lie outside if nearly all rates are zero."""
    return np.stack([np.minimum(limits[..., 0], mean), np.maximum(limits[..., 1], mean)], axis=-1)


def find_limits(mass: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the limits of a rate, from the probability of zero and of each point of a grid."""
    reached = np.cumsum(mass)
    edges = np.linspace(low, high, len(mass))
    return np.array([0.0 if p <= mass[0] else np.interp(p, reached, edges) for p in (1.0 - LEVEL, LEVEL)])

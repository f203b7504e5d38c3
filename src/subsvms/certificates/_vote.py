"""Count how many changed labels a verdict withstands, for any data and any adversary.

A subset is s independent draws: class c with probability w_c, then one of its n_c rows, each with
probability r_c = w_c / n_c. An adversary changes m labels: out_c rows leave class c, in_c rows enter it. A
draw before and a draw after can be coupled so that they are the same row with the same label with
probability 1 - tau,

    tau = sum_c w_c (1 - (n_c - out_c) / max(n_c, n_c - out_c + in_c)),

because a row that stays in c is drawn with the smaller of its two probabilities in both worlds. For two
classes, c losing i rows and d losing m - i <= i, tau is r_c i + w_d i / (n_d - m + 2i): it grows with i
while m < n_d, so the worst split sends all m rows the same way,

    tau(m) = max over (c, d) of   w_c m / n_c + w_d m / (n_d + m).

Whole rows may change instead of labels: then out and in are independent of each other. If c loses i rows and
does not grow, tau is largest if no row enters c, at r_c i + w_d m / (n_d + i), and as this is convex in i the
maximum is at one of the same two ends: changed rows are no worse than changed labels. For K >= 3 classes and
p = 1/2 the loss of a class is at most r_c max(out_c, in_c), which is convex, so with r' and r'' the two
largest r_c

    tau(m) <= m (r' + r'').

For K >= 3 and p other than 1/2 the w_c change with the sizes and nothing is certified; for two classes the
smaller must remain the smaller. No class may vanish: m is less than every n_c.

If subsets are drawn from a *pool* that holds only the rows of smallest hash of a class with many rows, a
row that leaves the pool is replaced by the next one, and a row that enters displaces the last. A class of
n_c rows in the pool then keeps all but max(out_c, in_c) of them, so the bound m (r' + r'') holds for two
classes, too.

Out-of-bag votes on row i come from SVMs that did not draw it. Given that, a draw yields any other row with
its old probability divided by 1 - r, where r is the probability of row i. Two coupled draws that avoid row i
in both worlds differ with probability at most

    tau(m) / (1 - r),

from overlap >= (1 - tau - q) / (1 - q) where i keeps its label and q <= r is the smaller of its two
probabilities, and from overlap >= 1 - tau where i is itself among the m.

All s draws agree with probability (1 - tau)^s, so no class's vote share moves by more than
delta = 1 - (1 - tau)^s, and a verdict with share v1 against v2 for the next class stands as long as
v1 - delta > v2 + delta. The shares are those of infinitely many SVMs. If k of n SVMs voted for a class, its
share lies within the limits of Clopper and Pearson (Biometrika 1934), and v2 <= 1 - v1 as well. Which
class won is read from the same votes, so the limits of all classes must hold at once (Bonferroni).

This is the certificate of bagging (Jia, Cao and Gong, AAAI 2021) for class-balanced, out-of-bag votes. It
makes no assumption about the data, but it does assume that an SVM depends on its own rows only. So it does
not cover class_weight="balanced"; nor, for changed rows, a kernel width taken from the table; nor SVMs that
are exactly undecided, whose vote goes to the larger class, if the changes put the classes in another order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from subsvms._callers import renamed
from subsvms._numbers import check_count, check_range, check_type, lower_limit, read_array
from subsvms.ensemble._sampling import class_probabilities
from subsvms.ensemble._votes import Votes
from subsvms.exceptions import InputError

CERTIFICATE_LEVEL = 0.999  # for one row; the limits widen slowly as it grows, so it costs few changes


@dataclass(frozen=True)
class CertifiedCurve:
    """How many verdicts stand, by the number of changed labels.

    Attributes
    ----------
    n_changes, share : ndarray of shape (max_changes + 1,)
        0, 1, 2, ..., and the share of the rows whose verdict withstands this many changes.

    Examples
    --------
    >>> certified_curve([0, 0, 1, 3]).share
    array([1.  , 0.5 , 0.25, 0.25])
    """

    n_changes: np.ndarray
    share: np.ndarray


def changed_draw(
    n_changed: ArrayLike, sizes: ArrayLike, p: float = 0.5, *, pooled: bool = False
) -> np.ndarray:
    """Return tau(m), an upper bound on the probability that changed labels change one draw."""
    # It holds for the worst choice of at most m labels, and of at most m whole rows. It is 1 where nothing
    # can be certified: a class could vanish, or the class probabilities could change. In a pool, other rows
    # take the place of those that leave it.
    m, sizes = np.asarray(n_changed), np.asarray(sizes)
    if np.any(m < 0):
        raise ValueError(f"n_changed must be 0 or more; got {m.min()}.")
    w = class_probabilities(sizes, p)
    r = w / np.maximum(sizes, 1)
    if len(sizes) == 2 and not pooled:
        tau = np.maximum(r[0] * m + w[1] * m / (sizes[1] + m), r[1] * m + w[0] * m / (sizes[0] + m))
    else:
        tau = m * np.sort(r)[-2:].sum()
    return np.where((m > _most_changes(sizes, p)) & (m > 0), 1.0, tau)


def _most_changes(sizes: np.ndarray, p: float) -> int:
    """Return the largest m for which tau(m) holds."""
    smallest, largest = int(sizes.min()), int(sizes.max())
    if p == 0.5:
        return smallest - 1
    if len(sizes) > 2:
        return 0
    return min(smallest - 1, (largest - smallest - 1) // 2)  # so that smallest + m < largest - m


@renamed(confidence="level")
def count_withstood(
    votes: Votes, sizes: ArrayLike, given: ArrayLike, size: int, *, p: float = 0.5,
    level: float | None = CERTIFICATE_LEVEL, pooled: bool = False,
) -> np.ndarray:  # fmt: skip
    """Return for each row how many changed labels its verdict is certain to withstand.

    The verdict is the class with the most votes. Any labels may change, including the row's own, or whole
    rows other than this one; see the top of this module for what an SVM may depend on.

    Parameters
    ----------
    votes : Votes
        Out-of-bag votes of training rows, or votes on new rows.
    sizes : array-like of int of shape (n_classes,)
        Rows of each class in the training table.
    given : array-like of int of shape (n_rows,)
        Class number of each row in the training table; -1 for a row that is not in it.
    size : int
        Number of draws in a subset.
    p : float, default=0.5
        The sampling bias.
    level : float or None, default=CERTIFICATE_LEVEL
        Probability, over the draw of the subsets and for one row, that the number is not too large. With
        None the votes are taken as the true shares.
    pooled : bool, default=False
        Whether the rows are a pool, so that other rows take the place of those that leave it.

    Returns
    -------
    ndarray of int of shape (n_rows,)
        0 if one change could turn the verdict, if the vote is tied, or if no SVM voted.

    Examples
    --------
    Three rows of a table with 395 and 1210 rows: 700 SVMs agree, 600 of 700 agree, and a tie.

    >>> votes = Votes(np.array([[0, 700], [600, 100], [350, 350]]), np.zeros((3, 2)), np.full(3, 700))
    >>> count_withstood(votes, [395, 1210], [1, 0, 0], size=54)
    array([7, 4, 0])
    """
    check_type("votes", votes, "the votes of a correction or a classifier", Votes)
    check_count("size", size)
    check_type("pooled", pooled, "True or False", bool, np.bool_)
    check_range("p", p, 0, 1, "()")
    if level is not None:
        check_range("level", level, 0, 1, "()")
    counts = np.asarray(votes.counts)
    n_k: np.ndarray = read_array("sizes", sizes, np.int64)
    numbers: np.ndarray = read_array("given", given, np.int64)
    _check_inputs(counts, n_k, numbers)
    tolerated = np.maximum(_half_margin(counts, np.asarray(votes.n_voters), level), 0.0)
    r = np.append(class_probabilities(n_k, p) / np.maximum(n_k, 1), 0.0)  # the last one is for -1
    allowed = -np.expm1(np.log1p(-tolerated) / size) * (1.0 - r[numbers])  # delta < tolerated, solved for tau

    # No margin is above 1/2, and tau(m) is at least m times each r: beyond this m no verdict can stand.
    most = min(_most_changes(n_k, p), int(-np.expm1(np.log(0.5) / size) / r.max()))
    tau = changed_draw(np.arange(1, max(most, 0) + 1), n_k, p, pooled=pooled)
    return np.searchsorted(tau, allowed, side="left")


def _check_inputs(counts, sizes, given):
    n_rows, n_classes = counts.shape
    if sizes.shape != (n_classes,):
        raise ValueError(f"sizes must give the rows of each of {n_classes} classes; got {sizes!r}.")
    if given.shape != (n_rows,) or np.any((given < -1) | (given >= n_classes)):
        raise ValueError(f"given must hold {n_rows} class numbers from -1 to {n_classes - 1}.")


def _half_margin(counts, n_voters, level):
    """Return a lower limit of half the difference between the winner's share and the next one's."""
    second, first = np.partition(counts, -2, axis=1)[:, -2:].T
    if level is None:
        n = np.where(n_voters > 0, n_voters, 1)
        return (first - second) / n / 2
    # Between two classes a lower limit for one is an upper limit for the other: 2 limits, not 4.
    n_classes = counts.shape[1]
    error = (1.0 - level) / (2 if n_classes == 2 else 2 * n_classes)
    least = _lower_limit(first, n_voters, error)
    rest = 1.0 - least
    if n_classes > 2:  # the limit of the second class is also the largest among all but the first
        rest = np.minimum(rest, 1.0 - _lower_limit(n_voters - second, n_voters, error))
    return (least - rest) / 2


def _lower_limit(k, n, error):
    """Return a lower limit of a share, from k of n draws: too high with probability <= error."""
    pairs = k.astype(np.int64) * (int(n.max(initial=0)) + 1) + n
    _, at, inverse = np.unique(pairs, return_index=True, return_inverse=True)
    return lower_limit(k[at], n[at], 1.0 - error)[inverse]  # many rows share a few thousand pairs


LAST = 10_000_000  # number of changes up to which a curve is drawn


def certified_curve(withstood: ArrayLike, max_changes: int | None = None) -> CertifiedCurve:
    """Return the share of rows whose verdict withstands at least 0, 1, 2, ... changes.

    `withstood` is what `count_withstood` returns. The curve ends at `max_changes`, by default at its largest.

    Examples
    --------
    >>> certified_curve([0, 0, 1, 3]).share
    array([1.  , 0.5 , 0.25, 0.25])
    """
    found: np.ndarray = read_array("withstood", withstood, np.int64)
    if found.ndim != 1 or found.size == 0 or found.min() < 0:
        expected = "withstood must hold numbers of at least 0, for at least one row"
        raise InputError(f"{expected}, as from count_withstood.")
    last = int(found.max())
    if max_changes is not None:
        check_count("max_changes", max_changes, least=0)
        last = min(int(max_changes), LAST)
    numbers = np.bincount(np.minimum(found, last), minlength=last + 1)
    return CertifiedCurve(np.arange(last + 1), numbers[::-1].cumsum()[::-1] / len(found))

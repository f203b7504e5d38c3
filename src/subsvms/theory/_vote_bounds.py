"""How often an SVM trained on a corrupted subset errs, and how often a vote of J does: Theorems 3 and 6.

An SVM is trained on s draws from the corrupted table. With probability 1 - eta they hold r/2 clean rows of
each class; then, by Theorem 3, its error rate on further such draws is, with probability 1 - delta, at most

    epsilon = c/s ((R^2 + 4 R^2 (s - r)) / margin^2 log^2 s + log(1/delta)).

On rows drawn uniformly that is at most epsilon / p*, p* = min(p, 1-p) (Appendix A), and against the *clean*
labels at most epsilon / p* + rho beta, where rho beta is the share of wrong labels. In all, an SVM errs with
probability at most

    phi = (1 - eta - delta) (epsilon / p* + rho beta) + eta + delta,

and if phi < 1/2 a majority of J SVMs errs with probability at most exp(-2 J (1/2 - phi)^2).

Four warnings. The constant c is not known; the theorem only says that there is one. The last step uses phi,
the error rate averaged over rows, as if it held for each row; a row that most SVMs get wrong stays wrong
whatever J is. Equation (3) of the paper has only half of the second term that phi < 1/2 requires (p* is 1/2,
so it counts twice); here everything is computed from phi itself. Finally, where the paper substitutes theta
for a part of epsilon (`epsilon_if_regular`), it uses a limit of an error rate as a term of a bound on it.

The letters, in all functions:

    n, s, r      training rows; rows in a subset; how many of them are clean, at most s
    R            radius of a ball around the origin that holds the data, in the kernel's space; 1 for rbf
    margin       the margin that the slack refers to, more than 0
    slack        |xi|^2: the sum of the squared amounts by which rows miss the margin
    c            the theorem's constant. Its value has never been stated; 1 is a hopeful guess
    theta        error rate of regular data, less than 1/2
    epsilon      error rate of an SVM on p-biased draws; p is the sampling bias, 1/2 by default
    eta, delta   probability that a subset has too few clean rows; that epsilon fails, less than 1/2
    error_rate   share of wrong labels, rho beta, less than 1/2
    J, phi       SVMs that vote; probability that one of them errs
    failure      accepted probability that the vote errs
"""

from bisect import bisect_left
from math import ceil, exp, inf, log

from scipy.special import betainc

from subsvms._numbers import check_count, check_range, check_subset

FARTHEST = 10**15  # rows; a larger number would be of no use


def generalisation_bound(
    n: int, *, R: float, margin: float, delta: float, c: float, slack: float = 0.0
) -> float:
    """Bound the error rate of a linear function on data like its n training rows (Theorem 3).

    `c/n ((R^2 + |xi|^2) / margin^2 log^2 n + log(1/delta))`, with probability 1 - delta (Cristianini and
    Shawe-Taylor, 2000, Theorem 4.22).

    Examples
    --------
    >>> round(generalisation_bound(10_000, R=1.0, margin=0.5, delta=0.05, c=1.0), 3)
    0.034
    """
    check_count("n", n)
    check_range("R", R, 0, inf, "()")
    check_range("margin", margin, 0, inf, "()")
    check_range("delta", delta, 0, 0.5, "()")
    check_range("c", c, 0, inf, "()")
    check_range("slack", slack, 0, inf, "[)")
    return c / n * ((R**2 + slack) / margin**2 * log(n) ** 2 + log(1 / delta))


def regular_size(theta: float, *, R: float, margin: float, delta: float, c: float) -> int:
    """Return an r at which separable data are regular, from Theorem 3 (Lemma 2).

    It is the smallest r such that the bound without slack is at most theta for r and every larger size. For
    real tables it is huge; `estimate_regularity` measures a useful one.

    Examples
    --------
    >>> regular_size(0.25, R=1.0, margin=0.5, delta=0.05, c=1.0)
    699
    """
    check_range("theta", theta, 0, 0.5, "()")

    def is_enough(r):
        return generalisation_bound(r, R=R, margin=margin, delta=delta, c=c) <= theta

    r = bisect_left(range(FARTHEST), True, lo=8, key=is_enough)  # log^2 r / r falls from r = e^2 on
    if r == FARTHEST:
        raise ValueError(
            f"No r up to {FARTHEST:g} rows brings the bound to theta = {theta!r}: use a larger margin."
        )
    while r > 1 and is_enough(r - 1):  # below e^2 the bound need not fall: one step at a time
        r -= 1
    return r


def epsilon(s: int, r: int, *, R: float, margin: float, delta: float, c: float) -> float:
    """Bound the error rate of an SVM on draws like its s training rows, r of them clean (Section 3.1).

    Theorem 3 with `|xi|^2 = 4 R^2 (s - r)`: each of the other rows misses the margin by at most 2R. Assumes
    that the clean data are separable with this margin.

    Examples
    --------
    >>> round(epsilon(54, 54, R=1.0, margin=0.5, delta=0.05, c=0.1), 3)
    0.123
    """
    check_subset(s, r)
    return generalisation_bound(s, R=R, margin=margin, delta=delta, c=c, slack=4 * R**2 * (s - r))


def epsilon_if_regular(theta: float, s: int, r: int, *, R: float, margin: float, c: float) -> float:
    """Bound the same error rate for data that are r-regular at (delta, theta) (Section 3.1, last display).

    theta + c/s 4 R^2 (s - r) / margin^2 log^2 s: regularity replaces the part without slack. That step is
    the paper's and is not a proof: Definition 1 limits an error rate, not that part of the bound on it.

    Examples
    --------
    >>> epsilon_if_regular(0.2, 16, 16, R=1.0, margin=0.5, c=1.0)
    0.2
    """
    check_subset(s, r)
    check_range("theta", theta, 0, 0.5, "[)")
    check_range("R", R, 0, inf, "()")
    check_range("margin", margin, 0, inf, "()")
    check_range("c", c, 0, inf, "()")
    return theta + c / s * 4 * R**2 * (s - r) / margin**2 * log(s) ** 2


def uniform_error_rate(error_rate: float, p: float = 0.5) -> float:
    """Bound the error rate on rows drawn uniformly by that on p-biased draws (Appendix A).

    The p-biased rate is a mean of the two classes' rates with weights p and 1 - p, so neither class's rate,
    nor any other mean of the two, exceeds it divided by p* = min(p, 1-p). The bound is reached where all
    errors are in the class with the smaller weight and all rows belong to that class.

    Examples
    --------
    >>> uniform_error_rate(0.1), uniform_error_rate(0.1, p=0.2)
    (0.2, 0.5)
    """
    check_range("error_rate", error_rate, 0, inf, "[)")
    check_range("p", p, 0, 1, "()")
    return error_rate / min(p, 1 - p)


def phi(epsilon: float, *, eta: float, delta: float, error_rate: float, p: float = 0.5) -> float:
    """Bound the probability that one SVM errs on a row drawn uniformly, against clean labels (Theorem 6).

    At most 1; one half or more says nothing about the vote. epsilon may be bounded or measured.

    Examples
    --------
    >>> round(phi(0.05, eta=0.01, delta=0.01, error_rate=0.2), 3)
    0.314
    """
    check_range("epsilon", epsilon, 0, inf, "[)")
    check_range("error_rate", error_rate, 0, 0.5, "[)")
    kept = _kept(eta, delta)
    return min(kept * (uniform_error_rate(epsilon, p) + error_rate) + 1.0 - kept, 1.0)


def tolerable_error_rate(epsilon: float, *, eta: float, delta: float, p: float = 0.5) -> float:
    """Return the share of wrong labels below which phi < 1/2 (Theorem 6, computed from phi).

    1 - epsilon / p* - 1 / (2 (1 - eta - delta)). If it is zero or less, nothing is guaranteed, not even with
    clean labels.

    Examples
    --------
    >>> round(tolerable_error_rate(0.05, eta=0.01, delta=0.01), 3)
    0.39
    """
    check_range("epsilon", epsilon, 0, inf, "[)")
    kept = _kept(eta, delta)
    return 1.0 - uniform_error_rate(epsilon, p) - (1.0 / (2.0 * kept) if kept > 0 else inf)


def _kept(eta, delta):
    """Return the probability that neither assumption fails."""
    check_range("eta", eta, 0, 1, "[]")
    check_range("delta", delta, 0, 0.5, "[)")
    return max(1.0 - eta - delta, 0.0)


def vote_failure(J: int, phi: float) -> float:
    """Bound the probability that the majority of J SVMs errs on a row: exp(-2 J (1/2 - phi)^2) (Theorem 6).

    Assumes that each SVM errs on *this* row with probability at most phi, independently; phi of Theorem 6
    is an average over rows. Ties count as errors.

    Examples
    --------
    >>> round(vote_failure(100, 0.3), 5)
    0.00034
    """
    check_count("J", J)
    check_range("phi", phi, 0, 1, "[]")
    return exp(-2 * J * (0.5 - phi) ** 2) if phi < 0.5 else 1.0


def vote_failure_exact(J: int, phi: float) -> float:
    """Return the exact probability P[Bin(J, phi) >= J/2] that the majority of J SVMs errs on a row.

    Examples
    --------
    >>> round(vote_failure_exact(3, 0.1), 3)
    0.028
    """
    check_count("J", J)
    check_range("phi", phi, 0, 1, "[]")
    most = ceil(J / 2) - 1  # errors that the vote survives
    return float(betainc(most + 1, J - most, phi))


def votes_needed(phi: float, failure: float) -> int:
    """Return the smallest J for which `vote_failure` is at most `failure` (Theorem 6).

    Examples
    --------
    >>> votes_needed(0.3, 0.001)
    87
    """
    check_range("phi", phi, 0, 0.5, "[)")
    check_range("failure", failure, 0, 1, "()")
    return max(ceil(log(1 / failure) / (2 * (0.5 - phi) ** 2)), 1)

"""The statements of the paper about random subsets and votes, one function each.

**How many clean rows a random subset of corrupted data holds: Appendix B and Lemma 7.**

A table has two classes, A with a share beta <= 1/2 of the rows, and B. An adversary flips rho beta l of its
l labels: the share alpha of them from B to A, the rest from A to B. A subset is s draws, each from the rows
*given* A with probability p and from those given B with probability 1 - p. Then, in one draw,

    P(a_g) = p (1 - (1-alpha) rho) / (1 + alpha rho - (1-alpha) rho)        a clean row of A
    P(b_g) = (1-p) (1 - beta - alpha rho beta) / (1 - beta - alpha rho beta + (1-alpha) rho beta)

and eta is the probability that the subset has fewer than r/2 clean rows of A, or of B. Whatever the
adversary does, P(a_g) >= p / (1+rho) and P(b_g) >= (1-p) / (1+rho).

"Fewer than r/2" is at most k = ceil(r/2) - 1, so an odd r counts as r + 1. Three things differ from the
paper: the first term of its Hoeffding bound has 1 - rho where 1 + rho is meant; its factors 1/2 make that
bound false, as P[Bin(10, 1/2) <= 5] = 0.62 shows; and its third derivative is with respect to beta. None of
them moves the minimiser, so Lemma 7 stands: its size is where the corrected bound at p = 1/2 falls below one.

**How often an SVM trained on a corrupted subset errs, and how often a vote of J does: Theorems 3 and 6.**

An SVM is trained on s draws from the corrupted table. With probability 1 - eta they hold r/2 clean rows of
each class; then, by Theorem 3, its error rate on further such draws is, with probability 1 - delta, at most

    epsilon = c/s ((R^2 + 4 R^2 (s - r)) / margin^2 log^2 s + log(1/delta)).

On rows drawn uniformly that is at most epsilon / p*, p* = min(p, 1-p) (Appendix A), and against the *clean*
labels at most epsilon / p* + rho beta, where rho beta is the share of wrong labels. In all, an SVM errs with
probability at most

    phi = (1 - eta - delta) (epsilon / p* + rho beta) + eta + delta,

and if phi < 1/2 a majority of J SVMs errs with probability at most exp(-2 J (1/2 - phi)^2).

Where a step of the paper is no proof, or its line does not hold as printed, the function says so. The
letters, in all functions:

    rho, alpha   flips as a share of class A, less than 1; share of them that are taken from B, from 0 to 1
    beta, p      share of class A, at most 1/2; probability that a draw is from the rows given A, which is to
                 stay the smaller class, by default 1/2
    n, s, r      training rows; rows in a subset; clean rows in it, half of each class, at most s
    R            radius of a ball around the origin that holds the data, in the kernel's space; 1 for rbf
    margin       the margin that the slack refers to, more than 0
    slack        |xi|^2: the sum of the squared amounts by which rows miss the margin
    c            the theorem's constant. Its value has never been stated; 1 is a hopeful guess
    theta        error rate of regular data, less than 1/2
    epsilon      error rate of an SVM on p-biased draws
    eta, delta   probability that a subset has too few clean rows; that epsilon fails, less than 1/2
    error_rate   share of wrong labels, rho beta, less than 1/2
    J, phi       SVMs that vote; probability that one of them errs
    failure      accepted probability that the vote errs
"""

from bisect import bisect_left
from math import ceil, exp, floor, inf, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import betainc
from scipy.stats import binom

from subsvms._numbers import check_count, check_range
from subsvms.exceptions import InputError

FARTHEST = 10**15  # rows; a larger number would be of no use
RANGES = {  # of the letters that have the same one everywhere
    "rho": (0, 1, "[)"), "alpha": (0, 1, "[]"), "beta": (0, 0.5, "(]"), "p": (0, 1, "()"),
    "delta": (0, 0.5, "()"), **dict.fromkeys(("R", "margin", "c"), (0, inf, "()")),
    **dict.fromkeys(("epsilon", "slack"), (0, inf, "[)")),
}  # fmt: skip


class DrawProbabilities(NamedTuple):
    """Probabilities of what a draw yields: rows labelled A that belong to A, and to B; then those labelled B.

    Examples
    --------
    >>> round(draw_probabilities(rho=0.75, alpha=1.0, beta=0.25).a_bad, 3)
    0.214
    """

    a_good: float
    a_bad: float
    b_good: float
    b_bad: float


def draw_probabilities(rho: float, alpha: float, beta: float, p: float = 0.5) -> DrawProbabilities:
    """Return the probabilities of drawing a clean or a wrong row of each class (Appendix B).

    Examples
    --------
    >>> draw = draw_probabilities(rho=0.75, alpha=1.0, beta=0.25)  # the smaller class is flooded
    >>> [round(value, 3) for value in draw]
    [0.286, 0.214, 0.5, 0.0]
    """
    check_letters(rho=rho, alpha=alpha, beta=beta, p=p)
    a_good, a_bad = beta - (1 - alpha) * rho * beta, alpha * rho * beta
    b_good, b_bad = 1 - beta - alpha * rho * beta, (1 - alpha) * rho * beta
    a, b = a_good + a_bad, b_good + b_bad
    return DrawProbabilities(p * a_good / a, p * a_bad / a, (1 - p) * b_good / b, (1 - p) * b_bad / b)


def worst_draw_probabilities(rho: float, p: float = 0.5) -> tuple[float, float]:
    """Return the least P(a_g) and P(b_g) that an adversary can reach (Appendix B).

    The first is reached by alpha = 1, the second by alpha = 0 with beta = 1/2; never both at once.

    Examples
    --------
    >>> worst_draw_probabilities(rho=0.6)
    (0.3125, 0.3125)
    """
    check_letters(rho=rho, p=p)
    return p / (1 + rho), (1 - p) / (1 + rho)


def eta_exact(s: int, r: int, *, rho: float, alpha: float, beta: float, p: float = 0.5) -> float:
    """Return the exact probability, trinomial, that a subset has fewer than r/2 clean rows of A, or of B.

    Examples
    --------
    >>> round(eta_exact(54, 16, rho=0.75, alpha=0.5, beta=0.25), 5)
    0.00166
    """
    few = check_subset(s, r) - 1
    draw = draw_probabilities(rho, alpha, beta, p)
    counts = np.arange(few + 1)
    a = binom.pmf(counts, s, draw.a_good)
    both = np.sum(a * binom.cdf(few, s - counts, min(draw.b_good / (1 - draw.a_good), 1.0)))
    return eta_sum(s, r, rho=rho, alpha=alpha, beta=beta, p=p) - float(both)


def eta_sum(s: int, r: int, *, rho: float, alpha: float, beta: float, p: float = 0.5) -> float:
    """Return the paper's two binomial sums, an upper bound on eta (Appendix B, first inequality).

    Subsets with too few clean rows of both classes are counted twice.

    Examples
    --------
    >>> round(eta_sum(54, 16, rho=0.75, alpha=0.5, beta=0.25), 5)
    0.00166
    """
    few = check_subset(s, r) - 1
    draw = draw_probabilities(rho, alpha, beta, p)
    return float(binom.cdf(few, s, draw.a_good) + binom.cdf(few, s, draw.b_good))


def eta_worst(s: int, r: int, *, rho: float, p: float = 0.5) -> float:
    """Return the two binomial sums for the worst adversary (Appendix B, second inequality).

    It bounds `eta_sum` for every alpha and beta.

    Examples
    --------
    >>> round(eta_worst(54, 16, rho=0.75), 4)
    0.0113
    """
    few = check_subset(s, r) - 1
    return float(sum(binom.cdf(few, s, q) for q in worst_draw_probabilities(rho, p)))


def eta_hoeffding(s: int, r: int, *, rho: float, p: float = 0.5) -> float:
    """Return Hoeffding's bound on `eta_worst`, corrected (Appendix B, third inequality).

    Each tail P[Bin(s, q) <= k] is at most exp(-2 (s q - k)^2 / s) where s q > k, and at most 1 elsewhere.

    Examples
    --------
    >>> round(eta_hoeffding(54, 16, rho=0.75), 3)
    0.144
    """
    few = check_subset(s, r) - 1
    excess = [s * q - few for q in worst_draw_probabilities(rho, p)]
    return sum(exp(-2 * t * t / s) if t > 0 else 1.0 for t in excess)


def smallest_size_lemma_7(r: int) -> int:
    """Return the smallest s for which p = 1/2 is the best choice against any adversary (Lemma 7).

    s >= 2r + 4 sqrt(r log 2 + log^2 2 - log 4) + log 16 - 4, which is `smallest_size` at rho = 1. "Best"
    means that it minimises `eta_hoeffding`; nothing is said about eta itself.

    Examples
    --------
    >>> smallest_size_lemma_7(16)
    44
    """
    r = 2 * check_subset(r, r)
    return ceil(2 * r + 4 * sqrt(r * log(2) + log(2) ** 2 - log(4)) + log(16) - 4)


def smallest_size(r: int, rho: float) -> int:
    """Return the smallest s for which p = 1/2 minimises `eta_hoeffding` at this rho (Appendix B, last line).

    There the bound at p = 1/2 falls to one, its value for p near 0 or 1, where one of the two tails is one
    and the other vanishes (for very small s only nearly). For a smaller s no p gives a bound below one.

    Examples
    --------
    >>> smallest_size(16, rho=0.0), smallest_size(16, rho=0.75)
    (20, 38)
    """
    r = 2 * check_subset(r, r)
    check_letters(rho=rho)
    root = sqrt(log(2) * (log(2) + 2 * r + rho * log(2) - 4) / (1 + rho))
    return max(ceil((1 + rho) * (r - 2 + (1 + rho) * (log(2) + root))), r)


def smallest_size_local(r: int, rho: float) -> int:
    """Return the smallest s for which `eta_hoeffding` has a *local* minimum at p = 1/2 (Appendix B).

    This is the weaker condition: the second derivative is positive there. (The paper also allows zero, as
    for r = 4, s = 4, rho = 0; that is a maximum.) A p far from 1/2 can still be better.

    Examples
    --------
    >>> smallest_size_local(16, rho=0.75), smallest_size(16, rho=0.75)
    (35, 38)
    """
    r = 2 * check_subset(r, r)
    check_letters(rho=rho)
    root = sqrt((4 * r + rho - 7) / (1 + rho))
    return max(floor((1 + rho) * (r - 2 + (1 + rho) * (1 + root) / 2) + 1e-9) + 1, r)


def generalisation_bound(
    n: int, *, R: float, margin: float, delta: float, c: float, slack: float = 0.0
) -> float:
    """Bound the error rate of a linear function on data like its n training rows (Theorem 3).

    `c/n ((R^2 + |xi|^2) / margin^2 log^2 n + log(1/delta))`, with probability 1 - delta (Cristianini and
    Shawe-Taylor, 2000, Theorem 4.22). The theorem says only that there is a constant c, not its value.

    Examples
    --------
    >>> round(generalisation_bound(10_000, R=1.0, margin=0.5, delta=0.05, c=1.0), 3)
    0.034
    """
    check_count("n", n)
    check_letters(R=R, margin=margin, delta=delta, c=c, slack=slack)
    return c / n * ((R**2 + slack) / margin**2 * log(n) ** 2 + log(1 / delta))


def regular_size(theta: float, *, R: float, margin: float, delta: float, c: float) -> int:
    """Return an r at which separable data are regular, from Theorem 3 (Lemma 2).

    The bound without slack is at most theta for r and every larger size. For real tables it is huge;
    `estimate_regularity` measures a useful one.

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
        found = f"No r up to {FARTHEST:g} rows brings the bound to theta = {theta!r}"
        raise ValueError(f"{found}: use a larger margin.")
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
    check_letters(R=R)
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
    check_letters(R=R, margin=margin, c=c)
    return theta + c / s * 4 * R**2 * (s - r) / margin**2 * log(s) ** 2


def uniform_error_rate(error_rate: float, p: float = 0.5) -> float:
    """Bound the error rate on rows drawn uniformly by that on p-biased draws (Appendix A).

    The p-biased rate is a mean of the two classes' rates with weights p and 1 - p, so neither class's rate,
    nor any other mean of the two, exceeds it divided by p* = min(p, 1-p).

    Examples
    --------
    >>> uniform_error_rate(0.1), uniform_error_rate(0.1, p=0.2)
    (0.2, 0.5)
    """
    check_range("error_rate", error_rate, 0, inf, "[)")
    check_letters(p=p)
    return error_rate / min(p, 1 - p)


def phi(epsilon: float, *, eta: float, delta: float, error_rate: float, p: float = 0.5) -> float:
    """Bound the probability that one SVM errs on a row drawn uniformly, against clean labels (Theorem 6).

    At most 1; one half or more says nothing about the vote. epsilon may be bounded or measured.

    Examples
    --------
    >>> round(phi(0.05, eta=0.01, delta=0.01, error_rate=0.2), 3)
    0.314
    """
    check_letters(epsilon=epsilon)
    check_range("error_rate", error_rate, 0, 0.5, "[)")
    kept = _kept(eta, delta)
    return min(kept * (uniform_error_rate(epsilon, p) + error_rate) + 1.0 - kept, 1.0)


def tolerable_error_rate(epsilon: float, *, eta: float, delta: float, p: float = 0.5) -> float:
    """Return the share of wrong labels below which phi < 1/2 (Theorem 6, computed from phi).

    1 - epsilon / p* - 1 / (2 (1 - eta - delta)). If it is zero or less, nothing is guaranteed, not even with
    clean labels. Equation (3) of the paper has only half of the second term (p* is 1/2, so it counts twice).

    Examples
    --------
    >>> round(tolerable_error_rate(0.05, eta=0.01, delta=0.01), 3)
    0.39
    """
    check_letters(epsilon=epsilon)
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
    is an average over rows, and a row that most SVMs get wrong stays wrong whatever J is. Ties count as
    errors.

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


def check_letters(**values: float) -> None:
    """Raise an error unless each value is one that its letter can have."""
    for name, value in values.items():
        check_range(name, value, *RANGES[name])


def check_subset(s: int, r: int) -> int:
    """Return r/2 rounded up, the rows of each class; raise an error if r is more than the subset's s rows."""
    check_count("r", r)
    check_count("s", s)
    if r > s:
        raise InputError(f"r must be at most s, the size of the subset, {s}; got {r}.")
    return -(-r // 2)

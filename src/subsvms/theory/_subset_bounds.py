"""How many clean rows a random subset of corrupted data holds: Appendix B and Lemma 7 of the paper.

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

The letters, in all functions:

    rho     flips as a share of class A, at least 0 and less than 1
    alpha   share of the flips that are taken from the larger class B, from 0 to 1
    beta    share of class A among the clean labels, more than 0 and at most 1/2
    p       probability that a draw is from the rows given A, between 0 and 1. Definition 5 says "from the
            smaller class", so for p other than 1/2 this assumes that A stays the smaller class
    s, r    draws in a subset; clean rows wanted, half of each class, at most s
"""

from math import ceil, exp, floor, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from subsvms._numbers import check_range, check_subset


class DrawProbabilities(NamedTuple):
    """Probabilities of what one draw yields; the four sum to one.

    Attributes
    ----------
    a_good, a_bad : float
        A row labelled A that belongs to A, and one that belongs to B.
    b_good, b_bad : float
        A row labelled B that belongs to B, and one that belongs to A.

    Examples
    --------
    >>> from subsvms.theory import draw_probabilities
    >>> draw = draw_probabilities(rho=0.75, alpha=1.0, beta=0.25)
    >>> round(draw.a_good, 3), round(draw.a_bad, 3)
    (0.286, 0.214)
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
    check_range("rho", rho, 0, 1, "[)")
    check_range("alpha", alpha, 0, 1, "[]")
    check_range("beta", beta, 0, 0.5, "(]")
    check_range("p", p, 0, 1, "()")
    a_good, a_bad = beta - (1 - alpha) * rho * beta, alpha * rho * beta
    b_good, b_bad = 1 - beta - alpha * rho * beta, (1 - alpha) * rho * beta
    a, b = a_good + a_bad, b_good + b_bad
    return DrawProbabilities(p * a_good / a, p * a_bad / a, (1 - p) * b_good / b, (1 - p) * b_bad / b)


def worst_draw_probabilities(rho: float, p: float = 0.5) -> tuple[float, float]:
    """Return the least P(a_g) and P(b_g) that an adversary can reach (Appendix B).

    The first is reached by alpha = 1 with any beta, the second by alpha = 0 with beta = 1/2; never both at
    once, so what is computed from both is a bound, not an exact value.

    Examples
    --------
    >>> worst_draw_probabilities(rho=0.6)
    (0.3125, 0.3125)
    """
    check_range("rho", rho, 0, 1, "[)")
    check_range("p", p, 0, 1, "()")
    return p / (1 + rho), (1 - p) / (1 + rho)


def eta_exact(s: int, r: int, *, rho: float, alpha: float, beta: float, p: float = 0.5) -> float:
    """Return the exact probability that a subset has fewer than r/2 clean rows of A, or of B.

    The numbers of clean rows of A, clean rows of B and wrong rows are trinomial.

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

    It bounds `eta_sum` for every alpha and beta. Assumes that class A is drawn with probability p.

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

    A bound of one or more says nothing.

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
    r = 2 * check_subset(None, r)
    return ceil(2 * r + 4 * sqrt(r * log(2) + log(2) ** 2 - log(4)) + log(16) - 4)


def smallest_size(r: int, rho: float) -> int:
    """Return the smallest s for which p = 1/2 minimises `eta_hoeffding` at this rho (Appendix B, last line).

    There the bound at p = 1/2 falls to one, its value for p near 0 or 1, where one of the two tails is one
    and the other vanishes. (For very small s it only nearly vanishes: the condition is always sufficient, and
    necessary except there.) For a smaller s no p gives a bound below one.

    Examples
    --------
    >>> smallest_size(16, rho=0.0), smallest_size(16, rho=0.75)
    (20, 38)
    """
    r = 2 * check_subset(None, r)
    check_range("rho", rho, 0, 1, "[)")
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
    r = 2 * check_subset(None, r)
    check_range("rho", rho, 0, 1, "[)")
    root = sqrt((4 * r + rho - 7) / (1 + rho))
    return max(floor((1 + rho) * (r - 2 + (1 + rho) * (1 + root) / 2) + 1e-9) + 1, r)

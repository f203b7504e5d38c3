"""Limits of a number that follows from two counts, known by random rows of two strata, for any sample size.

Stratum h has N_h rows, of which W_h, nobody knows how many, are right. n_h rows are drawn from it at random,
without replacement; X_h of them are right, hypergeometric. Wanted is an upper limit of f(W_1, W_2), where f
does not decrease in either count. Let T = f(N_1 X_1 / n_1, N_2 X_2 / n_2), and t what it came out as. With
alpha = a + g, and a region R of pairs that X gives and that holds W with probability 1 - g at least,

    U = max of f(w) over the pairs w in R with P_w(T <= t) > a.

*Why it holds.* U is below f(W) only if W is not in R, or if P_W(T <= t) <= a. The first has probability g at
most. So has the second, a at most: t is what T came out as, and a variable is as small as its own
a-quantile with probability a at most. Together: alpha at most, whatever W is. (Buehler, 1957; without R it
would be his limit, and the worst pair, with half of the large stratum right, would make it wide: Berger and
Boos, 1994.) R is the product of two-sided hypergeometric limits, each of the four at g / 4.

*Computed exactly.* X_h grows with W_h stochastically, and T with X_h: so P_w(T <= t) decreases in w_2, and
the largest w_2 for each w_1 is found by bisection. Many w_1 are taken in blocks: the probability at the
smallest of a block, and f at its largest, which can only widen the limit.

Lower limits are those of the wrong rows: -f(N - V) with V = N - W is a number of the same kind.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

FOR_REGION = 0.05  # of alpha, for the region R
MOST_BLOCKS = 200
TIE = 1e-9  # values of T that differ by less are the same
Number = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Strata:
    """What is known about two strata: arrays of shape (2,); a stratum may be empty."""

    sizes: np.ndarray
    asked: np.ndarray
    right: np.ndarray  # of those that were asked

    def swap(self) -> "Strata":
        """Return the same with right and wrong exchanged."""
        return Strata(self.sizes, self.asked, self.asked - self.right)


def find_upper(number: Number, strata: Strata, alpha: float) -> float:
    """Return an upper limit of `number(W_1, W_2)`: it is too low with probability alpha at most."""
    spare = FOR_REGION * alpha
    found = zip(strata.sizes.tolist(), strata.asked.tolist(), strata.right.tolist(), strict=True)
    (low_1, high_1), (low_2, high_2) = (find_region(N, n, x, spare / 2.0) for N, n, x in found)
    edges = np.unique(np.linspace(low_1, high_1 + 1, min(high_1 - low_1 + 1, MOST_BLOCKS) + 1).astype(int))
    first, last = edges[:-1], edges[1:] - 1
    most = count_most(number, strata)
    chance_1 = list_chances(strata.sizes[0], first, strata.asked[0])
    low, high = np.full(len(first), low_2 - 1), np.full(len(first), high_2)  # low: it holds, or nothing does
    while np.any(low < high):
        middle = (low + high + 1) // 2
        below = np.cumsum(list_chances(strata.sizes[1], np.maximum(middle, 0), strata.asked[1]), axis=1)
        below = np.column_stack([np.zeros(len(first)), below])
        holds = np.sum(chance_1 * below[:, most + 1], axis=1) > alpha - spare
        low, high = np.where(holds, middle, low), np.where(holds, high, middle - 1)
    some = low >= low_2
    return float(np.max(number(last[some], low[some])))


def find_lower(number: Number, strata: Strata, alpha: float) -> float:
    """Return a lower limit of `number(W_1, W_2)`: it is too high with probability alpha at most."""
    one, two = strata.sizes
    return -find_upper(lambda v, w: -number(one - v, two - w), strata.swap(), alpha)


def count_most(number: Number, strata: Strata) -> np.ndarray:
    """Return, for each x_1, the largest x_2 with T <= t; -1 if there is none."""
    scale = strata.sizes / np.maximum(strata.asked, 1)
    x_1, x_2 = np.ogrid[: strata.asked[0] + 1, : strata.asked[1] + 1]
    values = number(x_1 * scale[0], x_2 * scale[1])
    observed = number(*(strata.right * scale))
    return np.sum(values <= observed + TIE, axis=1) - 1


def find_region(size: int, asked: int, right: int, alpha: float) -> tuple[int, int]:
    """Return the least and the largest W of a stratum, both limits with alpha together."""

    def chance(w, few):
        chances = list_chances(size, np.array([w]), asked)[0]
        return chances[: right + 1].sum() if few else chances[right:].sum()

    low, high = right, right + size - asked
    least = low + bisect(high - low, lambda k: chance(low + k, False) <= alpha / 2.0)
    largest = high - bisect(high - low, lambda k: chance(high - k, True) <= alpha / 2.0)
    return least, largest


def bisect(most: int, is_out: Callable[[int], bool]) -> int:
    """Return the least k from 0 to `most` that is not out; `most` is not."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if is_out(middle):
            low = middle + 1
        else:
            high = middle
    return low


def list_chances(size: int, right: np.ndarray, asked: int) -> np.ndarray:
    """Return P(X = x) for each number of right rows and x from 0 to `asked`: (len(right), asked + 1)."""
    log = list_log_factorials(int(size))
    x, right = np.arange(asked + 1), np.asarray(right)[:, None]
    left, others = right - x, size - right - asked + x  # right and wrong rows that are not drawn
    possible = (left >= 0) & (others >= 0)
    left, others = np.maximum(left, 0), np.maximum(others, 0)
    ways = log[right] - log[left] + log[size - right] - log[others] - log[x] - log[asked - x]
    all_ways = log[size] - log[asked] - log[size - asked]
    return np.where(possible, np.exp(ways - all_ways), 0.0)


@lru_cache(maxsize=8)
def list_log_factorials(n: int) -> np.ndarray:
    """Return log k! for k from 0 to n."""
    return gammaln(np.arange(n + 1.0) + 1.0)

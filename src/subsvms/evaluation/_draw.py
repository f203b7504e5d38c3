"""Which rows of a test set to ask about: random ones, more where an answer says more.

Two strata, by what the metric counts:

    accuracy                  rows where the given label is the prediction, and the others: mostly wrong ones
    balanced accuracy, F1     rows that are predicted as the one class, and as the other: with a of N_a and b
                              of N_b right, 1/2 [a / (a + N_b - b) + b / (b + N_a - a)] and 2 a / (a + N - b)

Each of these numbers grows with both counts. Answers are shared in proportion to N_h s_h d_h: s_h is about
the standard deviation of "right" in a stratum, and d_h how much one more right row adds (Neyman, 1934). Both
are guesses from the given labels; they decide how wide an interval is, and not whether it holds.

*Limits* of a number that follows from two counts, for any sample size. Stratum h has N_h rows, of which W_h,
nobody knows how many, are right. n_h rows are drawn from it at random, without replacement; X_h of them are
right, hypergeometric. Wanted is an upper limit of f(W_1, W_2), where f does not decrease in either count. Let
T = f(N_1 X_1 / n_1, N_2 X_2 / n_2), and t what it came out as. With alpha = a + g, and a region R of pairs
that X gives and that holds W with probability 1 - g at least,

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

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from subsvms._labels import Classes, check_labels
from subsvms._numbers import check_count, check_seed, read_array
from subsvms.exceptions import InputError, format_value

METRICS = ("accuracy", "balanced_accuracy", "f1")
SPREADS = np.array([0.36, 0.46])  # of "right" where the given label is the prediction, and where it is not
LEAST_SPREAD = 0.3
FEWEST = 4  # answers in a stratum
LEAST_RIGHT = 0.02  # of a stratum: nothing is divided by nearly nothing
FOR_REGION = 0.05  # of alpha, for the region R
MOST_BLOCKS = 200
TIE = 1e-9  # values of T that differ by less are the same
Number = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Tested(NamedTuple):
    """The labels of a test set: class numbers, of shape (n_rows,)."""

    classes: np.ndarray
    given: np.ndarray
    predictions: list[np.ndarray]

    @classmethod
    def read(cls, y_noisy: ArrayLike, *predictions: ArrayLike) -> "Tested":
        """Check labels that a user passes."""
        columns = [read_array("y_noisy and y_pred", column, None) for column in (y_noisy, *predictions)]
        if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1 or not len(columns[0]):
            found = ", ".join(str(column.shape) for column in columns)
            said = "Given labels and predictions must be columns with one label for each row"
            raise InputError(f"{said}; got arrays of shape {found}: leave out rows without a label.")
        classes, numbers = check_labels(np.concatenate(columns), sum(map(len, columns)))
        given, *predicted = np.split(numbers, len(columns))
        return cls(classes, given, predicted)

    def find_positive(self, positive: Any) -> int:
        """Return the number of the positive class of two: by default the second one."""
        if len(self.classes) > 2:
            there = f"Balanced accuracy and F1 are for two classes here, and there are {len(self.classes)}"
            raise InputError(f"{there}: ask for the accuracy.")
        return 1 if positive is None else Classes(self.classes).find(positive, "positive")

    def split(self, metric: str, positive: Any) -> tuple[np.ndarray, Number]:
        """Return whether each row is in the first stratum, and the metric, of right rows in both."""
        predicted, n = self.predictions[0], len(self.given)
        if not isinstance(metric, str) or metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}; got {format_value(metric)}.")
        if metric == "accuracy":
            return self.given == predicted, lambda a, b: (a + b) / n
        first = predicted == self.find_positive(positive)
        n_a = int(first.sum())
        n_b = n - n_a
        if metric == "f1":
            return first, lambda a, b: divide(2.0 * a, a + n - b)
        return first, lambda a, b: (divide(a, a + n_b - b) + divide(b, b + n_a - a)) / 2.0


def divide(a: Any, b: Any) -> Any:
    """Return a / b, and 0 for 0 / 0: no row of a class, and so none found."""
    zeros = np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b)))
    return np.divide(a, b, out=zeros, where=np.asarray(b) > 0)


def draw_test_rows(
    y_noisy: ArrayLike, y_pred: ArrayLike, n_answers: int = 50, *, other: ArrayLike | None = None,
    metric: str = "accuracy", positive: Any = None, random_state: int | None = None,
) -> list[int]:  # fmt: skip
    """Draw the rows of a test set to ask people about, for `score_interval` or `compare_models`.

    Parameters
    ----------
    y_noisy, y_pred : array-like of shape (n_rows,)
        The labels as they were given, and the predictions of a model that has not seen these rows.
    n_answers : int, default=50
        How many answers there will be; all of them are needed.
    other : array-like of shape (n_rows,), default=None
        Predictions of a second model, for `compare_models`: only rows on which the two differ are drawn, all
        of them if there are no more.
    metric : {"accuracy", "balanced_accuracy", "f1"}, default="accuracy"
        What will be asked for; the last two need two classes.
    positive : label, default=None
        The positive class of "f1"; None is the second one in sorted order.
    random_state : int, default=None
        The seed; None is 0. To draw again, because an interval does not please, voids it.

    Returns
    -------
    list of int
        Rows, in random order. Show people neither the given label nor the prediction.

    Examples
    --------
    >>> import numpy as np
    >>> y_noisy = np.array(["ham", "spam"] * 500)
    >>> y_pred = np.where(np.arange(1000) < 100, "ham", y_noisy)
    >>> rows = draw_test_rows(y_noisy, y_pred, 40)
    >>> len(rows), int(np.sum(y_noisy[rows] != y_pred[rows]))
    (40, 4)
    """
    tested = Tested.read(y_noisy, y_pred, *([] if other is None else [other]))
    check_count("n_answers", n_answers, least=2 * FEWEST)
    asked = np.ones(len(tested.given), dtype=bool)
    if other is not None:
        asked = tested.predictions[0] != tested.predictions[1]
        n_answers = min(n_answers, int(asked.sum()))
    elif n_answers > len(asked):
        raise InputError(f"n_answers must be at most the number of rows, {len(asked)}; got {n_answers}.")
    first, number = tested.split("accuracy" if other is not None else metric, positive)
    sizes = np.array([np.sum(asked & first), np.sum(asked & ~first)])
    weights = sizes * SPREADS
    if other is None and metric != "accuracy":
        right = tested.given == tested.predictions[0]
        weights = weigh(number, sizes, np.array([np.sum(right & first), np.sum(right & ~first)]))
    rng = np.random.default_rng([check_seed(random_state), 4])
    strata = (np.flatnonzero(asked & first), np.flatnonzero(asked & ~first))
    shares = allocate(sizes, weights, n_answers)
    drawn = [rng.choice(rows, n, replace=False) for rows, n in zip(strata, shares, strict=True)]
    return rng.permutation(np.concatenate(drawn)).tolist()


def weigh(number: Number, sizes: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return how many answers each stratum should have, in proportion, if the given labels were true."""
    share = np.clip(right / np.maximum(sizes, 1), LEAST_RIGHT, 1.0 - LEAST_RIGHT)
    at, step = share * sizes, 0.5 * LEAST_RIGHT * sizes
    adds = np.array([number(*(at + step * one)) - number(*(at - step * one)) for one in np.eye(2)])
    return adds * np.maximum(np.sqrt(share * (1.0 - share)), LEAST_SPREAD)


def allocate(sizes: np.ndarray, weights: np.ndarray, n: int) -> np.ndarray:
    """Return how many of n answers each of two strata gets: `FEWEST` at least, and never more than it has."""
    first = round(n * weights[0] / max(weights.sum(), 1e-300))
    first = min(max(first, FEWEST), n - FEWEST)
    first = min(max(first, n - sizes[1]), sizes[0])
    return np.array([first, n - first], dtype=int)


@dataclass(frozen=True, eq=False)
class Strata:
    """What is known about two strata: arrays of shape (2,); a stratum may be empty."""

    sizes: np.ndarray
    asked: np.ndarray
    right: np.ndarray  # of those that were asked

    def swap(self) -> "Strata":
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

    unasked = range(size - asked)  # of which so many are right: the first and the last that are possible
    least = bisect_left(unasked, True, key=lambda k: chance(right + k, False) > alpha / 2.0)
    wrong = bisect_left(unasked, True, key=lambda k: chance(right + size - asked - k, True) > alpha / 2.0)
    return right + least, right + size - asked - wrong


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
    return gammaln(np.arange(n + 1.0) + 1.0)

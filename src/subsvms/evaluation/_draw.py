"""Which rows of a test set to ask about: random ones, more where an answer says more.

Two strata, by what the metric counts:

    accuracy                  rows where the given label is the prediction, and the others: mostly wrong ones
    balanced accuracy, F1     rows that are predicted as the one class, and as the other: with a of N_a and b
                              of N_b right, 1/2 [a / (a + N_b - b) + b / (b + N_a - a)] and 2 a / (a + N - b)

Each of these numbers grows with both counts. Answers are shared in proportion to N_h s_h d_h: s_h is about
the standard deviation of "right" in a stratum, and d_h how much one more right row adds (Neyman, 1934). Both
are guesses from the given labels; they decide how wide an interval is, and not whether it holds.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from subsvms._labels import Classes, check_labels
from subsvms._numbers import check_count, check_seed, read_array
from subsvms.evaluation._limits import Number
from subsvms.exceptions import InputError, format_value

METRICS = ("accuracy", "balanced_accuracy", "f1")
SPREADS = np.array([0.36, 0.46])  # of "right" where the given label is the prediction, and where it is not
LEAST_SPREAD = 0.3
FEWEST = 4  # answers in a stratum
LEAST_RIGHT = 0.02  # of a stratum: nothing is divided by nearly nothing


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
            raise InputError(
                "Given labels and predictions must be columns with one label for each row; got arrays of "
                f"shape {found}: leave out rows without a label."
            )
        classes, numbers = check_labels(np.concatenate(columns), sum(map(len, columns)))
        given, *predicted = np.split(numbers, len(columns))
        return cls(classes, given, predicted)

    def find_positive(self, positive: Any) -> int:
        """Return the number of the positive class of two: by default the second one."""
        if len(self.classes) > 2:
            raise InputError(
                f"Balanced accuracy and F1 are for two classes here, and there are {len(self.classes)}: ask "
                "for the accuracy."
            )
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
    return np.divide(
        a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=np.asarray(b) > 0
    )


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

"""The score of a model on the true labels of a test set, though these labels are noisy: an interval.

People answer about some rows (`_draw`). What follows is a limit of a number that grows with two counts
(`_draw`): it holds for any noise, any model and any number of answers, if the answers are right. The test
set stays as it is: an answer says what the score is, and cleans nothing. To correct the labels that look
wrong, and score with those, favours models that err as the correction does.

Where nobody can tell, the lower limit takes the prediction for wrong, the upper one for right.

*Two models.* Where they agree, both are right or both are wrong: only the D rows on which they differ count.
With two classes one of the two is right on each of these: with W for the first, the difference of the
accuracies is (2 W - D) / N, and W is a count as above, in the strata "the given label is the prediction of
the first" and "is not". With three and more classes both may be wrong: it is (W - W') / N, with limits of W
and of W', the rows on which the second is right, each with half of what they may miss.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subsvms._labels import Classes, as_list
from subsvms._numbers import check_range
from subsvms.evaluation._draw import Number, Strata, Tested, find_lower, find_upper
from subsvms.exceptions import InputError, format_value

NAMES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "f1": "F1"}


@dataclass(frozen=True)
class Limits:
    """What answers say about a number on the true labels; `noisy` is what it is by the given labels."""

    low: float
    high: float
    level: float
    noisy: float
    n_answers: int
    n_untold: int
    n_rows: int


@dataclass(frozen=True)
class ScoreInterval(Limits):
    """A score on the true labels: its limits; `str` says it."""

    metric: str

    def __str__(self) -> str:
        return (
            f"With {100 * self.level:.6g} % confidence the {NAMES[self.metric]} on the true labels is "
            f"between {100 * self.low:.1f} % and {100 * self.high:.1f} %, if the {format_answers(self)} are "
            f"right; with the labels as given it is {100 * self.noisy:.1f} %."
        )


@dataclass(frozen=True)
class Comparison(Limits):
    """The accuracy of a model minus that of another on the true labels: limits; `str` says it."""

    n_differ: int

    def __str__(self) -> str:
        low, high, noisy = (f"{100.0 * one + 0.0:+.1f}" for one in (self.low, self.high, self.noisy))
        sure = f"With {100 * self.level:.6g} % confidence the accuracies on the true labels differ by"
        found = f"{sure} {low} to {high}"
        if self.low == self.high:
            asked = f"All {self.n_differ} rows on which the models differ were asked about"
            found = f"{asked}: the accuracies on the true labels differ by {low}"
        answers = format_answers(self)
        given = f"with the labels as given it is {noisy}"
        return f"{found} percentage points, if the {answers} are right; {given}."


def format_answers(found: Limits) -> str:
    untold = f", {found.n_untold} of them 'cannot tell'," if found.n_untold else ""
    return f"{found.n_answers} answers{untold}"


def score_interval(
    y_noisy: ArrayLike, y_pred: ArrayLike, rows: Sequence[int], answers: Sequence[Any], *,
    metric: str = "accuracy", positive: Any = None, level: float = 0.95,
) -> ScoreInterval:  # fmt: skip
    """Return an interval of a model's score on the true labels of a test set whose labels are noisy.

    It holds with the probability `level` at least, for any noise and any model, if the answers are right and
    the rows are those that `draw_test_rows` drew for this metric, all of them and no others. Nothing is
    cleaned.

    Parameters
    ----------
    y_noisy, y_pred : array-like of shape (n_rows,)
        The labels as they were given, and the predictions of a model that has not seen these rows.
    rows : sequence of int
        Of `draw_test_rows`, with the same metric.
    answers : sequence of labels
        What the label of each of these rows should be; None for "cannot tell", which widens the interval.
    metric : {"accuracy", "balanced_accuracy", "f1"}, default="accuracy"
    positive : label, default=None
        As for `draw_test_rows`.
    level : float, default=0.95

    Returns
    -------
    ScoreInterval
        `low`, `high` and `noisy`, the score if the given labels were true; `str` says it in one sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms.evaluation import draw_test_rows, score_interval
    >>> clean, every = np.arange(1000) % 2, np.arange(1000)
    >>> y_noisy, y_pred = np.where(every < 150, 1 - clean, clean), np.where(every < 50, 0, clean)
    >>> rows = draw_test_rows(y_noisy, y_pred, 100)
    >>> found = score_interval(y_noisy, y_pred, rows, clean[rows].tolist())  # here people would answer
    >>> found.noisy, bool(found.low < 0.975 < found.high)
    (0.875, True)
    """
    tested = Tested.read(y_noisy, y_pred)
    check_range("level", level, 0.5, 1, "[)")
    first, number = tested.split(metric, positive)
    asked, told = read_answers(tested, rows, answers)
    (predicted,) = tested.predictions
    everywhere = np.ones(len(first), dtype=bool)
    limits = find_limits(number, everywhere, first, asked, told == predicted[asked], told < 0, 1.0 - level)
    right = tested.given == predicted
    noisy = float(number(np.sum(right & first), np.sum(right & ~first)))
    return ScoreInterval(*limits, level, noisy, len(asked), int(np.sum(told < 0)), len(first), metric)


def compare_models(
    y_noisy: ArrayLike, y_pred: ArrayLike, other: ArrayLike, rows: Sequence[int], answers: Sequence[Any], *,
    level: float = 0.95,
) -> Comparison:  # fmt: skip
    """Return an interval of the accuracy of a model minus that of another, on the true labels of a test set.

    Only rows on which the two differ are asked about. If all of them are, the difference is known exactly.

    Parameters
    ----------
    y_noisy, y_pred, answers, level
        As of `score_interval`.
    other : array-like of shape (n_rows,)
        The predictions of the other model.
    rows : sequence of int
        Of `draw_test_rows` with these predictions and `other`.

    Returns
    -------
    Comparison
        `low`, `high` and `noisy`, as of `score_interval`; `n_differ` rows have different predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms.evaluation import compare_models, draw_test_rows
    >>> clean = np.arange(1000) % 2
    >>> one, other = clean.copy(), np.where(np.arange(1000) < 30, 1 - clean, clean)
    >>> rows = draw_test_rows(clean, one, 50, other=other)
    >>> print(compare_models(clean, one, other, rows, clean[rows].tolist()))
    All 30 rows on which the models differ were asked about: the accuracies on the true labels differ by +3.0
    percentage points, if the 30 answers are right; with the labels as given it is +3.0.
    """
    tested = Tested.read(y_noisy, y_pred, other)
    check_range("level", level, 0.5, 1, "[)")
    one, two = tested.predictions
    differ = one != two
    n, n_differ = len(differ), int(differ.sum())
    asked, told = read_answers(tested, rows, answers)
    if not differ[asked].all():
        row = int(asked[~differ[asked]][0])
        raise InputError(f"Both models predict the same for row {row}: draw rows on which they differ.")
    first, untold, alpha = tested.given == one, told < 0, 1.0 - level

    def limit(predicted, alpha):
        return find_limits(np.add, differ, first, asked, told == predicted[asked], untold, alpha)

    if len(tested.classes) == 2:
        low, high = (2.0 * count - n_differ for count in limit(one, alpha))
    else:
        ours, theirs = limit(one, alpha / 2.0), limit(two, alpha / 2.0)
        low, high = ours[0] - theirs[1], ours[1] - theirs[0]
    noisy = (np.sum(tested.given == one) - np.sum(tested.given == two)) / n
    counts = len(asked), int(untold.sum()), n, n_differ
    return Comparison(low / n, high / n, level, float(noisy), *counts)


def read_answers(tested: Tested, rows: Sequence, answers: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows, and what the answers are: class numbers, -1 for "cannot tell"."""
    rows, answers = as_list(rows), as_list(answers)
    if len(rows) != len(answers):
        raise InputError(f"There must be one answer for each row; got {len(answers)} for {len(rows)} rows.")
    n, seen = len(tested.given), set()
    for row in rows:
        if isinstance(row, bool) or not isinstance(row, int | np.integer) or not 0 <= row < n or row in seen:
            expected = f"rows must be different numbers from 0 to {n - 1}, as drawn"
            raise InputError(f"{expected}; got {format_value(row)}.")
        seen.add(row)
    classes, what = Classes(tested.classes), ("An answer", ", or None for 'cannot tell'")
    told = [-1 if one is None else classes.find(one, *what) for one in answers]
    return np.array(rows, dtype=int), np.array(told, dtype=int)


def find_limits(
    number: Number, inside: np.ndarray, first: np.ndarray, asked: np.ndarray, right: np.ndarray,
    untold: np.ndarray, alpha: float,
) -> tuple[float, float]:  # fmt: skip
    """Return both limits of a number of right rows among those `inside`, which are in two strata."""
    strata = [inside & first, inside & ~first]
    sizes = np.array([one.sum() for one in strata])
    counted = (np.ones(len(asked), dtype=bool), right & ~untold, untold)
    n, surely, untold = (np.array([np.sum(some & one[asked]) for one in strata]) for some in counted)
    low = find_lower(number, Strata(sizes, n, surely), alpha / 2.0)
    return low, find_upper(number, Strata(sizes, n, surely + untold), alpha / 2.0)

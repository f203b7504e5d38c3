"""How many labels are wrong in all? Random rows and the interval of Clopper and Pearson.

This is a question of its own: the answers of an audit are not a plain random sample, and intervals that treat
them as one, or correct for it by a model, do not cover.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms._callers import renamed, renamed_attribute
from subsvms._numbers import check_count, check_range, check_seed, check_type, lower_limit, upper_limit
from subsvms.audit._ranking import Ranking, as_ranking
from subsvms.correction import Correction
from subsvms.exceptions import InputError


@dataclass(frozen=True)
class ErrorRate:
    """The share of wrong labels in a table, from random rows; `str` says it in one sentence.

    Attributes
    ----------
    n_answers, n_wrong, n_untold, n_rows : int
        Rows that were asked; wrong ones; those about which nobody could tell; all rows.
    low, high, level : float
        Limits of the share, for which rows that nobody could tell about count as right, and as wrong.

    Examples
    --------
    >>> from subsvms.audit import Ranking, estimate_error_rate
    >>> ranking = Ranking.make(["a", "b"] * 500, ["b", "a"] * 500, range(1000))
    >>> rate = estimate_error_rate(ranking, {row: "a" for row in range(0, 100, 2)} | {101: "a"})
    >>> rate.n_wrong, round(rate.high, 3)
    (1, 0.104)
    """

    n_answers: int
    n_wrong: int
    n_untold: int
    n_rows: int
    low: float
    high: float
    level: float

    confidence = renamed_attribute("confidence", "level")

    def __str__(self) -> str:
        untold = f" (and about {self.n_untold} nobody could tell)" if self.n_untold else ""
        few, many = int(np.ceil(self.low * self.n_rows)), int(self.high * self.n_rows)
        return (
            f"Of {self.n_answers} labels drawn at random {self.n_wrong} "
            f"{'was' if self.n_wrong == 1 else 'were'} wrong{untold}: with "
            f"{100 * self.level:.6g} % confidence between {100 * self.low:.1f} % and {100 * self.high:.1f} % "
            f"of all labels are wrong, that is, {few:,} to {many:,} of {self.n_rows:,}."
        )


def draw_rows(
    source: Correction | Ranking, n_answers: int = 50, *, random_state: int | None = None
) -> list[int]:
    """Return rows to ask for `estimate_error_rate`: plain random rows that have a label nobody verified.

    Examples
    --------
    >>> draw_rows(Ranking.make(["a", "b"] * 50, ["b", "a"] * 50, np.arange(100.0)), 5)
    [7, 28, 94, 22, 39]
    """
    order = as_ranking(source).order
    check_count("n_answers", n_answers)
    seed = check_seed(random_state)
    if n_answers > len(order):
        raise InputError(f"n_answers must be at most the number of labels, {len(order)}; got {n_answers}.")
    rng = np.random.default_rng([seed, 2])
    return rng.choice(np.sort(order), n_answers, replace=False).tolist()


@renamed(confidence="level")
def estimate_error_rate(
    source: Correction | Ranking, answers: Mapping[int, Any], *, level: float = 0.95
) -> ErrorRate:
    """Estimate how many labels are wrong, from answers about the rows of `draw_rows`.

    Parameters
    ----------
    source : Correction or Ranking
    answers : mapping of row number to label
        About all rows that were drawn, and no others; None for "cannot tell".
    level : float, default=0.95

    Examples
    --------
    >>> ranking = Ranking.make(["a", "b"] * 500, ["b", "a"] * 500, np.arange(1000.0))
    >>> print(estimate_error_rate(ranking, {row: "a" for row in range(0, 100, 2)} | {101: "a"}))
    Of 51 labels drawn at random 1 was wrong: with 95 % confidence between 0.0 % and 10.4 % of all labels are
    wrong, that is, 1 to 104 of 1,000.
    """
    ranking = as_ranking(source)
    check_range("level", level, 0, 1, "()")
    check_type("answers", answers, "a dictionary, {row: label}", Mapping)
    if not answers:
        raise InputError("There are no answers to estimate from: ask about the rows of draw_rows.")
    allowed = set(ranking.order.tolist())
    odd = [row for row in answers if row not in allowed]
    if odd:
        raise InputError(f"Answers must be about rows with a label that nobody verified; got row {odd[0]!r}.")
    found = [None if label is None else ranking.number(label) for label in answers.values()]
    n, untold = len(found), sum(one is None for one in found)
    pairs = zip(answers, found, strict=True)
    wrong = sum(one is not None and one != ranking.given[row] for row, one in pairs)
    side = (1.0 + level) / 2.0
    low, high = float(lower_limit(wrong, n, side)), float(upper_limit(wrong + untold, n, side))
    return ErrorRate(n, int(wrong), untold, len(ranking.order), low, high, level)

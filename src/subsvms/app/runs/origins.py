"""Whether contradicted labels gather at one value of a column, as they do if one annotator is worse.

Where the votes are divided, many labels contradict them, whoever made them. So rows are compared with others
that got the same votes: those with the same winner and about the same share of the votes. Among the N rows of
such a stratum, m contradict their winner; if n of the N have the value v, n m / N of these would be expected
to contradict it, too. Over all strata, O contradict it and E are expected to. The value stands out if

    P(Poisson(E) >= O)  <  CHANCE / (number of values looked at)   and   odds ratio  >=  WORSE,

with the odds ratio of Mantel and Haenszel (1959). O varies less than a Poisson number with mean E, so the
first is on the safe side; the second keeps apart small differences in large tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import poisson

from subsvms._sentences import Note, Setting
from subsvms.app.features.columns import number_values
from subsvms.app.words import show

MOST_VALUES = 50  # of a column that may say who labelled a row
STRATA = 10  # of the rows with the same winner
CHANCE = 0.01  # of a value that stands out in a table where none is worse
WORSE = 2.0


@dataclass(frozen=True)
class Origin:
    """A value of a column at which contradicted labels gather."""

    column: str
    value: Any  # None or NaN if it is missing
    n_rows: int  # rows with this value and a label, and how many of these labels contradict the vote
    n_contradicted: int
    expected: float  # how many would, if they were like other rows with the same votes


def find_origins(columns: Mapping[str, np.ndarray], given: np.ndarray, share: np.ndarray) -> list[Origin]:
    """Return the values at which contradicted labels gather, at most one for each column, clearest first.

    Shapes: columns (n_rows,); given (n_rows,); share (n_rows, n_classes).
    """
    known = np.flatnonzero((given >= 0) & ~np.isnan(share).any(axis=1))
    winner = share[known].argmax(axis=1)
    contradicted = winner != given[known]
    if not contradicted.any():
        return []
    strata = number_strata(winner, share[known, winner])
    found, n_tests = [], 0
    for name, values in columns.items():
        codes, n_values = number_values(values[known])
        if not 2 <= n_values <= MOST_VALUES:
            continue
        n_tests += n_values
        worst, chance, *numbers = _find_worst(codes, n_values, strata, contradicted)
        found.append((chance, Origin(name, values[known[np.argmax(codes == worst)]], *numbers)))
    clear = [pair for pair in found if pair[0] < CHANCE / n_tests]
    return [origin for _, origin in sorted(clear, key=lambda pair: pair[0])]


def format_origins(origins: Sequence[Origin]) -> list[Note]:
    """Return a note on the clearest value at which contradicted labels gather; none without any."""
    if not origins:
        return []
    first = origins[0]
    n_more = len(origins) - 1
    more = f" The same holds for {n_more} more column{'s' if n_more > 1 else ''}." if n_more else ""
    value = "missing" if first.value is None or first.value != first.value else show(_as_plain(first.value))
    words = (
        "Where {column} is {value}, {n:,} of {n_rows:,} labels contradict the votes; of other rows with such "
        "votes, about {expected:,.0f} would.{more} If the column says who labelled a row, or where it came "
        "from, see the noise by it, and learn nothing from it, with {by}."
    )
    return [
        Note(
            "origin", words, column=show(first.column), value=value, n=first.n_contradicted,
            n_rows=first.n_rows, expected=first.expected, more=more, by=Setting("by", first.column),
        )
    ]  # fmt: skip


def _as_plain(value):
    """Return a number without decimals that say nothing, as a column of text has it."""
    return (str(int(value)) if value.is_integer() else repr(value)) if isinstance(value, float) else value


def number_strata(winner: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the stratum of each row: the same winner, and about the same share of the votes."""
    place = np.empty(len(winner), dtype=np.int64)
    for number in np.unique(winner):
        own = np.flatnonzero(winner == number)
        rank = np.searchsorted(np.sort(share[own]), share[own])  # equal shares are in one stratum
        place[own] = rank * STRATA // len(own)
    return winner * STRATA + place


def _find_worst(codes, n_values, strata, contradicted):
    """Return the value that stands out most, how likely that is by chance, its rows, and O and E of above."""
    cells, shape = codes * (strata.max() + 1) + strata, (n_values, strata.max() + 1)
    n, o = (
        np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)
        for weights in (None, contradicted)
    )
    N, m = n.sum(axis=0), o.sum(axis=0)
    filled = np.maximum(N, 1)
    observed, expected = o.sum(axis=1), (n * m / filled).sum(axis=1)
    more = (o * (N - m - n + o) / filled).sum(axis=1)
    less = ((n - o) * (m - o) / filled).sum(axis=1)
    chance = np.where(more >= WORSE * less, poisson.sf(observed - 1, expected), 1.0)
    worst = int(chance.argmin())
    return worst, chance[worst], int(n[worst].sum()), int(observed[worst]), float(expected[worst])

"""The columns of a table as reviewers see them: long texts, which columns matter for a row, and which words.

All of it follows from the table and the record of the run, and is found when it is first asked for.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.features.columns import Meaning, find_meaning, read_column
from subsvms.app.review.separation import separate_categories, separate_numbers
from subsvms.app.review.words import TEXTS, Mark, WordCounts
from subsvms.app.runs.opened import OpenedRun, as_text
from subsvms.app.tables.arrow import list_values

LONG = 100  # characters of a text that is read rather than compared
SAMPLE = 10_000  # rows from which the scale of a column is found
EXCERPT = 160  # characters of a value in a list


class Column(NamedTuple):
    """A column, as people should look at it for one row.

    Attributes
    ----------
    name : str
    separation : float
        From 0 to 1; see `separation`.
    used : bool
        Whether the run used it.
    long : bool
        Whether it holds long texts.
    """

    name: str
    separation: float
    used: bool
    long: bool


class Columns:
    """What is known about the columns of a run.

    Parameters
    ----------
    run : OpenedRun
    rows : ndarray of int of shape (n_issues,)
        The rows that are listed.
    codes : ndarray of int of shape (n_rows,)
        The given class of every row of the table, -1 where there is none.
    """

    def __init__(self, run: OpenedRun, rows: np.ndarray, n_rows: int):
        self.run, self.rows, self.n_rows = run, rows, n_rows
        self.names = run.shown_columns
        self._words: dict[str, WordCounts] = {}

    @cached_property
    def uses(self) -> dict[str, str | None]:
        """How the run used each column, None if it did not; "" for all if it used none of them by name."""
        lines = self.run.record.found.columns
        known = {name: line["use"] for line in lines for name, _ in line["columns"]}
        if not any(known.get(name) for name in self.names):  # embeddings, LIBSVM text, or an old record
            return {name: None if name == self.run.options.id_column else "" for name in self.names}
        return {name: known.get(name) for name in self.names}

    @cached_property
    def sample(self) -> Any:
        """Evenly spaced rows of the table, from which scales are found."""
        return self.run.take(space_evenly(self.n_rows, SAMPLE))

    @cached_property
    def long(self) -> list[str]:
        """Columns with a long text in one of the listed rows."""
        from pyarrow import compute

        taken = self.run.take(self.rows)
        found = []
        for name, column in zip(self.names, taken.columns, strict=True):
            if is_text_type(column.type) and len(column):
                longest = compute.max(compute.utf8_length(column)).as_py()
                found += [name] * ((longest or 0) > LONG)
        return found

    @cached_property
    def meanings(self) -> dict[str, Meaning]:
        """How to read the columns that the run used as numbers."""
        numbers = [name for name, use in self.uses.items() if use == "Numbers"]
        found = {name: find_meaning(self.sample[name]) for name in numbers}
        return {name: one for name, one in found.items() if one is not None and one.kind == "number"}

    @cached_property
    def scales(self) -> dict[str, float]:
        """The standard deviation of each column of numbers."""
        return {
            name: float(np.nanstd(values)) if np.isfinite(values).any() else 0.0
            for name, meaning in self.meanings.items()
            for values in [read_column(self.sample[name], meaning)]
        }

    def words_of(self, name: str) -> WordCounts:
        """Return the words of a text column, counted by class."""
        if name not in self._words:
            rows = space_evenly(self.n_rows, TEXTS)
            numbers = {label: code for code, label in enumerate(self.run.labels)}
            codes = [numbers.get(label, -1) for label in self.run.labels_of(rows)]
            texts = map(as_text, list_values(self.run.take(rows, [name])[name]))
            self._words[name] = WordCounts(texts, codes, len(self.run.labels))
        return self._words[name]

    def rank(self, taken: Any, n_supporting: int, suggested: int, given: int) -> list[Column]:
        """Return the columns, those first that tell the witnesses of a row apart.

        Parameters
        ----------
        taken : pyarrow.Table
            The witnesses' values, first those that support the suggestion.
        n_supporting : int
        suggested, given : int
            Classes of the row, -1 if no label was given.
        """
        found = [
            Column(
                name,
                self._separate(taken[name], name, n_supporting, suggested, given),
                True,
                self._is_long(name),
            )
            if self.uses[name] is not None
            else Column(name, 0.0, False, self._is_long(name))
            for name in self.names
        ]
        return sorted(found, key=lambda column: (not column.used, -column.separation))

    def _is_long(self, name: str) -> bool:
        return name in self.long

    def _separate(self, column: Any, name: str, n: int, suggested: int, given: int) -> float:
        if name in self.meanings:
            values = read_column(column, self.meanings[name]).tolist()
            return separate_numbers(values[:n], values[n:], self.scales[name])
        cells = [as_text(cell) for cell in list_values(column)]
        if self._is_long(name) or self.uses[name] == "Text":
            counts = self.words_of(name)
            leans = [counts.lean(side, suggested, given) for side in (cells[:n], cells[n:])]
            return abs(leans[0] - leans[1]) / 2 if cells[:n] and cells[n:] else 0.0
        return separate_categories(cells[:n], cells[n:])

    def mark(self, values: dict[str, str], suggested: int, given: int) -> dict[str, list[Mark]]:
        """Return the words of the long texts of a row that speak for either class."""
        long = [name for name in self.long if self.uses[name] is not None]
        return {name: self.words_of(name).mark(values[name], suggested, given) for name in long}


def is_text_type(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)


def space_evenly(n_rows: int, most: int) -> np.ndarray:
    """Return numbers of at most so many rows, from 1, evenly spaced.

    Examples
    --------
    >>> space_evenly(10, 3).tolist()
    [1, 5, 9]
    """
    return np.arange(1, n_rows + 1, max(1, -(-n_rows // most)))


def shorten(text: str, most: int = EXCERPT) -> str:
    r"""Return the beginning of a text in one line.

    Examples
    --------
    >>> shorten("one\n two  three", 9)
    'one two t…'
    """
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[:most] + "…"

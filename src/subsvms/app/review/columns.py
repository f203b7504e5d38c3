"""The columns of a table as reviewers see them: long texts, which columns matter for a row, and which words.

All of it follows from the table and the record of the run, and is found when it is first asked for.
"""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.features.columns import Meaning, find_meaning, read_column
from subsvms.app.review.separation import separate_categories, separate_numbers
from subsvms.app.review.words import TEXTS, Mark, WordCounts
from subsvms.app.runs.opened import OpenedRun
from subsvms.app.runs.rows import as_text
from subsvms.app.tables.arrow import list_values

LONG = 100  # characters of a text that is read rather than compared
SAMPLE = 10_000  # rows from which the scale of a column is found
EXCERPT = 160  # characters of a value in a list


class Column(NamedTuple):
    """A column, as people should look at it for one row."""

    name: str
    separation: float  # from 0 to 1; see `separation`
    used: bool  # whether the run used it
    long: bool  # whether it holds long texts


class Columns:
    """What is known about the columns of a run.

    rows: the rows that are listed.
    witnesses: the rows that each of them is compared with.
    """

    def __init__(self, run: OpenedRun, rows: np.ndarray, witnesses: list[list[int]]):
        self.run, self.rows, self.witnesses = run, rows, witnesses
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
        """Rows from all over the table, from which scales are found."""
        return self.run.source.sample(SAMPLE)[0]

    @cached_property
    def long(self) -> list[str]:
        """Columns with a long text in one of the listed rows."""
        from pyarrow import compute

        found = set()
        for taken in self.run.source.walk(self.rows):
            for name, column in zip(self.names, taken.columns, strict=True):
                if is_text_type(column.type) and len(column):
                    longest = compute.max(compute.utf8_length(column)).as_py()
                    found |= {name} if (longest or 0) > LONG else set()
        return [name for name in self.names if name in found]

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
            taken, labels = self.run.source.sample(TEXTS, [name])
            numbers = {label: code for code, label in enumerate(self.run.labels)}
            codes = [numbers.get(label, -1) for label in labels]
            texts = map(as_text, list_values(taken[name]))
            self._words[name] = WordCounts(texts, codes, len(self.run.labels))
        return self._words[name]

    @cached_property
    def compared(self) -> tuple[dict[int, int], dict[str, list]]:
        """Places of all witnesses, and their values in the columns that were used: numbers, or text."""
        rows = sorted({row for some in self.witnesses for row in some})
        used = [name for name in self.names if self.uses[name] is not None]
        taken = self.run.take(rows, used)
        values: dict[str, list] = {}
        for name, column in zip(used, taken.columns, strict=True):
            meaning = self.meanings.get(name)
            cells = list_values(column) if meaning is None else read_column(column, meaning).tolist()
            values[name] = list(map(as_text, cells)) if meaning is None else cells
        return {row: place for place, row in enumerate(rows)}, values

    def rank(self, number: int, n_supporting: int, suggested: int, given: int) -> list[Column]:
        """Return the columns, those first that tell the witnesses of an issue apart."""
        places, values = self.compared
        chosen = [places[row] for row in self.witnesses[number]]
        sides = chosen[:n_supporting], chosen[n_supporting:]
        found = [
            Column(name, self._separate(name, values[name], sides, suggested, given), True, name in self.long)
            if self.uses[name] is not None
            else Column(name, 0.0, False, name in self.long)
            for name in self.names
        ]
        return sorted(found, key=lambda column: (not column.used, -column.separation))

    def _separate(
        self, name: str, values: list, places: tuple[list[int], list[int]], suggested: int, given: int
    ) -> float:
        first, second = ([values[place] for place in side] for side in places)
        if not first or not second:
            return 0.0
        if name in self.meanings:
            return separate_numbers(first, second, self.scales[name])
        if name in self.long or self.uses[name] == "Text":
            counts = self.words_of(name)
            return abs(counts.lean(first, suggested, given) - counts.lean(second, suggested, given)) / 2
        return separate_categories(first, second)

    def mark(self, values: dict[str, str], suggested: int, given: int) -> dict[str, list[Mark]]:
        """Return the words of the long texts of a row that speak for either class."""
        long = [name for name in self.long if self.uses[name] is not None]
        return {name: self.words_of(name).mark(values[name], suggested, given) for name in long}


def is_text_type(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)


def shorten(text: str, most: int = EXCERPT) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else line[:most] + "…"

"""The rows of a finished run that can be shown to people, wherever they are; they count from 1."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from subsvms._text import WHOLE, cut
from subsvms.app.runs.issue_file import read_issues
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.table import LabelledTable

FEW = 200  # rows that are sliced one by one: to take rows, Arrow copies a text column that has several parts


class Rows(Protocol):
    """Rows of a table that is in memory (`TableRows`), or was corrected in parts (`PartRows`)."""

    n_rows: int  # of the whole table
    classes: list  # the labels, sorted; in typed formats numbers
    columns: list[str]  # names of the columns but the label; none in LIBSVM text

    def read_issues(self) -> Any:
        """Return what the run says about each suspicious label, worst first, as a pyarrow.Table."""

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> Any:
        """Return the values of rows, by default in all columns but the label, as a pyarrow.Table."""

    def labels_of(self, rows: Sequence[int] | np.ndarray) -> list:
        """Return the given labels of rows, None where there is none."""

    def walk(self, rows: np.ndarray) -> Iterator[Any]:
        """Yield the values of issues in pieces, in any order: all of them may be too many for memory."""

    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """Return values and given labels of at most so many rows from all over the table."""

    def search(self, rows: np.ndarray, text: str) -> np.ndarray:
        """Return which rows contain a text in any column, in capitals or not."""


class TableRows:
    """The rows of a table in memory.

    folder: of the run.
    """

    def __init__(self, table: LabelledTable, folder: Path):
        self.table = table
        self.folder = folder
        self.n_rows = len(table)
        self.classes = table.classes
        names = [] if table.matrix is not None else table.columns.column_names
        self.columns: list[str] = [name for name in names if name != table.label]
        self._texts: dict[int, str] = {}

    def read_issues(self) -> Any:
        """As in `Rows`."""
        return read_issues(self.folder, self.table)

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> Any:
        """As in `Rows`; a row of LIBSVM text is one text."""
        import pyarrow as pa

        places = np.asarray(rows, dtype=np.int64) - 1
        if self.table.matrix is None:
            chosen = self.table.columns.select(list(self.columns if columns is None else columns))
            if not 0 < len(places) <= FEW:
                return chosen.take(places)
            return pa.concat_tables([chosen.slice(place, 1) for place in places.tolist()])
        lines = [self.table.matrix[[place]].tocsr() for place in places.tolist()]
        pairs = [zip(line.indices.tolist(), line.data.tolist(), strict=True) for line in lines]
        texts = [" ".join(f"{j}:{value:g}" for j, value in pair) for pair in pairs]
        return pa.table({"features": pa.array(texts, pa.string())})

    def labels_of(self, rows: Sequence[int] | np.ndarray) -> list:
        """As in `Rows`."""
        return self.table.labels[np.asarray(rows, dtype=np.int64) - 1].tolist()

    def walk(self, rows: np.ndarray) -> Iterator[Any]:
        """As in `Rows`: in one piece."""
        yield self.take(rows)

    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """As in `Rows`: evenly spaced rows."""
        rows = space_evenly(self.n_rows, most) + 1
        return self.take(rows, columns), self.labels_of(rows)

    def search(self, rows: np.ndarray, text: str) -> np.ndarray:
        """As in `Rows`; what rows contain is kept for the next search."""
        new = [row for row in rows.tolist() if row not in self._texts]
        if new:
            self._texts |= zip(new, join_values(self.take(new)), strict=True)
        wanted = text.casefold()
        return np.array([wanted in self._texts[row] for row in rows.tolist()], dtype=bool)


def space_evenly(number: int, most: int) -> np.ndarray:
    """Return at most so many of the places in a sequence of so many, evenly spaced."""
    return np.arange(0, number, max(1, -(-number // most)))


def as_text(cell: Any) -> str:
    """Return a value to be read by people; nothing where it is missing."""
    return "" if cell is None else cut(str(cell), WHOLE)


def join_values(taken: Any) -> list[str]:
    """Return the values of each row as one text in lower case, to search in."""
    if not taken.num_columns:
        return [""] * len(taken)
    lines = zip(*map(list_values, taken.columns), strict=True)
    return ["\n".join(map(as_text, line)).casefold() for line in lines]

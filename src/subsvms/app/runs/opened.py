"""The folder of a finished run, opened again: its record, the table that it read, and rows to show people."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.runs.describe import WHOLE, cut
from subsvms.app.runs.names import AUDIT_FILES, DECISION_FILES, ISSUES, LISTED, RECORD, REPORT
from subsvms.app.runs.record import read_record
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import check_target
from subsvms.app.tables.table import LabelledTable, read_table
from subsvms.exceptions import TableError

FEW = 200  # rows that are sliced one by one: to take rows, Arrow copies a text column that has several parts


class OpenedRun:
    """A run's folder, and the table that the run read.

    Parameters
    ----------
    folder : path-like
        Made by `subsvms correct`.
    purpose : str
        What it is opened for, in messages: "the review".
    """

    def __init__(self, folder: str | Path, purpose: str):
        self.folder = Path(folder)
        self.record = read_record(self.folder)
        self.options = self.record.options
        if self.options.pool_size is not None:
            raise TableError(
                f"{str(self.folder)!r} was made in parts, and {purpose} works on runs in memory only: open "
                "the Parquet files in its folder issues, or correct a part of the table by itself (--engine "
                "memory)."
            )
        self.table = self._read_table()
        self.labels = self.table.classes  # in typed formats numbers
        self.classes = [str(name) for name in self.labels]
        self.values = dict(zip(self.classes, self.labels, strict=True))

    def _read_table(self) -> LabelledTable:
        paths = self.record.input.paths
        if not paths:
            raise TableError(
                f"The table of {str(self.folder)!r} was read from standard input, so its rows cannot be "
                "shown: save it in a file and correct that."
            )
        table = read_table(paths, self.options.label, **self.options.reading)
        if table.digest != self.record.input.sha256:
            raise TableError(
                f"{table.name} has changed since the run in {str(self.folder)!r}: correct it again, or "
                "restore the table that the run read."
            )
        return table

    def check_output(self, path: Path, *, force: bool) -> Path:
        """Return where to write, with links followed; files that the run read or wrote are never replaced."""
        kept = (RECORD, ISSUES, LISTED, REPORT, *DECISION_FILES, *AUDIT_FILES)
        if path.resolve() in {(self.folder / name).resolve() for name in (*kept, *self.record.files)}:
            raise TableError(f"{str(path)!r} is a file of the run itself: choose another name (--output).")
        features = self.record.input.features
        inputs = [*self.table.paths, *([] if features is None else [Path(features)])]
        return check_target(path, inputs, force=force)

    @property
    def title(self) -> str:
        """What the table is called."""
        return self.record.found.title

    @property
    def columns(self) -> list[str]:
        """The columns of the table but the label."""
        if self.table.matrix is not None:
            return []
        return [name for name in self.table.columns.column_names if name != self.table.label]

    @property
    def shown_columns(self) -> list[str]:
        """Names of the values of a row."""
        return self.columns or ["features"]

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> Any:
        """Return values of some rows, which count from 1, as a pyarrow.Table: `shown_columns`, or some."""
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
        """Return the given labels of some rows, which count from 1; None where there is none."""
        return self.table.labels[np.asarray(rows, dtype=np.int64) - 1].tolist()

    def show(self, rows: Sequence[int]) -> list[list[str]]:
        """Return the values of each of some rows, which count from 1, as text."""
        columns = [list_values(column) for column in self.take(rows).columns]
        return [[as_text(column[i]) for column in columns] for i in range(len(rows))]


def as_text(cell: Any) -> str:
    """Return a value to be read by people; nothing where it is missing.

    Examples
    --------
    >>> as_text(2.5), as_text(None)
    ('2.5', '')
    """
    return "" if cell is None else cut(str(cell), WHOLE)

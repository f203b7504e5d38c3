"""The folder of a finished run, opened again: its record, and rows of the table to show people."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.app.desk.audit_json import take_over
from subsvms.app.desk.rows import PartRows, Rows, TableRows, as_text
from subsvms.app.names import (
    AUDIT,
    AUDIT_FILES,
    DECISION_FILES,
    DECISIONS,
    FOLDERS,
    ISSUES,
    LISTED,
    RECORD,
    REPORT,
)
from subsvms.app.runs.decisions import Decisions
from subsvms.app.runs.record import read_record
from subsvms.app.tables.addresses import as_place, is_address
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import check_target
from subsvms.app.tables.table import LabelledTable, read_table
from subsvms.exceptions import InputError, TableError


class Desk:
    """A run's folder, opened: its record, and rows of the table that the run read.

    folder: made by `subsvms correct`.
    create: whether to create the file of what people did if there is none; who only reads needs none.
    """

    room = ""  # what is done here, and the page for it

    def __init__(self, folder: str | Path, *, create: bool = False):
        self.folder = Path(folder)
        self.record = read_record(self.folder)
        self.options = self.record.options
        self.source: Rows = self._open_rows()
        self.named = Classes.of(self.source.classes)
        self.labels, self.classes = self.named.labels, self.named.texts  # in typed formats numbers; text
        self.values = dict(zip(self.classes, self.labels, strict=True))
        rows = self._find_decidable()
        self.decisions = open_acts(self.folder, rows=rows, labels=self.labels, create=create)

    def close(self) -> None:
        """Close the file of what people did."""
        self.decisions.close()

    def _find_decidable(self) -> Container[int] | None:
        """Return the rows that people may decide about; None for any."""
        return None

    @property
    def page_words(self) -> dict[str, Any]:
        """What the page says besides its title."""
        return {}

    @property
    def in_parts(self) -> bool:
        """Whether the table was corrected in parts: then it is not in memory."""
        return self.options.pool_size is not None

    @property
    def table(self) -> LabelledTable:
        """The whole table; only if it was corrected in memory."""
        assert isinstance(self.source, TableRows)
        return self.source.table

    def _open_rows(self) -> Rows:
        if self.in_parts:
            return PartRows(self.folder, self.record)
        return TableRows(self._read_table(), self.folder)

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

    def misfit(self, error: InputError) -> TableError:
        """Return the error for acts that cannot be about the run, whatever their seals say."""
        return TableError(
            f"{str(self.decisions.file.path)!r} does not fit the run in its folder "
            f"({str(error).rstrip('.')}): restore both from a copy."
        )

    @property
    def settled(self) -> dict[int, Any]:
        """The label that people decided for each row, None for rows left out: now, or before the run."""
        return dict(self.options.verified) | self.decisions.given_labels

    def check_folder(self, path: Path) -> Path:
        """Return where to write a folder; never one that the run wrote, or that holds the table."""
        place, own = path.resolve(), self.folder.resolve()
        if place in {own / name for name in FOLDERS}:
            words = "{path!r} is a folder of the run itself: choose another name{output:aside}."
            raise TableError(words, path=str(path))
        read = [Path(one).resolve() for one in self.record.input.paths if not is_address(one)]
        if any(place in one.parents for one in (own, *read)):
            words = "{path!r} holds the table or the run: choose another name{output:aside}."
            raise TableError(words, path=str(path))
        return path

    def check_output(self, path: Path, *, force: bool) -> Path:
        """Return where to write, with links followed; files that the run read or wrote are never replaced."""
        kept = (RECORD, ISSUES, LISTED, REPORT, *DECISION_FILES, *AUDIT_FILES)
        if path.resolve() in {(self.folder / name).resolve() for name in (*kept, *self.record.files)}:
            words = "{path!r} is a file of the run itself: choose another name{output:aside}."
            raise TableError(words, path=str(path))
        features = self.record.input.features
        inputs = [
            as_place(one) for one in (*self.record.input.paths, *([] if features is None else [features]))
        ]
        return check_target(path, inputs, force=force)

    @property
    def title(self) -> str:
        """What the table is called."""
        return self.record.found.title

    @property
    def columns(self) -> list[str]:
        """The columns of the table but the label."""
        return self.source.columns

    @property
    def shown_columns(self) -> list[str]:
        """Names of the values of a row."""
        return self.columns or ["features"]

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> Any:
        """Return values of some rows, which count from 1, as a pyarrow.Table: `shown_columns`, or some."""
        return self.source.take(rows, self.columns if columns is None else columns)

    def labels_of(self, rows: Sequence[int] | np.ndarray) -> list:
        """Return the given labels of some rows, which count from 1; None where there is none."""
        return self.source.labels_of(rows)

    def show(self, rows: Sequence[int]) -> list[list[str]]:
        """Return the values of each of some rows, which count from 1, as text."""
        columns = [list_values(column) for column in self.take(rows).columns]
        return [[as_text(column[i]) for column in columns] for i in range(len(rows))]


def open_acts(folder: Path, *, create: bool = False, **known: Any) -> Decisions:
    """Open the file of what people did in the folder of a run; options as in `Decisions`."""
    earlier = folder / AUDIT
    create = create or earlier.exists()
    decisions = Decisions(folder / DECISIONS, folder / RECORD, create=create, **known)
    if earlier.exists():
        try:
            take_over(earlier, decisions)
        except BaseException:
            decisions.close()
            raise
    return decisions

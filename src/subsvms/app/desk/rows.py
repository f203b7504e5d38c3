"""Rows of the table of a finished run, to be shown to people; they count from 1.

A table that was corrected in memory is read again as a whole. One that was corrected in parts is not read at
all: what the run says about each issue is in memory, and the values of rows are read from the files of the
run when they are asked for, by row group, those of issues from `issues` and those of other rows from
`corrected`. So memory grows with the issues, and not with the table.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.names import CORRECTED, DOUBTFUL, ISSUE_PARTS, ISSUES
from subsvms.app.runs import parquet_files
from subsvms.app.runs.parquet_files import CARRIERS, SIDES, check_types, explaining_damage
from subsvms.app.runs.record import Record
from subsvms.app.tables.arrow import check_values, list_values
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import WHOLE, TableError, cut

FEW = 200  # rows that are sliced one by one: to take rows, Arrow copies a text column that has several parts
CACHE_BYTES = 1 << 28  # of values that are kept in memory
SAMPLED_PARTS = 16  # of the corrected table


Numbers = Sequence[int] | np.ndarray  # of rows


class Rows(ABC):
    """Rows of a table, in pieces: one in memory (`TableRows`), or row groups of files (`PartRows`)."""

    folder: Path  # of the run
    n_rows: int  # of the whole table
    classes: list  # the labels, sorted; in typed formats numbers
    columns: list[str]  # names of the columns but the label; none in LIBSVM text
    label_type: Any  # the Arrow type of the labels in the files of the run
    empty: Any  # a pyarrow.Table with the columns, and no rows

    @abstractmethod
    def labels_of(self, rows: Numbers) -> list:
        """Return the given labels of rows, None where there is none."""

    @abstractmethod
    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """Return values and given labels of at most so many rows from all over the table."""

    @abstractmethod
    def _find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the piece that each row is in, and its place there."""

    @abstractmethod
    def _take(self, piece: int, places: np.ndarray, columns: tuple[str, ...]) -> Any:
        """Return columns of the rows in some places of a piece, a pyarrow.Table."""

    def read_issues(self) -> Any:
        """Return what the run says about each suspicious label, worst first, as a pyarrow.Table."""
        return parquet_files.read_issues(self.folder, self.label_type, self.n_rows, self.classes)

    def split(self, rows: Numbers, columns: Sequence[str] | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield, for each piece that rows are in, which of them, and their values; all may be too many."""
        pieces, places = self._find(np.asarray(rows, dtype=np.int64))
        wanted = tuple(self.columns if columns is None else columns)
        for piece in np.unique(pieces).tolist():
            chosen = np.flatnonzero(pieces == piece)
            yield chosen, self._take(piece, places[chosen], wanted)

    def take(self, rows: Numbers, columns: Sequence[str] | None = None) -> Any:
        """Return the values of rows, by default in all columns but the label, as a pyarrow.Table."""
        import pyarrow as pa

        if not len(rows):
            return self.empty.select(list(self.columns if columns is None else columns))
        order, pieces = zip(*self.split(rows, columns), strict=True)
        taken = pa.concat_tables(pieces, promote_options="permissive")
        return taken if len(order) == 1 else taken.take(np.argsort(np.concatenate(order)))

    def search(self, rows: Numbers, text: str) -> np.ndarray:
        """Return which rows contain a text in any column, in capitals or not."""
        wanted, found = text.casefold(), np.zeros(len(rows), dtype=bool)
        for chosen, values in self.split(rows):
            if values.num_columns:
                lines = zip(*map(list_values, values.columns), strict=True)
                found[chosen] = [wanted in "\n".join(map(as_text, line)).casefold() for line in lines]
        return found


class TableRows(Rows):
    """The rows of a table in memory; a row of LIBSVM text is one text."""

    def __init__(self, folder: Path, table: LabelledTable):
        self.folder, self.table, self.n_rows, self.classes = folder, table, len(table), table.classes
        self.label_type = parquet_files.get_label_type(table)
        names = [] if table.matrix is not None else table.columns.column_names
        self.columns = [name for name in names if name != table.label]
        self.empty = self._take(0, np.arange(0), tuple(self.columns))

    def labels_of(self, rows: Numbers) -> list:
        """As in `Rows`."""
        return self.table.labels[np.asarray(rows, dtype=np.int64) - 1].tolist()

    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """As in `Rows`: evenly spaced rows."""
        rows = space_evenly(self.n_rows, most) + 1
        return self.take(rows, columns), self.labels_of(rows)

    def _find(self, rows):
        return np.zeros(len(rows), dtype=np.int64), rows - 1

    def _take(self, piece, places, columns):
        import pyarrow as pa

        if self.table.matrix is None:
            return _take_rows(self.table.columns.select(list(columns)), places)
        lines = [self.table.matrix[[place]].tocsr() for place in places.tolist()]
        pairs = [zip(line.indices.tolist(), line.data.tolist(), strict=True) for line in lines]
        texts = [" ".join(f"{j}:{value:g}" for j, value in pair) for pair in pairs]
        return pa.table({"features": pa.array(texts, pa.string())})


class Group(NamedTuple):
    """A row group of a Parquet file."""

    path: Path
    number: int
    n_rows: int


class PartRows(Rows):
    """The rows of a table that was corrected in parts."""

    def __init__(self, folder: Path, record: Record):
        import pyarrow as pa

        if record.labels is None:
            raise TableError(
                f"{str(folder)!r} was made in parts by an earlier version, which did not keep what is needed "
                "here: run subsvms correct again."
            )
        self.folder, self.n_rows, self.classes = folder, record.found.rows, record.labels.classes
        self.label_type = pa.array(self.classes).type
        files = [folder / name for name in sorted(record.files)]
        self._parts = [path for path in files if path.parent == folder / CORRECTED]
        self._issue_groups: list[Group] = []
        self._issues = self._read_own(path for path in files if path.parent == folder / ISSUE_PARTS)
        self._rows = self._issues["row"].to_numpy()
        self._order = np.argsort(self._rows)
        with reading(self._parts[0] if self._parts else folder / CORRECTED) as file:
            names = file.schema_arrow.names
            place = names.index(record.options.label)
            self.empty = file.schema_arrow.empty_table()
        n_ours = 2 if record.options.action == "weight" else 1  # the given label, and perhaps a weight
        self.columns, self._given = names[:place] + names[place + 1 + n_ours :], names[place + 1]
        labels = [*self.classes, None]
        self._meant = {value: labels[number] for value, number in record.labels.values}
        self._names = parquet_files.name_values(self.columns, self._issues.column_names)
        self._lock = threading.Lock()
        self._cache: dict[tuple, Any] = {}
        self._cached = 0  # bytes

    def _read_own(self, paths: Iterable[Path]) -> Any:
        """Return what the run says about all issues, in the order of the files; note their row groups."""
        import pyarrow as pa

        schema = parquet_files.make_schema(self.label_type)
        schema = pa.schema([field for field in schema if field.name not in SIDES])
        found: list[Any] = []
        odds = parquet_files.list_odds(self.label_type)
        for path in paths:
            with reading(path) as file:
                if not found and odds[0].name in file.schema_arrow.names:
                    schema = pa.schema([*schema, *odds])
                found.append(check_values(file.read(schema.names).cast(schema)))
                self._issue_groups += _list_groups(file, path)
        with explaining_damage(self.folder / ISSUE_PARTS):
            table = pa.concat_tables(found or [schema.empty_table()]).combine_chunks()
            for name in parquet_files.SHARES:
                known = pa.array(table[name].to_numpy(), from_pandas=True)
                table = table.set_column(table.column_names.index(name), schema.field(name), known)
            check_types(table, schema)
            return parquet_files.check_issues(table, self.n_rows, self.classes)

    @cached_property
    def _groups(self) -> list[Group]:
        """The row groups of issues and then of the corrected table, of which there may be thousands."""
        groups = list(self._issue_groups)
        for path in self._parts:
            with reading(path) as file:
                groups += _list_groups(file, path)
        with explaining_damage(self.folder / CORRECTED):
            n_rows = sum(group.n_rows for group in groups)
            if n_rows != len(self._issues) + self.n_rows - len(self._dropped):
                raise ValueError("it does not have the rows of the table")
        return groups

    @cached_property
    def _dropped(self) -> np.ndarray:
        """The rows that the corrected table does not have, ascending."""
        actions = np.array(self._issues["action"].to_pylist(), dtype=object)
        return np.sort(self._rows[actions == "drop"])

    def read_issues(self) -> Any:
        """As in `Rows`: flagged labels, those held back, the most doubtful others, rows without a label."""
        from pyarrow import compute

        issues = self._issues
        doubtful = [group.path.name == DOUBTFUL for group in self._issue_groups]
        counts = [group.n_rows for group in self._issue_groups]
        missing = issues["given_label"].is_null().to_numpy()
        kind = np.where(issues["is_label_issue"].to_numpy(), 0, 1 + np.repeat(doubtful, counts).astype(int))
        order = np.lexsort((self._rows, issues["label_quality"].to_numpy(), np.where(missing, 3, kind)))
        issues = issues.take(order)
        worst = parquet_files.make_schema(self.label_type).empty_table()
        if (self.folder / ISSUES).is_file():  # only the worst have rows to compare them with; others get null
            worst = super().read_issues()
        at = compute.index_in(issues["row"], worst["row"].combine_chunks())
        for name in (*SIDES, *CARRIERS):
            if name in worst.column_names:
                issues = issues.append_column(name, worst[name].take(at))
        return issues

    def labels_of(self, rows: Numbers) -> list:
        """As in `Rows`."""
        rows = np.asarray(rows, dtype=np.int64)
        places = self._place(rows)
        labels, listed = np.full(len(rows), None, dtype=object), places < len(self._rows)
        labels[listed] = self._issues["given_label"].take(places[listed]).to_pylist()
        if not listed.all():
            values = self.take(rows[~listed], [self._given])[self._given].to_pylist()
            labels[~listed] = [self._meant.get(value) for value in values]
        return labels.tolist()

    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """As in `Rows`: the first rows of some parts of the corrected table, with the labels as given."""
        import pyarrow as pa

        paths = [self._parts[place] for place in space_evenly(len(self._parts), SAMPLED_PARTS).tolist()]
        names = list(self.columns if columns is None else columns)
        pieces = []
        for path in paths:
            with reading(path) as file:
                batches = file.iter_batches(-(-most // len(paths)), columns=[*names, self._given])
                pieces += [pa.Table.from_batches([batch]) for batch in islice(batches, 1)]
        taken = pa.concat_tables(pieces)
        return taken.select(names), [self._meant.get(value) for value in taken[self._given].to_pylist()]

    def _place(self, rows: np.ndarray) -> np.ndarray:
        """Return the places of rows: issues in the order of their files, then the corrected table."""
        if len(rows) and (rows.min() < 1 or rows.max() > self.n_rows):
            raise KeyError("not a row of this table")
        others = len(self._rows) + rows - 1 - np.searchsorted(self._dropped, rows)
        if not len(self._rows):
            return others
        at = np.searchsorted(self._rows, rows, sorter=self._order)
        places = self._order[np.minimum(at, len(self._rows) - 1)]
        return np.where(self._rows[places] == rows, places, others)

    def _find(self, rows):
        places = self._place(rows)
        is_own = np.all(places < len(self._rows))  # then the corrected table need not be looked at
        counts = [group.n_rows for group in (self._issue_groups if is_own else self._groups)]
        firsts = np.cumsum([0, *counts])[:-1]
        pieces = np.searchsorted(firsts, places, side="right") - 1
        return pieces, places - firsts[pieces]

    def _take(self, piece, places, columns):
        key = (piece, columns)
        with self._lock:
            if key not in self._cache:
                if self._cached > CACHE_BYTES:
                    self._cache, self._cached = {}, 0
                self._cache[key] = self._load(piece, columns)
                self._cached += self._cache[key].nbytes
            return _take_rows(self._cache[key], places)

    def _load(self, piece: int, columns: tuple[str, ...]) -> Any:
        """Return columns of a row group, under the names that they have in the table."""
        is_issue = piece < len(self._issue_groups)
        path, number, _ = (self._issue_groups if is_issue else self._groups)[piece]
        names = [self._names[name] if is_issue else name for name in columns]
        with reading(path) as file:
            table = check_values(file.read_row_group(number, names, use_threads=False)).select(names)
            return table.rename_columns(list(columns))


def _list_groups(file: Any, path: Path) -> list[Group]:
    numbers = range(file.num_row_groups)
    return [Group(path, number, file.metadata.row_group(number).num_rows) for number in numbers]


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open a Parquet file of the run; what cannot be read of it is damaged."""
    from pyarrow import parquet

    with explaining_damage(path), parquet.ParquetFile(path) as file:
        yield file


def _take_rows(table: Any, places: np.ndarray) -> Any:
    import pyarrow as pa

    if not 0 < len(places) <= FEW:
        return table.take(places)
    return pa.concat_tables([table.slice(place, 1) for place in places.tolist()])


def space_evenly(number: int, most: int) -> np.ndarray:
    """Return at most so many of the places in a sequence of so many, evenly spaced."""
    return np.arange(0, number, max(1, -(-number // most)))


def as_text(cell: Any) -> str:
    """Return a value to be read by people; nothing where it is missing."""
    return "" if cell is None else cut(str(cell), WHOLE)

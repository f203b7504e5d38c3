"""Rows of the table of a finished run, to be shown to people; they count from 1.

A table that was corrected in memory is read again as a whole. One that was corrected in parts is not read at
all: what the run says about each issue is in memory, and the values of rows are read from the files of the
run when they are asked for, by row group, those of issues from `issues` and those of other rows from
`corrected`. So memory grows with the issues, and not with the table.
"""

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subsvms._sentences import WHOLE, cut
from subsvms.app.names import CORRECTED, DOUBTFUL, ISSUE_PARTS, ISSUES
from subsvms.app.runs.issue_file import (
    CARRIERS,
    SIDES,
    check_issues,
    get_label_type,
    make_schema,
    name_values,
    read_issues,
)
from subsvms.app.runs.record import Record
from subsvms.app.runs.stored import check_types, describe_damage
from subsvms.app.tables.arrow import check_values, list_values
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import TableError

if TYPE_CHECKING:  # it imports packages that take seconds, which a review does not need
    from subsvms.app.runs.scores import Scores

FEW = 200  # rows that are sliced one by one: to take rows, Arrow copies a text column that has several parts
CACHE_BYTES = 1 << 28  # of values that are kept in memory
SAMPLED_PARTS = 16  # of the corrected table
SHARES = ("label_quality", "confidence", "vote_share")  # NaN where there is none; JSON has no NaN

Numbers = Sequence[int] | np.ndarray  # of rows


class Rows(ABC):
    """Rows of a table, in pieces: one in memory (`TableRows`), or row groups of files (`PartRows`)."""

    n_rows: int  # of the whole table
    classes: list  # the labels, sorted; in typed formats numbers
    columns: list[str]  # names of the columns but the label; none in LIBSVM text
    label_type: Any  # the Arrow type of the labels in the files of the run

    @abstractmethod
    def read_issues(self) -> Any:
        """Return what the run says about each suspicious label, worst first, as a pyarrow.Table."""

    @abstractmethod
    def read_scores(self) -> "Scores":
        """Return what the run thinks of every label; the order of an audit's questions follows from it."""

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
    def _read(self, piece: int, columns: tuple[str, ...]) -> Any:
        """Return columns of a piece, a pyarrow.Table."""

    def _split(self, rows: Numbers, columns: Sequence[str] | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield, for each piece that rows are in, which of them, and their values."""
        pieces, places = self._find(np.asarray(rows, dtype=np.int64))
        wanted = tuple(self.columns if columns is None else columns)
        for piece in np.unique(pieces).tolist():
            chosen = np.flatnonzero(pieces == piece)
            yield chosen, take_rows(self._read(piece, wanted), places[chosen])

    def take(self, rows: Numbers, columns: Sequence[str] | None = None) -> Any:
        """Return the values of rows, by default in all columns but the label, as a pyarrow.Table."""
        import pyarrow as pa

        if not len(rows):
            return self._read(0, tuple(self.columns if columns is None else columns)).slice(0, 0)
        order, pieces = zip(*self._split(rows, columns), strict=True)
        taken = pa.concat_tables(pieces, promote_options="permissive")
        return taken if len(order) == 1 else taken.take(np.argsort(np.concatenate(order)))

    def walk(self, rows: Numbers) -> Iterator[Any]:
        """Yield the values of rows in pieces, in any order: all of them may be too many for memory."""
        return (values for _, values in self._split(rows))

    def search(self, rows: Numbers, text: str) -> np.ndarray:
        """Return which rows contain a text in any column, in capitals or not."""
        wanted, found = text.casefold(), np.zeros(len(rows), dtype=bool)
        for chosen, values in self._split(rows):
            found[chosen] = [wanted in line for line in join_values(values)]
        return found


class TableRows(Rows):
    """The rows of a table in memory.

    folder: of the run.
    """

    def __init__(self, table: LabelledTable, folder: Path):
        self.table = table
        self.folder = folder
        self.n_rows = len(table)
        self.classes = table.classes
        self.label_type = get_label_type(table)
        names = [] if table.matrix is not None else table.columns.column_names
        self.columns: list[str] = [name for name in names if name != table.label]

    def read_issues(self) -> Any:
        """As in `Rows`."""
        return read_issues(self.folder, self.label_type, self.n_rows, self.classes)

    def read_scores(self) -> "Scores":
        """As in `Rows`."""
        from subsvms.app.runs.scores import read_scores

        return read_scores(self.folder, self.table)

    def labels_of(self, rows: Numbers) -> list:
        """As in `Rows`."""
        return self.table.labels[np.asarray(rows, dtype=np.int64) - 1].tolist()

    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """As in `Rows`: evenly spaced rows."""
        rows = space_evenly(self.n_rows, most) + 1
        return self.take(rows, columns), self.labels_of(rows)

    def _find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(len(rows), dtype=np.int64), rows - 1

    def _read(self, piece: int, columns: tuple[str, ...]) -> Any:
        return self.table.columns.select(list(columns))

    def take(self, rows: Numbers, columns: Sequence[str] | None = None) -> Any:
        """As in `Rows`; a row of LIBSVM text is one text."""
        import pyarrow as pa

        if self.table.matrix is None:
            return super().take(rows, columns)
        lines = [self.table.matrix[[row - 1]].tocsr() for row in np.asarray(rows, dtype=np.int64).tolist()]
        pairs = [zip(line.indices.tolist(), line.data.tolist(), strict=True) for line in lines]
        texts = [" ".join(f"{j}:{value:g}" for j, value in pair) for pair in pairs]
        return pa.table({"features": pa.array(texts, pa.string())})

    def _split(self, rows: Numbers, columns: Sequence[str] | None = None) -> Iterator[tuple[np.ndarray, Any]]:
        if self.table.matrix is None:
            yield from super()._split(rows, columns)
        else:
            yield np.arange(len(rows)), self.take(rows)


class PartRows(Rows):
    """The rows of a table that was corrected in parts.

    folder: of the run.
    record: of the run.
    """

    def __init__(self, folder: Path, record: Record):
        if record.labels is None:
            raise TableError(
                f"{str(folder)!r} was made in parts by an earlier version, which did not keep what is needed "
                "here: run subsvms correct again."
            )
        self.folder = folder
        self.n_rows = record.found.rows
        self.classes = record.labels.classes
        self.label_type = _get_type(self.classes)
        files = [folder / name for name in sorted(record.files)]
        self._issue_files = [path for path in files if path.parent == folder / ISSUE_PARTS]
        self._parts = [path for path in files if path.parent == folder / CORRECTED]
        self._issues, self._issue_groups = self._read_own()
        self._rows = self._issues["row"].to_numpy()
        self._order = np.argsort(self._rows)
        first = self._parts[0] if self._parts else folder / CORRECTED
        self.columns, self._given = _name_columns(first, record)
        names = [*self.classes, None]
        self._meant = {value: names[number] for value, number in record.labels.values}
        self._names = name_values(self.columns, self._issues.column_names)
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple, Any] = OrderedDict()
        self._cached = 0  # bytes

    def _read_own(self) -> tuple[Any, list["Group"]]:
        """Return what the run says about all issues, in the order of the files, and their row groups."""
        import pyarrow as pa

        schema = make_schema(self.label_type)
        schema = pa.schema([field for field in schema if field.name not in SIDES])
        found, groups = [schema.empty_table()], []
        for path in self._issue_files:
            with reading(path) as file:
                found.append(check_values(file.read(schema.names).cast(schema)))
                groups += list_groups(file, path)
        with explaining(self.folder / ISSUE_PARTS):
            table = pa.concat_tables(found).combine_chunks()
            for name in SHARES:
                known = pa.array(table[name].to_numpy(), from_pandas=True)
                table = table.set_column(table.column_names.index(name), schema.field(name), known)
            check_types(table, schema)
            check_issues(table, schema, self.n_rows, self.classes)
        return table, groups

    @cached_property
    def _groups(self) -> tuple[list["Group"], np.ndarray]:
        """The row groups of issues and then of the corrected table, and the first place of each."""
        groups = list(self._issue_groups)
        for path in self._parts:
            with reading(path) as file:
                groups += list_groups(file, path)
        ends = np.cumsum([group.n_rows for group in groups])
        with explaining(self.folder / CORRECTED):
            if ends[-1] != len(self._issues) + self.n_rows - len(self._dropped):
                raise ValueError("it does not have the rows of the table")
        return groups, np.concatenate([[0], ends[:-1]])

    @cached_property
    def _dropped(self) -> np.ndarray:
        """The rows that the corrected table does not have, ascending."""
        actions = np.array(self._issues["action"].to_pylist(), dtype=object)
        return np.sort(self._rows[actions == "drop"])

    def read_issues(self) -> Any:
        """As in `Rows`: flagged labels, those held back, the most doubtful others, rows without a label."""
        issues = self._issues
        doubtful = [group.path.name == DOUBTFUL for group in self._issue_groups]
        counts = [group.n_rows for group in self._issue_groups]
        missing = issues["given_label"].is_null().to_numpy()
        kind = np.where(issues["is_label_issue"].to_numpy(), 0, 1 + np.repeat(doubtful, counts).astype(int))
        order = np.lexsort((self._rows, issues["label_quality"].to_numpy(), np.where(missing, 3, kind)))
        return self._add_comparisons(issues.take(order))

    def _add_comparisons(self, issues: Any) -> Any:
        """Return issues with the rows to compare them with, which only the worst have, in issues.parquet."""
        import pyarrow as pa

        found = {side: pa.array([], pa.list_(pa.int64())) for side in SIDES}
        places: dict[int, int] = {}
        if (self.folder / ISSUES).is_file():
            worst = read_issues(self.folder, self.label_type, self.n_rows, self.classes)
            found = {name: worst[name] for name in (*SIDES, *CARRIERS) if name in worst.column_names}
            places = {row: at for at, row in enumerate(worst["row"].to_pylist())}
        at = [places.get(row) for row in issues["row"].to_pylist()]
        for name, column in found.items():
            known, empty = column.to_pylist(), () if name != CARRIERS[0] else None
            values = [empty if place is None else known[place] for place in at]
            issues = issues.append_column(name, pa.array(values, column.type))
        return issues

    def read_scores(self) -> "Scores":
        """As in `Rows`."""
        from subsvms.app.runs.scores import read_score_parts

        return read_score_parts(self.folder, self.label_type, self.classes, self.n_rows)

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

    def _find(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        places = self._place(rows)
        if len(places) and places.max() >= len(self._rows):
            firsts = self._groups[1]
        else:  # the corrected table need not be looked at
            firsts = np.cumsum([0, *(group.n_rows for group in self._issue_groups)])[:-1]
        pieces = np.searchsorted(firsts, places, side="right") - 1
        return pieces, places - firsts[pieces]

    def _read(self, piece: int, columns: tuple[str, ...]) -> Any:
        """As in `Rows`, under the names that columns have in the table; from memory if read lately."""
        key = (piece, columns)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            table = self._load(piece, columns)
            self._cache[key] = table
            self._cached += table.nbytes
            while self._cached > CACHE_BYTES:
                self._cached -= self._cache.popitem(last=False)[1].nbytes
            return table

    def _load(self, piece: int, columns: tuple[str, ...]) -> Any:
        is_issue = piece < len(self._issue_groups)
        path, number, _ = self._issue_groups[piece] if is_issue else self._groups[0][piece]
        names = [self._names[name] if is_issue else name for name in columns]
        with reading(path) as file:
            table = check_values(file.read_row_group(number, names, use_threads=False)).select(names)
            return table.rename_columns(list(columns))


class Group(NamedTuple):
    """A row group of a Parquet file."""

    path: Path
    number: int
    n_rows: int


def list_groups(file: Any, path: Path) -> list[Group]:
    """Return the row groups of a Parquet file that is open."""
    numbers = range(file.num_row_groups)
    return [Group(path, number, file.metadata.row_group(number).num_rows) for number in numbers]


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Say which file or folder of the run is damaged."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, KeyError, OSError, ValueError) as error:
        raise describe_damage(path, error) from None


@contextmanager
def reading(path: Path) -> Iterator[Any]:
    """Open a Parquet file of the run; what cannot be read of it is damaged."""
    from pyarrow import parquet

    with explaining(path), parquet.ParquetFile(path) as file:
        yield file


def take_rows(table: Any, places: np.ndarray) -> Any:
    """Return the rows of a pyarrow.Table in some places."""
    import pyarrow as pa

    if not 0 < len(places) <= FEW:
        return table.take(places)
    return pa.concat_tables([table.slice(place, 1) for place in places.tolist()])


def _name_columns(path: Path, record: Record) -> tuple[list[str], str]:
    """Return the columns of the table but the label, and that of the given labels, from a corrected part."""
    with reading(path) as file:
        names = file.schema_arrow.names
        place = names.index(record.options.label)
    n_ours = 2 if record.options.action == "weight" else 1  # the given label, and perhaps a weight
    return names[:place] + names[place + 1 + n_ours :], names[place + 1]


def _get_type(labels: list) -> Any:
    import pyarrow as pa

    return pa.array(labels).type


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

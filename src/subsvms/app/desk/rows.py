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
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsvms._text import WHOLE, cut
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
    """Rows of a table that is in memory (`TableRows`), or was corrected in parts (`PartRows`)."""

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
    def take(self, rows: Numbers, columns: Sequence[str] | None = None) -> Any:
        """Return the values of rows, by default in all columns but the label, as a pyarrow.Table."""

    @abstractmethod
    def labels_of(self, rows: Numbers) -> list:
        """Return the given labels of rows, None where there is none."""

    @abstractmethod
    def walk(self, rows: np.ndarray) -> Iterator[Any]:
        """Yield the values of issues in pieces, in any order: all of them may be too many for memory."""

    @abstractmethod
    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """Return values and given labels of at most so many rows from all over the table."""

    @abstractmethod
    def search(self, rows: np.ndarray, text: str) -> np.ndarray:
        """Return which issues contain a text in any column, in capitals or not."""


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
        self._texts: dict[int, str] = {}

    def read_issues(self) -> Any:
        """As in `Rows`."""
        return read_issues(self.folder, self.label_type, self.n_rows, self.classes)

    def read_scores(self) -> "Scores":
        """As in `Rows`."""
        from subsvms.app.runs.scores import read_scores

        return read_scores(self.folder, self.table)

    def take(self, rows: Numbers, columns: Sequence[str] | None = None) -> Any:
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

    def labels_of(self, rows: Numbers) -> list:
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
        self.n_rows = record.found.rows
        self.classes = record.labels.classes
        self.label_type = _get_type(self.classes)
        self._folder, self._place = folder, folder / ISSUE_PARTS
        self._groups: list[tuple[Path, int]] = []  # of the issues: files and numbers of the row groups
        self._firsts = np.zeros(0, dtype=np.int64)  # the first issue of each
        self._issues = self._read_own([folder / name for name in sorted(record.files)])
        self._rows = self._issues["row"].to_numpy()
        self._order = np.argsort(self._rows)
        self._parts = [folder / name for name in sorted(record.files) if name.startswith(f"{CORRECTED}/")]
        self.columns, self._given = _name_columns(
            self._parts[0] if self._parts else folder / CORRECTED, record
        )
        names = [*self.classes, None]
        self._meant = {value: names[number] for value, number in record.labels.values}
        self._names = name_values(self.columns, self._issues.column_names)
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple, Any] = OrderedDict()
        self._cached = 0  # bytes

    def _read_own(self, paths: list[Path]) -> Any:
        """Return what the run says about all issues, in the order of the files; note their row groups."""
        import pyarrow as pa
        from pyarrow import parquet

        schema = make_schema(self.label_type)
        schema = pa.schema([field for field in schema if field.name not in SIDES])
        found, sizes, path = [schema.empty_table()], [], self._place
        try:
            for path in (one for one in paths if one.parent == self._place):
                with parquet.ParquetFile(path) as file:
                    found.append(check_values(file.read(schema.names).cast(schema)))
                    found_groups, found_sizes = _list_groups(file, path)
                    self._groups += found_groups
                    sizes += found_sizes
            path, table = self._place, pa.concat_tables(found).combine_chunks()
            for name in SHARES:
                known = pa.array(table[name].to_numpy(), from_pandas=True)
                table = table.set_column(table.column_names.index(name), schema.field(name), known)
            check_types(table, schema)
            check_issues(table, schema, self.n_rows, self.classes)
        except (pa.ArrowException, KeyError, OSError, ValueError) as error:
            raise describe_damage(path, error) from None
        self._firsts = np.cumsum([0, *sizes])[:-1]
        return table

    def read_issues(self) -> Any:
        """As in `Rows`: flagged labels, those held back, the most doubtful others, rows without a label."""
        issues = self._issues
        doubtful = [path.name == DOUBTFUL for path, _ in self._groups]
        counts = np.diff([*self._firsts, len(issues)])
        missing = issues["given_label"].is_null().to_numpy()
        kind = np.where(issues["is_label_issue"].to_numpy(), 0, 1 + np.repeat(doubtful, counts).astype(int))
        order = np.lexsort((self._rows, issues["label_quality"].to_numpy(), np.where(missing, 3, kind)))
        return self._add_comparisons(issues.take(order))

    def read_scores(self) -> "Scores":
        """As in `Rows`."""
        from subsvms.app.runs.scores import read_score_parts

        return read_score_parts(self._folder, self.label_type, self.classes, self.n_rows)

    def _add_comparisons(self, issues: Any) -> Any:
        """Return issues with the rows to compare them with, which only the worst have, in issues.parquet."""
        import pyarrow as pa

        found = None
        if (self._folder / ISSUES).is_file():
            found = read_issues(self._folder, self.label_type, self.n_rows, self.classes)
        places = {} if found is None else {row: at for at, row in enumerate(found["row"].to_pylist())}
        at = [places.get(row) for row in issues["row"].to_pylist()]
        names = [*SIDES, *CARRIERS] if found is not None and CARRIERS[0] in found.column_names else SIDES
        for name in names:
            kind = pa.list_(pa.int64()) if found is None else found.schema.field(name).type
            known = [] if found is None else found[name].to_pylist()
            empty: Any = None if name == CARRIERS[0] else []
            values = [empty if place is None else known[place] for place in at]
            issues = issues.append_column(name, pa.array(values, kind))
        return issues

    def take(self, rows: Numbers, columns: Sequence[str] | None = None) -> Any:
        """As in `Rows`."""
        import pyarrow as pa

        wanted = tuple(self.columns if columns is None else columns)
        if not len(rows):
            return self._read(0, wanted).slice(0, 0) if self._groups else pa.table({})
        places = self._find(rows)
        return self._take(places, wanted)

    def _take(self, places: np.ndarray, columns: tuple[str, ...]) -> Any:
        """Return columns of rows in some places."""
        import pyarrow as pa

        order = np.argsort(places)
        firsts = self._firsts if places.max() < len(self._issues) else self._all_groups[1]
        groups = np.searchsorted(firsts, places[order], side="right") - 1
        numbers, starts = np.unique(groups, return_index=True)
        pieces = [
            self._read(number, columns).take(chosen - firsts[number])
            for number, chosen in zip(numbers.tolist(), np.split(places[order], starts[1:]), strict=True)
        ]
        return pa.concat_tables(pieces, promote_options="permissive").take(np.argsort(order))

    def labels_of(self, rows: Numbers) -> list:
        """As in `Rows`."""
        places, n_issues = self._find(rows), len(self._issues)
        labels = np.full(len(places), None, dtype=object)
        listed = places < n_issues
        labels[listed] = self._issues["given_label"].take(places[listed]).to_pylist()
        if not listed.all():
            values = self._take(places[~listed], (self._given,))[self._given].to_pylist()
            labels[~listed] = [self._meant.get(value) for value in values]
        return labels.tolist()

    def walk(self, rows: np.ndarray) -> Iterator[Any]:
        """As in `Rows`: one row group after the other."""
        groups = np.unique(np.searchsorted(self._firsts, self._find(rows), side="right") - 1)
        for number in groups.tolist():
            yield self._load(number, tuple(self.columns))

    def sample(self, most: int, columns: Sequence[str] | None = None) -> tuple[Any, list]:
        """As in `Rows`: the first rows of some parts of the corrected table, with the labels as given."""
        import pyarrow as pa
        from pyarrow import parquet

        paths = [self._parts[place] for place in space_evenly(len(self._parts), SAMPLED_PARTS).tolist()]
        names = list(self.columns if columns is None else columns)
        pieces = []
        for path in paths:
            try:
                with parquet.ParquetFile(path) as file:
                    batches = file.iter_batches(-(-most // len(paths)), columns=[*names, self._given])
                    pieces += [pa.Table.from_batches([batch]) for batch in islice(batches, 1)]
            except (pa.ArrowException, OSError, ValueError) as error:
                raise describe_damage(path, error) from None
        taken = pa.concat_tables(pieces)
        return taken.select(names), [self._meant.get(value) for value in taken[self._given].to_pylist()]

    def search(self, rows: np.ndarray, text: str) -> np.ndarray:
        """As in `Rows`; one row group is in memory at a time."""
        wanted, found = text.casefold(), np.zeros(len(self._rows), dtype=bool)
        for number, first in enumerate(self._firsts.tolist()):
            lines = join_values(self._load(number, tuple(self.columns)))
            found[first : first + len(lines)] = [wanted in line for line in lines]
        return found[self._find(rows)]

    @cached_property
    def _all_groups(self) -> tuple[list[tuple[Path, int]], np.ndarray]:
        """The row groups of issues and of the corrected table, and the first place of each."""
        import pyarrow as pa
        from pyarrow import parquet

        groups, sizes = list(self._groups), np.diff([*self._firsts, len(self._issues)]).tolist()
        for path in self._parts:
            try:
                with parquet.ParquetFile(path) as file:
                    found_groups, found_sizes = _list_groups(file, path)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise describe_damage(path, error) from None
            groups, sizes = groups + found_groups, sizes + found_sizes
        if sum(sizes) != len(self._issues) + self.n_rows - len(self._dropped):
            raise describe_damage(self._parts[0].parent, ValueError("it does not have the rows of the table"))
        return groups, np.cumsum([0, *sizes])[:-1]

    @cached_property
    def _dropped(self) -> np.ndarray:
        """The rows that the corrected table does not have, ascending."""
        actions = np.array(self._issues["action"].to_pylist(), dtype=object)
        return np.sort(self._rows[actions == "drop"])

    def _find(self, rows: Numbers) -> np.ndarray:
        """Return the places of rows: issues in the order of their files, then the corrected table."""
        rows = np.asarray(rows, dtype=np.int64)
        if not len(rows):
            return rows
        if rows.min() < 1 or rows.max() > self.n_rows:
            raise KeyError("not a row of this table")
        others = len(self._rows) + rows - 1 - np.searchsorted(self._dropped, rows)
        if not len(self._order):
            return others
        at = np.minimum(np.searchsorted(self._rows, rows, sorter=self._order), len(self._order) - 1)
        places = self._order[at]
        return np.where(self._rows[places] == rows, places, others)

    def _read(self, number: int, columns: tuple[str, ...]) -> Any:
        """Return columns of a row group, from memory if they were read lately."""
        key = (number, columns)
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
            table = self._load(number, columns)
            self._cache[key] = table
            self._cached += table.nbytes
            while self._cached > CACHE_BYTES:
                self._cached -= self._cache.popitem(last=False)[1].nbytes
            return table

    def _load(self, number: int, columns: tuple[str, ...]) -> Any:
        """Return columns of a row group under the names that they have in the table."""
        import pyarrow as pa
        from pyarrow import parquet

        is_issue = number < len(self._groups)
        path, group = self._groups[number] if is_issue else self._all_groups[0][number]
        try:
            with parquet.ParquetFile(path) as file:
                names = [self._names[name] if is_issue else name for name in columns]
                table = check_values(file.read_row_group(group, names, use_threads=False)).select(names)
                return table.rename_columns(list(columns))
        except (pa.ArrowException, KeyError, OSError, ValueError) as error:
            raise describe_damage(path, error) from None


def _name_columns(path: Path, record: Record) -> tuple[list[str], str]:
    """Return the columns of the table but the label, and that of the given labels, from a corrected part."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        names = parquet.read_schema(path).names
        place = names.index(record.options.label)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise describe_damage(path, error) from None
    n_ours = 2 if record.options.action == "weight" else 1  # the given label, and perhaps a weight
    return names[:place] + names[place + 1 + n_ours :], names[place + 1]


def _list_groups(file: Any, path: Path) -> tuple[list[tuple[Path, int]], list[int]]:
    """Return the row groups of a Parquet file, and their sizes."""
    numbers = range(file.num_row_groups)
    return [(path, number) for number in numbers], [file.metadata.row_group(n).num_rows for n in numbers]


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

"""The issues of a table that was corrected in parts, read from its folder by row group.

What the run says about each issue is in memory; the values of rows stay in the files of the folder `issues`.
So memory grows with the issues, and not with the table, which is not read at all.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.desk.rows import join_values, space_evenly
from subsvms.app.names import CORRECTED, DOUBTFUL, ISSUE_PARTS
from subsvms.app.runs.issue_file import SIDES, check_issues, make_schema, name_values
from subsvms.app.runs.record import Record
from subsvms.app.runs.stored import check_types, describe_damage
from subsvms.app.tables.arrow import check_values
from subsvms.exceptions import TableError

CACHE_BYTES = 1 << 28  # of values that are kept in memory
SAMPLED_PARTS = 16  # of the corrected table
SHARES = ("label_quality", "confidence", "vote_share")  # NaN where there is none; JSON has no NaN


class PartRows:
    """The issues of a run in parts: as `Rows`, but no other rows can be shown.

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
        self._place = folder / ISSUE_PARTS
        self._groups: list[tuple[Path, int]] = []  # files and numbers of the row groups
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

        schema = make_schema(pa.array(self.classes).type)
        schema = pa.schema([field for field in schema if field.name not in SIDES])
        found, sizes, path = [schema.empty_table()], [], self._place
        try:
            for path in (one for one in paths if one.parent == self._place):
                with parquet.ParquetFile(path) as file:
                    found.append(check_values(file.read(schema.names).cast(schema)))
                    for number in range(file.num_row_groups):
                        self._groups.append((path, number))
                        sizes.append(file.metadata.row_group(number).num_rows)
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
        """As in `Rows`: flagged labels, those held back, the most doubtful others, rows without a label.

        There are no rows to compare with.
        """
        import pyarrow as pa

        issues = self._issues
        doubtful = [path.name == DOUBTFUL for path, _ in self._groups]
        counts = np.diff([*self._firsts, len(issues)])
        missing = issues["given_label"].is_null().to_numpy()
        kind = np.where(issues["is_label_issue"].to_numpy(), 0, 1 + np.repeat(doubtful, counts).astype(int))
        order = np.lexsort((self._rows, issues["label_quality"].to_numpy(), np.where(missing, 3, kind)))
        found = issues.take(order)
        none = pa.array([[]] * len(found), pa.list_(pa.int64()))
        for side in SIDES:
            found = found.append_column(side, none)
        return found

    def take(self, rows: Sequence[int] | np.ndarray, columns: Sequence[str] | None = None) -> Any:
        """As in `Rows`."""
        import pyarrow as pa

        wanted = tuple(self.columns if columns is None else columns)
        if not len(rows):
            return self._read(0, wanted).slice(0, 0) if self._groups else pa.table({})
        places = self._find(rows)
        order = np.argsort(places)
        groups = np.searchsorted(self._firsts, places[order], side="right") - 1
        numbers, starts = np.unique(groups, return_index=True)
        pieces = [
            self._read(number, wanted).take(chosen - self._firsts[number])
            for number, chosen in zip(numbers.tolist(), np.split(places[order], starts[1:]), strict=True)
        ]
        return pa.concat_tables(pieces).take(np.argsort(order))

    def labels_of(self, rows: Sequence[int] | np.ndarray) -> list:
        """As in `Rows`."""
        return self._issues["given_label"].take(self._find(rows)).to_pylist()

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

    def _find(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the places of rows among the issues, in the order of the files."""
        rows = np.asarray(rows, dtype=np.int64)
        at = np.searchsorted(self._rows, rows, sorter=self._order)
        places = self._order[np.minimum(at, len(self._order) - 1)]
        if len(rows) and not np.array_equal(self._rows[places], rows):
            raise KeyError("not an issue of this run")
        return places

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

        path, group = self._groups[number]
        try:
            with parquet.ParquetFile(path) as file:
                names = [self._names[name] for name in columns]
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

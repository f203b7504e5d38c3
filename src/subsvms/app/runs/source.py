"""Tables that are read in parts: Parquet files, one or several, in a folder, by a pattern, or partitioned.

A *unit* is a few row groups of one file. Rows are numbered through all files, in the order of their paths, so
a row has the same number in whatever order the files are named and however many machines read them. Text
(CSV, TSV) and Arrow files have no row groups: they are copied to Parquet first, a block at a time.
"""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from subsvms.app.quoting import first_sentence, show
from subsvms.app.tables.addresses import AccessError, Place, as_place, format_refusal, is_address, locate
from subsvms.app.tables.arrow import are_alike, check_values, find_difference, use_plain_columns
from subsvms.app.tables.files import check_names
from subsvms.app.tables.table import LabelledTable
from subsvms.app.tables.where import find_layout, list_files, name_files
from subsvms.exceptions import TableError

Columns = Sequence[str] | None
Read = Iterator[tuple[int, Any]]  # the number of the first row, and a pyarrow.Table, of each batch
UNIT_ROWS = 1 << 17  # rows up to which small row groups are joined; a larger group is a unit of its own
MAX_BATCH_ROWS, MIN_BATCH_ROWS = 1 << 14, 1 << 10  # rows in memory at a time
MAX_BATCH_CELLS = 1 << 22  # cells in memory at a time, if that leaves enough rows


@dataclass(frozen=True)
class Unit:
    """A part of a table that one worker reads."""

    number: int
    path: str
    row_groups: tuple[int, ...]
    first: int  # number of its first row, from 0
    n_rows: int

    def __str__(self) -> str:
        groups = f"row group{'s' * (len(self.row_groups) > 1)} {', '.join(map(str, self.row_groups))}"
        return f"{self.path!r}, {groups}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """A table, split into units that are read one by one; one in memory is a single unit."""

    name: str  # what messages call the table
    schema: Any
    units: tuple[Unit, ...]
    paths: tuple[Place, ...] = ()  # the user's files
    format: str = "parquet"  # format of the user's files; units are always read from Parquet
    separator: str | None = None  # of text
    table: LabelledTable | None = None  # all rows, if they are in memory

    @classmethod
    def of(cls, table: LabelledTable) -> "Source":
        """Return the source of a table in memory."""
        unit = Unit(0, table.name, (), 0, len(table))
        return cls(
            name=table.name, schema=table.columns.schema, units=(unit,), paths=table.paths,
            format=table.format, table=table,
        )  # fmt: skip

    @property
    def n_rows(self) -> int | None:
        """How many rows there are; None if that is not known before they are read."""
        return self.units[-1].first + self.units[-1].n_rows if self.units else 0

    @property
    def decimal_comma(self) -> bool:
        """As in `LabelledTable`."""
        return self.separator == ";"

    def read(self, unit: Unit, columns: Columns = None) -> Read:
        """Read the columns of a unit, one batch after the other."""
        assert self.table is not None
        whole = self.table.columns
        yield unit.first, whole if columns is None else whole.select(list(columns))


@dataclass(frozen=True, eq=False, kw_only=True)
class Files(Source):
    """Parquet files. It holds no rows, and can be sent to other machines."""

    partitions: dict[str, Any]  # for each path, the values that its folders' names give

    def read(self, unit: Unit, columns: Columns = None) -> Read:
        """As in `Source`."""
        import pyarrow as pa

        at = unit.first
        try:
            for batch in self._scan(unit, columns):
                if batch.num_rows:
                    yield at, pa.Table.from_batches([batch])
                    at += batch.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            if is_address(unit.path):
                refusal = format_refusal(repr(unit.path), error)
                raise AccessError(f"{refusal} The same command continues where this one stopped.") from None
            reason = first_sentence(error)
            raise TableError(f"{unit} cannot be read ({reason}): replace the file and start again.") from None
        if at != unit.first + unit.n_rows:
            raise TableError(
                f"{unit} had {unit.n_rows} rows, and now has {at - unit.first}: do not change files while "
                "they are read."
            )

    def _scan(self, unit, columns):
        """Yield the record batches of a unit."""
        from pyarrow import dataset

        system, path = locate(as_place(unit.path))
        checked = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
        fragment = dataset.ParquetFileFormat(default_fragment_scan_options=checked).make_fragment(
            path, system, self.partitions.get(unit.path), list(unit.row_groups)
        )
        n_rows = min(max(MAX_BATCH_CELLS // max(len(self.schema), 1), MIN_BATCH_ROWS), MAX_BATCH_ROWS)
        yield from map(check_values, fragment.to_batches(
            self.schema, columns=columns, batch_size=n_rows, use_threads=False,
            batch_readahead=1, fragment_readahead=1,
        ))  # fmt: skip


def join_digests(digests: Sequence[str]) -> str:
    """Return one digest for several files: that of a single file, or of all digests together."""
    return "".join(digests) if len(digests) < 2 else hashlib.sha256("".join(digests).encode()).hexdigest()


def release_memory() -> None:
    """Release memory that Arrow holds for this thread, so that each unit reuses that of the last."""
    import pyarrow as pa

    pa.default_memory_pool().release_unused()


def open_source(
    where: str | os.PathLike | Sequence[str | os.PathLike], label: str | None, base: Place | None = None
) -> Files:
    """Find the units of a table in Parquet files."""
    from pyarrow import dataset

    shared, paths = list_files(where)
    base = shared if base is None else base
    layout = find_layout(base)
    name = name_files(paths)
    system, _ = locate(paths[0])
    inner = [locate(path)[1] for path in paths]
    with _explaining_damage(name):
        found = dataset.dataset(
            inner, filesystem=system, format="parquet", partition_base_dir=locate(base)[1], **layout
        )
        fragments = sorted(found.get_fragments(), key=lambda fragment: fragment.path)
        names = found.schema.names  # which Python decodes
    check_names(names, name, label)
    shown = dict(zip(inner, [str(path) for path in paths], strict=True)) if is_address(str(paths[0])) else {}
    schema = found.schema
    if "schema" not in layout:
        schema = check_schemas(fragments, schema, str(paths[0]), shown)
    cut = [unit for file in fragments for unit in cut_file(file, shown.get(file.path, file.path))]
    if not cut:
        raise TableError(f"{name} has no rows: a table needs at least one row of each class.")
    partitions = {shown.get(one.path, one.path): one.partition_expression for one in fragments}
    firsts = itertools.accumulate((unit.n_rows for unit in cut[:-1]), initial=0)
    units = (replace(unit, number=i, first=at) for i, (unit, at) in enumerate(zip(cut, firsts, strict=True)))
    return Files(name=name, paths=tuple(paths), schema=schema, units=tuple(units), partitions=partitions)


@contextmanager
def _explaining_damage(name: str) -> Iterator[None]:
    """Say what is wrong with a file that cannot be opened."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if is_address(name[1:]) and isinstance(error, OSError):  # more likely the server than the file
            raise AccessError(format_refusal(name, error)) from None
        raise TableError(
            f"{name} is damaged or not a Parquet file ({first_sentence(error)}): write it again."
        ) from None


def check_schemas(fragments: Sequence[Any], schema: Any, first: str, addresses: dict[str, str]) -> Any:
    """Return the schema of a table, or raise an error unless all its files have the same columns."""
    import pyarrow as pa
    from pyarrow import dataset

    for fragment in fragments:
        path = addresses.get(fragment.path, fragment.path)
        with _explaining_damage(repr(path)):
            physical = fragment.physical_schema
            own = {field.name: field.type for field in physical}
        check_names(physical.names, repr(path), None)
        folders = set(dataset.get_partition_keys(fragment.partition_expression)) - own.keys()
        wanted = {field.name: field.type for field in schema if field.name not in folders}
        for name in (*wanted, *own):
            if not (name in own and name in wanted and are_alike(own[name], wanted[name])):
                here, there = (f"of type {one[name]}" if name in one else "missing" for one in (own, wanted))
                raise TableError(
                    f"{path!r} does not match {first!r}: column {show(name)} is {here} here, but {there} "
                    "there; write all files with the same schema."
                )
        schema = pa.unify_schemas([schema, physical])
    return schema


def cut_file(fragment: Any, path: str) -> list[Unit]:
    """Return the units of one file of a table (pyarrow.dataset), not numbered yet."""
    with _explaining_damage(repr(path)):
        sizes = [group.num_rows for group in fragment.row_groups]
    groups: list[list[int]] = []
    rows = 0
    for number, size in enumerate(sizes):
        if groups and rows + size <= UNIT_ROWS:
            groups[-1].append(number)
            rows += size
        elif size:
            groups.append([number])
            rows = size
    return [Unit(0, path, tuple(group), 0, sum(sizes[number] for number in group)) for group in groups]


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches(Source):
    """A table that a program provides in batches; it is one unit."""

    get_batches: Callable[[], Iterable[Any]]  # a new iterable of the same batches at each call
    name: str = "the table"
    units: tuple[Unit, ...] = (Unit(0, "the batches", (), 0, 0),)

    @property
    def n_rows(self) -> int | None:
        """Not known."""
        return None

    def read(self, unit: Unit, columns: Columns = None) -> Read:
        """As in `Source`."""
        import pyarrow as pa

        at, known = unit.first, self.schema
        for batch in self.get_batches():
            table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
            table = use_plain_columns(table)
            difference = find_difference(table.schema, known)
            if difference is not None:
                raise TableError(
                    f"A batch of {self.name} does not match the first: {difference}; cast all of them to one "
                    "schema."
                )
            known = pa.unify_schemas([known, table.schema])
            if len(table):
                yield at, table if columns is None else table.select(list(columns))
                at += len(table)

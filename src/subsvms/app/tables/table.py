"""From a file or a data frame to a table with checked labels, and back to a file with other labels.

The formats are those of `formats`, each optionally compressed with gzip, bzip2, xz or zstd. In CSV and TSV
every cell is text here: "007" stays "007". What the columns mean is decided later, and for the features only.

A data frame of pandas, polars or Arrow becomes what its Parquet file would be. The index of a pandas frame is
not a column. Columns that pandas holds as objects of several types become text, as they would in CSV.

A LazyFrame of polars and a relation of DuckDB are read in batches, as often as needed, so that the whole
table is never in memory (with polars before 1.34 it is). Each time the rows must come in the same order, as
they do unless the query changes it.
"""

import os
import sys
from collections.abc import Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.app.quoting import explaining, explaining_each, show
from subsvms.app.tables import files
from subsvms.app.tables.addresses import Place, place_result
from subsvms.app.tables.arrow import as_long_numbers, check_values, put_labels, read_several
from subsvms.app.tables.formats import FORMATS, Reading, check_reading, default_ending, load_function
from subsvms.app.tables.labels import read_labels
from subsvms.app.tables.text import Encoding, Original
from subsvms.app.tables.where import find_files
from subsvms.exceptions import Note, TableError, is_text

FRAME = "frame"  # the format of a data frame, and its name in messages
BATCH_ROWS = 1 << 16  # of a lazy table


@dataclass(frozen=True, eq=False, repr=False)
class LabelledTable:
    """A table, its labels, and what is needed to write it back as it was."""

    columns: Any  # all columns in their order, including the label. Of LIBSVM text, only the label.
    label: str | None  # name of the label column; None if the table was read without one
    # (n_rows,): text, or in typed formats whole numbers or booleans; None where the label is missing
    labels: np.ndarray
    name: str  # name of the table in messages
    format: str  # one of `FORMATS`, or `FRAME`
    matrix: Any = None  # the values of LIBSVM text; column j is the file's index j
    paths: tuple[Place, ...] = ()  # the files it was read from; empty for standard input
    digest: str = ""  # SHA-256 of the file; for several files, of their digests
    notes: tuple[Note, ...] = ()  # what is odd about the file or the labels, in sentences
    text: Original | None = None  # in which labels can be replaced; None if the columns alone say all
    encoding: Encoding = Encoding()  # the encoding of that text in the file
    folder: Path | None = None  # the folder that the user gave in place of files
    decimal_comma: bool = False  # whether 1,234 is rather a fraction, as in CSV with semicolons
    # (n_rows,): the labels in the file's own spelling, if different spellings were merged
    written_labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def _numbered(self) -> tuple[Classes, np.ndarray]:
        return Classes.learn(self.labels)

    @property
    def classes(self) -> list:
        """The distinct labels, sorted."""
        return self._numbered[0].labels

    @property
    def codes(self) -> np.ndarray:
        """The class number of each row, its place among `classes`; -1 where the label is missing."""
        return self._numbered[1]

    @property
    def as_written(self) -> np.ndarray:
        """The labels as the file spells them."""
        return self.labels if self.written_labels is None else self.written_labels

    @property
    def missing(self) -> np.ndarray:
        """Which labels are missing."""
        return self.codes < 0


def read_table(
    where: str | os.PathLike | Sequence[str | os.PathLike], label: str | None, *, format: str | None = None,
    encoding: str | None = None, separator: str | None = None, sheet: str | None = None,
    query: str | None = None, **labels: Any,
) -> LabelledTable:  # fmt: skip
    """Read a table and check its labels, with the options of `read_labels`."""
    reading = Reading(encoding, separator, sheet, query)
    contents = [files.read_content(path, format) for path in find_files(where)]
    for content in contents:
        check_reading(content.format, content.name, reading)
    first = contents[0]
    if len(contents) > 1:
        columns, more = read_several(contents, label)
    else:
        columns, more = load_function(FORMATS[first.format].reader)(first, label, reading)
        more = {"name": first.name, "digest": first.digest} | more
    if isinstance(where, str | os.PathLike) and Path(where).is_dir():
        more["folder"] = Path(where)
    paths = tuple(content.path for content in contents if content.path is not None)
    return _check_table(columns, label, labels, paths=paths, format=first.format, **more)


def read_one(content: files.Content, label: str | None, **labels: Any) -> LabelledTable:
    """Read the bytes of one file, and check its labels, with the options of `read_labels`."""
    columns, more = load_function(FORMATS[content.format].reader)(content, label, Reading())
    more = {"name": content.name, "digest": content.digest, "format": content.format} | more
    return _check_table(columns, label, labels, **more)


def _check_table(columns: Any, label: str | None, options: dict, *, name: str, **more: Any) -> LabelledTable:
    """Return a table with its labels, read with these options, once its names and labels are checked."""
    files.check_names(columns.column_names, name, label)
    if len(columns) == 0:
        raise TableError(f"{name} has no rows: it must hold at least one row of each class.")
    unread = np.full(len(columns), None, dtype=object)
    table = LabelledTable(columns=columns, label=label, labels=unread, name=name, **more)
    if label is None:
        return table
    is_text = table.format in FORMATS and FORMATS[table.format].all_text
    found, written, notes = read_labels(columns[label], name, label, is_text=is_text, **options)
    kept = None if np.array_equal(written, found) else written
    return replace(table, labels=found, notes=(*table.notes, *notes), written_labels=kept)


def keep_rows(table: LabelledTable, keep: np.ndarray) -> LabelledTable:
    """Return a table without some of its rows; the rest is as it was, byte for byte."""
    return replace(
        table, columns=table.columns.filter(np.asarray(keep)), labels=table.labels[keep],
        written_labels=None if table.written_labels is None else table.written_labels[keep],
        matrix=None if table.matrix is None else table.matrix[keep],
        text=None if table.text is None else table.text.keep_rows(keep),
    )  # fmt: skip


def write_table(
    table: LabelledTable, path: str | os.PathLike, label_values: Sequence | np.ndarray | None = None,
    extra_columns: Mapping[str, Sequence | np.ndarray] | None = None, *, force: bool = False,
) -> None:  # fmt: skip
    """Write the table with new labels, completely or not at all; everything else stays as it was."""
    format = files.find_output_format(path, table.format)
    target = files.check_target(path, table.paths, force=force)
    if (format == "svmlight") != (table.format == "svmlight"):
        raise TableError(
            f"A table read as {table.format} cannot be written as {format}, to {str(path)!r}: LIBSVM text "
            "can only be written as LIBSVM text."
        )
    given = table.as_written.tolist()
    labels = given if label_values is None else _as_list(label_values, "label_values", len(table))
    extra = {str(name): _as_list(values, name, len(table)) for name, values in (extra_columns or {}).items()}
    taken = [name for name in extra if name in table.columns.column_names]
    if taken:
        raise TableError(
            f"{table.name} already has a column {show(taken[0])}: give the new column another name."
        )
    if table.format == format and table.text is not None:
        data = table.encoding.encode(table.text.replace_labels(labels, given, extra))
    else:
        columns = put_labels(table.columns, table.label, labels, given, extra)
        data = load_function(FORMATS[format].writer)(columns, format)
    files.write_content(target, data)


def _as_list(values, name, n_rows):
    """Return values as plain Python objects, None where they are missing."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(values) != n_rows:
        raise TableError(f"{name} must have one value for each of the {n_rows} rows; got {len(values)}.")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return [None if value is None or value != value else value for value in plain]


def place_beside(table: LabelledTable, word: str, ending: str | None = None) -> Path:
    """Return a path next to the table's file: loans.csv.gz becomes loans.corrupted.csv.gz."""
    # The result of a file at an address goes to the working directory.
    if table.folder is not None:
        folder = Path(os.path.abspath(table.folder))
        ending = default_ending(table.format) if ending is None else ending
        return folder.with_name(f"{folder.name}.{word}{ending}")
    if len(table.paths) != 1:
        source = "several files" if table.paths else "standard input or a database"
        raise TableError(
            "The table was read from {source}: say with {output} where the result should go.", source=source
        )
    (path,) = table.paths
    stem, own = files.split_suffix(path, table.format)
    return place_result(path, f"{stem}.{word}{own if ending is None else ending}")


def number_name(wanted: str, taken: Container[str]) -> str:
    """Return a name for a new column that is not taken: with a number after it, if necessary."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def find_free(name: str, taken: Container[str]) -> str:
    """Return a name for a user's column that is not taken by one of the columns we add."""
    while name in taken:
        name += " (column)"
    return name


# Data frames


def read_frame(
    frame: Any, label: Hashable | None, *, name: str = repr(FRAME), **labels: Any
) -> LabelledTable:
    """Return a data frame, which may change afterwards, as a table with checked labels (`read_labels`)."""
    label = None if label is None else str(label)
    table = _check_table(as_arrow(frame, label), label, labels, name=name, format=FRAME)
    return replace(table, written_labels=None)


def as_arrow(frame: Any, label: str | None = None) -> Any:
    """Return a data frame as a pyarrow.Table of plain types, which shares no memory that could change."""
    import pandas as pd
    import pyarrow as pa
    from narwhals.dependencies import is_into_series, is_polars_lazyframe

    if is_into_series(frame):
        raise TableError("frame is a single column: give the data frame that holds it, with its labels.")
    if is_polars_lazyframe(frame):
        frame = frame.collect()
    exports = hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")
    if isinstance(frame, pd.DataFrame):
        names = [str(name) for name in frame.columns]
        files.check_names(names, repr(FRAME), None)
        for name in names:
            if not is_text(name):
                words = "has a name that is not Unicode: rename it."
                raise TableError(f"The column {show(name)} of {FRAME!r} {words}")
        arrays = [_read_series(frame.iloc[:, i], one == label) for i, one in enumerate(names)]
        columns = pa.Table.from_arrays(arrays, names=names)
    elif exports or hasattr(frame, "to_arrow"):  # which polars before 1.3 has
        advice = "convert or drop columns that hold anything but numbers, text, dates and booleans."
        errors = (pa.ArrowException, TypeError, ValueError)
        with explaining("frame could not be read as an Arrow table", advice, errors):
            columns = (pa.table(frame) if exports else frame.to_arrow()).replace_schema_metadata()
    elif load := next(
        (one for one in ("collect", "compute") if hasattr(frame, one)), None
    ):  # Dask's: compute
        raise TableError(f"frame is a {type(frame).__name__}, which holds no rows yet: use frame.{load}().")
    else:
        raise TableError(
            f"frame must be a data frame of pandas, polars or Arrow; got {type(frame).__name__}: use "
            "correct_labels for arrays, and subsvms correct for files."
        )
    wrong = (pa.ArrowException, ValueError)
    with explaining("frame could not be read", "convert or drop that column.", wrong):
        return check_values(columns)


def _read_series(series, is_label):
    """Return a column of pandas as a pyarrow.ChunkedArray of its own; mixed objects become text."""
    import pandas as pd
    import pyarrow as pa

    def as_text(value):
        missing = pd.api.types.is_scalar(value) and pd.isna(value)
        try:
            return None if missing else str(value).encode(errors="replace").decode()
        except ValueError:  # Python's limit, for such numbers take long to write
            words = (
                f"holds a number of more than {sys.get_int_max_str_digits():,} digits: drop or convert it."
            )
            raise TableError(f"The column {show(str(series.name))} of {FRAME!r} {words}") from None

    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    try:
        # A copy: Arrow would share the memory of numbers, which the user may change later.
        array = pa.array(series.copy(), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = None if is_label else as_long_numbers(series.tolist())
    if array is None or isinstance(array.type, pa.BaseExtensionType):  # such as periods of pandas
        array = pa.array(map(as_text, series.astype(object)), pa.string())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def is_lazy(table: Any) -> bool:
    """Return whether this is a LazyFrame of polars or a relation of DuckDB."""
    from narwhals import dependencies

    return dependencies.is_polars_lazyframe(table) or dependencies.is_duckdb_relation(table)


def read_lazy(table: Any) -> Iterator[Any]:
    """Yield the rows of a lazy table, as pyarrow.RecordBatch of plain types."""
    from narwhals import dependencies

    batches = _read_polars(table) if dependencies.is_polars_lazyframe(table) else _read_duckdb(table)
    what, advice = f"The {type(table).__name__} cannot be read", "run its query by itself to see why."
    yield from map(check_values, explaining_each(batches, partial(explaining, what, advice)))


def _read_polars(frame):
    if hasattr(frame, "collect_batches"):  # polars 1.34 and later
        frames = frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
    else:
        frames = [frame.collect()]
    for one in frames:
        yield from one.to_arrow().to_batches()


def _read_duckdb(relation):
    newer = hasattr(relation, "to_arrow_reader")  # DuckDB 1.5 and later
    yield from (relation.to_arrow_reader if newer else relation.fetch_record_batch)(BATCH_ROWS)

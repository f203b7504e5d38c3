"""Data frames of pandas, polars and Arrow, and tables that another program reads when asked.

A frame becomes an Arrow table, as from a Parquet file with the same columns. The index of a pandas frame is
not a column. Columns that pandas holds as objects of several types become text, as they would in CSV.

A LazyFrame of polars and a relation of DuckDB are read in batches, as often as needed, so that the whole
table is never in memory (with polars before 1.34 it is). Each time the rows must come in the same order; both
programs keep the order of what they read, unless the query changes it.
"""

from collections.abc import Hashable, Iterator
from typing import Any

from narwhals import dependencies as libraries

from subsvms._sentences import is_text
from subsvms.app.tables.arrow import check_values
from subsvms.app.tables.files import check_names
from subsvms.app.tables.labels import read_labels
from subsvms.app.tables.table import LabelledTable
from subsvms.app.words import explaining, show
from subsvms.exceptions import TableError

FRAME = "frame"  # the format of such a table, and its name in messages
BATCH_ROWS = 1 << 16


def read_frame(frame: Any, label: Hashable, *, name: str = repr(FRAME), **labels: Any) -> LabelledTable:
    """Return a data frame, which may change afterwards, as a table with checked labels (`read_labels`)."""
    columns, label = as_arrow(frame), str(label)
    check_names(columns.column_names, name, label)
    if len(columns) == 0:
        raise TableError(f"{name} has no rows: it must hold at least one row of each class.")
    found, _, notes = read_labels(columns[label], name, label, is_text=False, **labels)
    return LabelledTable(
        columns=columns, label=label, labels=found, matrix=None, name=name, paths=(), format=FRAME,
        digest="", notes=notes,
    )  # fmt: skip


def as_arrow(frame: Any) -> Any:
    """Return a data frame as a pyarrow.Table of plain types, which shares no memory that could change."""
    import pandas as pd
    import pyarrow as pa

    if libraries.is_polars_lazyframe(frame):
        frame = frame.collect()
    if isinstance(frame, pd.DataFrame):
        arrays = [_read_series(frame.iloc[:, place]) for place in range(frame.shape[1])]
        return _check(pa.Table.from_arrays(arrays, names=[_check_name(name) for name in frame.columns]))
    if hasattr(frame, "collect") and not hasattr(frame, "to_arrow"):
        raise TableError(f"frame is a {type(frame).__name__}, which holds no rows yet: use frame.collect().")
    exports = hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__")
    if not exports and not hasattr(frame, "to_arrow"):  # which polars before 1.3 has
        raise TableError(
            f"frame must be a data frame of pandas, polars or Arrow; got {type(frame).__name__}: use "
            "correct_labels for arrays, and subsvms correct for files."
        )
    advice = "convert or drop columns that hold anything but numbers, text, dates and booleans."
    with explaining(
        "frame could not be read as an Arrow table", advice, (pa.ArrowException, TypeError, ValueError)
    ):
        columns = (pa.table(frame) if exports else frame.to_arrow()).replace_schema_metadata()
    return _check(columns)


def _check_name(name):
    """Return the name of a column as text that a file can hold."""
    if not is_text(str(name)):
        raise TableError(
            f"The column {show(str(name))} of {FRAME!r} has a name that is not Unicode: rename it."
        )
    return str(name)


def _check(columns):
    import pyarrow as pa

    errors = (pa.ArrowException, ValueError)
    with explaining("frame could not be read", "convert or drop that column.", errors):
        return check_values(columns)


def _read_series(series):
    """Return a column of pandas as a pyarrow.ChunkedArray of its own; mixed objects become text."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(series.dtype, pd.SparseDtype):
        series = series.sparse.to_dense()
    try:
        # A copy: Arrow would share the memory of numbers, which the user may change later.
        array = pa.array(series.copy(), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        text = [_as_text(value) for value in series.astype(object)]
        array = pa.array(text, pa.string())
    if isinstance(array.type, pa.BaseExtensionType):  # periods and intervals, which only pandas knows
        array = pa.array([_as_text(value) for value in series.astype(object)], pa.string())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _as_text(value):
    """Return a value as text that a file can hold; None if it is missing."""
    import pandas as pd

    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return str(value).encode(errors="replace").decode()


def is_lazy(table: Any) -> bool:
    """Return whether this is a LazyFrame of polars or a relation of DuckDB."""
    return libraries.is_polars_lazyframe(table) or libraries.is_duckdb_relation(table)


def read_lazy(table: Any) -> Iterator[Any]:
    """Yield the rows of a lazy table, as pyarrow.RecordBatch of plain types."""
    batches = _read_polars(table) if libraries.is_polars_lazyframe(table) else _read_duckdb(table)
    failed = f"The {type(table).__name__} cannot be read"
    while True:
        with explaining(failed, "run its query by itself to see why."):  # whatever the query meets
            batch = next(batches, None)
        if batch is None:
            return
        yield check_values(batch)


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

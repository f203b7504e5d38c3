"""Tables that another program reads when asked: a LazyFrame of polars, or a relation of DuckDB.

They are read in batches, as often as needed, so that the whole table is never in memory (with polars before
1.34 it is). Each time the rows must come in the same order; both programs keep the order of what they read,
unless the query changes it.
"""

from collections.abc import Iterator
from typing import Any

from narwhals import dependencies as libraries

from subsvms.app.tables.arrow import check_values
from subsvms.app.words import first_sentence
from subsvms.exceptions import TableError

BATCH_ROWS = 1 << 16


def is_lazy(table: Any) -> bool:
    """Return whether this is a LazyFrame of polars or a relation of DuckDB."""
    return libraries.is_polars_lazyframe(table) or libraries.is_duckdb_relation(table)


def read_lazy(table: Any) -> Iterator[Any]:
    """Yield the rows of a lazy table, as pyarrow.RecordBatch of plain types."""
    name = type(table).__name__
    batches = _read_polars(table) if libraries.is_polars_lazyframe(table) else _read_duckdb(table)
    while True:
        try:
            batch = next(batches, None)
        except Exception as error:  # whatever the query meets
            raise TableError(
                f"The {name} cannot be read ({first_sentence(error)}): run its query by itself to see why."
            ) from None
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

"""Lazy tables give the rows of the collected ones, in batches and in order."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from large_tables import make_columns
from pyarrow import parquet

from subsvms.app.tables import lazy
from subsvms.app.tables.frames import as_arrow
from subsvms.app.tables.lazy import is_lazy, read_lazy
from subsvms.exceptions import TableError


@pytest.fixture
def tables(tmp_path):
    """A table, and lazy tables of the same rows."""
    columns = make_columns(1000)
    path = str(tmp_path / "t.parquet")
    parquet.write_table(columns, path)
    return columns, [pl.from_arrow(columns).lazy(), pl.scan_parquet(path), duckdb.read_parquet(path)]


def test_they_are_read_in_order_as_often_as_needed(tables, monkeypatch):
    monkeypatch.setattr(lazy, "BATCH_ROWS", 300)
    columns, others = tables
    for one in others:
        for _ in range(2):
            found = pa.Table.from_batches(read_lazy(one))
            assert is_lazy(one) and found.to_pydict() == columns.to_pydict()
    assert not is_lazy(columns) and not is_lazy(pl.from_arrow(columns))


def test_a_polars_without_batches_is_collected(tables, monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    columns, (frame, *_) = tables
    assert pa.Table.from_batches(read_lazy(frame)).to_pydict() == columns.to_pydict()


def test_a_frame_is_made_of_all_rows(tables):
    columns, others = tables
    for one in others:
        assert as_arrow(one).to_pydict() == columns.to_pydict()


def test_a_query_that_fails_is_one_sentence(tables):
    _, (frame, *_) = tables
    with pytest.raises(TableError, match=r"^The LazyFrame cannot be read \(.*none.*\): run its query"):
        list(read_lazy(frame.select("none")))
    relation = duckdb.sql("select cast(x as integer) as x from (values ('1'), ('one')) as t(x)")
    with pytest.raises(TableError, match=r"^The DuckDBPyRelation cannot be read \(.*one.*\): run its query"):
        list(read_lazy(relation))

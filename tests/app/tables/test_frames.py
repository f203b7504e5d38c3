"""Data frames are read as files with the same columns are.

Lazy tables give the rows of the collected ones, in batches and in order.
"""

import datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from large_tables import make_columns
from nasty_texts import assert_refused
from pyarrow import parquet

from subsvms.app.tables import table
from subsvms.app.tables.table import as_arrow, is_lazy, read_frame, read_lazy, read_table
from subsvms.exceptions import TableError

LABEL = ["no", "yes", "no", None]
COLUMNS = {
    "number": [1.5, None, 3.0, -1e300],
    "whole": [1, 2, 3, 2**62],
    "flag": [True, False, None, True],
    "text": ["007", "é", None, ""],
    "moment": [datetime.datetime(2024, 2, 29, 13, 5), None, datetime.datetime(1850, 1, 1), None],
    "day": [datetime.date(2024, 2, 29), None, datetime.date(9999, 1, 1), None],
    "exact": [Decimal("1.25"), None, Decimal("3.00"), Decimal("4.50")],
    "label": LABEL,
}


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
def test_a_frame_holds_what_its_parquet_file_holds(tmp_path, library):
    frame = library(COLUMNS)
    if library is pl.DataFrame:
        frame.write_parquet(tmp_path / "t.parquet")
    else:
        parquet.write_table(frame, tmp_path / "t.parquet")
    table, wanted = read_frame(frame, "label"), read_table(tmp_path / "t.parquet", "label")
    assert table.columns.to_pydict() == wanted.columns.to_pydict()
    assert (table.labels == wanted.labels).all() and table.classes == ["no", "yes"]
    assert (table.name, table.format, table.paths) == ("'frame'", "frame", ())


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # of pandas 2, in convert_dtypes
@pytest.mark.parametrize("backend", ["numpy", "pyarrow"])
def test_a_pandas_frame_holds_what_its_parquet_file_holds(tmp_path, backend):
    frame = pd.DataFrame(COLUMNS)
    frame["category"] = pd.Categorical(["b", "a", None, "b"])
    frame["small"] = pd.array([1, 2, None, 4], dtype="Int8")
    frame["zone"] = pd.to_datetime(["2024-01-01"] * 4).tz_localize("Europe/Paris")
    frame = frame.convert_dtypes(dtype_backend="pyarrow") if backend == "pyarrow" else frame
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    table, wanted = read_frame(frame, "label"), read_table(tmp_path / "t.parquet", "label")
    assert table.columns.to_pydict() == wanted.columns.to_pydict()
    assert (table.labels == wanted.labels).all()


def test_columns_that_only_pandas_knows_become_text():
    days = pd.period_range("2024-01", periods=3, freq="M")
    frame = pd.DataFrame({
        "mixed": [1, "a", None],
        "huge": [2**70, -1, 3],
        "complex": [1j, 2.0, np.nan],
        "month": days,
        "range": pd.interval_range(0, 3),
        "surrogate": pd.Series(["\ud800", "b", "c"], dtype=object),
        "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.5]),
        7: ["x", "y", "x"],
    })  # fmt: skip
    found = as_arrow(frame).to_pydict()
    assert found["mixed"] == ["1", "a", None] and found["huge"] == [str(2**70), "-1", "3"]
    assert found["complex"] == ["1j", "(2+0j)", None] and found["month"] == ["2024-01", "2024-02", "2024-03"]
    assert found["range"] == ["(0, 1]", "(1, 2]", "(2, 3]"] and found["surrogate"] == ["?", "b", "c"]
    assert found["sparse"] == [0.0, 0.0, 1.5] and found["7"] == ["x", "y", "x"]
    assert read_frame(frame, 7).label == "7"


def test_a_frame_that_changes_afterwards_changes_nothing():
    values = np.arange(3.0)
    frame = pd.DataFrame({"a": values, "y": ["u", "v", "u"]}, copy=False)
    table = read_frame(frame, "y")
    values[:] = 9
    frame.loc[0, "a"] = 8.0
    assert table.columns["a"].to_pylist() == [0.0, 1.0, 2.0]


FRAME = pd.DataFrame({"size": [1, 2], "label": ["a", "b"]})
TWICE = FRAME.set_axis(["label", "label"], axis=1)


@pytest.mark.parametrize(
    "frame, sentence",
    [
        (FRAME, "'frame' has no column 'lable': its columns are 'size', 'label'; did you mean 'label'?"),
        (TWICE, "'frame' has several columns named 'label' (columns 1, 2): give each column its own name."),
        (FRAME[:0].rename(columns={"label": "lable"}),
         "'frame' has no rows: it must hold at least one row of each class."),
        (np.eye(3),
         "frame must be a data frame of pandas, polars or Arrow; got ndarray: use correct_labels for "
         "arrays, and subsvms correct for files."),
        ("loans.csv",
         "frame must be a data frame of pandas, polars or Arrow; got str: use correct_labels for arrays, "
         "and subsvms correct for files."),
        (FRAME.set_axis(pd.Index(["size", "\ud800"], dtype=object), axis=1),
         "The column '\\ud800' of 'frame' has a name that is not Unicode: rename it."),
        (pa.table({"v": pa.array([[1], [2]], pa.list_view(pa.int8())), "lable": ["a", "b"]}),
         "frame could not be read (its column 'v' holds views of lists, which cannot be checked): convert "
         "or drop that column."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_sentence(frame, sentence):
    assert assert_refused(sentence, read_frame, frame, "lable") == sentence


@pytest.fixture
def tables(tmp_path):
    """A table, and lazy tables of the same rows."""
    columns = make_columns(1000)
    path = str(tmp_path / "t.parquet")
    parquet.write_table(columns, path)
    return columns, [pl.from_arrow(columns).lazy(), pl.scan_parquet(path), duckdb.read_parquet(path)]


def test_they_are_read_in_order_as_often_as_needed(tables, monkeypatch):
    monkeypatch.setattr(table, "BATCH_ROWS", 300)
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

"""A table is the same in every format and as a data frame, and is written with new labels and columns."""

import datetime
import io
from decimal import Decimal
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from large_tables import make_columns
from nasty_texts import GOOD, NASTY, assert_refused, write
from pyarrow import parquet

from subsvms.app.tables.table import (
    as_arrow,
    find_free,
    is_lazy,
    number_name,
    read_frame,
    read_lazy,
    read_table,
    write_table,
)


def test_columns_are_put_directly_after_the_label(tmp_path):
    read = read_table(write(tmp_path, 'a,"label",b\r\n1,x,"2"\r\n3,y,4\r\n'), "label")
    extra = {"given label": read.labels, "sure, or not": np.array([0.5, np.nan]), "ok": [True, None]}
    write_table(read, tmp_path / "out.csv", np.array(["y", "y"]), extra)
    expected = b'a,"label",given label,"sure, or not",ok,b\r\n1,y,x,0.5,true,"2"\r\n3,y,y,,,4\r\n'
    assert (tmp_path / "out.csv").read_bytes() == expected


def test_a_table_without_a_label_gets_its_columns_at_the_end(tmp_path):
    read = read_table(write(tmp_path, "a,b\n1,2\n3,4\n"), None)
    assert read.label is None and read.missing.all() and read.classes == []
    write_table(read, tmp_path / "out.csv", extra_columns={"p": ["x", "y"]})
    assert (tmp_path / "out.csv").read_text() == "a,b,p\n1,2,x\n3,4,y\n"


@pytest.mark.parametrize(
    "suffix", [".csv", ".csv.gz", ".csv.bz2", ".tsv.xz", ".CSV.ZST", ".jsonl.gz", ".parquet", ".feather"]
)
def test_every_format_and_compression_holds_the_same_table(tmp_path, suffix):
    read = read_table(write(tmp_path, NASTY["codes, spaces, signs"], "source.csv"), "label")
    for name in "tu":
        write_table(read, tmp_path / f"{name}{suffix}", ["no", "no", "yes"], {"given": read.labels})
    assert (tmp_path / f"u{suffix}").read_bytes() == (tmp_path / f"t{suffix}").read_bytes()
    again = read_table(tmp_path / f"t{suffix}", "label")
    expected = {"id": ["007", "08", "09"], "n": ["1.50", "=1+1", "+3"], "label": ["no", "no", "yes"]}
    expected |= {"given": ["yes", "no", "yes"], "z": [" x", "-", "@a"]}
    assert again.columns.to_pydict() == expected and again.labels.tolist() == expected["label"]


def test_a_pattern_or_list_of_files_is_one_table(tmp_path):
    for i in range(3):
        parquet.write_table(pa.table({"y": ["a", "b"], "n": [i, i]}), tmp_path / f"part-{i}.parquet")
    whole = read_table(str(tmp_path / "part-*.parquet"), "y")
    assert whole.columns["n"].to_pylist() == [0, 0, 1, 1, 2, 2] and len(whole.paths) == 3
    listed = read_table([tmp_path / "part-1.parquet", str(tmp_path / "part-[2].parquet")], "y")
    assert listed.columns["n"].to_pylist() == [1, 1, 2, 2] and listed.digest != whole.digest
    write_table(whole, tmp_path / "whole.parquet")
    assert parquet.read_table(tmp_path / "whole.parquet").equals(whole.columns)


def test_columns_need_unique_names_and_several_files_one_typed_format(tmp_path):
    path, twice = tmp_path / "1.parquet", pa.table([pa.array(["a", "b"])] * 2, names=["label", "label"])
    parquet.write_table(twice, path)
    assert_refused("several columns named 'label' (columns 1, 2)", read_table, path, "label")
    parquet.write_table(twice.select([0]), tmp_path / "0.parquet")
    assert_refused(
        "1.parquet' has several columns named", read_table, [tmp_path / "0.parquet", path], "label"
    )
    text, other = write(tmp_path, GOOD), write(tmp_path, GOOD, "u.csv")
    message = "these 2 files are csv and parquet: combine them into one file first"
    assert_refused(message, read_table, [path, text], "label")
    assert_refused("these 2 files are csv: combine", read_table, [text, other], "label")


@pytest.mark.parametrize("name", "t.csv t.jsonl t.parquet t.svm t.feather t.csv.xz t.xlsx".split())
def test_standard_input_is_recognised_by_its_content(tmp_path, monkeypatch, name):
    if name == "t.svm":
        write(tmp_path, "1 1:2\n0 1:3\n", name)
    else:
        read = read_table(write(tmp_path, "a,label\n1,1\n2,0\n", "source.csv"), "label")
        write_table(read, tmp_path / name)
    stream = io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes()))
    monkeypatch.setattr("sys.stdin", stream)
    piped = read_table("-", "label")
    assert piped.labels.tolist() == ["1", "0"] and piped.paths == ()
    assert piped.digest == read_table(tmp_path / name, "label").digest


def test_values_that_do_not_fit_the_table_are_refused(tmp_path):
    read = read_table(write(tmp_path, GOOD), "label")
    svm = read_table(write(tmp_path, "1 1:2\n0 1:3\n", "t.svm"), "label")
    parquet.write_table(pa.table({"label": pa.array([0, 1], pa.int8())}), tmp_path / "t.parquet")
    typed = read_table(tmp_path / "t.parquet", "label")
    for table, values, message in (
        (read, (["x"],), "label_values must have one value for each of the 2 rows; got 1"),
        (read, (None, {"new": [1, 2, 3]}), "new must have one value for each of the 2 rows; got 3"),
        (read, (None, {"a": [1, 2]}), "already has a column 'a': give the new column another name"),
        (svm, (), "A table read as svmlight cannot be written as csv"),
        (typed, (["many", 1],), "The new labels do not fit the column 'label' of type int8"),
    ):
        assert_refused(message, write_table, table, tmp_path / "o.csv", *values)
        assert not (tmp_path / "o.csv").exists()


def test_names_that_are_taken_are_changed():
    assert number_name("given", ["a"]) == "given"
    assert number_name("given", ["given", "given_2"]) == "given_3"
    assert find_free("row", ["row", "row (column)"]) == "row (column) (column)"


COLUMNS = {
    "number": [1.5, None, 3.0, -1e300], "whole": [1, 2, 3, 2**62],
    "flag": [True, False, None, True], "text": ["007", "é", None, ""],
    "moment": [datetime.datetime(2024, 2, 29, 13, 5), None, datetime.datetime(1850, 1, 1), None],
    "day": [datetime.date(2024, 2, 29), None, datetime.date(9999, 1, 1), None],
    "exact": [Decimal("1.25"), None, Decimal("3.00"), Decimal("4.50")], "label": ["no", "yes", "no", None],
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # of pandas 2, in convert_dtypes
def test_a_frame_holds_what_its_parquet_file_holds(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    frame["category"] = pd.Categorical(["b", "a", None, "b"])
    frame["small"] = pd.array([1, 2, None, 4], dtype="Int8")
    frame["zone"] = pd.to_datetime(["2024-01-01"] * 4).tz_localize("Europe/Paris")
    typed = frame.convert_dtypes(dtype_backend="pyarrow")
    for one in (frame, typed, pl.DataFrame(COLUMNS), pa.table(COLUMNS)):
        parquet.write_table(pa.table(one), tmp_path / "t.parquet")
        table, wanted = read_frame(one, "label"), read_table(tmp_path / "t.parquet", "label")
        assert table.columns.to_pydict() == wanted.columns.to_pydict()
        assert (table.labels == wanted.labels).all() and table.classes == ["no", "yes"]
        assert (table.name, table.format, table.paths) == ("'frame'", "frame", ())


def test_columns_that_only_pandas_knows_become_text():
    frame = pd.DataFrame({
        "mixed": [1, "a", None], "huge": [2**70, -1, 3], "complex": [1j, 2.0, np.nan], 7: ["x", "y", "x"],
        "month": pd.period_range("2024-01", periods=3, freq="M"), "range": pd.interval_range(0, 3),
        "surrogate": pd.Series(["\ud800", "b", "c"], dtype=object),
        "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.5]),
    })  # fmt: skip
    found = as_arrow(frame).to_pydict()
    assert found["mixed"] == ["1", "a", None] and found["huge"] == [2**70, -1, 3]
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


def test_what_cannot_be_read_is_refused_in_one_sentence():
    frame = pd.DataFrame({"size": [1, 2], "label": ["a", "b"]})
    wide = pd.DataFrame(np.zeros((2, 100_001), dtype=np.int8)).rename(columns={0: "lable"})
    views = pa.table({"v": pa.array([[1], [2]], pa.list_view(pa.int8())), "lable": ["a", "b"]})
    for one, message in (
        (frame, "'frame' has no column 'lable': its columns are 'size', 'label'; did you mean 'label'?"),
        (frame.set_axis(["label", "label"], axis=1), "'frame' has several columns named 'label' (columns 1,"),
        (frame[:0].rename(columns={"label": "lable"}), "'frame' has no rows: it must hold at least one row"),
        (wide, "'frame' has 100,001 columns, but at most 100,000 are possible"),
        (frame["label"], "frame is a single column: give the data frame that holds it"),
        (SimpleNamespace(compute=None), "which holds no rows yet: use frame.compute()"),
        (pd.DataFrame({"a": [10**5000, 1]}), "'a' of 'frame' holds a number of more than 4,300 digits"),
        (np.eye(3), "frame must be a data frame of pandas, polars or Arrow; got ndarray: use correct_labels"),
        (frame.set_axis(pd.Index(["size", "\ud800"], dtype=object), axis=1), "a name that is not Unicode"),
        (views, "frame could not be read (its column 'v' holds views of lists, which cannot be checked)"),
    ):
        assert_refused(message, read_frame, one, "lable")


@pytest.fixture
def tables(tmp_path):
    """A table, and lazy tables of the same rows."""
    columns = make_columns(1000)
    path = str(tmp_path / "t.parquet")
    parquet.write_table(columns, path)
    return columns, [pl.from_arrow(columns).lazy(), pl.scan_parquet(path), duckdb.read_parquet(path)]


def test_they_are_read_in_order_as_often_as_needed(tables, monkeypatch):
    monkeypatch.setattr("subsvms.app.tables.table.BATCH_ROWS", 300)
    columns, others = tables
    for one in others:
        for _ in range(2):
            found = pa.Table.from_batches(read_lazy(one))
            assert is_lazy(one) and found.to_pydict() == columns.to_pydict()
        assert as_arrow(one).to_pydict() == columns.to_pydict()
    assert list(read_lazy(duckdb.sql("select 1 as collect")))[0].to_pydict() == {"collect": [1]}
    assert not is_lazy(columns) and not is_lazy(pl.from_arrow(columns))
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)  # as before 1.34
    assert pa.Table.from_batches(read_lazy(others[0])).to_pydict() == columns.to_pydict()


def test_a_query_that_fails_is_one_sentence(tables):
    _, (frame, *_) = tables
    assert_refused("The LazyFrame cannot be read (", lambda: list(read_lazy(frame.select("none"))))
    relation = duckdb.sql("select cast(x as integer) as x from (values ('1'), ('one')) as t(x)")
    assert_refused("The DuckDBPyRelation cannot be read (", lambda: list(read_lazy(relation)))

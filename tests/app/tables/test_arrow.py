"""Parquet, Feather and Arrow files keep their types, the label's included."""

import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from forged_files import FORGED, write_forged
from nasty_texts import GOOD, assert_refused, write
from pyarrow import feather, parquet

from subsvms.app.tables import arrow
from subsvms.app.tables.table import read_table, write_table

COLUMNS = {
    "a": pd.to_datetime(["2024-01-01", "2024-01-02", None]),
    "y": pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"], ordered=True),
    "b": [1.5, None, -0.0],
}
FRAME = pd.DataFrame(COLUMNS, index=["r1", "r2", "r3"])


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
def test_typed_formats_keep_their_types(tmp_path, suffix):
    columns = pa.Table.from_pandas(FRAME)
    source = tmp_path / f"t{suffix}"
    (parquet.write_table if suffix == ".parquet" else feather.write_feather)(columns, source)
    read = read_table(source, "y")
    assert read.labels.tolist() == ["low", "high", "low"]
    write_table(read, tmp_path / f"out{suffix}", ["high", "high", None], {"given": read.labels})
    again = read_table(tmp_path / f"out{suffix}", "given")
    assert again.columns.column_names == ["a", "y", "given", "b", "__index_level_0__"]
    assert again.columns.schema.field("y").type == read.columns.schema.field("y").type
    expected = FRAME.assign(given=list(FRAME["y"]))[["a", "y", "given", "b"]]
    expected["y"] = pd.Categorical(["high", "high", None], categories=["low", "mid", "high"], ordered=True)
    back = again.columns.to_pandas()
    pd.testing.assert_frame_equal(back, expected, check_dtype=False)
    assert back["y"].dtype == FRAME["y"].dtype


LABEL_TYPES = {
    "int8": (pa.array([0, 1, None], pa.int8()), [0, 1, None]),
    "bool": (pa.array([True, False, None]), [True, False, None]),
    "whole floats": (pa.array([0.0, 1.0, float("nan")]), [0.0, 1.0, None]),
    "decimal": (pa.array([0, 1, None], pa.decimal128(5, 2)), [0.0, 1.0, None]),
    "large text": (pa.array(["é", "b", " "], pa.large_string()), ["é", "b", None]),
    "categories": (pa.array(["x", "y", None]).dictionary_encode(), ["x", "y", None]),
}


@pytest.mark.parametrize("array, labels", LABEL_TYPES.values(), ids=LABEL_TYPES)
def test_labels_of_every_type_are_changed_in_that_type(tmp_path, array, labels):
    parquet.write_table(pa.table({"y": array, "a": [1, 2, 3]}), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", "y")
    assert read.labels.tolist() == labels
    write_table(read, tmp_path / "out.parquet", [labels[1], labels[1], None])
    column = parquet.read_table(tmp_path / "out.parquet")["y"]
    assert column.type == array.type and column[0] == array[1]
    assert str(column[2]) == str(array[2])  # NaN stays NaN


def test_a_damaged_file_is_refused(tmp_path):
    for name, data in {"t.parquet": GOOD, "t.feather": GOOD, "t.arrow": "ARROW1 nonsense"}.items():
        assert_refused("is damaged or not a ", read_table, write(tmp_path, data, name), "label")
    parquet.write_table(pa.table({"label": ["a", "b"]}), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    path = write(tmp_path, data[:-9] + b"\xff" * 5 + data[-4:], "t.parquet")
    assert_refused("t.parquet' is damaged or not a parquet file (", read_table, path, "label")
    path = write(tmp_path, b"FEA1" + bytes(40) + b"FEA1", "t.feather")
    assert_refused("is a Feather file of version 1, which cannot be read safely", read_table, path, "label")


def test_several_files_must_have_one_schema(tmp_path):
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    parquet.write_table(pa.table({"label": ["a"], "n": [1]}), first)
    parquet.write_table(pa.table({"label": ["b"], "n": [1.5]}), second)
    message = "column 2 is 'n' of double, not 'n' of int64; write both with one schema"
    assert_refused(message, read_table, str(tmp_path / "*.parquet"), "label")
    parquet.write_table(pa.table({"label": ["b"]}), second)
    assert_refused("it has 1 columns, not 2", read_table, [first, second], "label")


def test_a_column_without_a_value_in_one_file_has_the_type_of_the_others(tmp_path):
    files = [tmp_path / f"{i}.parquet" for i in range(3)]
    for path, n in zip(files, (None, 1.5, None), strict=True):
        parquet.write_table(pa.table({"label": ["a", "b"], "n": [n, n], "m": [1, 2]}), path)
    read = read_table(files, "label").columns
    assert read["n"].to_pylist() == [None, None, 1.5, 1.5, None, None] and read["n"].type == pa.float64()
    parquet.write_table(pa.table({"label": ["a"], "n": [None], "m": ["x"]}), files[0])
    message = "column 3 is 'm' of int64, not 'm' of string; write both with one schema"
    assert_refused(message, read_table, files, "label")


@pytest.mark.parametrize("name, how", FORGED)
def test_a_forged_file_is_refused(tmp_path, name, how):
    assert_refused("is damaged or not a", read_table, write_forged(tmp_path, name, how), "label")


def test_what_arrow_reads_with_threads_is_not_memory_of_pythons():
    data = b"a,b\n" * 100
    before = sys.getrefcount(data)
    reader = arrow.open_for_arrow(data)
    assert sys.getrefcount(data) == before and reader.read() == data


def test_a_parquet_file_that_claims_more_than_the_free_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"label": ["a", "b"] * 50_000, "n": [0.0] * 100_000}), path)
    monkeypatch.setattr(arrow, "measure_free_memory", lambda: 1.1e6)
    message = "does not fit in the free memory once decompressed: free some memory, or work in parts"
    assert_refused(message, read_table, path, "label")
    monkeypatch.setattr(arrow, "measure_free_memory", lambda: 1.3e6)
    assert path.stat().st_size < 50_000 and len(read_table(path, "label")) == 100_000


@pytest.mark.parametrize("how", ["arrow", "parquet"])
def test_views_as_polars_writes_them_become_plain_types(tmp_path, how):
    frame = pl.DataFrame({"label": ["a", "b"], "c": ["x", None], "l": [["u"], []], "s": [{"k": "v"}, None]})
    frame = frame.with_columns(pl.col("c").cast(pl.Categorical).alias("d"))
    path = tmp_path / f"t.{how}"
    (frame.write_ipc if how == "arrow" else frame.write_parquet)(path)
    read = read_table(path, "label")
    assert "view" not in str(read.columns.schema)
    assert read.columns.take([1]).to_pylist() == frame.to_dicts()[1:]  # Arrow cannot take rows of views


@pytest.mark.parametrize("view", [pa.list_view, pa.large_list_view])
def test_views_of_lists_are_refused_by_their_name(tmp_path, view):
    columns = pa.table({"label": ["a", "b"], "l": pa.array([["x"], []], view(pa.string()))})
    feather.write_feather(columns, tmp_path / "t.arrow")
    message = "(its column 'l' holds views of lists, which cannot be checked): write it again"
    assert_refused(message, read_table, tmp_path / "t.arrow", "label")


def test_views_may_hold_more_text_than_offsets_of_32_bits_can_reach_and_repeated_values_are_written(tmp_path):
    kinds = pa.schema({"a": pa.string_view(), "b": pa.binary_view()})
    assert arrow.use_plain_types(kinds).types == [pa.large_string(), pa.large_binary()]
    repeated = pa.RunEndEncodedArray.from_arrays([1, 3], ["x", "y"])
    feather.write_feather(pa.table({"label": repeated}), tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.arrow", "label").labels.tolist() == ["x", "y", "y"]


def test_dates_that_python_does_not_have_are_written_as_numbers(tmp_path):
    when = pa.array([0, 2**62, None], pa.timestamp("us"))
    parquet.write_table(pa.table({"label": ["a", "b", "a"], "when": when}), tmp_path / "t.parquet")
    write_table(read_table(tmp_path / "t.parquet", "label"), tmp_path / "out.csv")
    expected = "label,when\na,1970-01-01 00:00:00\nb,4611686018427387904 (timestamp[us])\na,\n"
    assert (tmp_path / "out.csv").read_text() == expected
    columns = pa.table({"label": ["a", "b", "a"], "when": when.dictionary_encode()})
    feather.write_feather(columns, tmp_path / "t.feather")
    write_table(read_table(tmp_path / "t.feather", "label"), tmp_path / "out.csv", force=True)
    assert (tmp_path / "out.csv").read_text() == expected


@pytest.mark.parametrize("nest", [lambda value: [value], lambda value: {"k": value}])
def test_nested_values_that_python_does_not_have_are_not_lost(tmp_path, nest):
    when = pa.timestamp("us")
    kind = pa.list_(when) if nest(0) == [0] else pa.struct({"k": when})
    columns = pa.table({"label": ["a", "b"], "when": pa.array([nest(2**62), nest(0)], kind)})
    parquet.write_table(columns, tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", "label")
    for name in ("out.csv", "out.jsonl"):
        said = assert_refused("The column 'when' holds a value of type ", write_table, read, tmp_path / name)
        assert said.endswith("write Parquet or Feather, or drop the column.")
    write_table(read, tmp_path / "out.parquet")
    assert parquet.read_table(tmp_path / "out.parquet").equals(columns)

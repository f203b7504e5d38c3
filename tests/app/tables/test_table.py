"""A table is the same in every format, and is written with its new labels and columns."""

import io

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import GOOD, NASTY, assert_refused, write
from pyarrow import parquet

from subsvms.app.tables.table import find_free, number_name, read_table, write_table


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
    assert again.columns.to_pydict() == expected
    assert again.labels.tolist() == expected["label"]


def test_a_pattern_or_list_of_files_is_one_table(tmp_path):
    for i in range(3):
        parquet.write_table(pa.table({"y": ["a", "b"], "n": [i, i]}), tmp_path / f"part-{i}.parquet")
    whole = read_table(str(tmp_path / "part-*.parquet"), "y")
    assert whole.columns["n"].to_pylist() == [0, 0, 1, 1, 2, 2] and len(whole.paths) == 3
    listed = read_table([tmp_path / "part-1.parquet", str(tmp_path / "part-[2].parquet")], "y")
    assert listed.columns["n"].to_pylist() == [1, 1, 2, 2]
    assert listed.digest != whole.digest
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


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.svm", "t.feather", "t.csv.xz"])
def test_standard_input_is_recognised_by_its_content(tmp_path, monkeypatch, name):
    if name == "t.svm":
        write(tmp_path, "1 1:2\n0 1:3\n", name)
    else:
        read = read_table(write(tmp_path, "a,label\n1,1\n2,0\n", "source.csv"), "label")
        write_table(read, tmp_path / name)
    stream = io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes()))
    monkeypatch.setattr("sys.stdin", stream)
    piped = read_table("-", "label")
    assert piped.labels.tolist() == ["1", "0"]
    assert piped.paths == () and piped.digest == read_table(tmp_path / name, "label").digest


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

"""Every mistake that a user can make with a table gets one sentence that says what to do."""

import gzip
import io
import os
import re

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import NASTY, write
from pyarrow import parquet

from subsvms.app.tables import files
from subsvms.app.tables.files import sniff_format
from subsvms.app.tables.table import read_table, write_table
from subsvms.exceptions import TableError

GOOD = "a,label\n1,x\n2,y\n"


def many(n, form="c{}"):
    return "a,label\n" + "".join(f"1,{form.format(i)}\n" for i in range(n))


TEXT_ERRORS = {
    "empty": ("t.csv", "", "'t.csv' is empty"),
    "blank": ("t.csv", " \n\n", "'t.csv' is empty"),
    "header only": ("t.csv", "a,label\n", "has a header but no rows"),
    "ragged, short": (
        "t.csv",
        'a,label\n"1\n",x\n2\n',
        "line 4: 1 cell came where the header has 2; quote cells",
    ),
    "ragged, long": ("t.csv", "a,label\n1,x\n\n2,y,z\n", "line 4: 3 cells came where the header has 2"),
    "ragged, blank": ("t.csv", "a,label\r\n1,x\r\n \r\n", "line 3: 1 cell came"),
    "ragged, CR": ("t.csv", "a,label\r1,x\r2\r", "line 3: 1 cell came"),
    "open quote": ("t.csv", 'a,label\n1,x\n"2,y\n3,x\n', "line 3: a quote is opened that is never closed"),
    "open quote in header": ("t.csv", '"a,label\n1,x\n', "opens a quote in its first line"),
    "duplicates": ("t.csv", "a,label,a\n1,x,2\n", "several columns named 'a' (columns 1, 3)"),
    "no label": ("t.csv", "a,Lable\n1,x\n", "has no column 'label', but 'a', 'Lable'; did you mean 'Lable'?"),
    "no label, none near": ("t.csv", "a,b\n1,x\n", "has no column 'label', but 'a', 'b'."),
    "no label, many": ("t.csv", ",".join("abcdefghijklmnopqrstuvw") + "\n1\n", "'t' and 3 more."),
    "suffix": ("t.xlsx", "a,label\n1,x\n", "has the unknown suffix '.xlsx': rename it to one of .csv"),
    "no suffix": ("t", GOOD, "has no suffix: rename it"),
    "excel": ("t.csv", "PK\x03\x04", "is a ZIP archive or an Excel file, not csv"),
    "parquet": ("t.parquet", GOOD, "is damaged or no parquet file"),
    "feather": ("t.feather", GOOD, "is damaged or no feather file"),
    "arrow": ("t.arrow", "ARROW1 nonsense", "is damaged or no feather file"),
    "gzip": ("t.csv.gz", GOOD, "is no gzip file, in spite of its suffix"),
    "fractions": ("t.csv", "a,label\n1,0.5\n2,1\n3,NA\n", "looks continuous, with numbers such as '0.5'"),
    "many numbers": ("t.csv", many(201, "{}"), "looks continuous, with numbers that take 201 values"),
    "many classes": ("t.csv", many(201), "has 201 classes, such as 'c0', but at most 200 are possible"),
    "one class": ("t.csv", "a,label\n1,x\n2,x\n3,\n", "holds one class only, 'x'"),
    "no labels": ("t.csv", "a,label\n1,\n2,\n", "holds no labels at all"),
    "long label": ("t.csv", "a,label\n1," + "x" * 10**6 + "\n", "holds one class only, 'xxxx"),
    "not json": ("t.jsonl", '{"label": 1}\n\n{"label": 2,}\n', "line 3 is no JSON object ("),
    "json array": ("t.jsonl", '[{"label": 1}]', "line 1 is no JSON object (it holds an array)"),
    "json value": ("t.json", "3", "line 1 is no JSON object (it holds a single value)"),
    "json depth": ("t.json", "[" * 100_000, "line 1 is no JSON object (it is nested too deeply)"),
    "json mix": (
        "t.jsonl",
        '{"label": 1}\n{"label": "1"}',
        "has numbers and text in its label column 'label'",
    ),
    "json no label": ("t.jsonl", "{}\n{}", "has no column 'label', but none at all."),
    "json fractions": (
        "t.jsonl",
        '{"label": 0.25}\n{"label": 1}',
        "looks continuous, with numbers such as 0.25",
    ),
    "svm no label": (
        "t.svm",
        "# x\n1 1:2\n1:2 3:4\n",
        "line 3 starts with '1:2' where its label is expected",
    ),
    "svm pair": ("t.svm", "1 1:2\n0 1;2\n", "line 2 cannot be read: after the label, index:value pairs"),
    "svm order": ("t.svm", "1 1:2\n\n0 2:1 1:2\n", "line 3 cannot be read"),
    "svm nan": ("t.svm", "1 1:2\n0 1:nan\n", "line 2 holds nan"),
}


def check(error, message):
    """One sentence, short enough for a terminal, that says what was said here."""
    told = str(error.value)
    assert message in told
    assert "\n" not in told and len(told) < 500
    assert told[-1] in ".?" and not re.search(r"[a-z]\. [A-Z]", told)


@pytest.mark.parametrize("name, text, message", TEXT_ERRORS.values(), ids=TEXT_ERRORS)
def test_a_table_that_cannot_be_used_is_told_in_one_sentence(tmp_path, monkeypatch, name, text, message):
    write(tmp_path, text, name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError) as error:
        read_table(name, "label")
    check(error, message)
    assert repr(name) in str(error.value)


def test_files_that_are_not_there_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, GOOD, "loans.csv")
    (tmp_path / "folder").mkdir()
    for where, message in {
        "laons.csv": "There is no file 'laons.csv'; did you mean 'loans.csv'?",
        "x.csv": "There is no file 'x.csv': check its name and folder.",
        "none/x.csv": "There is no file 'none/x.csv': check its name and folder.",
        "*.parquet": "No file matches the pattern '*.parquet': check its name and folder.",
        "folder": "'folder' is a folder: give a file in it, or a pattern such as 'folder/*.parquet'.",
    }.items():
        with pytest.raises(TableError) as error:
            read_table(where, "label")
        assert str(error.value) == message
    with pytest.raises(TableError, match="No file was given"):
        read_table([], "label")


def test_a_file_that_cannot_be_read_is_told(tmp_path, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, GOOD)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(TableError) as error:
        read_table(path, "label")
    check(error, "cannot be read (Permission denied): check its permissions")


def test_a_wrong_encoding_is_told_with_its_place(tmp_path):
    path = write(tmp_path, "a,label\n1,schön\n", encoding="cp1252")
    with pytest.raises(TableError) as error:
        read_table(path, "label")
    check(
        error, "is not text in the encoding 'utf-8': byte 0xf6 at position 13 (line 2) does not fit; convert"
    )
    path = write(tmp_path, b"\xef\xbb\xbfa,label\n1,\xff\n")
    with pytest.raises(TableError, match=r"position 13 \(line 2\)"):
        read_table(path, "label")
    for unknown in ("utf-9", "base64"):
        with pytest.raises(TableError) as error:
            read_table(path, "label", encoding=unknown)
        check(error, f"There is no text encoding '{unknown}'")
    path = write(tmp_path, GOOD + "3,é\n", encoding="latin-1")
    read = read_table(path, "label", encoding="latin-1")
    with pytest.raises(TableError) as error:
        write_table(read, tmp_path / "out.csv", ["x", "y", "→"])
    check(error, "'→' cannot be written in the encoding 'latin-1'")
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_damaged_packed_file_is_told(tmp_path, suffix):
    read = read_table(write(tmp_path, many(2000, "{}").replace(",", ",c") + "1,b\n" * 9, "s.csv"), None)
    write_table(read, tmp_path / f"t.csv{suffix}")
    data = (tmp_path / f"t.csv{suffix}").read_bytes()
    write(tmp_path, data[: len(data) // 2], f"t.csv{suffix}")
    with pytest.raises(TableError) as error:
        read_table(tmp_path / f"t.csv{suffix}", "label")
    check(error, "is a damaged")


def test_a_damaged_parquet_file_is_told(tmp_path):
    parquet.write_table(pa.table({"label": ["a", "b"]}), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    write(tmp_path, data[:-9] + b"\xff" * 5 + data[-4:], "t.parquet")
    with pytest.raises(TableError) as error:
        read_table(tmp_path / "t.parquet", "label")
    check(error, "is damaged or no parquet file")


def test_typed_labels_that_are_no_classes_are_told(tmp_path):
    path = tmp_path / "t.parquet"
    for labels, message in (
        (pa.array([0.5, 1.0]), "looks continuous, with numbers such as 0.5"),
        (pa.array(range(300)), "looks continuous, with numbers that take 300 values"),
        (pa.array([1, 2], pa.timestamp("s")), "has the type timestamp[ms]: labels must be text"),
        (pa.array([[1], [2]]), "has the type list<"),
        (pa.array([None, None]), "holds no labels at all"),
        (pa.array([], pa.string()), "has no rows"),
    ):
        parquet.write_table(pa.table({"label": labels}), path)
        with pytest.raises(TableError) as error:
            read_table(path, "label")
        check(error, message)
    twice = pa.table([pa.array(["a", "b"])] * 2, names=["label", "label"])
    parquet.write_table(twice, path)
    with pytest.raises(TableError) as error:
        read_table(path, "label")
    check(error, "several columns named 'label' (columns 1, 2)")


def test_several_files_must_fit_together(tmp_path):
    first, second = tmp_path / "1.parquet", tmp_path / "2.parquet"
    parquet.write_table(pa.table({"label": ["a"], "n": [1]}), first)
    parquet.write_table(pa.table({"label": ["b"], "n": [1.5]}), second)
    with pytest.raises(TableError) as error:
        read_table(str(tmp_path / "*.parquet"), "label")
    check(error, "column 2 is 'n' of double, not 'n' of int64; write both with one schema")
    parquet.write_table(pa.table({"label": ["b"]}), second)
    with pytest.raises(TableError, match="it has 1 columns, not 2"):
        read_table([first, second], "label")
    with pytest.raises(TableError) as error:
        read_table([first, write(tmp_path, GOOD)], "label")
    check(error, "2 files came with the format csv and parquet: put them into one file first")
    with pytest.raises(TableError, match="the format csv: put"):
        read_table([write(tmp_path, GOOD), write(tmp_path, GOOD, "u.csv")], "label")


def test_options_that_make_no_sense_are_told(tmp_path):
    path = write(tmp_path, GOOD)
    for options, message in (
        (
            {"format": "cvs"},
            "format must be one of csv, tsv, parquet, feather, jsonl, svmlight; got 'cvs'; did",
        ),
        ({"format": "excel!"}, "got 'excel!'."),
        ({"separator": "::"}, "The separator must be one character, such as ',' or ';'; got '::'."),
        ({"separator": '"'}, "The separator must be one character"),
        ({"missing_labels": "NA"}, "missing_labels must be a list of labels; got the text 'NA'."),
    ):
        with pytest.raises(TableError) as error:
            read_table(path, "label", **options)
        check(error, message)
    with pytest.raises(TableError) as error:
        read_table(write(tmp_path, "1 1:2\n0 1:3\n", "t.svm"), "y")
    check(error, "is LIBSVM text, whose label is the first entry of each line: call it 'label', not 'y'")


def test_standard_input_can_be_empty(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(TableError, match="^Standard input is empty: it must hold a table.$"):
        read_table("-", "label")


def test_places_that_cannot_be_written_to_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = read_table(write(tmp_path, GOOD), "label")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    os.link(tmp_path / "t.csv", tmp_path / "twin.csv")
    write(tmp_path, "old", "old.csv")
    for name, message in {
        "t.csv": "'t.csv' is the table that was read, which stays as it is",
        "link.csv": "is the table that was read",
        "twin.csv": "is the table that was read",
        "folder.csv": "'folder.csv' is a folder: give the name of a file",
        "none/x.csv": "to write in: make it first",
        "x.xls": "'x.xls' does not say which of the formats csv, tsv",
        "x": "'x' does not say which of the formats",
        "x.svm": "A table that came as csv cannot be written as svmlight, to 'x.svm'",
    }.items():
        with pytest.raises(TableError) as error:
            write_table(read, name, force=True)
        check(error, message)
    with pytest.raises(TableError) as error:
        write_table(read, "old.csv")
    check(error, "'old.csv' exists already: choose another name, or force it")
    assert (tmp_path / "old.csv").read_text() == "old"
    write_table(read, "old.csv", force=True)
    assert (tmp_path / "old.csv").read_text() == (tmp_path / "t.csv").read_text() == GOOD
    os.unlink(tmp_path / "t.csv")
    with pytest.raises(TableError, match="is the table that was read"):
        write_table(read, "t.csv", force=True)


def test_values_that_do_not_fit_are_told(tmp_path):
    read = read_table(write(tmp_path, GOOD), "label")
    svm = read_table(write(tmp_path, "1 1:2\n0 1:3\n", "t.svm"), "label")
    parquet.write_table(pa.table({"label": pa.array([0, 1], pa.int8())}), tmp_path / "t.parquet")
    typed = read_table(tmp_path / "t.parquet", "label")
    for arguments, message in (
        ((read, "o.csv", ["x"]), "label_values must have one value for each of the 2 rows; got 1"),
        ((read, "o.csv", None, {"new": [1, 2, 3]}), "new must have one value for each of the 2 rows; got 3"),
        ((read, "o.csv", None, {"a": [1, 2]}), "has a column 'a' already: give the new column another name"),
        ((svm, "o.svm", None, {"new": [1, 2]}), "LIBSVM text has no place for the column 'new'"),
        ((svm, "o.csv"), "A table that came as svmlight cannot be written as csv"),
        ((typed, "o.parquet", ["many", 1]), "The new labels do not fit the column 'label' of type int8"),
    ):
        table, name, *rest = arguments
        with pytest.raises(TableError) as error:
            write_table(table, tmp_path / name, *rest)
        check(error, message)
        assert not (tmp_path / name).exists()


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch, step, trouble):
    read = read_table(write(tmp_path, GOOD), "label")
    write(tmp_path, "old", "out.csv")

    def fail(*args):
        raise trouble

    monkeypatch.setattr(files.os, step, fail)
    expected = TableError if isinstance(trouble, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as error:
        write_table(read, tmp_path / "out.csv", ["y", "y"], force=True)
    if expected is TableError:
        check(
            error, "could not be written (No space left on device): free some space, or choose another folder"
        )
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "t.csv"]


def test_a_written_file_has_ordinary_permissions_and_a_replaced_one_keeps_its_own(tmp_path):
    read = read_table(write(tmp_path, GOOD), "label")
    write_table(read, tmp_path / "out.csv")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o666 & ~mask
    (tmp_path / "out.csv").chmod(0o640)
    write_table(read, tmp_path / "out.csv", force=True)
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o640


def test_formats_are_told_from_their_content():
    for data, expected in {
        b"+1 1:1\n": "svmlight",
        b"spam 3:0.5 7:1e-3 # x\n": "svmlight",
        b"3 qid:1 2:5\n": "svmlight",
        b"time 12:30\n": "svmlight",
        b"a b\n": "csv",
        b"a,b:3\n": "csv",
        b' {"a": 1}\n': "jsonl",
        b"PAR1x": "parquet",
    }.items():
        assert sniff_format(data) == expected
    assert sniff_format(("\ufeff" + NASTY["names"]).encode()) == "csv"
    assert files.unpack(b"BZh,label\n", "x") == b"BZh,label\n"  # text that starts like bzip2
    assert files.unpack(gzip.compress(b"x") * 2, "x") == b"xx"


def test_a_text_file_of_any_name_is_read_if_asked(tmp_path):
    assert read_table(write(tmp_path, GOOD, "t.txt"), "label").format == "csv"
    assert read_table(write(tmp_path, GOOD, "t.odd"), "label", format="csv").labels.tolist() == ["x", "y"]
    assert np.array_equal(read_table(write(tmp_path, GOOD, "a*b.csv"), "label").labels, ["x", "y"])

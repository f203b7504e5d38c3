"""Stata and SPSS files show the names of classes, and come back with codes, names and texts."""

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from nasty_texts import assert_refused, write

from subsvms.app.tables.statistics import cut_names
from subsvms.app.tables.table import keep_rows, read_table, write_table

DAYS = pd.to_datetime(["2024-01-01", "2024-02-01", None])
FRAME = pd.DataFrame({"x": [1.5, 2.0, None], "y": [0, 1, 9], "day": DAYS, "name": ["a", "é", ""]})
NAMES = {"y": {0: "no", 1: "yes"}}
TEXTS = {"x": "the x"}


def make_dta(path, frame=FRAME, names=NAMES):
    options = {"value_labels": names, "variable_labels": TEXTS, "data_label": "loans"}
    frame.to_stata(path, write_index=False, version=118, convert_dates={"day": "td"}, **options)
    return path


def make_sav(path):
    options = {"file_label": "loans", "column_labels": TEXTS, "variable_value_labels": NAMES}
    pyreadstat.write_sav(FRAME, path, variable_measure={"y": "nominal"}, **options)
    return path


@pytest.mark.parametrize("make, name", [(make_dta, "t.dta"), (make_sav, "t.sav")])
def test_labels_have_names_and_files_have_codes(tmp_path, make, name):
    read = read_table(make(tmp_path / name), "y")
    assert read.labels.tolist() == ["no", "yes", "9"]  # a code without a name
    assert read.columns["x"].to_pylist()[:2] == [1.5, 2.0] and read.columns["name"].to_pylist()[1] == "é"
    new = tmp_path / f"new{name[1:]}"
    write_table(read, new, ["yes", "yes", "9"], {"y_given": read.labels})
    again = read_table(new, "y")
    assert again.labels.tolist() == ["yes", "yes", "9"]
    assert again.columns.column_names == ["x", "y", "y_given", "day", "name"]
    assert again.columns["y_given"].to_pylist() == ["no", "yes", "9"]
    for column in ("x", "day", "name"):
        left, right = (one.columns[column].to_pandas() for one in (read, again))
        pd.testing.assert_series_equal(left, right, check_dtype=False)
    write_table(keep_rows(read, np.array([True, True, False])), tmp_path / f"kept{name[1:]}")
    assert read_table(tmp_path / f"kept{name[1:]}", "y").labels.tolist() == ["no", "yes"]


@pytest.mark.parametrize("make, name, when", [
    (make_dta, "t.dta", b"01 Jan 1980 00:00"), (make_sav, "t.sav", b"01 Jan 8000:00:00"),
])  # fmt: skip
def test_the_same_table_gives_the_same_bytes_at_any_time(tmp_path, make, name, when):
    write_table(read_table(make(tmp_path / name), "y"), tmp_path / f"new{name[1:]}", ["yes", "no", "9"])
    assert when in (tmp_path / f"new{name[1:]}").read_bytes()[:2000]
    assert read_table(tmp_path / f"new{name[1:]}", "y").labels.tolist() == ["yes", "no", "9"]


def test_files_keep_what_they_say_about_columns(tmp_path):
    write_table(read_table(make_dta(tmp_path / "t.dta"), "y"), tmp_path / "new.dta", ["yes"] * 3)
    with pd.io.stata.StataReader(tmp_path / "new.dta", convert_categoricals=False) as file:
        assert file.read()["y"].tolist() == [1, 1, 1] and file.data_label == "loans"
        assert file.value_labels() == NAMES and file.variable_labels()["x"] == "the x"
    write_table(read_table(make_sav(tmp_path / "t.sav"), "y"), tmp_path / "new.sav", ["yes"] * 3)
    frame, about = pyreadstat.read_sav(tmp_path / "new.sav")
    assert about.variable_value_labels == NAMES and about.column_names_to_labels["x"] == "the x"
    assert about.variable_measure["y"] == "nominal" and about.file_label == "loans"
    assert frame["y"].tolist() == [1, 1, 1]


def test_labels_without_names_are_numbers_or_text(tmp_path):
    path = make_dta(tmp_path / "t.dta", names={})
    assert read_table(path, "y").labels.tolist() == [0, 1, 9]
    write_table(read_table(path, "y"), tmp_path / "new.dta", [1, 1, 9])
    assert read_table(tmp_path / "new.dta", "y").labels.tolist() == [1, 1, 9]


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_a_table_of_another_format_is_written(tmp_path, suffix):
    read = read_table(write(tmp_path, "a,label\n1,x\n,y\n"), "label")
    write_table(read, tmp_path / f"t{suffix}", ["y", "x"])
    again = read_table(tmp_path / f"t{suffix}", "label")
    assert again.labels.tolist() == ["y", "x"] and again.columns["a"].to_pylist()[0] == "1"


@pytest.mark.parametrize("make, name, kind", [(make_dta, "t.dta", "Stata"), (make_sav, "t.sav", "SPSS")])
def test_damaged_files_are_refused(tmp_path, monkeypatch, make, name, kind):
    monkeypatch.chdir(tmp_path)
    data = make(tmp_path / name).read_bytes()
    for bad in (b"a,y\n1,x\n", data[: len(data) // 2], data[:100], data[:40] + b"\xff" * 60 + data[100:]):
        write(tmp_path, bad, name)
        said = assert_refused(f"'{name}' is damaged or not a {kind} file (", read_table, name, "y")
        assert said.endswith("): save it again.")


def test_new_names_are_cut_to_what_stata_allows(tmp_path):
    read = read_table(make_dta(tmp_path / "t.dta"), "y")
    write_table(read, tmp_path / "new.dta", None, {"n" * 40: [1, 2, 3]})
    assert read_table(tmp_path / "new.dta", "y").columns.column_names == ["x", "y", "n" * 32, "day", "name"]
    assert cut_names(["n" * 40, "n" * 41, "short"]) == ["n" * 32, "n" * 27 + "_2", "short"]


def test_what_stata_cannot_hold_is_refused(tmp_path):
    read = read_table(write(tmp_path, "a,label\n1,x\n2,y\n"), "label")
    message = "The table cannot be written for Stata ("
    said = assert_refused(message, write_table, read, tmp_path / "t.dta", None, {"n": [np.inf, 1.5]})
    assert said.endswith("): write Parquet or CSV.")


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_marks_of_missing_values_are_lost_and_that_is_said(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "sav":
        frame = pd.DataFrame({"x": [1.0, 2.0, 99.0], "y": ["a", "b", "a"]})
        pyreadstat.write_sav(frame, str(path), missing_ranges={"x": [99]})
    else:
        frame = pd.DataFrame({"x": [1.0, 2.0, "a"], "y": ["a", "b", "a"]})
        pyreadstat.write_dta(frame, str(path), missing_user_values={"x": ["a"]})
    read = read_table(path, "y")
    (note,) = read.notes
    assert " has its own marks for missing values, as in the column 'x': they are read as missing" in note
    assert read.columns["x"].to_pylist() == [1.0, 2.0, None]
    write_table(read, tmp_path / f"new.{kind}")
    assert read_table(tmp_path / f"new.{kind}", "y").notes == ()

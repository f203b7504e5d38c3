"""The same table in any format gets the same labels, and comes back in the format it had."""

import json
import sqlite3

import openpyxl
import pandas as pd
import pytest
from loans import call, make_rows, read, write
from workbooks import load, make_ods, make_xlsx

from subsvms.app.desk.apply import apply_labels
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.runs.answer_store import Act
from subsvms.app.tables.table import read_table

QUICK = ("--label", "default", "--svms", "100", "--quiet")


@pytest.fixture(scope="module")
def rows():
    return make_rows(300)[0]


@pytest.fixture(scope="module")
def frame(rows):
    typed = pd.DataFrame(rows)
    for name in ("age", "size"):
        typed[name] = pd.to_numeric(typed[name].replace("", None))
    return typed


@pytest.fixture(scope="module")
def expected(rows, tmp_path_factory):
    """The labels that the CSV file gets."""
    folder = tmp_path_factory.mktemp("csv")
    call("correct", write(folder / "loans.csv", rows), *QUICK)
    return [row["default"] for row in read(folder / "loans.subsvms" / "corrected.csv")]


def list_cells(frame):
    filled = frame.astype(object).where(frame.notna(), None)
    return [list(frame.columns), *filled.to_numpy().tolist()]


def save(frame, path):
    """Write a data frame in the format of a suffix."""
    if path.suffix == ".xlsx":
        make_xlsx(path, ("read me", [["the table is in the next sheet"]]), ("loans", list_cells(frame)))
    elif path.suffix == ".ods":
        make_ods(path, list_cells(frame))
    elif path.suffix == ".json":
        frame.to_json(path, orient="records", indent=1)
    elif path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif path.suffix in (".parquet", ".feather"):
        getattr(frame, f"to_{path.suffix[1:]}")(path)
    else:
        connection = sqlite3.connect(path)
        frame.to_sql("loans", connection, index=False)
        connection.close()
    return path


@pytest.mark.parametrize("suffix, ending", [
    (".xlsx",) * 2, (".ods", ".xlsx"), (".json",) * 2, (".jsonl",) * 2, (".parquet",) * 2, (".feather",) * 2,
    (".db", ".parquet"),
])  # fmt: skip
def test_labels_do_not_depend_on_the_format(tmp_path, frame, expected, rows, suffix, ending):
    path = save(frame, tmp_path / f"loans{suffix}")
    before, query = path.read_bytes(), ("--query", "select * from loans") if suffix == ".db" else ()
    call("correct", path, *QUICK, *query)
    options = json.loads((tmp_path / "loans.subsvms" / "run.json").read_text())["options"]
    assert options["query"] == (query[1] if query else None)
    corrected = read_table(tmp_path / "loans.subsvms" / f"corrected{ending}", "default")
    assert corrected.labels.tolist() == expected
    assert corrected.columns["default_given"].to_pylist() == [row["default"] for row in rows]
    assert expected != [row["default"] for row in rows]
    assert path.read_bytes() == before


def test_a_workbook_is_corrected_reviewed_and_applied(tmp_path, frame):
    path = save(frame, tmp_path / "loans.xlsx")
    book = openpyxl.load_workbook(path)
    book["loans"]["F2"].font = openpyxl.styles.Font(italic=True)
    book.save(path)
    call("correct", path, "--sheet", "loans", *QUICK)
    folder = tmp_path / "loans.subsvms"
    desk = ReviewDesk(folder)
    flagged = desk.rows[desk.flagged].tolist()
    accept, keep = flagged[:2]
    desk.decide_many([Act([desk.settle(accept, "accept", None), desk.settle(keep, "keep", None)], "Ann")])
    desk.decisions.close()
    done = apply_labels(folder)
    assert done.path == folder / "final.xlsx" and done.n_changed == 1
    book, original = openpyxl.load_workbook(folder / "final.xlsx"), openpyxl.load_workbook(path)
    assert book.sheetnames == original.sheetnames and book["loans"]["F2"].font.italic
    width = original["loans"].max_column
    assert book["loans"].cell(1, width + 1).value == "default_given"
    pairs = zip((row[:width] for row in book["loans"].values), original["loans"].values, strict=True)
    assert [number for number, (new, old) in enumerate(pairs) if new != old] == [accept]
    assert load(folder / "final.xlsx") == load(path)  # the other sheet
    assert json.loads((folder / "run.json").read_text())["options"]["sheet"] == "loans"
    again = tmp_path / "again"
    call("correct", "--from", folder / "run.json", "--output", again, "--quiet")
    assert (again / "corrected.xlsx").read_bytes() == (folder / "corrected.xlsx").read_bytes()


def test_a_guessed_encoding_is_a_note_and_separators_and_missing_labels_can_be_named(tmp_path, rows):
    path = tmp_path / "loans.csv"
    odd = [row | {"colour": row["colour"].replace("green", "grün")} for row in rows]
    write(path, [row | {"default": "?"} if i % 10 == 0 else row for i, row in enumerate(odd)])
    path.write_bytes(path.read_text().encode("cp1252"))
    shown = call("correct", path, "--label", "default", "--svms", "100", "--json").output
    notes = json.loads(shown[shown.index("{\n") :])["notes"]
    assert any("it was read as cp1252, as in 'grün'; if that looks wrong" in note for note in notes)
    assert "grün".encode("cp1252") in (tmp_path / "loans.subsvms" / "corrected.csv").read_bytes()
    path.write_bytes(path.read_bytes().replace(b",", b"|"))
    words = ("--encoding", "latin-1", "--separator", "|", "--missing-label", "?")
    assert " of 270 labels" in call("corrupt", path, "--label", "default", *words).output
    assert "grün" in (tmp_path / "loans.corrupted.csv").read_text("latin-1")


def test_rows_are_predicted_and_labels_corrupted_in_a_workbook(tmp_path, frame):
    path = save(frame, tmp_path / "loans.xlsx")
    call("correct", path, *QUICK, "--save-model", tmp_path / "m.safetensors")
    call("predict", tmp_path / "m.safetensors", path, "--sheet", "loans")
    predicted = read_table(tmp_path / "loans.predicted.xlsx", None, sheet="loans")
    assert len(predicted.columns.column_names) == len(frame.columns) + 2
    call("corrupt", path, "--label", "default", "--sheet", "loans")
    corrupted = read_table(tmp_path / "loans.corrupted.xlsx", "default")
    assert (corrupted.labels != frame["default"].to_numpy()).sum() == 30

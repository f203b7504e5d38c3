"""A sheet of a workbook is read as the table that people see in it, or one sentence says why not."""

import datetime as dt
import zipfile

import openpyxl
import pytest
import python_calamine
from nasty_texts import assert_refused, write
from workbooks import change_part, load, make_ods, make_xlsx, unzip, zip_again

from subsvms.app.tables import files
from subsvms.app.tables.table import read_table, write_table

HEADER = ["id", "n", "day", "flag", "label"]
ROWS = [
    ["007", 1, dt.datetime(2024, 1, 31), True, "no"],
    ["é <&> ]]>", 2.5, dt.datetime(2024, 2, 1), False, "yes"],
    [" two\nlines ", None, None, None, None],
]
SHEET = "xl/worksheets/sheet1.xml"
TABLE = [["a", "label"], [1, "x"], [2, "y"]]


def test_cells_keep_their_types(tmp_path):
    read = read_table(make_xlsx(tmp_path / "t.xlsx", [HEADER, *ROWS]), "label")
    assert read.format == "xlsx" and read.notes == () and read.columns.column_names == HEADER
    assert read.labels.tolist() == ["no", "yes", None]
    assert read.columns["id"].to_pylist() == ["007", "é <&> ]]>", " two\nlines "]
    assert read.columns["n"].to_pylist() == [1.0, 2.5, None]
    assert read.columns["flag"].to_pylist() == [True, False, None]
    assert read.columns["day"].to_pylist()[:2] == [dt.date(2024, 1, 31), dt.date(2024, 2, 1)]


def test_whole_numbers_are_labels_mixed_columns_are_text_and_errors_missing(tmp_path):
    rows = [["mixed", "when", "label"], [1, dt.datetime(2024, 1, 2), 0], ["x", dt.datetime(2024, 1, 2, 3), 1]]
    read = read_table(make_xlsx(tmp_path / "t.xlsx", [*rows, [True, None, 1]]), "label")
    assert read.labels.tolist() == [0, 1, 1] and read.columns["mixed"].to_pylist() == ["1", "x", "true"]
    assert read.columns["when"].to_pylist() == [dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 2, 3), None]
    rows = [["a", None, None, "label"], [1, None, 5, "x"], [2, None, 6, "y"], ["#N/A", None, 7, "#REF!"]]
    read = read_table(make_xlsx(tmp_path / "t.xlsx", rows), "label")
    assert read.columns["a"].to_pylist() == [1, 2, None] and read.labels.tolist() == ["x", "y", None]
    assert read.columns.column_names == ["a", "column C", "label"]


def test_titles_and_empty_rows_are_skipped_and_said(tmp_path):
    rows = [[], ["Loans of 2024"], [None, "in EUR"], [None, "a", "label"], [], [None, 1, "x"], []]
    rows.append([None, 2, "y"])
    read = read_table(make_xlsx(tmp_path / "t.xlsx", rows), "label")
    assert read.columns.to_pydict() == {"a": [1, 2], "label": ["x", "y"]}
    assert read.notes == (
        "The names of the columns are in row 4 of the sheet 'Sheet1': what stands above them was skipped.",
        "The sheet 'Sheet1' has 2 empty rows, skipped here: row numbers count the others.",
    )
    write_table(read, tmp_path / "new.xlsx", ["y", "y"], {"given": ["x", "y"]})
    assert load(tmp_path / "new.xlsx") == [
        [None] * 4, ["Loans of 2024", None, None, None], [None, "in EUR", None, None],
        [None, "a", "label", "given"], [None] * 4, [None, 1, "y", "x"], [None] * 4, [None, 2, "y", "y"],
    ]  # fmt: skip


def test_the_sheet_with_the_label_is_read_and_one_that_is_not_clear_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_xlsx(tmp_path / "t.xlsx", ("read me", [["see the other sheet"]]), ("data", TABLE))
    for sheet in (None, "data"):
        assert read_table("t.xlsx", "label", sheet=sheet).labels.tolist() == ["x", "y"]
    make_xlsx(tmp_path / "t.xlsx", ("one", TABLE), ("two", TABLE), ("three", []))
    for sheet, label, message in [
        (None, "label", "has a column 'label' in several sheets, 'one', 'two': choose one with sheet."),
        (None, None, "has several sheets, 'one', 'two': choose one with sheet."),
        ("tow", "label", "has no sheet 'tow'; did you mean 'two'?"),
        ("x", "label", "has no sheet 'x': its sheets are 'one', 'two', 'three'."),
        ("three", "label", "The sheet 'three' of 't.xlsx' is empty: choose another one with sheet."),
        (None, "labels", "has no column 'labels' in any of its sheets, 'one', 'two', 'three'; did you mean"),
        ("two", "lebal", "The sheet 'two' of 't.xlsx' has no column 'lebal': its columns are 'a', 'label';"),
    ]:
        assert "'t.xlsx'" in assert_refused(message, read_table, "t.xlsx", label, sheet=sheet)
    write(tmp_path, "a,label\n1,x\n2,y\n")
    message = "sheet is for workbooks, but 't.csv' is read as CSV: leave it out"
    assert_refused(message, read_table, "t.csv", "label", sheet="one")


def test_what_is_no_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rows, message in [
        ([], "'t.xlsx' has no sheet with a table: all its cells are empty."),
        ([["a", "label"]], "The sheet 'Sheet1' of 't.xlsx' has a header but no rows below it."),
        ([["a", "b"], ["label", "x"], ["other", "y"]], "has no column 'label': its columns are 'a', 'b'."),
        ([[5.1, 0], [4.9, 1]], "of 't.xlsx' has no names of columns: its first row holds '5.1'"),
        ([["a", "a", "label"], [1, 2, 3]], "has several columns named 'a' (columns 1, 2): give each"),
        ([["label"], [1], ["1"]], "column 'label', such as 1 in cell A2 and '1' in cell A3: use one type"),
        ([["label"], [True], ["x"]], "has booleans and text in its label column 'label', such as True in"),
        ([["label"], [dt.date(2024, 1, 1)], [dt.date(2024, 1, 2)]], "has the type date32[day]: labels must"),
        (
            [["a", "label"], ["=1+1", "x"], [3, "y"]],
            "whose values nobody has computed, such as cell A2: open",
        ),
    ]:
        make_xlsx(tmp_path / "t.xlsx", rows)
        assert_refused(message, read_table, "t.xlsx", "label")


def test_merged_names_are_refused_and_merged_titles_are_not(tmp_path):
    path = make_xlsx(tmp_path / "t.xlsx", [["Loans"], ["a", "b", "label"], [1, 2, "x"], [1, 2, "y"]])
    book = openpyxl.load_workbook(path)
    book.active.merge_cells("A1:C1")
    book.save(path)
    assert read_table(path, "label").labels.tolist() == ["x", "y"]
    book.active.merge_cells("A2:B2")
    book.save(path)
    assert_refused("has merged cells, A2:B2, in the row of its column names", read_table, path, "label")


def test_damaged_and_protected_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    good = make_xlsx(tmp_path / "good.xlsx", [HEADER, *ROWS]).read_bytes()
    files = unzip(tmp_path / "good.xlsx")
    ole, protected = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "EncryptedPackage".encode("utf-16-le")
    for name, data, message in [
        ("t.xlsx", good[: len(good) // 2], "'t.xlsx' is damaged or not a workbook (File is not a zip file)"),
        ("t.xlsx", good[:300] + bytes(200) + good[500:], "'t.xlsx' is damaged or not a workbook"),
        ("t.xlsx", ole + protected, "'t.xlsx' is protected with a password: save"),
        ("t.xls", ole + protected, "'t.xls' is protected with a password: save it"),
        ("t.xls", ole, "'t.xls' is damaged or not a workbook"),
        ("t.ods", good, "'t.ods' is damaged"),
        ("t.ods", b"text", "'t.ods' is damaged or not a workbook"),
    ]:  # fmt: skip
        write(tmp_path, data, name)
        assert_refused(message, read_table, name, "label")
    bad = {"xl/workbook.xml": b"<workbook", SHEET: files[SHEET][:-50], "xl/_rels/workbook.xml.rels": b"<a/>"}
    for part, text in bad.items():
        zip_again(tmp_path / "t.xlsx", files | {part: text})
        assert_refused("'t.xlsx'", read_table, "t.xlsx", "label")
    bomb = files[SHEET].replace(b"<worksheet", b'<!DOCTYPE a [<!ENTITY b "c">]><worksheet', 1)
    zip_again(tmp_path / "t.xlsx", files | {SHEET: bomb})
    message = "'t.xlsx' is damaged (it holds a document type): save it again in the program that made it."
    assert_refused(message, read_table, "t.xlsx", "label")
    zip_again(tmp_path / "t.xlsx", {"a": b"b"})
    assert_refused("or not an Excel workbook (no xl/workbook.xml)", read_table, "t.xlsx", "y")
    at = good.index(b"PK\x01\x02")  # the directory of the archive
    for place, byte, message in ((at + 8, 1, "is protected with a password"), (at + 24, 10, "is damaged")):
        data = bytearray(good)
        data[place] = byte  # a flag, and a size that is wrong
        write(tmp_path, bytes(data), "t.xlsx")
        assert_refused(f"'t.xlsx' {message}", read_table, "t.xlsx", "label")


def test_a_sheet_that_claims_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    path = make_xlsx(tmp_path / "t.xlsx", TABLE)
    change_part(path, SHEET, lambda text: text.replace('r="3"', 'r="1048576"').replace('"B3"', '"XFD1048576"')
                .replace('"A3"', '"A1048576"'))  # fmt: skip
    message = "has a sheet of 1,048,576 rows and 16,384 columns, too large for the free memory: delete"
    assert_refused(message, read_table, path, "label")
    repeat = (
        '<table:table-row table:number-rows-repeated="1000000"><table:table-cell office:value-type="float" '
        'office:value="1" table:number-columns-repeated="100000"/></table:table-row>'
    )
    message = "has a sheet of 1,000,003 rows and 100,000 columns, too large"
    said = assert_refused(message, read_table, make_ods(tmp_path / "t.ods", TABLE, repeat), "label")
    assert "damaged" not in said
    spaces = (
        '<table:table-row><table:table-cell office:value-type="string"><text:p>'
        '<text:s text:c="1000000000"/></text:p></table:table-cell></table:table-row>'
    )
    path = make_ods(tmp_path / "s.ods", TABLE, spaces)
    assert_refused("has a cell with 1,000,000,000 spaces in a row", read_table, path, "label")
    path = make_xlsx(tmp_path / "t.xlsx", [["a", "label"], ["z" * 30_000, "x"], ["b", "y"]])
    monkeypatch.setattr("subsvms.app.tables.files.measure_free_memory", lambda: 100_000.0)
    assert_refused("holds more than 2.5e-05 GB of data, 25 % of the free memory", read_table, path, "label")


def test_one_text_that_all_cells_share_counts_for_each(tmp_path, monkeypatch):
    path = make_xlsx(tmp_path / "t.xlsx", [["a", "label"], *(["x", "xy"[i % 2]] for i in range(100))])
    files = unzip(path)
    files["xl/sharedStrings.xml"] = b"<sst><si><t>" + b"z" * 30_000 + b"</t></si></sst>"
    shared = b'<c r="A%d" t="s"><v>0</v></c>'
    for i in range(2, 102):
        cell = b'<c r="A%d" t="inlineStr"><is><t>x</t></is></c>' % i
        assert cell in files[SHEET]
        files[SHEET] = files[SHEET].replace(cell, shared % i)
    zip_again(path, files)
    monkeypatch.setattr("subsvms.app.tables.workbook.measure_free_memory", lambda: 8e6)
    assert_refused("has a sheet of 101 rows and 2 columns, too large", read_table, path, "label")


@pytest.mark.parametrize("name", ["t.ods", "t.ods.gz"])
def test_open_document_comes_back_as_xlsx(tmp_path, name):
    rows = [["a", "label", "c"], [1, "x", "ä"], [2.5, "y", None]]
    padding = '<table:table-row table:number-rows-repeated="1048573"><table:table-cell ' \
              'table:number-columns-repeated="16384"/></table:table-row>'  # fmt: skip
    path = make_ods(tmp_path / "t.ods", rows, padding)
    if name.endswith("gz"):
        path = write(tmp_path, files.compress(path.read_bytes(), tmp_path / name), name)
    read = read_table(path, "label")
    (note,) = read.notes
    assert note == "OpenDocument is read, but not written: the result is an .xlsx file of plain values."
    write_table(read, tmp_path / "new.xlsx", ["y", "y"], {"given": read.labels})
    wanted = [["a", "label", "given", "c"], [1, "y", "x", "ä"], [2.5, "y", "y", None]]
    assert load(tmp_path / "new.xlsx") == wanted
    assert_refused("'x.ods' does not say in which format to write", write_table, read, "x.ods")


def test_macros_and_pictures_are_not_handed_on(tmp_path, monkeypatch):
    path = make_xlsx(tmp_path / "t.xlsx", TABLE)
    zip_again(path, unzip(path) | {"xl/vbaProject.bin": b"macro", "xl/media/image1.png": b"picture"})
    seen = []
    opened = python_calamine.CalamineWorkbook.from_filelike

    class Watching:
        @staticmethod
        def from_filelike(file):
            seen.extend(zipfile.ZipFile(file).namelist())
            file.seek(0)
            return opened(file)

    monkeypatch.setattr(python_calamine, "CalamineWorkbook", Watching)
    read = read_table(path, "label")
    assert SHEET in seen and not any(name.endswith((".bin", ".png")) for name in seen)
    write_table(read, tmp_path / "new.xlsx", ["y", "y"])
    assert unzip(tmp_path / "new.xlsx")["xl/media/image1.png"] == b"picture"


def test_a_damaged_archive_of_lzma_is_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("xl/workbook.xml", bytes(range(256)) * 40)
    data = bytearray(path.read_bytes())
    start = data.index(b"workbook.xml") + len("workbook.xml")
    data[start + 4 : start + 9] = b"\xff" * 5  # what says how it is compressed
    path.write_bytes(data)
    assert_refused("t.xlsx' is damaged or not a workbook", read_table, path, "label")

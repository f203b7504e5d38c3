"""An .xlsx file is written back with only its label cells changed, or as a new file of plain values."""

import datetime as dt
import re
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty_texts import assert_refused, write
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font, PatternFill
from workbooks import change_part, load, make_xlsx, unzip, zip_again

from subsvms.app.tables.table import keep_rows, read_table, write_table
from subsvms.app.tables.workbook_xml import letters, read_reference, render

SHEET = "xl/worksheets/sheet1.xml"


def make_rich(path):
    """Write a workbook with formats, formulas and their values, a chart, and a second sheet."""
    rows = [["n", "label", "twice"], [1, "no", "=A2*2"], [2, "yes", "=A3*2"], [3, None, "=A4*2"]]
    make_xlsx(path, ("data", rows), ("other", [['=COUNTIF(data!B2:B4,"yes")'], ["kept"]]))
    book = openpyxl.load_workbook(path)
    sheet = book["data"]
    sheet["B1"].font = Font(bold=True)
    sheet["B3"].fill = PatternFill("solid", fgColor="FFFF00")
    sheet["D9"].fill = PatternFill("solid", fgColor="FF0000")  # an empty cell with a format
    sheet.column_dimensions["B"].width = 33
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = "A1:C4"
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=1, min_row=1, max_row=4), titles_from_data=True)
    sheet.add_chart(chart, "F2")
    book.save(path)
    for part in (SHEET, "xl/worksheets/sheet2.xml"):  # as Excel saves them: with values
        change_part(path, part, lambda text: re.sub("</f><v ?/>", "</f><v>2</v>", text))
    return path


def test_everything_but_the_labels_stays(tmp_path):
    path = make_rich(tmp_path / "t.xlsx")
    read = read_table(path, "label")
    assert read.columns["twice"].to_pylist() == [2, 2, 2]
    write_table(read, tmp_path / "new.xlsx", ["yes", "yes", "no"])
    old, new = unzip(path), unzip(tmp_path / "new.xlsx")
    assert list(old) == list(new)
    assert {name for name in old if old[name] != new[name]} <= {SHEET, "xl/workbook.xml"}
    assert any("chart" in name for name in new)
    cell = re.compile(rb'<c r="B[24]"[^>]*?(/>|>.*?</c>)')
    assert cell.sub(b"", old[SHEET]) == cell.sub(b"", new[SHEET])
    sheet = openpyxl.load_workbook(tmp_path / "new.xlsx")["data"]
    assert [cell.value for cell in sheet["B"]][:4] == ["label", "yes", "yes", "no"]
    assert [cell.value for cell in sheet["C"]][:4] == ["twice", "=A2*2", "=A3*2", "=A4*2"]
    assert sheet["B1"].font.bold and sheet["B3"].fill.fgColor.rgb == "00FFFF00"
    assert b'fullCalcOnLoad="1"' in new["xl/workbook.xml"]


@pytest.mark.parametrize("end", ["", " "])
def test_a_label_in_an_empty_cell_at_the_end_of_its_row_is_written(tmp_path, end):
    path = make_xlsx(tmp_path / "t.xlsx", [["n", "label"], [1, "no"], [2, "yes"], [3]])
    empty = f'<c r="A4" t="n"><v>3</v></c><c r="B4" s="0"/></row{end}>'
    change_part(path, SHEET, lambda text: re.sub('<c r="A4".*?</row>', empty, text))
    write_table(read_table(path, "label"), tmp_path / "new.xlsx", ["yes", "yes", "no"])
    assert load(tmp_path / "new.xlsx") == [["n", "label"], [1, "yes"], [2, "yes"], [3, "no"]]


def test_empty_cells_where_new_columns_go_are_replaced(tmp_path):
    path = make_xlsx(tmp_path / "t.xlsx", [["n", "label"], [1, "no"], [2, "yes"]])
    row = re.compile(r'(<row r="(\d)".*?)</row>')
    change_part(path, SHEET, lambda text: row.sub(r'\1<c r="C\2" s="0"/></row>', text))
    change_part(path, SHEET, lambda text: text.replace('<c r="C3" s="0"/>', '<c r="C3" s="0"><v/></c>'))
    read = read_table(path, "label")
    write_table(read, tmp_path / "new.xlsx", ["yes", "yes"], {"given": read.labels})
    assert load(tmp_path / "new.xlsx") == [["n", "label", "given"], [1, "yes", "no"], [2, "yes", "yes"]]


def test_new_columns_go_to_the_right_and_formulas_stay(tmp_path):
    path = make_rich(tmp_path / "t.xlsx")
    read = read_table(path, "label")
    more = {"given": read.labels, "weight": [0.5, True, None]}
    write_table(read, tmp_path / "new.xlsx", ["yes", "no", "yes"], more)
    rows = load(tmp_path / "new.xlsx")
    assert rows[:4] == [
        ["n", "label", "twice", "given", "weight"], [1, "yes", "=A2*2", "no", 0.5],
        [2, "no", "=A3*2", "yes", True], [3, "yes", "=A4*2", None, None],
    ]  # fmt: skip
    assert all(cell is None for row in rows[4:] for cell in row)
    sheet = openpyxl.load_workbook(tmp_path / "new.xlsx")["data"]
    assert sheet["D1"].font.bold and sheet["D9"].fill.fgColor.rgb == "00FF0000"
    again = openpyxl.load_workbook(tmp_path / "new.xlsx", read_only=True)["data"]  # which believes the size
    assert [len(row) for row in again.iter_rows()][:4] == [5] * 4
    assert read_table(tmp_path / "new.xlsx", "label").columns.column_names[3:] == ["given", "weight"]


def test_cells_of_any_spelling_are_found(tmp_path):
    path = make_xlsx(tmp_path / "t.xlsx", [["a", "label", "c"], [1, "x", 5], [2, "y", 6], [3, None, 7]])
    sheet = unzip(path)[SHEET].decode()
    spellings = {
        "prefix": re.sub(r"<(/?)(\w)", r"<\1x:\2", sheet).replace("xmlns=", "xmlns:x="),
        "no addresses": re.sub(r'<(row|c) r="\w+"', r"<\1", sheet.replace('<c r="C4"', '<c /><c r="C4"')),
        "comment": sheet.replace("<sheetData>", '<!-- <c r="B2"> --><sheetData>'),
        "spans": re.sub(r'<row r="(\d)"', r'<row spans="1:3" r="\1"', sheet),
        "no dimension": re.sub(r"<dimension[^>]*>", "", sheet),
    }
    for name, text in spellings.items():
        change_part(path, SHEET, lambda _, text=text: text)
        read = read_table(path, "label")
        write_table(read, tmp_path / "new.xlsx", ["y", "y", "x"], {"given": read.labels}, force=True)
        again = read_table(tmp_path / "new.xlsx", "label")
        assert again.columns.to_pydict() == {
            "a": [1, 2, 3], "label": ["y", "y", "x"], "c": [5, 6, 7], "given": ["x", "y", None],
        }, name  # fmt: skip
        assert "spans=" not in unzip(tmp_path / "new.xlsx")[SHEET].decode()


def test_labels_by_formulas_give_a_plain_workbook(tmp_path):
    path = make_xlsx(tmp_path / "t.xlsx", [["n", "label"], [1, '=IF(A2>1,"x","y")'], [2, "z"]])
    pattern, value = "(<c[^>]*)(><f>.*?</f>)<v ?/>", r'\1 t="str"\2<v>y</v>'
    change_part(path, SHEET, lambda text: re.sub(pattern, value, text))
    read = read_table(path, "label")
    assert read.labels.tolist() == ["y", "z"]
    (note,) = read.notes
    assert note.startswith("The label column 'label' is computed by formulas, as in cell B2: the result is")
    write_table(read, tmp_path / "new.xlsx", ["z", "z"])
    assert load(tmp_path / "new.xlsx") == [["n", "label"], [1, "z"], [2, "z"]]


def test_without_some_rows_a_workbook_has_plain_values(tmp_path):
    read = read_table(make_rich(tmp_path / "t.xlsx"), "label")
    write_table(keep_rows(read, np.array([True, False, True])), tmp_path / "new.xlsx")
    assert load(tmp_path / "new.xlsx") == [["n", "label", "twice"], [1, "no", 2], [3, None, 2]]


def test_text_is_never_a_formula(tmp_path):
    read = read_table(make_xlsx(tmp_path / "t.xlsx", [["a", "label"], [1, "x"], [2, "y"]]), "label")
    write_table(read, tmp_path / "new.xlsx", ["=1+1", "y"], {"=a": ["@x", "-1"]})
    sheet = openpyxl.load_workbook(tmp_path / "new.xlsx").active
    cells = [(sheet[at].data_type, sheet[at].value) for at in ("B2", "C1", "C2", "C3")]
    assert cells == [("s", "=1+1"), ("s", "=a"), ("s", "@x"), ("s", "-1")]


@given(column=st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=5))
@settings(max_examples=100, deadline=None)
def test_any_text_comes_back(tmp_path_factory, column):
    folder = tmp_path_factory.mktemp("texts")
    (folder / "t.xlsx").write_bytes(render(pa.table({"a": column, "b": ["x"] * len(column)})))
    assert read_table(folder / "t.xlsx", None).columns["a"].to_pylist() == column


def test_types_come_back_from_a_plain_workbook(tmp_path):
    columns = pa.table({
        "day": [dt.date(2024, 2, 29), None], "early": [dt.date(1850, 1, 1), dt.date(1900, 1, 1)],
        "moment": [dt.datetime(2024, 2, 29, 13, 30), dt.datetime(1999, 12, 31, 23, 59, 59)],
        "time": [dt.time(13, 30), dt.time(0, 1)], "long": [2**60, 1], "number": [0.1, 1e300],
        "flag": [True, False], "nested": [[1, 2], []], "text": ["_x0041_", "a\x07\r\n b"],
    })  # fmt: skip
    (tmp_path / "t.xlsx").write_bytes(render(columns))
    found = read_table(tmp_path / "t.xlsx", None).columns.to_pydict()
    assert found.pop("early") == ["1850-01-01", "1900-01-01"]
    assert found.pop("long") == ["1152921504606846976", "1"]
    assert found.pop("nested") == ["[1, 2]", "[]"]
    assert found == {name: values for name, values in columns.to_pydict().items() if name in found}
    assert load(tmp_path / "t.xlsx")[1][0] == dt.datetime(2024, 2, 29)  # openpyxl agrees


def test_what_a_sheet_cannot_hold_is_refused(tmp_path):
    read = read_table(write(tmp_path, f"a,label\n{'z' * 40_000},x\n1,y\n"), "label")
    message = "The table has a cell of 40,000 characters, 'zzzzzzzzzzzzzzzzzzzz'..., but Excel holds at most"
    assert_refused(message, write_table, read, tmp_path / "t.xlsx")
    names = ",".join(f"c{i}" for i in range(16_384))
    read = read_table(write(tmp_path, f"{names},label\n{',' * 16_384}x\n{',' * 16_384}y\n"), "label")
    message = "The table has 2 rows and 16,385 columns, but a sheet holds at most 1,048,575 rows below its"
    assert_refused(message, write_table, read, tmp_path / "t.xlsx")
    assert not (tmp_path / "t.xlsx").exists()


def test_the_same_table_gives_the_same_bytes(tmp_path):
    path = make_rich(tmp_path / "t.xlsx")
    read = read_table(path, "label")
    for name in ("a.xlsx", "b.xlsx"):
        write_table(read, tmp_path / name, ["yes"] * 3)
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()
    assert zipfile.ZipFile(tmp_path / "a.xlsx").testzip() is None
    write_table(read, tmp_path / "same.xlsx")
    assert unzip(path)[SHEET] == unzip(tmp_path / "same.xlsx")[SHEET]


def test_addresses_of_cells_are_letters_and_numbers():
    for column in (0, 25, 26, 701, 702, 16_383):
        assert read_reference(f"{letters(column)}12") == (11, column)
    with pytest.raises(ValueError, match="is not a cell"):
        read_reference("AB")


def test_a_sheet_that_is_not_in_utf8_comes_back_as_plain_values(tmp_path):
    path = make_xlsx(tmp_path / "t.xlsx", [["n", "label"], [1, "no"], [2, "yes"]])
    files = unzip(path)
    text = re.sub(r"^<\?xml.*?\?>", "", files[SHEET].decode())
    files[SHEET] = f'<?xml version="1.0" encoding="ISO-8859-1"?>{text}'.encode("latin-1")
    read = read_table(zip_again(path, files), "label")
    (note,) = read.notes
    assert note.endswith(" is not in UTF-8: the result is an .xlsx file of plain values.")
    write_table(read, tmp_path / "new.xlsx", ["é", "yes"])
    assert load(tmp_path / "new.xlsx") == [["n", "label"], [1, "é"], [2, "yes"]]

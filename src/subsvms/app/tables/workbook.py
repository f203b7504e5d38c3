"""Workbooks: .xlsx, .xls and .ods, one sheet of which holds the table.

calamine reads the values. The names of the columns are in the first row that is not empty; where titles stand
above them, in the row below that has the label. Numbers, booleans, dates and text keep their types, and a
column of several types is text, as in CSV; an error such as #N/A is a missing value. Rows that are all empty
are skipped. .xlsx is written back cell by cell (`sheet_xml`), the other two as a new .xlsx file of values.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from subsvms._sentences import Note
from subsvms.app.tables.files import Content, check_names
from subsvms.app.tables.formats import FORMATS, Reading
from subsvms.app.tables.sheet_xml import EXACT, Scan, find_sheets, is_utf8, letters, measure_shared, parse
from subsvms.app.tables.text import format_cells
from subsvms.app.tables.workbook_zip import (
    PROTECTED,
    Workbook,
    check_size,
    close_archive,
    open_archive,
    render_workbook,
)
from subsvms.app.words import explaining, show, suggest
from subsvms.exceptions import TableError

READ = (".xml", ".rels", "mimetype")  # no pictures, no macros
TITLES = 20  # rows that may stand above the names of the columns
NAMES = {bool: "booleans", int: "numbers", float: "numbers", str: "text"}


@dataclass(frozen=True, eq=False)
class Sheet:
    """The values of a sheet, and which of them are the table."""

    title: str  # name of the sheet
    values: list[list]  # None where a cell is empty
    header: int  # row of the names, counted from zero; -1 if all is empty
    names: dict[int, str]  # name of each column of the table
    rows: list[int]  # rows of the table that are not empty

    def get(self, column: int) -> list:
        """Return the values of one column."""
        return [self.values[row][column] for row in self.rows]


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a sheet, and further fields of the table."""
    import pyarrow as pa

    name = content.name
    book, files, scans = open_workbook(content)
    sheet = choose_sheet(book, name, label, reading.sheet)
    scan = scans.get(sheet.title)
    check_header(sheet, book, name)
    columns = dict(zip(sheet.names.values(), sheet.names, strict=True))
    check_names(list(sheet.names.values()), f"The sheet {show(sheet.title)} of {name}", label)
    if not sheet.rows:
        raise TableError(f"The sheet {show(sheet.title)} of {name} has a header but no rows below it.")
    if scan is not None and scan.uncomputed:
        raise TableError(
            f"{name} has formulas whose values nobody has computed, such as cell {scan.uncomputed}: open it "
            "in Excel or LibreOffice, and save it there."
        )
    place = None if label is None else columns[label]
    if label is not None and place is not None:
        check_one_type(sheet, place, name, label)
    arrays = [as_array(sheet.get(column)) for column in sheet.names]
    table = pa.table(arrays, names=list(sheet.names.values()))
    notes = list_notes(content, sheet, scan, label, place)
    text = None
    if scan is not None and content.format == "xlsx" and place not in scan.formulas:
        part = find_sheets(files, name)[sheet.title]
        wide = max(len(row) for row in sheet.values)
        if is_utf8(files[part]):
            text = Workbook(files, part, name, sheet.header, sheet.rows, place, wide)
        else:
            said = f"The sheet {show(sheet.title)} of {name} is not in UTF-8"
            plain = f"{said}: the result is an .xlsx file of plain values."
            notes = (*notes, Note.plain("written_as", plain))
    return table, {"text": text, "notes": notes}


def open_workbook(content: Content) -> tuple[Any, dict[str, bytes], dict[str, Scan]]:
    """Return the workbook as calamine has it, the files it consists of, and what is in its sheets by name."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, XmlError, ZipError

    name, data = content.name, content.data
    files: dict[str, bytes] = {}
    scans: dict[str, Scan] = {}
    if content.format == "xls":
        if PROTECTED in data:
            raise TableError(f"{name} is protected with a password: save it without one.")
    else:
        files = open_archive(data, name)
        if content.format == "xlsx":
            lengths = measure_shared(files, name)
            for title, part in find_sheets(files, name).items():
                if part in files and part.startswith("xl/worksheets/"):
                    scans[title] = scan = Scan(name, lengths).read(files[part])
                    check_size(scan.n_rows, scan.n_columns, scan.n_characters, name)
        else:
            check_tables(files.get("content.xml", b""), name)
        plain = {path: inside for path, inside in files.items() if path.endswith(READ)}
        data = close_archive(plain, compressed=False)
    errors = (CalamineError, XmlError, ZipError, ValueError)
    with explaining(f"{name} is damaged or not a workbook", "save it again.", errors):
        try:
            return CalamineWorkbook.from_filelike(BytesIO(data)), files, scans
        except PasswordError:
            raise TableError(f"{name} is protected with a password: save it without one.") from None


def check_tables(data: bytes, name: str) -> None:
    """Raise an error if the tables of an .ods file are too large; one cell can be repeated for ever."""
    state: Counter[str] = Counter()
    widest: Counter[str] = Counter()

    def start(tag: str, attributes: dict[str, str]) -> None:
        kind = tag.rpartition(":")[2]
        if kind == "table":
            state["row"] = widest["column"] = widest["row"] = 0
        elif kind == "table-row":
            state["row"] += state["repeated"]
            state["column"] = 0
            state["repeated"] = int(attributes.get("table:number-rows-repeated", 1))
        elif kind in ("table-cell", "covered-table-cell"):
            times = int(attributes.get("table:number-columns-repeated", 1))
            state["column"] += times
            if "office:value-type" in attributes:
                widest["column"] = max(widest["column"], state["column"])
                widest["row"] = max(widest["row"], state["row"] + state["repeated"])
                state["copies"] = times * state["repeated"]
                check_size(widest["row"], widest["column"], widest["characters"], name)

    def text(text: str) -> None:
        widest["characters"] += len(text) * state["copies"]

    state["copies"] = 1
    parse(data, name, start=start, text=text)
    check_size(widest["row"], widest["column"], widest["characters"], name)


def choose_sheet(book: Any, name: str, label: str | None, wanted: str | None) -> Sheet:
    """Return the sheet with this name, or else the only one, or the only one that has the label."""
    titles = list(book.sheet_names)
    if wanted is not None:
        if wanted not in titles:
            hint = suggest(wanted, titles) or f": its sheets are {_list(titles)}."
            raise TableError(f"{name} has no sheet {show(wanted)}{hint}")
        return read_sheet(book, wanted, label, name)
    sheets = [read_sheet(book, title, label, name) for title in titles]
    filled = [sheet for sheet in sheets if sheet.header >= 0]
    if not filled:
        raise TableError(f"{name} has no sheet with a table: all its cells are empty.")
    fitting = [sheet for sheet in filled if label is None or label in sheet.names.values()]
    if len(fitting) == 1 or len(filled) == 1:
        return (fitting or filled)[0]
    if fitting:
        which = "several sheets" if label is None else f"a column {show(label)} in several sheets"
        listed = _list([sheet.title for sheet in fitting])
        raise TableError(
            "{name} has {which}, {listed}: choose one with {sheet}.", name=name, which=which, listed=listed
        )
    known = [other for sheet in filled for other in sheet.names.values()]
    hint = suggest(str(label), known) or ": name the column as it is in the first row of its sheet."
    raise TableError(f"{name} has no column {show(label)} in any of its sheets, {_list(titles)}{hint}")


def _list(titles: Sequence[str]) -> str:
    shown = [show(title) for title in titles[:5]]
    return ", ".join(shown) + (f" and {len(titles) - 5} more" if len(titles) > 5 else "")


def read_sheet(book: Any, title: str, label: str | None, name: str) -> Sheet:
    """Return one sheet of a workbook."""
    from python_calamine import CalamineError, XmlError

    damaged = f"{name} has a damaged sheet {show(title)}"
    with explaining(damaged, "save it again.", (CalamineError, XmlError, ValueError)):
        found = book.get_sheet_by_name(title).to_python(skip_empty_area=False)
    values = [[None if cell == "" else cell for cell in row] for row in found]
    filled = [i for i, row in enumerate(values) if any(cell is not None for cell in row)]
    if not filled:
        return Sheet(title, values, -1, {}, [])
    header = find_header(values, filled, label)
    rows = [i for i in filled if i > header]
    names = {}
    for column, cell in enumerate(values[header]):
        if cell is not None:
            names[column] = format_name(cell)
        elif any(values[row][column] is not None for row in rows):
            names[column] = f"column {letters(column)}"
    return Sheet(title, values, header, names, rows)


def format_name(cell: Any) -> str:
    """Return a cell as the name of a column: 2024.0 is 2024."""
    return str(format_cells([as_number(cell)])[0])


def find_header(values: list[list], filled: list[int], label: str | None) -> int:
    """Return the row that has the label if all rows above it are shorter, as titles are; else the first."""
    widest = 0
    for row in filled[:TITLES]:
        n_cells = sum(cell is not None for cell in values[row])
        if n_cells > widest and label in [format_name(cell) for cell in values[row] if cell is not None]:
            return row
        widest = max(widest, n_cells)
    return filled[0]


def check_header(sheet: Sheet, book: Any, name: str) -> None:
    """Raise an error if the names of columns are merged cells, or numbers that are probably the first row."""
    where = f"The sheet {show(sheet.title)} of {name}"
    if sheet.header < 0:
        raise TableError("{where} is empty: choose another one with {sheet}.", where=where)
    for (top, left), (bottom, right) in book.get_sheet_by_name(sheet.title).merged_cell_ranges or ():
        if top <= sheet.header <= bottom:
            merged = f"{letters(left)}{top + 1}:{letters(right)}{bottom + 1}"
            raise TableError(
                f"{where} has merged cells, {merged}, in the row of its column names: unmerge them, and "
                "write one name above each column."
            )
    cells = [sheet.values[sheet.header][column] for column in sheet.names]
    if not any(isinstance(cell, str) for cell in cells):
        raise TableError(
            f"{where} has no names of columns: its first row holds {show(format_name(cells[0]))}; write a "
            "name above each column."
        )


def check_one_type(sheet: Sheet, column: int, name: str, label: str) -> None:
    """Raise an error if labels have several types; 1 and "1" may be one class or two."""
    first: dict[str, tuple[Any, int]] = {}
    for row in sheet.rows:
        cell = sheet.values[row][column]
        if cell is not None:
            first.setdefault(NAMES.get(type(cell), "dates"), (as_number(cell), row))
    if len(first) > 1:
        cells = [f"{show(cell)} in cell {letters(column)}{row + 1}" for cell, row in first.values()]
        raise TableError(
            f"{name} has {' and '.join(first)} in its label column {show(label)}, such as "
            f"{' and '.join(cells)}: use one type for all."
        )


def list_notes(
    content: Content, sheet: Sheet, scan: Scan | None, label: str | None, place: int | None
) -> tuple[str, ...]:
    """Return what the user should know about how a sheet was read, and how it will be written."""
    notes = []
    if sheet.header > 0:
        notes.append(
            f"The names of the columns are in row {sheet.header + 1} of the sheet {show(sheet.title)}: what "
            "stands above them was skipped."
        )
    n_empty = sheet.rows[-1] - sheet.header - len(sheet.rows)
    if n_empty:
        notes.append(
            f"The sheet {show(sheet.title)} has {n_empty} empty row{'s' * (n_empty > 1)}, skipped here: row "
            "numbers count the others."
        )
    if content.format != "xlsx":
        title = FORMATS[content.format].title
        notes.append(f"{title} is read, but not written: the result is an .xlsx file of plain values.")
    elif scan is not None and place in scan.formulas:
        notes.append(
            f"The label column {show(label)} is computed by formulas, as in cell {scan.formulas[place]}: the "
            "result is an .xlsx file of plain values."
        )
    return tuple(Note.plain("sheet", note) for note in notes)


def as_number(cell: Any) -> Any:
    """Return a number that is whole as an int, because workbooks hold floats only."""
    whole = isinstance(cell, float) and cell.is_integer() and abs(cell) <= EXACT
    return int(cell) if whole else cell


def as_array(cells: list) -> Any:
    """Return one column (pyarrow.Array) with the type that its cells share, or else as text."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {float, int}:
        numbers = [as_number(cell) for cell in cells]
        return pa.array(numbers if all(isinstance(n, int | None) for n in numbers) else cells)
    if kinds == {dt.date, dt.datetime}:  # 1 January 2024 without a time of day
        midnight = dt.time()
        return pa.array(
            [dt.datetime.combine(cell, midnight) if type(cell) is dt.date else cell for cell in cells]
        )
    if len(kinds) == 1:
        return pa.array(cells)
    return pa.array(format_cells(as_number(cell) for cell in cells), pa.string())


def render(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of an .xlsx file with one sheet of plain values."""
    return render_workbook(columns)

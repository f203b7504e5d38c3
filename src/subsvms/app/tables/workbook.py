"""Workbooks: .xlsx, .xls and .ods, one sheet of which holds the table.

calamine reads the values. The names of the columns are in the first row that is not empty; where titles stand
above them, in the row below that has the label. Numbers, booleans, dates and text keep their types, and a
column of several types is text, as in CSV; an error such as #N/A is a missing value. Rows that are all empty
are skipped. .xlsx is written back cell by cell (`workbook_xml`), the others as a new .xlsx file of values.

An archive is opened within the free memory, and never handed to another program as it came: the sizes that it
claims may be forged.
"""

import datetime as dt
import lzma
import zipfile
import zlib
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from subsvms.app.quoting import explaining, name_some, show, suggest
from subsvms.app.tables import workbook_xml as xml
from subsvms.app.tables.files import MAX_SHARE, Allowance, Content, check_names, measure_free_memory
from subsvms.app.tables.formats import FORMATS, Reading
from subsvms.app.tables.text import format_cells
from subsvms.exceptions import Note, TableError

READ = (".xml", ".rels", "mimetype")  # no pictures, no macros
TITLES = 20  # rows that may stand above the names of the columns
KINDS = {bool: "booleans", int: "numbers", float: "numbers", str: "text"}
PROTECTED = "EncryptedPackage".encode("utf-16-le")  # in the old container that holds a protected workbook
MOST_SPACES = 1_000_000  # in a cell of an .ods file, of which calamine makes several copies
CELL = 200  # bytes of memory for a cell in Python, its text not included; a guess, on the high side
BAD = (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError, lzma.LZMAError, zlib.error)


@dataclass(frozen=True, eq=False)
class Sheet:
    """The values of a sheet, and which of them are the table."""

    title: str  # name of the sheet
    values: list[list]  # None where a cell is empty
    header: int  # row of the names, counted from zero; -1 if all is empty
    names: dict[int, str]  # name of each column of the table
    rows: list[int]  # rows of the table that are not empty


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a sheet, and further fields of the table."""
    import pyarrow as pa

    name = content.name
    book, files, parts = _open_workbook(content)
    sheet = _choose_sheet(book, name, label, reading.sheet)
    part, scan = parts.get(sheet.title, ("", None))
    where = f"The sheet {show(sheet.title)} of {name}"
    _check_header(sheet, book, where)
    check_names(list(sheet.names.values()), where, label)
    if not sheet.rows:
        raise TableError(f"{where} has a header but no rows below it.")
    if scan is not None and scan.uncomputed:
        raise TableError(
            f"{name} has formulas whose values nobody has computed, such as cell {scan.uncomputed}: open it "
            "in Excel or LibreOffice, and save it there."
        )
    place = next((column for column, one in sheet.names.items() if one == label), None)
    if place is not None:
        _check_one_type(sheet, place, name)
    arrays = [_as_array([sheet.values[row][column] for row in sheet.rows]) for column in sheet.names]
    text, plain = None, None  # why it is written as a new workbook
    if scan is None:
        what = where if content.format == "xlsx" else FORMATS[content.format].title
        plain = f"{what} is read, but not written"
    elif place in scan.formulas:
        plain = f"The label column {show(label)} is computed by formulas, as in cell {scan.formulas[place]}"
    elif not xml.is_utf8(files[part]):
        plain = f"{where} is not in UTF-8"
    else:
        wide = max(len(row) for row in sheet.values)
        text = xml.Workbook(files, part, name, sheet.header, sheet.rows, place, wide)
    notes = _note_skipped(sheet)
    if plain:
        notes.append(f"{plain}: the result is an .xlsx file of plain values.")
    more = {"text": text, "notes": tuple(Note.plain("sheet", note) for note in notes)}
    return pa.table(arrays, names=list(sheet.names.values())), more


def _open_workbook(content):
    """Return calamine's workbook, the files it consists of, and the XML file and `Scan` of each sheet."""
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError, XmlError, ZipError

    name, data = content.name, content.data
    protected = f"{name} is protected with a password: save it without one."
    if PROTECTED in data:
        raise TableError(protected)
    files: dict[str, bytes] = {}
    parts: dict[str, tuple[str, xml.Scan]] = {}
    if content.format != "xls":
        files = _open_archive(data, name, protected)
        if content.format == "xlsx":
            parts = xml.scan_sheets(files, name)
            for _, scan in parts.values():
                _check_size(scan.n_rows, scan.n_columns, scan.n_characters, name)
        else:
            _check_tables(files.get("content.xml", b""), name)
        plain = {path: inside for path, inside in files.items() if path.endswith(READ)}
        data = xml.close_archive(plain, compressed=False)
    errors = (CalamineError, XmlError, ZipError, ValueError)
    with explaining(f"{name} is damaged or not a workbook", "save it again.", errors):
        try:
            return CalamineWorkbook.from_filelike(BytesIO(data)), files, parts
        except PasswordError:
            raise TableError(protected) from None


def _open_archive(data, name, protected):
    """Return the files in a ZIP archive, by name, as far as the free memory allows."""
    memory = Allowance(f"{name} holds", "free some memory, or save the table as CSV or Parquet.")
    files = {}
    with (
        explaining(f"{name} is damaged or not a workbook", "save it again.", BAD),
        zipfile.ZipFile(BytesIO(data)) as archive,
    ):
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise TableError(protected)
            with archive.open(info) as stream:
                files[info.filename] = memory.read(stream)
    return files


def _check_size(n_rows, n_columns, n_characters, name):
    """Raise an error if the cells of a sheet do not fit in the free memory."""
    # A few bytes can claim a cell in the last row and column, and share one long text between all cells.
    if CELL * n_rows * n_columns + 4 * n_characters > MAX_SHARE * measure_free_memory():
        raise TableError(
            f"{name} has a sheet of {n_rows:,} rows and {n_columns:,} columns, too large for the free "
            "memory: delete empty rows and columns, or save the table as CSV or Parquet."
        )


def _check_tables(data, name):
    """Raise an error if the tables of an .ods file are too large; one cell can be repeated for ever."""
    row = column = repeated = last_row = last_column = n_characters = 0
    copies = 1

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, repeated, last_row, last_column, copies
        kind = tag.rpartition(":")[2]
        if kind == "table":
            row = last_row = last_column = 0
        elif kind == "table-row":
            row, column = row + repeated, 0
            repeated = int(attributes.get("table:number-rows-repeated", 1))
        elif kind in ("table-cell", "covered-table-cell"):
            times = int(attributes.get("table:number-columns-repeated", 1))
            column += times
            if "office:value-type" in attributes:
                last_row, last_column = max(last_row, row + repeated), max(last_column, column)
                copies = times * repeated
                _check_size(last_row, last_column, n_characters, name)
        elif kind == "s":  # so many spaces
            spaces = int(attributes.get("text:c", 1))
            if spaces > MOST_SPACES:
                raise TableError(f"{name} has a cell with {spaces:,} spaces in a row: shorten it.")
            text(" ", spaces)
            _check_size(last_row, last_column, n_characters, name)

    def text(text: str, times: int = 1) -> None:
        nonlocal n_characters
        n_characters += len(text) * times * copies

    xml.parse(data, name, start, text=text)
    _check_size(last_row, last_column, n_characters, name)


def _choose_sheet(book, name, label, wanted):
    """Return the sheet with this name, or else the only one, or the only one that has the label."""
    titles = list(book.sheet_names)
    if wanted is not None:
        if wanted not in titles:
            hint = suggest(wanted, titles) or f": its sheets are {name_some(titles)}."
            raise TableError(f"{name} has no sheet {show(wanted)}{hint}")
        return _read_sheet(book, wanted, label, name)
    sheets = [_read_sheet(book, title, label, name) for title in titles]
    filled = [sheet for sheet in sheets if sheet.header >= 0]
    if not filled:
        raise TableError(f"{name} has no sheet with a table: all its cells are empty.")
    fitting = [sheet for sheet in filled if label is None or label in sheet.names.values()]
    if len(fitting) == 1 or len(filled) == 1:
        return (fitting or filled)[0]
    if fitting:
        which = "several sheets" if label is None else f"a column {show(label)} in several sheets"
        listed = name_some([sheet.title for sheet in fitting])
        raise TableError(
            "{name} has {which}, {listed}: choose one with {sheet}.", name=name, which=which, listed=listed
        )
    known = [other for sheet in filled for other in sheet.names.values()]
    hint = suggest(str(label), known) or ": name the column as it is in the first row of its sheet."
    raise TableError(f"{name} has no column {show(label)} in any of its sheets, {name_some(titles)}{hint}")


def _read_sheet(book, title, label, name):
    from python_calamine import CalamineError, XmlError

    damaged = f"{name} has a damaged sheet {show(title)}"
    with explaining(damaged, "save it again.", (CalamineError, XmlError, ValueError)):
        found = book.get_sheet_by_name(title).to_python(skip_empty_area=False)
    values = [[None if cell == "" else cell for cell in row] for row in found]
    filled = [i for i, row in enumerate(values) if any(cell is not None for cell in row)]
    if not filled:
        return Sheet(title, values, -1, {}, [])
    header = _find_header(values, filled, label)
    rows = [i for i in filled if i > header]
    names = {}
    for column, cell in enumerate(values[header]):
        if cell is not None:
            names[column] = _format_name(cell)
        elif any(values[row][column] is not None for row in rows):
            names[column] = f"column {xml.letters(column)}"
    return Sheet(title, values, header, names, rows)


def _format_name(cell):
    """Return a cell as the name of a column: 2024.0 is 2024."""
    return str(format_cells([_as_number(cell)])[0])


def _find_header(values, filled, label):
    """Return the row that has the label if all rows above it are shorter, as titles are; else the first."""
    widest = 0
    for row in filled[:TITLES]:
        cells = [cell for cell in values[row] if cell is not None]
        if len(cells) > widest and label in map(_format_name, cells):
            return row
        widest = max(widest, len(cells))
    return filled[0]


def _check_header(sheet, book, where):
    """Raise an error if the names of columns are merged cells, or numbers that are probably the first row."""
    if sheet.header < 0:
        raise TableError("{where} is empty: choose another one with {sheet}.", where=where)
    for (top, left), (bottom, right) in book.get_sheet_by_name(sheet.title).merged_cell_ranges or ():
        if top <= sheet.header <= bottom:
            merged = f"{xml.letters(left)}{top + 1}:{xml.letters(right)}{bottom + 1}"
            raise TableError(
                f"{where} has merged cells, {merged}, in the row of its column names: unmerge them, and "
                "write one name above each column."
            )
    cells = [sheet.values[sheet.header][column] for column in sheet.names]
    if not any(isinstance(cell, str) for cell in cells):
        raise TableError(
            f"{where} has no names of columns: its first row holds {show(_format_name(cells[0]))}; write a "
            "name above each column."
        )


def _check_one_type(sheet, column, name):
    """Raise an error if labels have several types; 1 and "1" may be one class or two."""
    first: dict[str, int] = {}
    for row in sheet.rows:
        if (cell := sheet.values[row][column]) is not None:
            first.setdefault(KINDS.get(type(cell), "dates"), row)
    if len(first) > 1:
        cells = {f"{xml.letters(column)}{row + 1}": sheet.values[row][column] for row in first.values()}
        shown = [f"{show(_as_number(cell))} in cell {where}" for where, cell in cells.items()]
        raise TableError(
            f"{name} has {' and '.join(first)} in its label column {show(sheet.names[column])}, such as "
            f"{' and '.join(shown)}: use one type for all."
        )


def _note_skipped(sheet):
    """Return what the user should know about rows of a sheet that were not read."""
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
    return notes


def _as_number(cell):
    """Return a number that is whole as an int, because workbooks hold floats only."""
    whole = isinstance(cell, float) and cell.is_integer() and abs(cell) <= xml.EXACT
    return int(cell) if whole else cell


def _as_array(cells):
    """Return one column (pyarrow.Array) with the type that its cells share, or else as text."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {float, int}:
        numbers = [_as_number(cell) for cell in cells]
        return pa.array(numbers if all(isinstance(n, int | None) for n in numbers) else cells)
    if kinds == {dt.date, dt.datetime}:  # 1 January 2024 without a time of day
        midnight = dt.time()
        cells = [dt.datetime.combine(cell, midnight) if type(cell) is dt.date else cell for cell in cells]
    elif len(kinds) > 1:
        return pa.array(format_cells(map(_as_number, cells)), pa.string())
    return pa.array(cells)

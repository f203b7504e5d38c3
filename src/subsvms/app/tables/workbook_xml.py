"""The XML of workbooks (.xlsx): what is in a sheet, new values in some of its cells, and new workbooks.

Libraries that load a workbook and save it again lose what they do not know: charts, pictures, the last values
of formulas. Here only cells of one sheet are replaced, and every other byte of it stays; all other parts are
copied. New columns go to the right of everything in the sheet: in between they would move what formulas refer
to. Document types, which XML bombs need, are refused.
"""

import datetime as dt
import re
import zipfile
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any
from xml.parsers import expat

import numpy as np

from subsvms.app.quoting import explaining, show
from subsvms.app.tables.arrow import list_values
from subsvms.exceptions import TableError

MAX_TEXT = 32_767  # characters in a cell of Excel
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384
EXACT = 2**53  # up to which a cell, which is a float, holds every whole number
REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
DECLARED = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*[\"']([^\"'>]*)")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a ZIP archive can hold
DAY_ZERO = dt.datetime(1899, 12, 30)
FIRST_DATE = dt.datetime(1900, 3, 1)  # before it, Excel counts a day that did not exist
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# A workbook with one sheet and five styles: plain, date, date and time, time of day, duration.
EMPTY_BOOK = {
    "[Content_Types].xml": (
        f'<Types xmlns="{PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{KIND}.styles+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/></Types>'
    ),
    "_rels/.rels": (
        f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
    ),
    "xl/workbook.xml": (
        f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
        '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": (
        f'<Relationships xmlns="{PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="rId2" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>'
    ),
    "xl/styles.xml": (
        f'<styleSheet xmlns="{MAIN}"><numFmts count="4"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
        '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>'
        '<numFmt numFmtId="166" formatCode="hh:mm:ss"/>'
        '<numFmt numFmtId="167" formatCode="[h]:mm:ss"/></numFmts>'
        '<fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
        '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="5"><xf/>'
        '<xf numFmtId="164" applyNumberFormat="1"/><xf numFmtId="165" applyNumberFormat="1"/>'
        '<xf numFmtId="166" applyNumberFormat="1"/><xf numFmtId="167" applyNumberFormat="1"/></cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
    ),
}


def parse(data: bytes, name: str, start: Any, end: Any = None, text: Any = None, parser: Any = None) -> None:
    """Call functions for the start and end of each element of an XML file, and for its text."""
    parser = parser or expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    advice = "save it again in the program that made it."
    with explaining(f"{name} is damaged", advice, (expat.ExpatError, ValueError)):
        parser.Parse(data, True)


def _refuse_doctype(*_):
    raise ValueError("it holds a document type")


def is_utf8(data: bytes) -> bool:
    """Return whether the XML of a sheet is in UTF-8, so that cells can be put into its bytes."""
    if b"\0" in data[:4] or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    found = DECLARED.match(data)
    return found is None or found[1].lower() in (b"utf-8", b"us-ascii")


def letters(column: int) -> str:
    """Return the letters of a column, counted from zero."""
    before, last = divmod(column, 26)
    return (letters(before - 1) if before else "") + chr(65 + last)


def read_reference(reference: str) -> tuple[int, int]:
    """Return row and column of a cell, counted from zero."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"{reference[:20]!r} is not a cell")
    column = 0
    for letter in match[1]:
        column = 26 * column + ord(letter) - 64
    return int(match[2]) - 1, column - 1


class Scan:
    """What the XML of a sheet holds, as far as its values do not say it, and where some columns are in it."""

    def __init__(self, data: bytes, name: str, lengths: Sequence[int] = (), columns: Set[int] = frozenset()):
        self.data, self.lengths, self.columns = data, lengths, columns  # lengths of the shared texts
        self.n_rows = self.n_columns = 0  # up to the last cell that is not empty
        self.n_characters = 0
        self.formulas: dict[int, str] = {}  # the first cell of each column that holds a formula
        self.uncomputed = ""  # the first formula whose value nobody has computed
        self.rows: dict[int, int] = {}  # where each row starts
        self.cells: dict[tuple[int, int], tuple[int, int, str]] = {}  # start, end, style; of `columns`
        self.before: dict[tuple[int, int], int] = {}  # where such a cell would start if the row lacks it
        self.prefix = ""  # of all tags
        self.row = self.column = -1  # of the cell that is being read, and what is known about it
        self.cell_start, self.inside, self.has_formula = 0, "", False
        self.attributes: dict[str, str] = {}
        self.content: list[str] = []
        self.parser = expat.ParserCreate()
        parse(data, name, self._start, self._end, self._text, self.parser)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag, at = tag.removeprefix(self.prefix), self.parser.CurrentByteIndex
        if tag == "c":
            self.cell_start, self.attributes, self.has_formula = at, attributes, False
            self.content.clear()
            reference, last = attributes.get("r"), self.column
            if reference is None:
                self.column += 1
            else:
                row, self.column = read_reference(reference)
                if row != self.row or self.column <= last:
                    raise ValueError(f"the cell {reference[:20]} is in a wrong place")
            self._pass(last, self.column, at)
        elif tag in ("v", "t"):
            self.inside = tag
        elif tag == "f":
            self.has_formula = True
        elif tag == "row":
            number = int(attributes.get("r", self.row + 2)) - 1
            if number <= self.row:
                raise ValueError(f"row {number + 1} is in a wrong place")
            self.row, self.column, self.rows[number] = number, -1, at
        elif tag.endswith("worksheet") and self.row < 0:
            self.prefix = tag.removesuffix("worksheet")

    def _pass(self, last: int, column: float, at: int) -> None:
        for missing in self.columns:
            if last < missing < column:
                self.before[self.row, missing] = at

    def _text(self, text: str) -> None:
        if self.inside:
            self.content.append(text)

    def _end(self, tag: str) -> None:
        tag = tag.removeprefix(self.prefix)
        if tag == "c":
            self._end_cell()
        elif tag == "row":
            self._pass(self.column, float("inf"), self.parser.CurrentByteIndex)
        self.inside = ""

    def _end_cell(self) -> None:
        content = "".join(self.content)
        kind = self.attributes.get("t", "n")
        if self.has_formula:
            where = f"{letters(self.column)}{self.row + 1}"
            self.formulas.setdefault(self.column, where)
            if not content and kind != "str":
                self.uncomputed = self.uncomputed or where
        if content:
            self.n_rows = self.row + 1
            self.n_columns = max(self.n_columns, self.column + 1)
            shared = kind == "s" and content.isdecimal() and int(content) < len(self.lengths)
            self.n_characters += self.lengths[int(content)] if shared else len(content)
        if self.column in self.columns:
            end = self.parser.CurrentByteIndex  # behind <c/>, where the end tag of its row may follow
            tag = re.compile(rf"</{re.escape(self.prefix)}c\s*>".encode()).match(self.data, end)
            end = tag.end() if tag else end
            self.cells[self.row, self.column] = self.cell_start, end, self.attributes.get("s", "")


def scan_sheets(files: Mapping[str, bytes], name: str) -> dict[str, tuple[str, Scan]]:
    """Return the XML file of each sheet of an .xlsx workbook, and what is in it, by the sheet's name."""
    lengths = _measure_shared(files, name)
    parts = _find_sheets(files, name).items()
    kept = [(title, part) for title, part in parts if part in files and part.startswith("xl/worksheets/")]
    return {title: (part, Scan(files[part], name, lengths)) for title, part in kept}


def _find_sheets(files, name):
    """Return the name of the XML file of each sheet, by the sheet's name."""
    book, links = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
    if book not in files or links not in files:
        raise TableError(f"{name} is damaged or not an Excel workbook (no {book}): save it again.")
    targets: dict[str, str] = {}
    sheets: dict[str, str] = {}

    def link(_: str, found: dict[str, str]) -> None:
        if "Id" in found:
            targets[found["Id"]] = found.get("Target", "")

    def add(tag: str, found: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "sheet":
            key = next((value for key, value in found.items() if key.rpartition(":")[2] == "id"), "")
            target = targets.get(key, "")
            sheets[found.get("name", "")] = target[1:] if target.startswith("/") else f"xl/{target}"

    parse(files[links], name, link)
    parse(files[book], name, add)
    return sheets


def _measure_shared(files, name):
    """Return the lengths of the texts that the cells of a workbook share."""
    lengths: list[int] = []

    def start(tag: str, _: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "si":
            lengths.append(0)

    def text(text: str) -> None:
        if lengths:
            lengths[-1] += len(text)

    data = files.get("xl/sharedStrings.xml")
    if data is not None:
        parse(data, name, start, text=text)
    return lengths


# Written


@dataclass(frozen=True, eq=False)
class Workbook:
    """An .xlsx workbook, and where the table is in it."""

    files: Mapping[str, bytes]  # the archive
    part: str  # name of the sheet's XML file
    name: str  # name of the workbook in messages
    header: int  # row of the names, counted from zero
    rows: Sequence[int]  # rows of the table
    label: int | None  # column of the label
    n_columns: int  # of the sheet: the next one is free

    def keep_rows(self, keep: np.ndarray) -> None:
        """Return None: without rows, formulas would point to other cells."""

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the workbook with new labels, and further columns to the right of the sheet."""
        new: dict[tuple[int, int], Any] = {}
        if self.label is not None:
            changes = zip(self.rows, labels, given, strict=True)
            new |= {(row, self.label): label for row, label, old in changes if label != old}
        for column, (name, values) in enumerate(extra.items(), start=self.n_columns):
            _check_limits(len(self.rows), column + 1, self.name)
            new[self.header, column] = name
            new |= {(row, column): value for row, value in zip(self.rows, values, strict=True)}
        book = self.files["xl/workbook.xml"]
        settings = re.search(rb"<(?:\w+:)?calcPr\b", book)
        if settings and b"fullCalcOnLoad" not in book:  # formulas may use the labels
            book = book[: settings.end()] + b' fullCalcOnLoad="1"' + book[settings.end() :]
        return close_archive({**self.files, self.part: self._replace_cells(new), "xl/workbook.xml": book})

    def _replace_cells(self, new: Mapping[tuple[int, int], Any]) -> bytes:
        """Return the XML of the sheet with new values in some cells."""
        data, label = self.files[self.part], -1 if self.label is None else self.label
        columns = frozenset(column for _, column in new)
        scan = Scan(data, self.name, columns=columns | {label})
        heading = scan.cells.get((self.header, label), (0, 0, ""))[2]
        edits = _widen(data, scan, max(columns)) if max(columns, default=-1) >= scan.n_columns else []
        for (row, column), value in new.items():
            start, end, style = scan.cells.get((row, column), (-1, -1, heading if row == self.header else ""))
            if start < 0:
                start = end = scan.before[row, column]
            cell = _format_cell(value, row, column, style, scan.prefix, self.name)
            edits.append((start, column, end, cell))
        pieces, at = [], 0
        for start, _, end, cell in sorted(edits):
            pieces += [data[at:start], cell]
            at = end
        return b"".join(pieces) + data[at:]


def _widen(data, scan, last):
    """Return edits of what says how wide a sheet is: programs believe it."""
    edits = []
    found = re.search(rb'<[\w:]*dimension [^>]*?ref="([^"]*)"', data[: min(scan.rows.values())])
    if found:
        edits.append((found.start(1), -1, found.end(1), f"A1:{letters(last)}{max(scan.rows) + 1}".encode()))
    for start in scan.rows.values():
        spans = re.search(rb'\sspans="[^"]*"', data[start : data.index(b">", start)])
        if spans:
            edits.append((start + spans.start(), -1, start + spans.end(), b""))
    return edits


def _format_cell(value, row, column, style, prefix, name):
    """Return the XML of one cell: text, a number, a boolean or nothing; text is never a formula."""
    p = prefix
    head = f'<{p}c r="{letters(column)}{row + 1}"' + (f' s="{escape(style)}"' if style else "")
    if value is None or value != value:
        return f"{head}/>".encode()
    if isinstance(value, bool):
        return f'{head} t="b"><{p}v>{int(value)}</{p}v></{p}c>'.encode()
    exact = isinstance(value, int) and abs(value) <= EXACT
    if exact or (isinstance(value, float) and abs(value) < float("inf")):
        return f"{head}><{p}v>{value!r}</{p}v></{p}c>".encode()
    text = f'<{p}t xml:space="preserve">{_format_text(str(value), name)}</{p}t>'
    return f'{head} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'.encode()


def _format_text(text, name):
    """Return text as XML; control characters as Excel writes them, such as _x0007_."""
    if len(text) > MAX_TEXT:
        raise TableError(
            f"{name} has a cell of {len(text):,} characters, {show(text[:20])}..., but Excel holds at most "
            f"{MAX_TEXT:,}: write CSV or Parquet."
        )
    return escape(CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text), quote=False)


def _check_limits(n_rows, n_columns, name):
    if n_rows >= MAX_ROWS or n_columns > MAX_COLUMNS:
        raise TableError(
            f"{name} has {n_rows:,} rows and {n_columns:,} columns, but a sheet holds at most "
            f"{MAX_ROWS - 1:,} rows below its header and {MAX_COLUMNS:,} columns: write CSV or Parquet."
        )


def close_archive(files: Mapping[str, bytes], *, compressed: bool = True) -> bytes:
    """Return files as a ZIP archive; the same files give the same bytes."""
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, EARLIEST)
            plain = not compressed or name == "mimetype"
            info.compress_type = zipfile.ZIP_STORED if plain else zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return sink.getvalue()


def render(columns: Any, format: str = "xlsx") -> bytes:
    """Return columns as the bytes of an .xlsx file with one sheet of plain values."""
    name = "The table"
    _check_limits(len(columns), columns.num_columns, name)
    values = [list_values(columns[column], written=column) for column in columns.column_names]
    rows = [columns.column_names, *zip(*values, strict=True)]
    pieces = [f'<worksheet xmlns="{MAIN}"><sheetData>'.encode()]
    for number, row in enumerate(rows):
        pieces.append(f'<row r="{number + 1}">'.encode())
        for column, (value, style) in enumerate(map(_as_serial, row)):
            if value is not None:
                pieces.append(_format_cell(value, number, column, style, "", name))
        pieces.append(b"</row>")
    sheet = b"".join([*pieces, b"</sheetData></worksheet>"])
    parts = {path: text.encode() for path, text in EMPTY_BOOK.items()} | {"xl/worksheets/sheet1.xml": sheet}
    return close_archive({path: DECLARATION.encode() + data for path, data in parts.items()})


def _as_serial(value):
    """Return a value as a sheet holds it, and its style: dates are numbers of days."""
    day = dt.timedelta(days=1)
    if isinstance(value, dt.timedelta):
        return value / day, "4"
    if isinstance(value, dt.time):
        return (dt.datetime.combine(DAY_ZERO, value.replace(tzinfo=None)) - DAY_ZERO) / day, "3"
    if not isinstance(value, dt.date):  # a datetime is a date
        return value, ""
    moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    if moment.tzinfo is not None or moment < FIRST_DATE:
        return value.isoformat(), ""
    return (moment - DAY_ZERO) / day, "2" if isinstance(value, dt.datetime) else "1"

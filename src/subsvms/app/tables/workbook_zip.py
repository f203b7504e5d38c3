"""Workbooks as ZIP archives of XML: opened; written with other labels, or as new ones of plain values.

An archive is opened within the free memory, and never handed to another program as it came: the sizes that it
claims may be forged.

Libraries that load a workbook and save it again lose what they do not know: charts, pictures, the last values
of formulas. Here only cells of one sheet are replaced (`sheet_xml`); all other parts are copied. Columns that
are new go to the right of everything in the sheet, because in between they would move what formulas refer to.
"""

import datetime as dt
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import MAX_SHARE, Allowance, measure_free_memory
from subsvms.app.tables.sheet_xml import format_cell, replace_cells
from subsvms.app.words import explaining
from subsvms.exceptions import TableError

PROTECTED = "EncryptedPackage".encode("utf-16-le")  # in the old container that holds a protected workbook
CELL = 200  # bytes of memory for a cell in Python, its text not included; a guess, on the high side
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a ZIP archive can hold
WRONG = (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError, lzma.LZMAError, zlib.error)
MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # of Excel
DATES = (dt.date, dt.time, dt.timedelta)  # a datetime is a date
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
DAY_ZERO = dt.datetime(1899, 12, 30)
FIRST_DATE = dt.datetime(1900, 3, 1)  # before it, Excel counts a day that did not exist


def open_archive(data: bytes, name: str) -> dict[str, bytes]:
    """Return the files in a ZIP archive, by name, as far as the free memory allows."""
    if PROTECTED in data:
        raise TableError(f"{name} is protected with a password: save it without one.")
    memory = Allowance(f"{name} holds", "free some memory, or save the table as CSV or Parquet.")
    files: dict[str, bytes] = {}
    with (
        explaining(f"{name} is damaged or not a workbook", "save it again.", WRONG),
        zipfile.ZipFile(BytesIO(data)) as archive,
    ):
        for info in archive.infolist():
            if info.flag_bits & 1:
                raise TableError(f"{name} is protected with a password: save it without one.")
            with archive.open(info) as stream:
                files[info.filename] = memory.read(stream)
    return files


def close_archive(files: Mapping[str, bytes], *, compressed: bool = True) -> bytes:
    """Return files as a ZIP archive; the same files give the same bytes."""
    sink = BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, EARLIEST)
            info.compress_type = (
                zipfile.ZIP_DEFLATED if compressed and name != "mimetype" else zipfile.ZIP_STORED
            )
            archive.writestr(info, data)
    return sink.getvalue()


def check_size(n_rows: int, n_columns: int, n_characters: int, name: str) -> None:
    """Raise an error if the cells of a sheet do not fit in the free memory.

    A few bytes can claim a cell in the last row and column, and share one long text between all cells.
    """
    if CELL * n_rows * n_columns + 4 * n_characters > MAX_SHARE * measure_free_memory():
        raise TableError(
            f"{name} has a sheet of {n_rows:,} rows and {n_columns:,} columns, too large for the free "
            "memory: delete empty rows and columns, or save the table as CSV or Parquet."
        )


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
            check_limits(len(self.rows), column + 1, self.name)
            new[self.header, column] = name
            new |= {(row, column): value for row, value in zip(self.rows, values, strict=True)}
        sheet = replace_cells(self.files[self.part], self.name, new, self.header, self.label)
        book = recompute_on_opening(self.files["xl/workbook.xml"])
        return close_archive({**self.files, self.part: sheet, "xl/workbook.xml": book})


def recompute_on_opening(book: bytes) -> bytes:
    """Return the XML of a workbook whose formulas are computed when it is opened, for labels have changed."""
    found = re.search(rb"<(?:\w+:)?calcPr\b", book)
    if found is None or b"fullCalcOnLoad" in book:
        return book
    return book[: found.end()] + b' fullCalcOnLoad="1"' + book[found.end() :]


def check_limits(n_rows: int, n_columns: int, name: str) -> None:
    """Raise an error if a table is larger than a sheet can be."""
    if n_rows >= MAX_ROWS or n_columns > MAX_COLUMNS:
        raise TableError(
            f"{name} has {n_rows:,} rows and {n_columns:,} columns, but a sheet holds at most "
            f"{MAX_ROWS - 1:,} rows below its header and {MAX_COLUMNS:,} columns: write CSV or Parquet."
        )


def render_workbook(columns: Any) -> bytes:
    """Return columns as the bytes of an .xlsx file with one sheet of plain values."""
    name = "The table"
    check_limits(len(columns), columns.num_columns, name)
    values = [list_values(columns[column], written=column) for column in columns.column_names]
    rows = [columns.column_names, *zip(*values, strict=True)]
    lines = b"".join(_render_row(row, number, name) for number, row in enumerate(rows))
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>'.encode() + lines + b"</sheetData></worksheet>"
    files: Mapping[str, bytes] = {path: text.encode() for path, text in EMPTY_BOOK.items()}
    parts = {**files, "xl/worksheets/sheet1.xml": sheet}
    return close_archive({path: DECLARATION.encode() + data for path, data in parts.items()})


def _render_row(row: Sequence, number: int, name: str) -> bytes:
    cells = b"".join(_render_cells(row, number, name))
    return f'<row r="{number + 1}">'.encode() + cells + b"</row>"


def _render_cells(row: Sequence, number: int, name: str) -> Iterator[bytes]:
    for column, value in enumerate(row):
        value, style = as_serial(value)
        if value is not None:
            yield format_cell(value, number, column, style, "", name)


def as_serial(value: Any) -> tuple[Any, str]:
    """Return a value as a sheet holds it, and its style: dates are numbers of days."""
    if not isinstance(value, DATES):
        return value, ""
    if isinstance(value, dt.timedelta):
        return value / dt.timedelta(days=1), "4"
    if isinstance(value, dt.time):
        day = dt.datetime.combine(DAY_ZERO, value.replace(tzinfo=None))
        return (day - DAY_ZERO) / dt.timedelta(days=1), "3"
    moment = value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
    if moment.tzinfo is not None or moment < FIRST_DATE:
        return value.isoformat(), ""
    return (moment - DAY_ZERO) / dt.timedelta(days=1), "2" if isinstance(value, dt.datetime) else "1"

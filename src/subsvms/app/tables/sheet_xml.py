"""The XML of workbooks: which sheets one has, what is in a sheet, and new values in some of its cells.

Between the cells that are replaced, every byte stays as it was. Document types, which XML bombs need, are
refused.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any
from xml.parsers import expat

from subsvms.app.words import explaining, show
from subsvms.exceptions import TableError

MAX_TEXT = 32_767  # characters in a cell of Excel
EXACT = 2**53  # up to which a cell, which is a float, holds every whole number
REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
DECLARED = re.compile(rb"(?:\xef\xbb\xbf)?<\?xml[^>]*?\sencoding\s*=\s*[\"']([^\"'>]*)")
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


def parse(data: bytes, name: str, *, start: Any, end: Any = None, text: Any = None) -> None:
    """Call functions for the start and end of each element of an XML file, and for its text."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    if hasattr(start, "__self__") and hasattr(start.__self__, "parser"):
        start.__self__.parser = parser
    advice = "save it again in the program that made it."
    with explaining(f"{name} is damaged", advice, (expat.ExpatError, ValueError)):
        parser.Parse(data, True)


def _refuse_doctype(*_: Any) -> None:
    raise ValueError("it holds a document type")


def list_elements(data: bytes, name: str) -> list[tuple[str, dict[str, str]]]:
    """Return (name without prefix, attributes) of all elements of an XML file."""
    found: list[tuple[str, dict[str, str]]] = []
    parse(data, name, start=lambda tag, attributes: found.append((tag.rpartition(":")[2], attributes)))
    return found


def find_sheets(files: Mapping[str, bytes], name: str) -> dict[str, str]:
    """Return the name of the XML file of each sheet of an .xlsx workbook, by the sheet's name."""
    book, links = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
    if book not in files or links not in files:
        raise TableError(f"{name} is damaged or not an Excel workbook (no {book}): save it again.")
    targets = {
        found["Id"]: found.get("Target", "")
        for tag, found in list_elements(files[links], name)
        if "Id" in found
    }
    sheets = {}
    for tag, found in list_elements(files[book], name):
        if tag == "sheet":
            key = next((value for key, value in found.items() if key.rpartition(":")[2] == "id"), "")
            target = targets.get(key, "")
            sheets[found.get("name", "")] = target[1:] if target.startswith("/") else f"xl/{target}"
    return sheets


def letters(column: int) -> str:
    """Return the letters of a column, counted from zero."""
    word = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        word = chr(65 + rest) + word
    return word


def read_reference(reference: str) -> tuple[int, int]:
    """Return row and column of a cell, counted from zero."""
    match = REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"{reference[:20]!r} is not a cell")
    column = 0
    for letter in match[1]:
        column = 26 * column + ord(letter) - 64
    return int(match[2]) - 1, column - 1


@dataclass
class Scan:
    """What the XML of a sheet holds, as far as its values do not say it."""

    name: str  # name of the workbook in messages
    lengths: Sequence[int] = ()  # of the shared texts
    columns: frozenset[int] = frozenset()  # columns whose cells are to be found
    n_rows: int = 0  # up to the last cell that is not empty
    n_columns: int = 0
    n_cells: int = 0  # of cells that are not empty
    n_characters: int = 0
    # the first cell of each column that holds a formula
    formulas: dict[int, str] = field(default_factory=dict)
    uncomputed: str = ""  # the first formula whose value nobody has computed
    # where each row starts, and where its end tag starts and ends
    rows: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    # where each of the cells that are to be found starts and ends, and its style
    cells: dict[tuple[int, int], tuple[int, int, str]] = field(default_factory=dict)
    # where such a cell would start if the row does not have it
    before: dict[tuple[int, int], int] = field(default_factory=dict)
    data: bytes = b""
    prefix: str = ""
    parser: Any = None

    def __post_init__(self) -> None:
        self.row = self.column = -1
        self.row_start = self.cell_start = 0
        self.attributes: dict[str, str] = {}
        self.content: list[str] = []
        self.inside = ""
        self.has_formula = False

    def read(self, data: bytes) -> "Scan":
        """Scan a sheet."""
        self.data = data
        parse(data, self.name, start=self.start, end=self.end, text=self.text)
        return self

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Take note of the start of an element."""
        tag = tag.removeprefix(self.prefix)
        if tag == "c":
            self.cell_start = self.parser.CurrentByteIndex
            self.attributes = attributes
            self.content.clear()
            self.has_formula = False
            reference = attributes.get("r")
            last = self.column
            if reference is None:
                self.column += 1
            else:
                row, self.column = read_reference(reference)
                if row != self.row or self.column <= last:
                    raise ValueError(f"the cell {reference[:20]} is in a wrong place")
            for column in self.columns:
                if last < column < self.column:
                    self.before[self.row, column] = self.cell_start
        elif tag in ("v", "t"):
            self.inside = tag
        elif tag == "f":
            self.has_formula = True
        elif tag == "row":
            number = int(attributes.get("r", self.row + 2)) - 1
            if number <= self.row:
                raise ValueError(f"row {number + 1} is in a wrong place")
            self.row, self.column = number, -1
            self.row_start = self.parser.CurrentByteIndex
        elif tag.endswith("worksheet") and self.row < 0:
            self.prefix = tag.removesuffix("worksheet")

    def text(self, text: str) -> None:
        """Take note of text."""
        if self.inside:
            self.content.append(text)

    def end(self, tag: str) -> None:
        """Take note of the end of an element."""
        tag = tag.removeprefix(self.prefix)
        if tag == "c":
            self._end_cell()
        elif tag == "row":
            start, end = self._find_end_tag("row")
            self.rows[self.row] = self.row_start, start, end
            for column in self.columns:
                if column > self.column:
                    self.before[self.row, column] = start
        self.inside = ""

    def _find_end_tag(self, tag: str) -> tuple[int, int]:
        """Return where the end tag of an element starts and ends; both are the same for one such as <c/>.

        The parser stands behind <c/>, where the end tag of its row may follow: the name tells them apart.
        """
        at = self.parser.CurrentByteIndex
        found = re.compile(rf"</{re.escape(self.prefix + tag)}\s*>".encode()).match(self.data, at)
        return (at, at) if found is None else found.span()

    def _end_cell(self) -> None:
        content = "".join(self.content)
        kind = self.attributes.get("t", "n")
        if self.has_formula:
            where = f"{letters(self.column)}{self.row + 1}"
            self.formulas.setdefault(self.column, where)
            if not content and kind != "str":
                self.uncomputed = self.uncomputed or where
        if content:
            self.n_cells += 1
            self.n_rows = self.row + 1
            self.n_columns = max(self.n_columns, self.column + 1)
            shared = kind == "s" and content.isdecimal() and int(content) < len(self.lengths)
            self.n_characters += self.lengths[int(content)] if shared else len(content)
        if self.column in self.columns:
            end = self._find_end_tag("c")[1]
            self.cells[self.row, self.column] = self.cell_start, end, self.attributes.get("s", "")


def is_utf8(data: bytes) -> bool:
    """Return whether the XML of a sheet is in UTF-8, so that cells can be put into its bytes."""
    if b"\0" in data[:4] or data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    found = DECLARED.match(data)
    return found is None or found[1].lower() in (b"utf-8", b"us-ascii")


def measure_shared(files: Mapping[str, bytes], name: str) -> list[int]:
    """Return the lengths of the texts that the cells of a workbook share."""
    lengths: list[int] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag.rpartition(":")[2] == "si":
            lengths.append(0)

    def text(text: str) -> None:
        if lengths:
            lengths[-1] += len(text)

    data = files.get("xl/sharedStrings.xml")
    if data is not None:
        parse(data, name, start=start, text=text)
    return lengths


def replace_cells(
    data: bytes, name: str, new: Mapping[tuple[int, int], Any], header: int, label: int | None
) -> bytes:
    """Return the XML of a sheet with new values in some cells."""
    columns = frozenset(column for _, column in new)
    scan = Scan(name, columns=columns | {label} if label is not None else columns).read(data)
    heading = scan.cells.get((header, -1 if label is None else label), (0, 0, ""))[2]
    edits: list[tuple[int, int, int, bytes]] = []
    for (row, column), value in new.items():
        start, end, style = scan.cells.get((row, column), (-1, -1, heading if row == header else ""))
        if start < 0:
            start = end = scan.before[row, column]
        edits.append((start, column, end, format_cell(value, row, column, style, scan.prefix, name)))
    wide = max((column for _, column in new), default=-1) >= scan.n_columns
    if wide:
        edits += _widen(data, scan, max(columns))
    pieces, at = [], 0
    for start, _, end, cell in sorted(edits):
        pieces += [data[at:start], cell]
        at = end
    return b"".join(pieces) + data[at:]


def _widen(data: bytes, scan: Scan, last: int) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield what says how wide a sheet is, with its new width: programs believe it."""
    found = re.search(rb'<[\w:]*dimension [^>]*?ref="([^"]*)"', data[: min(scan.rows.values())[0]])
    if found:
        corner = f"A1:{letters(last)}{max(scan.rows) + 1}".encode()
        yield found.start(1), -1, found.end(1), corner
    for start, _, _ in scan.rows.values():
        tag = data[start : data.index(b">", start)]
        spans = re.search(rb'\sspans="[^"]*"', tag)
        if spans:
            yield start + spans.start(), -1, start + spans.end(), b""


def format_cell(value: Any, row: int, column: int, style: str, prefix: str, name: str) -> bytes:
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
    text = f'<{p}t xml:space="preserve">{format_text(str(value), name)}</{p}t>'
    return f'{head} t="inlineStr"><{p}is>{text}</{p}is></{p}c>'.encode()


def format_text(text: str, name: str) -> str:
    """Return text as XML; control characters as Excel writes them, such as _x0007_."""
    if len(text) > MAX_TEXT:
        raise TableError(
            f"{name} has a cell of {len(text):,} characters, {show(text[:20])}..., but Excel holds at most "
            f"{MAX_TEXT:,}: write CSV or Parquet."
        )
    spelled = CONTROL.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    return escape(spelled, quote=False)

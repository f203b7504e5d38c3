"""Separated text (CSV, TSV): read as text, and written back with only the labels changed.

A cell is either quoted, or does not start with a quote; with s for the separator,

    cell = " (not " | "")* " rest  |  first rest  |  nothing       rest = (not s, CR, LF)*
    row  = cell (s cell)* end of line

as pyarrow and Python's csv read it. pyarrow reads the cells into columns, and one regular expression, made
for the number of columns, finds the position of each label. Everything around the labels stays as it was.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np

from subsvms.app.quoting import show
from subsvms.app.tables.arrow import list_values, open_for_arrow
from subsvms.app.tables.files import Content, check_names
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.text import TableText, decode, find_line, format_cells
from subsvms.exceptions import TableError

SEPARATORS = (",", ";", "\t", "|")  # tried in this order
USUAL = {"csv": ",", "tsv": "\t"}
QUOTED = re.compile(rb'"((?:[^"]|"")*)"(.*)', re.DOTALL)
END = rb"(?:\r\n?|\n|\Z)"
BLOCK = 1 << 20  # bytes that pyarrow reads at a time, and more where a row is longer


@dataclass(frozen=True)
class CsvText(TableText):
    """Separated text, and the positions of its rows and labels; blank lines belong to the row after them."""

    separator: str
    n_columns: int
    header_end: int  # where the name of the label column ends in the header

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the text with new labels, and further columns directly after them."""
        separator, between = self.separator, self.separator.encode()
        empty = b'""' if self.n_columns == 1 and not extra else b""  # a blank line would not be a row
        cells = []
        columns = map(format_cells, (labels, given, *extra.values()))
        for cell, new, old, *others in zip(self.cells, *columns, strict=True):
            if new != old:
                always = cell.startswith(b'"')
                cell = empty if new is None else _quote(new, separator, always=always).encode()
            cells.append(between.join([cell, *(_quote(other, separator).encode() for other in others)]))
        data = self.splice(cells)
        names = "".join(separator + _quote(name, separator) for name in extra).encode()
        return data[: self.header_end] + names + data[self.header_end :]


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a CSV or TSV file as text, and further fields of the table."""
    from pyarrow import csv

    name = content.name
    data, encoding, notes = decode(content, reading.encoding)
    separator = check_separator(reading.separator) or choose_separator(data, label, USUAL[content.format])
    names, ends, body = read_header(data, separator)
    if names is None:
        raise TableError(f"{name} opens a quote in its first line that is never closed: close it.")
    check_names(names, name, label)
    place = len(names) - 1 if label is None else names.index(label)
    rows, starts, label_ends = _find_labels(data, body, name, separator, len(names), place)
    if len(rows) == 0:
        raise TableError(f"{name} has a header but no rows: it must hold at least one row of each class.")
    text = CsvText(data, rows, starts, label_ends, separator, len(names), ends[place])
    longest = int(np.diff(rows, append=len(data)).max())
    block = min(max(BLOCK, 2 * longest), 2**31 - 1)
    body_rows = open_for_arrow(memoryview(data)[body:])
    columns = csv.read_csv(body_rows, **text_options(len(names), separator, block))
    if len(columns) != len(rows):  # although the two readers follow the same grammar
        raise TableError(f"{name} has rows that can be read in two ways: quote its cells and save it again.")
    more = {"text": text, "encoding": encoding, "notes": notes, "decimal_comma": separator == ";"}
    return columns.rename_columns(names), more


def render(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of a CSV or TSV file."""
    cells = {name: format_cells(list_values(columns[name], written=name)) for name in columns.column_names}
    return render_csv(cells, USUAL[format])


def check_separator(separator: str | None) -> str | None:
    """Return the separator that was asked for, if it can be one."""
    if separator and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
        raise TableError(f"The separator must be one character, such as ',' or ';'; got {show(separator)}.")
    return separator


def choose_separator(data: bytes, label: str | None, first_choice: str = ",") -> str:
    """Return the separator that finds the label in the header, or else the most columns."""
    candidates = sorted(SEPARATORS, key=lambda separator: separator != first_choice)
    headers = {separator: read_header(data, separator)[0] or [] for separator in candidates}
    with_label = [separator for separator in candidates if label in headers[separator]]
    return max(with_label or candidates, key=lambda separator: len(headers[separator]))


def read_header(data: bytes, separator: str) -> tuple[list[str] | None, list[int], int]:
    """Return the names of the columns (None if a quote is never closed), their ends, and where rows begin."""
    cell = re.compile(b"(%s)(%s|%s)" % (_make_cell_pattern(separator), re.escape(separator.encode()), END))
    names: list[str] = []
    ends: list[int] = []
    at = len(data) - len(data.lstrip(b"\r\n"))
    while True:
        match = cell.match(data, at)
        if match is None:
            return None, ends, at
        quoted = QUOTED.match(match[1])
        names.append((quoted[1].replace(b'""', b'"') + quoted[2] if quoted else match[1]).decode())
        ends.append(match.end(1))
        at = match.end()
        if match[2] != separator.encode():
            return names, ends, at


def _make_cell_pattern(separator):
    """Return the pattern of one cell; it never backtracks, so the time is linear in a cell's length."""
    rest = b"[^%s\\r\\n]*+" % re.escape(separator.encode())
    first = b'[^"%s\\r\\n]' % re.escape(separator.encode())
    return b'(?>"(?:[^"]++|"")*+"%s|%s%s|)' % (rest, first, rest)


def _find_labels(data, body, name, separator, n_columns, place):
    """Return where each row starts, and where its label starts and ends."""
    cell, s = _make_cell_pattern(separator), re.escape(separator.encode())
    parts = (cell, s, place, cell, s, cell, n_columns - 1 - place, END)
    row = re.compile(b"[\\r\\n]*+(?:%s%s){%d}(%s)(?:%s%s){%d}%s" % parts)
    found = []
    stop = len(data.rstrip(b"\r\n"))
    at = body
    while at < stop:
        match = row.match(data, at, stop)
        if match is None:
            _reject_row(data, at, name, separator, n_columns)
        found.append((at, match.start(1), match.end(1)))
        at = match.end()
    return np.array(found, dtype=np.int64).reshape(-1, 3).T


def _reject_row(data, at, name, separator, n_columns) -> NoReturn:
    at += len(data[at:]) - len(data[at:].lstrip(b"\r\n"))
    cells, _, end = read_header(data[at:], separator)
    if cells is None:
        raise TableError(
            f"{name}, line {find_line(data, at + end)} opens a quote that is never closed: close it, and "
            "double the quotes inside a quoted cell."
        )
    raise TableError(
        f"{name}, line {find_line(data, at)} has {len(cells)} cell{'s' * (len(cells) != 1)}, but the header "
        f"has {n_columns}: quote cells that contain the separator {separator!r}, or fix the line."
    )


def text_options(n_columns: int, separator: str, block_size: int, **reading: Any) -> dict[str, Any]:
    """Return the options with which pyarrow reads rows without a header as text, columns named by number."""
    import pyarrow as pa
    from pyarrow import csv

    numbers = [str(i) for i in range(n_columns)]
    types = dict.fromkeys(numbers, pa.string())
    nulls = {"null_values": [""], "strings_can_be_null": True, "quoted_strings_can_be_null": False}
    return {
        "read_options": csv.ReadOptions(column_names=numbers, block_size=block_size, **reading),
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(column_types=types, **nulls),
    }


def render_csv(columns: Mapping[str, Any], separator: str, *, head: bool = True) -> bytes:
    """Return columns of text, lists or arrays of Arrow, as separated text, with or without their names."""
    import pyarrow as pa
    from pyarrow import compute

    kind = pa.large_string()
    quoted = [_quote_all(pa.array(cells, kind), separator) for cells in columns.values()]
    lines = compute.binary_join_element_wise(*quoted, pa.scalar(separator, kind), null_handling="replace")
    names = [separator.join(_quote(name, separator) for name in columns).encode()] if head else []
    found = [*names, *lines.cast(pa.large_binary()).to_pylist()]
    if len(columns) == 1:
        found = [line or b'""' for line in found]  # a blank line would not be a row
    return b"\n".join([*found, b""])


def _quote_all(cells, separator):
    """Return the text of cells, in quotes where they need them; in columns of numbers none does."""
    import pyarrow as pa
    from pyarrow import compute

    text = str(cells.buffers()[2] or b"", "utf-8")
    if text.split() == [text] and separator not in text and '"' not in text:
        if compute.min(compute.binary_length(cells)).as_py():
            return cells
    coded = cells.dictionary_encode()
    quoted = [_quote(cell, separator) for cell in coded.dictionary.to_pylist()]
    return pa.array(quoted, cells.type).take(coded.indices)


@cache
def _find_special(separator):
    """Return a function that says whether a cell would be read as something else without quotes."""
    return re.compile(rf'[{re.escape(separator)}"\r\n]|\A\s|\s\Z|\A\Z').search


def _quote(cell, separator, *, always=False):
    """Return the text of a cell, in quotes if it needs them."""
    if cell is None:
        return ""
    return '"' + cell.replace('"', '""') + '"' if always or _find_special(separator)(cell) else cell

"""Tables of separated text (CSV, TSV): read as text, and written back with nothing changed but the label.

A cell is either quoted, or does not start with a quote; with s for the separator,

    cell = " (not " | "")* " rest  |  first rest  |  nothing       rest = (not s, CR, LF)*
    row  = cell (s cell)* end of line

as pyarrow and Python's csv read it. pyarrow reads the cells into columns; beside it one regular expression,
made for the number of columns, finds where each label stands. Everything around the labels is written back
byte by byte, so quotes, spaces, leading zeros, line ends and blank lines all stay as they were.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from subsvms.app.tables.files import check_names, find_line
from subsvms.exceptions import TableError

SEPARATORS = (",", ";", "\t", "|")  # tried in this order
END = rb"(?:\r\n?|\n|\Z)"
BLOCK = 1 << 20  # bytes that pyarrow reads at a time, and more where a row is longer


@dataclass(frozen=True)
class Delimited:
    """Separated text, and where each label stands in it."""

    data: bytes  # UTF-8
    separator: str
    header_end: int  # where the label's name ends in the header
    rows: np.ndarray  # (n_rows,), int: where each row starts
    starts: np.ndarray  # (n_rows,), int: where each label starts,
    ends: np.ndarray  # (n_rows,), int: and where it ends
    n_columns: int


def read_delimited(
    data: bytes,
    name: str,
    label: str | None,
    *,
    separator: str | None = None,
    first_choice: str = ",",
) -> tuple[Any, Delimited]:
    r"""Return the columns as text, and the text to put new labels into.

    Parameters
    ----------
    data : bytes
        UTF-8 without byte order mark.
    name : str
        What messages call the file.
    label : str or None
        Name of the label column. Without one the last column marks where new columns go.
    separator : str, optional
        One character; without it the one of , ; tab | that finds the label, or else most columns, in the
        header.
    first_choice : str
        Which separator wins where several do equally well.

    Returns
    -------
    columns : pyarrow.Table of strings
        An empty cell is null, a quoted empty one is "".
    text : Delimited

    Examples
    --------
    >>> columns, text = read_delimited(b'age,label\n007,"a, b"\n', "'x.csv'", "label")
    >>> columns.to_pydict()
    {'age': ['007'], 'label': ['a, b']}
    >>> text.data[text.starts[0] : text.ends[0]]
    b'"a, b"'
    """
    if separator is None:
        separator = choose_separator(data, label, first_choice)
    elif len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise TableError(f"The separator must be one character, such as ',' or ';'; got {separator!r}.")
    names, ends, body = read_header(data, separator)
    if names is None:
        raise TableError(f"{name} opens a quote in its first line that is never closed: close it.")
    check_names(names, name, label)
    place = len(names) - 1 if label is None else names.index(label)
    rows = _find_labels(data, body, name, separator, len(names), place)
    if len(rows) == 0:
        raise TableError(f"{name} has a header but no rows: it must hold at least one row of each class.")
    text = Delimited(data, separator, ends[place], rows[:, 0], rows[:, 1], rows[:, 2], len(names))
    longest = int(np.diff(rows[:, 0], append=len(data)).max())
    columns = _read_columns(data, body, separator, len(names), max(BLOCK, 2 * longest))
    if len(columns) != len(text.starts):  # the two readers follow one grammar
        raise TableError(f"{name} has rows that can be read in two ways: quote its cells and save it anew.")
    return columns.rename_columns(names), text


def choose_separator(data: bytes, label: str | None, first_choice: str = ",") -> str:
    """Return the separator that finds the label in the header, or else most columns.

    Examples
    --------
    >>> choose_separator(b"a,b;c,d;label", "label")
    ';'
    """
    candidates = sorted(SEPARATORS, key=lambda separator: separator != first_choice)
    headers = {separator: read_header(data, separator)[0] or [] for separator in candidates}
    with_label = [separator for separator in candidates if label in headers[separator]]
    return max(with_label or candidates, key=lambda separator: len(headers[separator]))


def read_header(data: bytes, separator: str) -> tuple[list[str] | None, list[int], int]:
    """Return the names of the columns, where each ends, and where the rows begin.

    The names are None if a quote is never closed.
    """
    cell = re.compile(b"(%s)(%s|%s)" % (_cell(separator), re.escape(separator.encode()), END))
    names: list[str] = []
    ends: list[int] = []
    at = len(data) - len(data.lstrip(b"\r\n"))
    while True:
        match = cell.match(data, at)
        if match is None:
            return None, ends, at
        names.append(_unquote(match[1]))
        ends.append(match.end(1))
        at = match.end()
        if match[2] != separator.encode():
            return names, ends, at


def _cell(separator: str) -> bytes:
    """Return the pattern of one cell; nothing in it is tried twice, so long cells cost no more."""
    rest = b"[^%s\\r\\n]*+" % re.escape(separator.encode())
    first = b'[^"%s\\r\\n]' % re.escape(separator.encode())
    return b'(?>"(?:[^"]++|"")*+"%s|%s%s|)' % (rest, first, rest)


def _find_labels(data, body, name, separator, n_columns, place):
    """Return (start of the row, start of the label, end of the label) of each row."""
    cell, s = _cell(separator), re.escape(separator.encode())
    parts = (cell, s, place, cell, s, cell, n_columns - 1 - place, END)
    row = re.compile(b"[\\r\\n]*+(?:%s%s){%d}(%s)(?:%s%s){%d}%s" % parts)
    found = []
    stop = len(data.rstrip(b"\r\n"))
    at = body
    while at < stop:
        match = row.match(data, at, stop)
        if match is None:
            _say_ragged(data, at, name, separator, n_columns)
        found.append((at, match.start(1), match.end(1)))
        at = match.end()
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _say_ragged(data, at, name, separator, n_columns) -> NoReturn:
    at += len(data[at:]) - len(data[at:].lstrip(b"\r\n"))
    line = find_line(data, at)
    cells, _, end = read_header(data[at:], separator)
    if cells is None:
        line = find_line(data, at + end)
        raise TableError(
            f"{name}, line {line}: a quote is opened that is never closed; close it, and double quotes that "
            "stand inside a quoted cell."
        )
    raise TableError(
        f"{name}, line {line}: {len(cells)} cell{'s' * (len(cells) != 1)} came where the header has "
        f"{n_columns}; quote cells that hold the separator {separator!r}, or mend the line."
    )


def _read_columns(data, body, separator, n_columns, block_size):
    """Return all cells as text, under the numbers of their columns."""
    import pyarrow as pa
    from pyarrow import csv

    rows = pa.BufferReader(pa.py_buffer(data).slice(body))
    return csv.read_csv(rows, **text_options(n_columns, separator, min(block_size, 2**31 - 1)))


def text_options(n_columns: int, separator: str, block_size: int, **reading: Any) -> dict[str, Any]:
    """Return what makes pyarrow read rows without a header as text, under the numbers of their columns.

    Parameters
    ----------
    n_columns : int
    separator : str
    block_size : int
        Bytes to read at a time; a row must fit.
    **reading
        Further options of reading.
    """
    import pyarrow as pa
    from pyarrow import csv

    numbers = [str(i) for i in range(n_columns)]
    return {
        "read_options": csv.ReadOptions(column_names=numbers, block_size=block_size, **reading),
        "parse_options": csv.ParseOptions(delimiter=separator, newlines_in_values=True),
        "convert_options": csv.ConvertOptions(
            column_types=dict.fromkeys(numbers, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def write_delimited(
    text: Delimited, labels: Sequence[str | None], given: Sequence[str | None], extra: Mapping[str, Sequence]
) -> bytes:
    """Return the text with new labels, and further columns directly after them.

    Parameters
    ----------
    text : Delimited
    labels, given : sequence of str or None
        New and old labels. Where they agree the cell stays as it is, quotes and all.
    extra : dict of str to sequence of str or None
        Columns by name.
    """
    separator = text.separator
    between = separator.encode()
    names = b"".join(between + quote(name, separator) for name in extra)
    pieces, at = [text.data[: text.header_end], names], text.header_end
    columns = list(extra.values())
    empty = b'""' if text.n_columns == 1 and not columns else b""  # a blank line would be no row
    rows = zip(text.starts.tolist(), text.ends.tolist(), labels, given, strict=True)
    for i, (start, end, new, old) in enumerate(rows):
        pieces.append(text.data[at:start])
        cell = text.data[start:end]
        if new != old:
            cell = empty if new is None else quote(new, separator, always=cell.startswith(b'"'))
        pieces.append(cell)
        pieces.extend(between + (b"" if c[i] is None else quote(c[i], separator)) for c in columns)
        at = end
    pieces.append(text.data[at:])
    return b"".join(pieces)


def render_delimited(columns: Mapping[str, Sequence], separator: str) -> bytes:
    r"""Return columns of text that came from another format as separated text.

    Examples
    --------
    >>> render_delimited({"a": ["1", None], "b": ["x;y", ""]}, ";")
    b'a;b\n1;"x;y"\n;""\n'
    """
    between = separator.encode()
    lines = [between.join(quote(name, separator) for name in columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(between.join(b"" if cell is None else quote(cell, separator) for cell in row))
    if len(columns) == 1:
        lines = [line or b'""' for line in lines]  # a blank line would be no row
    return b"\n".join(lines) + b"\n"


def quote(cell: str, separator: str, *, always: bool = False) -> bytes:
    """Return a cell in quotes if it needs them: without, it would be read as something else.

    Examples
    --------
    >>> quote("plain", ","), quote("a, b", ","), quote("", ",")
    (b'plain', b'"a, b"', b'""')
    """
    special = any(sign in cell for sign in (separator, '"', "\r", "\n"))
    if always or special or cell == "" or cell != cell.strip():
        return b'"%s"' % cell.replace('"', '""').encode()
    return cell.encode()


def _unquote(cell: bytes) -> str:
    match = re.match(rb'"((?:[^"]|"")*)"(.*)', cell, re.DOTALL)
    return (match[1].replace(b'""', b'"') + match[2] if match else cell).decode()

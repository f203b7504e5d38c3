"""JSON Lines, one object per line, and JSON arrays of objects, as `DataFrame.to_json(orient="records")` has.

A column holds numbers, booleans or text; where its values have several types, or are nested, each is kept as
its JSON text. A new label replaces the old one inside its object, and every other byte of the file stays:
`json.dumps(json.loads(line))` would also turn 1.50 into 1.5, round long numbers, drop repeated keys and
respell escapes.

What a labelling tool exported becomes one line an answer instead (`label_exports`), and is written anew.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Self

import numpy as np

from subsvms._labels import INT64
from subsvms.app.quoting import show
from subsvms.app.tables.arrow import as_long_numbers, list_values
from subsvms.app.tables.files import MAX_SHARE, Content, check_names, measure_free_memory
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.label_exports import lay_out, may_be_export, read_export
from subsvms.app.tables.text import TableText, decode, find_line
from subsvms.exceptions import TableError, is_text

DECODER = json.JSONDecoder()
POINTER = 8  # bytes for each cell, empty or not
SPACE = " \t\r\n"
KINDS = {str: "text", bool: "booleans", int: "numbers", float: "numbers", list: "lists", dict: "objects"}


@dataclass(frozen=True)
class JsonLines(TableText):
    """The text of a JSON Lines file, and the positions of its objects: `rows` and `starts` are the same."""

    label: str | None  # key of the label

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the text with new labels, and further entries directly after them."""
        rows = zip(self.cells, labels, given, *extra.values(), strict=True)
        return self.splice(
            self._change(line, new, new != old, dict(zip(extra, others, strict=True)))
            for line, new, old, *others in rows
        )

    def _change(self, data, new, changed, extra):
        """Return one line with a new label, and with further entries after it."""
        if not changed and not extra:
            return data
        line = data.decode()
        span, last = _find_value(line, self.label)
        entries = [f"{_dump(name)}: {_dump(value)}" for name, value in extra.items()]
        if span is not None:
            start, end = span
            entries.insert(0, _dump(new) if changed else line[start:end])
        else:  # at the end of the object
            start = end = last
            entries[:0] = [f"{_dump(self.label)}: {_dump(new)}"] * changed
            entries[:0] = [""] * (line[last - 1] != "{")  # a comma first, unless the object is empty
        return (line[:start] + ", ".join(entries) + line[end:]).encode()


@dataclass(frozen=True)
class JsonArray(JsonLines):
    """The text of an array, and the positions of its objects; the rest is as in `JsonLines`."""

    def keep_rows(self, keep: np.ndarray) -> Self:
        """Return the text without some objects; each of the others keeps what stands before it."""
        cells, kept = self.cells, np.flatnonzero(keep).tolist()
        before = [self.data[a:b] for a, b in zip([0, *self.ends[:-1]], self.starts, strict=True)]
        before[kept[0]] = before[0]  # no comma
        pieces = [before[i] + cells[i] for i in kept]
        ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
        starts = ends - np.array([len(cells[i]) for i in kept], dtype=np.int64)
        data = b"".join([*pieces, self.data[self.ends[-1] :]])
        return replace(self, data=data, rows=starts, starts=starts, ends=ends)


def _find_value(line, label):
    """Return (start, end) of the label's value or None, and where the last value ends."""
    span, last = None, line.index("{") + 1
    at = _skip(line, last)
    while line[at] == '"':
        key, at = DECODER.raw_decode(line, at)
        start = _skip(line, at, ":" + SPACE)
        _, last = DECODER.raw_decode(line, start)
        if key == label:
            span = start, last  # of several, the last counts, as in `json.loads`
        at = _skip(line, last, "," + SPACE)
    return span, last


def _skip(text: str, at: int, signs: str = SPACE) -> int:
    while at < len(text) and text[at] in signs:
        at += 1
    return at


def read_lines(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a JSON Lines file, and further fields of the table."""
    return _read(content, label, reading, JsonLines, _find_lines)


def read_array(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a JSON array, and further fields of the table."""
    return _read(content, label, reading, JsonArray, _find_objects)


def _read(content, label, reading, kind, find):
    data, encoding, notes = decode(content, reading.encoding)
    rows, spans = find(data, content.name)
    rows, first = iter(rows), []
    one: dict[str, Any] = next(rows, {})
    if may_be_export(one):
        first, rows = [one, *rows], iter(())
        if export := read_export(first):
            answers, note = lay_out(export, label, content.name)
            columns = _gather_columns(answers, len(answers), content.name, label)
            return columns, {"notes": (*notes, note)}
    elif spans:
        first = [one]
    columns = _gather_columns(chain(first, rows), len(spans), content.name, label)
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    text = kind(data, starts, starts, ends, label)
    return columns, {"text": text, "encoding": encoding, "notes": notes}


def _gather_columns(rows, n_rows, name, label):
    """Return objects as a pyarrow.Table, with columns in the order in which their names appear."""
    import pyarrow as pa

    most_columns = MAX_SHARE * measure_free_memory() / (POINTER * max(n_rows, 1))
    columns: dict[str, list] = {}
    for i, row in enumerate(rows):
        for key, value in row.items():
            if key not in columns:
                if not is_text(key):
                    raise TableError(f"{name} has a key {show(key)}, which is not valid Unicode: rename it.")
                if len(columns) > most_columns:
                    raise TableError(
                        f"{name} has more than {len(columns):,} different keys, too many columns of "
                        f"{n_rows:,} rows for the free memory: use the same few keys in each object."
                    )
                columns[key] = [None] * n_rows
            columns[key][i] = value
    check_names(list(columns), name, label)
    if label is not None:
        check_labels(columns[label], name, label)
    return pa.table([as_column(values) for values in columns.values()], names=list(columns))


def _find_lines(data, name):
    """Return the object on each line that is not blank, and where it starts and ends."""
    found = (match.span() for match in re.finditer(rb"[^\n]+", data))
    spans = [(start, end) for start, end in found if data[start:end].strip()]
    return (_read_object(data, start, end, name) for start, end in spans), spans


def _read_object(data, start, end, name):
    try:
        found = json.loads(data[start:end])
    except (RecursionError, ValueError) as error:
        problem = _explain(error)
    else:
        if isinstance(found, dict):
            return found
        problem = f"it holds {'an array' if isinstance(found, list) else 'a single value'}"
    raise TableError(
        f"{name}, line {find_line(data, start)} is not a JSON object ({problem}): write one object such as "
        '{"age": 3, "label": "yes"} on each line.'
    )


def _find_objects(data, name):
    """Return the objects of an array, and where each starts and ends, in bytes."""
    text = data.decode()
    try:
        rows = json.loads(text)
    except (RecursionError, ValueError) as error:
        line = getattr(error, "lineno", 1)
        raise TableError(
            f"{name}, line {line} is not part of a JSON array ({_explain(error)}): fix it, or write it again."
        ) from None
    if not isinstance(rows, list) or not rows:
        what = "an empty array" if rows == [] else "not a JSON array"
        raise TableError(f"{name} is {what}: it must hold at least one object of each class.")
    spans, place = [], 0
    at, end = text.index("["), 0
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise TableError(
                f"{name} has {show(json.dumps(row))} at place {number} of its array: write one object such "
                'as {"age": 3, "label": "yes"} for each row.'
            )
        before, at = end, _skip(text, at + 1)
        start = place + len(text[before:at].encode())
        end = DECODER.raw_decode(text, at)[1]
        place = start + len(text[at:end].encode())
        spans.append((start, place))
        at = _skip(text, end)
    return rows, spans


def _explain(error):
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # Python's limit, for such numbers take long to read
    return f"it holds a number of more than {sys.get_int_max_str_digits():,} digits"


def check_labels(values: Sequence, name: str, label: str) -> None:
    """Raise an error if labels have several types (are 1 and "1" one class?), or cannot be written back."""
    kinds = sorted({KINDS.get(type(value), "bytes") for value in values if value is not None})
    if len(kinds) > 1:
        raise TableError(
            f"{name} has {' and '.join(kinds)} in its label column {show(label)}: use one type for all."
        )
    for value in values:
        if (isinstance(value, str) and not is_text(value)) or (isinstance(value, int) and abs(value) > INT64):
            what = "valid Unicode" if isinstance(value, str) else "a 64-bit number"
            raise TableError(f"{name} has the label {show(value)}, which is not {what}: rename it.")


def as_column(values: list) -> Any:
    """Return one column (pyarrow.Array) with the type that its values share, or else as JSON text."""
    import pyarrow as pa

    if not any(isinstance(value, dict | list) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeError):  # of several types, or beyond 64 bits
            if (numbers := as_long_numbers(values)) is not None:
                return numbers
    texts = (v if isinstance(v, str | None) else json.dumps(v, ensure_ascii=False) for v in values)
    # half a surrogate pair cannot be written as UTF-8
    return pa.array([t if t is None else t.encode(errors="replace").decode() for t in texts], pa.string())


def _dump(value):
    """Return a plain value as JSON; dates and the like as text."""
    if isinstance(value, float) and not np.isfinite(value):
        return "null"
    return json.dumps(value, ensure_ascii=False, default=str)


def _render_objects(columns: Any) -> Iterator[str]:
    names = [_dump(name) for name in columns.column_names]
    values = [list_values(columns[name], written=name) for name in columns.column_names]
    for row in zip(*values, strict=True):
        cells = (f"{name}: {_dump(cell)}" for name, cell in zip(names, row, strict=True))
        yield "{" + ", ".join(cells) + "}"


def render_lines(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of a JSON Lines file."""
    return "".join(f"{one}\n" for one in _render_objects(columns)).encode()


def render_array(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of a JSON array."""
    return ("[" + ",\n".join(_render_objects(columns)) + "]\n").encode()

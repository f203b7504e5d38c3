"""JSON arrays of objects, as `DataFrame.to_json(orient="records")` writes them: `[{...}, {...}]`.

Columns and labels are those of JSON Lines, and so is how they are written back: a new label takes the place
of the old one, and every other byte of the array stays, line ends and indentation included.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn, Self

import numpy as np

from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.encodings import decode
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.json_lines import (
    DECODER,
    SPACE,
    JsonLines,
    explain_json,
    gather_columns,
    render_json_lines,
)
from subsvms.app.words import show
from subsvms.exceptions import TableError

BETWEEN = b",\n"  # two objects of a new array


@dataclass(frozen=True)
class JsonArray(JsonLines):
    """The text of an array, and the positions of its objects; the rest is as in `JsonLines`."""

    def keep_rows(self, keep: np.ndarray) -> Self:
        """Return the text without some objects; each of the others keeps what stands before it."""
        between = [self.data[a:b] for a, b in zip(self.ends[:-1], self.starts[1:], strict=True)]
        befores = [b"", *between]
        pieces = [self.data[: self.starts[0]]]
        starts: list[int] = []
        ends: list[int] = []
        at = len(pieces[0])
        for i in np.flatnonzero(keep).tolist():
            before = b"" if not starts else befores[i]
            cell = self.data[self.starts[i] : self.ends[i]]
            pieces += [before, cell]
            starts.append(at + len(before))
            at = starts[-1] + len(cell)
            ends.append(at)
        data = b"".join(pieces) + self.data[self.ends[-1] :]
        positions = np.array([starts, ends], dtype=np.int64).reshape(2, -1)
        return replace(self, data=data, rows=positions[0], starts=positions[0], ends=positions[1])


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a JSON array, and further fields of the table."""
    data, encoding, notes = decode(content, reading.encoding)
    columns, text = read_json_array(data, content.name, label)
    return columns, {"text": text, "encoding": encoding, "notes": notes}


def read_json_array(data: bytes, name: str, label: str | None) -> tuple[Any, JsonArray]:
    """Return the columns in the order in which their names appear, and the text."""
    rows, spans = [], []
    at = place = 0  # in characters and in bytes
    text = data.decode()
    for row, start, end in _read_objects(text, name):
        place += len(text[at:start].encode())
        spans.append((place, place + len(text[start:end].encode())))
        rows.append(row)
        at, place = end, spans[-1][1]
    columns = gather_columns(rows, len(rows), name, label)
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return columns, JsonArray(data, starts, starts, ends, label)


def _read_objects(text: str, name: str) -> Iterator[tuple[dict, int, int]]:
    """Yield (object, start, end) for each object of an array, in characters."""
    at = _skip(text, 0)
    if text[at : at + 1] != "[":
        _refuse(text, at, name, "it does not start with [")
    at = _skip(text, at + 1)
    if text[at : at + 1] == "]":
        raise TableError(f"{name} is an empty array: it must hold at least one object of each class.")
    number = 1
    while True:
        try:
            found, end = DECODER.raw_decode(text, at)
        except (RecursionError, ValueError) as error:
            _refuse(text, getattr(error, "pos", at), name, explain_json(error))
        if not isinstance(found, dict):
            raise TableError(
                f"{name} has {show(json.dumps(found))} at place {number} of its array: write one object such "
                'as {"age": 3, "label": "yes"} for each row.'
            )
        yield found, at, end
        at = _skip(text, end)
        sign = text[at : at + 1]
        if sign == "]":
            break
        if sign != ",":
            _refuse(text, at, name, "a comma or ] is missing")
        at, number = _skip(text, at + 1), number + 1
    at = _skip(text, at + 1)
    if at < len(text):
        _refuse(text, at, name, "there is more after its end")


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def _refuse(text: str, at: int, name: str, problem: str) -> NoReturn:
    line = 1 + text.count("\n", 0, at)
    raise TableError(
        f"{name}, line {line} is not part of a JSON array ({problem}): fix it, or write it again."
    )


def render(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of a JSON array."""
    values = {name: list_values(columns[name], written=name) for name in columns.column_names}
    lines = render_json_lines(values).splitlines()
    return b"[" + BETWEEN.join(lines) + b"]\n"

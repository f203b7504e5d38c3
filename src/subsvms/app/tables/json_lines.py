"""JSON Lines: one object per line, read into columns, and written back with nothing changed but the label.

A column holds numbers, booleans or text; where its values are of several kinds, or nested, each is kept as
its JSON text. New labels are put in the place of the old ones, and all other bytes stay as they were.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from subsvms.app.tables.files import check_names, find_line, show
from subsvms.exceptions import TableError

DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class JsonLines:
    """The text of a JSON Lines file, and where its objects stand."""

    data: bytes  # UTF-8
    starts: np.ndarray  # (n_rows,), int: where each object's line starts,
    ends: np.ndarray  # (n_rows,), int: and where it ends
    label: str | None


def read_jsonlines(data: bytes, name: str, label: str | None) -> tuple[Any, JsonLines]:
    r"""Return the columns in the order in which their names appear, and the text to put new labels into.

    Parameters
    ----------
    data : bytes
        UTF-8 without byte order mark.
    name : str
        What messages call the file.
    label : str or None
        Name of the label column.

    Examples
    --------
    >>> columns, text = read_jsonlines(b'{"a": 1.50, "y": "no"}\n{"y": null, "b": [1]}\n', "'x.jsonl'", "y")
    >>> columns.to_pydict()
    {'a': [1.5, None], 'y': ['no', None], 'b': [None, '[1]']}
    """
    import pyarrow as pa

    spans = (match.span() for match in re.finditer(rb"[^\n]+", data))
    lines = [(start, end) for start, end in spans if data[start:end].strip()]
    columns: dict[str, list] = {}
    for i, (start, end) in enumerate(lines):
        for key, value in _read_object(data, start, end, name).items():
            if key not in columns:
                columns[key] = [None] * len(lines)
            columns[key][i] = value
    check_names(list(columns), name, label)
    if label is not None:
        _check_one_type(columns[label], name, label)
    arrays = [_as_array(values) for values in columns.values()]
    places = np.array(lines, dtype=np.int64).reshape(-1, 2)
    return pa.table(arrays, names=list(columns)), JsonLines(data, places[:, 0], places[:, 1], label)


def _read_object(data, start, end, name):
    """Return the object on one line."""
    try:
        found = json.loads(data[start:end])
    except (ValueError, RecursionError) as error:
        problem = getattr(error, "msg", "it is nested too deeply")
    else:
        if isinstance(found, dict):
            return found
        problem = f"it holds {'an array' if isinstance(found, list) else 'a single value'}"
    raise TableError(
        f"{name}, line {find_line(data, start)} is no JSON object ({problem}): write one object such as "
        '{"age": 3, "label": "yes"} on each line.'
    )


def _check_one_type(values, name, label):
    """Raise an error if labels are of several types: 1 and "1" may be one class or two."""
    names = {str: "text", bool: "booleans", int: "numbers", float: "numbers", list: "lists", dict: "objects"}
    kinds = sorted({names[type(value)] for value in values if value is not None})
    if len(kinds) > 1:
        raise TableError(
            f"{name} has {' and '.join(kinds)} in its label column {show(label)}: write all in one way."
        )


def _as_array(values):
    """Return one column with the type that its values share, or else as JSON text."""
    import pyarrow as pa

    if not any(isinstance(value, dict | list) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeError):  # of several types, or beyond 64 bits
            pass
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _as_text(value):
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode(errors="replace").decode()  # half a surrogate pair is no text


def write_jsonlines(
    text: JsonLines, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]
) -> bytes:
    """Return the text with new labels, and further entries directly after them.

    Parameters
    ----------
    text : JsonLines
    labels, given : sequence
        New and old labels; None becomes null. Where they agree the value stays as it is.
    extra : dict of str to sequence
        Entries by name.

    Examples
    --------
    >>> columns, text = read_jsonlines(b'{"y": "no", "a": 1.50}', "'x.jsonl'", "y")
    >>> write_jsonlines(text, ["yes"], ["no"], {"sure": [0.9]})
    b'{"y": "yes", "sure": 0.9, "a": 1.50}'
    """
    pieces, at = [], 0
    rows = zip(text.starts.tolist(), text.ends.tolist(), labels, given, strict=True)
    for i, (start, end, new, old) in enumerate(rows):
        if new == old and not extra:
            continue
        line = text.data[start:end].decode()
        entries = "".join(f", {dump(name)}: {dump(values[i])}" for name, values in extra.items())
        pieces += [text.data[at:start], _change(line, text.label, new, new != old, entries).encode()]
        at = end
    return b"".join(pieces) + text.data[at:]


def _change(line, label, new, changed, entries):
    """Return one object with its label changed, and with entries after it."""
    span, last = _find_value(line, label)
    if span is None:  # no such key: at the end of the object
        addition = f", {dump(label)}: {dump(new)}{entries}" if changed else entries
        if last is None:  # an empty object
            last, addition = line.index("{") + 1, addition.removeprefix(", ")
        return line[:last] + addition + line[last:]
    start, end = span
    return line[:start] + (dump(new) if changed else line[start:end]) + entries + line[end:]


def _find_value(line, label):
    """Return (start, end) of the label's value, and where the last value ends; None if there is none."""
    span, last = None, None
    at = _skip_space(line, line.index("{") + 1)
    while line[at] != "}":
        key, at = scanstring(line, at + 1)
        start = _skip_space(line, _skip_space(line, at) + 1)  # the colon is in between
        _, last = DECODER.raw_decode(line, start)
        if key == label:
            span = start, last  # as in Python, the last of several counts
        at = _skip_space(line, last)
        if line[at] == ",":
            at = _skip_space(line, at + 1)
    return span, last


def _skip_space(line, at):
    while line[at] in " \t\r":  # the line holds an object, so something else follows
        at += 1
    return at


def dump(value: Any) -> str:
    """Return a plain value as JSON; dates and the like as text.

    Examples
    --------
    >>> dump(float("nan")), dump("é"), dump(True)
    ('null', '"é"', 'true')
    """
    if isinstance(value, float) and not np.isfinite(value):
        return "null"
    return json.dumps(value, ensure_ascii=False, default=str)


def render_jsonlines(columns: Mapping[str, Sequence]) -> bytes:
    r"""Return columns that came from another format as JSON Lines.

    Examples
    --------
    >>> render_jsonlines({"a": [1, None], "b": ["x", "y"]})
    b'{"a": 1, "b": "x"}\n{"a": null, "b": "y"}\n'
    """
    names = [dump(name) for name in columns]
    rows = zip(*columns.values(), strict=True)
    lines = [
        ", ".join(f"{name}: {dump(cell)}" for name, cell in zip(names, row, strict=True)) for row in rows
    ]
    return "".join(f"{{{line}}}\n" for line in lines).encode()

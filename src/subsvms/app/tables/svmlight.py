"""LIBSVM and svmlight text: lines of a label and of index:value pairs, read as a CSR matrix.

Column j of the matrix is the index j of the file, whether the file counts from zero or from one: nothing is
guessed, and two files of the same kind always fit together. Labels keep their text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from subsvms.app.quoting import show
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.text import TableText, decode, find_line
from subsvms.exceptions import TableError

LABEL = "label"  # name of the first entry of each line
FIRST_ENTRY = re.compile(rb"^[^\S\n]*+([^\s#]++)", re.MULTILINE)
REST = re.compile(rb"[^\n]*")  # of a line
MAX_COLUMNS = 2**31 - 1  # scikit-learn reads indices of 32 bits


@dataclass(frozen=True)
class Svmlight(TableText):
    """The text of such a file, and the positions of its rows and labels."""

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the text with new labels, nan where they are missing; there is no place for columns."""
        if extra:
            raise TableError(
                f"LIBSVM text has no place for the column {next(iter(extra))!r}: write it elsewhere."
            )
        return self.splice(
            cell if new == old else b"nan" if new is None else str(new).encode()
            for cell, new, old in zip(self.cells, labels, given, strict=True)
        )


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the label column of a file, and further fields of the table."""
    import pyarrow as pa

    if label not in (None, LABEL):
        raise TableError(
            f"{content.name} is LIBSVM text, whose label is the first entry of each line: call it "
            f"{LABEL!r}, not {label!r}."
        )
    data, encoding, notes = decode(content, reading.encoding)
    found = [(match.start(), *match.span(1)) for match in FIRST_ENTRY.finditer(data)]
    text = Svmlight(data, *np.array(found, dtype=np.int64).reshape(-1, 3).T)
    labels = [cell.decode() for cell in text.cells]
    for one, start in zip(labels, text.starts, strict=True):
        if ":" in one:
            raise TableError(
                f"{content.name}, line {find_line(data, start)} starts with {show(one)} instead of a label: "
                "write a label such as +1 in front of it."
            )
    matrix = _read_values(text, content.name)
    more = {"matrix": matrix, "text": text, "encoding": encoding, "notes": notes}
    return pa.table({LABEL: pa.array(_unify(labels), pa.string())}), more


def _unify(labels):
    """Return labels with each number written in one way."""
    first: dict[float, str] = {}  # a whole number stays one: as floats, some beyond 2^53 would be equal
    unified = {}
    for label in dict.fromkeys(labels):
        try:
            number = int(label) if label.lstrip("+-").isdecimal() else float(label)
            unified[label] = first.setdefault(number, label)
        except ValueError:
            unified[label] = label
    return [unified[label] for label in labels]


def _read_values(text, name):
    """Return the index:value pairs. scikit-learn expects numbers as labels, so it gets zeros."""
    X = _load(text.splice([b"0"] * len(text.rows)))
    if X is None or X.shape[1] > MAX_COLUMNS:
        _reject_line(text, name)
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        line = find_line(text.data, text.starts[row])
        raise TableError(
            f"{name}, line {line} holds {X.data[bad[0]]}: leave such values out, or fill them in."
        )
    return X


def _reject_line(text, name) -> NoReturn:
    """Raise an error about the first line that cannot be read, found by halving."""
    pairs = [found[0] for end in text.ends.tolist() if (found := REST.match(text.data, end))]
    first, last = 0, len(pairs)
    while last - first > 1:
        middle = (first + last) // 2
        X = _load(b"".join(b"0%s\n" % line for line in pairs[first:middle]))
        sound = X is not None and X.shape[1] <= MAX_COLUMNS
        first, last = (middle, last) if sound else (first, middle)
    raise TableError(
        f"{name}, line {find_line(text.data, int(text.starts[first]))} cannot be read: the label must be "
        "followed by index:value pairs such as 3:0.5, with increasing whole numbers as indices, up to "
        f"{MAX_COLUMNS - 1}."
    )


def _load(data):
    from sklearn.datasets import load_svmlight_file

    try:
        X, _ = load_svmlight_file(BytesIO(data), zero_based=True)
    except (ValueError, OverflowError):
        return None
    X.sum_duplicates()
    return sparse.csr_matrix(X)

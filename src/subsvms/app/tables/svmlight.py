"""LIBSVM and svmlight text: lines of a label and of index:value pairs, read as a CSR matrix.

Column j of the matrix is the index j of the file, whether the file counts from zero or from one: nothing is
guessed, and two files of one kind always fit together. Labels keep their text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from subsvms.app.tables.files import find_line, show
from subsvms.exceptions import TableError

LABEL = "label"  # what the first entry of each line is called
FIRST_ENTRY = re.compile(rb"^[ \t]*+([^\s#]++)", re.MULTILINE)
MOST_COLUMNS = 2**31 - 1  # the compiled loops count columns in 32 bits


@dataclass(frozen=True)
class Svmlight:
    """The text of such a file, and where its labels stand."""

    data: bytes  # UTF-8
    starts: np.ndarray  # (n_rows,), int: where each label starts,
    ends: np.ndarray  # (n_rows,), int: and where it ends


def read_svmlight(data: bytes, name: str) -> tuple[list[str], Any, Svmlight]:
    r"""Return the labels as text, the values, and the text to put new labels into.

    Parameters
    ----------
    data : bytes
        UTF-8 without byte order mark.
    name : str
        What messages call the file.

    Returns
    -------
    labels : list of str
        A number that is written in several ways, as in +1 and 1, is one label: the first of them.
    X : CSR matrix of shape (n_rows, largest index + 1)
    text : Svmlight

    Examples
    --------
    >>> labels, X, text = read_svmlight(b"+1 1:0.5 3:2 # a remark\n-1 2:1\n1 2:7\n", "'x.svm'")
    >>> labels, X.shape
    (['+1', '-1', '+1'], (3, 4))
    """
    spans = np.array([match.span(1) for match in FIRST_ENTRY.finditer(data)], dtype=np.int64).reshape(-1, 2)
    text = Svmlight(data, spans[:, 0], spans[:, 1])
    labels = [data[start:end].decode() for start, end in spans.tolist()]
    for i, label in enumerate(labels):
        if ":" in label:
            raise TableError(
                f"{name}, line {find_line(data, spans[i, 0])} starts with {show(label)} where its label is "
                "expected: write a label such as +1 in front of it."
            )
    return _unify(labels), _read_values(text, name), text


def _unify(labels):
    """Return labels with each number written in one way."""
    first: dict[float, str] = {}
    unified = {}
    for label in dict.fromkeys(labels):
        try:
            unified[label] = first.setdefault(float(label), label)
        except ValueError:
            unified[label] = label
    return [unified[label] for label in labels]


def _read_values(text, name):
    """Return the index:value pairs. scikit-learn wants numbers as labels, so each is a zero to it."""
    plain = write_svmlight(text, ["0"] * len(text.starts), [""] * len(text.starts))
    X = _load(plain)
    if X is None:
        lines = [(start, plain) for start, plain in _single_lines(text) if _load(plain) is None]
        start, plain = lines[0]
        raise TableError(
            f"{name}, line {find_line(text.data, start)} cannot be read: after the label, index:value pairs "
            "such as 3:0.5 must follow, their indices whole numbers that rise."
        )
    if X.shape[1] > MOST_COLUMNS:
        raise TableError(
            f"{name} has the index {X.shape[1] - 1}, too large for a column: number the columns anew."
        )
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        line = find_line(text.data, text.starts[row])
        raise TableError(f"{name}, line {line} holds {X.data[bad[0]]}: leave such values out, or fill them.")
    return X


def _load(plain):
    try:
        X, _ = load_svmlight_file(BytesIO(plain), zero_based=True)
    except (ValueError, OverflowError):
        return None
    X.sum_duplicates()
    return sparse.csr_matrix(X)


def _single_lines(text):
    for start, end in zip(text.starts.tolist(), text.ends.tolist(), strict=True):
        stop = text.data.find(b"\n", end)
        yield start, b"0" + text.data[end : stop if stop >= 0 else len(text.data)]


def write_svmlight(text: Svmlight, labels: Sequence[str], given: Sequence[str]) -> bytes:
    """Return the text with new labels; where new and given agree the label stays as it is."""
    pieces, at = [], 0
    rows = zip(text.starts.tolist(), text.ends.tolist(), labels, given, strict=True)
    for start, end, new, old in rows:
        pieces += [text.data[at:start], text.data[start:end] if new == old else new.encode()]
        at = end
    return b"".join(pieces) + text.data[at:]

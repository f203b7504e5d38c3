"""The baseline of `subsvms check`: rows that were accepted, known again by what they hold.

It is a text file for git: a first line that says what the others are, and a line for each row, sorted: a hash
of its values without the label, and one of its label. The order of rows or columns changes nothing. All rows
are kept, and not the suspicious ones alone: what is thought of a row moves a little whenever the table grows,
and only a row that was not there before, or that had another label, can be new.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subsvms._atomic import explaining, write_whole
from subsvms.app.quoting import name_some, show
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import TableError

START = '{"subsvms baseline":'
FORMAT = 1  # raised when an older reader could misread it
BYTES, LABEL_BYTES = 6, 3  # of a hash: among a million rows two are taken for one with probability 0.002
LINE = re.compile(rf"[0-9a-f]{{{2 * BYTES}}}-[0-9a-f]{{{2 * LABEL_BYTES}}}")
FEWEST_KNOWN = 0.5  # share of its rows without which a baseline says nothing about a table
AGAIN = "accept the table as it is now{accept:aside}."


class Compared(NamedTuple):
    """What a baseline knows of a table."""

    new: np.ndarray  # (n_rows,): bool, rows that it does not know
    relabelled: np.ndarray  # (n_rows,): which of them it knows with another label
    n_gone: int  # rows that it knows, and that are not in the table


@dataclass(frozen=True)
class Baseline:
    """The rows of a table that were accepted."""

    label: str
    columns: tuple[str, ...]  # by whose values it knows a row
    rows: Counter[str]  # how often it knows each row, by `hash_rows`

    @classmethod
    def read(cls, path: Path, label: str) -> "Baseline":
        """Read the file of a baseline for this label."""
        if not path.is_file():
            raise TableError("There is no baseline {path!r}: make one{accept:aside}.", path=str(path))
        try:
            first, *lines = path.read_text(encoding="utf-8").splitlines()
            about = json.loads(first)
            version, known, columns = about["subsvms baseline"], about["label"], tuple(about["columns"])
            wrong = next((number for number, one in enumerate(lines, 2) if not LINE.fullmatch(one)), None)
        except (ValueError, KeyError, TypeError):
            version, known, columns, wrong = FORMAT, label, (), 1
        if version != FORMAT:
            words = "{path!r} has format {found}, but this version of subsvms reads format {own}: " + AGAIN
            raise TableError(words, path=str(path), found=show(version), own=FORMAT)
        if wrong is not None:
            words = "{path!r} is no baseline, or damaged in line {wrong}, as by a merge: restore it, or "
            raise TableError(words + AGAIN, path=str(path), wrong=wrong)
        if known != label:
            words = "{path!r} is about the label {known}, not {own}: name another file{baseline:aside}."
            raise TableError(words, path=str(path), known=show(known), own=show(label))
        return cls(known, columns, Counter(lines))

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all, in place of an earlier baseline alone."""
        check_place(path)
        about = json.dumps({"subsvms baseline": FORMAT, "label": self.label, "columns": list(self.columns)})
        lines = (about, *sorted(self.rows.elements()))
        with explaining(path):
            write_whole(path, "".join(f"{line}\n" for line in lines).encode())

    def compare(self, table: LabelledTable, path: Path) -> Compared:
        """Return which rows of a table are new to this baseline, read from `path`."""
        lost = [name for name in self.columns if name not in table.columns.column_names]
        if lost:
            words = "{path!r} knows rows by columns that {name} does not have ({lost}): bring them back, or "
            raise TableError(words + AGAIN, path=str(path), name=table.name, lost=name_some(lost))
        rows, left = hash_rows(table, self.columns), self.rows.copy()
        new = np.zeros(len(rows), dtype=bool)
        for i, row in enumerate(rows):
            new[i] = left[row] == 0
            left[row] -= not new[i]
        n_known, n_rows = int((~new).sum()), self.rows.total()
        if n_known < FEWEST_KNOWN * n_rows:
            words = (
                "Only {n_known:,} of the {n_rows:,} rows that {path!r} knows are in {name}, which may have "
                "been written in another way: if it is what you want, "
            )
            raise TableError(words + AGAIN, n_known=n_known, n_rows=n_rows, path=str(path), name=table.name)
        gone = {row.partition("-")[0] for row in left.elements()}
        relabelled = new & np.array([row.partition("-")[0] in gone for row in rows], dtype=bool)
        return Compared(new, relabelled, left.total())


def check_place(path: Path) -> Path:
    """Return the path of a baseline to write, or raise an error if it would replace anything else."""
    if path.exists() and not path.read_bytes().startswith(START.encode()):
        words = "{path!r} is no baseline, and is not replaced: remove it, or name another{baseline:aside}."
        raise TableError(words, path=str(path))
    return path


def list_columns(table: LabelledTable, left_out: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the columns by whose values rows are known: all but the label and those that are left out."""
    return tuple(sorted(set(table.columns.column_names) - {str(table.label), *left_out}))


def hash_rows(table: LabelledTable, columns: Sequence[str], labels: np.ndarray | None = None) -> list[str]:
    """Return for each row what is the same for equal values in these columns and equal labels alone."""
    rows: Iterable[Any]
    if table.matrix is not None:  # LIBSVM text
        matrix = table.matrix.tocsr(copy=True)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        pairs = list(zip(matrix.indices.tolist(), matrix.data.tolist(), strict=True))
        rows = (pairs[a:b] for a, b in pairwise(matrix.indptr.tolist()))
    elif columns:
        rows = zip(*(map(as_text, list_values(table.columns[name])) for name in columns), strict=True)
    else:
        raise TableError(f"{table.name} has no column to know its rows by: a baseline needs one.")
    names = map(as_text, (table.labels if labels is None else labels).tolist())
    both = zip(rows, names, strict=True)
    return [f"{hash_value(row, BYTES)}-{hash_value(name, LABEL_BYTES)}" for row, name in both]


def as_text(value: object) -> str | None:
    """Return a value as text, so that a number in a CSV file and one in a typed file are the same."""
    return value if value is None else str(value)


def hash_value(value: object, size: int) -> str:
    """Return a hash of so many bytes, in hexadecimal digits."""
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=size).hexdigest()

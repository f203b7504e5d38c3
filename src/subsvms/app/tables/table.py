"""From a file to a checked table with labels, and back to a file that differs only in the labels.

The formats are those of `formats`, each optionally compressed with gzip, bzip2, xz or zstd. In CSV and TSV
every cell is text here: "007" stays "007". What the columns mean is decided later, and for the features only.
What a user can get wrong raises a `TableError` with one sentence.
"""

import hashlib
import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms._sentences import Note
from subsvms.app.tables.addresses import Place, place_result
from subsvms.app.tables.arrow import read_all
from subsvms.app.tables.coded import put_labels
from subsvms.app.tables.files import (
    Content,
    check_names,
    check_target,
    compress,
    read_content,
    split_suffix,
    strip_compression,
    write_content,
)
from subsvms.app.tables.formats import (
    FORMATS,
    SUFFIXES,
    Reading,
    check_reading,
    default_ending,
    load_function,
)
from subsvms.app.tables.labels import read_labels
from subsvms.app.tables.text import Encoding, Original
from subsvms.app.tables.where import find_files
from subsvms.app.words import show
from subsvms.exceptions import TableError


@dataclass(frozen=True, eq=False, repr=False)
class LabelledTable:
    """A table, its labels, and what is needed to write it back as it was."""

    columns: Any  # all columns in their order, including the label. Of LIBSVM text, only the label.
    label: str | None  # name of the label column; None if the table was read without one
    # (n_rows,): text, or in typed formats whole numbers or booleans; None where the label is missing
    labels: np.ndarray
    matrix: Any  # the values of LIBSVM text; column j is the file's index j
    name: str  # name of the table in messages
    paths: tuple[Place, ...]  # the files it was read from; empty for standard input
    format: str  # one of `FORMATS`
    digest: str  # SHA-256 of the file; for several files, of their digests
    notes: tuple[Note, ...] = ()  # what is odd about the file or the labels, in sentences
    # the text or the workbook it was read from, in which labels can be replaced; None if the columns alone
    # say all
    text: Original | None = None
    encoding: Encoding = Encoding()  # the encoding of that text in the file
    folder: Path | None = None  # the folder that the user gave in place of files
    # whether 1,234 is more likely a fraction than a thousand, as in CSV with semicolons
    decimal_comma: bool = False
    # (n_rows,): the labels in the file's own spelling, if different spellings were merged
    written_labels: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return (
            f"LabelledTable({self.name}, {len(self)} rows, label {self.label!r} of {len(self.classes)} "
            f"classes, {self.missing.sum()} missing)"
        )

    @cached_property
    def _numbered(self) -> tuple[Classes, np.ndarray]:
        return Classes.learn(self.labels)

    @property
    def classes(self) -> list:
        """The distinct labels, sorted."""
        return self._numbered[0].labels

    @property
    def codes(self) -> np.ndarray:
        """The class number of each row, its place among `classes`; -1 where the label is missing."""
        return self._numbered[1]

    @property
    def as_written(self) -> np.ndarray:
        """The labels as the file spells them."""
        return self.labels if self.written_labels is None else self.written_labels

    @property
    def missing(self) -> np.ndarray:
        """Which labels are missing."""
        return self.codes < 0


def read_table(
    where: str | os.PathLike | Sequence[str | os.PathLike],
    label: str | None,
    *,
    format: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    sheet: str | None = None,
    query: str | None = None,
    **labels: Any,
) -> LabelledTable:
    """Read a table and check its labels, with the options of `read_labels`."""
    reading = Reading(encoding, separator, sheet, query)
    contents = [read_content(path, format) for path in find_files(where)]
    for content in contents:
        check_reading(content.format, content.name, reading)
    if len(contents) > 1:
        table = _read_several(contents, label)
    else:
        columns, more = load_function(FORMATS[contents[0].format].reader)(contents[0], label, reading)
        table = _build(contents, columns, label, **more)
    if isinstance(where, str | os.PathLike) and Path(where).is_dir():
        table = replace(table, folder=Path(where))
    if label is None:
        return table
    is_text = FORMATS[table.format].all_text
    found, written, notes = read_labels(table.columns[label], table.name, label, is_text=is_text, **labels)
    kept = None if np.array_equal(written, found) else written
    return replace(table, labels=found, notes=(*table.notes, *notes), written_labels=kept)


def _read_several(contents: list[Content], label: str | None) -> LabelledTable:
    """Return the rows of all files, one below the other."""
    formats = sorted({content.format for content in contents})
    if len(formats) > 1 or not FORMATS[formats[0]].several:
        raise TableError(
            f"Several files must all be Parquet or all be Feather, but these {len(contents)} files are "
            f"{' and '.join(formats)}: combine them into one file first."
        )
    columns, more = read_all(contents, label)
    digest = hashlib.sha256("".join(content.digest for content in contents).encode()).hexdigest()
    name = f"{contents[0].name} and {len(contents) - 1} more"
    return _build(contents, columns, label, name=name, digest=digest, **more)


def _build(contents: list[Content], columns: Any, label: str | None, **more: Any) -> LabelledTable:
    """Return the table with its labels not read yet."""
    first = contents[0]
    check_names(columns.column_names, more.get("name", first.name), label)
    if len(columns) == 0:
        raise TableError(f"{first.name} has no rows: it must hold at least one row of each class.")
    defaults = {"name": first.name, "digest": first.digest, "matrix": None}
    return LabelledTable(
        columns=columns,
        label=label,
        labels=np.full(len(columns), None, dtype=object),
        paths=tuple(content.path for content in contents if content.path is not None),
        format=first.format,
        **(defaults | more),
    )


def keep_rows(table: LabelledTable, keep: np.ndarray) -> LabelledTable:
    """Return a table without some of its rows; the rest is as it was, byte for byte."""
    return replace(
        table,
        columns=table.columns.filter(np.asarray(keep)),
        labels=table.labels[keep],
        written_labels=None if table.written_labels is None else table.written_labels[keep],
        matrix=None if table.matrix is None else table.matrix[keep],
        text=None if table.text is None else table.text.keep_rows(keep),
    )


def write_table(
    table: LabelledTable,
    path: str | os.PathLike,
    label_values: Sequence | np.ndarray | None = None,
    extra_columns: Mapping[str, Sequence | np.ndarray] | None = None,
    *,
    force: bool = False,
) -> None:
    """Write the table with new labels, completely or not at all; everything else stays as it was."""
    format = find_output_format(path, table.format)
    target = check_target(path, table.paths, force=force)
    if (format == "svmlight") != (table.format == "svmlight"):
        raise TableError(
            f"A table read as {table.format} cannot be written as {format}, to {str(path)!r}: LIBSVM text "
            "can only be written as LIBSVM text."
        )
    given = table.as_written.tolist()
    labels = given if label_values is None else _as_list(label_values, "label_values", len(table))
    extra = {str(name): _as_list(values, name, len(table)) for name, values in (extra_columns or {}).items()}
    taken = [name for name in extra if name in table.columns.column_names]
    if taken:
        raise TableError(
            f"{table.name} already has a column {show(taken[0])}: give the new column another name."
        )
    if table.format == format and table.text is not None:
        data = table.encoding.encode(table.text.replace_labels(labels, given, extra))
    else:
        columns = put_labels(table.columns, table.label, labels, given, extra)
        data = load_function(FORMATS[format].writer)(columns, format)
    write_content(target, compress(data, target))


def _as_list(values, name, n_rows):
    """Return values as plain Python objects, None where they are missing."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(values) != n_rows:
        raise TableError(f"{name} must have one value for each of the {n_rows} rows; got {len(values)}.")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return [None if value is None or value != value else value for value in plain]


def find_output_format(path: str | os.PathLike, read: str | None = None) -> str:
    """Return the format that a path's suffix names."""
    inner, _ = strip_compression(Path(path))
    suffix = inner.suffix.lower()
    format = read if read and suffix in FORMATS[read].suffixes else SUFFIXES.get(suffix)
    if format is None or FORMATS[format].written != format:
        known = [suffix for suffix, name in SUFFIXES.items() if FORMATS[name].written == name]
        raise TableError(
            f"{str(path)!r} does not say in which format to write: give it one of the suffixes "
            f"{', '.join(known)}."
        )
    return format


def place_beside(table: LabelledTable, word: str, ending: str | None = None) -> Path:
    """Return a path next to the table's file: loans.csv.gz becomes loans.corrupted.csv.gz.

    The result of a file at an address goes to the working directory.
    """
    if table.folder is not None:
        folder = Path(os.path.abspath(table.folder))
        return folder.with_name(
            f"{folder.name}.{word}{default_ending(table.format) if ending is None else ending}"
        )
    if len(table.paths) != 1:
        source = "several files" if table.paths else "standard input or a database"
        raise TableError(
            "The table was read from {source}: say with {output} where the result should go.", source=source
        )
    (path,) = table.paths
    stem, own = split_suffix(path, table.format)
    return place_result(path, f"{stem}.{word}{own if ending is None else ending}")


def free_name(table: LabelledTable, wanted: str) -> str:
    """Return a name that no column of the table has."""
    return number_name(wanted, table.columns.column_names)


def number_name(wanted: str, taken: Container[str]) -> str:
    """Return a name for a new column that is not taken: with a number after it, if necessary."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def find_free(name: str, taken: Container[str]) -> str:
    """Return a name for a user's column that is not taken by one of the columns we add."""
    while name in taken:
        name += " (column)"
    return name

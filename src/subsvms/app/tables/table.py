"""From a file to a checked table with labels, and back to a file that differs in the labels only.

CSV, TSV, Parquet, Feather or Arrow, JSON Lines and LIBSVM text, each also packed with gzip, bzip2, xz or
zstd. In CSV and TSV every cell is text here: "007" stays "007". What the columns mean is found out later, for
the features only. Errors that a user can make are `TableError`, one sentence each.
"""

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.tables.arrow import check_alike, put_labels, read_arrow, render_arrow
from subsvms.app.tables.csv_text import Delimited, read_delimited, render_delimited, write_delimited
from subsvms.app.tables.files import (
    FORMATS,
    PACKED,
    SUFFIXES,
    Content,
    Encoding,
    check_names,
    check_target,
    decode,
    find_files,
    pack,
    read_content,
    show,
    split_suffix,
    write_content,
)
from subsvms.app.tables.json_lines import JsonLines, read_jsonlines, render_jsonlines, write_jsonlines
from subsvms.app.tables.labels import check_classes, read_labels
from subsvms.app.tables.svmlight import LABEL, Svmlight, read_svmlight, write_svmlight
from subsvms.exceptions import TableError

SPLICED = {"csv", "tsv", "jsonl", "svmlight"}  # text, in which labels are put into the place of the old
SEVERAL = {"parquet", "feather"}  # formats that may come in several files


@dataclass(frozen=True, eq=False, repr=False)
class LabelledTable:
    """A table, its labels, and what is needed to write it back as it came.

    Attributes
    ----------
    columns : pyarrow.Table
        All columns in their order, the label among them. Of LIBSVM text, the label only.
    label : str or None
        Name of the label column; None if the table was read without.
    labels : ndarray of shape (n_rows,), object
        Text, or in typed formats whole numbers or booleans; None where the label is missing.
    matrix : CSR matrix or None
        The values of LIBSVM text; column j is the file's index j.
    name : str
        What messages call the table.
    paths : tuple of Path
        The files it came from; none for standard input.
    format : str
        "csv", "tsv", "parquet", "feather", "jsonl" or "svmlight".
    digest : str
        SHA-256 of the file; of several files, of their digests.
    notes : tuple of str
        What is odd about the labels, in sentences.
    """

    columns: Any
    label: str | None
    labels: np.ndarray
    matrix: Any
    name: str
    paths: tuple[Path, ...]
    format: str
    digest: str
    notes: tuple[str, ...] = ()
    text: Delimited | JsonLines | Svmlight | None = None
    encoding: Encoding = Encoding()

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        n_missing = int(self.missing.sum())
        return (
            f"LabelledTable({self.name}, {len(self)} rows, label {self.label!r} of {len(self.classes)} "
            f"classes, {n_missing} missing)"
        )

    @property
    def missing(self) -> np.ndarray:
        """Which labels are missing."""
        return np.array([label is None for label in self.labels], dtype=bool)

    @property
    def classes(self) -> list:
        """The distinct labels, sorted."""
        return sorted({label for label in self.labels if label is not None})


def read_table(
    where: str | os.PathLike | Sequence[str | os.PathLike],
    label: str | None,
    *,
    format: str | None = None,
    encoding: str | None = None,
    separator: str | None = None,
    missing_labels: Sequence[str] = (),
) -> LabelledTable:
    r"""Read a table and check its labels.

    Parameters
    ----------
    where : path-like or sequence of path-like
        A file, "-" for standard input, or a pattern or list of Parquet or Feather files of one schema.
    label : str or None
        Name of the label column. None if there is none, as in rows to predict: then nothing is checked and
        all labels are missing. In LIBSVM text the label has no name: say "label".
    format : {"csv", "tsv", "parquet", "feather", "jsonl", "svmlight"}, optional
        Found out from the suffix, or else from the content.
    encoding : str, optional
        Of text; UTF-8, or what a byte order mark says, without it.
    separator : str, optional
        Of CSV and TSV; found out from the header without it.
    missing_labels : sequence of str
        Labels that mean "not labelled", beside the empty one. Next to numbers the usual marks, such as NA
        and ?, always do.

    Returns
    -------
    LabelledTable

    Raises
    ------
    TableError
        If the table cannot be read or its labels cannot be classes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "loans.csv"
    ...     _ = path.write_text("id,amount,default\n007,1.50,no\n008,2.25,yes\n009,3,\n")
    ...     table = read_table(path, "default")
    >>> table.labels, table.classes, table.columns["id"].to_pylist()
    (array(['no', 'yes', None], dtype=object), ['no', 'yes'], ['007', '008', '009'])
    """
    contents = [read_content(path, format) for path in find_files(where)]
    if len(contents) > 1:
        _check_several(contents)
        table = _read_several(contents, label)
    else:
        table = _read_one(contents[0], label, encoding, separator)
    if label is None:
        return table
    column = table.columns[table.label]
    labels, notes = read_labels(
        column, table.name, label, table.format in ("csv", "tsv", "svmlight"), missing_labels
    )
    check_classes(labels, table.name, label)
    return replace(table, labels=labels, notes=notes)


def _check_several(contents: list[Content]) -> None:
    formats = sorted({content.format for content in contents})
    if len(formats) > 1 or formats[0] not in SEVERAL:
        raise TableError(
            f"Several files must all be Parquet or all be Feather, but {len(contents)} files came with the "
            f"format {' and '.join(formats)}: put them into one file first."
        )


def _read_several(contents: list[Content], label: str | None) -> LabelledTable:
    """Return the rows of all files, one below the other."""
    import hashlib

    import pyarrow as pa

    parts = [read_arrow(content) for content in contents]
    check_alike(parts, [content.name for content in contents])
    digest = hashlib.sha256("".join(content.digest for content in contents).encode()).hexdigest()
    name = f"{contents[0].name} and {len(contents) - 1} more"
    columns = pa.concat_tables(parts)
    return _build(contents, columns, label, name=name, digest=digest)


def _read_one(
    content: Content, label: str | None, encoding: str | None, separator: str | None
) -> LabelledTable:
    import pyarrow as pa

    if content.format in SEVERAL:
        return _build([content], read_arrow(content), label)
    data, came_in = decode(content, encoding)
    matrix: Any = None
    text: Delimited | JsonLines | Svmlight
    if content.format == "jsonl":
        columns, text = read_jsonlines(data, content.name, label)
    elif content.format == "svmlight":
        if label not in (None, LABEL):
            raise TableError(
                f"{content.name} is LIBSVM text, whose label is the first entry of each line: call it "
                f"{LABEL!r}, not {label!r}."
            )
        labels, matrix, text = read_svmlight(data, content.name)
        columns = pa.table({LABEL: pa.array(labels, pa.string())})
    else:
        choice = "\t" if content.format == "tsv" else ","
        columns, text = read_delimited(data, content.name, label, separator=separator, first_choice=choice)
    return _build([content], columns, label, matrix=matrix, text=text, encoding=came_in)


def _build(contents: list[Content], columns: Any, label: str | None, **parts: Any) -> LabelledTable:
    """Return the table with its labels still to be read."""
    first = contents[0]
    check_names(columns.column_names, parts.get("name", first.name), label)
    if len(columns) == 0:
        raise TableError(f"{first.name} has no rows: it must hold at least one row of each class.")
    defaults = {"name": first.name, "digest": first.digest, "matrix": None}
    return LabelledTable(
        columns=columns,
        label=label,
        labels=np.full(len(columns), None, dtype=object),
        paths=tuple(content.path for content in contents if content.path is not None),
        format=first.format,
        **(defaults | parts),
    )


def write_table(
    table: LabelledTable,
    path: str | os.PathLike,
    label_values: Sequence | np.ndarray | None = None,
    extra_columns: Mapping[str, Sequence | np.ndarray] | None = None,
    *,
    force: bool = False,
) -> None:
    r"""Write the table with new labels, whole or not at all; everything else stays as it came.

    Parameters
    ----------
    table : LabelledTable
    path : path-like
        Its suffix says the format, as in "corrected.csv.gz". CSV is written in the separator and encoding it
        came in, and text around the labels byte by byte; Parquet and Arrow keep types and schema, but not how
        they were packed. Never one of the files that were read.
    label_values : array-like of shape (n_rows,), optional
        New labels, None or NaN where they are missing.
    extra_columns : dict of str to array-like, optional
        Columns to put directly after the label, or at the end of a table without one.
    force : bool
        Whether to replace an existing file.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "loans.csv"
    >>> _ = path.write_text('"id";default;amount\n007;no;1,50\n008;"yes";2,25\n')
    >>> table = read_table(path, "default")
    >>> write_table(table, path.with_name("new.csv"), ["no", "no"], {"given": table.labels})
    >>> print(path.with_name("new.csv").read_text())
    "id";default;given;amount
    007;no;no;1,50
    008;"no";yes;2,25
    <BLANKLINE>
    >>> folder.cleanup()
    """
    format = find_output_format(path)
    target = check_target(path, table.paths, force=force)
    if (format == "svmlight") != (table.format == "svmlight"):
        raise TableError(
            f"A table that came as {table.format} cannot be written as {format}, to {str(path)!r}: LIBSVM "
            "text goes to LIBSVM text only."
        )
    given = table.labels.tolist()
    labels = given if label_values is None else _plain(label_values, "label_values", len(table))
    extra = {str(name): _plain(values, name, len(table)) for name, values in (extra_columns or {}).items()}
    taken = [name for name in extra if name in table.columns.column_names]
    if taken:
        raise TableError(
            f"{table.name} has a column {show(taken[0])} already: give the new column another name."
        )
    if table.format == format and format in SPLICED:
        data = table.encoding.encode(_splice(table, labels, given, extra))
    else:
        data = _render(table, labels, extra, format)
    write_content(target, pack(data, target))


def free_name(table: LabelledTable, wanted: str) -> str:
    """Return a name that no column of the table has."""
    return number_name(wanted, table.columns.column_names)


def place_beside(table: LabelledTable, word: str, ending: str | None = None) -> Path:
    """Return a path beside the table's file: loans.csv.gz becomes loans.corrupted.csv.gz.

    Parameters
    ----------
    table : LabelledTable
        From one file; a suffix that names no format, as in iris.data, is followed by one that does.
    word : str
        Such as "corrupted".
    ending : str, optional
        Instead of the file's own, packing included.
    """
    if len(table.paths) != 1:
        came = "standard input" if not table.paths else "several files"
        raise TableError(f"The table came from {came}: say with --output where the result should go.")
    (path,) = table.paths
    stem, own = split_suffix(path, table.format)
    return path.with_name(f"{stem}.{word}{own if ending is None else ending}")


def find_output_format(path: str | os.PathLike) -> str:
    """Return the format that a path's suffix asks for.

    Examples
    --------
    >>> find_output_format("corrected.csv.gz")
    'csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    format = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if format is None:
        raise TableError(
            f"{str(path)!r} does not say which of the formats {', '.join(FORMATS)} to write: give it one of "
            f"the suffixes {', '.join(SUFFIXES)}."
        )
    return format


def _plain(values, name, n_rows):
    """Return values as a list of plain Python objects, None where they are missing."""
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(values) != n_rows:
        raise TableError(f"{name} must have one value for each of the {n_rows} rows; got {len(values)}.")
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return [None if value is None or value != value else value for value in plain]


def _splice(table: LabelledTable, labels: list, given: list, extra: dict[str, list]) -> bytes:
    """Return the text that the table came in with new labels in the place of the old."""
    if isinstance(table.text, JsonLines):
        return write_jsonlines(table.text, labels, given, extra)
    new, old = _as_cells(labels), _as_cells(given)
    if isinstance(table.text, Svmlight):
        if extra:
            raise TableError(
                f"LIBSVM text has no place for the column {next(iter(extra))!r}: write it elsewhere."
            )
        return write_svmlight(table.text, ["nan" if cell is None else cell for cell in new], old)
    assert isinstance(table.text, Delimited)
    return write_delimited(table.text, new, old, {name: _as_cells(cells) for name, cells in extra.items()})


def _as_cells(values):
    """Return values as the text of cells."""
    words = {True: "true", False: "false"}
    return [
        value
        if value is None or isinstance(value, str)
        else words[value]
        if isinstance(value, bool)
        else str(value)
        for value in values
    ]


def _render(table: LabelledTable, labels: list, extra: dict[str, list], format: str) -> bytes:
    """Return the table in another format than it came in, or in a typed one."""
    arranged = put_labels(table.columns, table.label, labels, table.labels.tolist(), extra)
    if format in SEVERAL:
        return render_arrow(arranged, format)
    columns = arranged.to_pydict()
    if format == "jsonl":
        return render_jsonlines(columns)
    cells = {name: _as_cells(values) for name, values in columns.items()}
    return render_delimited(cells, "\t" if format == "tsv" else ",")


def find_free(name: str, taken: Container[str]) -> str:
    """Return a name for a user's column that none of ours has."""
    while name in taken:
        name += " (column)"
    return name


def number_name(wanted: str, taken: Container[str]) -> str:
    """Return a name for a column of ours that none of the user's has: with a number after it, if need be."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name

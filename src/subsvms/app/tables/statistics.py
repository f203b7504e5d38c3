"""Stata (.dta) and SPSS (.sav) files, written back with codes, value labels and variable labels.

pandas reads and writes the values of Stata, pyreadstat those of SPSS, and what both files say about their
columns. Value labels name the classes of a label column; other columns keep their codes. Dates of Stata keep
their formats, and columns of SPSS their measures.
"""

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from subsvms._sentences import Note
from subsvms.app.tables.arrow import name_labels
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.words import explaining, show

VERSION = 118  # of Stata 14 and later: text in UTF-8
MAX_NAME = 32  # characters in the name of a column of Stata
DATES = ("tc", "td", "tw", "tm", "tq", "th", "ty")
NOTHING: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def explain(what: str, advice: str = "save it again.") -> Iterator[None]:
    """Turn errors, of whatever type, into one sentence, and show no warnings."""
    with explaining(what, advice), warnings.catch_warnings(action="ignore"):
        yield


@contextmanager
def make_file(data: bytes = b"") -> Iterator[Path]:
    """Make a file that lasts for a while: pyreadstat reads from disk, and writes to it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        path.write_bytes(data)
        yield path


def note_missing(names: Sequence[str], name: str) -> tuple[Note, ...]:
    """Return a note if columns have missing values of several kinds, which are not kept apart."""
    if not names:
        return ()
    words = (
        f"{name} has its own marks for missing values, as in the column {show(names[0])}: they are read as "
        "missing, and written as missing without the mark."
    )
    return (Note.plain("missing_marks", words),)


def as_columns(frame: Any) -> Any:
    """Return a data frame of pandas as a pyarrow.Table."""
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)


# Stata


def read_stata(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a Stata file, and further fields of the table."""
    import pyreadstat
    from pandas.io.stata import StataReader

    with explain(f"{content.name} is damaged or not a Stata file"), make_file(content.data) as path:
        with StataReader(BytesIO(content.data), convert_categoricals=False) as file:
            frame = file.read()
            texts = {name: text for name, text in file.variable_labels().items() if text}
            known, title = file.value_labels(), file.data_label
        columns = as_columns(frame)
        _, said = pyreadstat.read_dta(str(path), metadataonly=True)
        used = [said.variable_to_label.get(name) for name in said.column_names]  # the set of names of each
        kinds = [str(said.original_variable_types[name]).strip("%-")[:2] for name in said.column_names]
    names = {name: known[one] for name, one in zip(frame.columns, used, strict=True) if one in known}
    about = {"texts": texts, "names": names, "kinds": dict(zip(frame.columns, kinds, strict=True))}
    classes = {int(code): str(word) for code, word in names.get(str(label), {}).items()}
    write = partial(render_stata, format=content.format, about=about | {"title": title})
    table, more = name_labels(columns, label, classes, write)
    gaps = [name for name in frame.columns if frame[name].dtype.kind == "f" and frame[name].isna().any()]
    return table, more | {"notes": note_missing(find_marked(content, gaps), content.name)}


def find_marked(content: Content, gaps: list[str]) -> list[str]:
    """Return the columns, of those with missing values, that mark some as .a to .z."""
    import pandas as pd
    from pandas.io.stata import StataMissingValue

    if not gaps:
        return []
    with explain(f"{content.name} is damaged or not a Stata file"):
        frame = pd.read_stata(
            BytesIO(content.data), columns=gaps, convert_missing=True, convert_categoricals=False,
            convert_dates=False,
        )  # fmt: skip
    return [
        name
        for name in gaps
        if any(isinstance(cell, StataMissingValue) and cell.string != "." for cell in frame[name])
    ]


def render_stata(columns: Any, format: str, about: Mapping[str, Any] = NOTHING) -> bytes:
    """Return columns as the bytes of a Stata file; `about` is what the file read says."""
    import pyarrow as pa

    columns = columns.rename_columns(cut_names(columns.column_names))
    frame, kinds = columns.to_pandas(), about.get("kinds", {})
    dates = {}
    for name, column in zip(columns.column_names, columns.columns, strict=True):
        kind = column.type
        if pa.types.is_temporal(kind) and not pa.types.is_time(kind):
            dates[name] = kinds.get(name) if kinds.get(name) in DATES else "tc"
        elif pa.types.is_boolean(kind):
            frame[name] = frame[name].astype(float)
        elif not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
            frame[name] = frame[name].map(lambda cell: "" if cell is None or cell != cell else str(cell))
    sink = BytesIO()
    with explain("The table cannot be written for Stata", "write Parquet or CSV."):
        frame.to_stata(
            sink, write_index=False, version=VERSION, convert_dates=dates,
            variable_labels=about.get("texts", {}), value_labels=about.get("names", {}),
            data_label=about.get("title") or None,
        )  # fmt: skip
    return sink.getvalue()


def cut_names(names: Sequence[str]) -> list[str]:
    """Return names of columns that are short enough for Stata, each only once."""
    short: list[str] = []
    for name in names:
        cut, number = name[:MAX_NAME], 2
        while cut in short:
            cut, number = f"{name[: MAX_NAME - 5]}_{number}", number + 1
        short.append(cut)
    return short


# SPSS


def read_spss(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of an SPSS file, and further fields of the table."""
    import pyreadstat

    read = partial(pyreadstat.read_sav, encoding=reading.encoding)
    with make_file(content.data) as path, explain(f"{content.name} is damaged or not a SPSS file"):
        frame, said = read(str(path), dates_as_pandas_datetime=True)
        _, raw = read(str(path), user_missing=True, metadataonly=True)
        columns = as_columns(frame)
    about = {
        "file_label": said.file_label or "",
        "column_labels": {name: text for name, text in said.column_names_to_labels.items() if text},
        "variable_value_labels": said.variable_value_labels,
        "variable_measure": {name: one for name, one in said.variable_measure.items() if one != "unknown"},
    }
    classes = {
        int(code): str(word)
        for code, word in said.variable_value_labels.get(str(label), {}).items()
        if isinstance(code, int | float) and code % 1 == 0
    }
    write = partial(render_spss, format=content.format, about=about)
    table, more = name_labels(columns, label, classes, write)
    return table, more | {"notes": note_missing(list(raw.missing_ranges), content.name)}


def render_spss(columns: Any, format: str, about: Mapping[str, Any] = NOTHING) -> bytes:
    """Return columns as the bytes of an SPSS file; `about` is what the file read says."""
    import pyreadstat

    with make_file() as path, explain("The table cannot be written for SPSS", "write Parquet or CSV."):
        pyreadstat.write_sav(columns.to_pandas(), str(path), **about)
        return path.read_bytes()

"""Stata (.dta) and SPSS (.sav) files, written back with codes, value labels and variable labels.

pandas reads and writes the values of Stata, pyreadstat those of SPSS, and what both files say about their
columns. Value labels name the classes of a label column; other columns keep their codes. Dates of Stata keep
their formats, and columns of SPSS their measures. Marks of missing values are not kept apart.
"""

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from subsvms.app.quoting import explaining, show
from subsvms.app.tables.arrow import name_labels
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.exceptions import Note

VERSION = 118  # of Stata 14 and later: text in UTF-8
MAX_NAME = 32  # characters in the name of a column of Stata
DATES = ("tc", "td", "tw", "tm", "tq", "th", "ty")
WRITTEN = datetime(1980, 1, 1)  # what files say, so that the same table gives the same bytes
NOTHING: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def _explaining(what: str, advice: str = "save it again.") -> Iterator[None]:
    """Turn errors, of whatever type, into one sentence, and show no warnings."""
    with explaining(what, advice), warnings.catch_warnings(action="ignore"):
        yield


@contextmanager
def _make_file(data: bytes = b"") -> Iterator[str]:
    """Make a file that lasts for a while: pyreadstat reads from disk, and writes to it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        path.write_bytes(data)
        yield str(path)


def _finish(content, frame, label, names, marked, write):
    """Return the columns of a file, with names in place of its label's codes, and further fields."""
    import pyarrow as pa

    columns = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    table, more = name_labels(columns, label, names, write)
    if marked:
        words = (
            f"{content.name} has its own marks for missing values, as in the column {show(marked[0])}: they "
            "are read as missing, and written as missing without the mark."
        )
        more["notes"] = (Note.plain("missing_marks", words),)
    return table, more


# Stata


def read_stata(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a Stata file, and further fields of the table."""
    import pyreadstat
    from pandas.io.stata import StataReader

    with _explaining(f"{content.name} is damaged or not a Stata file"), _make_file(content.data) as path:
        with StataReader(BytesIO(content.data), convert_categoricals=False) as file:
            frame = file.read()
            texts = {name: text for name, text in file.variable_labels().items() if text}
            known, title = file.value_labels(), file.data_label
        _, said = pyreadstat.read_dta(path, user_missing=True, disable_datetime_conversion=True)
        sets = [said.variable_to_label.get(name) for name in said.column_names]  # of names of codes
        kinds = [str(said.original_variable_types[name]).strip("%-")[:2] for name in said.column_names]
        names = {name: known[one] for name, one in zip(frame.columns, sets, strict=True) if one in known}
        about = {"texts": texts, "names": names, "kinds": dict(zip(frame.columns, kinds, strict=True))}
        classes = {int(code): str(word) for code, word in names.get(str(label), {}).items()}
        write = partial(render_stata, format=content.format, about=about | {"title": title})
        return _finish(content, frame, label, classes, list(said.missing_user_values), write)


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
    with _explaining("The table cannot be written for Stata", "write Parquet or CSV."):
        frame.to_stata(
            sink, write_index=False, version=VERSION, convert_dates=dates,
            variable_labels=about.get("texts", {}), value_labels=about.get("names", {}),
            data_label=about.get("title") or None, time_stamp=WRITTEN,
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
    with _make_file(content.data) as path, _explaining(f"{content.name} is damaged or not a SPSS file"):
        frame, said = read(path, dates_as_pandas_datetime=True)
        _, raw = read(path, user_missing=True, metadataonly=True)
        measures = {name: one for name, one in said.variable_measure.items() if one != "unknown"}
        about = {
            "file_label": said.file_label or "",
            "column_labels": {name: text for name, text in said.column_names_to_labels.items() if text},
            "variable_value_labels": said.variable_value_labels,
            "variable_measure": measures,
        }
        names = said.variable_value_labels.get(str(label), {}).items()
        whole = [(code, word) for code, word in names if isinstance(code, int | float) and code % 1 == 0]
        classes = {int(code): str(word) for code, word in whole}
        write = partial(render_spss, format=content.format, about=about)
        return _finish(content, frame, label, classes, list(raw.missing_ranges), write)


def render_spss(columns: Any, format: str, about: Mapping[str, Any] = NOTHING) -> bytes:
    """Return columns as the bytes of an SPSS file; `about` is what the file read says."""
    import pyreadstat

    with _make_file() as path, _explaining("The table cannot be written for SPSS", "write Parquet or CSV."):
        pyreadstat.write_sav(columns.to_pandas(), path, **about)
        data = Path(path).read_bytes()
        return data[:92] + WRITTEN.strftime("%d Jan %y%H:%M:%S").encode() + data[109:]

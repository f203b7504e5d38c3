"""Stata files (.dta): read by pandas, and written back with codes, value labels and variable labels.

Value labels name the classes of a label column; other columns keep their codes. Dates keep their formats.
"""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any

from subsvms.app.tables.coded import name_labels
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.words import first_sentence, show
from subsvms.exceptions import TableError

VERSION = 118  # of Stata 14 and later: text in UTF-8
MAX_NAME = 32  # characters in the name of a column
DATES = ("tc", "td", "tw", "tm", "tq", "th", "ty")


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns of a Stata file, and further fields of the table."""
    import pyarrow as pa
    from pandas.io.stata import StataReader

    with (
        explain_reading(content.name, "Stata"),
        StataReader(BytesIO(content.data), convert_categoricals=False) as file,
    ):
        frame = file.read()
        texts = {name: text for name, text in file.variable_labels().items() if text}
        known = file.value_labels()
        used = dict(zip(frame.columns, file._lbllist, strict=True))  # the set of names of each column
        kinds = {name: kind.strip("%-")[:2] for name, kind in zip(frame.columns, file._fmtlist, strict=True)}
        title = file.data_label
        columns = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    names = {name: known[one] for name, one in used.items() if one in known}
    about = {"texts": texts, "names": names, "kinds": kinds, "title": title}
    classes = {int(code): str(word) for code, word in names.get(str(label), {}).items()}
    table, more = name_labels(columns, label, classes, partial(render_stata, **about))
    gaps = [name for name in frame.columns if frame[name].dtype.kind == "f" and frame[name].isna().any()]
    return table, more | {"notes": note_missing(find_marked(content, gaps), content.name)}


def find_marked(content: Content, gaps: list[str]) -> list[str]:
    """Return the columns, of those with missing values, that mark some as .a to .z."""
    from pandas.io.stata import StataMissingValue

    if not gaps:
        return []
    with explain_reading(content.name, "Stata"):
        import pandas as pd

        frame = pd.read_stata(
            BytesIO(content.data), columns=gaps, convert_missing=True, convert_categoricals=False,
            convert_dates=False,
        )  # fmt: skip
    return [
        name
        for name in gaps
        if any(isinstance(cell, StataMissingValue) and cell.string != "." for cell in frame[name])
    ]


def note_missing(names: Sequence[str], name: str) -> tuple[str, ...]:
    """Return a note if columns have missing values of several kinds, which are not kept apart."""
    if not names:
        return ()
    return (
        f"{name} has its own marks for missing values, as in the column {show(names[0])}: they are read as "
        "missing, and written as missing without the mark.",
    )


@contextmanager
def explain_reading(name: str, kind: str) -> Iterator[None]:
    """Report in one sentence what is wrong with a file; its readers raise errors of many types."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (MemoryError, TableError):
        raise
    except Exception as error:
        reason = first_sentence(error) or type(error).__name__
        raise TableError(f"{name} is damaged or not a {kind} file ({reason}): save it again.") from None


def render(columns: Any, format: str) -> bytes:
    """Return columns as the bytes of a Stata file."""
    return render_stata(columns, {}, {}, {}, "")


def render_stata(columns: Any, texts: dict, names: dict, kinds: dict, title: str) -> bytes:
    """Return columns as the bytes of a Stata file."""
    import pyarrow as pa

    columns = columns.rename_columns(cut_names(columns.column_names))
    frame = columns.to_pandas()
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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame.to_stata(
                sink, write_index=False, version=VERSION, convert_dates=dates, variable_labels=texts,
                value_labels=names, data_label=title or None,
            )  # fmt: skip
    except (ValueError, TypeError, OverflowError, NotImplementedError) as error:
        raise TableError(
            f"The table cannot be written for Stata ({first_sentence(error)}): write Parquet or CSV."
        ) from None
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

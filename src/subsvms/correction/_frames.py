"""Build data frames with the library of the user's own: pandas with its index, or polars."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
from narwhals import dependencies as libraries

from subsvms._validation import NOT_NUMBERS
from subsvms.exceptions import InputError, format_value

Library = Literal["pandas", "polars"]


@dataclass(frozen=True)
class FrameStyle:
    """Which library the user works with, and what the rows are called there."""

    library: Library | None = None  # {"pandas", "polars"} or None: None for arrays and lists
    index: Any = None


def find_style(*tables: Any) -> FrameStyle:
    """Return the style of the first of these that is a data frame or a series."""
    for table in tables:
        if libraries.is_pandas_dataframe(table) or libraries.is_pandas_series(table):
            return FrameStyle("pandas", table.index)
        checks = (libraries.is_polars_dataframe, libraries.is_polars_lazyframe, libraries.is_polars_series)
        if any(check(table) for check in checks):
            return FrameStyle("polars")
    return FrameStyle()


@contextmanager
def naming_correct_table(X: Any) -> Iterator[None]:
    """Let an error about text, dates or missing values in a data frame name the function that takes them."""
    try:
        yield
    except (InputError, TypeError) as error:
        if not libraries.is_into_dataframe(X) or getattr(error.args[0], "kind", "") != NOT_NUMBERS:
            raise
        hint = "Or give the whole frame to subsvms.correct_table, which reads text, dates and missing values."
        raise type(error)(f"{error} {hint}") from None


def name_rows(style: FrameStyle, rows: list[int]) -> list:
    """Return what the user calls these rows: index labels, or numbers."""
    return rows if style.index is None else style.index[rows].tolist()


def list_rows(style: FrameStyle, n_rows: int, rows: Iterable[int], found: Iterable[list[int]]) -> list[list]:
    """Return for each row of a table the rows that were found for it, by name; an empty list for others."""
    lists: list[list] = [[] for _ in range(n_rows)]
    for row, others in zip(rows, found, strict=True):
        lists[row] = name_rows(style, others)
    return lists


def list_carriers(style: FrameStyle, n_rows: int, rows: np.ndarray, found: Any) -> dict[str, Any]:
    """Return the columns about labels that carry a suggestion, of which something was found for some rows."""
    flips = np.zeros(n_rows, dtype=np.int64)
    flips[rows] = found.flips  # 0 where nothing is known
    known = [numbers >= 0 for numbers in found.rows]
    carriers = [numbers[which].tolist() for numbers, which in zip(found.rows, known, strict=True)]
    carried: list[list[float]] = [[] for _ in range(n_rows)]
    for row, weights, which in zip(rows, found.weights, known, strict=True):
        carried[row] = weights[which].tolist()
    listed = list_rows(style, n_rows, rows, carriers)
    return {"flips": np.ma.masked_equal(flips, 0), "carriers": listed, "carried": carried}


def find_rows(style: FrameStyle, labels: Any) -> np.ndarray:
    """Return the numbers of the rows with a label of the user's index, or with several."""
    if style.index is None:
        raise InputError(
            "There is no index, which only data frames of pandas have: give rows, by number from 0."
        )
    if isinstance(labels, list) or getattr(labels, "ndim", 0) == 1:
        found = [np.atleast_1d(_find_label(style.index, label)) for label in list(labels)]
        return np.concatenate([np.zeros(0, dtype=int), *found])
    return _find_label(style.index, labels)


def _find_label(index, label):
    unfit = libraries.get_pandas().errors.InvalidIndexError
    try:
        place = index.get_loc(label)  # a number; a slice or a mask where a label occurs several times
    except (KeyError, TypeError, ValueError, unfit):
        said = "index must be a label of the data frame's index, or a list of such"
        raise InputError(f"{said}; got {format_value(label)}, which it does not have.") from None
    return np.arange(len(index))[place] if isinstance(place, slice | np.ndarray) else np.array(place)


def build_frame(columns: dict[str, Any], style: FrameStyle) -> Any:
    """Return a data frame of these columns; with pandas, or else polars, if the input was neither."""
    installed = [name for name in get_args(Library) if find_spec(name)]
    library = style.library or (installed[0] if installed else None)
    if library is None:
        raise ImportError("to_frame needs pandas or polars: pip install pandas, or pip install polars.")
    plain = {name: _as_column(column, library) for name, column in columns.items()}
    if library == "polars":  # which has no index: a line keeps its number when lines are chosen or sorted
        plain = {"index": np.arange(len(next(iter(columns.values())))), **plain}
    frame = nw.from_dict(plain, backend=library).to_native()
    if style.index is not None:
        frame.index = style.index
    return frame


def _as_column(column, library):
    if not isinstance(column, np.ma.MaskedArray):
        return _as_plain(column)
    module, values = import_module(library), column.tolist()
    if library == "polars":
        return module.Series(values, dtype=module.Int64)
    return module.array(values, dtype="Int64")


def _as_plain(column):
    """Return text as a list: neither library keeps NumPy's fixed-width text."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "UOS":
        return column.tolist()
    return column


def like_labels(labels: np.ndarray, y: Any, rows: np.ndarray | None = None) -> Any:
    """Return labels in the form of `y`: a series with its name and index, or an array."""
    if libraries.is_polars_series(y):
        return nw.new_series(y.name, _as_plain(labels), backend="polars").to_native().cast(y.dtype)
    if not libraries.is_pandas_series(y):
        return labels
    series: Any = nw.new_series("", _as_plain(labels), backend="pandas").to_native()
    series.index = y.index if rows is None else y.index[rows]
    series.name = y.name  # narwhals accepts only text
    return series.astype(y.dtype)

"""The label column of a table: which labels are missing, and whether the others can be classes."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms.app.tables.files import show
from subsvms.exceptions import TableError

MOST_VALUES = 5_000  # distinct labels; more are no classes, and need not be counted to the end
MOST_CLASSES = 200  # one SVM for each pair of classes: 19,900 of them
# What people and programs write where a value is missing; pandas', R's and spreadsheets' among them.
MARKS = frozenset(
    [
        "",
        "NA",
        "N/A",
        "n/a",
        "#N/A",
        "<NA>",
        "NaN",
        "nan",
        "NAN",
        "-nan",
        "NULL",
        "Null",
        "null",
        "None",
        "none",
        "NaT",
        "?",
    ]
)


def read_labels(
    column: Any,
    name: str,
    label: str,
    is_text: bool,
    missing_labels: Sequence[str] = (),
    counts: Sequence[int] | None = None,
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the labels, None where they are missing, and sentences on what is odd about them.

    Empty labels are missing. In text, a mark such as NA or ? is missing beside numbers, where it can be
    nothing else; beside other text it may be a class ("None" of the above), so it is kept and told.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
    name, label : str
        What messages call the table and the column.
    is_text : bool
        Whether the format knows text only, so that numbers come as text.
    missing_labels : sequence of str
        Further labels that mean missing.
    counts : sequence of int, optional
        How many rows each entry of the column stands for; one by default.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_labels(pa.chunked_array([["01", "02", "?", None]]), "'x.csv'", "y", is_text=True)
    (array(['01', '02', None, None], dtype=object), ())
    """
    import pyarrow as pa

    if isinstance(missing_labels, str):
        raise TableError(f"missing_labels must be a list of labels; got the text {missing_labels!r}.")
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    check_type(kind, name, label)
    is_word = _is_word(kind)
    values = column.to_pylist()
    if pa.types.is_decimal(kind):
        values = [None if value is None else float(value) for value in values]
    if _is_number(kind):
        values = [None if value is None or math.isnan(value) else value for value in values]
    marks = {"", *missing_labels}
    notes: list[str] = []
    if is_word:
        values = [None if value is None or not value.strip() or value in marks else value for value in values]
        n_rows: Counter[str] = Counter()
        for value, count in zip(values, counts or [1] * len(values), strict=True):
            if value is not None:
                n_rows[value] += count
        found = [value for value in n_rows if value in MARKS]
        others = [value for value in n_rows if value not in MARKS]
        if is_text and others and all(_as_number(value) is not None for value in others):
            values = [None if value in MARKS else value for value in values]
        elif found:
            listed = ", ".join(f"{value!r} ({n_rows[value]} rows)" for value in sorted(found))
            notes.append(f"Taken as a class, not as missing labels: {listed}.")
    labels = np.full(len(values), None, dtype=object)
    labels[:] = values
    return labels, tuple(notes)


def check_type(kind: Any, name: str, label: str) -> None:
    """Raise an error if a column of this Arrow type cannot hold labels."""
    import pyarrow as pa

    if not (_is_word(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind) or _is_number(kind)):
        raise TableError(
            f"The label column {show(label)} of {name} has the type {kind}: labels must be text, whole "
            "numbers or booleans, so convert it first."
        )


def _is_word(kind):
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def _is_number(kind):
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _as_number(label: Any) -> float | None:
    """Return a label as a number, or None if it is not one."""
    try:
        return float(label)
    except ValueError:
        return None


def check_classes(labels: Iterable, name: str, label: str) -> None:
    """Raise an error unless the labels are at least two classes, and not too many.

    Parameters
    ----------
    labels : iterable
        None where they are missing.
    name, label : str
        What messages call the table and the column.

    Examples
    --------
    >>> check_classes(["a", "a", None], "'x'", "y")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    subsvms.exceptions.TableError: The label column 'y' of 'x' holds one class only, ...
    """
    distinct = sorted({value for value in labels if value is not None})
    what = f"The label column {show(label)} of {name}"
    if not distinct:
        raise TableError(f"{what} holds no labels at all: at least two classes are needed.")
    if len(distinct) == 1:
        raise TableError(f"{what} holds one class only, {show(distinct[0])}: at least two are needed.")
    numbers = [_as_number(value) for value in distinct]
    fractions = [value for value, number in zip(distinct, numbers, strict=True) if _has_fraction(number)]
    numeric = all(number is not None for number in numbers)
    if numeric and (fractions or len(distinct) > MOST_CLASSES):
        found = f"such as {show(fractions[0])}" if fractions else f"that take {len(distinct)} values"
        raise TableError(
            f"{what} looks continuous, with numbers {found}: choose a column of classes, or put the numbers "
            "into a few named ranges first."
        )
    if len(distinct) > MOST_CLASSES:
        raise TableError(
            f"{what} has {len(distinct)} classes, such as {show(distinct[0])}, but at most {MOST_CLASSES} "
            "are possible: choose another column, or join rare classes."
        )


def _has_fraction(number: float | None) -> bool:
    return number is not None and math.isfinite(number) and not number.is_integer()


@dataclass(frozen=True, eq=False)
class Labels:
    """What the labels of a table mean."""

    column: str
    classes: np.ndarray  # (n_classes,)
    numbers: dict[Any, int]  # label as it stands in the table -> class number, -1 if it means none
    notes: tuple[str, ...] = ()

    def read(self, batch: Any) -> np.ndarray:
        """Return the class number of each row of a batch (pyarrow.Table), -1 where there is no label."""
        values, codes = encode_labels(batch[self.column])
        unknown = [value for value in values if value not in self.numbers]
        if unknown:
            raise TableError(
                f"The label {unknown[0]!r} was not in the table that was learned from: learn from all of it."
            )
        return np.array([self.numbers[value] for value in values] + [-1])[codes]

    def name(self, numbers: np.ndarray) -> np.ndarray:
        """Return the labels with these class numbers; None for -1."""
        names = np.full(len(self.classes) + 1, None, dtype=object)
        names[:-1] = self.classes.tolist()
        return names[numbers]


def encode_labels(column: Any) -> tuple[list, np.ndarray]:
    """Return the distinct labels of a column, and which of them each row has; -1 where there is none.

    Parameters
    ----------
    column : pyarrow.ChunkedArray

    Examples
    --------
    >>> import pyarrow as pa
    >>> encode_labels(pa.chunked_array([["no", None], ["yes", "no"]]))
    (['no', 'yes'], array([ 0, -1,  1,  0]))
    """
    import pyarrow as pa
    from pyarrow import compute

    column = column.cast(plain_type(column.type))
    if pa.types.is_floating(column.type):
        column = compute.add(column, 0.0)  # so that -0.0 and 0.0 are one label
    whole = column.combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    coded = whole.dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    nothing = [code for code, value in enumerate(values) if value != value]
    if nothing:  # NaN, which is no label and equals nothing
        codes[np.isin(codes, nothing)] = -1
        values[nothing[0]] = None
    return values, codes


def plain_type(kind: Any) -> Any:
    """Return the Arrow type in which labels are counted: without dictionaries, views and decimals."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return pa.float64()
    return pa.string() if kind == pa.string_view() else kind


def read_meaning(
    counts: dict[Any, int], kind: Any, name: str, label: str, *, is_text: bool, missing: Iterable[str] = ()
) -> Labels:
    """Return what labels mean, from how often each occurs.

    Parameters
    ----------
    counts : dict
        By label as it stands in the table; None for cells without one.
    kind : pyarrow.DataType
        Of the label column.
    name, label : str
        What messages call the table and the column.
    is_text, missing
        As in `subsvms.app.tables.labels.read_labels`.
    """
    import pyarrow as pa

    values = list(counts)
    column = pa.chunked_array([pa.array(values, plain_type(kind))])
    found, notes = read_labels(column, name, label, is_text, tuple(missing), [counts[one] for one in values])
    check_classes(found, name, label)
    classes = sorted({value for value in found if value is not None})
    numbers = {
        value: -1 if meant is None else classes.index(meant)
        for value, meant in zip(values, found.tolist(), strict=True)
    }
    return Labels(label, np.array(classes), numbers, notes)


def check_few(values: list, name: str, label: str) -> None:
    """Raise an error if a column holds far more values than there can be classes."""
    if len(values) > MOST_VALUES:
        check_classes(values, name, label)

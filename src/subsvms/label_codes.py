"""Labels as class numbers, for tables that are read in pieces: each piece holds only some of the labels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsvms.files import TableError
from subsvms.labels import check_classes, read_labels
from subsvms.pool import MOST_VALUES


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
        As in `subsvms.labels.read_labels`.
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

"""Labels put into the columns of a table, with the type of the old ones or as codes that have names.

Of codes with names, people see the names, and files keep the codes. Hugging Face's ClassLabel, the value
labels of Stata and those of SPSS are such codes. Which names a ClassLabel has is said in the schema of each
Arrow or Parquet file that its library writes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from subsvms.app.words import show
from subsvms.exceptions import TableError

HUGGING_FACE = b"huggingface"  # key in the schema of a file
UNLABELLED = -1  # Hugging Face's code of a row without a label


@dataclass(frozen=True, eq=False)
class Coded:
    """A table with codes in its label column."""

    columns: Any  # as in the file
    label: str | None  # name of the label column
    codes: Mapping[str, int]  # the code of each name; empty if the labels are as in the file
    render: Callable[[Any], bytes]  # returns a table as the bytes of a file

    def replace_labels(self, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]) -> bytes:
        """Return the file with new labels, and further columns directly after them."""
        if self.codes:
            labels, given = ([self.codes.get(name) for name in names] for names in (labels, given))
        return self.render(put_labels(self.columns, self.label, labels, given, extra))

    def keep_rows(self, keep: np.ndarray) -> "Coded":
        """Return the file without some rows."""
        return replace(self, columns=self.columns.filter(np.asarray(keep)))


def name_labels(
    columns: Any,
    label: str | None,
    names: Mapping[int, str],
    render: Callable[[Any], bytes],
    *,
    missing: Sequence[int] = (),
) -> tuple[Any, dict[str, Any]]:
    """Return a table with names in place of codes, and what is needed to write the codes back."""
    import pyarrow as pa

    plain = columns, {"text": Coded(columns, label, {}, render)}
    if label is None or label not in columns.column_names or not names:
        return plain
    place = columns.column_names.index(label)
    kind = columns.column(place).type
    if not pa.types.is_integer(kind) and not pa.types.is_floating(kind):
        return plain
    cells = [None if cell is None or cell != cell else cell for cell in columns.column(place).to_pylist()]
    used = {cell for cell in cells if cell is not None} - set(missing)
    if any(code % 1 for code in used):
        return plain
    named = {code: names.get(code, str(int(code))) for code in sorted(used | set(names))}
    if len(set(named.values())) < len(named):
        return plain
    shown = [None if cell is None or cell in missing else named[cell] for cell in cells]
    coded = Coded(columns, label, {name: int(code) for code, name in named.items()}, render)
    return columns.set_column(place, label, pa.array(shown, pa.string())), {"text": coded}


def find_class_names(schema: Any, label: str | None) -> dict[int, str]:
    """Return the names of a ClassLabel by code, from the schema of an Arrow or Parquet file."""
    try:
        features = json.loads((schema.metadata or {})[HUGGING_FACE])["info"]["features"]
        names = features[label]["names"] if features[label]["_type"] == "ClassLabel" else []
    except (ValueError, LookupError, TypeError, RecursionError):  # not by that library, or changed since
        return {}
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return {}
    return dict(enumerate(names))


def put_labels(
    columns: Any, label: str | None, labels: Sequence, given: Sequence, extra: Mapping[str, Sequence]
) -> Any:
    """Return the table with new labels of the same type, and further columns directly after them."""
    import pyarrow as pa

    after = columns.num_columns
    if label is not None:
        place = columns.column_names.index(label)
        field = columns.schema.field(place)
        column = columns.column(place)
        if labels != given:
            cells = zip(labels, given, column.to_pylist(), strict=True)  # a missing label may be NaN or " "
            column = _cast_labels([cell if new == old else new for new, old, cell in cells], column, label)
        columns = columns.set_column(place, field.with_nullable(True) if None in labels else field, column)
        after = place + 1
    for name, values in reversed(list(extra.items())):
        try:
            array = pa.array(values)
        except (pa.ArrowException, OverflowError):
            array = pa.array([None if value is None else str(value) for value in values], pa.string())
        columns = columns.add_column(after, name, array)
    return columns


def _cast_labels(labels, column, label):
    """Return labels with the type of a column; a dictionary keeps its entries and their order."""
    import pyarrow as pa

    kind = column.type
    try:
        if not pa.types.is_dictionary(kind):
            return pa.chunked_array([as_type(labels, kind)])
        return pa.chunked_array([encode_like(as_type(labels, kind.value_type), column)])
    except (pa.ArrowException, ArithmeticError, TypeError, ValueError) as error:
        raise TableError(
            f"The new labels do not fit the column {show(label)} of type {kind} ({error})."
        ) from None


def encode_like(values: Any, column: Any) -> Any:
    """Return an array with the type of a dictionary column, whose entries come first and in their order."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type
    entries = column.unify_dictionaries().combine_chunks()
    entries = entries.chunk(0).dictionary if isinstance(entries, pa.ChunkedArray) else entries.dictionary
    new = values.unique().drop_null()
    entries = pa.concat_arrays([entries, new.filter(compute.invert(compute.is_in(new, entries)))])
    places = compute.index_in(values, entries).cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(places, entries, ordered=kind.ordered)


def as_type(values: Sequence, kind: Any) -> Any:
    """Return plain values as an array of this type."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):  # pyarrow does not take plain numbers as decimals
        values = [None if value is None else Decimal(value) for value in values]
    return pa.array(values, kind)

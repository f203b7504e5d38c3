"""Tables whose labels are codes with names: people see the names, and files keep the codes.

Hugging Face's ClassLabel, the value labels of Stata and those of SPSS are such codes. Which names a
ClassLabel has is said in the schema of each Arrow or Parquet file that its library writes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subsvms.app.tables.arrow import put_labels

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

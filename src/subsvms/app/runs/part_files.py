"""The files of a run in parts: Parquet, a file for each unit of the table.

A file is written under a temporary name and renamed when it is complete.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.names import TOKEN
from subsvms.app.runs.issue_file import DIGITS
from subsvms.app.tables.arrow import as_type, encode_like
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import number_name
from subsvms.correction._result import Correction
from subsvms.exceptions import TableError

SHOWN_ROWS = 4096  # that show which columns repeat values


@contextmanager
def open_new(folder: Path, kind: str, name: str, token: str = "") -> Iterator[Path]:
    """Provide a temporary path; the file is renamed when the block succeeds, and removed if it fails.

    `token` is that of the run: a worker left over from an earlier one must not write into its folder. Two
    workers may process the same unit at once, if a cluster takes a slow worker for dead.
    """
    path = folder / kind / f".{name}-{secrets.token_hex(8)}"
    try:
        yield path
        if token:
            own = folder / TOKEN
            if not own.is_file() or own.read_text(encoding="utf-8") != token:
                raise TableError("This part belongs to an earlier run that was stopped.")
        os.replace(path, folder / kind / name)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def open_writer(folder: Path | None, number: int, kinds: tuple[str, ...], token: str) -> Iterator:
    """Provide write(kind, table), which adds rows to the unit's part of that kind; all of them or none."""
    if folder is None:
        yield lambda kind, table: None
        return
    files: dict[str, Any] = {}
    with ExitStack() as stack:
        places = {
            kind: stack.enter_context(open_new(folder, kind, name_part(number), token)) for kind in kinds
        }

        def write(kind, table):
            if kind not in files:
                files[kind] = stack.enter_context(open_parquet(places[kind], table))
            files[kind].write_table(table)

        yield write


def open_parquet(path: Path, first: Any) -> Any:
    """Return a writer of tables like this one, which is the first of them.

    Numbers that hardly repeat take six times as long to write with a dictionary, and more space.
    """
    import pyarrow as pa
    from pyarrow import compute, parquet

    start = first.slice(0, SHOWN_ROWS)
    varied = [
        pa.types.is_primitive(column.type) and 2 * compute.count_distinct(column).as_py() > len(start)
        for column in start.columns
    ]
    nested = any(pa.types.is_nested(column.type) for column in start.columns)  # has other names in Parquet
    names = [name for name, found in zip(first.column_names, varied, strict=True) if not found]
    return parquet.ParquetWriter(path, first.schema, use_dictionary=nested or names)


def name_part(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:06d}.parquet"


def apply_correction(meaning: Labels, batch: Any, correction: Correction) -> Any:
    """Return a batch with its labels corrected, the given ones next to them, and weights if asked for."""
    import pyarrow as pa

    place = batch.column_names.index(meaning.column)
    new = correction.filled | correction.changed | correction.decided
    batch = replace_labels(batch, meaning, correction.given, new, correction.labels)
    if correction.settings.action == "weight":
        weights = pa.array(np.round(correction.sample_weight, DIGITS))
        batch = batch.add_column(place + 2, number_name("sample_weight", batch.column_names), weights)
    return batch if correction.kept.all() else batch.filter(pa.array(correction.kept))


def replace_labels(
    batch: Any, meaning: Labels, given: np.ndarray, new: np.ndarray, labels: np.ndarray
) -> Any:
    """Return a batch with other labels in some rows, and the given ones next to them."""
    import pyarrow as pa
    from pyarrow import compute

    place = batch.column_names.index(meaning.column)
    field, column, names = batch.schema.field(place), batch.column(place), pa.array(meaning.classes)
    beside = names.take(pa.array(given, mask=given < 0))
    if meaning.merged:
        new = new | (given >= 0)
        beside = compute.if_else(pa.array(given < 0), None, column.cast(names.type).combine_chunks())
    if new.any():
        coded = pa.types.is_dictionary(field.type)
        kind = field.type.value_type if coded else field.type
        plain = column.cast(kind).combine_chunks()
        changed = compute.replace_with_mask(plain, pa.array(new), as_type(labels[new].tolist(), kind))
        batch = batch.set_column(place, field, encode_like(changed, column) if coded else changed)
    return batch.add_column(place + 1, number_name(f"{meaning.column}_given", batch.column_names), beside)

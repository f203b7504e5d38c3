"""The files of a run in parts: Parquet, a file for each unit of the table.

A part is written under a temporary name and renamed when it is complete. The table with the labels that
people decided (`subsvms apply`) is a folder of such files as well, filled under a hidden name.
"""

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._effort import announce
from subsvms._labels import Classes
from subsvms.app.names import FINAL_PARTS, SCRAP, TOKEN
from subsvms.app.runs.folder import fill_folder, refuse, remove_known
from subsvms.app.runs.record import Record
from subsvms.app.runs.source import Source, join_digests, release_memory
from subsvms.app.runs.staging import find_part_format, prepare_source
from subsvms.app.runs.stored import DIGITS
from subsvms.app.tables.addresses import as_place
from subsvms.app.tables.arrow import as_type, encode_like
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import number_name
from subsvms.app.tables.where import name_files
from subsvms.app.words import show
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
        name = name_part(number)
        places = {kind: stack.enter_context(open_new(folder, kind, name, token)) for kind in kinds}

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


# The table after a review


def check_final(target: Path, *, force: bool) -> None:
    """Raise an error if there is something that must not be replaced."""
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        words = "is not a folder, but the table is written in parts: choose another name."
        raise TableError(f"{str(target)!r} {words}")
    names = sorted(path.name for path in target.iterdir())
    foreign = [name for name in names if not FINAL_PARTS.fullmatch(name)]
    if foreign:
        refuse(target, "holds {name}, which subsvms apply did not write: {other}.", name=show(foreign[0]))
    if names and not force:
        refuse(target, "already exists: {other}, or replace it{force:aside}.")


def write_final(
    record: Record, target: Path, labels: Mapping[int, Any], dropped: Iterable[int] = (), *, force: bool
) -> int:
    """Write the table with other labels in some rows, and the given ones next to them; all else stays."""
    check_same(record)
    paths = [as_place(one) for one in record.input.paths]
    with fill_folder(target, force=force, check=check_final) as folder:
        base, options = as_place(str(record.input.base)), record.options
        source = prepare_source(paths, base, find_part_format(paths, options.format), options, folder)
        assert record.labels is not None  # without them the run could not be opened
        meaning = Labels(options.label, Classes.of(record.labels.classes).names, dict(record.labels.values))
        n_changed = write_parts(source, meaning, labels, dropped, folder)
        remove_known(folder, SCRAP.fullmatch)
    return n_changed


def check_same(record: Record) -> None:
    """Raise an error if the table is not the one that a run read."""
    paths = [as_place(one) for one in record.input.paths]
    gone = [path for path in paths if not path.is_file()]
    if gone:
        raise TableError(f"There is no file {str(gone[0])!r}, which the run read: put it back.")
    digests: list[str] = []
    for path in paths:
        announce("checking the table", len(digests), len(paths))
        digests.append(digest_file(path))
    if join_digests(digests) != record.input.sha256:
        raise TableError(
            f"{name_files(paths)} has changed since the run: correct it again, or restore the table that the "
            "run read."
        )


def write_parts(
    source: Source, meaning: Labels, labels: Mapping[int, Any], dropped: Iterable[int], folder: Path
) -> int:
    """Write a file for each unit of a table, and return how many labels differ from the given ones."""
    rows = np.array(sorted(labels), dtype=np.int64)
    codes = Classes(meaning.classes).number([labels[row] for row in rows.tolist()])
    left_out, n_changed = np.array(sorted(dropped), dtype=np.int64), 0
    for unit in source.units:
        with ExitStack() as stack:
            file = None
            for first, batch in source.read(unit):
                given = meaning.read(batch)
                new = given.copy()
                inside = slice(*np.searchsorted(rows, [first + 1, first + 1 + len(batch)]))
                new[rows[inside] - 1 - first] = codes[inside]
                gone = left_out[slice(*np.searchsorted(left_out, [first + 1, first + 1 + len(batch)]))]
                kept = ~np.isin(np.arange(first + 1, first + 1 + len(batch)), gone)
                n_changed += int(np.sum((new != given) & kept))
                batch = replace_labels(batch, meaning, given, new != given, meaning.name(new))
                if file is None:
                    file = stack.enter_context(open_parquet(folder / name_part(unit.number), batch))
                file.write_table(batch if kept.all() else batch.filter(kept))
        release_memory()
        announce("writing", unit.first + unit.n_rows, source.n_rows or 0)
    return n_changed

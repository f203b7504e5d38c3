"""The table of a run in parts with the labels that people decided: Parquet files, like those in `corrected`.

It is read again by row group, and one batch is in memory at a time. The folder is filled under a hidden name
and moved to its place when it is complete, so whatever stops it, the earlier folder is still there or the new
one is.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._effort import announce
from subsvms._labels import Classes
from subsvms.app.names import FINAL_PARTS, SCRAP
from subsvms.app.runs.folder import fill_folder, remove_known
from subsvms.app.runs.part_files import name_part, open_parquet, replace_labels
from subsvms.app.runs.record import Record
from subsvms.app.runs.source import Source, join_digests, release_memory
from subsvms.app.runs.staging import find_part_format, prepare_source
from subsvms.app.tables.addresses import as_place
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.where import name_files
from subsvms.app.words import show
from subsvms.exceptions import TableError


def check_final(target: Path, *, force: bool) -> None:
    """Raise an error if there is something that must not be replaced."""
    shown = repr(str(target))
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        raise TableError(f"{shown} is not a folder, but the table is written in parts: choose another name.")
    names = sorted(path.name for path in target.iterdir())
    foreign = [name for name in names if not FINAL_PARTS.fullmatch(name)]
    if foreign:
        raise TableError(
            "{shown} holds {name}, which subsvms apply did not write: choose another folder{output:aside}.",
            shown=shown, name=show(foreign[0]),
        )  # fmt: skip
    if names and not force:
        raise TableError(
            "{shown} already exists: choose another folder{output:aside}, or replace it{force:aside}.",
            shown=shown,
        )


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

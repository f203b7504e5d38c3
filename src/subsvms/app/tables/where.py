"""Where a table is: the files of a path, a pattern, a list, a folder or a data set, here or at an address.

Three kinds of folders say themselves which of their files count. `save_to_disk` of Hugging Face's datasets
writes Arrow streams, and their order to state.json. A Delta table is a folder of Parquet files and a log,
which deltalake (`subsvms[delta]`) reads; other files are leftovers of earlier versions. Iceberg is refused.
"""

import glob
import json
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from subsvms.app.names import RECORD
from subsvms.app.quoting import explaining, show, suggest_file
from subsvms.app.tables.addresses import Address, Place, as_place, is_address
from subsvms.app.tables.files import STANDARD_INPUT, strip_compression
from subsvms.app.tables.formats import FORMATS, SUFFIXES, check_format
from subsvms.exceptions import TableError, is_text

STATE, INFO, SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"  # of Hugging Face's datasets
UNDERSTOOD = {"timestampNtz", "deletionVectors"}  # what a Delta table may ask of its readers


def find_files(where: str | os.PathLike | Sequence[str | os.PathLike]) -> Sequence[Place]:
    """Return the files that a path, an address, a pattern such as "part-*.parquet", or a list names."""
    if not isinstance(where, str | os.PathLike):
        if not where:
            raise TableError("No file was given: give the name of at least one.")
        return [path for one in where for path in find_files(one)]
    files = _find(where)
    for path in files:
        if not is_text(str(path)):
            raise TableError(f"The name of the file {show(str(path))} is not valid UTF-8: rename it.")
    return files


def _find(where):
    path = as_place(where)
    name = str(path) if is_address(os.fspath(where)) else os.fspath(where)  # the path of a file://
    if name == STANDARD_INPUT or path.exists():
        if path.is_dir() and isinstance(path, Path) and is_data_set(path):
            return _list_data_files(path)
        if path.is_dir():
            raise TableError(
                "{name!r} is a folder: use {engine=local}, or give a file in it or, unless it is a Delta "
                "table, a pattern such as {pattern!r}.", name=name, pattern=str(path / "*.parquet"),
            )  # fmt: skip
        return [path]
    if glob.has_magic(name):
        found = _match(path) if isinstance(path, Address) else map(Path, glob.glob(name, recursive=True))
        files = sorted((one for one in found if isinstance(one, Address) or not one.is_dir()), key=str)
        if files:
            return files
        raise TableError(f"No file matches the pattern {name!r}: check its name and folder.")
    hint = suggest_file(path) if isinstance(path, Path) else ": check its name and folder."
    raise TableError(f"There is no file {name!r}{hint}")


def _match(pattern: Address) -> list[Address]:
    """Return the files at addresses that fit a pattern, sorted."""
    above = _find_plain(pattern)
    start = len(above.parts)
    files = above.list_files() if above.is_dir() else []
    return [file for file in files if _fits(file.parts[start:], pattern.parts[start:])]


def _fits(parts, pattern):
    """Return whether the parts of a path fit those of a pattern, as in `glob`: ** stands for any folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
    if not parts or (parts[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _find_plain(where):
    """Return the folder above the first part of a path or an address that is a pattern."""
    while glob.has_magic(str(where)):
        where = where.parent
    return where


def name_files(paths: Sequence[Place]) -> str:
    """Return what messages call a table of these files."""
    return repr(str(paths[0])) if len(paths) == 1 else f"{str(paths[0])!r} and {len(paths) - 1} more"


def list_files(where: str | os.PathLike | Sequence[str | os.PathLike]) -> tuple[Place, Sequence[Place]]:
    """Return the folder below which the names of folders are columns, and the files, sorted by path."""
    base = as_place(where) if isinstance(where, str | os.PathLike) else None
    if base is not None and base.is_dir():
        return base, _list_folder(base)
    found = list(dict.fromkeys(find_files(where)))
    remote = sorted(one for one in found if isinstance(one, Address))
    local = sorted(one for one in found if isinstance(one, Path))
    if base is not None:
        return _find_base(base, remote or local), remote or local
    if remote:
        return _find_root(remote, local), remote
    return Path(os.path.commonpath([file.parent for file in local])), local


def _list_folder(folder):
    """Return the files of the table in a folder, sorted unless the folder says in which order they come."""
    if isinstance(folder, Path) and (folder / RECORD).is_file():
        words = "{folder!r} is the folder of a run: give the table itself, or repeat the run{from_run:aside}."
        raise TableError(words, folder=str(folder))
    if isinstance(folder, Path) and is_data_set(folder):
        return _list_data_files(folder)
    if is_delta(folder):
        return _list_delta_files(folder)
    if isinstance(folder, Address):
        files = folder.list_files()
    else:
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not _is_output(path, folder))
    start = len(folder.parts)  # below which the names of logs and markers start in their own way
    files = [file for file in files if not any(part[0] in "._" for part in file.parts[start:] if part)]
    if not files:
        raise TableError(f"The folder {str(folder)!r} contains no files of a table: choose another one.")
    if any(file.parent.name == "metadata" and file.name.endswith(".metadata.json") for file in files):
        raise TableError(  # of its files, some may not count
            f"{str(folder)!r} is an Iceberg table, which subsvms does not read: write its current rows to "
            "Parquet files first, or pass them to subsvms.scale."
        )
    return files


def _find_base(pattern, files):
    """Return the folder of a file, or the one before the first * of a pattern of files that all count."""
    folder = plain = _find_plain(pattern)
    if plain in files:
        return plain.parent
    while "=" in folder.name:  # a value of a column
        folder = folder.parent
    if is_delta(folder):
        raise TableError(
            f"{str(pattern)!r} is a pattern of files in a Delta table, whose log tells which files count: "
            f"give its folder, {str(folder)!r}."
        )
    return plain


def _find_root(remote, local):
    """Return the folder that contains all files; raise an error if they do not lie in the same place."""
    first = remote[0]
    other = next((one for one in [*remote, *local] if getattr(one, "root", None) != first.root), None)
    if other is not None:
        raise TableError(
            f"{str(first)!r} and {str(other)!r} do not lie in the same place: copy all files to one."
        )
    scheme, _ = first.root
    inner = os.path.commonpath([one.parent.text.removeprefix(f"{scheme}://") for one in remote])
    return Address(f"{scheme}://{inner}")


def _is_output(path, base):
    """Return whether a run wrote a file."""
    above = [base / parent for parent in path.relative_to(base).parents[:-1]]
    return any((folder / name).is_file() for folder in above for name in (RECORD, ".lock"))


def find_common_format(paths: Sequence[Place], format: str | None = None) -> str:
    """Return the format of the files, which must have the same one, by their suffixes."""
    check_format(format)
    if format is not None:
        return format
    kinds = {path: SUFFIXES.get(strip_compression(path)[0].suffix.lower()) for path in paths}
    first = paths[0]
    for path, kind in kinds.items():
        if kind is None:
            raise TableError(
                f"{str(path)!r} has none of the suffixes {', '.join(SUFFIXES)}: move it elsewhere, use a "
                "pattern such as 'folder/*.parquet' instead of the folder, or name the format."
            )
        if kind != kinds[first]:
            raise TableError(
                f"{str(path)!r} is {kind}, but {str(first)!r} is {kinds[first]}: all files of a table must "
                "have the same format."
            )
    return str(kinds[first])


# Hugging Face's datasets


def is_data_set(folder: Path) -> bool:
    """Return whether `save_to_disk` made a folder, of one data set or of several splits."""
    return (folder / SPLITS).is_file() or ((folder / STATE).is_file() and (folder / INFO).is_file())


def _list_data_files(folder):
    """Return the Arrow files of a data set in their order."""
    shown = repr(str(folder))
    if (folder / SPLITS).is_file():
        splits = sorted(path.name for path in folder.iterdir() if is_data_set(path))
        example = f", such as {str(folder / splits[0])!r}" if splits else ""
        listed = ", ".join(splits) or "none that can be read"
        raise TableError(f"{shown} holds several data sets ({listed}): give the folder of one{example}.")
    try:
        state = json.loads((folder / STATE).read_bytes())
        names = [str(one["filename"]) for one in state["_data_files"]]
        indices = state.get("_indices_data_files")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise TableError(f"{str(folder / STATE)!r} is damaged: save the data set again.") from None
    if indices:
        raise TableError(f"{shown} holds a selection of rows only: save flatten_indices() of the data set.")
    for name in names:  # nobody reads a file elsewhere because this one says so
        inside = Path(name).name == name and Path(name).suffix in FORMATS["feather"].suffixes
        if not inside or not (folder / name).is_file():
            raise TableError(
                f"{shown} has no Arrow file {name[:60]!r}, which its {STATE} names: save it again."
            )
    if not names:
        raise TableError(f"{shown} is a data set without rows: choose another one.")
    return [folder / name for name in names]


# Delta tables


def is_delta(folder: Place) -> bool:
    """Return whether a folder is a Delta table."""
    return (folder / "_delta_log").is_dir()


def _list_delta_files(folder):
    """Return the files of the current version of a Delta table, sorted."""
    table, name = _open_delta(folder), repr(str(folder))
    asked = set(table.protocol().reader_features or ())
    unknown = asked - UNDERSTOOD
    if (table.metadata().configuration or {}).get("delta.columnMapping.mode", "none") != "none":
        unknown.add("columnMapping")
    if unknown:
        raise TableError(
            f"The Delta table {name} uses {', '.join(sorted(unknown))}, which subsvms does not read: write a "
            "copy of it without."
        )
    if "deletionVectors" in asked and _has_deleted(table):
        raise TableError(
            f"The Delta table {name} has deletion vectors, which subsvms does not apply: remove these rows "
            "from its files first (REORG TABLE ... APPLY (PURGE))."
        )
    files = sorted(table.file_uris())
    for column in table.metadata().partition_columns:
        if not all(re.search(rf"[\\/]{re.escape(column)}=", file) for file in files):
            raise TableError(
                f"The Delta table {name} does not name the values of {column!r} in its folders: write a copy "
                "of it that does."
            )
    if not files:
        raise TableError(f"The Delta table {name} has no rows: choose another one.")
    if isinstance(folder, Address):
        return [as_place(file) for file in files]
    # It encodes the name of the folder, in which a space is %20, but not what is below it.
    root = table.table_uri.removeprefix("file://")
    return [folder.resolve() / file.removeprefix(root) for file in files]


def _has_deleted(table):
    try:
        return any(batch.num_rows for batch in table.deletion_vectors())
    except Exception:  # vectors that deltalake cannot read
        return True


def find_layout(folder: Place) -> dict[str, Any]:
    """Return what pyarrow.dataset should know about files below a folder: year=2024 is a column."""
    # The files of a Delta table may differ: columns that were added later are missing in the earlier ones.
    if not is_delta(folder) or not find_spec("deltalake"):
        return {"partitioning": "hive"}
    import pyarrow as pa
    from pyarrow import dataset

    table = _open_delta(folder)
    schema = pa.schema(table.schema().to_arrow())
    fields = [schema.field(name) for name in table.metadata().partition_columns]
    return {"partitioning": dataset.partitioning(pa.schema(fields), flavor="hive"), "schema": schema}


def _open_delta(folder):
    if not find_spec("deltalake"):
        raise TableError(
            f"{str(folder)!r} is a Delta table, whose log tells which files count: run pip install "
            "'subsvms[delta]' to read it."
        )
    from deltalake import DeltaTable

    advice = "check its log, and the keys in the environment if it lies elsewhere."
    with explaining(f"The Delta table {str(folder)!r} cannot be read", advice):
        return DeltaTable(str(folder))

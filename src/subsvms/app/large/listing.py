"""Which files a large table consists of: those of a folder, a pattern or a list, here or at an address."""

import glob
import itertools
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from subsvms.app.large.delta import is_delta, list_delta_files
from subsvms.app.names import RECORD
from subsvms.app.tables.addresses import Address, Place, as_place, find_plain, find_remote
from subsvms.app.tables.compression import strip_compression
from subsvms.app.tables.files import check_format, find_files
from subsvms.app.tables.formats import SUFFIXES
from subsvms.app.tables.hugging_face import is_data_set, list_data_files
from subsvms.exceptions import TableError


def name_files(paths: Sequence[Place]) -> str:
    """Return what messages call a table of these files."""
    return repr(str(paths[0])) if len(paths) == 1 else f"{str(paths[0])!r} and {len(paths) - 1} more"


def list_files(where: str | os.PathLike | Sequence[str | os.PathLike]) -> tuple[Place, Sequence[Place]]:
    """Return the folder below which the names of folders are columns, and the files, sorted by path."""
    base = as_place(where) if isinstance(where, str | os.PathLike) else None
    if isinstance(base, Address):
        return _list_remote(base)
    if base is not None and base.is_dir():
        if (base / RECORD).is_file():
            raise TableError(
                f"{str(where)!r} is the folder of a run: give the table itself, or repeat the run (--from)."
            )
        if is_data_set(base):
            return base, list_data_files(base)
        if is_delta(base):
            return base, list_delta_files(base)
        files = [path for path in base.rglob("*") if path.is_file() and _belongs(path, base)]
        if not files:
            raise TableError(f"The folder {str(where)!r} contains no files of a table: choose another one.")
        _refuse_iceberg(base, files)
        return base, sorted(files)
    found = list(dict.fromkeys(find_files(where)))
    remote = sorted(one for one in found if isinstance(one, Address))
    local = sorted(one for one in found if isinstance(one, Path))
    if remote:
        return _find_root(remote, local), remote
    if base is not None:
        plain = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), base.parts))
        return _find_base(base, plain, local), local
    return Path(os.path.commonpath([file.parent for file in local])), local


def _list_remote(where: Address) -> tuple[Place, Sequence[Place]]:
    """Return what `list_files` does, for an address."""
    files = find_remote(where)
    if files:
        return _find_base(where, find_plain(where), files), files
    if is_delta(where):
        return where, list_delta_files(where)
    start = len(where.text)
    files = [file for file in where.list_files() if not _is_hidden(file.text[start:].split("/"))]
    if not files:
        raise TableError(f"The folder {str(where)!r} contains no files of a table: choose another one.")
    _refuse_iceberg(where, files)
    return where, files


def _find_base(pattern: Place, plain: Place, files: Sequence[Place]) -> Place:
    """Return the folder of a file, or the one before the first * of a pattern.

    A pattern in a Delta table is refused: some of the files may no longer count.
    """
    if plain in files:
        return plain.parent
    folder = plain
    while "=" in folder.name:  # a value of a column
        folder = folder.parent
    if is_delta(folder):
        raise TableError(
            f"{str(pattern)!r} is a pattern of files in a Delta table, whose log tells which files count: "
            f"give its folder, {str(folder)!r}."
        )
    return plain


def _refuse_iceberg(folder: Place, files: Sequence[Place]) -> None:
    """Raise an error if a folder is an Iceberg table: of its files, some may not count."""
    if any(file.parent.name == "metadata" and file.name.endswith(".metadata.json") for file in files):
        raise TableError(
            f"{str(folder)!r} is an Iceberg table, which subsvms does not read: write its current rows to "
            "Parquet files first, or pass them to subsvms.scale."
        )


def _find_root(remote: list[Address], local: list[Path]) -> Address:
    """Return the folder that contains all files; raise an error if they do not lie in the same place."""
    first = remote[0]
    other = next((one for one in [*remote, *local] if getattr(one, "root", None) != first.root), None)
    if other is not None:
        raise TableError(
            f"{str(first)!r} and {str(other)!r} do not lie in the same place: copy all files of the table "
            "to one."
        )
    scheme, _ = first.root
    inner = os.path.commonpath([one.parent.text.removeprefix(f"{scheme}://") for one in remote])
    return Address(f"{scheme}://{inner}")


def _is_hidden(parts: Iterable[str]) -> bool:
    """Return whether a path leads to a log or marker."""
    return any(part.startswith((".", "_")) for part in parts)


def _belongs(path, base):
    """Return whether a file is part of the table: not a log or marker, and not written by a run."""
    inner = path.relative_to(base)
    if _is_hidden(inner.parts):
        return False
    above = [base / parent for parent in inner.parents[:-1]]
    return not any((folder / name).is_file() for folder in above for name in (RECORD, ".lock"))


def find_format(paths: Sequence[Place], format: str | None = None) -> str:
    """Return the format of the files, which must have the same one, by their suffixes."""
    check_format(format)
    if format is not None:
        return format
    kinds = {path: SUFFIXES.get(strip_compression(path)[0].suffix.lower()) for path in paths}
    first = paths[0]
    for path, kind in kinds.items():
        if kind is None:
            known = ", ".join(SUFFIXES)
            raise TableError(
                f"{str(path)!r} has none of the suffixes {known}: move it elsewhere, use a pattern such as "
                "'folder/*.parquet' instead of the folder, or name the format."
            )
        if kind != kinds[first]:
            raise TableError(
                f"{str(path)!r} is {kind}, but {str(first)!r} is {kinds[first]}: all files of a table must "
                "have the same format."
            )
    return str(kinds[first])

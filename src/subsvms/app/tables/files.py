"""Files and standard input: read, and decompressed as far as the free memory allows; written as a whole."""

import bz2
import gzip
import hashlib
import lzma
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil

from subsvms._atomic import format_system_error, write_whole
from subsvms.app.quoting import explaining, name_some, show, suggest
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.formats import (
    FORMATS,
    SUFFIXES,
    check_format,
    check_text,
    default_ending,
    find_format,
)
from subsvms.exceptions import Setting, TableError

STANDARD_INPUT = "-"
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED_STARTS = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
MAX_SHARE = 0.25  # of the free memory that a file may fill when decompressed; the work needs more
MAX_COLUMNS = 100_000  # each takes 3 ms or more, however few rows there are
CHUNK = 1 << 20  # bytes that are decompressed at a time
CGROUP = Path("/sys/fs/cgroup")  # what a container may use, and what it uses


@dataclass(frozen=True)
class Content:
    """The decompressed bytes of one file, and their format."""

    name: str  # name of the file in messages, in quotes
    path: Place | None  # None for standard input
    data: bytes
    format: str  # one of `FORMATS`
    digest: str  # SHA-256 of the file as it is on disk


def check_names(names: Sequence[str], name: str, label: str | None) -> None:
    """Raise an error if two columns share a name, if there are too many, or if there is no label column."""
    if len(names) > MAX_COLUMNS:
        words = (
            "{name} has {n:,} columns, but at most {most:,} are possible: leave some out, or give their "
            "numbers as an array with {features}."
        )
        raise TableError(words, name=name, n=len(names), most=MAX_COLUMNS)
    twice = [one for one, count in Counter(names).items() if count > 1]
    if twice:
        places = [str(i + 1) for i, one in enumerate(names) if one == twice[0]]
        raise TableError(
            f"{name} has several columns named {show(twice[0])} (columns {', '.join(places)}): give each "
            "column its own name."
        )
    if label is not None and label not in names:
        found = f"its columns are {name_some(names)}" if names else "it has no columns"
        raise TableError(f"{name} has no column {show(label)}: {found}{suggest(label, names) or '.'}")


def check_named(
    asked: Iterable[str], known: Sequence[str], option: str, table: str, label: str | None = None
) -> None:
    """Raise an error if an option names a column that a table does not have, or its label."""
    for name in asked:
        named = {"option": Setting(option), "name": show(name), "table": table}
        if name == label and option != "exclude":
            words = "{option} names {name}, which is the label of {table}: choose another column."
            raise TableError(words, **named)
        if name not in known and name != label:
            columns = f": its columns are {name_some(known)}." if known else "."
            words = "{option} names {name}, which is not a column of {table}{hint}"
            raise TableError(words, **named, hint=suggest(name, known) or columns)


def read_content(path: Place, format: str | None = None) -> Content:
    """Return the decompressed bytes of a file or of standard input, and their format."""
    check_format(format)
    piped = str(path) == STANDARD_INPUT
    name = "Standard input" if piped else repr(str(path))
    try:
        if path.is_file() and not piped:
            raw = path.read_bytes()
        else:  # a pipe or a device may never end
            with nullcontext(sys.stdin.buffer) if piped else path.open("rb") as stream:
                raw = _read_limited(stream, name)
    except OSError as error:
        place = "standard input" if piped else str(path)
        raise TableError(format_system_error(error, place, "read")) from None
    inner, claimed = strip_compression(path)
    suffix = inner.suffix.lower()
    data = decompress(raw, name, claimed)
    if not data.strip():
        raise TableError(f"{name} is empty: it must hold a table.")
    format = format or find_format(data, name, "" if piped else suffix, known=piped)
    check_text(data, name, format)
    return Content(name, None if piped else path, data, format, digest_bytes(raw))


def digest_file(path: Place) -> str:
    """Return the SHA-256 of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def split_suffix(path: Place, format: str) -> tuple[str, str]:
    """Return the name of a file, with a suffix of another format, and the ending of a result beside it."""
    inner, how = strip_compression(path)
    compression = path.suffix if how else ""
    own = inner.suffix.lower() in FORMATS[format].suffixes
    ending = inner.suffix if own and FORMATS[format].written == format else default_ending(format)
    return inner.stem if own else inner.name, ending + compression


def find_output_format(path: str | os.PathLike, read: str | None = None) -> str:
    """Return the format that a path's suffix names."""
    suffix = strip_compression(Path(path))[0].suffix.lower()
    format = read if read and suffix in FORMATS[read].suffixes else SUFFIXES.get(suffix)
    if format is None or FORMATS[format].written != format:
        known = [suffix for suffix, name in SUFFIXES.items() if FORMATS[name].written == name]
        raise TableError(
            f"{str(path)!r} does not say in which format to write: give it one of the suffixes "
            f"{', '.join(known)}."
        )
    return format


def check_target(path: str | os.PathLike, inputs: Iterable[Place], *, force: bool) -> Path:
    """Return where to write, with links followed; raise an error if that is not possible."""
    target = Path(path).resolve()
    if target.is_dir():
        raise TableError(f"{str(path)!r} is a folder: give the name of a file.")
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {str(target.parent)!r} to write to: create it first.")
    there = target.exists()
    if there and not target.is_file():  # it would be replaced, which ends a device for all programs
        raise TableError(f"{str(path)!r} is not an ordinary file: choose another name.")
    files = [one for one in inputs if isinstance(one, Path)]
    if any(one.resolve() == target or (there and one.exists() and one.samefile(target)) for one in files):
        raise TableError(
            f"{str(path)!r} is the input table, which is never overwritten: choose another file."
        )
    if there and not force:
        raise TableError(
            "{path!r} already exists: choose another name, or replace it{force:aside}.", path=str(path)
        )
    return target


def write_content(path: Path, data: bytes) -> None:
    """Write a file completely or not at all, compressed as its suffix says."""
    try:
        write_whole(path, compress(data, path))
    except OSError as error:
        raise TableError(format_system_error(error, path, "written")) from None


# Compression


def strip_compression(path: Place) -> tuple[Place, str | None]:
    """Return a path without the suffix of its compression, and the compression that the suffix names."""
    how = COMPRESSIONS.get(path.suffix.lower())
    return path.parent / path.stem if how else path, how


def decompress(data: bytes, name: str, claimed: str | None = None) -> bytes:
    """Return bytes without their gzip, bzip2, xz or zstd compression, if they have any."""
    found = next((how for how, start in COMPRESSED_STARTS.items() if data.startswith(start)), None)
    if found is None or (found == "bzip2" and claimed != found and data[4:10] != b"1AY&SY"):
        if claimed and data:
            raise TableError(
                f"{name} is not a {claimed} file, despite its suffix: rename it, or compress it again."
            )
        return data
    errors = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError)
    with explaining(f"{name} is a damaged {found} file", "download or compress it again.", errors):
        if found == "zstd":
            import pyarrow as pa

            opened = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        else:
            opened = {"gzip": gzip, "bzip2": bz2, "xz": lzma}[found].open(BytesIO(data))
        with opened as stream:
            return _read_limited(stream, name)


class Allowance:
    """How much data may be held: a few kilobytes can decompress to more than any memory holds."""

    def __init__(self, what: str, advice: str):
        self.what, self.advice, self.held = what, advice, 0
        self.limit = MAX_SHARE * measure_free_memory()

    def take(self, n_bytes: int) -> None:
        """Count bytes that are held from now on; raise an error once they are too many."""
        self.held += n_bytes
        if self.held > self.limit:
            raise TableError(
                "{what} more than {limit:.2g} GB of data, {share} % of the free memory: {advice}",
                what=self.what, limit=self.limit / 1e9, share=f"{100 * MAX_SHARE:.0f}", advice=self.advice,
            )  # fmt: skip

    def read(self, stream: Any) -> bytes:
        """Return all bytes of a stream."""
        whole = BytesIO()
        while piece := stream.read(CHUNK):
            self.take(len(piece))
            whole.write(piece)
        return whole.getvalue()


def _read_limited(stream, name):
    advice = "free some memory, or save it decompressed, as an ordinary file."
    return Allowance(f"{name} holds", advice).read(stream)


def measure_free_memory() -> float:
    """Return the bytes of memory that are free on this machine, or in this container if it allows less."""
    free = float(psutil.virtual_memory().available)
    try:
        limit, used = (float((CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        lines = (CGROUP / "memory.stat").read_text().splitlines()
    except (OSError, ValueError):  # no container, or one without a limit
        return free
    parts = dict(line.split() for line in lines)
    cached = sum(float(parts.get(name, 0)) for name in ("active_file", "inactive_file"))  # given up if needed
    return min(free, limit - used + cached)


def compress(data: bytes, path: Path) -> bytes:
    """Return bytes compressed as the path's suffix says; the same bytes give the same file."""
    how = COMPRESSIONS.get(path.suffix.lower())
    if how == "gzip":
        return gzip.compress(data, mtime=0)
    if how == "zstd":
        import pyarrow as pa

        return pa.Codec("zstd").compress(data, asbytes=True)
    return {None: lambda data: data, "bzip2": bz2.compress, "xz": lzma.compress}[how](data)

"""Files and standard input: found, read and decompressed; written completely or not at all.

The format of a file follows from its suffix, or else from its first bytes. Every mistake that a user can make
here is a `TableError`: one sentence that names the file, what was expected, what was found, and what to do.
"""

import codecs
import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsvms._atomic import format_system_error, write_whole
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.compression import decompress, read_limited, strip_compression
from subsvms.app.tables.formats import FORMATS, SUFFIXES, list_formats
from subsvms.app.words import name_some, show, suggest
from subsvms.exceptions import TableError

STANDARD_INPUT = "-"
ZIP, OLE, SQLITE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"SQLite format 3\x00"
STARTS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"\xff\xff\xff\xff": "feather",  # Arrow streams
    OLE: "xls",
    SQLITE: "sqlite",
    b"<stata_dta>": "dta",
    b"$FL2@(#)": "sav",
}
ZIPPED = {b"opendocument.spreadsheet": "ods", b"xl/workbook.xml": "xlsx"}  # names in a ZIP archive
NOT_TEXT = {  # what these first bytes say about a file
    ZIP: "a ZIP archive or a workbook",
    OLE: "an old Excel file or a protected one",
}
TEXT_SUFFIXES = (".txt", ".data", ".dat", ".log")  # of text whose format follows from its content
PICKLE = "a pickle, which may run any code when it is read: save the table as Parquet"
OTHER_FILES = {  # and what to do with them
    **dict.fromkeys((".pkl", ".pickle", ".joblib"), PICKLE),
    **dict.fromkeys((".xlsm", ".xlsb", ".numbers"), "a workbook of another kind: save it as .xlsx"),
    **dict.fromkeys((".rds", ".rdata", ".rda"), "a file of R: save the table as CSV or Parquet"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "a file of SAS: save the table as CSV or Parquet"),
    **dict.fromkeys((".h5", ".hdf5", ".mat"), "a file of arrays: save the table as CSV or Parquet"),
    **dict.fromkeys((".npy", ".npz"), "a file of numbers: give the table itself, and this with --features"),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar"), "an archive: extract the table first"),
}
SVMLIGHT_LINE = re.compile(rb"\s*+[^\s:#]++(?:[ \t]++\w++:[-+.\deEinfa]++)++\s*+(?:#.*)?$")


@dataclass(frozen=True)
class Content:
    """The decompressed bytes of one file, and their format."""

    name: str  # name of the file in messages, in quotes
    path: Place | None  # None for standard input
    data: bytes
    format: str  # one of `FORMATS`
    digest: str  # SHA-256 of the file as it is on disk


def check_names(names: Sequence[str], name: str, label: str | None) -> None:
    """Raise an error if two columns share a name, or if there is no label column."""
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
                raw = read_limited(stream, name)
    except OSError as error:
        place = "standard input" if piped else str(path)
        raise TableError(format_system_error(error, place, "read")) from None
    inner, claimed = strip_compression(path)
    suffix = inner.suffix.lower()
    data = decompress(raw, name, claimed)
    if not data.strip():
        raise TableError(f"{name} is empty: it must hold a table.")
    format = format or find_format(data, name, "" if piped else suffix, known=piped)
    if FORMATS[format].all_text or format in ("json", "jsonl"):
        for start, what in NOT_TEXT.items():
            if data.startswith(start):
                raise TableError(
                    f"{name} is {what}, not {FORMATS[format].title}: give it the right suffix, or name its "
                    "format with --format."
                )
    return Content(name, None if piped else path, data, format, hashlib.sha256(raw).hexdigest())


def check_format(format: str | None) -> None:
    """Raise an error unless a format exists; None is one that is to be detected."""
    if format is not None and format not in FORMATS:
        hint = suggest(format, FORMATS) or "."
        raise TableError(f"format must be one of {', '.join(FORMATS)}; got {format!r}{hint}")


def find_format(data: bytes, name: str, suffix: str, *, known: bool = False) -> str:
    """Return the format of a file, by its suffix, or else by its first bytes."""
    format = SUFFIXES.get(suffix)
    sniffed = sniff_format(data)
    if format is not None:
        return "jsonl" if format == "json" and sniffed != "json" else format
    if suffix in OTHER_FILES:
        raise TableError(f"{name} is {OTHER_FILES[suffix]}.")
    if sniffed == "csv" and not known and suffix not in TEXT_SUFFIXES:
        what = f"the unknown suffix {show(suffix)}" if suffix else "no suffix"
        raise TableError(
            f"{name} has {what}: subsvms reads {list_formats()}; convert the file, or name its format with "
            "--format."
        )
    return sniffed


def open_for_arrow(data: bytes | memoryview) -> Any:
    """Return a copy of bytes that Arrow can read with threads, as a pyarrow.BufferReader.

    A thread of Arrow may be the last to drop what it has read, while Python ends. If that were memory of
    Python's, the process would be aborted (or hang); the copy is in Arrow's own.
    """
    import pyarrow as pa

    buffer = pa.allocate_buffer(len(data))
    pa.FixedSizeBufferWriter(buffer).write(data)
    return pa.BufferReader(buffer)


def sniff_format(data: bytes) -> str:
    """Return the format that bytes look like; "csv" if nothing else fits."""
    for start, format in STARTS.items():
        if data.startswith(start):
            return format
    if data.startswith(ZIP):
        known = [format for mark, format in ZIPPED.items() if mark in data]
        return known[0] if known else "csv"
    start = data[:200_000]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start[2:].replace(b"\0", b"")
    first = start.removeprefix(codecs.BOM_UTF8).lstrip()[:100_000].split(b"\n", 1)[0].strip()
    if first.startswith((b"{", b"[")):
        return "jsonl" if first.startswith(b"{") else "json"
    return "svmlight" if SVMLIGHT_LINE.match(first) else "csv"


def digest_file(path: Place) -> str:
    """Return the SHA-256 of a file, which may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_bytes(data: bytes) -> str:
    """Return the SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def split_suffix(path: Place, format: str) -> tuple[str, str]:
    """Return the name of a file and its ending, compression included.

    A suffix that is not of this format belongs to the name; the ending is then the format's usual one. It is
    that of another format where this one is not written.
    """
    inner, how = strip_compression(path)
    compression = path.suffix if how else ""
    own = inner.suffix.lower() in FORMATS[format].suffixes
    ending = inner.suffix if own and FORMATS[format].written == format else default_ending(format)
    return inner.stem if own else inner.name, ending + compression


def default_ending(format: str) -> str:
    """Return the usual suffix of the format in which such a table is written."""
    return FORMATS[FORMATS[format].written].suffixes[0]


def find_line(data: bytes, position: int) -> int:
    """Return the number of the line, counted from one, that holds a position."""
    return 1 + len(re.findall(rb"\r\n?|\n", data[:position]))


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
        raise TableError(f"{str(path)!r} already exists: choose another name, or replace it with --force.")
    return target


def write_content(path: Path, data: bytes) -> None:
    """Write a file completely or not at all; an error says in one sentence what went wrong."""
    try:
        write_whole(path, data)
    except OSError as error:
        raise TableError(format_system_error(error, path, "written")) from None

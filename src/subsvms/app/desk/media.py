"""Pictures and sounds that a table names, in the folder of the table or on the web.

A page never names a file: it names a row and a column, and the table says which file that is. What a table
says is not trusted. A file is shown if it lies in the folder of the table, also after links are followed; if
its name, its first bytes and so its type are those of a kind below (SVG, which can hold scripts, is none);
and if neither its bytes nor its pixels are more than a browser bears. Nothing is fetched from the web here:
the browser does, from the hosts that the command line allows.
"""

import os
import re
import stat
from pathlib import Path, PureWindowsPath
from typing import Any

from subsvms.exceptions import InputError

TYPES = {  # by suffix: the content type, and how such a file begins
    "png": ("image/png", rb"\x89PNG\r\n\x1a\n.{4}IHDR"),
    **dict.fromkeys(("jpg", "jpeg"), ("image/jpeg", rb"\xff\xd8\xff")),
    "gif": ("image/gif", rb"GIF8[79]a"),
    "webp": ("image/webp", rb"RIFF.{4}WEBPVP8[ LX]"),
    "wav": ("audio/wav", rb"RIFF.{4}WAVE"),
    "mp3": ("audio/mpeg", rb"ID3|\xff[\xe0-\xff]"),
    **dict.fromkeys(("ogg", "oga", "opus"), ("audio/ogg", rb"OggS")),
    "flac": ("audio/flac", rb"fLaC"),
    "m4a": ("audio/mp4", rb".{4}ftyp"),
}
SUFFIX = rf"(?i)\.({'|'.join(TYPES)})$"
WEB_HOST = re.compile(r"(https?://)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?", re.IGNORECASE)
MEDIA_ROWS = 500  # rows that show which columns name files
BYTES = {"image": 20 << 20, "audio": 50 << 20}  # of a file, at most
PIXELS = 50_000_000  # of a picture, at most: 200 MB in a browser
FRAME = re.compile(rb"\xff[\xc0-\xc3\xc5-\xc7\xc9-\xcb\xcd-\xcf]")  # of a JPEG: it holds the size


class NotShown(InputError):
    """A file that is not shown, and why."""


def find_media(sample: Any) -> dict[str, str]:
    """Return the columns most of whose values name pictures or sounds: {name: "image" or "audio"}."""
    from pyarrow import compute, types

    found = {}
    for name, column in zip(sample.column_names, sample.columns, strict=True):
        if not (types.is_string(column.type) or types.is_large_string(column.type)):
            continue
        values = compute.utf8_trim_whitespace(column).drop_null()
        values = values.filter(compute.not_equal(values, ""))
        named = values.filter(compute.match_substring_regex(values, SUFFIX))
        if 2 * len(named) > len(values):
            found[name] = TYPES[named[0].as_py().rpartition(".")[2].lower()][0].partition("/")[0]
    return found


def check_hosts(hosts: Any) -> tuple[str, ...]:
    """Return hosts on the web as a policy names them: with https unless they say otherwise."""
    for host in hosts or ():
        if not WEB_HOST.fullmatch(host):
            raise InputError(f"A host is a name such as images.example.org; got {host[:60]!r}.")
    found = [host.lower() if "://" in host else f"https://{host.lower()}" for host in hosts or ()]
    usual = {"https": ":443", "http": ":80"}  # which addresses leave out
    return tuple(host.removesuffix(usual[host.partition(":")[0]]) for host in found)


def read_media(folder: Path, value: str) -> tuple[bytes, str]:
    """Return the bytes of the file that a value of the table names, and their content type."""
    value = value.strip()
    kind, begins = TYPES.get(value.rpartition(".")[2].lower(), ("", b""))
    if not kind:
        raise NotShown(f"Only {', '.join(TYPES)} are shown.")
    data = _read_inside(folder, value, BYTES[kind.partition("/")[0]])
    if not re.match(begins, data, re.DOTALL):
        raise NotShown(f"The file does not begin as {kind} does.")
    width, height = measure(data, kind) if kind.startswith("image/") else (1, 1)
    if not 0 < width * height <= PIXELS:
        raise NotShown(f"The picture says that it has {width:,} x {height:,} pixels; {PIXELS:,} are shown.")
    return data, kind


def _read_inside(folder: Path, value: str, most: int) -> bytes:
    """Return the bytes of a file in a folder; no other name is looked up on the disk."""
    outside = NotShown("The file does not lie in the folder of the table.")
    path, folder = folder.absolute() / value, folder.absolute()
    if ".." in PureWindowsPath(value).parts or not path.is_relative_to(folder):  # either separator
        raise outside
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            raise outside
        flags = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]
        with open(real, "rb", opener=lambda path, how: os.open(path, how | sum(flags))) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise NotShown("This is not a file.")
            if found.st_size > most:
                raise NotShown(f"The file has {found.st_size:,} bytes; at most {most:,} are shown.")
            return file.read(most)
    except NotShown:
        raise
    except (OSError, ValueError, RuntimeError):  # also a name with NUL, or links in a circle
        raise NotShown("There is no such file.") from None


def measure(data: bytes, kind: str) -> tuple[int, int]:
    """Return the width and height that a picture says it has; (0, 0) if it does not say so."""

    def read(start: int, size: int, order: Any = "little") -> int:
        return int.from_bytes(data[start : start + size], order)

    if kind == "image/png":
        return read(16, 4, "big"), read(20, 4, "big")
    if kind == "image/gif":  # some browsers make room for a first frame that is larger than its screen
        place = 13 + (6 << (read(10, 1) & 7)) * (read(10, 1) >> 7)
        while data[place : place + 1] == b"!":
            place += 2
            while length := read(place, 1):
                place += length + 1
            place += 1
        frame = [read(place + at, 2) + read(place + at + 4, 2) for at in (1, 3)]
        return max(read(6, 2), frame[0]), max(read(8, 2), frame[1])
    if kind == "image/webp":
        if data[12:16] == b"VP8X":
            return 1 + read(24, 3), 1 + read(27, 3)
        if data[12:16] == b"VP8L":
            return 1 + (read(21, 4) & 0x3FFF), 1 + (read(21, 4) >> 14 & 0x3FFF)
        return read(26, 2) & 0x3FFF, read(28, 2) & 0x3FFF
    place, largest = 2, (0, 0)
    while data[place : place + 1] == b"\xff" and data[place : place + 2] != b"\xff\xda":
        if FRAME.match(data, place):
            largest = max(largest, (read(place + 7, 2, "big"), read(place + 5, 2, "big")))
        place += 2 + max(2, read(place + 2, 2, "big")) if data[place + 1 : place + 2] != b"\xff" else 1
    return largest

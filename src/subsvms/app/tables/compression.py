"""Compressed files: decompressed as far as the free memory allows, and compressed again."""

import bz2
import gzip
import lzma
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil

from subsvms.app.tables.addresses import Place
from subsvms.exceptions import TableError

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
COMPRESSED_STARTS = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd"}
MAX_SHARE = 0.25  # of the free memory that a file may fill when decompressed; the work needs more
CHUNK = 1 << 20  # bytes that are decompressed at a time
CGROUP = Path("/sys/fs/cgroup")  # what a container may use, and what it uses


def strip_compression(path: Place) -> tuple[Place, str | None]:
    """Return a path without the suffix of its compression, and the compression that the suffix names."""
    how = COMPRESSIONS.get(path.suffix.lower())
    return path.with_suffix("") if how else path, how


def decompress(data: bytes, name: str, claimed: str | None = None) -> bytes:
    """Return bytes without their gzip, bzip2, xz or zstd compression, if they have any."""
    found = next((how for how, start in COMPRESSED_STARTS.items() if data.startswith(start)), None)
    if found is None or (found == "bzip2" and claimed != found and data[4:10] != b"1AY&SY"):
        if claimed and data:
            raise TableError(
                f"{name} is not a {claimed} file, despite its suffix: rename it, or compress it again."
            )
        return data
    try:
        with _open_compressed(data, found) as stream:
            return read_limited(stream, name)
    except TableError:
        raise
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise TableError(
            f"{name} is a damaged {found} file ({error}): download or compress it again."
        ) from None


def _open_compressed(data, how):
    if how == "zstd":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    return {"gzip": gzip, "bzip2": bz2, "xz": lzma}[how].open(BytesIO(data))


def read_limited(stream: Any, name: str) -> bytes:
    """Return all bytes of a stream, or raise an error once they are too many for the free memory.

    A few kilobytes can decompress to more than any memory holds.
    """
    limit = MAX_SHARE * measure_free_memory()
    held = BytesIO()
    while piece := stream.read(CHUNK):
        held.write(piece)
        if held.tell() > limit:
            raise TableError(
                f"{name} holds more than {limit / 1e9:.2g} GB of data, {MAX_SHARE:.0%} of the free memory: "
                "free some memory, or save it decompressed, as an ordinary file."
            )
    return held.getvalue()


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

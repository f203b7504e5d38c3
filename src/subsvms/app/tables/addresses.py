"""Files at addresses such as s3://bucket/loans.parquet: found, and opened for reading.

pyarrow itself reads s3:// and gs://; other schemes are read by fsspec (`subsvms[remote]`) and by the package
that it asks for, as huggingface_hub for hf://. Keys and passwords are for these to find, in the environment
or in their settings. An address that holds one is refused: it would be shown, and kept in run.json.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any
from urllib.request import url2pathname

from subsvms.app.quoting import first_sentence
from subsvms.exceptions import TableError

ADDRESS = re.compile(r"([A-Za-z][\w+.-]*)://(.*)", re.DOTALL)
BY_ARROW = ("s3", "gs")  # schemes that need no other package
BY_FSSPEC = ("abfs", "az", "hf", "http", "https")  # of those that need one, the usual ones
VERSION = re.compile("size|etag|md5|digest|sha|blob_id|modif|mtime|created", re.IGNORECASE)  # of what is said
# A password, also one with slashes, as keys have; an address in another; a query, which may be a signature
SECRET = re.compile(r"[^/]*:(?!\d{1,5}(/|$)).*@|.*(::|\?)", re.DOTALL)


class AccessError(TableError):
    """An address that cannot be read, perhaps only now: what was done with it before is not wrong."""


@dataclass(frozen=True, order=True)
class Address:
    """A file or folder that is stored elsewhere, with those methods of a `Path` that reading a table takes.

    It holds no connection, and can be sent to other machines.
    """

    text: str

    parts = property(lambda self: tuple(self.text.split("/")))
    name = property(lambda self: self.parts[-1])
    suffix = property(lambda self: PurePosixPath(self.name).suffix)
    stem = property(lambda self: PurePosixPath(self.name).stem)
    parent = property(lambda self: Address(self.text.rpartition("/")[0]))

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> "Address":
        return Address(f"{self.text}/{name}")

    @property
    def root(self) -> tuple[str, str]:
        """Scheme and bucket, or what else comes first."""
        scheme, _, rest = self.text.partition("://")
        return scheme, rest.partition("/")[0]

    def resolve(self) -> "Address":
        """Return the address: it is the same from everywhere."""
        return self

    def exists(self) -> bool:
        """Return whether there is such a file or folder."""
        return self._look().type.name in ("File", "Directory")

    def is_file(self) -> bool:
        """Return whether there is such a file."""
        return self._look().is_file

    def is_dir(self) -> bool:
        """Return whether there is such a folder."""
        return self._look().type.name == "Directory"

    def stat(self) -> SimpleNamespace:
        """Return the size of the file as `st_size`, zero if the server does not say it."""
        return SimpleNamespace(st_size=self._look().size or 0)

    def _look(self):
        system, path = locate(self)
        with _explaining_access(self):
            return system.get_file_info(path)

    def open(self, mode: str = "rb") -> Any:
        """Return the file as a pyarrow.NativeFile that can be read at any place."""
        system, path = locate(self)
        with _explaining_access(self):
            return system.open_input_file(path)

    def read_bytes(self) -> bytes:
        """Return all bytes of the file."""
        with self.open() as file, _explaining_access(self):
            return file.read()

    def list_files(self) -> "list[Address]":
        """Return the files in the folder and below it, sorted."""
        from pyarrow import fs

        system, path = locate(self)
        with _explaining_access(self):
            found = system.get_file_info(fs.FileSelector(path, recursive=True))
        above = len(path.strip("/"))
        return sorted(Address(self.text + one.path.lstrip("/")[above:]) for one in found if one.is_file)


Place = Path | Address


def is_address(where: object) -> bool:
    """Return whether a name is an address, of files or of a database, and not a file here."""
    return isinstance(where, str) and ADDRESS.fullmatch(where) is not None and not os.path.exists(where)


def is_database(where: object) -> bool:
    """Return whether a name is the address of a database: no file system has its scheme."""
    if not isinstance(where, str) or not is_address(where):
        return False
    known = {"file", *BY_ARROW, *BY_FSSPEC}
    if find_spec("fsspec"):
        from fsspec.registry import known_implementations, registry

        known |= {*known_implementations, *registry}
    return where.partition(":")[0].lower() not in known


def as_place(where: str | os.PathLike) -> Place:
    """Return a path, or an address that can be read and holds no secret."""
    text = os.fspath(where)
    found = ADDRESS.fullmatch(text)
    if found is None or not is_address(text):
        return Path(text)
    scheme, rest = found[1].lower(), found[2]
    if scheme == "file":
        path = rest.removeprefix("localhost")
        if not path.startswith("/"):
            raise TableError(f"An address of a file must be file:/// and a whole path; got {text!r}.")
        return Path(url2pathname(path))
    _check_scheme(scheme)
    if not rest.strip("/"):
        raise TableError(f"The address {text!r} names no file: name a bucket, a folder or a file in it.")
    host = rest.partition("/")[0]
    has_user = scheme in ("http", "https") and "@" in host
    has_key = scheme in BY_ARROW and ":" in host and "@" in rest  # also one of digits, like a port
    if SECRET.match(rest) or has_user or has_key:
        raise TableError(
            f"This address {scheme}:// holds a password or a query, which would be shown and kept: leave it "
            "out, and set keys in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (in a "
            "pattern, use * instead of ?)."
        )
    return Address(f"{scheme}://{rest}".rstrip("/"))


def _check_scheme(scheme):
    """Raise an error if nothing that is installed reads such an address."""
    if scheme in BY_ARROW:
        return
    instead = "save the table, or the answer of the database, as Parquet or CSV first."
    if is_database(f"{scheme}://"):
        raise TableError(f"An address such as {scheme[:20]}:// cannot be read here: {instead}")
    if not find_spec("fsspec"):
        raise TableError(
            f"An address such as {scheme}:// needs another package: run pip install 'subsvms[remote]', or "
            f"{instead}"
        )
    import fsspec

    try:
        fsspec.get_filesystem_class(scheme)
    except ImportError as error:
        raise TableError(f"An address such as {scheme}:// needs another package: {error}.") from None


def locate(place: Place) -> tuple[Any, str]:
    """Return the file system that holds a file or folder, as pyarrow has them, and its path there."""
    from pyarrow import fs

    if isinstance(place, Path):
        return fs.LocalFileSystem(), os.path.abspath(place)
    scheme, bucket = place.root
    with _explaining_access(place):
        if scheme in BY_ARROW:
            return _open_bucket(f"{scheme}://{bucket}"), place.text.removeprefix(f"{scheme}://")
        from fsspec.core import url_to_fs

        system, path = url_to_fs(place.text)
        system.invalidate_cache()  # what was listed may have changed since
        return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def read_version(place: Place) -> list[int | str]:
    """Return what changes with a file: its size and time, or what the server has instead."""
    from pyarrow import fs

    if isinstance(place, Path):
        found = place.stat()
        return [found.st_size, found.st_mtime_ns]
    system, path = locate(place)
    with _explaining_access(place):
        if isinstance(system, fs.PyFileSystem):  # pyarrow takes little of what fsspec says
            said = system.handler.fs.info(path)
            return [f"{name} {said[name]}" for name in sorted(said) if VERSION.search(name)]
        info = system.get_file_info(path)
        return [info.size or 0, info.mtime_ns or 0]


@lru_cache(maxsize=8)  # finding the region takes a request
def _open_bucket(address):
    from pyarrow import fs

    return fs.FileSystem.from_uri(address)[0]


@contextmanager
def _explaining_access(address: Address) -> Iterator[None]:
    try:
        yield
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"There is no file {str(address)!r}: check its name and folder.") from None
    except Exception as error:  # each package has errors of its own
        raise AccessError(format_refusal(repr(str(address)), error)) from None


def format_refusal(name: str, error: Exception) -> str:
    """Return a sentence about an address that cannot be read; `name` is in quotes."""
    reason = first_sentence(error) or type(error).__name__
    advice = "check the address, the connection and the keys in the environment."
    return f"{name} cannot be read ({reason}): {advice}"


def place_result(beside: Place, name: str) -> Path:
    """Return where a result goes: next to a file, or to the working directory if it is at an address."""
    return beside.with_name(name) if isinstance(beside, Path) else Path(name)

"""Write a file completely or not at all, and say in one sentence why the system did not let us."""

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from subsvms.exceptions import TableError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".subsvms.part"  # of temporary files
ONLY_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # errors that no reading meets

ADVICE = {  # what to do about errors of the system
    "free some space, or choose another place": (errno.ENOSPC, errno.EDQUOT),
    "a file of this size is not allowed there; choose another place": (errno.EFBIG,),
    "check its permissions, or choose another place": (errno.EACCES, errno.EPERM, errno.EROFS),
    "choose a shorter name": (errno.ENAMETOOLONG,),
    "close other programs, or allow more open files (ulimit -n)": (errno.EMFILE, errno.ENFILE),
    "check its name and folder": (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP),
}


def format_system_error(error: OSError, place: str | os.PathLike | None = None, done: str = "used") -> str:
    """Return a sentence about an error of the system: the place, the reason, and what to do."""
    if error.errno is None:
        return str(error)
    advice = next((words for words, codes in ADVICE.items() if error.errno in codes), "try again")
    place = place or error.filename
    reason = os.strerror(error.errno)
    if place is None and error.strerror != reason:  # of a library, which names the file in its message
        return f"{error.strerror}: {advice}."
    name = "A file or standard output" if place is None else repr(os.fsdecode(place))
    return f"{name} could not be {done} ({reason}): {advice}."


@contextmanager
def explaining(place: Path, work: Path | None = None) -> Iterator[None]:
    """Turn an error of the system while a place is written into a sentence that names the place."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # such as that of a cluster
            raise
        if error.filename is None:
            at_place = error.errno in ONLY_WRITING
        else:
            named = Path(os.fsdecode(error.filename))
            at_place = bool({place, work} & {named, *named.parents})
        if at_place:
            raise TableError(format_system_error(error, place, "written")) from None
        raise TableError(format_system_error(error)) from None


@contextmanager
def replace_when_done(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder; it takes the path's place if the block raises no error."""
    # What a killed process left of such a file is removed: nobody holds a lock on it any more.
    _clear_away(path)
    name, file = _open_locked(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # the lock is held until the file has its name
                _move(name, path)
        if fcntl is None:  # there a file that is open cannot be moved
            _move(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Write to a temporary file in the same folder, and rename it when it is on disk."""
    with replace_when_done(path) as file:
        file.write(data)


def _prefix(path: Path) -> str:
    return f".{path.name[:40]}-"


def _open_locked(path: Path) -> tuple[str, BinaryIO]:
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=SUFFIX)
        file = os.fdopen(handle, "wb")
        if _lock(handle):
            return name, file
        file.close()


def _lock(handle: int) -> bool:
    """Lock a new file; return False if another process took it for one that was left, and removes it."""
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # it is about to
            return False
        except OSError:  # some file systems have no locks
            pass
    return os.fstat(handle).st_nlink > 0


def _clear_away(path: Path) -> None:
    """Remove temporary files that killed processes left."""
    if fcntl is None:
        return
    ours = re.compile(re.escape(_prefix(path)) + r"[a-z0-9_]{8}" + re.escape(SUFFIX))
    with suppress(OSError):
        for left in (one for one in path.parent.iterdir() if ours.fullmatch(one.name)):
            with suppress(OSError), left.open("rb") as file:  # an OSError: it is locked
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()


def _move(name: str, path: Path) -> None:
    if path.exists():
        mode = path.stat().st_mode
    else:
        mask = os.umask(0)  # there is no other way to read it
        os.umask(mask)
        mode = 0o666 & ~mask
    os.chmod(name, mode)
    os.replace(name, path)

"""The folder that a run leaves behind: complete, or not there.

It is filled beside its place under a hidden name, and moved there when every file is on disk. A run that is
killed leaves the hidden folder, which the next run on the same table removes: a lock that the kernel releases
with the process tells that nobody fills it any more. Two runs at once fill two folders, and the one that
comes second is told so.
"""

import errno
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from subsvms._atomic import write_whole
from subsvms._progress import announce
from subsvms.app.runs.decisions import hold_decisions
from subsvms.exceptions import TableError

RECORD = "run.json"  # a folder with this file is a run's
DECISIONS = "decisions.sqlite"
LOCK, PLAN = ".lock", ".plan.json"
UNFINISHED = ".unfinished"  # after the name of a folder that a later run can go on with
# What stands in the way of writing, as the system names it.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EFBIG}
NEW, OLD = 10.0, 3600.0  # seconds: a folder that young may be about to be locked, one that old is abandoned


def check_place(target: Path, *, force: bool) -> None:
    """Raise an error if a run must not, or could not, become this folder.

    Parameters
    ----------
    target : Path
    force : bool
        Whether the folder of an earlier run may be replaced; that of anything else never is.

    Examples
    --------
    >>> check_place(Path("no such folder/loans.subsvms"), force=False)
    Traceback (most recent call last):
    subsvms.exceptions.TableError: There is no folder 'no such folder' to write in: make it first.
    """
    shown = repr(str(target))
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {str(target.parent)!r} to write in: make it first.")
    if not os.access(target.parent, os.W_OK):
        raise TableError(
            f"The folder {str(target.parent)!r} cannot be written to: choose another (--output)."
        )
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        raise TableError(f"{shown} is no folder: choose another name for the result (--output).")
    if any(target.iterdir()) and not (target / RECORD).is_file():
        raise TableError(f"{shown} holds other files than those of a run: choose another folder (--output).")
    if hold_decisions(target / DECISIONS):
        raise TableError(
            f"{shown} holds decisions that people made, which are not replaced: choose another folder "
            "(--output)."
        )
    if any(target.iterdir()) and not force:
        raise TableError(
            f"{shown} holds the result of an earlier run: choose another folder (--output), or replace it "
            "(--force)."
        )


@contextmanager
def fill_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Give an empty folder to fill; if the block ends well it becomes `target`, whole and at once.

    Parameters
    ----------
    target : Path
    force : bool
        Whether to replace the folder of an earlier run.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as name:
    ...     with fill_folder(Path(name) / "a.subsvms", force=False) as folder:
    ...         _ = (folder / "run.json").write_text("{}")
    ...     sorted(path.name for path in Path(name).rglob("*"))
    ['a.subsvms', 'run.json']
    """
    target = _prepare(target, force=force)
    lock = None
    with _telling(target):
        prefix = _hide(target)
        with _telling(target, always=True):
            folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=prefix, suffix=".part"))
        try:
            lock = _lock(folder / LOCK)
            yield folder
            _finish(folder, target, force=force)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, TableError):  # the hidden name means nothing to a user
                raise TableError(str(error).replace(str(folder), str(target))) from None
            raise
        finally:
            if lock is not None:
                os.close(lock)


@contextmanager
def resume_folder(
    target: Path, plan: dict[str, Any], *, force: bool, scrap: Sequence[str] = ()
) -> Iterator[Path]:
    """Give a folder to fill that stays if the block fails, so that the next run can go on from there.

    Parameters
    ----------
    target : Path
        What the folder becomes, whole and at once, if the block ends well.
    plan : dict
        What the run depends on. The folder that an earlier run left is given only if its plan was the same;
        otherwise it is emptied.
    force : bool
        Whether to replace the folder of an earlier run.
    scrap : sequence of str
        What only the work needs, as patterns; it is removed when the folder is in its place, so that a run
        that is stopped at the last moment still has it.
    """
    target = _prepare(target, force=force)
    folder = target.with_name(target.name + UNFINISHED)
    if folder.is_symlink() or (folder.exists() and not _is_ours(folder)):
        raise TableError(
            f"{str(folder)!r}, where this run would work, holds other files: move them, or choose another "
            "folder (--output)."
        )
    with _telling(target):
        with _telling(target, always=True):
            folder.mkdir(exist_ok=True)
        lock = _lock(folder / LOCK, busy=f"{str(folder)!r} is being filled by another run: wait for its end.")
        try:
            text = json.dumps(plan, sort_keys=True)
            if not (folder / PLAN).is_file() or (folder / PLAN).read_text(encoding="utf-8") != text:
                if (folder / PLAN).is_file():
                    announce("beginning anew: the unfinished run had other options, files or versions")
                (folder / PLAN).unlink(missing_ok=True)  # first: without it nothing is gone on with
                _empty(folder)
                write_whole(folder / PLAN, text.encode())
            yield folder
            _finish(folder, target, force=force)
            for path in (path for pattern in scrap for path in target.glob(pattern)):
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        finally:
            if lock is not None:
                os.close(lock)


def _is_ours(folder):
    """Tell if a folder is one that a run in parts left, or holds nothing."""
    return folder.is_dir() and (
        (folder / PLAN).is_file() or {path.name for path in folder.iterdir()} <= {LOCK}
    )


def _empty(folder):
    """Remove all but the lock."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != LOCK:
            path.unlink()


def _prepare(target, *, force):
    """Return the place of a run's folder, checked, with what killed runs left there removed."""
    target = target.parent.resolve() / target.name  # a way through the folder itself breaks when it moves
    if target.parent.is_dir():
        _clear_away(target, _hide(target))
    check_place(target, force=force)
    return target


def _hide(target):
    """Return how the hidden names begin that a folder has before it is complete."""
    return f".{target.name[:100]}-"


def _finish(folder, target, *, force):
    """Move a folder into its place when every file is on disk; what only the work needed goes last."""
    _make_readable(folder)
    _sync(folder)
    _move(folder, target, force=force)
    for name in (LOCK, PLAN):
        (target / name).unlink(missing_ok=True)


@contextmanager
def _telling(target, *, always=False):
    """Turn what stands in the way of writing into one sentence, `always` or if it cannot be our mistake."""
    try:
        yield
    except OSError as error:
        if not always and error.errno not in UNWRITABLE:  # a mistake of ours, or of another place
            raise
        raise TableError(
            f"{str(target)!r} could not be written ({error.strerror}): free some space, or choose another "
            "folder (--output)."
        ) from None


def _lock(path, busy=None):
    """Hold a lock on a file as long as this process lives; None where the system has no such locks.

    If another process holds it, raise an error that says `busy`, or return None without that.
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if busy is not None and error.errno in (errno.EAGAIN, errno.EACCES):
            raise TableError(busy) from None
        return None
    return handle


def _clear_away(target, prefix):
    """Remove what killed runs left, and put back a folder that one had moved aside to replace it."""
    pattern = re.compile(re.escape(prefix) + r"[a-z0-9_]{8}\.(part|old)")
    found = [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]
    for folder in (path for path in found if path.suffix == ".part"):
        with suppress(OSError):
            age = time.time() - folder.stat().st_mtime
            if age > NEW and (folder / LOCK).is_file():  # a younger one is perhaps not locked yet
                handle = _lock(folder / LOCK)
                if handle is not None:
                    shutil.rmtree(folder, ignore_errors=True)
                    os.close(handle)
            elif age > OLD:  # killed just before it was moved
                shutil.rmtree(folder, ignore_errors=True)
    for old in (path for path in found if path.suffix == ".old"):
        with suppress(OSError):
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
            else:
                os.rename(old, target)


def _make_readable(folder):
    """Give folder and files the permissions that any new ones would have."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def _sync(folder):
    """Wait until everything is on disk: a folder that is there must be complete after a power cut, too."""
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError:  # some file systems cannot sync folders
            if path.is_file():
                raise
        finally:
            os.close(handle)


def _move(folder, target, *, force):
    """Put the folder in its place; an earlier one goes first, and comes back if that fails."""
    old = None
    if target.exists():
        check_place(target, force=force)  # another run may have come first
        old = target.with_name(f"{_hide(target)}{secrets.token_hex(4)}.old")
        os.rename(target, old)
    try:
        os.rename(folder, target)
    except OSError:
        if old is not None:
            os.rename(old, target)
        elif target.exists():
            raise TableError(
                f"{str(target)!r} was made by another run in the meantime: choose another folder (--output)."
            ) from None
        raise
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)

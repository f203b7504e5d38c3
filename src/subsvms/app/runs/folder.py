"""The folder of a run: complete, or not there.

It is filled beside its place under a hidden name, and moved there when every file is on disk. A run that is
killed leaves the hidden folder, which the next run on the same table removes: a lock that the system releases
with the process shows that nobody fills the folder any more. Two runs at once fill two folders, and the
second to finish gets an error.
"""

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from subsvms._atomic import write_whole
from subsvms._progress import announce
from subsvms.app.runs.decisions import holds_decisions
from subsvms.app.runs.record import RECORD
from subsvms.exceptions import TableError

DECISIONS = "decisions.sqlite"
PLAN = ".plan.json"
UNFINISHED = ".unfinished"  # after the name of a folder that a later run can continue
# System errors that mean that nothing can be written there.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EFBIG}


def check_place(target: Path, *, force: bool) -> None:
    """Raise an error if the result of a run must not, or cannot, be written to this folder.

    Parameters
    ----------
    target : Path
    force : bool
        Whether the folder of an earlier run may be replaced; other folders never are.

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
        raise TableError(f"{shown} is not a folder: choose another name for the result (--output).")
    if any(target.iterdir()) and not (target / RECORD).is_file():
        raise TableError(
            f"{shown} holds files that do not belong to a run: choose another folder (--output)."
        )
    if holds_decisions(target / DECISIONS):
        raise TableError(
            f"{shown} holds decisions that people made, which must not be overwritten: choose another folder "
            "(--output)."
        )
    if any(target.iterdir()) and not force:
        raise TableError(
            f"{shown} holds the result of an earlier run: choose another folder (--output), or replace it "
            "(--force)."
        )


@contextmanager
def fill_folder(target: Path, *, force: bool) -> Iterator[Path]:
    """Give an empty folder to fill; it becomes `target`, whole and at once, if the block raises no error.

    Parameters
    ----------
    target : Path
    force : bool
        Whether to replace the folder of an earlier run.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     with fill_folder(Path(name) / "a.subsvms", force=False) as folder:
    ...         _ = (folder / "run.json").write_text("{}")
    ...     sorted(path.name for path in Path(name).rglob("*"))
    ['a.subsvms', 'run.json']
    """
    target = _prepare(target, force=force)
    folder = target.with_name(f"{_hide(target)}{secrets.token_hex(4)}.part")
    with _explaining(target), _holding(folder.with_suffix(".lock")):
        with _explaining(target, always=True):
            folder.mkdir()
        try:
            yield folder
            _sync(folder)
            _move(folder, target, force=force)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, TableError):  # the hidden name means nothing to a user
                raise TableError(str(error).replace(str(folder), str(target))) from None
            raise


@contextmanager
def resume_folder(
    target: Path, plan: dict[str, Any], *, force: bool, scrap: Sequence[str] = ()
) -> Iterator[Path]:
    """Give a folder to fill that stays if the block fails, so that the next run can continue it.

    Parameters
    ----------
    target : Path
        What the folder becomes, whole and at once, if the block ends without an error.
    plan : dict
        What the run depends on. The folder that an earlier run left is given only if its plan was the same;
        otherwise it is emptied.
    force : bool
        Whether to replace the folder of an earlier run.
    scrap : sequence of str
        Patterns of files that only the work needs. They are removed when the folder is in its place, so that
        a run that is stopped at the last moment still has them.
    """
    target = _prepare(target, force=force)
    folder = target.with_name(target.name + UNFINISHED)
    ours = folder.is_dir() and ((folder / PLAN).is_file() or not any(folder.iterdir()))
    if folder.is_symlink() or (folder.exists() and not ours):
        raise TableError(
            f"{str(folder)!r}, where this run would work, holds other files: move them, or choose another "
            "folder (--output)."
        )
    busy = f"{str(folder)!r} is being filled by another run: wait until it ends."
    with _explaining(target):
        with _explaining(target, always=True):
            folder.mkdir(exist_ok=True)
        with _holding(target.with_name(f"{_hide(target)}unfinished.lock"), busy):
            text = json.dumps(plan, sort_keys=True)
            if not (folder / PLAN).is_file() or (folder / PLAN).read_text(encoding="utf-8") != text:
                if (folder / PLAN).is_file():
                    announce("starting again: the unfinished run had other options, files or versions")
                (folder / PLAN).unlink(missing_ok=True)  # first: without it nothing is continued
                for path in folder.iterdir():
                    _remove(path)
                write_whole(folder / PLAN, text.encode())
            yield folder
            _sync(folder)
            _move(folder, target, force=force)
            for path in (path for pattern in (PLAN, *scrap) for path in target.glob(pattern)):
                with suppress(OSError):
                    _remove(path)


def _remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _prepare(target, *, force):
    """Return the place of a run's folder, checked, with what killed runs left there removed."""
    target = target.parent.resolve() / target.name  # a path through the folder itself breaks when it moves
    if target.parent.is_dir():
        _clear_away(target)
    check_place(target, force=force)
    return target


def _hide(target):
    """Return how the hidden names start that a folder has before it is complete."""
    return f".{target.name[:100]}-"


@contextmanager
def _explaining(target, *, always=False):
    """Turn an error of the system into a sentence: `always`, or only if nothing can be written there."""
    try:
        yield
    except OSError as error:
        if not always and error.errno not in UNWRITABLE:  # a bug, or about another place
            raise
        raise TableError(
            f"{str(target)!r} could not be written ({error.strerror}): free some space, or choose another "
            "folder (--output)."
        ) from None


@contextmanager
def _holding(path, busy=None):
    """Hold a lock until the block or the process ends; raise `busy`, if given, if another one holds it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if busy is not None:
            raise TableError(busy) from None
    except (OSError, NotImplementedError):  # without locks killed runs are not cleared away
        pass
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):  # some systems keep a file that is open; there filelock removes it
                path.unlink()
            lock.release()


def _clear_away(target):
    """Remove what killed runs left, and put back a folder that one had moved aside to replace it."""
    pattern = re.compile(re.escape(_hide(target)) + r"[0-9a-f]{8}\.(lock|old)")
    for path in [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]:
        with suppress(OSError, NotImplementedError):  # a lock that is held, or no locks at all
            if path.suffix == ".lock":
                with FileLock(path, timeout=0):
                    shutil.rmtree(path.with_suffix(".part"), ignore_errors=True)
                    path.unlink()
            elif target.exists():
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.rename(path, target)


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

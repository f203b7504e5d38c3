"""The folder of a run: complete, or not there.

It is filled beside its place under a hidden name, and moved there when every file is on disk. A run that is
killed leaves the hidden folder, which the next run on the same table removes: a lock that the system releases
with the process shows that nobody fills the folder any more. Two runs at once fill two folders, and the
second to finish gets an error.

Nothing is removed but files that a run wrote, one by one and known by their names: what anybody else put into
a folder stays, and so does the folder.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from filelock import FileLock, Timeout

from subsvms._atomic import explaining, write_whole
from subsvms._effort import announce
from subsvms.app.names import (
    AUDIT,
    AUDIT_FILES,
    DECISION_FILES,
    DECISIONS,
    FINAL,
    FINAL_PARTS,
    FOLDERS,
    PLAN,
    RECORD,
    REPORT,
    SCRAP,
    TEMPORARY,
    UNDER_WAY,
    UNFINISHED,
)
from subsvms.app.runs.decisions import holds_decisions
from subsvms.app.runs.record import Record, read_record
from subsvms.app.tables.addresses import is_address
from subsvms.app.tables.files import digest_file
from subsvms.app.words import show
from subsvms.exceptions import TableError

Known = Callable[[str], Any]


class Check(Protocol):
    """A function like `check_place`."""

    def __call__(self, target: Path, *, force: bool) -> None:
        """Raise an error if there is something that must not be replaced."""


def check_place(target: Path, *, force: bool) -> None:
    """Raise an error if there is something that must not be replaced; parameters as in `prepare_place`."""
    shown = repr(str(target))
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        raise TableError(
            "{shown} is not a folder: choose another name for the result{output:aside}.", shown=shown
        )
    if not any(target.iterdir()):
        return
    if not (target / RECORD).is_file():
        raise TableError(
            "{shown} holds files that do not belong to a run: choose another folder{output:aside}.",
            shown=shown,
        )
    _refuse_decided(target)
    if not force:
        raise TableError(
            "{shown} holds the result of an earlier run: choose another folder{output:aside}, or replace it"
            "{force:aside}.",
            shown=shown,
        )
    record = _check_ours(target)
    _refuse_holding_input(target, record)
    _refuse_changed(target, record)


def prepare_place(target: Path, *, force: bool, check: Check = check_place) -> Path:
    """Remove what killed runs left, and raise an error if the result of a run must not be written there."""
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {str(target.parent)!r} to write in: make it first.")
    if not os.access(target.parent, os.W_OK):
        raise TableError(
            "The folder {folder!r} cannot be written to: choose another{output:aside}.",
            folder=str(target.parent),
        )
    target = target.parent.resolve() / target.name  # a path through the folder itself breaks when it moves
    with explaining(target):
        _clear_away(target)
        check(target, force=force)
    return target


def _refuse_decided(folder):
    # an audit with another seed in the place of this one would void its claim
    if holds_decisions(folder / DECISIONS) or (folder / AUDIT).exists():
        raise TableError(
            "{folder!r} holds decisions that people made, or an audit, which must not be overwritten: choose "
            "another folder{output:aside}.",
            folder=str(folder),
        )


def _refuse_holding_input(folder, record):
    """Raise an error if the only copy of a table, which was a data frame, would be lost with the folder."""
    paths = [Path(one).resolve() for one in record.input.paths if not is_address(one)]
    if any(path.is_relative_to(folder.resolve()) for path in paths):
        raise TableError(
            "{folder!r} holds the table that it is about: choose another folder{output:aside}, or remove it "
            "yourself.",
            folder=str(folder),
        )


def _check_ours(folder: Path) -> Record:
    """Return the record of a run's folder; raise an error if it holds anything that the run did not write."""
    shown = repr(str(folder))
    try:
        record = read_record(folder)
    except TableError as error:
        raise TableError(
            "{shown} cannot be replaced, choose another folder{output:aside}: {error}",
            shown=shown, error=error,
        ) from None  # fmt: skip
    _, foreign = _sort_out(folder, _names_of(record, folder))
    if foreign:
        name = foreign[0]
        if name.partition(".")[0] == FINAL:
            raise TableError(
                "{shown} holds {name}, which subsvms apply writes, and which may hold what people decided: "
                "choose another folder{output:aside}, or move or delete this one first.",
                shown=shown, name=show(name),
            )  # fmt: skip
        raise TableError(
            "{shown} holds {name}, which the run did not write: move it elsewhere, or choose another folder"
            "{output:aside}.",
            shown=shown, name=show(name),
        )  # fmt: skip
    return record


def _refuse_changed(folder, record):
    for name, digest in record.digests.items():
        if (folder / name).is_file() and digest_file(folder / name) != digest:
            raise TableError(
                "{folder!r} holds {name}, which was changed after the run wrote it: move it elsewhere, or "
                "choose another folder{output:aside}.",
                folder=str(folder), name=show(name),
            )  # fmt: skip


def _names_of(record, folder):
    """Return which files a finished run wrote; scrap only if it was killed before that was removed."""
    tidy = not (folder / PLAN).is_file()
    always = {RECORD, REPORT, *DECISION_FILES, *AUDIT_FILES, *record.files}
    return lambda name: name in always or (not tidy and SCRAP.fullmatch(name))


def _sort_out(folder: Path, known: Known) -> tuple[list[str], list[str]]:
    """Return the names of the files in a folder that are known, and of all else in it but our folders."""
    ours: list[str] = []
    foreign: list[str] = []
    for place, folders, files in os.walk(folder):
        inner = Path(place).relative_to(folder)
        odd = [one for one in folders if one not in FOLDERS or inner.parts or Path(place, one).is_symlink()]
        folders[:] = [one for one in folders if one not in odd]
        for name in ((inner / one).as_posix() for one in (*files, *odd)):
            path = folder / name
            plain = path.is_file() and not path.is_symlink()
            (ours if plain and known(name) else foreign).append(name)
    return sorted(ours), sorted(foreign)


def remove_known(folder: Path, known: Known = UNDER_WAY.fullmatch, last: str = RECORD) -> None:
    """Remove the known files of a folder one by one, and the folder if nothing else is in it."""
    if folder.is_symlink() or not folder.is_dir():
        return
    with suppress(OSError):
        for name in sorted(_sort_out(folder, known)[0], key=last.__eq__):
            (folder / name).unlink(missing_ok=True)
    for place in (*(folder / one for one in FOLDERS), folder):
        with suppress(OSError):  # not there, or not empty
            place.rmdir()


@contextmanager
def fill_folder(target: Path, *, force: bool, check: Check = check_place) -> Iterator[Path]:
    """Give an empty folder to fill; it becomes `target`, whole and at once, if the block raises no error."""
    target = prepare_place(target, force=force, check=check)
    folder = target.with_name(f"{_hide(target)}{secrets.token_hex(4)}.part")
    with _naming(target, folder), _holding(folder.with_suffix(".lock")):
        try:
            folder.mkdir()
            yield folder
            _sync(folder)
            _move(folder, target, force=force, check=check)
        except BaseException:
            remove_known(folder)
            raise


@contextmanager
def _naming(target, folder):
    """Report errors about the folder that is filled by the name that it will have, which the user knows."""
    try:
        with explaining(target, folder):
            yield
    except TableError as error:
        raise TableError(str(error).replace(str(folder), str(target))) from None


@contextmanager
def resume_folder(target: Path, plan: dict[str, Any], *, force: bool) -> Iterator[Path]:
    """Give a folder to fill that stays if the block fails, so that the next run can continue it."""
    target = prepare_place(target, force=force)
    folder = target.with_name(target.name + UNFINISHED)
    busy = f"{str(folder)!r} is being filled by another run: wait until it ends."
    lock = target.with_name(f"{_hide(target)}unfinished.lock")
    with explaining(target, folder):
        _check_unfinished(folder)
        folder.mkdir(exist_ok=True)
        with _holding(lock, busy):
            _adopt_plan(folder, json.dumps(plan, sort_keys=True).encode())
            yield folder
            _sync(folder)
            _move(folder, target, force=force)
            _tidy(target)


def _check_unfinished(folder):
    """Raise an error if there is anything but what a run in parts leaves when it is stopped."""
    if not (folder.exists() or folder.is_symlink()):
        return
    known = UNDER_WAY if (folder / PLAN).is_file() else re.compile(TEMPORARY)  # the plan comes first
    plain = folder.is_dir() and not folder.is_symlink()
    foreign = _sort_out(folder, known.fullmatch)[1] if plain else [folder.name]
    if foreign:
        raise TableError(
            "{folder!r}, where this run would work, holds other files ({name}): move them, or choose another "
            "folder{output:aside}.",
            folder=str(folder), name=show(foreign[0]),
        )  # fmt: skip


def _adopt_plan(folder, plan):
    """Empty the folder unless it was left by a run with the same plan."""
    path = folder / PLAN
    if path.is_file() and path.read_bytes() == plan:
        return
    if path.is_file():
        announce("starting again: the unfinished run had other options, files or versions")
    write_whole(path, b"{}")  # no run has this plan: if this one is stopped now, nothing is continued
    for name in _sort_out(folder, UNDER_WAY.fullmatch)[0]:
        if name != PLAN:
            (folder / name).unlink(missing_ok=True)
    write_whole(path, plan)


def _tidy(target):
    """Remove what only the work needed; the plan, which shows that there may be such files, comes last."""
    for name in sorted(_sort_out(target, SCRAP.fullmatch)[0], key=PLAN.__eq__):
        with suppress(OSError):
            (target / name).unlink(missing_ok=True)
    for name in FOLDERS:
        with suppress(OSError):  # not there, or not empty
            (target / name).rmdir()


def _hide(target):
    """Return how the hidden names start that a folder has before it is complete."""
    name = target.name
    short = name if len(name) <= 50 else f"{name[:30]}~{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
    return f".{short}-"


@contextmanager
def _holding(path, busy=None):
    """Hold a lock until the block or the process ends; raise `busy`, if given, if another one holds it."""
    lock = FileLock(path)
    try:
        # Without `busy` the name is new, and only a run that clears away could hold it for a moment.
        lock.acquire(timeout=0 if busy else 5)
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
    pattern = re.compile(re.escape(_hide(target)) + r"[0-9a-f]{8}\.(lock|part|old)")
    found = [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]
    for lock in {path.with_suffix(".lock") for path in found if path.suffix != ".old"}:
        with suppress(OSError, NotImplementedError):  # a lock that is held, or no locks at all
            with FileLock(lock, timeout=0):
                remove_known(lock.with_suffix(".part"))
                lock.unlink()
    for path in (path for path in found if path.suffix == ".old"):
        with suppress(OSError):
            if target.exists():
                _remove_replaced(path)
            else:
                os.rename(path, target)
    if (target / PLAN).is_file() and (target / RECORD).is_file():
        with suppress(OSError, NotImplementedError):
            lock = target.with_name(f"{_hide(target)}unfinished.lock")
            with FileLock(lock, timeout=0):
                _tidy(target)
                lock.unlink()


def _remove_replaced(folder):
    """Remove the folder of a run that another one has replaced, if it holds nothing else."""
    record = None
    try:
        if (folder / RECORD).is_file():
            record = _check_ours(folder)
            _refuse_decided(folder)
            _refuse_changed(folder, record)
    except TableError:  # it was changed at the last moment
        announce(f"keeping {str(folder)!r}, the earlier folder: it holds more than its run wrote")
        return
    # Without a record, which is removed last, it is a final table, or only empty folders are left.
    remove_known(folder, FINAL_PARTS.fullmatch if record is None else _names_of(record, folder))


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


def _move(folder, target, *, force, check=check_place):
    """Put the folder in its place; an earlier one goes first, and comes back if that fails."""
    old = None
    if target.exists():
        check(target, force=force)  # another run may have come first
        old = target.with_name(f"{_hide(target)}{secrets.token_hex(4)}.old")
        os.rename(target, old)
    try:
        if old is not None and any(old.iterdir()):  # somebody may have added something until it was moved
            with _naming(target, old):
                check(old, force=True)
        os.rename(folder, target)
    except BaseException as error:
        if old is not None and not target.exists():
            os.rename(old, target)
        elif isinstance(error, OSError) and target.exists():
            raise TableError(
                "{target!r} was made by another run in the meantime: choose another folder{output:aside}.",
                target=str(target),
            ) from None
        raise
    if old is not None:
        _remove_replaced(old)

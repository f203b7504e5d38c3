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
from typing import Any, NoReturn

from filelock import FileLock, Timeout

from subsvms._atomic import explaining, write_whole
from subsvms._effort import announce
from subsvms.app import names
from subsvms.app.names import ANSWERED, PLAN, RECORD, SCRAP, TABLE, UNDER_WAY
from subsvms.app.quoting import show
from subsvms.app.runs.history_file import holds_decisions
from subsvms.app.runs.record import Record, read_record
from subsvms.app.tables.addresses import is_address
from subsvms.app.tables.files import digest_file
from subsvms.exceptions import Sentence, TableError, join_sentences

Known = Callable[[str], Any]
Check = Callable[..., None]  # a function like `check_place`


def refuse(folder: Path, words: str, **values: Any) -> NoReturn:
    """Raise the error about a folder that must not be written to; {other} asks for another one."""
    other = Sentence("choose another folder{output:aside}")
    raise TableError("{folder!r} " + words, folder=str(folder), other=other, **values)


def check_place(target: Path, *, force: bool) -> None:
    """Raise an error if there is something that must not be replaced; parameters as in `prepare_place`."""
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        refuse(target, "is not a folder: choose another name for the result{output:aside}.")
    if not any(target.iterdir()):
        return
    if not (target / RECORD).is_file():
        refuse(target, "holds files that do not belong to a run: {other}.")
    _refuse_decided(target)
    if not force:
        refuse(target, "holds the result of an earlier run: {other}, or replace it{force:aside}.")
    record = _check_ours(target)
    paths = [Path(one).resolve() for one in record.input.paths if not is_address(one)]
    made = f"{Path(TABLE).stem}{ANSWERED}"  # from the answers on standard input; others are in their file
    only = [path for path in paths if ANSWERED not in path.name or path.name.startswith(made)]
    if any(path.is_relative_to(target.resolve()) for path in only):  # the only copy, as of a data frame
        refuse(target, "holds the table that it is about: {other}, or remove it yourself.")
    _refuse_changed(target, record)


def prepare_place(target: Path, *, force: bool, check: Check = check_place) -> Path:
    """Remove what killed runs left, and raise an error if the result of a run must not be written there."""
    if not target.parent.is_dir():
        raise TableError(f"There is no folder {str(target.parent)!r} to write in: make it first.")
    if not os.access(target.parent, os.W_OK):
        words = "The folder {folder!r} cannot be written to: choose another{output:aside}."
        raise TableError(words, folder=str(target.parent))
    target = target.parent.resolve() / target.name  # a path through the folder itself breaks when it moves
    with explaining(target):
        _clear_away(target)
        check(target, force=force)
    return target


def _refuse_decided(folder):
    # an audit with another seed in the place of this one would void its claim
    if holds_decisions(folder / names.DECISIONS) or (folder / names.AUDIT).exists():
        refuse(folder, "holds decisions or answers of people, which must not be overwritten: {other}.")


def _check_ours(folder: Path) -> Record:
    """Return the record of a run's folder; raise an error if it holds anything that the run did not write."""
    try:
        record = read_record(folder)
    except TableError as error:
        refuse(folder, "cannot be replaced, {other}: {error}", error=error)
    _, foreign = _sort_out(folder, _names_of(record, folder))
    if foreign:
        words = "holds {name}, which the run did not write: move it elsewhere, or {other}."
        if foreign[0].partition(".")[0] == names.FINAL:
            words = (
                "holds {name}, which subsvms apply writes, and which may hold what people decided: {other}, "
                "or move or delete this one first."
            )
        refuse(folder, words, name=show(foreign[0]))
    return record


def _refuse_changed(folder, record):
    for name, digest in record.digests.items():
        if (folder / name).is_file() and digest_file(folder / name) != digest:
            words = "holds {name}, which was changed after the run wrote it: move it elsewhere, or {other}."
            refuse(folder, words, name=show(name))


def _names_of(record, folder):
    """Return which files a finished run wrote; scrap only if it was killed before that was removed."""
    tidy = not (folder / PLAN).is_file()
    always = {RECORD, names.REPORT, *names.DECISION_FILES, *names.AUDIT_FILES, *record.files}
    return lambda name: name in always or (not tidy and SCRAP.fullmatch(name))


def _sort_out(folder: Path, known: Known) -> tuple[list[str], list[str]]:
    """Return the names of the files in a folder that are known, and of all else in it but our folders."""
    ours: list[str] = []
    foreign: list[str] = []
    for place, folders, files in os.walk(folder):
        inner = Path(place).relative_to(folder)
        known_folders = () if inner.parts else names.FOLDERS
        odd = [one for one in folders if one not in known_folders or Path(place, one).is_symlink()]
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
        _remove_files(folder, known, last)
        folder.rmdir()


def _remove_files(folder, known, last):
    """Remove the known files of a folder, one of them last, and those of our folders that are empty then."""
    for name in sorted(_sort_out(folder, known)[0], key=last.__eq__):
        with suppress(OSError):  # the others go all the same
            (folder / name).unlink(missing_ok=True)
    for one in names.FOLDERS:
        with suppress(OSError):  # not there, or not empty
            (folder / one).rmdir()


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
        raise TableError(_rename(error.args[0], str(folder), str(target))) from None


def _rename(words, old, new):
    """Return a sentence, or a part of one, with another name of a folder."""
    if isinstance(words, Sentence):
        return join_sentences([_rename(part, old, new) for part in words.parts], "")
    return words.replace(old, new) if isinstance(words, str) else words


@contextmanager
def resume_folder(target: Path, plan: dict[str, Any], *, force: bool) -> Iterator[Path]:
    """Give a folder to fill that stays if the block fails, so that the next run can continue it."""
    target = prepare_place(target, force=force)
    folder = target.with_name(target.name + names.UNFINISHED)
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
            with suppress(OSError):
                _remove_files(target, SCRAP.fullmatch, PLAN)


def _check_unfinished(folder):
    """Raise an error if there is anything but what a run in parts leaves when it is stopped."""
    if not (folder.exists() or folder.is_symlink()):
        return
    known = UNDER_WAY if (folder / PLAN).is_file() else re.compile(names.TEMPORARY)  # the plan comes first
    plain = folder.is_dir() and not folder.is_symlink()
    foreign = _sort_out(folder, known.fullmatch)[1] if plain else [folder.name]
    if foreign:
        words = "is where this run would work, but holds other files ({name}): move them, or {other}."
        refuse(folder, words, name=show(foreign[0]))


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
                _remove_files(target, SCRAP.fullmatch, PLAN)
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
    remove_known(folder, names.FINAL_PARTS.fullmatch if record is None else _names_of(record, folder))


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
            refuse(target, "was made by another run in the meantime: {other}.")
        raise
    if old is not None:
        _remove_replaced(old)

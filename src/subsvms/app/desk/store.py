"""audit.json: the whole memory of an audit, in the folder of its run.

It is on disk before the first question is shown, and an answer is there before it is acknowledged. Every
change is read, made and written whole under a lock (audit.json.lock), so several people and processes may
answer at once, and one that is killed leaves what was acknowledged.

The file holds the answers in the order in which they came, with names and times; the state of the audit
(`Audit.state`, where rows count from 0) follows from them and is kept as a check. A checksum tells when
somebody changed the file: then no claim could be made, so it is refused.
"""

import hashlib
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from subsvms._atomic import explaining, write_whole
from subsvms.app.names import AUDIT, RECORD
from subsvms.app.tables.files import digest_file
from subsvms.app.words import first_sentence, show
from subsvms.exceptions import InputError, TableError

FORMAT = 1  # raised when an older reader could misread the file
PATIENCE = 30.0  # seconds to wait for others that write


@dataclass(frozen=True)
class Answer:
    """What one person said about one row."""

    row: int  # counted from 1
    label: str | int | float | bool | None  # None for "cannot tell"
    who: str  # the person, and when: ISO 8601, UTC
    at: str


@dataclass(frozen=True)
class StoredAudit:
    """An audit as it is stored."""

    state: dict[str, Any]  # of `Audit`
    # rows, from 1, that people had decided when the audit began; nobody is asked about them
    left_out: list[int]
    answers: list[Answer] = field(default_factory=list)  # in the order in which they came


@dataclass(frozen=True)
class StoredEstimate:
    """Rows drawn at random to estimate how many labels are wrong, and the answers."""

    rows: list[int]  # counted from 1
    random_state: int
    confidence: float
    answers: list[Answer] = field(default_factory=list)


@dataclass(frozen=True)
class Book:
    """What audit.json holds."""

    run: str  # SHA-256 of the run's record
    audit: StoredAudit | None = None
    estimate: StoredEstimate | None = None


class AuditFile:
    """The audit.json of a run's folder."""

    def __init__(self, folder: Path):
        self.path, self.run = folder / AUDIT, folder / RECORD

    def read(self) -> Book:
        """Return what the file holds, an empty book if there is no file; nothing in it is trusted."""
        with explaining(self.path):
            digest = digest_file(self.run)
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return Book(digest)
        book = parse_book(data, str(self.path))
        if book.run != digest:
            raise TableError(
                f"{str(self.path)!r} is about another run than the one in its folder: move it back to the "
                "folder in which it was made."
            )
        return book

    def change(self, edit: Callable[[Book], Book]) -> Book:
        """Replace what the file holds by what `edit` makes of it; when this returns, it is on disk."""
        lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        with explaining(self.path):
            self.run.stat()  # the lock would create a folder that was moved away, and be in its way back
            try:
                lock.acquire(timeout=PATIENCE)
            except Timeout:
                raise TableError(
                    f"{str(self.path)!r} is being written by another process, so nothing was stored: try "
                    "again."
                ) from None
            except NotImplementedError:
                raise TableError(
                    f"The folder of {str(self.path)!r} has no locks, so nothing was stored: copy it, and "
                    "the table, to a disk of this machine."
                ) from None
            try:
                before = self.read()
                after = edit(before)
                if after is not before:
                    write_whole(self.path, render_book(after))
                    _sync_folder(self.path.parent)
                return after
            finally:
                lock.release()

    def misfit(self, error: InputError) -> TableError:
        """Return the error for a file that cannot be about the run, whatever its checksum says."""
        return TableError(
            f"{str(self.path)!r} does not fit the run in its folder ({str(error).rstrip('.')}): restore both "
            "from a copy."
        )


def _sync_folder(folder):
    """Wait until the name of a new file is on disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def render_book(book: Book) -> bytes:
    """Return the bytes of audit.json."""
    body = {"subsvms_audit": FORMAT, **asdict(book)}
    text = json.dumps({**body, "sha256": compute_digest(body)}, indent=1, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode()


def compute_digest(body: dict[str, Any]) -> str:
    """Return the checksum of all that the file holds."""
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def parse_book(data: bytes, name: str) -> Book:
    """Return what the bytes of audit.json hold; raise an error if they are not those that we wrote."""
    try:
        body = json.loads(data)
        if not isinstance(body, dict) or "subsvms_audit" not in body:
            raise ValueError("no format")
        version, digest = body["subsvms_audit"], body.pop("sha256", None)
        if version == FORMAT:
            if digest != compute_digest(body):
                raise ValueError("its checksum is another")
            return msgspec.convert(body, Book)
    except (ValueError, RecursionError) as error:
        raise TableError(
            f"{name!r} is damaged, or somebody changed it ({show(first_sentence(error)).strip(chr(39))}): "
            "restore it from a copy, because a second audit of a table would void the claim."
        ) from None
    raise TableError(
        f"{name!r} has format {show(version)}, but this version of subsvms reads format {FORMAT}: use the "
        "version that began it."
    )


def add_answer(book: Book, part: str, answer: Answer, **changes: Any) -> Book:
    """Return a book with one more answer in its part "audit" or "estimate", and other changes of the part."""
    stored = getattr(book, part)
    return replace(book, **{part: replace(stored, answers=[*stored.answers, answer], **changes)})

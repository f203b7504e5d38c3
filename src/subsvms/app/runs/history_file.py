"""The SQLite file under the store of answers: its format, the run it belongs to, whether it is in its place.

The file is in WAL mode and every commit is on disk before it is acknowledged. Files can be moved, removed or
overwritten while they are open, and SQLite would go on writing to what nobody can find any more. So before
and after each commit the files under our names are compared with those that were opened.

An answer in an audit carries a seal: a checksum of the answer and of the seal before it. It tells when
somebody changed an answer, or how the audit was begun: then no claim could be made, so the file is refused.
Version 0.1.0 wrote format 3, which has no audits; such a file gets their tables when it is opened.
"""

import hashlib
import json
import os
import sqlite3
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from subsvms.app.quoting import show
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.formats import SQLITE
from subsvms.exceptions import TableError

FORMAT, BEFORE = 4, 3  # BEFORE: that of version 0.1.0
APPLICATION = int.from_bytes(b"SVMd", "big")  # in the header of the file
REFUSE = "BEGIN SELECT RAISE(ABORT, 'history is append-only'); END"


def _keep(table, verbs="stay", other="remain"):
    """Return triggers that keep a table as it is."""
    return (
        f"CREATE TRIGGER {table}_{verbs} BEFORE UPDATE ON {table} {REFUSE}",
        f"CREATE TRIGGER {table}_{other} BEFORE DELETE ON {table} {REFUSE}",
    )


DECISION_TABLES = (
    """CREATE TABLE acts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    undoes INTEGER UNIQUE REFERENCES acts(id),
    who TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT""",
    *_keep("acts"),
    """CREATE TABLE decisions (
    act INTEGER NOT NULL REFERENCES acts(id),
    row INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'keep', 'label', 'skip', 'drop')),
    label TEXT,
    note TEXT,
    PRIMARY KEY (act, row)
) STRICT, WITHOUT ROWID""",
    *_keep("decisions"),
    "CREATE TABLE run (number INTEGER PRIMARY KEY CHECK (number = 1), sha256 TEXT NOT NULL) STRICT",
    *_keep("run", "stays", "remains"),
)
AUDIT_TABLES = (
    "CREATE TABLE audits (part TEXT PRIMARY KEY, begun TEXT NOT NULL) STRICT",
    *_keep("audits"),
    """CREATE TABLE answers (
    act INTEGER PRIMARY KEY REFERENCES acts(id),
    part TEXT NOT NULL REFERENCES audits(part),
    row INTEGER NOT NULL,
    label TEXT NOT NULL,
    seal TEXT NOT NULL
) STRICT""",
    *_keep("answers"),
)
SCHEMAS = {BEFORE: DECISION_TABLES, FORMAT: DECISION_TABLES + AUDIT_TABLES}
# Errors that are about the disk, permissions or other processes, and not about what is in the file.
OUTSIDE = tuple(
    f"SQLITE_{name}" for name in "FULL IOERR READONLY CANTOPEN PERM BUSY LOCKED NOMEM PROTOCOL".split()
)


class StoredAct(NamedTuple):
    """An act as it is stored: decisions about rows, or an answer in an audit, or what it takes back."""

    act: int
    undoes: int | None
    who: str
    at: str
    lines: list[tuple[int, str, str, str | None]]  # row, verdict, label in JSON, note
    answer: tuple[str, int, str, str] | None = None  # part, row, label in JSON, seal


class Sums(NamedTuple):
    """What tells histories apart: their acts, the latest time, decisions, and the sum of the rows."""

    acts: int = 0
    latest: str = ""
    decisions: int = 0
    rows: int = 0

    def plus(self, entries: Sequence[StoredAct]) -> "Sums":
        """Return the sums with more entries."""
        rows = [row for entry in entries for row, *_ in entry.lines]
        latest = max([self.latest, *(entry.at for entry in entries)])
        return Sums(self.acts + len(entries), latest, self.decisions + len(rows), self.rows + sum(rows))


class BrokenFile(TableError):
    """The file of decisions is not, or no longer, the one it should be, or it cannot be written or read."""


class HistoryFile:
    """The file of the run with this run.json, open; one thread may use it at a time.

    If there is none and `create` is false, nothing is read, and nothing can be added.
    """

    def __init__(self, path: Path, run: Path | None, *, create: bool = True):
        self.path, self.run = path, run
        self.last = 0  # act up to which everything was read
        self.sums = Sums()  # of all that was read
        with self.explaining(), ExitStack() as on_failure:
            self.digest = "" if run is None else digest_file(run)
            if is_emptied(path):
                raise BrokenFile(
                    f"{str(path)!r} is empty or missing, but {path.name + '-wal'!r} beside it still holds "
                    "decisions: restore the file; nothing was changed."
                )
            stored = create or get_size(path) > 0
            if stored:
                with suppress(FileExistsError):
                    path.touch(exist_ok=False)
            before = self._look()[0]
            if stored:
                with path.open("rb") as file:
                    if file.read(len(SQLITE)) not in (b"", SQLITE):  # SQLite takes a short file for empty
                        raise self.damaged("not a SQLite database")
            place = path if stored else ":memory:"
            how: dict[str, Any] = {"check_same_thread": False, "isolation_level": None}
            self.connection = sqlite3.connect(place, timeout=30, **how)
            on_failure.callback(self.connection.close)
            weakref.finalize(self, self.connection.close)  # for those who do not close it
            self._set_up()
            if not stored:
                self.connection.execute("PRAGMA query_only = ON")  # what is added would be lost
            self.places, self.stamps = self._look()
            if self.places[0] != before[0]:
                raise self.moved()
            on_failure.pop_all()

    def _set_up(self) -> None:
        execute = self.connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # acknowledged is on disk
        execute("PRAGMA trusted_schema = OFF")
        execute("BEGIN IMMEDIATE")
        (version,) = execute("PRAGMA user_version").fetchone()
        made: tuple[str, ...] = ()
        if version == 0 and execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            made = SCHEMAS[FORMAT]
        elif version == BEFORE:
            self._check_content(self.connection)
            made = AUDIT_TABLES
        for statement in made:
            execute(statement)
        if version == 0 and made:
            execute("INSERT INTO run VALUES (1, ?)", (self.digest,))
            execute(f"PRAGMA application_id = {APPLICATION}")
        if made:
            execute(f"PRAGMA user_version = {FORMAT}")
        execute("COMMIT")
        self._check_content(self.connection)

    def _check_content(self, connection: sqlite3.Connection) -> None:
        """Raise an error unless the file is sound, has our tables, and belongs to the run."""
        execute = connection.execute
        (version,) = execute("PRAGMA user_version").fetchone()
        if version not in SCHEMAS:
            raise self.damaged(f"format {version}, not {FORMAT}")
        made = execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        found = {_squeeze(sql) for (sql,) in made if not sql.startswith("CREATE TABLE sqlite_")}
        ours = execute("PRAGMA application_id").fetchone() == (APPLICATION,)
        if not ours or found != {_squeeze(statement) for statement in SCHEMAS[version]}:
            raise self.damaged("unexpected tables")
        (sound,) = execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise self.damaged(show(sound))
        owner = execute("SELECT sha256 FROM run").fetchall()
        if self.run is not None and owner != [(self.digest,)]:
            raise BrokenFile(
                f"{str(self.path)!r} holds decisions about another run than the one in its folder: move it "
                "back to the folder in which it was made."
            )

    def damaged(self, reason: str) -> BrokenFile:
        """Return the error for a file whose content cannot be right."""
        return BrokenFile(
            f"{str(self.path)!r} is not a file of decisions, or it is damaged ({reason}): restore it, or "
            "move it away to start again without it."
        )

    def moved(self) -> BrokenFile:
        """Return the error for a file that is no longer there."""
        return BrokenFile(
            f"{str(self.path)!r}, or the run beside it, was moved, removed or replaced while it was open: "
            "put it back, or stop the page and start it again; until then nothing is stored."
        )

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn errors of SQLite and of the system into one sentence."""
        try:
            yield
        except (sqlite3.Error, UnicodeError, OSError) as error:
            name = getattr(error, "sqlite_errorname", "")
            if not isinstance(error, OSError) and not name.startswith(OUTSIDE):
                raise self.damaged(show(str(error))) from None
            reason = error.strerror if isinstance(error, OSError) else error
            raise BrokenFile(
                f"{str(self.path)!r} cannot be written or read ({reason}), so nothing was stored: check the "
                "free space and the permissions, and try again."
            ) from None

    def _look(self) -> tuple[list, list]:
        """Return which files have our names, and when those that seldom change were changed."""
        names = (self.path.name + end for end in ("", "-wal", "-shm"))
        found = [_stat(self.path.with_name(name)) for name in names]
        stamped = (found[0], None if self.run is None else _stat(self.run))
        return (
            [one and (one.st_dev, one.st_ino) for one in found],
            [one and (one.st_ino, one.st_size, one.st_mtime_ns) for one in stamped],
        )

    def check_place(self, new: Sequence[StoredAct] = ()) -> None:
        """Raise an error unless whoever opens the file by its name finds all that was read from it."""
        # File, log and index must be those that were opened. The file itself changes when SQLite moves the
        # log into it, or when somebody overwrites it: then it is read again and compared.
        places, stamps = self._look()
        if places != self.places or (stamps != self.stamps and not self._is_intact(new)):
            raise self.moved()
        self.stamps = stamps

    def _is_intact(self, new: Sequence[StoredAct]) -> bool:
        """Return whether the run is the same, and a new reader of the file finds as much as we did."""
        try:
            if is_emptied(self.path) or (self.run is not None and digest_file(self.run) != self.digest):
                return False
            uri = f"{self.path.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, timeout=30, uri=True)) as connection:
                self._check_content(connection)
                return add_up(connection, new[-1].act if new else self.last) == self.sums.plus(new)
        except (OSError, UnicodeError, sqlite3.Error, BrokenFile):
            return False

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the connection; without an error, what the block did can be acknowledged."""
        # Whoever adds an act must have read those before it: that is when rows and labels are checked.
        with self.explaining():
            self.check_place()
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # SQLite may have rolled back already
                    self.connection.execute("ROLLBACK")
                raise
            self.check_place(self.read_new())

    def read_new(self) -> list[StoredAct]:
        """Return what was added since the last act that was passed to `accept`."""
        with self.explaining():
            return read_acts(self.connection, self.last)

    def accept(self, entries: list[StoredAct]) -> None:
        """Remember that these entries are known."""
        self.sums = self.sums.plus(entries)
        self.last = entries[-1].act if entries else self.last


def is_emptied(path: Path) -> bool:
    """Return whether a file is empty or missing although its log is not: SQLite would delete the log."""
    return get_size(path) == 0 < get_size(path.with_name(path.name + "-wal"))


def get_size(path: Path) -> int:
    """Return the bytes of a file; 0 if there is none."""
    return getattr(_stat(path), "st_size", 0)


def read_acts(connection: sqlite3.Connection, after: int) -> list[StoredAct]:
    """Return the acts with higher numbers than one, in order."""
    asked = "SELECT id, undoes, who, at FROM acts WHERE id > ? ORDER BY id"
    acts = connection.execute(asked, (after,)).fetchall()
    if not acts:
        return []
    upto = (after, acts[-1][0])
    # fetched at once: a cursor that is still open would keep a damaged file from being closed
    within = "WHERE act > ? AND act <= ? ORDER BY act"
    lines = connection.execute(f"SELECT * FROM decisions {within}, row", upto).fetchall()
    by_act = {act: [line[1:] for line in some] for act, some in groupby(lines, itemgetter(0))}
    found = connection.execute(f"SELECT * FROM answers {within}", upto).fetchall()
    answers = {line[0]: line[1:] for line in found}
    return [StoredAct._make((*act, by_act.get(act[0], []), answers.get(act[0]))) for act in acts]


def seal(before: str, *values: Any) -> str:
    """Return the checksum of an answer, or of how an audit was begun, and of the seal before it."""
    return hashlib.sha256(json.dumps([before, *values]).encode()).hexdigest()


def add_up(connection: sqlite3.Connection, last: int) -> Sums:
    """Return the sums over all acts up to one; reading every line of a long history would take seconds."""
    acts = connection.execute("SELECT count(*), max(at) FROM acts WHERE id <= ?", (last,)).fetchone()
    lines = connection.execute("SELECT count(*), sum(row) FROM decisions WHERE act <= ?", (last,)).fetchone()
    return Sums(acts[0], acts[1] or "", lines[0], lines[1] or 0)


def _squeeze(sql):
    return " ".join(sql.rstrip("; \n").split())


def _stat(path):
    try:
        return os.stat(path)
    except OSError:
        return None


def holds_decisions(path: Path) -> bool:
    """Return whether a file holds, or may hold if it cannot be read, acts of people."""
    log, index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if is_emptied(path) or (get_size(log) and not index.exists()):
        return True
    if not path.exists():
        return False
    mode = "mode=ro" if get_size(log) else "immutable=1"  # otherwise a log and an index would be left behind
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                return False  # a review was killed when it began
            return connection.execute("SELECT count(*) FROM acts").fetchone() != (0,)
    except (sqlite3.Error, UnicodeError):
        return True

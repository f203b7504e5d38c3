"""What people decided about suspicious labels: an append-only history in SQLite.

An *act* is one thing that a person did: a decision on one row or on all rows of a filter, or an undo, which
names the act that it takes back. Nothing is ever changed or deleted (triggers prevent it), so undo works at
any depth and the history shows who did what, and when. The decision that holds for a row is that of the
latest act on it that was not taken back.

The file is in WAL mode and every commit is on disk before it is acknowledged. Several people, tabs or
processes may write at once; each reads what the others added since the last act it has seen.
"""

import json
import sqlite3
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsvms.app.tables.files import show
from subsvms.exceptions import TableError

FORMAT = 1
NAME_CHARACTERS = 60  # of a person's name, at most
REFUSE = "BEGIN SELECT RAISE(ABORT, 'history is append-only'); END"
SCHEMA = (
    """CREATE TABLE acts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    undoes INTEGER UNIQUE REFERENCES acts(id),
    who TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT""",
    """CREATE TABLE decisions (
    act INTEGER NOT NULL REFERENCES acts(id),
    row INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'keep', 'label', 'skip')),
    label TEXT,
    PRIMARY KEY (act, row)
) STRICT, WITHOUT ROWID""",
    f"CREATE TRIGGER acts_stay BEFORE UPDATE ON acts {REFUSE}",
    f"CREATE TRIGGER acts_remain BEFORE DELETE ON acts {REFUSE}",
    f"CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions {REFUSE}",
    f"CREATE TRIGGER decisions_remain BEFORE DELETE ON decisions {REFUSE}",
)


@dataclass(frozen=True)
class Decision:
    """What one person decided about one row.

    Attributes
    ----------
    act : int
        Number of the act.
    row : int
        Counted from 1, as in issues.csv.
    verdict : {"accept", "keep", "label", "skip"}
        The suggested label, the given one, another one, or none yet.
    label : Any
        The label that the row has then; None if it was skipped.
    who : str
    at : str
        ISO 8601, UTC.
    """

    act: int
    row: int
    verdict: str
    label: Any
    who: str
    at: str


class NothingToUndo(Exception):
    """Nothing that this person did can be taken back any more."""


class Decisions:
    """The decisions of a run's folder.

    Parameters
    ----------
    path : Path
        The SQLite file; it is created if it does not exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     book = Decisions(Path(folder) / "decisions.sqlite")
    ...     _ = book.decide([(7, "accept", "yes"), (9, "keep", "no")], who="Ann")
    ...     _ = book.decide([(7, "label", "maybe")], who="Bob")
    ...     print(book.current[7].label, len(book.current))
    ...     _ = book.undo(who="Bob")
    ...     print(book.current[7].label, [act["who"] for act in book.history()])
    ...     book.close()
    maybe 2
    yes ['Ann', 'Bob', 'Bob']
    """

    def __init__(self, path: Path):
        self.path = Path(path)
        self.lock = threading.RLock()
        self.last = 0  # act that was read last
        self.stacks: dict[int, list[Decision]] = {}  # by row, what holds, oldest first
        self.rows_of: dict[int, list[int]] = {}  # by act
        self.order: list[int] = []  # numbers of the acts, ascending
        try:
            self.connection = sqlite3.connect(
                self.path, timeout=30, check_same_thread=False, isolation_level=None
            )
            with ExitStack() as on_failure:
                on_failure.callback(self.close)
                self._set_up(self.connection)
                self.refresh()
                on_failure.pop_all()
        except (sqlite3.Error, KeyError, ValueError, TypeError) as error:
            raise TableError(
                f"{str(self.path)!r} is not a file of decisions, or it is damaged ({show(str(error))}): "
                "restore it, or move it away to start again without it."
            ) from None

    def _set_up(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # acknowledged is on disk
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("BEGIN IMMEDIATE")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if version == 0 and tables == 0:
            for statement in SCHEMA:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
        elif version != FORMAT:
            raise ValueError(f"format {version}, not {FORMAT}")
        connection.execute("COMMIT")
        wanted = {_squeeze(statement) for statement in SCHEMA}
        found = {
            _squeeze(sql)
            for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
            if not sql.startswith("CREATE TABLE sqlite_")
        }
        if found != wanted:
            raise ValueError("its tables are not ours")
        (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise ValueError(sound)

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise

    def decide(self, decided: Iterable[tuple[int, str, Any]], *, who: str) -> int:
        """Add one act and return its number; when this returns it is on disk.

        Parameters
        ----------
        decided : iterable of (row, verdict, label)
        who : str
        """
        return self.decide_many([(list(decided), who)])[0]

    def decide_many(self, acts: list[tuple[list[tuple[int, str, Any]], str]]) -> list[int]:
        """Add several acts in one commit, which takes no longer than one act, and return their numbers."""
        now, numbers = _now(), []
        with self._transaction() as connection:
            for decided, who in acts:
                cursor = connection.execute("INSERT INTO acts (who, at) VALUES (?, ?)", (who, now))
                numbers.append(int(cursor.lastrowid or 0))
                connection.executemany(
                    "INSERT INTO decisions VALUES (?, ?, ?, ?)",
                    [(numbers[-1], row, verdict, json.dumps(label)) for row, verdict, label in decided],
                )
        self.refresh()
        return numbers

    def undo(self, *, who: str) -> list[Decision]:
        """Take back the latest act of this person that still holds, and return what it had decided."""
        with self._transaction() as connection:
            found = connection.execute(
                "SELECT max(id) FROM acts WHERE who = ? AND undoes IS NULL AND id NOT IN "
                "(SELECT undoes FROM acts WHERE undoes IS NOT NULL)",
                (who,),
            ).fetchone()[0]
            if found is None:
                raise NothingToUndo
            taken = self._read_decisions(connection, "act = ?", found)
            connection.execute("INSERT INTO acts (undoes, who, at) VALUES (?, ?, ?)", (found, who, _now()))
        self.refresh()
        return taken

    def refresh(self) -> list[int]:
        """Read what anybody has added since, and return the rows that it is about."""
        with self.lock:
            acts = self.connection.execute(
                "SELECT id, undoes FROM acts WHERE id > ? ORDER BY id", (self.last,)
            ).fetchall()
            if not acts:
                return []
            added = self._read_decisions(self.connection, "act > ?", self.last)
            by_act: dict[int, list[Decision]] = {}
            for decision in added:
                by_act.setdefault(decision.act, []).append(decision)
            touched: list[int] = []
            for act, undoes in acts:
                if undoes is None:
                    for decision in by_act.get(act, []):
                        self.stacks.setdefault(decision.row, []).append(decision)
                    self.rows_of[act] = [decision.row for decision in by_act.get(act, [])]
                    touched += self.rows_of[act]
                else:
                    self.rows_of[act] = self.rows_of.get(undoes, [])
                    for row in self.rows_of[act]:
                        self.stacks[row] = [one for one in self.stacks[row] if one.act != undoes]
                        touched.append(row)
                self.order.append(act)
                self.last = act
            return touched

    @staticmethod
    def _read_decisions(connection, condition, value):
        lines = connection.execute(
            "SELECT act, row, verdict, label, who, at FROM decisions JOIN acts ON act = id "
            f"WHERE {condition} ORDER BY act, row",
            (value,),
        )
        return [
            Decision(act, row, verdict, json.loads(label), who, at)
            for act, row, verdict, label, who, at in lines
        ]

    @property
    def current(self) -> dict[int, Decision]:
        """The decision that holds for each row, skipped ones left out."""
        with self.lock:
            latest = {row: stack[-1] for row, stack in self.stacks.items() if stack}
        return {row: decision for row, decision in latest.items() if decision.verdict != "skip"}

    def touched(self, since: int, most: int | None = 1000) -> list[int]:
        """Return the rows that later acts than `since` decided or took back; only the latest `most`."""
        with self.lock:
            rows: dict[int, None] = {}
            for act in reversed(self.order[bisect_right(self.order, since) :]):
                rows |= dict.fromkeys(self.rows_of[act])
                if most is not None and len(rows) >= most:
                    break
            return sorted(list(rows)[:most])

    def latest(self, row: int) -> Decision | None:
        """Return the last decision about a row that was not taken back."""
        stack = self.stacks.get(row)
        return stack[-1] if stack else None

    def history(self) -> list[dict[str, Any]]:
        """Return every act in order: number, who, when, the act it took back, how many rows it decided."""
        with self.lock:
            lines = self.connection.execute(
                "SELECT id, who, at, undoes, (SELECT count(*) FROM decisions WHERE act = id) FROM acts "
                "ORDER BY id"
            ).fetchall()
        return [dict(zip(("act", "who", "at", "undoes", "rows"), line, strict=True)) for line in lines]


def holds_decisions(path: Path) -> bool:
    """Return whether a file holds, or may hold if it cannot be read, anything that people decided."""
    if not path.exists():
        return False
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            return bool(connection.execute("SELECT count(*) FROM acts").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.Error:
        return True


def check_name(who: Any) -> str:
    """Return a person's name without spaces around it, or raise an error if it is not a name.

    Examples
    --------
    >>> check_name("  Ann ")
    'Ann'
    """
    name = who.strip() if isinstance(who, str) else ""
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise TableError(f"A name must have 1 to {NAME_CHARACTERS} characters; got {show(who)}.")
    return name


def _squeeze(sql):
    return " ".join(sql.rstrip("; \n").split())


def _now():
    return datetime.now(UTC).isoformat(timespec="milliseconds")

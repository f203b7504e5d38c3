"""The store of what people answered about the labels of a run: decisions in a review, answers in an audit.

An *act* is one thing that a person did: a decision on one row or on all rows of a filter; an undo, which
names the act that it takes back; a redo, which names the undo that it takes back, and decides again what that
had undone; or an answer to a question of an audit, which stands. Nothing is ever changed or deleted
(`history_file`), so undo works at any depth and the history shows who did what, and when. The decision that
holds for a row is that of the latest act on it that was not taken back.

Several people, tabs or processes may write at once; each reads what the others added since the last act it
has seen. An act can say which act its author has seen: if somebody decided otherwise since, it is not stored,
unless its author could not know, and so gives a second opinion: then both hold, and the row is disputed.
"""

import json
import sqlite3
import threading
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from subsvms.app.quoting import show
from subsvms.app.runs.history_file import HistoryFile, StoredAct, seal
from subsvms.exceptions import TableError, is_text

NAME_CHARACTERS = 60  # of a person's name, at most
NOTE_CHARACTERS = 2000  # of a note, at most
VERDICTS = ("accept", "keep", "label", "skip", "drop")
MAY_LACK_LABEL = ("skip", "drop")


class Decided(NamedTuple):
    """A decision about one row, as it goes into an act; the attributes are those of `Decision`."""

    row: int
    verdict: str
    label: Any
    note: str | None = None


@dataclass(frozen=True)
class Decision:
    """What one person decided about one row."""

    act: int  # number of the act
    row: int  # counted from 1, as in issues.csv
    # {"accept", "keep", "label", "skip", "drop"}: the suggested label, the given one, another one, none
    # yet, or that the row is to be left out
    verdict: str
    label: Any  # the label that the row has then; None if it was skipped or is left out
    who: str
    at: str  # ISO 8601, UTC
    note: str | None = None  # what this person remarked
    n_rows: int = 1  # how many rows were decided together: only of one can be said that somebody looked at it

    @property
    def line(self) -> Decided:
        """What was decided."""
        return Decided(self.row, self.verdict, self.label, self.note)

    @property
    def opinion(self) -> Any:
        """What people may differ about: the verdict that leaves a row out, or its label; None if skipped."""
        return {"skip": None, "drop": "drop"}.get(self.verdict, (self.label,))

    def says(self, line: Decided) -> bool:
        """Return whether a line decides the same, apart from what was remarked."""
        return self.line[:3] == line[:3]


class Act(NamedTuple):
    """Decisions that one person makes together."""

    decided: list[Decided]
    who: str
    # the last act that this person has seen. If others decided any of the rows differently since, nothing
    # is stored. By default all is stored in any case.
    seen: int | None = None
    keep_theirs: bool = False  # whether to leave out such rows instead, and to store the rest


@dataclass(frozen=True)
class Answer:
    """What one person said about one row in an audit; it stands."""

    row: int  # counted from 1
    label: str | int | float | bool | None  # None for "cannot tell"
    who: str
    at: str  # ISO 8601, UTC


class NothingToUndo(Exception):
    """Nothing that this person did, or undid, can be taken back any more."""


class NotAsked(TableError):
    """An answer to a question that nobody is asked, or that was answered in the meantime."""


class Conflict(Exception):
    """Others decided differently in the meantime."""

    def __init__(self, theirs: list[Decision]):
        super().__init__("others decided differently")
        self.theirs = theirs


def check_name(who: Any) -> str:
    """Return a person's name without spaces around it, or raise an error if it is not a name."""
    name = who.strip() if isinstance(who, str) else ""
    if not 1 <= len(name) <= NAME_CHARACTERS or not name.isprintable():
        raise TableError(f"A name must have 1 to {NAME_CHARACTERS} characters; got {show(who)}.")
    return name


def check_note(note: Any) -> str | None:
    """Return a note without spaces around it, None if nothing is left; refuse one that is too long."""
    if note is None:
        return None
    if not isinstance(note, str) or len(note) > NOTE_CHARACTERS or not is_text(note) or "\0" in note:
        raise TableError(f"A note is text of at most {NOTE_CHARACTERS:,} characters; got {show(note)}.")
    return note.strip() or None


class AnswerStore:
    """What people decided and answered about a run, in a SQLite file; parameters as in `HistoryFile`.

    rows, labels: rows that can be decided, and labels that they may get: a file with others is refused.
    """

    def __init__(
        self, path: Path, run: Path | None = None, *, rows: Container[int] | None = None,
        labels: Iterable | None = None, create: bool = True,
    ):  # fmt: skip
        self.rows = rows
        self.labels = None if labels is None else {json.dumps(label): label for label in (*labels, None)}
        self.lock = threading.RLock()
        self.stacks: dict[int, list[Decision]] = {}  # by row, what holds, oldest first
        self.rows_of: dict[int, list[int]] = {}  # by act
        self.made: dict[int, list[Decision]] = {}  # by act that decides, or decides again
        self.took: dict[int, int] = {}  # by undo, the act that it took back
        self.done: dict[str, list[int]] = defaultdict(list)  # by person, acts that hold, oldest first
        self.undone: dict[str, list[int]] = defaultdict(list)  # by person, undos that can be taken back
        self.order: list[int] = []  # numbers of the acts, ascending
        self.begun: dict[str, Any] = {}  # by part, "audit", "confirm", "until" or "estimate", how
        self.answers: dict[str, list[Answer]] = {}  # by part, in the order in which they came
        self.seals: dict[str, str] = {}  # by part, the last one
        self.file = HistoryFile(Path(path), run, create=create)
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.file.connection.close()

    @property
    def last(self) -> int:
        """Number of the last act that was read."""
        return self.file.last

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Read what others did, and give the connection: all that the block adds is stored, or nothing."""
        with self.lock:
            with self.file.transaction() as connection:
                self._take_in(self.file.read_new())
                yield connection
            self._take_in(self.file.read_new())

    def decide_many(self, acts: list[Act]) -> list[int | Conflict]:
        """Add several acts in one commit, which takes no longer than one act."""
        now, answers = _now(), []
        added = defaultdict[int, list[Decision]](list)  # by row
        with self.changing() as connection:
            for act in (one._replace(decided=[Decided(*line) for line in one.decided]) for one in acts):
                rows = [line.row for line in act.decided]
                answer, decided = resolve(
                    act, {row: [*self.stacks.get(row, ()), *added[row]] for row in rows}
                )
                if decided:
                    answer = _add_act(connection, act.who, now)
                    lines = [(answer, *one[:2], json.dumps(one.label), one.note) for one in decided]
                    for line in lines:
                        self._check(*line[1:])  # what could not be read again must not be stored
                    connection.executemany("INSERT INTO decisions VALUES (?, ?, ?, ?, ?)", lines)
                    for one in decided:
                        added[one.row].append(Decision(answer, *one[:3], act.who, now, one.note))
                answers.append(answer)
        return answers

    def undo(self, *, who: str) -> list[Decision]:
        """Take back the latest act of this person that still holds, and return what it had decided."""
        with self.changing() as connection:
            if not self.done[who]:
                raise NothingToUndo
            act = self.done[who][-1]
            _add_act(connection, who, _now(), undoes=act)
        return self.made[act]

    def redo(self, *, who: str) -> list[Decision]:
        """Decide again what this person undid last, and return it."""
        # Nothing is left to redo for who decided anything since. If others decided one of the rows
        # differently since that decision, nothing is stored, and `Conflict` is raised.
        with self.changing() as connection:
            if not self.undone[who]:
                raise NothingToUndo
            undo = self.undone[who][-1]
            again = self.made[self.took[undo]]
            latest = [(one, self.latest(one.row)) for one in again]
            news = [(one, new) for one, new in latest if new and new.act > self.took[undo] and new.who != who]
            theirs = [new for one, new in news if new.verdict != "skip" and not new.says(one.line)]
            if theirs:
                raise Conflict(theirs)
            redo = _add_act(connection, who, _now(), undoes=undo)
        return self.made[redo]

    def begin(self, connection: sqlite3.Connection, part: str, how: Any) -> None:
        """Begin an audit or an estimate, within `changing`; there is one of each."""
        # It replaces one that nobody has answered: REPLACE passes the triggers that keep the others.
        text = json.dumps(how)
        connection.execute("INSERT OR REPLACE INTO audits VALUES (?, ?)", (part, text))
        self.seals[part] = seal("", part, text)

    def answer(self, connection: sqlite3.Connection, part: str, answers: Iterable[Answer]) -> None:
        """Add answers, within `changing`."""
        last = self.seals[part]
        for answer in answers:
            label = json.dumps(answer.label)
            last = seal(last, answer.row, label, answer.who, answer.at)
            line = (_add_act(connection, answer.who, answer.at), part, answer.row, label, last)
            connection.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", line)

    def refresh(self) -> list[int]:
        """Read what anybody has added since, and return the rows that it is about."""
        with self.lock:
            self.file.check_place()
            return self._take_in(self.file.read_new())

    def _take_in(self, entries: list[StoredAct]) -> list[int]:
        decided = [self._interpret(entry) for entry in entries]  # all of them, before anything is changed
        self._take_audits(entries)
        touched: list[int] = []
        for (act, undoes, who, at, _, answer), decisions in zip(entries, decided, strict=True):
            if undoes in self.made:
                decisions = self.made[undoes]
                for row in self.rows_of[undoes]:
                    self.stacks[row] = [one for one in self.stacks[row] if one.act != undoes]
                with suppress(IndexError, ValueError):  # it decided nothing, or was taken back before
                    self.done[decisions[0].who].remove(undoes)
                self.took[act] = undoes
                self.undone[who].append(act)
            elif answer is None:
                if undoes is None:
                    self.undone[who].clear()
                else:  # a redo; an act that is not known took nothing back
                    again = self.made.get(self.took.get(undoes, 0), [])
                    decisions = [replace(one, act=act, at=at) for one in again]
                    with suppress(ValueError):
                        self.undone[who].remove(undoes)
                for decision in decisions:
                    self.stacks.setdefault(decision.row, []).append(decision)
                self.made[act] = decisions
                self.done[who] += [act] * bool(decisions)
            self.rows_of[act] = [decision.row for decision in decisions]
            touched += self.rows_of[act]
            self.order.append(act)
        self.file.accept(entries)
        return touched

    def _take_audits(self, entries: list[StoredAct]) -> None:
        """Take the audits that others began, and the answers among some entries."""
        with self.file.explaining():
            begun = self.file.connection.execute("SELECT part, begun FROM audits").fetchall()
        for part, how in begun:
            if not self.answers.get(part):  # until then it may be replaced
                self.begun[part] = self._parse(how)
                self.answers[part], self.seals[part] = [], seal("", part, how)
        seals, new = dict(self.seals), []
        for entry in entries:
            if entry.answer is None:
                continue
            part, row, text, own = entry.answer
            expected = seal(seals.get(part, ""), row, text, entry.who, entry.at)
            if part not in seals or own != expected:
                raise self.file.damaged(f"somebody changed an answer, or the {show(part)} itself")
            seals[part] = own
            new.append((part, Answer(row, self._parse(text), entry.who, entry.at)))
        self.seals = seals
        for part, answer in new:
            self.answers[part].append(answer)

    def _parse(self, text: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.file.damaged(show(str(error))) from None

    def _interpret(self, entry: StoredAct) -> list[Decision]:
        """Return the decisions of an act; every value is checked: anybody may have changed the file."""
        try:
            check_name(entry.who)
            return [
                Decision(
                    entry.act, row, *self._check(row, verdict, text, note), entry.who, entry.at, note,
                    len(entry.lines),
                )
                for row, verdict, text, note in entry.lines
            ]  # fmt: skip
        except (ValueError, TypeError, RecursionError) as error:
            raise self.file.damaged(f"act {entry.act}: {error}") from None

    def _check(self, row: int, verdict: str, text: str, note: str | None) -> tuple[str, Any]:
        """Return the verdict and the label of a line."""
        if self.rows is not None and row not in self.rows:
            raise ValueError(f"row {row} is not an issue of this run")
        if self.labels is not None:
            if text not in self.labels:
                raise ValueError(f"row {row} has the label {show(text)}, which is not a class of the table")
            label = self.labels[text]
        else:
            label = json.loads(text)
            if not isinstance(label, str | int | float | None):
                raise ValueError(f"row {row} has the label {show(text)}, which is not a label")
        if label is None and verdict not in MAY_LACK_LABEL:
            raise ValueError(f"row {row} has no label")
        if verdict == "drop" and label is not None:
            raise ValueError(f"row {row} is left out, but has the label {show(text)}")
        check_note(note)
        return verdict, label

    @property
    def current(self) -> dict[int, Decision]:
        """The decision that holds for each row, skipped ones left out."""
        with self.lock:
            latest = {row: stack[-1] for row, stack in self.stacks.items() if stack}
        return {row: decision for row, decision in latest.items() if decision.verdict != "skip"}

    @property
    def given_labels(self) -> dict[int, Any]:
        """The label that people decided for each row, by row; None for rows that they left out."""
        return {row: decision.label for row, decision in self.current.items()}

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


def _add_act(connection, who, at, undoes=None):
    """Add an act, and return its number."""
    add = "INSERT INTO acts (undoes, who, at) VALUES (?, ?, ?)"
    return int(connection.execute(add, (undoes, who, at)).lastrowid)


def _now():
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def resolve(act: Act, stacks: dict[int, list[Decision]]) -> tuple[int | Conflict, list[Decided]]:
    """Return what to answer if nothing of an act is to be stored, and what is to be stored.

    stacks: by row, what holds, oldest first.
    """
    latest = {row: stack[-1] for row, stack in stacks.items() if stack}
    known = max((one.act for one in latest.values()), default=0)
    if act.seen is None:
        return known, act.decided
    news = {row: one for row, one in latest.items() if one.act > act.seen}
    stored = [news[line.row] for line in act.decided if line.row in news and line == news[line.row].line]
    if len(stored) == len(act.decided) and {one.who for one in stored} == {act.who}:
        return known, []
    agreed = {line.row for line in act.decided if line.row in news and news[line.row].says(line)}
    theirs = {row: one for row, one in news.items() if row not in agreed and one.verdict != "skip"}
    if theirs and not act.keep_theirs and not _is_second_opinion(act, stacks):
        return Conflict(list(theirs.values())), []
    return known, [line for line in act.decided if line.row not in theirs or not act.keep_theirs]


def _is_second_opinion(act: Act, stacks: dict[int, list[Decision]]) -> bool:
    """Return whether an act is about one row, and its author was not told what others decided about it.

    Who decided about the row before, or settles a dispute, was told.
    """
    last = {one.who: one.opinion for stack in stacks.values() for one in stack if one.opinion is not None}
    return len(stacks) == 1 and act.who not in last and len(set(last.values())) == 1

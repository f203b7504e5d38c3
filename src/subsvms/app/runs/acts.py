"""What people decide or answer about rows, the acts in which they do, and when two of them do not agree."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from subsvms._sentences import is_text
from subsvms.app.words import show
from subsvms.exceptions import TableError

NAME_CHARACTERS = 60  # of a person's name, at most
NOTE_CHARACTERS = 2000  # of a note, at most
VERDICTS = ("accept", "keep", "label", "skip", "drop")


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


class Line(NamedTuple):
    """A decision about one row, as it goes into an act; the attributes are those of `Decision`."""

    row: int
    verdict: str
    label: Any
    note: str | None = None


class Act(NamedTuple):
    """Decisions that one person makes together."""

    decided: list[Line]
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


@dataclass(frozen=True)
class BegunAudit:
    """How an audit was begun."""

    state: dict[str, Any]  # of `Audit`, without answers; rows count from 0 there
    left_out: list[int]  # rows, from 1, that people had decided by then; nobody is asked about them


@dataclass(frozen=True)
class BegunEstimate:
    """How an estimate was begun: rows were drawn at random."""

    rows: list[int]  # counted from 1
    random_state: int
    confidence: float


class NothingToUndo(Exception):
    """Nothing that this person did, or undid, can be taken back any more."""


class NotAsked(TableError):
    """An answer to a question that nobody is asked, or that was answered in the meantime."""


class Conflict(Exception):
    """Others decided differently in the meantime."""

    def __init__(self, theirs: list[Decision]):
        super().__init__("others decided differently")
        self.theirs = theirs


def resolve(act: Act, latest: dict[int, Decision | None]) -> tuple[int | Conflict, list[Line]]:
    """Return what to answer if nothing of an act is to be stored, and what is to be stored."""
    known = max((one.act for one in latest.values() if one is not None), default=0)
    if act.seen is None:
        return known, act.decided
    news = {row: one for row, one in latest.items() if one is not None and one.act > act.seen}
    stored = [line for line in act.decided if line.row in news and line == as_line(news[line.row])]
    if len(stored) == len(act.decided) and {news[line.row].who for line in stored} == {act.who}:
        return known, []
    agreed = {line.row for line in act.decided if line.row in news and agree(line, news[line.row])}
    theirs = [one for row, one in news.items() if row not in agreed and one.verdict != "skip"]
    if theirs and not act.keep_theirs:
        return Conflict(theirs), []
    left_out = {one.row for one in theirs}
    return known, [line for line in act.decided if line.row not in left_out]


def as_line(decision: Decision) -> Line:
    """Return what a decision says."""
    return Line(decision.row, decision.verdict, decision.label, decision.note)


def agree(line: Line, decision: Decision) -> bool:
    """Return whether a decision says the same, apart from what was remarked."""
    return line[:3] == as_line(decision)[:3]


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

"""Questions to people, their answers, and what follows: what page, files and command line of an audit share.

Everything that the page shows comes from here, as plain values; rows count from 1. A question shows the row
and the classes, and nothing that would give away what the run thinks: no label, suggestion, rank or vote.
With two classes the given label alone would be enough.

A person who is shown a question has it for ten minutes, so that others get other ones. This is remembered in
the process only: if two processes show one row, the first answer counts, and the other one is refused.
"""

import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsvms.app.desk.opened import Desk, open_acts, refuse_old
from subsvms.app.desk.questions import TAKEN_OVER, Confirm, Reach, Sample, Turns, list_answers, take
from subsvms.app.features.make import LEFT_OUT
from subsvms.app.looks import mark_classes
from subsvms.app.options import tell_flags, write_command
from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import Answer, NotAsked, check_name
from subsvms.app.runs.describe import cut
from subsvms.app.runs.record import read_record
from subsvms.audit import certify_target
from subsvms.exceptions import NOTHING, Setting, TableError

LEASE = 600.0  # seconds for which a question belongs to the person who sees it
WORDS = {
    "audit": "audit", "confirm": "confirmation", "estimate": "estimate", "until": "target", "test": "score",
}  # fmt: skip
NAMES = {"random_state": "seed", "confidence": "level", "error_rate": "until"}  # as the command line has it
SPOILED = {"until": {"audit", "confirm"}, "audit": {"until"}, "confirm": {"until"}}  # by answers to these


class QuestionDesk(Desk):
    """A run's folder, and questions about its rows, which are begun or go on; see `AuditDesk`.

    wanted: options of `kind.defaults`, but `seed` for `random_state`; None: as it was begun, or by default.
    """

    room = page = "audit"
    kind: type[Turns] | type[Sample]

    def __init__(self, folder: str | Path, *, create: bool = True, **wanted: Any):
        self.part = self.kind.part  # what they are for: "audit", "confirm", "until", "estimate" or "test"
        super().__init__(folder, create=create)
        # version 0.1.0 wrote the sentence alone
        leak = ("leak", "answers", "judge", tell_flags(LEFT_OUT["leak"]))
        lines = [line for line in self.record.found.columns if line.get("why", line["how"]) in leak]
        leaks = {name for line in lines for name, _ in line["columns"]}  # they give the label away
        leaks |= {*self.options.annotators, self.options.annotator_column, self.options.answers_column}
        leaks |= set(self.options.pred_probs)
        self.columns = [name for name in self.columns if name not in leaks]
        with ExitStack() as failing:
            failing.callback(self.close)
            self.scores: Any = self.read_scores()
            self._start(create, wanted)
            failing.pop_all()  # it is open: whoever asked for it closes it

    def _start(self, create: bool, wanted: dict[str, Any]) -> None:
        """Begin or go on, about what the scores hold."""
        self.lock = threading.RLock()
        self.leases: dict[str, tuple[int, float]] = {}  # by person: row, and until when it is theirs
        self.seen: dict[str, float] = {}  # by person: when they last asked or answered
        self.work: Any = None  # the questions, an instance of `kind`
        self.begun: Any = None  # how `work` was begun
        self.log: list[Answer] = []  # what `work` has taken
        self._open(create, self._sort_options(wanted))

    def _sort_options(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """Return the options that are wanted, in the order of the defaults: an error names the first."""
        names = {"seed": "random_state"}
        found = {names.get(name, name): value for name, value in wanted.items() if value is not None}
        if unknown := found.keys() - self.kind.defaults:
            raise TypeError(f"{type(self).__name__} has no option {min(unknown)!r}.")
        return {name: found[name] for name in self.kind.defaults if name in found}

    @property
    def flags(self) -> dict[str, Any]:
        """What the command line needs to ask these questions again, besides the folder."""
        told = {"estimate": "n_answers", "until": "error_rate"}.get(self.part)  # the value of the flag
        if told is None:
            return {"test": NOTHING} if self.part == "test" else {}
        return {self.part: NOTHING if self.work is None else self.work.options[told]}

    @property
    def meta(self) -> dict[str, Any]:
        """What stays the same while the page is open."""
        return {
            "title": self.title, "label": cut(self.options.label), "classes": self.classes,
            "marks": mark_classes(self.classes), "folder": str(self.folder), "part": self.part,
            "is_blind": self.work.is_blind,
        }  # fmt: skip

    def _open(self, create: bool, wanted: dict[str, Any]) -> None:
        """Go on with what was begun, or begin."""
        part = self.part
        refuse_old(self.folder, self.decisions)
        self._refuse_late()
        if create and not self.decisions.answers.get(part):
            with self.decisions.changing() as connection:
                self._refuse_late()
                if not self.decisions.answers.get(part):  # else another process was first
                    self.decisions.begin(connection, part, asdict(self._draw(wanted)))
        elif part not in self.decisions.begun:
            command = write_command(self.room, **self.flags)
            raise TableError(f"There is no {WORDS[part]} in {str(self.folder)!r}: begin one with {command}.")
        self._refresh()
        self._check_options(part, self.work.options, wanted)

    def _draw(self, wanted: dict[str, Any]) -> Any:
        """Return how the questions begin, as wanted; what nobody has answered yet is drawn anew."""
        how, begun, first = wanted, self.decisions.begun.get(self.part), self._find_first(wanted)
        if begun is not None:
            with self.fitting():
                before = self.kind.begin(begun, self.scores).options
            how = {name: before[name] for name in self.kind.defaults} | wanted
        answered = {answer.row for answer in self.decisions.answers.get("estimate", [])}
        return self.kind.draw(self.scores, answered | self.decisions.given_labels.keys(), how, first)

    def _refuse_late(self) -> None:
        """Raise an error if other questions were answered that ask the same, or spoil what these prove."""
        spoiled = [one for one in SPOILED.get(self.part, ()) if self.decisions.answers.get(one)]
        if spoiled:
            raise TableError(
                "In {folder!r} questions for {article} {other} were answered, which does not go together "
                "with {own}: correct the table again, into another folder{output:aside}.",
                folder=str(self.folder), article="an" if spoiled[0] == "audit" else "a",
                other=WORDS[spoiled[0]], own="a target" if self.part == "until" else "an audit",
            )  # fmt: skip
        if self.part == "confirm" and self.decisions.answers.get("audit"):
            command = write_command("audit", self.folder)
            raise TableError(
                f"The audit of this folder begins with these questions: go on there ({command})."
            )

    def _find_first(self, wanted: dict[str, Any]) -> Any:
        """Return the confirmation whose answers are the first ones of an audit, if there is one."""
        if self.part != "audit" or not self.decisions.answers.get("confirm"):
            return None
        with self.fitting():
            first = Confirm.begin(self.decisions.begun["confirm"], self.scores)
        asked = {name: value for name, value in wanted.items() if name in NAMES}
        self._check_options("confirm", first.options, asked)
        return first

    def _check_options(self, part: str, found: dict[str, Any], wanted: dict[str, Any]) -> None:
        """Raise an error if other options are wanted than those with which the questions were begun."""
        for name, value in wanted.items():
            if found[name] != value:
                option = self.kind.option if name == "n_answers" else NAMES.get(name, name)
                raise TableError(
                    "The {part} in {folder!r} was begun with {option}: leave the option out to go on with "
                    "it; {why}.", part=WORDS[part], folder=str(self.folder),
                    option=Setting(option, found[name]), why=self.kind.why_one,
                )  # fmt: skip

    def question(self, who: str) -> dict[str, Any] | None:
        """Return what to ask a person now."""
        who = check_name(who)
        with self.lock:
            self._read_new()
            row = self._choose(who)
            if row is None:
                self.leases.pop(who, None)
                return None
            self.leases[who] = row, time.monotonic() + LEASE
            return {
                "id": len(self.log), "row": row + 1, "columns": self.shown_columns,
                "values": self.show([row + 1])[0],
            }  # fmt: skip

    def leave(self, who: str) -> None:
        """Let others have the question of a person who goes away."""
        with self.lock:
            self.leases.pop(who, None)
            self.seen.pop(who, None)

    def progress(self) -> dict[str, Any]:
        """Return where it stands, with what others answered."""
        with self.lock:
            self._read_new()
            return self._describe()

    def _describe(self) -> dict[str, Any]:
        """Return where it stands; the share of questions that are answered, which never goes back."""
        found, n = self.work.describe(len(self.log), self.options.action), len(self.log)
        return found | {"share": 1.0 if found["finished"] else n / max(self.work.most_questions, n + 1)}

    def list_questions(self) -> tuple[int, list[int]]:
        """Return the number of the next question, and all rows that may be answered now, in their order."""
        with self.lock:
            self._read_new()
            return len(self.log), [row + 1 for row in self.work.list_open()]

    def _choose(self, who: str) -> int | None:
        """Return the row that a person gets: what they have already, or the first that nobody else has."""
        now = time.monotonic()
        self.seen[who] = now
        self.leases = {name: lease for name, lease in self.leases.items() if lease[1] > now}
        open_rows = self.work.list_open(sparing=True)
        mine = self.leases.get(who)
        if mine is not None and mine[0] in open_rows:
            return mine[0]
        taken = {row for name, (row, _) in self.leases.items() if name != who}
        there = {name for name, when in self.seen.items() if now - when < LEASE} - {who}
        first = {answer.row - 1: answer.who for answer in reversed(self.log)}  # who answered a row first
        for row in open_rows:
            if row not in taken and first.get(row) not in there:  # a repeat goes to the same person
                return row
        return None

    def answer(self, who: str, row: int, label: Any, id: int) -> dict[str, Any]:
        """Store an answer, and return what may be told about it; it is on disk by then, and stands."""
        return self.enter([(who, row, label, id)])[0]

    def enter(self, answers: list[tuple[str, int, Any, int]]) -> list[dict[str, Any]]:
        """Store several answers, all or none; parameters and result as in `answer`, for each."""
        read = [
            (check_name(who), row, None if label is None else self.labels[self.find_class(label)], id)
            for who, row, label, id in answers
        ]
        new: list[Answer] = []
        with self.lock:
            try:
                with self.decisions.changing() as connection:
                    self._refuse_late()
                    self._refresh()
                    for who, row, label, id in read:
                        self._check_asked(row, id)
                        self.work.add(row - 1, label)
                        at = datetime.now(UTC).isoformat(timespec="milliseconds")
                        new.append(Answer(row, label, who, at))
                        self.log.append(new[-1])
                    self.decisions.answer(connection, self.part, new)
            except BaseException:
                self.work, self.log = None, []  # it may be ahead of the file: it is read again
                raise
            for who, *_ in read:
                self.leases.pop(who, None)
                self.seen[who] = time.monotonic()
            progress = self._describe()
            if progress["finished"]:
                self._report()
            return [self._tell(row, label) | {"progress": progress} for _, row, label, _ in read]

    def _report(self) -> None:
        """Write the end into the report of the run."""
        from subsvms.app.desk.apply import Result  # which imports what makes reports

        with suppress(TableError, OSError):  # the answer is stored; `apply` says what is wrong
            self.add_to_report(Result.read(self).describe())

    def _check_asked(self, row: Any, id: Any) -> None:
        """Raise an error unless a row is asked, and nobody answered since the question `id` was shown."""
        if not all(type(one) is int for one in (row, id)):
            raise NotAsked(f"An answer must name its row and its question; got {show(row)} and {show(id)}.")
        if not 0 <= id <= len(self.log):
            raise NotAsked(f"There is no question {id}: ask for the next one.")
        if any(answer.row == row for answer in self.log[id:]):
            raise NotAsked(
                "This was answered in the meantime, and an answer stands: go on with the next question."
            )
        if not self.work.may_take(row - 1):
            raise NotAsked("This is not asked now: go on with the next question.")

    def _tell(self, row: int, label: Any) -> dict[str, Any]:
        told: dict[str, Any] = dict.fromkeys(("given", "suggested", "overturned"))
        if not self.work.is_blind:
            given, suggested = self.scores.given[row - 1], self.scores.suggested[row - 1]
            overturned = label is not None and label != self.labels[given]
            told = {
                "given": self.classes[given], "suggested": self.classes[suggested], "overturned": overturned
            }  # fmt: skip
        return told | {"label": None if label is None else str(label)}

    def _read_new(self) -> None:
        """Read what others answered."""
        self.decisions.refresh()
        self._refresh()

    def _refresh(self) -> None:
        """Enter the answers that were read since."""
        answers, work, log = list_answers(self.decisions.answers, self.part), self.work, self.log
        begun = self.decisions.begun[self.part]
        self.work, self.log = None, []  # until all are entered
        with self.fitting():
            if work is None or begun != self.begun:  # others may begin anew what nobody has answered
                work, log = self.kind.begin(begun, self.scores), []
        if len(answers) > len(self.decisions.answers[self.part]) and not self._follows(begun):
            raise TableError(
                "The confirmation of this folder was answered after its audit had begun: stop the audit, and "
                f"begin it again, to go on from there ({write_command('audit', self.folder)})."
            )
        with self.fitting():
            take(work, answers[len(log) :])
        self.work, self.log, self.begun = work, answers, begun
        self.page_words = {
            "room": self.room, "part": self.part, "is_blind": work.is_blind,
            "n_answers": work.options["n_answers"], "most_questions": work.most_questions,
            "repeats": work.options.get("repeat", False), "any_stop": work.options.get("any_stop", False),
        }  # fmt: skip

    def _follows(self, begun: Any) -> bool:
        """Return whether an audit begins with the questions of the confirmation."""
        first = self.decisions.begun["confirm"]
        same = (begun["state"][name] == first["state"][name] for name in TAKEN_OVER)
        return begun["left_out"] == first["left_out"] and all(same)


class AuditDesk(QuestionDesk):
    """The audit of a run's folder: 50 answers, some asked again, seed 0 and level .95.

    An audit that was begun has its own values of these: others are refused. With `create` one is begun if
    there is none; without, nothing is stored.
    """

    kind = Turns


class ConfirmDesk(QuestionDesk):
    """The first questions of an audit alone: about what the run changed or held back."""

    room = "confirm"
    kind = Confirm


class EstimateDesk(QuestionDesk):
    """Random rows of a run's folder, to estimate how many labels are wrong in all; without `repeat`."""

    kind = Sample


class UntilDesk(QuestionDesk):
    """Questions until at most a share of the labels is wrong, `error_rate`: .02 by default."""

    kind = Reach


DESKS: dict[str, type[QuestionDesk]] = {
    one.kind.part: one for one in (ConfirmDesk, AuditDesk, UntilDesk, EstimateDesk)
}


def ask_forecasts(folder: Path, rates: list[float], **how: Any) -> dict[float, Any] | None:
    """Return about how many answers some targets take; None if one was begun and answered."""
    with closing(Desk(folder)) as desk:
        answered = desk.decisions.answers
        if answered.get("until"):
            return None
        known = desk.decisions.given_labels.keys() | {answer.row for answer in answered.get("estimate", [])}
        scores = desk.read_scores()
        ranking = scores.rank([row - 1 for row in known if 1 <= row <= len(scores)])
        return {rate: certify_target(ranking, rate, **how).forecast for rate in rates}


def count_answers(folder: Path) -> dict[str, int]:
    """Return the number of answers of each "audit", "confirm", "until" and "estimate" that was begun."""
    read_record(folder)  # an error says that this is not the folder of a run
    with closing(open_acts(folder)) as decisions:
        refuse_old(folder, decisions)
        return {part: len(answers) for part, answers in decisions.answers.items()}

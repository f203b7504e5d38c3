"""What people are asked to confirm a run, in an audit, and for an estimate; the order in which answers count.

`Audit` and `Confirmation` take answers in their own order only. Here they may come before: they wait. Rows
count from 0, as in `subsvms.audit`.

What is stored is how the questions were drawn, and the answers in the order in which they came; the rest
follows from it. So `take` is how answers are entered for the first time, and how they are read from a file,
which anybody may have changed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from subsvms.app.runs.answer_store import Answer
from subsvms.app.runs.parquet_files import Scores
from subsvms.audit import Audit, Confirmation, Ranking, Target, draw_rows, estimate_error_rate
from subsvms.exceptions import InputError, Setting, TableError

ALL = 2**62  # of the upcoming rows
AHEAD = 5  # rows of a set that several people answer at once: it may pass any time, and the rest is in vain
LEFT_AS_GIVEN = ("weight", "review")  # actions of a run that change no label
TAKEN_OVER = ("random_state", "confidence", "held_back")  # from a confirmation by the audit after it
CHECKED = {  # what is said of a set while it is checked, if nobody may know how many were wrong so far
    "changes": "changes of the run", "held_back": "labels that the run held back",
    "confirm": "labels of a set",
}  # fmt: skip


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


class Turns:
    """An audit with all answers whose turn has come, and the answers that wait for it.

    Nothing is told about an answer (`is_blind`) if it may be asked again. Answers that came `early` count as
    labels, and are no part of the claim until their turn comes: never if their set was decided before.
    """

    part, option = "audit", "answers"  # what it is for, and the option that says how much is asked
    why_one = "a table has one audit, because trying several until one passes would void its claim"
    kind: type[Audit] | type[Confirmation] | type[Target] = Audit
    defaults: dict[str, Any] = {  # of all options
        "n_answers": 50, "random_state": 0, "repeat": True, "confidence": 0.95, "for_model": False,
    }  # fmt: skip

    def __init__(self, audit: Audit | Confirmation | Target, left_out: Iterable[int] = ()):
        self.left_out = list(left_out)  # rows from 1 that people had decided before
        self.audit, self.options = audit, audit.state | {"n_answers": audit.outcome.n_answers}
        self.repeats = audit.outcome.repeat
        self.is_blind = self.repeats or isinstance(audit, Confirmation)
        self.most_questions = audit.most_questions
        self.early: dict[int, Any] = {}
        self.given: set[int] = set()  # rows that have an answer

    @classmethod
    def draw(
        cls, scores: Scores, decided: Iterable[int], options: dict[str, Any], first: "Confirm | None" = None
    ) -> BegunAudit:
        """Return how questions about rows that nobody decided are begun, as it is stored; rows from 1.

        An audit after a confirmation, `first`, begins with the same questions.
        """
        left_out = sorted(row for row in decided if 1 <= row <= len(scores))
        how = cls.defaults | options
        if first is not None:
            left_out, how = first.left_out, how | {name: first.options[name] for name in TAKEN_OVER}
            if how["n_answers"] < first.most_questions:
                raise TableError(
                    "An audit begins with the questions of the confirmation, at most {n}: ask for as many "
                    "{answers} or more.", n=first.most_questions,
                )  # fmt: skip
        ranking = scores.rank([row - 1 for row in left_out])
        cls._check(ranking, how)
        return BegunAudit(cls.kind(ranking, level=how.pop("confidence"), **how).state, left_out)

    @classmethod
    def _check(cls, ranking, how):
        _check_few(ranking, how.get("n_answers", 1), cls.option)  # a target takes one at least
        if how.get("for_model") and ranking.several:
            raise TableError("{for_model} is for two classes, and there are {n}.", n=len(ranking.classes))

    @classmethod
    def begin(cls, how: Any, scores: Scores) -> "Turns":
        """Return questions that are stored, without their answers."""
        begun = read_begun(how, BegunAudit)
        left_out = [row - 1 for row in begun.left_out]
        if any(not 0 <= row < len(scores) for row in left_out):
            raise InputError("the table does not have all rows that were left out")
        return cls(cls.kind.load(begun.state, scores.rank(left_out)), begun.left_out)

    def describe(self, n_answers: int, action: str) -> dict[str, Any]:
        """Return where it stands after so many answers about a run with this action: plain values."""
        now, claim, said = self.audit.progress, self.audit.claim, str(self.audit.progress)
        if self.is_blind and now.stage in CHECKED:
            said = f"Checking {now.n_rows:,} {CHECKED[now.stage]}: {now.asked} of at most {now.of}"
        n_asked, n_labels = n_answers - len(self.early), self.options["n_answers"]
        total = f"{n_asked} of at most {self.most_questions} questions"
        if isinstance(self.audit, Audit) and (self.finished or not self.repeats):
            labels = f"{claim.n_answers} of {n_labels} labels"
            total = f"{labels}, {total}" if self.repeats else labels
        told = bool(claim.rings or claim.sets)
        if self.repeats and not self.finished:  # other counts, and a claim, would tell which answers repeat
            said, told = said.partition(":")[0], False
        return {
            "sentence": said, "total": total, "answers": n_answers, "finished": self.finished,
            "claim": self.said if told or self.finished else None,
            "stands": self.finished and len(self.list_standing(action)) > 0,
        }  # fmt: skip

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.audit.next_row is None

    def list_open(self, *, sparing: bool = False) -> list[int]:
        """Return the rows that may be answered now, the one that is waited for first.

        While wrong labels are located, there is only one, besides those that are asked again.
        """
        due = self.audit.next_row
        if due is None:
            return []
        fresh = self.audit.upcoming(AHEAD if sparing else ALL)
        return list(dict.fromkeys([due, *(row for row in fresh if row not in self.early)]))

    def may_take(self, row: int) -> bool:
        """Return whether an answer about a row is taken: it is open, or was until its set was decided.

        Somebody may have been looking at it then.
        """
        drawn = any(row in ring.rows[ring.draws] for ring in self.audit.rings)
        return row in self.list_open() or (drawn and row not in self.given)

    def add(self, row: int, label: Any) -> None:
        """Take an answer about an open row, and enter all answers whose turn has come."""
        if label is not None:
            self.audit.ranking.number(label)  # an unknown label is refused now, not when its turn comes
        self.given.add(row)
        if row in (self.audit.next_row, *self.audit.upcoming(1)):
            self.audit.answer(row, label)
        else:
            self.early[row] = label
        while (due := next(iter(self.audit.upcoming(1)), None)) in self.early:
            self.audit.answer(due, self.early.pop(due))

    @property
    def labels(self) -> dict[int, Any]:
        """The label of each row that a person decided, by their answers.

        Where answers are asked again, an early one, which is not, overturns a label only if a set that passed
        says the same.
        """
        ranking, passed = self.audit.ranking, set(self.audit.claim.changed.tolist())
        early = {}
        for row, label in self.early.items():
            known = ranking.given[row], *[ranking.suggested[row]] * (row in passed)
            if label is not None and (not self.repeats or ranking.number(label) in known):
                early[row] = label
        return early | self._name(self.audit.decided)

    @property
    def changed(self) -> dict[int, Any]:
        """The suggested label of each row in a set that passed, if nobody has looked at it."""
        return self._suggest(self.audit.claim.changed)

    @property
    def confirmed(self) -> dict[int, Any]:
        """Those of them in what the run changed or held back: its action is for them."""
        return self._suggest(self.audit.confirmed)

    def list_standing(self, action: str) -> dict[int, Any]:
        """Return suggestions that stand, but after a run with this action are not followed by themselves."""
        unclaimed = self._suggest(self.audit.claim.standing)
        return unclaimed | (self.confirmed if action in LEFT_AS_GIVEN else {})

    def _suggest(self, rows):
        suggested = self.audit.ranking.suggested
        return self._name({row: suggested[row] for row in rows.tolist() if row not in self.early})

    def _name(self, numbers):
        classes = self.audit.ranking.classes.tolist()
        return {row: classes[number] for row, number in numbers.items()}

    @property
    def said(self) -> str:
        """The claim in plain words, with the answers that are no part of it."""
        n = len(self.early)
        if not n:
            return str(self.audit.claim)
        late, count = ("answer that came out of its turn counts", "is") if n == 1 else (
            "answers that came out of their turn count", "are"
        )  # fmt: skip
        return f"{self.audit.claim} {n} other {late} more, and {count} in none of these numbers."


class Confirm(Turns):
    """At most 15 questions about what the run changed, and at most 15 about what it held back."""

    part, option = "confirm", ""
    why_one = "asking others until they agree would void its claim"
    kind = Confirmation
    defaults = {"random_state": 0, "confidence": 0.95}

    @classmethod
    def _check(cls, ranking, how):
        if not (ranking.flagged | ranking.held_back).any():
            raise TableError(
                "The run changed no label and held none back, so there is nothing to confirm: to find wrong "
                "labels by answers, make an audit."
            )


class Reach(Turns):
    """Random rows, and then all that are suspicious enough, until at most a share of the labels is wrong."""

    part, option = "until", "until"
    why_one = "another target or another sample would void its claim"
    kind = Target
    defaults = {"random_state": 0, "confidence": 0.95, "error_rate": 0.02, "any_stop": False}

    def describe(self, n_answers: int, action: str) -> dict[str, Any]:
        """As in `Turns`."""
        said, target = str(self.audit.progress), self.audit
        assert isinstance(target, Target)
        if target.any_stop and not self.finished:
            sure = f"with {100 * target.level:.6g} % confidence"
            most = f"{sure} at most {target.claim.at_most:,} labels are wrong, if your answers are right"
            said = f"{said.partition(':')[0]}: {most}" if n_answers else said
        return {
            "sentence": said, "total": f"{n_answers:,} of {target.forecast}",
            "answers": n_answers, "finished": self.finished,
            "claim": self.said if target.claim.holds and n_answers else None, "stands": False,
        }  # fmt: skip


class Sample:
    """Rows drawn at random, to estimate how many labels are wrong in all."""

    part, option = "estimate", "estimate"
    why_one = "drawing again would void its confidence"
    is_blind = False
    defaults: dict[str, Any] = {"n_answers": 50, "random_state": 0, "confidence": 0.95}

    def __init__(self, ranking: Any, begun: Any, rows: list[int]):
        self.ranking, self.begun, self.rows = ranking, begun, rows
        self.options = {"n_answers": len(rows)} | vars(begun)
        self.most_questions = len(rows)
        self.answers: dict[int, Any] = {}

    @classmethod
    def draw(
        cls, scores: Scores, decided: Iterable[int], options: dict[str, Any], first: None = None
    ) -> BegunEstimate:
        """As in `Turns`, but about any rows with a label."""
        ranking, how = scores.rank(), cls.defaults | options
        _check_few(ranking, how["n_answers"], cls.option)
        rows = draw_rows(ranking, how["n_answers"], random_state=how["random_state"])
        return BegunEstimate([row + 1 for row in rows], how["random_state"], how["confidence"])

    @classmethod
    def begin(cls, how: Any, scores: Any) -> "Sample":
        """As in `Turns`."""
        begun, ranking = read_begun(how, BegunEstimate), scores.rank()
        rows = draw_rows(ranking, len(begun.rows), random_state=begun.random_state)
        if begun.rows != [row + 1 for row in rows]:
            raise InputError("other rows would be drawn from it")
        return cls(ranking, begun, rows)

    def describe(self, n_answers: int, action: str) -> dict[str, Any]:
        """As in `Turns`."""
        done, of, finished = len(self.answers), len(self.rows), self.finished
        return {
            "sentence": "Done" if finished else f"Labels drawn at random: {done} of {of}",
            "total": f"{done} of {of} labels", "answers": done, "finished": finished,
            "claim": self.said if finished else None, "stands": False,
        }  # fmt: skip

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to ask."""
        return len(self.answers) == len(self.rows)

    def list_open(self, *, sparing: bool = False) -> list[int]:
        """Return the rows that may be answered now; all of them are needed."""
        return [row for row in self.rows if row not in self.answers]

    def may_take(self, row: int) -> bool:
        """As in `Turns`."""
        return row in self.list_open()

    def add(self, row: int, label: Any) -> None:
        """Take an answer about an open row."""
        if label is not None:
            self.ranking.number(label)
        self.answers[row] = label

    @property
    def labels(self) -> dict[int, Any]:
        """The label of each row that a person decided."""
        return {row: label for row, label in self.answers.items() if label is not None}

    @property
    def said(self) -> str:
        """How many labels are wrong, once all rows have an answer."""
        return str(estimate_error_rate(self.ranking, self.answers, level=self.begun.confidence))


def _check_few(ranking: Ranking, n_answers: int, option: str) -> None:
    if n_answers > len(ranking.order):
        raise TableError(
            "There are {n} labels to ask about, too few for {n_answers} answers: ask for fewer ({option}).",
            n=len(ranking.order), n_answers=n_answers, option=Setting(option),
        )  # fmt: skip


def read_begun(how: Any, kind: type) -> Any:
    """Return how questions were begun, as this kind has it; anybody may have changed the file."""
    try:
        return msgspec.convert(how, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(error)) from None


def list_answers(stored: Mapping[str, list[Answer]], part: str) -> list[Answer]:
    """Return the answers of a part in their order; an audit begins with those of the confirmation."""
    first = stored.get("confirm", []) if part == "audit" else []
    return [*first, *stored[part]]


def take(work: Turns | Sample, answers: Iterable[Answer]) -> None:
    """Enter answers that are stored; raise an error if one of them is about a row that was not asked."""
    for answer in answers:
        if not work.may_take(answer.row - 1):
            raise InputError(f"row {answer.row} was not asked then")
        work.add(answer.row - 1, answer.label)

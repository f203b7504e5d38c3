"""What people are asked in an audit, and for an estimate, and the order in which their answers count.

`Audit` takes answers in its own order only. Here they may come before: they wait, and so does the second
answer about a row whose first one waits. Rows count from 0, as in `subsvms.audit`.

What is stored is how the questions were drawn, and the answers in the order in which they came; the rest
follows from it. So `take` is how answers are entered for the first time, and how they are read from a file,
which anybody may have changed.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from subsvms.app.runs.answer_store import Answer, BegunAudit, BegunEstimate
from subsvms.app.runs.parquet_files import Scores
from subsvms.audit import Audit, Claim, ErrorRate, Ranking, draw_rows, estimate_error_rate
from subsvms.exceptions import InputError, Setting, TableError

ALL = 2**62  # of the upcoming rows
AHEAD = 5  # rows of a set that several people answer at once: it may pass any time, and the rest is in vain


class Turns:
    """An audit with all answers whose turn has come, and the answers that wait for it.

    Nothing is told about an answer (`is_blind`) if it may be asked again. Answers that came early, about rows
    of a set that passed before their turn, are `needless`: no part of the claim.
    """

    part, option = "audit", "answers"  # what it is for, and the option for the number of answers
    why_one = "a table has one audit, because trying several until one passes would void its claim"

    def __init__(self, audit: Audit):
        self.audit, self.options, self.is_blind = audit, audit.state, audit.repeat
        self.needless: dict[int, Any] = {}
        self.given: dict[int, list] = {}  # answers about each row, in the order in which they came
        self.entered: dict[int, int] = {}  # how many of them the audit has
        self._part: Any = audit.stage, len(audit.rings)

    @classmethod
    def draw(cls, scores: Scores, decided: Iterable[int], options: dict[str, Any]) -> BegunAudit:
        """Return how an audit is begun about rows that nobody decided, as it is stored; rows from 1."""
        left_out = sorted(row for row in decided if 1 <= row <= len(scores))
        ranking = scores.rank([row - 1 for row in left_out])
        _check_enough(ranking, options["n_answers"], cls.option)
        how = {"repeat": True} | {name: value for name, value in options.items() if name != "confidence"}
        return BegunAudit(Audit(ranking, level=options["confidence"], **how).state, left_out)

    @classmethod
    def begin(cls, how: Any, scores: Scores) -> "Turns":
        """Return an audit that is stored, without its answers."""
        begun = _read_begun(how, BegunAudit)
        left_out = [row - 1 for row in begun.left_out]
        if any(not 0 <= row < len(scores) for row in left_out):
            raise InputError("the table does not have all rows that were left out")
        return cls(Audit.load(begun.state, scores.rank(left_out)))

    def describe(self, n_answers: int) -> dict[str, Any]:
        """Return where it stands after so many answers: plain values."""
        audit, now = self.audit, self.audit.progress
        said, share, n_rows = str(now), now.share, len(self.given) - len(self.needless)
        total = f"{n_rows} of {audit.n_answers} labels"
        if audit.repeat:
            total += f"; some are asked again, {n_answers} answers so far"
        if audit.repeat and now.stage == "confirm":  # hits would tell which answer overturned a label
            said = f"Checking a set of {now.n_rows:,} labels: {now.asked} of {now.of}"
            share = now.asked / now.of
        return {
            "stage": now.stage, "sentence": said, "asked": now.asked, "of": now.of, "share": share,
            "is_proof": now.stage == "confirm" and not audit.repeat, "total": total,
            "answers": n_rows, "n_answers": audit.n_answers, "finished": self.finished,
            "claim": self.said if audit.claim.rings or self.finished else None,
        }  # fmt: skip

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to ask."""
        return self.audit.next_row is None

    def list_open(self, *, sparing: bool = False) -> list[int]:
        """Return the rows that may be answered now, the one that the audit waits for first.

        Repeats come when they are due, or when nothing else is left to ask in this stage.
        """
        if self.audit.next_row is None:
            return []
        upcoming = self.audit.upcoming(ALL)
        fresh = [row for row in upcoming if row not in self.given]
        asked = [row for row in self.given if row not in self.needless]
        waiting = [] if fresh else [row for row in asked if not self._is_settled(row)]
        if sparing and self.audit.stage == "confirm":
            near = set(upcoming[:AHEAD])
            fresh = [row for row in fresh if row in near]
        return list(dict.fromkeys([self.audit.next_row, *fresh, *waiting]))

    def may_take(self, row: int) -> bool:
        """Return whether an answer about a row is taken: it is open, or was until its set passed or may pass.

        Somebody may have been looking at it then.
        """
        drawn = any(row in ring.rows[ring.draws] for ring in self.audit.rings)
        return row in self.list_open() or (drawn and row not in self.given)

    def _is_settled(self, row):
        """Return whether the answers about a row decide it: they keep its label, or agree on it."""
        given = self.given[row]
        if not self.audit.repeat or len(given) > 2:
            return True
        if len(given) == 2:
            return given[0] == given[1]
        ranking = self.audit.ranking
        return given[0] is None or ranking.number(given[0]) == ranking.given[row]

    def add(self, row: int, label: Any) -> None:
        """Take an answer about an open row, and enter all answers whose turn has come."""
        if label is not None:
            self.audit.ranking.number(label)  # an unknown label is refused now, not when its turn comes
        self.given.setdefault(row, []).append(label)
        self.entered.setdefault(row, 0)
        passed = self.audit.rings[: -1 if self.audit.stage == "confirm" else None]
        if self.entered[row] == 0 and any(row in ring.rows[ring.draws] for ring in passed):
            self.needless[row] = label  # the audit does not come to it any more
        while (due := self.audit.next_row) in self.given and self.entered[due] < len(self.given[due]):
            self.audit.answer(due, self.given[due][self.entered[due]])
            self.entered[due] += 1
            part = self.audit.stage, len(self.audit.rings)
            if part != self._part:  # a set has passed: what waited for it is not needed
                self._part = part
                waited = {row: given[-1] for row, given in self.given.items() if self.entered[row] == 0}
                self.needless = waited | self.needless

    @property
    def labels(self) -> dict[int, Any]:
        """The label of each row that a person decided, by their answers.

        With repeats, one answer that is not needed any more overturns a label only if the set that passed
        says the same; it is not asked again.
        """
        ranking = self.audit.ranking
        classes, passed = ranking.classes.tolist(), set(self.audit.claim.changed.tolist())
        needless = {
            row: label
            for row, label in self.needless.items()
            if label is not None
            and (self._is_settled(row) or (row in passed and ranking.number(label) == ranking.suggested[row]))
        }
        return needless | {row: classes[number] for row, number in self.audit.decided.items()}

    @property
    def changed(self) -> dict[int, Any]:
        """The new label of each row that is changed without being seen."""
        ranking = self.audit.ranking
        classes, rows = ranking.classes.tolist(), self.audit.claim.changed.tolist()
        return {row: classes[ranking.suggested[row]] for row in rows if row not in self.needless}

    @property
    def claim(self) -> Claim:
        """What may be said: the claim of the audit, in which no row counts as unseen that has an answer.

        It is as true as that one. The rows that have an answer were changed to the suggestion there; now they
        get that label if a person gave it, and one that is no worse if not. Those that are left are fewer, so
        no more of them are wrong.
        """
        claim, rings = self.audit.claim, []
        unseen = np.array(list(self.changed), dtype=int)
        for passed, ring in zip(claim.rings, self.audit.rings, strict=False):
            n = int(np.isin(ring.rows, unseen).sum())
            most = None if passed.at_most_wrong is None else min(passed.at_most_wrong, n)
            rings.append(replace(passed, n_changed=n, at_most_wrong=most))
        return replace(claim, changed=unseen, rings=tuple(rings))

    @property
    def said(self) -> str:
        """The claim in plain words, with the answers that are no part of it."""
        n = len(self.needless)
        if not n:
            return str(self.claim)
        late, are = ("answer came when its", "is") if n == 1 else ("answers came when their", "are")
        return f"{self.claim} {n} other {late} set had passed already, and {are} in none of these numbers."


class Sample:
    """Rows drawn at random, to estimate how many labels are wrong in all."""

    part, option = "estimate", "estimate"
    why_one = "drawing again would void its confidence"
    is_blind = False

    def __init__(self, ranking: Ranking, begun: BegunEstimate):
        self.ranking, self.begun = ranking, begun
        self.rows = [row - 1 for row in begun.rows]
        self.options = vars(begun) | {"n_answers": len(self.rows)}
        self.answers: dict[int, Any] = {}

    @classmethod
    def draw(cls, scores: Scores, decided: Iterable[int], options: dict[str, Any]) -> BegunEstimate:
        """As in `Turns`, but about any rows with a label."""
        ranking = scores.rank()
        _check_enough(ranking, options["n_answers"], cls.option)
        rows = draw_rows(ranking, options["n_answers"], random_state=options["random_state"])
        return BegunEstimate([row + 1 for row in rows], options["random_state"], options["confidence"])

    @classmethod
    def begin(cls, how: Any, scores: Scores) -> "Sample":
        """As in `Turns`."""
        begun, ranking = _read_begun(how, BegunEstimate), scores.rank()
        sample = cls(ranking, begun)
        if sample.rows != list(draw_rows(ranking, len(begun.rows), random_state=begun.random_state)):
            raise InputError("other rows would be drawn from it")
        return sample

    def describe(self, n_answers: int) -> dict[str, Any]:
        """As in `Turns`."""
        done, of, finished = len(self.answers), len(self.rows), self.finished
        return {
            "stage": "done" if finished else "estimate",
            "sentence": "Done" if finished else f"Labels drawn at random: {done} of {of}",
            "asked": done, "of": of, "share": done / of, "is_proof": False, "total": f"{done} of {of} labels",
            "answers": done, "n_answers": of, "finished": finished,
            "claim": str(self.error_rate) if finished else None,
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
    def error_rate(self) -> ErrorRate:
        """How many labels are wrong, once all rows have an answer."""
        return estimate_error_rate(self.ranking, self.answers, level=self.begun.confidence)


Questions = Turns | Sample


def _check_enough(ranking: Ranking, n_answers: int, option: str) -> None:
    if n_answers > len(ranking.order):
        raise TableError(
            "There are {n} labels to ask about, too few for {n_answers} answers: ask for fewer ({option}).",
            n=len(ranking.order), n_answers=n_answers, option=Setting(option),
        )  # fmt: skip


def _read_begun(how, kind):
    try:
        return msgspec.convert(how, kind)
    except msgspec.ValidationError as error:
        raise InputError(str(error)) from None


def take(work: Questions, answers: Iterable[Answer]) -> None:
    """Enter answers that are stored; raise an error if one of them is about a row that was not asked."""
    for answer in answers:
        if not work.may_take(answer.row - 1):
            raise InputError(f"row {answer.row} was not asked then")
        work.add(answer.row - 1, answer.label)

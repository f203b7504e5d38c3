"""Questions one after another, and what follows from the answers: what audits and confirmations share.

Everything follows from the ranking, the seed and the answers, in their order; so these are the state, and
loading it asks and answers once more. The questions are written as a generator, `_ask`, which yields the rows
that come next, and goes on when the first of them has its answer.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from subsvms._callers import renamed_attribute
from subsvms._labels import name_labels
from subsvms._numbers import check_range, check_seed
from subsvms.audit import _rings as rings
from subsvms.audit._claim import CheckedSet, Claim, Outcome, PassedRing, Progress
from subsvms.audit._ranking import Ranking, as_ranking, check_answer, check_parameters
from subsvms.audit._repeats import Repeats
from subsvms.audit._rings import Ring, Verdict
from subsvms.correction import Correction
from subsvms.correction._rule import Halt, keep_labels
from subsvms.exceptions import InputError, format_value

FORMAT = 2  # increased when the same answers would lead to other questions
MOST_FIRST = 15  # answers about a set that exists before anybody is asked
SHARES = np.array([0.65, 0.75, 0.85, 0.95])  # of hits to bet on in these sets, for three classes and more


class Checked(NamedTuple):
    """A set that people were asked about, and what followed."""

    ring: Ring
    n: int  # answers
    verdict: Verdict


class Interview:
    """Questions about some labels; `Audit` and `Confirmation` say in which order."""

    what = "audit"
    _kinds: Mapping[str, Callable[[Any], bool]] = {}  # what else the questions depend on, checked in a state
    _relabels = False  # whether rows of rings get the suggested label whatever the action is
    confidence = renamed_attribute("confidence", "level")

    def __init__(
        self, source: Correction | Ranking, level: float, random_state: int | None, *, n_repeats: int = 0,
        threshold: float = 0.5,
    ):  # fmt: skip
        self.ranking = as_ranking(source)
        check_range("level", level, 0.5, 1, "[)")
        self.level, self.random_state = float(level), check_seed(random_state)
        self.rings: list[Ring] = []
        self._threshold = threshold
        self._checked: list[Checked] = []
        self._sets: list[CheckedSet] = []  # of those that are asked about first
        self._repeats = Repeats(n_repeats, self.random_state)
        self._is_repeat = False  # whether the last answer was one
        self._log: list[tuple[int, int | None]] = []  # all answers, in their order
        self._first: dict[int, int | None] = {}  # the first answer about each row: all else rests on it
        self._last: dict[int, int | None] = {}  # what is known about each row
        self._changed = np.zeros(len(self.ranking.given), dtype=bool)
        self._standing = self.ranking.flagged.copy()
        self._spent = 0.0  # of delta
        self._stage, self._asked, self._of = "done", 0, 0
        self._steps = self._ask()
        self._queue: list[int] = next(self._steps, [])

    def _ask(self) -> Iterator[list[int]]:
        raise NotImplementedError

    @property
    def most_questions(self) -> int:
        """How many questions there are at most, repeats included."""
        raise NotImplementedError

    # Questions and answers

    @property
    def next_row(self) -> int | None:
        """The row to ask about now; None if there is nothing more to ask."""
        due, fresh = self._list_due(), self._queue[:1]
        return next(iter(fresh + due if self._is_repeat else due + fresh), None)

    def upcoming(self, n: int) -> list[int]:
        """Return up to n rows that come next whatever the answers are; repeats are not among them.

        A set may pass before all of its rows have an answer. While wrong labels are located, it is one row.
        """
        return self._queue[:n]

    def answer(self, row: int, label: Any) -> None:
        """Take the answer about the row that is asked now, `next_row`.

        The label is what it should be, in the words of the given labels; None for "cannot tell", which keeps
        the given one and counts against a change. Where a repeat is due, the answer to the next new question
        may come before it.
        """
        expected = self.next_row
        if expected is None:
            raise InputError(f"The {self.what} is finished; an answer about row {row!r} cannot be added.")
        if isinstance(row, bool) or row not in self._list_open():
            asked = f"The {self.what} asks about row {expected} now"
            raise InputError(f"{asked}, but the answer is about row {format_value(row)}.")
        self._take(int(row), None if label is None else self.ranking.number(label))

    def _list_open(self):
        return [*self._list_due(), *self._queue[:1]]

    def _list_due(self):
        return self._repeats.list_due(len(self._log), is_last=not self._queue)

    def _take(self, row, number):
        self._log.append((row, number))
        given, n_log = self.ranking.given[row], len(self._log)
        self._is_repeat = row in self._first
        if self._is_repeat:
            agrees = number == self._first[row]
            decides = self._repeats.add_again(row, agrees, n_log)
            self._last[row] = number if decides else None
            return
        self._first[row] = self._last[row] = number
        self._repeats.add_first(row, number not in (None, given), n_log)
        self._asked += 1
        self._queue = next(self._steps, [])

    # What the order of the questions is made of

    def _enter(self, stage, n_answers):
        self._stage, self._asked, self._of = stage, 0, n_answers

    def _ask_ring(self, stage, ring):
        """Ask about a set until it is decided; return the verdict."""
        self._enter(stage, len(ring.draws))
        self.rings.append(ring)
        queue = ring.rows[ring.draws].tolist()
        verdict: Verdict = "open"
        for n in range(1, len(queue) + 1):
            yield queue[n - 1 :]
            verdict = rings.judge_ring(ring, self._score(queue[:n]))
            if verdict != "open":
                break
        self._checked.append(Checked(ring, n, verdict))
        self._changed[rings.find_passed(ring, verdict)] = True
        self._changed[list(self._first)] = False
        return verdict

    def _ask_sets(self, held_back, n_answers):
        """Ask about the changes of the rule, and about labels that it held back (`_confirm`)."""
        marks = {"changes": self.ranking.flagged}
        if held_back:
            marks["held_back"] = self.ranking.held_back
        for step, (name, mark) in enumerate(marks.items()):
            rows = self.ranking.order[mark[self.ranking.order]]
            n_most = min(len(rows), n_answers - len(self._first), MOST_FIRST)
            if n_most <= 0:
                continue
            level = rings.FIRST_SHARES[name] * (1.0 - self.level)
            self._spent += level if len(rows) > rings.SMALL else 0.0
            draws = rings.draw_positions(len(rows), n_most, self._rng(step))
            shares = SHARES if self.ranking.several else None
            ring = Ring(rows, draws, level, shares, may_be_kept=name == "changes")
            yield from self._ask_ring(name, ring)
            self._sets.append(self._settle(name, self._checked[-1]))
            if ring.may_be_kept and self._sets[-1].verdict != "kept":
                self._standing[:] = False

    def _settle(self, name, checked):
        """Return what follows for a set that people were asked about first."""
        ring, n, verdict = checked
        scores = self._score(ring.rows[ring.draws[:n]])
        hits, most, said = rings.count_hits(scores), None, "back"
        if verdict == "all":
            said, most = "passed", self._describe(checked).at_most_wrong
        elif n == len(ring):
            said = "asked"
        elif ring.may_be_kept and np.sum(scores) >= rings.KEEP * n - 1e-9:
            said = "kept"
        return CheckedSet(name, len(ring), n, hits, len(ring) - n, said, most)

    def _unanswered(self, marked):
        """Return which of the marked rows have no answer."""
        marked = marked.copy()
        marked[list(self._first)] = False
        return marked

    def _list_free(self):
        """Return the rows that are neither answered nor changed, worst first."""
        free = self._unanswered(~self._changed & ~self._standing)
        return self.ranking.order[free[self.ranking.order]]

    def _score(self, rows):
        """Return the score of the first answer about each of these rows (`_evidence`)."""
        found = [self._first[int(row)] for row in rows]
        answers = np.array([-1 if number is None else number for number in found], dtype=int)
        hits, kept = answers == self.ranking.suggested[rows], answers == self.ranking.given[rows]
        return hits.astype(int) - (kept | (answers < 0))

    def _rng(self, step):
        return np.random.default_rng([self.random_state, 1, step])

    # What may be said

    @property
    def stage(self) -> str:
        """Where it is: "changes", "held_back", "locate", "confirm", "sample", "rest" or "done"."""
        return "done" if self.next_row is None else self._stage

    @property
    def progress(self) -> Progress:
        """Where it stands."""
        if self.next_row is None:
            return Progress("done", 0, 0)
        base = Progress(self._stage, self._asked, self._of, n_repeats=len(self._repeats.waiting))
        if self._stage in ("locate", "sample", "rest"):
            return base
        ring = self.rings[-1]
        scores = self._score(ring.rows[ring.draws[: self._asked]])
        share = rings.measure_evidence(ring, scores)
        return replace(base, n_rows=len(ring), hits=rings.count_hits(scores), share=share)

    @property
    def claim(self) -> Claim:
        """What may be said now; `str` of it says it in plain words."""
        overturned = sum(int(number != self.ranking.given[row]) for row, number in self.decided.items())
        passed = [self._describe(one) for one in self._checked[len(self._sets) :] if one.verdict != "none"]
        return Claim(
            len(self._first), overturned, tuple(passed), np.flatnonzero(self._changed), self.level,
            finished=self.next_row is None, sets=tuple(self._sets),
            standing=np.flatnonzero(self._unanswered(self._standing)), threshold=self._threshold,
            several=self.ranking.several, is_confirmation=self.what == "confirmation",
        )  # fmt: skip

    def _describe(self, checked):
        """Return what is said about a set that passed."""
        ring, n, verdict = checked
        rows = rings.find_passed(ring, verdict)
        drawn = ring.rows[ring.draws[:n]]
        scores, inside = self._score(drawn), np.isin(drawn, rows)
        n, most = int(inside.sum()), rings.bound_wrong(ring, scores, verdict)
        return PassedRing(len(rows), n, rings.count_hits(scores[inside]), len(rows) - n, most)

    @property
    def confirmed(self) -> np.ndarray:
        """Rows whose label a first set that passed changes unseen; those of rings are not among them."""
        confirmed = np.zeros(len(self._changed), dtype=bool)
        for ring, _, verdict in self._checked[: len(self._sets)]:
            confirmed[rings.find_passed(ring, verdict)] = True
        return np.flatnonzero(confirmed & self._changed)

    @property
    def decided(self) -> dict[int, int]:
        """Rows that a person decided, and their class numbers; without "cannot tell"."""
        return {row: number for row, number in self._last.items() if number is not None}

    @property
    def labels(self) -> np.ndarray:
        """Labels: as answered, changed where a set passed or a change of the rule stands, else as given."""
        changed = self._changed | self._unanswered(self._standing)
        numbers = np.where(changed, self.ranking.suggested, self.ranking.given)
        for row, number in self.decided.items():
            numbers[row] = number
        return name_labels(self.ranking.classes, numbers)

    @property
    def outcome(self) -> Outcome:
        """The claim, and how the questions were drawn: further answers do not change it."""
        return Outcome(self.claim, self.most_questions, False, self.random_state)

    def apply(self, correction: Correction) -> Correction:
        """Return the correction with the answers; it must be the one that the questions were made from.

        Answered rows are verified. Changes of the rule, and labels that it held back, keep the action that
        was chosen for the correction if they are confirmed. Changes that were not confirmed are taken back
        once people were asked about them, and those of a target's table once it claims something; until then
        they stand. Rows of rings that passed get the suggested label, whatever the action is, and have the
        action "audited", as all that is changed unseen has if the action is "fix". Without any answer nothing
        changes; missing labels are still filled in.
        """
        if Ranking.of(correction).digest != self.ranking.digest:
            raise InputError(f"The {self.what} was made from another correction: apply it to that one.")
        if not self.claim.n_answers:
            return correction
        verified = np.full(len(correction), -1) if correction.verified is None else correction.verified.copy()
        for row, number in self.decided.items():
            verified[row] = number
        claim = self.claim
        passed, confirmed, stands = np.zeros((3, len(correction)), dtype=bool)
        passed[claim.changed], confirmed[self.confirmed], stands[claim.standing] = True, True, True
        decided = verified >= 0
        judgement = keep_labels(
            correction.judgement, correction.given, correction.flagged & ~passed & ~stands & ~decided,
            Halt.UNAUDITED,
        )  # fmt: skip
        judgement = keep_labels(judgement, correction.given, decided, Halt.VERIFIED)
        known = decided & ~correction.missing
        judgement = replace(
            judgement, suggested=np.where(passed, self.ranking.suggested, judgement.suggested),
            flagged=judgement.flagged | passed, halt=np.where(passed, np.int8(Halt.NONE), judgement.halt),
            quality=np.where(known, verified == correction.given, judgement.quality),
        )  # fmt: skip
        audited = passed & ((self._relabels & ~confirmed) | (correction.settings.action == "fix"))
        done: dict[str, Any] = {"verified": verified, "audited": audited, "audit": self.outcome}
        return replace(correction, judgement=judgement, **done)

    # Save and load

    @property
    def state(self) -> dict[str, Any]:
        """Plain values to save, as JSON for example; `load` goes on from them."""
        return {
            "format": FORMAT, "made_from": self.ranking.digest, "confidence": self.level,
            "random_state": self.random_state, **{name: getattr(self, name) for name in self._kinds},
            "answers": [list(pair) for pair in self._log],
        }  # fmt: skip

    def _replay(self, answers):
        """Take answers that were given before, which are not trusted."""
        for i, pair in enumerate(answers, start=1):
            row, number = check_answer(i, pair, len(self.ranking.classes))
            if row not in self._list_open():
                asked = f"Answer {i} of the {self.what} is about row {row}"
                raise InputError(f"{asked}, which was not asked then.")
            self._take(row, number)
        return self

    @classmethod
    def load(cls, state: Mapping[str, Any], source: Correction | Ranking) -> Self:
        """Go on from a `state`, which is not trusted, and the source that it was made from."""
        found = cls(source, **check_parameters(state, FORMAT, cls._kinds))
        if state["made_from"] != found.ranking.digest:
            made = f"The {cls.what} was made from other labels or another order"
            raise InputError(f"{made}: load it with those.")
        return found._replay(state["answers"])

"""An audit: which row to ask next, and what the answers so far allow to change.

m answers in four steps, with delta = 1 - level for all of them together:

1. *Locate*: the first sample, .4 m rows (`_locate`).
2. *Choose* a ring of unseen rows by a model of all answers so far (`_locate`, `_rings`).
3. *Confirm* it by rows drawn from it at random (`_rings`, `_evidence`). If it passes, its unseen rows change,
   and the next ring is chosen; otherwise nothing more changes.
4. *The rest* of the answers, if no ring is worth it: worst first among rows that did not change.

Everything follows from the ranking, the seed and the answers, in their order; so these are the state, and
loading it asks and answers once more.

With repeats, an answer that overturns a label is asked again, after `GAP` other questions where there are as
many; if the two differ, a third decides. Repeats come on top of m. A ring passes, and a ring is chosen, only
when no answer waits for its repeat, so every claim is about what the person says in the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subsvms._callers import renamed, renamed_attribute
from subsvms._labels import Classes
from subsvms._numbers import check_count, check_range, check_seed
from subsvms.audit import _rings as rings
from subsvms.audit._claim import Claim, Outcome, PassedRing, Progress, count_found
from subsvms.audit._locate import Features, count_pilot, draw_pilot, fit_hits
from subsvms.audit._ranking import Ranking, as_ranking, check_answer, check_state
from subsvms.audit._rings import Ring, Verdict
from subsvms.correction import Correction
from subsvms.correction._rule import Halt, keep_labels
from subsvms.exceptions import InputError, format_value

FORMAT = 1  # increased when the same answers would lead to other questions
GAP = 5  # questions between an answer and its repeat
FEWEST_ANSWERS = 10  # answers of an audit


class Audit:
    """Ask about some labels, and learn which others may be changed without looking.

    The claim holds for any noise, ranking and suggestions, provided that the questions come from here, in
    this order, and none is skipped: "cannot tell" is an answer, None. Show neither suggestion nor rank nor
    vote before the answer. A second audit with another seed, because the first did not pass, voids the claim.

    Parameters
    ----------
    source : Correction or Ranking
        Labels, suggestions, and the order of suspicion. Rows that were verified before are left out.
    n_answers : int, default=50
        How many answers will be given, at least 10; one may stop before.
    level : float, default=0.95
    repeat : bool, default=False
        Whether to ask again about each answer that overturns a label, blind.
    random_state : int, default=None
        The seed; None is 0, so that the same audit asks the same questions.

    Attributes
    ----------
    ranking : Ranking
    rings : list of Ring
        Sets that were checked, in their order; only the last may be unfinished or have failed.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms import correct_labels
    >>> from subsvms.audit import Audit, SimulatedAnnotator
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((1000, 2))
    >>> clean = np.where(X[:, 0] + X[:, 1] > 1, "high", "low")
    >>> hidden = (clean == "high") & (rng.random(1000) < X[:, 0] / 1.6)  # errors that depend on the row
    >>> given = np.where(hidden, "low", clean)
    >>> correction = correct_labels(X, given, action="review", random_state=0)
    >>> person = SimulatedAnnotator(clean)  # or your own labelling tool
    >>> audit = Audit(correction, n_answers=50, random_state=0)
    >>> while (row := audit.next_row) is not None:
    ...     audit.answer(row, person(row))  # "high", "low", or None for "cannot tell"
    >>> corrected = audit.apply(correction)
    >>> int(np.sum(given != clean)), int(np.sum(corrected.labels != clean)) < 60
    (228, True)
    >>> print(audit.claim)
    You checked 50 labels, drawn partly at random; ... of them were wrong. ... others were changed without
    being seen. With 95% confidence fewer labels are wrong now than if only your 50 answers had been
    entered; ...
    """

    confidence = renamed_attribute("confidence", "level")

    @renamed(confidence="level")
    def __init__(
        self, source: Correction | Ranking, n_answers: int = 50, *, level: float = 0.95, repeat: bool = False,
        random_state: int | None = None,
    ):  # fmt: skip
        self.ranking = as_ranking(source)
        check_count("n_answers", n_answers, least=FEWEST_ANSWERS)
        check_range("level", level, 0.5, 1, "[)")
        if n_answers > len(self.ranking.order):
            raise InputError(
                f"n_answers must be at most the number of labels to ask about, {len(self.ranking.order)}; "
                f"got {n_answers}."
            )
        self.n_answers, self.level = int(n_answers), float(level)
        self.repeat, self.random_state = bool(repeat), check_seed(random_state)
        self.rings: list[Ring] = []
        self._verdicts: list[Verdict] = []
        self._log: list[tuple[int, int | None]] = []  # all answers, in their order
        self._answers: dict[int, int | None] = {}  # the last answer about each row
        self._waiting: list[_Repeat] = []
        self._settling = False  # whether something is decided as soon as nothing waits
        self._changed = np.zeros(len(self.ranking.given), dtype=bool)
        self._features = Features.of(self.ranking)
        self._stage = "locate"
        n_pilot = count_pilot(self.n_answers)
        self._queue = draw_pilot(self.ranking, n_pilot, self._rng(0)).tolist()  # rows of this stage
        self._asked = 0  # how many of them have an answer

    def __repr__(self) -> str:
        claim = self.claim
        return f"Audit({claim.n_answers} of {self.n_answers} answers, {count_found(claim)})"

    # Questions and answers

    @property
    def next_row(self) -> int | None:
        """The row to ask about now; None if the audit is finished."""
        fresh = self._asked < len(self._queue)
        if self._waiting and (self._settling or not fresh or self._waiting[0].due <= len(self._log)):
            return self._waiting[0].row
        return self._queue[self._asked] if fresh else None

    def upcoming(self, n: int) -> list[int]:
        """Return up to n rows that come next in this stage, for several people; repeats are not among them.

        Answers must still be entered in this order. There are none while only repeats are missing to end the
        stage: then they might never be needed.
        """
        return [] if self._settling else self._queue[self._asked : self._asked + n]

    def answer(self, row: int, label: Any) -> None:
        """Take the answer about the row that is asked now, `next_row`.

        The label is what it should be, in the words of the given labels; None for "cannot tell", which keeps
        the given one and counts against a change.
        """
        expected = self.next_row
        if expected is None:
            raise InputError(f"The audit is finished; an answer about row {row!r} cannot be added.")
        if isinstance(row, bool) or row != expected:
            raise InputError(
                f"The audit asks about row {expected} now, but the answer is about row {format_value(row)}."
            )
        self._take(expected, None if label is None else self.ranking.number(label))

    def _take(self, row, number):
        self._log.append((row, number))
        if row in self._answers:
            again = self._waiting.pop(0)
            if number != self._answers[row] and not again.last:
                self._waiting.append(_Repeat(row, len(self._log) + GAP, last=True))
        else:
            self._asked += 1
            if self.repeat and number not in (None, self.ranking.given[row]):
                self._waiting.append(_Repeat(row, len(self._log) + GAP))
        self._answers[row] = number
        self._advance()

    def _advance(self):
        """Decide what can be decided, once no answer waits for its repeat."""
        exhausted = self._asked == len(self._queue)
        verdict: Verdict = "open"
        if self._stage == "confirm":
            verdict = rings.judge_ring(self.rings[-1], self._scores(self._queue[: self._asked]))
            exhausted = verdict != "open"
        self._settling = exhausted
        if not exhausted or self._waiting:
            return
        if self._stage == "confirm":
            self._verdicts.append(verdict)
            if verdict != "none":
                self._changed[_passed_rows(self.rings[-1], verdict)] = True
                self._changed[list(self._answers)] = False
        if self._stage != "rest" and verdict != "none":
            self._choose()
        else:
            self._finish()

    def _finish(self):
        self._stage, self._queue, self._asked, self._settling = "done", [], 0, False

    def _choose(self):
        """Begin with the next ring, or with the rest."""
        n2 = self.n_answers - len(self._answers)
        ring = self._place_ring(n2) if n2 >= rings.FEWEST_CONFIRMING else None
        self._asked, self._settling = 0, False
        if ring is not None:
            self.rings.append(ring)
            self._stage, self._queue = "confirm", ring.rows[ring.draws].tolist()
            return
        self._stage, self._queue = "rest", self._free_rows()[:n2].tolist()
        if not self._queue:
            self._finish()

    def _free_rows(self):
        """Return the rows that are neither answered nor changed, worst first."""
        free = ~self._changed
        free[list(self._answers)] = False
        return self.ranking.order[free[self.ranking.order]]

    def _place_ring(self, n2):
        """Return the ring with the largest expected gain, and draw from it."""
        rows, rng = self._free_rows(), self._rng(len(self.rings) + 1)
        asked = np.array(list(self._answers))
        hits = np.array([self._answers[row] == self.ranking.suggested[row] for row in self._answers])
        posterior = fit_hits(self._features.design(asked), hits, self._features.priors)
        p = self._features.predict(rows, posterior.mode)
        rows = rows[np.argsort(-p.round(9), kind="stable")]
        sizes = rings.list_sizes(len(rows))
        draws = posterior.draw(rng)
        beliefs = np.array([np.cumsum(self._features.predict(rows, one))[sizes - 1] / sizes for one in draws])
        delta = 1.0 - self.level
        best = rings.choose_size(beliefs, sizes, n2, delta)
        if best is None:
            return None
        N = int(sizes[best])
        shares = rings.list_shares(beliefs[:, best])
        return Ring(rows[:N], rings.draw_positions(N, n2, rng), shares, self.ranking.several, delta)

    def _scores(self, rows):
        """Return the score of the answer about each of these rows."""
        return np.array([self._score(row, self._answers[row]) for row in rows], dtype=int)

    def _score(self, row, number):
        if number == self.ranking.suggested[row]:
            return 1
        return -1 if number is None or number == self.ranking.given[row] else 0

    def _rng(self, step):
        return np.random.default_rng([self.random_state, 1, step])

    # What may be said

    @property
    def stage(self) -> str:
        """The stage that the audit is in: "locate", "confirm", "rest" or "done"."""
        return self._stage

    @property
    def progress(self) -> Progress:
        """Where the audit stands."""
        base = Progress(self._stage, self._asked, len(self._queue), n_repeats=len(self._waiting))
        if self._stage != "confirm":
            return base
        ring, scores = self.rings[-1], self._scores(self._queue[: self._asked])
        share = float(np.clip(ring.log_evidence(scores) / ring.log_limit, 0.0, 1.0))
        return replace(base, n_rows=len(ring), hits=int(np.sum(scores == 1)), share=share)

    @property
    def claim(self) -> Claim:
        """What may be said now; `str(audit.claim)` says it in plain words."""
        decided = self.decided
        overturned = sum(int(number != self.ranking.given[row]) for row, number in decided.items())
        return Claim(
            len(self._answers) - len(self._waiting), overturned, tuple(self._passed()),
            np.flatnonzero(self._changed), self.level, finished=self._stage == "done",
        )  # fmt: skip

    @property
    def outcome(self) -> Outcome:
        """The claim, and how the audit was made: further answers do not change it."""
        return Outcome(self.claim, self.n_answers, self.repeat, self.random_state)

    def _passed(self):
        """Yield what passed; ring r spends delta / 2^r on the bound of its wrong labels."""
        for r, (ring, verdict) in enumerate(zip(self.rings, self._verdicts, strict=False), start=1):
            if verdict == "none":
                return
            rows = _passed_rows(ring, verdict)
            drawn = [row for row in ring.rows[ring.draws].tolist() if row in self._answers]
            scores, inside = self._scores(drawn), np.isin(drawn, rows)
            most = None if ring.several else rings.bound_wrong(ring, scores, verdict, ring.delta / 2**r)
            n = int(inside.sum())
            yield PassedRing(len(rows), n, int(np.sum(scores[inside] == 1)), len(rows) - n, most)

    @property
    def decided(self) -> dict[int, int]:
        """Rows that a person decided, and their class numbers; without "cannot tell" and open repeats."""
        waiting = {one.row for one in self._waiting}
        return {row: n for row, n in self._answers.items() if n is not None and row not in waiting}

    @property
    def labels(self) -> np.ndarray:
        """Labels after the audit: as answered, changed where a set passed, else as given."""
        numbers = np.where(self._changed, self.ranking.suggested, self.ranking.given)
        for row, number in self.decided.items():
            numbers[row] = number
        classes = self.ranking.classes
        return Classes(classes).name(numbers) if np.any(numbers < 0) else classes[numbers]

    def apply(self, correction: Correction) -> Correction:
        """Return the correction with the changes of the audit in place of those of the rule.

        It must be the one that the audit was made from. Answered rows are verified. Rows that changed unseen
        have the action "audited". Changes of the rule that the audit did not confirm are taken back: the
        claim compares with the given labels. Missing labels are still filled in.
        """
        if Ranking.of(correction).digest != self.ranking.digest:
            raise InputError("The audit was made from another correction: apply it to that one.")
        verified = np.full(len(correction), -1) if correction.verified is None else correction.verified.copy()
        for row, number in self.decided.items():
            verified[row] = number
        audited, decided = self._changed.copy(), verified >= 0
        judgement = keep_labels(correction.judgement, correction.given, ~audited & ~decided, Halt.UNAUDITED)
        judgement = keep_labels(judgement, correction.given, decided, Halt.VERIFIED)
        known = decided & ~correction.missing
        judgement = replace(
            judgement, suggested=np.where(audited, judgement.rival, judgement.suggested), flagged=audited,
            halt=np.where(audited, np.int8(Halt.NONE), judgement.halt),
            quality=np.where(known, verified == correction.given, judgement.quality),
        )  # fmt: skip
        return replace(
            correction, judgement=judgement, verified=verified, audited=audited, audit=self.outcome
        )

    # Save and load

    @property
    def state(self) -> dict[str, Any]:
        """Plain values to save, as JSON for example; `load` goes on from them."""
        return {
            "format": FORMAT, "made_from": self.ranking.digest, "n_answers": self.n_answers,
            "confidence": self.level, "repeat": self.repeat, "random_state": self.random_state,
            "answers": [list(pair) for pair in self._log],
        }  # fmt: skip

    @classmethod
    def load(cls, state: Mapping[str, Any], source: Correction | Ranking) -> "Audit":
        """Go on with an audit from its `state`, which is not trusted, and the source it was made from.

        All answers are given once more, in their order.
        """
        audit = cls(source, **check_state(state, FORMAT))
        if state["made_from"] != audit.ranking.digest:
            raise InputError("The audit was made from other labels or another order: load it with those.")
        for i, pair in enumerate(state["answers"], start=1):
            row, number = check_answer(i, pair, len(audit.ranking.classes))
            if row != audit.next_row:
                raise InputError(f"Answer {i} of the audit is about row {row}, which was not asked then.")
            audit._take(row, number)
        return audit


@dataclass(frozen=True)
class _Repeat:
    """An answer that waits for its repeat."""

    row: int
    due: int  # number of answers after which it may come
    last: bool = False  # whether the next answer decides


def _passed_rows(ring, verdict):
    return ring.rows[: len(ring) // 2] if verdict == "half" else ring.rows

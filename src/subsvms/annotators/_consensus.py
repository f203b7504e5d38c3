"""The consensus of several people about each row, with the features as a judge of its own."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from subsvms._labels import Classes, name_labels
from subsvms._numbers import check_count
from subsvms._validation import check_rows
from subsvms.annotators._answers import FEW, Answers
from subsvms.annotators._model import Calibration, Fit, Powers, count_majority, normalise
from subsvms.annotators._people import Person, compute_alpha
from subsvms.correction import Correction, correct_labels
from subsvms.correction._frames import FrameStyle, build_frame
from subsvms.correction._rule import Halt, Judgement
from subsvms.exceptions import InputError, LabelNoiseWarning, Note, format_count, format_percent, name_few

CHUNK = 1 << 22  # numbers that are held at a time


@dataclass(frozen=True, eq=False, kw_only=True)
class Consensus:
    """What several people's answers, and the features, say about each row; and about the people.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    probability : ndarray of shape (n_rows, n_classes)
        Of each class, for each row.
    people : list of Person
        How often each is right, which classes they mix up, and what to do about it.
    powers : (float, float)
        How much answers and judge count, chosen by answers that were held out; 1 each for people who err
        independently of each other and of the judge.
    calibration : Calibration or None
        Whether held-out answers bear out the probabilities; None if no row has two answers.
    notes : tuple of str
        What to know about people and answers before using the result.
    level : float
        Of the limits of people's shares.

    Examples
    --------
    >>> import numpy as np
    >>> from subsvms.annotators import find_consensus
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> truth = X[:, 0] + X[:, 1] > 0
    >>> answers = [np.where(rng.random(400) < rate, ~truth, truth) for rate in (0.1, 0.2, 0.3)]
    >>> consensus = find_consensus(X, np.transpose(answers), random_state=0)
    >>> int(np.sum(consensus.majority != truth)), int(np.sum(consensus.labels != truth)) < 30
    (56, True)
    """

    answers: Answers
    fit: Fit
    powers: Powers
    log_q: np.ndarray | None  # (n_rows, n_classes): of the judge; None without one
    calibration: Calibration | None
    alike: bool  # whether nothing tells who of the people knows better
    alone: np.ndarray  # (n_rows, n_classes): probabilities by the answers alone
    notes: tuple[Note, ...]
    people: list[Person]
    level: float = 0.95
    style: FrameStyle = FrameStyle()
    judged: Correction | None = None  # of the majority labels, by the same judge

    def __len__(self) -> int:
        return self.answers.n_rows

    def __repr__(self) -> str:
        return f"Consensus({self._counted})"

    @property
    def _counted(self):
        answers, people = self.answers, format_count(len(self.answers.names), "person", "people")
        return f"{format_count(len(answers), 'answer')} of {people} about {format_count(len(self), 'row')}"

    def __str__(self) -> str:
        wrong = self.expected_wrong
        n_differ = int(np.sum(self._known & (self._numbers != self._majority) & (self._majority >= 0)))
        held = f"not calibrated: {self.doubt}" if self.doubt else str(self.calibration)
        who = "features" if self.judged is None else self.judged.judge or "features"
        judge = f"{who} and people err" if self.log_q is not None and self.powers.judge else "people err"
        return (
            f"Consensus of {self._counted}: "
            f"{format_count(n_differ, 'label differs', 'labels differ')} from the majority's. "
            f"About {format_percent(wrong)} of the labels are wrong, if {judge} independently, given the "
            f"true class ({held})."
        )

    @property
    def classes(self) -> np.ndarray:
        return self.answers.classes

    @property
    def probability(self) -> np.ndarray:
        return self.fit.posterior

    @cached_property
    def _known(self):
        """Rows about which somebody, or the judge, said anything."""
        answered = self.answers.per_row > 0
        if self.log_q is None or self.powers.judge <= 0:
            return answered
        return answered | ~np.isnan(self.log_q).any(axis=1)

    @property
    def _numbers(self):
        return np.where(self._known, self.probability.argmax(axis=1), -1)

    @cached_property
    def _majority(self):
        return count_majority(self.answers, self.alone)

    @property
    def labels(self) -> np.ndarray:
        """The most probable label of each row; None where nothing is known."""
        return name_labels(self.classes, self._numbers)

    @property
    def majority(self) -> np.ndarray:
        """What most people said; where several labels are tied, the one of the more reliable people."""
        return name_labels(self.classes, self._majority)

    @property
    def confidence(self) -> np.ndarray:
        """Probability of each label in `labels`; NaN where nothing is known."""
        return np.where(self._known, self.probability.max(axis=1), np.nan)

    @property
    def doubt(self) -> str | None:
        """Why the probabilities may not hold, in a clause; None if held-out answers bear them out."""
        if self.calibration is None:
            return "no row has two answers, so none could be held out to check this"
        if self.alike:
            return "nothing tells which of the people is right"
        if self.judged is None and self.powers.judge > 1.0:
            return "the probabilities of the model say less than it knows, and sharper ones cannot be checked"
        return None if self.calibration.holds else str(self.calibration)

    @property
    def expected_wrong(self) -> float:
        """Share of the labels that are wrong, if the probabilities hold (see `calibration`)."""
        return float(np.mean(1.0 - self.confidence[self._known]))

    @property
    def agreement(self) -> float:
        """Krippendorff's alpha: 1 if people always agree, 0 if no more than by chance."""
        return compute_alpha(self.answers.counts)

    @cached_property
    def gain(self) -> np.ndarray:
        """How much more probable one more answer, of an average person, would make the label of each row."""
        joint, p = self.fit.pooled**self.powers.answers, self.probability
        joint = joint / joint.sum(axis=1, keepdims=True)
        gain, step = np.zeros(len(self)), max(1, CHUNK // joint.size)
        for start in range(0, len(self), step):
            some = p[start : start + step]
            gain[start : start + step] = (some[:, :, None] * joint).max(axis=1).sum(axis=1) - some.max(axis=1)
        return np.maximum(gain, 0.0)

    def ask_next(self, n: int = 20) -> Any:
        """Return the rows that another answer would help most, and whom to ask, as a data frame.

        A row helps if its label is open, and if people can tell its likely classes apart: rows that everybody
        mixes up come late, and those that everybody answered about are left out. The person is the one, of
        those with ten answers and more who have not answered about the row yet, whose answer would help most;
        None if there is nobody.
        """
        check_count("n", n)
        columns = self.list_next(n)
        rows = columns["row"]
        columns["row"] = rows if self.style.index is None else self.style.index[rows]
        return build_frame(columns, replace(self.style, index=None))

    def list_next(self, n: int) -> dict[str, Any]:
        """Return the columns of `ask_next`, with row numbers."""
        order = np.argsort(-self.gain, kind="stable")
        rows = order[self.answers.per_row[order] < len(self.people)][:n]
        able = [i for i, person in enumerate(self.people) if person.n_answers >= FEW]
        second = self._second[rows]
        return {
            "row": rows, "gain": self.gain[rows], "label": name_labels(self.classes, self._numbers[rows]),
            "second_label": self.classes[second], "confidence": self.confidence[rows],
            "ask": [self._choose_person(int(row), able) for row in rows],
        }  # fmt: skip

    def _choose_person(self, row, able):
        asked = set(self.answers.person[self.answers.row == row].tolist())
        free = [person for person in able if person not in asked]
        if not free:
            return None
        worth = [(self.probability[row][:, None] * self.people[one].matrix).max(axis=0).sum() for one in free]
        return self.people[free[int(np.argmax(worth))]].name

    @property
    def _second(self):
        others = self.probability.copy()
        others[np.arange(len(self)), self.probability.argmax(axis=1)] = -1.0
        return others.argmax(axis=1)

    @property
    def disputed(self) -> np.ndarray:
        """Rows about which people disagree, the most open first."""
        rows = np.flatnonzero((self.answers.counts > 0).sum(axis=1) > 1)
        return rows[np.argsort(self.confidence[rows], kind="stable")]

    def explain(self, rows: Any) -> Any:
        """Return why one row has its label, in words that name the people; a list for several rows.

        Parameters
        ----------
        rows : int, array-like of int, or array-like of bool of shape (n_rows,)
            Row numbers from 0, or which rows.
        """
        numbers = check_rows(rows, len(self))
        reasons = [self._explain(int(row)) for row in np.atleast_1d(numbers)]
        return reasons if numbers.ndim else reasons[0]

    def _explain(self, row):
        if not self._known[row]:
            return "nobody answered about this row"
        names = [repr(name) for name in self.classes.tolist()]
        said: dict[int, list[str]] = {}
        for i in np.flatnonzero(self.answers.row == row):
            who = self.people[self.answers.person[i]]
            shown = f"{who.name} (right in {format_percent(who.right)})"
            said.setdefault(int(self.answers.label[i]), []).append(shown)
        best = self._numbers[row]
        heard = sorted(said.items(), key=lambda item: (item[0] != best, -len(item[1]), item[0]))
        says = [(label, name_few(who), "says" if len(who) == 1 else "say") for label, who in heard]
        sides = [f"{who} {say} {names[label]}" for label, who, say in says]
        sides = sides or ["nobody answered about this row"]
        if self.log_q is not None and not np.isnan(self.log_q[row]).any() and self.powers.judge > 0:
            q = normalise(self.log_q[row : row + 1])[0]
            who = "the features" if self.judged is None or self.judged.judge is None else self.judged.judge
            sides.append(f"{who} alone give{'s' if who != 'the features' else ''} {names[int(q.argmax())]} "
                         f"{format_percent(q.max())}")  # fmt: skip
        return f"{names[best]} with probability {self.confidence[row]:.3f}: {'; '.join(sides)}"

    def to_frame(self) -> Any:
        """Return a data frame with a line for each row, like that of a `Correction`."""
        rows = np.arange(len(self))
        columns = {
            "label": self.labels, "confidence": self.confidence, "majority_label": self.majority,
            "n_answers": self.answers.per_row,
            "n_agreeing": self.answers.counts[rows, np.maximum(self._numbers, 0)].round().astype(int),
            "second_label": self.classes[self._second], "gain": self.gain,
        }  # fmt: skip
        return build_frame(columns, self.style)

    def people_to_frame(self) -> Any:
        """Return a data frame with a line for each person."""
        return build_frame(self.list_people(), replace(self.style, index=None))

    def list_people(self) -> dict[str, list]:
        """Return the columns of `people_to_frame`."""
        fields = ("name", "n_answers", "right", "low", "high", "chance", "kappa", "depends", "advice")
        return {name: [getattr(person, name) for person in self.people] for name in fields}

    @cached_property
    def correction(self) -> Correction:
        """The consensus as a correction of the majority's labels: for audits, reviews and displays."""
        judged = self.judged
        if judged is None:
            known = np.unique(self._majority[self._majority >= 0])
            if len(known) < 2:
                said = "A correction needs two classes, but the majority says the same of every row"
                raise InputError(f"{said}: read labels and confidence of the consensus instead.")
            how: dict[str, Any] = {"estimator": "probabilities", "n_witnesses": 0, "random_state": 0}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LabelNoiseWarning)  # about a rule that the consensus replaces
                p = self.probability[:, known]
                judged = correct_labels(p / p.sum(axis=1, keepdims=True), self.majority, **how)
        return self.apply(judged)

    def apply(self, correction: Correction) -> Correction:
        """Return a correction of the majority's labels, judged by the consensus in place of the rule."""
        places = Classes(self.classes).number(correction.classes)
        posterior = np.maximum(self.probability[:, places], 0.0)
        posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
        given, rows, best = correction.given, np.arange(len(self)), posterior.argmax(axis=1)
        score, decided = posterior[rows, best], correction.decided
        firm = score > (correction.settings.min_confidence or 0.0)
        flagged = (given >= 0) & self._known & (best != given) & firm & ~decided
        others = np.where(np.arange(len(places)) == given[:, None], -1.0, posterior)
        own = posterior[rows, np.maximum(given, 0)]
        judgement = Judgement(
            posterior=posterior, suggested=np.where(flagged | (given < 0), best, given), flagged=flagged,
            rival=others.argmax(axis=1), score=score, quality=np.where(given < 0, np.nan, own),
            halt=np.where(decided, np.int8(Halt.VERIFIED), np.int8(Halt.NONE)), notes=self.notes,
        )  # fmt: skip
        return replace(correction, judgement=judgement, witnesses=None, consensus=self)

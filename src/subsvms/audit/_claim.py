"""What an audit or a confirmation claims, in numbers and in plain words."""

from dataclasses import dataclass, field

import numpy as np

from subsvms._callers import renamed_attribute
from subsvms.exceptions import format_count


@dataclass(frozen=True)
class PassedRing:
    """A set of rows, chosen by the audit, that passed.

    Attributes
    ----------
    n_rows, n_checked, n_hits, n_changed : int
        Rows of the set, or of the half that passed; checked at random; of these with the suggested label;
        changed without being seen.
    at_most_wrong : int or None
        How many of those are wrong at most; None where no more is known than that most are right, and for
        three classes and more.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking, run_audit
    >>> ranking = Ranking.make(["ham"] * 200, ["spam"] * 200, range(200))  # the first rows are suspected most
    >>> audit = run_audit(Audit(ranking, 30), lambda row: "spam" if row < 100 else "ham")
    >>> audit.claim.rings[0].n_checked
    11
    """

    n_rows: int
    n_checked: int
    n_hits: int
    n_changed: int
    at_most_wrong: int | None


@dataclass(frozen=True)
class CheckedSet:
    """A set that people were asked about first: the changes of the rule, or what it held back.

    Attributes
    ----------
    name : {"changes", "held_back"}
    n_rows, n_checked, n_hits, n_unseen : int
        Labels in the set; checked; of these with the suggested label; not looked at.
    verdict : {"passed", "kept", "back", "asked"}
        Whether the changes of those not looked at are right for the most part, with confidence; stay without
        a claim; are taken back, or not made; or whether people were asked about all of the set.
    at_most_wrong : int or None
        How many of these changes are wrong at most, if the set passed and more is known than that.

    Examples
    --------
    >>> from subsvms.audit import Ranking, confirm, run_audit
    >>> changed = [row < 100 for row in range(200)]
    >>> ranking = Ranking.make(["ham"] * 200, ["spam"] * 200, range(200), flagged=changed)
    >>> run_audit(confirm(ranking), lambda row: "ham").claim.sets[0].verdict
    'back'
    """

    name: str
    n_rows: int
    n_checked: int
    n_hits: int
    n_unseen: int
    verdict: str
    at_most_wrong: int | None


@dataclass(frozen=True, eq=False)
class Claim:
    """What may be said about a table so far; `str(claim)` says it.

    Attributes
    ----------
    n_answers, n_overturned : int
        Rows that a person decided, "cannot tell" included; how many of them got another label.
    rings : tuple of PassedRing
    changed : ndarray of int
        Rows whose labels are changed to the suggested ones without being seen.
    level : float
        With this probability, or more, over the random draws, the claim is true, whatever the noise is.
    finished : bool
        Whether there is nothing more to ask; passed rings stay valid if the audit ends before.
    sets : tuple of CheckedSet
        The sets that people were asked about first, as far as they are decided.
    standing : ndarray of int
        Rows whose change by the rule stands without a claim.
    threshold : float
        What share of the labels changed unseen in a ring is right, with this confidence: more than 1/2, or
        2/3 for a model. With several classes: more of these changes correct a label than spoil one.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking, run_audit
    >>> ranking = Ranking.make(["ham"] * 200, ["spam"] * 200, range(200))  # the first rows are suspected most
    >>> audit = run_audit(Audit(ranking, 30), lambda row: "spam" if row < 100 else "ham")
    >>> audit.claim.n_answers, audit.claim.finished
    (30, True)
    """

    n_answers: int
    n_overturned: int
    rings: tuple[PassedRing, ...]
    changed: np.ndarray
    level: float
    finished: bool
    sets: tuple[CheckedSet, ...] = ()
    standing: np.ndarray = field(default_factory=lambda: np.array([], dtype=int))
    threshold: float = 0.5
    several: bool = False
    is_confirmation: bool = False

    confidence = renamed_attribute("confidence", "level")

    @property
    def at_most_wrong(self) -> int | None:
        """How many of the labels changed unseen are wrong at most; None if this is not known."""
        bounds = [ring.at_most_wrong for ring in self.rings]
        bounds += [one.at_most_wrong for one in self.sets if one.verdict == "passed"]
        return None if not bounds or None in bounds else sum(bound or 0 for bound in bounds)

    def __repr__(self) -> str:
        answers = "answer" if self.n_answers == 1 else "answers"
        return f"Claim({self.n_answers} {answers}, {count_found(self)})"

    def __str__(self) -> str:
        return format_claim(self)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What an audit found, and how it was made: what a correction keeps of it."""

    claim: Claim
    n_answers: int  # how many answers were planned
    repeat: bool  # whether overturned labels were asked again
    random_state: int


@dataclass(frozen=True)
class Progress:
    """Where an audit stands, for people who answer.

    Attributes
    ----------
    stage : {"changes", "held_back", "locate", "confirm", "sample", "rest", "done"}
    asked, of, n_repeats : int
        Answers in this stage, how many there may be, and how many wait for a repeat.
    n_rows, hits, share : int, int, float
        Rows of the set that is checked, hits so far, and how near it is to a pass, from 0 to 1; 0 in stages
        without a set.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking
    >>> audit = Audit(Ranking.make(["ham"] * 200, ["spam"] * 200, range(200)), 30)
    >>> audit.answer(audit.next_row, "ham")
    >>> print(audit.progress)
    Locating wrong labels: 1 of 6
    """

    stage: str
    asked: int
    of: int
    n_rows: int = 0
    hits: int = 0
    share: float = 0.0
    n_repeats: int = 0

    def __str__(self) -> str:
        sets = {"changes": " changes of the rule", "held_back": " labels that the rule held back"}
        if self.stage in sets or self.stage == "confirm":
            many = sets.get(self.stage, " labels")
            what = f"Checking {'' if self.stage in sets else 'a set of '}{self.n_rows:,}{many}"
            if not self.asked:
                return f"{what}: nobody has answered about {'them' if self.stage in sets else 'it'} yet"
            return f"{what}: {self.hits} of {self.asked} wrong so far"
        names = {"locate": "Locating wrong labels", "rest": "The most suspicious of the rest"}
        names["sample"] = "Labels drawn at random"
        return f"{names[self.stage]}: {self.asked} of {self.of}" if self.stage in names else "Done"


def format_claim(claim: Claim) -> str:
    said = [_format_set(one, claim) for one in claim.sets]
    if len(claim.standing) and not any(one.name == "changes" for one in claim.sets):
        n = format_count(len(claim.standing), "change")
        said.insert(0, f"The {n} of the rule stand so far, without a claim.")
    if not claim.is_confirmation:
        n, wrong = format_count(claim.n_answers, "label"), claim.n_overturned
        checked = f"You checked {n}, drawn partly at random; {wrong} of them {_was(wrong)} wrong."
        said = [checked, *said, _format_rings(claim)]
    return " ".join(said) or "The rule changed no label and held none back: there is nothing to confirm."


def _format_set(one, claim):
    """Return what is said of a set that people were asked about first."""
    is_change = one.name == "changes"
    what = format_count(one.n_rows, "change" if is_change else "label")
    what += "" if is_change else " that the rule held back"
    right = f"{one.n_hits} {_was(one.n_hits)} {'right' if is_change else 'wrong'}"
    if one.verdict == "passed":
        begin, are = ("Confirmed", "right") if is_change else ("Applied", "wrong")
        found = f"most of the {what} are {are}" if not claim.several else (
            f"the {what} {'do' if is_change else 'are changed, which does'} more good than harm"
        )  # fmt: skip
        return f"{begin}: {found}, with {_format_sure(claim)}; of {one.n_checked} checked at random {right}."
    if one.verdict == "asked":
        return f"Of the {what}, all checked, {right}."
    checked = f"of {one.n_checked} of the {what} checked at random {right}"
    if one.verdict == "kept":
        return f"Not decided: {checked}; the others stay as the rule changed them, without a claim."
    if not is_change:
        return f"Left as given: {checked}."
    begin = "Taken back" if 2 * one.n_hits < one.n_checked else "Not decided"
    return f"{begin}: {checked}; the others have the labels again that were given."


def _format_rings(claim):
    """Return what is said of the rings of an audit."""
    sure, other = f"With {_format_sure(claim)}", "further label" if claim.sets else "other label"
    if not claim.rings:
        if not claim.finished:
            return f"So far no {other} is changed."
        most = "two thirds" if claim.threshold > 0.5 else "most"
        return f"No {other} was changed: the answers did not show {most} of any set to be wrong."
    counts = ((ring.n_changed, ring.n_checked, ring.n_hits) for ring in claim.rings)
    n, checked, hits = map(sum, zip(*counts, strict=True))
    than = f"if only your {format_count(claim.n_answers, 'answer')} had been entered"
    better = f"fewer labels are wrong now than {'without these changes' if claim.sets else than}"
    if claim.threshold > 0.5:
        better = "more than two thirds of these were wrong"
    wrong = "had the suggested label" if claim.several else f"{_was(hits)} wrong"
    text = (
        f"{n} {'other' if n == 1 else 'others'} {_was(n)} changed without being seen. {sure} {better}; of "
        f"the {checked} checked at random among such labels, {hits} {wrong}."
    )
    bounds = [ring.at_most_wrong for ring in claim.rings]
    if None in bounds:
        return text
    return f"{text} {sure} at most {sum(bounds)} of the {n} are wrong."


def count_found(claim: Claim) -> str:
    """Return what the answers led to, in numbers."""
    n_changed, most = len(claim.changed), claim.at_most_wrong
    bound = "" if most is None else f", at most {most} of these wrongly with {_format_sure(claim)}"
    others = "other" if n_changed == 1 else "others"
    standing = f", {len(claim.standing)} as the rule changed them" if len(claim.standing) else ""
    return f"{claim.n_overturned} overturned, {n_changed} {others} changed unseen{bound}{standing}"


def _format_sure(claim):
    return f"{100 * claim.level:.6g} % confidence"


def _was(n):
    return "was" if n == 1 else "were"

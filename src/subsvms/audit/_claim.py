"""What an audit claims, in numbers and in plain words."""

from dataclasses import dataclass

import numpy as np

from subsvms._callers import renamed_attribute


@dataclass(frozen=True)
class PassedRing:
    """A set of rows that passed.

    Attributes
    ----------
    n_rows, n_checked, n_hits, n_changed : int
        Rows of the set, or of the half that passed; checked at random; of these with the suggested label;
        changed without being seen.
    at_most_wrong : int or None
        How many of those are wrong at most; None for three classes and more, where this is not known.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking, run_audit
    >>> ranking = Ranking.make(["ham"] * 200, ["spam"] * 200, range(200))  # the first rows are suspected most
    >>> audit = run_audit(Audit(ranking, 30), lambda row: "spam" if row < 100 else "ham")
    >>> audit.claim.rings[0]
    PassedRing(n_rows=50, n_checked=13, n_hits=13, n_changed=37, at_most_wrong=11)
    """

    n_rows: int
    n_checked: int
    n_hits: int
    n_changed: int
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

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking, run_audit
    >>> ranking = Ranking.make(["ham"] * 200, ["spam"] * 200, range(200))  # the first rows are suspected most
    >>> audit = run_audit(Audit(ranking, 30), lambda row: "spam" if row < 100 else "ham")
    >>> print(audit.claim)
    You checked 30 labels, drawn partly at random; 26 of them were wrong. 37 others were changed without
    being seen. With 95% confidence fewer labels are wrong now than if only your 30 answers had been
    entered; of the 13 checked at random among such labels, 13 were wrong. With 95% confidence at most 11
    of the 37 are wrong.
    """

    n_answers: int
    n_overturned: int
    rings: tuple[PassedRing, ...]
    changed: np.ndarray
    level: float
    finished: bool

    confidence = renamed_attribute("confidence", "level")

    @property
    def at_most_wrong(self) -> int | None:
        """How many of the labels changed unseen are wrong at most; None if this is not known."""
        if not self.rings or any(ring.at_most_wrong is None for ring in self.rings):
            return None
        return sum(ring.at_most_wrong or 0 for ring in self.rings)

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
    stage : {"locate", "confirm", "rest", "done"}
    asked, of, n_repeats : int
        Answers in this stage, how many there may be, and how many wait for a repeat.
    n_rows, hits, share : int, int, float
        Rows of the ring that is checked, hits so far, and the share of the evidence that it needs, log E /
        log(1 / limit); 0 in other stages.

    Examples
    --------
    >>> from subsvms.audit import Audit, Ranking
    >>> audit = Audit(Ranking.make(["ham"] * 200, ["spam"] * 200, range(200)), 30)
    >>> audit.answer(audit.next_row, "ham")
    >>> print(audit.progress)
    Locating wrong labels: 1 of 12
    """

    stage: str
    asked: int
    of: int
    n_rows: int = 0
    hits: int = 0
    share: float = 0.0
    n_repeats: int = 0

    def __str__(self) -> str:
        if self.stage == "locate":
            return f"Locating wrong labels: {self.asked} of {self.of}"
        if self.stage == "confirm":
            if not self.asked:
                return f"Checking a set of {self.n_rows:,} labels: nobody has answered about it yet"
            return f"Checking a set of {self.n_rows:,} labels: {self.hits} of {self.asked} wrong so far"
        return (
            f"The most suspicious of the rest: {self.asked} of {self.of}" if self.stage == "rest" else "Done"
        )


def format_claim(claim: Claim) -> str:
    n, sure = claim.n_answers, f"With {_format_sure(claim)}"
    checked = (
        f"You checked {n} {'label' if n == 1 else 'labels'}, drawn partly at random; {claim.n_overturned} of "
        f"them {_was(claim.n_overturned)} wrong."
    )
    if not claim.rings:
        if not claim.finished:
            return f"{checked} So far no other label is changed."
        return f"{checked} No other label was changed: the answers did not show most of any set to be wrong."
    n_changed = len(claim.changed)
    n_checked, hits = (sum(getattr(ring, name) for ring in claim.rings) for name in ("n_checked", "n_hits"))
    several = claim.at_most_wrong is None
    text = (
        f"{checked} {n_changed} {'other' if n_changed == 1 else 'others'} "
        f"{_was(n_changed)} changed without being seen. {sure} fewer labels are wrong now "
        f"than if only your {n} answers had been entered; of the {n_checked} checked at random among such "
        f"labels, {hits} {'had the suggested label' if several else f'{_was(hits)} wrong'}."
    )
    return text if several else f"{text} {sure} at most {claim.at_most_wrong} of the {n_changed} are wrong."


def count_found(claim: Claim) -> str:
    """Return what the answers led to, in numbers."""
    n_changed, most = len(claim.changed), claim.at_most_wrong
    bound = "" if most is None else f", at most {most} of these wrongly with {_format_sure(claim)}"
    others = "other" if n_changed == 1 else "others"
    return f"{claim.n_overturned} overturned, {n_changed} {others} changed unseen{bound}"


def _format_sure(claim):
    return f"{100 * claim.level:.6g}% confidence"


def _was(n):
    return "was" if n == 1 else "were"

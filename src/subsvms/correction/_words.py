"""What a correction says in words: why a label was kept or changed, and what the user must know."""

from subsvms.correction._noise import FEWEST
from subsvms.correction._rule import Halt, Settings

HALTS = {
    Halt.UNASKED: "every SVM was trained on this row, so none of them can judge it",
    Halt.UNEXPLAINED: "the features do not predict the labels, so none is changed",
    Halt.SMALL: f"a class with fewer than {FEWEST} rows is left alone",
    Halt.CAPPED: "max_error_rate allows no more changes",
    Halt.TOLD_APART: "the features tell this row from those it would join",
    Halt.UNTESTED: "the sample has too few such changes to check them",
    Halt.VERIFIED: "a person decided",
    Halt.DUPLICATE: "another row has the same features and another label, and duplicates were dropped",
}
JUDGES_HALTS = {  # the same, where a judge other than SVMs would be misrepresented
    Halt.UNASKED: "every part of the judge was trained on this row, so none can judge it",
}
SPARED = {  # why a whole group of labels was kept
    Halt.TOLD_APART: "labels that look wrong were kept: the features distinguish their rows from those they "
    "would join, so the classes overlap there, and the labels need not be wrong.",
    Halt.UNTESTED: "labels that look wrong were kept: the sample that everything is learned from has too few "
    "such changes to check them; a larger pool (pool_size) has more.",
    Halt.DUPLICATE: "rows share their features with a row of another label, and none with a row of the same "
    "label: duplicates were probably dropped with the label included. Nothing can be learned from "
    "such rows, so their labels were kept; drop duplicates by the features alone, or keep all rows.",
}
UNEXPLAINED = (
    "The features do not predict the labels: out-of-bag votes agree with them no better than chance, so no "
    "label was changed. Check that X holds what the labels are based on, and that its features are scaled; "
    "noise may also have drowned out a rare class."
)
UNPREDICTED = (
    "The probabilities do not predict the labels: they agree with them no better than chance, so no label "
    "was changed. Check that X holds what the labels are based on, or, if X holds probabilities, the order "
    "of its columns."
)
UNCHECKED = (
    "Probabilities alone do not show whether the features distinguish the rows that change from those they "
    "join, so this was not checked: look at some of these rows before you use the result."
)
HARDLY_TOLD_APART = "The labels are so noisy that they hardly distinguish the classes: no label was changed."
BEYOND_HALF = (
    "If more than half of the labels are wrong, whatever learns from them sides with the wrong ones, and "
    "nothing in the table can show it: look at some of these rows before you use the result."
)
REVERSED = (
    "Either labels were changed along the border between the classes, or the border is more intricate than "
    "was learned; the rule 'posterior' leaves such labels. If you know that the classes are well "
    "separated, use rule='majority' with max_error_rate."
)


def format_spared(n_rows: int, halt: Halt) -> str:
    """Return a note on labels that were kept for a reason other than the rule."""
    words = SPARED[halt]
    if n_rows == 1:
        words = words.replace("labels that look wrong were", "label that looks wrong was", 1)
    return f"{n_rows} {words}"


def format_scarce(name: str, seen: int, size: int) -> str:
    """Return a note on a class with too few rows to be judged."""
    if seen < size:
        return (
            f"Class {name!r} has {size} labelled rows, but only {seen} in the sample that everything is "
            "learned from: no label was changed from or to it; a larger pool (pool_size) has more."
        )
    return (
        f"Class {name!r} has {size} labelled row{'' if size == 1 else 's'}; with fewer than {FEWEST} its "
        "noise cannot be estimated, so no label was changed from or to it."
    )


def format_contradicted(labels: str, judge: str | None = None) -> str:
    """Return a note on labels, in words, that the vote contradicts."""
    who = "The vote" if judge is None else judge[0].upper() + judge[1:]
    return f"{who} contradicts {labels}. {BEYOND_HALF}"


def format_reversed(share: float, judge: str | None = None) -> str:
    """Return a note on labels along the border between two classes, as a share of the rows."""
    where, them = ("the votes are divided", "them") if judge is None else (f"{judge} is undecided", "it")
    return f"Where {where}, in {share:.0%} of the rows, labels run against {them}. {REVERSED}"


def format_vote(
    names: list[str], n_voters: int, winner: int, n_votes: float, judge: str | None = None
) -> str:
    """Return how a vote went, or what another judge said.

    Examples
    --------
    >>> format_vote(["'cat'", "'dog'"], 900, 0, 873)
    "97% of 900 SVMs vote 'cat'"
    >>> format_vote(["'cat'", "'dog'"], 1, 0, 0.97, "RandomForestClassifier")
    "RandomForestClassifier gives 'cat' 97%"
    """
    if n_voters == 0:
        return "no SVM can judge it" if judge is None else f"{judge} cannot judge it"
    if judge is not None:
        return f"{judge} gives {names[winner]} {n_votes:.0%}"
    return f"{n_votes / n_voters:.0%} of {n_voters} SVMs vote {names[winner]}"


def format_reason(
    settings: Settings,
    names: list[str],
    judge: str | None,
    given: int,
    compared: int,
    n_voters: int,
    winner: int,
    n_votes: float,
    p_given: float,
    p_compared: float,
    action: str,
    halt: int,
) -> str:
    """Return why a label was kept or changed: the vote, the probability and the threshold of its row.

    Parameters
    ----------
    settings : Settings
    names : list of str
        Of the classes.
    judge : str or None
        Who judged, if not SVMs.
    given, compared : int
        Class numbers of the label (-1 without one), and of the class that speaks against it.
    n_voters, winner : int
        SVMs that voted, and the class with the most votes.
    n_votes : float
        How many it has; the probability that another judge gives it.
    p_given, p_compared : float
        Probabilities of the two classes.
    action : str
        What is done about the row.
    halt : int
        A `Halt`.
    """
    vote = format_vote(names, n_voters, winner, n_votes, judge)
    halts = HALTS if judge is None else HALTS | JUDGES_HALTS
    if action == "verified":
        return f"verified: a person decided; {vote}"
    if n_voters == 0:
        return f"{action}: {halts[Halt.UNASKED]}"
    chance = f"probability of {names[compared]} is {p_compared:.3f}"
    if action == "missing":
        return f"missing: no label was given; {vote}; {chance}"
    least = settings.min_confidence
    most, decide, of_them = "most votes", "decide", " of them"
    if judge is not None:
        most, decide, of_them = "the largest share", "decides", ""
    share = f", more than {least:g}{of_them}" if least > 0.5 else ""
    if action != "keep":
        limit = f"but {most} {decide}{share}" if settings.rule == "majority" else f"above {least:g}"
        return f"{action}: {vote}, the label is {names[given]}; {chance}, {limit}"
    limit = f"a change needs more than {least:g} for {names[compared]}"
    if least < 0.5:
        limit += f" and more than for {names[given]}"
    if settings.rule == "majority":
        limit = f"a change needs {most} for another label{share}"
    own = f"probability of {names[given]} is {p_given:.3f}"
    return f"keep: {vote}; {own}, {chance}; {halts[Halt(halt)] if halt else limit}"

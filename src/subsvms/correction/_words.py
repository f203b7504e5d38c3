"""What a correction says in words: why a label was kept or changed, and what the user must know."""

from collections.abc import Sequence

from subsvms._text import format_percent
from subsvms.correction._noise import FEWEST
from subsvms.correction._rule import Halt, Settings

NAMED = 5  # classes in a note; the others are counted
HALTS = {
    Halt.UNASKED: "every SVM was trained on this row, so none of them can judge it",
    Halt.UNEXPLAINED: "the features do not predict the labels, so none is changed",
    Halt.SMALL: f"a class with fewer than {FEWEST} rows is left alone",
    Halt.CAPPED: "max_error_rate allows no more changes",
    Halt.TOLD_APART: "the features tell this row from those it would join",
    Halt.UNTESTED: "there are too few such rows to check the change",
    Halt.VERIFIED: "a person decided",
    Halt.REFUSED: "people kept such labels where they looked",
    Halt.DUPLICATE: "another row has the same features and another label, and duplicates were dropped",
    Halt.UNAUDITED: "the audit did not confirm a change of this label",
}
JUDGES_HALTS = {  # the same, where a judge other than SVMs would be misrepresented
    Halt.UNASKED: "every part of the judge was trained on this row, so none can judge it",
}
KEEPERS = {  # the same, in a list of what kept how many labels; where nothing halts it, the rule's threshold
    Halt.SMALL: f"a class with fewer than {FEWEST} rows",
    Halt.CAPPED: "the limit on changes",
    Halt.TOLD_APART: "features that tell rows apart",
    Halt.UNTESTED: "changes too few to be checked",
    Halt.DUPLICATE: "an equal row with another label",
    Halt.REFUSED: "answers of people",
    Halt.UNAUDITED: "an audit that did not confirm a change",
}
SPARED = {  # why a whole group of labels was kept
    Halt.TOLD_APART: "labels that look wrong were kept: the features distinguish their rows from those they "
    "would join, so the classes overlap there, and the labels need not be wrong.",
    Halt.UNTESTED: "labels that look wrong were kept: among the rows that everything is learned from are too "
    "few like them to check the changes; of a large table, a larger pool (pool_size) has more.",
    Halt.REFUSED: "labels that look wrong were kept: people looked at such labels, and found them right.",
    Halt.DUPLICATE: "rows share their features with a row of another label, and none with a row of the same "
    "label: duplicates were probably dropped with the label included. Nothing can be learned from "
    "such rows, so their labels were kept; drop duplicates by the features alone, or keep all rows.",
}
NOTED = (Halt.UNEXPLAINED, Halt.SMALL, *SPARED)  # what has a note of its own
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
ESTIMATED_BEFORE = "This estimate is from before the audit; the claim of the audit rests on the answers."
DISTRUSTED = (BEYOND_HALF, UNCHECKED)  # ends of notes that say not to use a result as it is
REVERSED = (
    "Either labels were changed along the border between the classes, or the border is more intricate than "
    "was learned; the rule 'posterior' leaves such labels. If you know that the classes are well "
    "separated, use rule='majority' with max_error_rate."
)


def is_distrusted(notes: Sequence[str]) -> bool:
    """Return whether a note says not to use the result before looking at some rows."""
    return any(note.endswith(DISTRUSTED) for note in notes)


def format_spared(n_rows: int, halt: Halt) -> str:
    """Return a note on labels that were kept for a reason other than the rule."""
    words = SPARED[halt]
    if n_rows == 1:
        words = words.replace("labels that look wrong were", "label that looks wrong was", 1)
    return f"{n_rows} {words}"


def format_keeper(halt: Halt, settings: Settings, judge: str | None = None) -> str:
    """Return what kept a label although another is more probable, in a few words; `judge` if not SVMs."""
    if halt == Halt.NONE:
        if settings.rule == "majority":
            return "the plain vote" if judge is None else f"the largest share that {judge} gives"
        return f"a probability of at most {settings.min_confidence:g}"
    return KEEPERS.get(halt, "a safety check")


def format_held_back(n_flagged: int, kept_by: Sequence[tuple[str, int]]) -> str:
    """Return what kept labels although another one is more probable, in a sentence."""
    n = sum(count for _, count in kept_by)
    which = "more" if n_flagged else "row" if n == 1 else "rows"
    start = f"For {n:,} {which}, another label is more probable"
    if len(kept_by) == 1:
        ((what, _),) = kept_by
        return f"{start}, but {what} kept the given one."
    kept = ", ".join(f"{count:,} by {what}" for what, count in kept_by)
    return f"{start}, but the given one was kept: {kept}."


def format_audited(n_changed: int, n_unseen: int) -> str:
    """Return in a sentence how many labels were changed after an audit, and how many of them unseen.

    How many are right is what the claim of the audit says: the probabilities know nothing of its answers.
    """
    if n_changed == 0:
        return "None was changed: the audit confirmed no change."
    was = "was" if n_changed == 1 else "were"
    by_people = f"{n_changed - n_unseen:,} by people"
    return f"{n_changed:,} {was} changed, {by_people} and {n_unseen:,} by the audit unseen."


def name_some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    *others, last = names if len(names) <= NAMED else [*names[:NAMED], f"{len(names) - NAMED} more"]
    return f"{', '.join(others)} and {last}" if others else last


def format_scarce(classes: Sequence[tuple[str, int, int]]) -> list[str]:
    """Return notes on classes with too few rows to be judged: one on small ones, one on those hardly seen."""
    small = [(name, size) for name, seen, size in classes if seen >= size]
    hardly = [(name, f"{seen} of {size}") for name, seen, size in classes if seen < size]
    notes = []
    if len(small) == 1:
        ((name, size),) = small
        notes.append(
            f"Class {name!r} has {size} labelled row{'' if size == 1 else 's'}; with fewer than {FEWEST} its "
            "noise cannot be estimated, so no label was changed from or to it."
        )
    elif small:
        named = name_some([f"{name!r} ({size})" for name, size in small])
        notes.append(
            f"{len(small)} classes have fewer than {FEWEST} labelled rows, {named}: their noise cannot be "
            "estimated, so no label was changed from or to them."
        )
    if hardly:
        what, them = ("Class", "it") if len(hardly) == 1 else (f"{len(hardly)} classes", "them")
        named = name_some([f"{name!r} ({seen})" for name, seen in hardly])
        notes.append(
            f"{what} with too few labelled rows in the sample that everything is learned from, {named}: no "
            f"label was changed from or to {them}; a larger pool (pool_size) has more."
        )
    return notes


def format_contradicted(classes: Sequence[str], share: float | None, judge: str | None = None) -> str:
    """Return a note on labels that the vote contradicts."""
    who = "The vote" if judge is None else judge[0].upper() + judge[1:]
    labels = [f"most rows labelled {name_some(classes)}"] if classes else []
    labels += [] if share is None else [f"{format_percent(share)} of all labels"]
    return f"{who} contradicts {', and '.join(labels)}. {BEYOND_HALF}"


def format_reversed(share: float, judge: str | None = None) -> str:
    """Return a note on labels along the border between two classes, as a share of the rows."""
    where, them = ("the votes are divided", "them") if judge is None else (f"{judge} is undecided", "it")
    return f"Where {where}, in {format_percent(share)} of the rows, labels run against {them}. {REVERSED}"


def format_vote(
    names: list[str], n_voters: int, winner: int, n_votes: float, judge: str | None = None
) -> str:
    """Return how a vote went, or what another judge said."""
    if n_voters == 0:
        return "no SVM can judge it" if judge is None else f"{judge} cannot judge it"
    if judge is not None:
        return f"{judge} gives {names[winner]} {format_percent(n_votes)}"
    return f"{format_percent(n_votes / n_voters)} of {n_voters} SVMs vote {names[winner]}"


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
    """Return why a label was kept or changed: the vote, the probability and the threshold of its row."""
    vote = format_vote(names, n_voters, winner, n_votes, judge)
    halts = HALTS if judge is None else HALTS | JUDGES_HALTS
    if action == "verified":
        return f"verified: a person decided; {vote}"
    if action == "audited":
        return f"audited: random answers show that most labels of its set are wrong; {vote}"
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

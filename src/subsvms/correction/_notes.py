"""What a correction says: notes on what the user must know, and why each label was kept or changed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from subsvms.correction._noise import SMALLEST_CLASS
from subsvms.correction._rule import Halt, Settings
from subsvms.exceptions import Note, Setting, format_percent, is_rate_known, name_few

HALTS = {
    Halt.UNASKED: "every SVM was trained on this row, so none of them can judge it",
    Halt.UNEXPLAINED: "the features do not predict the labels, so none is changed",
    Halt.SMALL: f"a class with fewer than {SMALLEST_CLASS} rows is left alone",
    Halt.CAPPED: "max_error_rate allows no more changes",
    Halt.TOLD_APART: "the features tell this row from those it would join",
    Halt.UNTESTED: "there are too few such rows to check the change",
    Halt.VERIFIED: "a person decided",
    Halt.REFUSED: "people kept such labels where they looked",
    Halt.DUPLICATE: "another row has the same features and another label, and none has this one",
    Halt.COPIES: "rows with the same features have other labels, and together they speak for this one",
    Halt.UNAUDITED: "answers did not confirm a change of this label",
    Halt.OUTNUMBERED: "most rows like it have this label, and only labels of another class seem wrong",
    Halt.DISPUTED: "trees that learned from the same features find such changes less probable",
}
JUDGES_HALTS = {  # the same, where a judge other than SVMs would be misrepresented
    Halt.UNASKED: "every part of the judge was trained on this row, so none can judge it",
}
KEEPERS = {  # the same, in a list of what kept how many labels; where nothing halts it, the rule's threshold
    Halt.SMALL: f"a class with fewer than {SMALLEST_CLASS} rows",
    Halt.CAPPED: "the limit on changes",
    Halt.TOLD_APART: "features that tell rows apart",
    Halt.UNTESTED: "changes too few to be checked",
    Halt.DUPLICATE: "an equal row with another label",
    Halt.REFUSED: "answers of people",
    Halt.UNAUDITED: "answers that did not confirm a change",
    Halt.OUTNUMBERED: "similar rows with the same label",
    Halt.DISPUTED: "trees on the same features",
    Halt.COPIES: "equal rows, judged together",
}
SPARED = {  # why a whole group of labels was kept
    Halt.TOLD_APART: "{labels}: the features distinguish their rows from those they would join, so the "
    "classes overlap there, and the labels need not be wrong.",
    Halt.UNTESTED: "{labels}: among the rows that everything is learned from are too few like them to check "
    "the changes; of a large table, a larger pool ({pool_size}) has more.",
    Halt.REFUSED: "{labels}: people looked at such labels, and found them right.",
    Halt.OUTNUMBERED: "{labels}: most rows like them have the same label. Either most labels of another "
    "class are wrong, or classes overlap, or labels were changed on purpose, and the table does not tell "
    "which: look at some of these rows, or let people answer about them.",
    Halt.DUPLICATE: "{n} rows share their features with a row of another label, and none with a row of the "
    "same label: one of the labels is wrong, or the columns do not decide the class. Nothing is known of how "
    "often each label would occur, so they were kept. If duplicates were dropped before, keep all rows.",
}
NOTED = (Halt.UNEXPLAINED, Halt.SMALL, *SPARED)  # what has a note of its own
UNEXPLAINED = Note(
    "unexplained",
    "The features do not predict the labels: out-of-bag votes agree with them no better than chance, so no "
    "label was changed. Check that {X} holds what the labels are based on, and that its features are scaled; "
    "noise may also have drowned out a rare class.",
)
UNPREDICTED = Note(
    "unexplained",
    "The probabilities do not predict the labels: they agree with them no better than chance, so no label "
    "was changed. Check that {X} holds what the labels are based on, or, if {X} holds probabilities, the "
    "order of its columns.",
)
UNCHECKED = Note(
    "unchecked",
    "Probabilities alone do not show whether the features distinguish the rows that change from those they "
    "join, so this was not checked: let some answers confirm the changes before you use the result.",
)
UNSURE = (
    "It is not known how many rows of {classes} are labelled wrongly, so labels that would change to it may "
    "be right: let some answers confirm the changes before you use the result."
)
NOISY = "The labels are so noisy that they hardly distinguish the classes: no label was changed."
HARDLY_TOLD_APART = Note("noisy", NOISY)
CONTRADICTED = (
    "{who} contradicts {labels}. That may be wrong labels or an attack, but classes that overlap look the "
    "same{half}. Nothing in the table can show which: look at some of these rows, or make an audit, before "
    "you use the result."
)
HALF = "; and if more than half of the labels are wrong, whatever learns from them sides with the wrong ones"
MANY = (
    "More than a tenth of a class looks wrong: {labels}. It may be something else: classes that overlap "
    "evenly look the same in every number, as do a class that rows of one kind can have or not, and an "
    "attack. To know, let a few answers confirm the changes, or make an audit."
)
TENTH = 0.1  # of the labels of a class: whoever changes more should know what else it may be
# What people can be asked where only answers tell: the steps of terminal, report and notebook.
AUDIT = "to check about fifty labels, and to change others with a guarantee"
ESTIMATE = "to learn from answers about random labels how many are wrong"
ESTIMATED_BEFORE = "This estimate is from before the answers; what they confirm rests on them alone."
MOST_ASKED, SECONDS_EACH = 15, 8  # of `subsvms.audit.confirm`: questions about a set, and what one takes
MINUTES = ("a minute", "two minutes", "three minutes", "four minutes")
DISTRUSTED = ("contradicted", "unchecked")  # kinds of notes that say not to use a result as it is
REVERSED = (
    "Where {where}, in {share} of the rows, labels run against {them}. Either labels were changed along the "
    "border between the classes, or the border is more intricate than was learned; the rule 'posterior' "
    "leaves such labels. If you know that the classes are well separated, use {rule} with {max_error_rate}."
)
DONE = {  # about one label that looks wrong, and about several
    "fix": ("and was corrected", "and were corrected"),
    "drop": ("and its row was left out", "and their rows were left out"),
    "weight": ("and its row counts for less", "and their rows count for less"),
    "review": ("and should be reviewed; nothing was changed", "and should be reviewed; nothing was changed"),
}


# What was found in a table


class Found(NamedTuple):
    """How many labels look wrong, and what was done about them."""

    n_labels: int
    n_flagged: int
    action: str
    n_changed: int = 0
    n_unseen: int | None = None  # labels changed unseen after answers; None before any
    explained: bool = True  # whether the columns explain the labels
    precision: float | None = None  # share of the flagged labels that are expected to be wrong, if known
    n_standing: int = 0  # labels that the rule changed, and whose change stands after answers without a claim
    judge: str | None = None  # in words, if not SVMs

    @property
    def follows_answers(self) -> bool:
        """Whether answers changed labels, or kept all; else the action may still leave rows out."""
        return self.n_unseen is not None and (self.action == "fix" or self.n_unseen > 0 or not self.n_flagged)

    @property
    def n_acted(self) -> int:
        """How many labels the action is for, besides those that answers changed."""
        return 0 if self.action == "fix" else self.n_flagged - (self.n_unseen or 0)


def format_verdict(found: Found) -> str:
    labels = f"{found.n_labels:,} labels"
    if found.follows_answers:
        said = f"{found.n_changed:,} of {labels} {_was(found.n_changed)} changed after people had answered."
        more = f" {found.n_acted:,} more {_look(found.n_acted, found.action)}."
        return said + more * (found.n_acted > 0)
    if found.n_flagged == 0:
        if not found.explained:
            return f"{format_unexplained(found.judge)} the labels, so none was changed."
        return f"Nothing to fix: none of {labels} looks wrong enough to change."
    return f"{found.n_flagged:,} of {labels} {_look(found.n_flagged, found.action)}."


def format_unexplained(judge: str | None) -> str:
    """Return who does not explain the labels, the beginning of a sentence."""
    who = "The columns do" if judge is None else f"{judge[0].upper()}{judge[1:]} does"
    return f"{who} not explain"


def _look(n, action):
    return f"looks wrong {DONE[action][0]}" if n == 1 else f"look wrong {DONE[action][1]}"


def format_done(found: Found, *, dry: bool = False) -> str:
    """Return what was done about the labels in a sentence, or would be, and how much of it may be right."""
    # How many changes after answers are right is what their claim says: the probabilities know nothing of
    # them.
    if found.follows_answers:
        return _format_answered(found)
    n, be = found.n_flagged, "would be" if dry else _was(found.n_flagged)
    none_is = "would be" if dry else "was"
    if n == 0:
        return f"None {none_is} changed." if found.n_changed == 0 else f"No other label {none_is} changed."
    flagged = f"{n:,} {'is' if n == 1 else 'are'} flagged"
    done = {
        "fix": f"{n:,} {be} changed",
        "drop": f"{n:,} {'row' if n == 1 else 'rows'} {be} left out",
        "weight": f"{flagged}, and every row has a weight",
        "review": f"{flagged} for review, and none {none_is} changed",
    }[found.action]
    if found.precision is None:
        return f"{done}, following the plain vote, which gives no probabilities."
    what = "the new label" if found.action == "fix" else "the suggestion"
    if n == 1:
        return f"{done}; {what} is right with probability {format_percent(found.precision)}."
    return f"{done}; about {n * found.precision:,.0f} of {what}s are expected to be right."


def _format_answered(found):
    """Return how many labels were changed after answers, and why each of them, in a sentence."""
    if found.n_changed == 0:
        return "None was changed: the answers confirmed no change."
    n_asked = found.n_changed - (found.n_unseen or 0) - found.n_standing
    parts = {
        "after an answer about it" if n_asked == 1 else "after answers about them": n_asked,
        "unseen, as answers about others confirm": found.n_unseen or 0,
        "by the rule, without a claim": found.n_standing,
    }
    why = "; ".join(f"{n:,} {what}" for what, n in parts.items() if n > 0)
    return f"{found.n_changed:,} {_was(found.n_changed)} changed: {why}."


def format_confirm(n_flagged: int, n_held_back: int, action: str = "fix") -> str:
    """Return what a few answers may confirm, and how long that takes; nothing if there is nothing."""
    n = min(n_flagged, MOST_ASKED) + min(n_held_back, MOST_ASKED)
    if n == 0:
        return ""
    checked = "to confirm these changes" if action == "fix" else "to check what is flagged"
    what = checked if n_flagged else "to check the labels that were held back"
    what += f", and {'to check ' * (action == 'fix')}what was held back," * bool(n_flagged and n_held_back)
    answers = "one answer" if n == 1 else f"at most {n} answers"
    return f"{what} with {answers}, about {MINUTES[round(n * SECONDS_EACH / 60 + 0.4) - 1]}"


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


def _was(n):
    return "was" if n == 1 else "were"


# Notes


def is_distrusted(notes: Sequence[str]) -> bool:
    """Return whether a note says not to use the result before looking at some rows."""
    return any(getattr(note, "kind", "") in DISTRUSTED for note in notes)


def format_spared(n_rows: int, halt: Halt) -> Note:
    """Return a note on labels that were kept for a reason other than the rule."""
    labels = "label that looks wrong" if n_rows == 1 else "labels that look wrong"
    return Note("spared", SPARED[halt], labels=f"{n_rows} {labels} {_was(n_rows)} kept", n=n_rows)


def format_keeper(halt: Halt, settings: Settings, judge: str | None = None) -> str:
    """Return what kept a label although another is more probable, in a few words; `judge` if not SVMs."""
    if halt == Halt.NONE:
        if settings.rule == "majority":
            return "the plain vote" if judge is None else f"the largest share that {judge} gives"
        return f"a probability of at most {settings.min_confidence or 0:g}"
    return KEEPERS.get(halt, "a safety check")


def format_scarce(classes: Sequence[tuple[str, int, int]]) -> list[Note]:
    """Return notes on classes with too few rows to be judged: one on small ones, one on those hardly seen."""
    # Of each class come the name, the labelled rows that were learned from, and all labelled rows.
    small = [f"{name!r} ({size})" for name, seen, size in classes if seen >= size]
    hardly = [f"{name!r} ({seen} of {size})" for name, seen, size in classes if seen < size]
    notes = []
    if small:
        words = (
            "{classes}: with fewer than {fewest} labelled rows the noise of a class cannot be estimated, so "
            "no label was changed from or to it."
        )
        notes.append(Note("scarce", words, classes=_count_classes(small), fewest=SMALLEST_CLASS))
    if hardly:
        words = (
            "{classes}: too few labelled rows are in the sample that everything is learned from, so no label "
            "was changed from or to such a class; a larger pool ({pool_size}) has more."
        )
        notes.append(Note("scarce", words, classes=_count_classes(hardly)))
    return notes


def _count_classes(named):
    return f"Class {named[0]}" if len(named) == 1 else f"{len(named)} classes, {name_few(named)}"


def format_contradicted(
    classes: Sequence[str], share: float | None, judge: str | None = None, *, half: bool = False
) -> Note:
    """Return a note on labels that are contradicted; `half` says that more than half of all may be wrong."""
    who = "The vote" if judge is None else judge[0].upper() + judge[1:]
    labels = [f"most rows labelled {name_few(classes)}"] if classes else []
    labels += [] if share is None else [f"{format_percent(share)} of all labels"]
    both = ", and ".join(labels)
    return Note("contradicted", CONTRADICTED, who=who, labels=both, half=HALF if half else "")


def format_many(
    classes: Sequence[object], flagged: Sequence[int], sizes: Sequence[int], joined: Sequence[int],
    limits: Iterable, notes: Sequence[str],
) -> list[Note]:  # fmt: skip
    """Return a note on classes of which many labels look wrong, or on those whose rate is not known."""
    # Of each class come the name, flagged labels and all labels, labels that would change to it, and the
    # limits of its rate. There is none where another note says that the result should not be used unseen.
    if is_distrusted(notes):
        return []
    names, counted = [repr(str(c)) for c in classes], zip(flagged, sizes, strict=True)
    many = [n >= SMALLEST_CLASS and n > TENTH * size for n, size in counted]
    if any(many):
        shares = zip(names, flagged, sizes, many, strict=True)
        named = [f"{c} ({format_percent(n / size)})" for c, n, size, much in shares if much]
        return [Note("many", MANY, labels=name_few(named))]
    unsure = [c for c, n, rate in zip(names, joined, limits, strict=True) if n and not is_rate_known(*rate)]
    return [Note("unsure", UNSURE, classes=name_few(unsure))] if unsure else []


def format_reversed(share: float, judge: str | None = None) -> Note:
    where, them = ("the votes are divided", "them") if judge is None else (f"{judge} is undecided", "it")
    majority = Setting("rule", "majority")
    return Note("reversed", REVERSED, where=where, share=format_percent(share), them=them, rule=majority)


# Reasons, row by row


class Case(NamedTuple):
    """What is known about a row and its label."""

    given: int  # class numbers
    compared: int
    n_voters: int
    winner: int  # class with the most votes
    n_votes: float
    p_given: float  # probabilities
    p_compared: float
    action: str
    halt: int


def format_vote(names: list, n_voters: int, winner: int, n_votes: float, judge: str | None = None) -> str:
    if n_voters == 0:
        return "no SVM can judge it" if judge is None else f"{judge} cannot judge it"
    if judge is not None:
        return f"{judge} gives {names[winner]} {format_percent(n_votes)}"
    return f"{format_percent(n_votes / n_voters)} of {n_voters} SVMs vote {names[winner]}"


def format_despite(case: Case, names: list[str], judge: str | None = None) -> str:
    """Return why the label that is more probable is not the one with the most votes; nothing if it is."""
    kept = case.p_given >= case.p_compared
    best, share = (case.given, case.p_given) if kept else (case.compared, case.p_compared)
    if case.winner == best:
        return ""
    n, votes = round(100 * share), "votes" if judge is None else "shares"
    many = f"about {n}" if n < 100 else "more than 99"
    why = f"{votes} often contradict right labels where classes overlap" if kept else "many are wrong"
    return (
        f", but of the rows with such {votes} and the label {names[case.given]} {many} in 100 are "
        f"{names[best]}, if errors depend on the class alone: {why}"
    )


def format_reason(case: Case, names: list[str], settings: Settings, judge: str | None = None) -> str:
    """Return why a label was kept or changed: the vote, the probability and the threshold of its row."""
    given, compared, action = names[case.given], names[case.compared], case.action
    vote = format_vote(names, case.n_voters, case.winner, case.n_votes, judge)
    halts = HALTS if judge is None else HALTS | JUDGES_HALTS
    if action == "verified":
        return f"verified: a person decided; {vote}"
    if action == "audited":
        return f"audited: random answers show that most labels of its set are wrong; {vote}"
    if case.n_voters == 0:
        return f"{action}: {halts[Halt.UNASKED]}"
    chance = f"probability of {compared} is {case.p_compared:.3f}"
    if action == "missing":
        return f"missing: no label was given; {vote}; {chance}"
    vote += "" if settings.rule == "majority" or case.halt else format_despite(case, names, judge)
    vote += ", and rows with the same features have other labels" if case.halt == Halt.COPIES else ""
    least = settings.min_confidence or 0.0
    most, decide, of_them = "most votes", "decide", " of them"
    if judge is not None:
        most, decide, of_them = "the largest share", "decides", ""
    share = f", more than {least:g}{of_them}" if least > 0.5 else ""
    if action != "keep":
        limit = f"above {least:g}" if least else "the largest"
        if settings.rule == "majority":
            limit = f"but {most} {decide}{share}"
        return f"{action}: {vote}, the label is {given}; {chance}, {limit}"
    limit = f"a change needs more than {least:g} for {compared}"
    limit = limit if least else "the label is the most probable"
    if 0 < least < 0.5:
        limit += f" and more than for {given}"
    if settings.rule == "majority":
        limit = f"a change needs {most} for another label{share}"
    own = f"probability of {given} is {case.p_given:.3f}"
    return f"keep: {vote}; {own}, {chance}; {halts[Halt(case.halt)] if case.halt else limit}"

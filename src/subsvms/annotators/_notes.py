"""What is odd about answers and people, in a sentence each."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from subsvms.annotators._answers import FEW, Answers
from subsvms.annotators._pairs import BY_CHANCE, count_pairs, find_constant
from subsvms.exceptions import Note, format_count, format_value, name_few


def note_answers(answers: Answers) -> tuple[Note, ...]:
    """Return what the user should know about people and answers before using a consensus."""
    notes = [*_note_twice(answers), *_note_single(answers), *_note_same(answers), *_note_copies(answers)]
    few = np.flatnonzero(np.bincount(answers.person, minlength=len(answers.names)) < FEW)
    if len(few) and len(few) < len(answers.names):
        who = name_few([repr(answers.names[one]) for one in few])
        answered = "has" if len(few) == 1 else "have"
        notes.append(Note("few_answers", "{who} {answered} fewer than {few} answers each: about "
                          "how often they err next to nothing is known, and they count much like the others.",
                          who=who, answered=answered, few=FEW))  # fmt: skip
    return tuple(notes)


def _note_twice(answers):
    shared = answers.weight < 1.0
    for person in np.unique(answers.person[shared]):
        n = len(np.unique(answers.row[shared & (answers.person == person)]))
        yield Note("answered_twice", "{who} gave different answers about {rows}: together they count as one.",
                   who=repr(answers.names[person]), rows=format_count(n, "row"))  # fmt: skip


def _note_single(answers):
    if answers.per_row.max() <= 1:
        yield Note(
            "one_answer",
            "No row has more than one answer, so people cannot be compared on the same row: how often each "
            "errs rests on the columns, if there are any, and is not checked by answers.",
        )


def _note_same(answers):
    for person in find_constant(answers):
        said = answers.label[answers.person == person]
        label, who = format_value(answers.classes.tolist()[said[0]]), repr(answers.names[person])
        yield Note("always_same", "{who} said {label} every time ({n:,} answers), which says nothing about a "
                   "row: these answers are used only where nobody else answered.",
                   who=who, label=label, n=len(said))  # fmt: skip


def _note_copies(answers):
    """Note people who agree on all shared rows, although two people rarely would on so many."""
    people, both, equal = count_pairs(answers)
    n_both, n_equal = both.sum(), equal.sum()
    if n_equal in (0, n_both):
        return
    log_limit = np.log(BY_CHANCE / np.count_nonzero(both))
    always = (both > 0) & (equal == both) & (both * np.log(n_equal / n_both) < log_limit)
    group = connected_components(sparse.csr_array(always), directed=False)[1]
    for number in np.flatnonzero(np.bincount(group) > 1):
        own = np.flatnonzero(group == number)
        who = name_few([repr(answers.names[people[place]]) for place in own])
        yield Note("copies", "{who} gave the same answers to all rows that two of them saw (up to {n:,}): "
                   "they may be one person, or copy each other.",
                   who=who, n=int(both[own][:, own].max()))  # fmt: skip

"""Answers of several people about the rows of a table: read as people have them, checked, and as numbers.

They come as one line an answer, with the columns `row`, `person` and `label`, or as a column for each person.
A person who answered twice about one row is counted once: different answers share their weight.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subsvms._labels import Classes, as_list, check_entries, check_labels, find_missing, is_missing
from subsvms.exceptions import InputError, Note, format_value, name_few

LONG = ("row", "person", "label")  # the columns of one line an answer
FEW = 10  # answers; those of a person with fewer say next to nothing about the person
BY_CHANCE = 0.001  # probability that some two people always agree although they are two


class Lines(NamedTuple):
    """One line an answer, as read."""

    rows: list[int]
    people: list[str]
    labels: list


@dataclass(frozen=True, eq=False)
class Answers:
    """Who said what about which row. Each answer has a number from 0 on."""

    classes: np.ndarray  # (n_classes,)
    names: list[str]  # of the people, in the order of their numbers
    n_rows: int
    row: np.ndarray  # (n_answers,)
    person: np.ndarray  # (n_answers,)
    label: np.ndarray  # (n_answers,): class numbers
    weight: np.ndarray  # (n_answers,): 1, or a share of it where a person answered twice about a row

    def __len__(self) -> int:
        return len(self.row)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @cached_property
    def counts(self) -> np.ndarray:
        """How often each class was said about each row, (n_rows, n_classes)."""
        counts = np.zeros((self.n_rows, self.n_classes))
        np.add.at(counts, (self.row, self.label), self.weight)
        return counts

    @cached_property
    def per_row(self) -> np.ndarray:
        """How many people answered about each row."""
        pairs = np.unique(self.row * np.int64(len(self.names)) + self.person)
        return np.bincount(pairs // len(self.names), minlength=self.n_rows)

    @cached_property
    def by_row(self) -> sparse.csr_matrix:
        """Adds up what is said of answers, row by row: (n_rows, n_answers)."""
        numbers = np.arange(len(self))
        return sparse.csr_matrix((self.weight, (self.row, numbers)), shape=(self.n_rows, len(self)))

    @cached_property
    def said(self) -> "Said":
        """Which person said which class, for all answers."""
        pairs, of = np.unique(self.person * np.int64(self.n_classes) + self.label, return_inverse=True)
        person, label, numbers = pairs // self.n_classes, pairs % self.n_classes, np.arange(len(pairs))
        ones = np.ones(len(pairs))
        return Said(
            person, label, of,
            sparse.csr_matrix((self.weight, (of, np.arange(len(self)))), (len(pairs), len(self))),
            sparse.csr_matrix((ones, (person, numbers)), (len(self.names), len(pairs))),
            sparse.csr_matrix((ones, (label, numbers)), (self.n_classes, len(pairs))),
        )  # fmt: skip

    def take(self, chosen: np.ndarray) -> "Answers":
        """Return some of the answers, about the same rows and people."""
        arrays = (self.row[chosen], self.person[chosen], self.label[chosen], self.weight[chosen])
        return Answers(self.classes, self.names, self.n_rows, *arrays)

    def of_rows(self, rows: np.ndarray) -> "Answers":
        """Return the answers about some rows, which get new numbers."""
        places = np.full(self.n_rows, -1)
        places[rows] = np.arange(len(rows))
        found = np.flatnonzero(places[self.row] >= 0)
        arrays = (self.person[found], self.label[found], self.weight[found])
        return Answers(self.classes, self.names, len(rows), places[self.row[found]], *arrays)

    def list_about(self, row: int) -> list[tuple[str, int]]:
        """Return who said which class about a row."""
        found = np.flatnonzero(self.row == row)
        return [(self.names[self.person[i]], int(self.label[i])) for i in found]


class Said(NamedTuple):
    """The pairs of a person and a class that occur among answers: far fewer than all of them."""

    person: np.ndarray  # (n_pairs,)
    label: np.ndarray  # (n_pairs,)
    of: np.ndarray  # (n_answers,): the pair of each answer
    by_pair: sparse.csr_matrix  # (n_pairs, n_answers): adds up what is said of answers
    by_person: sparse.csr_matrix  # (n_people, n_pairs): and of pairs
    by_label: sparse.csr_matrix  # (n_classes, n_pairs)


def read_answers(answers: Any, n_rows: int | None = None, classes: Any = None) -> Answers:
    """Return answers as they were given, checked; `n_rows` and `classes` if they are known."""
    if isinstance(answers, Answers):
        return answers
    lines = _read_lines(answers, n_rows)
    known = [place for place, gone in enumerate(find_missing(lines.labels)) if not gone]
    if not known:
        raise InputError("answers must not all be missing: check that these are the right columns.")
    if n_rows is None:
        n_rows = max(lines.rows) + 1
    labels = [lines.labels[place] for place in known]
    rows = np.array([lines.rows[place] for place in known])
    names, person = np.unique([lines.people[place] for place in known], return_inverse=True)
    if classes is None:
        check_entries(labels)
        found, label = check_labels(labels, len(labels))
    else:
        known_classes = Classes.of(as_list(classes))
        found = known_classes.names
        label = np.array([known_classes.find(one, "An answer") for one in labels])
    beyond = np.flatnonzero((rows < 0) | (rows >= n_rows))
    if len(beyond):
        raise InputError(
            f"answers must be about rows from 0 to {n_rows - 1}; got row {rows[beyond[0]]}: number the rows "
            "of X from 0."
        )
    cells = np.unique((rows * np.int64(len(names)) + person) * len(found) + label)  # the same twice is once
    pair, label = cells // len(found), cells % len(found)
    _, of, times = np.unique(pair, return_inverse=True, return_counts=True)
    row, person = pair // len(names), pair % len(names)
    return Answers(found, names.tolist(), int(n_rows), row, person, label, 1.0 / times[of])


def _read_lines(answers, n_rows) -> Lines:
    columns = _list_columns(answers)
    if columns is not None and all(name in columns for name in LONG):
        rows = [_as_row(value) for value in as_list(answers["row"])]
        labels, people = as_list(answers["label"]), as_list(answers["person"])
        nameless = [i for i, person in enumerate(people) if is_missing(person)]
        if nameless:
            raise InputError(
                f"person must name who answered, but is missing in {len(nameless)} lines, the first is line "
                f"{nameless[0] + 1}: give each of these people some name."
            )
        return Lines(rows, list(map(str, people)), labels)
    if columns is not None:
        names = list(map(str, columns))
        wide = [as_list(answers[column]) for column in columns]
    else:
        array = np.asarray(answers) if not isinstance(answers, np.ma.MaskedArray) else answers
        if array.ndim != 2:
            raise InputError(
                "answers must be a data frame with the columns row, person and label, or a table with a line "
                f"for each row and a column for each person; got {type(answers).__name__} of "
                f"{array.ndim} dimensions."
            )
        if isinstance(answers, np.ma.MaskedArray):
            array = np.array(answers.tolist(), dtype=object)
        names = [f"person {number}" for number in range(1, array.shape[1] + 1)]
        wide = [array[:, place].tolist() for place in range(array.shape[1])]
    if not wide:
        raise InputError("answers must have a column for each person, but has none.")
    if n_rows is not None and len(wide[0]) != n_rows:
        raise InputError(f"answers must have a line for each of the {n_rows} rows; got {len(wide[0])}.")
    wide = [_as_whole(column) for column in wide]
    rows = [row for column in wide for row in range(len(column))]
    people = [name for name, column in zip(names, wide, strict=True) for _ in column]
    return Lines(rows, people, [label for column in wide for label in column])


def _list_columns(answers):
    """Return the names of the columns of a data frame or mapping; None for other tables."""
    for name in ("columns", "column_names"):  # pandas and polars; Arrow
        if hasattr(answers, name):
            return list(getattr(answers, name))
    return list(answers) if isinstance(answers, dict) else None


def _as_row(value):
    whole = isinstance(value, Integral) or (isinstance(value, Real) and float(value).is_integer())
    if isinstance(value, bool) or not whole:
        raise InputError(
            f"row must hold row numbers of X, from 0; got {format_value(value)}: number the rows first."
        )
    return int(value)


def _as_whole(column):
    """Return a column in which whole numbers are whole, also if a missing answer made them floats."""
    floats = [value for value in column if isinstance(value, float) and value == value]
    if not floats or not all(value.is_integer() for value in floats):
        return column
    return [int(value) if isinstance(value, float) and value == value else value for value in column]


# What is odd about answers


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
        rows = "1 row" if n == 1 else f"{n:,} rows"
        yield Note("answered_twice", "{who} gave different answers about {rows}: together they count as one.",
                   who=repr(answers.names[person]), rows=rows)  # fmt: skip


def _note_single(answers):
    if answers.per_row.max() <= 1:
        yield Note(
            "one_answer",
            "No row has more than one answer, so people cannot be compared on the same row: how often each "
            "errs rests on the columns alone, and is not checked by answers.",
        )


def _note_same(answers):
    for person, name in enumerate(answers.names):
        said = answers.label[answers.person == person]
        if len(said) >= FEW and len(np.unique(said)) == 1:
            label = format_value(answers.classes.tolist()[said[0]])
            yield Note("always_same", "{who} said {label} every time ({n:,} answers), which says nothing "
                       "about a row.", who=repr(name), label=label, n=len(said))  # fmt: skip


def _note_copies(answers):
    """Note people who agree on all shared rows, although two people rarely would on so many."""
    both, equal = count_pairs(answers)
    n_both, n_equal = sum(both.values()), sum(equal.values())
    if n_equal == n_both:
        return
    usual = n_equal / n_both
    for (one, other), n in sorted(both.items()):
        if equal[one, other] == n and usual**n < BY_CHANCE / len(both):
            yield Note("copies", "{one} and {other} gave the same answers to all {n:,} rows that both saw: "
                       "if they are one person, leave one out, because they count as two.",
                       one=repr(answers.names[one]), other=repr(answers.names[other]), n=n)  # fmt: skip


def count_pairs(answers: Answers) -> tuple[Counter, Counter]:
    """Return for each pair of people about how many rows both answered, and about how many equally."""
    both: Counter = Counter()
    equal: Counter = Counter()
    order = np.argsort(answers.row, kind="stable")
    person, label = answers.person[order].tolist(), answers.label[order].tolist()
    starts = np.searchsorted(answers.row[order], np.arange(answers.n_rows + 1)).tolist()
    for row in np.flatnonzero(answers.per_row > 1).tolist():
        said = dict(zip(person[starts[row] : starts[row + 1]], label[starts[row] : starts[row + 1]],
                        strict=True))  # fmt: skip
        for one, other in combinations(sorted(said), 2):
            both[one, other] += 1
            equal[one, other] += said[one] == said[other]
    return both, equal

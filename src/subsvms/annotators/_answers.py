"""Answers of several people about the rows of a table: read as people have them, checked, and as numbers.

They come as one line an answer, with the columns `row`, `person` and `label`, or as a column for each person.
A person who answered twice about one row is counted once: different answers share their weight.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral, Number, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subsvms._labels import Classes, as_list, check_entries, check_labels, find_missing, is_missing
from subsvms.exceptions import InputError, format_value

LONG = ("row", "person", "label")  # the columns of one line an answer
EACH = ("row", "person", "label", "weight")  # what each answer has
FEW = 10  # answers; those of a person with fewer say next to nothing about the person
MOST_ROWS, MOST_EMPTY = 1_000_000, 100  # rows, and rows for each with an answer: more are no row numbers


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
    alike: bool = False  # whether nobody is thought to know better than others

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

    @cached_property
    def pooled(self) -> np.ndarray:
        """How often people say d (columns) where they all together say c, (n_classes, n_classes)."""
        share = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1.0)
        return (self.said.by_label @ (self.said.by_pair @ share[self.row])).T

    def take(self, chosen: np.ndarray) -> "Answers":
        return replace(self, **{name: getattr(self, name)[chosen] for name in EACH})

    def of_rows(self, rows: np.ndarray) -> "Answers":
        """Return the answers about some rows, which get new numbers."""
        places = np.full(self.n_rows, -1)
        places[rows] = np.arange(len(rows))
        some = self.take(np.flatnonzero(places[self.row] >= 0))
        return replace(some, n_rows=len(rows), row=places[some.row])


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
    rows, people, labels = _read_lines(answers, n_rows)
    known = np.flatnonzero(~find_missing(labels)).tolist()
    if not known:
        raise InputError("answers must not all be missing: check that these are the right columns.")
    if n_rows is None:
        n_rows = _count_rows(rows)
    labels, rows = [labels[place] for place in known], np.array([rows[place] for place in known])
    names, person = np.unique([people[place] for place in known], return_inverse=True)
    _check_kinds(labels)
    if classes is None and len(set(labels)) > 1:
        check_entries(labels)
        found, label = check_labels(labels, len(labels))
    else:
        named = labels[:1] if classes is None else as_list(classes)
        if any(not isinstance(one, Hashable) for one in named) or len(set(named)) < len(named):
            raise InputError("classes must name each class once: leave out the others.")
        known_classes = Classes.of(named)
        found = known_classes.names
        label = np.array([known_classes.find(one, "An answer") for one in labels])
    beyond = np.flatnonzero((rows < 0) | (rows >= n_rows))
    if len(beyond):
        said = f"answers must be about rows from 0 to {n_rows - 1}; got row {rows[beyond[0]]}"
        raise InputError(f"{said}: number the rows of X from 0.")
    cells = np.unique((rows * np.int64(len(names)) + person) * len(found) + label)  # the same twice is once
    pair, label = cells // len(found), cells % len(found)
    _, of, times = np.unique(pair, return_inverse=True, return_counts=True)
    row, person = pair // len(names), pair % len(names)
    return Answers(found, names.tolist(), int(n_rows), row, person, label, 1.0 / times[of])


def _count_rows(rows):
    n_rows, n_seen = max(rows) + 1, len(set(rows))
    if n_rows > MOST_ROWS and n_rows > MOST_EMPTY * n_seen:
        said = f"row must number the rows from 0, but {n_seen:,} rows have numbers up to {n_rows - 1:,}"
        raise InputError(f"{said}: number them first, for example with pandas.factorize.")
    return n_rows


def _check_kinds(labels):
    odd = next((one for one in labels if not isinstance(one, str | Number | np.bool_)), None)
    if odd is not None:
        said = f"answers must be text, whole numbers or booleans; got {format_value(odd)}"
        raise InputError(f"{said}: give one label an answer.")
    if len({isinstance(one, str) for one in labels}) > 1:
        raise InputError(
            "answers must be of one type, but are text and numbers: convert them, for example with str."
        )


def _read_lines(answers, n_rows):
    """Return one line an answer: row numbers, names of people, and labels."""
    columns = _list_columns(answers)
    twice = [name for name, count in Counter(columns or ()).items() if count > 1]
    if twice:
        said = f"answers must have each column once, but {format_value(twice[0])} is there twice"
        raise InputError(f"{said}: rename one of them.")
    if columns is not None and all(name in columns for name in LONG):
        rows = [_as_row(value) for value in as_list(answers["row"])]
        labels, people = as_list(answers["label"]), as_list(answers["person"])
        if not len(rows) == len(labels) == len(people):
            raise InputError("answers must have columns of one length.")
        nameless = [i for i, person in enumerate(people) if is_missing(person)]
        if nameless:
            raise InputError(
                f"person must name who answered, but is missing in {len(nameless)} lines, the first is line "
                f"{nameless[0] + 1}: give each of these people some name."
            )
        return rows, list(map(str, people)), labels
    if columns is not None:
        names = list(map(str, columns))
        wide = [as_list(answers[column]) for column in columns]
    else:
        array = answers
        if not isinstance(answers, np.ndarray):
            array = np.array(answers, dtype=object)  # of text and None or NaN NumPy would make text
        if array.ndim != 2:
            raise InputError(
                "answers must be a data frame with the columns row, person and label, or a table with a line "
                f"for each row and a column for each person; got {type(answers).__name__} of "
                f"{array.ndim} dimensions."
            )
        names = [f"person {number}" for number in range(1, array.shape[1] + 1)]
        wide = [array[:, place].tolist() for place in range(array.shape[1])]  # None where masked
    if not wide:
        raise InputError("answers must have a column for each person, but has none.")
    lengths = {len(column) for column in wide}
    if len(lengths) > 1 or (n_rows is not None and lengths != {n_rows}):
        which = "rows" if n_rows is None else f"{n_rows} rows"
        got = " and ".join(map(str, sorted(lengths)))
        raise InputError(f"answers must have a line for each of the {which}, and for each person; got {got}.")
    wide = [_as_whole(column) for column in wide]
    rows = [row for column in wide for row in range(len(column))]
    people = [name for name, column in zip(names, wide, strict=True) for _ in column]
    return rows, people, [label for column in wide for label in column]


def _list_columns(answers):
    """Return the names of the columns of a data frame or mapping; None for other tables."""
    for name in ("column_names", "columns"):  # Arrow, which has both; pandas and polars
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

"""What a reviewer looks at in a row: which columns matter, long texts, and words that speak for either label.

A column has a number from 0 to 1, which says how well it tells the rows that speak for a suggestion from
those that speak against it:

- numbers: half the distance between the means of both sides, in standard deviations of the column, and at
  most 1;
- categories, and all else: the total variation distance, the share of values that one side would have to
  change to have the values of the other;
- text: half the distance between how much the words of both sides lean to either class.

A column that the run did not use says nothing about the verdict, whatever its values: it comes last. Where
there are no rows to compare with, as beyond the worst of a large table, rows of a sample with either label
stand on the sides, and a value is shown among theirs (`Columns.place`).

The features of a text are groups of letters, condensed, and the SVMs are not linear in them, so there are no
weights of words to show. What is shown is what a reader can check by searching: how much more often a word
occurs in rows that carry the one label than in rows that carry the other,

    delta = logit((n_a + 1/2) / (N_a + 1)) - logit((n_b + 1/2) / (N_b + 1)),

with n_a of the N_a texts of class a that contain it (each word once a text). Its variance is the sum of
1 / (n + 1/2) + 1 / (N - n + 1/2) over both classes; words that differ by less than twice its root are left
alone, and so are words like "the" in some languages (`stop_words.txt`), whatever they differ by (after
Monroe, Colaresi and Quinn, "Fightin' words", 2008). The labels are those given, wrong ones included, which
weakens the words but does not turn them round.

Tables are counted once, from at most `SAMPLE` evenly spaced texts, each up to `CHARACTERS` characters.
All of it follows from the table and the record of the run, and is found when it is first asked for.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from importlib.resources import files
from math import exp, isfinite, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from subsvms.app.desk.rows import as_text
from subsvms.app.features.columns import Meaning, find_meaning, read_column
from subsvms.app.tables.arrow import list_values

LONG = 100  # characters of a text that is read rather than compared
SAMPLE = 10_000  # rows that show ranges of columns, and words; half a second for texts of 500 letters
EXCERPT = 160  # characters of a value in a list
WIDE = 2.0  # standard deviations between the sides of a column that separates fully
READ = 200  # texts of a class that are read to see how much they lean
RANGE = (0.1, 0.5, 0.9)  # quantiles of a class: eight in ten of its values lie between the outer ones
CHARACTERS = 2000
WORD = re.compile(r"\w{2,}")
LEAST_ERRORS = 2.0  # by which a word must differ
STRONG = 3.0  # delta of a word that is marked fully: twenty times the odds
MOST_MARKS = 40  # in one text, the strongest

Mark = list[Any]  # start, end (in UTF-16 code units, as JavaScript counts), "for" or "against", strength


@cache
def read_stop_words() -> frozenset[str]:
    """Return words that are evidence for nothing."""
    text = (files("subsvms.app.desk") / "stop_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if line[:1] != "#" for word in line.split())


class WordCounts:
    """In how many texts of each class every word occurs.

    codes: the class of each text; -1 for those without a label, which are not counted.
    """

    def __init__(self, texts: Iterable[str], codes: Iterable[int], n_classes: int):
        self.n_texts = [0] * n_classes
        self.counts: list[Counter[str]] = [Counter() for _ in range(n_classes)]
        self._known: dict[tuple[str, int, int], float] = {}  # what was compared: texts share most words
        for text, code in zip(texts, codes, strict=True):
            if code >= 0:
                self.n_texts[code] += 1
                self.counts[code].update(set(WORD.findall(text[:CHARACTERS].casefold())))

    def compare(self, word: str, suggested: int, given: int) -> float:
        """Return how much a word speaks for one class and against another; 0 if that may be chance."""
        asked = (word, suggested, given)
        if asked not in self._known:
            n, n_texts = self.counts[suggested][word], self.n_texts[suggested]
            if given >= 0:
                m, m_texts = self.counts[given][word], self.n_texts[given]
            else:
                m = sum(counts[word] for counts in self.counts) - n
                m_texts = sum(self.n_texts) - n_texts
            delta = _logit(n, n_texts) - _logit(m, m_texts)
            error = sqrt(sum(1 / (count + 0.5) for count in (n, n_texts - n, m, m_texts - m)))
            counts = abs(delta) > LEAST_ERRORS * error and word not in read_stop_words()
            self._known[asked] = delta if counts else 0.0
        return self._known[asked]

    def mark(self, text: str, suggested: int, given: int) -> list[Mark]:
        """Return the words of a text that speak for either class, in their order."""
        found: list[Mark] = []
        for match in WORD.finditer(text):
            delta = self.compare(match.group().casefold(), suggested, given)
            if delta:
                side, strength = ("for" if delta > 0 else "against"), min(1.0, abs(delta) / STRONG)
                found.append([match.start(), match.end(), side, round(strength, 2)])
        if len(found) > MOST_MARKS:
            least = sorted((mark[3] for mark in found), reverse=True)[MOST_MARKS - 1]
            found = [mark for mark in found if mark[3] >= least][:MOST_MARKS]
        return count_units(text, found)

    def lean(self, texts: Sequence[str], suggested: int, given: int) -> float:
        """Return how much texts lean to one class: from -1 to 1, the mean over all marked words."""
        words = [word for text in texts for word in WORD.findall(text[:CHARACTERS].casefold())]
        found = [delta for word in words if (delta := self.compare(word, suggested, given))]
        mean = sum(found) / len(found) if found else 0.0
        return 2 / (1 + exp(-mean)) - 1


def count_units(text: str, marks: list[Mark]) -> list[Mark]:
    """Return marks whose places are counted in UTF-16 code units."""
    if text.isascii() or max(text) <= "\uffff":
        return marks
    wide = [i for i, letter in enumerate(text) if letter > "\uffff"]
    return [[place + bisect_left(wide, place) for place in mark[:2]] + mark[2:] for mark in marks]


def _logit(n, n_texts):
    share = (n + 0.5) / (n_texts + 1)
    return log(share / (1 - share))


class Column(NamedTuple):
    """A column, as people should look at it for one row."""

    name: str
    separation: float  # from 0 to 1; see `separation`
    used: bool  # whether the run used it
    long: bool  # whether it holds long texts


class Columns:
    """What is known about the columns of a review's desk."""

    def __init__(self, desk: Any):
        self.desk, self.names = desk, desk.shown_columns
        self._words: dict[str, WordCounts] = {}
        self._contrasts: dict[tuple[int, int], dict[str, tuple[float, list]]] = {}  # by classes

    @cached_property
    def uses(self) -> dict[str, str | None]:
        """How the run used each column, None if it did not; "" for all if it used none of them by name."""
        lines = self.desk.record.found.columns
        known = {name: line["use"] for line in lines for name, _ in line["columns"]}
        if not any(known.get(name) for name in self.names):  # embeddings, LIBSVM text, or an old record
            return {name: None if name == self.desk.options.id_column else "" for name in self.names}
        return {name: known.get(name) for name in self.names}

    @cached_property
    def long(self) -> list[str]:
        """Columns with a long text in one of the listed rows."""
        from pyarrow import compute, types

        found = set()
        for _, taken in self.desk.source.split(self.desk.rows):
            for name, column in zip(self.names, taken.columns, strict=True):
                if types.is_string(column.type) or types.is_large_string(column.type):
                    longest = compute.max(compute.utf8_length(column)).as_py()
                    found |= {name} if (longest or 0) > LONG else set()
        return [name for name in self.names if name in found]

    @cached_property
    def _used(self) -> list[str]:
        return [name for name in self.names if self.uses[name] is not None]

    @cached_property
    def long_used(self) -> list[str]:
        """The columns with long texts that the run used."""
        return [name for name in self.long if self.uses[name] is not None]

    @cached_property
    def numbers(self) -> dict[str, tuple[Meaning, float]]:
        """How to read the columns that the run used as numbers, and their standard deviations."""
        found = {}
        for name in [name for name, use in self.uses.items() if use == "Numbers"]:
            meaning = find_meaning(self._sample[0][name])
            if meaning is not None and meaning.kind == "number":
                values = read_column(self._sample[0][name], meaning)
                found[name] = meaning, float(np.nanstd(values)) if np.isfinite(values).any() else 0.0
        return found

    @cached_property
    def _sample(self) -> tuple[Any, np.ndarray]:
        """Rows from all over the table, in the columns that were used, and their class numbers."""
        taken, labels = self.desk.source.sample(SAMPLE, self._used if self.desk.columns else None)
        return taken, self.desk.named.number(labels)

    @cached_property
    def _sampled(self) -> dict[str, np.ndarray]:
        """Their values: numbers, or text."""
        taken = self._sample[0]
        return {name: self._read(name, taken[name]) for name in taken.column_names}

    def _read(self, name: str, column: Any) -> np.ndarray:
        if name in self.numbers:
            return read_column(column, self.numbers[name][0])
        return np.array([*map(as_text, list_values(column)), None], dtype=object)[:-1]

    def words_of(self, name: str) -> WordCounts:
        """Return the words of a text column, counted by class."""
        if name not in self._words:
            codes = self._sample[1].tolist()
            self._words[name] = WordCounts(self._sampled[name], codes, len(self.desk.labels))
        return self._words[name]

    @cached_property
    def compared(self) -> dict[int, tuple]:
        """The values of all witnesses, by row, in the columns that were used: numbers, or text."""
        rows = sorted({row for sides in self.desk.compared for side in sides for row in side})
        taken = self.desk.take(rows, self._used)
        columns = zip(self._used, taken.columns, strict=True)
        values = [self._read(name, column).tolist() for name, column in columns]
        return dict(zip(rows, zip(*values, strict=True), strict=True)) if values else {}

    def rank(self, number: int) -> list[Column]:
        """Return the columns, those first that tell the witnesses of an issue apart."""
        sides = self.desk.compared[number]
        alone, found = self._contrast(number) if not any(sides) else {}, []
        for name in self.names:
            used, apart = self.uses[name] is not None, alone[name][0] if name in alone else 0.0
            if used and all(sides):
                place = self._used.index(name)
                first, second = ([self.compared[row][place] for row in side] for side in sides)
                apart = self._separate(name, first, second, number)
            found.append(Column(name, apart, used, name in self.long))
        return sorted(found, key=lambda column: (not column.used, -column.separation))

    def _contrast(self, number: int) -> dict[str, tuple[float, list]]:
        """Return how well each column tells the classes of an issue apart in the sample, and what it holds.

        That is `RANGE` of numbers in either class, and of all else how often each value occurs.
        """
        classes, codes = self._find_classes(number), self._sample[1]
        if classes not in self._contrasts:
            new, old = classes
            sides = codes == new, codes == old if old >= 0 else (codes >= 0) & (codes != new)
            found = self._contrasts[classes] = {}
            for name, values in self._sampled.items():
                is_number = name in self.numbers
                first, second = (values[side & np.isfinite(values) if is_number else side] for side in sides)
                if len(first) and len(second):
                    most = None if is_number else READ
                    apart = self._separate(name, first[:most].tolist(), second[:most].tolist(), number)
                    told = [np.quantile(one, RANGE).tolist() if is_number else Counter(one.tolist())
                            for one in (first, second)]  # fmt: skip
                    found[name] = apart, told
        return self._contrasts[classes]

    def place(self, number: int) -> dict[str, Any]:
        """Return, for each short column, where the value of an issue lies among those of its two classes.

        For numbers `RANGE` of either class, and the range of both with the value; for others which share of
        either class has the value.
        """
        taken, found = self.desk.take([int(self.desk.rows[number])]), {}
        for name, (_, told) in self._contrast(number).items():
            own = self._read(name, taken[name])[0]
            if name in self.numbers:
                ends = [end for side in told for end in side] + [float(own)] * isfinite(own)
                known = float(own) if isfinite(own) else None
                found[name] = {"own": known, "low": min(ends), "high": max(ends), "ranges": told}
            elif name not in self.long:
                found[name] = {"shares": [side[own] / side.total() for side in told]}
        return found

    def measure(self, rows: list[int]) -> list[dict[str, float]]:
        """Return by how many standard deviations the numbers of rows after the first are above its own."""
        found: list[dict[str, float]] = [{} for _ in rows[1:]]
        taken = self.desk.take(rows)
        for name, (_, scale) in self.numbers.items():
            own, *others = self._read(name, taken[name]).tolist()
            for one, other in zip(found, others, strict=True):
                if scale > 0 and isfinite(own) and isfinite(other):
                    one[name] = round((other - own) / scale, 2)
        return found

    def _separate(self, name: str, first: list, second: list, number: int) -> float:
        if name in self.numbers:
            return separate_numbers(first, second, self.numbers[name][1])
        if name in self.long or self.uses[name] == "Text":
            counts, classes = self.words_of(name), self._find_classes(number)
            return abs(counts.lean(first, *classes) - counts.lean(second, *classes)) / 2
        return separate_categories(first, second)

    def _find_classes(self, number):
        return int(self.desk.suggested[number]), int(self.desk.given[number])

    def mark(self, values: dict[str, str], number: int) -> dict[str, list[Mark]]:
        """Return the words of the long texts of a row that speak for either class of an issue."""
        classes = self._find_classes(number)
        return {name: self.words_of(name).mark(values[name], *classes) for name in self.long_used}


def shorten(text: str, around: str = "") -> str:
    """Return the beginning of a text in one line, or the part around a text that is searched for."""
    place = text.casefold().find(around.casefold())
    start = place - EXCERPT // 3 if place > 2 * EXCERPT // 3 else 0
    line = "…" * (start > 0) + " ".join(text[start : start + 4 * EXCERPT].split())
    return line if len(line) <= EXCERPT else line[:EXCERPT] + "…"


def separate_numbers(supporting: Sequence, opposing: Sequence, scale: float) -> float:
    """Return how far apart the numbers of both sides are."""
    sides = [[number for number in side if isfinite(number)] for side in (supporting, opposing)]
    if not all(sides) or not scale > 0:
        return 0.0
    means = [sum(side) / len(side) for side in sides]
    return min(1.0, abs(means[0] - means[1]) / (WIDE * scale))


def separate_categories(supporting: Sequence, opposing: Sequence) -> float:
    """Return how far apart the values of both sides are."""
    first, second = Counter(supporting), Counter(opposing)
    shares = (abs(first[v] / len(supporting) - second[v] / len(opposing)) for v in first | second)
    return sum(shares) / 2

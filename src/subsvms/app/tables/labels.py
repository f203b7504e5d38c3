"""The labels of a table: which are missing, what the others mean, their class numbers, and their checks.

A column is interpreted by its distinct values, whether it is all in memory (`read_labels`) or its values were
counted piece by piece (`learn_labels`). Two things stop a run before anything is learned, because a guess
would be wrong too often: a label that is written in several ways ("no", "No", "no "), and numbers that look
like a quantity. Each has an option that settles it.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os.path import commonprefix
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.app.quoting import show
from subsvms.exceptions import Note, Sentence, Setting, TableError, name_few

# What people and programs write where a value is missing, including pandas, R and spreadsheets.
MISSING_MARKS = frozenset(
    ["", *"NA N/A n/a #N/A <NA> NaN nan NAN -nan NULL Null null None none NaT ?".split()]
)
MAX_VALUES = 5_000  # distinct labels; more cannot be classes and need not be counted
MAX_LABEL = 1_000  # characters; more are a text, and would be written into every file and page
MAX_CLASSES = 200  # one SVM for each pair of classes: 19,900 of them
MANY = 20  # numbers with more values look like a quantity, unless they are class numbers
SOME = 10  # the same if there are few rows for each
FEW_ROWS = 5  # of a value, on average; the rarest class number has as many
LONG_ENOUGH, FAR_MORE = 4, 20  # letters of a word that may be misspelt; times as many rows of the usual one
NAMED = 3  # labels in several spellings that a message shows
INFINITE = (float("inf"), -float("inf"))
CODE = re.compile(r"[+-]?0\d")  # 007 is a name, whatever it is made of
WHOLE = re.compile(r"([+-]?\d+)\.0*")
COMMA = re.compile(r"[+-]?\d+,\d+")


def read_labels(
    column: Any, name: str, label: str, *, is_text: bool, missing_label: Iterable[str] = (), **checks: Any
) -> tuple[np.ndarray, np.ndarray, tuple[Note, ...]]:
    """Return the labels of a column, the same in its own spelling, and notes on what is odd about them."""
    # Missing labels are None: empty ones and, in text, a mark such as NA or ? if all other labels are
    # numbers. Otherwise it may be a class ("None" of the above), so it is kept, with a note.
    check_type(column.type, name, label)
    values, codes = encode_labels(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(values)).tolist()
    written, notes = _interpret(dict(zip(values, counts, strict=True)), is_text, missing_label)
    meant, more = _settle(written, counts, name, label, **checks)
    labels, spelled = (np.array([*one.values(), None], dtype=object)[codes] for one in (meant, written))
    return labels, spelled, (*notes, *more)


@dataclass(frozen=True, eq=False)
class Labels:
    """The class numbers of the labels of a table that is read in pieces."""

    column: str  # name of the label column
    classes: Classes  # sorted; with the class number of each value of the column
    notes: tuple[Note, ...] = ()  # what is odd about the labels, in sentences

    def read(self, batch: Any) -> np.ndarray:
        """Return the class number of each row of a batch (pyarrow.Table), -1 where there is no label."""
        values, codes = encode_labels(batch[self.column])
        unknown = [value for value in values if value not in self.classes.spellings]
        if unknown:
            raise TableError(
                f"The label {unknown[0]!r} was not in the table that was fitted: fit one that has all labels."
            )
        return np.array([self.classes.spellings[value] for value in values] + [-1])[codes]


def learn_labels(
    counts: Mapping[Any, int], name: str, label: str, *, is_text: bool, missing_label: Iterable[str] = (),
    **checks: Any,
) -> Labels:  # fmt: skip
    """Return the class numbers of labels, from how often each value of their column occurs."""
    meant, notes = _interpret(counts, is_text, missing_label)
    meant, more = _settle(meant, counts.values(), name, label, **checks)
    classes, codes = Classes.learn(meant.values())
    spellings = dict(zip(meant, codes.tolist(), strict=True))
    return Labels(label, Classes(classes.names, spellings), (*notes, *more))


def encode_labels(column: Any) -> tuple[list, np.ndarray]:
    """Return the distinct values of a label column, and which of them each row has; -1 for none."""
    import pyarrow as pa
    from pyarrow import compute

    column = column.cast(plain_type(column.type))
    if pa.types.is_floating(column.type):  # NaN is not a label, and -0.0 and 0.0 are one
        column = compute.if_else(compute.is_nan(column), None, compute.add(column, 0.0))
    whole = column.combine_chunks()
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    coded = whole.dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return coded.dictionary.to_pylist(), codes


def plain_type(kind: Any) -> Any:
    """Return the Arrow type in which labels are counted: no dictionaries, views, decimals or half floats."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind) or pa.types.is_float16(kind):
        return pa.float64()
    return pa.large_string() if kind == pa.string_view() else kind


def _interpret(counts, is_text, missing_label):
    """Return the label that each value of a column means, None for a missing one, and notes."""
    missing = {missing_label} if isinstance(missing_label, str) else set(missing_label)
    blank = [v for v in counts if isinstance(v, str) and (not v.strip() or v in missing)]
    meant = {value: value for value in counts} | dict.fromkeys(blank)
    words = [value for value in meant.values() if isinstance(value, str)]
    marks = sorted(word for word in words if word.strip() in MISSING_MARKS)
    seen = [] if is_text else [_count_rows(one, counts) for one in blank if one not in missing]
    notes = [Note.plain("blank", f"Read as missing labels: {', '.join(seen)}.")] if seen else []
    if not marks:
        return meant, notes
    others = [word for word in words if word.strip() not in MISSING_MARKS]
    if is_text and others and all(_as_number(word) is not None for word in others):
        return meant | dict.fromkeys(marks), ()
    told = "Taken as a class, not as missing labels: {listed}. To make them missing: {missing_label}."
    listed = ", ".join(_count_rows(mark, counts) for mark in marks)
    setting = Setting("missing_label", marks)
    return meant, [*notes, Note("missing_marks", told, listed=listed, missing_label=setting)]


def _settle(meant, counts, name, label, merge_labels=None, numeric_classes=False):
    """Return the same in one spelling each if asked for, and notes; check that the labels are classes."""
    sizes: Counter = Counter()
    for one, count in zip(meant.values(), counts, strict=True):
        if one is not None:
            sizes[one] += count
    notes: tuple[Note, ...] = ()
    if merge_labels is None:
        _check_spellings(sizes, name, label)
    elif merge_labels:
        spelled = merge_spellings(sizes)
        notes = _note_merged(spelled, sizes)
        for other, one in spelled.items():
            sizes[one] += sizes.pop(other)
        meant = {value: spelled.get(one, one) for value, one in meant.items()}
    _check_classes(sizes, name, label, numeric_classes=numeric_classes)
    return meant, (*notes, *_note_typos(sizes))


def check_type(kind: Any, name: str, label: str) -> None:
    """Raise an error if a column of this Arrow type cannot hold labels."""
    from pyarrow import types

    kind = plain_type(kind)
    fits = (types.is_string, types.is_large_string, types.is_boolean, types.is_integer, types.is_floating)
    if not types.is_null(kind) and not any(fit(kind) for fit in fits):
        raise TableError(
            f"The label column {show(label)} of {name} has the type {kind}: labels must be text, whole "
            "numbers or booleans, so convert it first."
        )


# Whether labels can be classes


def _as_number(label):
    """Return a label as a number, or None if it is not one; a comma may stand before decimals."""
    try:
        return float(label.replace(",", ".") if isinstance(label, str) and COMMA.fullmatch(label) else label)
    except ValueError:
        return None


def find_spellings(labels: Iterable) -> list[list[str]]:
    """Return the labels that differ only in case, in spaces, in how Unicode composes them, or by ".0"."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            key = " ".join(unicodedata.normalize("NFC", label).casefold().split())
            groups.setdefault(WHOLE.sub(r"\1", key) if WHOLE.fullmatch(key) else key, []).append(label)
    return [sorted(group) for _, group in sorted(groups.items()) if len(group) > 1]


def merge_spellings(counts: Mapping[Any, int]) -> dict[Any, Any]:
    """Return for each label with several spellings the most frequent of them."""
    firsts = {max(group, key=lambda label: counts[label]): group for group in find_spellings(counts)}
    return {label: first for first, group in firsts.items() for label in group if label != first}


def find_typos(counts: Mapping[Any, int]) -> dict[str, str]:
    """Return rare labels that are written almost like a far more frequent one, and that one."""
    words = sorted((one for one in counts if isinstance(one, str)), key=lambda one: -counts[one])
    found = {}
    for word in words:
        frequent = (other for other in words if counts[other] >= FAR_MORE * counts[word])
        close = next((other for other in frequent if _is_typo(word, other)), None)
        if close is not None:
            found[word] = close
    return found


def _is_typo(one, other):
    """Return whether a word differs in one letter, or in two that are swapped, but not in the first."""
    # Two letters make opposites, as in male and female or in hypertension and hypotension.
    words, others = (re.split(r"[\W_]+", label.casefold()) for label in (one, other))
    differing = [(a, b) for a, b in zip(words, others, strict=False) if a != b]
    if len(words) != len(others) or len(differing) != 1:
        return False
    ((a, b),) = differing
    if a[0:1] != b[0:1] or min(len(a), len(b)) < LONG_ENOUGH or not (a + b).isalpha():
        return False
    for _ in range(2):  # without what both begin with, and then without what both end with
        same = len(commonprefix((a, b)))
        a, b = a[same:][::-1], b[same:][::-1]
    return max(len(a), len(b)) == 1 or (len(a) == 2 and a == b[::-1])


def _note_typos(counts):
    typos = find_typos(counts) if len(counts) <= MAX_CLASSES else {}
    if not typos:
        return ()
    listed = name_few([f"{_count_rows(rare, counts)} for {show(usual)}" for rare, usual in typos.items()])
    return (Note.plain("typos", f"Perhaps misspelt: {listed}? If so, correct the label column."),)


def _count_rows(label, counts):
    return f"{show(label)} ({counts[label]:,} row{'' if counts[label] == 1 else 's'})"


def _note_merged(spelled, counts):
    if not spelled:
        return ()
    listed = name_few([f"{_count_rows(other, counts)} as {show(one)}" for other, one in spelled.items()])
    return (Note.plain("merged", f"Read in another spelling: {listed}."),)


def _check_spellings(counts, name, label):
    """Raise an error if a label is written in several ways."""
    groups = find_spellings(counts)
    if not groups:
        return
    shown = []
    for group in groups[:NAMED]:
        first, *others = sorted(group, key=lambda one: -counts[one])
        listed = [_count_rows(first, counts), *(f"{show(other)} ({counts[other]:,})" for other in others)]
        shown.append(f"{', '.join(listed[:-1])} and {listed[-1]}")
    more = f"; and {len(groups) - NAMED} more" if len(groups) > NAMED else ""
    what = "a label" if len(groups) == 1 else f"{len(groups)} labels"
    raise TableError(
        "The label column {label} of {name} has {what} in several spellings, {shown}{more}: read them as one "
        "class with {merge_labels=True}, or as different ones with {merge_labels=False}.",
        label=show(label), name=name, what=what, shown="; ".join(shown), more=more,
    )  # fmt: skip


def _check_classes(counts, name, label, *, numeric_classes=False):
    """Raise an error unless the labels are at least two classes, and not too many."""
    classes = sorted(counts)
    what = f"The label column {show(label)} of {name}"
    if not classes:
        raise TableError(f"{what} holds no labels at all: at least two classes are needed.")
    if len(classes) == 1:
        raise TableError(f"{what} holds only one class, {show(classes[0])}: at least two are needed.")
    longest = max((one for one in classes if isinstance(one, str)), key=len, default="")
    if len(longest) > MAX_LABEL:
        raise TableError(
            f"{what} holds a text of {len(longest):,} characters, {show(longest)}: labels have at most "
            f"{MAX_LABEL:,}, so choose another column."
        )
    example = find_quantity(counts)
    possible = len(classes) <= MAX_CLASSES and example not in INFINITE
    if example is not None and not (possible and numeric_classes):
        or_else = f"; more than {MAX_CLASSES} cannot be classes" if len(classes) > MAX_CLASSES else ""
        if possible:
            or_else = Sentence("; if they are classes all the same, say so with {numeric_classes=True}")
        raise TableError(
            "{what} looks like a quantity, not a class, with {n:,} different numbers, such as {example}: "
            "choose another column, or group the numbers into a few named ranges{or_else}.",
            what=what, n=len(classes), example=show(example), or_else=or_else,
        )  # fmt: skip
    if len(classes) > MAX_CLASSES:
        raise TableError(
            f"{what} has {len(classes)} classes, such as {show(classes[0])}, but at most {MAX_CLASSES} "
            "are possible: choose another column, or merge rare classes."
        )


def may_be_label(column: Any) -> bool:
    """Return whether a column may hold labels, for a proposal: a few classes, each of several rows."""
    try:
        labels, *_ = read_labels(column, "", "", is_text=True, merge_labels=True)
    except TableError:
        return False
    return FEW_ROWS * len({one for one in labels.tolist() if one is not None}) <= len(labels)


def find_quantity(counts: Mapping[Any, int]) -> Any:
    """Return a label that shows that the labels are a quantity, such as an age; None if they may be classes.

    They are if one has a fraction, or if there are many. Class numbers from 0 or 1 on, without a gap and with
    several rows each, are not.
    """
    numbers = {label: number for label in counts if (number := _as_number(label)) is not None}
    if len(numbers) < len(counts) or any(isinstance(one, str) and CODE.match(one) for one in counts):
        return None
    fractions = [label for label, number in numbers.items() if number % 1 > 0 or number in INFINITE]
    if fractions:
        return sorted(fractions)[0]
    k, values = len(numbers), sorted(numbers.values())
    if k <= SOME or (k <= MANY and sum(counts.values()) >= FEW_ROWS * k):
        return None
    numbered = values in (list(range(k)), list(range(1, k + 1))) and min(counts.values()) >= FEW_ROWS
    return None if numbered and k <= MAX_CLASSES else min(counts, key=lambda label: numbers[label])


def check_few(values: list, name: str, label: str) -> None:
    """Raise an error if a column holds far more values than there can be classes."""
    if len(values) > MAX_VALUES:
        _check_classes(dict.fromkeys(values, 1), name, label)

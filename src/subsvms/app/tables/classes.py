"""Whether the labels of a table can be classes: looked at before anything is learned from them.

Two things stop a run, because a guess would be wrong too often: a label that is written in several ways
("no", "No", "no "), and numbers that look like a quantity. Each has an option that settles it.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from subsvms.app.words import show
from subsvms.exceptions import TableError

MAX_VALUES = 5_000  # distinct labels; more cannot be classes and need not be counted
MAX_CLASSES = 200  # one SVM for each pair of classes: 19,900 of them
MANY = 20  # numbers with more values look like a quantity, unless they are class numbers
SOME = 10  # the same if there are few rows for each
FEW_ROWS = 5  # of a value, on average; the rarest class number has as many
NAMED = 3  # labels in several spellings that a message shows
INFINITE = (float("inf"), -float("inf"))
CODE = re.compile(r"[+-]?0\d")  # 007 is a name, whatever it is made of
WHOLE = re.compile(r"([+-]?\d+)\.0*")
COMMA = re.compile(r"[+-]?\d+,\d+")


def as_number(label: Any) -> float | None:
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
    chosen: dict[Any, Any] = {}
    for group in find_spellings(counts):
        first = max(group, key=lambda label: counts[label])
        chosen |= {label: first for label in group if label != first}
    return chosen


def format_merged(spelled: Mapping[Any, Any], counts: Mapping[Any, int]) -> tuple[str, ...]:
    """Return one note on labels whose spelling was changed, as `merge_spellings` returns them."""
    if not spelled:
        return ()
    sizes = {other: f"{counts[other]:,} row{'' if counts[other] == 1 else 's'}" for other in spelled}
    listed = [f"{show(other)} ({sizes[other]}) as {show(one)}" for other, one in spelled.items()]
    more = f" and {len(listed) - NAMED} more" if len(listed) > NAMED else ""
    return (f"Read in another spelling: {', '.join(listed[:NAMED])}{more}.",)


def check_spellings(counts: Mapping[Any, int], name: str, label: str) -> None:
    """Raise an error if a label is written in several ways; parameters as in `check_classes`."""
    groups = find_spellings(counts)
    if not groups:
        return
    shown = []
    for group in groups[:NAMED]:
        first, *others = sorted(group, key=lambda one: -counts[one])
        rows = "row" if counts[first] == 1 else "rows"
        listed = [f"{show(first)} ({counts[first]:,} {rows})"]
        listed += [f"{show(other)} ({counts[other]:,})" for other in others]
        shown.append(f"{', '.join(listed[:-1])} and {listed[-1]}")
    more = f"; and {len(groups) - NAMED} more" if len(groups) > NAMED else ""
    what = "a label" if len(groups) == 1 else f"{len(groups)} labels"
    raise TableError(
        f"The label column {show(label)} of {name} has {what} in several spellings, {'; '.join(shown)}"
        f"{more}: read them as one class with --merge-labels, or as different ones with --no-merge-labels."
    )


def check_classes(counts: Mapping[Any, int], name: str, label: str, *, numeric_classes: bool = False) -> None:
    """Raise an error unless the labels are at least two classes, and not too many."""
    classes = sorted(counts)
    what = f"The label column {show(label)} of {name}"
    if not classes:
        raise TableError(f"{what} holds no labels at all: at least two classes are needed.")
    if len(classes) == 1:
        raise TableError(f"{what} holds only one class, {show(classes[0])}: at least two are needed.")
    example = find_quantity(counts)
    possible = len(classes) <= MAX_CLASSES and example not in INFINITE
    if example is not None and not (possible and numeric_classes):
        or_else = f"; more than {MAX_CLASSES} cannot be classes" if len(classes) > MAX_CLASSES else ""
        if possible:
            or_else = "; if they are classes all the same, say so with --numeric-classes"
        raise TableError(
            f"{what} looks like a quantity, not a class, with {len(classes):,} different numbers, such as "
            f"{show(example)}: choose another column, or group the numbers into a few named ranges{or_else}."
        )
    if len(classes) > MAX_CLASSES:
        raise TableError(
            f"{what} has {len(classes)} classes, such as {show(classes[0])}, but at most {MAX_CLASSES} "
            "are possible: choose another column, or merge rare classes."
        )


def find_quantity(counts: Mapping[Any, int]) -> Any:
    """Return a label that shows that the labels are a quantity, such as an age; None if they may be classes.

    They are if one has a fraction, or if there are many. Class numbers from 0 or 1 on, without a gap and with
    several rows each, are not.
    """
    numbers = {label: number for label in counts if (number := as_number(label)) is not None}
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
        check_classes(dict.fromkeys(values, 1), name, label)

"""Count what was found in a table, as a whole and by groups of rows.

All counts are whole numbers, so the counts of parts of a table add up to the same total in any order.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subsvms._numbers import lower_limit, upper_limit
from subsvms.app.features.columns import Meaning, find_meaning, find_missing_values, read_column
from subsvms.app.quoting import show
from subsvms.app.tables.table import LabelledTable
from subsvms.correction._notes import SPARED
from subsvms.correction._result import Correction
from subsvms.correction._rule import Halt
from subsvms.exceptions import TableError

UNIT = 10**9  # probabilities are added up in billionths: whole numbers give the same sum in any order
MISSING = "(missing)"
FEW = 24  # groups that are easy to read; with more, dates are grouped more coarsely, and numbers in ranges
MAX_GROUPS = 100_000  # of a column: in parts, memory grows with their number
CONFIDENCE = 0.95  # of each end of an interval
Counts = dict[str, tuple[int, int, int]]  # by group: rows with a label, flagged, billionths of wrong ones


@dataclass(frozen=True)
class Tally:
    """Rows of a table, counted."""

    rows: int  # all rows; those whose label people verified; those that are left out
    verified: int
    dropped: int
    # rows for which another label is more probable, but the given one was kept, by the name of the `Halt`
    kept_by: dict[str, int]
    spared: dict[str, int]  # changes that failed a test, or could not be tested, by the name of their `Halt`
    judged: int  # labels about which at least one SVM could vote
    # rows with a label, contradicted by the votes, flagged, changed and left out, by given class
    given: list[int]
    contradicted: list[int]
    flagged: list[int]
    changed: list[int]
    left_out: list[int]
    changed_to: list[int]  # changed labels, and labels of rows that had none, by the class they have now
    filled: list[int]
    moves: list[list[int]]  # flagged rows by given and suggested class
    confidence: int  # the confidence of flagged labels, added up, in billionths
    # probabilities of being wrong of labels that are flagged or held back, as `add_doubt` returns them
    doubt: int
    groups: dict[str, Counts] = field(default_factory=dict)  # what `count_groups` found, by column

    @classmethod
    def of(cls, correction: Correction, groups: Mapping[str, np.ndarray] | None = None) -> "Tally":
        """Count the rows of a correction."""
        k = len(correction.classes)
        known = ~correction.missing
        flagged = np.flatnonzero(correction.flagged)
        own, suggested = correction.given[flagged], correction.judgement.suggested[flagged]
        held_back = correction.held_back
        halts = Counter(correction.judgement.halt[held_back].tolist())
        return cls(
            rows=len(correction), verified=int(correction.decided.sum()),
            dropped=int(np.sum(~correction.kept)),
            kept_by={Halt(halt).name: count for halt, count in sorted(halts.items())},
            spared={halt.name: int(np.sum(correction.judgement.halt == halt)) for halt in SPARED},
            given=np.bincount(correction.given[known], minlength=k).tolist(),
            judged=int(np.sum(known & (correction.votes.n_voters > 0))),
            contradicted=np.bincount(correction.given[correction.contradicted & known], minlength=k).tolist(),
            flagged=np.bincount(own, minlength=k).tolist(),
            changed=np.bincount(correction.given[correction.changed], minlength=k).tolist(),
            left_out=np.bincount(correction.given[~correction.kept & known], minlength=k).tolist(),
            changed_to=count_labels(correction, correction.changed),
            filled=count_labels(
                correction, correction.missing & correction.kept & (correction.filled | correction.decided)
            ),
            moves=np.bincount(own * k + suggested, minlength=k * k).reshape(k, k).tolist(),
            confidence=add_up(correction.confidence[flagged]),
            doubt=add_doubt(correction, np.flatnonzero(correction.flagged | held_back)),
            groups={name: count_groups(values, correction) for name, values in (groups or {}).items()},
        )  # fmt: skip

    @property
    def labelled(self) -> int:
        """Rows with a label."""
        return sum(self.given)

    @property
    def n_flagged(self) -> int:
        """Labels that are probably wrong."""
        return sum(self.flagged)

    @property
    def held_back(self) -> int:
        """Rows for which another label is more probable, but the given one was kept."""
        return sum(self.kept_by.values())

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(**{key: _add(value, vars(other)[key]) for key, value in vars(self).items()})


def _add(one: Any, other: Any) -> Any:
    """Add numbers, lists of them place by place, and dictionaries of them key by key."""
    if isinstance(one, dict):
        both = one.keys() & other.keys()
        joined = {**one, **other, **{key: _add(one[key], other[key]) for key in both}}
        if len(joined) > MAX_GROUPS:
            words = "A column of {by} has more than {most:,} values: choose one with fewer."
            raise TableError(words, most=MAX_GROUPS)
        return joined
    if isinstance(one, list | tuple):
        return type(one)(_add(a, b) for a, b in zip(one, other, strict=True))
    return one + other


def count_labels(correction: Correction, rows: np.ndarray) -> list[int]:
    """Return how many of these rows have each class in the end."""
    counts = Counter(correction.labels[rows].tolist())
    return [counts[name] for name in correction.classes.tolist()]


def add_up(probabilities: np.ndarray) -> int:
    """Return the sum of probabilities, in billionths."""
    return int(np.round(probabilities * UNIT).astype(np.int64).sum())


def add_doubt(correction: Correction, rows: np.ndarray) -> int:
    """Return how many of these labels are expected to be wrong, in billionths: 1 - quality, added up."""
    return add_up(1.0 - correction.label_quality[rows[correction.given[rows] >= 0]])


def count_groups(values: np.ndarray, correction: Correction) -> Counts:
    """Return what was found in each group, in whole numbers."""
    rows = np.flatnonzero(~correction.missing)
    names, numbers = np.unique(values[rows].astype(str), return_inverse=True)
    wrong = np.round((1.0 - correction.judgement.posterior[rows, correction.given[rows]]) * UNIT)
    n_rows, n_flagged, expected = (
        np.bincount(numbers, weights, minlength=len(names)).astype(np.int64).tolist()
        for weights in (None, correction.flagged[rows], wrong)
    )
    return dict(zip(names.tolist(), zip(n_rows, n_flagged, expected, strict=True), strict=True))


@dataclass(frozen=True)
class Grouping:
    """How a column sorts rows into groups, as learned from a table or a sample of it."""

    column: str
    meaning: Meaning  # how its values are read
    unit: str | None = None  # {"D", "M", "Y"} or None: the days, months or years that dates are grouped by
    # ends of the ranges that numbers are grouped by, if they take many values
    edges: tuple[float, ...] | None = None

    def read(self, column: Any) -> np.ndarray:
        """Return the group of each row."""
        values = read_column(column, self.meaning)
        missing = find_missing_values(values)
        groups = np.full(len(values), MISSING, dtype=object)
        groups[~missing] = self._name(values[~missing])
        return groups

    def _name(self, present):
        if self.unit is not None:
            return present.astype(f"datetime64[{self.unit}]").astype(str)
        if self.meaning.kind != "number":
            return present
        if self.edges is None:
            return np.array([f"{number:.15g}" for number in present], dtype=object)
        pairs = zip(self.edges[:-1], self.edges[1:], strict=True)
        names = np.array([f"{a:.15g} to {b:.15g}" for a, b in pairs], dtype=object)
        return names[np.clip(np.searchsorted(self.edges, present, side="left") - 1, 0, len(names) - 1)]


def read_groups(groupings: Iterable[Grouping], columns: Any) -> dict[str, np.ndarray]:
    """Return the group of each row, by column."""
    return {one.column: one.read(columns[one.column]) for one in groupings}


def learn_grouping(table: LabelledTable, name: str) -> Grouping:
    """Return how a column sorts rows into groups."""
    meaning = find_meaning(table.columns[name], table.decimal_comma)
    if meaning is None:
        raise TableError("{by} names {name}, which holds neither numbers, text nor dates.", name=show(name))
    values = read_column(table.columns[name], meaning)
    present = values[~find_missing_values(values)]
    if meaning.kind == "date":
        few = (u for u in "DM" if len(np.unique(present.astype(f"datetime64[{u}]"))) <= FEW)
        return Grouping(name, meaning, unit=next(few, "Y"))
    if meaning.kind == "number" and len(np.unique(present)) > FEW:
        edges = np.unique(np.percentile(present, (0, 20, 40, 60, 80, 100)))
        return Grouping(name, meaning, edges=tuple(edges.tolist()))
    return Grouping(name, meaning)


def group_noise(counts: Counts) -> list[dict[str, Any]]:
    """Return what was found in each group, largest share of flagged labels first.

    The share is at least "low" and at most "high", each with confidence 0.95; "rows" have a label.
    """
    if not counts:
        return []
    n_rows, n_flagged, expected = np.array(list(counts.values())).T
    columns = {
        "rows": n_rows, "flagged": n_flagged, "share": n_flagged / n_rows,
        "low": lower_limit(n_flagged, n_rows, CONFIDENCE),
        "high": upper_limit(n_flagged, n_rows, CONFIDENCE), "expected_wrong": expected / UNIT,
    }  # fmt: skip
    lines = zip(counts, *(column.tolist() for column in columns.values()), strict=True)
    found = [dict(zip(("value", *columns), line, strict=True)) for line in lines]
    return sorted(found, key=lambda line: (-line["share"], -line["rows"], line["value"]))

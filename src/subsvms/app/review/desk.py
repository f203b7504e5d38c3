"""The issues of a run, the rows they are about, and what was decided: what reviewers have on their desk.

Everything that the page shows comes from here, as plain values. Issues are in the order of issues.csv, worst
first; rows count from 1.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._intervals import lower_limit, upper_limit
from subsvms.app.runs.decisions import Act, Conflict, Decision, Decisions
from subsvms.app.runs.describe import cut
from subsvms.app.runs.names import DECISIONS, RECORD
from subsvms.app.runs.opened import OpenedRun
from subsvms.app.runs.outputs import read_issues
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import show
from subsvms.exceptions import TableError

CONFIDENCE = 0.95  # of each end of the expected precision
PAGE_ROWS = 200  # issues in one answer, at most
VALUES_OFFERED = 100  # of a column, to filter by
SORTS = ("worst", "row", "confidence", "given", "suggested")
STATUSES = ("open", "decided", "skipped", "disputed", "all")
DETAILS = ("label_quality", "vote_share", "withstands", "is_label_issue", "reason")


@dataclass(frozen=True)
class Filter:
    """Which issues to show, and in which order.

    Attributes
    ----------
    given, suggested : str or None
        Names of classes.
    low, high : float
        Range of the confidence.
    status : {"open", "decided", "skipped", "disputed", "all"}
        Disputed are rows that people decided differently.
    column, value : str or None
        A column, and the value that rows must have in it.
    search : str
        Text that a row must contain, in any column.
    sort : {"worst", "row", "confidence", "given", "suggested"}
    """

    given: str | None = None
    suggested: str | None = None
    low: float = 0.0
    high: float = 1.0
    status: str = "all"
    column: str | None = None
    value: str | None = None
    search: str = ""
    sort: str = "worst"

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise TableError(f"The status must be one of {', '.join(STATUSES)}; got {show(self.status)}.")
        if self.sort not in SORTS:
            raise TableError(f"The order must be one of {', '.join(SORTS)}; got {show(self.sort)}.")
        if not 0 <= self.low <= self.high <= 1:
            raise TableError(f"The confidence must go from 0 to 1; got {self.low} to {self.high}.")


class Desk(OpenedRun):
    """A run's folder, opened for review.

    Parameters
    ----------
    folder : path-like
        Made by `subsvms correct`.
    """

    def __init__(self, folder: str | Path):
        super().__init__(folder, "the review")
        self._read_issues()
        self.decisions = Decisions(
            self.folder / DECISIONS, self.folder / RECORD, rows=self.place, labels=self.labels
        )
        self.lock = threading.Lock()
        self._by_column: dict[str, list[str]] = {}
        self.status = np.zeros(len(self.rows), dtype=np.int8)  # number in STATUSES
        self.accepted = np.zeros(len(self.rows), dtype=bool)
        self.disputed = np.zeros(len(self.rows), dtype=bool)
        self.counts = dict.fromkeys(("decided", "skipped", "disputed", "judged", "accepted"), 0)
        self.noted = 0  # act up to which the status and the counts are right
        with self._noting():
            pass

    def _read_issues(self) -> None:
        found = read_issues(self.folder, self.table)
        self.rows = found["row"].to_numpy()
        self.place = {row: i for i, row in enumerate(self.rows.tolist())}
        numbers = {name: number for number, name in enumerate(self.labels)} | {None: -1}
        self.given = np.array([numbers[label] for label in self.table.labels[self.rows - 1]], dtype=np.int64)
        suggested = found["suggested_label"].to_pylist()
        self.suggested = np.array([numbers[label] for label in suggested], dtype=np.int64)
        self.columns_of_issues = {name: found[name].to_pylist() for name in DETAILS}
        self.confidence = found["confidence"].to_numpy()
        self.flagged = np.array(self.columns_of_issues["is_label_issue"], dtype=bool)
        self.witnesses = {side: found[side].to_pylist() for side in ("supporting", "opposing")}
        self.carriers: dict[str, list[Any]] = {
            name: found[name].to_pylist() if name in found.column_names else [None] * len(found)
            for name in ("flips", "carriers", "carried")
        }
        self.names = self._read_names(self.options.id_column)

    def _read_names(self, column: str | None) -> list[str]:
        """Return what the table calls the row of each issue (`--id`); nothing if it has no such column."""
        if column is None:
            return []
        cells = list_values(self.table.columns[column].take(self.rows - 1))
        return ["" if cell is None else cut(str(cell)) for cell in cells]

    def __len__(self) -> int:
        return len(self.rows)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note what was read from the file in a block, also if it fails: others may have decided."""
        try:
            yield
        finally:
            self._note(self.decisions.touched(self.noted, most=None))
            self.noted = self.decisions.last

    def _note(self, rows) -> None:
        """Update the status of rows about which something was decided or taken back, and the counts."""
        for row in rows:
            place = self.place.get(row)
            if place is None:
                continue
            latest = self.decisions.latest(row)
            status = 0 if latest is None else 2 if latest.verdict == "skip" else 1
            accepted = latest is not None and latest.verdict == "accept"
            for sign, one, agreed in ((-1, self.status[place], self.accepted[place]), (1, status, accepted)):
                self.counts["decided"] += sign * int(one == 1)
                self.counts["skipped"] += sign * int(one == 2)
                self.counts["judged"] += sign * int(one == 1 and self.flagged[place])
                self.counts["accepted"] += sign * int(agreed and self.flagged[place])
            self.status[place], self.accepted[place] = status, accepted
            disputed = is_disputed(self.decisions.stacks.get(row, []))
            self.counts["disputed"] += int(disputed) - int(self.disputed[place])
            self.disputed[place] = disputed

    def refresh(self) -> None:
        """Read what others decided."""
        with self.lock, self._noting():
            self.decisions.refresh()

    def decide_many(self, acts: list[Act]) -> list[int | Conflict]:
        """Store acts and return their numbers, or what others decided differently in the meantime."""
        with self.lock, self._noting():
            return self.decisions.decide_many(acts)

    def undo(self, who: str) -> list[Decision]:
        """Take back what this person did last, and return it."""
        with self.lock, self._noting():
            return self.decisions.undo(who=who)

    @property
    def decided_labels(self) -> dict[int, Any]:
        """The label of each row that people decided, in this review or in the one that the run took over."""
        current = self.decisions.current
        return dict(self.options.verified) | {row: decision.label for row, decision in current.items()}

    def state(self, since: int) -> dict[str, Any]:
        """Return the progress of the review, and the rows of later acts than `since`."""
        last = self.decisions.last
        return {"last": last, "rows": self.decisions.touched(since, PAGE_ROWS), **self.count()}

    @property
    def meta(self) -> dict[str, Any]:
        """What stays the same while the page is open."""
        found = self.record.found
        return {
            "title": self.title, "label": cut(self.options.label), "classes": self.classes,
            "columns": self.columns, "issues": len(self), "words": found.words, "action": found.action,
            "folder": str(self.folder),
        }  # fmt: skip

    def common_values(self, column: str) -> list[list[Any]]:
        """Return the most common values of a column in the issues, and how often they occur."""
        return [list(pair) for pair in Counter(self.values_of(column)).most_common(VALUES_OFFERED)]

    @cached_property
    def texts(self) -> list[str]:
        """The values of each issue's row in lower case, to search in."""
        taken = self.table.columns.take(self.rows - 1)
        columns = [list_values(taken[name]) for name in self.columns]
        lines = zip(*columns, strict=True) if columns else ([] for _ in self.rows)
        return ["\n".join(cut(str(cell)) for cell in line if cell is not None).casefold() for line in lines]

    def values_of(self, column: str) -> list[str]:
        """Return the values that a column has in the issues' rows, as text."""
        if column not in self.columns:
            raise TableError(f"There is no column {show(column)} to filter by.")
        with self.lock:
            if column not in self._by_column:
                cells = list_values(self.table.columns[column].take(self.rows - 1))
                self._by_column[column] = ["" if cell is None else cut(str(cell)) for cell in cells]
            return self._by_column[column]

    def find(self, wanted: Filter) -> np.ndarray:
        """Return the places of the issues that match a filter, in its order."""
        keep = (self.confidence >= wanted.low) & (self.confidence <= wanted.high)
        for name, codes in ((wanted.given, self.given), (wanted.suggested, self.suggested)):
            if name is not None:
                if name not in self.values:
                    raise TableError(f"There is no class {show(name)}.")
                keep &= codes == self.classes.index(name)
        if wanted.status == "disputed":
            keep &= self.disputed
        elif wanted.status != "all":
            keep &= self.status == STATUSES.index(wanted.status)
        if wanted.column is not None and wanted.value is not None:
            keep &= np.array([cell == wanted.value for cell in self.values_of(wanted.column)], dtype=bool)
        if wanted.search:
            text = wanted.search.casefold()
            keep &= np.array([text in line for line in self.texts], dtype=bool)
        found = np.flatnonzero(keep)
        key = {
            "worst": found, "row": self.rows[found], "confidence": -self.confidence[found],
            "given": self.given[found], "suggested": self.suggested[found],
        }[wanted.sort]  # fmt: skip
        return found[np.argsort(key, kind="stable")]

    def brief(self, number: int) -> dict[str, Any]:
        """Return what a list shows of an issue."""
        row = int(self.rows[number])
        return {
            "row": row,
            "id": self.names[number] if self.names else None,
            "given": cut(self.classes[self.given[number]]) if self.given[number] >= 0 else None,
            "suggested": cut(self.classes[self.suggested[number]]),
            "confidence": float(self.confidence[number]),
            "flagged": self.columns_of_issues["is_label_issue"][number],
            "decision": as_plain(self.decisions.latest(row)),
        }

    def describe(self, row: int) -> dict[str, Any]:
        """Return all that is known about an issue, and the rows that speak for and against it."""
        if row not in self.place:
            raise KeyError(row)
        number = self.place[row]
        details = {name: values[number] for name, values in self.columns_of_issues.items()}
        sides = {
            side: [
                {
                    "row": witness,
                    "label": cut(str(self.table.labels[witness - 1])),
                    "values": self.show(witness),
                }
                for witness in rows[number]
            ]
            for side, rows in self.witnesses.items()
        }
        history = [as_plain(decision) for decision in self.decisions.stacks.get(row, [])]
        return self.brief(number) | details | sides | {
            "columns": self.shown_columns, "values": self.show(row), "history": history,
            "flips": self.carriers["flips"][number], "carriers": self._list_carriers(number),
        }  # fmt: skip

    def _list_carriers(self, number: int) -> list[dict[str, Any]] | None:
        """Return the labels that carry the suggestion, and their weights; None if they are not known."""
        if self.carriers["flips"][number] is None:
            return None
        pairs = zip(self.carriers["carriers"][number], self.carriers["carried"][number], strict=True)
        return [
            {"row": row, "label": cut(str(self.table.labels[row - 1])), "weight": weight}
            for row, weight in pairs
        ]

    def settle(self, row: int, verdict: str, label: str | None) -> tuple[int, str, Any]:
        """Return a decision as it is stored, with the label that the row has then."""
        number = self.place[row]
        names = {"accept": self.suggested[number], "keep": self.given[number]}
        if verdict == "label":
            if not isinstance(label, str) or label not in self.values:
                raise TableError(f"There is no class {show(label)}: choose one of those in the table.")
            for same, code in names.items():  # the suggested label accepts, the given one keeps
                verdict = same if code == self.classes.index(label) else verdict
            return row, verdict, self.values[label]
        if verdict == "skip":
            return row, verdict, None
        if verdict not in names:
            raise TableError(f"A verdict must be accept, keep, label or skip; got {show(verdict)}.")
        if names[verdict] < 0:
            raise TableError(
                f"Row {row} has no label to keep: accept the suggestion, give it another label, or skip it."
            )
        return row, verdict, self.labels[int(names[verdict])]

    def count(self) -> dict[str, Any]:
        """Return the progress of the review, and how many suggestions are right as far as it shows."""
        low, high = compute_limits(self.counts["accepted"], self.counts["judged"])
        return {"issues": len(self), **self.counts, "low": low, "high": high}


@lru_cache
def compute_limits(accepted: int, judged: int) -> tuple[float | None, float | None]:
    """Return the ends of an interval for the share of suggestions that are right."""
    if judged == 0:
        return None, None
    return float(lower_limit(accepted, judged, CONFIDENCE)), float(upper_limit(accepted, judged, CONFIDENCE))


def format_count(number: int, one: str, more: str | None = None) -> str:
    """Return a number and the words for one or for several.

    Examples
    --------
    >>> format_count(1, "row"), format_count(2000, "row"), format_count(2, "row was", "rows were")
    ('1 row', '2,000 rows', '2 rows were')
    """
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def as_plain(decision: Decision | None) -> dict[str, Any] | None:
    """Return a decision for the page."""
    if decision is None:
        return None
    label = None if decision.label is None else cut(str(decision.label))
    return {
        "act": decision.act, "verdict": decision.verdict, "label": label, "who": decision.who,
        "at": decision.at,
    }  # fmt: skip


def is_disputed(decisions: list[Decision]) -> bool:
    """Return whether the latest decisions of several people about a row give it different labels."""
    latest = {one.who: one.label for one in decisions if one.verdict != "skip"}
    return len(set(latest.values())) > 1

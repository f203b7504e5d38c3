"""The issues of a run, the rows they are about, and what was decided: what reviewers have on their desk.

Everything that the page shows comes from here, as plain values; only the excerpts in the list are cut. Issues
are in the order of issues.csv; rows count from 1.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._sentences import CHARACTERS_SHOWN
from subsvms.app.desk.desk import Desk
from subsvms.app.desk.evidence import Column, Columns, shorten
from subsvms.app.desk.filters import STATUSES, Filter
from subsvms.app.desk.progress import OPEN, Progress
from subsvms.app.desk.rows import as_text
from subsvms.app.runs.acts import VERDICTS, Act, Conflict, Decision, Line
from subsvms.app.runs.issue_file import CARRIERS, DIGITS
from subsvms.app.tables.arrow import list_values
from subsvms.app.words import show
from subsvms.exceptions import TableError

PAGE_ROWS = 200  # issues in one answer, at most
VALUES_OFFERED = 100  # of a column, to filter by
PREVIEWED = 2  # columns of a row in the list
DETAILS = ("label_quality", "vote_share", "withstands", "is_label_issue", "reason")


class ReviewDesk(Desk):
    """A run's folder, opened for review.

    folder: made by `subsvms correct`.
    create: as in `Desk`.
    """

    room = "review"

    def __init__(self, folder: str | Path, *, create: bool = True):
        super().__init__(folder, create=create)
        self.lock = threading.Lock()
        self._by_column: dict[str, list[str]] = {}
        self._previewed: dict[int, list[str]] = {}  # by number of the issue, as lists are asked for often
        self.progress = Progress(self.flagged)
        self.about = Columns(self, self.rows, self.compared)
        self.noted = 0  # act up to which the progress is right
        with self._noting():
            pass

    def _find_decidable(self) -> dict[int, int]:
        """Read the issues, and return the place of each row among them."""
        found = self.source.read_issues()
        self.rows = found["row"].to_numpy()
        self.place = {row: i for i, row in enumerate(self.rows.tolist())}
        self.given = self.named.number(self.labels_of(self.rows))
        self.suggested = self.named.number(found["suggested_label"])
        self.columns_of_issues = {name: found[name].to_pylist() for name in DETAILS}
        self.confidence = found["confidence"].to_numpy()
        self.flagged = np.array(self.columns_of_issues["is_label_issue"], dtype=bool)
        self.witnesses = {side: found[side].to_pylist() for side in ("supporting", "opposing")}
        quality = found["label_quality"].to_numpy(zero_copy_only=False)
        self.expected = 1.0 - np.round(quality, DIGITS)  # that the label is wrong; NaN if none was given
        self.compared = [
            [*first, *second]
            for first, second in zip(self.witnesses["supporting"], self.witnesses["opposing"], strict=True)
        ]  # those that speak for the suggestion, and then those that speak against it
        self.carriers: dict[str, list[Any]] = {
            name: found[name].to_pylist() if name in found.column_names else [None] * len(found)
            for name in CARRIERS
        }
        return self.place

    @cached_property
    def names(self) -> list[str]:
        """What the table calls the row of each issue (`--id`); nothing if it has no such column."""
        column = self.options.id_column
        return [] if column is None else self.values_of(column)

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
        """Note rows about which something was decided or taken back."""
        for row in rows:
            if row in self.place:
                self.progress.note(self.place[row], self.decisions.stacks.get(row, []))

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

    def redo(self, who: str) -> list[Decision]:
        """Decide again what this person undid last, and return it."""
        with self.lock, self._noting():
            return self.decisions.redo(who=who)

    def state(self, since: int) -> dict[str, Any]:
        """Return the progress of the review, and the rows of later acts than `since`."""
        last = self.decisions.last
        return {"last": last, "rows": self.decisions.touched(since, PAGE_ROWS), **self.count()}

    @property
    def meta(self) -> dict[str, Any]:
        """What stays the same while the page is open, and who has decided so far."""
        found = self.record.found
        return {
            "title": self.title, "label": self.options.label, "classes": self.classes, "keys": self.classes,
            "columns": self.columns, "long_columns": self.about.long, "issues": len(self),
            "words": found.words, "action": found.action, "folder": str(self.folder),
            "people": sorted(who for who, acts in self.decisions.done.items() if acts),
            "is_parts": self.options.pool_size is not None,
        }  # fmt: skip

    def common_values(self, column: str) -> list[list[Any]]:
        """Return the most common short values of a column in the issues, and how often they occur."""
        short = (value for value in self.values_of(column) if len(value) <= CHARACTERS_SHOWN)
        return [list(pair) for pair in Counter(short).most_common(VALUES_OFFERED)]

    def values_of(self, column: str) -> list[str]:
        """Return the values that a column has in the issues' rows, as text."""
        if column not in self.columns:
            raise TableError(f"There is no column {show(column)} to filter by.")
        with self.lock:
            if column not in self._by_column:
                cells = list_values(self.take(self.rows, [column])[column])
                self._by_column[column] = list(map(as_text, cells))
            return self._by_column[column]

    def find(self, wanted: Filter) -> np.ndarray:
        """Return the places of the issues that match a filter, in its order."""
        shown = np.where(np.isnan(self.expected), self.confidence, self.expected)
        keep = (shown >= wanted.low) & (shown <= wanted.high)
        for name, codes in ((wanted.given, self.given), (wanted.suggested, self.suggested)):
            if name is not None:
                if name not in self.values:
                    raise TableError(f"There is no class {show(name)}.")
                keep &= codes == self.classes.index(name)
        if wanted.status == "disputed":
            keep &= self.progress.disputed
        elif wanted.status != "all":
            keep &= self.progress.status == STATUSES.index(wanted.status)
        if wanted.note is not None:
            keep &= self.progress.noted
        if wanted.who is not None or wanted.verdict is not None:
            keep &= self._find_decided(wanted.who, wanted.verdict)
        if wanted.column is not None and wanted.value is not None:
            keep &= np.array([cell == wanted.value for cell in self.values_of(wanted.column)], dtype=bool)
        if wanted.search:
            keep &= self.source.search(self.rows, wanted.search)
        found = np.flatnonzero(keep)
        key = {
            "worst": -self.expected[found], "row": self.rows[found], "confidence": -self.confidence[found],
            "given": self.given[found], "suggested": self.suggested[found],
        }[wanted.sort]  # fmt: skip
        return found[np.argsort(key, kind="stable")]

    def _find_decided(self, who: str | None, verdict: str | None) -> np.ndarray:
        """Return which issues have a decision of this person, with this verdict, that holds now."""
        found = np.zeros(len(self), dtype=bool)
        for place in np.flatnonzero(self.progress.status != OPEN).tolist():
            latest = self.decisions.latest(int(self.rows[place]))
            if latest is not None:
                found[place] = who in (None, latest.who) and verdict in (None, latest.verdict)
        return found

    def list_issues(self, wanted: Filter, offset: int, most: int) -> tuple[int, list[dict[str, Any]]]:
        """Return how many issues match a filter, and some of them, as a list shows them."""
        found = self.find(wanted)
        return len(found), self.list_briefly(found[offset : offset + most].tolist())

    def list_briefly(self, numbers: list[int]) -> list[dict[str, Any]]:
        """Return what a list shows of some issues."""
        return [
            self.brief(number) | {"preview": preview}
            for number, preview in zip(numbers, self._preview(numbers), strict=True)
        ]

    def brief(self, number: int) -> dict[str, Any]:
        """Return what is known about an issue in short, but for the preview of its values."""
        row, expected = int(self.rows[number]), self.expected[number]
        return {
            "row": row,
            "id": self.names[number] if self.names else None,
            "given": self.classes[self.given[number]] if self.given[number] >= 0 else None,
            "suggested": self.classes[self.suggested[number]],
            "confidence": float(self.confidence[number]),
            "expected": None if np.isnan(expected) else float(expected),
            "flagged": self.columns_of_issues["is_label_issue"][number],
            "decision": as_plain(self.decisions.latest(row)),
        }

    def _preview(self, numbers: list[int]) -> list[list[dict[str, str]]]:
        """Return an excerpt of each issue's long text, or of the two columns that matter most."""
        shown = [self._choose_previewed(number) for number in numbers]
        needed = sorted({name for names in shown for name in names})
        taken = self.take(self.rows[numbers], needed)
        cells = {name: list_values(taken[name]) for name in needed}
        return [
            [{"column": name, "excerpt": shorten(as_text(cells[name][i]))} for name in names]
            for i, names in enumerate(shown)
        ]

    def _choose_previewed(self, number: int) -> list[str]:
        if number not in self._previewed:
            long = [name for name in self.about.long if self.about.uses[name] is not None][:1]
            ranked = [] if long else self.rank_columns(number)
            self._previewed[number] = long or [column.name for column in ranked[:PREVIEWED]]
        return self._previewed[number]

    def rank_columns(self, number: int) -> list[Column]:
        """Return the columns, those first that tell the witnesses of an issue apart."""
        codes = int(self.suggested[number]), int(self.given[number])
        return self.about.rank(number, len(self.witnesses["supporting"][number]), *codes)

    def describe(self, row: int) -> dict[str, Any]:
        """Return all that is known about an issue, and the rows that speak for and against it."""
        if row not in self.place:
            raise KeyError(row)
        number = self.place[row]
        witnesses = self.compared[number]
        columns, labels = self.rank_columns(number), self.labels_of(witnesses)
        codes = int(self.suggested[number]), int(self.given[number])
        rows = [dict(zip(self.shown_columns, line, strict=True)) for line in self.show([row, *witnesses])]
        own, *others = [
            {
                "values": [values[column.name] for column in columns],
                "marks": self.about.mark(values, *codes),
            }
            for values in rows
        ]
        found = [
            {"row": witness, "label": str(label), **other}
            for witness, label, other in zip(witnesses, labels, others, strict=True)
        ]
        n_supporting = len(self.witnesses["supporting"][number])
        history = [as_plain(decision) for decision in self.decisions.stacks.get(row, [])]
        details = {name: values[number] for name, values in self.columns_of_issues.items()}
        return self.list_briefly([number])[0] | details | own | {
            "columns": [column._asdict() for column in columns], "history": history,
            "supporting": found[:n_supporting], "opposing": found[n_supporting:],
            "flips": self.carriers["flips"][number], "carriers": self._list_carriers(number),
        }  # fmt: skip

    def _list_carriers(self, number: int) -> list[dict[str, Any]] | None:
        """Return the labels that carry the suggestion, and their weights; None if they are not known."""
        if self.carriers["flips"][number] is None:
            return None
        rows, weights = self.carriers["carriers"][number], self.carriers["carried"][number]
        return [
            {"row": row, "label": str(label), "weight": weight}
            for row, label, weight in zip(rows, self.labels_of(rows), weights, strict=True)
        ]

    def settle(self, row: int, verdict: str, label: str | None, note: str | None = None) -> Line:
        """Return a decision as it is stored, with the label that the row has then."""
        number = self.place[row]
        names = {"accept": self.suggested[number], "keep": self.given[number]}
        if verdict == "label":
            if not isinstance(label, str) or label not in self.values:
                raise TableError(f"There is no class {show(label)}: choose one of those in the table.")
            for same, code in names.items():  # the suggested label accepts, the given one keeps
                verdict = same if code == self.classes.index(label) else verdict
            return Line(row, verdict, self.values[label], note)
        if verdict in ("skip", "drop"):
            return Line(row, verdict, None, note)
        if verdict not in names:
            raise TableError(f"A verdict must be one of {', '.join(VERDICTS)}; got {show(verdict)}.")
        if names[verdict] < 0:
            raise TableError(
                f"Row {row} has no label to keep: accept the suggestion, give it another label, or skip it."
            )
        return Line(row, verdict, self.labels[int(names[verdict])], note)

    def count(self) -> dict[str, Any]:
        """Return the progress of the review, and how many suggestions are right as far as it shows."""
        return self.progress.describe()


def format_count(number: int, one: str, more: str | None = None) -> str:
    """Return a number and the words for one or for several."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def as_plain(decision: Decision | None) -> dict[str, Any] | None:
    """Return a decision for the page."""
    if decision is None:
        return None
    label = None if decision.label is None else str(decision.label)
    return {
        "act": decision.act, "verdict": decision.verdict, "label": label, "who": decision.who,
        "at": decision.at, "note": decision.note,
    }  # fmt: skip

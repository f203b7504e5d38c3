"""The issues of a run, the rows they are about, and what was decided: what reviewers have on their desk.

Everything that the page shows comes from here, as plain values; only the excerpts in the list are cut. Issues
are in the order of issues.csv; rows count from 1.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.desk.evidence import Columns, shorten
from subsvms.app.desk.opened import Desk
from subsvms.app.desk.rows import as_text
from subsvms.app.desk.standing import DECIDED, OPEN, Progress
from subsvms.app.looks import mark_classes
from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import VERDICTS, Act, Conflict, Decided, Decision
from subsvms.app.runs.parquet_files import DIGITS, ODDS, SIDES
from subsvms.app.tables.arrow import list_values
from subsvms.exceptions import CHARACTERS_SHOWN, TableError

PAGE_ROWS = 200  # issues in one answer, at most
VALUES_OFFERED = 100  # of a column, to filter by
PREVIEWED = 2  # columns of a row in the list
DETAILS = ("confidence", "label_quality", "vote_share", "withstands", "is_label_issue", "reason")
SORTS = ("worst", "row", "confidence", "given", "suggested")
STATUSES = ("open", "decided", "skipped", "disputed", "second", "all")


@dataclass(frozen=True)
class Filter:
    """Which issues to show, and in which order."""

    given: str | None = None  # names of classes
    suggested: str | None = None
    low: float = 0.0  # range of how likely the given label is wrong; 0 where there is none
    high: float = 1.0
    # one of STATUSES: disputed are rows that people decided differently, and nobody settled since; second
    # are those that others decided, for another opinion
    status: str = "all"
    who: str | None = None  # whose decision holds now, and which
    verdict: str | None = None
    note: str | None = None  # {"yes"} or None: only rows with a note of anybody
    column: str | None = None  # a column, and the value that rows must have in it
    value: str | None = None
    search: str = ""  # text that a row must contain, in any column
    sort: str = "worst"  # one of SORTS: first those whose given label is most likely wrong

    def __post_init__(self) -> None:
        for what, value, known in (
            ("The status", self.status, STATUSES), ("The order", self.sort, SORTS),
            ("A verdict", self.verdict, VERDICTS), ("The filter of notes", self.note, ("yes",)),
        ):  # fmt: skip
            if value is not None and value not in known:
                raise TableError(f"{what} must be one of {', '.join(known)}; got {show(value)}.")
        if not 0 <= self.low <= self.high <= 1:
            raise TableError(f"The range must lie between 0 and 1; got {self.low} to {self.high}.")


class ReviewDesk(Desk):
    """A run's folder, opened for review; parameters as in `Desk`."""

    room = page = "review"

    def __init__(self, folder: str | Path, *, create: bool = True):
        super().__init__(folder, create=create)
        self.lock = threading.Lock()
        self._by_column: dict[str, list[str]] = {}
        self._previewed: dict[int, list[str]] = {}  # by number of the issue, as lists are asked for often
        self.progress = Progress(self.flagged)
        self.about = Columns(self)
        self.noted = 0  # act up to which the progress is right
        with self._noting():
            pass

    def _find_decidable(self) -> dict[int, int]:
        """Read the issues, and return the place of each row among them."""
        found = self.issues = self.source.read_issues()
        self.rows = found["row"].to_numpy()
        self.place = {row: i for i, row in enumerate(self.rows.tolist())}
        self.given = self.named.number(self.source.labels_of(self.rows))
        self.suggested = self.named.number(found["suggested_label"])
        self.flagged = np.array(found["is_label_issue"].to_pylist(), dtype=bool)
        quality = found["label_quality"].to_numpy(zero_copy_only=False)
        self.expected = 1.0 - np.round(quality, DIGITS)  # that the label is wrong; NaN if none was given
        self.next: list[list[Any] | None] = [None] * len(found)  # the runner-up, and its probability
        if "probability" in found.column_names:
            self.probability = found["probability"].to_numpy()
            pairs = zip(*(found[name].to_pylist() for name in ODDS[1:]), strict=True)
            self.next = [None if p is None else [as_text(label), p] for label, p in pairs]
        else:  # a run of an earlier version
            self.probability = np.fmin(found["confidence"].to_numpy(), self.expected)
        sides = zip(*(found[side].to_pylist() for side in SIDES), strict=True)
        self.compared = [(supporting or [], opposing or []) for supporting, opposing in sides]
        return self.place

    @cached_property
    def names(self) -> list[str]:
        """What the table calls the row of each issue (`--id`); nothing if it has no such column."""
        return [] if self.options.id_column is None else self.values_of(self.options.id_column)

    def __len__(self) -> int:
        return len(self.rows)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note what was read from the file in a block, also if it fails: others may have decided."""
        with self.lock:
            try:
                yield
            finally:
                for row in self.decisions.touched(self.noted, most=None):
                    if row in self.place:
                        self.progress.note(self.place[row], self.decisions.stacks.get(row, []))
                self.noted = self.decisions.last

    def refresh(self) -> None:
        """Read what others decided."""
        with self._noting():
            self.decisions.refresh()

    def decide_many(self, acts: list[Act]) -> list[int | Conflict]:
        """Store acts and return their numbers, or what others decided differently in the meantime."""
        with self._noting():
            return self.decisions.decide_many(acts)

    def undo(self, who: str) -> list[Decision]:
        """Take back what this person did last, and return it."""
        with self._noting():
            return self.decisions.undo(who=who)

    def redo(self, who: str) -> list[Decision]:
        """Decide again what this person undid last, and return it."""
        with self._noting():
            return self.decisions.redo(who=who)

    @property
    def meta(self) -> dict[str, Any]:
        """What stays the same while the page is open, and who has decided so far."""
        found = self.record.found
        return {
            "title": self.title, "label": self.options.label, "classes": self.classes, "keys": self.classes,
            "marks": mark_classes(self.classes), "columns": self.columns, "long_columns": self.about.long,
            "issues": len(self), "words": found.words, "action": found.action, "folder": str(self.folder),
            "people": sorted(who for who, acts in self.decisions.done.items() if acts),
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

    def sees(self, row: int, viewer: str | None) -> bool:
        """Return whether a person may know what others decided about a row: after an answer of their own.

        Or if the row is disputed: whoever settles it must know. None is for programs, which see all.
        """
        own = (one.who == viewer and one.verdict != "skip" for one in self.decisions.stacks.get(row, []))
        return viewer is None or any(own) or bool(self.progress.flags["disputed"][self.place[row]])

    def sees_latest(self, row: int, viewer: str | None) -> bool:
        """Return whether a person may know what holds for a row."""
        latest = self.decisions.latest(row)
        return latest is None or latest.who == viewer or self.sees(row, viewer)

    def find(self, wanted: Filter, viewer: str | None = None) -> np.ndarray:
        """Return the places of the issues that match a filter, in its order, as far as a person may know."""
        shown = np.nan_to_num(self.expected)
        keep = (shown >= wanted.low) & (shown <= wanted.high)
        for name, codes in ((wanted.given, self.given), (wanted.suggested, self.suggested)):
            if name is not None:
                keep &= codes == self.find_class(name)
        if wanted.status == "disputed":
            keep &= self.progress.flags["disputed"]
        elif wanted.status == "second":
            keep &= self.progress.status == DECIDED
            keep[keep] = [not self.sees(row, viewer or "") for row in self.rows[keep].tolist()]
        elif wanted.status != "all":
            keep &= self.progress.status == STATUSES.index(wanted.status)
        if wanted.note is not None:
            keep &= self.progress.flags["noted"]
        if wanted.who is not None or wanted.verdict is not None:
            keep &= self._find_decided(wanted.who, wanted.verdict)
        if wanted.note or wanted.who or wanted.verdict:  # which would tell what is hidden
            keep[keep] = [self.sees_latest(row, viewer) for row in self.rows[keep].tolist()]
        if wanted.column is not None and wanted.value is not None:
            keep &= np.array([cell == wanted.value for cell in self.values_of(wanted.column)], dtype=bool)
        if wanted.search:
            keep &= self.source.search(self.rows, wanted.search)
        found = np.flatnonzero(keep)
        key = {
            "worst": -self.expected[found], "row": self.rows[found], "confidence": -self.probability[found],
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

    def summarise(self) -> dict[str, dict[str, Counter[str]]]:
        """Return what was decided: verdicts by person, and what became of labels by class."""
        people, classes = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
        for row, place in self.place.items():
            decision = self.decisions.latest(row)
            if decision is None:
                continue
            people[decision.who][decision.verdict] += 1
            before = self.classes[self.given[place]] if self.given[place] >= 0 else None
            after = before if decision.verdict in ("skip", "drop") else str(decision.label)
            if before is not None:
                moves = {"drop": "out", "skip": "open"}.get(decision.verdict, "from")
                classes[before]["kept" if moves == "from" and after == before else moves] += 1
            if after is not None and after != before:
                classes[after]["to"] += 1
        return {"people": people, "classes": classes}

    def list_briefly(
        self, numbers: list[int], viewer: str | None = None, search: str = ""
    ) -> list[dict[str, Any]]:
        """Return what a list shows of some issues, with excerpts around what was searched for."""
        return [
            self.brief(number, viewer) | {"preview": preview}
            for number, preview in zip(numbers, self._preview(numbers, search), strict=True)
        ]

    def brief(self, number: int, viewer: str | None = None) -> dict[str, Any]:
        """Return what is known about an issue in short, but for the preview of its values.

        Of a decision that the viewer must not know yet, there is the number of its act.
        """
        row, expected = int(self.rows[number]), self.expected[number]
        latest = self.decisions.latest(row)
        decision = _as_plain(latest)
        if latest is not None and not self.sees_latest(row, viewer):
            decision = dict.fromkeys(decision or (), None) | {"act": latest.act, "hidden": True}
        return {
            "row": row, "id": self.names[number] if self.names else None,
            "given": self.classes[self.given[number]] if self.given[number] >= 0 else None,
            "suggested": self.classes[self.suggested[number]], "next": self.next[number],
            "probability": float(self.probability[number]),
            "expected": None if np.isnan(expected) else float(expected),
            "flagged": bool(self.flagged[number]), "decision": decision,
        }  # fmt: skip

    def _preview(self, numbers: list[int], search: str) -> list[list[dict[str, str]]]:
        """Return an excerpt of each issue's long text, or of the two columns that matter most."""
        shown = [self._choose_previewed(number) for number in numbers]
        needed = sorted({name for names in shown for name in names})
        taken = self.take(self.rows[numbers], needed)
        cells = {name: list_values(taken[name]) for name in needed}
        return [
            [{"column": name, "excerpt": shorten(as_text(cells[name][i]), around=search)} for name in names]
            for i, names in enumerate(shown)
        ]

    def _choose_previewed(self, number: int) -> list[str]:
        if number not in self._previewed:
            ranked = [] if self.about.long_used else self.about.rank(number)
            self._previewed[number] = self.about.long_used[:1] or [one.name for one in ranked[:PREVIEWED]]
        return self._previewed[number]

    def describe(self, row: int, viewer: str | None = None) -> dict[str, Any]:
        """Return all that is known about an issue, and the rows that speak for and against it."""
        number, stack = self.place[row], self.decisions.stacks.get(row, [])
        columns, n_supporting = self.about.rank(number), len(self.compared[number][0])
        witnesses = [one for side in self.compared[number] for one in side]
        rows = [dict(zip(self.shown_columns, line, strict=True)) for line in self.show([row, *witnesses])]
        own, *others = [
            {"values": [one[column.name] for column in columns], "marks": self.about.mark(one, number)}
            for one in rows
        ]
        labels, apart = self.source.labels_of(witnesses), self.about.measure([row, *witnesses])
        found = [
            {"row": witness, "label": str(label), "apart": far, **other}
            for witness, label, far, other in zip(witnesses, labels, apart, others, strict=True)
        ]
        (known,) = self.issues.slice(number, 1).to_pylist()
        flips, carriers = known.get("flips"), None  # which large tables and old runs lack
        if flips is not None:
            labels = self.source.labels_of(known["carriers"])
            carriers = [
                {"row": row, "label": str(label), "weight": weight}
                for row, label, weight in zip(known["carriers"], labels, known["carried"], strict=True)
            ]
        return self.list_briefly([number], viewer)[0] | {name: known[name] for name in DETAILS} | own | {
            "columns": [column._asdict() for column in columns],
            "history": [_as_plain(one) for one in stack if one.who == viewer or self.sees(row, viewer)],
            "places": {} if witnesses else self.about.place(number),
            "supporting": found[:n_supporting], "opposing": found[n_supporting:], "flips": flips,
            "carriers": carriers,
        }  # fmt: skip

    def settle(self, row: int, verdict: str, label: str | None, note: str | None = None) -> Decided:
        """Return a decision as it is stored, with the label that the row has then."""
        number = self.place[row]
        names = {"accept": self.suggested[number], "keep": self.given[number]}
        if verdict == "label":
            chosen = self.find_class(label)
            for same, code in names.items():  # the suggested label accepts, the given one keeps
                verdict = same if code == chosen else verdict
            return Decided(row, verdict, self.labels[chosen], note)
        if verdict in ("skip", "drop"):
            return Decided(row, verdict, None, note)
        if verdict not in names:
            raise TableError(f"A verdict must be one of {', '.join(VERDICTS)}; got {show(verdict)}.")
        if names[verdict] < 0:
            raise TableError(
                f"Row {row} has no label to keep: accept the suggestion, give it another label, or skip it."
            )
        return Decided(row, verdict, self.labels[int(names[verdict])], note)


def _as_plain(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    label = None if decision.label is None else str(decision.label)
    names = ("act", "verdict", "who", "at", "note")
    return {"label": label, **{name: getattr(decision, name) for name in names}}

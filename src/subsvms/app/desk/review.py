"""The issues of a run, the rows they are about, and what was decided: what reviewers have on their desk.

Everything that the page shows comes from here, as plain values; only the excerpts in the list are cut. Issues
are in the order of issues.csv; rows count from 1.

Only decisions about a single row are judgements: whoever accepts 273 rows at once, or imports them, has not
looked at each, and nothing follows from that about how many suggestions are right.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subsvms._numbers import lower_limit, upper_limit
from subsvms.app.desk.evidence import Columns, shorten
from subsvms.app.desk.opened import Desk
from subsvms.app.desk.rows import as_text
from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import VERDICTS, Act, Conflict, Decided, Decision
from subsvms.app.runs.parquet_files import DIGITS, SIDES
from subsvms.app.tables.arrow import list_values
from subsvms.exceptions import CHARACTERS_SHOWN, TableError

PAGE_ROWS = 200  # issues in one answer, at most
VALUES_OFFERED = 100  # of a column, to filter by
PREVIEWED = 2  # columns of a row in the list
DETAILS = ("label_quality", "vote_share", "withstands", "is_label_issue", "reason")
SORTS = ("worst", "row", "confidence", "given", "suggested")
STATUSES = ("open", "decided", "skipped", "disputed", "all")
CONFIDENCE = 0.95  # of each end of the expected precision
OPEN, DECIDED, SKIPPED = range(3)


@dataclass(frozen=True)
class Filter:
    """Which issues to show, and in which order."""

    given: str | None = None  # names of classes
    suggested: str | None = None
    # range of the number that is shown: how likely the given label is wrong, or where there is none, how
    # likely the suggested one is right
    low: float = 0.0
    high: float = 1.0
    status: str = "all"  # one of STATUSES: disputed are rows that people decided differently
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


class Standing(NamedTuple):
    """Where one issue stands."""

    status: int  # OPEN, DECIDED or SKIPPED
    # whether the row is left out, has a note of anybody, and was decided differently by several people
    dropped: bool
    noted: bool
    disputed: bool
    # whether somebody who looked at this row alone gave it a label, and whether it was the suggested one
    judged: bool
    accepted: bool
    opinions: dict[str, Any]  # what each person who looked at this row alone decided last


FLAGS = ("dropped", "noted", "disputed", "judged", "accepted")


def assess(stack: Sequence[Decision]) -> Standing:
    """Return where an issue stands, from the decisions that were not taken back, oldest first."""
    if not stack:
        return Standing(OPEN, False, False, False, False, False, {})
    latest = stack[-1]
    last = {one.who: one for one in stack}
    opinions = {one.who: (one.verdict == "drop", one.label) for one in stack if one.verdict != "skip"}
    alone = {one.who: one for one in stack if one.n_rows == 1}
    judgements = [
        one
        for one in stack
        if one is alone.get(one.who) and one.label is not None and last[one.who].label is not None
    ]  # whoever skips the row afterwards, or leaves it out, has withdrawn
    return Standing(
        status=SKIPPED if latest.verdict == "skip" else DECIDED,
        dropped=latest.verdict == "drop",
        noted=any(one.note for one in stack),
        disputed=len(set(opinions.values())) > 1,
        judged=bool(judgements),
        accepted=bool(judgements) and judgements[-1].verdict == "accept",
        opinions={
            who: (one.verdict == "drop", one.label) for who, one in alone.items() if one.verdict != "skip"
        },
    )


class Progress:
    """Where all issues stand.

    suspected: whether the run thinks that the label is wrong: only these are judged.
    """

    def __init__(self, suspected: np.ndarray):
        self.suspected = suspected
        self.status = np.zeros(len(suspected), dtype=np.int8)
        self.flags = {name: np.zeros(len(suspected), dtype=bool) for name in FLAGS}
        self.opinions: dict[int, dict[str, Any]] = {}  # of the issues that were touched
        self.both: Counter[tuple[str, str]] = Counter()  # by pair of people, rows that both decided
        self.same: Counter[tuple[str, str]] = Counter()  # and those that they decided alike

    def note(self, place: int, stack: Sequence[Decision]) -> None:
        """Note the decisions that hold about the issue in a place."""
        standing = assess(stack)
        for sign, opinions in ((-1, self.opinions.get(place, {})), (1, standing.opinions)):
            for pair in combinations(sorted(opinions), 2):
                self.both[pair] += sign
                self.same[pair] += sign * (opinions[pair[0]] == opinions[pair[1]])
        self.opinions[place], self.status[place] = standing.opinions, standing.status
        for name in FLAGS:
            self.flags[name][place] = getattr(standing, name)

    def describe(self) -> dict[str, Any]:
        """Return the counts, how many suggestions are right as far as they show, and the agreement."""
        n_open, n_decided, n_skipped = np.bincount(self.status, minlength=3).tolist()
        dropped, disputed = (int(self.flags[name].sum()) for name in ("dropped", "disputed"))
        judged, accepted = (int((self.flags[name] & self.suspected).sum()) for name in ("judged", "accepted"))
        low, high = _compute_limits(accepted, judged)
        pair = max(self.both, key=self.both.__getitem__, default=None)  # who decided most rows both
        agreement = None
        if pair is not None and self.both[pair]:
            agreement = {"people": list(pair), "both": self.both[pair], "same": self.same[pair]}
        return {
            "issues": len(self.status), "decided": n_decided, "skipped": n_skipped, "dropped": dropped,
            "disputed": disputed, "judged": judged, "accepted": accepted, "open": n_open, "low": low,
            "high": high, "agreement": agreement,
        }  # fmt: skip


@lru_cache
def _compute_limits(accepted: int, judged: int) -> tuple[float | None, float | None]:
    if judged == 0:
        return None, None
    return float(lower_limit(accepted, judged, CONFIDENCE)), float(upper_limit(accepted, judged, CONFIDENCE))


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
        self.confidence = found["confidence"].to_numpy()
        quality = found["label_quality"].to_numpy(zero_copy_only=False)
        self.expected = 1.0 - np.round(quality, DIGITS)  # that the label is wrong; NaN if none was given
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
            "columns": self.columns, "long_columns": self.about.long, "issues": len(self),
            "words": found.words, "action": found.action, "folder": str(self.folder),
            "people": sorted(who for who, acts in self.decisions.done.items() if acts),
            "is_parts": self.in_parts,
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
                self.read_label(name)
                keep &= codes == self.classes.index(name)
        if wanted.status == "disputed":
            keep &= self.progress.flags["disputed"]
        elif wanted.status != "all":
            keep &= self.progress.status == STATUSES.index(wanted.status)
        if wanted.note is not None:
            keep &= self.progress.flags["noted"]
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
            "row": row, "id": self.names[number] if self.names else None,
            "given": self.classes[self.given[number]] if self.given[number] >= 0 else None,
            "suggested": self.classes[self.suggested[number]], "confidence": float(self.confidence[number]),
            "expected": None if np.isnan(expected) else float(expected),
            "flagged": bool(self.flagged[number]), "decision": _as_plain(self.decisions.latest(row)),
        }  # fmt: skip

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
            ranked = [] if long else self.about.rank(number)
            self._previewed[number] = long or [column.name for column in ranked[:PREVIEWED]]
        return self._previewed[number]

    def describe(self, row: int) -> dict[str, Any]:
        """Return all that is known about an issue, and the rows that speak for and against it."""
        number = self.place[row]
        columns, n_supporting = self.about.rank(number), len(self.compared[number][0])
        witnesses = [one for side in self.compared[number] for one in side]
        rows = [dict(zip(self.shown_columns, line, strict=True)) for line in self.show([row, *witnesses])]
        own, *others = [
            {"values": [one[column.name] for column in columns], "marks": self.about.mark(one, number)}
            for one in rows
        ]
        found = [
            {"row": witness, "label": str(label), **other}
            for witness, label, other in zip(witnesses, self.source.labels_of(witnesses), others, strict=True)
        ]
        (known,) = self.issues.slice(number, 1).to_pylist()
        flips, carriers = known.get("flips"), None  # which large tables and old runs lack
        if flips is not None:
            labels = self.source.labels_of(known["carriers"])
            carriers = [
                {"row": row, "label": str(label), "weight": weight}
                for row, label, weight in zip(known["carriers"], labels, known["carried"], strict=True)
            ]
        return self.list_briefly([number])[0] | {name: known[name] for name in DETAILS} | own | {
            "columns": [column._asdict() for column in columns],
            "history": [_as_plain(decision) for decision in self.decisions.stacks.get(row, [])],
            "supporting": found[:n_supporting], "opposing": found[n_supporting:], "flips": flips,
            "carriers": carriers,
        }  # fmt: skip

    def settle(self, row: int, verdict: str, label: str | None, note: str | None = None) -> Decided:
        """Return a decision as it is stored, with the label that the row has then."""
        number = self.place[row]
        names = {"accept": self.suggested[number], "keep": self.given[number]}
        if verdict == "label":
            chosen = self.read_label(label)
            for same, code in names.items():  # the suggested label accepts, the given one keeps
                verdict = same if code == self.classes.index(str(label)) else verdict
            return Decided(row, verdict, chosen, note)
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

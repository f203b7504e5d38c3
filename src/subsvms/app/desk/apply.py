"""Write the table with the labels that people decided, in the format of the original.

Rows that nobody decided keep their given label, or follow the suggestion where the run flagged them or filled
a label in. If there is an audit, they follow the audit: its claim compares with the given labels, so no other
suggestion is followed, and only missing labels may be filled in. Rows that people left out are not written.
"""

import shlex
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from operator import ne
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._sentences import Sentence, join_sentences
from subsvms.app.desk.result import Result, read_result, write_section
from subsvms.app.desk.review import ReviewDesk, format_count
from subsvms.app.names import CORRECTED, FINAL
from subsvms.app.runs.final import check_final, write_final
from subsvms.app.runs.folder import prepare_place
from subsvms.app.runs.options import write_command
from subsvms.app.runs.outputs import get_ending, show_given
from subsvms.app.tables.files import find_output_format
from subsvms.app.tables.table import keep_rows, write_table
from subsvms.app.words import show
from subsvms.exceptions import TableError

UNDECIDED = ("keep", "suggestion")


@dataclass(frozen=True)
class Applied:
    """A table with the labels that people decided."""

    path: Path
    n_rows: int  # rows that are written, and those whose label people decided
    n_decided: int
    # issues that nobody decided: those that follow the suggestion, and those that stay as they were given
    n_followed: int
    n_kept: int
    n_changed: int  # labels that differ from the given ones
    n_answered: int = 0  # other rows that people answered in an audit, and labels that the audit changed
    n_unseen: int = 0
    remarks: tuple[str, ...] = ()  # what may be said about them, in sentences
    n_dropped: int = 0  # rows that people left out

    @property
    def decided(self) -> bool:
        """Whether people decided or answered anything that is in the table."""
        return bool(self.n_decided or self.n_answered or self.n_unseen or self.n_dropped)

    @property
    def sources(self) -> str:
        """Where the labels come from, as far as people and audits gave them."""
        if not self.decided:
            return "nobody has decided on a row"
        parts = []
        if self.n_decided or not (self.n_answered or self.n_unseen):
            parts.append(f"{format_count(self.n_decided, 'row was', 'rows were')} decided by people")
        if self.n_answered:
            was = "" if parts else " was" if self.n_answered == 1 else " were"
            parts.append(f"{self.n_answered:,}{was} answered in the audit")
        if self.n_unseen:
            parts.append(f"{self.n_unseen:,} {'was' if self.n_unseen == 1 else 'were'} changed by it unseen")
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

    @property
    def changed(self) -> str:
        """How many labels differ from the given ones."""
        differ = "differs from the one given" if self.n_changed == 1 else "differ from those given"
        return f"{self.n_changed:,} of {format_count(self.n_rows, 'label')} {differ}"

    @property
    def words(self) -> str:
        """What became of the labels, in sentences."""
        followed = format_count(self.n_followed, "follows the suggestion", "follow the suggestion")
        kept = format_count(self.n_kept, "keeps the label as given", "keep the label as given")
        rest = " and ".join([followed] * (self.n_followed > 0) + [kept] * (self.n_kept > 0))
        dropped = format_count(self.n_dropped, "row is left out.", "rows are left out.")
        out = f" {dropped}" * (self.n_dropped > 0)
        others = "other issues" if self.decided else "issues"
        return f"{self.changed}: {self.sources}.{rest and f' Of the {others}, {rest}.'}{out}"

    def __str__(self) -> str:
        return join_sentences([self.words, f"The table is in {self.path}.", *self.remarks])


@dataclass(frozen=True)
class Labels:
    """The labels that a table gets, by row from 1, and where they come from; a later field counts more."""

    followed: dict[int, Any]  # suggestions
    unseen: dict[int, Any]  # changed by an audit without anybody having seen them
    answered: dict[int, Any]  # given by people in an audit, or for an estimate
    decided: dict[int, Any]  # decided by people in a review
    dropped: set[int]  # rows that people left out

    @classmethod
    def find(cls, desk: ReviewDesk, result: Result | None, undecided: str) -> "Labels":
        """Return the labels that follow from all that people did."""
        settled = desk.settled
        dropped = {row for row, label in settled.items() if label is None}

        def keep(labels: dict[int, Any]) -> dict[int, Any]:
            return {row: label for row, label in labels.items() if row not in dropped}

        followed = follow_suggestions(desk, result) if undecided == "suggestion" else {}
        unseen, answered = ({}, {}) if result is None else (result.unseen, result.answered)
        return cls(keep(followed), keep(unseen), keep(answered), keep(settled), dropped)

    @property
    def given(self) -> dict[int, Any]:
        """The labels that people gave, or an audit."""
        return self.unseen | self.answered | self.decided

    @property
    def all(self) -> dict[int, Any]:
        """The new label of each row that has one."""
        return self.followed | self.given

    @property
    def known(self) -> set[int]:
        """The rows about which people or an audit said something."""
        return self.dropped | self.given.keys()


def follow_suggestions(desk: ReviewDesk, result: Result | None) -> dict[int, Any]:
    """Return the suggestions to follow where nobody decides; after an audit, only for missing labels."""
    fills = desk.options.fill_missing and desk.record.found.explained
    is_free = result is None or result.turns is None
    acted = np.flatnonzero((desk.flagged & is_free) | ((desk.given < 0) & fills))
    return {int(desk.rows[i]): desk.labels[desk.suggested[i]] for i in acted}


def apply_labels(
    folder: str | Path, *, undecided: str = "keep", output: Path | None = None, force: bool = False
) -> Applied:
    """Write the table with the labels that people decided or answered, and those that an audit changes."""
    if undecided not in UNDECIDED:
        raise TableError("{undecided} must be keep or suggestion; got {got}.", got=show(undecided))
    with closing(ReviewDesk(folder, create=False)) as desk:
        path = choose_output(desk, output, force=force)
        result = read_result(desk)
        labels = Labels.find(desk, result, undecided)
        check_labels(desk, labels, result, undecided)
        n_changed = write_decided(desk, path, labels.all, labels.dropped, force=force)
        claims = [] if result is None else result.claims
        remarks = (*claims, *remark_on_audit(desk, labels, result))
        done = count_labels(desk, path, labels, n_changed, remarks)
        try:  # the report follows the table: without it, nothing was applied
            write_section(desk, result, describe_final(desk, done, claims, undecided))
        except TableError as error:
            return replace(done, remarks=(*done.remarks, error.args[0]))
        return done


def check_labels(desk: ReviewDesk, labels: Labels, result: Result | None, undecided: str) -> None:
    """Raise an error if there is nothing to write, or a decision about a row that does not exist."""
    n_rows = desk.source.n_rows
    if not labels.known and undecided == "keep":
        raise TableError(format_nothing_decided(desk.folder, result is not None and result.turns is not None))
    for row in (*labels.all, *labels.dropped):
        if not 1 <= row <= n_rows:
            raise TableError(f"A decision is about row {row}, but the table has {n_rows} rows.")
    if len(labels.dropped) == n_rows:
        raise TableError("All rows are left out, so nothing was written: decide otherwise about some.")


def remark_on_audit(desk: ReviewDesk, labels: Labels, result: Result | None) -> list[str]:
    """Return what to know beside the claim: which rows were decided later, or are not as the run has them."""
    if result is None or result.turns is None:
        return []
    remarks = []
    later = len(desk.decisions.given_labels.keys() & (result.unseen.keys() | result.answered.keys()))
    if later:
        remarks.append(
            f"That is about the labels before {format_count(later, 'decision')} about the same rows on the "
            "review page, which count more."
        )
    undone = set(desk.rows[desk.flagged].tolist()) - labels.known
    if undone and desk.options.action == "fix":
        remarks.append(format_undone(len(undone)))
    return remarks


def count_labels(
    desk: ReviewDesk, path: Path, labels: Labels, n_changed: int, remarks: tuple[str, ...]
) -> Applied:
    """Return what became of the labels."""
    followed = labels.followed.keys() - labels.known
    return Applied(
        path,
        n_rows=desk.source.n_rows - len(labels.dropped),
        n_decided=len(labels.decided),
        n_followed=len(followed),
        n_kept=len(desk.place.keys() - labels.known - followed),
        n_changed=n_changed,
        n_answered=len(labels.answered.keys() - labels.decided.keys()),
        n_unseen=len(labels.unseen.keys() - labels.decided.keys()),
        remarks=remarks,
        n_dropped=len(labels.dropped),
    )


def choose_output(desk: ReviewDesk, output: Path | None, *, force: bool) -> Path:
    """Return where to write the table, a file or, in parts, a folder, or raise an error if it cannot be."""
    if desk.in_parts:
        path = desk.check_folder(Path(output or desk.folder / FINAL))
        prepare_place(path, force=force, check=check_final)
        return path
    path = Path(output or desk.folder / f"{FINAL}{get_ending(desk.table)}")
    find_output_format(path)
    desk.check_output(path, force=force)
    return path


def write_decided(
    desk: ReviewDesk, path: Path, changes: dict[int, Any], dropped: set[int], *, force: bool
) -> int:
    """Write the table with other labels in some rows, and without some; return how many labels differ."""
    if desk.in_parts:
        return write_final(desk.record, path, changes, dropped, force=force)
    table = desk.table
    labels, keep = table.labels.copy(), np.ones(len(table), dtype=bool)
    for row, label in changes.items():
        labels[row - 1] = label
    keep[[row - 1 for row in dropped]] = False
    kept = table if keep.all() else keep_rows(table, keep)
    write_table(kept, path, labels[keep], show_given(kept), force=force)
    return int(sum(map(ne, labels[keep], table.labels[keep])))


def format_nothing_decided(folder: Path, audited: bool) -> str:
    """Return that nothing was written, and what to do, in a sentence."""
    command = shlex.quote(str(folder))
    if audited:
        return (
            f"Nothing has been answered in the audit of {str(folder)!r}, so nothing was written: go on with "
            f"subsvms audit {command}, or decide with subsvms review {command}."
        )
    return Sentence(
        "Nothing has been decided in {folder!r}, so nothing was written: decide with subsvms review "
        "{command}, or follow the suggestions with {undecided=suggestion}.",
        folder=str(folder), command=command,
    )  # fmt: skip


def format_undone(n_rows: int) -> str:
    """Return that labels which the run changed are as given, because the audit did not confirm them."""
    changed = format_count(n_rows, "label that the run changed is", "labels that the run changed are")
    return f"{changed} as given here: the audit did not confirm {'it' if n_rows == 1 else 'them'}."


def describe_final(desk: ReviewDesk, done: Applied, claims: Sequence[str], undecided: str) -> dict[str, Any]:
    """Return what the report says about the final table: plain values."""
    inside = done.path.resolve().parent == desk.folder.resolve()
    folder = str(desk.folder)
    options: dict[str, Any] = {} if undecided == "keep" else {"undecided": undecided}
    options |= {} if inside else {"output": done.path}
    return {
        "file": done.path.name if inside else str(done.path),
        "title": desk.title,
        "before": CORRECTED if desk.in_parts else f"{CORRECTED}{get_ending(desk.table)}",
        "changed": done.changed,
        "words": done.words,
        "decided": done.decided,
        "remarks": [remark for remark in done.remarks if remark not in claims],
        "review": write_command("review", folder),
        "apply": write_command("apply", folder, **options, force=True),
    }

"""Write the table with the labels that people decided, in the format of the original.

Rows that nobody decided keep their given label, or follow the suggestion where the run flagged them or filled
a label in. If there is an audit, they follow the audit: its claim compares with the given labels, so no other
suggestion is followed, and only missing labels may be filled in. Rows that people left out are not written.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from operator import ne
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._sentences import Sentence
from subsvms.app.desk.review import ReviewDesk, format_count
from subsvms.app.names import FINAL
from subsvms.app.runs.final import check_final, write_final
from subsvms.app.runs.folder import prepare_place
from subsvms.app.runs.outputs import get_ending, show_given
from subsvms.app.tables.table import find_output_format, keep_rows, write_table
from subsvms.app.words import show
from subsvms.exceptions import TableError

UNDECIDED = ("keep", "suggestion")


@dataclass(frozen=True)
class Audited:
    """What people answered in an audit or for an estimate, and what follows; rows count from 1."""

    # labels that people gave, and labels that an audit changes without their having been seen
    answered: dict[int, Any]
    unseen: dict[int, Any]
    claims: tuple[str, ...]  # what may be said, in sentences
    complete: bool  # whether there is an audit: then no other suggestions are followed


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
        return " ".join([self.words, f"The table is in {self.path}.", *self.remarks])


def apply_decisions(
    folder: str | Path,
    *,
    undecided: str = "keep",
    output: Path | None = None,
    force: bool = False,
    find_audited: Callable[[ReviewDesk], Audited | None] = lambda desk: None,
) -> Applied:
    """Write the table with the labels that people decided."""
    if undecided not in UNDECIDED:
        raise TableError("{undecided} must be keep or suggestion; got {got}.", got=show(undecided))
    desk = ReviewDesk(folder, create=False)
    try:
        path = choose_output(desk, output, force=force)
        audited = find_audited(desk) or Audited({}, {}, (), complete=False)
        decided, dropped, followed = desk.decided_labels, desk.dropped, {}
        answered, unseen = (
            {row: label for row, label in some.items() if row not in dropped}
            for some in (audited.answered, audited.unseen)
        )
        answers = unseen | answered
        if not decided and not dropped and not answers and undecided == "keep":
            raise TableError(format_nothing_decided(desk.folder, audited.complete))
        if undecided == "suggestion":
            fills = desk.options.fill_missing and desk.record.found.explained
            acted = np.flatnonzero((desk.flagged & (not audited.complete)) | ((desk.given < 0) & fills))
            followed = {int(desk.rows[i]): desk.labels[desk.suggested[i]] for i in acted}
        changes = followed | answers | decided
        for row in (*changes, *dropped):
            if not 1 <= row <= desk.source.n_rows:
                raise TableError(
                    f"A decision is about row {row}, but the table has {desk.source.n_rows} rows."
                )
        if len(dropped) == desk.source.n_rows:
            raise TableError("All rows are left out, so nothing was written: decide otherwise about some.")
        n_changed = write_decided(desk, path, changes, dropped, force=force)
        known = dropped | decided.keys() | answers.keys()
        followed = {row: label for row, label in followed.items() if row not in known}
        remarks = list(audited.claims)
        if audited.complete and desk.options.action == "fix":
            undone = set(desk.rows[desk.flagged].tolist()) - known
            remarks += [format_undone(len(undone))] * bool(undone)
        return Applied(
            path, desk.source.n_rows - len(dropped), len(decided), len(followed),
            n_kept=len(desk.place.keys() - known - followed.keys()),
            n_changed=n_changed,
            n_answered=len(answered.keys() - decided.keys()),
            n_unseen=len(unseen.keys() - decided.keys()),
            remarks=tuple(remarks), n_dropped=len(dropped),
        )  # fmt: skip
    finally:
        desk.decisions.close()


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

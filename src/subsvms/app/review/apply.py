"""Write the table with the labels that people decided, in the format of the original.

Rows that nobody decided keep their given label, or follow the suggestion where the run flagged them or filled
a label in. If there is an audit, they follow the audit: its claim compares with the given labels, so no other
suggestion is followed, and only missing labels may be filled in.
"""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.review.desk import Desk, format_count
from subsvms.app.runs.outputs import get_ending, show_given
from subsvms.app.tables.files import show
from subsvms.app.tables.table import find_output_format, write_table
from subsvms.exceptions import TableError

UNDECIDED = ("keep", "suggestion")


@dataclass(frozen=True)
class Audited:
    """What people answered in an audit or for an estimate, and what follows; rows count from 1.

    Attributes
    ----------
    answered, unseen : dict of int to label
        Labels that people gave, and labels that an audit changes without their having been seen.
    claims : tuple of str
        What may be said, in sentences.
    complete : bool
        Whether there is an audit: then no other suggestions are followed.
    """

    answered: dict[int, Any]
    unseen: dict[int, Any]
    claims: tuple[str, ...]
    complete: bool


@dataclass(frozen=True)
class Applied:
    """A table with the labels that people decided.

    Attributes
    ----------
    path : Path
    n_rows, n_decided : int
        Rows of the table, and those that people decided.
    n_followed, n_kept : int
        Issues that nobody decided: those that follow the suggestion, and those that stay as they were given.
    n_changed : int
        Labels that differ from the given ones.
    n_answered, n_unseen : int
        Other rows that people answered in an audit, and labels that the audit changed.
    remarks : tuple of str
        What may be said about them, in sentences.
    """

    path: Path
    n_rows: int
    n_decided: int
    n_followed: int
    n_kept: int
    n_changed: int
    n_answered: int = 0
    n_unseen: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def sources(self) -> str:
        """Where the labels come from, as far as people and audits gave them."""
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
        return f"{self.changed}: {self.sources}.{rest and f' Of the other issues, {rest}.'}"

    def __str__(self) -> str:
        return " ".join([self.words, f"The table is in {self.path}.", *self.remarks])


def apply_decisions(
    folder: str | Path,
    *,
    undecided: str = "keep",
    output: Path | None = None,
    force: bool = False,
    find_audited: Callable[[Desk], Audited | None] = lambda desk: None,
) -> Applied:
    """Write the table with the labels that people decided.

    Parameters
    ----------
    folder : path-like
        Of a run.
    undecided : {"keep", "suggestion"}
        The label of rows that nobody decided.
    output : Path, optional
        By default final.csv in the folder, in the format of the table.
    force : bool
        Whether to replace an existing file.
    find_audited : callable
        Returns what an audit found about the folder; decisions count more.

    Returns
    -------
    Applied
    """
    if undecided not in UNDECIDED:
        raise TableError(f"--undecided must be keep or suggestion; got {show(undecided)}.")
    desk = Desk(folder)
    try:
        table = desk.table
        path = output or desk.folder / f"final{get_ending(desk.table)}"
        find_output_format(path)
        desk.check_output(path, force=force)
        audited = find_audited(desk) or Audited({}, {}, (), complete=False)
        decided, followed = desk.decided_labels, {}
        answers = audited.unseen | audited.answered
        if not decided and not answers and undecided == "keep":
            raise TableError(format_nothing_decided(desk.folder, audited.complete))
        if undecided == "suggestion":
            fills = desk.options.fill_missing and desk.record.found.explained
            acted = np.flatnonzero((desk.flagged & (not audited.complete)) | ((desk.given < 0) & fills))
            followed = {int(desk.rows[i]): desk.labels[desk.suggested[i]] for i in acted}
        labels = table.labels.copy()
        for row, label in (followed | answers | decided).items():
            if not 1 <= row <= len(table):
                raise TableError(f"A decision is about row {row}, but the table has {len(table)} rows.")
            labels[row - 1] = label
        write_table(table, path, labels, show_given(table), force=force)
        followed = {row: label for row, label in followed.items() if row not in answers | decided}
        remarks = list(audited.claims)
        if audited.complete and desk.options.action == "fix":
            undone = set(desk.rows[desk.flagged].tolist()) - decided.keys() - answers.keys()
            remarks += [format_undone(len(undone))] * bool(undone)
        return Applied(
            Path(path), len(table), len(decided), len(followed),
            n_kept=len(desk.place.keys() - decided.keys() - followed.keys() - answers.keys()),
            n_changed=int(sum(new != old for new, old in zip(labels, table.labels, strict=True))),
            n_answered=len(audited.answered.keys() - decided.keys()),
            n_unseen=len(audited.unseen.keys() - decided.keys()),
            remarks=tuple(remarks),
        )  # fmt: skip
    finally:
        desk.decisions.close()


def format_nothing_decided(folder: Path, audited: bool) -> str:
    """Return that nothing was written, and what to do, in a sentence.

    Parameters
    ----------
    folder : Path
        Of the run.
    audited : bool
        Whether an audit has begun, though it has no answers.

    Examples
    --------
    >>> format_nothing_decided(Path("a.subsvms"), True).partition(",")[0]
    "Nothing has been answered in the audit of 'a.subsvms'"
    """
    command = shlex.quote(str(folder))
    if audited:
        return (
            f"Nothing has been answered in the audit of {str(folder)!r}, so nothing was written: go on with "
            f"subsvms audit {command}, or decide with subsvms review {command}."
        )
    return (
        f"Nothing has been decided in {str(folder)!r}, so nothing was written: decide with subsvms review "
        f"{command}, or follow the suggestions with --undecided suggestion."
    )


def format_undone(n_rows: int) -> str:
    """Return that labels which the run changed are as given, because the audit did not confirm them.

    Examples
    --------
    >>> format_undone(14)
    '14 labels that the run changed are as given here: the audit did not confirm them.'
    """
    changed = format_count(n_rows, "label that the run changed is", "labels that the run changed are")
    return f"{changed} as given here: the audit did not confirm {'it' if n_rows == 1 else 'them'}."

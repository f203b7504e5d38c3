"""Write the table with the labels that people decided, in the format of the original.

Rows that nobody decided keep their given label, or follow the suggestion where the run flagged them or filled
a label in.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from subsvms.app.review.desk import Desk, format_count
from subsvms.app.runs.outputs import get_ending
from subsvms.app.tables.files import show
from subsvms.app.tables.table import find_output_format, write_table
from subsvms.exceptions import TableError

UNDECIDED = ("keep", "suggestion")


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
    """

    path: Path
    n_rows: int
    n_decided: int
    n_followed: int
    n_kept: int
    n_changed: int

    def __str__(self) -> str:
        changed = "differs from the one given" if self.n_changed == 1 else "differ from those given"
        followed = format_count(self.n_followed, "follows the suggestion", "follow the suggestion")
        kept = format_count(self.n_kept, "keeps the label as given", "keep the label as given")
        rest = " and ".join([followed] * (self.n_followed > 0) + [kept] * (self.n_kept > 0))
        return (
            f"{self.n_changed:,} of {format_count(self.n_rows, 'label')} {changed}: "
            f"{format_count(self.n_decided, 'row was', 'rows were')} decided by people."
            f"{rest and f' Of the other issues, {rest}.'} The table is in {self.path}."
        )


def apply_decisions(
    folder: str | Path, *, undecided: str = "keep", output: Path | None = None, force: bool = False
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
        decided, followed = desk.decided_labels, {}
        if undecided == "suggestion":
            acted = np.flatnonzero(desk.flagged | (desk.given < 0))
            followed = {int(desk.rows[i]): desk.labels[desk.suggested[i]] for i in acted}
        labels = table.labels.copy()
        for row, label in (followed | decided).items():
            if not 1 <= row <= len(table):
                raise TableError(f"A decision is about row {row}, but the table has {len(table)} rows.")
            labels[row - 1] = label
        write_table(table, path, labels, force=force)
        n_changed = int(sum(new != old for new, old in zip(labels, table.labels, strict=True)))
        n_followed = len(followed.keys() - decided.keys())
        n_kept = len(desk.place.keys() - decided.keys() - followed.keys())
        return Applied(Path(path), len(table), len(decided), n_followed, n_kept, n_changed)
    finally:
        desk.decisions.close()

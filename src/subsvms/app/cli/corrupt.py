"""The work of `subsvms corrupt`."""

import inspect
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.adversaries._attacks import ATTACKS
from subsvms.adversaries._attacks import attack as attack_labels
from subsvms.app.options import AttackOptions, Options
from subsvms.app.tables.files import check_target, find_output_format
from subsvms.app.tables.table import LabelledTable, place_beside, read_table, write_table
from subsvms.exceptions import TableError, format_percent, join_sentences


@dataclass(frozen=True, eq=False)
class Corruption:
    """A file whose labels an adversary has changed."""

    table: LabelledTable  # as it was read
    path: Path  # of the changed table
    flipped: np.ndarray  # (n_rows,): rows whose label was changed
    labels: np.ndarray  # (n_rows,): after the attack
    notes: list[str]  # on the labels, and on the features if the attack used them

    def __str__(self) -> str:
        before, after = (map(str, labels[self.flipped]) for labels in (self.table.labels, self.labels))
        moves = sorted(Counter(zip(before, after, strict=True)).items())  # from one class to another
        labelled = int(np.sum(~self.table.missing))
        n = int(self.flipped.sum())
        lines = [f"{n} of {labelled} labels ({format_percent(n / labelled)}) are wrong now, in {self.path}."]
        lines += [f"  {given} -> {new}: {count}" for (given, new), count in moves]
        return join_sentences([*lines, *self.notes], "\n")


def corrupt_file(where: str, options: Options, asked: AttackOptions) -> Corruption:
    """Write a copy of a file in which some labels are wrong. The file itself is not changed."""
    attack, region_class, matrix, clean_column = (
        getattr(asked, name) for name in ("attack", "region_class", "matrix", "clean_column")
    )
    if attack not in ATTACKS:
        raise TableError(
            "{attack} must be one of {known}; got {name!r}.", known=", ".join(ATTACKS), name=attack
        )
    if region_class is not None and attack != "region":
        raise TableError(
            "{region_class} is for the attack 'region' only; the attack is {name!r}: leave it out.",
            name=attack,
        )
    how: dict[str, Any] = {name: getattr(asked, name) for name in ("error_rate", "rho", "alpha")}
    how |= {"matrix": None if matrix is None else parse_matrix(matrix), "random_state": options.random_state}
    table = read_table(where, options.label, **options.reading)
    path = asked.output or place_beside(table, "corrupted")
    find_output_format(path)  # before the attack, which may take minutes
    check_target(path, table.paths, force=asked.force)
    rows = np.flatnonzero(~table.missing)
    X: Any = None
    notes: list[str] = list(table.notes)
    if "X" in inspect.signature(ATTACKS[attack]).parameters:
        from subsvms.app.features.make import make_features

        made = make_features(table, exclude=options.exclude, only=options.only)
        X = made.X[rows]
        notes += made.notes
    if region_class is not None:
        classes = Classes.of(table.classes)
        how["label"] = classes.labels[classes.find_text(region_class, "The class")]
    made_wrong = attack_labels(attack, X, table.labels[rows], **how)
    labels, flipped = table.labels.copy(), np.zeros(len(table), dtype=bool)
    labels[rows], flipped[rows] = made_wrong.labels, made_wrong.flipped
    extra = {clean_column: table.labels} if clean_column is not None else None
    write_table(table, path, labels, extra, force=asked.force)
    if clean_column is not None:
        notes.append(f"Column {clean_column!r} has the clean labels: hide it from the pipeline you test.")
    if not flipped.any():
        notes.append("The budget is less than one row, so no label was changed.")
    return Corruption(table, Path(path), flipped, labels, notes)


def parse_matrix(text: str) -> list[list[float]]:
    """Return the numbers of a matrix that is written on one line."""
    try:
        return [[float(word) for word in line.replace(",", " ").split()] for line in text.split(";")]
    except ValueError:
        raise TableError(
            "{matrix} must be numbers, rows separated by semicolons, as in '0.9 0.1; 0.2 0.8'; got {text!r}.",
            text=text,
        ) from None

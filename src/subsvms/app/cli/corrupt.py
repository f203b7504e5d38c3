"""The work of `subsvms corrupt`."""

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.adversaries._attacks import ATTACKS
from subsvms.adversaries._attacks import attack as attack_labels
from subsvms.app.options import AttackOptions, Options
from subsvms.app.tables.files import check_target, find_output_format
from subsvms.app.tables.table import place_beside, read_table, write_table
from subsvms.exceptions import Sentence, TableError, format_percent, join_sentences


def corrupt_file(where: str, options: Options, asked: AttackOptions) -> Sentence:
    """Write a copy of a file in which some labels are wrong, and return what was done, in words."""
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
    return join_sentences([*format_moves(table.labels, labels, flipped, len(rows), path), *notes], "\n")


def format_moves(
    given: np.ndarray, labels: np.ndarray, flipped: np.ndarray, n_labels: int, path: Path
) -> list[str]:
    """Return how many labels are wrong now in the file at a path, and from which class to which they went."""
    before, after = (map(str, values[flipped]) for values in (given, labels))
    moves, n = Counter(zip(before, after, strict=True)), int(flipped.sum())
    first = f"{n} of {n_labels} labels ({format_percent(n / n_labels)}) are wrong now, in {path}."
    return [first, *(f"  {one} -> {new}: {count}" for (one, new), count in sorted(moves.items()))]


def parse_matrix(text: str) -> list[list[float]]:
    """Return the numbers of a matrix that is written on one line."""
    try:
        return [[float(word) for word in line.replace(",", " ").split()] for line in text.split(";")]
    except ValueError:
        raise TableError(
            "{matrix} must be numbers, rows separated by semicolons, as in '0.9 0.1; 0.2 0.8'; got {text!r}.",
            text=text,
        ) from None

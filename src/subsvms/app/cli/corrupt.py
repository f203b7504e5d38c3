"""The work of `subsvms corrupt`."""

import inspect
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.adversaries._attacks import ATTACKS, attack
from subsvms.app.options import AttackOptions, Options
from subsvms.app.tables.files import check_target, find_output_format
from subsvms.app.tables.table import place_beside, read_table, write_table
from subsvms.exceptions import Sentence, TableError, format_percent, join_sentences


def corrupt_file(where: str, options: Options, asked: AttackOptions) -> Sentence:
    """Write a copy of a file in which some labels are wrong, and return what was done, in words."""
    name = asked.attack
    if name not in ATTACKS:
        words = "{attack} must be one of {known}; got {name!r}."
        raise TableError(words, known=", ".join(ATTACKS), name=name)
    if asked.region_class is not None and name != "region":
        words = "{region_class} is for the attack 'region' only; the attack is {name!r}: leave it out."
        raise TableError(words, name=name)
    how: dict[str, Any] = {
        "error_rate": asked.error_rate, "rho": asked.rho, "alpha": asked.alpha,
        "matrix": None if asked.matrix is None else parse_matrix(asked.matrix),
        "random_state": options.random_state,
    }  # fmt: skip
    table = read_table(where, options.label, **options.reading)
    path = asked.output or place_beside(table, "corrupted")
    find_output_format(path)  # before the attack, which may take minutes
    check_target(path, table.paths, force=asked.force)
    rows = np.flatnonzero(~table.missing)
    X: Any = None
    notes: list[str] = list(table.notes)
    if "X" in inspect.signature(ATTACKS[name]).parameters:
        from subsvms.app.features.make import make_features

        made = make_features(table, exclude=options.exclude, only=options.only)
        X = made.X[rows]
        notes += made.notes
    if asked.region_class is not None:
        classes = Classes.of(table.classes)
        how["label"] = classes.labels[classes.find_text(asked.region_class, "The class")]
    made_wrong = attack(name, X, table.labels[rows], **how)
    labels, flipped = table.labels.copy(), np.zeros(len(table), dtype=bool)
    labels[rows], flipped[rows] = made_wrong.labels, made_wrong.flipped
    extra = None
    if (column := asked.clean_column) is not None:
        extra = {column: table.labels}
        notes.append(f"Column {column!r} has the clean labels: hide it from the pipeline you test.")
    write_table(table, path, labels, extra, force=asked.force)
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

"""From a checked table to a numeric matrix: which columns are used, what they become, and what is odd.

`encoder.py` says how columns become features; ready-made matrices are only scaled.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from subsvms._columns import find_stored
from subsvms.app.features.columns import clean_text, find_meaning, read_column, why_leaking, why_useless
from subsvms.app.features.encoder import fit_encoder
from subsvms.app.features.scalers import ArrayScaler, SparseScaler, load_array
from subsvms.app.tables.files import show, suggest
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import TableError

MIN_CORRELATION = 0.9  # with a class, above which a ready-made feature may give the label away
DROPPED = "Not used: "  # how a note on an omitted column begins
REASONS = {
    "constant": ("hold", "only one value or none"),
    "identifier": ("never repeat", "a value, as identifiers do"),
    "type": ("hold", "values other than numbers, text and dates"),
}


@dataclass(frozen=True, eq=False)
class Features:
    """A numeric matrix, and how it was made.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float64
    names : tuple of str
        The name of each feature, such as "colour=red".
    sources : tuple of str
        The column of the table that each feature was made from.
    notes : tuple of str
        Sentences on what was dropped and what is suspicious.
    transformer : ColumnEncoder, SparseScaler or ArrayScaler
        Its `transform` turns new rows into the same features.
    """

    X: Any
    names: tuple[str, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...]
    transformer: Any


def make_features(
    table: LabelledTable,
    *,
    exclude: Sequence[str] = (),
    only: Sequence[str] = (),
    features: str | os.PathLike | None = None,
) -> Features:
    r"""Turn the columns of a table, except the label, into numeric features.

    Parameters
    ----------
    table : LabelledTable
    exclude : sequence of str
        Columns to leave out.
    only : sequence of str
        The only columns to use. A column named here is used even if it looks like an identifier.
    features : path-like, optional
        An .npy or .npz file with a row of numbers for each row of the table, such as embeddings of texts or
        images. It replaces all columns.

    Returns
    -------
    Features

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from subsvms.app.tables.table import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     rows = [f"{i},{i % 7},{['red', 'blue', ''][i % 3]},{'ab'[i % 2]}" for i in range(40)]
    ...     _ = path.write_text("\n".join(["id,size,colour,y", *rows]))
    ...     made = make_features(read_table(path, "y"))
    >>> made.X.shape, made.names
    ((40, 4), ('size', 'colour=blue', 'colour=red', 'colour=missing'))
    >>> made.notes
    ("Not used: the column 'id' never repeats a value, as identifiers do.",)
    """
    exclude, only = _as_names(exclude, "exclude"), _as_names(only, "only")
    if features is not None:
        if exclude or only:
            raise TableError(
                f"The features in {str(features)!r} replace all columns: leave out exclude and only."
            )
        X = load_array(features, len(table))
        return _add_leak_notes(Features(*ArrayScaler.fit(X, str(features))), table)
    if table.matrix is not None:
        chosen = _choose(_name_columns(table.matrix, [*exclude, *only]), table, exclude, only)
        made = Features(*SparseScaler.fit(table.matrix, [int(name) for name in chosen], table.name))
        return _add_leak_notes(made, table)
    chosen = _choose(table.columns.column_names, table, exclude, only)
    meanings, columns, dropped, notes = _read_columns(table, chosen, only)
    if not columns:
        reasons = "; ".join(dropped) or "it has only the label and excluded columns"
        raise TableError(f"{table.name} has no column to learn from: {reasons}; add columns or embeddings.")
    X, names, sources, encoder = fit_encoder(meanings, columns)
    return Features(X, names, sources, (*(f"{DROPPED}{reason}." for reason in dropped), *notes), encoder)


def _add_leak_notes(made, table):
    """Return ready-made features with a note on each that may give the label away.

    Few can: only those with a correlation of more than 0.9 with a class are examined.
    """
    labels, known = table.codes, ~table.missing
    X = made.X[known]
    spread = _compute_spread(X)
    suspects: set[int] = set()
    for number in range(len(table.classes)):
        own = (labels[known] == number) * 1.0
        covariance = np.asarray(X.T @ (own - own.mean())).ravel() / known.sum()
        suspects |= set(np.flatnonzero(np.abs(covariance) > MIN_CORRELATION * spread * own.std()).tolist())
    notes = []
    columns = made.X.tocsc() if sparse.issparse(made.X) else made.X  # in which a column is quickly found
    for j in sorted(suspects):
        column = columns[:, [j]]
        values = (column.toarray() if sparse.issparse(column) else column).ravel()
        leak = why_leaking(values, labels)
        if leak:
            notes.append(_format_leak(f"feature {show(made.names[j])}", leak))
    return replace(made, notes=(*made.notes, *notes))


def _compute_spread(X):
    """Return the standard deviation of each column."""
    if not sparse.issparse(X):
        return X.std(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))


def _format_leak(what, leak):
    return f"The {what} may give the label away: {leak}; exclude it if it is known only after the label."


def _as_names(names, option):
    if isinstance(names, str):
        raise TableError(f"{option} must be a list of column names; got the text {show(names)}.")
    return list(names)


def _choose(names, table, exclude, only):
    """Return the columns to use, in the order of the table."""
    for option, asked in (("exclude", exclude), ("only", only)):
        for name in asked:
            if option == "only" and name == table.label:
                raise TableError(
                    f"{show(name)} is the label of {table.name}, so it cannot also be a feature."
                )
            if name not in names and name != table.label:
                hint = suggest(name, names) or "."
                raise TableError(f"{option} names {show(name)}, which is not a column of {table.name}{hint}")
    wanted = set(only or names) - set(exclude) - {table.label}
    return [name for name in names if name in wanted]


def _name_columns(X, asked):
    """Return the names of the columns of a CSR matrix that hold something, or that the user asked for."""
    named = {int(name) for name in asked if re.fullmatch("0|[1-9][0-9]{0,18}", name)}
    stored = find_stored(X.indices, X.shape[1]).tolist()
    return [str(j) for j in sorted({*stored, *(j for j in named if j < X.shape[1])})]


def _read_columns(table, chosen, only):
    """Return what the useful columns mean, their values, why others are not used, and notes."""
    meanings, columns, notes = {}, {}, []
    dropped: dict[str, list[str]] = {}
    for name in chosen:
        meaning = find_meaning(table.columns[name], table.decimal_comma)
        if meaning is None:
            dropped.setdefault("type", []).append(name)
            continue
        values = read_column(table.columns[name], meaning)
        why = why_useless(values, name)
        if why == "constant" or (why == "identifier" and name not in only):
            dropped.setdefault(why, []).append(name)
            continue
        notes += _note_odd_cells(table.columns[name], name, meaning, values)
        leak = why_leaking(values, table.codes)
        if leak:
            notes.append(_format_leak(f"column {show(name)}", leak))
        meanings[name], columns[name] = meaning, values
    return meanings, columns, list(_format_dropped(dropped)), notes


def _format_dropped(dropped):
    for reason, names in dropped.items():
        shown = ", ".join(show(name) for name in names[:10]) + ", ..." * (len(names) > 10)
        verb, what = REASONS[reason]
        yield (
            f"the column {shown} {verb}s {what}" if len(names) == 1 else f"the columns {shown} {verb} {what}"
        )


def _note_odd_cells(column, name, meaning, values):
    """Return a note if some of the text in a column of numbers is not a number."""
    if not meaning.pattern:
        return []
    odd = clean_text(column).filter(np.isnan(values)).drop_null().to_pylist()
    if not odd:
        return []
    return [
        f"In the column {show(name)}, {len(odd)} of {len(values)} values, such as {show(odd[0])}, are not "
        "numbers and count as missing."
    ]

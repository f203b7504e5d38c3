"""From a checked table to a numeric matrix: which columns are used, what they become, and what is odd.

`encoder.py` says how columns become features; matrices that come ready made are only scaled.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from subsvms.app.features.columns import (
    clean_text,
    find_meaning,
    find_missing_values,
    read_column,
    why_leaking,
    why_useless,
)
from subsvms.app.features.encoder import fit_encoder
from subsvms.app.features.scalers import ArrayScaler, SparseScaler, load_array
from subsvms.app.tables.csv_text import Delimited
from subsvms.app.tables.files import show, suggest
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import TableError

ALONG = 0.9  # correlation with a class from which on a ready-made feature is suspected to give it away
DROPPED = "Not used: "  # how a note on a column that is left out begins
REASONS = {
    "constant": "holds one value only or nothing",
    "identifier": "never repeats a value, as identifiers do",
    "type": "holds neither numbers, text nor dates",
}


@dataclass(frozen=True, eq=False)
class Features:
    """A numeric matrix, and how it came about.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features), float64
    names : tuple of str
        What each feature is called, such as "colour=red".
    sources : tuple of str
        The column of the table that each feature came from.
    notes : tuple of str
        Sentences on what was dropped, and on what is suspicious.
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
    r"""Turn the columns of a table, but for the label, into numeric features.

    Parameters
    ----------
    table : LabelledTable
    exclude : sequence of str
        Columns to leave out.
    only : sequence of str
        Columns to use, and no others. Named here, even what looks like an identifier is used.
    features : path-like, optional
        An .npy or .npz file with a row of numbers for each row of the table, such as embeddings of texts or
        images. It stands in for all columns.

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
                f"The features in {str(features)!r} stand in for all columns: leave out exclude and only."
            )
        return _warn_of_leaks(
            Features(*ArrayScaler.fit(load_array(features, len(table)), str(features))), table
        )
    if table.matrix is not None:
        chosen = _choose([str(j) for j in range(table.matrix.shape[1])], table, exclude, only)
        made = Features(*SparseScaler.fit(table.matrix, [int(name) for name in chosen], table.name))
        return _warn_of_leaks(made, table)
    chosen = _choose(table.columns.column_names, table, exclude, only)
    meanings, columns, dropped, notes = _read_columns(table, chosen, only)
    if not columns:
        reasons = "; ".join(dropped) or "there are none but the label and those excluded"
        raise TableError(
            f"No column of {table.name} is left to learn from: {reasons}; add some, or embeddings."
        )
    X, names, sources, encoder = fit_encoder(meanings, columns)
    return Features(X, names, sources, (*(f"{DROPPED}{reason}." for reason in dropped), *notes), encoder)


def _warn_of_leaks(made, table):
    """Return ready-made features with a note on each that gives the label away.

    Few can: only one that runs along with a class, with a correlation of 0.9 or more, is looked at closely.
    """
    labels = _number_labels(table)
    known = labels >= 0
    X = made.X[known]
    spread = _find_spread(X)
    suspects: set[int] = set()
    for number in range(len(table.classes)):
        own = (labels[known] == number) * 1.0
        along = np.asarray(X.T @ (own - own.mean())).ravel() / known.sum()
        suspects |= set(np.flatnonzero(np.abs(along) > ALONG * spread * own.std()).tolist())
    notes = []
    for j in sorted(suspects):
        column = made.X[:, [j]]
        values = (column.toarray() if sparse.issparse(column) else column).ravel()
        leak = why_leaking(values, labels)
        if leak:
            notes.append(_tell_leak(f"feature {show(made.names[j])}", leak))
    return replace(made, notes=(*made.notes, *notes))


def _find_spread(X):
    """Return the standard deviation of each column."""
    if not sparse.issparse(X):
        return X.std(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))


def _number_labels(table):
    """Return the class number of each row, -1 where the label is missing."""
    numbers = {label: number for number, label in enumerate(table.classes)}
    return np.array([numbers.get(label, -1) for label in table.labels])


def _tell_leak(what, leak):
    return f"The {what} may give the label away: {leak}; exclude it if it is known only after the label is."


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
                    f"{show(name)} is the label of {table.name}, so it cannot be a feature, too."
                )
            if name not in names and name != table.label:
                hint = suggest(name, names) or "."
                raise TableError(f"{option} names {show(name)}, which is no column of {table.name}{hint}")
    wanted = set(only or names) - set(exclude) - {table.label}
    return [name for name in names if name in wanted]


def _read_columns(table, chosen, only):
    """Return what the useful columns mean, their values, why others are not used, and notes."""
    decimal_comma = isinstance(table.text, Delimited) and table.text.separator == ";"
    labels = _number_labels(table)
    meanings, columns, notes = {}, {}, []
    dropped: dict[str, list[str]] = {}
    for name in chosen:
        meaning = find_meaning(table.columns[name], decimal_comma)
        if meaning is None:
            dropped.setdefault("type", []).append(name)
            continue
        values = read_column(table.columns[name], meaning)
        why = why_useless(values, name)
        if why == "constant" or (why == "identifier" and name not in only):
            dropped.setdefault(why, []).append(name)
            continue
        notes += _find_oddities(table.columns[name], name, meaning, values)
        leak = why_leaking(values, labels)
        if leak:
            notes.append(_tell_leak(f"column {show(name)}", leak))
        meanings[name], columns[name] = meaning, values
    return meanings, columns, list(_tell_dropped(dropped)), notes


def _tell_dropped(dropped):
    for reason, names in dropped.items():
        shown = ", ".join(show(name) for name in names[:10]) + ", ..." * (len(names) > 10)
        one = len(names) == 1
        told = REASONS[reason] if one else f"each {REASONS[reason]}"
        yield f"the column{'' if one else 's'} {shown} {told}"


def _find_oddities(column, name, meaning, values):
    """Return a note if some of the text in a column of numbers is none."""
    if not meaning.pattern:
        return []
    odd = [
        cell
        for cell in clean_text(column).filter(find_missing_values(values)).to_pylist()
        if cell is not None
    ]
    if not odd:
        return []
    return [
        f"In the column {show(name)} {len(odd)} of {len(values)} values, such as {show(odd[0])}, are no "
        "numbers and count as missing."
    ]

"""From a checked table to a numeric matrix: which columns are used, what they become, and what is odd.

`encoder.py` says how columns become features; ready-made matrices are only scaled.
"""

import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from subsvms._columns import find_stored
from subsvms._effort import announce
from subsvms._sentences import Note, Sentence, Setting, join_sentences
from subsvms.app.features.columns import (
    Meaning,
    clean_text,
    find_meaning,
    note_unused,
    read_column,
    why_useless,
)
from subsvms.app.features.encoder import fit_encoder
from subsvms.app.features.leaks import (
    Leak,
    find_leak,
    format_kept,
    format_left_out,
    format_requested,
    is_left_out,
    measure_missed,
)
from subsvms.app.features.scalers import ArrayScaler, SparseScaler, check_array, load_array
from subsvms.app.tables.table import LabelledTable
from subsvms.app.words import show, suggest
from subsvms.exceptions import TableError

MIN_CORRELATION = 0.9  # with a class, above which a ready-made feature may give the label away
REASONS = {
    "constant": ("hold", "only one value or none"),
    "identifier": ("never repeat", Sentence("a value, as identifiers do (to use one: {keep})")),
    "type": ("hold", "values other than numbers, text and dates"),
}


@dataclass(frozen=True, eq=False)
class Features:
    """A numeric matrix, and how it was made."""

    X: Any  # (n_rows, n_features)
    names: tuple[str, ...]  # the name of each feature, such as "colour=red"
    sources: tuple[str, ...]  # the column of the table that each feature was made from
    notes: tuple[Note, ...]  # sentences on what was dropped and what is suspicious
    transformer: Any  # its `transform` turns new rows into the same features
    # columns that are not used, and why: a key of `REASONS`, "leak" if they give the label away, or "asked"
    # if the user left them out
    left_out: dict[str, str] = field(default_factory=dict)
    meanings: dict[str, Meaning | None] = field(default_factory=dict)  # of columns that were looked at

    def over(self, X: Any) -> "Features":
        """Return the same features of other rows."""
        return replace(self, X=X, meanings={})  # more rows may mean more


def make_features(
    table: LabelledTable,
    *,
    exclude: Sequence[str] = (),
    only: Sequence[str] = (),
    keep: Sequence[str] = (),
    features: Any = None,
) -> Features:
    """Turn the columns of a table, except the label, into numeric features.

    Shapes: features (n_rows, n_features).
    """
    exclude, only, keep = (
        _as_names(names, option) for names, option in ((exclude, "exclude"), (only, "only"), (keep, "keep"))
    )
    if features is not None:
        is_file = isinstance(features, str | os.PathLike)
        name = str(features) if is_file else "features"
        if exclude or only or keep:
            raise TableError(
                "The features in {name!r} replace all columns: leave out {exclude}, {only} and {keep}.",
                name=name,
            )
        n_rows = len(table)
        X = load_array(features, n_rows) if is_file else check_array(features, repr(name), n_rows)
        made = Features(*ArrayScaler.fit(X, name))
        return _add_notes(made, format_kept(_find_leaking_features(made, table), "feature"))
    if table.matrix is not None:
        asked = [*exclude, *only, *keep]
        chosen = _choose(_name_columns(table.matrix, asked), table, exclude, only, keep)
        return _scale_columns(table, chosen, {*only, *keep})
    chosen = _choose(table.columns.column_names, table, exclude, only, keep)
    meanings, columns, dropped, notes = _read_columns(table, chosen, {*only, *keep})
    sentences = list(_format_dropped(dropped))
    if not columns:
        reasons = join_sentences(sentences, "; ") or "it has only the label and excluded columns"
        words = "{table} has no column to learn from: {reasons}; add columns or embeddings."
        raise TableError(words, table=table.name, reasons=reasons)
    columns, leaking, more = _leave_out_leaks(table, meanings, columns, {*only, *keep})
    X, names, sources, encoder = fit_encoder({name: meanings[name] for name in columns}, columns)
    left_out = dict.fromkeys(set(table.columns.column_names) - {*chosen, table.label}, "asked")
    left_out |= {name: reason for reason, group in dropped.items() for name in group}
    left_out |= dict.fromkeys(leaking, "leak")
    left_out = {name: left_out[name] for name in table.columns.column_names if name in left_out}
    notes = (*(note_unused("{reason}", reason=reason) for reason in sentences), *notes, *more)
    return Features(X, names, sources, notes, encoder, left_out, meanings)


def _leave_out_leaks(table, meanings, columns, asked):
    """Return the columns that do not give the label away, or are asked for; the others; and notes on them."""
    found = {name: find_leak(values, table.codes) for name, values in columns.items()}
    suspects = {name: leak for name, leak in found.items() if leak is not None}
    if not suspects:
        return columns, {}, []
    others = {name: values for name, values in columns.items() if name not in suspects}
    missed = None
    if others:
        X, *_ = fit_encoder({name: meanings[name] for name in others}, others)
        missed = measure_missed(X, table.codes)
    left_out, notes = _divide(suspects, missed, asked)
    if len(left_out) == len(columns):
        _refuse_leaks(table, left_out)
    columns = {name: values for name, values in columns.items() if name not in left_out}
    return columns, left_out, notes


def _refuse_leaks(table: LabelledTable, left_out: dict[str, Leak]) -> NoReturn:
    """Raise an error about a table whose columns all give the label away."""
    name, leak = next(iter(left_out.items()))
    raise TableError(
        "{table} has no column to learn from: the column {name} gives the label away, for {why}; add "
        "columns, or use it with {keep}.",
        table=table.name, name=show(name), why=leak.words,
    )  # fmt: skip


def _divide(
    suspects: dict[str, Leak], missed: float | None, asked: Container[str]
) -> tuple[dict[str, Leak], list[Note]]:
    """Return the suspected columns that are left out, which are not asked for, and notes on all of them."""
    leaking = {name: leak for name, leak in suspects.items() if is_left_out(leak, missed)}
    left_out = {name: leak for name, leak in leaking.items() if name not in asked}
    requested = {name: leak for name, leak in leaking.items() if name in asked}
    used = {name: leak for name, leak in suspects.items() if name not in leaking and name not in asked}
    return left_out, [*format_left_out(left_out), *format_requested(requested), *format_kept(used)]


def _scale_columns(table, chosen, asked):
    """Return the features of LIBSVM text, without columns that give the label away."""
    made = Features(*SparseScaler.fit(table.matrix, [int(name) for name in chosen], table.name))
    suspects = _find_leaking_features(made, table)
    if not suspects:
        return made
    places = [place for place, name in enumerate(made.names) if name not in suspects]
    missed = measure_missed(made.X[:, places], table.codes) if places else None
    left_out, notes = _divide(suspects, missed, asked)
    if left_out and set(made.names) <= left_out.keys():
        _refuse_leaks(table, left_out)
    if left_out:
        kept = [name for name in chosen if name not in left_out]
        made = Features(*SparseScaler.fit(table.matrix, [int(name) for name in kept], table.name))
        made = replace(made, left_out=dict.fromkeys(left_out, "leak"))
    return _add_notes(made, notes)


def _add_notes(made, notes):
    return replace(made, notes=(*made.notes, *notes))


def _find_leaking_features(made, table) -> dict[str, Leak]:
    """Return the ready-made features that may give the label away.

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
    found = {}
    columns = made.X.tocsc() if sparse.issparse(made.X) else made.X  # in which a column is quickly found
    for j in sorted(suspects):
        column = columns[:, [j]]
        values = (column.toarray() if sparse.issparse(column) else column).ravel()
        leak = find_leak(values, labels)
        if leak:
            found[made.names[j]] = leak
    return found


def _compute_spread(X):
    """Return the standard deviation of each column."""
    if not sparse.issparse(X):
        return X.std(axis=0)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return np.sqrt(np.maximum(np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2, 0.0))


def _as_names(names, option):
    if isinstance(names, str):
        words = "{option} must be a list of column names; got the text {names}."
        raise TableError(words, option=Setting(option), names=show(names))
    return list(names)


def _choose(names, table, exclude, only, keep):
    """Return the columns to use, in the order of the table."""
    for option, asked in (("exclude", exclude), ("only", only), ("keep", keep)):
        for name in asked:
            if option != "exclude" and name == table.label:
                raise TableError(
                    f"{show(name)} is the label of {table.name}, so it cannot also be a feature."
                )
            if name not in names and name != table.label:
                hint = suggest(name, names) or "."
                words = "{option} names {name}, which is not a column of {table}{hint}"
                raise TableError(words, option=Setting(option), name=show(name), table=table.name, hint=hint)
    wanted = set(only or names) - set(exclude) - {table.label}
    return [name for name in names if name in wanted]


def _name_columns(X, asked):
    """Return the names of the columns of a CSR matrix that hold something, or that the user asked for."""
    named = {int(name) for name in asked if re.fullmatch("0|[1-9][0-9]{0,18}", name)}
    stored = find_stored(X.indices, X.shape[1]).tolist()
    return [str(j) for j in sorted({*stored, *(j for j in named if j < X.shape[1])})]


def _read_columns(table, chosen, asked):
    """Return what the columns mean, the values of useful ones, the names of others by reason, and notes."""
    meanings, columns, notes = {}, {}, []
    dropped: dict[str, list[str]] = {}
    for place, name in enumerate(chosen):
        announce("making features", place, len(chosen) + 1)  # the last step is to encode them
        meaning = meanings[name] = find_meaning(table.columns[name], table.decimal_comma)
        if meaning is None:
            dropped.setdefault("type", []).append(name)
            continue
        values = read_column(table.columns[name], meaning)
        why = why_useless(values, name)
        if why == "constant" or (why == "identifier" and name not in asked):
            dropped.setdefault(why, []).append(name)
            continue
        notes += _note_odd_cells(table.columns[name], name, meaning, values)
        columns[name] = values
    return meanings, columns, dropped, notes


def _format_dropped(dropped):
    for reason, names in dropped.items():
        shown = ", ".join(show(name) for name in names[:10]) + ", ..." * (len(names) > 10)
        verb, what = REASONS[reason]
        columns, s = ("column", "s") if len(names) == 1 else ("columns", "")
        yield Sentence(f"the {columns} {{shown}} {verb}{s} {{what}}", shown=shown, what=what)


def _note_odd_cells(column, name, meaning, values):
    """Return a note if some of the text in a column of numbers is not a number."""
    if not meaning.pattern:
        return []
    odd = clean_text(column).filter(np.isnan(values)).drop_null().to_pylist()
    if not odd:
        return []
    words = (
        "In the column {name}, {n} of {n_values} values, such as {odd}, are not numbers and count as missing."
    )
    return [Note("odd_cells", words, name=show(name), n=len(odd), n_values=len(values), odd=show(odd[0]))]

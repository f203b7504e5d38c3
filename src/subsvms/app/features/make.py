"""From a checked table to a numeric matrix: which columns are used, what becomes of each, and what is odd.

`encoder.py` says how columns become features; ready-made matrices are only scaled.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
from scipy import sparse

from subsvms._columns import find_stored
from subsvms._effort import announce
from subsvms.app.features.coders import COMPONENTS, Calendar, Categories, Letters
from subsvms.app.features.columns import (
    MAX_CHARACTERS,
    Meaning,
    clean_text,
    find_meaning,
    note_unused,
    read_column,
    why_useless,
)
from subsvms.app.features.encoder import ColumnEncoder, fit_encoder
from subsvms.app.features.leaks import (
    ANSWERS,
    Leak,
    find_leak,
    is_answer,
    is_left_out,
    measure_missed,
    note_leaks,
)
from subsvms.app.features.scalers import ArrayScaler, SparseScaler, check_array, load_array
from subsvms.app.quoting import show
from subsvms.app.tables.files import check_named
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import Note, Sentence, Setting, TableError, join_sentences, name_few

MIN_CORRELATION = 0.9  # with a class, above which a ready-made feature may give the label away
REASONS = {
    "constant": ("hold", "only one value or none"),
    "identifier": ("never repeat", Sentence("a value, as identifiers do (to use one: {keep})")),
    "type": ("hold", "values other than numbers, text and dates"),
}
USES = {
    "number": ("Numbers", "centred at the median, divided by the range of the middle nine tenths, clipped"),
    Categories: ("Categories", "a feature for each category"),
    Letters: ("Text", f"groups of 2 to 4 letters, condensed to at most {COMPONENTS} features"),
    Calendar: ("Dates", "the time as a number, and the parts of the calendar"),
    "sparse": ("Numbers", "divided by the largest absolute value of the column, so that zeros stay zeros"),
    "array": ("Ready-made features", "centred, and all divided by the same number"),
    "judge": ("Probabilities", "of the judge: rows are alike if they got about the same"),
}
LEFT_OUT = {
    "constant": "only one value, or none",
    "identifier": Sentence("never repeats a value, as identifiers do; {keep} would use it"),
    "type": "values other than numbers, text and dates",
    "leak": Sentence("gives the label away; {keep} would use it"),
    "answers": Sentence("answers of other people about the rows ({annotators})"),
    "asked": "left out by an option",
    "by": Sentence("groups the rows ({by})"),
    "judge": Sentence("probabilities that judge the labels ({pred_probs})"),
    "id": Sentence("names the rows ({id_column})"),
    "groups": Sentence("says which rows belong together ({groups})"),
    "even": "nothing in it varies between rows",
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
    stand_in: bool = False  # whether they are the judge's probabilities, because the table has no features

    def over(self, X: Any) -> "Features":
        """Return the same features of other rows."""
        return replace(self, X=X, meanings={})  # more rows may mean more


def make_features(
    table: LabelledTable, *, exclude: Sequence[str] = (), only: Sequence[str] = (), keep: Sequence[str] = (),
    features: Any = None,
) -> Features:  # fmt: skip
    """Turn the columns of a table, except the label, or ready-made features, into numeric ones."""
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
        return _add_notes(made, note_leaks("possible_leak", _find_leaking_features(made, table), "feature"))
    asked = {*only, *keep}
    if table.matrix is not None:
        chosen = _choose(_name_columns(table.matrix, {*asked, *exclude}), table, exclude, only, keep)
        return _scale_columns(table, chosen, asked)
    chosen = _choose(table.columns.column_names, table, exclude, only, keep)
    free = [name for name in chosen if name not in asked]
    codes, classes, label = table.codes, table.classes, table.label
    answers = [name for name in free if is_answer(table.columns[name], name, codes, classes, label)]
    chosen = [name for name in chosen if name not in answers]
    meanings, columns, dropped, notes = _read_columns(table, chosen, asked)
    sentences = list(_format_dropped(dropped))
    if not columns:
        reasons = join_sentences(sentences, "; ") or "it has only the label and excluded columns"
        words = "{table} has no column to learn from: {reasons}; add columns or embeddings."
        raise TableError(Note("no_features", words, table=table.name, reasons=reasons))
    columns, leaking, more = _leave_out_leaks(table, meanings, columns, asked)
    X, names, sources, encoder = fit_encoder({name: meanings[name] for name in columns}, columns)
    left_out = dict.fromkeys(set(table.columns.column_names) - {*chosen, table.label}, "asked")
    left_out |= dict.fromkeys(answers, "answers")
    left_out |= {name: reason for reason, group in dropped.items() for name in group}
    left_out |= dict.fromkeys(leaking, "leak")
    left_out = {name: left_out[name] for name in table.columns.column_names if name in left_out}
    notes = (*(note_unused("{reason}", reason=reason) for reason in sentences), *notes, *more)
    notes = (*_note_answers(answers, table.label), *notes)
    return Features(X, names, sources, notes, encoder, left_out, meanings)


def _note_answers(names, label):
    if names:
        several = len(names) > 1
        yield Note(
            "answers", ANSWERS, columns="The columns" if several else "The column",
            name=name_few(list(map(show, names))), hold="hold" if several else "holds",
            they="they are" if several else "it is",
            annotators=Setting("annotators", [label, *names]), keep=Setting("keep", names[0]),
            label=Setting("label"),
        )  # fmt: skip


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


def _refuse_leaks(table, left_out) -> NoReturn:
    name, leak = next(iter(left_out.items()))
    raise TableError(
        "{table} has no column to learn from: the column {name} gives the label away, for {why}; add "
        "columns, or use it with {keep}.",
        table=table.name, name=show(name), why=leak.words,
    )  # fmt: skip


def _divide(suspects, missed, asked):
    """Return the suspected columns that are left out, which are not asked for, and notes on all of them."""
    leaking = {name: leak for name, leak in suspects.items() if is_left_out(leak, missed)}
    left_out = {name: leak for name, leak in leaking.items() if name not in asked}
    requested = {name: leak for name, leak in leaking.items() if name in asked}
    used = {name: leak for name, leak in suspects.items() if name not in leaking and name not in asked}
    kinds = {"leak": left_out, "kept_leak": requested, "possible_leak": used}
    return left_out, [note for kind, leaks in kinds.items() for note in note_leaks(kind, leaks)]


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
    """Return the ready-made features that may give the label away: few, which correlate with a class."""
    labels, known = table.codes, ~table.missing
    X = made.X[known]
    if sparse.issparse(X):
        mean, squares = (np.asarray(part.mean(axis=0)).ravel() for part in (X, X.multiply(X)))
        spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
    else:
        spread = X.std(axis=0)
    suspects: set[int] = set()
    for number in range(len(table.classes)):
        own = (labels[known] == number) * 1.0
        covariance = np.asarray(X.T @ (own - own.mean())).ravel() / known.sum()
        suspects |= set(np.flatnonzero(np.abs(covariance) > MIN_CORRELATION * spread * own.std()).tolist())
    found = {}
    columns = made.X.tocsc() if sparse.issparse(made.X) else made.X  # in which a column is quickly found
    for j in sorted(suspects):
        column = columns[:, [j]]
        if leak := find_leak((column.toarray() if sparse.issparse(column) else column).ravel(), labels):
            found[made.names[j]] = leak
    return found


def _as_names(names, option):
    if isinstance(names, str):
        words = "{option} must be a list of column names; got the text {names}."
        raise TableError(words, option=Setting(option), names=show(names))
    return list(names)


def _choose(names, table, exclude, only, keep):
    """Return the columns to use, in the order of the table."""
    known = [name for name in names if name != table.label]
    for option, asked in (("exclude", exclude), ("only", only), ("keep", keep)):
        check_named(asked, known, option, table.name, table.label)
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
        notes += _note_cells(table.columns[name], name, meaning, values)
        columns[name] = values
    return meanings, columns, dropped, notes


def _format_dropped(dropped):
    for reason, names in dropped.items():
        shown = ", ".join(show(name) for name in names[:10]) + ", ..." * (len(names) > 10)
        verb, what = REASONS[reason]
        columns, s = ("column", "s") if len(names) == 1 else ("columns", "")
        yield Sentence(f"the {columns} {{shown}} {verb}{s} {{what}}", shown=shown, what=what)


def _note_cells(column, name, meaning, values):
    """Return notes on text in a column of numbers that is not a number, and on cells that are cut."""
    if meaning.kind != "text" and not (meaning.pattern or meaning.format):
        return []
    from pyarrow import compute

    text, notes = clean_text(column), []
    n_long = compute.sum(compute.equal(compute.utf8_length(text), MAX_CHARACTERS)).as_py()
    if n_long:
        words = "Of {n:,} of the cells of {name}, only the first {most:,} characters are looked at."
        notes = [Note("long_cells", words, name=show(name), most=MAX_CHARACTERS, n=n_long)]
    odd = text.filter(np.isnan(values)).drop_null().to_pylist() if meaning.pattern else []
    if not odd:
        return notes
    words = (
        "In the column {name}, {n} of {n_values} values, such as {odd}, are not numbers and count as missing."
    )
    values = {"name": show(name), "n": len(odd), "n_values": len(values), "odd": show(odd[0])}
    return [*notes, Note("odd_cells", words, **values)]


def describe_columns(features: Features, asked: Mapping[Any, str] | None = None) -> list[dict[str, Any]]:
    """Return what became of the columns, those with the same use together; `asked` says what some are for."""
    counts = Counter(features.sources)
    used: dict[tuple[str, str], list[list[Any]]] = {}
    left_out = {name: (asked or {}).get(name, why) for name, why in features.left_out.items()}
    if isinstance(features.transformer, ColumnEncoder):
        for recipe in features.transformer.recipes:
            if counts[recipe.name]:
                use = USES["number" if recipe.coder is None else type(recipe.coder)]
                used.setdefault(use, []).append([recipe.name, counts[recipe.name]])
            else:
                left_out[recipe.name] = "even"
    else:
        kind = "array" if isinstance(features.transformer, ArrayScaler) else "sparse"
        kind = "judge" if features.stand_in else kind
        used[USES[kind]] = [[name, count] for name, count in counts.items()]
    order = sorted(used, key=list(USES.values()).index)
    found: list[dict[str, Any]] = [{"use": use, "how": how, "columns": used[use, how]} for use, how in order]
    for why in LEFT_OUT:
        names = [[name, 0] for name, reason in left_out.items() if reason == why]
        found += [{"use": None, "why": why, "how": LEFT_OUT[why], "columns": names}] * bool(names)
    return found

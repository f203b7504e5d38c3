"""One run over a table: judge its labels, and keep what was found. Nothing is written here.

A run is determined by its options and the bytes of its files; the number of threads changes no bit.
"""

import os
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms._progress import announce
from subsvms._sentences import Note, Setting
from subsvms._typing import Table
from subsvms._validation import check_table
from subsvms.app.features.columns import find_meaning, note_unused, read_column
from subsvms.app.features.make import Features, make_features
from subsvms.app.runs.options import Options
from subsvms.app.runs.origins import Origin, find_origins, format_origins
from subsvms.app.runs.tally import Group, Tally, group_noise, learn_grouping
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.table import LabelledTable
from subsvms.app.words import show, suggest
from subsvms.correction._learn import Learned, Sample, add_witnesses, judge_table, learn
from subsvms.correction._result import Correction
from subsvms.correction._rule import Settings
from subsvms.ensemble import SubSVMClassifier
from subsvms.ensemble._pool import draw_rows
from subsvms.exceptions import TableError

LABELLERS = re.compile(
    r"annotat|label+er|reviewer|(?:\b|_)(?:rater|coder|worker|operator)s?(?:id)?(?:\b|_|\d|$)"
    r"|(?:label+ed|checked|entered|coded|rated)_?by|(?:\b|_)(?:source|vendor|batch|site)(?:\b|_|$)",
    re.IGNORECASE,
)  # columns that say who made a label, or where it came from

LABELLER_USED = (
    "The column {name} may say who labelled a row, or where it came from, and it was used as a feature, so "
    "errors of one person or source can look right: see them with {by}."
)


@dataclass(frozen=True, eq=False)
class Run:
    """What a run read, and what it found."""

    options: Options
    table: LabelledTable
    features: Features  # that were made from the table's columns or from embeddings
    # the file of embeddings that replaced the columns; just "features" if they came as an array
    features_path: Path | None
    features_digest: str | None  # SHA-256 of that file
    model: SubSVMClassifier  # the one that voted
    correction: Correction  # what was found about each label
    tally: Tally  # the same, counted
    seconds: dict[str, float] = field(default_factory=dict)  # how long each stage took
    origins: tuple[Origin, ...] = ()  # values of columns at which contradicted labels gather

    @property
    def groups(self) -> dict[str, tuple[Group, ...]]:
        """Noise by each column that was asked for."""
        return {name: group_noise(counts) for name, counts in self.tally.groups.items()}

    @property
    def table_notes(self) -> tuple[Note, ...]:
        """What the user must know about labels and columns of the table before using the result."""
        odd = (note for note in self.features.notes if note.kind != "unused")
        shown = [origin.column for origin in self.origins]
        used = [name for name in dict.fromkeys(self.features.sources) if name not in shown]
        hint = (
            Note("labeller", LABELLER_USED, name=show(name), by=Setting("by", name))
            for name in used
            if LABELLERS.search(name) and name in self.table.columns.column_names
        )
        n_out = sum(label is None for _, label in self.options.verified)
        rows = "1 row that people left out is" if n_out == 1 else f"{n_out:,} rows that people left out are"
        words = "{rows} still in this result: subsvms apply on its folder writes the table without."
        out = Note("left_out", words, rows=rows)
        return (*self.table.notes, *odd, *format_origins(self.origins), *hint, *[out] * (n_out > 0))

    @property
    def remarks(self) -> tuple[Note, ...]:
        """What happened to the columns that are not features."""
        dropped = (note for note in self.features.notes if note.kind == "unused")
        used = (note_unused("the column {name} groups the rows", name=show(one)) for one in self.options.by)
        name = self.options.id_column
        named = () if name is None else (note_unused("the column {name} names the rows", name=show(name)),)
        return (*dropped, *used, *named)


def correct_table(
    table: LabelledTable,
    options: Options,
    *,
    features: Any = None,
    n_jobs: int | None = -1,
    device: str = "cpu",
    n_witnesses: int = 0,
) -> Run:
    """Find the wrong labels of a table.

    Shapes: features (n_rows, n_features).
    """
    clock = Clock()
    check_id(table, options.id_column)
    groups = {name: learn_grouping(table, name) for name in options.by}
    announce("making features")
    made = learn_features(table, options, features)
    clock.lap("features")
    X = check_table(SubSVMClassifier(), made.X, reset=True)
    verified = place_verified(options.verified, table)
    learned = learn_table(table, options, X, verified, prepare_estimator(options, n_jobs, device))
    correction = add_witnesses(judge_table(learned, X, table.codes, verified), X, n_witnesses)
    clock.lap("voting")
    members = {name: group.read(table.columns[name]) for name, group in groups.items()}
    is_file = isinstance(features, str | os.PathLike)
    path = None if features is None else Path(features) if is_file else Path("features")
    digest = digest_file(path) if is_file and path is not None else None
    tally = Tally.of(correction, members)
    origins = look_for_origins(table, options, correction)
    return Run(options, table, made, path, digest, learned.model, correction, tally, clock.laps, origins)


def learn_table(
    table: LabelledTable,
    options: Options,
    X: Table,
    verified: np.ndarray | None,
    prepared: SubSVMClassifier | dict[str, Any],
) -> Learned:
    """Return what the features of a table in memory say about its labels."""
    drawing = draw_rows(table.codes, len(table.classes), seed=options.random_state)
    rows = drawing.list_rows(table.codes)
    sample = Sample(
        X if len(rows) == len(table) else X[rows], table.codes[rows], rows, drawing,
        None if verified is None else verified[rows],
    )  # fmt: skip
    return learn(sample, Classes.of(table.classes).names, prepared, make_settings(options))


def look_for_origins(table: LabelledTable, options: Options, correction: Correction) -> tuple[Origin, ...]:
    """Return where contradicted labels gather, in columns that may say who labelled a row.

    Columns that are grouped by anyway, that name the rows, or that hold dates are not looked at.
    """
    if table.matrix is not None:
        return ()
    columns = {}
    for name in table.columns.column_names:
        meaning = find_meaning(table.columns[name], table.decimal_comma)
        if name not in (table.label, options.id_column, *options.by) and meaning is not None:
            if meaning.kind != "date":
                columns[name] = read_column(table.columns[name], meaning)
    return tuple(find_origins(columns, correction.given, correction.votes.share))


def check_id(table: LabelledTable, name: str | None) -> None:
    """Raise an error if the table has no column that could name the rows."""
    names = [one for one in table.columns.column_names if one != table.label]
    if name is None or name in names:
        return
    if name == table.label:
        raise TableError(
            "{id_column} names {name}, which is the label of {table}: choose another column.",
            name=show(name), table=table.name,
        )  # fmt: skip
    if table.matrix is not None:
        words = "{table} is LIBSVM text, which has no names of rows: leave out {id_column}."
        raise TableError(words, table=table.name)
    hint = suggest(name, names) or "."
    words = "{id_column} names {name}, which is not a column of {table}{hint}"
    raise TableError(words, name=show(name), table=table.name, hint=hint)


def make_settings(options: Options) -> Settings:
    """Return what the rule depends on; missing labels are filled in if the columns explain the labels."""
    names = ("rule", "action", "max_error_rate", "min_confidence", "fill_missing")
    return Settings(**{name: getattr(options, name) for name in names}, fill_unexplained=False)


def recount(run: Run, correction: Correction) -> Run:
    """Return a run with another correction of its table, such as one that people or an audit changed."""
    groups = {name: learn_grouping(run.table, name) for name in run.options.by}
    members = {name: group.read(run.table.columns[name]) for name, group in groups.items()}
    return replace(run, correction=correction, tally=Tally.of(correction, members))


def learn_features(table: LabelledTable, options: Options, features: Any = None) -> Features:
    """Return the features of a table, made from the rows that a run in parts would make them from."""
    exclude = options.exclude if features is not None else options.left_out
    chosen: dict[str, Any] = {"exclude": exclude, "only": options.only, "keep": options.keep}
    drawing = draw_rows(table.codes, len(table.classes), seed=options.random_state)
    rows = np.flatnonzero(drawing.in_sample(np.arange(len(table))))
    if len(rows) == len(table) or table.matrix is not None or features is not None:
        return make_features(table, features=features, **chosen)
    sample = replace(
        table, columns=table.columns.take(rows), labels=table.labels[rows], text=None, written_labels=None
    )
    made = make_features(sample, **chosen)
    return replace(made, X=made.transformer.transform(table))


def make_estimator(options: Options) -> SubSVMClassifier | None:
    """Return the ensemble that the options ask for, not fitted; None if it is to be chosen."""
    names = ("n_estimators", "subsample_size", "kernel")
    asked = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    given = asked or options.rule == "majority"
    return SubSVMClassifier(**asked) if given else None


def prepare_estimator(
    options: Options, n_jobs: int | None, device: str = "cpu"
) -> SubSVMClassifier | dict[str, Any]:
    """Return the same with seed, threads and device; only these if the rest is to be chosen."""
    common = {"random_state": options.random_state, "n_jobs": n_jobs, "device": device}
    model = make_estimator(options)
    return common if model is None else model.set_params(**common)


def place_verified(verified: tuple[tuple[int, Any], ...], table: LabelledTable) -> np.ndarray | None:
    """Return the class numbers that people decided, -1 for rows that they did not; None if there are none."""
    if not verified:
        return None
    classes = Classes.of(table.classes)
    check_decided(verified, classes, len(table), table.name)
    decided = np.full(len(table), -1)
    for row, label in verified:
        if label is not None:  # which is for a row that they left out
            decided[row - 1] = classes.find(label)
    return decided


def check_decided(verified: tuple[tuple[int, Any], ...], classes: Classes, n_rows: int, name: str) -> None:
    """Raise an error if decisions are about rows or classes that a table does not have."""
    for row, label in verified:
        if not 1 <= row <= n_rows:
            raise TableError(f"A decision is about row {row}, but {name} has {n_rows} rows.")
        if label is not None and label not in classes:  # None: the row is to be left out
            raise TableError(
                f"A decision gives row {row} the label {show(label)}, which is not a class of {name}: "
                "decide this row again."
            )


class Clock:
    """Measures the seconds that each stage of a run takes."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Record the seconds of the stage that ends now."""
        now = time.perf_counter()
        self.laps[name] = round(now - self.last, 3)
        self.last = now

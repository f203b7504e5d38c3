"""Learn how to judge the rows of a table: draw rows, make features of them, and train SVMs that vote on them.

A table in memory is at hand as a whole. Of a table in parts the labels are counted first, and the rows of
pool and sample fetched (`draw`); they are saved in the run's folder, so that a run that was stopped need not
draw them again. What was learned from the rows at hand judges every row of the table (`judge`).
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from subsvms._atomic import write_whole
from subsvms._columns import Table
from subsvms._effort import announce
from subsvms._labels import Classes
from subsvms._sentences import Note
from subsvms._validation import check_table
from subsvms.app.features.make import Features, make_features
from subsvms.app.names import DRAWN, FETCHED
from subsvms.app.runs.draw import EMPTY, Census, draw, take_census
from subsvms.app.runs.engines import Engine
from subsvms.app.runs.options import Options
from subsvms.app.runs.source import Source, Unit, check_columns, join_digests, release_memory
from subsvms.app.runs.tally import Grouping, learn_grouping
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.labels import Labels, check_few, check_type, encode_labels, learn_labels
from subsvms.app.tables.table import LabelledTable, number_name
from subsvms.app.words import show, suggest
from subsvms.correction._judge import Learned
from subsvms.correction._learn import Sample, learn
from subsvms.correction._rule import Settings
from subsvms.ensemble import SubSVMClassifier
from subsvms.ensemble._sampling import Drawing, draw_rows
from subsvms.exceptions import TableError


class AtHand(NamedTuple):
    """Rows of a table that are in memory: all of them, or those that were drawn."""

    table: LabelledTable
    rows: np.ndarray  # (n_rows,): their numbers in the whole table, sorted
    given: np.ndarray  # (n_rows,): class numbers
    classes: np.ndarray  # (n_classes,)
    drawing: Drawing
    labels: Labels | None = (
        None  # what the values of the label column mean, if other rows are still to be read
    )

    @property
    def few(self) -> np.ndarray:
        """Places of the rows in the sample."""
        return np.flatnonzero(self.drawing.in_sample(self.rows))


@dataclass(frozen=True, eq=False)
class Survey:
    """What was learned from the rows at hand."""

    options: Options
    at_hand: AtHand
    features: Features  # of the whole table, if it is at hand, else of the sample
    X: Table  # (n_rows, n_features): features of the rows at hand
    learned: Learned
    groupings: tuple[Grouping, ...] = ()
    verified: dict[int, int] = field(default_factory=dict)  # class numbers that people decided, by row number


def learn_from(
    source: Source,
    options: Options,
    engine: Engine,
    *,
    features: Any = None,
    n_jobs: int | None = 1,
    device: str = "cpu",
    folder: Path | None = None,
    batch_rows: int | None = None,
) -> Survey:
    """Learn from a table; `features` replace its columns, and `folder` is that of a run in parts."""
    at_hand = take_table(source.table, options) if source.table is not None else None
    if at_hand is None:
        at_hand = draw_from(source, options, engine, folder, batch_rows)
    few, table = at_hand.few, at_hand.table
    # a run in memory groups by what it has, one in parts by the sample
    sample = table if len(few) == len(table) else take_rows(table, few)
    grouped = sample if source.table is None else table
    groupings = tuple(learn_grouping(grouped, name) for name in options.by)
    announce("making features")
    made, X = learn_features(at_hand, sample, options, features)
    verified = number_verified(options, at_hand.classes, source.n_rows, source.name)
    drawn = np.flatnonzero(
        at_hand.drawing.in_sample(at_hand.rows) | at_hand.drawing.in_pool(at_hand.rows, at_hand.given)
    )
    decided = find_verified(verified, at_hand.rows[drawn])
    rows = Sample(
        X if len(drawn) == len(table) else X[drawn], at_hand.given[drawn], at_hand.rows[drawn],
        at_hand.drawing, decided,
    )  # fmt: skip
    prepared = prepare_estimator(options, n_jobs, device)
    learned = learn(rows, at_hand.classes, prepared, make_settings(options))
    return Survey(options, at_hand, made, X, learned, groupings, verified)


# Features and settings


def learn_features(
    at_hand: AtHand, sample: LabelledTable, options: Options, features: Any
) -> tuple[Features, Table]:
    """Return features that are made from the sample, and the matrix of all rows at hand."""
    exclude = options.exclude if features is not None else options.left_out
    chosen: dict[str, Any] = {"exclude": exclude, "only": options.only, "keep": options.keep}
    if features is not None or at_hand.table.matrix is not None:
        sample = at_hand.table
    made = make_features(sample, features=features, **chosen)
    whole = len(sample) == len(at_hand.table)
    X = made.X if whole else made.transformer.transform(at_hand.table)
    X = check_table(SubSVMClassifier(), X, reset=True)
    return (made if whole or at_hand.labels is not None else made.over(X)), X


def take_rows(table: LabelledTable, rows: np.ndarray) -> LabelledTable:
    """Return some rows of a table, to learn from."""
    return hold_rows(table, table.columns.take(rows), table.labels[rows])


def hold_rows(table: LabelledTable, columns: Any, labels: np.ndarray) -> LabelledTable:
    """Return these rows as a part of a table."""
    return replace(table, columns=columns, labels=labels, matrix=None, text=None, written_labels=None)


def make_settings(options: Options) -> Settings:
    """Return what the rule depends on; missing labels are filled in if the columns explain the labels."""
    names = ("rule", "action", "max_error_rate", "min_confidence", "fill_missing")
    return Settings(**{name: getattr(options, name) for name in names}, fill_unexplained=False)


def prepare_estimator(
    options: Options, n_jobs: int | None, device: str = "cpu"
) -> SubSVMClassifier | dict[str, Any]:
    """Return the ensemble that options ask for; only its seed, threads and device if it is to be chosen."""
    common = {"random_state": options.random_state, "n_jobs": n_jobs, "device": device}
    names = ("n_estimators", "subsample_size", "kernel")
    asked = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return SubSVMClassifier(**asked, **common) if asked or options.rule == "majority" else common


# Labels that people decided on


def number_verified(options: Options, classes: np.ndarray, n_rows: int | None, name: str) -> dict[int, int]:
    """Return the class numbers that people decided on, by row number; check that the table has such rows."""
    if n_rows is None or not options.verified:
        return {}
    known = Classes(classes)
    for row, label in options.verified:  # None stands for a row that they left out
        if not 1 <= row <= n_rows:
            raise TableError(f"A decision is about row {row}, but {name} has {n_rows} rows.")
        if label is not None and label not in known:
            raise TableError(
                f"A decision gives row {row} the label {show(label)}, which is not a class of {name}: decide "
                "this row again."
            )
    return {row - 1: known.find(label) for row, label in options.verified if label is not None}


def find_verified(verified: dict[int, int], rows: np.ndarray) -> np.ndarray | None:
    """Return the class number that people decided on for each row, -1 elsewhere; None without decisions."""
    return np.array([verified.get(row, -1) for row in rows.tolist()]) if verified else None


# The rows at hand


def take_table(table: LabelledTable, options: Options) -> AtHand:
    """Return all rows of a table in memory."""
    check_id(table, options.id_column)
    drawing = draw_rows(table.codes, len(table.classes), seed=options.random_state)
    return AtHand(table, np.arange(len(table)), table.codes, Classes.of(table.classes).names, drawing)


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


def draw_from(
    source: Source, options: Options, engine: Engine, folder: Path | None, batch_rows: int | None
) -> AtHand:
    """Return the rows of a table in parts that are in the pool or in the sample, drawn or as drawn before."""
    for option in ("exclude", "only", "keep", "by"):
        check_columns(source, getattr(options, option), option, options.label)
    if options.id_column is not None:
        check_columns(source, [options.id_column], "id_column", options.label)
    check_type(source.schema.field(options.label).type, source.name, options.label)
    drawn = None if folder is None else load_drawn(folder)
    if drawn is None:
        labels, drawing, digest = survey_source(source, options, engine, batch_rows)
        rows = fetch_rows(source, labels, drawing, engine, batch_rows)
        if folder is not None:
            save_drawn(labels, drawing, digest, rows, folder)
    else:
        labels, drawing, digest, rows = drawn
    number = name_row_column(source)
    columns = rows.drop_columns([number])
    given = labels.read(columns)
    table = LabelledTable(
        columns=columns, label=labels.column, labels=labels.name(given), matrix=None, name=source.name,
        paths=source.paths, format=source.format, digest=digest, notes=labels.notes,
        decimal_comma=source.decimal_comma,
    )  # fmt: skip
    return AtHand(table, rows[number].to_numpy(), given, labels.classes, drawing, labels)


def name_row_column(source: Source) -> str:
    """Return a name for the column of row numbers in fetched rows that no column of the table has."""
    return number_name("row", source.schema.names)


def count_unit(shared: tuple, unit: Unit) -> Census:
    """Return the census of a unit's labels; `shared` is (source, options, batch_rows)."""
    source, options, batch_rows = shared
    census = EMPTY
    for first, batch in source.read(unit, [options.label], batch_rows):
        values, codes = encode_labels(batch[options.label])
        check_few(values, source.name, options.label)
        rows = np.arange(first, first + len(codes))
        found = take_census(values, codes, rows, seed=options.random_state, pool_size=options.pool_size)
        census = census.merge(found, options.pool_size)
    return census


def digest_path(_: None, path: Place) -> tuple[Place, str]:
    """Return a path and the SHA-256 of its file."""
    return path, digest_file(path)


def fetch_unit(shared: tuple, unit: Unit) -> Any:
    """Return the rows of a unit that are in the pool or in the sample, with their numbers.

    `shared` is (source, labels, drawing, batch_rows).
    """
    import pyarrow as pa

    source, labels, drawing, batch_rows = shared
    found, name = [], name_row_column(source)
    for first, batch in source.read(unit, batch_rows=batch_rows):
        rows = np.arange(first, first + len(batch))
        wanted = drawing.in_sample(rows) | drawing.in_pool(rows, labels.read(batch))
        chosen = np.flatnonzero(wanted)
        found.append(batch.take(chosen).append_column(name, pa.array(rows[chosen])))
    joined = pa.concat_tables(found, promote_options="default").combine_chunks()
    release_memory()
    return joined


def survey_source(
    source: Source, options: Options, engine: Engine, batch_rows: int | None = None
) -> tuple[Labels, Drawing, str]:
    """Count the labels and draw rows; return the meaning of labels, the drawing, and the input's digest."""
    census, done = EMPTY, 0
    for found in engine.map(count_unit, (source, options, batch_rows), source.units):
        census, done = census.merge(found, options.pool_size), done + 1
        check_few(list(census.counts), source.name, options.label)
        announce("counting labels", done, len(source.units))
    labels = learn_labels(
        dict(sorted(census.counts.items(), key=lambda item: str(item[0]))), source.name, options.label,
        is_text=source.separator is not None, missing_label=options.missing_label,
        merge_labels=options.merge_labels, numeric_classes=options.numeric_classes,
    )  # fmt: skip
    digests = dict(engine.map(digest_path, None, source.paths))
    drawing = draw(census, labels.numbers, seed=options.random_state, pool_size=options.pool_size)
    return labels, drawing, join_digests([digests[path] for path in source.paths])


def fetch_rows(
    source: Source, labels: Labels, drawing: Drawing, engine: Engine, batch_rows: int | None
) -> Any:
    """Return the rows of pool and sample, in the order of their numbers."""
    import pyarrow as pa

    parts = []
    for found in engine.map(fetch_unit, (source, labels, drawing, batch_rows), source.units):
        parts.append(found)
        announce("drawing a sample", len(parts), len(source.units))
    joined = pa.concat_tables(parts).combine_chunks()
    return joined.take(np.argsort(joined[name_row_column(source)].to_numpy()))


def save_drawn(labels: Labels, drawing: Drawing, digest: str, rows: Any, folder: Path) -> None:
    """Save the result of the first pass; the note comes last."""
    from pyarrow import parquet

    parquet.write_table(rows, folder / FETCHED)
    numbers = list(labels.numbers.items())
    note = {
        "labels": vars(labels) | {"classes": labels.classes.tolist(), "numbers": numbers},
        "drawing": {name: np.asarray(value).tolist() for name, value in vars(drawing).items()},
        "digest": digest,
    }
    write_whole(folder / DRAWN, json.dumps(note).encode())


def load_drawn(folder: Path) -> tuple[Labels, Drawing, str, Any] | None:
    """Return what `save_drawn` saved; None if the first pass did not finish."""
    from pyarrow import parquet

    if not (folder / DRAWN).is_file():
        return None
    note = json.loads((folder / DRAWN).read_text(encoding="utf-8"))
    found, drawn = note["labels"], note["drawing"]
    meaning = {
        "numbers": dict(map(tuple, found["numbers"])),
        "notes": tuple(Note.plain("labels", one) for one in found["notes"]),
    }
    labels = Labels(**found | meaning | {"classes": Classes.of(found["classes"]).names})
    hashes = {name: np.array(drawn[name], np.uint64)[()] for name in ("last", "last_overall")}
    drawing = Drawing(**drawn | hashes | {"sizes": np.array(drawn["sizes"])})
    with parquet.ParquetFile(folder / FETCHED) as file:
        return labels, drawing, note["digest"], file.read()

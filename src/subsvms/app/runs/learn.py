"""Learn how to judge the rows of a table: draw rows, make features of them, and train SVMs that vote on them.

A table in memory is at hand as a whole. Of a table in parts the labels are counted first, and the rows of
pool and sample (`ensemble._sampling`) fetched; they are saved in the run's folder, so that a run that was
stopped need not draw them again. What was learned judges every row of the table (`judge`).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from subsvms._atomic import write_whole
from subsvms._columns import Table
from subsvms._effort import announce
from subsvms._labels import Classes, check_groups, is_missing
from subsvms._validation import check_table
from subsvms.app.features.make import Features, make_features
from subsvms.app.names import DRAWN, FETCHED
from subsvms.app.options import Options
from subsvms.app.quoting import show
from subsvms.app.runs.engines import Engine
from subsvms.app.runs.other_judges import DEFAULT, Judge, stand_in
from subsvms.app.runs.source import Source, Unit, join_digests, release_memory
from subsvms.app.runs.tally import Grouping, learn_grouping
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.files import check_named, digest_file
from subsvms.app.tables.labels import Labels, check_few, check_type, encode_labels, learn_labels
from subsvms.app.tables.table import LabelledTable, number_name
from subsvms.correction._learn import Learned, Sample, learn
from subsvms.correction._rule import Settings
from subsvms.ensemble import SubSVMClassifier
from subsvms.ensemble._sampling import Drawing, count_kept, draw_hashed, draw_rows, hash_rows, keep_smallest
from subsvms.exceptions import TableError


class AtHand(NamedTuple):
    """Rows of a table that are in memory: all of them, or those that were drawn."""

    table: LabelledTable
    rows: np.ndarray  # (n_rows,): their numbers in the whole table, sorted
    given: np.ndarray  # (n_rows,): class numbers
    classes: np.ndarray  # (n_classes,)
    drawing: Drawing
    labels: Labels | None = None  # what the label column's values mean, if other rows are still to be read

    @property
    def few(self) -> np.ndarray:
        """Places of the rows in the sample."""
        return np.flatnonzero(self.drawing.in_sample(self.rows))

    @property
    def sample(self) -> LabelledTable:
        """The rows in the sample."""
        few = self.few
        if len(few) == len(self.table):
            return self.table
        return hold_rows(self.table, self.table.columns.take(few), self.table.labels[few])


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
    # numbers of the groups of the rows at hand, (n_rows,), and by name, if a column says them
    groups: tuple[np.ndarray, dict[Any, int]] | None = None


def learn_from(
    source: Source, options: Options, engine: Engine | None = None, *, features: Any = None,
    judge: Judge = DEFAULT, n_jobs: int | None = 1, device: str = "cpu", folder: Path | None = None,
) -> Survey:  # fmt: skip
    """Learn from a table; `features` replace its columns, and `folder` is that of a run in parts."""
    check_options(source, options)
    judge.check(options)
    if source.table is not None:
        table, classes = source.table, Classes.of(source.table.classes).names
        drawing = draw_rows(table.codes, len(classes), seed=options.random_state)
        at_hand = AtHand(table, np.arange(len(table)), table.codes, classes, drawing)
    else:
        assert engine is not None
        at_hand = draw_from(source, options, engine, folder)
    table, sample = at_hand.table, at_hand.sample
    # a run in memory groups by what it has, one in parts by the sample
    grouped = sample if source.table is None else table
    groupings = tuple(learn_grouping(grouped, name) for name in options.by)
    p = judge.read(table, at_hand.classes, options, at_hand.rows)
    announce("making features")
    made, X = learn_features(at_hand, sample, options, features, p)
    verified = number_verified(options, at_hand.classes, source.n_rows, source.name)
    rows, given, drawing = at_hand.rows, at_hand.given, at_hand.drawing
    groups = read_named(table, options)
    numbers = None if groups is None else groups[0]
    is_other = judge.is_other(options)
    drawn = np.flatnonzero(drawing.in_sample(rows) | (drawing.in_pool(rows, given) & (not is_other)))
    if is_other and source.table is not None:  # it has judged all rows
        drawn = np.arange(len(table))
    decided = find_verified(verified, rows[drawn])
    asked = X if len(drawn) == len(table) else X[drawn]
    names = ("rule", "action", "max_error_rate", "min_confidence", "fill_missing")
    settings = Settings(**{name: getattr(options, name) for name in names}, fill_unexplained=False)
    own = None if numbers is None else numbers[drawn]
    drawn_sample = Sample(asked, given[drawn], rows[drawn], drawing, decided, own)
    if is_other:
        p = None if p is None else p[drawn]
        learned = judge.learn(p, drawn_sample, at_hand.classes, options, settings, made, n_jobs)
    else:
        prepared = prepare_estimator(options, n_jobs, device, judge.estimator)
        learned = learn(drawn_sample, at_hand.classes, prepared, settings)
    return Survey(options, at_hand, made, X, learned, groupings, verified, groups)


def read_named(table: LabelledTable, options: Options) -> tuple[np.ndarray, dict[Any, int]] | None:
    """Return the number of each row's group, and of each group by its name; None if no column says them."""
    if options.groups is None:
        return None
    values = table.columns[options.groups].to_pylist()
    numbers = check_groups(values, len(table))
    pairs = zip(values, numbers.tolist(), strict=True)
    return numbers, {value: number for value, number in pairs if not is_missing(value)}


def check_options(source: Source, options: Options) -> None:
    """Raise an error if an option names a column that the table does not have."""
    lists = ["by"] if source.table is not None else ["exclude", "only", "keep", "by"]  # features check others
    named = {option: getattr(options, option) for option in lists}
    for option in ("id_column", "groups"):
        named[option] = [name for name in (getattr(options, option),) if name is not None]
    known = [name for name in source.schema.names if name != options.label]
    for option, columns in named.items():
        check_named(columns, known, option, source.name, options.label)
    if source.table is not None and options.id_column is not None:
        n_rows, n = len(source.table), len(source.table.columns[options.id_column].unique())
        if 10 * n < n_rows:  # names may repeat, as of copies
            words = (
                "{id_column} names {name}, which has {n:,} different values in {n_rows:,} rows: choose a "
                "column that names each row, or give it to {by} or {groups}."
            )
            raise TableError(words, name=show(options.id_column), n=n, n_rows=n_rows)


def learn_features(
    at_hand: AtHand, sample: LabelledTable, options: Options, features: Any, p: np.ndarray | None = None
) -> tuple[Features, Table]:
    """Return features that are made from the sample, and the matrix of all rows at hand."""
    # Where a table has none, probabilities p that judge the labels take their place.
    exclude = options.exclude if features is not None else options.left_out
    if features is not None or at_hand.table.matrix is not None:
        sample = at_hand.table
    how: dict[str, Any] = {"exclude": exclude, "only": options.only, "keep": options.keep}
    try:
        made = make_features(sample, features=features, **how)
    except TableError as error:
        if error.kind != "no_features" or p is None or at_hand.labels is not None:
            raise
        made = stand_in(p)
    whole = len(sample) == len(at_hand.table)
    X = made.X if whole else made.transformer.transform(at_hand.table)
    X = check_table(SubSVMClassifier(), X, reset=True)
    return (made if whole or at_hand.labels is not None else made.over(X)), X


def hold_rows(table: LabelledTable, columns: Any, labels: np.ndarray) -> LabelledTable:
    """Return these rows as a part of a table."""
    return replace(table, columns=columns, labels=labels, matrix=None, text=None, written_labels=None)


def prepare_estimator(
    options: Options, n_jobs: int | None, device: str = "cpu", estimator: SubSVMClassifier | None = None
) -> SubSVMClassifier | dict[str, Any]:
    """Return the ensemble that options ask for; only its seed, threads and device if it is to be chosen."""
    common = {"random_state": options.random_state, "n_jobs": n_jobs, "device": device}
    if estimator is not None:
        return clone(estimator).set_params(**common)
    names = ("n_estimators", "subsample_size", "kernel")
    asked = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return SubSVMClassifier(**asked, **common) if asked or options.rule == "majority" else common


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


def find_verified(verified: dict[int, int], rows: np.ndarray | None) -> np.ndarray | None:
    """Return the class number that people decided on for each row, -1 elsewhere; None without decisions."""
    if rows is None or not verified:
        return None
    return np.array([verified.get(row, -1) for row in rows.tolist()])


# The rows at hand


def draw_from(source: Source, options: Options, engine: Engine, folder: Path | None) -> AtHand:
    """Return the rows of a table in parts that are in the pool or in the sample, drawn or as drawn before."""
    check_type(source.schema.field(options.label).type, source.name, options.label)
    drawn = None if folder is None else load_drawn(folder)
    counts, drawing, digest, rows = drawn or (*survey_source(source, options, engine), None)
    labels = interpret_counts(counts, source, options)
    if rows is None:
        rows = fetch_rows(source, labels, drawing, engine)
        if folder is not None:
            save_drawn(counts, drawing, digest, rows, folder)
    number = name_row_column(source)
    columns = rows.drop_columns([number])
    given = labels.read(columns)
    table = LabelledTable(
        columns=columns, label=labels.column, labels=labels.classes.name(given), matrix=None,
        name=source.name, paths=source.paths, format=source.format, digest=digest, notes=labels.notes,
        decimal_comma=source.decimal_comma,
    )  # fmt: skip
    return AtHand(table, rows[number].to_numpy(), given, labels.classes.names, drawing, labels)


def survey_source(source: Source, options: Options, engine: Engine) -> tuple[dict[Any, int], Drawing, str]:
    """Count the labels and draw rows; return the counts, the drawing, and the digest of the files."""
    census, done = EMPTY, 0
    for found in engine.map(count_unit, (source, options), source.units):
        census, done = census.merge(found, options.pool_size), done + 1
        check_few(list(census.counts), source.name, options.label)
        announce("counting labels", done, len(source.units))
    counts = dict(sorted(census.counts.items(), key=lambda item: str(item[0])))
    numbers = interpret_counts(counts, source, options).classes.spellings
    digests = dict(engine.map(digest_path, None, source.paths))
    drawing = draw(census, numbers, seed=options.random_state, pool_size=options.pool_size)
    return counts, drawing, join_digests([digests[path] for path in source.paths])


def interpret_counts(counts: dict[Any, int], source: Source, options: Options) -> Labels:
    """Return what the values of the label column mean."""
    return learn_labels(
        counts, source.name, options.label, is_text=source.separator is not None,
        missing_label=options.missing_label, merge_labels=options.merge_labels,
        numeric_classes=options.numeric_classes,
    )  # fmt: skip


def count_unit(shared: tuple[Source, Options], unit: Unit) -> "Census":
    """Return the census of a unit's labels."""
    source, options = shared
    census = EMPTY
    for first, batch in source.read(unit, [options.label]):
        values, codes = encode_labels(batch[options.label])
        check_few(values, source.name, options.label)
        rows = np.arange(first, first + len(codes))
        found = take_census(values, codes, rows, seed=options.random_state, pool_size=options.pool_size)
        census = census.merge(found, options.pool_size)
    return census


def digest_path(_: None, path: Place) -> tuple[Place, str]:
    """Return a path and the SHA-256 of its file."""
    return path, digest_file(path)


def fetch_rows(source: Source, labels: Labels, drawing: Drawing, engine: Engine) -> Any:
    """Return the rows of pool and sample, with their numbers and in their order."""
    import pyarrow as pa

    parts = []
    for found in engine.map(fetch_unit, (source, labels, drawing), source.units):
        parts.append(found)
        announce("drawing a sample", len(parts), len(source.units))
    joined = pa.concat_tables(parts).combine_chunks()
    return joined.take(np.argsort(joined[name_row_column(source)].to_numpy()))


def fetch_unit(shared: tuple[Source, Labels, Drawing], unit: Unit) -> Any:
    """Return the rows of a unit to learn from."""
    import pyarrow as pa

    source, labels, drawing = shared
    found, name = [], name_row_column(source)
    for first, batch in source.read(unit):
        rows = np.arange(first, first + len(batch))
        chosen = np.flatnonzero(drawing.in_sample(rows) | drawing.in_pool(rows, labels.read(batch)))
        found.append(batch.take(chosen).append_column(name, pa.array(rows[chosen])))
    joined = pa.concat_tables(found, promote_options="default").combine_chunks()
    release_memory()
    return joined


def name_row_column(source: Source) -> str:
    """Return a name for the column of row numbers in fetched rows that no column of the table has."""
    return number_name("row", source.schema.names)


def save_drawn(counts: dict[Any, int], drawing: Drawing, digest: str, rows: Any, folder: Path) -> None:
    """Save the result of the first pass; the note comes last."""
    from pyarrow import parquet

    parquet.write_table(rows, folder / FETCHED)
    drawn = {name: np.asarray(value).tolist() for name, value in vars(drawing).items()}
    note = {"counts": list(counts.items()), "drawing": drawn, "digest": digest}
    write_whole(folder / DRAWN, json.dumps(note).encode())


def load_drawn(folder: Path) -> tuple[dict[Any, int], Drawing, str, Any] | None:
    """Return what `save_drawn` saved; None if the first pass did not finish."""
    from pyarrow import parquet

    if not (folder / DRAWN).is_file():
        return None
    note = json.loads((folder / DRAWN).read_text(encoding="utf-8"))
    drawn = note["drawing"]
    hashes = {name: np.array(drawn[name], np.uint64)[()] for name in ("last", "last_overall")}
    drawing = Drawing(**drawn | hashes | {"sizes": np.array(drawn["sizes"])})
    with parquet.ParquetFile(folder / FETCHED) as file:
        return dict(note["counts"]), drawing, note["digest"], file.read()


# Labels that are counted in any order, and rows that are drawn by their hashes


@dataclass(frozen=True, eq=False)
class Census:
    """How often each label occurs in some rows, and the smallest hashes."""

    counts: dict[Any, int]  # rows with each label; None stands for no label
    smallest: dict[Any, np.ndarray]  # (n_hashes,): the smallest hashes of the rows with each label, sorted
    overall: np.ndarray  # (n_hashes,): the smallest hashes of all rows, sorted

    def merge(self, other: "Census", pool_size: int | None) -> "Census":
        """Return the census of the rows of both."""
        counts, smallest, kept = dict(self.counts), dict(self.smallest), count_kept(pool_size)
        for value, count in other.counts.items():
            counts[value] = counts.get(value, 0) + count
            both = np.concatenate([smallest.get(value, np.array([], np.uint64)), other.smallest[value]])
            smallest[value] = keep_smallest(both, kept)
        overall = keep_smallest(np.concatenate([self.overall, other.overall]), kept)
        return Census(counts, smallest, overall)


EMPTY = Census({}, {}, np.array([], np.uint64))


def take_census(
    values: list, codes: np.ndarray, rows: np.ndarray, *, seed: int, pool_size: int | None
) -> Census:
    """Return the census of some rows."""
    hashes, kept = hash_rows(rows, seed), count_kept(pool_size)
    counts: dict[Any, int] = {}
    smallest: dict[Any, np.ndarray] = {}
    for code, value in (*enumerate(values), (-1, None)):
        own = hashes[codes == code]
        if len(own):
            counts[value], smallest[value] = len(own), keep_smallest(own, kept)
    return Census(counts, smallest, keep_smallest(hashes, kept))


def draw(census: Census, numbers: Mapping[Any, int], *, seed: int, pool_size: int | None) -> Drawing:
    """Return which rows to fetch."""
    own = [
        [value for value, number in numbers.items() if number == c] for c in range(max(numbers.values()) + 1)
    ]
    sizes = np.array([sum(census.counts[value] for value in values) for values in own])

    def list_hashes(c):
        return np.concatenate([census.smallest[value] for value in own[c]])

    n_rows = sum(census.counts.values())
    return draw_hashed(sizes, n_rows, census.overall, list_hashes, seed=seed, pool_size=pool_size)

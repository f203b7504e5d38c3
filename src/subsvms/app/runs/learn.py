"""The first pass over a large table: count its labels, draw a pool and a sample, fetch them, and learn.

The drawn rows are saved in the run's folder, so that a run that was stopped need not draw them again.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._atomic import write_whole
from subsvms._labels import Classes
from subsvms._progress import announce
from subsvms._sentences import Note
from subsvms.app.names import DRAWN, FETCHED
from subsvms.app.runs.batches import Fetched, Survey, learn
from subsvms.app.runs.draw import EMPTY, Census, draw, take_census
from subsvms.app.runs.engines import Engine
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import check_decided
from subsvms.app.runs.source import Batches, Source, Unit, check_columns, release_memory
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.labels import Labels, check_few, check_type, encode_labels, learn_labels
from subsvms.app.tables.table import number_name
from subsvms.ensemble._pool import Drawing


def name_row_column(source: Source | Batches) -> str:
    """Return a name for the column of row numbers in fetched rows that no column of the table has."""
    return number_name("row", source.schema.names)


def count_unit(shared: tuple, unit: Unit) -> Census:
    """Return the census of a unit's labels; `shared` is (source, options, pool_size, batch_rows)."""
    source, options, pool_size, batch_rows = shared
    census = EMPTY
    for first, batch in source.read(unit, [options.label], batch_rows):
        values, codes = encode_labels(batch[options.label])
        check_few(values, source.name, options.label)
        rows = np.arange(first, first + len(codes))
        found = take_census(values, codes, rows, seed=options.random_state, pool_size=pool_size)
        census = census.merge(found, pool_size)
    return census


def join_digests(digests: Sequence[str]) -> str:
    """Return one digest for several files: that of a single file, or of all digests together."""
    return "".join(digests) if len(digests) < 2 else hashlib.sha256("".join(digests).encode()).hexdigest()


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
    source: Source | Batches,
    options: Options,
    engine: Engine,
    *,
    pool_size: int | None,
    batch_rows: int | None,
) -> tuple[Labels, Drawing, str]:
    """Count the labels and draw rows; return the meaning of labels, the drawing, and the input's digest."""
    census, done = EMPTY, 0
    for found in engine.map(count_unit, (source, options, pool_size, batch_rows), source.units):
        census, done = census.merge(found, pool_size), done + 1
        check_few(list(census.counts), source.name, options.label)
        announce("counting labels", done, len(source.units))
    labels = learn_labels(
        dict(sorted(census.counts.items(), key=lambda item: str(item[0]))), source.name, options.label,
        is_text=source.separator is not None, missing_label=options.missing_label,
        merge_labels=options.merge_labels, numeric_classes=options.numeric_classes,
    )  # fmt: skip
    digests = dict(engine.map(digest_path, None, source.paths))
    drawing = draw(census, labels.numbers, seed=options.random_state, pool_size=pool_size)
    return labels, drawing, join_digests([digests[path] for path in source.paths])


def fetch_rows(
    source: Source | Batches, labels: Labels, drawing: Drawing, engine: Engine, batch_rows: int | None
) -> Any:
    """Return the rows of pool and sample, in the order of their numbers."""
    import pyarrow as pa

    parts = []
    for found in engine.map(fetch_unit, (source, labels, drawing, batch_rows), source.units):
        parts.append(found)
        announce("drawing a sample", len(parts), len(source.units))
    joined = pa.concat_tables(parts).combine_chunks()
    return joined.take(np.argsort(joined[name_row_column(source)].to_numpy()))


def learn_from(
    source: Source | Batches,
    options: Options,
    engine: Engine,
    *,
    pool_size: int | None = None,
    batch_rows: int | None = None,
    n_jobs: int = 1,
    device: str = "cpu",
    folder: Path | None = None,
) -> Survey:
    """Do the first pass over a table."""
    for option in ("exclude", "only", "keep", "by"):
        check_columns(source, getattr(options, option), option, options.label)
    if options.id_column is not None:
        check_columns(source, [options.id_column], "id_column", options.label)
    check_type(source.schema.field(options.label).type, source.name, options.label)
    drawn = None if folder is None else load_drawn(folder)
    if drawn is None:
        labels, drawing, digest = survey_source(
            source, options, engine, pool_size=pool_size, batch_rows=batch_rows
        )
        rows = fetch_rows(source, labels, drawing, engine, batch_rows)
        if folder is not None:
            save_drawn(labels, drawing, digest, rows, folder)
    else:
        labels, drawing, digest, rows = drawn
    verified = number_verified(options, source, labels) if isinstance(source, Source) else {}
    number = name_row_column(source)
    fetched = Fetched(rows.drop_columns([number]), rows[number].to_numpy(), labels, drawing)
    return learn(
        fetched, options, decimal_comma=source.separator == ";", verified=verified, n_jobs=n_jobs,
        device=device, name=source.name, paths=source.paths, format=source.format, digest=digest,
    )  # fmt: skip


def number_verified(options: Options, source: Source, labels: Labels) -> dict[int, int]:
    """Return the class numbers that people decided on, by row number."""
    classes = Classes(labels.classes)
    check_decided(options.verified, classes, len(source), source.name)
    return {row - 1: classes.find(label) for row, label in options.verified if label is not None}


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

"""Generated tables for tests of runs in parts, and the passes over them."""

from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from subsvms._effort import Effort
from subsvms.app.names import CORRECTED, DONE, ISSUE_PARTS, SCORE_PARTS, VOTES
from subsvms.app.options import Options
from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.judge import BatchCorrector, judge_units, limit_changes
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.run import examine_parts
from subsvms.app.runs.source import open_source

OPTIONS = Options("label", exclude=("true", "city"), n_estimators=40)  # text takes longest


def make_columns(n, *, seed=0, wrong=0.1, share=0.5, n_classes=2):
    """Return numbers, categories, text and missing values; a share `wrong` of the labels is wrong."""
    rng = np.random.default_rng(seed)
    names = np.array(["no", "yes", "maybe", "never"])[:n_classes]
    clean = np.where(rng.random(n) < share, 0, rng.integers(1, n_classes, n))
    X = rng.normal(0, 1, (n, 4)) + 1.6 * clean[:, None]
    X[rng.random((n, 4)) < 0.02] = np.nan
    given = np.where(rng.random(n) < wrong, (clean + rng.integers(1, n_classes, n)) % n_classes, clean)
    colours = np.array(["red", "green", None], dtype=object)[rng.integers(0, 3, n)]
    return pa.table({
        **{f"x{j}": pa.array(X[:, j], from_pandas=True) for j in range(4)},
        "colour": pa.array(colours.tolist(), pa.string()),
        "city": pa.array([f"city number {k}" for k in rng.integers(0, 60, n)]),
        "label": pa.array(names[given].tolist()),
        "true": pa.array(names[clean].tolist()),
    })  # fmt: skip


def set_labels(columns, labels):
    return columns.set_column(columns.column_names.index("label"), "label", pa.array(labels))


def write_files(columns, folder, n_files=3, row_group_size=1000):
    """Write a table to several files; their names are in the order of the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    cuts = np.linspace(0, len(columns), n_files + 1).astype(int)
    for i, (a, b) in enumerate(zip(cuts[:-1], cuts[1:], strict=True)):
        parquet.write_table(columns.slice(a, b - a), folder / f"{i}.parquet", row_group_size=row_group_size)
    return folder


def learn_in_parts(where, options=OPTIONS, *, pool_size=10_000, **more):
    """Do the first pass; return the source, the engine, and what was learned."""
    source = open_source(where, options.label)
    engine = more.pop("engine", None) or LocalEngine(2, len(source.units))
    options = replace(options, pool_size=pool_size)
    return source, engine, learn_from(source, options, engine, n_jobs=2, **more)


def judge_in_parts(source, engine, survey, work, **more):
    """Do the second pass; return what was learned and found, and the rows that were written."""
    for name in (CORRECTED, ISSUE_PARTS, SCORE_PARTS, DONE, VOTES):
        (work / name).mkdir(parents=True, exist_ok=True)
    survey = limit_changes(source, survey, engine, folder=work, **more)
    whole = judge_units(source, BatchCorrector.of(survey), engine, folder=work, **more)
    return survey, examine_parts(survey, whole, Effort(2)), read_parts(work)


def correct_in_parts(where, work, options=OPTIONS, **more):
    return judge_in_parts(*learn_in_parts(where, options, **more), work)


def reading_batches(n_rows):
    """Let files be read in batches of so many rows."""
    return mock.patch.multiple("subsvms.app.runs.source", MAX_BATCH_ROWS=n_rows, MIN_BATCH_ROWS=n_rows)


def read_parts(work):
    """Return the corrected rows, and the issues in the order of their rows."""
    corrected = parquet.read_table(work / CORRECTED).to_pydict()
    issues = parquet.read_table(work / ISSUE_PARTS)
    return corrected, issues.sort_by("row").to_pydict()


def read_files(folder):
    """Return the bytes of all files of a run that depend on its table and options alone."""
    paths = [path for path in Path(folder).rglob("*") if path.suffix not in (".json", ".html", ".sqlite")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(paths) if path.is_file()}

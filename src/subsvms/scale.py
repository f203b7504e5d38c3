"""Correct a large table in batches, in your own program or on an engine such as Spark or Ray.

`fit_batches` learns from a sample of the table; `correct_batch` and `correct_batches` then correct any of its
rows, on any machine. The judgement of a row depends on no other row, so it does not matter how the table is
split into batches. `subsvms correct --engine local` does the same for files.
"""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from subsvms._effort import count_threads
from subsvms._numbers import check_type
from subsvms.app.options import Options
from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.judge import BatchCorrector
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.parts import apply_correction
from subsvms.app.runs.source import Batches, Source, open_source
from subsvms.app.tables.arrow import use_plain_columns, use_plain_types
from subsvms.app.tables.files import check_names
from subsvms.app.tables.table import is_lazy, number_name, read_lazy
from subsvms.exceptions import InputError, Sentence

__all__ = ["BatchCorrector", "correct_batch", "correct_batches", "fit_batches"]


def fit_batches(
    batches: Any, label: str, *, n_jobs: int | None = None, device: str = "cpu", **options: Any
) -> BatchCorrector:
    """Learn from batches of rows how to judge each row.

    Parameters
    ----------
    batches : callable, polars.LazyFrame, DuckDB relation, or path-like
        A function is called without arguments, several times; each time it must return a new iterable of the
        same pyarrow.RecordBatch or pyarrow.Table in the same order. A LazyFrame or a relation is likewise
        read several times, in batches. A path or address names Parquet files: one, a folder, or a pattern,
        such as `s3://bucket/big/*.parquet`. Rows are numbered in the order in which they are read, from 0.
    label : str
        Name of the label column.
    n_jobs : int, default=None
        Threads: None for one, -1 for all cores; the result does not depend on their number.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the SVMs vote, also later, wherever the result is sent; the labels do not depend on it.
    **options
        Options of `subsvms correct`, such as `rule`, `action`, `n_estimators`, `kernel`, `random_state`,
        `exclude`, `only`, `keep`, `merge_labels`, `fill_missing` and `pool_size`.

    Returns
    -------
    BatchCorrector
        For `correct_batch` and `correct_batches`; it can be pickled and sent to other machines.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from subsvms.scale import correct_batches, fit_batches
    >>> table = pa.table({"x": [i % 20 / 20 for i in range(400)], "y": (["no"] * 10 + ["yes"] * 10) * 20})
    >>> batches = table.to_batches(max_chunksize=150)
    >>> corrector = fit_batches(lambda: batches, "y", n_estimators=50)
    >>> pa.Table.from_batches(correct_batches(corrector, batches)).num_rows
    400
    """
    settings = Options(label, **options)
    if settings.max_error_rate is not None:
        words = "{max_error_rate} needs all rows at once: use subsvms correct, or leave it out."
        raise InputError(Sentence(words))
    source = _open_table(batches, label)
    engine, n_jobs = LocalEngine(1, 1), count_threads(n_jobs)
    return BatchCorrector.of(learn_from(source, settings, engine, n_jobs=n_jobs, device=device))


def _open_table(batches: Any, label: str) -> Source:
    """Return what can be read several times as a table, or raise an error if it cannot."""
    if isinstance(batches, str | os.PathLike):
        return open_source(batches, label)
    read = partial(read_lazy, batches) if is_lazy(batches) else _check_callable(batches)
    first = next(iter(read()), None)
    if first is None:
        raise InputError("batches must return at least one batch of rows; it returned none.")
    check_names(first.schema.names, Batches.name, label)
    return Batches(get_batches=read, schema=use_plain_types(first.schema))


def _check_callable(batches):
    """Return a function; raise an error unless each call returns the rows again."""
    import pyarrow as pa

    expected = "batches must be a function that returns a new iterable of record batches at each call"
    if not callable(batches):
        raise InputError(
            f"{expected}, a LazyFrame of polars, a relation of DuckDB, or a path; got "
            f"{type(batches).__name__}: write lambda: dataset.to_batches(), or frame.lazy()."
        )
    once = batches()
    if not isinstance(once, Iterable) or isinstance(once, pa.Table | pa.RecordBatch):
        raise InputError(f"{expected}; it returns {type(once).__name__}: put a single table into a list.")
    if iter(once) is once and batches() is once:
        raise InputError(f"{expected}; it returns one iterator, which can be read only once.")
    first = next(iter(once), None)
    if first is not None and not isinstance(first, pa.Table | pa.RecordBatch):
        raise InputError(f"{expected}; its first item is {type(first).__name__}.")
    return batches


def correct_batches(corrector: BatchCorrector, batches: Any, row_column: str | None = None) -> Iterator[Any]:
    """Correct record batches: an iterable in, an iterator out, as Spark's mapInArrow expects.

    Parameters
    ----------
    corrector : BatchCorrector
        From `fit_batches`.
    batches : iterable of pyarrow.RecordBatch or pyarrow.Table, or another table that `fit_batches` reads
    row_column : str, optional
        As in `correct_batch`.

    Yields
    ------
    pyarrow.RecordBatch
        With the columns that `correct_batch` returns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from subsvms.scale import correct_batches, fit_batches
    >>> table = pa.table({"x": [i % 20 / 20 for i in range(400)], "y": ["no", "no", "no", "yes"] * 100})
    >>> corrector = fit_batches(lambda: [table], "y", n_estimators=50)
    >>> [batch.num_rows for batch in correct_batches(corrector, table.to_batches(max_chunksize=150))]
    [150, 150, 100]
    """
    check_type("corrector", corrector, "what fit_batches returns", BatchCorrector)
    if isinstance(batches, str | os.PathLike) or is_lazy(batches):
        source = _open_table(batches, corrector.labels.column)
        batches = (batch for unit in source.units for _, batch in source.read(unit))
    check_type("batches", batches, "tables or record batches of pyarrow", Iterable)
    for batch in batches:
        yield from correct_batch(corrector, batch, row_column).to_batches()


def correct_batch(corrector: BatchCorrector, batch: Any, row_column: str | None = None) -> Any:
    """Correct one table of rows, as Ray's map_batches passes it with batch_format="pyarrow".

    Parameters
    ----------
    corrector : BatchCorrector
        From `fit_batches`.
    batch : pyarrow.Table or pyarrow.RecordBatch
    row_column : str, optional
        Column with the number of each row in the table, from 0. A row with the number and the features of a
        training row is judged by the SVMs that were not trained on it; any other by all of them.

    Returns
    -------
    pyarrow.Table
        The rows with their labels corrected, the given labels next to them, and the columns is_label_issue,
        label_quality and suggested_label at the end.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from subsvms.scale import correct_batch, fit_batches
    >>> table = pa.table({"x": [i % 20 / 20 for i in range(400)], "y": ["no", "no", "no", "yes"] * 100})
    >>> corrector = fit_batches(lambda: [table], "y", n_estimators=50)
    >>> correct_batch(corrector, table.slice(0, 5)).column_names
    ['x', 'y', 'y_given', 'is_label_issue', 'label_quality', 'suggested_label']
    """
    import pyarrow as pa

    check_type("corrector", corrector, "what fit_batches returns", BatchCorrector)
    check_type("row_column", row_column, "the name of a column", str, type(None))
    if isinstance(batch, pa.RecordBatch):
        batch = pa.Table.from_batches([batch])
    if not isinstance(batch, pa.Table):
        raise InputError(f"batch must be a pyarrow Table or RecordBatch; got {type(batch).__name__}.")
    batch = use_plain_columns(batch)
    for name in (corrector.labels.column, row_column):
        if name is not None and name not in batch.column_names:
            raise InputError(f"There is no column {name!r} in this batch, only {batch.column_names}.")
    for recipe in corrector.features.recipes:
        if recipe.name in batch.column_names and recipe.is_unreadable(batch[recipe.name]):
            kind = recipe.meaning.kind
            found = f"Column {recipe.name!r} holds text without a {kind}"
            raise InputError(f"{found}, but the corrector learned from {kind}s: convert it.")
    if len(batch) == 0:
        one = pa.Table.from_pylist([{}], batch.schema)  # a row of nulls has the same columns as any other
        return correct_batch(corrector, one).slice(0, 0)
    rows = None if row_column is None else _read_numbers(corrector, batch, row_column)
    correction = corrector.judge(batch, rows)
    table = apply_correction(corrector.labels, batch, correction)
    names, kept = pa.array(corrector.labels.classes.names), correction.kept
    added = {
        "is_label_issue": pa.array(correction.flagged[kept]),
        "label_quality": pa.array(correction.label_quality[kept]),
        "suggested_label": names.take(pa.array(correction.judgement.suggested[kept])),
    }
    for name, column in added.items():
        table = table.append_column(number_name(name, table.column_names), column)
    return table


def _read_numbers(corrector, batch, row_column):
    """Return the number of each row; -1 for those that belong to other rows."""
    import pyarrow as pa

    column = batch[row_column]
    expected = f"Column {row_column!r} must hold the number of each row in the table, from 0"
    if not pa.types.is_integer(column.type):
        raise InputError(f"{expected}; it is of type {column.type}.")
    if column.null_count:
        raise InputError(f"{expected}; some are missing.")
    return corrector.check_numbers(batch, column.to_numpy())

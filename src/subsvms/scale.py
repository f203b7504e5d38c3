"""Correct a large table batch by batch in a program or on an engine of your own, such as Spark or Ray."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from subsvms.app.large.batches import BatchCorrector
from subsvms.app.large.draw import POOL_SIZE
from subsvms.app.large.engines import LocalEngine
from subsvms.app.large.parts import put_corrected
from subsvms.app.large.sources import Batches
from subsvms.app.large.survey import learn_from
from subsvms.app.runs.options import Options
from subsvms.app.tables.files import check_names
from subsvms.app.tables.table import number_name
from subsvms.exceptions import InputError

__all__ = ["BatchCorrector", "correct_batch", "correct_batches", "fit_batches"]


def fit_batches(
    batches: Callable[[], Iterable[Any]], label: str, *, n_jobs: int = 1, **options: Any
) -> BatchCorrector:
    """Learn from batches that any program hands over how to judge each of their rows.

    Parameters
    ----------
    batches : callable
        Called without arguments, several times; each time it returns a new iterable of the same
        pyarrow.RecordBatch or Table in the same order. Rows are numbered in that order, from 0.
    label : str
        Name of the label column.
    n_jobs : int, default=1
        Threads.
    **options
        Fields of `subsvms.app.runs.options.Options`, such as `rule`, `action`, `n_estimators`, `kernel`,
        `random_state`, `exclude`, `only` and `pool_size`.

    Returns
    -------
    BatchCorrector
        For `correct_batches` and `correct_batch`, here or, pickled, elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["no", "yes"], 1000)
    >>> values = rng.normal(0, 1, 2000) + 3 * (clean == "yes")
    >>> given = np.where(np.arange(2000) % 10 == 0, "yes", clean)  # a tenth of the rows, half of them wrong
    >>> table = pa.table({"number": np.arange(2000), "value": values, "label": given.tolist()})
    >>> batches = table.to_batches(max_chunksize=300)
    >>> corrector = fit_batches(lambda: batches, "label", exclude=("number",), n_estimators=200)
    >>> corrected = pa.Table.from_batches(correct_batches(corrector, batches, "number"))
    >>> (given != clean).sum() > 2 * (corrected["label"].to_numpy() != clean).sum()
    np.True_
    """
    asked = Options(label, **options)
    check_callable(batches)
    if asked.max_error_rate is not None:
        raise InputError("max_error_rate needs all rows at once: use subsvms correct, or leave it out.")
    first = next(iter(batches()), None)
    if first is None:
        raise InputError("batches must return at least one batch of rows; got none.")
    source = Batches(batches, first.schema)
    check_names(first.schema.names, source.name, label)
    engine = LocalEngine(1, 1)
    size = asked.pool_size or POOL_SIZE
    return learn_from(source, asked, engine, pool_size=size, n_jobs=n_jobs, stages=(1.0,)).corrector


def check_callable(batches: Any) -> None:
    """Raise an error unless each call gives the rows anew."""
    import pyarrow as pa

    expected = "batches must be a function that returns a new iterable of record batches at each call"
    if not callable(batches):
        raise InputError(f"{expected}; got {type(batches).__name__}: write lambda: dataset.to_batches().")
    once = batches()
    if not isinstance(once, Iterable) or isinstance(once, pa.Table | pa.RecordBatch):
        raise InputError(f"{expected}; it returns {type(once).__name__}: put a single table into a list.")
    if iter(once) is once and batches() is once:
        raise InputError(f"{expected}; it returns one iterator, which can be read only once.")
    first = next(iter(once), None)
    if first is not None and not isinstance(first, pa.Table | pa.RecordBatch):
        raise InputError(f"{expected}; the first of them is {type(first).__name__}.")


def correct_batches(
    corrector: BatchCorrector, batches: Iterable[Any], row_column: str | None = None
) -> Iterator[Any]:
    """Correct record batches, as Spark's mapInArrow hands them over: an iterator in, an iterator out.

    Parameters
    ----------
    corrector : BatchCorrector
    batches : iterable of pyarrow.RecordBatch or Table
    row_column : str, optional
        A column that holds the number of each row in the table, from 0; without it see
        `BatchCorrector.judge`.

    Yields
    ------
    pyarrow.RecordBatch
        As `correct_batch` returns it.
    """
    for batch in batches:
        yield from correct_batch(corrector, batch, row_column).to_batches()


def correct_batch(corrector: BatchCorrector, batch: Any, row_column: str | None = None) -> Any:
    """Correct one table of rows, as Ray's map_batches hands it over with batch_format="pyarrow".

    Returns
    -------
    pyarrow.Table
        The rows with their labels corrected, the given ones beside them, and the columns is_label_issue,
        label_quality and suggested_label at the end.
    """
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        batch = pa.Table.from_batches([batch])
    if not isinstance(batch, pa.Table):
        raise InputError(f"batch must be a pyarrow Table or RecordBatch; got {type(batch).__name__}.")
    for name in (corrector.labels.column, row_column):
        if name is not None and name not in batch.column_names:
            raise InputError(f"There is no column {name!r} in this batch; there are {batch.column_names}.")
    rows = None if row_column is None else batch[row_column].to_numpy()
    if rows is not None and batch[row_column].null_count:
        raise InputError(f"Column {row_column!r} must hold the number of each row; some are missing.")
    if len(batch) == 0:
        one = pa.Table.from_pylist([{}], batch.schema)  # a row of nulls has the columns of any other
        return correct_batch(corrector, one).slice(0, 0)
    correction = corrector.judge(batch, rows)
    table = put_corrected(corrector, batch, correction)
    names = pa.array(corrector.labels.classes.tolist())
    kept = correction.kept
    added = {
        "is_label_issue": pa.array(correction.flagged[kept]),
        "label_quality": pa.array(correction.label_quality[kept]),
        "suggested_label": names.take(pa.array(correction.judgement.suggested[kept])),
    }
    for name, column in added.items():
        table = table.append_column(number_name(name, table.column_names), column)
    return table

"""Correct a table of more rows than memory holds, on one machine or on many, in two passes.

1. Labels are counted and hashes drawn (`pool`), the rows of pool and sample are fetched, and everything that
   judges a row is learned from them in memory (`survey`, `batches`).
2. Every unit is read again, judged, and written (`parts`).

Both passes are a function mapped over units by an engine (`engines`). What comes back adds up in any order,
so one thread, many threads and a cluster give the same bits.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.batches import BatchCorrector, Learned, make_labelled
from subsvms.engines import Engine, LocalEngine
from subsvms.files import check_names
from subsvms.free_names import number_name
from subsvms.issues import Issues
from subsvms.neighbours import find_neighbours
from subsvms.parts import (
    ISSUES,
    PLAIN,
    RANK,
    Part,
    PartWork,
    describe,
    do_part,
    put_corrected,
    read_part,
    take_worst,
    vote_on_unit,
)
from subsvms.pool import POOL_SIZE
from subsvms.progress import announce
from subsvms.ranges import InputError
from subsvms.runs import Options, Run
from subsvms.sources import Batches, Source
from subsvms.survey import learn_from
from subsvms.tally import Tally
from subsvms.verdicts import count_allowed, find_cutoff


def correct_units(source: Source, corrector: BatchCorrector, engine: Engine, **more: Any) -> Part:
    """Do the second pass over a table: judge and write every unit that is not done yet.

    Parameters
    ----------
    source : Source
    corrector : BatchCorrector
    engine : Engine
    **more
        Of `PartWork`: folder, batch_rows, token.

    Returns
    -------
    Part
        What was found in all of them.
    """
    work = PartWork(source, corrector, n_jobs=engine.threads, **{"folder": None, **more})
    tally: Tally | None = None
    worst, n_rows, left = None, 0, []

    def add(part):
        nonlocal tally, worst, n_rows
        tally = part.tally if tally is None else tally + part.tally
        worst = part.worst if worst is None else take_worst([worst, part.worst])
        n_rows += part.tally.rows
        announce("judging rows", n_rows, len(source))

    for unit in source.units:
        done = None if work.folder is None else read_part(unit.number, work.folder)
        left += [unit] if done is None else []
        if done is not None:
            add(done)
    if tally is not None:
        n_done = len(source.units) - len(left)
        announce(f"going on: {n_done} of {len(source.units)} parts were done before")
    for part in engine.map(do_part, work, left):
        add(part)
    assert tally is not None
    return Part(-1, tally, worst)


def limit_changes(source: Source, learned: Learned, engine: Engine, **more: Any) -> Learned:
    """Find out which labels `max_error_rate` lets change, if it is set: count all votes and keep them.

    Parameters
    ----------
    source, learned, engine, **more
        As in `correct_units`; a folder is needed.
    """
    corrector, most = learned.corrector, learned.corrector.options.max_error_rate
    if most is None:
        return learned
    work = PartWork(source, corrector, n_jobs=engine.threads, **more)
    found = []
    for columns in engine.map(vote_on_unit, work, source.units):
        found.append(columns)
        announce("voting on rows", len(found), len(source.units))
    allowed = count_allowed(most, int(corrector.rule.sizes.sum()))
    score, quality, rows = (np.concatenate(column) for column in zip(*found, strict=True))
    cutoff = find_cutoff(score, quality, rows, allowed)
    corrector = replace(corrector, cutoff=cutoff)
    sample = learned.run.correction
    learned.run.corrector.correction_ = corrector.conclude(sample.given, sample.votes, learned.rows)
    return replace(learned, corrector=corrector)


@dataclass(frozen=True, eq=False)
class Finding:
    """What was found in a large table."""

    run: Run  # over the sample, with the tally of the whole table
    closer: Run  # over the rows to look at first, followed by the sample
    issues: Issues  # those rows
    numbers: np.ndarray  # row numbers of `closer`
    doubtful: Any  # pyarrow.Table: labels listed for want of worse ones, as in the parts of issues
    n_issues: int


def conclude(learned: Learned, whole: Part, *, n_jobs: int = 1) -> Finding:
    """Look closer at the worst rows, now that all are known.

    Parameters
    ----------
    learned : Learned
    whole : Part
        What `correct_units` returned.
    n_jobs : int
    """
    import pyarrow as pa

    corrector, run, tally = learned.corrector, learned.run, whole.tally
    kinds = whole.worst.column(0).to_numpy()
    shown = whole.worst if run.correction.noise.explained else whole.worst.filter(pa.array(kinds != PLAIN))
    kinds, worst_rows = shown.column(0).to_numpy(), shown.column(2).to_numpy()
    worst = shown.select(range(len(RANK), shown.num_columns))
    others = np.flatnonzero(~np.isin(learned.rows, worst_rows))
    columns = pa.concat_tables([worst, run.table.columns.take(others)])
    numbers = np.concatenate([worst_rows, learned.rows[others]])
    correction = corrector.judge(columns, numbers, n_jobs=n_jobs)
    chosen = np.arange(len(worst_rows))
    X = corrector.features.transform(make_labelled(columns, corrector.labels.column, corrector.separator))
    issues = Issues(
        correction, chosen, correction.compared[chosen], correction.explain(chosen),
        find_neighbours(X, correction.given, chosen, correction.compared[chosen]),
    )  # fmt: skip
    doubtful = describe(corrector, columns, correction, chosen[kinds == PLAIN], numbers)
    n_issues = tally.n_flagged + tally.held_back + len(doubtful) + tally.rows - tally.labelled
    closer = replace(
        run, table=replace(run.table, columns=columns, labels=corrector.labels.name(correction.given))
    )
    return Finding(replace(run, tally=tally), closer, issues, numbers, doubtful, n_issues)


def write_doubtful(finding: Finding, folder: Path) -> None:
    """Write the labels that are listed for want of worse ones."""
    from pyarrow import parquet

    parquet.write_table(finding.doubtful, folder / ISSUES / "most-doubtful.parquet")


# A user's own engine


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
        Those of `subsvms.runs.Options`, such as `rule`, `action`, `svms`, `kernel`, `seed`, `exclude`, `only`
        and `pool_size`.

    Returns
    -------
    BatchCorrector
        For `correct_batches` and `correct_batch`, here or, pickled, elsewhere.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["no", "yes"], 1000)
    >>> values = rng.normal(0, 1, 2000) + 3 * (clean == "yes")
    >>> given = np.where(np.arange(2000) % 10 == 0, "yes", clean)  # a tenth of the rows, half of them wrong
    >>> table = pa.table({"number": np.arange(2000), "value": values, "label": given.tolist()})
    >>> batches = table.to_batches(max_chunksize=300)
    >>> corrector = fit_batches(lambda: batches, "label", exclude=("number",), svms=200)
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

"""Correct a table of more rows than memory holds, on one machine or on many, in two passes.

1. Labels are counted and hashes drawn (`pool`), the rows of pool and sample are fetched, and everything that
   judges a row is learned from them in memory (`survey`, `batches`).
2. Every unit is read again, judged, and written (`parts`).

Both passes are a function mapped over units by an engine (`engines`). What comes back adds up in any order,
so one thread, many threads and a cluster give the same bits.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._progress import announce
from subsvms.app.large.batches import BatchCorrector, Learned, make_labelled
from subsvms.app.large.engines import Engine
from subsvms.app.large.parts import (
    ISSUES,
    PLAIN,
    RANK,
    Part,
    PartWork,
    describe,
    do_part,
    read_part,
    take_worst,
    vote_on_unit,
)
from subsvms.app.large.sources import Source
from subsvms.app.runs.issues import Issues
from subsvms.app.runs.run import Run
from subsvms.app.runs.tally import Tally
from subsvms.correction._rule import count_allowed, find_cutoff
from subsvms.correction._witnesses import find_witnesses


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
    judged = corrector.conclude(sample.given, sample.votes, learned.rows)
    return replace(learned, corrector=corrector, run=replace(learned.run, correction=judged))


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
        find_witnesses(X, correction.given, chosen, correction.compared[chosen]),
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

"""The second pass over a large table: judge and write every unit, then examine the worst rows of all.

The first pass (`survey`) has learned from a sample how to judge a row (`batches`). Both passes are functions
that an engine (`engines`) maps over the units. Their results can be added in any order, so one thread, many
threads and a cluster give the same bits.
"""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._progress import announce
from subsvms.app.names import DOUBTFUL, ISSUE_PARTS
from subsvms.app.runs.batches import BatchCorrector, Survey
from subsvms.app.runs.engines import Engine
from subsvms.app.runs.issues import Issues
from subsvms.app.runs.judge import (
    RANK,
    UNSUSPICIOUS,
    Part,
    PartWork,
    do_part,
    read_part,
    tabulate_rows,
    vote_on_unit,
)
from subsvms.app.runs.run import Run
from subsvms.app.runs.source import Source
from subsvms.app.runs.tally import add_doubt
from subsvms.correction._witnesses import find_witnesses


def correct_units(source: Source, corrector: BatchCorrector, engine: Engine, **more: Any) -> Part:
    """Do the second pass over a table: judge and write every unit that is not done yet."""
    work = PartWork(source, corrector, n_jobs=engine.threads, **{"folder": None, **more})
    found = [] if work.folder is None else [read_part(unit.number, work.folder) for unit in source.units]
    done = {part.number: part for part in found if part is not None}
    left = [unit for unit in source.units if unit.number not in done]
    if done:
        announce(f"continuing: {len(done)} of {len(source.units)} parts were done before")
    whole: Part | None = None
    for part in itertools.chain(done.values(), engine.map(do_part, work, left)):
        whole = part if whole is None else whole + part
        announce("judging rows", whole.tally.rows, len(source))
    assert whole is not None
    return whole


def limit_changes(source: Source, learned: Survey, engine: Engine, **more: Any) -> Survey:
    """Determine which labels may change under `max_error_rate`, if it is set: count and save all votes."""
    corrector = learned.corrector
    if corrector.options.max_error_rate is None:
        return learned
    work = PartWork(source, corrector, n_jobs=engine.threads, **more)
    found = []
    for columns in engine.map(vote_on_unit, work, source.units):
        found.append(columns)
        announce("voting on rows", len(found), len(source.units))
    flagged = (np.concatenate(column) for column in zip(*found, strict=True))
    corrector = replace(corrector, learned=corrector.learned.limit(*flagged))
    sample = learned.run.correction
    judged = corrector.judge_votes(sample.given, sample.votes, learned.rows)
    return replace(learned, corrector=corrector, run=replace(learned.run, correction=judged))


@dataclass(frozen=True, eq=False)
class Finding:
    """What was found in a large table."""

    run: Run  # over the sample, with the tally of the whole table
    worst: Run  # over the rows to look at first, followed by the other rows of the sample
    numbers: np.ndarray  # (n_rows,): row numbers of `worst`
    issues: Issues  # the rows to look at first
    doubtful: Any  # unsuspicious labels that are listed because there are few suspicious ones
    n_issues: int  # rows listed in all parts; those with a label
    n_labels: int
    doubt: int  # how many of these labels are expected to be wrong, in billionths


def examine_worst(learned: Survey, whole: Part, *, n_jobs: int = 1) -> Finding:
    """Examine the worst rows of all parts."""
    import pyarrow as pa

    corrector, run, tally = learned.corrector, learned.run, whole.tally
    shown = whole.worst
    if not run.correction.noise.explained:
        shown = shown.filter(pa.array(shown.column(0).to_numpy() != UNSUSPICIOUS))
    kinds, rows = shown.column(0).to_numpy(), shown.column(2).to_numpy()
    others = np.flatnonzero(~np.isin(learned.rows, rows))
    columns = shown.select(range(len(RANK), shown.num_columns))
    columns = pa.concat_tables([columns, run.table.columns.take(others)])
    numbers = np.concatenate([rows, learned.rows[others]])
    correction = corrector.judge(columns, numbers, n_jobs=n_jobs)
    chosen = np.arange(len(rows))
    X = corrector.transform(columns)
    issues = Issues(correction, find_witnesses(X, correction.given, chosen, correction.compared[chosen]))
    others = chosen[kinds == UNSUSPICIOUS]
    doubtful = tabulate_rows(corrector, columns, correction, others, numbers)
    n_labels = tally.n_flagged + tally.held_back + len(others)
    table = replace(run.table, columns=columns, labels=corrector.labels.name(correction.given))
    return Finding(
        replace(run, tally=tally), replace(run, table=table), numbers, issues, doubtful,
        n_issues=n_labels + tally.rows - tally.labelled, n_labels=n_labels,
        doubt=tally.doubt + add_doubt(correction, others),
    )  # fmt: skip


def write_doubtful(finding: Finding, folder: Path) -> None:
    """Write the unsuspicious labels that are listed."""
    from pyarrow import parquet

    parquet.write_table(finding.doubtful, folder / ISSUE_PARTS / DOUBTFUL)

"""What was found in a table, and its rows to look at first, with those that speak for and against them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subsvms._columns import Table
from subsvms._effort import Effort
from subsvms._sentences import Note
from subsvms.app.runs.carriers import Carriers, find_carriers
from subsvms.app.runs.issues import Issues, find_issues
from subsvms.app.runs.judge import RANK, UNSUSPICIOUS, BatchCorrector, Part, tabulate_rows
from subsvms.app.runs.learn import Survey, find_verified, hold_rows, take_rows
from subsvms.app.runs.run import Run
from subsvms.app.runs.tally import Tally, add_doubt
from subsvms.app.tables.labels import Labels
from subsvms.correction._judge import Learned
from subsvms.correction._neighbours import find_witnesses
from subsvms.correction._result import Correction
from subsvms.correction._rule import Halt
from subsvms.correction._words import format_spared


@dataclass(frozen=True, eq=False)
class Finding:
    """What was found in a table."""

    run: Run  # over the table, or over a sample of it; the tally is that of the whole table
    shown: Run  # over the rows at hand: the table, or the sample and the rows to look at first
    numbers: np.ndarray  # (n_rows,): row numbers of `shown`
    issues: Issues  # the rows to look at first, among those at hand
    n_issues: int  # rows that are listed in all; those with a label
    n_labels: int
    doubt: int  # how many of these labels are expected to be wrong, in billionths
    notes: tuple[Note, ...]  # on the labels of the whole table
    labels: Labels | None = None  # what the values of the label column mean, of a table in parts
    doubtful: Any = (
        None  # in parts: unsuspicious labels that are listed because there are few suspicious ones
    )

    def timed(self, seconds: dict[str, float]) -> "Finding":
        """Return the same with the seconds that each stage took."""
        return replace(self, run=replace(self.run, seconds=seconds))


def examine_table(run: Run) -> Finding:
    """Look at the suspicious rows of a table in memory."""
    issues = find_issues(run.correction, run.features.X)
    issues = replace(issues, carriers=look_for_carriers(run, run.correction, run.features.X, issues.rows))
    return Finding(
        run, run, np.arange(len(run.correction)), issues, len(issues), issues.n_labels,
        add_doubt(run.correction, issues.rows), run.correction.judgement.notes,
    )  # fmt: skip


def examine_parts(survey: Survey, whole: Part, effort: Effort) -> Finding:
    """Look at the worst rows of all parts, beside those of the sample, which are the table if it is small."""
    import pyarrow as pa

    corrector, at_hand, tally = BatchCorrector.of(survey), survey.at_hand, whole.tally
    few = at_hand.few
    sample = at_hand.table if len(few) == len(at_hand.rows) else take_rows(at_hand.table, few)
    sampled = corrector.judge_votes(at_hand.given[few], survey.learned.votes.take(few), at_hand.rows[few])
    model = survey.learned.model
    run = Run(survey.options, sample, survey.features, None, None, model, sampled, tally)

    worst = whole.worst
    if not sampled.noise.explained:
        worst = worst.filter(pa.array(worst.column(0).to_numpy() != UNSUSPICIOUS))
    ranked = worst.column(2).to_numpy()
    others = few[~np.isin(at_hand.rows[few], ranked)]
    columns = worst.select(range(len(RANK), worst.num_columns))
    columns = pa.concat_tables([columns, at_hand.table.columns.take(others)])
    numbers = np.concatenate([ranked, at_hand.rows[others]])
    order = np.argsort(numbers)
    columns, numbers = columns.take(order), numbers[order]
    X, given = corrector.transform(columns), corrector.labels.read(columns)
    votes = survey.learned.vote(X, numbers, effort)
    correction = survey.learned.judge(given, votes, numbers, find_verified(survey.verified, numbers))
    if len(numbers) == tally.rows:
        issues = find_issues(correction, X)
        issues = replace(issues, carriers=look_for_carriers(run, correction, X, issues.rows))
    else:
        issues = compare_worst(correction, X, np.searchsorted(numbers, ranked))
    doubtful = issues.rows[~is_suspicious(correction)[issues.rows]]
    n_labels = tally.n_flagged + tally.held_back + len(doubtful)
    shown = replace(run, table=hold_rows(sample, columns, corrector.labels.name(given)))
    return Finding(
        run, shown, numbers, issues, n_labels + tally.rows - tally.labelled, n_labels,
        tally.doubt + add_doubt(correction, doubtful), list_notes(survey.learned, tally), corrector.labels,
        tabulate_rows(corrector, columns, correction, doubtful, numbers),
    )  # fmt: skip


def list_notes(learned: Learned, tally: Tally) -> tuple[Note, ...]:
    """Return the notes on the labels of a whole table: those on the votes, then those on labels kept."""
    spared = (format_spared(n_rows, Halt[name]) for name, n_rows in tally.spared.items() if n_rows)
    return (*learned.notes, *spared)


def compare_worst(correction: Correction, X: Table, rows: np.ndarray) -> Issues:
    """Return the worst rows with those to compare them with, none of which is suspicious itself."""
    suspicious = np.union1d(rows, np.flatnonzero(is_suspicious(correction)))
    witnesses = find_witnesses(X, correction.given, rows, correction.compared[rows], suspicious=suspicious)
    return Issues(correction, witnesses)


def is_suspicious(correction: Correction) -> np.ndarray:
    """Return which rows are listed in any case, however many there are."""
    return correction.flagged | correction.held_back | (correction.missing & ~correction.decided)


def look_for_carriers(run: Run, correction: Correction, X: Table, issues: np.ndarray) -> Carriers | None:
    """Return what carries the suggestions for suspicious rows of a whole table."""
    seed, n_jobs = run.options.random_state, run.model.n_jobs
    return find_carriers(correction, X, issues, random_state=seed, n_jobs=n_jobs)

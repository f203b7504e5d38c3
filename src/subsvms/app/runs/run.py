"""One run over a table: judge its labels, and keep what was found. Nothing is written here.

A run is determined by its options and the bytes of its files; the number of threads changes no bit.
"""

import os
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._columns import Table
from subsvms._effort import Effort, announce
from subsvms.app.features.columns import find_meaning, note_unused, read_column
from subsvms.app.features.make import Features
from subsvms.app.options import Options
from subsvms.app.quoting import show
from subsvms.app.runs.answers import find_answers, has_features, weigh
from subsvms.app.runs.causes import Carriers, Origin, find_carriers, find_origins, format_origins
from subsvms.app.runs.issues import UNSUSPICIOUS, Issues, find_issues, sort_out
from subsvms.app.runs.judge import RANK, BatchCorrector, Part
from subsvms.app.runs.learn import Survey, find_verified, hold_rows, learn_from
from subsvms.app.runs.other_judges import DEFAULT, Judge
from subsvms.app.runs.source import Source
from subsvms.app.runs.tally import Grouping, Tally, add_doubt, read_groups
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import LabelledTable
from subsvms.correction._copies import find_witnesses
from subsvms.correction._groups import Kin
from subsvms.correction._judge import add_witnesses, judge_table
from subsvms.correction._notes import format_spared
from subsvms.correction._result import Correction
from subsvms.correction._rule import Halt
from subsvms.ensemble import SubSVMClassifier
from subsvms.exceptions import Note, Setting

LABELLERS = re.compile(
    r"annotat|label+er|reviewer|(?:\b|_)(?:rater|coder|worker|operator)s?(?:id)?(?:\b|_|\d|$)"
    r"|(?:label+ed|checked|entered|coded|rated)_?by|(?:\b|_)(?:source|vendor|batch|site)(?:\b|_|$)",
    re.IGNORECASE,
)  # columns that say who made a label, or where it came from

LABELLER_USED = (
    "The column {name} may say who labelled a row, or where it came from, and it was used as a feature, so "
    "errors of one person or source can look right: see them with {by}."
)
GROUPED = (
    "the column {name} says which rows belong together: each was judged without learning from its group, and "
    "what is proved of single rows is not proved of groups"
)


@dataclass(frozen=True, eq=False)
class Run:
    """What a run read, and what it found."""

    options: Options
    table: LabelledTable
    features: Features  # that were made from the table's columns or from embeddings
    # the file of embeddings that replaced the columns; just "features" if they came as an array
    features_path: Path | None
    features_digest: str | None  # SHA-256 of that file
    model: SubSVMClassifier | None  # the one that voted; None if others judged
    correction: Correction  # what was found about each label
    tally: Tally  # the same, counted
    seconds: dict[str, float] = field(default_factory=dict)  # how long each stage took
    origins: tuple[Origin, ...] = ()  # values of columns at which contradicted labels gather
    groupings: tuple[Grouping, ...] = ()  # how the columns of `Options.by` group the rows
    judge: Judge = DEFAULT  # whoever judged, if not SVMs that the options describe
    kin: Kin | None = None  # rows that are copies, by their numbers in the table

    @property
    def table_notes(self) -> tuple[Note, ...]:
        """What the user must know about labels and columns of the table before using the result."""
        odd = (note for note in self.features.notes if note.kind != "unused")
        shown = [origin.column for origin in self.origins]
        used = [name for name in dict.fromkeys(self.features.sources) if name not in shown]
        hint = (
            Note("labeller", LABELLER_USED, name=show(name), by=Setting("by", name))
            for name in used
            if LABELLERS.search(name) and name in self.table.columns.column_names
        )
        n_out = sum(label is None for _, label in self.options.verified)
        rows = "1 row that people left out is" if n_out == 1 else f"{n_out:,} rows that people left out are"
        words = "{rows} still in this result: subsvms apply on its folder writes the table without."
        out = Note("left_out", words, rows=rows)
        told = (note for note in self.table.notes if note.kind != "unused")
        origins = format_origins(self.origins, self.correction.judge)
        return (*told, *odd, *origins, *hint, *[out] * (n_out > 0))

    @property
    def remarks(self) -> tuple[Note, ...]:
        """What happened to the columns that are not features."""
        both = (*self.table.notes, *self.features.notes)
        dropped = (note for note in both if note.kind == "unused")
        options = self.options
        uses = {
            "the column {name} groups the rows": options.by,
            "the column {name} holds answers of people": options.answered,
            "the column {name} holds probabilities, which judge": options.pred_probs,
            "the column {name} names the rows": [options.id_column],
            GROUPED: [options.groups],
        }
        named = ((words, name) for words, names in uses.items() for name in names if name is not None)
        return (*dropped, *(note_unused(words, name=show(name)) for words, name in named))


def run_in_memory(
    table: LabelledTable, options: Options, *, features: Any = None, judge: Judge = DEFAULT,
    n_jobs: int | None = -1, device: str = "cpu", n_witnesses: int = 0, clock: "Clock | None" = None,
) -> Run:  # fmt: skip
    """Find the wrong labels of a table in memory; `features` replace its columns."""
    clock, answers = clock or Clock(), find_answers(table, options)
    alone = answers is not None and features is None and not has_features(table, options)
    alone = alone and not judge.has_probabilities(options)
    features = np.arange(len(table))[:, None] % 2.0 if alone else features  # which says nothing
    how: dict[str, Any] = {"features": features, "judge": judge, "n_jobs": n_jobs, "device": device}
    survey = learn_from(Source.of(table), options, **how)
    clock.lap("learning")
    verified = find_verified(survey.verified, survey.at_hand.rows)
    correction = judge_table(
        survey.learned, survey.X, survey.at_hand.given, verified, survey.groups and survey.groups[0]
    )
    if answers is not None:
        announce("comparing people")
        correction = weigh(correction, answers, options.random_state, alone=alone)
    correction = add_witnesses(correction, survey.X, n_witnesses)
    clock.lap("judging")
    is_file = isinstance(features, str | os.PathLike)
    path = None if features is None or alone else Path(features) if is_file else Path("features")
    digest = digest_file(path) if is_file and path is not None else None
    return Run(
        options, table, survey.features, path, digest, survey.learned.model, correction,
        Tally.of(correction, read_groups(survey.groupings, table.columns)), clock.laps,
        look_for_origins(survey, correction), survey.groupings, judge.forget(), survey.learned.kin,
    )  # fmt: skip


def look_for_origins(survey: Survey, correction: Correction) -> tuple[Origin, ...]:
    """Return where contradicted labels gather, in columns that may say who labelled a row."""
    # Columns that are grouped by anyway, that name the rows, or that hold dates are not looked at.
    table, options, meanings = survey.at_hand.table, survey.options, survey.features.meanings
    if table.matrix is not None:
        return ()
    columns = {}
    for name in table.columns.column_names:
        if name in (table.label, options.id_column, *options.by, *options.answered, *options.pred_probs):
            continue
        column = table.columns[name]
        meaning = meanings[name] if name in meanings else find_meaning(column, table.decimal_comma)
        if meaning is not None and meaning.kind != "date":
            columns[name] = read_column(column, meaning)
    return tuple(find_origins(columns, correction.given, correction.votes.share))


def recount(run: Run, correction: Correction) -> Run:
    """Return a run with another correction of its table, such as one that people or an audit changed."""
    members = read_groups(run.groupings, run.table.columns)
    return replace(run, correction=correction, tally=Tally.of(correction, members))


class Clock:
    """Measures the seconds that each stage of a run takes."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self.last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Record the seconds of the stage that ends now."""
        now = time.perf_counter()
        self.laps[name] = round(now - self.last, 3)
        self.last = now


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
    doubtful: Any = None  # in parts: labels that are listed because there are few suspicious ones
    drawn: np.ndarray | None = None  # (n_rows,): row numbers of `run`; None if it is over the whole table

    def timed(self, seconds: dict[str, float]) -> "Finding":
        """Return the same with the seconds that each stage took."""
        return replace(self, run=replace(self.run, seconds=seconds))


def examine_table(run: Run) -> Finding:
    """Look at the suspicious rows of a table in memory."""
    issues = find_all(run, run.correction, run.features.X)
    return Finding(
        run, run, np.arange(len(run.correction)), issues, len(issues), issues.n_labels,
        add_doubt(run.correction, issues.rows), run.correction.judgement.notes,
    )  # fmt: skip


def examine_parts(survey: Survey, whole: Part, effort: Effort) -> Finding:
    """Look at the worst rows of all parts, beside those of the sample, which are the table if it is small."""
    import pyarrow as pa

    corrector, at_hand, tally = BatchCorrector.of(survey), survey.at_hand, whole.tally
    few, sample = at_hand.few, at_hand.sample
    sampled = corrector.judge_votes(at_hand.given[few], survey.learned.votes.take(few), at_hand.rows[few])
    model = survey.learned.model
    run = Run(
        survey.options, sample, survey.features, None, None, model, sampled, tally, kin=survey.learned.kin
    )

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
    votes = corrector.vote(columns, numbers, n_jobs=effort.n_jobs)
    correction = survey.learned.judge(given, votes, numbers, find_verified(survey.verified, numbers))
    if len(numbers) == tally.rows:
        correction = replace(correction, kin=survey.learned.kin)  # its row numbers are places, then
        issues = find_all(run, correction, X)
    else:
        rows = np.searchsorted(numbers, ranked)  # to be compared with those that are not suspicious
        others = np.union1d(rows, np.flatnonzero(sort_out(correction) != UNSUSPICIOUS))
        compared = correction.compared[rows]
        issues = Issues(correction, find_witnesses(X, given, rows, compared, suspicious=others))
    doubtful = issues.rows[sort_out(correction)[issues.rows] == UNSUSPICIOUS]
    n_labels = tally.n_flagged + tally.held_back + len(doubtful)
    shown = replace(run, table=hold_rows(sample, columns, corrector.labels.classes.name(given)))
    spared = (format_spared(n_rows, Halt[name]) for name, n_rows in tally.spared.items() if n_rows)
    return Finding(
        run, shown, numbers, issues, n_labels + tally.rows - tally.labelled, n_labels,
        tally.doubt + add_doubt(correction, doubtful), (*survey.learned.notes, *spared), corrector.labels,
        corrector.tabulate(columns, correction, doubtful, numbers), at_hand.rows[few],
    )  # fmt: skip


def find_all(run: Run, correction: Correction, X: Table) -> Issues:
    """Return the suspicious rows of a whole table, and what carries the suggestions for them."""
    issues = find_issues(correction, X)
    return replace(issues, carriers=find_run_carriers(run, correction, X, issues.rows))


def find_run_carriers(run: Run, correction: Correction, X: Table, rows: np.ndarray) -> Carriers | None:
    """Return what carries the suggestions for some rows; None if the table is large or has no features."""
    if run.features.stand_in:
        return None
    seed, n_jobs = run.options.random_state, getattr(run.model, "n_jobs", None)
    return find_carriers(correction, X, rows, random_state=seed, n_jobs=n_jobs)

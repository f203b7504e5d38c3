"""One run over a table: judge its labels, and keep what was found. Nothing is written here.

A run is determined by its options and the bytes of its files; the number of threads changes no bit.
"""

import os
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from subsvms._sentences import Note, Setting
from subsvms.app.features.columns import Meaning, find_meaning, note_unused, read_column
from subsvms.app.features.make import Features
from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.judge import judge_whole
from subsvms.app.runs.learn import Survey, learn_from
from subsvms.app.runs.options import Options
from subsvms.app.runs.origins import Origin, find_origins, format_origins
from subsvms.app.runs.source import InMemory
from subsvms.app.runs.tally import Group, Grouping, Tally, group_noise, read_groups
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.table import LabelledTable
from subsvms.app.words import show
from subsvms.correction._judge import add_witnesses
from subsvms.correction._result import Correction
from subsvms.ensemble import SubSVMClassifier

LABELLERS = re.compile(
    r"annotat|label+er|reviewer|(?:\b|_)(?:rater|coder|worker|operator)s?(?:id)?(?:\b|_|\d|$)"
    r"|(?:label+ed|checked|entered|coded|rated)_?by|(?:\b|_)(?:source|vendor|batch|site)(?:\b|_|$)",
    re.IGNORECASE,
)  # columns that say who made a label, or where it came from

LABELLER_USED = (
    "The column {name} may say who labelled a row, or where it came from, and it was used as a feature, so "
    "errors of one person or source can look right: see them with {by}."
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
    model: SubSVMClassifier  # the one that voted
    correction: Correction  # what was found about each label
    tally: Tally  # the same, counted
    seconds: dict[str, float] = field(default_factory=dict)  # how long each stage took
    origins: tuple[Origin, ...] = ()  # values of columns at which contradicted labels gather
    groupings: tuple[Grouping, ...] = ()  # how the columns of `Options.by` group the rows

    @property
    def groups(self) -> dict[str, tuple[Group, ...]]:
        """Noise by each column that was asked for."""
        return {name: group_noise(counts) for name, counts in self.tally.groups.items()}

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
        return (*self.table.notes, *odd, *format_origins(self.origins), *hint, *[out] * (n_out > 0))

    @property
    def remarks(self) -> tuple[Note, ...]:
        """What happened to the columns that are not features."""
        dropped = (note for note in self.features.notes if note.kind == "unused")
        used = (note_unused("the column {name} groups the rows", name=show(one)) for one in self.options.by)
        name = self.options.id_column
        named = () if name is None else (note_unused("the column {name} names the rows", name=show(name)),)
        return (*dropped, *used, *named)


def correct_table(
    table: LabelledTable,
    options: Options,
    *,
    features: Any = None,
    n_jobs: int | None = -1,
    device: str = "cpu",
    n_witnesses: int = 0,
) -> Run:
    """Find the wrong labels of a table in memory.

    Shapes: features (n_rows, n_features).
    """
    clock = Clock()
    source = InMemory.of(table)
    survey = learn_from(source, options, LocalEngine(1, 1), features=features, n_jobs=n_jobs, device=device)
    clock.lap("learning")
    correction = add_witnesses(judge_whole(survey), survey.X, n_witnesses)
    clock.lap("judging")
    return make_run(survey, correction, features, clock.laps)


def make_run(
    survey: Survey, correction: Correction, features: Any, seconds: dict[str, float] | None = None
) -> Run:
    """Return what was found in a table in memory; `features` are those that replaced its columns."""
    table, options = survey.at_hand.table, survey.options
    is_file = isinstance(features, str | os.PathLike)
    path = None if features is None else Path(features) if is_file else Path("features")
    digest = digest_file(path) if is_file and path is not None else None
    return Run(
        options, table, survey.features, path, digest, survey.learned.model, correction,
        Tally.of(correction, read_groups(survey.groupings, table.columns)), seconds or {},
        look_for_origins(table, options, correction, survey.features.meanings), survey.groupings,
    )  # fmt: skip


def look_for_origins(
    table: LabelledTable, options: Options, correction: Correction, meanings: dict[str, Meaning | None]
) -> tuple[Origin, ...]:
    """Return where contradicted labels gather, in columns that may say who labelled a row.

    Columns that are grouped by anyway, that name the rows, or that hold dates are not looked at.
    """
    if table.matrix is not None:
        return ()
    columns = {}
    for name in table.columns.column_names:
        if name in (table.label, options.id_column, *options.by):
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

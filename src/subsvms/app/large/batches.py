"""Correct a table batch by batch: learn from a sample of it, then judge rows wherever they are.

What is thought of a row depends on its values, its label, its number and what was learned, and on no other
row. So batches may be cut anywhere and judged anywhere, and each row gets the bits that it would get alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from subsvms.app.features.make import make_features
from subsvms.app.large.draw import Drawing
from subsvms.app.large.early_exit import Exits, count_until_settled, plan_exits
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import Run, make_estimator
from subsvms.app.runs.tally import Grouping, Tally, learn_grouping
from subsvms.app.tables.csv_text import Delimited
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import LabelledTable
from subsvms.certificates import CONFIDENCE, count_withstood
from subsvms.correction._guards import Guards
from subsvms.correction._judge import judge_labels
from subsvms.correction._result import Correction
from subsvms.correction._rule import Cutoff, Rule, Settings, apply_rule
from subsvms.ensemble._classifier import SubSVMClassifier
from subsvms.ensemble._sampling import subset_size
from subsvms.ensemble._votes import Voters, Votes, count_votes


@dataclass(frozen=True, eq=False)
class BatchCorrector:
    """Judges any rows of the table that it learned from. It can be sent to other machines."""

    options: Options
    labels: Labels
    features: Any  # the transformer
    separator: str | None  # of text
    voters: Voters
    rule: Rule
    guards: Guards
    pool_rows: np.ndarray  # (n_pool,), numbers of the rows that SVMs were trained on, sorted
    pool_votes: Votes  # on these, of SVMs that did not see them
    pool_sizes: np.ndarray  # (n_classes,)
    subset_size: int
    capped: bool  # whether the table has more rows of some class than the pool
    groupings: tuple[Grouping, ...] = ()
    cutoff: Cutoff | None = None  # the last label that may change, if not all may
    exits: Exits | None = None  # when to stop asking about a row that is not written about

    def judge(self, batch: Any, rows: np.ndarray | None = None, *, n_jobs: int = 1) -> Correction:
        """Return what is thought of the labels of a batch.

        Parameters
        ----------
        batch : pyarrow.Table
        rows : ndarray of int of shape (n_rows,), optional
            Row numbers in the table, from 0. Without them rows that SVMs were trained on cannot be told from
            others, and are judged by those SVMs, too.
        n_jobs : int
            Threads; they change no bit.

        Returns
        -------
        Correction
            Without the limit on changes (`max_error_rate`) unless `cutoff` says where it lies.
        """
        given = self.labels.read(batch)
        votes = self.count_votes(batch, rows, given, n_jobs=n_jobs)
        return self.conclude(given, votes, rows)

    def count_votes(
        self,
        batch: Any,
        rows: np.ndarray | None,
        given: np.ndarray,
        *,
        n_jobs: int = 1,
        early: bool = False,
    ) -> Votes:
        """Return the votes on a batch, of SVMs that did not see the row.

        Parameters
        ----------
        batch, rows, n_jobs
            As in `judge`.
        given : ndarray of int of shape (n_rows,)
            Class numbers.
        early : bool
            Whether rows that are settled before all SVMs were asked may go without votes.
        """
        X = self.features.transform(self.as_table(batch))
        if early and self.exits is not None:
            votes = count_until_settled(self.exits, self.rule, X, given, n_jobs=n_jobs)
        else:
            votes = count_votes(self.voters, X, n_jobs=n_jobs)
        places, found = self.find_in_pool(rows)
        for own, theirs in zip(vars(votes).values(), vars(self.pool_votes).values(), strict=True):
            own[found] = theirs[places]
        return votes

    def find_in_pool(self, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the places in the pool of those rows that are there, and which rows that are."""
        if rows is None:
            return np.array([], dtype=int), np.array([], dtype=int)
        places = np.minimum(np.searchsorted(self.pool_rows, rows), len(self.pool_rows) - 1)
        found = np.flatnonzero(self.pool_rows[places] == rows)
        return places[found], found

    def conclude(self, given: np.ndarray, votes: Votes, rows: np.ndarray | None) -> Correction:
        """Return what follows from votes."""
        judgement = apply_rule(self.rule, votes, given)
        if self.cutoff is not None and rows is not None:
            judgement = self.cutoff.apply(judgement, rows)
        judgement = self.guards.apply(judgement, given)
        trained = np.full(len(given), -1)
        _, found = self.find_in_pool(rows)
        trained[found] = given[found]
        withstands = count_withstood(votes, self.pool_sizes, trained, self.subset_size, pooled=self.capped)
        return Correction(
            classes=self.labels.classes, given=given, judgement=judgement, votes=votes,
            noise=self.rule.noise, withstands=withstands, certainty=CONFIDENCE, settings=self.rule.settings,
        )  # fmt: skip

    def as_table(self, batch: Any) -> LabelledTable:
        """Return a batch as what features are made from."""
        return make_labelled(batch, self.labels.column, self.separator)

    def find_groups(self, batch: Any) -> dict[str, np.ndarray]:
        """Return by column the group of each row."""
        return {grouping.column: grouping.read(batch[grouping.column]) for grouping in self.groupings}


def make_labelled(columns: Any, label: str, separator: str | None, **parts: Any) -> LabelledTable:
    """Return columns that were read in pieces as a table; its labels are not read again."""
    nothing = np.array([], dtype=np.int64)
    text = None if separator is None else Delimited(b"", separator, 0, nothing, nothing, nothing, 0)
    defaults: dict[str, Any] = {
        "labels": np.full(len(columns), None, dtype=object), "matrix": None, "name": "The table", "paths": (),
        "format": "parquet", "digest": "",
    }  # fmt: skip
    return LabelledTable(columns=columns, label=label, text=text, **(defaults | parts))


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from a sample."""

    corrector: BatchCorrector
    run: Run  # over the sample; its tally is the sample's
    rows: np.ndarray  # (n_sample,), numbers of the sample's rows
    notes: tuple[str, ...]  # on the votes, without those of the guards


class Fetched:
    """The rows of pool and sample, in the order of their numbers."""

    def __init__(self, columns: Any, rows: np.ndarray, labels: Labels, drawing: Drawing):
        self.columns, self.rows, self.labels, self.drawing = columns, rows, labels, drawing
        self.in_sample = drawing.in_sample(rows)
        self.in_pool = drawing.in_pool(rows, self.given)

    @cached_property
    def given(self) -> np.ndarray:
        """Class number of each row; -1 where there is no label."""
        return self.labels.read(self.columns)


def learn(
    fetched: Fetched,
    options: Options,
    *,
    separator: str | None = None,
    n_jobs: int = 1,
    stages: Sequence[float] | None = None,
    **parts: Any,
) -> Learned:
    """Learn from the pool and the sample how to judge every row of the table.

    Parameters
    ----------
    fetched : Fetched
    options : Options
    separator : str, optional
        Of the text that the table came from.
    n_jobs : int
    stages : sequence of float, optional
        As in `subsvms.app.large.early_exit.plan_exits`.
    **parts
        What the sample knows of the whole table: name, paths, format, digest.
    """
    columns, labels, drawing, given = fetched.columns, fetched.labels, fetched.drawing, fetched.given
    sample = np.flatnonzero(fetched.in_sample)
    parts |= {"labels": labels.name(given[sample]), "notes": labels.notes}
    table = make_labelled(columns.take(sample), labels.column, separator, **parts)
    groupings = tuple(learn_grouping(table, name) for name in options.by)
    made = make_features(table, exclude=(*options.exclude, *options.by), only=options.only)
    X = made.transformer.transform(make_labelled(columns, labels.column, separator))

    pool = np.flatnonzero(fetched.in_pool)
    n_rows = min(int(drawing.sizes.sum()), drawing.n_sample)  # not the pool's, which follows from the labels
    size = subset_size(options.subsample_size, n_rows, len(labels.classes))
    model = make_estimator(options, n_jobs).set_params(subsample_size=size)
    model._fit_numbered(X[pool], labels.classes, given[pool])

    votes = votes_on_sample(model, X, fetched.in_pool, sample, n_jobs)
    settings = Settings(options.rule, options.action, options.max_error_rate, options.min_confidence)
    verdict = judge_labels(model, X[sample], given[sample], votes, settings, drawing.sizes)
    batches = BatchCorrector(
        options=options, labels=labels, features=made.transformer,
        separator=separator, voters=model.voters_, rule=verdict.rule, guards=verdict.guards,
        pool_rows=fetched.rows[pool], pool_votes=model.oob_votes_, pool_sizes=model.class_sizes_,
        subset_size=size, capped=drawing.capped, groupings=groupings,
    )  # fmt: skip
    if options.action != "weight" and not options.by:  # which are about every row
        exits = plan_exits(
            model.voters_, verdict.rule, X[sample], given[sample], verdict.judgement,
            confidence=options.early_exit, stages=stages,
        )  # fmt: skip
        batches = replace(batches, exits=exits)
    correction = batches.conclude(given[sample], votes, fetched.rows[sample])
    run = Run(options, table, made, None, None, model, correction, Tally.of(correction))
    return Learned(batches, run, fetched.rows[sample], verdict.notes)


def votes_on_sample(
    model: SubSVMClassifier, X: Any, in_pool: np.ndarray, sample: np.ndarray, n_jobs: int
) -> Votes:
    """Return votes on the rows of the sample: out-of-bag for those in the pool, of all SVMs for others."""
    place = np.cumsum(in_pool) - 1
    others = sample[~in_pool[sample]]
    theirs = count_votes(model.voters_, X[others], n_jobs=n_jobs)
    position = np.where(in_pool[sample], place[sample], np.cumsum(~in_pool[sample]) - 1 + in_pool.sum())
    return model.oob_votes_.join(theirs).take(position)

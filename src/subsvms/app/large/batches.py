"""Correct a table batch by batch: learn from a sample of it, then judge rows wherever they are.

The judgement of a row depends on its values, its label, its number and what was learned, and on no other row.
So the table can be split into any batches, judged anywhere, and each row gets the bits it would get alone.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from subsvms._effort import Effort
from subsvms.app.features.make import make_features
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import Run, may_fill, prepare_estimator
from subsvms.app.runs.tally import Grouping, Tally, learn_grouping
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import LabelledTable
from subsvms.certificates import count_withstood
from subsvms.certificates._vote import CERTIFICATE_LEVEL
from subsvms.correction._choice import Choice
from subsvms.correction._duplicates import find_contradictory, read_contents
from subsvms.correction._judge import judge_labels
from subsvms.correction._overlap import SVMLook
from subsvms.correction._result import Correction
from subsvms.correction._rule import Cutoff, Halt, Judgement, Rule, Settings, apply_rule, keep_labels
from subsvms.correction._trained import collect_votes, train_model
from subsvms.correction._verified import apply_verified
from subsvms.ensemble._pool import Drawing
from subsvms.ensemble._votes import Voters, Votes, count_votes


@dataclass(frozen=True, eq=False)
class BatchCorrector:
    """Judges any rows of the table that it learned from. It can be pickled and sent to other machines.

    Attributes
    ----------
    options : Options
    labels : Labels
    features : ColumnEncoder
    decimal_comma : bool
        As in `LabelledTable`.
    voters : Voters
        The trained SVMs.
    rule : Rule
    pool_rows : ndarray of int of shape (n_pool,)
        Numbers of the rows that SVMs were trained on, sorted.
    pool_contents : tuple of bytes
        Digests of their features.
    pool_votes : Votes
        On these rows, of the SVMs that were not trained on them.
    contradictory : ndarray of bool of shape (n_pool,)
        Which of these rows keep their labels, by `find_contradictory`.
    pool_sizes : ndarray of int of shape (n_classes,)
        Rows of each class in the pool.
    subset_size : int
    choice : Choice or None
        As in `Correction`.
    capped : bool
        As in `Drawing`.
    groupings : tuple of Grouping
    cutoff : Cutoff or None
        The last label that may change, if `max_error_rate` limits them.
    verified : dict of int to int
        Class numbers that people decided on, by row number.
    device : {"cpu", "cuda", "auto"}
        Where the SVMs vote: it changes no bit.

    Examples
    --------
    >>> import pickle
    >>> import pyarrow as pa
    >>> from subsvms.scale import correct_batch, fit_batches
    >>> table = pa.table({"x": [i % 20 / 20 for i in range(400)], "y": ["no", "no", "no", "yes"] * 100})
    >>> corrector = fit_batches(lambda: [table], "y", n_estimators=50)
    >>> elsewhere = pickle.loads(pickle.dumps(corrector))
    >>> correct_batch(elsewhere, table).num_rows
    400
    """

    options: Options
    labels: Labels
    features: Any
    decimal_comma: bool
    voters: Voters
    rule: Rule
    pool_rows: np.ndarray
    pool_contents: tuple[bytes, ...]
    pool_votes: Votes
    contradictory: np.ndarray
    pool_sizes: np.ndarray
    subset_size: int
    choice: Choice | None
    capped: bool
    groupings: tuple[Grouping, ...] = ()
    cutoff: Cutoff | None = None
    verified: dict[int, int] = field(default_factory=dict)
    device: str = "cpu"

    def judge(self, batch: Any, rows: np.ndarray | None = None, *, n_jobs: int = 1) -> Correction:
        """Judge the labels of a batch.

        Parameters
        ----------
        batch : pyarrow.Table
        rows : ndarray of int of shape (n_rows,), optional
            Row numbers in the table, from 0. Without them training rows cannot be recognised, and are also
            judged by the SVMs that were trained on them.
        n_jobs : int
            Threads; the result does not depend on their number.

        Returns
        -------
        Correction
            `max_error_rate` applies only if there is a `cutoff`.
        """
        given = self.labels.read(batch)
        votes = self.count_votes(batch, rows, given, n_jobs=n_jobs)
        return self.judge_votes(given, votes, rows)

    def count_votes(
        self, batch: Any, rows: np.ndarray | None, given: np.ndarray, *, n_jobs: int = 1
    ) -> Votes:
        """Return the votes on a batch, of SVMs that were not trained on the row.

        Parameters
        ----------
        batch, rows, n_jobs
            As in `judge`.
        given : ndarray of int of shape (n_rows,)
            Class numbers.
        """
        X = self.features.transform(self.as_table(batch))
        votes = count_votes(self.voters, X, Effort(n_jobs, self.device))
        places, found = self.find_in_pool(rows)
        for name, own in votes.arrays.items():
            own[found] = self.pool_votes.arrays[name][places]
        return votes

    def find_in_pool(self, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the places in the pool of the rows that are in it, and which rows these are."""
        if rows is None:
            return np.array([], dtype=int), np.array([], dtype=int)
        places = np.minimum(np.searchsorted(self.pool_rows, rows), len(self.pool_rows) - 1)
        found = np.flatnonzero(self.pool_rows[places] == rows)
        return places[found], found

    def check_numbers(self, batch: Any, rows: np.ndarray) -> np.ndarray:
        """Return row numbers, with -1 for those that belong to other rows of the pool, by their features.

        A wrong number would else give a row the votes on another.
        """
        places, found = self.find_in_pool(rows)
        contents = read_contents(self.features.transform(self.as_table(batch.take(found))))
        own = [content == self.pool_contents[place] for content, place in zip(contents, places, strict=True)]
        checked = rows.astype(np.int64)  # a copy
        checked[found[~np.array(own, dtype=bool)]] = -1
        return checked

    def apply_rule(self, votes: Votes, given: np.ndarray, rows: np.ndarray | None) -> Judgement:
        """Judge labels without the limit on changes; parameters as in `count_votes`."""
        places, found = self.find_in_pool(rows)
        contradictory = np.zeros(len(given), dtype=bool)
        contradictory[found] = self.contradictory[places]
        judgement = keep_labels(apply_rule(self.rule, votes, given), given, contradictory, Halt.DUPLICATE)
        if not self.verified or rows is None:
            return judgement
        return apply_verified(judgement, given, find_verified(self.verified, rows))

    def judge_votes(self, given: np.ndarray, votes: Votes, rows: np.ndarray | None) -> Correction:
        """Judge labels on which votes have been counted; parameters as in `count_votes`."""
        judgement = self.apply_rule(votes, given, rows)
        if self.cutoff is not None and rows is not None:
            judgement = self.cutoff.apply(judgement, rows)
        trained = np.full(len(given), -1)
        _, found = self.find_in_pool(rows)
        trained[found] = given[found]
        withstands = count_withstood(votes, self.pool_sizes, trained, self.subset_size, pooled=self.capped)
        return Correction(
            classes=self.labels.classes, given=given, judgement=judgement, votes=votes,
            noise=self.rule.noise, withstands=withstands, level=CERTIFICATE_LEVEL, choice=self.choice,
            settings=may_fill(self.rule.settings, self.options, self.rule.noise),
            verified=find_verified(self.verified, rows) if self.verified and rows is not None else None,
        )  # fmt: skip

    def as_table(self, batch: Any) -> LabelledTable:
        """Return a batch in the form that features are made from."""
        return wrap_columns(batch, self.labels.column, self.decimal_comma)

    def read_groups(self, batch: Any) -> dict[str, np.ndarray]:
        """Return the group of each row, by column."""
        return {grouping.column: grouping.read(batch[grouping.column]) for grouping in self.groupings}


def find_verified(verified: dict[int, int], rows: np.ndarray) -> np.ndarray:
    """Return the class number that people decided on for each row; -1 where they did not."""
    return np.array([verified.get(row, -1) for row in rows.tolist()]) if verified else np.full(len(rows), -1)


def wrap_columns(columns: Any, label: str, decimal_comma: bool, **more: Any) -> LabelledTable:
    """Return columns that were read in parts as a table, without reading their labels again."""
    defaults: dict[str, Any] = {
        "labels": np.full(len(columns), None, dtype=object), "matrix": None, "name": "The table", "paths": (),
        "format": "parquet", "digest": "",
    }  # fmt: skip
    return LabelledTable(columns=columns, label=label, decimal_comma=decimal_comma, **(defaults | more))


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from a sample."""

    corrector: BatchCorrector
    run: Run  # over the sample; its tally is that of the sample
    rows: np.ndarray  # (n_sample,): numbers of the sample's rows
    notes: tuple[str, ...]  # on the votes, without those on labels that were kept


class Fetched(NamedTuple):
    """The rows of pool and sample, in the order of their numbers."""

    columns: Any
    rows: np.ndarray  # (n_rows,): row numbers in the table, from 0
    labels: Labels
    drawing: Drawing


def learn(
    fetched: Fetched,
    options: Options,
    *,
    decimal_comma: bool = False,
    verified: dict[int, int] | None = None,
    n_jobs: int = 1,
    device: str = "cpu",
    **more: Any,
) -> Learned:
    """Learn from the pool and the sample how to judge every row of the table."""
    columns, rows, labels, drawing = fetched
    given = labels.read(columns)
    in_pool = drawing.in_pool(rows, given)
    pool, sample = np.flatnonzero(in_pool), np.flatnonzero(drawing.in_sample(rows))
    more |= {"labels": labels.name(given[sample]), "notes": labels.notes}
    table = wrap_columns(columns.take(sample), labels.column, decimal_comma, **more)
    groupings = tuple(learn_grouping(table, name) for name in options.by)
    made = make_features(table, exclude=options.left_out, only=options.only, keep=options.keep)
    X = made.transformer.transform(wrap_columns(columns, labels.column, decimal_comma))

    trained = train_model(
        prepare_estimator(options, n_jobs, device), X, in_pool, given, labels.classes, drawing
    )
    model, choice = trained
    votes = collect_votes(model, X, np.where(in_pool, given, -1))
    pool_votes, votes = votes.take(pool), votes.take(sample)
    settings = Settings(options.rule, options.action, options.max_error_rate, options.min_confidence)
    contradictory = np.zeros(len(given), dtype=bool)
    contradictory[pool] = find_contradictory(X[pool], given[pool])
    verdict = judge_labels(
        labels.classes, given[sample], votes, settings, drawing.sizes, look=SVMLook(model, X[sample]),
        contradictory=contradictory[sample], verified=find_verified(verified or {}, rows[sample]),
    )  # fmt: skip
    batches = BatchCorrector(
        options=options, labels=labels, features=made.transformer, decimal_comma=decimal_comma,
        voters=model.voters_, rule=verdict.rule, pool_rows=rows[pool],
        pool_contents=tuple(read_contents(X[pool])), pool_votes=pool_votes,
        contradictory=contradictory[pool], pool_sizes=model.class_sizes_, subset_size=model.subsets_.shape[1],
        choice=choice, capped=drawing.capped, groupings=groupings, verified=verified or {}, device=device,
    )  # fmt: skip
    correction = batches.judge_votes(given[sample], votes, rows[sample])
    run = Run(options, table, made, None, None, model, correction, Tally.of(correction))
    return Learned(batches, run, rows[sample], verdict.notes)

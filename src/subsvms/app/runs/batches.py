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
from subsvms.app.runs.run import Run, make_settings, prepare_estimator
from subsvms.app.runs.tally import Grouping, Tally, learn_grouping
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import LabelledTable
from subsvms.correction._duplicates import read_contents
from subsvms.correction._learn import Learned, Sample
from subsvms.correction._learn import learn as learn_rows
from subsvms.correction._result import Correction
from subsvms.ensemble._pool import Drawing
from subsvms.ensemble._votes import Votes


@dataclass(frozen=True, eq=False)
class BatchCorrector:
    """Judges any rows of the table that it learned from. It can be pickled and sent to other machines.

    Attributes
    ----------
    options : Options
    labels : Labels
        What the values of the label column mean.
    features : ColumnEncoder
        Turns the other columns into features.
    learned : Learned
        The SVMs, and the rule that follows from their votes.

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
    learned: Learned
    contents: tuple[bytes, ...]  # digests of the rows that were learned from, by their features
    decimal_comma: bool = False  # as in `LabelledTable`
    groupings: tuple[Grouping, ...] = ()
    verified: dict[int, int] = field(default_factory=dict)  # class numbers that people decided, by row number

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
            `max_error_rate` applies only to rows with numbers, after all votes were counted.
        """
        given = self.labels.read(batch)
        return self.judge_votes(given, self.vote(batch, rows, n_jobs=n_jobs), rows)

    def vote(self, batch: Any, rows: np.ndarray | None, *, n_jobs: int = 1) -> Votes:
        """Return the votes on a batch, of SVMs that were not trained on the row."""
        return self.learned.vote(self.transform(batch), rows, Effort(n_jobs, self.learned.model.device))

    def judge_votes(self, given: np.ndarray, votes: Votes, rows: np.ndarray | None) -> Correction:
        """Judge class numbers on which votes have been counted."""
        return self.learned.judge(given, votes, rows, self.find_verified(rows))

    def find_verified(self, rows: np.ndarray | None) -> np.ndarray | None:
        """Return the class number that people decided on for each row, -1 where they did not."""
        return None if rows is None else find_verified(self.verified, rows)

    def check_numbers(self, batch: Any, rows: np.ndarray) -> np.ndarray:
        """Return row numbers, with -1 for those that belong to other rows, by their features.

        A wrong number would else give a row the votes on another.
        """
        places, found = self.learned.find(rows)
        contents = read_contents(self.transform(batch.take(found)))
        own = [content == self.contents[place] for content, place in zip(contents, places, strict=True)]
        checked = rows.astype(np.int64)  # a copy
        checked[found[~np.array(own, dtype=bool)]] = -1
        return checked

    def transform(self, batch: Any) -> Any:
        """Return the features of a batch."""
        return self.features.transform(wrap_columns(batch, self.labels.column, self.decimal_comma))

    def read_groups(self, batch: Any) -> dict[str, np.ndarray]:
        """Return the group of each row, by column."""
        return {grouping.column: grouping.read(batch[grouping.column]) for grouping in self.groupings}


def find_verified(verified: dict[int, int], rows: np.ndarray) -> np.ndarray | None:
    """Return the class number that people decided on for each row, -1 elsewhere; None without decisions."""
    return np.array([verified.get(row, -1) for row in rows.tolist()]) if verified else None


def wrap_columns(columns: Any, label: str, decimal_comma: bool, **more: Any) -> LabelledTable:
    """Return columns that were read in parts as a table, without reading their labels again."""
    defaults: dict[str, Any] = {
        "labels": np.full(len(columns), None, dtype=object), "matrix": None, "name": "The table", "paths": (),
        "format": "parquet", "digest": "",
    }  # fmt: skip
    return LabelledTable(columns=columns, label=label, decimal_comma=decimal_comma, **(defaults | more))


@dataclass(frozen=True, eq=False)
class Survey:
    """What was learned from a sample."""

    corrector: BatchCorrector
    run: Run  # over the sample; its tally is that of the sample
    rows: np.ndarray  # (n_sample,): numbers of the sample's rows


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
) -> Survey:
    """Learn from the pool and the sample how to judge every row of the table."""
    columns, rows, labels, drawing = fetched
    given = labels.read(columns)
    few = np.flatnonzero(drawing.in_sample(rows))
    more |= {"labels": labels.name(given[few]), "notes": labels.notes}
    table = wrap_columns(columns.take(few), labels.column, decimal_comma, **more)
    groupings = tuple(learn_grouping(table, name) for name in options.by)
    made = make_features(table, exclude=options.left_out, only=options.only, keep=options.keep)
    X = made.transformer.transform(wrap_columns(columns, labels.column, decimal_comma))
    verified = verified or {}
    sample = Sample(X, given, rows, drawing, find_verified(verified, rows))
    prepared = prepare_estimator(options, n_jobs, device)
    learned = learn_rows(sample, labels.classes, prepared, make_settings(options))
    corrector = BatchCorrector(
        options, labels, made.transformer, learned, tuple(read_contents(X)), decimal_comma, groupings,
        verified,
    )  # fmt: skip
    correction = corrector.judge_votes(given[few], learned.votes.take(few), rows[few])
    run = Run(options, table, made, None, None, learned.model, correction, Tally.of(correction))
    return Survey(corrector, run, rows[few])

"""Judge the rows of a table, unit by unit, with what was learned from it.

A table in memory is judged at once. Units of a table in parts are judged by workers (`engines`), which write
for each a part of the corrected table, of the issues and of the scores; a note on what it contains comes
last. So a run that was stopped knows which parts are done, and doing a part twice does no harm. What was
found in parts can be added in any order, so one thread, many threads and a cluster give the same bits.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, cast

import numpy as np

from subsvms._effort import Effort, announce
from subsvms.app.names import CORRECTED, DONE, ISSUE_PARTS, SCORE_PARTS, VOTES
from subsvms.app.options import Options
from subsvms.app.runs.engines import Engine
from subsvms.app.runs.issues import UNSUSPICIOUS, sort_out, sort_worst, tabulate
from subsvms.app.runs.learn import Survey, find_verified
from subsvms.app.runs.other_judges import DEFAULT
from subsvms.app.runs.parquet_files import Scores
from subsvms.app.runs.parts import apply_correction, name_part, open_new, open_writer
from subsvms.app.runs.source import Source, Unit, release_memory
from subsvms.app.runs.tally import Grouping, Tally, read_groups
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import LabelledTable
from subsvms.correction._copies import LARGEST_LIST, read_contents
from subsvms.correction._judge import Learned
from subsvms.correction._other_judges import make_votes
from subsvms.correction._result import FEWEST_LISTED, Correction
from subsvms.ensemble._votes import Votes

PARTS = (CORRECTED, ISSUE_PARTS, SCORE_PARTS)
RANK = ("kind", "quality", "row")  # columns by which these rows are sorted; "row" counts from 0


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
    groups: dict[Any, int] | None = None  # numbers of groups by their names, if the user names a column

    @classmethod
    def of(cls, survey: Survey) -> "BatchCorrector":
        """Return what judges rows that are still to be read."""
        labels, table = survey.at_hand.labels, survey.at_hand.table
        assert labels is not None  # else all rows are at hand
        return cls(
            survey.options, labels, survey.features.transformer, survey.learned,
            tuple(read_contents(survey.X)), table.decimal_comma, survey.groupings, survey.verified,
            None if survey.groups is None else survey.groups[1],
        )  # fmt: skip

    def judge(self, batch: Any, rows: np.ndarray | None = None, *, n_jobs: int = 1) -> Correction:
        """Judge the labels of a batch.

        Parameters
        ----------
        batch : pyarrow.Table
        rows : ndarray of int of shape (n_rows,), optional
            Row numbers in the table, from 0. Without them training rows are judged like all others.
        n_jobs : int
            Threads; the result does not depend on their number.

        Returns
        -------
        Correction
        """
        given = self.labels.read(batch)
        return self.judge_votes(given, self.vote(batch, rows, n_jobs=n_jobs), rows)

    def vote(self, batch: Any, rows: np.ndarray | None, *, n_jobs: int = 1) -> Votes:
        """Return the votes on a batch, of SVMs that were not trained on the row, or probabilities in it."""
        p = DEFAULT.read(self.hold(batch), self.labels.classes.names, self.options, rows)
        if p is not None:
            return make_votes(p)
        effort = Effort(n_jobs, self.learned.model.device)
        return self.learned.vote(self.transform(batch), rows, effort, self.find_groups(batch))

    def find_groups(self, batch: Any) -> np.ndarray | None:
        """Return the number of each row's group, -1 for one that no SVM saw; None if none are named."""
        if self.groups is None or self.options.groups is None:
            return None
        return np.array([self.groups.get(value, -1) for value in batch[self.options.groups].to_pylist()])

    def judge_votes(self, given: np.ndarray, votes: Votes, rows: np.ndarray | None) -> Correction:
        """Judge class numbers on which votes have been counted."""
        return self.learned.judge(given, votes, rows, find_verified(self.verified, rows))

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

    @property
    def label_type(self) -> Any:
        """The Arrow type of labels in files of a run."""
        import pyarrow as pa

        return pa.array(self.labels.classes.names).type

    def hold(self, batch: Any) -> LabelledTable:
        """Return a batch as a part of the table, with labels that are not read."""
        unread = np.full(len(batch), None, dtype=object)
        return LabelledTable(
            columns=batch, label=self.labels.column, labels=unread, matrix=None, name="The table", paths=(),
            format="parquet", digest="", decimal_comma=self.decimal_comma,
        )  # fmt: skip

    def transform(self, batch: Any) -> Any:
        """Return the features of a batch."""
        return self.features.transform(self.hold(batch))

    def tabulate(self, batch: Any, correction: Correction, chosen: np.ndarray, rows: np.ndarray) -> Any:
        """Return what is known about some places of a batch, and their values; `rows` are its numbers."""
        return tabulate(
            correction, chosen, batch, self.labels.column, self.label_type, numbers=rows,
            id_column=self.options.id_column,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PartWork:
    """What all parts share."""

    source: Source
    corrector: BatchCorrector
    folder: Path | None  # None to write nothing
    n_jobs: int = 1
    token: str = ""  # of this run: a worker left over from an earlier one must not write into its folder


@dataclass(frozen=True, eq=False)
class Part:
    """What was found in one unit, or in several together."""

    number: int  # of the unit
    tally: Tally
    worst: Any  # the rows to look at first: the columns in `RANK`, then those of the table

    def __add__(self, other: "Part") -> "Part":
        import pyarrow as pa

        both = pa.concat_tables([self.worst, other.worst])
        keys = [both.column(place).to_numpy() for place in range(len(RANK))]  # names may occur twice
        return Part(self.number, self.tally + other.tally, both.take(choose_worst(*keys)))


def choose_worst(kind: np.ndarray, quality: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the places of the rows to look at first: the suspicious ones, and more if there are few."""
    n_suspicious = int(np.sum(kind < UNSUSPICIOUS))
    return sort_worst(kind, quality, rows, max(FEWEST_LISTED, min(n_suspicious, LARGEST_LIST)))


def judge_units(source: Source, corrector: BatchCorrector, engine: Engine, **more: Any) -> Part:
    """Judge and write every unit that is not done yet; `more` is for `PartWork`."""
    work = PartWork(source, corrector, n_jobs=engine.threads, **{"folder": None, **more})
    found = [] if work.folder is None else [read_part(unit.number, work.folder) for unit in source.units]
    done = {part.number: part for part in found if part is not None}
    left = [unit for unit in source.units if unit.number not in done]
    if done:
        announce(f"continuing: {len(done)} of {len(source.units)} parts were done before")
    whole: Part | None = None
    for part in itertools.chain(done.values(), engine.map(do_part, work, left)):
        whole = part if whole is None else whole + part
        announce("judging rows", whole.tally.rows, source.n_rows or 0)
    assert whole is not None
    return whole


def limit_changes(source: Source, survey: Survey, engine: Engine, **more: Any) -> Survey:
    """Determine which labels may change under `max_error_rate`, if it is set: count and save all votes."""
    if survey.options.max_error_rate is None:
        return survey
    work = PartWork(source, BatchCorrector.of(survey), n_jobs=engine.threads, **more)
    found = []
    for columns in engine.map(vote_on_unit, work, source.units):
        found.append(columns)
        announce("voting on rows", len(found), len(source.units))
    flagged = (np.concatenate(column) for column in zip(*found, strict=True))
    return replace(survey, learned=survey.learned.limit(*flagged))


def read_with_votes(work: PartWork, unit: Unit) -> Iterator[tuple[Any, np.ndarray, np.ndarray, Votes]]:
    """Yield each batch of a unit, its row numbers and class numbers, and the votes on it, saved or new."""
    corrector, saved = work.corrector, None
    path = None if work.folder is None else work.folder / VOTES / f"{unit.number:06d}.npz"
    if path is not None and path.is_file():
        with np.load(path) as file:
            saved = Votes(**file)
    for first, batch in work.source.read(unit):
        rows = np.arange(first, first + len(batch))
        given = corrector.labels.read(batch)
        if saved is None:
            votes = corrector.vote(batch, rows, n_jobs=work.n_jobs)
        else:
            votes = saved.take(slice(first - unit.first, first - unit.first + len(batch)))
        yield batch, rows, given, votes


def do_part(work: PartWork, unit: Unit) -> Part:
    """Judge a unit and write its parts."""
    corrector, parts = work.corrector, []
    with open_writer(work.folder, unit.number, PARTS, work.token) as write:
        for batch, rows, given, votes in read_with_votes(work, unit):
            correction = corrector.judge_votes(given, votes, rows)
            write(CORRECTED, apply_correction(corrector.labels, batch, correction))
            write(ISSUE_PARTS, list_issues(corrector, batch, correction, rows))
            write(SCORE_PARTS, Scores.of(correction).to_table(corrector.label_type, rows))
            tally = Tally.of(correction, read_groups(corrector.groupings, batch))
            parts.append(Part(unit.number, tally, rank_rows(batch, correction, rows)))
    release_memory()
    part = reduce(add, parts)
    if work.folder is not None:
        write_part(part, work)
    return part


def vote_on_unit(work: PartWork, unit: Unit) -> tuple[np.ndarray, ...]:
    """Count the votes on a unit and save them; return score, quality and number of each flagged row."""
    # With `max_error_rate`, which labels may change is known only when all votes have been counted.
    all_votes, found = [], []
    for _, rows, given, votes in read_with_votes(work, unit):
        verified = find_verified(work.corrector.verified, rows)
        judgement = work.corrector.learned.apply_rule(given, votes, rows, verified)
        flagged = judgement.flagged
        found.append((judgement.score[flagged], judgement.quality[flagged], rows[flagged]))
        all_votes.append(votes)
    joined = all_votes[0].join(*all_votes[1:])
    assert work.folder is not None
    name = f"{unit.number:06d}.npz"
    with open_new(work.folder, VOTES, name, work.token) as path, path.open("wb") as file:
        np.savez(file, **cast(dict[str, Any], joined.arrays))  # NumPy's stub takes them for other arguments
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def list_issues(corrector: BatchCorrector, batch: Any, correction: Correction, rows: np.ndarray) -> Any:
    """Return the suspicious rows of a batch, worst first."""
    kind = sort_out(correction)
    chosen = np.flatnonzero(kind != UNSUSPICIOUS)
    worst = np.lexsort((correction.label_quality[chosen], kind[chosen]))
    return corrector.tabulate(batch, correction, chosen[worst], rows)


def rank_rows(batch: Any, correction: Correction, rows: np.ndarray) -> Any:
    """Return the rows of a batch to look at first, with all their columns."""
    import pyarrow as pa

    kind, quality = sort_out(correction), correction.label_quality
    judged = ~correction.missing & ~correction.decided & (correction.votes.n_voters > 0)
    chosen = np.flatnonzero(judged | correction.flagged)
    chosen = chosen[choose_worst(kind[chosen], quality[chosen], rows[chosen])]
    table = batch.take(chosen)
    for name, values in zip(RANK[::-1], (rows, quality, kind), strict=True):
        table = table.add_column(0, name, pa.array(values[chosen]))
    return table


def write_part(part: Part, work: PartWork) -> None:
    """Record that a part is done, and what was found in it."""
    from pyarrow import parquet

    assert work.folder is not None
    name = f"{part.number:06d}"
    with open_new(work.folder, DONE, f"{name}.parquet", work.token) as path:
        parquet.write_table(part.worst, path)
    with open_new(work.folder, DONE, f"{name}.json", work.token) as path:
        path.write_text(json.dumps(asdict(part.tally)), encoding="utf-8")


def read_part(number: int, folder: Path) -> Part | None:
    """Return what was found in a part that is done; None if it is not."""
    from pyarrow import parquet

    place = folder / DONE / f"{number:06d}"
    written = (place.with_suffix(".json"), *(folder / kind / name_part(number) for kind in PARTS))
    if not all(path.is_file() for path in written):
        return None
    tally = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
    tally["groups"] = {
        column: {value: tuple(counts) for value, counts in groups.items()}
        for column, groups in tally["groups"].items()
    }
    with parquet.ParquetFile(f"{place}.parquet") as file:
        return Part(number, Tally(**tally), file.read())

"""Correct a data frame as the command line corrects a file: the same features, options and report.

`correct_table` reads the frame, and the rest of the way is that of `subsvms correct`. The `Correction` that
it returns keeps what was read (`FrameRun`), so that it can write the report and open the review page. For the
review a folder is written as for a file, with the frame in it as table.parquet; whatever works on the folder
of a run works on it: `subsvms review`, `apply`, `export`, and `correct --from`.
"""

import hashlib
import os
import shlex
import tempfile
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from subsvms._callers import find_stacklevel, renamed
from subsvms._labels import Classes, check_verified
from subsvms._numbers import check_count
from subsvms.app.declared import list_options, option, taking
from subsvms.app.names import DENSE, JUDGED, RECORD, SPARSE, TABLE
from subsvms.app.options import LABEL_OPTIONS, Options, TableOptions
from subsvms.app.runs.answers import merge_answers
from subsvms.app.runs.causes import MOST_LABELS, Carriers
from subsvms.app.runs.describe import choose_columns
from subsvms.app.runs.folder import prepare_place
from subsvms.app.runs.job import describe_run, write_folder
from subsvms.app.runs.other_judges import Judge
from subsvms.app.runs.outputs import add_audit, as_storable, render_page
from subsvms.app.runs.record import read_record
from subsvms.app.runs.run import Clock, Run, find_run_carriers, recount, run_in_memory
from subsvms.app.runs.summary import Handles, Written, format_next_steps
from subsvms.app.tables.arrow import list_values, render_arrow
from subsvms.app.tables.files import check_target, write_content
from subsvms.app.tables.table import read_frame
from subsvms.correction._frames import find_style
from subsvms.correction._result import Correction
from subsvms.exceptions import InputError, LabelNoiseWarning, Note, Sentence, TableError

NO_LABEL = "{label} is missing: name the label column, or columns of answers with {annotators}."
FOLDER = "frame.subsvms"  # in a temporary folder
IN_PYTHON = Handles(
    worst="below", listed="correction.to_frame()", review="correction.review()", table="correction.labels",
    given="the given ones", weights="correction.sample_weight",
    confirm="subsvms.audit.confirm(correction)", audit="subsvms.audit.run_audit",
    estimate="subsvms.audit.estimate_error_rate",
)  # fmt: skip


@dataclass(frozen=True)
class FrameOptions(TableOptions):
    """The parameters of `correct_table`."""

    frame: Any = option(
        MISSING,
        "Also any other table that exports an Arrow stream, such as a relation of DuckDB. It is never "
        "changed. The index of a pandas frame is not a column, and comes back in `to_frame()`.",
        kind="pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table",
    )
    label: Hashable = option(
        None,
        "Name of the label column: text, whole numbers or booleans, null where a label is missing. Only "
        "with `annotators` it may be left out.",
        kind="str",
    )
    _: KW_ONLY
    features: Any = option(
        None,
        "Numbers to use instead of the columns, such as embeddings of texts or images.",
        kind="array-like or sparse matrix of shape (n_rows, n_features)",
    )
    estimator: Any = option(
        None,
        "Who judges, in place of SVMs that are chosen: a classifier, a list of some, or SVMs with parameters "
        "of their own. A pipeline takes the frame as it is, without the label and columns that are left out; "
        "any other classifier takes the features that are made of the columns.",
        kind="SubSVMClassifier, classifier, pipeline or list of them",
    )
    pred_probs: Any = option(
        None,
        "Instead: out-of-sample probabilities of any model. An array has a column for each class, in the "
        "order of the sorted classes; columns of a frame, keys of a mapping, or columns of `frame` itself, "
        "are named by the classes, such as p_cat and p_dog. The other columns check what would change.",
        kind="array-like of shape (n_rows, n_classes), data frame, mapping, or list of str",
    )
    verified: Any = option(
        None,
        "Labels that people verified, None or NaN elsewhere, as in `correct_labels`.",
        kind="array-like of shape (n_rows,)",
    )
    n_witnesses: int = option(3, "As in `LabelCorrector`.")
    n_jobs: int | None = option(None, "Threads: None for one, -1 for all cores. Their number changes no bit.")
    device: str = option(
        "cpu",
        "Where the SVMs vote, as in `SubSVMClassifier`: it changes no bit.",
        kind='{"cpu", "cuda", "auto"}',
    )


@renamed(missing_labels="missing_label")
@taking(FrameOptions)
def correct_table(asked: FrameOptions) -> Correction:
    """Find wrong labels in a data frame as it is: numbers, categories, dates, text and missing values.

    The result is that of `subsvms correct` on a file with the same columns, to the bit. It needs
    subsvms[app].

    Returns
    -------
    Correction
        It shows itself in a notebook; `report(path)` writes a page to pass on, `review()` opens one to decide
        row by row.

    Warns
    -----
    LabelNoiseWarning
        About what may be wrong with the table or the result; also in `notes`.

    See Also
    --------
    correct_labels : The same for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from subsvms import correct_table
    >>> rng = np.random.default_rng(0)
    >>> clean = np.repeat(["no", "yes"], 300)
    >>> late = clean == "yes"
    >>> frame = pd.DataFrame({
    ...     "amount": rng.normal(1000 + 900 * late, 300).round(2),
    ...     "job": np.where(rng.random(600) < 0.2, None, np.where(late, "cook", "clerk")),
    ...     "opened": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 600), unit="D"),
    ...     "default": np.where(np.arange(600) % 10 == 0, "no", clean),
    ... })
    >>> correction = correct_table(frame, label="default")
    >>> int((frame["default"] != clean).sum()), int((correction.labels != clean).sum()) < 8
    (30, True)
    """
    clock = Clock()
    reading = {name: getattr(asked, name) for name in LABEL_OPTIONS}
    shared = {one.name: getattr(asked, one.name) for one in list_options(TableOptions)}
    judge, names = read_judge(asked)
    options = Options("" if asked.label is None else str(asked.label), **shared, pred_probs=names)
    if options.annotators or options.annotator_column is not None:
        columns, options, notes = merge_answers(read_frame(asked.frame, None), options)
        table = read_frame(columns, options.label, **reading)
        table = replace(table, notes=(*notes, *table.notes))
    elif asked.label is None:
        raise TableError(Sentence(NO_LABEL))
    else:
        table = read_frame(asked.frame, asked.label, **reading)
    check_count("n_witnesses", asked.n_witnesses, least=0)
    numbers = check_verified(asked.verified, Classes.of(table.classes).names, len(table))
    decided = [(int(row) + 1, table.classes[numbers[row]]) for row in np.flatnonzero(numbers >= 0)]
    options = replace(options, verified=tuple(decided))  # rows from 1
    clock.lap("reading")
    run = run_in_memory(
        table, options, features=asked.features, judge=judge, n_jobs=asked.n_jobs, device=asked.device,
        n_witnesses=asked.n_witnesses, clock=clock,
    )  # fmt: skip
    origin = FrameRun(run, asked.features)
    style = find_style(asked.frame)
    if style.index is not None and len(run.correction) != len(style.index):  # one line an answer
        style = replace(style, index=None)
    correction = replace(run.correction, style=style, origin=origin)
    for note in correction._cautions:
        warnings.warn(note, LabelNoiseWarning, stacklevel=find_stacklevel())
    return correction


def read_judge(asked: FrameOptions) -> tuple[Judge, Sequence[str]]:
    """Return the judge that was asked for, and the columns of the frame that hold its probabilities."""
    p = asked.pred_probs
    if isinstance(p, list | tuple) and p and all(isinstance(one, str) for one in p):
        return Judge(asked.estimator, asked.frame), p
    if isinstance(p, str | os.PathLike):
        return replace(Judge.of(p), estimator=asked.estimator), ()
    return Judge(asked.estimator, asked.frame, p), ()


class FrameRun:
    """The run that a correction of a data frame came from."""

    def __init__(self, run: Run, features: Any = None):
        self.run = run
        self.features = features  # what was used instead of the columns
        self.temporary: Path | None = None  # the folder of a review

    @property
    def notes(self) -> tuple[Note, ...]:
        """What to know about labels and columns of the table before using the result."""
        return self.run.table_notes

    @property
    def remarks(self) -> tuple[Note, ...]:
        """What happened to columns that are not features."""
        return self.run.remarks

    def show_rows(self, rows: np.ndarray) -> dict[str, list[str]]:
        """Return the values of some rows as text, column by column."""
        taken = self.run.table.columns.take(rows)

        def as_cell(value: Any) -> str:
            return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

        return {name: list(map(as_cell, list_values(taken[name]))) for name in choose_columns(self.run)}

    def find_carriers(self, correction: Correction, rows: np.ndarray) -> Carriers:
        """Return what carries the suggestions for some rows, as the report has it."""
        found = find_run_carriers(self.run, correction, self.run.features.X, rows)
        if found is None:
            raise InputError(
                f"Carriers are looked for in tables of up to {MOST_LABELS:,} labels that have features: use "
                "certify of subsvms.certificates for a few rows of a larger one."
            )
        return found

    def write_report(self, correction: Correction, path: str | os.PathLike) -> Path:
        """Write the page of `subsvms correct` about a correction of this frame."""
        target = check_target(path, (), force=True)
        run = recount(self.run, correction)
        digest = hashlib.sha256(render_arrow(as_storable(run.table.columns), "parquet")).hexdigest()
        _, summary = describe_run(replace(run, table=replace(run.table, digest=digest)), target.parent)
        table = "the rows in correction.kept" if summary.counted.dropped else "correction.labels"
        at_hand = IN_PYTHON._replace(table=table)
        summary = replace(summary, written=Written()).advising(format_next_steps(summary, at_hand))
        write_content(target, add_audit(render_page(summary, run), run).encode())
        return target

    def open_review(
        self, correction: Correction, folder: str | os.PathLike | None, *, port: int | None, browser: bool,
        block: bool | None,
    ) -> Any:  # fmt: skip
        """Open the review page of a folder that holds this correction; it is written if it does not yet."""
        from subsvms.app.desk.background import Review

        place = self.write_folder(correction, folder)
        return Review.open(place, port=port, browser=browser, block=block)

    def write_folder(self, correction: Correction, folder: str | os.PathLike | None = None) -> Path:
        """Write the folder of a run, with the frame in it, unless it is there."""
        run, inputs = recount(self.run, correction), self._store()
        known = self.temporary if folder is None else Path(folder)
        if known is not None and (known / RECORD).is_file():
            with tempfile.TemporaryDirectory() as scratch:
                same = _hold_the_same(known, _write_run(run, inputs, Path(scratch) / FOLDER))
            if same:
                return known
            if folder is not None:
                raise TableError(
                    f"{str(known)!r} holds the result of another run: choose another folder for this review, "
                    f"or go on with that one: subsvms review {shlex.quote(str(known))}"
                )
        if folder is not None:
            return _write_run(run, inputs, Path(folder))
        self.temporary = _write_run(run, inputs, Path(tempfile.mkdtemp(prefix="subsvms-")) / FOLDER)
        return self.temporary

    def _store(self) -> dict[str, bytes]:
        """Return the bytes of the files that hold what was corrected, by name."""
        inputs = {TABLE: render_arrow(as_storable(self.run.table.columns), "parquet")}
        if self.features is not None:
            stream, is_sparse = BytesIO(), sparse.issparse(self.features)
            if is_sparse:
                sparse.save_npz(stream, sparse.csr_matrix(self.features))
            else:
                np.save(stream, np.asarray(self.features), allow_pickle=False)
            inputs[SPARSE if is_sparse else DENSE] = stream.getvalue()
        if self.run.judge.pred_probs is not None:
            stream = BytesIO()
            np.save(stream, self.run.correction.votes.share, allow_pickle=False)
            inputs[JUDGED] = stream.getvalue()
        return inputs


def _write_run(run: Run, inputs: dict[str, bytes], place: Path) -> Path:
    """Write the folder of a run as if it had read files in that folder, which hold these bytes."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in inputs.items()}
    path = place / TABLE
    table = replace(
        run.table, name=repr(str(path)), paths=(path,), format="parquet", digest=digests.pop(TABLE)
    )
    judge = run.judge
    if JUDGED in digests:
        judge = Judge(pred_probs=place / JUDGED, digest=digests.pop(JUDGED))
    run = replace(run, table=table, judge=judge)
    for name, digest in digests.items():
        run = replace(run, features_path=place / name, features_digest=digest)
    prepare_place(place, force=False)
    stored = [[TABLE, "the data frame, which is never changed"]]
    finding, summary = describe_run(run, place, stored)
    write_folder(finding, summary, place, inputs)
    return place


def _hold_the_same(folder: Path, other: Path) -> bool:
    """Return whether two folders hold the same run: the same options, table, labels and issues."""
    try:
        one, two = read_record(folder), read_record(other)
    except TableError:
        return False
    return one.options == two.options and one.files == two.files

"""Judges of a run other than the SVMs that its options describe: given probabilities, and classifiers.

Probabilities come from a file, from columns of the table itself, or from a program as a table of any kind.
Columns are recognised by the names of the classes (`find_columns_of`); an array has the order of the sorted
classes. Classifiers come from a program alone: a pipeline takes the user's frame, any other the features.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from subsvms.app.features.make import Features
from subsvms.app.features.scalers import ArrayScaler, load_numbers
from subsvms.app.options import Options
from subsvms.app.quoting import suggest_file
from subsvms.app.tables.files import check_named, digest_file
from subsvms.app.tables.table import LabelledTable, as_arrow, read_table
from subsvms.correction._frames import find_style
from subsvms.correction._groups import group_rows
from subsvms.correction._judge import Learned
from subsvms.correction._learn import Sample, learn_judged
from subsvms.correction._other_judges import (
    PROBABILITIES,
    ClassifierLook,
    check_probabilities,
    name_judge,
    prepare_estimators,
)
from subsvms.correction._overlap import CloserLook, SVMLook
from subsvms.correction._rule import Settings
from subsvms.ensemble import SubSVMClassifier
from subsvms.exceptions import Sentence, Setting, TableError

TWO = "{estimator} and {pred_probs} are both judges: give one of them."
SET = "{name} is about SVMs, and {judge} judges in their place: leave one of them out."
NO_FILE = (
    "There is no file {path!r} with probabilities, and {pred_probs} takes a file or the names of columns of "
    "the table, one for each class{hint}"
)
ONE_LINE = (
    "A pipeline takes the frame as it is, which has one line an answer ({annotator_column}): give a "
    "classifier that takes features."
)
LEFT_OUT = ("asked", "answers", "leak")  # why a column is no feature, so that a pipeline does not see it


@dataclass(frozen=True, eq=False)
class Judge:
    """Who judges the labels of a run, if not SVMs that its options describe."""

    estimator: Any = None  # a classifier or several, not fitted, or SVMs with parameters of their own
    frame: Any = None  # what pipelines take
    pred_probs: Any = None  # a file, or a table of probabilities; columns of the run's table are an option
    digest: str | None = None  # SHA-256 of that file

    @classmethod
    def of(cls, pred_probs: str | os.PathLike | None) -> "Judge":
        """Return the judge that a file of probabilities is; the default without one."""
        if pred_probs is None:
            return cls()
        path = Path(pred_probs)
        if not path.is_file():
            raise TableError(NO_FILE, path=str(path), hint=suggest_file(path))
        return cls(pred_probs=path, digest=digest_file(path))

    @property
    def path(self) -> Path | None:
        """The file of probabilities."""
        return self.pred_probs if isinstance(self.pred_probs, Path) else None

    @property
    def name(self) -> str | None:
        """What to call the classifiers that a program gave."""
        one = self.estimator
        return one if one is None or isinstance(one, str) else name_judge(one)

    def forget(self) -> "Judge":
        """Return what a result keeps: of classifiers only the name, and not the user's frame."""
        return replace(self, estimator=self.name, frame=None)

    def has_probabilities(self, options: Options) -> bool:
        """Return whether probabilities judge that are given."""
        return self.pred_probs is not None or bool(options.pred_probs)

    def is_other(self, options: Options) -> bool:
        """Return whether others than SVMs judge."""
        votes = self.estimator is None or isinstance(self.estimator, SubSVMClassifier)
        return not votes or self.has_probabilities(options)

    def check(self, options: Options) -> None:
        """Raise an error if there are two judges."""
        if self.estimator is not None and self.has_probabilities(options):
            raise TableError(Sentence(TWO))
        if self.estimator is not None or self.has_probabilities(options):
            for name in ("n_estimators", "subsample_size", "kernel"):
                if getattr(options, name) is not None:
                    other = Setting("pred_probs" if self.estimator is None else "estimator")
                    raise TableError(SET, name=Setting(name), judge=other)

    def read(
        self, table: LabelledTable, classes: np.ndarray, options: Options, rows: np.ndarray | None = None
    ) -> np.ndarray | None:
        """Return the probabilities (n_rows, n_classes) that are given about a table; None without any."""
        if not self.has_probabilities(options):
            return None
        X: Any = self.pred_probs
        if options.pred_probs:
            known = table.columns.column_names if table.matrix is None else ()
            check_named(options.pred_probs, known, "pred_probs", table.name)
            X = read_columns(table.columns, options.pred_probs, decimal_comma=table.decimal_comma)
        elif self.path is not None and self.path.suffix.lower() in (".npy", ".npz"):
            X = load_numbers(self.path)
        elif self.path is not None:
            held = read_table(self.path, None)
            X = read_columns(held.columns, held.columns.column_names, decimal_comma=held.decimal_comma)
        return check_probabilities(X, classes, len(table), "pred_probs", rows)

    def learn(
        self, p: np.ndarray | None, sample: Sample, classes: np.ndarray, options: Options, settings: Settings,
        made: Features, n_jobs: int | None,
    ) -> Learned:  # fmt: skip
        """Learn from this judge, whose probabilities are p if they are given."""
        look: CloserLook | None = None
        seed, name = options.random_state, PROBABILITIES
        copies, groups = group_rows(None if made.stand_in else sample.X, len(sample.rows), sample.groups)
        if p is None:
            own = {"random_state": seed} | ({} if n_jobs is None else {"n_jobs": n_jobs})
            estimators = prepare_estimators(self.estimator, **own)
            piped = [isinstance(one, Pipeline) for one in estimators]
            frame = take_columns(self.frame, made, options, len(sample.rows)) if any(piped) else None
            tables = [frame if takes_frame else sample.X for takes_frame in piped]
            look, name = ClassifierLook(estimators, tables, classes, seed, groups), self.estimator
            look.features, p = sample.X, look.predict(sample.given)
        elif not made.stand_in:
            look = SVMLook(SubSVMClassifier(random_state=seed, n_jobs=n_jobs), sample.X, groups)
        return learn_judged(
            p, name_judge(name), sample.given, classes, settings, look, copies, sample.groups,
            rows=sample.rows, sizes=sample.drawing.sizes, verified=sample.verified,
        )  # fmt: skip


DEFAULT = Judge()  # SVMs


def stand_in(p: np.ndarray) -> Features:
    """Return probabilities as features of a table that has none, to find rows that are alike."""
    return replace(Features(*ArrayScaler.fit(p, "pred_probs")), stand_in=True)


def read_columns(columns: Any, names: Sequence[str], *, decimal_comma: bool) -> dict[str, np.ndarray]:
    """Return columns of a pyarrow.Table, as numbers where they hold some."""
    import pyarrow as pa
    from pyarrow import compute

    found = {}
    for name in names:
        column = columns[name]
        with suppress(pa.ArrowException):  # other values are refused if they are needed
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            if decimal_comma:
                column = compute.replace_substring(column.cast(pa.large_string()), ",", ".")
            column = column.cast(pa.float64())
        found[name] = column.to_numpy()
    return found


def take_columns(frame: Any, made: Features, options: Options, n_rows: int) -> Any:
    """Return the user's frame without the label and columns that are left out; other tables as pandas."""
    from narwhals.dependencies import is_polars_lazyframe

    if find_style(frame).library is None:
        frame = as_arrow(frame).to_pandas()
    elif is_polars_lazyframe(frame):
        frame = frame.collect()
    if len(frame) != n_rows:
        raise TableError(Sentence(ONE_LINE))
    dropped = {options.label, *options.left_out, *(n for n, why in made.left_out.items() if why in LEFT_OUT)}
    return frame[[name for name in frame.columns if str(name) not in dropped]]

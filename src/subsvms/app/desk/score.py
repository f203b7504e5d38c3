"""The score of a model on the true labels of a test set, by people's answers: from a table with predictions.

There is no run, and no folder of one: a table has a column of given labels and one or two of predictions. The
answers are in a file of acts beside it, with how they were drawn; the table is only read. People see neither
the labels nor the predictions.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms.app.desk.audit import QuestionDesk
from subsvms.app.desk.questions import Sample, read_begun
from subsvms.app.desk.rows import TableRows
from subsvms.app.options import Options
from subsvms.app.quoting import name_some, show
from subsvms.app.runs.answer_store import AnswerStore
from subsvms.app.runs.answers import as_common
from subsvms.app.tables.files import check_named, check_target
from subsvms.app.tables.labels import read_labels
from subsvms.app.tables.table import LabelledTable, place_beside, read_table
from subsvms.evaluation import compare_models, draw_test_rows, score_interval
from subsvms.exceptions import Setting, TableError

LABELS = ("label", "labels", "y", "y_true", "target", "class")  # what these columns are usually called
PREDICTIONS = ("prediction", "predictions", "predicted", "predicted_label", "y_pred", "pred")


@dataclass(frozen=True, eq=False)
class Predicted:
    """What is asked about a table: its given labels, and one or two columns of predictions, by name."""

    table: str  # its checksum
    label: str
    given: np.ndarray
    predictions: dict[str, np.ndarray]
    classes: Classes

    def draw(self, begun: "BegunScore") -> list[int]:
        """Return the rows to ask about, from 0."""
        one, *others = self.predictions.values()
        how = self.metric_options(begun) | {"random_state": begun.random_state}
        n_answers = min(begun.n_answers, len(self.given))
        return draw_test_rows(self.given, one, n_answers, other=others[0] if others else None, **how)

    def metric_options(self, begun: "BegunScore") -> dict[str, Any]:
        """Return the metric, and the class that counts as positive as the table has it."""
        positive = begun.positive
        if positive is not None:
            positive = self.classes.labels[self.classes.find_text(positive, "The positive class")]
        return {"metric": begun.metric, "positive": positive}

    def number(self, label: Any) -> int:
        """Return the class number of a label; raise an error if there is no such class."""
        return self.classes.find(label, "An answer", ", or None for 'cannot tell'")


@dataclass(frozen=True)
class BegunScore:
    """How questions about a test set were begun: they can be drawn again from it."""

    table: str
    label: str
    prediction: list[str]
    metric: str
    positive: str | None
    n_answers: int  # at most: fewer if there are fewer rows, or two models differ less often
    random_state: int
    confidence: float


class Score(Sample):
    """Rows of a test set, drawn for a metric, or where two models differ; rows count from 0."""

    part, option = "test", "answers"
    why_one = "another draw would void its confidence, and for another question make a copy of the table"
    is_blind = True
    defaults = {
        "n_answers": 50, "random_state": 0, "metric": "accuracy", "positive": None, "confidence": 0.95,
    }  # fmt: skip

    @classmethod
    def make(cls, predicted: Predicted, options: dict[str, Any]) -> BegunScore:
        """Return how questions are begun, as it is stored."""
        names = list(predicted.predictions)
        begun = BegunScore(predicted.table, predicted.label, names, **cls.defaults | options)
        if not predicted.draw(begun):
            raise TableError(
                f"{' and '.join(map(show, names))} are the same in every row: there is nothing to ask."
            )
        return begun

    @classmethod
    def begin(cls, how: Any, scores: Any) -> "Score":
        """As in `Sample`."""
        begun = read_begun(how, BegunScore)
        return cls(scores, begun, scores.draw(begun))

    @property
    def said(self) -> str:
        """The score, once all rows have an answer."""
        asked, level = self.ranking, self.begun.confidence
        answered = self.rows, [self.answers[row] for row in self.rows]
        one, *others = asked.predictions.values()
        if others:
            difference = compare_models(asked.given, one, others[0], *answered, level=level)
            return f"{' minus '.join(map(show, asked.predictions))}: {difference}"
        how = asked.metric_options(self.begun)
        return str(score_interval(asked.given, one, *answered, level=level, **how))


class ScoreDesk(QuestionDesk):
    """A table with predictions, and questions about its true labels; nothing is written into it."""

    kind = Score

    def __init__(
        self, path: str | Path, *, label: str | None = None, prediction: Sequence[str] = (),
        hide: Sequence[str] = (), merge_labels: bool | None = None, create: bool = True, **wanted: Any,
    ):  # fmt: skip
        self.folder, self.part = Path(path), self.kind.part
        self.media_folder = self.folder.parent
        table = read_table(self.folder, None)
        place = place_beside(table, "answers", ".sqlite")
        self.decisions = AnswerStore(place, create=False)
        with ExitStack() as failing:
            failing.callback(self.close)
            with self.fitting():
                before = self._read_begun()
            stands = before is not None and (self.decisions.answers[self.part] or not create)
            if before and stands and before.table != table.digest:
                raise TableError(
                    f"{table.name} has changed since its questions were drawn: restore it, or move "
                    f"{place.name!r} away to begin again."
                )
            label = label or (before.label if before else find_column("label", LABELS, (), table))
            names = list(prediction) or (before.prediction if before else [])
            names = names or [find_column("prediction", PREDICTIONS, (label,), table)]
            if before and stands:
                self._check_options(self.part, vars(before), {"label": label, "prediction": names})
            predicted = read_predictions(table, label, names, merge_labels)
            check_named(hide, table.columns.column_names, "hide", table.name)
            table = replace(table, label=label, labels=predicted.given)
            self.source, self.title = TableRows(self.folder.parent, table), self.folder.name
            hidden = {label, *names, *hide}
            self.columns = [name for name in self.source.columns if name not in hidden]
            if not self.columns:
                raise TableError(
                    f"{table.name} has no column that people could see besides labels and predictions: add "
                    "what the labels are about, such as a text."
                )
            self.options, self.named = Options(label, action="review"), predicted.classes
            self.scores, self.labels, self.classes = predicted, self.named.labels, self.named.texts
            if create:
                if not stands:  # what is wrong is said before there is a file
                    self._draw(self._sort_options(wanted))
                self.close()
                self.decisions = AnswerStore(place)
            self._start(create, wanted)
            failing.pop_all()

    def _read_begun(self) -> BegunScore | None:
        begun = self.decisions.begun.get(self.part)
        return None if begun is None else read_begun(begun, BegunScore)

    def _draw(self, wanted: dict[str, Any]) -> BegunScore:
        """As in `QuestionDesk`: what was begun about this table goes on, but for what is wanted now."""
        before = self._read_begun()
        if before is not None and before.table == self.scores.table and before.label == self.scores.label:
            wanted = {name: getattr(before, name) for name in Score.defaults} | wanted
        return Score.make(self.scores, wanted)

    def check_output(self, path: Path, *, force: bool) -> Path:
        """Return where to write; never over the table or the answers."""
        return check_target(path, [self.folder, self.decisions.file.path], force=force)

    def _report(self) -> None:
        """There is no report of a run."""


def find_column(option: str, usual: Sequence[str], taken: Sequence[str], table: LabelledTable) -> str:
    """Return the one column with a usual name; raise an error if it is not one."""
    names = [name for name in table.columns.column_names if name not in taken]
    found = [name for name in names if name.casefold() in usual]
    if len(found) != 1:
        what = {"label": "the given labels", "prediction": "the model's predictions"}[option]
        words = "Say which column of {table} holds {what}: one of {names}, with {option}."
        raise TableError(words, table=table.name, what=what, names=name_some(names), option=Setting(option))
    return found[0]


def read_predictions(
    table: LabelledTable, label: str, names: Sequence[str], merge_labels: bool | None
) -> Predicted:
    """Return the labels and the predictions of a table, in one spelling."""
    import pyarrow as pa

    if len(set(names) - {label}) < len(names) or len(names) > 2:
        words = "{prediction} names one column, or two to compare, besides the labels; got {names}."
        raise TableError(words, prediction=Setting("prediction"), names=name_some([label, *names]))
    lost = [name for name in (label, *names) if name not in table.columns.column_names]
    if lost or table.matrix is not None:
        raise TableError(
            f"{table.name} has no column {show((lost or [label])[0])}; it has "
            f"{name_some(table.columns.column_names)}."
        )
    columns = [as_common(table.columns[name]) for name in (label, *names)]
    kinds = {str(column.type) for column in columns}
    if len(kinds) > 1:
        raise TableError(f"Labels and predictions must be of one type; got {' and '.join(sorted(kinds))}.")
    whole = pa.chunked_array([chunk for column in columns for chunk in column.chunks])
    is_text = str(columns[0].type) == "large_string"
    found, _, _ = read_labels(whole, table.name, label, is_text=is_text, merge_labels=merge_labels)
    empty = [i % len(table) + 1 for i, one in enumerate(found.tolist()) if one is None]
    if empty:
        raise TableError(
            f"Row {empty[0]:,} of {table.name} has no label, or no prediction: make a copy of the table "
            "without such rows."
        )
    classes, codes = Classes.learn(found)
    given, *predicted = np.split(classes.name(codes), len(columns))
    by_name = dict(zip(names, predicted, strict=True))
    return Predicted(table.digest, label, given, by_name, classes)

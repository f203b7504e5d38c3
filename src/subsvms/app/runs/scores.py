"""scores.parquet: what a run thinks of every label of the table, in the table's order.

issues.parquet lists the suspicious labels only. An audit needs the order of all of them, and exactly: so the
quality is not rounded here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._labels import Classes
from subsvms._sentences import Setting
from subsvms.app.names import SCORE_PARTS, SCORES
from subsvms.app.runs.issue_file import DIGITS, get_label_type
from subsvms.app.runs.stored import check_shares, describe_damage, read_stored
from subsvms.app.tables.arrow import render_arrow
from subsvms.app.tables.table import LabelledTable
from subsvms.audit import Ranking
from subsvms.correction import Correction
from subsvms.exceptions import TableError

UNKNOWN = ("given_label", "label_quality", "vote_share")  # null where there is none


@dataclass(frozen=True, eq=False)
class Scores:
    """What is thought of each label, in the order of the table."""

    classes: np.ndarray  # (n_classes,)
    given: np.ndarray  # (n_rows,): class numbers: -1 for no label, and the best other class
    suggested: np.ndarray
    quality: np.ndarray  # (n_rows,): how credible the given label is; NaN without one
    confidence: np.ndarray  # (n_rows,): of the suggestion; a share is NaN if no SVM could vote
    vote_share: np.ndarray
    contradicted: np.ndarray  # (n_rows,): whether the vote prefers the suggestion
    # (n_rows,): whether people had verified the label before the run, and whether the run changed it
    decided: np.ndarray
    changed: np.ndarray

    def __len__(self) -> int:
        return len(self.given)

    @classmethod
    def of(cls, correction: Correction) -> "Scores":
        """Return the scores of a correction."""
        rows, ranking = np.arange(len(correction)), Ranking.of(correction)
        best = ranking.suggested
        return cls(
            classes=correction.classes, given=correction.given, suggested=best,
            quality=correction.label_quality, confidence=correction.judgement.posterior[rows, best],
            vote_share=correction.votes.share[rows, best], contradicted=ranking.contradicted,
            decided=correction.decided, changed=correction.changed,
        )  # fmt: skip


def make_ranking(scores: Scores, left_out: Iterable[int] = ()) -> Ranking:
    """Return what an audit starts from; it is that of the correction which the scores were made from."""
    asked = (scores.given >= 0) & ~scores.decided
    asked[list(left_out)] = False
    free = np.flatnonzero(asked)
    order = free[np.argsort(scores.quality[free], kind="stable")]
    return Ranking(scores.classes, scores.given, scores.suggested, order, scores.contradicted)


def tabulate_scores(scores: Scores, label_type: Any, rows: np.ndarray | None = None) -> Any:
    """Return scores as a pyarrow.Table; `rows` are row numbers from 0, if not all rows of the table."""
    import pyarrow as pa

    names = pa.array(scores.classes.tolist(), label_type)
    labels = {
        "given_label": names.take(pa.array(scores.given, mask=scores.given < 0)),
        "suggested_label": names.take(pa.array(scores.suggested)),
    }
    found = {
        "row": (np.arange(len(scores)) if rows is None else rows) + 1,
        "label_quality": scores.quality,
        "confidence": np.round(scores.confidence, DIGITS),
        "vote_share": np.round(scores.vote_share, DIGITS),
        "contradicted": scores.contradicted,
        "decided": scores.decided,
        "changed": scores.changed,
    }
    schema = make_scores_schema(label_type)
    numbers = {name: pa.array(values, from_pandas=True) for name, values in found.items()}
    return pa.table(labels | numbers).select(schema.names).cast(schema)


def write_scores(scores: Scores, table: LabelledTable, folder: Path) -> None:
    """Write scores.parquet."""
    found = tabulate_scores(scores, get_label_type(table))
    (folder / SCORES).write_bytes(render_arrow(found, "parquet"))


def make_scores_schema(label_type: Any) -> Any:
    """Return the columns of scores.parquet, a pyarrow.Schema, for labels of this Arrow type."""
    import pyarrow as pa

    fields = (
        ("row", pa.int64()), ("given_label", label_type), ("suggested_label", label_type),
        ("label_quality", pa.float64()), ("confidence", pa.float64()), ("vote_share", pa.float64()),
        ("contradicted", pa.bool_()), ("decided", pa.bool_()), ("changed", pa.bool_()),
    )  # fmt: skip
    return pa.schema([pa.field(name, kind, nullable=name in UNKNOWN) for name, kind in fields])


def read_scores(folder: Path, table: LabelledTable) -> Scores:
    """Return what `write_scores` wrote about the labels of a table; nothing is trusted."""
    schema, classes = make_scores_schema(get_label_type(table)), Classes.of(table.classes)

    def build(found: Any) -> Scores:
        scores = build_scores(found, classes, len(table))
        if not np.array_equal(scores.given, table.codes):
            raise ValueError("the labels are not those of the table")
        return scores

    return read_stored(folder / SCORES, schema, build)


def read_score_parts(folder: Path, label_type: Any, labels: list, n_rows: int) -> Scores:
    """Return the scores of a run in parts, from the files in its folder `scores`; nothing is trusted."""
    import pyarrow as pa

    place, schema = folder / SCORE_PARTS, make_scores_schema(label_type)
    parts = [read_stored(path, schema, lambda found: found) for path in sorted(place.glob("*.parquet"))]
    if not parts:
        raise TableError(
            "There is no folder {place!r}, which earlier versions did not write: run subsvms correct again "
            "({decisions} keeps what was decided).",
            place=str(place), decisions=Setting("decisions", str(folder)),
        )  # fmt: skip
    try:
        return build_scores(pa.concat_tables(parts), Classes.of(labels), n_rows)
    except ValueError as error:
        raise describe_damage(place, error) from None


def build_scores(found: Any, classes: Classes, n_rows: int) -> Scores:
    """Return the scores in a pyarrow.Table; raise a ValueError if one cannot be true."""
    if not np.array_equal(found["row"].to_numpy(), np.arange(1, n_rows + 1)):
        raise ValueError("the rows are not those of the table")
    suggested, given = (_number(found[name], classes) for name in ("suggested_label", "given_label"))
    if np.any(suggested < 0) or np.any(given < -1):
        raise ValueError("the table has no such class")
    if np.any(suggested == given):
        raise ValueError("a suggestion is the given label")
    names = ("label_quality", "confidence", "vote_share")
    check_shares(found, names)
    quality, confidence, share = (found[name].to_numpy() for name in names)
    if np.any(np.isnan(quality) & (given >= 0)):
        raise ValueError("label_quality is missing in some rows")
    flags = {name: found[name].to_numpy() for name in ("contradicted", "decided", "changed")}
    return Scores(classes.names, given, suggested, quality, confidence, share, **flags)


def _number(labels, classes):
    """Return the class numbers of a column of labels: -1 for no label, -2 for what is no class."""
    coded = labels.combine_chunks().dictionary_encode()
    numbers = np.append(classes.number(coded.dictionary, unknown=-2), -1)
    return numbers[coded.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)]

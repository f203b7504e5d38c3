"""The Parquet files of a run: their columns, and how they are read again. Nothing in them is trusted.

issues.parquet has the suspicious labels, rounded. scores.parquet has what is thought of every label, in the
table's order; an audit needs this order exactly, so the quality is not rounded there. The review page starts
from here: what takes long to import is imported where it is used.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from subsvms._labels import Classes
from subsvms.app.names import ISSUES, SCORE_PARTS, SCORES
from subsvms.app.quoting import first_sentence, show
from subsvms.app.tables.arrow import check_values
from subsvms.app.tables.labels import plain_type
from subsvms.app.tables.table import LabelledTable, find_free
from subsvms.exceptions import Setting, TableError

if TYPE_CHECKING:
    from subsvms.audit import Ranking
    from subsvms.correction import Correction

DIGITS = 4  # of probabilities in a file; more would say nothing
SHARES = ("label_quality", "confidence", "vote_share")  # from 0 to 1; null where there is none
SIDES = ("supporting", "opposing")  # rows to compare with; files of single parts have none
CARRIERS = ("flips", "carriers", "carried")  # of `Carriers`; large tables and old runs lack them
ODDS = ("probability", "runner_up", "runner_up_probability")  # old runs lack them
MARKS = ("contradicted", "decided", "changed")  # of scores
RULED = ("flagged", "held_back")  # of scores; version 0.1.0 did not write them
Read = TypeVar("Read")


def get_label_type(table: LabelledTable) -> Any:
    """Return the Arrow type of the labels in files of a run."""
    return plain_type(table.columns.schema.field(table.label).type)


def read_stored(path: Path, schema: Any, build: Callable[[Any], Read], *optional: Sequence[str]) -> Read:
    """Return what a Parquet file in the folder of a run holds; groups of optional columns may be missing."""
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise _miss("file", path, path.parent)
    with explaining_damage(path):
        with parquet.ParquetFile(path) as file:
            found = file.read()
        groups = [group for group in optional if not set(group) <= set(found.column_names)]
        schema = pa.schema([field for field in schema if not any(field.name in group for group in groups)])
        found = check_values(found.select(schema.names))
        check_types(found, schema)
        return build(found)


def _miss(what, path, folder):
    words = (
        "There is no {what} {path!r}, which earlier versions did not write: run subsvms correct again "
        "({decisions} keeps what was decided)."
    )
    return TableError(words, what=what, path=str(path), decisions=Setting("decisions", str(folder)))


@contextmanager
def explaining_damage(path: Path) -> Iterator[None]:
    """Say that a file or folder of a run is damaged if it cannot be read, or says what cannot be true."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, KeyError, OSError, ValueError) as error:
        reason = show(first_sentence(error))
        raise TableError(f"{str(path)!r} is damaged ({reason}): run subsvms correct again.") from None


def check_types(found: Any, schema: Any) -> None:
    """Raise a ValueError unless the columns of a pyarrow.Table have the types of a schema."""
    for wanted in schema:
        column = found[wanted.name]
        if not column.type.equals(wanted.type):
            raise ValueError(f"{wanted.name} is of type {column.type}, not {wanted.type}")
        if column.null_count and not wanted.nullable:
            raise ValueError(f"{wanted.name} is missing in some rows")


def _check_shares(found):
    for name in {*SHARES, *ODDS[::2]} & set(found.column_names):
        values = found[name].drop_null().to_numpy()
        if not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"{name} must be between 0 and 1")


# issues.parquet


def make_schema(label_type: Any) -> Any:
    """Return columns of ours in issues.parquet, a pyarrow.Schema, for labels of this Arrow type."""
    import pyarrow as pa

    fields = (
        ("row", pa.int64()), ("given_label", label_type), ("suggested_label", label_type),
        ("is_label_issue", pa.bool_()), *((name, pa.float64()) for name in SHARES),
        ("withstands", pa.int64()), ("action", pa.string()), ("reason", pa.string()),
        *((side, pa.list_(pa.int64())) for side in SIDES),
    )  # fmt: skip
    # only votes of SVMs are known to withstand a change
    unknown = ("given_label", "withstands", *SHARES)
    return pa.schema([pa.field(name, kind, nullable=name in unknown) for name, kind in fields])


def list_odds(label_type: Any) -> list[Any]:
    """Return the fields of `ODDS`."""
    import pyarrow as pa

    kinds = {"runner_up": label_type}
    return [pa.field(name, kinds.get(name, pa.float64()), nullable=name != ODDS[0]) for name in ODDS]


def make_whole_schema(label_type: Any) -> Any:
    """Return all columns of ours in issues.parquet, those that old runs and large tables lack among them."""
    import pyarrow as pa

    kinds = (pa.int64(), pa.list_(pa.int64()), pa.list_(pa.float64()))
    pairs = zip(CARRIERS, kinds, strict=True)
    carriers = [pa.field(name, kind, nullable=name == "flips") for name, kind in pairs]
    return pa.schema([*make_schema(label_type), *list_odds(label_type), *carriers])


def list_types(label_type: Any) -> dict[str, Any]:
    """Return the types of the columns of ours in issues.parquet."""
    return {field.name: field.type for field in make_whole_schema(label_type)}


def name_values(names: Iterable[str], own: Iterable[str]) -> dict[str, str]:
    """Return what the columns of a table are called in a file of issues, which has columns of its own."""
    taken = {*own, "line"}  # which a table that is not text does not have
    found = {}
    for name in names:
        found[name] = find_free(name, taken)
        taken.add(found[name])
    return found


def read_issues(folder: Path, label_type: Any, n_rows: int, classes: list) -> Any:
    """Return what a run wrote about the labels of a table, as a pyarrow.Table."""
    schema, path = make_whole_schema(label_type), folder / ISSUES
    return read_stored(path, schema, lambda found: check_issues(found, n_rows, classes), ODDS, CARRIERS)


def check_issues(found: Any, n_rows: int, classes: list) -> Any:
    """Return what issues say about a table; raise a ValueError if that cannot be true."""
    from pyarrow import compute

    lists = [name for name in (*SIDES, "carriers") if name in found.column_names]
    for rows in (found["row"], *(compute.list_flatten(found[name]) for name in lists)):
        if rows.null_count or not np.all((rows.to_numpy() >= 1) & (rows.to_numpy() <= n_rows)):
            raise ValueError("the table has no such row")
    if len(np.unique(found["row"].to_numpy())) < len(found):
        raise ValueError("a row is listed twice")
    for name in {"suggested_label", "runner_up"} & set(found.column_names):
        if not set(compute.unique(found[name].drop_null()).to_pylist()) <= set(classes):
            raise ValueError("the table has no such class")
    _check_shares(found)
    if set(CARRIERS) <= set(found.column_names):
        _check_carriers(found)
    return found


def _check_carriers(found):
    from pyarrow import compute

    if not compute.list_value_length(found["carriers"]).equals(compute.list_value_length(found["carried"])):
        raise ValueError("carriers and carried must have the same length")
    if not np.all(np.isfinite(compute.list_flatten(found["carried"]).to_numpy(zero_copy_only=False))):
        raise ValueError("carried must be finite")
    if not np.all(found["flips"].drop_null().to_numpy() >= 1):
        raise ValueError("flips must be 1 or more")


# scores.parquet, or a folder of files


@dataclass(frozen=True, eq=False)
class Scores:
    """What is thought of each label, in the order of the table."""

    classes: np.ndarray  # (n_classes,)
    given: np.ndarray  # (n_rows,): class numbers: -1 for no label, and the best other class
    suggested: np.ndarray
    quality: np.ndarray  # (n_rows,): how credible the given label is; NaN without one
    confidence: np.ndarray  # (n_rows,): of the suggestion; a share is NaN if no SVM could vote
    vote_share: np.ndarray
    contradicted: np.ndarray  # (n_rows,): by the votes
    # (n_rows,): whether people had verified the label before the run, and whether the run changed it; would
    # change it, whatever the action is; or held such a change back
    decided: np.ndarray
    changed: np.ndarray
    flagged: np.ndarray
    held_back: np.ndarray

    def __len__(self) -> int:
        return len(self.given)

    @classmethod
    def of(cls, correction: "Correction") -> "Scores":
        """Return the scores of a correction."""
        rows, judgement = np.arange(len(correction)), correction.judgement
        flagged = correction.flagged & ~correction.missing & ~correction.decided
        best = judgement.rival  # of a flagged label this is the suggestion
        return cls(
            classes=correction.classes, given=correction.given, suggested=best,
            quality=correction.label_quality, confidence=judgement.posterior[rows, best],
            vote_share=correction.votes.share[rows, best], contradicted=correction.contradicted,
            decided=correction.decided, changed=correction.changed, flagged=flagged,
            held_back=correction.held_back,
        )  # fmt: skip

    def rank(self, left_out: Iterable[int] = ()) -> "Ranking":
        """Return what an audit starts from; it is that of the correction which the scores were made from."""
        from subsvms.audit import Ranking

        asked = (self.given >= 0) & ~self.decided
        asked[list(left_out)] = False
        free = np.flatnonzero(asked)
        order = free[np.argsort(self.quality[free], kind="stable")]
        marks = self.contradicted, self.flagged & asked, self.held_back & asked
        return Ranking(self.classes, self.given, self.suggested, order, *marks, self.quality)

    def to_table(self, label_type: Any, rows: np.ndarray | None = None) -> Any:
        """Return a pyarrow.Table; `rows` are row numbers from 0, if not all rows of the table."""
        import pyarrow as pa

        names = pa.array(self.classes.tolist(), label_type)
        labels = {
            "given_label": names.take(pa.array(self.given, mask=self.given < 0)),
            "suggested_label": names.take(pa.array(self.suggested)),
        }
        found = {
            "row": (np.arange(len(self)) if rows is None else rows) + 1, "label_quality": self.quality,
            "confidence": np.round(self.confidence, DIGITS), "vote_share": np.round(self.vote_share, DIGITS),
            **{name: getattr(self, name) for name in (*MARKS, *RULED)},
        }  # fmt: skip
        schema = _make_scores_schema(label_type)
        numbers = {name: pa.array(values, from_pandas=True) for name, values in found.items()}
        return pa.table(labels | numbers).select(schema.names).cast(schema)


def _make_scores_schema(label_type):
    import pyarrow as pa

    fields = (
        ("row", pa.int64()), ("given_label", label_type), ("suggested_label", label_type),
        *((name, pa.float64()) for name in SHARES),
        *((name, pa.bool_()) for name in (*MARKS, *RULED)),
    )  # fmt: skip
    unknown = ("given_label", "label_quality", "vote_share")
    return pa.schema([pa.field(name, kind, nullable=name in unknown) for name, kind in fields])


def open_scores(path: Path, first: Any) -> Any:
    """Return a writer of scores like these. There is a line for each row of a table, so they are kept short.

    The first bytes of probabilities are alike, and compressed if they are stored together. Nobody looks for
    scores by their value: statistics would take a third of the time.
    """
    from pyarrow import parquet

    encodings = {"row": "DELTA_BINARY_PACKED", "label_quality": "BYTE_STREAM_SPLIT"}
    names = [name for name in first.column_names if name not in encodings]
    return parquet.ParquetWriter(
        path, first.schema, use_dictionary=names, column_encoding=encodings, write_statistics=False
    )


def write_scores(scores: Scores, table: LabelledTable, folder: Path) -> None:
    """Write scores.parquet."""
    found = scores.to_table(get_label_type(table))
    with open_scores(folder / SCORES, found) as file:
        file.write_table(found)


def read_scores(folder: Path, table: LabelledTable) -> Scores:
    """Return what `write_scores` wrote about the labels of a table."""

    def build(found: Any) -> Scores:
        scores = _build_scores(found, Classes.of(table.classes), len(table))
        if not np.array_equal(scores.given, table.codes):
            raise ValueError("the labels are not those of the table")
        return scores

    return read_stored(folder / SCORES, _make_scores_schema(get_label_type(table)), build, RULED)


def read_score_parts(folder: Path, label_type: Any, labels: list, n_rows: int) -> Scores:
    """Return the scores of a run in parts, from the files in its folder `scores`."""
    import pyarrow as pa

    place, schema = folder / SCORE_PARTS, _make_scores_schema(label_type)
    paths = sorted(place.glob("*.parquet"))
    parts = [read_stored(path, schema, lambda found: found, RULED) for path in paths]
    if not parts:
        raise _miss("folder", place, folder)
    with explaining_damage(place):
        return _build_scores(pa.concat_tables(parts), Classes.of(labels), n_rows)


def _build_scores(found: Any, classes: Classes, n_rows: int) -> Scores:
    """Return the scores in a pyarrow.Table; raise a ValueError if one cannot be true."""
    if not np.array_equal(found["row"].to_numpy(), np.arange(1, n_rows + 1)):
        raise ValueError("the rows are not those of the table")
    suggested, given = (_number(found[name], classes) for name in ("suggested_label", "given_label"))
    if np.any(suggested < 0) or np.any(given < -1):
        raise ValueError("the table has no such class")
    if np.any(suggested == given):
        raise ValueError("a suggestion is the given label")
    _check_shares(found)
    quality, confidence, share = (found[name].to_numpy() for name in SHARES)
    if np.any(np.isnan(quality) & (given >= 0)):
        raise ValueError("label_quality is missing in some rows")
    marks = {name: found[name].to_numpy() for name in (*MARKS, *RULED) if name in found.column_names}
    old = {"flagged": marks["changed"], "held_back": np.zeros(n_rows, dtype=bool)}
    return Scores(classes.names, given, suggested, quality, confidence, share, **(old | marks))


def _number(labels, classes):
    """Return the class numbers of a column of labels: -1 for no label, -2 for what is no class."""
    coded = labels.combine_chunks().dictionary_encode()
    numbers = np.append(classes.number(coded.dictionary, unknown=-2), -1)
    return numbers[coded.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)]

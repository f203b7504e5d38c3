"""The labels to look at: flagged ones, worst first, then those held back, the most doubtful, those filled in.

A label is held back if another is more probable, but the rule kept it: fewer changes were allowed
(`max_error_rate`), more confidence was asked for (`min_confidence`), or classes overlap there.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subsvms._columns import Table
from subsvms._effort import count_threads
from subsvms._labels import Classes
from subsvms.app.names import DOUBTFUL, ISSUE_PARTS
from subsvms.app.runs import parquet_files
from subsvms.app.runs.causes import Carriers
from subsvms.app.runs.parquet_files import DIGITS, SHARES, SIDES
from subsvms.app.tables.table import LabelledTable, find_free
from subsvms.app.tables.text import TableText
from subsvms.correction._copies import Witnesses, find_witnesses
from subsvms.correction._result import Correction, list_suspicious

MOST_LISTED = 100_000  # issues of a table in parts in one file
WAITING = 4  # times as many ranks are in memory before the worst of them are chosen
FLAGGED, HELD_BACK, UNSUSPICIOUS, FILLED = range(4)  # kinds of rows to look at, in this order


def sort_out(correction: Correction) -> np.ndarray:
    """Return the kind of each row."""
    kind = np.where(correction.missing & ~correction.decided, FILLED, UNSUSPICIOUS)
    return np.where(correction.flagged, FLAGGED, np.where(correction.held_back, HELD_BACK, kind))


def sort_worst(kind: np.ndarray, quality: np.ndarray, rows: np.ndarray, most: int) -> np.ndarray:
    """Return the places of the worst rows, by kind and quality, in the order in which to look at them."""
    key = 2.0 * kind + quality
    limit = np.partition(key, most - 1)[most - 1] if most < len(key) else np.inf
    near = np.flatnonzero(key <= limit)  # sorting the others would take longest
    return near[np.lexsort((rows[near], quality[near], kind[near]))[:most]]


@dataclass(frozen=True, eq=False)
class Issues:
    """Suspicious labels in the order in which to look at them."""

    correction: Correction
    witnesses: Witnesses  # the suspicious rows, and the rows to compare each of them with
    carriers: Carriers | None = None  # the labels that carry the suggestions, if they were looked for

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def rows(self) -> np.ndarray:
        """Places of the suspicious rows in the correction, from 0."""
        return self.witnesses.rows

    @property
    def n_labels(self) -> int:
        """Suspicious labels; rows without one do not count."""
        return int(np.sum(self.correction.given[self.rows] >= 0))

    def to_table(self, table: LabelledTable, id_column: str | None = None) -> Any:
        """Return what issues.parquet holds about the table that was corrected, as a pyarrow.Table."""
        return tabulate(
            self.correction, self.rows, table.columns, str(table.label), parquet_files.get_label_type(table),
            more=self.list_comparisons(np.arange(len(self.correction))), id_column=id_column,
            lines=table.text.lines if isinstance(table.text, TableText) else None,
        )  # fmt: skip

    def list_comparisons(self, numbers: np.ndarray) -> dict[str, list]:
        """Return columns of rows to compare with, and of those that carry suggestions, by their `numbers`."""
        pairs = ((side, getattr(self.witnesses, side)) for side in SIDES)
        found = {side: [(numbers[others] + 1).tolist() for others in rows] for side, rows in pairs}
        return found if self.carriers is None else found | self.carriers.list_columns(DIGITS)


def find_issues(correction: Correction, X: Table) -> Issues:
    """Return the suspicious labels of a correction."""
    rows = list_suspicious(correction)
    return Issues(correction, find_witnesses(X, correction.given, rows, correction.compared[rows]))


def tabulate(
    correction: Correction, rows: np.ndarray, columns: Any, label: str, label_type: Any, *,
    numbers: np.ndarray | None = None, more: dict[str, list] | None = None, id_column: str | None = None,
    lines: np.ndarray | None = None,
) -> Any:  # fmt: skip
    """Return what is known about some rows, and their values, in typed columns."""
    import pyarrow as pa

    classes, places = Classes(correction.classes), np.arange(len(rows))
    compared, given = correction.compared[rows], correction.given[rows]
    p = correction.share_out(rows)
    probability = np.round(p[places, compared], DIGITS)
    p[places, compared] = p[given >= 0, given[given >= 0]] = -1.0  # the others are left
    next_p = np.round(p.max(axis=1), DIGITS)
    runner_up = np.where(next_p >= 0, p.argmax(axis=1), -1)
    found = {
        "row": (rows if numbers is None else numbers[rows]) + 1,
        "given_label": classes.name(given).tolist(),
        "suggested_label": classes.name(compared).tolist(), "is_label_issue": correction.flagged[rows],
        "label_quality": np.round(correction.label_quality[rows], DIGITS),
        "confidence": np.round(correction.judgement.posterior[rows, compared], DIGITS),
        "vote_share": np.round(correction.votes.share[rows, compared], DIGITS),
        "probability": probability, "runner_up": classes.name(runner_up).tolist(),
        "runner_up_probability": np.where(runner_up >= 0, next_p, np.nan),
        "withstands": [None] * len(rows) if correction.withstands is None else correction.withstands[rows],
        "action": correction.action[rows].tolist(),
        "reason": correction.explain(rows), **(more or {}),
    }  # fmt: skip
    types = parquet_files.list_types(label_type)
    plain = () if numbers is None else SHARES  # where NaN, of a row without a label, is no null
    pairs = ((name, pa.array(found[name], types[name], from_pandas=name not in plain)) for name in found)
    table = pa.table(dict(pairs))
    if lines is not None:
        table = table.add_column(1, "line", pa.array(lines[rows], pa.int64()))
    values = columns.take(rows)
    others = (name for name in values.column_names if name != label)
    names = parquet_files.name_values(others, table.column_names)
    joined = list(zip(table.schema, table.columns, strict=True))
    for field, column in zip(values.schema, values.columns, strict=True):
        if field.name != label:
            place = 1 + (lines is not None) if field.name == id_column else len(joined)
            joined.insert(place, (field.with_name(names[field.name]), column))
    fields, arrays = zip(*joined, strict=True)
    return pa.table(list(arrays), schema=pa.schema(fields))


def list_worst(
    folder: Path, issues: Issues, numbers: np.ndarray, most: int, n_jobs: int | None = None
) -> Any:
    """Return the worst issues of all parts of a table, as issues.parquet has them, a pyarrow.Table."""
    # `issues` has those with rows to compare them with; `numbers` are those of its rows in the whole table.
    import pyarrow as pa
    from pyarrow import parquet

    paths = sorted((folder / ISSUE_PARTS).glob("*.parquet"))
    kept, limit = [np.zeros((5, 0))], np.inf  # ranks of the worst so far; from this on none is among them

    def rank(number):
        found = read_ranks(paths[number], number)
        return found[:, 2.0 * found[0] + found[1] <= limit]

    def choose(kept):
        both = np.concatenate(kept, axis=1)
        return both[:, sort_worst(both[0], both[1], both[2], most)]

    def take(number):
        with parquet.ParquetFile(paths[number]) as file:  # side by side with others, so each by one thread
            return file.read(use_threads=False).take(worst[4, worst[3] == number].astype(int))

    with ThreadPoolExecutor(count_threads(n_jobs)) as pool:
        for found in pool.map(rank, range(len(paths))):
            kept.append(found)
            if sum(part.shape[1] for part in kept) > WAITING * most:
                kept = [choose(kept)]
                limit = 2.0 * kept[0][0, -1] + kept[0][1, -1]
        worst = choose(kept)
        pieces = list(pool.map(take, np.unique([0, *worst[3]]).astype(int).tolist()))
    found = pa.concat_tables(pieces, promote_options="permissive")
    first = numbers[issues.rows] + 1  # their order is exact: quality is rounded in the files
    first = first[np.isin(first, worst[2])]
    rows = np.concatenate([first, np.setdiff1d(worst[2], first, assume_unique=True)])
    order = np.argsort(found["row"].to_numpy())[np.argsort(np.argsort(rows))]
    return add_comparisons(found.take(order), issues, numbers)


def read_ranks(path: Path, number: int) -> np.ndarray:
    """Return kind, quality and row of the issues in a part, the number of its file and their places in it."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        found = file.read(["row", "given_label", "is_label_issue", "label_quality"], use_threads=False)
    missing, flagged = found["given_label"].is_null().to_numpy(), found["is_label_issue"].to_numpy()
    other = UNSUSPICIOUS if path.name == DOUBTFUL else HELD_BACK
    kind = np.where(missing, FILLED, np.where(flagged, FLAGGED, other))
    quality = np.nan_to_num(found["label_quality"].to_numpy(zero_copy_only=False))
    return np.stack(
        [kind, quality, found["row"].to_numpy(), np.full(len(kind), number), np.arange(len(kind))]
    )


def add_comparisons(table: Any, issues: Issues, numbers: np.ndarray) -> Any:
    """Return issues of parts with rows to compare them with, and the labels that carry the suggestions."""
    import pyarrow as pa

    found = issues.list_comparisons(numbers)
    places = {row: place for place, row in enumerate((numbers[issues.rows] + 1).tolist())}
    at = [places.get(row) for row in table["row"].to_pylist()]
    own = parquet_files.list_types(pa.string())
    for name in SHARES:  # NaN of a row without a label: JSON has none
        known = pa.array(table[name].to_numpy(), from_pandas=True)
        table = table.set_column(table.column_names.index(name), name, known)
    table = table.rename_columns([find_free(name, found) for name in table.column_names])
    place = table.column_names.index("reason") + 1
    for name in reversed(found):
        empty: Any = None if name == "flips" else []
        values = [empty if one is None else found[name][one] for one in at]
        table = table.add_column(place, name, pa.array(values, own[name]))
    return table

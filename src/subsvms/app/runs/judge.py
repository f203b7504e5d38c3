"""Judge one unit of a large table and write the results: a part of the corrected table, and of the issues.

A part is written under a temporary name and renamed when it is complete; a note on what it contains comes
last. So a run that was stopped knows which parts are done, and doing a part twice does no harm.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, cast

import numpy as np

from subsvms.app.names import CORRECTED, DONE, ISSUE_PARTS, TOKEN, VOTES
from subsvms.app.runs.batches import BatchCorrector
from subsvms.app.runs.issues import DIGITS, tabulate
from subsvms.app.runs.source import Source, Unit, release_memory
from subsvms.app.runs.tally import Tally
from subsvms.app.tables.coded import as_type, encode_like
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.table import number_name
from subsvms.correction._result import FEWEST_LISTED, Correction
from subsvms.ensemble._votes import Votes
from subsvms.exceptions import TableError

PARTS = (CORRECTED, ISSUE_PARTS)
FLAGGED, HELD_BACK, UNSUSPICIOUS = 0, 1, 2  # kinds of rows to look at, in this order
SAMPLE = 4096  # rows that show which columns repeat values
RANK = ("kind", "quality", "row")  # columns by which these rows are sorted; "row" counts from 0


@dataclass(frozen=True, eq=False)
class PartWork:
    """What all parts share."""

    source: Source
    corrector: BatchCorrector
    folder: Path | None  # None to write nothing
    n_jobs: int = 1
    batch_rows: int | None = None
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
        return Part(self.number, self.tally + other.tally, both.take(np.lexsort(keys[::-1])[:FEWEST_LISTED]))


def read_with_votes(work: PartWork, unit: Unit) -> Iterator[tuple[Any, np.ndarray, np.ndarray, Votes]]:
    """Yield each batch of a unit, its row numbers and class numbers, and the votes on it, saved or new."""
    corrector, saved = work.corrector, load_votes(work, unit)
    for first, batch in work.source.read(unit, batch_rows=work.batch_rows):
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
    with _open_writer(work, unit) as write:
        for batch, rows, given, votes in read_with_votes(work, unit):
            correction = corrector.judge_votes(given, votes, rows)
            write(CORRECTED, apply_correction(corrector, batch, correction))
            write(ISSUE_PARTS, list_issues(corrector, batch, correction, rows))
            tally = Tally.of(correction, corrector.read_groups(batch))
            parts.append(Part(unit.number, tally, rank_rows(batch, correction, rows)))
    release_memory()
    part = reduce(add, parts)
    if work.folder is not None:
        write_part(part, work)
    return part


def vote_on_unit(work: PartWork, unit: Unit) -> tuple[np.ndarray, ...]:
    """Count the votes on a unit and save them; return score, quality and number of each flagged row.

    With `max_error_rate`, which labels may change is known only when all votes have been counted.
    """
    all_votes, found = [], []
    for _, rows, given, votes in read_with_votes(work, unit):
        verified = work.corrector.find_verified(rows)
        judgement = work.corrector.learned.apply_rule(given, votes, rows, verified)
        flagged = judgement.flagged
        found.append((judgement.score[flagged], judgement.quality[flagged], rows[flagged]))
        all_votes.append(votes)
    joined = all_votes[0].join(*all_votes[1:])
    with _open_new(work, VOTES, f"{unit.number:06d}.npz") as path, path.open("wb") as file:
        np.savez(file, **cast(dict[str, Any], joined.arrays))  # NumPy's stub takes them for other arguments
    return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def load_votes(work: PartWork, unit: Unit) -> Votes | None:
    """Return the saved votes on a unit; None if there are none."""
    path = None if work.folder is None else work.folder / VOTES / f"{unit.number:06d}.npz"
    if path is None or not path.is_file():
        return None
    with np.load(path) as saved:
        return Votes(**saved)


@contextmanager
def _open_new(work: PartWork, kind: str, name: str) -> Iterator[Path]:
    """Provide a temporary path; the file is renamed when the block succeeds, and removed if it fails.

    Two workers may process the same unit at once, if a cluster takes a slow worker for dead.
    """
    assert work.folder is not None
    path = work.folder / kind / f".{name}-{secrets.token_hex(8)}"
    try:
        yield path
        if work.token:
            token = work.folder / TOKEN
            if not token.is_file() or token.read_text(encoding="utf-8") != work.token:
                raise TableError("This part belongs to an earlier run that was stopped.")
        os.replace(path, work.folder / kind / name)
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _open_writer(work: PartWork, unit: Unit) -> Iterator:
    """Provide write(kind, table), which adds rows to the unit's part of that kind; all of them or none."""
    if work.folder is None:
        yield lambda kind, table: None
        return
    files: dict[str, Any] = {}
    with ExitStack() as stack:
        places = {kind: stack.enter_context(_open_new(work, kind, name_part(unit.number))) for kind in PARTS}

        def write(kind, table):
            if kind not in files:
                files[kind] = stack.enter_context(open_parquet(places[kind], table))
            files[kind].write_table(table)

        yield write


def open_parquet(path: Path, first: Any) -> Any:
    """Return a writer of tables like this one, which is the first of them.

    Numbers that hardly repeat take six times as long to write with a dictionary, and more space.
    """
    import pyarrow as pa
    from pyarrow import compute, parquet

    start = first.slice(0, SAMPLE)
    varied = [
        pa.types.is_primitive(column.type) and 2 * compute.count_distinct(column).as_py() > len(start)
        for column in start.columns
    ]
    nested = any(pa.types.is_nested(column.type) for column in start.columns)  # has other names in Parquet
    names = [name for name, found in zip(first.column_names, varied, strict=True) if not found]
    return parquet.ParquetWriter(path, first.schema, use_dictionary=nested or names)


def name_part(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:06d}.parquet"


def apply_correction(corrector: BatchCorrector, batch: Any, correction: Correction) -> Any:
    """Return a batch with its labels corrected, the given ones next to them, and weights if asked for."""
    import pyarrow as pa

    label = corrector.labels.column
    place = batch.column_names.index(label)
    new = correction.filled | correction.changed | correction.decided
    batch = replace_labels(batch, corrector.labels, correction.given, new, correction.labels)
    if correction.settings.action == "weight":
        weights = pa.array(np.round(correction.sample_weight, DIGITS))
        batch = batch.add_column(place + 2, number_name("sample_weight", batch.column_names), weights)
    return batch if correction.kept.all() else batch.filter(pa.array(correction.kept))


def replace_labels(
    batch: Any, meaning: Labels, given: np.ndarray, new: np.ndarray, labels: np.ndarray
) -> Any:
    """Return a batch with other labels in some rows, and the given ones next to them."""
    import pyarrow as pa
    from pyarrow import compute

    place = batch.column_names.index(meaning.column)
    field, column, names = batch.schema.field(place), batch.column(place), pa.array(meaning.classes)
    beside = names.take(pa.array(given, mask=given < 0))
    if meaning.merged:
        new = new | (given >= 0)
        beside = compute.if_else(pa.array(given < 0), None, column.cast(names.type).combine_chunks())
    if new.any():
        coded = pa.types.is_dictionary(field.type)
        kind = field.type.value_type if coded else field.type
        plain = column.cast(kind).combine_chunks()
        changed = compute.replace_with_mask(plain, pa.array(new), as_type(labels[new].tolist(), kind))
        batch = batch.set_column(place, field, encode_like(changed, column) if coded else changed)
    return batch.add_column(place + 1, number_name(f"{meaning.column}_given", batch.column_names), beside)


def list_issues(corrector: BatchCorrector, batch: Any, correction: Correction, rows: np.ndarray) -> Any:
    """Return the suspicious rows of a batch, worst first: those flagged, those held back, those filled in."""
    kinds = (correction.flagged, correction.held_back, correction.missing & ~correction.decided)
    found = [np.flatnonzero(kind) for kind in kinds]
    found = [part[np.argsort(correction.label_quality[part], kind="stable")] for part in found]
    return tabulate_rows(corrector, batch, correction, np.concatenate(found), rows)


def tabulate_rows(
    corrector: BatchCorrector, batch: Any, correction: Correction, chosen: np.ndarray, rows: np.ndarray
) -> Any:
    """Return what is known about the chosen places of a batch, and their values; `rows` are its numbers."""
    import pyarrow as pa

    kind = pa.array(corrector.labels.classes).type
    named = corrector.options.id_column
    return tabulate(correction, chosen, batch, corrector.labels.column, kind, numbers=rows, id_column=named)


def rank_rows(batch: Any, correction: Correction, rows: np.ndarray) -> Any:
    """Return the rows of a batch to look at first, with all their columns."""
    import pyarrow as pa

    kind = np.where(correction.flagged, FLAGGED, np.where(correction.held_back, HELD_BACK, UNSUSPICIOUS))
    judged = ~correction.missing & ~correction.decided & (correction.votes.n_voters > 0)
    chosen = np.flatnonzero(judged | correction.flagged)
    quality = correction.label_quality
    order = np.lexsort((rows[chosen], quality[chosen], kind[chosen]))[:FEWEST_LISTED]
    chosen = chosen[order]
    table = batch.take(chosen)
    for name, values in zip(RANK[::-1], (rows, quality, kind), strict=True):
        table = table.add_column(0, name, pa.array(values[chosen]))
    return table


def write_part(part: Part, work: PartWork) -> None:
    """Record that a part is done, and what was found in it."""
    from pyarrow import parquet

    name = f"{part.number:06d}"
    with _open_new(work, DONE, f"{name}.parquet") as path:
        parquet.write_table(part.worst, path)
    with _open_new(work, DONE, f"{name}.json") as path:
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

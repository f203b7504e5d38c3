"""Write the files of a run.

| file | what it is |
|---|---|
| corrected.csv | the table in its own format, label column corrected, the given label beside it |
| issues.csv | a line for each suspicious label, worst first, with reason and the row's values: for people |
| issues.parquet | the same with types and whole values: for programs, and for `subsvms review` |
| scores.parquet | what is thought of every label, in the table's order: for `subsvms audit` (`scores`) |
| report.html | one page for people |
| run.json | options, hashes, noise estimate, versions and seconds (`record`) |

The first four depend on options and input alone, so that `run.json` gives the same bytes again (those of
the Parquet files with the same version of pyarrow).
"""

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np

from subsvms._effort import count_threads
from subsvms.app import names
from subsvms.app.names import CORRECTED, ISSUE_PARTS, ISSUES, LISTED, REPORT, SCORE_PARTS, SCORES
from subsvms.app.options import tell_flags, write_command
from subsvms.app.report import draw_charts, place_audit, render_report
from subsvms.app.runs.describe import describe_audit
from subsvms.app.runs.issues import MOST_LISTED, list_worst
from subsvms.app.runs.parquet_files import CARRIERS, DIGITS, SIDES, Scores, write_scores
from subsvms.app.runs.record import FORMAT
from subsvms.app.runs.run import Finding, Run
from subsvms.app.runs.summary import Summary, Written
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.arrow import list_values, render_arrow
from subsvms.app.tables.csv_text import render_csv
from subsvms.app.tables.files import digest_file, split_suffix
from subsvms.app.tables.formats import default_ending
from subsvms.app.tables.table import FRAME, LabelledTable, find_free, keep_rows, number_name, write_table

ELSEWHERE = ("worst", "ensemble", "versions", "seconds")  # parts of a summary that "found" leaves out
MOST_ASKED = 200  # rows in the list of those to ask about again
CELL_CHARACTERS = 2000  # of a cell in issues.csv; the whole value is in issues.parquet
BLOCK = 10_000  # rows whose text is written at a time
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet run a cell, also in full width

PEOPLE_FILES = {
    names.PEOPLE: "how often each person is right, and which classes are mixed up",
    names.ASK_NEXT: "rows about which one more answer would help most, and whom to ask",
}
DESCRIPTIONS = {
    "fix": "the table with corrected labels, the given ones beside them",
    "drop": "the table without the rows whose label is probably wrong",
    "weight": "the table with a weight for each row",
    "review": "the table as it was",
}


def describe_output(
    finding: Finding, place: Path | None, model: Path | None = None, more: Sequence[list[str]] = (),
) -> Written:  # fmt: skip
    """Return what a summary says about the folder that is written, in which there are more files."""
    if place is None:
        return Written()
    other = place.with_name(f"{place.name.removesuffix('.subsvms')}.repeated.subsvms")
    repeat = write_command("correct", from_run=place, output=other)
    worst = "suspicious labels and reasons, worst first; rows count from 1"
    typed = [ISSUES, "the same with types and whole values, for programs and subsvms review"]
    consensus = finding.run.correction.consensus
    scored = "what is thought of every label, for programs, subsvms confirm and subsvms audit"
    if finding.labels is None:
        corrected = f"{CORRECTED}{get_ending(finding.run.table)}"
        found = [[LISTED, worst], typed, [SCORES, scored]]
    else:
        corrected = f"{CORRECTED}/"
        found = [
            [LISTED, worst if finding.n_issues <= MOST_LISTED else f"the worst {MOST_LISTED:,} {worst}"],
            typed,
            [f"{ISSUE_PARTS}/", "all suspicious labels, a file for each part of the table"],
            [f"{SCORE_PARTS}/", scored],
        ]
    files = [
        [corrected, DESCRIPTIONS[finding.run.options.action]], *found,
        *([[name, what] for name, what in PEOPLE_FILES.items()] if consensus is not None else []),
        [REPORT, "a page to read and to pass on"],
        [names.RECORD, f"the record; to repeat the run: {repeat}"], *more,
    ]  # fmt: skip
    return Written(str(place), None if model is None else str(model), files)


def write_files(
    finding: Finding, summary: Summary, folder: Path, place: Path, *, inputs: Mapping[str, bytes],
    base: Place | None = None, n_jobs: int | None = 1,
) -> None:  # fmt: skip
    """Write the files of a run to a folder that will be called `place`; those of parts are there."""
    run = finding.run
    if finding.labels is None:
        corrected = summary.written.files[0][0]
        write_corrected(run, folder / corrected)
        write_issues(finding.issues.to_table(run.table, run.options.id_column), folder)
        write_scores(Scores.of(run.correction), run.table, folder)
        for name, data in inputs.items():
            (folder / name).write_bytes(data)
        written = [corrected, LISTED, ISSUES, SCORES, *write_people(run, folder), *inputs]
    else:
        from pyarrow import parquet

        parquet.write_table(finding.doubtful, folder / ISSUE_PARTS / names.DOUBTFUL)
        write_issues(list_worst(folder, finding.issues, finding.numbers, MOST_LISTED, n_jobs), folder)
        kinds = (CORRECTED, ISSUE_PARTS, SCORE_PARTS)
        parts = sorted(path for kind in kinds for path in (folder / kind).glob("*.parquet"))
        written = [LISTED, ISSUES, *(path.relative_to(folder).as_posix() for path in parts)]
    with ThreadPoolExecutor(count_threads(n_jobs)) as pool:
        digests = pool.map(lambda name: digest_file(folder / name), written)
        files = dict(zip(written, digests, strict=True))
    (folder / REPORT).write_text(render_page(tell_flags(summary), run), encoding="utf-8")
    write_record(finding, summary, folder, place, files, base)


def write_people(run: Run, folder: Path) -> list[str]:
    """Write what was found about people, and whom to ask next; return the names of the files."""
    consensus, name = run.correction.consensus, run.options.id_column
    if consensus is None:
        return []
    import pyarrow as pa

    people = pa.table({one: pa.array(values) for one, values in consensus.list_people().items()})
    asked = consensus.list_next(MOST_ASKED)
    rows = asked.pop("row")
    named = {} if name is None else {name: run.table.columns[name].take(pa.array(rows))}
    table = pa.table({"row": rows + 1} | named | {one: pa.array(list(v)) for one, v in asked.items()})
    for file, columns in ((names.PEOPLE, people), (names.ASK_NEXT, table)):
        cells = {find_free(disarm(one), ()): write_cells(one, columns[one]) for one in columns.column_names}
        (folder / file).write_bytes(render_csv(cells, ","))
    return [names.PEOPLE, names.ASK_NEXT]


def get_ending(table: LabelledTable) -> str:
    """Return the ending of a file in the format of the table, compression included."""
    if len(table.paths) == 1:
        return split_suffix(table.paths[0], table.format)[1]
    return default_ending("parquet" if table.format == FRAME else table.format)


def show_given(table: LabelledTable) -> dict[str, Any]:
    """Return the column that stands beside changed labels: those that were given, as the file spells them."""
    # LIBSVM text has no place for columns.
    if table.format == "svmlight":
        return {}
    return {number_name(f"{table.label}_given", table.columns.column_names): table.as_written}


def write_corrected(run: Run, path: Path) -> None:
    """Write the table with its corrected labels."""
    correction, table = run.correction, run.table
    labels = correction.labels.astype(object)
    extra = show_given(table)
    if extra and correction.settings.action == "weight":
        weight = number_name("sample_weight", table.columns.column_names)
        extra[weight] = np.round(correction.sample_weight, DIGITS)
    keep = correction.kept
    if not keep.all():
        table, labels = keep_rows(table, keep), labels[keep]
        extra = {name: np.asarray(values)[keep] for name, values in extra.items()}
    write_table(table, path, labels, extra)


def write_issues(table: Any, folder: Path) -> None:
    """Write suspicious labels with the values of their rows, a pyarrow.Table, for programs and for people."""
    with ThreadPoolExecutor() as pool, (folder / LISTED).open("wb") as file:
        stored = pool.submit(lambda: render_arrow(as_storable(table), "parquet"))
        for first in range(0, len(table) or 1, BLOCK):  # text takes several times the space of the table
            columns = table.slice(first, BLOCK).columns
            cells: dict[str, Any] = {}
            written = pool.map(write_cells, table.column_names, columns)
            for name, column in zip(table.column_names, written, strict=True):
                cells[find_free(disarm(name), cells)] = column
            file.write(render_csv(cells, ",", head=first == 0))
        (folder / ISSUES).write_bytes(stored.result())


def write_cells(name: str, column: Any) -> Any:
    """Return the text of each cell of a column as Python writes it, mostly by Arrow, a pyarrow.Array."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind, text = column.type, pa.large_string()
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if types.is_integer(kind) or types.is_boolean(kind):
        return column.cast(text)
    if types.is_string(kind) or types.is_large_string(kind):
        coded = column.dictionary_encode()
        cells = [disarm(as_cell(value)) for value in coded.dictionary.to_pylist()]
        return pa.array(cells, text).take(coded.indices)
    if name in (*SIDES, *CARRIERS):
        first, last = column.offsets[0].as_py(), column.offsets[-1].as_py()  # of a slice of a longer column
        cells = write_cells("", column.values.slice(first, last - first))
        rows = pa.ListArray.from_arrays(compute.subtract(column.offsets, first), cells)
        return compute.binary_join(rows, pa.scalar(" ", text))
    if not types.is_floating(kind):
        return pa.array([disarm(as_cell(value)) for value in list_values(column)], text)
    numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    size = np.abs(numbers)  # 1.0 and 1e-05 are 1 and 0.00001 for Arrow
    other = (numbers == np.floor(numbers)) | (size < 1e-4) | (size >= 1e10)
    cells = pa.array([str(number) for number in numbers[other].tolist()], text)
    return compute.replace_with_mask(pa.array(numbers, from_pandas=True).cast(text), pa.array(other), cells)


def as_cell(value: Any) -> str | None:
    """Return a value as the text of a cell that a spreadsheet can hold."""
    if value is None or value != value:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= CELL_CHARACTERS else text[:CELL_CHARACTERS] + "…"


def disarm(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: others get an apostrophe in front."""
    if cell is None or not (cell.startswith(FORMULA) or normalize("NFKC", cell.lstrip()[:1]) in FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def as_storable(table: Any) -> Any:
    """Return a table that Parquet can hold: columns of types that it does not have become text."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        try:
            render_arrow(pa.schema([field]).empty_table(), "parquet")
        except pa.ArrowNotImplementedError:  # such as unions and intervals
            text = [None if value is None else str(value) for value in list_values(table.column(place))]
            table = table.set_column(place, field.name, pa.array(text, pa.string()))
    return table


def render_page(summary: Summary, run: Run) -> str:
    """Return the page for people."""
    charts = draw_charts(run.correction, moves=run.tally.moves, features=run.features.X)
    # the rows to look at are on this page
    steps = [step for step in summary.told.next if getattr(step, "kind", "") != "look"]
    return render_report(summary.advising(steps).flatten(), charts)


def add_audit(page: str, run: Run) -> str:
    """Return the page with a section on the audit that the run's correction came from, if there was one."""
    outcome, audited = run.correction.audit, run.correction.audited
    if outcome is None:
        return page
    told = describe_audit(outcome, 0 if audited is None else int(audited.sum()))
    return place_audit(page, {"claims": [str(outcome.claim)], **told}) or page


def write_record(
    finding: Finding, summary: Summary, folder: Path, place: Path, files: dict[str, str], base: Place | None
) -> None:
    """Write run.json: what repeats a run, and what it found."""
    run, labels, made = finding.run, finding.labels, summary.made

    def relative(path: Place | None) -> str | None:
        if isinstance(path, Path):
            return os.path.relpath(path.resolve(), place.resolve())
        return None if path is None else str(path)

    kept = labels and {"classes": labels.classes.labels, "values": list(labels.classes.spellings.items())}
    record = {
        "subsvms": FORMAT, "version": summary.about.version,
        "input": {
            "paths": [relative(path) for path in run.table.paths], "sha256": run.table.digest,
            "features": relative(run.features_path), "features_sha256": run.features_digest,
            "base": relative(base), "pred_probs": relative(run.judge.path),
            "pred_probs_sha256": run.judge.digest, "estimator": run.judge.name,
        },
        "options": asdict(run.options), "files": files, "report": digest_file(folder / REPORT),
        "labels": kept,
        "found": tell_flags({key: one for key, one in summary.flatten().items() if key not in ELSEWHERE}),
        "ensemble": made.ensemble, "versions": dict(made.versions), "seconds": dict(made.seconds),
    }  # fmt: skip
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / names.RECORD).write_text(text + "\n", encoding="utf-8")

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

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.names import DOUBTFUL, ISSUE_PARTS, ISSUES, LISTED, REPORT
from subsvms.app.report import draw_charts, place_audit, render_report
from subsvms.app.runs.describe import describe_audit
from subsvms.app.runs.issue_file import CARRIERS, SIDES
from subsvms.app.runs.issues import DIGITS
from subsvms.app.runs.options import tell_flags
from subsvms.app.runs.run import Run
from subsvms.app.runs.summary import Summary
from subsvms.app.tables.arrow import list_values, render_arrow
from subsvms.app.tables.csv_text import render_csv
from subsvms.app.tables.files import digest_file, split_suffix
from subsvms.app.tables.formats import default_ending
from subsvms.app.tables.table import FRAME, LabelledTable, find_free, keep_rows, number_name, write_table

CELL_CHARACTERS = 2000  # of a cell in issues.csv; the whole value is in issues.parquet
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what makes a spreadsheet run a cell


def get_ending(table: LabelledTable) -> str:
    """Return the ending of a file in the format of the table, compression included."""
    if len(table.paths) == 1:
        return split_suffix(table.paths[0], table.format)[1]
    return default_ending("parquet" if table.format == FRAME else table.format)


def show_given(table: LabelledTable) -> dict[str, Any]:
    """Return the column that stands beside changed labels: those that were given, as the file spells them.

    LIBSVM text has no place for columns.
    """
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
    cells: dict[str, list] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = list_values(column)
        if name in (*SIDES, *CARRIERS) and name != "flips":
            values = [" ".join(map(str, rows)) for rows in values]
        cells[find_free(disarm(name), cells)] = [disarm(as_cell(value)) for value in values]
    (folder / LISTED).write_bytes(render_csv(cells, ","))
    (folder / ISSUES).write_bytes(render_arrow(as_storable(table), "parquet"))


def write_doubtful(table: Any, folder: Path) -> None:
    """Write the unsuspicious labels that a run in parts lists."""
    from pyarrow import parquet

    parquet.write_table(table, folder / ISSUE_PARTS / DOUBTFUL)


def as_cell(value: Any) -> str | None:
    """Return a value as the text of a cell that a spreadsheet can hold."""
    if value is None or value != value:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= CELL_CHARACTERS else text[:CELL_CHARACTERS] + "…"


def disarm(cell: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: others get an apostrophe in front."""
    if cell is None or not cell.startswith(FORMULA):
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
    steps = [step for step in summary.next if getattr(step, "kind", "") != "look"]  # they are on this page
    return render_report(asdict(replace(summary, next=steps)), charts)


def add_audit(page: str, run: Run) -> str:
    """Return the page with a section on the audit that the run's correction came from, if there was one."""
    outcome, audited = run.correction.audit, run.correction.audited
    if outcome is None or audited is None:
        return page
    told = describe_audit(outcome, int(audited.sum()))
    return place_audit(page, {"claims": [str(outcome.claim)], **told}) or page


def write_report(summary: Summary, run: Run, folder: Path) -> str:
    """Write the page for people, and return its SHA-256."""
    (folder / REPORT).write_text(render_page(tell_flags(summary), run), encoding="utf-8")
    return digest_file(folder / REPORT)

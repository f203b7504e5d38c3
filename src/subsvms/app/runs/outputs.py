"""Write what a run found: the corrected table, the issues, the report, and the record that repeats it.

| file | what it is |
|---|---|
| corrected.csv | the table in the format it came in, label column corrected, the given label beside it |
| issues.csv | one line per suspicious label, worst first, with the reason and the row's values |
| report.html | one page for people |
| run.json | options, hashes, noise estimate, versions and seconds |

The first two depend on options and input alone, so that `run.json` gives the same bytes again.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.runs.folder import RECORD
from subsvms.app.runs.issues import Issues, disarm
from subsvms.app.runs.run import Options, Run
from subsvms.app.tables.csv_text import render_delimited
from subsvms.app.tables.files import default_ending, show, split_suffix
from subsvms.app.tables.selection import keep_rows
from subsvms.app.tables.table import LabelledTable, find_free, free_name, place_beside, write_table
from subsvms.exceptions import TableError

FORMAT = 1  # of run.json; raised when an older reader could misread it
DIGITS = 4  # of weights
LONGEST = 2000  # characters of a cell in issues.csv; the whole value is in the table


def find_place(table: LabelledTable, output: Path | None, *, reviewed: bool = False) -> Path:
    """Return the folder that a run on this table makes: loans.subsvms beside loans.csv.

    One that was given decisions of people makes another, loans.reviewed.subsvms: theirs stays as it is.
    """
    if output is not None:
        return output
    return place_beside(table, "reviewed.subsvms" if reviewed else "subsvms", "")


def write_corrected(run: Run, folder: Path) -> str:
    """Write the table with its corrected labels and return the name of the file."""
    correction, table = run.correction, run.table
    labels = correction.labels.astype(object)
    extra: dict[str, Any] = {}
    if table.format != "svmlight":  # which has no place for columns
        given = table.labels
        extra[free_name(table, f"{table.label}_given")] = given
        if correction.settings.action == "weight":
            weights = np.round(correction.sample_weight, DIGITS)
            extra[free_name(table, "sample_weight")] = weights
    keep = correction.kept
    if not keep.all():
        table, labels = keep_rows(table, keep), labels[keep]
        extra = {name: np.asarray(values)[keep] for name, values in extra.items()}
    name = f"corrected{find_ending(run.table)}"
    write_table(table, folder / name, labels, extra)
    return name


def find_ending(table: LabelledTable) -> str:
    """Return the ending of a file in the format that the table came in, packing included."""
    if len(table.paths) == 1:
        return split_suffix(table.paths[0], table.format)[1]
    return default_ending(table.format)


def write_issues(run: Run, issues: Issues, folder: Path) -> str:
    """Write the suspicious labels with the values of their rows and return the name of the file."""
    columns = issues.to_columns()
    if run.table.format != "svmlight":
        rows = run.table.columns.take(issues.rows)
        for name in rows.column_names:
            if name != run.table.label:
                columns[find_free(name, columns)] = rows[name].to_pylist()
    cells: dict[str, list] = {}
    for key, values in columns.items():
        cells[find_free(disarm([key])[0], cells)] = disarm([as_cell(value) for value in values])
    name = "issues.csv"
    (folder / name).write_bytes(render_delimited(cells, ","))
    return name


def as_cell(value: Any) -> str | None:
    """Return a value as the text of a cell that a spreadsheet can hold."""
    if value is None or value != value:
        return None
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"


def make_record(run: Run, summary: dict[str, Any], place: Path, files: dict[str, str]) -> dict[str, Any]:
    """Return what repeats a run, and what it found.

    Parameters
    ----------
    run : Run
    summary : dict
    place : Path
        The folder of the result; the paths of the input are kept relative to it, so that both can move.
    files : dict of str to str
        SHA-256 of the files that depend on options and input alone, by name.
    """
    found = {key: value for key, value in summary.items() if key not in ("worst", "versions", "seconds")}
    return {
        "subsvms": FORMAT,
        "version": summary["version"],
        "input": {
            "paths": [relative(path, place) for path in run.table.paths],
            "sha256": run.table.digest,
            "features": None if run.features_path is None else relative(run.features_path, place),
            "features_sha256": run.features_digest,
        },
        "options": asdict(run.options),
        "files": files,
        "found": found,
        "versions": dict(summary["versions"]),
        "seconds": dict(summary["seconds"]),
    }


def relative(path: Path, place: Path) -> str:
    """Return a path as seen from a folder."""
    return os.path.relpath(path.resolve(), place.resolve())


def seen_from(folder: Path, name: str) -> str:
    """Return a path that was kept relative to a folder, as seen from where we are, without detours."""
    return os.path.relpath((folder / name).resolve())


def write_record(record: dict[str, Any], folder: Path) -> None:
    """Write run.json."""
    text = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """Return what run.json says, or an error if it does not say enough.

    Parameters
    ----------
    path : Path
        The file, or the folder of the run.
    """
    path = path / RECORD if path.is_dir() else path
    shown = repr(str(path))
    if not path.is_file():
        raise TableError(f"There is no file {shown}: give the folder of an earlier run, or its run.json.")
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        version = record["subsvms"]
        if version == FORMAT:
            options: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in record["options"].items()
            }
            options["verified"] = tuple((int(row), label) for row, label in options.get("verified", ()))
            record["options"] = Options(**options)
            record["input"]["paths"] = [seen_from(path.parent, one) for one in record["input"]["paths"]]
            if record["input"].get("base") is not None:
                record["input"]["base"] = seen_from(path.parent, record["input"]["base"])
            features = record["input"]["features"]
            record["input"]["features"] = None if features is None else seen_from(path.parent, features)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableError(f"{shown} is no record of a run, or was changed ({show(str(error))}).") from None
    if version != FORMAT:
        raise TableError(
            f"{shown} has format {show(version)}, but this version of subsvms reads {FORMAT}: use the one "
            "that wrote it."
        )
    return record


def check_whole(options: Options, folder: Path, what: str) -> None:
    """Raise an error if a run was made in parts, and this works on whole tables only."""
    if options.pool_size is not None:
        raise TableError(
            f"{str(folder)!r} was made in parts, and {what} takes runs in memory only: look at its folder "
            "issues, or correct a part of the table by itself (--engine memory)."
        )

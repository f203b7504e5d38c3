"""Correct a file and leave a folder: the whole job, from bytes to files."""

from pathlib import Path
from typing import Any

from subsvms._progress import announce
from subsvms.app.report import draw_charts, render_report
from subsvms.app.runs.decisions import Decisions
from subsvms.app.runs.folder import DECISIONS, check_place, fill_folder
from subsvms.app.runs.issues import Issues, find_issues
from subsvms.app.runs.model import Model, save_model
from subsvms.app.runs.outputs import (
    find_place,
    make_record,
    read_record,
    write_corrected,
    write_issues,
    write_record,
)
from subsvms.app.runs.run import Clock, Options, Run, correct_table
from subsvms.app.runs.summary import summarise
from subsvms.app.tables.files import check_target, digest_file, show
from subsvms.app.tables.table import read_table
from subsvms.exceptions import TableError

REPORT = "report.html"
CORRECTED = {
    "fix": "the table with corrected labels, the given ones beside them",
    "drop": "the table without the rows whose label is thought wrong",
    "weight": "the table with a weight for each row",
    "review": "the table as it was, missing labels filled in",
}


def do_job(
    where: str | list[str],
    options: Options,
    *,
    output: Path | None = None,
    features: str | None = None,
    n_jobs: int | None = -1,
    force: bool = False,
    dry_run: bool = False,
    model: Path | None = None,
    expected: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Correct a file and write the run's folder, whole or not at all. The file itself is not touched.

    Parameters
    ----------
    where : str or list of str
        A file, "-" for standard input, or a pattern or list of Parquet or Feather files.
    options, features, n_jobs
        As in `subsvms.app.runs.run.correct_table`.
    output : Path, optional
        The folder to make; by default loans.subsvms beside loans.csv.
    force : bool
        Whether to replace the folder of an earlier run.
    dry_run : bool
        Whether to write nothing at all.
    model : Path, optional
        Where to save the classifier, preprocessing included.
    expected : dict, optional
        The "input" of an earlier run's record, whose hashes must be those of the files.

    Returns
    -------
    dict
        The summary, with "folder" (None after a dry run), "model", "files" and "next".
    """
    clock = Clock()
    announce("reading the table")
    table = read_table(where, options.label, **options.reading)
    if expected is not None:
        check_unchanged("The table", table.digest, expected["sha256"])
        if features is not None and expected["features_sha256"] is not None:
            check_unchanged("The file of features", digest_file(Path(features)), expected["features_sha256"])
    if options.action == "weight" and table.format == "svmlight":
        raise TableError("LIBSVM text has no place for weights: choose another action, or convert the table.")
    place = None if dry_run else find_place(table, output, reviewed=bool(options.verified))
    if place is not None:  # before work that may take minutes
        check_place(place, force=force)
        if model is not None:
            inputs = [*table.paths, *([] if features is None else [Path(features)])]
            check_target(model, inputs, force=force)
    clock.lap("reading")
    run = correct_table(table, options, features=features, n_jobs=n_jobs)
    run.seconds.update({**clock.laps, **run.seconds})
    issues = find_issues(run.correction, run.features.X)
    summary = summarise(run, issues)
    summary |= {"folder": None, "model": None, "files": [], "next": say_next(summary)}
    if place is not None:
        announce("writing")
        summary["folder"] = str(place)
        summary["model"] = None if model is None else str(model)
        write_folder(run, issues, summary, place, force=force)
    return summary


def repeat_options(path: Path) -> tuple[str | list[str], Options, str | None, dict[str, Any]]:
    """Return the file, options, features and expected input of an earlier run.

    Parameters
    ----------
    path : Path
        Its run.json, or its folder.
    """
    record = read_record(path)
    paths = record["input"]["paths"]
    where = "-" if not paths else paths[0] if len(paths) == 1 else paths
    return where, record["options"], record["input"]["features"], record["input"]


def read_verified(folder: Path, label: str) -> tuple[tuple[tuple[int, Any], ...], dict[str, Any]]:
    """Return what people decided for an earlier run, and the input that they saw.

    Parameters
    ----------
    folder : Path
        Of that run; decisions that it was given itself count, too.
    label : str
        The label column, which must be that run's.
    """
    record = read_record(folder)
    reviewed = record["options"].label
    if reviewed != label:
        raise TableError(
            f"The decisions in {str(folder)!r} are about the column {show(reviewed)}, not {show(label)}: "
            "give the folder of a run on the same labels."
        )
    path = (folder if folder.is_dir() else folder.parent) / DECISIONS
    labels = dict(record["options"].verified)
    if path.is_file():
        decisions = Decisions(path)
        try:
            labels |= {row: decision.label for row, decision in decisions.current.items()}
        finally:
            decisions.close()
    verified = tuple(sorted((row, label) for row, label in labels.items() if label is not None))
    if not verified:
        raise TableError(f"There are no decisions in {str(folder)!r}: make some with subsvms review.")
    return verified, record["input"]


def check_unchanged(what: str, found: str, wanted: str) -> None:
    """Raise an error if a file is not the one that an earlier run saw."""
    if found != wanted:
        raise TableError(
            f"{what} has changed since that run (SHA-256 {found[:12]}..., not {wanted[:12]}...): give it the "
            "one it saw, or start a run of its own without --from and --decisions."
        )


def write_folder(run: Run, issues: Issues, summary: dict[str, Any], place: Path, *, force: bool) -> None:
    """Fill the folder of a run; the summary learns the names of its files."""
    with fill_folder(place, force=force) as folder:
        corrected, listed = write_corrected(run, folder), write_issues(run, issues, folder)
        digests = {name: digest_file(folder / name) for name in (corrected, listed)}
        summary["files"] = [
            [corrected, CORRECTED[run.options.action]],
            [listed, "suspicious labels, worst first, with the reason"],
            [REPORT, "a page to read and to pass on"],
            ["run.json", "the record; subsvms correct --from run.json repeats the run"],
        ]
        summary["next"] = say_next(summary, corrected, listed)
        page = render_report(summary, draw_charts(run.correction))
        (folder / REPORT).write_text(page, encoding="utf-8")
        write_record(make_record(run, summary, place, digests), folder)
        if summary["model"] is not None:
            save_model(Model.of(run), summary["model"])


def say_next(
    summary: dict[str, Any], corrected: str | None = None, listed: str = "", *, reviewable: bool = True
) -> list[str]:
    """Return what a person should do now.

    Parameters
    ----------
    summary : dict
    corrected, listed : str, optional
        What the corrected table and the issues are called; without them nothing was written.
    reviewable : bool
        Whether `subsvms review` takes this run.
    """
    if corrected is None:
        return ["Nothing was written: leave out --dry-run to write the result."]
    steps = []
    if summary["n_worst"]:
        steps.append(f"Look at the worst rows ({REPORT}), or at all of them ({listed}).")
        if reviewable:
            steps.append(f"To decide on them one by one: subsvms review {summary['folder']}")
    if summary["notes"]:
        steps.append("Read the notes: they say what may be wrong with the table, or with this result.")
    if summary["changed"] or summary["dropped"] or summary["missing"]:
        steps.append(f"If you agree, use {corrected} in place of {summary['title']}.")
    elif summary["action"] == "weight":
        steps.append(f"Train with the column sample_weight of {corrected}.")
    elif summary["flagged"] == 0:
        steps.append(
            "No label was changed. If a column tells who labelled a row, or where it came from, name it with "
            "--by."
        )
    return steps

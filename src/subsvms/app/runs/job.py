"""Correct a file and leave a folder: the whole job, from bytes to files."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from subsvms._progress import announce
from subsvms._sentences import Setting
from subsvms.app.names import CORRECTED, ISSUES, LISTED, RECORD, REPORT, SCORES, TABLE, UNFINISHED
from subsvms.app.runs.carriers import find_carriers
from subsvms.app.runs.describe import describe_standing, describe_worst
from subsvms.app.runs.folder import fill_folder, prepare_place
from subsvms.app.runs.issues import Issues, find_issues
from subsvms.app.runs.model import Model, saving_model
from subsvms.app.runs.options import Options, write_command
from subsvms.app.runs.outputs import (
    as_storable,
    choose_place,
    get_ending,
    write_corrected,
    write_issues,
    write_report,
)
from subsvms.app.runs.record import Input, make_record, read_record, write_record
from subsvms.app.runs.run import Clock, Run, correct_table
from subsvms.app.runs.scores import Scores, write_scores
from subsvms.app.runs.summary import Summary, summarise
from subsvms.app.runs.tally import add_doubt
from subsvms.app.tables.addresses import Place, is_database
from subsvms.app.tables.arrow import render_arrow
from subsvms.app.tables.databases import read_database
from subsvms.app.tables.files import check_target, digest_file
from subsvms.app.tables.table import LabelledTable, read_table
from subsvms.ensemble._device import check_device
from subsvms.exceptions import TableError

DESCRIPTIONS = {
    "fix": "the table with corrected labels, the given ones beside them",
    "drop": "the table without the rows whose label is probably wrong",
    "weight": "the table with a weight for each row",
    "review": "the table as it was",
}


def do_job(
    where: str | list[str],
    options: Options,
    *,
    output: Path | None = None,
    features: str | None = None,
    n_jobs: int | None = -1,
    device: str = "cpu",
    force: bool = False,
    dry_run: bool = False,
    model: Path | None = None,
    expected: Input | None = None,
) -> Summary:
    """Correct a file and write the run's folder, whole or not at all. The file itself is not touched."""
    check_device(device)
    clock = Clock()
    announce("reading the table")
    table, options, inputs = read_input(where, options)
    if expected is not None:
        check_unchanged("The table", table.digest, expected.sha256)
        if features is not None and expected.features_sha256 is not None:
            check_unchanged("The file of features", digest_file(Path(features)), expected.features_sha256)
    if options.action == "weight" and table.format == "svmlight":
        raise TableError("LIBSVM text has no place for weights: choose another action, or convert the table.")
    place = None if dry_run else choose_place(table, output, reviewed=bool(options.verified))
    if place is not None and inputs:
        table = replace(table, name=repr(str(place / TABLE)), paths=(place / TABLE,), format="parquet")
    if place is not None:  # before work that may take minutes
        prepare_place(place, force=force)
        if model is not None:
            read = [*table.paths, *([] if features is None else [Path(features)])]
            check_model_place(model, place, read, force=force)
    clock.lap("reading")
    run = correct_table(table, options, features=features, n_jobs=n_jobs, device=device)
    run = replace(run, seconds=clock.laps | run.seconds)
    issues, summary = describe_run(run, place, model)
    if place is not None:
        announce("writing")
        files = [*summary.files, *([TABLE, "the answer of the database"] for _ in inputs)]
        summary = replace(summary, files=files)
        write_folder(run, issues, summary, place, force=force, inputs=inputs)
    return summary


def read_input(where: str | list[str], options: Options) -> tuple[LabelledTable, Options, dict[str, bytes]]:
    """Return the table, options that read it again, and the bytes of what only the folder of the run holds.

    The answer of a database is kept there, so that its address, which may hold a password, need not be.
    """
    if not is_database(where):
        return read_table(where, options.label, **options.reading), options, {}
    how = options.reading
    asked = [name for name in ("format", "encoding", "separator", "sheet") if how.pop(name) is not None]
    if asked:
        words = "The address of a database takes {query} alone: leave out {asked}."
        raise TableError(words, asked=Setting(asked[0]))
    table = read_database(str(where), options.label, **how)
    data = render_arrow(as_storable(table.columns), "parquet")
    table = replace(table, digest=hashlib.sha256(data).hexdigest())
    return table, replace(options, query=None), {TABLE: data}


def describe_run(run: Run, place: Path | None = None, model: Path | None = None) -> tuple[Issues, Summary]:
    """Return the suspicious labels of a run, and its summary."""
    clock = Clock()
    issues = find_issues(run.correction, run.features.X)
    carriers = find_carriers(
        run.correction, run.features.X, issues.rows, random_state=run.options.random_state,
        n_jobs=run.model.n_jobs,
    )  # fmt: skip
    issues = replace(issues, carriers=carriers)
    clock.lap("carriers")
    run = replace(run, seconds=run.seconds | clock.laps)
    listed = [LISTED, "suspicious labels and reasons, worst first; rows count from 1"]
    typed = [ISSUES, "the same with types and whole values, for programs and subsvms review"]
    corrected = f"{CORRECTED}{get_ending(run.table)}"
    scored = [SCORES, "what is thought of every label, for programs and subsvms audit"]
    written = describe_output(place, model, corrected, run.options.action, listed, typed, scored)
    doubt = add_doubt(run.correction, issues.rows)
    worst = describe_worst(run, issues)
    standing = describe_standing(run, carriers)
    summary = summarise(
        run, worst, len(issues), n_labels=issues.n_labels, doubt=doubt, standing=standing, **written
    )
    return issues, summary


def describe_output(
    place: Path | None, model: Path | None, corrected: str, action: str, *issues: list[str]
) -> dict[str, Any]:
    """Return what a summary says about the folder that is written; nothing without a place."""
    if place is None:
        return {}
    files = [
        [corrected, DESCRIPTIONS[action]],
        *issues,
        [REPORT, "a page to read and to pass on"],
        [RECORD, f"the record; to repeat the run: {repeat_command(place)}"],
    ]
    return {"folder": str(place), "model": None if model is None else str(model), "files": files}


def repeat_command(place: Path) -> str:
    """Return the command that repeats the run in a folder, into another one."""
    stem = place.name.removesuffix(".subsvms")
    other = place.with_name(f"{stem}.repeated.subsvms")
    return write_command("correct", from_run=place, output=other)


def repeat_options(path: Path) -> tuple[str | list[str], Options, str | None, Input]:
    """Return the file, options, features and expected input of an earlier run."""
    record = read_record(path)
    paths = record.input.paths
    where = "-" if not paths else paths[0] if len(paths) == 1 else paths
    return where, record.options, record.input.features, record.input


def check_model_place(model: Path, place: Path, inputs: Sequence[Place], *, force: bool) -> None:
    """Raise an error if the classifier cannot be saved there beside the folder of the run."""
    above = {model.resolve(), *model.resolve().parents}
    if above & {place.resolve(), place.resolve().with_name(place.name + UNFINISHED)}:
        raise TableError(
            "{model!r}{save_model:aside} is the folder of the result, or inside it: choose another place for "
            "the model.",
            model=str(model),
        )
    check_target(model, inputs, force=force)


def check_unchanged(what: str, found: str, wanted: str) -> None:
    """Raise an error if a file is not the one that an earlier run read."""
    if found != wanted:
        raise TableError(
            "{what} has changed since that run (SHA-256 {found:.12}..., not {wanted:.12}...): use the file "
            "that it read, or start a new run without {from_run} and {decisions}.",
            what=what, found=found, wanted=wanted,
        )  # fmt: skip


def write_folder(
    run: Run,
    issues: Issues,
    summary: Summary,
    place: Path,
    *,
    force: bool,
    inputs: Mapping[str, bytes] | None = None,
) -> None:
    """Fill the folder of a run; the classifier, which is written first, takes its place last."""
    corrected = summary.files[0][0]
    saving = nullcontext() if summary.model is None else saving_model(Model.of(run), summary.model)
    with saving, fill_folder(place, force=force) as folder:
        write_corrected(run, folder / corrected)
        write_issues(run, issues, folder)
        write_scores(Scores.of(run.correction), run.table, folder)
        for name, data in (inputs or {}).items():
            (folder / name).write_bytes(data)
        names = (corrected, LISTED, ISSUES, SCORES, *(inputs or {}))
        digests = {name: digest_file(folder / name) for name in names}
        report = write_report(summary, run, folder)
        write_record(make_record(run, summary, place, digests, report), folder)

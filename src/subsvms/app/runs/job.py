"""Correct a table and leave a folder: the whole job, from bytes to files, in memory or in parts."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from subsvms._effort import Effort, announce
from subsvms.app.names import (
    CORRECTED,
    ISSUE_PARTS,
    ISSUES,
    LISTED,
    RECORD,
    REPORT,
    SCORE_PARTS,
    SCORES,
)
from subsvms.app.runs.engines import Engine, check_engine, open_engine
from subsvms.app.runs.finding import Finding, examine_parts, examine_table
from subsvms.app.runs.folder import fill_folder
from subsvms.app.runs.issues import MOST_LISTED, list_worst
from subsvms.app.runs.judge import BatchCorrector, judge_units, judge_whole, limit_changes
from subsvms.app.runs.learn import Survey, learn_from
from subsvms.app.runs.model import Model, saving_model
from subsvms.app.runs.opening import Opened, Target, discarding, open_in_memory, open_in_parts
from subsvms.app.runs.options import Options, write_command
from subsvms.app.runs.outputs import (
    get_ending,
    write_corrected,
    write_doubtful,
    write_issues,
    write_report,
)
from subsvms.app.runs.record import Input, check_unchanged, make_record, read_record, write_record
from subsvms.app.runs.run import Clock, Run, make_run
from subsvms.app.runs.scores import Scores, write_scores
from subsvms.app.runs.summary import Summary, Written, summarise
from subsvms.app.tables.addresses import Place
from subsvms.app.tables.files import digest_file
from subsvms.ensemble._device import check_device, count_gpus

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
    engine: str = "memory",
    scheduler: str | None = None,
    output: Path | None = None,
    features: str | None = None,
    base: Place | None = None,
    n_jobs: int | None = -1,
    device: str = "cpu",
    force: bool = False,
    dry_run: bool = False,
    model: Path | None = None,
    expected: Input | None = None,
    batch_rows: int | None = None,
) -> Summary:
    """Correct a table and write the run's folder, whole or not at all. The table itself is not touched."""
    check_device(device)  # now: without its GPU a run that was stopped keeps what is done
    clock, target = Clock(), Target(output, model, force, dry_run)
    opening: AbstractContextManager[Opened]
    if engine == "memory":
        opening = nullcontext(open_in_memory(where, options, target, features=features, expected=expected))
    else:
        check_engine(engine, scheduler)
        n_jobs = effective_n_jobs(n_jobs)
        opening = open_in_parts(where, options, target, base=base, shared=engine == "dask")
    with ExitStack() as finally_save, opening as opened:
        clock.lap("reading")
        source, folder = opened.source, opened.folder
        gpu = device != "cpu" and count_gpus() > 0
        with open_engine(engine, n_jobs, len(source.units), folder, scheduler, gpu=gpu) as workers:
            with discarding(folder):
                survey = learn_from(
                    source, opened.options, workers, features=features, n_jobs=n_jobs, device=device,
                    folder=folder, batch_rows=batch_rows,
                )  # fmt: skip
                if expected is not None:
                    check_unchanged("The table", survey.at_hand.table.digest, expected.sha256)
            clock.lap("learning")
            finding = judge_source(opened, survey, workers, features, batch_rows, clock)
        with discarding(folder):
            opened.check()
        clock.lap("carriers")
        finding = finding.timed(clock.laps)
        stored = [[name, "the answer of the database"] for name in opened.inputs]
        summary = summarise(finding, describe_output(finding, opened.place, model, stored))
        if opened.place is not None:
            announce("writing")
            if model is not None:  # written now, and moved to its place after the folder
                finally_save.enter_context(saving_model(Model.of(finding.run), model))
            with opened.fill() as filled:
                write_files(
                    finding, summary, filled, opened.place, inputs=opened.inputs, base=opened.base,
                    n_jobs=n_jobs,
                )  # fmt: skip
    return summary


def judge_source(
    opened: Opened,
    survey: Survey,
    workers: Engine,
    features: Any,
    batch_rows: int | None,
    clock: Clock,
) -> Finding:
    """Judge all rows of a table, write those of a table in parts, and look at the worst of them."""
    if opened.source.table is not None:
        correction = judge_whole(survey)
        clock.lap("judging")
        return examine_table(make_run(survey, correction, features))
    more: dict[str, Any] = {"batch_rows": batch_rows, "token": opened.token}
    survey = limit_changes(opened.source, survey, workers, folder=opened.folder, **more)
    written = None if opened.place is None else opened.folder
    whole = judge_units(opened.source, BatchCorrector.of(survey), workers, folder=written, **more)
    clock.lap("judging")
    return examine_parts(survey, whole, Effort.of(survey.learned.model))


def describe_run(
    run: Run, place: Path | None = None, more: Sequence[list[str]] = ()
) -> tuple[Finding, Summary]:
    """Return what was found in a table in memory, and its summary; parameters as in `describe_output`."""
    clock = Clock()
    finding = examine_table(run)
    clock.lap("carriers")
    finding = finding.timed(run.seconds | clock.laps)
    return finding, summarise(finding, describe_output(finding, place, more=more))


def describe_output(
    finding: Finding,
    place: Path | None,
    model: Path | None = None,
    more: Sequence[list[str]] = (),
) -> Written:
    """Return what a summary says about the folder that is written, in which there are more files."""
    if place is None:
        return Written()
    worst = "suspicious labels and reasons, worst first; rows count from 1"
    typed = [ISSUES, "the same with types and whole values, for programs and subsvms review"]
    scored = "what is thought of every label, for programs and subsvms audit"
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
        [corrected, DESCRIPTIONS[finding.run.options.action]],
        *found,
        [REPORT, "a page to read and to pass on"],
        [RECORD, f"the record; to repeat the run: {repeat_command(place)}"],
        *more,
    ]
    return Written(str(place), None if model is None else str(model), files)


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


def write_folder(finding: Finding, summary: Summary, place: Path, inputs: Mapping[str, bytes]) -> None:
    """Write the folder of a run in memory, which holds its input as well."""
    with fill_folder(place, force=False) as folder:
        write_files(finding, summary, folder, place, inputs=inputs)


def write_files(
    finding: Finding,
    summary: Summary,
    folder: Path,
    place: Path,
    *,
    inputs: Mapping[str, bytes],
    base: Place | None = None,
    n_jobs: int | None = 1,
) -> None:
    """Write the files of a run to a folder that will be called `place`; those of parts are there."""
    run = finding.run
    if finding.labels is None:
        corrected = summary.files[0][0]
        write_corrected(run, folder / corrected)
        write_issues(finding.issues.to_table(run.table, run.options.id_column), folder)
        write_scores(Scores.of(run.correction), run.table, folder)
        for name, data in inputs.items():
            (folder / name).write_bytes(data)
        names = [corrected, LISTED, ISSUES, SCORES, *inputs]
    else:
        write_doubtful(finding.doubtful, folder)
        write_issues(list_worst(folder, finding.issues, finding.numbers, MOST_LISTED), folder)
        kinds = (CORRECTED, ISSUE_PARTS, SCORE_PARTS)
        parts = sorted(path for kind in kinds for path in (folder / kind).glob("*.parquet"))
        names = [LISTED, ISSUES, *(path.relative_to(folder).as_posix() for path in parts)]
    with ThreadPoolExecutor(effective_n_jobs(n_jobs)) as pool:
        digests = dict(zip(names, pool.map(lambda name: digest_file(folder / name), names), strict=True))
    report = write_report(summary, run, folder)
    write_record(make_record(run, summary, place, digests, report, base=base, labels=finding.labels), folder)

"""Correct a table and leave a folder: the whole job, from bytes to files, in memory or in parts."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from subsvms._effort import Effort, announce
from subsvms.app.runs.engines import Engine, check_engine, open_engine
from subsvms.app.runs.folder import fill_folder
from subsvms.app.runs.inputs import Opened, Target, discarding, open_in_memory, open_in_parts
from subsvms.app.runs.judge import BatchCorrector, judge_units, limit_changes
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.model import Model, saving_model
from subsvms.app.runs.options import Options
from subsvms.app.runs.outputs import describe_output, write_files
from subsvms.app.runs.record import Input, check_unchanged, read_record
from subsvms.app.runs.run import Clock, Finding, Run, examine_parts, examine_table, run_in_memory
from subsvms.app.runs.summary import Summary, summarise
from subsvms.app.tables.addresses import Place
from subsvms.ensemble._device import check_device, count_gpus


def do_job(
    where: str | list[str], options: Options, *, engine: str = "memory", scheduler: str | None = None,
    output: Path | None = None, features: str | None = None, base: Place | None = None,
    n_jobs: int | None = -1, device: str = "cpu", force: bool = False, dry_run: bool = False,
    model: Path | None = None, expected: Input | None = None, batch_rows: int | None = None,
) -> Summary:  # fmt: skip
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
        table = opened.source.table
        if table is not None:
            how: dict[str, Any] = {"features": features, "n_jobs": n_jobs, "device": device, "clock": clock}
            finding = examine_table(run_in_memory(table, opened.options, **how))
        else:
            gpu, n_units = device != "cpu" and count_gpus() > 0, len(opened.source.units)
            with open_engine(engine, n_jobs, n_units, opened.folder, scheduler, gpu=gpu) as workers:
                how = {"n_jobs": n_jobs, "device": device, "batch_rows": batch_rows}
                finding = find_in_parts(opened, workers, clock, expected, **how)
            with discarding(opened.folder):
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


def find_in_parts(
    opened: Opened, workers: Engine, clock: Clock, expected: Input | None, batch_rows: int | None, **how: Any
) -> Finding:
    """Judge and write all rows of a table in parts, and look at the worst of them."""
    source, folder = opened.source, opened.folder
    with discarding(folder):
        survey = learn_from(source, opened.options, workers, folder=folder, batch_rows=batch_rows, **how)
        if expected is not None:
            check_unchanged("The table", survey.at_hand.table.digest, expected.sha256)
    clock.lap("learning")
    more: dict[str, Any] = {"batch_rows": batch_rows, "token": opened.token}
    survey = limit_changes(source, survey, workers, folder=folder, **more)
    written = None if opened.place is None else folder
    whole = judge_units(source, BatchCorrector.of(survey), workers, folder=written, **more)
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

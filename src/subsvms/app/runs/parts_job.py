"""Correct a table that is larger than memory, and leave a folder: the whole job, in parts.

The folder is the same as after a run in memory, but `corrected` and `issues` are folders of Parquet files, a
part for each unit of the table. While it is filled it is called loans.subsvms.unfinished: a run that was
stopped, whatever the reason, continues from there if it is started again.
"""

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from subsvms._progress import announce
from subsvms._sentences import Note, Sentence
from subsvms.app.names import (
    CORRECTED,
    DONE,
    DRAWN,
    ISSUE_PARTS,
    PLAN,
    SEPARATOR,
    STAGED,
    TOKEN,
    UNFINISHED,
    VOTES,
)
from subsvms.app.runs.describe import describe_worst
from subsvms.app.runs.engines import check_engine, open_engine
from subsvms.app.runs.folder import remove_known, resume_folder
from subsvms.app.runs.job import check_model_place, check_unchanged, describe_output
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.model import Model, saving_model
from subsvms.app.runs.options import Options
from subsvms.app.runs.outputs import write_report
from subsvms.app.runs.passes import Finding, correct_units, examine_worst, limit_changes, write_doubtful
from subsvms.app.runs.record import Input, make_record, write_record
from subsvms.app.runs.run import Clock, Run
from subsvms.app.runs.source import Source, open_source
from subsvms.app.runs.staging import stage_files
from subsvms.app.runs.summary import Summary, get_version, summarise
from subsvms.app.tables.addresses import AccessError, Place, as_place, is_database, place_result, read_version
from subsvms.app.tables.coded import find_class_names
from subsvms.app.tables.files import COMPRESSIONS, digest_file, measure_free_memory, split_suffix
from subsvms.app.tables.formats import FORMATS
from subsvms.app.tables.labels import Labels
from subsvms.app.tables.where import find_common_format, is_data_set, list_files, name_files
from subsvms.app.words import show
from subsvms.correction._rule import Halt
from subsvms.correction._words import format_spared
from subsvms.ensemble._device import check_device, count_gpus
from subsvms.exceptions import DeviceError, InputError, TableError

COMPRESSED_BYTES = 5.0  # of text in each byte of a compressed file
SHARE = 0.5  # of the free memory that a run in memory may take


def fits_in_memory(where: str | list[str], format: str | None) -> bool:
    """Return whether a table can be corrected in memory: no folder of files, and nothing too large."""
    if isinstance(where, str) and (where == "-" or not where or is_database(where)):
        return True
    place = as_place(where) if isinstance(where, str) else None
    if place is not None and place.is_dir() and not (isinstance(place, Path) and is_data_set(place)):
        return False
    _, paths = list_files(where)
    try:
        factor = FORMATS[find_common_format(paths, format)].growth
    except TableError:  # the run itself will report what is wrong with them
        return True
    growth = [COMPRESSED_BYTES if path.suffix.lower() in COMPRESSIONS else 1.0 for path in paths]
    size = sum(times * path.stat().st_size for times, path in zip(growth, paths, strict=True))
    return factor * size <= SHARE * measure_free_memory()


def do_job_in_parts(
    where: str | list[str],
    options: Options,
    *,
    engine: str = "local",
    scheduler: str | None = None,
    output: Path | None = None,
    base: Place | None = None,
    n_jobs: int = 1,
    device: str = "cpu",
    force: bool = False,
    dry_run: bool = False,
    model: Path | None = None,
    expected: Input | None = None,
    batch_rows: int | None = None,
) -> Summary:
    """Correct a large table and write the run's folder. The table itself is not touched."""
    options = replace(options, pool_size=options.pool_size or 0)
    check_possible(where)
    check_engine(engine, scheduler)
    check_device(device)  # now: without its GPU a run that was stopped keeps what is done
    shared, paths = list_files(where)
    base = shared if base is None else base
    format = find_part_format(paths, options.format)
    place = (
        output
        if output is not None
        else choose_place(where, shared, paths, format, "reviewed.subsvms" if options.verified else "subsvms")
    )
    check_outside(place, where)
    if model is not None and not dry_run:
        check_model_place(model, place, paths, force=force)
    clock = Clock()
    plan = make_plan(options, paths, base)
    beside = place.parent if engine == "dask" else None  # all workers must see the folder
    filling = _filling(place, plan, force=force, dry_run=dry_run, beside=beside)
    with ExitStack() as finally_save, _naming_what_is_kept(place), filling as folder:
        with _discard_on_mistake(folder):
            source = prepare_source(paths, base, format, options, folder)
            check_plain_labels(source, options.label)
        clock.lap("reading")
        with open_engine(
            engine, n_jobs=n_jobs, n_items=len(source.units), folder=folder, scheduler=scheduler,
            gpu=device != "cpu" and count_gpus() > 0,
        ) as workers:  # fmt: skip
            with _discard_on_mistake(folder):
                learned = learn_from(
                    source, options, workers, pool_size=options.pool_size, n_jobs=n_jobs,
                    device=device, folder=folder, batch_rows=batch_rows,
                )  # fmt: skip
                if expected is not None:
                    check_unchanged("The table", learned.run.table.digest, expected.sha256)
            clock.lap("learning")
            token = (folder / TOKEN).read_text(encoding="utf-8")
            more: dict[str, Any] = {"batch_rows": batch_rows, "token": token}
            learned = limit_changes(source, learned, workers, folder=folder, **more)
            written = None if dry_run else folder
            whole = correct_units(source, learned.corrector, workers, folder=written, **more)
            clock.lap("judging")
        with _discard_on_mistake(folder):
            if make_plan(options, paths, base) != plan:
                raise TableError("The table was changed while it was read: start again when it is complete.")
        finding = examine_worst(learned, whole, n_jobs=n_jobs)
        run = replace(finding.run, seconds=clock.laps)
        summary = summarise_parts(
            finding, run, learned.corrector.learned.notes, None if dry_run else place, model
        )
        if not dry_run:
            announce("writing")
            if summary.model is not None:  # written now, and moved to its place after the folder
                finally_save.enter_context(saving_model(Model.of(run), summary.model))
            write_folder(finding, run, summary, place, folder, base, learned.corrector.labels, n_jobs)
    return summary


def check_possible(where: str | list[str]) -> None:
    """Raise an error if this cannot be done in parts."""
    if is_database(where):
        raise TableError("A database cannot be read in parts: save its answer as Parquet, and correct that.")
    if where == "-":
        raise TableError("Standard input cannot be read twice: save it in a file to correct it in parts.")


def find_part_format(paths: Sequence[Place], format: str | None) -> str:
    """Return the format of files, or raise an error if it cannot be read in parts."""
    format = find_common_format(paths, format)
    if not FORMATS[format].in_parts:
        raise TableError(
            f"{str(paths[0])!r} is {FORMATS[format].title}, which cannot be read in pieces: convert it to "
            "Parquet first."
        )
    return format


def check_plain_labels(source: Source, label: str) -> None:
    """Raise an error if the labels are codes with names: in parts they would be other classes."""
    names = list(find_class_names(source.schema, label).values())
    if names and len(set(names)) == len(names):
        raise TableError(
            f"{source.name} has the labels of {show(label)} as codes of Hugging Face, whose names a run "
            "in parts cannot use: correct it in memory, or save the names as text."
        )


def check_outside(place: Path, where: str | list[str]) -> None:
    """Raise an error if the result would be in the folder that is read: it would be read the next time."""
    read = as_place(where) if isinstance(where, str) else None
    if isinstance(read, Path) and read.is_dir():
        inner = place.resolve()
        if read.resolve() in (inner, *inner.parents):
            raise TableError(
                "{place!r} is inside the folder that is read: choose a place outside it{output:aside}.",
                place=str(place),
            )


def choose_place(
    where: str | list[str], base: Place, paths: Sequence[Place], format: str, ending: str = "subsvms"
) -> Path:
    """Return the folder that a run makes: big.subsvms beside big.parquet, or beside the folder big."""
    if len(paths) == 1 and not (isinstance(where, str) and as_place(where).is_dir()):
        return place_result(paths[0], f"{split_suffix(paths[0], format)[0]}.{ending}")
    base = base.resolve()
    if base == Path.cwd():
        raise TableError(
            Sentence(
                "The table consists of several files here: say with {output} where the result should go."
            )
        )
    return place_result(base, f"{base.name}.{ending}")


def make_plan(options: Options, paths: Sequence[Place], base: Place) -> dict[str, Any]:
    """Return what the parts of a run depend on: only a run with the same plan continues with them."""
    files = [[str(path.resolve()), *read_version(path)] for path in paths]
    names = ("subsvms", "numpy", "numba", "pyarrow", "scikit-learn", "scipy", "skrub")
    versions = {name: get_version(name) for name in names}
    return {"versions": versions, "options": asdict(options), "base": str(base.resolve()), "files": files}


@contextmanager
def _filling(
    place: Path, plan: dict[str, Any], *, force: bool, dry_run: bool, beside: Path | None
) -> Iterator[Path]:
    """Give a folder to work in; if the work fails, it stays only if it holds something to continue with."""
    with (
        tempfile.TemporaryDirectory(prefix=".subsvms-", dir=beside)
        if dry_run
        else resume_folder(place, plan, force=force) as name
    ):
        folder = Path(name)
        for part in (CORRECTED, ISSUE_PARTS, DONE, VOTES):
            (folder / part).mkdir(exist_ok=True)
        (folder / TOKEN).write_text(secrets.token_hex(16), encoding="utf-8")
        try:
            yield folder
        except BaseException:
            if not any(path.exists() for path in _list_notes(folder)):
                remove_known(folder, last=PLAN)
            raise


def _list_notes(folder: Path) -> list[Path]:
    """Return the files that show that there is something to continue with."""
    return [folder / DRAWN, folder / STAGED / SEPARATOR]


@contextmanager
def _discard_on_mistake(folder: Path) -> Iterator[None]:
    """Leave nothing to continue with after an error that the same command would meet again."""
    try:
        yield
    except AccessError:  # the server may answer the next time
        raise
    except InputError:
        for path in _list_notes(folder):
            path.unlink(missing_ok=True)
        raise


@contextmanager
def _naming_what_is_kept(place: Path) -> Iterator[None]:
    """Let the message after Ctrl-C, or when a GPU is lost, name the folder of the parts that are done."""
    try:
        yield
    except (KeyboardInterrupt, DeviceError) as stop:
        unfinished = place.with_name(place.name + UNFINISHED)
        if not unfinished.exists():
            raise
        kept = f"what is done is kept in {str(unfinished)!r}, and the same command continues from there"
        if isinstance(stop, DeviceError):
            kept = f"{str(stop).removesuffix('.')}, and {kept}, on either device."
        raise type(stop)(kept) from None


def prepare_source(
    paths: Sequence[Place], base: Place, format: str, options: Options, folder: Path
) -> Source:
    """Return the table as a source of units; text and Arrow files are copied to Parquet first."""
    if format == "parquet":
        return open_source([str(path) for path in paths], options.label, base)
    staged, note = folder / STAGED, folder / STAGED / SEPARATOR
    staged.mkdir(exist_ok=True)
    if not note.is_file():  # the last that is written
        found = stage_files(
            paths, format, staged, label=options.label, encoding=options.encoding, separator=options.separator
        )
        note.write_text(found or "", encoding="utf-8")
    separator = note.read_text(encoding="utf-8") or None
    source = open_source(sorted(str(path) for path in staged.glob("*.parquet")), options.label, staged)
    return replace(source, name=name_files(paths), paths=tuple(paths), format=format, separator=separator)


def summarise_parts(
    finding: Finding, run: Run, notes: tuple[Note, ...], place: Path | None, model: Path | None
) -> Summary:
    """Return the summary of a run; `notes` are those on the votes, the rest is as in `describe_output`."""
    about = "suspicious labels and reasons, worst first in each part; rows count from 1"
    listed = [f"{ISSUE_PARTS}/", about]
    outcome = describe_output(place, model, f"{CORRECTED}/", run.options.action, listed)
    worst = describe_worst(finding.worst, finding.issues, finding.numbers)
    return summarise(
        run, worst, finding.n_issues, n_labels=finding.n_labels, doubt=finding.doubt,
        label_notes=list_notes(run, notes), **outcome,
    )  # fmt: skip


def list_notes(run: Run, notes: tuple[Note, ...]) -> list[Note]:
    """Return the notes on the labels of a whole table: those on the votes, then those on labels kept."""
    spared = [format_spared(n_rows, Halt[name]) for name, n_rows in run.tally.spared.items() if n_rows]
    return [*notes, *spared]


def write_folder(
    finding: Finding,
    run: Run,
    summary: Summary,
    place: Path,
    folder: Path,
    base: Place,
    labels: Labels,
    n_jobs: int = 1,
) -> None:
    """Write what comes after the parts."""
    write_doubtful(finding, folder)
    parts = sorted(path for name in (CORRECTED, ISSUE_PARTS) for path in (folder / name).glob("*.parquet"))
    names = [path.relative_to(folder).as_posix() for path in parts]
    with ThreadPoolExecutor(n_jobs) as pool:
        digests = dict(zip(names, pool.map(digest_file, parts), strict=True))
    report = write_report(summary, run, folder)
    write_record(make_record(run, summary, place, digests, report, base, labels), folder)

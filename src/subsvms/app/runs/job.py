"""Correct a table and leave a folder: the whole job, from bytes to files, in memory or in parts.

A run in memory writes its folder when all is known. A run in parts fills it from the beginning: then it is
called loans.subsvms.unfinished, and a run that was stopped, whatever the reason, continues from there if it
is started again.
"""

import hashlib
import secrets
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from subsvms._effort import Effort, announce, count_threads
from subsvms.app import names
from subsvms.app.names import TABLE, UNFINISHED
from subsvms.app.options import FILE_OPTIONS, LABEL_OPTIONS, Options, Work
from subsvms.app.quoting import show
from subsvms.app.runs.answers import has_answers, merge_answers
from subsvms.app.runs.engines import Engine, check_engine, open_engine
from subsvms.app.runs.folder import fill_folder, prepare_place, remove_known, resume_folder
from subsvms.app.runs.judge import BatchCorrector, judge_units, limit_changes
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.model import Model, saving_model
from subsvms.app.runs.other_judges import Judge
from subsvms.app.runs.outputs import as_storable, describe_output, write_files
from subsvms.app.runs.parts import find_part_format, prepare_source
from subsvms.app.runs.record import RECORDED, Input, check_unchanged, get_version, read_record
from subsvms.app.runs.run import Clock, Finding, Run, examine_parts, examine_table, run_in_memory
from subsvms.app.runs.source import Source
from subsvms.app.runs.summary import Summary, summarise
from subsvms.app.tables import files
from subsvms.app.tables.addresses import AccessError, Place, as_place, is_database, place_result, read_version
from subsvms.app.tables.arrow import find_class_names, render_arrow
from subsvms.app.tables.databases import read_database
from subsvms.app.tables.files import Content, check_target, digest_bytes, digest_file, measure_free_memory
from subsvms.app.tables.formats import FORMATS, default_ending, load_function
from subsvms.app.tables.table import LabelledTable, place_beside, read_one, read_table
from subsvms.app.tables.where import find_common_format, is_data_set, list_files
from subsvms.ensemble._device import check_device, count_gpus
from subsvms.exceptions import DeviceError, InputError, Sentence, Setting, TableError

KEPT = (names.DRAWN, f"{names.STAGED}/{names.SEPARATOR}")  # show that there is something to continue with
SHARE_OF_MEMORY = 0.5  # that is free, and that a run in memory may take
COMPRESSED_BYTES = 5.0  # of text in each byte of a compressed file
NO_MODEL = (
    "{save_model} saves SVMs, but probabilities judge ({pred_probs}), which can predict no new rows: leave "
    "it out, and train your own model on the corrected table."
)
NOT_REPEATED = (
    "The run in {folder!r} was judged by {estimator}, which came from a program and is not stored: repeat it "
    "there with correct_table, or correct the table anew without {from_run}."
)


@dataclass(frozen=True, eq=False)
class Opened:
    """A table that is open, and where its result goes."""

    source: Source
    options: Options  # those that read the table again
    place: Path | None  # the folder of the result; None for a dry run
    check: Callable[[], None] = lambda: None  # raises an error if the table has changed
    folder: Path | None = None  # where a run in parts works
    base: Place | None = None  # the folder from which partitions are read
    inputs: dict[str, bytes] = field(default_factory=dict)  # what only the folder of the run will hold


def do_job(
    where: str | list[str], options: Options, work: Work, *, pred_probs: str | None = None,
    expected: Input | None = None,
) -> Summary:  # fmt: skip
    """Correct a table and write the run's folder, whole or not at all. The table itself is not touched."""
    check_device(work.device)  # now: without its GPU a run that was stopped keeps what is done
    clock, judge, engine = Clock(), Judge.of(pred_probs), work.engine or "memory"
    n_jobs = work.n_jobs or -1
    if work.save_model is not None and judge.has_probabilities(options):
        raise TableError(Sentence(NO_MODEL))
    opening: AbstractContextManager[Opened]
    if engine == "memory":
        opening = nullcontext(open_in_memory(where, options, work, judge, expected))
    else:
        check_engine(engine, work.scheduler)
        n_jobs = count_threads(n_jobs)
        base = None if expected is None or expected.base is None else as_place(expected.base)
        opening = open_in_parts(where, options, work, base)
    with ExitStack() as finally_save, opening as opened:
        clock.lap("reading")
        table, place, inputs = opened.source.table, opened.place, opened.inputs
        how: dict[str, Any] = {"n_jobs": n_jobs, "device": work.device}
        if table is not None:
            how |= {"features": work.features, "judge": judge, "clock": clock}
            finding = examine_table(run_in_memory(table, opened.options, **how))
        else:
            gpu, n_units = work.device != "cpu" and count_gpus() > 0, len(opened.source.units)
            with open_engine(engine, n_jobs, n_units, opened.folder, work.scheduler, gpu=gpu) as workers:
                finding = find_in_parts(opened, workers, clock, expected, **how)
            with discarding(opened.folder):
                opened.check()
        clock.lap("carriers")
        finding = finding.timed(clock.laps)
        held = "the rows with all answers" if has_answers(opened.options) else "the answer of the database"
        stored = [[name, held] for name in inputs]
        summary = summarise(finding, describe_output(finding, place, work.save_model, stored))
        if place is not None:
            announce("writing")
            if work.save_model is not None:  # written now, and moved to its place after the folder
                finally_save.enter_context(saving_model(Model.of(finding.run), work.save_model))
            own = opened.folder
            with fill_folder(place, force=work.force) if own is None else nullcontext(own) as folder:
                how = {"inputs": inputs, "base": opened.base, "n_jobs": n_jobs}
                write_files(finding, summary, folder, place, **how)
    return summary


def find_in_parts(
    opened: Opened, workers: Engine, clock: Clock, expected: Input | None, **how: Any
) -> Finding:
    """Judge and write all rows of a table in parts, and look at the worst of them."""
    source, folder = opened.source, opened.folder
    assert folder is not None
    with discarding(folder):
        survey = learn_from(source, opened.options, workers, folder=folder, **how)
        if expected is not None:
            check_unchanged("The table", survey.at_hand.table.digest, expected.sha256)
    clock.lap("learning")
    token = (folder / names.TOKEN).read_text(encoding="utf-8")
    survey = limit_changes(source, survey, workers, folder=folder, token=token)
    written = None if opened.place is None else folder
    whole = judge_units(source, BatchCorrector.of(survey), workers, folder=written, token=token)
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
    if record.input.estimator is not None:
        raise TableError(NOT_REPEATED, folder=str(path), estimator=record.input.estimator)
    paths = record.input.paths
    where = "-" if not paths else paths[0] if len(paths) == 1 else paths
    return where, record.options, record.input.features, record.input


def write_folder(finding: Finding, summary: Summary, place: Path, inputs: Mapping[str, bytes]) -> None:
    """Write the folder of a run in memory, which holds its input as well."""
    with fill_folder(place, force=False) as folder:
        write_files(finding, summary, folder, place, inputs=inputs)


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
    growth = [COMPRESSED_BYTES if path.suffix.lower() in files.COMPRESSIONS else 1.0 for path in paths]
    size = sum(times * path.stat().st_size for times, path in zip(growth, paths, strict=True))
    return factor * size <= SHARE_OF_MEMORY * measure_free_memory()


def open_in_memory(
    where: str | list[str], options: Options, work: Work, judge: Judge, expected: Input | None
) -> Opened:
    """Read a table, and check that its result can be written."""
    announce("reading the table")
    table, options, inputs = read_input(where, options)
    if expected is not None:
        check_unchanged("The table", table.digest, expected.sha256)
        if work.features is not None and expected.features_sha256 is not None:
            check_unchanged(
                "The file of features", digest_file(Path(work.features)), expected.features_sha256
            )
        if judge.digest is not None and expected.pred_probs_sha256 is not None:
            check_unchanged("The file of probabilities", judge.digest, expected.pred_probs_sha256)
    if options.action == "weight" and table.format == "svmlight":
        raise TableError("LIBSVM text has no place for weights: choose another action, or convert the table.")
    place = None
    if not work.dry_run:  # before work that may take minutes
        place = work.output or place_beside(table, choose_ending(options), "")
        for name in inputs:
            format = table.format if has_answers(options) else "parquet"
            table = replace(table, name=repr(str(place / name)), paths=(place / name,), format=format)
        prepare_place(place, force=work.force)
        check_model_place(work, place, [*table.paths, *([Path(work.features)] if work.features else [])])
    return Opened(Source.of(table), options, place, inputs=inputs)


def choose_ending(options: Options) -> str:
    """Return how the name of the folder ends."""
    return "reviewed.subsvms" if options.verified else "subsvms"


def read_input(where: str | list[str], options: Options) -> tuple[LabelledTable, Options, dict[str, bytes]]:
    """Return the table, options that read it again, and the bytes of what only the folder of the run holds.

    The answer of a database is kept there, so that its address, which may hold a password, need not be.
    """
    if not is_database(where):
        if options.annotators or options.annotator_column is not None:
            return read_answered(where, options)
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


def read_answered(
    where: str | list[str], options: Options
) -> tuple[LabelledTable, Options, dict[str, bytes]]:
    """Return a table with people's answers, which has a line for each row and a label, as `read_input` does.

    If it has not, one is made; the run is about that, and keeps it in its folder.
    """
    table = read_table(where, None, **{name: getattr(options, name) for name in FILE_OPTIONS})
    columns, options, notes = merge_answers(table, options)
    if columns is table.columns:
        return read_table(where, options.label, **options.reading), options, {}
    format = FORMATS[table.format].written
    stem = files.split_suffix(table.paths[0], table.format)[0] if len(table.paths) == 1 else Path(TABLE).stem
    name = f"{stem}{names.ANSWERED}{default_ending(format)}"
    data = load_function(FORMATS[format].writer)(columns, format)
    reading = {one: getattr(options, one) for one in LABEL_OPTIONS}
    content = Content(table.name, None, data, format, digest_bytes(data))
    made = read_one(content, options.label, **reading)
    options = replace(options, format=None, encoding=None, separator=None, sheet=None)
    paths, folder = table.paths, table.folder
    made = replace(made, notes=(*notes, *made.notes), paths=paths, folder=folder)
    return made, options, {name: data}


@contextmanager
def open_in_parts(
    where: str | list[str], options: Options, work: Work, base: Place | None
) -> Iterator[Opened]:
    """Open a table that is read in parts, and the folder of its run, which other machines may have to see."""
    options = replace(options, pool_size=options.pool_size or 0)
    if has_answers(options):
        words = "People's answers are compared in memory only: use {engine}."
        raise TableError(words, engine=Setting("engine", "memory"))
    if is_database(where):
        raise TableError("A database cannot be read in parts: save its answer as Parquet, and correct that.")
    if where == "-":
        raise TableError("Standard input cannot be read twice: save it in a file to correct it in parts.")
    root, paths = list_files(where)
    base = root if base is None else base
    format = find_part_format(paths, options.format)
    place = work.output or choose_place(where, root, paths, format, choose_ending(options))
    read, inner = as_place(where) if isinstance(where, str) else None, place.resolve()
    if isinstance(read, Path) and read.is_dir() and read.resolve() in (inner, *inner.parents):
        words = "{place!r} is inside the folder that is read: choose a place outside it{output:aside}."
        raise TableError(words, place=str(place))
    if not work.dry_run:
        check_model_place(work, place, paths)
    plan = make_plan(options, paths, base)

    def check():
        if make_plan(options, paths, base) != plan:
            raise TableError("The table was changed while it was read: start again when it is complete.")

    with _naming_what_is_kept(place), _filling(place, plan, work) as folder:
        with discarding(folder):
            source = prepare_source(paths, base, format, options, folder)
            names_of_codes = list(find_class_names(source.schema, options.label).values())
            if names_of_codes and len(set(names_of_codes)) == len(names_of_codes):
                raise TableError(
                    f"{source.name} has the labels of {show(options.label)} as codes of Hugging Face, whose "
                    "names a run in parts cannot use: correct it in memory, or save the names as text."
                )
        yield Opened(source, options, None if work.dry_run else place, check, folder, base)


def choose_place(
    where: str | list[str], base: Place, paths: Sequence[Place], format: str, ending: str
) -> Path:
    """Return the folder that a run makes: big.subsvms beside big.parquet, or beside the folder big."""
    if len(paths) == 1 and not (isinstance(where, str) and as_place(where).is_dir()):
        return place_result(paths[0], f"{files.split_suffix(paths[0], format)[0]}.{ending}")
    base = base.resolve()
    if base == Path.cwd():
        words = "The table consists of several files here: say with {output} where the result should go."
        raise TableError(words, output=Setting("output"))
    return place_result(base, f"{base.name}.{ending}")


def make_plan(options: Options, paths: Sequence[Place], base: Place) -> dict[str, Any]:
    """Return what the parts of a run depend on: only a run with the same plan continues with them."""
    files = [[str(path.resolve()), *read_version(path)] for path in paths]
    versions = {name: get_version(name) for name in ("subsvms", *RECORDED)}
    return {"versions": versions, "options": asdict(options), "base": str(base.resolve()), "files": files}


@contextmanager
def _filling(place: Path, plan: dict[str, Any], work: Work) -> Iterator[Path]:
    """Give a folder to work in; if the work fails, it stays only if it holds something to continue with."""
    beside = place.parent if work.engine == "dask" else None
    with (
        tempfile.TemporaryDirectory(prefix=".subsvms-", dir=beside)
        if work.dry_run
        else resume_folder(place, plan, force=work.force) as name
    ):
        folder = Path(name)
        for part in (name for name in names.FOLDERS if name != names.STAGED):
            (folder / part).mkdir(exist_ok=True)
        (folder / names.TOKEN).write_text(secrets.token_hex(16), encoding="utf-8")
        try:
            yield folder
        except BaseException:
            if not any((folder / name).exists() for name in KEPT):
                remove_known(folder, last=names.PLAN)
            raise


@contextmanager
def discarding(folder: Path | None) -> Iterator[None]:
    """Leave nothing to continue with after an error that the same command would meet again."""
    try:
        yield
    except AccessError:  # the server may answer the next time
        raise
    except InputError:
        if folder is not None:
            for name in KEPT:
                (folder / name).unlink(missing_ok=True)
        raise


@contextmanager
def _naming_what_is_kept(place: Path) -> Iterator[None]:
    """Let the message after Ctrl-C, or when a GPU is lost, name the folder of the parts that are done."""
    unfinished = place.parent / (place.name + UNFINISHED)
    kept = f"is kept in {str(unfinished)!r}, and the same command continues from there"
    try:
        yield
    except (KeyboardInterrupt, DeviceError) as stop:
        if not unfinished.exists():
            raise
        if isinstance(stop, DeviceError):
            raise DeviceError("{stop} What is done {kept}, on either device.", stop=stop, kept=kept) from None
        raise KeyboardInterrupt(f"what is done {kept}") from None


def check_model_place(work: Work, place: Path, inputs: Sequence[Place]) -> None:
    """Raise an error if the classifier is to be saved where it cannot be, beside the folder of the run."""
    if work.save_model is None:
        return
    model, result = work.save_model.resolve(), place.resolve()
    if {model, *model.parents} & {result, result.parent / (place.name + UNFINISHED)}:
        raise TableError(
            "{model!r}{save_model:aside} is the folder of the result, or inside it: choose another place for "
            "the model.",
            model=str(work.save_model),
        )
    check_target(work.save_model, inputs, force=work.force)

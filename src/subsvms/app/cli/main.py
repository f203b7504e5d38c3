"""The commands that work on tables: parse, call, print."""

import gc
import json
import shlex
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from subsvms.app.cli.shared import FILE_HELP, File, Label, app, print_text, takes
from subsvms.app.declared import list_options
from subsvms.app.options import (
    FILE_OPTIONS,
    LABEL_OPTIONS,
    AttackOptions,
    CheckOptions,
    Options,
    PredictOptions,
    Work,
    as_flag,
    tell_flags,
    write_command,
)
from subsvms.app.quoting import name_some
from subsvms.exceptions import InputError, Sentence, Setting

SPEED = ("n_jobs", "device")  # how `correct`, `predict` and `check` work
CHECKED = (  # how a table is read and judged that is checked; --format is that of the answer
    *"id_column exclude only keep n_estimators subsample_size kernel random_state".split(),
    *(name for name in (*LABEL_OPTIONS, *FILE_OPTIONS) if name != "format"),
)
NO_EFFECT = Sentence(
    "{early_exit} has no effect, since all SVMs vote on every row; the next release refuses it."
)


@app.command(epilog="Example: subsvms correct loans.csv --label default --by annotator --seed 1")
@takes(*list_options(Options), *list_options(Work))
def correct(
    context: typer.Context,
    file: Annotated[str | None, typer.Argument(help=FILE_HELP, show_default=False)] = None,
    **given: Any,
) -> None:
    """Find wrong labels in a table, correct those that can be corrected, and say how sure each correction is.

    Creates a folder with the corrected table, the issues, a report and a record. FILE is never changed.
    """
    work = Work(**{one.name: given.pop(one.name) for one in list_options(Work)})
    if work.from_run is None:  # before the imports, which take seconds
        check_file_and_label(file, given)

    gc.disable()  # nothing is garbage among the many objects that imports make
    from rich.console import Console

    import subsvms.app.runs.job  # noqa: F401  which imports what a run needs
    from subsvms.app.cli.terminal import show_summary, showing_progress
    from subsvms.app.tables.addresses import is_database

    gc.freeze()  # and none of them becomes garbage: during the work they are not looked at again
    gc.enable()
    with showing_progress(Console(stderr=True, quiet=work.quiet)):
        summary = run_job(context, str(file), given, work)
    if work.dry_run:
        words = (word for word in context.obj if word != as_flag(Setting("dry_run")))
        command = shlex.join(["subsvms", *("ADDRESS" if is_database(word) else word for word in words)])
        summary = summary.advising([*summary.told.next, f"To write the result: {command}"])
    summary = tell_flags(summary)
    if work.as_json:
        typer.echo(json.dumps(summary.flatten(), indent=1))  # in ASCII: any program can take it
    elif not work.quiet:
        show_summary(summary, Console())


def run_job(context: typer.Context, file: str, given: dict[str, Any], work: Work) -> Any:
    """Do what the command asks for, or what the record of an earlier run says; return the summary."""
    from subsvms.app.runs.job import do_job, repeat_options

    where: str | list[str] = file
    expected, features, p = None, work.features, None
    if work.from_run is not None:
        refuse_other_settings(context)
        where, options, features, expected = repeat_options(work.from_run)
        p = expected.pred_probs
    else:
        if len(given["pred_probs"] or ()) == 1:  # a file, since there are at least two classes
            (p,) = given.pop("pred_probs")
        if given.pop("early_exit") is not None:
            warnings.warn(NO_EFFECT, FutureWarning, stacklevel=1)
        verified: tuple = ()
        if work.decisions is not None:
            from subsvms.app.desk.apply import read_verified

            verified, expected = read_verified(work.decisions, given["label"])
        options = Options(**given, verified=verified)
    engine = choose_engine(work, where, options, features, p)
    work = replace(work, engine=engine, features=features)
    return do_job(where, options, work, pred_probs=p, expected=expected)


def choose_engine(
    work: Work, where: str | list[str], options: Options, features: str | None, p: str | None
) -> str:
    """Return the engine to use: "memory", "local" or "dask"."""
    from subsvms.app.runs.job import fits_in_memory

    if work.scheduler is not None and work.engine not in (None, "dask"):
        words = "{scheduler} is the address of a Dask scheduler: use it with {engine=dask}."
        raise InputError(Sentence(words))
    in_parts = options.pool_size is not None
    if work.engine is None and not in_parts and features is None and p is None:
        in_parts = not fits_in_memory(where, options.format)
    engine = work.engine or ("dask" if work.scheduler else "local" if in_parts else "memory")
    if engine == "memory" and options.pool_size is not None:
        raise InputError(Sentence("{pool_size} is for work in parts: leave it out, or use {engine=local}."))
    if engine != "memory" and (features is not None or p is not None):
        name = Setting("pred_probs" if features is None else "features")
        words = "{name} cannot be read in parts: put the numbers into columns of the table."
        raise InputError(words, name=name)
    return engine


def refuse_other_settings(context: typer.Context) -> None:
    """Raise an error if an option is given that the record of the run already holds."""
    # a run depends on features and decisions, too
    allowed = {one.name for one in list_options(Work)} - {"features", "decisions"}
    for name in context.params.keys() - allowed:
        if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE":
            words = "{from_run} takes all settings from the record of the run: leave out {name}."
            raise InputError(words, name="FILE" if name == "file" else Setting(name))


def check_file_and_label(file: str | None, given: dict[str, Any]) -> None:
    """Raise an error if a file or its label column was not given, or if there is no such file."""
    from subsvms.app.tables.addresses import is_address

    if file is None:
        example = write_command("correct", "loans.csv", label="default")
        raise InputError(f"FILE is missing: name the file and its label column, as in {example}.")
    check_there(file)
    if given["annotators"]:
        given["label"] = given["label"] or ""  # a new column
    elif given["label"] is None:
        columns, likely = list_columns(file, {name: given[name] for name in FILE_OPTIONS})
        shown = "ADDRESS" if is_address(file) else file  # which may hold a password
        example = write_command("correct", shown, label=likely)
        found = f", one of {name_some(columns)}" if columns else ""
        words = "{label} is missing: name the column of the labels{found}, as in {example}"
        raise InputError(words, found=found, example=example)


def list_columns(file: str, how: dict[str, Any]) -> tuple[list[str], str]:
    """Return the columns of a file that fits in memory, none if it cannot be read, and a likely label."""
    from subsvms.app.runs.job import fits_in_memory
    from subsvms.app.tables.addresses import is_database
    from subsvms.app.tables.labels import may_be_label
    from subsvms.app.tables.table import read_table

    try:
        if file == "-" or is_database(file) or not fits_in_memory(file, how["format"]):
            return [], "default"
        table = read_table(file, None, **how)
    except InputError:  # which the command with a label will report
        return [], "default"
    if table.matrix is not None:  # LIBSVM text has no names
        return ["label"], "label"
    names = table.columns.column_names
    return names, next((one for one in reversed(names) if may_be_label(table.columns[one])), names[-1])


def check_there(file: str) -> None:
    """Raise an error if there is no such file or folder, and no file that matches such a pattern."""
    from subsvms.app.tables.addresses import as_place, is_database
    from subsvms.app.tables.where import find_files

    if not is_database(file) and not as_place(file).is_dir():  # what these hold is for their readers to say
        find_files(file)


@app.command(epilog="Example: subsvms predict loans.model.safetensors new_loans.csv")
@takes(*list_options(PredictOptions), *list_options(Work, *SPEED), *list_options(Options, *FILE_OPTIONS))
def predict(
    model: Annotated[Path, typer.Argument(help="File that subsvms correct --save-model wrote.")],
    file: File,
    **given: Any,
) -> None:
    """Label new rows with a classifier that learned from noisy labels.

    Writes a copy of FILE with the predicted label and the share of the SVMs that vote for it.
    """
    check_there(file)

    from subsvms.app.runs.model import predict_file

    work = Work(**{name: given.pop(name) for name in SPEED})
    reading = {name: given.pop(name) for name in FILE_OPTIONS}
    done = predict_file(model, file, **given, reading=reading, n_jobs=work.n_jobs or -1, device=work.device)
    print_text(str(done))


@app.command(
    epilog="Example: subsvms check loans.csv --label default --fail-above 0.05 --baseline labels.lock"
)
@takes(*list_options(CheckOptions), *list_options(Options, *CHECKED), *list_options(Work, "features", *SPEED))
def check(file: File, label: Label, **given: Any) -> None:
    """Say whether the labels of a table pass, for pipelines: exit code 0, or 1 if they fail.

    Exit code 2 means that it cannot be said. Only what --accept and --output name is written.
    """
    asked = CheckOptions(**{one.name: given.pop(one.name) for one in list_options(CheckOptions)})
    work = Work(**{name: given.pop(name) for name in ("features", *SPEED)})
    check_there(file)

    from subsvms.app.report.check import RENDER
    from subsvms.app.runs.check import Reviewed, check_table
    from subsvms.app.tables.files import check_target, write_content

    reviewed, target, inputs = None, None, [Path(file), *([asked.baseline] if asked.baseline else [])]
    if asked.decisions is not None:
        from subsvms.app.desk.apply import read_verified

        reviewed = Reviewed(asked.decisions, dict(read_verified(asked.decisions, label)[0]))
    if asked.output is not None:  # before the work
        target = check_target(asked.output, inputs, force=True)
    options = Options(label, **given, action="review")
    found = tell_flags(check_table(file, options, asked, work, reviewed))
    said = RENDER[asked.output_format](found)
    if target is not None:
        write_content(target, f"{said}\n".encode())
        said = RENDER["text"](found)
    print_text(said)
    raise typer.Exit(found["exit_code"])


@app.command(
    epilog="Example: subsvms corrupt loans.csv --label default --attack boundary --error-rate 0.1 --seed 1"
)
@takes(
    *list_options(AttackOptions),
    *list_options(Options, "random_state", "exclude", "only", *FILE_OPTIONS, *LABEL_OPTIONS),
)
def corrupt(file: File, label: Label, **given: Any) -> None:
    """Write a copy of a file in which an adversary has made labels wrong, to test a pipeline.

    The attacks boundary, surest and greedy use no seed.
    """
    check_there(file)

    from subsvms.app.cli.corrupt import corrupt_file

    asked = AttackOptions(**{one.name: given.pop(one.name) for one in list_options(AttackOptions)})
    print_text(corrupt_file(file, Options(label, **given), asked))


@app.command(epilog="Example: subsvms demo --wrong 0.2 --seed 3")
def demo(
    wrong: Annotated[float, typer.Option(help="Share of the labels to make wrong, below 0.37.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed of the attack and the subsets.")] = 0,
) -> None:
    """Make some labels of a real table wrong, then let many tiny SVMs correct them.

    The table is scikit-learn's breast cancer data (569 rows, 30 features). Writes nothing.
    """
    from subsvms.app.cli.demo import run_demo, show_demo

    show_demo(run_demo(wrong, seed))


import subsvms.app.cli.desk  # noqa: E402, F401  its commands are listed last

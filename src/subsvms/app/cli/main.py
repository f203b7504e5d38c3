"""The commands that work on tables: parse, call, print."""

import re
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsvms.app.cli.shared import (
    COLUMNS,
    FILE_HELP,
    LABELS,
    LARGE,
    RECORDS,
    RULE,
    SVMS,
    Device,
    Exclude,
    File,
    Format,
    Keep,
    Label,
    Merge,
    Missing,
    Numeric,
    Only,
    Query,
    Seed,
    Separator,
    Sheet,
    TextEncoding,
    Threads,
    app,
    print_json,
    print_text,
    read_options,
)
from subsvms.app.runs.options import tell_flags

if TYPE_CHECKING:
    from subsvms.app.runs.options import Options


@app.command(epilog="Example: subsvms correct loans.csv --label default --by annotator --seed 1")
def correct(
    context: typer.Context,
    file: Annotated[str | None, typer.Argument(help=FILE_HELP, show_default=False)] = None,
    label: Annotated[str | None, typer.Option(help="Name of the label column.")] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Report noise by this column, such as the annotator or the source, and do not learn from "
            "it; may be repeated."
        ),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option("--id", help="Column that names the rows in all files; nothing is learned from it."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Folder to create; by default loans.subsvms next to loans.csv.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Find wrong labels, but write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the result of an earlier run.")] = False,
    merge_labels: Merge = None,
    numeric_classes: Numeric = False,
    missing_label: Missing = None,
    fill_missing: Annotated[
        bool,
        typer.Option(
            "--fill-missing",
            help="Fill in missing labels, if the columns tell the classes apart.",
            rich_help_panel=LABELS,
        ),
    ] = False,
    exclude: Exclude = None,
    only: Only = None,
    keep: Keep = None,
    features: Annotated[
        str | None,
        typer.Option(
            help=".npy or .npz file of embeddings, one per row, to use instead of the columns.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    action: Annotated[
        str,
        typer.Option(
            help="What to do with labels that look wrong: fix, drop, weight or review.", rich_help_panel=RULE
        ),
    ] = "fix",
    rule: Annotated[
        str,
        typer.Option(
            help="posterior, which does the least harm, or majority, the paper's plain vote.",
            rich_help_panel=RULE,
        ),
    ] = "posterior",
    max_error_rate: Annotated[
        float | None,
        typer.Option(help="Change at most this share of the labels, the surest first.", rich_help_panel=RULE),
    ] = None,
    min_confidence: Annotated[
        float,
        typer.Option(
            help="Change a label only if another is more probable than this, from 0 to 1.",
            rich_help_panel=RULE,
        ),
    ] = 0.5,
    decisions: Annotated[
        Path | None,
        typer.Option(
            help="Folder of an earlier run on FILE: labels that people decided there, or answered in an "
            "audit, count as verified.",
            rich_help_panel=RULE,
        ),
    ] = None,
    svms: Annotated[
        int | None,
        typer.Option(
            help="How many SVMs vote. By default SVMs are chosen that predict the labels best; this, the "
            "next two options and --early-exit set them instead.",
            rich_help_panel=SVMS,
        ),
    ] = None,
    subset_size: Annotated[
        str | None,
        typer.Option(
            help="Rows that each SVM is trained on: log_squared, log or a number.", rich_help_panel=SVMS
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="Kernel of the SVMs: rbf, linear or poly.", rich_help_panel=SVMS)
    ] = None,
    seed: Seed = 0,
    format: Format = None,
    encoding: TextEncoding = None,
    separator: Separator = None,
    sheet: Sheet = None,
    query: Query = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="memory, or local or dask to work in parts; by default memory if FILE fits, else local.",
            rich_help_panel=LARGE,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Address of a Dask scheduler; by default one starts on this machine.", rich_help_panel=LARGE
        ),
    ] = None,
    pool_size: Annotated[
        int | None,
        typer.Option(
            help="In parts: train SVMs on at most this many rows; by default 9,000 or more.",
            rich_help_panel=LARGE,
        ),
    ] = None,
    early_exit: Annotated[
        float | None,
        typer.Option(
            help="In parts: ask no more SVMs about a row once its label will stay with this confidence.",
            rich_help_panel=LARGE,
        ),
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    save_model: Annotated[
        Path | None,
        typer.Option(help="Also save the classifier, for subsvms predict.", rich_help_panel=RECORDS),
    ] = None,
    from_run: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="Folder or run.json of an earlier run to repeat, byte for byte; instead of FILE.",
            rich_help_panel=RECORDS,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON.", rich_help_panel=RECORDS)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel=RECORDS)
    ] = False,
) -> None:
    """Find wrong labels in a table, correct those that can be corrected, and say how sure each correction is.

    Creates a folder with the corrected table, the issues, a report and a record. FILE is never changed.
    """
    where: str | list[str] = ""
    column = ""
    if from_run is None:  # before the imports, which take seconds
        how = read_options(format, encoding, separator, sheet, query)
        where, column = check_file_and_label(file, label, how)
        check_there(where)

    from joblib import effective_n_jobs
    from rich.console import Console

    from subsvms.app.cli.terminal import show_summary, showing_progress
    from subsvms.app.desk.result import read_verified
    from subsvms.app.runs.job import do_job, repeat_options
    from subsvms.app.runs.options import Options
    from subsvms.app.runs.parts_job import do_job_in_parts
    from subsvms.app.tables.addresses import as_place, is_database

    expected = base = None
    if from_run is not None:
        refuse_other_settings(context, {"from_run", *NO_SETTINGS})
        where, options, features, expected = repeat_options(from_run)
        base = None if expected.base is None else as_place(expected.base)
    else:
        verified: tuple = ()
        if decisions is not None:
            verified, expected = read_verified(decisions, column)
        options = Options.from_flags(
            label=column, rule=rule, action=action, max_error_rate=max_error_rate, by=tuple(by or ()),
            min_confidence=min_confidence, svms=svms, kernel=kernel, seed=seed,
            subset_size=read_size(subset_size), exclude=tuple(exclude or ()), only=tuple(only or ()),
            keep=tuple(keep or ()), id=row_id, format=format, encoding=encoding, separator=separator,
            sheet=sheet, query=query, missing_label=tuple(missing_label or ()), merge_labels=merge_labels,
            numeric_classes=numeric_classes, fill_missing=fill_missing, verified=verified,
            pool_size=pool_size, early_exit=early_exit,
        )  # fmt: skip
    outputs: dict[str, Any] = {"output": output, "force": force, "dry_run": dry_run, "model": save_model}
    with showing_progress(Console(stderr=True, quiet=quiet)):
        name = choose_engine(engine, scheduler, where, options, features)
        if name == "memory":
            summary = do_job(
                where,
                options,
                features=features,
                n_jobs=threads or -1,
                device=device,
                expected=expected,
                **outputs,
            )
        else:
            summary = do_job_in_parts(
                where, options, engine=name, scheduler=scheduler, n_jobs=effective_n_jobs(threads or -1),
                device=device, expected=expected, base=base, **outputs,
            )  # fmt: skip
    if dry_run:
        words = (word for word in context.obj if word != "--dry-run")
        command = shlex.join(["subsvms", *("ADDRESS" if is_database(word) else word for word in words)])
        summary = replace(summary, next=[*summary.next, f"To write the result: {command}"])
    summary = tell_flags(summary)
    if as_json:
        print_json(asdict(summary))
    elif not quiet:
        show_summary(summary, Console())


def read_size(text: str | None) -> str | int | None:
    """Return the size of a subset: a number if it is one."""
    return int(text) if text and re.fullmatch("[0-9]{1,18}", text) else text


NO_SETTINGS = {  # options that do not change the result
    "output", "force", "dry_run", "as_json", "quiet", "threads", "device", "save_model", "engine",
    "scheduler",
}  # fmt: skip


def choose_engine(
    engine: str | None,
    scheduler: str | None,
    where: str | list[str],
    options: "Options",
    features: str | None,
) -> str:
    """Return the engine to use: "memory", "local" or "dask"."""
    from subsvms.app.runs.parts_job import fits_in_memory
    from subsvms.exceptions import InputError

    if engine not in (None, "memory", "local", "dask"):
        raise InputError(f"--engine must be memory, local or dask; got {engine!r}.")
    if scheduler is not None and engine not in (None, "dask"):
        raise InputError("--scheduler is the address of a Dask scheduler: use it with --engine dask.")
    if engine is None:
        in_parts = options.pool_size is not None or options.early_exit is not None
        if not in_parts and features is None:
            in_parts = not fits_in_memory(where, options.format)
        engine = "dask" if scheduler else "local" if in_parts else "memory"
    for name in ("pool_size", "early_exit"):
        if engine == "memory" and getattr(options, name) is not None:
            shown = name.replace("_", "-")
            raise InputError(f"--{shown} is for work in parts: leave it out, or use --engine local.")
    if engine != "memory" and features is not None:
        raise InputError("--features cannot be read in parts: put the numbers into columns of the table.")
    return engine


def refuse_other_settings(context: typer.Context, allowed: set[str]) -> None:
    """Raise an error if an option is given that the record of the run already holds."""
    from subsvms.exceptions import InputError

    for name in context.params:
        source = getattr(context.get_parameter_source(name), "name", "")
        if name not in allowed and source == "COMMANDLINE":
            words = {"file": "FILE", "row_id": "--id"}
            shown = words.get(name, f"--{name.replace('_', '-')}")
            raise InputError(f"--from takes all settings from the record of the run: leave out {shown}.")


def check_file_and_label(file: str | None, label: str | None, how: dict[str, Any]) -> tuple[str, str]:
    """Return the file and its label column; raise an error if one of them was not given."""
    from subsvms.app.tables.addresses import is_address
    from subsvms.app.words import name_some
    from subsvms.exceptions import InputError

    if file is None:
        raise InputError(
            "FILE is missing: name the file and its label column, as in subsvms correct loans.csv --label "
            "default."
        )
    if label is None:
        check_there(file)
        columns = list_columns(file, how)
        shown = "ADDRESS" if is_address(file) else file  # which may hold a password
        last = shlex.join(["subsvms", "correct", shown, "--label", columns[-1] if columns else "default"])
        found = f", one of {name_some(columns)}" if columns else ""
        raise InputError(f"--label is missing: name the column of the labels{found}, as in {last}")
    return file, label


def list_columns(file: str, how: dict[str, Any]) -> list[str]:
    """Return the names of the columns of a file that fits in memory; none if it cannot be read."""
    from subsvms.app.runs.parts_job import fits_in_memory
    from subsvms.app.tables.addresses import is_database
    from subsvms.app.tables.table import read_table
    from subsvms.exceptions import InputError

    try:
        if file == "-" or is_database(file) or not fits_in_memory(file, how["format"]):
            return []
        table = read_table(file, None, **how)
    except InputError:  # which the command with a label will report
        return []
    return ["label"] if table.matrix is not None else table.columns.column_names  # LIBSVM text has no names


def check_there(file: str) -> None:
    """Raise an error if there is no such file or folder, and no file that matches such a pattern."""
    from subsvms.app.tables.addresses import as_place, is_database
    from subsvms.app.tables.where import find_files

    if not is_database(file) and not as_place(file).is_dir():  # what these hold is for their readers to say
        find_files(file)


@app.command(epilog="Example: subsvms predict loans.model.safetensors new_loans.csv")
def predict(
    model: Annotated[Path, typer.Argument(help="File that subsvms correct --save-model wrote.")],
    file: File,
    output: Annotated[
        Path | None,
        typer.Option(help="Where to write the result; by default loans.predicted.csv next to FILE."),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="Embeddings of these rows, if the model learned from embeddings.")
    ] = None,
    threads: Threads = None,
    device: Device = "cpu",
    format: Format = None,
    encoding: TextEncoding = None,
    separator: Separator = None,
    sheet: Sheet = None,
    query: Query = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Label new rows with a classifier that learned from noisy labels.

    Writes a copy of FILE with the predicted label and the share of the SVMs that vote for it.
    """
    check_there(file)

    from subsvms.app.runs.model import predict_file

    reading = read_options(format, encoding, separator, sheet, query)
    done = predict_file(
        model,
        file,
        output=output,
        features=features,
        force=force,
        reading=reading,
        n_jobs=threads or -1,
        device=device,
    )
    print_text(str(done))


@app.command(
    epilog="Example: subsvms corrupt loans.csv --label default --attack boundary --error-rate 0.1 --seed 1"
)
def corrupt(
    file: File,
    label: Label,
    attack: Annotated[
        str,
        typer.Option(help="uniform, directed, class-conditional, region, boundary, surest or greedy."),
    ] = "uniform",
    error_rate: Annotated[
        float | None, typer.Option(help="Share of all labels to make wrong, below 1; by default 0.1.")
    ] = None,
    rho: Annotated[
        float | None, typer.Option(help="Instead: wrong labels as a share of the smallest class, below 1.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Direction: share of the wrong labels that are taken from the larger of two classes."
        ),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(help="For class-conditional: '0.9 0.1; 0.2 0.8', one row per class, classes sorted."),
    ] = None,
    region_class: Annotated[
        str | None, typer.Option("--class", help="For region: the class to attack.")
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(help="Where to write the table; by default loans.corrupted.csv next to FILE."),
    ] = None,
    clean_column: Annotated[
        str | None, typer.Option(help="Also write the labels as they were, to a column of this name.")
    ] = None,
    exclude: Exclude = None,
    only: Only = None,
    format: Format = None,
    encoding: TextEncoding = None,
    separator: Separator = None,
    sheet: Sheet = None,
    query: Query = None,
    missing_label: Missing = None,
    merge_labels: Merge = None,
    numeric_classes: Numeric = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a copy of a file in which an adversary has made labels wrong, to test a pipeline.

    The attacks boundary, surest and greedy use no seed.
    """
    check_there(file)

    from subsvms.app.cli.corrupt import corrupt_file, parse_matrix

    done = corrupt_file(
        file, label, name=attack, output=output, clean_column=clean_column, force=force,
        exclude=exclude or (), only=only or (),
        reading=read_options(
            format, encoding, separator, sheet, query, missing_label, merge_labels, numeric_classes
        ),
        error_rate=error_rate, rho=rho, alpha=alpha, random_state=seed,
        matrix=None if matrix is None else parse_matrix(matrix), region_class=region_class,
    )  # fmt: skip
    print_text(str(done))


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


import subsvms.app.cli.audit  # noqa: E402, F401  its command, and those of the review, are listed last

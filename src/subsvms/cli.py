"""The command line: parse, call, answer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Find wrong labels, and classify in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # our own mistakes keep their traceback
)


def print_version(asked: bool) -> None:
    """Print the version and stop."""
    if asked:
        from subsvms import __version__

        typer.echo(f"subsvms {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find wrong labels, and classify in spite of them."""


File = Annotated[
    str,
    typer.Argument(
        help="CSV, TSV, Parquet, Feather, JSON Lines or LIBSVM text, packed or not; - is standard input."
    ),
]
Label = Annotated[str, typer.Option(help="Name of the label column.")]
Exclude = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Only = Annotated[list[str] | None, typer.Option(help="A column to use, and no others; may be repeated.")]
Seed = Annotated[int, typer.Option(min=0, max=2**31, help="Seed of all that is random.")]
Format = Annotated[
    str | None, typer.Option(help="csv, tsv, parquet, feather, jsonl or svmlight; by default found out.")
]
TextEncoding = Annotated[str | None, typer.Option(help="Of text files; by default UTF-8.")]
Separator = Annotated[str | None, typer.Option(help="Of CSV files; by default found out.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A label that means 'not labelled', beside the empty one; may be repeated."),
]


def read_options(format, encoding, separator, missing_label):
    """Return what `read_table` takes."""
    names = ("format", "encoding", "separator", "missing_labels")
    return dict(zip(names, (format, encoding, separator, missing_label or ()), strict=True))


@contextmanager
def mistakes_in_a_sentence() -> Iterator[None]:
    """Turn a wrong value, or a file that cannot be used, into one sentence and exit code 2."""
    from subsvms.ranges import InputError

    try:
        yield
    except InputError as error:  # anything else is a bug and keeps its traceback
        typer.echo(f"subsvms: {error}", err=True)
        raise typer.Exit(2) from None


@app.command(epilog="Example: subsvms demo --wrong 0.2 --seed 3")
def demo(
    wrong: Annotated[float, typer.Option(help="Share of the labels to make wrong, below 0.37.")] = 0.2,
    seed: Annotated[int, typer.Option(min=0, max=2**31, help="Seed of attack and subsets.")] = 0,
) -> None:
    """Make labels of a real table wrong, then let a thousand tiny SVMs correct them.

    The table is scikit-learn's breast cancer data (569 rows, 30 features). Nothing is written.
    """
    from subsvms.demo import run_demo, show_demo

    with mistakes_in_a_sentence():
        show_demo(run_demo(wrong, seed))


@app.command(epilog="Example: subsvms plan loans.csv --label default --max-error-rate 0.2")
def plan(
    file: File,
    label: Label,
    max_error_rate: Annotated[
        float, typer.Option(help="Largest share of wrong labels, from 0 up to but not including 0.5.")
    ] = 0.1,
    failure: Annotated[
        float, typer.Option(help="Allowed probability that the vote on a row is wrong, between 0 and 1.")
    ] = 0.01,
    exclude: Exclude = None,
    only: Only = None,
    seed: Seed = 0,
    format: Format = None,
    encoding: TextEncoding = None,
    separator: Separator = None,
    missing_label: Missing = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of sentences.")] = False,
) -> None:
    """Recommend how many SVMs of how many rows suit a file, and say what is guaranteed.

    Nothing is written.
    """
    from subsvms.commands import plan_file

    with mistakes_in_a_sentence():
        table, notes, found = plan_file(
            file, label, exclude=exclude or (), only=only or (),
            reading=read_options(format, encoding, separator, missing_label),
            max_error_rate=max_error_rate, failure=failure, random_state=seed,
        )  # fmt: skip
    if as_json:
        names = ("seconds", "phi", "votes_needed", "max_error_rate", "failure")
        answer = {**found.parameters, **{name: getattr(found, name) for name in names}}
        answer |= {name: list(getattr(found, name)) for name in ("guaranteed", "estimated", "assumed")}
        typer.echo(json.dumps(answer | {"notes": list(notes)}, indent=1, ensure_ascii=False))
        return
    typer.echo(f"{table.name}: {len(table)} rows, {len(table.classes)} classes in column {label!r}.")
    for note in notes:
        typer.echo(note)
    typer.echo(f"\n{found}")


@app.command(
    epilog="Example: subsvms corrupt loans.csv --label default --attack boundary --error-rate 0.1 --seed 1"
)
def corrupt(
    file: File,
    label: Label,
    attack: Annotated[
        str,
        typer.Option(
            help="uniform, directed, class-conditional, region; boundary, surest, greedy use no seed."
        ),
    ] = "uniform",
    error_rate: Annotated[
        float | None, typer.Option(help="Wrong labels as a share of all, from 0 up to but not including 1.")
    ] = None,
    rho: Annotated[
        float | None, typer.Option(help="Instead: wrong labels as a share of the smallest class, below 1.")
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="Direction, 0 to 1: share of them taken from the larger of two classes."),
    ] = None,
    matrix: Annotated[
        str | None,
        typer.Option(help="Of class-conditional: '0.9 0.1; 0.2 0.8', a line per class, classes sorted."),
    ] = None,
    region_class: Annotated[
        str | None, typer.Option("--class", help="Of region: the class to attack.")
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(help="Where the changed table goes; by default beside FILE, as loans.corrupted.csv."),
    ] = None,
    clean_column: Annotated[
        str | None, typer.Option(help="Name of a further column with the labels as they were.")
    ] = None,
    exclude: Exclude = None,
    only: Only = None,
    format: Format = None,
    encoding: TextEncoding = None,
    separator: Separator = None,
    missing_label: Missing = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write a copy of a file in which an adversary has made labels wrong, to test any pipeline."""
    from subsvms.commands import corrupt_file, parse_matrix

    with mistakes_in_a_sentence():
        done = corrupt_file(
            file, label, name=attack, output=output, clean_column=clean_column, force=force,
            exclude=exclude or (), only=only or (),
            reading=read_options(format, encoding, separator, missing_label),
            error_rate=error_rate, rho=rho, alpha=alpha, random_state=seed,
            matrix=None if matrix is None else parse_matrix(matrix), region_class=region_class,
        )  # fmt: skip
    typer.echo(str(done))

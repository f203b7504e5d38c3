"""What the commands share: the application, common options, and errors reported in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

app = typer.Typer(
    help="Find wrong labels, and classify in spite of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # bugs keep their traceback
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


FILE_HELP = "CSV, TSV, Parquet, Feather, JSON Lines or LIBSVM text, compressed or not; - is standard input."
File = Annotated[str, typer.Argument(help=FILE_HELP)]
Label = Annotated[str, typer.Option(help="Name of the label column.")]
Exclude = Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")]
Only = Annotated[list[str] | None, typer.Option(help="A column to use, instead of all; may be repeated.")]
Seed = Annotated[int, typer.Option(min=0, max=2**31, help="Seed of everything that is random.")]
Threads = Annotated[
    int | None, typer.Option(min=1, help="How many; by default one per core. Does not change the result.")
]
Format = Annotated[
    str | None, typer.Option(help="csv, tsv, parquet, feather, jsonl or svmlight; by default detected.")
]
TextEncoding = Annotated[str | None, typer.Option(help="Encoding of text files; by default UTF-8.")]
Separator = Annotated[str | None, typer.Option(help="Separator of CSV files; by default detected.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(help="A label that means 'not labelled', besides the empty one; may be repeated."),
]


def read_options(format, encoding, separator, missing_label):
    """Return the options as `read_table` takes them."""
    names = ("format", "encoding", "separator", "missing_labels")
    return dict(zip(names, (format, encoding, separator, missing_label or ()), strict=True))


@contextmanager
def errors_as_sentences() -> Iterator[None]:
    """Report a wrong value, or a file that cannot be used, in one sentence, with exit code 2."""
    from subsvms.exceptions import InputError

    try:
        yield
    except InputError as error:  # anything else is a bug and keeps its traceback
        typer.echo(f"subsvms: {error}", err=True)
        raise typer.Exit(2) from None


@contextmanager
def interrupts_as_sentences() -> Iterator[None]:
    """Report Ctrl-C in one sentence, with the exit code that shells expect."""
    try:
        yield
    except KeyboardInterrupt as stop:
        typer.echo(f"subsvms: stopped; {str(stop) or 'nothing was written'}.", err=True)
        raise typer.Exit(130) from None

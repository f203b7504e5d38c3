"""The commands for people: look and decide, apply, exchange with other tools."""

from pathlib import Path
from typing import Annotated

import typer

from subsvms.app.cli.shared import app, mistakes_in_a_sentence

Folder = Annotated[Path, typer.Argument(help="Folder that subsvms correct made, such as loans.subsvms.")]


@app.command(epilog="Example: subsvms review loans.subsvms")
def review(
    folder: Folder,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="First port to try; busy ones are stepped over.")
    ] = 8765,
    browser: Annotated[bool, typer.Option(help="Whether to open the page in a browser.")] = True,
) -> None:
    """Open a page on this machine on which people look at suspicious labels and decide.

    Decisions are kept in the folder. Ctrl-C ends it.
    """
    from subsvms.app.review import serve

    def ready(address, desk):
        typer.echo(f"{len(desk):,} labels of {desk.title} to look at, on {address}")
        typer.echo("Who has this address on this machine can decide. Ctrl-C ends it; decisions are kept.")
        if browser:
            typer.launch(address)

    with mistakes_in_a_sentence():
        serve(folder, port=port, ready=ready)


@app.command(epilog="Example: subsvms apply loans.subsvms --undecided suggestion")
def apply(
    folder: Folder,
    undecided: Annotated[
        str, typer.Option(help="What rows get that nobody decided: keep, or suggestion.")
    ] = "keep",
    output: Annotated[
        Path | None, typer.Option(help="Where the table goes; by default final.csv in the folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the table with the labels that people decided on the review page."""
    from subsvms.app.review.apply import apply_decisions

    with mistakes_in_a_sentence():
        typer.echo(str(apply_decisions(folder, undecided=undecided, output=output, force=force)))


@app.command(epilog="Example: subsvms export loans.subsvms --to label-studio")
def export(
    folder: Folder,
    to: Annotated[str | None, typer.Option(help="jsonl, label-studio or spotlight.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where the issues go; by default issues.json or so in the folder.")
    ] = None,
    import_from: Annotated[
        Path | None,
        typer.Option("--import", help="Instead: a file of decisions that were made elsewhere, to take over."),
    ] = None,
    who: Annotated[
        str | None, typer.Option(help="Of --import: who decided, where the file does not say.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Hand the issues of a run to another tool, or take over decisions made there."""
    from subsvms.app.review.exchange import export_issues, import_decisions
    from subsvms.exceptions import InputError

    with mistakes_in_a_sentence():
        if (to is None) == (import_from is None):
            raise InputError("Give either --to and a format, or --import and a file.")
        if import_from is not None:
            typer.echo(str(import_decisions(folder, import_from, who=who)))
        else:
            typer.echo(str(export_issues(folder, str(to), output=output, force=force)))

"""The commands for reviewing labels: decide, apply decisions, exchange them with other tools."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from subsvms._pages import FIRST_PORT
from subsvms.app.cli.shared import app, print_text

Folder = Annotated[Path, typer.Argument(help="Folder that subsvms correct created, such as loans.subsvms.")]


@app.command(epilog="Example: subsvms review loans.subsvms")
def review(
    folder: Folder,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="First port to try; ports in use are skipped.")
    ] = FIRST_PORT,
    browser: Annotated[bool, typer.Option(help="Whether to open the page in a browser.")] = True,
) -> None:
    """Open a page on this machine to review suspicious labels.

    Decisions are stored in the folder. Press Ctrl-C to stop.
    """
    from subsvms.app.desk.review import ReviewDesk, format_count
    from subsvms.app.desk.server import serve

    with closing(ReviewDesk(folder)) as desk:

        def ready(address):
            print_text(f"{format_count(len(desk), 'label')} of {desk.title} to review, at {address}")
            print_text(
                "Anyone on this machine with this address can decide. Press Ctrl-C to stop; decisions are "
                "kept."
            )
            if browser:
                typer.launch(address)

        serve(desk, port=port, ready=ready)


@app.command(epilog="Example: subsvms apply loans.subsvms --undecided suggestion")
def apply(
    folder: Folder,
    undecided: Annotated[
        str, typer.Option(help="Label of undecided rows: keep (the given one) or suggestion.")
    ] = "keep",
    output: Annotated[
        Path | None, typer.Option(help="Where to write the table; by default final.csv in the folder.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the table with the labels that people decided on the review page, and those of the audit."""
    from subsvms.app.desk.apply import apply_labels

    print_text(str(apply_labels(folder, undecided=undecided, output=output, force=force)))


@app.command(epilog="Example: subsvms export loans.subsvms --to label-studio")
def export(
    folder: Folder,
    to: Annotated[str | None, typer.Option(help="Format: jsonl, label-studio or spotlight.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="Where to write the issues; by default in the folder.")
    ] = None,
    import_from: Annotated[
        Path | None,
        typer.Option("--import", help="Instead: import decisions made elsewhere from this file."),
    ] = None,
    who: Annotated[
        str | None, typer.Option(help="For --import: who decided, if the file does not say.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Export the issues of a run to another tool, or import decisions made there."""
    from subsvms.app.desk.exchange import export_issues, import_decisions
    from subsvms.exceptions import InputError

    if (to is None) == (import_from is None):
        raise InputError("Give either --to and a format, or --import and a file.")
    if import_from is not None:
        print_text(str(import_decisions(folder, import_from, who=who)))
    else:
        print_text(str(export_issues(folder, str(to), output=output, force=force)))

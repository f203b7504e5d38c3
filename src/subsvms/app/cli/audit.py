"""The command for audits: a page with questions, or questions and answers in files."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsvms._pages import FIRST_PORT
from subsvms.app.cli.review import Folder
from subsvms.app.cli.shared import app, print_text

if TYPE_CHECKING:
    from subsvms.app.desk.audit import QuestionDesk


@app.command(epilog="Example: subsvms audit loans.subsvms --answers 50")
def audit(
    folder: Folder,
    answers: Annotated[
        int | None,
        typer.Option(min=10, help="How many labels people will check; by default 50."),
    ] = None,
    estimate: Annotated[
        int | None,
        typer.Option(
            min=1, help="Instead: check so many labels drawn at random, to estimate how many are wrong."
        ),
    ] = None,
    repeat: Annotated[
        bool | None,
        typer.Option(
            help="Whether to ask again about labels that an answer overturns; by default it is done."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**31, help="Seed of the questions; by default 0.")
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            "--level",
            "--confidence",
            min=0.5,
            max=0.999,
            help="How sure a claim must be; by default 0.95. --confidence is its old name.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(help="Instead of the page: write the questions to this .csv, .jsonl or .json file."),
    ] = None,
    import_from: Annotated[
        Path | None,
        typer.Option("--import", help="Instead of the page: enter the answers in this file."),
    ] = None,
    who: Annotated[
        str | None, typer.Option(help="For --import: who answered, if the file does not say.")
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Only print where it stands, and what may be said.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="First port to try; ports in use are skipped.")
    ] = FIRST_PORT,
    browser: Annotated[bool, typer.Option(help="Whether to open the page in a browser.")] = True,
    force: Annotated[
        bool, typer.Option("--force", help="For --questions: replace an existing file.")
    ] = False,
) -> None:
    """Ask about some labels, and change others that are mostly wrong, with a guarantee.

    Answers are stored in the folder, and stand; a table has one audit. Press Ctrl-C to stop, and give the
    same command to go on. Then subsvms apply writes the table.
    """
    from subsvms.exceptions import InputError

    if sum((questions is not None, import_from is not None, status)) > 1:
        raise InputError("Give only one of --questions, --import and --status.")
    if estimate is not None and (answers is not None or repeat is not None):
        raise InputError("--estimate asks about other rows than an audit: leave out --answers and --repeat.")
    if status:
        print_status(folder)
        return
    options: dict[str, Any] = {"n_answers": answers, "seed": seed, "repeat": repeat, "confidence": level}
    if estimate is not None:
        options = {"n_answers": estimate, "seed": seed, "confidence": level}

    from subsvms.app.desk.audit import AuditDesk, EstimateDesk
    from subsvms.app.desk.exchange import import_answers, write_questions

    options["create"] = import_from is None  # answers to questions that nobody wrote cannot be right
    open_desk = AuditDesk if estimate is None else EstimateDesk
    with closing(open_desk(folder, **options)) as desk:
        if questions is not None:
            print_text(str(write_questions(desk, questions, force=force)))
        elif import_from is not None:
            done = import_answers(desk, import_from, who=who)
            print_text(str(done))
            print_progress(done.progress)
        else:
            open_page(desk, port=port, browser=browser)


def open_page(desk: "QuestionDesk", *, port: int, browser: bool) -> None:
    """Serve the page until Ctrl-C; then print where it stands."""
    from subsvms.app.desk.server import serve

    def ready(address):
        n_answers = desk.progress()["n_answers"]
        print_text(f"Questions about {n_answers:,} labels of {desk.title}, at {address}")
        print_text(
            "Anyone on this machine with this address can answer. Press Ctrl-C to stop; answers are kept."
        )
        if browser:
            typer.launch(address)

    serve(desk, port=port, ready=ready)
    print_progress(desk.progress())


def print_status(folder: Path) -> None:
    """Print where the audit and the estimate of a folder stand."""
    from subsvms.app.desk.audit import AuditDesk, EstimateDesk
    from subsvms.app.desk.result import list_begun

    begun = list_begun(folder)
    if not begun:
        print_text("There is no audit yet.")
    for kind in (AuditDesk, EstimateDesk):
        if kind.part in begun:
            with closing(kind(folder, create=False)) as desk:
                print_progress(desk.progress())


def print_progress(progress: dict[str, Any]) -> None:
    """Print where an audit stands, and what may be said."""
    if not progress["finished"]:
        print_text(f"{progress['sentence']} ({progress['total']}).")
    if progress["claim"] is not None:
        print_text(progress["claim"])

"""The commands for the folder of a run: review and audit its labels, apply what was decided, exchange it."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from subsvms.app.cli.shared import Force, app, print_text
from subsvms.app.desk import FIRST_PORT
from subsvms.app.options import as_flag
from subsvms.exceptions import InputError, Sentence, Setting

IMPORT = as_flag(Setting("import_from"))
Folder = Annotated[Path, typer.Argument(help="Folder that subsvms correct created, such as loans.subsvms.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="First port to try; ports in use are skipped.")]
LEVEL = typer.Option(
    "--level", "--confidence", min=0.5, max=0.999,
    help="How sure a claim must be; by default 0.95. --confidence is its old name.",
)  # fmt: skip
Browser = Annotated[bool, typer.Option(help="Whether to open the page in a browser.")]
Who = Annotated[str | None, typer.Option(help=f"For {IMPORT}: who decided, if the file does not say.")]


@app.command(epilog="Example: subsvms review loans.subsvms")
def review(folder: Folder, port: Port = FIRST_PORT, browser: Browser = True) -> None:
    """Open a page on this machine to review suspicious labels.

    Decisions are stored in the folder. Press Ctrl-C to stop.
    """
    from subsvms.app.desk.review import ReviewDesk, format_count

    with closing(ReviewDesk(folder)) as desk:
        first = f"{format_count(len(desk), 'label')} of {desk.title} to review"
        open_page(desk, first, "decide", "decisions", port, browser)


@app.command(epilog="Example: subsvms apply loans.subsvms --undecided suggestion")
def apply(
    folder: Folder,
    undecided: Annotated[
        str, typer.Option(help="Label of undecided rows: keep (the given one) or suggestion.")
    ] = "keep",
    output: Annotated[
        Path | None, typer.Option(help="Where to write the table; by default final.csv in the folder.")
    ] = None,
    force: Force = False,
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
        Path | None, typer.Option(IMPORT, help="Instead: import decisions made elsewhere from this file.")
    ] = None,
    who: Who = None,
    force: Force = False,
) -> None:
    """Export the issues of a run to another tool, or import decisions made there."""
    from subsvms.app.desk.exchange import export_issues, import_decisions

    if (to is None) == (import_from is None):
        raise InputError(Sentence("Give either {to} and a format, or {import_from} and a file."))
    if import_from is not None:
        print_text(import_decisions(folder, import_from, who=who))
    else:
        print_text(export_issues(folder, str(to), output=output, force=force))


@app.command(epilog="Example: subsvms audit loans.subsvms --answers 50")
def audit(
    folder: Folder,
    answers: Annotated[
        int | None, typer.Option(min=10, help="How many labels people will check; by default 50.")
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
    level: Annotated[float | None, LEVEL] = None,
    questions: Annotated[
        Path | None,
        typer.Option(help="Instead of the page: write the questions to this .csv, .jsonl or .json file."),
    ] = None,
    import_from: Annotated[
        Path | None, typer.Option(IMPORT, help="Instead of the page: enter the answers in this file.")
    ] = None,
    who: Who = None,
    status: Annotated[
        bool, typer.Option("--status", help="Only print where it stands, and what may be said.")
    ] = False,
    port: Port = FIRST_PORT,
    browser: Browser = True,
    force: Annotated[
        bool, typer.Option("--force", help="For --questions: replace an existing file.")
    ] = False,
) -> None:
    """Ask about some labels, and change others that are mostly wrong, with a guarantee.

    Answers are stored in the folder, and stand; a table has one audit. Press Ctrl-C to stop, and give the
    same command to go on. Then subsvms apply writes the table.
    """
    if sum((questions is not None, import_from is not None, status)) > 1:
        raise InputError(Sentence("Give only one of {questions}, {import_from} and {status}."))
    if estimate is not None and (answers is not None or repeat is not None):
        words = "{estimate} asks about other rows than an audit: leave out {answers} and {repeat}."
        raise InputError(Sentence(words))
    if status:
        print_status(folder)
        return
    from subsvms.app.desk.audit import AuditDesk, EstimateDesk, list_begun
    from subsvms.app.desk.exchange import import_answers, write_questions

    open_desk = AuditDesk if estimate is None else EstimateDesk
    # answers to questions that nobody wrote cannot be right
    create = import_from is None or open_desk.kind.part in list_begun(folder)
    n_answers = answers if estimate is None else estimate
    with closing(
        open_desk(folder, n_answers=n_answers, seed=seed, repeat=repeat, confidence=level, create=create)
    ) as desk:
        if questions is not None:
            print_text(write_questions(desk, questions, force=force))
        elif import_from is not None:
            print_text(import_answers(desk, import_from, who=who))
            print_progress(desk.progress())
        else:
            first = f"Questions about {desk.progress()['n_answers']:,} labels of {desk.title}"
            open_page(desk, first, "answer", "answers", port, browser)
            print_progress(desk.progress())


def open_page(desk: Any, first: str, verb: str, what: str, port: int, browser: bool) -> None:
    """Serve a page until Ctrl-C, and say where it is."""
    from subsvms.app.desk.server import serve

    def ready(address):
        print_text(f"{first}, at {address}")
        print_text(
            f"Anyone on this machine with this address can {verb}. Press Ctrl-C to stop; {what} are kept."
        )
        if browser:
            typer.launch(address)

    serve(desk, port=port, ready=ready)


def print_status(folder: Path) -> None:
    """Print where the audit and the estimate of a folder stand."""
    from subsvms.app.desk.audit import AuditDesk, EstimateDesk, list_begun

    begun = list_begun(folder)
    if not begun:
        print_text("There is no audit yet.")
    for open_desk in (AuditDesk, EstimateDesk):
        if open_desk.kind.part in begun:
            with closing(open_desk(folder, create=False)) as desk:
                print_progress(desk.progress())


def print_progress(progress: dict[str, Any]) -> None:
    """Print where an audit stands, and what may be said."""
    if not progress["finished"]:
        print_text(f"{progress['sentence']} ({progress['total']}).")
    if progress["claim"] is not None:
        print_text(progress["claim"])

"""The commands for the folder of a run: review and audit its labels, apply what was decided, exchange it."""

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from subsvms.app.cli.shared import app, print_text, takes
from subsvms.app.declared import list_options
from subsvms.app.options import (
    ApplyOptions,
    AuditOptions,
    ExportOptions,
    Options,
    PageOptions,
    write_command,
)
from subsvms.exceptions import InputError, Sentence, format_count

USUAL_TARGETS = (0.01, 0.02, 0.05, 0.1)  # for which it says what they would take
CONFIRM_OPTIONS = (
    "seed level questions import_from who status force port browser media_from new_address".split()
)
FOLDER_HELP = "Folder that subsvms correct created, such as loans.subsvms"
TEST_OPTIONS = ("label", "prediction", "hide", "metric", "positive")
Folder = Annotated[Path, typer.Argument(help=f"{FOLDER_HELP}.")]


@app.command(epilog="Example: subsvms review loans.subsvms")
@takes(*list_options(PageOptions))
def review(folder: Folder, **given: Any) -> None:
    """Open a page on this machine to review suspicious labels.

    Decisions are stored in the folder. Press Ctrl-C to stop.
    """
    from subsvms.app.desk.review import ReviewDesk

    with closing(ReviewDesk(folder)) as desk:
        first = f"{format_count(len(desk), 'label')} of {desk.title} to review"
        open_page(desk, first, "decide", "decisions", PageOptions(**given))


@app.command(epilog="Example: subsvms apply loans.subsvms --undecided suggestion")
@takes(*list_options(ApplyOptions))
def apply(folder: Folder, **given: Any) -> None:
    """Write the table with the labels that people decided on the review page, and those of the audit."""
    from subsvms.app.desk.apply import apply_labels

    print_text(str(apply_labels(folder, **given)))


@app.command(epilog="Example: subsvms export loans.subsvms --to label-studio")
@takes(*list_options(ExportOptions))
def export(folder: Folder, **given: Any) -> None:
    """Export the issues of a run to another tool, or import decisions made there."""
    from subsvms.app.desk.exchange import export_issues, import_decisions

    asked = ExportOptions(**given)
    if (asked.to is None) == (asked.import_from is None):
        raise InputError(Sentence("Give either {to} and a format, or {import_from} and a file."))
    if asked.import_from is not None:
        print_text(import_decisions(folder, asked.import_from, who=asked.who))
    else:
        print_text(export_issues(folder, str(asked.to), output=asked.output, force=asked.force))


@app.command(epilog="Example: subsvms confirm loans.subsvms")
@takes(*list_options(AuditOptions, *CONFIRM_OPTIONS))
def confirm(folder: Folder, **given: Any) -> None:
    """Ask about some of the labels that the run changed or held back, to know whether the changes are right.

    At most 15 questions about either. Answers are stored in the folder, and stand. Press Ctrl-C to stop, and
    give the same command to go on. Then subsvms apply writes the table. An audit goes on from these answers.
    """
    ask(folder, AuditOptions(**given), "confirm", "Questions about what was changed in {title}")


@app.command(epilog="Example: subsvms audit loans.subsvms --answers 50")
@takes(*list_options(AuditOptions), *list_options(Options, "merge_labels"))
def audit(
    folder: Annotated[Path, typer.Argument(help=f"{FOLDER_HELP}; a table for --test.")], **given: Any
) -> None:
    """Ask about some labels, and change others that are mostly wrong, with a guarantee.

    Answers are stored in the folder, and stand; a table has one audit. Press Ctrl-C to stop, and give the
    same command to go on. Then subsvms apply writes the table.
    """
    merge_labels, asked = given.pop("merge_labels"), AuditOptions(**given)
    others = (asked.answers, asked.repeat, asked.for_model)
    if asked.test:
        ask_about_test(folder, asked, merge_labels)
        return
    if any(getattr(asked, name) for name in TEST_OPTIONS) or merge_labels is not None:
        words = "{label}, {prediction}, {hide}, {metric}, {positive} and {merge_labels} are for {test}."
        raise InputError(Sentence(words))
    if asked.any_stop and asked.until is None:
        raise InputError(Sentence("{any_stop} is for {until}: give it, too."))
    if asked.estimate is not None and any(one is not None for one in others):
        words = "{estimate} asks about other rows than an audit: leave out {answers}, {repeat}, {for_model}."
        raise InputError(Sentence(words))
    if asked.until is not None:
        if any(one is not None for one in (*others, asked.estimate)):
            words = "{until} is a mode of its own: leave out {answers}, {estimate}, {repeat}, {for_model}."
            raise InputError(Sentence(words))
        if not (asked.status or asked.import_from is not None):
            agree_on_target(folder, asked.until, asked)
        how = {"error_rate": asked.until, "any_stop": asked.any_stop or None}
        ask(folder, asked, "until", "Questions about labels of {title}", **how)
        return
    n_answers = asked.answers or asked.estimate
    how = {"n_answers": n_answers, "repeat": asked.repeat, "for_model": asked.for_model}
    part = "audit" if asked.estimate is None else "estimate"
    ask(folder, asked, part, "Questions about {n_answers:,} labels of {title}", **how)


def ask_about_test(table: Path, asked: AuditOptions, merge_labels: bool | None) -> None:
    """Ask about rows of a test set, for the score of a model on the true labels."""
    others = (asked.estimate, asked.until, asked.repeat, asked.for_model, asked.any_stop or None)
    if any(one is not None for one in others):
        words = (
            "{test} is a mode of its own: leave out {estimate}, {until}, {repeat}, {for_model}, {any_stop}."
        )
        raise InputError(Sentence(words))
    how = {name: getattr(asked, name) or () for name in ("prediction", "hide")}
    how |= {name: getattr(asked, name) for name in ("label", "metric", "positive")}
    first = "Questions about {most_questions:,} rows of {title}"
    ask(table, asked, "test", first, n_answers=asked.answers, merge_labels=merge_labels, **how)


def ask(folder: Path, asked: AuditOptions, part: str, first: str, **how: Any) -> None:
    """Open the page with questions of a part, or write or read a file, as the options say."""
    if sum((asked.questions is not None, asked.import_from is not None, asked.status)) > 1:
        raise InputError(Sentence("Give only one of {questions}, {import_from} and {status}."))
    if asked.status and part != "test":
        print_status(folder)
        return
    from subsvms.app.desk.audit import DESKS
    from subsvms.app.desk.exchange import find_render, import_answers, write_questions
    from subsvms.app.desk.score import ScoreDesk
    from subsvms.app.tables.files import check_target

    if asked.questions is not None:  # before any are drawn and stored
        find_render(asked.questions)
        check_target(asked.questions, [folder], force=asked.force)
    # answers to questions that nobody wrote cannot be right
    how |= {"create": asked.import_from is None and not asked.status}
    how |= {"seed": asked.seed, "confidence": asked.level}
    with closing((DESKS | {"test": ScoreDesk})[part](folder, **how)) as desk:
        if asked.status:
            print_progress(desk)
        elif asked.questions is not None:
            print_text(write_questions(desk, asked.questions, force=asked.force))
        elif asked.import_from is not None:
            print_text(import_answers(desk, asked.import_from, who=asked.who))
            print_progress(desk)
        else:
            said = first.format(title=desk.title, **desk.page_words)
            said += "" if part == "test" else f", at most {desk.page_words['most_questions']:,}"
            open_page(desk, said, "answer", "answers", asked)
            print_progress(desk)


def agree_on_target(folder: Path, wanted: float, asked: AuditOptions) -> None:
    """Say about how many answers a target takes, and others, and ask whether to begin it."""
    from subsvms.app.desk.audit import ask_forecasts

    rates, how = sorted({wanted, *USUAL_TARGETS}), {"level": asked.level or 0.95, "any_stop": asked.any_stop}
    found = ask_forecasts(folder, rates, **how)
    if found is None:  # it was begun, and goes on
        return
    sure = f"with {100 * how['level']:.6g} % confidence, if your answers are right"
    print_text(f"At most {100 * wanted:.4g} % of the labels wrong, {sure}: {found.pop(wanted)}.")
    for rate, forecast in found.items():
        print_text(f"For {100 * rate:.4g} % it would be {forecast}.")
    when = "After each answer it says how many labels are wrong at most, if your answers are right"
    when = when if asked.any_stop else "Nothing is claimed before all questions are answered"
    print_text(f"{when}; each answer corrects its label at once.")
    try:
        begin = asked.yes or typer.confirm("Begin?", default=True)
    except typer.Abort:  # nobody is there, as in a script
        raise InputError(Sentence("Nobody answered whether to begin: say so with {yes}.")) from None
    if not begin:
        raise typer.Exit()


def open_page(desk: Any, first: str, verb: str, what: str, page: PageOptions) -> None:
    """Serve a page until Ctrl-C, and say where it is."""
    from subsvms.app.desk.server import serve

    def ready(address):
        print_text(f"{first}, at {address}")
        who = f"Anyone on this machine with this address can {verb}"
        print_text(f"{who}. Press Ctrl-C to stop; {what} are kept.")
        if page.browser:
            typer.launch(address)

    serve(desk, port=page.port, ready=ready, hosts=page.media_from, renew=page.new_address)


def print_status(folder: Path) -> None:
    """Print where the questions about a run stand that somebody has answered."""
    from subsvms.app.desk.audit import DESKS, count_answers

    answered = {part for part, n_answers in count_answers(folder).items() if n_answers}
    if not answered:
        print_text("No question has been answered yet.")
    if "audit" in answered:  # it begins with the answers of the confirmation
        answered.discard("confirm")
    for part, open_desk in DESKS.items():
        if part in answered:
            with closing(open_desk(folder, create=False)) as desk:
                print_progress(desk)


def print_progress(desk: Any) -> None:
    """Print where questions stand, what may be said, and how to write the table."""
    progress = desk.progress()
    if not progress["finished"]:
        print_text(f"{progress['sentence']} ({progress['total']}).")
    if progress["claim"] is not None:
        print_text(progress["claim"])
    stops = desk.work.options.get("any_stop", False) and progress["claim"] is not None
    if (progress["finished"] or stops) and desk.part not in ("estimate", "test"):
        follow = {"undecided": "suggestion"} if progress["stands"] else {}
        print_text(f"To write the table with these labels: {write_command('apply', desk.folder, **follow)}")
        if follow:
            print_text("Without --undecided suggestion it leaves what is confirmed or kept as it was given.")

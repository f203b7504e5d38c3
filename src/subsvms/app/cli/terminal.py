"""Show a run in a terminal: its progress, and a summary at the end.

Progress goes to standard error, as a bar with the time left or, if that is not a terminal, as plain lines.
The summary goes to standard output.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from subsvms._effort import listening
from subsvms.app.cli.shared import make_printable, silence
from subsvms.app.runs.summary import Summary
from subsvms.exceptions import UNKNOWN, format_interval, format_percent

MAX_LINES = 12  # classes or groups in a table
MAX_NAME = 80  # characters of a class, person or value in a table
PAUSE = 5.0  # seconds between plain lines


@contextmanager
def showing_progress(console: Console) -> Iterator[None]:
    """Show the progress of the work in this context."""
    if not console.is_terminal:
        with listening(PlainLines(console)):
            yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(stage, done, total):
            if stage not in tasks:
                for task in tasks.values():
                    bars.update(task, completed=bars.tasks[task].total or 1)
                tasks[stage] = bars.add_task(stage, total=total if total > 1 else None)
            if total > 1:
                bars.update(tasks[stage], completed=done, total=total)

        with listening(show):
            yield


class PlainLines:
    """Prints a line when a stage begins, and every few seconds how far it has come."""

    def __init__(self, console: Console):
        self.console, self.stage = console, ""
        self.began = self.printed = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Print the progress of a stage."""
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.began, self.printed = stage, now, now
            self.print(f"{stage} ...")
        elif now - self.printed > PAUSE and 0 < done < total:
            left = (now - self.began) / done * (total - done)
            self.printed = now
            self.print(f"  {100 * done / total:.0f} %, about {left:.0f} s left")

    def print(self, line: str) -> None:
        """Print a line; if standard error is full or closed, that is no reason to stop."""
        try:
            self.console.print(Text(line))
        except OSError:
            silence(self.console.file)


def show_summary(summary: Summary, console: Console) -> None:
    """Print the summary of a run."""
    about, listed, told, written = summary.about, summary.listed, summary.told, summary.written
    console.print(as_text(" ".join([f"{about.title}: {summary.counted.rows:,} rows.", *told.words])))
    classes = make_class_table(listed.classes, about.label)
    people = [make_people_table(listed.people)] * bool(listed.people)
    console.print(classes, *people, *map(make_group_table, listed.groups), sep="\n")
    for line in (summary.made.ensemble["words"], *(f"Note: {note}" for note in told.notes), *told.remarks):
        console.print(as_text(line))
    files = []
    if written.folder is not None:
        width = max(len(name) for name, _ in written.files)
        files = [f"Written to {written.folder}:"]
        files += [f"  {name:{width}}  {what}" for name, what in written.files]
    if written.model is not None:
        files.append(f"The classifier was saved to {written.model}.")
    for line in (*files, *told.next):  # not wrapped: commands are copied from here
        console.print(as_text(line), soft_wrap=True)


def as_text(line: str) -> Text:
    """Return a line that may hold anything from a table, to be printed as it is."""
    return Text(make_printable(line))


def cut(name: str) -> str:
    """Return a name, cut where it is too long."""
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"


def make_class_table(classes: list[dict[str, Any]], label: str) -> Table:
    """Return the table of the classes."""
    lines = [
        (
            cut(line["name"]), f"{line['rows']:,}",
            UNKNOWN if line["estimated_wrong"] is None else f"about {line['estimated_wrong']:,}",
            f"{line['contradicted']:,}", f"{line['flagged']:,}", f"{line['changed']:,}",
        )
        for line in classes
    ]  # fmt: skip
    heads = (label, "rows", "estimated wrong", "contradicted", "flagged", "changed")
    return make_table("Given labels by class", heads, lines)


def make_people_table(people: list[dict[str, Any]]) -> Table:
    """Return the table of the people who answered."""
    lines = [
        (
            cut(line["name"]), f"{line['answers']:,}",
            f"{format_percent(line['right'])} ({format_interval(line['low'], line['high'])})",
            format_percent(line["chance"]), line["advice"],
        )
        for line in people
    ]  # fmt: skip
    heads = ("person", "answers", "right", "by chance", "advice")
    return make_table("People, by the consensus", heads, lines)


def make_group_table(group: dict[str, Any]) -> Table:
    """Return the table of the values of one column."""
    lines = [
        (
            cut(line["value"]), f"{line['rows']:,}", f"{line['flagged']:,}",
            f"{format_percent(line['share'])} ({format_interval(line['low'], line['high'])})",
        )
        for line in group["lines"]
    ]  # fmt: skip
    name = cut(group["column"])
    return make_table(f"Flagged by {name}", (name, "rows", "flagged", "share"), lines, group["more"])


def make_table(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]], n_more: int = 0) -> Table:
    """Return a table, cut if it is long; all columns but the first are numbers."""
    table = Table(title=as_text(title), title_justify="left")
    for number, head in enumerate(heads):
        table.add_column(as_text(head), justify="right" if number else "left")
    for line in lines[:MAX_LINES]:
        table.add_row(*map(as_text, line))
    hidden = len(lines) - MAX_LINES + n_more
    if hidden > 0:
        table.caption = f"and {hidden} more, in the report"
    return table

"""What a person sees in a terminal while a run goes on, and at its end.

Progress and the closing words go to standard error and standard output: a bar with the time left on a
terminal, plain lines elsewhere.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from subsvms._progress import listening
from subsvms.app.runs.summary import percent

MOST_LINES = 12  # classes or groups that are shown
OFTEN = 5.0  # seconds between plain lines


@contextmanager
def showing_progress(console: Console) -> Iterator[None]:
    """Show how far the work in the block has come.

    Parameters
    ----------
    console : Console
        Of standard error.
    """
    if not console.is_terminal:
        with listening(PlainLines(console)):
            yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def hear(stage, done, total):
            if stage not in tasks:
                for task in tasks.values():
                    bars.update(task, completed=bars.tasks[task].total or 1)
                tasks[stage] = bars.add_task(stage, total=total if total > 1 else None)
            if total > 1:
                bars.update(tasks[stage], completed=done, total=total)

        with listening(hear):
            yield


class PlainLines:
    """Writes a line when a stage begins, and now and then how far it has come."""

    def __init__(self, console: Console):
        self.console, self.stage = console, ""
        self.began = self.told = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Hear of a stage."""
        now = time.monotonic()
        if stage != self.stage:
            self.stage, self.began, self.told = stage, now, now
            self.console.print(escape(f"{stage} ..."), highlight=False)
        elif now - self.told > OFTEN and 0 < done < total:
            left = (now - self.began) / done * (total - done)
            self.told = now
            self.console.print(f"  {done / total:.0%}, about {left:.0f} s left", highlight=False)


def show_summary(summary: dict[str, Any], console: Console) -> None:
    """Print a summary for people.

    Parameters
    ----------
    summary : dict
        As `subsvms.app.runs.job.do_job` returns it.
    console : Console

    Examples
    --------
    >>> line = {"name": "no", "rows": 9, "estimated_wrong": 1}
    >>> summary = {
    ...     "title": "loans.csv", "rows": 9, "words": ["About 1 label looks wrong."], "notes": [],
    ...     "classes": [line | {"flagged": 1, "changed": 1}], "folder": None, "files": [], "next": [],
    ...     "explained": True, "label": "default", "model": None, "groups": [], "remarks": [],
    ... }
    >>> show_summary(summary, Console(width=60))  # doctest: +ELLIPSIS
    loans.csv: 9 rows. About 1 label looks wrong...
    """
    head = f"{summary['title']}: {summary['rows']:,} rows."
    console.print(escape(" ".join([head, *summary["words"]])), highlight=False)
    console.print(list_classes(summary))
    for group in summary["groups"]:
        console.print(list_group(group))
    for note in summary["notes"]:
        console.print(escape(f"Note: {note}"), highlight=False)
    for remark in summary["remarks"]:
        console.print(escape(remark), highlight=False)
    if summary["folder"] is not None:
        console.print(escape(f"Written to {summary['folder']}:"), highlight=False)
        width = max(len(name) for name, _ in summary["files"])
        for name, about in summary["files"]:
            console.print(escape(f"  {name:{width}}  {about}"), highlight=False)
    if summary["model"] is not None:
        console.print(escape(f"The classifier is in {summary['model']}."), highlight=False)
    for step in summary["next"]:
        console.print(escape(step), highlight=False)


def list_classes(summary: dict[str, Any]) -> Table:
    """Return the table of the classes."""
    table = Table(escape(summary["label"]), title="Labels by class, as given", title_justify="left")
    for head in ("rows", "thought wrong", "flagged", "changed"):
        table.add_column(head, justify="right")
    for line in summary["classes"][:MOST_LINES]:
        wrong = f"about {line['estimated_wrong']:,}" if summary["explained"] else "unknown"
        counts = (f"{line['flagged']:,}", f"{line['changed']:,}")
        table.add_row(escape(line["name"][:40]), f"{line['rows']:,}", wrong, *counts)
    hidden = len(summary["classes"]) - MOST_LINES
    if hidden > 0:
        table.caption = f"and {hidden} more, in the report"
    return table


def list_group(group: dict[str, Any]) -> Table:
    """Return the table of the groups of one column."""
    table = Table(
        escape(group["column"][:40]), title=escape(f"Flagged by {group['column'][:40]}"), title_justify="left"
    )
    for head in ("rows", "flagged", "share"):
        table.add_column(head, justify="right")
    for line in group["lines"][:MOST_LINES]:
        share = f"{percent(line['share'])} ({percent(line['low'])} to {percent(line['high'])})"
        table.add_row(escape(line["value"][:40]), f"{line['rows']:,}", f"{line['flagged']:,}", share)
    hidden = len(group["lines"]) - MOST_LINES + group["more"]
    if hidden > 0:
        table.caption = f"and {hidden} more, in the report"
    return table

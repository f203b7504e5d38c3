import io
from types import SimpleNamespace

from rich.console import Console

from subsvms._effort import announce
from subsvms.app.cli import terminal
from subsvms.app.runs.summary import Told, Written


def test_a_summary_shows_names_as_they_are_and_cuts_long_tables():
    line = {"name": "[u]no", "rows": 1000, "estimated_wrong": 5, "flagged": 4, "changed": 3}
    line["contradicted"] = 77
    value = {"value": "ann", "rows": 9, "flagged": 1, "share": 0.1, "low": 0.0, "high": 0.5}
    listed = SimpleNamespace(
        groups=[{"column": "[red]who", "lines": [value] * 13, "more": 2}],
        classes=[
            line,
            line | {"name": "Chinstrap penguin (Pygoscelis antarctica)"},
            *[line | {"estimated_wrong": None}] * 12,
        ],
        people=[],
    )
    steps = ["Now: subsvms " + "x" * 200]
    summary = SimpleNamespace(
        about=SimpleNamespace(title="[b]loans.csv", label="[i]default"), listed=listed,
        counted=SimpleNamespace(rows=14_000), made=SimpleNamespace(ensemble={"words": "[b]SVMs[/b]"}),
        told=Told(["Look :smile:"], [], "", ["14 labels look wrong."], "", steps),
        written=Written("x", "m", [["a.csv", "one"], ["run.json", "two"]]),
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=100)
    terminal.show_summary(summary, console)
    shown = console.file.getvalue().replace("\xa0", " ")
    for words in (
        "[b]loans.csv: 14,000 rows. 14 labels look wrong.", "[i]default", "[u]no", "about 5", "1,000", "77",
        "not known", "antarctica)",
        "and 2 more, in the report", "Flagged by [red]who", "10 % (0 to 50 %)",
        "and 3 more, in the report", "Note: Look :smile:", "Written to x:", "x" * 200, "[b]SVMs[/b]",
        "  a.csv     one", "saved to m.",
    ):  # fmt: skip
        assert words in shown, words


def test_progress_is_plain_lines_outside_of_a_terminal(monkeypatch):
    clock = iter(range(0, 100, 4))
    monkeypatch.setattr(terminal, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    console = Console(file=io.StringIO())
    with terminal.showing_progress(console):
        for done in (0, 1, 2, 4):
            announce("voting", done, 8)
        announce("writing")
    assert console.file.getvalue().splitlines() == ["voting ...", "  25 %, about 24 s left", "writing ..."]

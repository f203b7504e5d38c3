"""Issues out to other tools, and decisions made elsewhere back in.

- jsonl: JSON Lines, one issue each, for programs;
- label-studio: JSON, one task each, the suggestion as a prediction and the decision as an annotation, for a
  Choices control called `label`, another called `drop`, and a TextArea called `note`;
- spotlight: Parquet, for Renumics Spotlight or any data frame.

Decisions come back as what Label Studio exports, or as JSON Lines, CSV or Parquet with the columns `row` and
`label`, such as an exported file that was filled in. The suggested label accepts the suggestion, the given
label keeps it, and any other class is another label. Without a label, the column `verdict` may say skip or
drop: leave the row out. The column `note` goes with the decision. Values are whole.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsvms.app.desk.desk import Desk
from subsvms.app.desk.review import ReviewDesk, format_count
from subsvms.app.runs.acts import NAME_CHARACTERS, Act, Line, check_name, check_note
from subsvms.app.runs.outputs import as_cell
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import write_content
from subsvms.app.tables.table import find_free
from subsvms.app.words import show
from subsvms.exceptions import TableError

FORMATS = {"jsonl": ".jsonl", "label-studio": ".json", "spotlight": ".spotlight.parquet"}
KNOWN = (  # about an issue, before what was decided
    "row", "given", "suggested", "confidence", "label_quality", "withstands", "is_label_issue", "reason",
)  # fmt: skip
DECIDED = ("label", "verdict", "who", "note")  # about an issue
UNLABELLED = ("skip", "drop")  # verdicts that give no label
LEAVE_OUT = "leave this row out"  # the only choice of the control `drop` in Label Studio
UNNAMED = "import"  # who decided, if a file does not say
UNREADABLE = (
    OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, NotImplementedError,
)  # fmt: skip


@dataclass(frozen=True)
class Exported:
    """A file for another tool."""

    path: Path
    format: str
    n_issues: int

    def __str__(self) -> str:
        return f"{format_count(self.n_issues, 'issue is', 'issues are')} in {self.path}, as {self.format}."


@dataclass(frozen=True)
class Imported:
    """Decisions that were imported, and lines that decide nothing, which were left alone."""

    n_decisions: int
    n_skipped: int
    n_replaced: int = 0  # decisions that give a row another label than an earlier decision did

    def __str__(self) -> str:
        replaced = format_count(self.n_replaced, "of them replaces", "of them replace")
        return (
            f"{format_count(self.n_decisions, 'decision was', 'decisions were')} imported; "
            f"{format_count(self.n_skipped, 'line')} had no label."
            f"{f' {replaced} a different decision.' if self.n_replaced else ''}"
        )


def export_issues(
    folder: str | Path, format: str, *, output: Path | None = None, force: bool = False
) -> Exported:
    """Write the issues of a run, and what was decided about them, for another tool."""
    if format not in FORMATS:
        raise TableError(
            "{to} must be one of {known}; got {got}.", known=", ".join(FORMATS), got=show(format)
        )
    desk = ReviewDesk(folder, create=False)
    try:
        path = output or desk.folder / f"issues{FORMATS[format]}"
        target = desk.check_output(path, force=force)
        lines = describe_issues(desk)
        write_content(
            target, {"jsonl": as_jsonl, "label-studio": as_tasks, "spotlight": as_parquet}[format](lines)
        )
        return Exported(Path(path), format, len(lines))
    finally:
        desk.decisions.close()


def describe_issues(desk: ReviewDesk) -> list[dict[str, Any]]:
    """Return each issue as one plain object."""
    lines = []
    for number, values in enumerate(desk.show(desk.rows.tolist())):
        found = desk.brief(number)
        known = found | {name: column[number] for name, column in desk.columns_of_issues.items()}
        decision = found["decision"] or {}
        named = {} if found["id"] is None else {"id": found["id"]}
        lines.append({
            **{name: known[name] for name in KNOWN[:1]},
            **named,
            **{name: known[name] for name in KNOWN[1:]},
            **{name: decision.get(name) for name in DECIDED},
            "values": dict(zip(desk.shown_columns, values, strict=True)),
        })  # fmt: skip
    return lines


def as_jsonl(lines: list[dict[str, Any]]) -> bytes:
    """Return JSON Lines, one object for each issue."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def as_tasks(lines: list[dict[str, Any]]) -> bytes:
    """Return Label Studio's tasks."""
    tasks = []
    for line in lines:
        shown = [f"{name}: {value}" for name, value in line["values"].items()]
        data = {name: line[name] for name in ("row", "id", "given", "suggested", "reason") if name in line}
        guess = make_part("label", "choices", line["suggested"])
        tasks.append({
            "data": data | {"text": "\n".join(shown), "values": line["values"]},
            "predictions": [{"model_version": "subsvms", "score": line["confidence"], "result": [guess]}],
            "annotations": [] if line["verdict"] is None else [make_annotation(line)],
        })  # fmt: skip
    return json.dumps(tasks, ensure_ascii=False, indent=1).encode()


def make_annotation(line: dict[str, Any]) -> dict[str, Any]:
    """Return a decision as Label Studio's annotation; a skipped row is one that was cancelled there."""
    entered = {
        "label": line["label"],
        "drop": LEAVE_OUT if line["verdict"] == "drop" else None,
        "note": line["note"],
    }
    kinds = {"label": "choices", "drop": "choices", "note": "textarea"}
    result = [make_part(name, kinds[name], value) for name, value in entered.items() if value is not None]
    return {"was_cancelled": line["verdict"] == "skip", "result": result}


def make_part(control: str, kind: str, value: str) -> dict[str, Any]:
    """Return what somebody entered in one of Label Studio's controls."""
    key = {"choices": "choices", "textarea": "text"}[kind]
    return {"from_name": control, "to_name": "text", "type": kind, "value": {key: [value]}}


def as_parquet(lines: list[dict[str, Any]]) -> bytes:
    """Return a Parquet file with a column for each value."""
    import pyarrow as pa
    from pyarrow import parquet

    own = [name for name in (lines[0] if lines else {"row": 0}) if name != "values"]
    columns: dict[str, list] = {name: [line[name] for line in lines] for name in own}
    for name in lines[0]["values"] if lines else ():
        columns[find_free(name, columns)] = [line["values"][name] for line in lines]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def import_decisions(folder: str | Path, path: str | Path, *, who: str | None = None) -> Imported:
    """Import decisions that were made elsewhere: all of them, or none if one of them is invalid."""
    unnamed, lines = check_name(who if who is not None else UNNAMED), read_lines(Path(path))
    desk = ReviewDesk(folder)  # after what may be refused: it writes tables into an empty file of decisions
    try:
        spelled = spell_classes(desk)
        acts: list[tuple[dict[int, Line], str]] = []  # of one person each, in the order of the file
        skipped = 0
        for place, line in enumerate(lines, 1):
            label, verdict = (_read_cell(line.get(name)) for name in ("label", "verdict"))
            if label is None and verdict not in UNLABELLED:
                skipped += 1
                continue
            row = read_row(line["row"])
            if row not in desk.place:
                raise TableError(
                    f"Entry {place} of {str(path)!r} is about row {show(line['row'])}, which is not an issue "
                    "of this run: nothing was imported."
                )
            name = check_name(str(line.get("who") or unnamed)[:NAME_CHARACTERS])
            mine = find_act(acts, name, row)
            chosen = None if label is None else spelled.get(str(label), str(label))
            note = check_note(_read_cell(line.get("note")))
            mine[row] = desk.settle(row, verdict if label is None else "label", chosen, note)
        before = desk.decisions.current
        made = [line for decided, _ in acts for line in decided.values()]
        replaced = sum(
            line.row in before and (before[line.row].verdict, before[line.row].label) != line[1:3]
            for line in made
        )
        if acts:
            desk.decide_many([Act(list(decided.values()), name) for decided, name in acts])
        return Imported(len(made), skipped, replaced)
    finally:
        desk.decisions.close()


def find_act(acts: list[tuple[dict[int, Line], str]], name: str, row: int) -> dict[int, Line]:
    """Return the lines to which a person's decision about a row belongs: new ones if others decided it since.

    A person has as few acts as possible: rows that come in a file were not decided one by one on the page.
    """
    for decided, who in reversed(acts):
        if who == name:
            return decided
        if row in decided:
            break
    acts.append(({}, name))
    return acts[-1][0]


def _read_cell(value):
    """Return a value of a file; None if there is none."""
    return None if value is None or value != value or value == "" else value


def spell_classes(desk: Desk) -> dict[str, str]:
    """Return the class that each spelling means: other tools write true for True, and 1.0 for 1."""
    spelled: dict[str, str] = {}
    for label, name in zip(desk.labels, desk.classes, strict=True):
        ways = [name, str(as_cell(label))]
        if isinstance(label, int) and not isinstance(label, bool):
            ways.append(f"{label}.0")
        spelled = dict.fromkeys(ways, name) | spelled
    return spelled | {name: name for name in desk.classes}


def read_row(value: Any) -> int:
    """Return the number of a row; 0 if the value is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return int(number) if number.is_integer() and not isinstance(value, bool) else 0


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the entries of a file as dictionaries with row, label and perhaps who."""
    lines = read_entries(path, "decisions", read_task)
    if not all({"row", "label"} <= set(line) for line in lines):
        raise TableError(f"{str(path)!r} must give the row and the label of each decision.")
    return lines


def read_entries(
    path: Path, what: str, read_task: Callable[[dict[str, Any]], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the entries of a file that people or other tools made."""
    if not path.is_file():
        raise TableError(f"There is no file {str(path)!r} to import.")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            from pyarrow import parquet

            frame = parquet.read_table(path)
            cells = zip(*map(list_values, frame.columns), strict=True)
            lines = [dict(zip(frame.column_names, line, strict=True)) for line in cells]
        elif path.suffix.lower() == ".csv":
            with path.open(newline="", encoding="utf-8-sig") as file:
                separator = find_separator(file.readline())
                file.seek(0)
                lines = list(csv.DictReader(file, delimiter=separator))
        elif path.suffix.lower() == ".json":
            lines = [read_task(task) for task in json.loads(path.read_text(encoding="utf-8"))]
        else:
            lines = [
                json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()
            ]
        if not all(isinstance(line, dict) for line in lines):
            raise ValueError("an entry is not an object")
    except (*UNREADABLE, csv.Error) as error:
        raise TableError(f"{str(path)!r} cannot be read as {what} ({show(str(error))}).") from None
    return lines


def find_separator(head: str) -> str:
    """Return what separates the cells of a first line; spreadsheets of some countries write semicolons."""
    cells = (part.strip().strip('"') for part in head.split(";"))
    return ";" if "row" in cells else ","


def read_task(task: dict[str, Any]) -> dict[str, Any]:
    """Return the last completed annotation of one of Label Studio's tasks, or that somebody skipped it."""
    found = {"row": task["data"]["row"], **dict.fromkeys(DECIDED)}
    annotations = task.get("annotations") or []
    for one in sorted(annotations, key=lambda one: not one.get("was_cancelled")):  # completed ones count more
        choices = {
            part.get("from_name"): part["value"]["choices"][0]
            for part in one["result"]
            if part.get("type") == "choices"
        }
        notes = [part["value"]["text"] for part in one["result"] if part.get("type") == "textarea"]
        is_drop = choices.pop("drop", None) is not None
        if one.get("was_cancelled") or is_drop or choices:
            person = one.get("completed_by")
            person = person.get("email") if isinstance(person, dict) else person
            found |= {
                "label": None if one.get("was_cancelled") or is_drop else [*choices.values()][-1],
                "verdict": "drop" if is_drop else "skip" if one.get("was_cancelled") else None,
                "note": "\n".join(notes[-1]) if notes and isinstance(notes[-1], list) else None,
                "who": None if person is None else str(person),
            }
    return found

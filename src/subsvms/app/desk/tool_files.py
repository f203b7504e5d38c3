"""Files that other tools read and write: JSON Lines, CSV, Parquet, tasks of Label Studio, records of Argilla.

In Label Studio a label is entered in a Choices control called `label`, a row is left out in another called
`drop`, and a remark is in a TextArea called `note`. In Argilla these are questions. Values are whole.
"""

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import NAME_CHARACTERS, check_name
from subsvms.app.runs.outputs import as_cell, disarm
from subsvms.app.tables.arrow import list_values, render_arrow
from subsvms.app.tables.csv_text import render_csv
from subsvms.app.tables.label_exports import DONE, DRAFT, Answer, Task, read_export
from subsvms.app.tables.table import find_free
from subsvms.exceptions import TableError

Line = dict[str, Any]  # one row of a table, by the names of columns
DECIDED = ("label", "verdict", "who", "note")  # about an issue
LEAVE_OUT = "leave this row out"  # the only choice of the control `drop`
UNREADABLE = (
    OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError, NotImplementedError,
    csv.Error,
)  # fmt: skip


# Out


def as_jsonl(lines: Iterable[Line]) -> bytes:
    """Return JSON Lines, one object for each line."""
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def as_csv(lines: list[Line]) -> bytes:
    """Return the lines for a spreadsheet, which must not take a cell for a formula."""
    cells: dict[str, list] = {}
    for name in lines[0]:
        values = [None if line[name] is None else str(line[name]) for line in lines]
        cells[find_free(disarm(name), cells)] = list(map(disarm, values))
    return render_csv(cells, ",")


def as_parquet(lines: list[Line]) -> bytes:
    """Return a Parquet file with a column for each value; those in `values` get a column each."""
    import pyarrow as pa

    own = [name for name in (lines[0] if lines else {"row": 0}) if name != "values"]
    columns: dict[str, list] = {name: [line[name] for line in lines] for name in own}
    for name in lines[0]["values"] if lines else ():
        columns[find_free(name, columns)] = [line["values"][name] for line in lines]
    return render_arrow(pa.table(columns), "parquet")


def as_tasks(tasks: Iterable[Line]) -> bytes:
    """Return Label Studio's tasks, or Argilla's records."""
    return json.dumps(list(tasks), ensure_ascii=False, indent=1).encode()


def make_task(data: Line, values: Line, **more: Any) -> Line:
    """Return one of Label Studio's tasks, which shows the values of a row."""
    return {"data": data | {"text": as_lines(values), "values": values}, **more}


def as_lines(values: Line) -> str:
    """Return the values of a row as text, one a line."""
    return "\n".join(f"{name}: {'' if value is None else value}" for name, value in values.items())


def make_annotation(line: Line) -> Line:
    """Return a decision as Label Studio's annotation; a skipped row is one that was cancelled there."""
    entered = {
        "label": line["label"],
        "drop": LEAVE_OUT if line["verdict"] == "drop" else None,
        "note": line["note"],
    }
    result = [make_part(name, value) for name, value in entered.items() if value is not None]
    return {"was_cancelled": line["verdict"] == "skip", "result": result}


def make_part(control: str, value: str) -> Line:
    """Return what somebody entered in one of Label Studio's controls."""
    kind, key = ("textarea", "text") if control == "note" else ("choices", "choices")
    return {"from_name": control, "to_name": "text", "type": kind, "value": {key: [value]}}


# In


@dataclass(frozen=True)
class Entry:
    """One entry of a file that people or other tools made."""

    line: Line
    source: str  # which of which file
    unnamed: str  # who decided or answered, if the file does not say

    def get(self, column: str) -> Any:
        """Return a value; None if there is none."""
        value = self.line.get(column)
        return None if value is None or value != value or str(value).strip() == "" else value

    def get_number(self, column: str) -> int:
        """Return the number of a row or a question; -1 if the value is not one."""
        value = self.line[column]
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return -1
        return int(number) if number >= 0 and number.is_integer() and not isinstance(value, bool) else -1

    def get_person(self, column: str) -> str:
        """Return who decided or answered."""
        return check_name(str(self.line.get(column) or self.unnamed)[:NAME_CHARACTERS])

    def refuse(self, why: str) -> TableError:
        """Return the error for an entry that cannot be right."""
        return TableError(f"{self.source} {why}: nothing was entered.")


def read_entries(
    path: Path, what: str, needed: Sequence[str], advice: str, read_task: Callable[[Task], list[Line]],
    who: str | None,
) -> list[Entry]:  # fmt: skip
    """Return the entries of a file of decisions or answers, all of which have some columns."""
    unnamed = check_name(who if who is not None else "import")
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
                names = [part.strip().strip('"') for part in file.readline().split(";")]
                separator = ";" if "row" in names else ","
                file.seek(0)
                lines = list(csv.DictReader(file, delimiter=separator))
        elif path.suffix.lower() == ".json":
            lines = [{"annotations": []} | one for one in json.loads(path.read_text(encoding="utf-8"))]
        else:
            text = path.read_text(encoding="utf-8")
            lines = [json.loads(line) for line in text.split("\n") if line.strip()]
        if not all(isinstance(line, dict) for line in lines):
            raise ValueError("an entry is not an object")
        placed = list(enumerate(lines, 1))
        if not all(name in line for name in needed for line in lines):
            if export := read_export(lines):
                tasks = enumerate(export.tasks, 1)
                placed = [(place, line) for place, task in tasks for line in read_task(task)]
            elif path.suffix.lower() == ".json":
                raise ValueError("it is no export of Label Studio or Argilla")
    except UNREADABLE as error:
        raise TableError(f"{str(path)!r} cannot be read as {what} ({show(str(error))}).") from None
    for name in needed:
        if not all(name in line for _, line in placed):
            words = "{path!r} has no column {name!r}: " + f"{advice} Nothing was entered."
            raise TableError(words, path=str(path), name=name)
    return [Entry(line, f"Entry {place} of {str(path)!r}", unnamed) for place, line in placed]


def read_task(task: Task) -> list[Line]:
    """Return what each person decided in a task, skipped ones first; one line without a label for nothing."""
    known = task.values | task.more
    found = {name: known[name] for name in ("row",) if name in known} | dict.fromkeys(DECIDED)
    answers = sorted((one for one in task.answers if one.state != DRAFT), key=lambda one: one.state == DONE)
    lines = [found | _read_answer(one) for one in answers]
    return [line for line in lines if line["verdict"] or line["label"] is not None] or [found]


def _read_answer(answer: Answer) -> Line:
    said = dict(answer.said)
    dropped, (note,) = said.pop("drop", None), said.pop("note", None) or [answer.note]
    verdict = "skip" if answer.state != DONE else "drop" if dropped else None
    chosen = said.get("label") or next((one for one in reversed(said.values()) if one), [None])
    label = None if verdict else chosen[0] if len(chosen) == 1 else chosen
    return {"label": label, "verdict": verdict, "note": note, "who": answer.who}


def spell(labels: Iterable, untold: Iterable[str] = ()) -> dict[str, str | None]:
    """Return the class that each spelling means, None for "cannot tell" and its like, which are `untold`.

    Other tools write true for True, and 1.0 for 1.
    """
    names = {str(label): label for label in labels}
    ways = {f"{label}.0": name for name, label in names.items() if type(label) is int}
    ways |= {str(as_cell(label)): name for name, label in names.items()}
    ways |= {name: name for name in names}
    spelled: dict[str, str | None] = dict.fromkeys(untold)
    return spelled | {disarm(way): name for way, name in ways.items()} | ways


def read_label(said: Any, spelled: dict[str, Any], unknown: Any = None) -> Any:
    """Return what a label in a file means, by `spell`; `unknown` if it is no class.

    Capital letters count only where classes differ in nothing else: spreadsheets write TRUE for true.
    """
    text = str(said).strip()
    for way in (str(said), text):
        if way in spelled:
            return spelled[way]
    alike = {meant for way, meant in spelled.items() if way.casefold() == text.casefold()}
    return alike.pop() if len(alike) == 1 else unknown

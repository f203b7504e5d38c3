"""Files that other tools read and write: JSON Lines, CSV, Parquet, and tasks of Label Studio.

In Label Studio a label is entered in a Choices control called `label`, a row is left out in another called
`drop`, and a remark is in a TextArea called `note`. Values are whole.
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
    """Return Label Studio's tasks; see `make_task`."""
    return json.dumps(list(tasks), ensure_ascii=False, indent=1).encode()


def make_task(data: Line, values: Line, **more: Any) -> Line:
    """Return one of Label Studio's tasks, which shows the values of a row."""
    text = "\n".join(f"{name}: {'' if value is None else value}" for name, value in values.items())
    return {"data": data | {"text": text, "values": values}, **more}


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
    path: Path, what: str, needed: Sequence[str], advice: str, read_task: Callable[[Line], Line],
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
            lines = [read_task(task) for task in json.loads(path.read_text(encoding="utf-8"))]
        else:
            text = path.read_text(encoding="utf-8")
            lines = [json.loads(line) for line in text.split("\n") if line.strip()]
        if not all(isinstance(line, dict) for line in lines):
            raise ValueError("an entry is not an object")
    except UNREADABLE as error:
        raise TableError(f"{str(path)!r} cannot be read as {what} ({show(str(error))}).") from None
    for name in needed:
        if not all(name in line for line in lines):
            words = "{path!r} has no column {name!r}: " + f"{advice} Nothing was entered."
            raise TableError(words, path=str(path), name=name)
    return [Entry(line, f"Entry {place} of {str(path)!r}", unnamed) for place, line in enumerate(lines, 1)]


def read_task(task: Line) -> Line:
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

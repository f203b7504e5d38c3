"""Questions out to a spreadsheet or another tool, and answers back in.

- csv: for a spreadsheet, with an empty column `answer` to fill in;
- jsonl: JSON Lines, the same for programs;
- json: tasks for Label Studio, for a Choices control called `label`.

Like the page, a file shows nothing that would give away what the run thinks. The column `question` tells an
answer to a question that is asked again from a copy of the first answer. An empty answer is one that comes
later; "cannot tell" and "?" are answers.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsvms.app.desk.audit import QuestionDesk
from subsvms.app.desk.exchange import UNNAMED, as_jsonl, read_entries, read_row, read_task, spell_classes
from subsvms.app.desk.review import format_count
from subsvms.app.runs.acts import NAME_CHARACTERS, check_name
from subsvms.app.runs.options import write_command
from subsvms.app.runs.outputs import as_cell, disarm
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.csv_text import render_csv
from subsvms.app.tables.files import write_content
from subsvms.app.tables.table import find_free
from subsvms.app.words import show
from subsvms.exceptions import TableError

ROW, QUESTION, ANSWER = "row", "question", "answer"
PERSON = "\0who"  # in what is read: no column of a table has this name
CANNOT_TELL = ("cannot tell", "?")
CLASSES_SHOWN = 10  # in a sentence


@dataclass(frozen=True)
class Questions:
    """A file of questions."""

    path: Path
    n_questions: int
    classes: tuple[str, ...]
    command: str  # that enters the answers

    def __str__(self) -> str:
        shown = ", ".join(map(show, self.classes[:CLASSES_SHOWN]))
        more = ", ..." if len(self.classes) > CLASSES_SHOWN else ""
        return (
            f"{format_count(self.n_questions, 'question is', 'questions are')} in {self.path}: fill in the "
            f"column {ANSWER} ({shown}{more}, or 'cannot tell'), and enter it with: {self.command}"
        )


@dataclass(frozen=True)
class Entered:
    """Answers that were entered from a file."""

    n_answers: int  # new answers; answers that had been entered before; lines without one
    n_known: int
    n_empty: int
    progress: dict[str, Any]  # of the desk

    def __str__(self) -> str:
        known = f", {self.n_known:,} had been entered before" if self.n_known else ""
        empty = f", {format_count(self.n_empty, 'line')} had none" if self.n_empty else ""
        return f"{format_count(self.n_answers, 'answer was', 'answers were')} entered{known}{empty}."


def write_questions(desk: QuestionDesk, path: Path, *, force: bool = False) -> Questions:
    """Write the questions that can be answered now, in the order of the audit."""
    forms: dict[str, Callable[[list], bytes]] = {".csv": as_csv, ".jsonl": as_jsonl, ".json": as_tasks}
    form = forms.get(path.suffix.lower())
    if form is None:
        raise TableError(f"A file of questions must end in {', '.join(forms)}; got {str(path)!r}.")
    target = desk.check_output(path, force=force)
    number, rows = desk.list_questions()
    if not rows:
        raise TableError("There is nothing to ask: all questions are answered.")
    write_content(target, form(list_lines(desk, number, rows)))
    asked = {"estimate": desk.progress()["n_answers"]} if desk.part == "estimate" else {}
    command = write_command("audit", desk.folder, **asked, import_from=path)
    return Questions(path, len(rows), tuple(desk.classes), command)


def list_lines(desk: QuestionDesk, number: int, rows: list[int]) -> list[dict[str, Any]]:
    """Return one line for each question: its row, its number, the row's values as text, an empty answer."""
    lines: list[dict[str, Any]] = [{ROW: row, QUESTION: number} for row in rows]
    if desk.table.matrix is not None:
        columns: dict[str, list] = {"features": [line[0] for line in desk.show(rows)]}
    else:
        taken = desk.table.columns.take([row - 1 for row in rows])
        columns = {name: list(map(as_cell, list_values(taken[name]))) for name in desk.columns}
    names: list[str] = [ROW, QUESTION, ANSWER]
    for name, values in columns.items():
        names.append(find_free(name, names))
        for line, value in zip(lines, values, strict=True):
            line[names[-1]] = value
    return [line | {ANSWER: None} for line in lines]


def as_csv(lines: list[dict[str, Any]]) -> bytes:
    """Return the lines for a spreadsheet, which must not take a cell for a formula."""
    cells: dict[str, list] = {}
    for name in lines[0]:
        values = [None if line[name] is None else str(line[name]) for line in lines]
        cells[find_free(disarm(name), cells)] = list(map(disarm, values))
    return render_csv(cells, ",")


def as_tasks(lines: list[dict[str, Any]]) -> bytes:
    """Return Label Studio's tasks, without predictions: nobody may see a suggestion before the answer."""
    tasks = []
    for line in lines:
        values = {name: value for name, value in line.items() if name not in (ROW, QUESTION, ANSWER)}
        text = "\n".join(f"{name}: {'' if value is None else value}" for name, value in values.items())
        tasks.append({"data": {ROW: line[ROW], QUESTION: line[QUESTION], "text": text, "values": values}})
    return json.dumps(tasks, ensure_ascii=False, indent=1).encode()


def read_answer_task(task: dict[str, Any]) -> dict[str, Any]:
    """Return the answer in one of Label Studio's tasks."""
    found = read_task(task)
    return {ROW: found["row"], QUESTION: task["data"][QUESTION], ANSWER: found["label"], PERSON: found["who"]}


def import_answers(desk: QuestionDesk, path: Path, *, who: str | None = None) -> Entered:
    """Enter the answers in a file, all of them, or none if one of them cannot be right."""
    unnamed = check_name(who if who is not None else UNNAMED)
    lines = read_entries(path, "answers", read_answer_task)
    for name in (ROW, QUESTION, ANSWER):
        if not all(name in line for line in lines):
            raise TableError(
                "{path!r} has no column {name!r}: fill in a file that {questions} wrote. Nothing was "
                "entered.",
                path=str(path), name=name,
            )  # fmt: skip
    number, rows = desk.list_questions()
    log, spelled = desk.log, spell_answers(desk)
    places = {row: place for place, row in enumerate(rows)}
    answers: dict[int, tuple[str, int, Any, int]] = {}
    seen: set[int] = set()
    n_known = n_empty = 0
    for place, line in enumerate(lines, 1):

        def refuse(why: str, place: int = place) -> TableError:
            return TableError(f"Entry {place} of {str(path)!r} {why}: nothing was entered.")

        said = line[ANSWER]
        if said is None or said != said or str(said).strip() == "":
            n_empty += 1
            continue
        row, asked = read_row(line[ROW]), read_number(line[QUESTION])
        label = read_answer(said, spelled)
        if label is Ellipsis:
            raise refuse(f"gives row {show(line[ROW])} the label {show(said)}, which is not a class")
        if asked is None or asked > number:
            raise refuse(f"names question {show(line[QUESTION])}, which was not asked")
        if row in seen:
            raise refuse(f"is about row {row} once more")
        seen.add(row)
        since = [answer for answer in log[asked:] if answer.row == row]
        if since:
            if since[0].label != desk.read_label(label):
                raise refuse(f"gives row {row} another answer than before, and an answer stands")
            n_known += 1
        elif row not in places:
            raise refuse(f"is about row {show(line[ROW])}, which is not asked")
        else:
            name = check_name(str(line.get(PERSON) or unnamed)[:NAME_CHARACTERS])
            answers[row] = (name, row, label, asked)
    # The last first: they wait until the first one comes, and if a set passes meanwhile, none is refused.
    ordered = sorted(answers.values(), key=lambda answer: -places[answer[1]])
    progress = desk.enter(ordered)[-1]["progress"] if ordered else desk.progress()
    return Entered(len(ordered), n_known, n_empty, progress)


def spell_answers(desk: QuestionDesk) -> dict[str, str | None]:
    """Return what each spelling of an answer means: the name of a class, or None for "cannot tell".

    Capital letters count only where classes differ in nothing else: spreadsheets write TRUE for true.
    """
    spelled: dict[str, str | None] = dict.fromkeys(CANNOT_TELL)
    for way, name in spell_classes(desk).items():
        spelled |= {disarm(way): name, way: name}
    folded: dict[str, set[str | None]] = {}
    for way, meant in spelled.items():
        folded.setdefault(way.casefold(), set()).add(meant)
    return {way: meant.pop() for way, meant in folded.items() if len(meant) == 1} | spelled


def read_answer(said: Any, spelled: dict[str, str | None]) -> Any:
    """Return the class name that an answer means, None for "cannot tell", ... for nothing that is known."""
    text = str(said)
    for way in (text, text.strip(), text.strip().casefold()):
        if way in spelled:
            return spelled[way]
    return ...


def read_number(value: Any) -> int | None:
    """Return the number of a question; None if the value is not one."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number >= 0 and number.is_integer() and not isinstance(value, bool) else None

"""Issues and questions out to other tools, and decisions and answers made there back in.

Issues go out as

- jsonl: JSON Lines, one issue each, for programs;
- label-studio: JSON, one task each, the suggestion as a prediction and the decision as an annotation;
- argilla: JSON, one record each, with the suggestion, which `dataset.records.from_json` logs;
  to both go all other rows about which several people answered as well, with the consensus;
- spotlight: Parquet, for Renumics Spotlight or any data frame.

Decisions come back as what Label Studio or Argilla exports, every person's, or as JSON, JSON Lines, CSV or
Parquet with the columns `row` and `label`, such as an exported file that was filled in. The suggested label
accepts the suggestion, the given label keeps it, and any other class is another label. Without a label, the
column `verdict` may say skip or drop: leave the row out. The column `note` goes with the decision. Of several
decisions about a row, the last one stands, and none is lost.

Questions go out as CSV for a spreadsheet, with an empty column `answer` to fill in, as JSON Lines, or as
tasks of Label Studio. Like the page, a file shows nothing that would give away what the run thinks. The
column `question` tells an answer to a question that is asked again from a copy of the first answer. An empty
answer is one that comes later; "cannot tell" and "?" are answers.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from subsvms._labels import CLASSES_SHOWN
from subsvms.app.desk import tool_files
from subsvms.app.desk.review import DETAILS, ReviewDesk
from subsvms.app.desk.rows import as_text
from subsvms.app.desk.tool_files import Line
from subsvms.app.options import write_command
from subsvms.app.quoting import show
from subsvms.app.runs.answer_store import MAY_LACK_LABEL, Act, Decided, check_note
from subsvms.app.runs.answers import find_answers, has_answers
from subsvms.app.runs.outputs import as_cell
from subsvms.app.runs.parquet_files import DIGITS, read_scores
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import write_content
from subsvms.app.tables.label_exports import Task
from subsvms.app.tables.table import find_free
from subsvms.exceptions import TableError, format_count

if TYPE_CHECKING:  # it imports packages that take seconds, which an export does not need
    from subsvms.app.desk.audit import QuestionDesk

KNOWN = (  # about an issue, before what was decided
    "row", "id", "given", "suggested", "confidence", "label_quality", "withstands", "is_label_issue",
    "reason",
)  # fmt: skip
TASK_DATA = ("row", "id", "given", "suggested", "reason")
ROW, QUESTION, ANSWER = "row", "question", "answer"
PERSON = "\0who"  # in what is read: no column of a table has this name
Render = Callable[[list[Line]], bytes]


# Issues and decisions


def export_issues(folder: str | Path, format: str, *, output: Path | None = None, force: bool = False) -> str:
    """Write the issues of a run, and what was decided about them, for another tool; say so in a sentence."""
    if format not in FORMATS:
        raise TableError(
            "{to} must be one of {known}; got {got}.", known=", ".join(FORMATS), got=show(format)
        )
    ending, render = FORMATS[format]
    with closing(ReviewDesk(folder, create=False)) as desk:
        path = output or desk.folder / f"issues{ending}"
        target = desk.check_output(path, force=force)
        lines = describe_issues(desk)
        # These tools get the other rows with several answers, too.
        others = describe_consensus(desk) if format in ("label-studio", "argilla") else []
    write_content(target, render(lines + others))
    more = f", and {format_count(len(others), 'other row')} with several answers" if others else ""
    return f"{format_count(len(lines), 'issue is', 'issues are')} in {path}{more}, as {format}."


def describe_issues(desk: ReviewDesk) -> list[Line]:
    """Return each issue as one plain object."""
    lines = []
    details = desk.issues.select(DETAILS).to_pylist()
    for number, values in enumerate(desk.show(desk.rows.tolist())):
        found = desk.brief(number) | details[number]
        decision = found["decision"] or {}
        lines.append({
            **{name: found[name] for name in KNOWN if name != "id" or desk.names},
            **{name: decision.get(name) for name in tool_files.DECIDED},
            "values": dict(zip(desk.shown_columns, values, strict=True)),
        })  # fmt: skip
    return lines


def describe_consensus(desk: ReviewDesk) -> list[Line]:
    """Return each row that is no issue and that several people answered about, with their consensus."""
    if not has_answers(desk.options) or (answers := find_answers(desk.table, desk.options)) is None:
        return []
    scores = read_scores(desk.folder, desk.table)
    several = (answers.per_row > 1) & (scores.given >= 0)
    rows = np.setdiff1d(np.flatnonzero(several) + 1, desk.rows)
    name = desk.options.id_column
    ids = None if name is None else list_values(desk.take(rows, [name])[name])
    lines = []
    for place, (row, values) in enumerate(zip(rows.tolist(), desk.show(rows.tolist()), strict=True)):
        label, quality = desk.classes[scores.given[row - 1]], float(scores.quality[row - 1])
        lines.append({
            **dict.fromkeys((*KNOWN, *tool_files.DECIDED)), "row": row,
            "id": None if ids is None else as_text(ids[place]), "given": label, "suggested": label,
            "confidence": round(quality, DIGITS), "label_quality": quality, "is_label_issue": False,
            "reason": f"the consensus of {answers.per_row[row - 1]} people",
            "values": dict(zip(desk.shown_columns, values, strict=True)),
        })  # fmt: skip
    return lines


def _make_issue_task(line: Line) -> Line:
    data = {name: line[name] for name in TASK_DATA if name in line}
    guess = tool_files.make_part("label", line["suggested"])
    return tool_files.make_task(
        data, line["values"],
        predictions=[{"model_version": "subsvms", "score": line["confidence"], "result": [guess]}],
        annotations=[] if line["verdict"] is None else [tool_files.make_annotation(line)],
    )  # fmt: skip


def _make_issue_record(line: Line) -> Line:
    known = [name for name in TASK_DATA if name != "suggested" and line.get(name) is not None]
    guess = {"value": line["suggested"], "score": line["confidence"], "agent": "subsvms"}
    return {
        "id": str(line["row"]), "fields": {"text": tool_files.as_lines(line["values"])},
        "metadata": {name: line[name] for name in known},
        "suggestions": {"label": guess}, "responses": {}, "vectors": {},
    }  # fmt: skip


FORMATS: dict[str, tuple[str, Render]] = {
    "jsonl": (".jsonl", tool_files.as_jsonl),
    "label-studio": (".json", lambda lines: tool_files.as_tasks(map(_make_issue_task, lines))),
    "argilla": (".argilla.json", lambda lines: tool_files.as_tasks(map(_make_issue_record, lines))),
    "spotlight": (".spotlight.parquet", tool_files.as_parquet),
}


def import_decisions(folder: str | Path, path: str | Path, *, who: str | None = None) -> str:
    """Import decisions that were made elsewhere, all or none if one of them is invalid; say how many."""
    advice = "each entry must name its row and its label."
    entries = tool_files.read_entries(
        Path(path), "decisions", (ROW, "label"), advice, tool_files.read_task, who
    )
    with closing(ReviewDesk(folder)) as desk:  # after what may be refused: it may create a file
        spelled, n_empty, n_same, n_beyond = tool_files.spell(desk.labels), 0, 0, 0
        consensus = {line["row"]: line["given"] for line in describe_consensus(desk)}
        made: list[tuple[dict[int, Decided], str]] = []  # acts of one person each, in order
        for entry in entries:
            label, verdict, row = entry.get("label"), entry.get("verdict"), entry.get_number(ROW)
            if label is None and verdict not in MAY_LACK_LABEL:
                n_empty += 1
                continue
            if row not in desk.place and row in consensus:  # it went out with that of several answers
                n_same, n_beyond = n_same + (label == consensus[row]), n_beyond + (label != consensus[row])
                continue
            if row not in desk.place:
                raise entry.refuse(f"is about row {show(entry.line[ROW])}, which is not an issue of this run")
            mine = find_act(made, entry.get_person("who"), row)
            chosen = None if label is None else tool_files.read_label(label, spelled, unknown=str(label))
            note = check_note(entry.get("note"))
            mine[row] = desk.settle(row, verdict if label is None else "label", chosen, note)
        before = desk.decisions.current
        lines = [line for decided, _ in made for line in decided.values()]
        last = {line.row: line for line in lines}
        replaced = sum(row in before and not before[row].says(line) for row, line in last.items())
        if made:
            desk.decide_many([Act(list(decided.values()), name) for decided, name in made])
        disputed = sum(bool(desk.progress.flags["disputed"][desk.place[row]]) for row in last)
    said = (
        f"{format_count(len(lines), 'decision was', 'decisions were')} imported; "
        f"{format_count(n_empty, 'line')} had no label."
    )
    if n_same:
        said += f" {format_count(n_same, 'row that is', 'rows that are')} no issue came back as before."
    if n_beyond:
        rows = format_count(n_beyond, "row that is no issue has", "rows that are no issues have")
        said += f" {rows} another label, and kept the consensus: change the table, or add it as an answer."
    if replaced:
        said += f" {format_count(replaced, 'of them replaces', 'of them replace')} a different decision."
    if disputed:
        rows = format_count(disputed, "row has", "rows have")
        said += f" {rows} different decisions of several people: all are kept, and the last one stands."
    return said


def find_act(made: list[tuple[dict[int, Decided], str]], name: str, row: int) -> dict[int, Decided]:
    """Return the lines to which a person's decision about a row belongs: new ones if it was decided since.

    A person has as few acts as possible: rows that come in a file were not decided one by one on the page.
    """
    for decided, who in reversed(made):
        if row in decided:
            break
        if who == name:
            return decided
    made.append(({}, name))
    return made[-1][0]


# Questions and answers


def find_render(path: Path) -> Render:
    """Return what makes a file of questions of the kind that a name says; raise an error if there is none."""
    render = QUESTION_FILES.get(path.suffix.lower())
    if render is None:
        raise TableError(f"A file of questions must end in {', '.join(QUESTION_FILES)}; got {str(path)!r}.")
    return render


def write_questions(desk: "QuestionDesk", path: Path, *, force: bool = False) -> str:
    """Write the questions that can be answered now, in the order of the audit; say so in a sentence."""
    render = find_render(path)
    target = desk.check_output(path, force=force)
    number, rows = desk.list_questions()
    if not rows:
        return "There is nothing to ask: all questions are answered."
    write_content(target, render(list_lines(desk, number, rows)))
    shown = ", ".join(map(show, desk.classes[:CLASSES_SHOWN]))
    more = ", ..." if len(desk.classes) > CLASSES_SHOWN else ""
    return (
        f"{format_count(len(rows), 'question is', 'questions are')} in {path}: fill in the column {ANSWER} "
        f"({shown}{more}, or 'cannot tell'), and enter it with: "
        f"{write_command(desk.room, desk.folder, **desk.flags, import_from=path)}"
    )


def list_lines(desk: "QuestionDesk", number: int, rows: list[int]) -> list[Line]:
    """Return one line for each question: its row, its number, the row's values as text, an empty answer."""
    taken = desk.take(rows)
    cells: dict[str, list] = {ROW: rows, QUESTION: [number] * len(rows)}
    for name in desk.shown_columns:
        cells[find_free(name, [*cells, ANSWER])] = list(map(as_cell, list_values(taken[name])))
    cells[ANSWER] = [None] * len(rows)
    return [dict(zip(cells, line, strict=True)) for line in zip(*cells.values(), strict=True)]


def make_question_task(line: Line) -> Line:
    """Return a question as a task, without a prediction: nobody may see a suggestion before the answer."""
    values = {name: value for name, value in line.items() if name not in (ROW, QUESTION, ANSWER)}
    return tool_files.make_task({name: line[name] for name in (ROW, QUESTION)}, values)


QUESTION_FILES: dict[str, Render] = {
    ".csv": tool_files.as_csv,
    ".jsonl": tool_files.as_jsonl,
    ".json": lambda lines: tool_files.as_tasks(map(make_question_task, lines)),
}


def _read_answer_task(task: Task) -> list[Line]:
    *_, last = tool_files.read_task(task)  # a question has one answer
    asked = {ROW: last["row"], QUESTION: task.values[QUESTION]}
    return [asked | {ANSWER: last["label"], PERSON: last["who"]}]


def import_answers(desk: "QuestionDesk", path: Path, *, who: str | None = None) -> str:
    """Enter the answers in a file, all of them, or none if one of them cannot be right; say how many."""
    advice, needed = "fill in a file that {questions} wrote.", (ROW, QUESTION, ANSWER)
    entries = tool_files.read_entries(path, "answers", needed, advice, _read_answer_task, who)
    number, rows = desk.list_questions()
    spelled = tool_files.spell(desk.labels, ("cannot tell", "?"))
    places = {row: place for place, row in enumerate(rows)}
    answers: dict[int, tuple[str, int, Any, int]] = {}
    seen: set[int] = set()
    for entry in entries:
        said = entry.get(ANSWER)
        if said is None:
            continue
        row, asked = entry.get_number(ROW), entry.get_number(QUESTION)
        label = tool_files.read_label(said, spelled, unknown=...)
        if label is Ellipsis:
            raise entry.refuse(
                f"gives row {show(entry.line[ROW])} the label {show(said)}, which is not a class"
            )
        if not 0 <= asked <= number:
            raise entry.refuse(f"names question {show(entry.line[QUESTION])}, which was not asked")
        if row in seen:
            raise entry.refuse(f"is about row {row} once more")
        seen.add(row)
        since = [answer for answer in desk.log[asked:number] if answer.row == row]
        if since and since[0].label != (None if label is None else desk.labels[desk.find_class(label)]):
            raise entry.refuse(f"gives row {row} another answer than before, and an answer stands")
        if not since:
            if row not in places:
                raise entry.refuse(f"is about row {show(entry.line[ROW])}, which is not asked")
            answers[row] = (entry.get_person(PERSON), row, label, asked)
    # The last first: they wait until the first one comes, and if a set passes meanwhile, none is refused.
    ordered = sorted(answers.values(), key=lambda answer: -places[answer[1]])
    if ordered:
        desk.enter(ordered)
    words = f"{format_count(len(ordered), 'answer was', 'answers were')} entered"
    if n_known := len(seen) - len(ordered):
        words += f", {n_known:,} had been entered before"
    if n_empty := len(entries) - len(seen):
        words += f", {format_count(n_empty, 'line')} had none"
    return f"{words}."

"""Issues and questions out to other tools, and decisions and answers made there back in.

Issues go out as

- jsonl: JSON Lines, one issue each, for programs;
- label-studio: JSON, one task each, the suggestion as a prediction and the decision as an annotation;
- spotlight: Parquet, for Renumics Spotlight or any data frame.

Decisions come back as what Label Studio exports, or as JSON Lines, CSV or Parquet with the columns `row` and
`label`, such as an exported file that was filled in. The suggested label accepts the suggestion, the given
label keeps it, and any other class is another label. Without a label, the column `verdict` may say skip or
drop: leave the row out. The column `note` goes with the decision.

Questions go out as CSV for a spreadsheet, with an empty column `answer` to fill in, as JSON Lines, or as
tasks of Label Studio. Like the page, a file shows nothing that would give away what the run thinks. The
column `question` tells an answer to a question that is asked again from a copy of the first answer. An empty
answer is one that comes later; "cannot tell" and "?" are answers.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsvms.app.desk.review import ReviewDesk, format_count
from subsvms.app.desk.tool_files import (
    DECIDED,
    as_csv,
    as_jsonl,
    as_parquet,
    as_tasks,
    make_annotation,
    make_part,
    make_task,
    read_cell,
    read_entries,
    read_label,
    read_task,
    read_whole,
    spell,
)
from subsvms.app.runs.acts import NAME_CHARACTERS, Act, Line, check_name, check_note
from subsvms.app.runs.options import write_command
from subsvms.app.runs.outputs import as_cell
from subsvms.app.tables.arrow import list_values
from subsvms.app.tables.files import write_content
from subsvms.app.tables.table import find_free
from subsvms.app.words import show
from subsvms.exceptions import TableError

if TYPE_CHECKING:  # it imports packages that take seconds, which an export does not need
    from subsvms.app.desk.audit import QuestionDesk

FORMATS = {"jsonl": ".jsonl", "label-studio": ".json", "spotlight": ".spotlight.parquet"}
KNOWN = (  # about an issue, before what was decided
    "row", "given", "suggested", "confidence", "label_quality", "withstands", "is_label_issue", "reason",
)  # fmt: skip
TASK_DATA = ("row", "id", "given", "suggested", "reason")
UNLABELLED = ("skip", "drop")  # verdicts that give no label
UNNAMED = "import"  # who decided or answered, if a file does not say
ROW, QUESTION, ANSWER = "row", "question", "answer"
PERSON = "\0who"  # in what is read: no column of a table has this name
CANNOT_TELL = ("cannot tell", "?")
CLASSES_SHOWN = 10  # in a sentence


# Issues and decisions


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
    with closing(ReviewDesk(folder, create=False)) as desk:
        path = output or desk.folder / f"issues{FORMATS[format]}"
        target = desk.check_output(path, force=force)
        lines = describe_issues(desk)
    if format == "label-studio":
        data = as_tasks(map(make_issue_task, lines))
    else:
        data = as_jsonl(lines) if format == "jsonl" else as_parquet(lines)
    write_content(target, data)
    return Exported(Path(path), format, len(lines))


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


def make_issue_task(line: dict[str, Any]) -> dict[str, Any]:
    """Return an issue as one of Label Studio's tasks."""
    data = {name: line[name] for name in TASK_DATA if name in line}
    guess = make_part("label", line["suggested"])
    return make_task(
        data, line["values"],
        predictions=[{"model_version": "subsvms", "score": line["confidence"], "result": [guess]}],
        annotations=[] if line["verdict"] is None else [make_annotation(line)],
    )  # fmt: skip


def import_decisions(folder: str | Path, path: str | Path, *, who: str | None = None) -> Imported:
    """Import decisions that were made elsewhere: all of them, or none if one of them is invalid."""
    unnamed = check_name(who if who is not None else UNNAMED)
    lines = read_entries(Path(path), "decisions", read_task)
    if not all({"row", "label"} <= set(line) for line in lines):
        raise TableError(f"{str(path)!r} must give the row and the label of each decision.")
    with closing(ReviewDesk(folder)) as desk:  # after what may be refused: it may create a file
        spelled = spell(desk.labels)
        acts: list[tuple[dict[int, Line], str]] = []  # of one person each, in the order of the file
        skipped = 0
        for place, line in enumerate(lines, 1):
            label, verdict = read_cell(line["label"]), read_cell(line.get("verdict"))
            if label is None and verdict not in UNLABELLED:
                skipped += 1
                continue
            row = read_whole(line["row"])
            if row not in desk.place:
                raise TableError(
                    f"Entry {place} of {str(path)!r} is about row {show(line['row'])}, which is not an issue "
                    "of this run: nothing was imported."
                )
            mine = find_act(acts, name_person(line.get("who"), unnamed), row)
            chosen = None if label is None else read_label(label, spelled, unknown=str(label))
            note = check_note(read_cell(line.get("note")))
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


def name_person(who: Any, unnamed: str) -> str:
    """Return who decided or answered, as a file says, or as it does not."""
    return check_name(str(who or unnamed)[:NAME_CHARACTERS])


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


# Questions and answers


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


def write_questions(desk: "QuestionDesk", path: Path, *, force: bool = False) -> Questions:
    """Write the questions that can be answered now, in the order of the audit."""
    forms: dict[str, Callable[[list], bytes]] = {
        ".csv": as_csv, ".jsonl": as_jsonl, ".json": lambda lines: as_tasks(map(make_question_task, lines)),
    }  # fmt: skip
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


def list_lines(desk: "QuestionDesk", number: int, rows: list[int]) -> list[dict[str, Any]]:
    """Return one line for each question: its row, its number, the row's values as text, an empty answer."""
    lines: list[dict[str, Any]] = [{ROW: row, QUESTION: number} for row in rows]
    taken = desk.take(rows)
    columns = {name: list(map(as_cell, list_values(taken[name]))) for name in desk.shown_columns}
    names: list[str] = [ROW, QUESTION, ANSWER]
    for name, values in columns.items():
        names.append(find_free(name, names))
        for line, value in zip(lines, values, strict=True):
            line[names[-1]] = value
    return [line | {ANSWER: None} for line in lines]


def make_question_task(line: dict[str, Any]) -> dict[str, Any]:
    """Return a question as a task, without a prediction: nobody may see a suggestion before the answer."""
    values = {name: value for name, value in line.items() if name not in (ROW, QUESTION, ANSWER)}
    return make_task({name: line[name] for name in (ROW, QUESTION)}, values)


def read_answer_task(task: dict[str, Any]) -> dict[str, Any]:
    """Return the answer in one of Label Studio's tasks."""
    found = read_task(task)
    return {ROW: found["row"], QUESTION: task["data"][QUESTION], ANSWER: found["label"], PERSON: found["who"]}


def import_answers(desk: "QuestionDesk", path: Path, *, who: str | None = None) -> Entered:
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
    log, spelled = desk.log, spell(desk.labels, CANNOT_TELL)
    places = {row: place for place, row in enumerate(rows)}
    answers: dict[int, tuple[str, int, Any, int]] = {}
    seen: set[int] = set()
    n_known = n_empty = 0
    for place, line in enumerate(lines, 1):

        def refuse(why: str, place: int = place) -> TableError:
            return TableError(f"Entry {place} of {str(path)!r} {why}: nothing was entered.")

        said = read_cell(line[ANSWER])
        if said is None:
            n_empty += 1
            continue
        row, asked = read_whole(line[ROW]), read_whole(line[QUESTION])
        label = read_label(said, spelled, unknown=...)
        if label is Ellipsis:
            raise refuse(f"gives row {show(line[ROW])} the label {show(said)}, which is not a class")
        if not 0 <= asked <= number:
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
            answers[row] = (name_person(line.get(PERSON), unnamed), row, label, asked)
    # The last first: they wait until the first one comes, and if a set passes meanwhile, none is refused.
    ordered = sorted(answers.values(), key=lambda answer: -places[answer[1]])
    progress = desk.enter(ordered)[-1]["progress"] if ordered else desk.progress()
    return Entered(len(ordered), n_known, n_empty, progress)

"""Exports of Label Studio and Argilla, recognised by their content, as a table with one line an answer.

Label Studio, JSON. Choices of a control are the values; who skips a task cancels the annotation:

    {"id": 7, "data": {"text": "..."}, "drafts": [], "annotations": [{
        "completed_by": 3 or {"id": 3, "email": "ann@x.org"}, "was_cancelled": false, "updated_at": "...",
        "result": [{"from_name": "label", "type": "choices", "value": {"choices": ["yes"]}}]}]}

Label Studio, JSON-MIN, one object an answer; controls stand between `id` and `annotator`:

    {"text": "...", "id": 7, "label": "yes", "annotator": 3, "annotation_id": 12, "updated_at": "2026-..."}

Argilla 2, as `records.to_json` writes it (some versions without `status`), and with `flatten=True`:

    {"id": "7", "fields": {"text": "..."}, "metadata": {},
     "responses": {"label": [{"value": "yes", "user_id": "5f...", "status": "submitted"}]}}
    {"id": "7", "_server_id": "...", "text": "...", "label.responses": ["yes"],
     "label.responses.users": ["5f..."], "label.responses.status": ["submitted"]}

Argilla 1: records with feedback, the same as a data set of Hugging Face, and records of text classification:

    {"external_id": "7", "fields": {"text": "..."}, "responses": [
        {"user_id": "5f...", "values": {"label": {"value": "yes"}}, "status": "submitted"}]}
    {"external_id": "7", "text": "...", "label": [{"user_id": "5f...", "value": "yes", "status": "draft"}]}
    {"id": "7", "inputs": {"text": "..."}, "annotation": "yes", "annotation_agent": "ann"}
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from subsvms.app.quoting import name_some, show
from subsvms.app.tables.table import find_free
from subsvms.exceptions import Note, TableError

DONE, SKIPPED, DRAFT = "done", "skipped", "draft"
STATES = {"discarded": SKIPPED, "draft": DRAFT, "pending": DRAFT}  # by the status of a response, in Argilla
TASK, ANNOTATOR, LABEL = "task", "annotator", "label"  # columns of the table
MINIMAL = ("id", "annotator", "annotation_id")  # keys of JSON-MIN that tell it from other tables
TOLD = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")  # no values
RESPONSES = ".responses"
FLAT = re.compile(r"\.(responses(\.users|\.status)?|suggestion(\.score|\.agent)?)$")
UNFIT = (ValueError, TypeError, LookupError, AttributeError, RecursionError)  # from what has another shape
Object = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What one person answered about one task."""

    who: str | None
    said: dict[str, list] = field(default_factory=dict)  # what was chosen, by control or question
    state: str = DONE
    at: str = ""  # ISO 8601; empty if it is not known
    note: str | None = None


@dataclass(frozen=True)
class Task:
    """A task or a record, with all answers to it, in the order in which they were made, if that is known."""

    number: Any  # what the tool calls it
    values: Object  # what people saw
    answers: list[Answer]
    more: Object = field(default_factory=dict)  # metadata


@dataclass(frozen=True)
class Export:
    """What a labelling tool exported."""

    tool: str
    tasks: list[Task]


# Label Studio


def _read_studio(objects: Sequence[Object]) -> list[Task]:
    tasks = []
    for one in objects:
        drafts = one.get("drafts")
        answers = [_read_annotation(annotation) for annotation in one["annotations"] or ()]
        answers += [Answer(None, state=DRAFT)] * (len(drafts) if isinstance(drafts, list) else 0)
        tasks.append(Task(one.get("id"), one["data"], answers))
    return tasks


def _read_annotation(one: Object) -> Answer:
    said: dict[str, list] = {}
    person, note = one.get("completed_by"), None
    if isinstance(person, dict):
        person = person.get("email") or person.get("id")
    for part in one["result"]:
        if part.get("type") == "choices":
            said.setdefault(part.get("from_name") or LABEL, []).extend(part["value"]["choices"])
        elif part.get("type") == "textarea":
            texts = part["value"]["text"]
            note = "\n".join(texts) if isinstance(texts, list) else texts
    state = SKIPPED if one.get("was_cancelled") else DONE
    return Answer(_as_name(person), said, state, _find_time(one), note)


def _read_minimal(objects: Sequence[Object]) -> list[Task]:
    tasks: dict[Any, Task] = {}
    for one in objects:
        keys = list(one)
        controls = keys[keys.index("id") + 1 : keys.index("annotator")]
        if len(controls) > 1 and "lead_time" not in one:
            return []  # rather a table of the user's own, whose other columns would be lost
        said = {control: _list_choices(one[control]) for control in controls}
        values = {key: one[key] for key in keys if key not in (*controls, *TOLD)}
        task = tasks.setdefault(one["id"], Task(one["id"], values, []))
        task.answers.append(Answer(_as_name(one["annotator"]), said, at=_find_time(one)))
    return list(tasks.values()) if any(one.said for task in tasks.values() for one in task.answers) else []


# Argilla


def _read_records(objects: Sequence[Object]) -> list[Task]:
    return [_make_task(one, one["fields"], one["responses"] or {}) for one in objects]


def _read_flat_records(objects: Sequence[Object]) -> list[Task]:
    tasks, ends = [], ("", ".users", ".status")
    for one in objects:
        responses = {}
        for question in (key.removesuffix(RESPONSES) for key in one if key.endswith(RESPONSES)):
            said, users, states = (one.get(question + RESPONSES + end) or [] for end in ends)
            parts = zip(said, users, states or [None] * len(said), strict=True)
            responses[question] = [
                {"value": value, "user_id": user, "status": state} for value, user, state in parts
            ]
        own = ("id", "_server_id") + ("status",) * (one.get("status") in ("pending", "completed"))
        values = {key: one[key] for key in one if key not in own and not FLAT.search(key)}
        tasks.append(_make_task(one, values, responses))
    return tasks if any(key.endswith(RESPONSES) for one in objects for key in one) else []


def _read_data_set(objects: Sequence[Object]) -> list[Task]:
    listed = [{key: given for key in one if (given := _list_responses(one[key]))} for one in objects]
    questions = {key for one in listed for key in one}
    own = {question + end for question in questions for end in ("", "-suggestion", "-suggestion-metadata")}
    own |= {"id", "external_id", "metadata", "vectors"}
    tasks = []
    for one, responses in zip(objects, listed, strict=True):
        tasks.append(_make_task(one, {key: one[key] for key in one if key not in own}, responses))
    return tasks if questions else []


def _list_responses(cell: Any) -> list[Object]:
    """Return the responses in a cell, which Hugging Face may keep as an object of lists."""
    needed = {"user_id", "value"}
    if isinstance(cell, dict) and needed <= cell.keys():
        cell = [dict(zip(cell, part, strict=True)) for part in zip(*cell.values(), strict=True)]
    are_given = isinstance(cell, list) and all(isinstance(one, dict) and needed <= one.keys() for one in cell)
    return cell if are_given else []


def _read_annotated(objects: Sequence[Object]) -> list[Task]:
    tasks = []
    for one in objects:
        values = one["inputs"] if isinstance(one.get("inputs"), dict) else {"text": one.get("text")}
        given = {"value": one["annotation"], "user_id": one["annotation_agent"], "status": one.get("status")}
        tasks.append(_make_task(one, values, {LABEL: [given] * (one["annotation"] is not None)}))
    return tasks


def _make_task(one: Object, values: Object, responses: Any) -> Task:
    """Return a record as a task; responses are by question, or by person."""
    if isinstance(responses, dict):
        answers = _gather_answers(responses)
    else:
        answers = [_read_response(part, part.get("values") or {}) for part in responses]
    more = one.get("metadata") or {}
    more = json.loads(more) if isinstance(more, str) else more
    number = one.get("external_id") or one.get("id") or one.get("_server_id")
    return Task(number, dict(values), answers, dict(more))


def _gather_answers(responses: dict[str, list[Object]]) -> list[Answer]:
    """Return the answers to several questions, each person's as one."""
    found: dict[tuple, Answer] = {}
    for question, parts in responses.items():
        turns: Counter[Any] = Counter()  # people may be unknown, and so the same
        for part in parts:
            answer = _read_response(part, {question: part})
            turns[answer.who] += 1
            found.setdefault((answer.who, turns[answer.who]), answer).said.update(answer.said)
    return list(found.values())


def _read_response(part: Object, values: Object) -> Answer:
    said = {question: _list_choices(one["value"]) for question, one in values.items()}
    state = STATES.get(str(part.get("status")).lower(), DONE)
    return Answer(_as_name(part.get("user_id")), said, state, _find_time(part))


# All of them


SHAPES: tuple[tuple[str, Callable[[Object], bool], Callable[[Sequence[Object]], list[Task]]], ...] = (
    (
        "Label Studio",
        lambda one: isinstance(one.get("data"), dict) and isinstance(one.get("annotations", 0), list | None),
        _read_studio,
    ),
    ("Label Studio", lambda one: all(name in one for name in MINIMAL), _read_minimal),
    (
        "Argilla",
        lambda one: isinstance(one.get("fields"), dict) and isinstance(one.get("responses"), dict | list),
        _read_records,
    ),
    ("Argilla", lambda one: "_server_id" in one and "fields" not in one, _read_flat_records),
    ("Argilla", lambda one: "external_id" in one and "fields" not in one, _read_data_set),
    ("Argilla", lambda one: "annotation" in one and "annotation_agent" in one, _read_annotated),
)  # fmt: skip


def may_be_export(one: Object) -> bool:
    """Return whether an object of a JSON file looks like the first one of an export."""
    return any(fits(one) for _, fits, _ in SHAPES)


def read_export(objects: Sequence[Object]) -> Export | None:
    """Return what a tool exported; None if the objects have none of the shapes above."""
    for tool, fits, read in SHAPES:
        if objects and all(map(fits, objects)):
            with suppress(*UNFIT):
                if tasks := read(objects):
                    for task in tasks:
                        if all(answer.at for answer in task.answers):
                            task.answers.sort(key=attrgetter("at"))
                    return Export(tool, tasks)
    return None


def _as_name(person: Any) -> str | None:
    return None if person is None or person == "None" else str(person)


def _find_time(one: Object) -> str:
    return str(one.get("updated_at") or one.get("created_at") or "").removesuffix("Z")  # .5Z comes after Z


def _list_choices(value: Any) -> list:
    """Return what was chosen; nothing for what is no choice, such as a ranking."""
    if isinstance(value, dict):
        return list(value.get("choices", ()))
    if isinstance(value, list):
        return [choice for one in value for choice in _list_choices(one)]
    return [] if value is None else [value]


# As a table


def lay_out(export: Export, label: str | None, name: str) -> tuple[list[Object], Note]:
    """Return one object for each answer, and one for a task without any; and what to know about them."""
    # label: the column that will be read as labels; it may be called as the control or the question is.
    control = _choose_control(export, label, name)
    column = control if control is not None and control == label else LABEL
    own, objects, n_answers, n_left = (TASK, ANNOTATOR, column), [], 0, 0
    for place, task in enumerate(export.tasks, start=1):
        values = {find_free(key, own): value for key, value in task.values.items()}
        told = [answer for answer in task.answers if answer.state == DONE and answer.said.get(control or "")]
        n_answers, n_left = n_answers + len(told), n_left + len(task.answers) - len(told)
        for answer in told or [Answer(None)]:
            (chosen,) = answer.said.get(control or "", [None])
            number = place if task.number is None else task.number
            objects.append({TASK: number, **values, ANNOTATOR: answer.who, column: chosen})
    left = f"; skipped ones, drafts and those without a label were left out: {n_left:,}" if n_left else ""
    words = "{name} is an export of {tool}: each of its {n:,} answers to {n_tasks:,} tasks is one line{left}."
    values = {"name": name, "tool": export.tool, "n": n_answers, "n_tasks": len(export.tasks), "left": left}
    return objects, Note("export", words, **values)


def _choose_control(export: Export, label: str | None, name: str) -> str | None:
    """Return the control or question whose answers are the labels; None if nobody answered."""
    most: dict[str, int] = {}  # choices in one answer
    for said in (one.said for task in export.tasks for one in task.answers if one.state == DONE):
        most |= {key: max(len(chosen), most.get(key, 0)) for key, chosen in said.items() if chosen}
    single = [key for key, n in most.items() if n == 1]
    wanted = [label] if label in most else single or list(most)[:1]
    if len(wanted) > 1:
        raise TableError(
            "{name} has answers to several questions, {names}: say with {label} which of them gives the "
            "labels.", name=name, names=name_some(wanted),
        )  # fmt: skip
    if wanted and wanted[0] not in single:
        raise TableError(
            f"{name} has answers to {show(wanted[0])} with several choices, and a row can have one label: "
            "make each choice a question of its own, or export the answers with one choice only."
        )
    return wanted[0] if wanted else None

"""Exports of Label Studio and Argilla become one line an answer; other JSON is read as it always was."""

import json
import random

import pytest

from subsvms.app.tables.label_exports import read_export
from subsvms.app.tables.table import read_table, write_table
from subsvms.exceptions import TableError

# Task 1 has three answers, one of them discarded; task 2 has a draft; task 3 has one answer.
ANSWERS = {1: [("ann", "yes", ""), ("ben", "no", ""), ("cid", "no", "discarded")],
           2: [("ann", "no", "draft")], 3: [("ben", "yes", "")]}  # fmt: skip
TASKS = ANSWERS.keys()
TABLE = [("1", "one", "ann", "yes"), ("1", "one", "ben", "no"), ("2", "two", None, None),
         ("3", "three", "ben", "yes")]  # fmt: skip
TEXTS = {1: "one", 2: "two", 3: "three"}


def choose(*labels, control="label", **more):
    """Return one of Label Studio's annotations."""
    return {"result": [{"from_name": control, "type": "choices", "value": {"choices": list(labels)}}]} | more


def make_studio():
    return [
        {
            "id": n, "data": {"text": TEXTS[n]}, "drafts": [{}] * (n == 2), "predictions": [],
            "annotations": [
                choose(label, completed_by={"id": 4, "email": who}, was_cancelled=bool(state))
                for who, label, state in ANSWERS[n] if state != "draft"
            ],
        }
        for n in TASKS
    ]  # fmt: skip


def make_minimal():
    return [
        {"text": TEXTS[n], "id": n, "label": label, "annotator": who, "annotation_id": 9, "lead_time": 1.5}
        for n in TASKS for who, label, state in ANSWERS[n] if not state
    ]  # fmt: skip


def list_responses(n):
    return [
        {"user_id": who, "value": label, "status": state or "submitted"} for who, label, state in ANSWERS[n]
    ]


def make_argilla():
    return [
        {"id": str(n), "fields": {"text": TEXTS[n]}, "metadata": {}, "suggestions": {}, "vectors": {},
         "responses": {"label": list_responses(n)}, "_server_id": "5f"}
        for n in TASKS
    ]  # fmt: skip


def make_flat():
    return [
        {"id": str(n), "_server_id": "5f", "status": "pending", "text": TEXTS[n], "label.suggestion": "no",
         **{f"label.responses{end}": [one[key] for one in list_responses(n)]
            for end, key in (("", "value"), (".users", "user_id"), (".status", "status"))}}
        for n in TASKS
    ]  # fmt: skip


def make_feedback():
    return [
        {"external_id": str(n), "fields": {"text": TEXTS[n]}, "suggestions": [], "responses": [
            {"user_id": one["user_id"], "status": one["status"], "values": {"label": {"value": one["value"]}}}
            for one in list_responses(n)
        ]}
        for n in TASKS
    ]  # fmt: skip


def make_data_set():
    return [
        {"external_id": str(n), "text": TEXTS[n], "label": list_responses(n), "metadata": "{}",
         "label-suggestion": None, "label-suggestion-metadata": {"agent": None}}
        for n in TASKS
    ]  # fmt: skip


def make_columns():
    """Return the same with the responses as an object of lists, as Hugging Face writes them."""
    return [
        one | {"label": {key: [part[key] for part in one["label"]] for key in one["label"][0]}}
        for one in make_data_set()
    ]


SHAPES = {
    make_studio: 2, make_minimal: 0, make_argilla: 2, make_flat: 2, make_feedback: 2, make_data_set: 2,
    make_columns: 2,
}  # fmt: skip


def save(folder, objects, name="t.json"):
    path = folder / name
    lines = "\n".join(map(json.dumps, objects))
    path.write_text(lines if name.endswith("l") else json.dumps(objects))
    return path


def list_rows(table):
    columns = table.columns.select(["task", "text", "annotator"]).to_pydict()
    return list(
        zip(map(str, columns["task"]), columns["text"], columns["annotator"], table.labels, strict=True)
    )


@pytest.mark.parametrize("make", SHAPES)
@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_each_answer_is_one_line_and_a_task_without_any_has_one(tmp_path, make, name):
    table = read_table(save(tmp_path, make(), name), "label")
    assert table.columns.column_names == ["task", "text", "annotator", "label"]
    assert list_rows(table) == [one for one in TABLE if make is not make_minimal or one[0] != "2"]
    (note,) = (note for note in table.notes if note.kind == "export")
    assert "its 3 answers" in note and (f"were left out: {SHAPES[make]}" in note) == (SHAPES[make] > 0)


def test_records_of_text_classification_have_one_answer_each(tmp_path):
    records = [
        {"id": n, "inputs": {"text": TEXTS[n]}, "annotation": said, "annotation_agent": who, "status": state}
        for n, said, who, state in (
            (1, "yes", "ann", "Validated"), (1, ["no"], "ben", "Validated"), (2, None, None, "Default"),
            (3, "no", "ben", "Discarded"),
        )
    ]  # fmt: skip
    found = list_rows(read_table(save(tmp_path, records), "label"))
    assert found == [*TABLE[:3], ("3", "three", None, None)]


def test_the_table_of_answers_is_written_anew(tmp_path):
    table = read_table(save(tmp_path, make_argilla()), "label")
    write_table(table, tmp_path / "new.json", ["no", "no", None, "yes"])
    written = json.loads((tmp_path / "new.json").read_text())
    assert [one["label"] for one in written] == ["no", "no", None, "yes"] and written[0]["task"] == "1"


def test_values_with_our_names_and_nested_values_stay(tmp_path):
    task = {"id": 1, "data": {"label": "old", "task": [1], "n": 2}, "annotations": [choose("a"), choose("b")]}
    table = read_table(save(tmp_path, [task]), "label")
    assert table.labels.tolist() == ["a", "b"]
    assert table.columns.drop_columns(["label", "annotator"]).to_pylist() == 2 * [
        {"task": 1, "label (column)": "old", "task (column)": "[1]", "n": 2}
    ]


def test_of_several_questions_one_is_named_and_several_choices_are_refused(tmp_path):
    tones = [choose("a", control="tone"), choose("b", control="tone")]
    kinds = [choose("b", "c", control="kinds")]
    topics = [choose("d", control="topic"), choose("e", control="topic")]
    path = save(tmp_path, [{"id": 1, "data": {"x": 1}, "annotations": tones + kinds + topics}])
    assert read_table(path, "topic").labels.tolist() == ["d", "e"]
    with pytest.raises(TableError, match="several questions, 'tone', 'topic': say with label which"):
        read_table(path, "label")
    with pytest.raises(TableError, match="answers to 'kinds' with several choices"):
        read_table(path, "kinds")
    path = save(tmp_path, [{"id": 1, "data": {"x": 1}, "annotations": tones + kinds}])
    assert read_table(path, "label").labels.tolist() == ["a", "b"]


def test_other_json_is_read_as_it_is(tmp_path):
    rows = [
        [{"data": {"a": 1}, "label": "x"}, {"data": {"a": 2}, "label": "y"}],
        [{"id": 1, "label": "x", "fields": {}}, {"id": 2, "label": "y", "responses": []}],
        [{"data": {}, "annotations": [], "label": "x"}, {"data": 7, "annotations": [], "label": "y"}],
        [{"annotator": 1, "annotation_id": 2, "id": 3, "label": said} for said in "xy"],
        [{"external_id": "a", "label": said} for said in "xy"],
        [{"id": 3, "n": 4, "label": said, "annotator": 1, "annotation_id": 2} for said in "xy"],
    ]
    for objects in rows:
        for name in ("t.json", "t.jsonl"):
            path = save(tmp_path, objects, name)
            table = read_table(path, "label")
            assert table.labels.tolist() == ["x", "y"] and table.text.data == path.read_bytes()


@pytest.mark.parametrize("make", SHAPES)
def test_an_export_that_was_changed_is_read_or_refused_in_a_sentence(tmp_path, make, seed):
    rng = random.Random(seed)
    for _ in range(100):
        objects = make()
        inside = objects
        while isinstance(inside, dict | list) and inside and rng.random() < 0.8:
            place = rng.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
            above, inside = inside, inside[place]
            last = above, place
        if inside is not objects:
            last[0][last[1]] = rng.choice([None, 7, "x", [], {}, [None], {"a": [1]}, True, [["x"]]])
        try:
            read_table(save(tmp_path, objects), "label")
        except TableError:
            pass


def test_answers_with_times_come_in_their_order():
    late, early = (
        choose("a", updated_at="2026-02-01T10:00:00Z"),
        choose("b", created_at="2026-02-01T09:59:59.5Z"),
    )
    (task,) = read_export([{"data": {}, "annotations": [late, early]}]).tasks
    assert [one.said["label"] for one in task.answers] == [["b"], ["a"]]
    (task,) = read_export([{"data": {}, "annotations": [late, early, choose("c")]}]).tasks
    assert [one.said["label"] for one in task.answers] == [["a"], ["b"], ["c"]]

"""Issues out to other tools, and decisions back in."""

import json

import pyarrow as pa
import pytest
from loans import call, make_rows, write
from nasty_texts import assert_refused
from pyarrow import parquet

from subsvms.app.desk.apply import apply_labels
from subsvms.app.desk.exchange import FORMATS, describe_issues, export_issues, import_decisions
from subsvms.app.runs.answer_store import Act
from subsvms.exceptions import TableError

NO_ROWS = [999_999, "x", True, 10**400, float("inf"), [1], None, -1, 1.5]
NO_CLASSES = ["maybe", ["yes"], {"a": 1}, 7, "x" * 10**6]
NO_NOTES = [7, ["x"], "x" * 2001]


@pytest.mark.parametrize("line, message", [
    *[({"row": row}, "which is not an issue") for row in NO_ROWS],
    *[({"label": label}, "There is no class") for label in NO_CLASSES],
    *[({"label": None, "verdict": "drop", "note": note}, "A note is text") for note in NO_NOTES],
], ids=range(len(NO_ROWS + NO_CLASSES + NO_NOTES)))  # fmt: skip
def test_an_import_with_one_mistake_imports_nothing_and_says_so_briefly(desk, tmp_path, line, message):
    good, other = ({"row": row, "label": "yes"} for row in desk.rows[:2].tolist())
    path = tmp_path / "back.jsonl"
    path.write_text("\n".join(map(json.dumps, [good, other | line])))
    with pytest.raises(TableError, match=message) as caught:
        import_decisions(desk.folder, path)
    desk.refresh()
    assert desk.decisions.last == 0 and len(str(caught.value)) < 300


def test_apply_and_export_work_from_the_command_line(desk, folder, tmp_path):
    row = int(desk.rows[0])
    (tmp_path / "d.csv").write_text(f"row,label\n{row},{desk.classes[desk.suggested[0]]}\n")
    said = call("export", folder, "--import", tmp_path / "d.csv").output
    assert "1 decision was imported; 0 lines had no label." in said
    assert "issues are in" in call("export", folder, "--to", "jsonl", "--output", tmp_path / "i.jsonl").output
    assert "1 of 500 labels differs from the one given. 1 row was decided" in " ".join(
        call("apply", folder, "--output", tmp_path / "f.csv").output.split()
    )
    assert "Give either --to" in call("export", folder, code=2).output
    assert "must be one of" in call("export", folder, "--to", "excel", code=2).output
    assert "run.json" in call("review", tmp_path, code=2).output


@pytest.mark.parametrize("kind", ["bool", "int", "formula"])
def test_labels_of_any_kind_survive_review_apply_export_and_import(tmp_path, kind):
    rows, _ = make_rows(300, wrong=0.2)
    classes = {"bool": (False, True), "int": (0, 7), "formula": ("-no", "=yes()")}[kind]
    labels = [classes[row["default"] == "yes"] for row in rows]
    columns = {name: [float(row[name] or "nan") for row in rows] for name in ("age", "size")}
    parquet.write_table(pa.table({**columns, "y": labels}), tmp_path / "t.parquet")
    call("correct", tmp_path / "t.parquet", "--label", "y", "--quiet", "--svms", 50)
    folder = tmp_path / "t.subsvms"
    export_issues(folder, "jsonl")
    lines = [json.loads(line) for line in (folder / "issues.jsonl").read_text().split("\n") if line]
    flagged = [line for line in lines if line["is_label_issue"]][:3]
    written = {"bool": str.lower, "int": lambda label: f"{label}.0", "formula": str}[kind]
    text = ["row,label"] + [f"{line['row']},{written(line['suggested'])}" for line in flagged]
    (tmp_path / "d.csv").write_text("\n".join(text))
    assert import_decisions(folder, tmp_path / "d.csv").startswith("3 ")
    apply_labels(folder)
    final = parquet.read_table(folder / "final.parquet")["y"].to_pylist()
    changed = [i + 1 for i, (new, old) in enumerate(zip(final, labels, strict=True)) if new != old]
    assert sorted(changed) == sorted(line["row"] for line in flagged) and set(final) == set(classes)


def test_text_with_odd_line_ends_comes_back(folder):
    export_issues(folder, "jsonl")
    path = folder / "issues.jsonl"
    assert "\u2028" in path.read_text() and "\x85" in path.read_text()
    assert import_decisions(folder, path).startswith("0 ")


def test_files_that_are_no_decisions_are_refused(folder, tmp_path):
    for name, data in {
        "a.jsonl": b"[" * 10**5, "b.json": b"7", "c.json": b'[{"data": {"row": 1}, "annotations": [7]}]',
        "d.parquet": b"PAR1" + bytes(100), "e.csv": b"row,label\n\xff\xfe,1\n", "f.json": b'{"a": 1}',
        "g.json": b'[{"a": 1}]',
    }.items():  # fmt: skip
        (tmp_path / name).write_bytes(data)
        assert_refused("cannot be read as decisions", import_decisions, folder, tmp_path / name)
    (tmp_path / "g.csv").write_text("label\nyes\n")
    with pytest.raises(TableError, match="has no column 'row': each entry must name"):
        import_decisions(folder, tmp_path / "g.csv")


def test_an_import_without_a_name_leaves_an_empty_file_of_decisions_as_it_is(folder, tmp_path):
    (folder / "decisions.sqlite").write_bytes(b"")
    (tmp_path / "back.csv").write_text("row,label\n")
    assert_refused("A name must have", import_decisions, folder, tmp_path / "back.csv", who="")
    assert (folder / "decisions.sqlite").read_bytes() == b""


def test_a_date_beyond_those_of_python_beside_the_decisions_does_not_matter(desk, folder, tmp_path):
    row = int(desk.rows[0])
    late = pa.array([2**62], pa.timestamp("us"))
    frame = pa.table({"row": [row], "label": [desk.classes[0]], "when": late})
    parquet.write_table(frame, tmp_path / "back.parquet")
    assert import_decisions(folder, tmp_path / "back.parquet").startswith("1 ")


def test_an_import_says_how_many_decisions_it_replaces(desk, folder, tmp_path):
    rows = desk.rows[desk.flagged][:2].tolist()
    desk.decide_many([Act([desk.settle(row, "keep", None) for row in rows], "Ann")])
    one, other = (desk.brief(desk.place[row]) for row in rows)
    path = tmp_path / "back.csv"
    path.write_text(f"row,label\n{rows[0]},{one['suggested']}\n{rows[1]},{other['given']}\n")
    assert "1 of them replaces a different decision" in import_decisions(folder, path)
    desk.refresh()
    assert desk.progress.describe()["disputed"] == 1


def decide_five(desk):
    """Decide five rows, one with each verdict; the last is skipped."""
    other = {"card": "login", "login": "refund", "refund": "card"}
    rows = desk.rows[:5].tolist()
    third = desk.brief(2)
    label = next(name for name in other if name not in (third["given"], third["suggested"]))
    decided = [
        desk.settle(rows[0], "accept", None, "as it says: \"refund\",\nline two"),
        desk.settle(rows[1], "keep", None), desk.settle(rows[2], "label", label, "mixed"),
        desk.settle(rows[3], "drop", None, "not a ticket"), desk.settle(rows[4], "skip", None, "ask Cid"),
    ]  # fmt: skip
    desk.decide_many([Act([line], "Ann") for line in decided])
    return decided


@pytest.mark.parametrize("format", ["jsonl", "label-studio", "spotlight", "csv"])
def test_verdicts_notes_and_whole_texts_survive_export_and_import(tickets, tmp_path, format):
    decided = decide_five(tickets)
    lines = describe_issues(tickets)
    whole = [values[1] for values in tickets.show([line["row"] for line in lines])]
    assert [line["values"]["text"] for line in lines] == whole and len(lines) == len(tickets)
    assert min(len(line["values"]["text"]) for line in lines) > 300
    if format == "csv":
        path = write(
            tmp_path / "back.csv", [{k: v for k, v in line.items() if k != "values"} for line in lines]
        )
    else:
        path = tmp_path / f"back{FORMATS[format][0]}"
        said = export_issues(tickets.folder, format, output=path)
        assert said == f"{len(tickets)} issues are in {path}, as {format}."
    if format == "label-studio":
        tasks = json.loads(path.read_text())
        assert all(task["predictions"][0]["result"][0]["value"]["choices"] for task in tasks)
    before = dict(tickets.decisions.current)
    for _ in decided:
        tickets.undo("Ann")
    assert tickets.decisions.current == {} and tickets.progress.describe()["open"] == len(tickets)
    found = import_decisions(tickets.folder, path, who="Ann")
    tickets.refresh()
    assert found.startswith("5 ") and f"; {len(tickets) - 5} lines had no label." in found
    latest = [tickets.decisions.latest(line.row) for line in decided]
    found = [(one.row, one.verdict, one.label, one.note, one.who) for one in latest]
    assert found == [(*line, "Ann") for line in decided]
    assert before.keys() == tickets.decisions.current.keys() and tickets.progress.describe()["judged"] == 0
    assert "replace" not in import_decisions(tickets.folder, path, who="Ann")


def test_a_label_counts_more_than_a_stale_verdict_and_other_words_decide_nothing(tickets, tmp_path):
    first, second = tickets.rows[:2].tolist()
    lines = [f"{first},card,skip", f"{second},,maybe"]
    (tmp_path / "d.csv").write_text("\n".join(["row,label,verdict", *lines]))
    assert import_decisions(tickets.folder, tmp_path / "d.csv").startswith("1 ")
    tickets.refresh()
    assert tickets.decisions.current[first].label == "card" and second not in tickets.decisions.current
    (tmp_path / "d.json").write_text(json.dumps([{"row": second, "label": "login", "verdict": None}]))
    assert import_decisions(tickets.folder, tmp_path / "d.json").startswith("1 ")


def test_of_several_annotations_the_last_completed_one_counts(tickets, tmp_path):
    rows = tickets.rows[:3].tolist()
    chosen = [{"type": "choices", "value": {"choices": ["card"]}}]
    skipped = {"was_cancelled": True, "result": []}
    annotations = [
        [{"result": chosen}, skipped], [skipped],
        [{"result": [*chosen, {"type": "choices", "from_name": "drop", "value": {"choices": ["x"]}}]}],
    ]  # fmt: skip
    tasks = [{"data": {"row": row}, "annotations": some} for row, some in zip(rows, annotations, strict=True)]
    (tmp_path / "d.json").write_text(json.dumps(tasks))
    import_decisions(tickets.folder, tmp_path / "d.json")
    tickets.refresh()
    assert [tickets.decisions.latest(row).label for row in rows] == ["card", None, None]
    assert [tickets.decisions.latest(row).verdict for row in rows][1:] == ["skip", "drop"]


def make_annotation(person, label, at=None):
    result = [{"type": "choices", "from_name": "label", "value": {"choices": [label]}}]
    return {"completed_by": {"email": person}, "result": result} | ({"updated_at": at} if at else {})


def test_decisions_of_several_people_are_stored_side_by_side(tickets, tmp_path):
    first, second, third = tickets.rows[:3].tolist()
    tasks = [
        {"data": {"row": first}, "annotations": [
            make_annotation("b@x", "card", "2026-01-02"), make_annotation("a@x", "login", "2026-01-01"),
            make_annotation("a@x", "refund", "2026-01-03"),
        ]},
        {"data": {"row": second}, "annotations": [
            make_annotation("a@x", "card"), make_annotation("b@x", "card"),
            make_annotation("c@x", "login") | {"was_cancelled": True},
        ]},
        {"data": {"row": third}, "annotations": [make_annotation("a@x", "card")]},
    ]  # fmt: skip
    (tmp_path / "d.json").write_text(json.dumps(tasks))
    said = import_decisions(tickets.folder, tmp_path / "d.json")
    assert said.startswith("7 decisions were imported; 0 lines had no label. 1 row has different decisions")
    tickets.refresh()
    stacks = [[(one.who, one.label) for one in tickets.decisions.stacks[row]] for row in (first, second)]
    assert stacks[0] == [("a@x", "login"), ("b@x", "card"), ("a@x", "refund")]
    assert stacks[1] == [("c@x", None), ("a@x", "card"), ("b@x", "card")]
    assert [tickets.decisions.latest(row).label for row in (first, second)] == ["refund", "card"]
    assert tickets.progress.describe()["disputed"] == 1


def test_argilla_takes_the_suggestions_and_gives_back_the_responses(tickets, tmp_path):
    path = tmp_path / "issues.argilla.json"
    assert "as argilla" in export_issues(tickets.folder, "argilla", output=path)
    records, first = json.loads(path.read_text()), tickets.brief(0)
    assert len(records) == len(tickets) and records[0]["id"] == str(first["row"])
    suggestion = {
        "value": first["suggested"],
        "score": tickets.describe(first["row"])["confidence"],
        "agent": "subsvms",
    }
    assert records[0]["suggestions"] == {"label": suggestion}
    assert records[0]["fields"]["text"] and records[0]["metadata"]["row"] == first["row"]
    assert import_decisions(tickets.folder, path).startswith("0 ")
    other = next(name for name in tickets.classes if name != first["suggested"])
    chosen = [{"user_id": "u1", "value": first["suggested"]}, {"user_id": "u2", "value": other}]
    discarded = [{"user_id": "u1", "value": None, "status": "discarded"}]
    records[0]["responses"] = {"label": chosen, "note": [{"user_id": "u2", "value": "mixed"}]}
    records[1]["responses"] = {"label": discarded}
    path.write_text(json.dumps(records))
    said = import_decisions(tickets.folder, path)
    assert said.startswith("3 ") and "1 row has different decisions of several people" in said
    tickets.refresh()
    found = [(one.who, one.verdict, one.label, one.note) for one in tickets.decisions.stacks[first["row"]]]
    label_verdict = "keep" if other == first["given"] else "label"
    assert found == [("u1", "accept", first["suggested"], None), ("u2", label_verdict, other, "mixed")]
    assert tickets.decisions.latest(int(tickets.rows[1])).verdict == "skip"

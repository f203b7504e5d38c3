"""Questions in files, and answers back: the same audit, and nothing that cannot be right."""

import json

import pytest
from answered_audits import fill_in, person_of, read_answers
from loans import call, read, write
from nasty_texts import assert_refused

from subsvms.app.desk.audit import AuditDesk
from subsvms.app.desk.exchange import import_answers, write_questions
from subsvms.app.desk.tool_files import Entry, read_label, spell
from subsvms.audit import Audit, run_audit
from subsvms.exceptions import TableError


def answer_in_files(desk, folder, person, form=".csv", rounds=40):
    """Write questions, fill them in, import them, until the audit ends; return how many files it took."""
    for n in range(rounds):
        if desk.progress()["finished"]:
            return n
        path = folder / f"q{n}{form}"
        write_questions(desk, path)
        if form == ".csv":
            fill_in(path, person)
        elif form == ".jsonl":
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            path.write_text(
                "\n".join(json.dumps(line | {"answer": person(line["row"] - 1)}) for line in lines)
            )
        else:
            tasks = json.loads(path.read_text())
            for task in tasks:
                result = [{"type": "choices", "value": {"choices": [person(task["data"]["row"] - 1)]}}]
                task["annotations"] = [{"completed_by": {"email": "a@b.c"}, "result": result}]
            path.write_text(json.dumps(tasks))
        import_answers(desk, path, who="Ann")
    raise AssertionError("too many files")


@pytest.mark.parametrize("form, repeat", [(".csv", 1), (".csv", 0), (".jsonl", 0), (".json", 1)])
def test_an_audit_in_files_is_that_in_memory(made, tmp_path, form, repeat):
    desk = AuditDesk(made.folder, repeat=bool(repeat))
    n_files = answer_in_files(desk, tmp_path, person_of(made.clean), form)
    same = run_audit(Audit(desk.work.audit.ranking, repeat=repeat), person_of(made.clean))
    rows = [list(dict.fromkeys(row for row, _ in one.state["answers"])) for one in (desk.work.audit, same)]
    assert rows[0] == rows[1] and (repeat or desk.work.audit.state == same.state)
    assert n_files < 40  # while wrong labels are located each file has one new question
    assert AuditDesk(made.folder).work.early == desk.work.early
    who = {answer.who for answer in read_answers(made.folder)}
    assert who == {"a@b.c" if form == ".json" else "Ann"}


@pytest.mark.parametrize("form", [".csv", ".jsonl", ".json"])
def test_a_file_gives_nothing_away_and_disarms_formulas(made, tmp_path, form):
    rows = read(made.table)
    for i, row in enumerate(rows):
        row["answer"], row["=1+1"] = f"own {i}", "=cmd()"
    table = write(tmp_path / "odd.csv", rows)
    call("correct", table, "--label", "default", "--svms", 50, "--quiet", "--exclude", "answer")
    desk = AuditDesk(tmp_path / "odd.subsvms")
    path = tmp_path / f"q{form}"
    done = write_questions(desk, path)
    assert done == (
        f"15 questions are in {path}: fill in the column answer ('no', 'yes', or 'cannot tell'), and enter "
        f"it with: subsvms audit {desk.folder} --import {path}"
    )
    text = path.read_text()
    for secret in ("default", "suggest", "quality", "confidence", "vote"):
        assert secret not in text
    if form == ".csv":
        first = read(path)[0]
        names = list(first)
        assert names[:2] == ["row", "question"] and names[-1] == "answer" and first["answer"] == ""
        assert first["'=1+1"] == "'=cmd()" and first["answer (column)"].startswith("own ")
        assert [int(line["row"]) for line in read(path)] == desk.list_questions()[1]


def test_a_file_that_is_filled_in_bit_by_bit_can_be_imported_again(made, tmp_path):
    desk, path = AuditDesk(made.folder), tmp_path / "q.csv"
    person = person_of(made.clean)
    write_questions(desk, path)
    fill_in(path, person, most=3)
    done = import_answers(desk, path)
    assert done == "3 answers were entered, 12 lines had none."
    assert desk.progress()["answers"] == 3
    fill_in(path, person_of(made.clean), most=9)
    assert import_answers(desk, path) == (
        "6 answers were entered, 3 had been entered before, 6 lines had none."
    )
    before = read_answers(made.folder)
    assert import_answers(desk, path) == (
        "0 answers were entered, 9 had been entered before, 6 lines had none."
    )
    assert read_answers(made.folder) == before


def test_a_copy_of_the_first_answers_is_not_an_answer_to_what_is_asked_again(made, tmp_path):
    desk, path = AuditDesk(made.folder), tmp_path / "q.csv"
    write_questions(desk, path)
    fill_in(path, person_of(made.clean))
    import_answers(desk, path)
    again = tmp_path / "again.csv"
    write_questions(desk, again)
    asked, lines = {line["row"] for line in read(path)}, read(again)
    while not any(line["row"] in asked for line in lines):  # until some are asked again
        fill_in(again, person_of(made.clean))
        import_answers(desk, again)
        write_questions(desk, again, force=True)
        lines = read(again)
    assert import_answers(desk, path).startswith("0 ")
    fill_in(again, person_of(made.clean))
    assert import_answers(desk, again).startswith(f"{len(lines)} ")


def test_rows_may_come_in_any_order(made, tmp_path):
    desk, path = AuditDesk(made.folder, repeat=False), tmp_path / "q.csv"
    write_questions(desk, path)
    lines = fill_in(path, person_of(made.clean))
    write(path, lines[::-1])
    import_answers(desk, path)
    same, said = Audit(desk.work.audit.ranking), {int(line["row"]) - 1: line["answer"] for line in lines}
    while same.next_row in said:
        same.answer(same.next_row, said.pop(same.next_row))
    assert desk.work.audit.state == same.state and desk.work.early == said


def test_semicolons_marks_and_spellings_of_spreadsheets_are_understood(made, tmp_path):
    desk, path = AuditDesk(made.folder), tmp_path / "q.csv"
    write_questions(desk, path)
    rows = [line["row"] for line in read(path)]
    said = [" yes ", "Cannot tell", "?", "no", ""]
    lines = [f"{row}.0;0;{answer}" for row, answer in zip(rows, said, strict=False)]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(["row;question;answer", *lines]).encode())
    assert import_answers(desk, path) == "4 answers were entered, 1 line had none."
    stored = {str(answer.row): answer.label for answer in read_answers(made.folder)}
    assert [stored[row] for row in rows[:4]] == ["yes", None, None, "no"]


@pytest.mark.parametrize("change, said", [
    ({"answer": "maybe"}, "gives row '{row}' the label 'maybe', which is not a class"),
    ({"row": "4"}, "is about row '4', which is not asked"),
    ({"row": "x"}, "is about row 'x', which is not asked"),
    ({"row": ""}, "is about row '', which is not asked"),
    ({"row": "99999999999"}, "is about row '99999999999', which is not asked"),
    ({"row": "second"}, "is about row {second} once more"),
    ({"question": "7"}, "names question '7', which was not asked"),
    ({"question": "-1"}, "names question '-1', which was not asked"),
    ({"question": ""}, "names question '', which was not asked"),
    ({"answer": "?"}, "gives row {row} another answer than before, and an answer stands"),
])  # fmt: skip
def test_a_file_with_one_mistake_is_refused_as_a_whole(made, tmp_path, change, said):
    desk, path = AuditDesk(made.folder), tmp_path / "q.csv"
    write_questions(desk, path)
    lines = fill_in(path, person_of(made.clean))
    row, second = lines[2]["row"], lines[1]["row"]
    if change == {"answer": "?"}:
        import_answers(desk, path)
    lines[2] |= {name: second if cell == "second" else cell for name, cell in change.items()}
    write(path, lines)
    before = read_answers(made.folder)
    with pytest.raises(TableError) as refused:
        import_answers(desk, path)
    said = said.format(row=row, second=second)
    assert str(refused.value) == f"Entry 3 of {str(path)!r} {said}: nothing was entered."
    assert read_answers(made.folder) == before


def test_what_is_no_file_of_answers_is_refused(made, tmp_path):
    desk = AuditDesk(made.folder)
    for text in ("{", "[1]", '"x"', '[{"data": {}}]', '{"a": 1}'):
        for name in ("a.json", "a.jsonl"):
            (tmp_path / name).write_text(text)
            with pytest.raises(TableError, match="cannot be read as answers|has no column"):
                import_answers(desk, tmp_path / name)
    assert_refused("There is no file", import_answers, desk, tmp_path / "none.csv")
    for name, names in (("row", "question,answer"), ("question", "row,answer"), ("answer", "row,question")):
        path = tmp_path / "a.csv"
        path.write_text(f"{names}\n1,0\n")
        with pytest.raises(TableError) as refused:
            import_answers(desk, path)
        assert str(refused.value) == (
            f"{str(path)!r} has no column {name!r}: fill in a file that questions wrote. Nothing was entered."
        )


def test_where_questions_are_not_written(made, tmp_path):
    desk = AuditDesk(made.folder, n_answers=10, repeat=False)
    said = f"A file of questions must end in .csv, .jsonl, .json; got {str(tmp_path / 'q.xlsx')!r}."
    assert assert_refused(said, write_questions, desk, tmp_path / "q.xlsx") == said
    with pytest.raises(TableError, match="is a file of the run itself"):
        write_questions(desk, made.folder / "issues.csv", force=True)
    assert_refused("is the input table", write_questions, desk, made.table, force=True)
    (tmp_path / "q.csv").write_text("")
    assert_refused("already exists", write_questions, desk, tmp_path / "q.csv")
    write_questions(desk, tmp_path / "q.csv", force=True)


def test_numbers_of_questions():
    values = {3: ["3", 3.0], -1: ["x", None, True, "1e999", "nan", -3]}
    for number, ways in values.items():
        assert {Entry({"row": value}, "", "").get_number("row") for value in ways} == {number}


@pytest.mark.parametrize(("classes", "said", "meant"), [
    ((True, False), "TRUE", "True"), ((1, 2), "1.0", "1"), (("no", "No"), "no", "no"),
    (("no", "No"), "NO", None), (("=a", "-b"), "'=a", "=a"), (("=a", "-b"), "-b", "-b"),
])  # fmt: skip
def test_labels_are_understood_as_spreadsheets_write_them(classes, said, meant):
    assert read_label(said, spell(classes)) == meant

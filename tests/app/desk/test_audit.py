"""Questions to people and their answers: the same audit as in memory, whoever answers, whatever happens."""

import json
import shutil
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from answered_audits import answer_all, answer_there, decide, person_of, read_answers
from loans import call, make_rows, write
from nasty_texts import assert_refused

from subsvms.app.desk import audit as desks
from subsvms.app.desk.apply import Result
from subsvms.app.desk.audit import AuditDesk, ConfirmDesk, EstimateDesk, NotAsked, UntilDesk
from subsvms.app.names import DECISIONS
from subsvms.app.runs.history_file import holds_decisions
from subsvms.audit import Audit, certify_target, draw_rows, estimate_error_rate, run_audit
from subsvms.exceptions import TableError


def audit_in_memory(desk, person, **options):
    return run_audit(Audit(desk.work.audit.ranking, **options), person)


@pytest.mark.parametrize("repeat, error_rate", [(True, 0.0), (True, 0.1), (False, 0.1)])
def test_an_audit_at_the_desk_is_that_in_memory(made, seed, repeat, error_rate):
    desk = AuditDesk(made.folder, n_answers=50, seed=seed, repeat=repeat)
    n = answer_all(desk, person_of(made.clean, error_rate=error_rate, random_state=seed))
    person = person_of(made.clean, error_rate=error_rate, random_state=seed)
    same = audit_in_memory(desk, person, n_answers=50, random_state=seed, repeat=repeat)
    assert desk.work.audit.state == same.state
    np.testing.assert_array_equal(desk.work.audit.labels, same.labels)
    assert n == len(same.state["answers"]) >= 50
    assert desk.progress()["claim"] == str(same.claim)
    assert desk.work.early == {}
    if not error_rate:
        assert np.sum(same.labels != made.clean) < 0.6 * np.sum(desk.table.labels != made.clean)
        assert len(desk.work.changed) > 30
    again = AuditDesk(made.folder)  # from the file alone
    assert again.work.audit.state == same.state and again.progress() == desk.progress()


@pytest.mark.parametrize("repeat", [True, False])
def test_only_without_repeats_progress_tells_how_many_were_wrong(made, repeat):
    desk = AuditDesk(made.folder, repeat=repeat)
    stages, most = set(), desk.page_words["most_questions"]
    assert desk.progress()["sentence"].startswith("Checking ") and most == (90 if repeat else 50)
    while (question := desk.question("Ann")) is not None:
        desk.answer("Ann", question["row"], made.clean[question["row"] - 1], question["id"])
        now, inside = desk.progress(), desk.work.audit.progress
        stages.add(inside.stage)
        n, labels = len(desk.log), f"{desk.work.audit.claim.n_answers} of 50 labels"
        hidden = repeat and not now["finished"]  # any other count would tell which questions are repeats
        if hidden:
            assert ":" not in now["sentence"] and now["claim"] is None
        else:
            assert now["sentence"] == str(inside)
        assert now["share"] == (1 if now["finished"] else n / max(most, n + 1))
        asked_in_all = f"{n} of at most {most} questions"
        assert now["total"] == (asked_in_all if hidden else f"{labels}, {asked_in_all}" if repeat else labels)
    assert stages >= {"changes", "locate", "rest", "done"} and len(desk.log) <= most


def test_without_repeats_an_answer_is_compared_with_the_label(made):
    desk = AuditDesk(made.folder, repeat=False)
    for label in ("yes", "no", None):
        question = desk.question("Ann")
        told = desk.answer("Ann", question["row"], label, question["id"])
        given = desk.table.labels[question["row"] - 1]
        assert told["given"] == given and told["suggested"] == {"yes": "no", "no": "yes"}[given]
        assert told["overturned"] is (label is not None and label != given)
        assert told["label"] == label
    assert told["progress"]["answers"] == 3


def test_rows_without_a_label_and_decided_rows_are_not_asked(made):
    rows = decide(made.folder, "accept", n=20)
    desk = AuditDesk(made.folder)
    order = set((desk.work.audit.ranking.order + 1).tolist())
    assert not order & {4, 9, *rows}
    assert len(order) == 600 - len({4, 9, *rows})
    assert desk.decisions.begun["audit"]["left_out"] == sorted(rows)
    answer_all(desk, person_of(made.clean), most=1)
    decide(made.folder, "accept", n=30)  # what is decided later changes no question
    assert AuditDesk(made.folder).work.audit.next_row == desk.work.audit.next_row


# Refused


def test_an_answer_is_taken_once(made):
    desk = AuditDesk(made.folder)
    question = desk.question("Ann")
    desk.answer("Ann", question["row"], "yes", question["id"])
    said = "This was answered in the meantime, and an answer stands: go on with the next question."
    with pytest.raises(NotAsked) as double_click:
        desk.answer("Ann", question["row"], "yes", question["id"])
    assert str(double_click.value) == said
    asked = desk.question("Ann")
    assert asked["id"] == 1 and asked["row"] != question["row"]
    with pytest.raises(NotAsked) as elsewhere:
        desk.answer("Ann", question["row"], "yes", 1)
    assert str(elsewhere.value) == "This is not asked now: go on with the next question."
    assert len(read_answers(made.folder)) == 1


@pytest.mark.parametrize("row, label, id, said", [
    (4, "yes", 0, "This is not asked now: go on with the next question."),
    (0, "yes", 0, "This is not asked now: go on with the next question."),
    (10**9, "yes", 0, "This is not asked now: go on with the next question."),
    (None, "yes", 0, "An answer must name its row and its question; got None and 0."),
    (True, "yes", 0, "An answer must name its row and its question; got True and 0."),
    ("row", "yes", "0", "An answer must name its row and its question; got 'row' and '0'."),
    ("ask", "yes", 7, "There is no question 7: ask for the next one."),
    ("ask", "yes", -1, "There is no question -1: ask for the next one."),
    ("ask", "maybe", 0, "There is no class 'maybe': choose one of those in the table."),
    ("ask", 1, 0, "There is no class 1: choose one of those in the table."),
    ("ask", ["yes"], 0, "There is no class ['yes']: choose one of those in the table."),
    ("ask", "", 0, "There is no class '': choose one of those in the table."),
])  # fmt: skip
def test_what_is_no_answer_is_refused_and_not_stored(made, row, label, id, said):
    desk = AuditDesk(made.folder)
    row = desk.question("Ann")["row"] if row == "ask" else row
    before = read_answers(made.folder)
    assert assert_refused(said, desk.answer, "Ann", row, label, id) == said
    assert read_answers(made.folder) == before
    assert desk.question("Ann")["id"] == 0


@pytest.mark.parametrize("options, what", [
    ({"n_answers": 60}, "answers=50"),
    ({"seed": 1}, "seed=0"),
    ({"repeat": False}, "repeat=True"),
    ({"confidence": 0.9}, "level=0.95"),
    ({"for_model": True}, "for_model=False"),
])  # fmt: skip
def test_a_table_has_one_audit_whose_order_is_on_disk_before_the_first_question(made, options, what):
    desk = AuditDesk(made.folder)
    answer_all(desk, person_of(made.clean), most=1)
    assert desk.decisions.begun["audit"]["state"]["made_from"] == desk.work.audit.ranking.digest
    assert assert_refused("The audit in ", AuditDesk, made.folder, **options) == (
        f"The audit in {str(made.folder)!r} was begun with {what}: leave the option out to go on with it; a "
        "table has one audit, because trying several until one passes would void its claim."
    )
    AuditDesk(made.folder, n_answers=50, seed=0, repeat=True, confidence=0.95)


def test_what_nobody_has_answered_is_begun_anew_with_other_options_also_under_an_open_page(made):
    open_page = AuditDesk(made.folder, n_answers=20, for_model=True)
    question = open_page.question("Ann")
    assert AuditDesk(made.folder, n_answers=30, seed=1).work.options["for_model"]
    new = open_page.question("Ann")
    assert (open_page.page_words["n_answers"], open_page.work.options["random_state"]) == (30, 1)
    assert new["row"] != question["row"]
    assert_refused("This is not asked now", open_page.answer, "Ann", question["row"], "yes", question["id"])
    open_page.answer("Ann", new["row"], "yes", new["id"])
    assert_refused("The audit in ", AuditDesk, made.folder, n_answers=20)
    AuditDesk(made.folder, n_answers=30)
    EstimateDesk(made.folder, n_answers=12)
    assert len(EstimateDesk(made.folder, n_answers=15).work.rows) == 15


def test_rows_that_were_decided_before_the_first_answer_are_not_asked(made):
    row = AuditDesk(made.folder).question("Ann")["row"]
    decide(made.folder, "keep", row)
    desk = AuditDesk(made.folder)
    assert desk.work.left_out == [row] and desk.question("Ann")["row"] != row


def test_a_folder_that_is_refused_is_closed(made):
    (made.folder / "scores.parquet").write_bytes(b"PAR1")
    assert_refused("is damaged", AuditDesk, made.folder)
    assert not list(made.folder.glob("*-wal")) and not list(made.folder.glob("*-shm"))


def test_no_audit_is_begun_unasked(made):
    said = f"There is no audit in {str(made.folder)!r}: begin one with subsvms audit."
    assert assert_refused(said, AuditDesk, made.folder, create=False) == said
    said = f"There is no estimate in {str(made.folder)!r}: begin one with subsvms audit --estimate."
    assert assert_refused(said, EstimateDesk, made.folder, create=False) == said
    with pytest.raises(TableError, match=r"^There are 598 labels .* 599 answers: .* fewer \(answers\)\.$"):
        AuditDesk(made.folder, n_answers=599)
    assert not holds_decisions(made.folder / DECISIONS)


# Several people


def test_people_get_different_questions_and_answers_wait_for_their_turn(made):
    desk = AuditDesk(made.folder, repeat=False)
    first, second = desk.question("Ann"), desk.question("Bob")
    assert first["row"] != second["row"]
    desk.answer("Bob", second["row"], "yes", second["id"])
    assert desk.progress()["answers"] == 1
    assert desk.progress()["total"] == "0 of 50 labels" and len(desk.work.labels) == 1
    again = AuditDesk(made.folder)  # a process that is killed now loses nothing
    assert again.progress()["answers"] == 1
    desk.answer("Ann", first["row"], "no", first["id"])  # though the number of answers is another by now
    assert desk.progress()["total"] == "2 of 50 labels"


@pytest.mark.parametrize("repeat", [True, False])
def test_several_people_make_the_same_audit_as_one(made, seed, repeat):
    desk = AuditDesk(made.folder, seed=seed, repeat=repeat)
    rng = np.random.default_rng(seed)
    people = ["Ann", "Bob", "Cid"]
    shown = {}
    while not desk.progress()["finished"]:
        who = people[rng.integers(3)]
        if who in shown and rng.random() < 0.5:
            question = shown.pop(who)
            desk.answer(who, question["row"], made.clean[question["row"] - 1], question["id"])
        elif (question := desk.question(who)) is not None:
            shown[who] = question
    same = audit_in_memory(desk, person_of(made.clean), random_state=seed, repeat=repeat)
    rows = [list(dict.fromkeys(row for row, _ in one.state["answers"])) for one in (desk.work.audit, same)]
    assert rows[0] == rows[1]  # though repeats may come elsewhere, as others answer between them
    assert repeat or desk.work.audit.state == same.state
    np.testing.assert_array_equal(desk.work.audit.labels, same.labels)
    log = read_answers(made.folder)
    assert {answer.who for answer in log} == set(people)
    early = desk.work.early
    n = len(desk.work.audit.state["answers"])
    assert len(log) == n + len(early) and len(early) <= 5 * len(same.rings) and n <= same.most_questions
    for row, label in early.items():
        assert desk.work.labels[row] == label and row not in desk.work.changed


def test_a_repeat_goes_to_the_same_person_if_that_person_is_there(made):
    desk = AuditDesk(made.folder)
    owner = {}
    for _ in range(200):
        for who in ("Ann", "Bob"):
            question = desk.question(who)
            if question is None:
                continue
            row = question["row"]
            assert owner.setdefault(row, who) == who
            desk.answer(who, row, made.clean[row - 1], question["id"])
    assert desk.progress()["finished"]
    assert len(desk.log) > len(owner)


@pytest.mark.parametrize("is_repeat", [False, True])
def test_a_question_goes_to_somebody_else_when_the_person_has_left(made, monkeypatch, is_repeat):
    desk = AuditDesk(made.folder, seed=1)
    while (question := desk.question("Ann")) and is_repeat and question["row"] - 1 not in desk.work.given:
        given = desk.table.labels[question["row"] - 1]
        desk.answer("Ann", question["row"], {"no": "yes", "yes": "no"}[given], question["id"])
    row = question["row"]
    assert desk.question("Bob")["row"] != row
    later = desks.time.monotonic() + desks.LEASE + 1
    monkeypatch.setattr(desks.time, "monotonic", lambda: later)
    assert desk.question("Cid")["row"] == row


def test_nothing_is_asked_while_others_answer_the_last_question(made):
    desk = AuditDesk(made.folder, n_answers=10, repeat=False)
    answer_all(desk, person_of(made.clean), most=9)
    assert desk.question("Ann") is not None
    assert desk.question("Bob") is None and not desk.progress()["finished"]


def test_many_threads_at_one_desk_lose_no_answer(made):
    desk = AuditDesk(made.folder, repeat=False)

    def answer(number):
        while not desk.progress()["finished"]:
            answer_all(desk, person_of(made.clean), who=f"P{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(answer, range(4)))
    same = audit_in_memory(desk, person_of(made.clean))
    assert AuditDesk(made.folder).work.audit.state == same.state


def test_two_processes_answer_one_audit(made):
    AuditDesk(made.folder, repeat=False)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        acknowledged = [*pool.map(partial(answer_there, made.folder, made.clean), ("Ann", "Bob"))]
    desk = AuditDesk(made.folder)
    assert desk.progress()["finished"]
    assert desk.work.audit.state == audit_in_memory(desk, person_of(made.clean)).state
    stored = [answer.row for answer in read_answers(made.folder)]
    assert sorted(stored) == sorted(sum(acknowledged, [])) and len(set(stored)) == len(stored)


# Kinds of labels


@pytest.mark.parametrize("names", [(1, 2), (True, False), ("odd  one", "?"), ("a", "b", "c", "d")])
def test_any_labels_can_be_audited(tmp_path, names):
    rng = np.random.default_rng(0)
    clean = rng.integers(len(names), size=400)
    given = np.where(rng.random(400) < 0.3, (clean + 1) % len(names), clean)
    points = rng.normal(size=(400, 2)) / 4 + np.column_stack([clean % 2, clean // 2])
    rows = [
        {"x": round(float(x), 4), "y": round(float(y), 4), "kind": names[k]}
        for (x, y), k in zip(points, given, strict=True)
    ]
    table = tmp_path / "t.jsonl"
    table.write_text("\n".join(map(json.dumps, rows)))
    call("correct", table, "--label", "kind", "--svms", 50, "--threads", 1, "--quiet", "--action", "review")
    desk = AuditDesk(tmp_path / "t.subsvms", n_answers=30)
    truth = np.array([names[k] for k in clean], dtype=object)
    answer_all(desk, person_of(truth))
    same = audit_in_memory(desk, person_of(truth), n_answers=30, repeat=True)
    assert desk.work.audit.state == same.state and desk.progress()["finished"]
    assert np.sum(desk.work.audit.labels != truth) < np.sum(desk.table.labels != truth)
    assert AuditDesk(tmp_path / "t.subsvms").work.audit.state == same.state
    stored = read_answers(tmp_path / "t.subsvms")
    assert {type(answer.label) for answer in stored} <= {type(label) for label in desk.labels}


# The estimate


def test_an_estimate_at_the_desk_is_that_in_memory(made, seed):
    desk = EstimateDesk(made.folder, n_answers=40, seed=seed)
    person = person_of([None if i % 9 == 0 else label for i, label in enumerate(made.clean)])
    assert answer_all(desk, person) == 40
    ranking = desk.scores.rank()
    rows = draw_rows(ranking, 40, random_state=seed)
    wanted = estimate_error_rate(ranking, {row: person(row) for row in rows})
    assert desk.progress()["claim"] == str(wanted)
    assert EstimateDesk(made.folder).progress() == desk.progress()
    assert assert_refused("The estimate in ", EstimateDesk, made.folder, n_answers=50) == (
        f"The estimate in {str(made.folder)!r} was begun with estimate=40: leave the option out to go on "
        "with it; drawing again would void its confidence."
    )


def test_audit_and_estimate_share_a_folder_and_rows_that_were_answered_are_not_asked_again(made):
    estimate = EstimateDesk(made.folder)
    answer_all(estimate, person_of(made.clean), most=30)
    audit = AuditDesk(made.folder)
    answered = {answer.row for answer in estimate.log}
    assert not answered & set((audit.work.audit.ranking.order + 1).tolist())
    answer_all(audit, person_of(made.clean))
    answer_all(estimate, person_of(made.clean))
    assert estimate.progress()["finished"] and audit.progress()["finished"]
    assert AuditDesk(made.folder).progress() == audit.progress()


# The target


def test_a_target_at_the_desk_is_that_in_memory_and_has_its_folder_for_itself(made, seed):
    desk = UntilDesk(made.folder, error_rate=0.1, seed=seed)
    person = person_of([None if i % 40 == 0 else label for i, label in enumerate(made.clean)])
    answer_all(desk, person, most=20)
    assert desk.progress()["total"].startswith("20 of about ") and desk.progress()["claim"] is None
    answer_all(UntilDesk(made.folder), person, who="Bob")
    target = run_audit(certify_target(desk.scores.rank(), 0.1, random_state=seed), person)
    assert desk.progress()["claim"] == str(target.claim) and desk.progress()["finished"]
    assert desk.work.audit.state == target.state and target.claim.n_untold > 0
    assert Result.read(desk).answered == {row + 1: label for row, label in desk.work.labels.items()}
    found = assert_refused("The target in ", UntilDesk, made.folder, error_rate=0.05)
    assert "was begun with until=0.1: leave" in found
    for kind in (AuditDesk, ConfirmDesk):
        assert_refused(f"In {str(made.folder)!r} questions for a target", kind, made.folder)


def test_after_an_audit_no_target_is_begun(made):
    answer_all(AuditDesk(made.folder), person_of(made.clean), most=1)
    said = assert_refused(f"In {str(made.folder)!r} questions for an audit", UntilDesk, made.folder)
    assert "were answered, which does not go together with a target" in said


# The folder


def test_scores_of_another_run_are_refused(made, tmp_path):
    other = tmp_path / "other.subsvms"
    call("correct", made.table, "--label", "default", "--svms", 50, "--seed", 1, "--quiet", "--output", other)
    shutil.copy(other / "scores.parquet", made.folder)
    said = "scores.parquet' was changed after the run wrote it: run subsvms correct again."
    assert assert_refused(said, AuditDesk, made.folder) == f"'{made.folder}/{said}"


def test_answers_are_never_replaced(made):
    desk = AuditDesk(made.folder)
    answer_all(desk, person_of(made.clean), most=1)
    before = {path.name: path.read_bytes() for path in made.folder.iterdir()}
    words = ("correct", made.table, "--label", "default", "--quiet", "--svms", 50)
    for more in ((), ("--force",)):
        said = " ".join(call(*words, *more, code=2).output.split())
        assert "holds decisions or answers of people, which must not be overwritten: choose" in said
    assert {path.name: path.read_bytes() for path in made.folder.iterdir()} == before
    assert desk.question("Ann") is not None
    desk.close()
    (made.folder / DECISIONS).unlink()
    call(*words, "--force")


def test_verified_rows_are_not_asked(made, tmp_path):
    rows = decide(made.folder, "keep", n=10)
    call(
        "correct", made.table, "--label", "default", "--svms", 50, "--quiet", "--decisions", made.folder,
        "--output", tmp_path / "second.subsvms",
    )  # fmt: skip
    desk = AuditDesk(tmp_path / "second.subsvms")
    assert not set(rows) & set((desk.work.audit.ranking.order + 1).tolist())
    assert desk.scores.decided.sum() == 10
    answer_all(desk, person_of(made.clean))
    assert desk.progress()["finished"]


def test_a_column_that_gives_the_label_away_is_not_shown(tmp_path):
    rows, _ = make_rows(300, wrong=0.2)
    for row in rows:
        row["code"] = {"no": "N", "yes": "Y"}[row["default"]]
    call("correct", write(tmp_path / "loans.csv", rows), "--label", "default", "--svms", 50, "--quiet")
    question = AuditDesk(tmp_path / "loans.subsvms", n_answers=20).question("Ann")
    assert "code" not in question["columns"] and len(question["columns"]) == len(question["values"]) > 2

"""subsvms audit, as its user types it."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from answered_audits import answer_all, fill_in, make_folder, person_of
from loans import call, read, write

from subsvms.app.desk.audit import AuditDesk, ConfirmDesk, EstimateDesk, UntilDesk
from subsvms.app.runs.history_file import holds_decisions


@pytest.fixture(scope="module")
def corrected(tmp_path_factory):
    return make_folder(tmp_path_factory.mktemp("audited"), n=400, action="fix")


@pytest.fixture
def folder(corrected, tmp_path):
    shutil.copy(corrected.table, tmp_path)
    return shutil.copytree(corrected.folder, tmp_path / "loans.subsvms")


def said(*words, code=0):
    return " ".join(call("audit", *words, code=code).output.split())


def test_answers_are_verified_labels_in_the_next_run(corrected, folder):
    desk = AuditDesk(folder, n_answers=20)
    answer_all(desk, person_of(corrected.clean))
    again = folder.with_name("again.subsvms")
    call("correct", corrected.table, "--label", "default", "--svms", 50, "--quiet", "--decisions", folder,
         "--output", again)  # fmt: skip
    found = json.loads((again / "run.json").read_text())
    assert found["found"]["verified"] == 20
    assert dict(found["options"]["verified"]) == {row + 1: label for row, label in desk.work.labels.items()}
    labels = [row["default"] for row in read(again / "corrected.csv")]
    assert all(labels[row] == corrected.clean[row] for row in desk.work.labels)


def test_an_audit_in_files_from_beginning_to_end(corrected, folder, tmp_path):
    assert said(folder, "--status") == "No question has been answered yet."
    for words in (("--status",), ("--questions", tmp_path / "q.csv")):
        assert "give the folder of an earlier run" in said(tmp_path, *words, code=2)
    for n in range(40):
        path = tmp_path / f"{n}.csv"
        written = said(folder, "--answers", 20, "--questions", path)
        assert "fill in the column answer ('no', 'yes', or 'cannot tell'), and enter it with: " in written
        fill_in(path, person_of(corrected.clean))
        command = shlex.split(written.partition("enter it with: ")[2])
        assert command[:2] == ["subsvms", "audit"]
        output = said(*command[2:], "--who", "Ann")
        if "You checked 20 labels" in output and "(" not in output:
            break
        if n == 0:
            assert "15 answers were entered. Locating wrong labels (" in output
    assert said(folder, "--status").startswith("You checked 20 labels, drawn partly at random; ")
    assert {answer.who for answer in AuditDesk(folder).log} == {"Ann"}
    assert said(folder, "--questions", tmp_path / "more.csv") == (
        "There is nothing to ask: all questions are answered."
    )
    final = " ".join(call("apply", folder).output.split())
    work = AuditDesk(folder).work
    n = 20 + len(work.early)  # of a set that was decided before its file was
    assert f"{n} were answered in the audit" in final and "You checked 20 labels" in final
    labels = [row["default"] for row in read(folder / "final.csv")]
    wanted = dict(enumerate(work.audit.labels.tolist())) | work.labels
    assert [label or None for label in labels] == list(wanted.values())


def test_a_confirmation_in_a_file(corrected, folder, tmp_path):
    path = tmp_path / "q.csv"
    ask = ("confirm", folder, "--questions", path)
    assert f"enter it with: subsvms confirm {folder} --import {path}" in " ".join(call(*ask).output.split())
    fill_in(path, person_of(corrected.clean))
    output = " ".join(call("confirm", folder, "--import", path).output.split())
    assert output.startswith("15 answers were entered. Confirmed: most of the ")
    write = f"To write the table with these labels: subsvms apply {folder} --undecided suggestion"
    assert output.endswith(write.removesuffix(" --undecided suggestion"))
    assert " ".join(call("confirm", folder, "--status").output.split()) in output
    assert said(folder, "--status") in output
    call("audit", folder, "--answers", 20, "--questions", tmp_path / "more.csv")
    for command in ("confirm", "audit"):  # nobody has answered the audit yet
        assert " ".join(call(command, folder, "--status").output.split()) in output
    answer_all(AuditDesk(folder), person_of(corrected.clean), most=1)
    assert "begins with these questions" in call("confirm", folder, code=2).output
    for command in ("confirm", "audit"):
        shown = " ".join(call(command, folder, "--status").output.split())
        assert "Locating wrong labels (9 of at most 36 questions)." in shown


def test_what_stands_after_a_review_run_is_named_with_the_command_that_follows_it(tmp_path):
    made = make_folder(tmp_path, missing=())
    desk = ConfirmDesk(made.folder)
    answer_all(desk, person_of(made.clean))
    assert desk.progress()["stands"]
    shown = " ".join(call("confirm", made.folder, "--status").output.split())
    write = f"To write the table with these labels: subsvms apply {made.folder} --undecided suggestion"
    assert write in shown and shown.endswith("it leaves what is confirmed or kept as it was given.")
    call(*write.partition("subsvms ")[2].split())
    assert [row["default"] for row in read(made.folder / "final.csv")] == desk.work.audit.labels.tolist()


def test_the_state_of_an_audit_of_an_earlier_version_is_refused_too(folder):
    (folder / "audit.json").write_text("{}")
    for command in ("audit", "confirm"):
        shown = call(command, folder, "--status", code=2).output
        assert "an audit that version 0.1 began" in " ".join(shown.split())


def test_an_estimate_in_a_file(corrected, folder, tmp_path):
    path = tmp_path / "e.csv"
    said(folder, "--estimate", 30, "--questions", path)
    fill_in(path, person_of(corrected.clean))
    output = said(folder, "--estimate", 30, "--import", path)
    assert output.startswith("30 answers were entered. Of 30 labels drawn at random ")
    assert said(folder, "--status") == output.removeprefix("30 answers were entered. ")


def test_a_target_says_what_it_takes_asks_whether_to_begin_and_ends_with_its_claim(
    corrected, folder, tmp_path
):
    path = tmp_path / "t.csv"
    ask = ("audit", folder, "--until", 0.1, "--questions", path)
    shown = " ".join(call(*ask, input="n\n").output.split())
    assert re.match(
        "At most 10 % of the labels wrong, with 95 % confidence, if your answers are right: about "
        r"\d+ answers \(\d+ to \d+ in four of five",
        shown,
    )
    assert "For 2 % it would be" in shown and shown.endswith("Begin? [Y/n]: n") and not path.exists()
    assert not holds_decisions(folder / "decisions.sqlite")
    shown = said(folder, "--until", 0.1, "--yes", "--questions", path)
    assert f"enter it with: subsvms audit {folder} --until 0.1 --import {path}" in shown
    while True:
        fill_in(path, person_of(corrected.clean))
        shown = said(folder, "--until", 0.1, "--import", path)
        if "To write the table" in shown:
            break
        said(folder, "--until", 0.1, "--questions", path, "--force")  # it does not ask again whether to
    n = UntilDesk(folder).work.audit.n_rows
    claim = f"at most {n // 10} of the {n} labels"
    assert claim in shown and claim in said(folder, "--status")
    assert claim in " ".join(call("apply", folder).output.split())
    for words in (("audit", folder, "--answers", 20), ("confirm", folder)):
        output = " ".join(call(*words, "--questions", tmp_path / "a.csv", code=2).output.split())
        assert "questions for a target were answered, which does not go together with an audit" in output
    labels = [row["default"] for row in read(folder / "final.csv")]
    wrong = [label != right for label, right in zip(labels, corrected.clean, strict=True) if right]
    assert sum(wrong) <= n // 10 + 2  # and rows without a label


def test_a_target_with_claims_at_any_stop_says_after_each_file_what_holds(corrected, folder, tmp_path):
    path = tmp_path / "t.csv"
    ask = (folder, "--until", 0.1, "--any-stop")
    shown = said(*ask, "--yes", "--questions", path)
    assert "After each answer it says how many labels are wrong at most, if your answers are right" in shown
    fill_in(path, person_of(corrected.clean))
    shown = said(folder, "--until", 0.1, "--import", path)
    assert (
        " labels are wrong, if your answers are right (10 of about " in shown
        and " confidence at most " in shown
    )
    assert shown.endswith(f"To write the table with these labels: subsvms apply {folder}")
    claim = str(UntilDesk(folder).work.audit.claim)
    assert claim in shown and claim in " ".join(call("apply", folder).output.split())


def test_the_score_of_a_model_from_a_table_alone(corrected, tmp_path):
    rows = read(corrected.table)
    for row, right in zip(rows, corrected.clean, strict=True):
        row["default"], row["guess"] = row["default"] or "no", right if row["size"][-1:] != "7" else "no"
    table, path = write(tmp_path / "predictions.csv", rows), tmp_path / "q.csv"
    before = table.read_bytes()
    ask = ("--test", table, "--label", "default", "--prediction", "guess")
    assert "holds the given labels: one of " in said("--test", table, code=2)
    shown = said(*ask, "--questions", path)
    assert f"enter it with: subsvms audit {table} --test --import {path}" in shown
    fill_in(path, person_of(corrected.clean))
    shown = said(table, "--test", "--import", path, "--who", "Ann")
    assert shown.startswith(
        "50 answers were entered. With 95 % confidence the accuracy on the true labels is "
    )
    assert "if the 50 answers are right; with the labels as given it is " in shown
    assert said("--test", table, "--status") in shown and "subsvms apply" not in shown
    assert table.read_bytes() == before
    assert "the folder of a run is expected" in said(table, "--status", code=2)


ONE = "Give only one of --questions, --import and --status."
OWN = "--until is a mode of its own: leave out --answers, --estimate, --repeat, --for-model."
TEST = "--test is a mode of its own: leave out --estimate, --until, --repeat, --for-model, --any-stop."
FOR_TEST = "--label, --prediction, --hide, --metric, --positive and --merge-labels are for --test."
OTHER = "--estimate asks about other rows than an audit: leave out --answers, --repeat, --for-model."


@pytest.mark.parametrize("words, sentence", [
    ("--status --questions q.csv", ONE), ("--import a.csv --questions q.csv", ONE),
    ("--estimate 50 --answers 50", OTHER), ("--estimate 50 --no-repeat", OTHER),
    ("--until 0.02 --answers 50", OWN), ("--until 0.02 --estimate 50", OWN),
    ("--until 0.02 --import a.csv", "There is no target in "),
    ("--test --estimate 50", TEST), ("--label default", FOR_TEST), ("--merge-labels", FOR_TEST),
    ("--any-stop", "--any-stop is for --until: give it, too."),
    ("--answers 5000 --questions q.csv",
     "There are 398 labels to ask about, too few for 5000 answers: ask for fewer (--answers)."),
    ("--import a.csv", "There is no audit in "), ("--estimate 20 --import a.csv", "There is no estimate in "),
])  # fmt: skip
def test_mistakes_are_sentences_and_begin_nothing(folder, monkeypatch, words, sentence):
    monkeypatch.chdir(folder.parent)
    (folder.parent / "a.csv").write_text("row,question,answer\n1,0,yes\n")
    assert said(folder, *words.split(), code=2).startswith(f"subsvms: {sentence}")
    assert not holds_decisions(folder / "decisions.sqlite")


def test_the_level_is_chosen_when_it_begins_also_by_its_old_name(folder, tmp_path):
    said(folder, "--level", 0.995, "--questions", tmp_path / "q.csv")
    assert AuditDesk(folder).work.audit.level == 0.995
    said(folder, "--estimate", 20, "--confidence", 0.9, "--questions", tmp_path / "e.csv")
    assert EstimateDesk(folder).work.begun.confidence == 0.9
    answer_all(AuditDesk(folder), lambda row: None, most=1)
    assert "was begun with --level 0.995: leave the option out" in said(
        folder, "--confidence", 0.9, "--questions", tmp_path / "r.csv", code=2
    )


def test_the_page_is_served_and_ctrl_c_keeps_the_answers(corrected, folder):
    desk = AuditDesk(folder)
    answer_all(desk, person_of(corrected.clean), most=3)
    words = [sys.executable, "-m", "subsvms", "audit", str(folder), "--no-browser", "--port", "9770"]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
        first, second = process.stdout.readline(), process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert first.startswith("Questions about 50 labels of loans.csv, at most 90, at http://127.0.0.1:")
    assert second == (
        "Anyone on this machine with this address can answer. Press Ctrl-C to stop; answers are kept.\n"
    )
    n = desk.work.audit.progress.n_rows
    words = f"Checking {n} changes of the run (3 of at most 90 questions).\n"
    assert process.returncode == 0 and rest == words

"""What version 0.1.0 wrote: its decisions are read, and its audits are refused in a sentence."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from answered_audits import answer_all, decide, person_of
from loans import call
from nasty_texts import assert_refused

from subsvms.app.desk.apply import apply_labels, read_verified
from subsvms.app.desk.audit import AuditDesk, ConfirmDesk, EstimateDesk
from subsvms.app.desk.opened import Desk, open_acts
from subsvms.app.desk.questions import Turns
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.runs.answer_store import Answer
from subsvms.app.tables.files import digest_file

OLD = Path(__file__).parent / "version_0_1_0"  # of the run of the fixture `made`, written by that version


@pytest.fixture
def old(made):
    """The folder of a run, with decisions of version 0.1.0: only the checksum of run.json differs."""
    path = Path(shutil.copy(OLD / "decisions.sqlite", made.folder))
    with sqlite3.connect(path) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'run_stays'").fetchone()
        connection.execute("DROP TRIGGER run_stays")
        connection.execute("UPDATE run SET sha256 = ?", (digest_file(made.folder / "run.json"),))
        connection.execute(trigger)
    connection.close()
    return made.folder


def test_decisions_are_shown_undone_and_decided_again(old):
    desk = ReviewDesk(old)
    verdicts = {row: one.verdict for row, one in desk.decisions.current.items()}
    assert verdicts == {325: "accept", 1: "keep", 78: "keep", 91: "keep"}
    assert desk.describe(325)["decision"]["note"] == "sure"
    assert [one.verdict for one in desk.redo("Ann")] == ["drop"]
    assert len(desk.undo("Bob")) == 3


def test_an_audit_of_that_version_is_refused_with_what_to_do_and_stays(old, tmp_path):
    path = old / "audit.json"
    path.write_text("{}")
    said = (
        f"{str(path)!r} holds an audit that version 0.1 began, and this version asks otherwise: apply it "
        "with that version, or move the file away to begin again."
    )
    for work in (AuditDesk, EstimateDesk, ConfirmDesk, apply_labels):
        assert assert_refused(said, work, old) == said
    assert assert_refused(said, read_verified, old, "default") == said
    words = ("correct", old.with_name("loans.csv"), "--label", "default", "--quiet", "--force")
    assert "holds decisions or answers" in " ".join(call(*words, code=2).output.split())
    decide(old, "keep")  # a review goes on
    assert path.read_text() == "{}"
    path.unlink()
    apply_labels(old, output=tmp_path / "f.csv")


def begin(folder, change, n_answers=3):
    """Begin an audit in a folder, changed, with some answers whose seals are right."""
    answers = []
    for path in folder.glob("decisions.sqlite*"):
        path.unlink()
    with closing(Desk(folder)) as desk:
        scores = desk.read_scores()
    how = asdict(Turns.draw(scores, [], {}))
    work = Turns.begin(how, scores)
    while len(answers) < n_answers:
        answers.append(Answer(work.audit.next_row + 1, "yes", "Ann", "2026-01-01T00:00:00.000+00:00"))
        work.add(work.audit.next_row, "yes")
    with closing(open_acts(folder, create=True)) as decisions, decisions.changing() as connection:
        changed = change(how, answers) or answers
        decisions.begin(connection, "audit", how)
        decisions.answer(connection, "audit", changed)


def change_answer(**values):
    return lambda how, answers: [*answers[:2], Answer(**(vars(answers[2]) | values))]


def change_state(**values):
    return lambda how, answers: how["state"].update(values)


FORGED = {  # audits whose seals are right, and that cannot be true
    "unknown label": change_answer(label="maybe"),
    "row that was not asked": change_answer(row=4),
    "row 0": change_answer(row=0),
    "row beyond the table": change_answer(row=10**9),
    "repeated row": lambda how, answers: [*answers[:2], answers[0]],
    "other seed": change_state(random_state=3),
    "other ranking": change_state(made_from="0" * 64),
    "too many answers": change_state(n_answers=10**6),
    "a later format": change_state(format=9),
    "left out beyond the table": lambda how, answers: how.update(left_out=[10**9]),
    "left out": lambda how, answers: how.update(left_out=[1, 2]),
    "parameters of a wrong type": change_state(n_answers="many"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_audit_is_refused_in_one_sentence(made, what):
    begin(made.folder, FORGED[what])
    said = assert_refused("does not fit the run in its folder (", AuditDesk, made.folder)
    assert said.endswith(".") and len(said) < 400


def test_an_audit_that_an_earlier_version_began_in_the_file_of_decisions_is_refused(made):
    begin(made.folder, change_state(format=1))
    said = "decisions.sqlite' holds an audit that version 0.1 began, and this version asks otherwise: apply"
    refused = assert_refused(said, AuditDesk, made.folder)
    assert refused.endswith("to begin again, which takes the decisions of the review page away, too.")
    assert_refused(said, apply_labels, made.folder)
    begin(made.folder, change_state())
    assert answer_all(AuditDesk(made.folder), person_of(made.clean)) > 40

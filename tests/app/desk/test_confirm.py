"""A confirmation at a desk: the library's questions, and what follows for the table and for an audit."""

import shutil

import numpy as np
import pytest
from answered_audits import answer_all, decide, make_folder, person_of, read_answers
from loans import call, read, write
from nasty_texts import assert_refused

from subsvms.app.desk.apply import apply_labels, read_verified
from subsvms.app.desk.audit import AuditDesk, ConfirmDesk, EstimateDesk
from subsvms.app.desk.review import ReviewDesk
from subsvms.audit import Audit, confirm, run_audit


@pytest.fixture
def changed(tmp_path):
    """The folder of a run that changed labels."""
    return make_folder(tmp_path, missing=(), action="fix")


def keep_all(desk):
    return lambda row: desk.labels[desk.scores.given[row]]


def read_all(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if "sqlite" not in path.name}


def test_a_confirmation_at_the_desk_is_that_in_memory(made, seed):
    desk = ConfirmDesk(made.folder, seed=seed)
    first = desk.progress()
    n = answer_all(desk, person_of(made.clean))
    same = run_audit(confirm(desk.work.audit.ranking, random_state=seed), person_of(made.clean))
    assert desk.work.audit.state == same.state and desk.progress()["claim"] == str(same.claim)
    assert n == len(same.state["answers"]) <= same.most_questions == desk.page_words["most_questions"]
    n_rows = same.claim.sets[0].n_rows
    assert first["sentence"] == f"Checking {n_rows} changes of the run: 0 of at most 15"
    assert first["total"] == f"0 of at most {same.most_questions} questions" and first["claim"] is None
    assert ConfirmDesk(made.folder).progress() == desk.progress()


def test_nothing_is_told_about_an_answer(made):
    desk = ConfirmDesk(made.folder)
    question = desk.question("Ann")
    told = desk.answer("Ann", question["row"], "yes", question["id"])
    assert told["given"] is told["suggested"] is told["overturned"] is None
    assert "wrong so far" not in told["progress"]["sentence"]


# With an audit


def test_an_audit_begins_with_the_answers_of_the_confirmation(made, seed):
    decided = decide(made.folder, "keep", n=3)
    desk = ConfirmDesk(made.folder, seed=seed, confidence=0.9)
    answer_all(desk, person_of(made.clean), most=4)
    decide(made.folder, "keep", n=6)
    audit = AuditDesk(made.folder, repeat=False)
    assert audit.progress()["total"] == "4 of 50 labels"
    assert audit.work.left_out == sorted(decided)
    assert (audit.work.options["random_state"], audit.work.options["confidence"]) == (seed, 0.9)
    answer_all(audit, person_of(made.clean))
    same = Audit.after(desk.work.audit, 50)
    assert audit.work.audit.state == run_audit(same, person_of(made.clean)).state
    assert len(read_answers(made.folder, "audit")) == 46 and len(read_answers(made.folder, "confirm")) == 4
    assert AuditDesk(made.folder).progress() == audit.progress()
    done = apply_labels(made.folder)
    assert str(same.claim) in str(done) and len(done.labels.answered) >= 44
    verified = dict(read_verified(made.folder, "default")[0])
    assert {row + 1: label for row, label in audit.work.labels.items()}.items() <= verified.items()


def test_an_audit_with_other_chances_or_too_few_answers_is_refused_after_a_confirmation(made):
    answer_all(ConfirmDesk(made.folder), person_of(made.clean), most=1)
    said = assert_refused("The confirmation in ", AuditDesk, made.folder, seed=1)
    assert "was begun with seed=0: leave the option out to go on with it; a table has one audit" in said
    assert_refused("was begun with level=0.95: ", AuditDesk, made.folder, confidence=0.9)
    most = ConfirmDesk(made.folder).work.most_questions
    assert assert_refused("An audit begins", AuditDesk, made.folder, n_answers=10) == (
        f"An audit begins with the questions of the confirmation, at most {most}: ask for as many answers or "
        "more."
    )
    AuditDesk(made.folder, n_answers=most, seed=0)


def test_without_an_answer_a_confirmation_binds_no_audit(made):
    ConfirmDesk(made.folder, seed=3)
    assert AuditDesk(made.folder, seed=1, n_answers=10).work.options["random_state"] == 1


def test_after_an_answer_in_an_audit_there_is_nothing_to_confirm(made):
    audit, desk = AuditDesk(made.folder, seed=1), ConfirmDesk(made.folder)
    question = desk.question("Ann")
    answer_all(audit, person_of(made.clean), most=1)
    command = f"subsvms audit {made.folder}"
    said = f"The audit of this folder begins with these questions: go on there ({command})."
    assert assert_refused(said, ConfirmDesk, made.folder) == said
    assert_refused(said, desk.answer, "Ann", question["row"], "yes", question["id"])
    assert read_answers(made.folder, "confirm") == []


def test_an_audit_that_was_begun_before_the_confirmation_was_answered_begins_again(made):
    audit = AuditDesk(made.folder, n_answers=40)
    question = audit.question("Ann")
    confirmation = ConfirmDesk(made.folder, seed=2)
    answer_all(confirmation, person_of(made.clean), most=2)
    said = "The confirmation of this folder was answered after its audit had begun: stop the audit, and begin"
    assert_refused(said, audit.progress)
    assert_refused(said, audit.answer, "Ann", question["row"], "yes", question["id"])
    assert_refused(said, AuditDesk, made.folder, create=False)
    again = AuditDesk(made.folder)
    assert again.progress()["answers"] == 2 and again.work.options["random_state"] == 2
    assert again.work.options["n_answers"] == 40
    answer_all(confirmation, person_of(made.clean), most=1)  # both go on until the audit has an answer
    assert again.progress()["answers"] == 3


# What follows


def list_labels(path):
    return [row["default"] for row in read(path)]


@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_what_is_confirmed_follows_the_action_of_the_run(tmp_path, action):
    made = make_folder(tmp_path, missing=(), action=action)
    desk = ConfirmDesk(made.folder)
    answer_all(desk, lambda row: desk.labels[desk.scores.suggested[row]])
    claim = desk.work.audit.claim
    assert {one.verdict for one in claim.sets} <= {"passed", "asked"} and len(claim.changed) > 50
    done = apply_labels(made.folder, output=tmp_path / "f.csv")
    passed = {row + 1 for row in claim.changed.tolist()}
    assert len(done.labels.answered) == claim.n_answers and str(claim) in str(done)
    assert f"{claim.n_answers} were answered in the confirmation" in str(done)
    assert done.labels.unseen.keys() == (passed if action == "fix" else set())
    assert done.labels.dropped == (passed if action == "drop" else set())
    assert len(list_labels(tmp_path / "f.csv")) == 600 - len(done.labels.dropped)
    after = apply_labels(made.folder, output=tmp_path / "g.csv", undecided="suggestion")
    assert after.labels.followed.keys() == (passed if action in ("weight", "review") else set())
    if action == "fix":
        assert list_labels(tmp_path / "f.csv") == desk.work.audit.labels.tolist()
        assert list_labels(tmp_path / "g.csv") == list_labels(tmp_path / "f.csv")


def test_what_is_taken_back_is_as_given_and_nothing_suggests_it_any_more(changed):
    desk = ConfirmDesk(changed.folder)
    answer_all(desk, keep_all(desk))
    assert [one.verdict for one in desk.work.audit.claim.sets][:1] == ["back"]
    done = apply_labels(changed.folder, undecided="suggestion")
    assert done.n_changed == 0 and not done.labels.followed
    assert "labels that the run changed are as given here: answers did not confirm them." in str(done)
    page = (changed.folder / "report.html").read_text()
    assert '<h2 id="audit-head">Confirmation</h2>' in page and "<td>as given</td>" in page


def test_what_is_kept_without_a_claim_is_followed_only_where_suggestions_are(changed):
    desk, answers = ConfirmDesk(changed.folder), 0
    while desk.work.audit.stage == "changes":
        question, answers = desk.question("Ann"), answers + 1
        row = question["row"] - 1
        number = desk.scores.given[row] if answers % 4 == 0 else desk.scores.suggested[row]
        desk.answer("Ann", question["row"], desk.classes[number], question["id"])
    first = desk.work.audit.claim.sets[0]
    assert first.verdict == "kept"
    done = apply_labels(changed.folder)
    n = first.n_unseen
    words = f"Kept without a claim, but left as given: {n} suggestions, which undecided='suggestion' follows."
    assert len(done.labels.unseen) == 0 and words in str(done)
    assert len(apply_labels(changed.folder, undecided="suggestion", force=True).labels.followed) == n


@pytest.mark.parametrize("open_desk", [AuditDesk, ConfirmDesk, EstimateDesk])
def test_questions_without_an_answer_leave_the_run_as_it_was(changed, tmp_path, open_desk):
    plain = apply_labels(changed.folder, output=tmp_path / "f.csv", undecided="suggestion")
    shutil.rmtree(changed.folder)
    correct = ("correct", changed.table, "--label", "default", "--svms", 100, "--quiet", "--force")
    call(*correct)
    before = read_all(changed.folder)
    desk = open_desk(changed.folder)
    assert desk.question("Ann") is not None
    assert "No question has been answered yet." in call("audit", changed.folder, "--status").output
    assert_refused("Nothing has been decided in ", apply_labels, changed.folder)
    assert_refused("There are no decisions in ", read_verified, changed.folder, "default")
    assert read_all(changed.folder) == before and len(ReviewDesk(changed.folder)) > 0
    done = apply_labels(changed.folder, output=tmp_path / "g.csv", undecided="suggestion")
    assert done.labels.followed == plain.labels.followed and done.remarks == ()
    assert '<section id="audit"' not in (changed.folder / "report.html").read_text()
    desk.close()
    shutil.move(changed.folder / "report.html", tmp_path)  # which names the table that was written
    call(*correct)
    assert not (changed.folder / "decisions.sqlite").exists()


def test_a_run_that_left_all_labels_alone_has_nothing_to_confirm(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"x": rng.normal(), "default": ["no", "yes"][i % 2]} for i in range(60)]
    call("correct", write(tmp_path / "t.csv", rows), "--label", "default", "--svms", 50, "--quiet")
    said = "The run changed no label and held none back, so there is nothing to confirm: to find wrong labels"
    assert_refused(said, ConfirmDesk, tmp_path / "t.subsvms")

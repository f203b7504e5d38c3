"""What version 0.1.0 wrote: audit.json and decisions.sqlite are taken over, read with suspicion."""

import hashlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from answered_audits import read_answers
from loans import call
from nasty_texts import assert_refused

from subsvms.app.desk.apply import apply_labels, read_verified
from subsvms.app.desk.audit import AuditDesk, EstimateDesk
from subsvms.app.desk.exchange import export_issues
from subsvms.app.desk.old_audit import compute_digest
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.tables.files import digest_file
from subsvms.exceptions import TableError

OLD = Path(__file__).parent / "version_0_1_0"  # of the run of the fixture `made`, written by that version
APPLIED = "421f753df212c98e17f2f09b96dd178b3f89e4e406833386e217bbf5549e666b"  # the table, as it wrote that


def seal(body):
    """Return the bytes of an audit.json whose checksum is right, whatever it says."""
    body = {name: value for name, value in body.items() if name != "sha256"}
    return json.dumps(body | {"sha256": compute_digest(body)}).encode()


@pytest.fixture
def old(made):
    """The folder of a run, with what version 0.1.0 stored about it: only the checksum of run.json differs."""
    digest = digest_file(made.folder / "run.json")
    body = json.loads((OLD / "audit.json").read_bytes())
    (made.folder / "audit.json").write_bytes(seal(body | {"run": digest}))
    (made.folder / "audit.json.lock").touch()
    path = Path(shutil.copy(OLD / "decisions.sqlite", made.folder))
    with sqlite3.connect(path) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'run_stays'").fetchone()
        connection.execute("DROP TRIGGER run_stays")
        connection.execute("UPDATE run SET sha256 = ?", (digest,))
        connection.execute(trigger)
    connection.close()
    return made.folder


def test_the_table_is_the_one_that_version_0_1_0_wrote(old, tmp_path):
    done = apply_labels(old, output=tmp_path / "f.csv")
    assert str(done) == (
        "13 of 600 labels differ from those given: 4 rows were decided by people and 27 answered in the "
        "audit. Of the other issues, 158 keep the label as given. The table is in "
        f"{tmp_path / 'f.csv'}. You checked 18 labels, drawn partly at random; 9 of them were wrong. So far "
        "no other label is changed."
    )
    assert hashlib.sha256((tmp_path / "f.csv").read_bytes()).hexdigest() == APPLIED


def test_who_only_reads_leaves_all_files_as_they_are(old, tmp_path):
    (old / "decisions.sqlite").unlink()
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    assert "22 of 40 labels" in call("audit", old, "--status").output
    verified = read_verified(old, "default")
    assert len(AuditDesk(old, create=False).log) == 31
    export_issues(old, "jsonl", output=tmp_path / "issues.jsonl")
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    (tmp_path / "none.csv").write_text("row,question,answer\n")
    call("audit", old, "--import", tmp_path / "none.csv")  # which writes
    assert not (old / "audit.json").exists() and not (old / "audit.json.lock").exists()
    assert len(AuditDesk(old).log) == 31 and read_verified(old, "default") == verified


def test_the_audit_goes_on_where_it_was_stopped(old):
    body = json.loads((old / "audit.json").read_bytes())
    audit, estimate = AuditDesk(old, n_answers=40, seed=2), EstimateDesk(old)
    assert audit.progress()["sentence"] == "Checking a set of 143 labels: 6 of 24"
    assert audit.work.audit.state == body["audit"]["state"]
    assert estimate.progress()["total"] == "9 of 15 labels"
    for part in ("audit", "estimate"):
        assert list(map(vars, read_answers(old, part))) == body[part]["answers"]
    question = audit.question("Ann")
    audit.answer("Ann", question["row"], "yes", question["id"])
    assert len(AuditDesk(old).log) == len(body["audit"]["answers"]) + 1


def test_decisions_are_shown_undone_and_decided_again(old):
    desk = ReviewDesk(old)
    verdicts = {row: one.verdict for row, one in desk.decisions.current.items()}
    assert verdicts == {325: "accept", 1: "keep", 78: "keep", 91: "keep"}
    assert desk.describe(325)["decision"]["note"] == "sure"
    assert [one.verdict for one in desk.redo("Ann")] == ["drop"]
    assert len(desk.undo("Bob")) == 3


def test_taken_over_once_it_is_removed_and_a_copy_that_says_the_same_does_no_harm(old):
    copy = (old / "audit.json").read_bytes()
    for _ in range(2):
        assert len(AuditDesk(old).log) == 31
        assert not (old / "audit.json").exists()
        (old / "audit.json").write_bytes(copy)
    body = json.loads(copy)
    body["audit"]["answers"][0]["who"] = "Eve"
    (old / "audit.json").write_bytes(seal(body))
    assert_refused("holds another audit than 'decisions.sqlite' beside it: move one", AuditDesk, old)


def test_an_audit_of_another_run_is_refused(old):
    (old / "audit.json").write_bytes(seal(json.loads((OLD / "audit.json").read_bytes())))
    assert_refused("audit.json' is about another run than the one in its folder: move", ReviewDesk, old)


@pytest.mark.parametrize("change", [
    lambda data: data[: len(data) // 2], lambda data: data.replace(b'"yes"', b'"no"', 1),
    lambda data: data.replace(b'"Ann"', b'"Bob"', 1), lambda data: b"", lambda data: b"[]",
    lambda data: b"null", lambda data: b"\xff\xfe", lambda data: b"[" * 10**5, lambda data: b'{"a": NaN}',
    lambda data: seal(json.loads(data) | {"subsvms_audit": 2}),
    lambda data: seal(json.loads(data) | {"audit": {"state": {}}}),
])  # fmt: skip
def test_an_audit_that_somebody_changed_is_refused_and_stays(old, change):
    path = old / "audit.json"
    path.write_bytes(changed := change(path.read_bytes()))
    with pytest.raises(TableError, match=r"damaged, or somebody changed it \(.*\): restore it from a copy"):
        AuditDesk(old)
    assert path.read_bytes() == changed


def change_answer(audit, **values):
    audit["answers"][3] |= values


FORGED = {  # audits whose checksum is right, and that cannot be true
    "unknown label": lambda audit: change_answer(audit, label="maybe"),
    "row that was not asked": lambda audit: change_answer(audit, row=4),
    "row 0": lambda audit: change_answer(audit, row=0),
    "row beyond the table": lambda audit: change_answer(audit, row=10**9),
    "repeated row": lambda audit: change_answer(audit, row=audit["answers"][0]["row"]),
    "other seed": lambda audit: audit["state"].update(random_state=3),
    "other ranking": lambda audit: audit["state"].update(made_from="0" * 64),
    "too many answers": lambda audit: audit["state"].update(n_answers=10**6),
    "left out beyond the table": lambda audit: audit.update(left_out=[10**9]),
    "left out": lambda audit: audit.update(left_out=[1, 2]),
    "parameters of a wrong type": lambda audit: audit["state"].update(n_answers="many"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_audit_is_refused_in_one_sentence(old, what):
    body = json.loads((old / "audit.json").read_text())
    FORGED[what](body["audit"])
    (old / "audit.json").write_bytes(seal(body))
    said = assert_refused("does not fit the run in its folder (", AuditDesk, old)
    assert said.endswith(".") and len(said) < 400

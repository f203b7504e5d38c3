"""audit.json: written whole, read with suspicion."""

import json
import os
import stat
from dataclasses import replace

import pytest
from auditing import answer_all, person_of
from filelock import FileLock

from subsvms.app.desk import store
from subsvms.app.desk.audit import AuditDesk
from subsvms.app.desk.store import AuditFile, compute_digest, parse_book, render_book
from subsvms.exceptions import TableError

DAMAGED = (
    "is damaged, or somebody changed it ({}): restore it from a copy, because a second audit of a table "
    "would void the claim."
)


@pytest.fixture
def begun(made):
    desk = AuditDesk(made.folder)
    answer_all(desk, person_of(made.clean), most=12)
    return made.folder / "audit.json"


def seal(body):
    """Return the bytes of a file whose checksum is right, whatever it says."""
    body = {name: value for name, value in body.items() if name != "sha256"}
    return json.dumps(body | {"sha256": compute_digest(body)}).encode()


def test_what_is_written_is_read(begun):
    book = AuditFile(begun.parent).read()
    assert parse_book(render_book(book), "x") == book
    assert render_book(book) == begun.read_bytes()
    assert book.estimate is None and len(book.audit.answers) == 12
    assert {answer.who for answer in book.audit.answers} == {"Ann"}
    assert all(answer.at.endswith("+00:00") for answer in book.audit.answers)


@pytest.mark.parametrize("position", [0.1, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_off_is_refused(begun, position):
    data = begun.read_bytes()
    begun.write_bytes(data[: int(len(data) * position)])
    with pytest.raises(TableError, match="audit.json' is damaged, or somebody changed it .*: restore it"):
        AuditDesk(begun.parent)


@pytest.mark.parametrize(
    "old, new",
    [
        ('"label": "yes"', '"label": "no"'),
        ('"random_state": 0', '"random_state": 1'),
        ('"who": "Ann"', '"who": "Bob"'),
        ('"n_answers": 50', '"n_answers": 90'),
    ],
)
def test_a_file_that_was_changed_by_hand_is_refused(begun, old, new):
    text = begun.read_text()
    assert old in text
    begun.write_text(text.replace(old, new, 1))
    with pytest.raises(TableError) as refused:
        AuditDesk(begun.parent)
    assert str(refused.value) == f"{str(begun)!r} " + DAMAGED.format("its checksum is another")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 10**5, b'{"a": NaN}'])
def test_what_is_no_audit_is_refused(begun, data):
    begun.write_bytes(data)
    with pytest.raises(TableError, match="is damaged, or somebody changed it"):
        AuditDesk(begun.parent)


def test_a_later_format_is_refused(begun):
    begun.write_bytes(seal(json.loads(begun.read_text()) | {"subsvms_audit": 2}))
    with pytest.raises(TableError) as refused:
        AuditDesk(begun.parent)
    assert str(refused.value) == (
        f"{str(begun)!r} has format 2, but this version of subsvms reads format 1: use the version that "
        "began it."
    )


def change_answer(audit, **values):
    audit["answers"][3] |= values


FORGED = {  # files with a right checksum that cannot be true
    "unknown label": lambda audit: change_answer(audit, label="maybe"),
    "other label": lambda audit: change_answer(audit, label=None),
    "row that was not asked": lambda audit: change_answer(audit, row=4),
    "row 0": lambda audit: change_answer(audit, row=0),
    "row beyond the table": lambda audit: change_answer(audit, row=10**9),
    "repeated row": lambda audit: change_answer(audit, row=audit["answers"][0]["row"]),
    "answer left out": lambda audit: audit["answers"].pop(),
    "other seed": lambda audit: audit["state"].update(random_state=3),
    "other ranking": lambda audit: audit["state"].update(made_from="0" * 64),
    "other number": lambda audit: audit["state"].update(n_answers=60),
    "too many answers": lambda audit: audit["state"].update(n_answers=10**6),
    "state without answers": lambda audit: audit["state"].update(answers=[]),
    "left out beyond the table": lambda audit: audit.update(left_out=[10**9]),
    "left out": lambda audit: audit.update(left_out=[1, 2]),
    "wrong type": lambda audit: change_answer(audit, row="4"),
    "label of a wrong type": lambda audit: change_answer(audit, label=["yes"]),
    "no state": lambda audit: audit.pop("state"),
    "parameters of a wrong type": lambda audit: audit["state"].update(n_answers="many"),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_is_refused_in_one_sentence(begun, what):
    body = json.loads(begun.read_text())
    FORGED[what](body["audit"])
    begun.write_bytes(seal(body))
    with pytest.raises(TableError) as refused:
        AuditDesk(begun.parent)
    said = str(refused.value)
    assert said.startswith(repr(str(begun))) and said.endswith(".") and len(said) < 400
    assert "does not fit the run in its folder (" in said or "is damaged" in said


def test_a_desk_that_is_open_notices_a_change_and_stores_nothing(made):
    desk = AuditDesk(made.folder)
    question = desk.question("Ann")
    path = made.folder / "audit.json"
    path.write_bytes(data := path.read_bytes().replace(b'"random_state": 0', b'"random_state": 1'))
    with pytest.raises(TableError, match="is damaged"):
        desk.answer("Ann", question["row"], "yes", question["id"])
    assert path.read_bytes() == data
    path.unlink()
    with pytest.raises(TableError) as refused:
        desk.answer("Ann", question["row"], "yes", question["id"])
    assert str(refused.value) == f"{str(path)!r} was removed: restore it, or start again."
    assert not path.exists()


def test_an_older_copy_that_is_put_back_is_taken_as_it_is(begun):
    desk = AuditDesk(begun.parent)
    older = begun.read_bytes()
    question = desk.question("Ann")
    desk.answer("Ann", question["row"], "yes", question["id"])
    begun.write_bytes(older)
    assert desk.question("Ann")["id"] == 12
    assert desk.progress()["answers"] == AuditDesk(begun.parent).progress()["answers"]


def test_a_lock_that_is_held_for_long_is_reported(begun, monkeypatch):
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    desk = AuditDesk(begun.parent)
    question = desk.question("Ann")
    with FileLock(begun.parent / "audit.json.lock"):
        with pytest.raises(TableError) as refused:
            desk.answer("Ann", question["row"], "yes", question["id"])
    assert str(refused.value) == (
        f"{str(begun)!r} is being written by another process, so nothing was stored: try again."
    )
    desk.answer("Ann", question["row"], "yes", question["id"])


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_reported(begun):
    desk = AuditDesk(begun.parent)
    question = desk.question("Ann")
    begun.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(TableError, match="could not be"):
            desk.answer("Ann", question["row"], "yes", question["id"])
    finally:
        begun.parent.chmod(stat.S_IRWXU)


def test_an_answer_that_could_not_be_written_is_not_known_afterwards(begun, monkeypatch):
    desk = AuditDesk(begun.parent)
    question = desk.question("Ann")

    def fail(path, data):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as broken:
        broken.setattr(store, "write_whole", fail)
        with pytest.raises(TableError, match=r"\(No space left on device\): free some space"):
            desk.answer("Ann", question["row"], "yes", question["id"])
    assert desk.question("Ann") == question
    assert desk.answer("Ann", question["row"], "yes", question["id"])["label"] == "yes"


def test_nothing_is_written_without_a_change(begun):
    file, before = AuditFile(begun.parent), begun.stat().st_mtime_ns
    file.change(lambda book: book)
    assert begun.stat().st_mtime_ns == before
    file.change(lambda book: replace(book))
    assert begun.stat().st_mtime_ns > before

"""The file of what people decided: append-only, shared, and refused once it is not what was written."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from decision_books import Book
from nasty_texts import assert_refused

from subsvms.app.runs import history_file
from subsvms.app.runs.answer_store import Answer
from subsvms.app.runs.history_file import BEFORE, FORMAT, BrokenFile, holds_decisions, seal
from subsvms.app.tables.files import digest_file


def test_the_file_is_safe_to_share_and_its_history_cannot_be_changed(book):
    assert book.file.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert book.file.connection.execute("PRAGMA synchronous").fetchone() == (2,)  # full
    book.decide([(1, "accept", "yes")], who="Ann")
    for statement in ("DELETE FROM decisions", "UPDATE acts SET who = 'Eve'", "DELETE FROM acts"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            book.file.connection.execute(statement)


def forge(path, *statements):
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


EVE = "INSERT INTO acts (who, at) VALUES ('Eve', '')"


@pytest.mark.slow
@pytest.mark.parametrize("is_old", [False, True], ids=["new", "of version 0.1.0"])
def test_killed_at_any_moment_nothing_acknowledged_is_lost(run, is_old):
    path = run.with_name("decisions.sqlite")
    if is_old:
        make_old_file(path, *((row, "accept", '"yes"') for row in range(10**7, 10**7 + 5000)), run=run)
    code = (
        "import sys\nfrom pathlib import Path\nfrom subsvms.app.runs.answer_store import Act, AnswerStore\n"
        "book = AnswerStore(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "for i in range(1, 10**6):\n"
        "    book.decide_many([Act([(i, 'accept', 'yes')], 'Ann')])\n"
        "    print(i, flush=True)\n"
    )
    for _ in range(3):
        words = [sys.executable, "-c", code, path, run]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        acknowledged = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
        acknowledged += [int(line) for line in process.stdout.read().split()]
        process.wait()
        process.stdout.close()
        book = Book(path, run)
        assert set(acknowledged) <= set(book.current)
        assert not is_old or len(book.current.keys() & set(range(10**7, 10**7 + 5000))) == 5000
        book.close()


@pytest.mark.parametrize("damage", [
    "CREATE TABLE more (a)", "DROP TRIGGER acts_stay", "PRAGMA user_version = 99", "PRAGMA user_version = 2",
    f"INSERT INTO decisions VALUES (1, 2, 'accept', '\"a\"', '{'x' * 3000}')",
    "INSERT INTO decisions VALUES (1, 2, 'drop', '\"a\"', NULL)",  # a row that is left out has no label
], ids=range(6))  # fmt: skip
def test_a_tampered_file_is_refused_in_a_sentence(book, damage):
    book.decide([(1, "accept", "yes")], who="Ann")
    book.close()
    forge(book.file.path, damage)
    with pytest.raises(BrokenFile, match="or it is damaged"):
        Book(book.file.path)


def test_a_folder_where_the_file_should_be_is_refused(tmp_path):
    assert_refused("cannot be written or read", Book, tmp_path)


@pytest.fixture
def run(tmp_path):
    """The run.json of a folder."""
    (tmp_path / "a.subsvms").mkdir()
    (tmp_path / "a.subsvms" / "run.json").write_text("{}")
    return tmp_path / "a.subsvms" / "run.json"


def open_book(run, **options):
    return Book(run.with_name("decisions.sqlite"), run, **options)


def test_who_only_reads_makes_no_file_and_cannot_decide(run):
    book = open_book(run, create=False)
    assert not book.current and not book.history
    with pytest.raises(BrokenFile, match="so nothing was stored"):
        book.decide([(7, "accept", "yes")], who="Ann")
    book.close()
    assert list(run.parent.iterdir()) == [run]
    made = open_book(run)
    made.decide([(7, "accept", "yes")], who="Ann")
    made.close()
    book = open_book(run, create=False)
    assert book.current[7].label == "yes"


def remove(folder):
    for path in folder.glob("decisions.sqlite*"):
        path.unlink()


def replace_folder(folder):
    os.rename(folder, folder.with_name("old"))
    shutil.copytree(folder.with_name("old"), folder)


def overwrite(folder):
    other = Book(folder.parent / "other.sqlite")
    other.decide([(5, "accept", "yes")], who="Eve")
    other.close()
    shutil.copyfile(folder.parent / "other.sqlite", folder / "decisions.sqlite")


def go_back(folder):
    """Copy a backup over all files, as a person does who wants to undo much."""
    for path in (folder.parent / "backup").glob("decisions.sqlite*"):
        shutil.copyfile(path, folder / path.name)


DISPLACED = {
    "removed": remove,
    "log removed": lambda folder: (folder / "decisions.sqlite-wal").unlink(),
    "file moved": lambda folder: os.rename(folder / "decisions.sqlite", folder / "mine.sqlite"),
    "folder moved": lambda folder: os.rename(folder, folder.with_name("elsewhere")),
    "folder replaced": replace_folder,
    "overwritten": overwrite,
    "backup restored": go_back,
    "emptied": lambda folder: os.truncate(folder / "decisions.sqlite", 0),
    "another run": lambda folder: (folder / "run.json").write_text("[]"),
    "run removed": lambda folder: (folder / "run.json").unlink(),
}


@pytest.mark.parametrize("moment", ["before", "while"])
@pytest.mark.parametrize("name", DISPLACED)
def test_what_cannot_be_found_again_is_not_acknowledged(run, name, moment):
    earlier = open_book(run)
    earlier.decide([(1, "accept", "yes")], who="Ann")
    earlier.close()
    shutil.copytree(run.parent, run.parent.with_name("backup"))
    book = open_book(run)
    book.decide([(2, "accept", "yes")], who="Ann")
    book.file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if moment == "before":
        DISPLACED[name](run.parent)
        with pytest.raises(BrokenFile, match="moved, removed or replaced while it was open"):
            book.decide([(3, "keep", "no")], who="Ann")
    else:
        with pytest.raises(BrokenFile), book.file.transaction() as connection:
            connection.execute("INSERT INTO acts (who, at) VALUES ('Ann', '')")
            DISPLACED[name](run.parent)
    with pytest.raises(BrokenFile):
        book.refresh()
    assert set(book.current) == {1, 2}


def test_a_folder_that_comes_back_can_be_used_again(run):
    book = open_book(run)
    os.rename(run.parent, run.parent.with_name("elsewhere"))
    with pytest.raises(BrokenFile):
        book.undo(who="Ann")
    os.rename(run.parent.with_name("elsewhere"), run.parent)
    run.write_text("{}")  # the same once more
    assert book.decide([(1, "accept", "yes")], who="Ann") == 1


def test_the_log_may_move_into_the_file_at_any_time(run):
    book, other = open_book(run), open_book(run)
    for row in range(1, 20):
        (book, other)[row % 2].decide([(row, "accept", "yes")], who="Ann")
        (book, other)[row % 3 % 2].file.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    book.refresh()
    assert len(book.current) == 19


def test_a_full_disk_is_reported_and_what_was_stored_before_stays(run):
    book = open_book(run)
    book.decide([(1, "accept", "yes")], who="Ann")
    book.file.connection.execute("PRAGMA max_page_count = 1")
    with pytest.raises(BrokenFile, match="disk is full.*check the free space"):
        book.decide([(row, "accept", "x" * 1000) for row in range(2, 100)], who="Ann")
    book.file.connection.execute("PRAGMA max_page_count = 100000")
    book.decide([(2, "keep", "no")], who="Ann")
    assert set(book.current) == {1, 2}


def make_old_file(path, *lines, run):
    """Write a file as version 0.1.0 did."""
    forge(
        path, *history_file.SCHEMAS[BEFORE], f"PRAGMA user_version = {BEFORE}",
        f"PRAGMA application_id = {history_file.APPLICATION}",
        f"INSERT INTO run VALUES (1, '{digest_file(run)}')",
        "INSERT INTO acts (who, at) VALUES ('Ann', '2026-01-01T00:00:00.000+00:00')",
    )  # fmt: skip
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO decisions VALUES (1, ?, ?, ?, NULL)", lines)


def test_a_file_of_version_0_1_0_gets_audits_when_it_is_opened(run):
    path = run.with_name("decisions.sqlite")
    make_old_file(path, (1, "accept", '"yes"'), (2, "skip", "null"), run=run)
    assert holds_decisions(path)
    books = [open_book(run, rows=range(1, 9), labels=["yes", "no"]) for _ in range(2)]
    assert books[0].file.connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
    books[0].decide([(2, "drop", None, "torn page")], who="Bob")
    with books[1].changing() as connection:
        books[1].begin(connection, "audit", {"seed": 3})
    books[0].refresh()
    assert books[0].begun == books[1].begun == {"audit": {"seed": 3}}
    assert books[0].given_labels == books[1].given_labels == {1: "yes", 2: None}
    test_the_file_is_safe_to_share_and_its_history_cannot_be_changed(books[1])


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "of version 0.1.0"])
def test_a_file_about_another_run_is_left_alone(run, is_old):
    path = run.with_name("decisions.sqlite")
    make_old_file(path, (1, "accept", '"yes"'), run=run) if is_old else open_book(run).close()
    run.write_text('{"other": 1}')
    with pytest.raises(BrokenFile, match="about another run than the one in its folder"):
        open_book(run)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("PRAGMA user_version").fetchone()
    assert found == (BEFORE if is_old else FORMAT,)


@pytest.mark.parametrize("table, change", [
    ("answers", "label = '\"no\"'"), ("answers", "row = 5"), ("answers", "part = 'estimate'"),
    ("acts", "who = 'Bob'"), ("acts", "at = '2025-01-01'"), ("audits", "begun = '{\"seed\": 1}'"),
])  # fmt: skip
def test_an_answer_that_somebody_changed_is_noticed(run, table, change):
    book = open_book(run)
    with book.changing() as connection:
        book.begin(connection, "audit", {"seed": 0})
    with book.changing() as connection:
        book.answer(connection, "audit", [Answer(4, "yes", "Ann", "2026-01-01")])
    book.close()
    (kept,) = [one for one in history_file.SCHEMAS[FORMAT] if f" {table}_stay " in one]
    forge(book.file.path, f"DROP TRIGGER {table}_stay", f"UPDATE {table} SET {change}", kept)
    with pytest.raises(BrokenFile, match="damaged .somebody changed an answer.*: restore it"):
        open_book(run)


def test_a_file_whose_text_is_not_utf_8_is_refused_and_closed(run):
    book = open_book(run)
    book.decide([(row, "accept", "yes") for row in range(1, 4)], who="Ann")
    book.close()
    path = book.file.path
    path.write_bytes(path.read_bytes().replace(b'"yes"', b'"\xffes"'))
    with pytest.raises(BrokenFile, match="Could not decode to UTF-8"):
        open_book(run)
    assert not list(path.parent.glob("*-wal")) + list(path.parent.glob("*-shm"))


def test_an_answer_in_an_audit_that_nobody_began_is_noticed(run):
    open_book(run).close()
    forged = (1, "audit", 4, '"yes"', seal("", 4, '"yes"', "Eve", ""))
    forge(run.with_name("decisions.sqlite"), EVE, f"INSERT INTO answers VALUES {forged}")
    with pytest.raises(BrokenFile, match="somebody changed an answer"):
        open_book(run)


LABELS = ['"zzz"', '["yes"]', '{"yes": 1}', "1", "true", "null", json.dumps("x" * 10**6), "[" * 10**5, "NaN"]
KNOWN = {"rows": range(1, 9), "labels": ["yes", "no"]}
REFUSED = [(1, text, KNOWN, "row 1 has .*restore it") for text in LABELS]
REFUSED += [(1, text, {}, "or it is damaged") for text in ('["yes"]', "[" * 10**5, "no JSON", None)]
REFUSED += [(1, "true", {"labels": [0, 1]}, "not a class"), (9, '"yes"', KNOWN, "row 9 is not an issue")]


@pytest.mark.parametrize("row, text, known, sentence", REFUSED, ids=range(len(REFUSED)))
def test_a_label_or_a_row_that_is_not_of_the_run_is_refused(run, row, text, known, sentence):
    make_old_file(run.with_name("decisions.sqlite"), (row, "label", text), run=run)
    with pytest.raises(BrokenFile, match=sentence) as caught:
        open_book(run, **known)
    assert len(str(caught.value)) < 500


def test_what_a_stranger_adds_while_the_file_is_open_is_refused_each_time(run):
    book = open_book(run, **KNOWN)
    forge(book.file.path, EVE, "INSERT INTO decisions VALUES (1, 1, 'label', '[]', NULL)")
    for _ in range(2):
        with pytest.raises(BrokenFile, match="not a class"):
            book.decide([(2, "label", "no")], who="Ann")


@pytest.mark.parametrize("content", [b",", b"SQLite format 2", b"x" * 1000])
def test_a_file_that_is_not_a_database_is_refused_and_stays(tmp_path, content):
    """SQLite takes a file of one byte for an empty one, and would replace it."""
    path = tmp_path / "decisions.sqlite"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a SQLite database"):
        Book(path)
    assert path.read_bytes() == content


def test_an_empty_file_holds_no_decisions(tmp_path):
    path = tmp_path / "decisions.sqlite"
    assert not holds_decisions(path)
    path.touch()
    assert not holds_decisions(path)
    book = Book(path)
    assert not holds_decisions(path)
    book.decide([(1, "skip", None)], who="Ann")
    assert holds_decisions(path)
    book.close()
    path.write_bytes(b"anything")
    assert holds_decisions(path)


def copy_files(book, folder):
    """Copy the files of decisions as they are while a review is open, as if it had been killed."""
    folder.mkdir()
    for path in book.file.path.parent.glob("decisions.sqlite*"):
        shutil.copy(path, folder)
    return folder / "decisions.sqlite"


def read_all(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 0), os.remove], ids=["emptied", "removed"])
def test_decisions_in_the_log_of_an_emptied_file_are_counted_and_left_alone(book, tmp_path, damage):
    book.decide([(1, "accept", "yes")], who="Ann")
    path = copy_files(book, tmp_path / "copy")
    damage(path)
    before = read_all(path.parent)
    assert holds_decisions(path)
    with pytest.raises(BrokenFile, match="'decisions.sqlite-wal' beside it .*: restore the file"):
        Book(path)
    assert read_all(path.parent) == before and before["decisions.sqlite-wal"]


def test_a_file_that_is_emptied_while_it_is_open_keeps_its_log(book):
    book.decide([(1, "accept", "yes")], who="Ann")
    log = book.file.path.with_name("decisions.sqlite-wal")
    before = log.read_bytes()
    os.truncate(book.file.path, 0)
    with pytest.raises(BrokenFile):
        book.decide([(2, "accept", "yes")], who="Ann")
    assert log.read_bytes() == before


def test_looking_for_decisions_leaves_no_file_behind(book, tmp_path):
    book.decide([(1, "accept", "yes")], who="Ann")
    path = copy_files(book, tmp_path / "killed")
    moved = copy_files(book, tmp_path / "moved")
    moved.with_name("decisions.sqlite-shm").unlink()
    book.close()
    for one in (path, moved, book.file.path):
        before = sorted(one.parent.iterdir())
        assert holds_decisions(one) and sorted(one.parent.iterdir()) == before


def misspell(data):
    """Make SQLite's message about the schema end in bytes that are not UTF-8."""
    return data.replace(b"acts_stay", b"acts_st\xb7y").replace(
        b"BEFORE UPDATE ON acts", b"BEFORE UPDATX ON acts"
    )


@pytest.mark.parametrize(
    "damage", [misspell, lambda data: data[:18000] + data[18500:]], ids=["name", "slice"]
)
def test_damage_is_reported_in_one_line(book, damage):
    book.decide([(row, "accept", "x" * 50) for row in range(500)], who="Ann")
    book.close()
    book.file.path.write_bytes(damage(book.file.path.read_bytes()))
    with pytest.raises(BrokenFile, match="or it is damaged") as caught:
        Book(book.file.path)
    assert "\n" not in str(caught.value) and holds_decisions(book.file.path)

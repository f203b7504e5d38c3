"""What people decided: append-only, shared, and never lost once acknowledged."""

import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsvms.app.runs.decisions import Act, Decisions, NothingToUndo, check_name
from subsvms.exceptions import TableError


@pytest.fixture
def book(tmp_path):
    made = Decisions(tmp_path / "decisions.sqlite")
    yield made
    made.close()


def replay(acts):
    """The obvious version: keep a list of acts, and look through it from the end."""
    undone = {act["undoes"] for act in acts if act["undoes"]}
    current = {}
    for number, act in enumerate(acts, 1):
        if not act["undoes"] and number not in undone:
            current |= {row: (verdict, label) for row, verdict, label in act["decided"]}
    return {row: label for row, (verdict, label) in current.items() if verdict != "skip"}


VERDICTS, PEOPLE = st.sampled_from(["accept", "keep", "skip"]), st.sampled_from(["Ann", "Bob"])
DECIDE = st.tuples(
    st.just("decide"), PEOPLE, st.dictionaries(st.integers(1, 5), VERDICTS, min_size=1, max_size=4)
)
STEPS = st.lists(st.one_of(DECIDE, st.tuples(st.just("undo"), PEOPLE, st.none())), max_size=15)


@given(steps=STEPS)
def test_any_history_leads_to_what_a_plain_replay_says(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("book") / "d.sqlite"
    book, acts = Decisions(path), []
    for kind, who, rows in steps:
        if kind == "decide":
            decided = [(row, verdict, f"{verdict}{len(acts)}") for row, verdict in rows.items()]
            book.decide(decided, who=who)
            acts.append({"who": who, "decided": decided, "undoes": None})
            continue
        undone = {act["undoes"] for act in acts}
        own = [n for n, a in enumerate(acts, 1) if a["who"] == who and not a["undoes"] and n not in undone]
        if not own:
            with pytest.raises(NothingToUndo):
                book.undo(who=who)
        else:
            book.undo(who=who)
            acts.append({"who": who, "decided": [], "undoes": own[-1]})
    expected = replay(acts)
    assert {row: decision.label for row, decision in book.current.items()} == expected
    book.close()
    again = Decisions(path)
    assert {row: decision.label for row, decision in again.current.items()} == expected
    assert len(again.history()) == len(acts)
    again.close()


def test_history_cannot_be_changed(book):
    book.decide([(1, "accept", "yes")], who="Ann")
    for statement in ("DELETE FROM decisions", "UPDATE acts SET who = 'Eve'", "DELETE FROM acts"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            book.file.connection.execute(statement)


def test_two_processes_see_each_other(book):
    other = Decisions(book.file.path)
    book.decide([(1, "accept", "yes")], who="Ann")
    assert other.refresh() == [1] and other.current[1].who == "Ann"
    other.decide([(1, "keep", "no"), (2, "accept", "yes")], who="Bob")
    assert book.current[1].who == "Ann"
    book.refresh()
    assert book.current[1].who == "Bob" and book.touched(1) == [1, 2] and book.touched(2) == []
    other.undo(who="Bob")
    book.refresh()
    assert book.current[1].who == "Ann" and 2 not in book.current
    other.close()


def test_many_threads_lose_nothing(book):
    books = [Decisions(book.file.path) for _ in range(4)]

    def work(number):
        for i in range(25):
            books[number].decide([(100 * number + i, "accept", "yes")], who=f"P{number}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    book.refresh()
    assert len(book.current) == 100 and len(book.history()) == 100
    for one in books:
        one.close()


def test_several_acts_in_one_commit_stay_several(book):
    assert book.decide_many([Act([(1, "accept", "a")], "Ann"), Act([(1, "keep", "b")], "Bob")]) == [1, 2]
    book.undo(who="Bob")
    assert book.current[1].label == "a"


@pytest.mark.slow
def test_killed_at_any_moment_nothing_acknowledged_is_lost(tmp_path):
    path = tmp_path / "d.sqlite"
    code = (
        "import sys\nfrom subsvms.app.runs.decisions import Decisions\n"
        "book = Decisions(sys.argv[1])\n"
        "for i in range(1, 10**6):\n"
        "    book.decide([(i, 'accept', 'yes')], who='Ann')\n"
        "    print(i, flush=True)\n"
    )
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE, text=True)
        acknowledged = [int(process.stdout.readline()) for _ in range(20)]
        process.kill()
        acknowledged += [int(line) for line in process.stdout.read().split()]
        process.wait()
        process.stdout.close()
        book = Decisions(path)
        assert set(acknowledged) <= set(book.current)
        book.close()


@pytest.mark.parametrize("damage", ["text", "schema", "trigger", "version", "label", "folder"])
def test_a_tampered_file_is_refused_in_a_sentence(tmp_path, damage):
    path = tmp_path / "d.sqlite"
    book = Decisions(path)
    book.decide([(1, "accept", "yes")], who="Ann")
    book.close()
    if damage == "text":
        path.write_bytes(b"hello, world" * 100)
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        statements = {
            "schema": "CREATE TABLE more (a)",
            "trigger": "DROP TRIGGER acts_stay",
            "version": "PRAGMA user_version = 99",
            "label": "INSERT INTO decisions VALUES (1, 2, 'accept', 'no JSON')",
        }
        with sqlite3.connect(path) as connection:
            connection.execute(statements[damage])
        connection.close()
    words = "cannot be written or read" if damage == "folder" else "or it is damaged"
    with pytest.raises(TableError, match=words):
        Decisions(path)


@pytest.mark.parametrize("name", ["", "   ", None, 3, "x" * 61, "a\nb", "a\x00"])
def test_a_name_is_a_short_line(name):
    with pytest.raises(TableError, match="A name must have"):
        check_name(name)


def test_the_file_is_safe_to_share(book):
    assert book.file.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert book.file.connection.execute("PRAGMA synchronous").fetchone() == (2,)  # full
    assert os.path.exists(book.file.path)

"""What people decided: append-only, shared, and never lost once acknowledged."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from decision_books import Book
from hypothesis import example, given
from hypothesis import strategies as st
from nasty_texts import assert_refused

from subsvms.app.runs.answer_store import Act, Answer, Conflict, NothingToUndo, check_name
from subsvms.exceptions import TableError


def replay(acts):
    """The obvious version: keep a list of acts, and look through it from the end."""
    undone = {act["undoes"] for act in acts if act["undoes"]}
    current = {}
    for number, act in enumerate(acts, 1):
        if act["decided"] and number not in undone:
            current |= {row: (verdict, label) for row, verdict, label in act["decided"]}
    return {row: label for row, (verdict, label) in current.items() if verdict != "skip"}


def find_undone(acts, who):
    """Return the last undo of a person that can be taken back: nothing was decided since."""
    taken = {act["undoes"] for act in acts}
    for number, act in reversed(list(enumerate(acts, 1))):
        if act["who"] == who and act["decided"] and not act["undoes"]:
            return None
        if act["who"] == who and act["undoes"] and not act["decided"] and number not in taken:
            return number
    return None


VERDICTS, PEOPLE = st.sampled_from(["accept", "keep", "skip"]), st.sampled_from(["Ann", "Bob"])
DECIDE = st.tuples(
    st.just("decide"), PEOPLE, st.dictionaries(st.integers(1, 5), VERDICTS, min_size=1, max_size=4)
)
BACK = st.tuples(st.sampled_from(["undo", "redo"]), PEOPLE, st.none())
STEPS = st.lists(st.one_of(DECIDE, BACK), max_size=20)


@given(steps=STEPS)
@example(  # what Bob decided between Ann's decision and her undo stands, too
    steps=[
        ("decide", "Ann", {1: "accept", 2: "accept"}), ("decide", "Bob", {2: "accept"}),
        ("undo", "Ann", None), ("decide", "Bob", {1: "accept"}), ("redo", "Ann", None),
    ]
)  # fmt: skip
def test_any_history_leads_to_what_a_plain_replay_says(tmp_path_factory, steps):
    path = tmp_path_factory.mktemp("book") / "d.sqlite"
    book, acts = Book(path), []
    for kind, who, rows in steps:
        if kind == "decide":
            decided = [(row, verdict, f"{verdict}{len(acts)}") for row, verdict in rows.items()]
            book.decide(decided, who=who)
            acts.append({"who": who, "decided": decided, "undoes": None})
            continue
        undone = {act["undoes"] for act in acts}
        own = [n for n, a in enumerate(acts, 1) if a["who"] == who and a["decided"] and n not in undone]
        target = own[-1] if kind == "undo" and own else find_undone(acts, who) if kind == "redo" else None
        if target is None:
            with pytest.raises(NothingToUndo):
                getattr(book, kind)(who=who)
            continue
        again = [] if kind == "undo" else acts[acts[target - 1]["undoes"] - 1]["decided"]
        try:
            getattr(book, kind)(who=who)
        except Conflict as conflict:
            assert {one.row for one in conflict.theirs} <= {line[0] for line in again}
            assert all(one.who != who and one.act > acts[target - 1]["undoes"] for one in conflict.theirs)
        else:
            acts.append({"who": who, "decided": again, "undoes": target})
    expected = replay(acts)
    assert {row: decision.label for row, decision in book.current.items()} == expected
    book.close()
    again = Book(path)
    assert {row: decision.label for row, decision in again.current.items()} == expected
    assert len(again.history) == len(acts)


def test_redo_decides_again_what_was_undone_until_something_new_is_decided(book):
    book.decide([(1, "accept", "yes", "sure")], who="Ann")
    book.decide([(1, "keep", "no"), (2, "drop", None)], who="Ann")
    for _ in range(2):  # there and back, twice
        book.undo(who="Ann")
        book.undo(who="Ann")
        assert book.current == {}
        assert [one.row for one in book.redo(who="Ann")] == [1] and book.current[1].note == "sure"
        assert [one.row for one in book.redo(who="Ann")] == [1, 2]
        assert book.current[1].label == "no" and book.current[2].verdict == "drop"
        with pytest.raises(NothingToUndo):
            book.redo(who="Ann")
    book.undo(who="Ann")
    book.decide([(3, "skip", None)], who="Ann")
    with pytest.raises(NothingToUndo):
        book.redo(who="Ann")


def test_redo_never_replaces_what_others_decided_before_the_undo(book):
    both = [Act([(1, "accept", "yes")], "Ann"), Act([(1, "keep", "no")], "Bob")]
    assert book.decide_many(both) == [1, 2]
    book.undo(who="Ann")
    with pytest.raises(Conflict):
        book.redo(who="Ann")
    assert book.current[1].label == "no"
    book.undo(who="Bob")  # of several acts in one commit, each can be undone alone
    assert book.current == {}


def test_redo_never_replaces_what_others_decided_since_the_undo(book):
    book.decide([(1, "accept", "yes")], who="Ann")
    book.undo(who="Ann")
    other = Book(book.file.path)
    other.decide([(1, "keep", "no")], who="Bob")
    with pytest.raises(Conflict) as caught:
        book.redo(who="Ann")
    assert caught.value.theirs[0].who == "Bob" and book.current[1].label == "no"
    other.undo(who="Bob")
    book.redo(who="Ann")
    other.refresh()
    assert other.current == book.current and book.current[1].who == "Ann"
    asked = Act([(1, "keep", "no")], "Cid", seen=4), Act([(1, "drop", None)], "Ann", seen=4)
    beside, conflict = other.decide_many(list(asked))
    assert beside == 6 and isinstance(conflict, Conflict)  # who decided, and has seen only the undo, is asked


@pytest.mark.parametrize("note", ["x" * 2001, "x" * 10**7, 7, ["x"], "\ud800", "a\0b"])
def test_a_note_is_text_that_is_not_too_long(book, note):
    with pytest.raises(TableError, match="A note is text of at most 2,000 characters") as caught:
        book.decide([(1, "accept", "yes", note)], who="Ann")
    assert book.history == [] and len(str(caught.value)) < 300


def test_two_processes_see_each_other(book):
    other = Book(book.file.path)
    book.decide([(1, "accept", "yes")], who="Ann")
    assert other.refresh() == [1] and other.current[1].who == "Ann"
    other.decide([(1, "keep", "no"), (2, "accept", "yes")], who="Bob")
    assert book.current[1].who == "Ann"
    book.refresh()
    assert book.current[1].who == "Bob" and book.touched(1) == [1, 2] and book.touched(2) == []
    other.undo(who="Bob")
    book.refresh()
    assert book.current[1].who == "Ann" and 2 not in book.current
    (answer,) = book.decide_many([Act([(1, "keep", "no"), (2, "keep", "no")], "Bob", seen=0)])
    assert isinstance(answer, Conflict) and 2 not in book.current


def test_many_threads_lose_nothing(book):
    books = [Book(book.file.path) for _ in range(4)]

    def work(number):
        for i in range(25):
            books[number].decide([(100 * number + i, "accept", "yes")], who=f"P{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    book.refresh()
    assert len(book.current) == 100 and len(book.history) == 100


@pytest.mark.parametrize("name", ["", "   ", None, 3, "x" * 61, "a\nb", "a\x00"])
def test_a_name_is_a_short_line(name):
    assert_refused("A name must have", check_name, name)


def test_answers_are_kept_in_their_order_beside_decisions(book):
    other = Book(book.file.path)
    answers = [Answer(4, "yes", "Ann", "2026-01-01"), Answer(2, None, "Bob", "2026-01-02")]
    with book.changing() as connection:
        book.begin(connection, "audit", {})
        book.begin(connection, "estimate", {})
    book.decide([(4, "accept", "no")], who="Ann")
    book.undo(who="Ann")
    for one in (other, book):
        with one.changing() as connection:
            one.answer(connection, "audit", answers)
    assert [len(act.lines) for act in book.history] == [1, 0, 0, 0, 0, 0]
    assert [one.label for one in book.redo(who="Ann")] == ["no"]  # an answer is no reason to forget
    other.refresh()
    assert book.answers == other.answers == {"audit": answers * 2, "estimate": []}


def test_answers_that_are_not_all_stored_are_not_stored_at_all(book):
    with book.changing() as connection:
        book.begin(connection, "audit", {})
    with pytest.raises(ZeroDivisionError):
        with book.changing() as connection:
            book.answer(connection, "audit", [Answer(4, "yes", "Ann", "2026-01-01")])
            1 / 0  # noqa: B018
    book.refresh()
    assert book.answers == {"audit": []} and book.history == []


def test_nothing_is_stored_that_could_not_be_read_again(tmp_path):
    book = Book(tmp_path / "decisions.sqlite", rows=range(1, 9), labels=["yes", "no"])
    for line in ((1, "label", "maybe"), (9, "label", "yes"), (1, "accept", None)):
        with pytest.raises(ValueError):
            book.decide([line], who="Ann")
    assert book.history == []


def test_what_two_decide_at_once_is_stored_side_by_side_and_whoever_knew_is_asked(book):
    decided = [Act([(1, "accept", "yes")], "Ann", seen=0), Act([(1, "keep", "no")], "Bob", seen=0)]
    assert book.decide_many(decided) == [1, 2]
    assert [(one.who, one.label) for one in book.stacks[1]] == [("Ann", "yes"), ("Bob", "no")]
    knowing = [
        Act([(1, "drop", None)], who, seen=1) for who in ("Ann", "Cid")
    ]  # Cid may know that two differ
    for asked in book.decide_many(knowing):
        assert isinstance(asked, Conflict) and asked.theirs[0].who == "Bob"
    several = Act([(1, "drop", None), (2, "drop", None)], "Dan", seen=0)  # at once: nobody looked at each
    assert isinstance(book.decide_many([several])[0], Conflict)


def test_nobody_is_asked_about_the_same_decision_a_skipped_row_or_what_was_taken_back(book):
    book.decide([(1, "accept", "yes"), (2, "skip", None), (3, "keep", "no")], who="Ann")
    book.decide([(3, "accept", "yes")], who="Ann")
    book.undo(who="Ann")
    book.undo(who="Ann")
    book.decide([(1, "accept", "yes"), (2, "skip", None)], who="Ann")
    decided = [(1, "accept", "yes"), (2, "keep", "no"), (3, "accept", "yes")]
    assert book.decide_many([Act(decided, "Bob", seen=0)]) == [6]


def test_a_request_that_is_sent_again_is_stored_once(book):
    act = Act([(1, "accept", "yes"), (2, "skip", None)], "Bob", seen=0)
    assert book.decide_many([act, act]) == [1, 1] and book.decide_many([act]) == [1]
    noted = Act([(1, "accept", "yes", "looked twice")], "Ann", seen=0)  # no reason to ask or to forget
    assert book.decide_many([noted, noted]) == [2, 2]
    assert book.current[1].note == "looked twice" and len(book.history) == 2


def test_who_keeps_the_decisions_of_others_decides_only_the_other_rows(book):
    book.decide([(1, "accept", "yes")], who="Ann")
    mine = [(1, "keep", "no"), (2, "keep", "no")]
    assert book.decide_many([Act(mine, "Bob", seen=0, keep_theirs=True)]) == [2]
    assert {row: one.who for row, one in book.current.items()} == {1: "Ann", 2: "Bob"}
    assert book.decide_many([Act(mine[:1], "Bob", seen=0, keep_theirs=True)]) == [1]

"""A SQLite database is read by a query that can do nothing else, and comes back as Parquet."""

import sqlite3

import pytest
from nasty_texts import assert_refused, write
from pyarrow import parquet

from subsvms.app.tables.sqlite import JOURNAL
from subsvms.app.tables.table import place_beside, read_table, write_table

LOANS = "create table loans (id integer primary key, amount real, note, label text)"
ROWS = "insert into loans values (1, 1.5, 'a', 'no'), (2, null, 7, 'yes'), (3, 2, x'ff', null)"


def make(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements or (LOANS, ROWS):
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("name", ["t.db", "t.sqlite", "t.sqlite3", "t.odd"])
def test_the_only_table_is_read(tmp_path, name):
    read = read_table(make(tmp_path / name), "label")
    assert read.format == "sqlite" and read.labels.tolist() == ["no", "yes", None]
    assert read.columns.to_pydict() == {
        "id": [1, 2, 3], "amount": [1.5, None, 2.0], "note": ["a", "7", "ff"], "label": ["no", "yes", None],
    }  # fmt: skip
    assert read.notes == ("SQLite is read, but not written: the result is a Parquet file.",)
    assert place_beside(read, "corrupted").suffix == ".parquet"
    write_table(read, tmp_path / "new.parquet", ["yes"] * 3)
    assert parquet.read_table(tmp_path / "new.parquet")["label"].to_pylist() == ["yes"] * 3


def test_of_several_tables_the_only_one_with_the_label_is_read_and_named(tmp_path):
    path = make(tmp_path / "t.db", "create table people (id, name)", LOANS, ROWS)
    read = read_table(path, "label")
    assert read.labels.tolist() == ["no", "yes", None]
    assert read.notes[0] == (
        f"Only the table 'loans' of {str(path)!r} has the column 'label': it was read, and 'people' was not."
    )
    chosen = read_table(path, "label", query="select * from loans")
    assert chosen.columns.equals(read.columns) and chosen.notes == read.notes[1:]


def test_a_query_chooses_rows_and_columns(tmp_path):
    few = "with few as (select * from loans where label is not null)"
    query = f"{few} select amount as a, label from few order by 1"
    read = read_table(make(tmp_path / "t.db"), "label", query=query)
    assert read.columns.to_pydict() == {"a": [None, 1.5], "label": ["yes", "no"]}


def test_a_database_with_a_log_is_read_once_the_log_is_in_it(tmp_path):
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    for statement in ("pragma journal_mode = wal", LOANS, ROWS):
        connection.execute(statement)
    connection.commit()
    message = "has changes in 't.db-wal' that are not in it yet: close the program that uses it."
    assert_refused(message, read_table, path, "label")
    connection.close()
    assert len(read_table(path, "label")) == 3


def test_a_database_that_is_being_changed_is_refused(tmp_path):
    path = make(tmp_path / "t.db")
    journal = tmp_path / "t.db-journal"
    journal.write_bytes(b"")
    assert len(read_table(path, "label")) == 3
    journal.write_bytes(bytes(512))  # as one that is kept, but done with
    assert len(read_table(path, "label")) == 3
    journal.write_bytes(JOURNAL + bytes(504))
    message = (
        "has changes that are not finished, as 't.db-journal' says: close the program that uses it, or open "
        "and close it there if that program was stopped."
    )
    assert_refused(message, read_table, path, "label")


def test_a_view_is_read_only_if_asked_for(tmp_path):
    path = make(tmp_path / "t.db", LOANS, ROWS, "create view few as select * from loans where id < 3")
    assert len(read_table(path, "label")) == 3
    assert len(read_table(path, "label", query="select * from few")) == 2


def test_what_gives_no_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("one.db")
    make("two.db", LOANS, ROWS, "create table other (a)")
    make("same.db", LOANS, ROWS, "create table other (a, label)")
    make("far.db", "create table loans (id, Label)", "create table other (a)")
    make("none.db", "create table a (b)", "drop table a")
    make("mixed.db", "create table t (label)", "insert into t values (1), ('1')")
    write(tmp_path, b"no database", "text.db")
    write(tmp_path, (tmp_path / "one.db").read_bytes()[:5000].ljust(8192, b"\x07"), "bad.db")
    write(tmp_path, "a,label\n1,x\n2,y\n")
    for name, query, message in [
        (
            "same.db",
            None,
            "'same.db' has the column 'label' in the tables 'loans', 'other': choose one, as with --query "
            "'select * from \"loans\"'.",
        ),
        (
            "far.db",
            None,
            "'far.db' has no table with a column 'label'; its tables and their columns are 'loans' ('id', "
            "'Label'); 'other' ('a'); did you mean 'Label'?",
        ),
        ("none.db", None, "'none.db' has no tables: choose another database."),
        ("two.db", "select * from other", "'two.db' has no column 'label': its columns are 'a'."),
        (
            "one.db",
            "select * from loans where 0",
            "'one.db' gives no rows: a table needs at least one of each",
        ),
        (
            "one.db",
            "selekt 1",
            '--query cannot be answered (near "selekt": syntax error): fix it, and try again.',
        ),
        (
            "one.db",
            "select * from lones",
            "--query cannot be answered (no such table: lones): fix it, and try",
        ),
        ("one.db", "", "--query gives no table: write a query that starts with select."),
        (
            "one.db",
            "select 1; select 2",
            "--query cannot be answered (You can only execute one statement at a",
        ),
        (
            "mixed.db",
            None,
            "'mixed.db' has numbers and text in its label column 'label': use one type for all.",
        ),
        ("text.db", None, "'text.db' is not a SQLite database, or it is protected with a password."),
        ("bad.db", None, "bad.db' is a damaged database"),
        (
            "t.csv",
            "select 1",
            "--query is for databases, but 't.csv' is read as CSV: leave it out, or name the",
        ),
    ]:
        assert_refused(message, read_table, name, "label", query=query)


@pytest.mark.parametrize(
    "query",
    ["delete from loans", "attach 'other.db' as o", "pragma user_version", "drop table loans",
     "vacuum into 'x.db'", "create table a (b)", "insert into loans (id) values (9)"],
)  # fmt: skip
def test_a_query_can_only_read(tmp_path, monkeypatch, query):
    monkeypatch.chdir(tmp_path)
    before = make(tmp_path / "t.db").read_bytes()
    message = "--query may only read: write one that starts with select."
    assert_refused(message, read_table, "t.db", "label", query=query)
    assert (tmp_path / "t.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


def test_a_query_without_end_is_stopped_by_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("subsvms.app.tables.sqlite.measure_free_memory", lambda: 4e6)
    query = "with recursive r(label) as (select 1 union all select label + 1 from r) select * from r"
    message = "gives more than 0.001 GB of data, 25% of the free memory: choose fewer rows or columns"
    assert_refused(message, read_table, make(tmp_path / "t.db"), "label", query=query)


def test_an_address_of_a_database_is_refused_without_its_password():
    where = "postgresql://ann:secret@host/shop"
    message = "An address such as postgresql:// cannot be read here: save the table, or the answer"
    assert "secret" not in assert_refused(message, read_table, where, "y")

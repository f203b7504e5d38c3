"""SQLite is read by a query that can do nothing else; other databases by an address that nothing shows."""

import json
import os
import re
import shutil
import sqlite3
import sys
from pathlib import Path

import pandas as pd
import pytest
from loans import call, make_rows, read
from nasty_texts import assert_refused, write
from pyarrow import parquet

from subsvms.app.tables import databases
from subsvms.app.tables.databases import explain, fetch, read_database
from subsvms.app.tables.table import place_beside, read_table, write_table

LOANS = "create table loans (id integer primary key, amount real, note, label text)"
ROWS = "insert into loans values (1, 1.5, 'a', 'no'), (2, null, 7, 'yes'), (3, 2, x'ff', null)"
sqlalchemy = pytest.importorskip("sqlalchemy")
SECRET = "s3cret"
SERVERS = os.environ.get("SUBSVMS_DATABASES", "").split()  # whose table t may be replaced; with -n 0
WRITES = [
    "with a as (select 1) delete from t where a < 4 returning *",
    "with b as (select 1) insert into t select 7, 'seven'", "insert into t values (7, 'seven')",
    "delete from t", "update t set a = 0", "create table u (a int)", "drop table t",
]  # fmt: skip


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
    assert read.notes[0].endswith("t.db' has the column 'label': it was read, and 'people' was not.")
    chosen = read_table(path, "label", query="select * from loans")
    assert chosen.columns.equals(read.columns) and chosen.notes == read.notes[1:]


def test_a_query_chooses_rows_and_columns_and_views(tmp_path):
    path = make(tmp_path / "t.db", LOANS, ROWS, "create view some as select * from loans where id < 3")
    query = "with few as (select * from some) select amount as a, label from few order by 1"
    read = read_table(path, "label", query=query)
    assert read.columns.to_pydict() == {"a": [None, 1.5], "label": ["yes", "no"]}
    assert len(read_table(path, "label")) == 3


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
    for done in (b"", bytes(512)):
        journal.write_bytes(done)
        assert len(read_table(path, "label")) == 3
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(504))
    message = "has changes that are not finished, as 't.db-journal' says: close the program that uses it, or"
    assert_refused(message, read_table, path, "label")


def test_what_gives_no_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("one.db")
    make("two.db", LOANS, ROWS, "create table other (a)")
    make("same.db", LOANS, ROWS, "create table other (a, label)")
    make("far.db", "create table loans (id, Label)", "create table other (a)")
    make("none.db", "create table a (b)", "drop table a")
    make("mixed.db", "create table t (label)", "insert into t values (1), ('1')")
    write(tmp_path, b"no database", "text.db")
    named = (tmp_path / "one.db").read_bytes()
    write(tmp_path, named.replace(b"tableloans", b"tablel\xffans"), "utf.db")
    write(tmp_path, (tmp_path / "one.db").read_bytes()[:5000].ljust(8192, b"\x07"), "bad.db")
    write(tmp_path, "a,label\n1,x\n2,y\n")
    for name, query, message in [
        ("same.db", None, "'loans', 'other': choose one, as with query='select * from \"loans\"'."),
        ("far.db", None, "columns are 'loans' ('id', 'Label'); 'other' ('a'); did you mean 'Label'?"),
        ("none.db", None, "'none.db' has no tables: choose another database."),
        ("two.db", "select * from other", "'two.db' has no column 'label': its columns are 'a'."),
        ("one.db", "select * from loans where 0", "'one.db' gives no rows: a table needs at least one"),
        ("one.db", "select * from lones", "query cannot be answered (no such table: lones): fix it, and try"),
        ("one.db", "", "query gives no table: write a query that starts with select."),
        ("one.db", "select 1; select 2", "query cannot be answered (You can only execute one statement at a"),
        ("mixed.db", None, "'mixed.db' has numbers and text in its label column 'label': use one type"),
        ("text.db", None, "'text.db' is not a SQLite database, or it is protected with a password."),
        ("bad.db", None, "bad.db' is a damaged database"),
        ("utf.db", None, "utf.db' is a damaged database"),
        ("t.csv", "select 1", "query is for databases, but 't.csv' is read as CSV: leave it out, or name"),
    ]:
        assert_refused(message, read_table, name, "label", query=query)


def test_a_query_can_only_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = make(tmp_path / "t.db").read_bytes()
    others = ("attach 'other.db' as o", "pragma user_version", "vacuum into 'x.db'", "create table a (b)")
    for query in ("delete from loans", "drop table loans", "insert into loans (id) values (9)", *others):
        message = "query may only read: write one that starts with select."
        assert_refused(message, read_table, "t.db", "label", query=query)
    assert (tmp_path / "t.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.db"]


def test_a_query_without_end_is_stopped_by_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("subsvms.app.tables.files.measure_free_memory", lambda: 4e6)
    query = "with recursive r(label) as (select 1 union all select label + 1 from r) select * from r"
    message = "gives more than 0.001 GB of data, 25 % of the free memory: choose fewer rows or columns"
    assert_refused(message, read_table, make(tmp_path / "t.db"), "label", query=query)


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    path = tmp_path_factory.mktemp("db") / "loans.db"
    rows, _ = make_rows(200)
    with sqlite3.connect(path) as connection:
        pd.DataFrame(rows).assign(n=range(200)).to_sql("loans", connection, index=False)
    connection.close()
    return path


def test_types_are_those_of_the_values():
    query = "with t (n, x, y) as (values (1, 1.5, 'no'), (null, 2, 'yes')) select * from t"
    table = read_database("sqlite://", "y", query)
    assert table.columns.to_pydict() == {"n": [1, None], "x": [1.5, 2.0], "y": ["no", "yes"]}
    assert table.classes == ["no", "yes"] and table.paths == ()


def test_what_gives_no_answer_is_refused_and_the_address_is_hidden(tmp_path, loans, monkeypatch):
    monkeypatch.setitem(sys.modules, "pg8000", None)  # as if it were not installed
    for address, query, message in [
        ("sqlite://", None, "The address of a database needs query, such as 'select * from loans'."),
        ("sqlite://", "drop table loans", "query may only read: write one that starts with select."),
        (f"sqlite:///{loans}", "select * from lones", "The database cannot answer query (no such table: l"),
        (f"sqlite:///{loans}", "select * from loans where 0", "The answer of the database has no rows"),
        (f"sqlite:///{tmp_path}/no.db", "select 1", f"There is no database '{tmp_path}/no.db': check its"),
        (f"nosuch://eve:{SECRET}@h/d", "select 1", "SQLAlchemy knows no database with addresses such as nos"),
        (f"postgresql+pg8000://eve:{SECRET}@h/d", "select 1", "This database needs the package 'pg8000'"),
        (f"a b://eve:{SECRET}@h", "select 1", "The address of the database cannot be read: write it as p"),
        ("postgresql://u:p@h:abc/x", "select 1", "The address of the database cannot be read: write it as p"),
        (f"sqlite://eve:{SECRET}@h", "select 1", "The address of the database cannot be read: write it as"),
        ("postgresql://u:p@ss@nohost/x", "select 1", "The address of the database has an @ in its host"),
        (f"mysql://e/ve:{SECRET}@h/x", "select 1", "The address of the database has an @ in its host"),
        (f"sqlite:///{loans}?timeout=soon", "select 1", "The driver of this database cannot use its address"),
        ("sqlite://", "select 1; select 2", "query may hold one statement only: leave out what follows"),
    ]:  # fmt: skip
        assert SECRET not in assert_refused(message, read_database, address, "default", query)
    assert not (tmp_path / "no.db").exists()


@pytest.mark.parametrize(
    "address",
    [f"postgresql://eve:{SECRET}@h/db?application_name=a@b", f"postgresql://h/db?user=eve&password={SECRET}",
     f"postgresql://anna:{SECRET}@h/db", f"postgresql://anna:{SECRET}%40%20end@h/db",
     f"mssql://h/db?odbc_connect=Server=main;Password={SECRET}"],
)  # fmt: skip
def test_what_a_driver_says_is_hidden_with_a_secret_in_it(address):
    url = sqlalchemy.make_url(address)
    password = url.password or SECRET
    for text in (password, password.upper(), address, url.render_as_string(hide_password=False)):
        assert explain(ValueError(f"no entry for {text}"), url) == "ValueError"


def test_short_secrets_hide_all_that_a_driver_says():
    assert explain(ValueError("no table"), sqlalchemy.make_url("x://anna:pwd@h/d")) == "ValueError"
    assert explain(ValueError("no table. Or so"), sqlalchemy.make_url("x://anna:@h/d")) == "no table"
    assert explain(ValueError(""), sqlalchemy.make_url("x://h/d")) == "ValueError"


def test_a_driver_that_cannot_be_loaded_is_named_in_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "pg8000.py").write_text("raise ImportError('no wrapper of libpq.\\nIt was not found.')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pg8000", raising=False)
    address = f"postgresql+pg8000://anna:{SECRET}@h/d"
    message = "The driver of this database cannot be loaded (no wrapper of libpq): install it again with pip."
    assert_refused(message, fetch, address, "select 1")


def make_table(address):
    engine = sqlalchemy.create_engine(address)
    with engine.begin() as connection:
        for statement in ("drop table if exists t", "drop table if exists u",
                          "create table t (a int, s varchar(9))",
                          "insert into t values (1, 'ab'), (2, 'b'), (8, 'c;d')"):  # fmt: skip
            connection.exec_driver_sql(statement)
    engine.dispose()


@pytest.fixture(params=["sqlite", "duckdb", *SERVERS])
def address(request, tmp_path):
    found = request.param
    if found == "duckdb":
        pytest.importorskip("duckdb_engine")
    if "://" not in found:
        found = f"{found}:///{tmp_path}/a b#%.db"
    make_table(found)
    return found


@pytest.mark.parametrize("query", WRITES)
def test_the_database_itself_refuses_to_write(address, query, monkeypatch):
    monkeypatch.setattr(databases, "READS", re.compile(""))
    before = fetch(address, "select * from t order by a")
    assert_refused("The database cannot answer query (", fetch, address, query)
    assert fetch(address, "select * from t order by a") == before
    assert_refused("The database cannot answer query (", fetch, address, "select * from u")


@pytest.mark.parametrize("query", [*WRITES[2:], "select 1; commit; delete from t", "vacuum into 'x'", ""])
def test_a_query_that_does_not_read_is_not_sent(address, query):
    assert_refused("query may ", fetch, address, query)
    assert len(fetch(address, "select * from t")[1]) == 3


def test_queries_that_read_are_answered(address):
    for query, rows in (
        ("select a from t where s like 'a%'", [(1,)]),
        ("-- all; or\n/* not; */ select a from t where s = 'c;d'; -- done", [(8,)]),
        ("with b as (select max(a) as m from t) select m from b", [(8,)]),
        ("(select 1) union (select 1)", [(1,)]),
    ):
        if not address.startswith("sqlite") or not query.startswith("("):  # of which SQLite knows nothing
            assert fetch(address, query)[1] == rows


def test_a_file_is_not_touched(address):
    if not address.startswith(("sqlite", "duckdb")):
        pytest.skip("a server")
    path = Path(address.partition(":///")[2])
    before = path.read_bytes()
    for query in WRITES[:2]:
        assert_refused("The database cannot answer query (", read_database, address, "s", query)
    assert path.read_bytes() == before
    missing = path.with_name("none.db")
    assert_refused("There is no database", fetch, address.replace(path.name, missing.name), "select 1")
    assert not missing.exists()


def test_a_database_is_corrected_applied_and_repeated_without_its_address(loans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    address = f"sqlite:///{loans}"
    make = sqlalchemy.create_engine
    monkeypatch.setattr(sqlalchemy, "create_engine", lambda url: make(address))
    secret = f"postgresql://eve:{SECRET}@host/loans"
    words = ("correct", secret, "--query", "select * from loans", "--label", "default", "--svms", 50)
    said = call(*words, "--dry-run").output
    assert "the answer of the database: 200 rows" in said and "subsvms correct ADDRESS --query" in said
    assert "say with --output where" in call(*words, code=2).output
    said += call(*words, "--output", "out").output
    said += call("apply", "out", "--undecided", "suggestion").output
    said += call("correct", "--from", "out", "--output", "again", "--quiet").output
    said += call("correct", secret, code=2).output + call(*words, "--engine", "local", code=2).output
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET not in said and SECRET.encode() not in written and b"postgresql:" not in written
    first, again = ((tmp_path / one / "corrected.parquet").read_bytes() for one in ("out", "again"))
    assert first == again
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["input"]["paths"] == ["table.parquet"] and record["options"]["query"] is None
    shutil.move("out", "moved")
    assert len(read(tmp_path / "moved/issues.csv")) > 0
    assert "already exists" in call("apply", "moved", "--undecided", "suggestion", code=2).output

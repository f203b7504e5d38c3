"""The answer of any database is read by its address, which nothing shows or keeps."""

import json
import shutil
import sqlite3

import pandas as pd
import pytest
from loans import call, make_rows, read
from nasty_texts import assert_refused

from subsvms.app.tables.database import hide, read_database

pytest.importorskip("sqlalchemy")
SECRET = "s3cret"


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


def test_what_gives_no_answer_is_refused_and_the_address_is_hidden(tmp_path, loans):
    for address, query, message in [
        ("sqlite://", None, "The address of a database needs --query, such as 'select * from loans'."),
        ("sqlite://", "drop table loans", "--query may only read: write one that starts with select."),
        (f"sqlite:///{loans}", "select * from lones", "The database cannot answer --query (no such table: l"),
        (f"sqlite:///{loans}", "select * from loans where 0", "The answer of the database has no rows"),
        (f"sqlite:///{tmp_path}/no.db", "select 1", f"There is no database '{tmp_path}/no.db': check its"),
        (f"nosuch://eve:{SECRET}@h/d", "select 1", "SQLAlchemy knows no database with addresses such as nos"),
        (f"postgresql+pg8000://eve:{SECRET}@h/d", "select 1", "This database needs the package 'pg8000'"),
        (f"a b://eve:{SECRET}@h", "select 1", "The address of the database cannot be read: write it as p"),
    ]:  # fmt: skip
        assert_refused(message, read_database, address, "default", query)
    assert not (tmp_path / "no.db").exists()
    assert SECRET not in hide(f"login eve:{SECRET} failed", f"x://eve:{SECRET}@h/d")
    assert hide("p@ss", "x://eve:p%40ss@h/d") == "***"


def test_a_database_is_corrected_applied_and_repeated_without_its_address(loans, tmp_path, monkeypatch):
    """The login is one that SQLite passes over, as another database would not."""
    monkeypatch.chdir(tmp_path)
    import sqlalchemy

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
    assert (tmp_path / "out/corrected.parquet").read_bytes() == (
        tmp_path / "again/corrected.parquet"
    ).read_bytes()
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert record["input"]["paths"] == ["table.parquet"] and record["options"]["query"] is None
    shutil.move("out", "moved")
    assert len(read(tmp_path / "moved/issues.csv")) > 0
    assert "already exists" in call("apply", "moved", "--undecided", "suggestion", code=2).output


def test_other_databases_are_read(tmp_path):
    pytest.importorskip("duckdb_engine")
    query = "select range as n, case when range % 2 = 0 then 'no' else 'yes' end as y from range(6)"
    assert read_database("duckdb:///:memory:", "y", query).classes == ["no", "yes"]

"""Databases: a query, or a table of SQLite, is read, and nothing is ever written.

A SQLite file is read from a copy in memory. Nothing in it is run but what the query needs: its authorizer
refuses everything that is not reading, whatever views and triggers say. Columns of several types are text, as
in JSON Lines.

Other databases are those that SQLAlchemy knows (`subsvms[sql]`, and the driver of the database, such as
psycopg), by an address and a query, whose answer is read like a data frame. The address may hold a password:
it is not stored, and no message shows it. A query is one statement that starts with a word for reading, and
is rolled back. As `with ... delete` starts so, too, SQLite, PostgreSQL, MySQL, MariaDB and DuckDB are also
told to refuse writing; other databases are not.
"""

import logging
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from subsvms.app.quoting import explaining, first_sentence, name_some, show, suggest
from subsvms.app.tables.files import Allowance, Content, check_names
from subsvms.app.tables.formats import SQLITE, Reading
from subsvms.app.tables.json_text import as_column, check_labels
from subsvms.app.tables.table import LabelledTable, read_frame
from subsvms.exceptions import Note, Sentence, Setting, TableError

READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
WRONG = (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError)
ROWS = 1000  # fetched at a time
TABLES_SHOWN = 5  # in a message, with their columns
SQLITE_NOTE = Note("written_as", "SQLite is read, but not written: the result is a Parquet file.")
ANSWER = "The answer of the database"  # its name in messages
COMMENT = r"--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/"
READS = re.compile(rf"(?:\s|\(|{COMMENT})*(select|with|values|table|from)\b", re.IGNORECASE)  # its start
QUOTED = re.compile(rf"'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*$|{COMMENT}")  # where a semicolon ends nothing
# With parameters, even none, drivers take the % of like 'a%' for their place
OPTIONS = {"stream_results": True, "no_parameters": True, "postgresql_readonly": True}
MYSQL = ("set session transaction read only", "start transaction read only")  # the second alone can drop
GUARDS = {  # what makes a database refuse to write, besides OPTIONS
    "sqlite": ("pragma query_only = on",),
    "mysql": MYSQL,
    "mariadb": MYSQL,
    "duckdb": ("rollback", "begin transaction read only"),  # SQLAlchemy has begun one that may write
}
FILES = {"sqlite": {"mode": "ro", "uri": "true"}, "duckdb": {"access_mode": "READ_ONLY"}}  # how one is opened
NO_FILE = re.compile(r"$|:memory:|(md|motherduck|ducklake|s3|https?):")
UNREADABLE = "The address of the database cannot be read: write it as postgresql://user:password@host/name."
SHORT = 4  # a secret of fewer characters occurs in texts by chance
QUIET = logging.NullHandler()  # else SQLAlchemy prints tracebacks of cursors that cannot be closed


def _fetch_limited(cursor, name):
    """Return all rows, or raise an error once they are too many for the free memory."""
    advice = Sentence("choose fewer rows or columns with {query}, or save them as Parquet.")
    memory = Allowance(f"{name} gives", advice)
    rows: list[tuple] = []
    while batch := cursor.fetchmany(ROWS):
        rows += batch
        memory.take(sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in batch))
    return rows


# SQLite


def read_sqlite(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns that a query gives, and further fields of the table."""
    import pyarrow as pa

    name, notes = content.name, [SQLITE_NOTE]
    damaged = explaining(f"{name} is a damaged database", "copy it again.", WRONG)
    with damaged, closing(sqlite3.connect(":memory:")) as connection:
        _copy(content, connection)
        if reading.query is None:
            table, others = _choose_table(connection, name, label)
            names, rows = _fetch(connection, name, f"select * from {_quote(table)}")
            notes = [*others, *notes]
        else:
            names, rows = _ask(connection, name, reading.query)
    check_names(names, name, label)
    if not rows or not names:
        raise TableError(f"{name} gives no rows: a table needs at least one of each class.")
    values = [list(column) for column in zip(*rows, strict=True)]
    if label is not None:
        check_labels(values[names.index(label)], name, label)
    return pa.table([as_column(_spell(column)) for column in values], names=names), {"notes": tuple(notes)}


def _copy(content, connection):
    """Copy a database into memory, where it can only be read."""
    name, data = content.name, content.data
    if not data.startswith(SQLITE):
        raise TableError(f"{name} is not a SQLite database, or it is protected with a password.")
    if isinstance(content.path, Path):
        _check_settled(content.path, name)
    if data[18:20] == b"\x02\x02":  # with a write-ahead log, which memory cannot have
        data = data[:18] + b"\x01\x01" + data[20:]
    connection.deserialize(data)
    connection.execute("pragma trusted_schema = off")
    allow, deny = sqlite3.SQLITE_OK, sqlite3.SQLITE_DENY
    connection.set_authorizer(lambda action, *_: allow if action in READING else deny)


def _check_settled(path, name):
    """Raise an error if a program has not finished changing a database."""
    log, journal = Path(f"{path}-wal"), Path(f"{path}-journal")
    if log.is_file() and log.stat().st_size:
        raise TableError(
            f"{name} has changes in {log.name!r} that are not in it yet: close the program that uses it."
        )
    # a journal that is done with is empty, or starts with zeros
    if not journal.is_file():
        return
    with journal.open("rb") as file:
        unfinished = any(file.read(8))
    if unfinished:
        raise TableError(
            f"{name} has changes that are not finished, as {journal.name!r} says: close the program that "
            "uses it, or open and close it there if that program was stopped."
        )


def _quote(table):
    return '"' + table.replace('"', '""') + '"'


def _choose_table(connection, name, label):
    """Return the only table, or the only one that has the label, and a note if others were left out."""
    found = connection.execute("select name from sqlite_schema where type = 'table'")
    tables = [table for (table,) in found if not table.startswith("sqlite_")]
    columns = {table: _list_columns(connection, table) for table in tables}
    if len(tables) == 1:
        return tables[0], []
    fitting = tables if label is None else [table for table in tables if label in columns[table]]
    if len(fitting) == 1:
        others = name_some([table for table in tables if table != fitting[0]])
        words = (
            f"Only the table {show(fitting[0])} of {name} has the column {show(label)}: it was read, and "
            f"{others} {'was' if len(tables) == 2 else 'were'} not."
        )
        return fitting[0], [Note.plain("other_tables", words)]
    if not tables:
        raise TableError(f"{name} has no tables: choose another database.")
    if fitting:
        whose = "has the tables" if label is None else f"has the column {show(label)} in the tables"
        raise TableError(
            "{name} {whose} {tables}: choose one, as with {query}.", name=name, whose=whose,
            tables=name_some(fitting), query=Setting("query", f"select * from {_quote(fitting[0])}"),
        )  # fmt: skip
    listed = "; ".join(f"{show(table)} ({name_some(columns[table])})" for table in tables[:TABLES_SHOWN])
    more = f"; and {len(tables) - TABLES_SHOWN} more" if len(tables) > TABLES_SHOWN else ""
    hint = suggest(str(label), [one for names in columns.values() for one in names]) or "."
    raise TableError(
        f"{name} has no table with a column {show(label)}; its tables and their columns are {listed}{more}"
        f"{hint}"
    )


def _list_columns(connection, table):
    try:
        cursor = connection.execute(f"select * from {_quote(table)} limit 0")
    except sqlite3.OperationalError:  # such as a virtual table of another module
        return []
    return [column[0] for column in cursor.description]


def _fetch(connection, name, query):
    """Return the names of the columns that a query gives, and the rows."""
    cursor = connection.execute(query)
    if cursor.description is None:
        raise TableError(Sentence("{query} gives no table: write a query that starts with select."))
    return [column[0] for column in cursor.description], _fetch_limited(cursor, name)


def _ask(connection, name, query):
    """Fetch what a user asks for."""
    try:
        return _fetch(connection, name, query)
    except WRONG as error:
        reason = first_sentence(error)
        if any(word in reason for word in ("not authorized", "authorization denied", "prohibited")):
            raise TableError(Sentence("{query} may only read: write one that starts with select.")) from None
        words = "{query} cannot be answered ({reason}): fix it, and try again."
        raise TableError(words, reason=reason) from None


def _spell(column):
    """Return a column whose bytes, if it also holds other values, are text."""
    if len({type(value) for value in column if value is not None}) <= 1:
        return column
    return [value.hex() if isinstance(value, bytes) else value for value in column]


# By an address


def _load_library():
    try:
        import sqlalchemy
    except ImportError:
        raise TableError(
            "The address of a database needs SQLAlchemy: install it with pip install 'subsvms[sql]', or save "
            "the answer of the database as Parquet."
        ) from None
    logging.getLogger("sqlalchemy").addHandler(QUIET)
    return sqlalchemy


def read_database(address: str, label: str, query: str | None, **labels: Any) -> LabelledTable:
    """Return the answer of a database as a table with checked labels."""
    import pandas as pd

    if query is None:
        raise TableError(Sentence("The address of a database needs {query}, such as 'select * from loans'."))
    names, rows = fetch(address, query)
    frame = pd.DataFrame(rows, columns=names, dtype=object)  # types are found value by value: 1 stays 1
    return read_frame(frame, label, name=ANSWER, **labels)


def fetch(address: str, query: str) -> tuple[list[str], list[tuple]]:
    """Return the names of the columns that a query gives, and the rows."""
    _check_query(query)
    library = _load_library()
    url = _parse(address, library)
    with _hiding(url, library):
        engine = library.create_engine(_open_to_read(url))
        try:
            with engine.connect().execution_options(**OPTIONS) as connection:
                for statement in GUARDS.get(connection.dialect.name, ()):
                    connection.exec_driver_sql(statement)
                found = connection.exec_driver_sql(query)
                return list(found.keys()), [tuple(row) for row in _fetch_limited(found, ANSWER)]
        finally:
            engine.dispose()


def _check_query(query):
    """Raise an error if a query does not start as one that reads, or if it is followed by another."""
    if not READS.match(query):
        raise TableError(Sentence("{query} may only read: write one that starts with select."))
    if re.search(r";\s*[^\s;]", QUOTED.sub(" ", query)):
        words = "{query} may hold one statement only: leave out what follows its semicolon."
        raise TableError(Sentence(words))


def _parse(address, library):
    """Return the parts of an address, as SQLAlchemy has them."""
    try:
        url = library.make_url(address)
    except (library.exc.ArgumentError, ValueError):  # the second if the port is no number
        raise TableError(UNREADABLE) from None
    name = "" if url.get_backend_name() in FILES else url.database
    if "@" in f"{url.host}{name}":  # they are looked up, and shown, and would have a part of the password
        raise TableError(
            "The address of the database has an @ in its host or name: write an @ of the user or the "
            "password as %40, and a / as %2F."
        )
    return url


def _open_to_read(url):
    """Return the address of a file such that it is opened for reading alone, and any other as it is."""
    kind, place = url.get_backend_name(), url.database or ""
    if kind not in FILES or NO_FILE.match(place):
        return url
    if not Path(place).is_file():  # it would be made, and be empty
        raise TableError(f"There is no database {place!r}: check its name and folder.")
    if kind == "sqlite":
        if url.get_driver_name() != "pysqlite":
            return url
        url = url.set(database=Path(place).resolve().as_uri())
    return url.update_query_dict(FILES[kind])


@contextmanager
def _hiding(url: Any, library: Any) -> Iterator[None]:
    """Turn errors of a database into sentences that hold neither its address nor its password."""
    try:
        yield
    except TableError:
        raise
    except library.exc.NoSuchModuleError:
        raise TableError(
            f"SQLAlchemy knows no database with addresses such as {url.drivername}://: install its dialect, "
            "or save the table as Parquet or CSV."
        ) from None
    except library.exc.ArgumentError:
        raise TableError(UNREADABLE) from None
    except ModuleNotFoundError as error:
        raise TableError(f"This database needs the package {error.name!r}: install it with pip.") from None
    except ImportError as error:
        words = "The driver of this database cannot be loaded ({reason}): install it again with pip."
        raise TableError(words, reason=explain(error, url)) from None
    except library.exc.SQLAlchemyError as error:
        words = "The database cannot answer {query} ({reason}): fix it, and try again."
        raise TableError(words, reason=explain(error, url)) from None
    except (TypeError, ValueError, RuntimeError, OSError) as error:  # of a driver, not of its database
        words = "The driver of this database cannot use its address ({reason}): check its options."
        raise TableError(words, reason=explain(error, url)) from None


def explain(error: Exception, url: Any) -> str:
    """Return what a driver says, or only the kind of its error if the text could show a secret."""
    cause = getattr(error, "orig", None) or error
    text = f"{cause} {unquote_plus(str(cause))}".casefold()
    values = (value for one in url.query.values() for value in ([one] if isinstance(one, str) else one))
    parts = {part for value in values for part in re.split("[;=]", value)}
    secrets = {*parts, url.username or "", str(url.password or "")} - {""}
    if any(len(secret) < SHORT or secret.casefold() in text for secret in secrets):
        return type(cause).__name__
    return first_sentence(cause) or type(cause).__name__

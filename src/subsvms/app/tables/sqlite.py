"""SQLite databases: a query, or one table, is read from a copy in memory that allows reading alone.

Nothing in the database is run but what the query needs: its authorizer refuses everything that is not
reading, whatever views and triggers say. Columns of several types are text, as in JSON Lines.
"""

import shlex
import sqlite3
import sys
from pathlib import Path
from typing import Any

from subsvms.app.tables.compression import MAX_SHARE, measure_free_memory
from subsvms.app.tables.files import SQLITE, Content, check_names
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.json_lines import as_column, check_labels
from subsvms.app.words import first_sentence, name_some, show, suggest
from subsvms.exceptions import TableError

JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"  # how a journal starts that may have to be rolled back
READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
ROWS = 1000  # fetched at a time
TABLES_SHOWN = 5  # in a message, with their columns
NOTE = "SQLite is read, but not written: the result is a Parquet file."


def read(content: Content, label: str | None, reading: Reading) -> tuple[Any, dict[str, Any]]:
    """Return the columns that a query gives, and further fields of the table."""
    import pyarrow as pa

    connection = open_database(content)
    try:
        query, notes = reading.query, [NOTE]
        if query is None:
            table, note = choose_table(connection, content.name, label)
            query, notes = f"select * from {quote(table)}", [*note, NOTE]
        names, values = fetch(connection, content.name, query, asked=reading.query is not None)
    finally:
        connection.close()
    check_names(names, content.name, label)
    if not values or not values[0]:
        raise TableError(f"{content.name} gives no rows: a table needs at least one of each class.")
    if label is not None:
        check_labels(values[names.index(label)], content.name, label)
    return pa.table([as_column(_spell(column)) for column in values], names=names), {"notes": tuple(notes)}


def open_database(content: Content) -> sqlite3.Connection:
    """Return a copy of a database in memory that can only be read."""
    name, data = content.name, content.data
    if not data.startswith(SQLITE):
        raise TableError(f"{name} is not a SQLite database, or it is protected with a password.")
    if isinstance(content.path, Path):
        check_settled(content.path, name)
    if data[18:20] == b"\x02\x02":  # with a write-ahead log, which memory cannot have
        data = data[:18] + b"\x01\x01" + data[20:]
    connection = sqlite3.connect(":memory:")
    try:
        connection.deserialize(data)
        connection.execute("pragma trusted_schema = off")
    except (sqlite3.Error, OverflowError) as error:
        connection.close()
        raise damaged(name, error) from None
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY
    )
    return connection


def check_settled(path: Path, name: str) -> None:
    """Raise an error if a program has not finished changing a database."""
    log, journal = Path(f"{path}-wal"), Path(f"{path}-journal")
    if log.is_file() and log.stat().st_size:
        raise TableError(
            f"{name} has changes in {log.name!r} that are not in it yet: close the program that uses it."
        )
    if journal.is_file():
        with journal.open("rb") as file:
            hot = any(file.read(len(JOURNAL)))  # a journal that is done with is empty, or starts with zeros
        if hot:
            raise TableError(
                f"{name} has changes that are not finished, as {journal.name!r} says: close the program that "
                "uses it, or open and close it there if that program was stopped."
            )


def quote(table: str) -> str:
    """Return the name of a table as a query has it."""
    return '"' + table.replace('"', '""') + '"'


def choose_table(connection: sqlite3.Connection, name: str, label: str | None) -> tuple[str, list[str]]:
    """Return the only table, or the only one that has the label, and a note if others were left out."""
    try:
        found = connection.execute("select name from sqlite_schema where type = 'table'")
        tables = [table for (table,) in found if not table.startswith("sqlite_")]
        columns = {table: list_columns(connection, table) for table in tables}
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise damaged(name, error) from None
    if len(tables) == 1:
        return tables[0], []
    fitting = tables if label is None else [table for table in tables if label in columns[table]]
    if len(fitting) == 1:
        others = name_some([table for table in tables if table != fitting[0]])
        return fitting[0], [
            f"Only the table {show(fitting[0])} of {name} has the column {show(label)}: it was read, and "
            f"{others} {'was' if len(tables) == 2 else 'were'} not."
        ]
    if not tables:
        raise TableError(f"{name} has no tables: choose another database.")
    if fitting:
        whose = "has the tables" if label is None else f"has the column {show(label)} in the tables"
        query = shlex.quote(f"select * from {quote(fitting[0])}")
        raise TableError(f"{name} {whose} {name_some(fitting)}: choose one, as with --query {query}.")
    listed = "; ".join(f"{show(table)} ({name_some(columns[table])})" for table in tables[:TABLES_SHOWN])
    more = f"; and {len(tables) - TABLES_SHOWN} more" if len(tables) > TABLES_SHOWN else ""
    hint = suggest(str(label), [one for names in columns.values() for one in names]) or "."
    raise TableError(
        f"{name} has no table with a column {show(label)}; its tables and their columns are {listed}{more}"
        f"{hint}"
    )


def list_columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the names of the columns of a table; none if it needs more than SQLite alone."""
    try:
        cursor = connection.execute(f"select * from {quote(table)} limit 0")
    except sqlite3.OperationalError:  # such as a virtual table of another module
        return []
    return [column[0] for column in cursor.description]


def damaged(name: str, error: Exception) -> TableError:
    """Return the error that a database is damaged."""
    return TableError(f"{name} is a damaged database ({first_sentence(error)}): copy it again.")


def fetch(
    connection: sqlite3.Connection, name: str, query: str, *, asked: bool
) -> tuple[list[str], list[list]]:
    """Return the names and values of the columns that a query gives, which a user may have written."""
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            raise TableError("--query gives no table: write a query that starts with select.")
        names = [column[0] for column in cursor.description]
        rows = fetch_limited(cursor, name)
    except (sqlite3.Error, sqlite3.Warning) as error:
        reason = first_sentence(error)
        if "not authorized" in reason or "authorization denied" in reason or "prohibited" in reason:
            raise TableError("--query may only read: write one that starts with select.") from None
        if asked:
            raise TableError(f"--query cannot be answered ({reason}): fix it, and try again.") from None
        raise damaged(name, error) from None
    return names, [list(column) for column in zip(*rows, strict=True)]


def fetch_limited(cursor: Any, name: str) -> list[tuple]:
    """Return all rows, or raise an error once they are too many for the free memory."""
    limit, held = MAX_SHARE * measure_free_memory(), 0
    rows: list[tuple] = []
    while batch := cursor.fetchmany(ROWS):
        rows += batch
        held += sum(sys.getsizeof(row) + sum(map(sys.getsizeof, row)) for row in batch)
        if held > limit:
            raise TableError(
                f"{name} gives more than {limit / 1e9:.2g} GB of data, {MAX_SHARE:.0%} of the free memory: "
                "choose fewer rows or columns with --query, or save them as Parquet."
            )
    return rows


def _spell(column: list) -> list:
    """Return a column whose bytes, if it also holds other values, are text."""
    kinds = {type(value) for value in column if value is not None}
    return (
        [value.hex() if isinstance(value, bytes) else value for value in column] if len(kinds) > 1 else column
    )

"""Any database that SQLAlchemy knows, by its address and a query: the answer is read like a data frame.

The address may hold a password. So it is not stored, and no message shows it. Nothing is written: a query
is one statement that starts with a word for reading, and is rolled back. As `with ... delete` starts so,
too, SQLite, PostgreSQL, MySQL, MariaDB and DuckDB are also told to refuse writing; other databases are not.
SQLAlchemy is not installed with the rest: pip install 'subsvms[sql]', and the driver of the database, such as
psycopg.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from subsvms.app.tables.frames import read_frame
from subsvms.app.tables.sqlite import fetch_limited
from subsvms.app.tables.table import LabelledTable
from subsvms.app.words import first_sentence
from subsvms.exceptions import TableError

ANSWER = "The answer of the database"  # its name in messages
COMMENT = r"--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/"
READS = re.compile(  # how a query starts
    rf"(?:\s|\(|{COMMENT})*(select|with|values|table|from)\b", re.IGNORECASE
)
QUOTED = re.compile(rf"'[^']*'|\"[^\"]*\"|`[^`]*`|--[^\n]*$|{COMMENT}")  # where a semicolon ends nothing
OPTIONS = {
    "stream_results": True,
    "no_parameters": True,  # with parameters, even none, drivers take the % of like 'a%' for their place
    "postgresql_readonly": True,
}
MYSQL = ("set session transaction read only", "start transaction read only")  # the second alone can drop
GUARDS = {  # what makes a database refuse to write, besides OPTIONS
    "sqlite": ("pragma query_only = on",),
    "mysql": MYSQL,
    "mariadb": MYSQL,
    "duckdb": ("rollback", "begin transaction read only"),  # SQLAlchemy has begun one that may write
}
FILES = {"sqlite": {"mode": "ro", "uri": "true"}, "duckdb": {"access_mode": "READ_ONLY"}}  # how one is opened
NO_FILE = re.compile(r"$|:memory:|(md|motherduck|ducklake|s3|https?):")
SHORT = 4  # a secret of fewer characters occurs in texts by chance
QUIET = logging.NullHandler()  # else SQLAlchemy prints tracebacks of cursors that cannot be closed


def load_library() -> Any:
    """Return SQLAlchemy, or raise an error that says how to install it."""
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
        raise TableError("The address of a database needs --query, such as 'select * from loans'.")
    names, rows = fetch(address, query)
    frame = pd.DataFrame(rows, columns=names, dtype=object)  # types are found value by value: 1 stays 1
    return read_frame(frame, label, name=ANSWER, **labels)


def fetch(address: str, query: str) -> tuple[list[str], list[tuple]]:
    """Return the names of the columns that a query gives, and the rows."""
    check_query(query)
    library = load_library()
    url = parse(address, library)
    with hiding(url, library):
        engine = library.create_engine(open_to_read(url))
        try:
            with engine.connect().execution_options(**OPTIONS) as connection:
                for statement in GUARDS.get(connection.dialect.name, ()):
                    connection.exec_driver_sql(statement)
                found = connection.exec_driver_sql(query)
                return list(found.keys()), [tuple(row) for row in fetch_limited(found, ANSWER)]
        finally:
            engine.dispose()


def check_query(query: str) -> None:
    """Raise an error if a query does not start as one that reads, or if it is followed by another."""
    if not READS.match(query):
        raise TableError("--query may only read: write one that starts with select.")
    if re.search(r";\s*[^\s;]", QUOTED.sub(" ", query)):
        raise TableError("--query may hold one statement only: leave out what follows its semicolon.")


def parse(address: str, library: Any) -> Any:
    """Return the parts of an address, as SQLAlchemy has them."""
    try:
        url = library.make_url(address)
    except (library.exc.ArgumentError, ValueError):  # the second if the port is no number
        raise unreadable() from None
    name = "" if url.get_backend_name() in FILES else url.database
    if "@" in f"{url.host}{name}":  # they are looked up, and shown, and would have a part of the password
        raise TableError(
            "The address of the database has an @ in its host or name: write an @ of the user or the "
            "password as %40, and a / as %2F."
        )
    return url


def unreadable() -> TableError:
    """Return the error that an address is none."""
    return TableError(
        "The address of the database cannot be read: write it as postgresql://user:password@host/name."
    )


def open_to_read(url: Any) -> Any:
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
def hiding(url: Any, library: Any) -> Iterator[None]:
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
        raise unreadable() from None
    except ModuleNotFoundError as error:
        raise TableError(f"This database needs the package {error.name!r}: install it with pip.") from None
    except ImportError as error:
        raise TableError(
            f"The driver of this database cannot be loaded ({explain(error, url)}): install it again with "
            "pip."
        ) from None
    except library.exc.SQLAlchemyError as error:
        raise TableError(
            f"The database cannot answer --query ({explain(error, url)}): fix it, and try again."
        ) from None
    except (TypeError, ValueError, RuntimeError, OSError) as error:  # of a driver, not of its database
        raise TableError(
            f"The driver of this database cannot use its address ({explain(error, url)}): check its options."
        ) from None


def explain(error: Exception, url: Any) -> str:
    """Return what a driver says, or only the kind of its error if the text could show a secret."""
    cause = getattr(error, "orig", None) or error
    text = f"{cause} {unquote_plus(str(cause))}".casefold()
    if any(len(secret) < SHORT or secret.casefold() in text for secret in list_secrets(url)):
        return type(cause).__name__
    return first_sentence(cause) or type(cause).__name__


def list_secrets(url: Any) -> set[str]:
    """Return the parts of an address that no message may show."""
    values = (value for one in url.query.values() for value in ([one] if isinstance(one, str) else one))
    parts = {part for value in values for part in re.split("[;=]", value)}
    return {*parts, url.username or "", str(url.password or "")} - {""}

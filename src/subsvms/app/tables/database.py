"""Any database that SQLAlchemy knows, by its address and a query: the answer is read like a data frame.

The address may hold a password. So it is not stored, and no message shows it. The query is run in a
transaction that is rolled back. SQLAlchemy is not installed with the rest: pip install 'subsvms[sql]', and
the driver of the database, such as psycopg.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from subsvms.app.tables.files import first_sentence
from subsvms.app.tables.frames import read_frame
from subsvms.app.tables.sqlite import fetch_limited
from subsvms.app.tables.table import LabelledTable
from subsvms.exceptions import TableError

ANSWER = "The answer of the database"  # its name in messages
READS = re.compile(r"\s*(select|with|values|table|from)\b", re.IGNORECASE)  # how a query starts


def load_library() -> Any:
    """Return SQLAlchemy, or raise an error that says how to install it."""
    try:
        import sqlalchemy
    except ImportError:
        raise TableError(
            "The address of a database needs SQLAlchemy: install it with pip install 'subsvms[sql]', or save "
            "the answer of the database as Parquet."
        ) from None
    return sqlalchemy


def read_database(address: str, label: str, query: str | None, **labels: Any) -> LabelledTable:
    """Return the answer of a database as a table with checked labels.

    Parameters
    ----------
    address : str
        As SQLAlchemy has it: "postgresql://user:password@host/name".
    label : str
        Name of the label column.
    query : str or None
        SQL that gives the table.
    **labels
        `missing_labels`, `merge_labels` and `numeric_classes`, as in `read_table`.

    Examples
    --------
    >>> query = "with t (a, y) as (values (1.5, 'no'), (2, 'yes')) select * from t"
    >>> read_database("sqlite://", "y", query).classes
    ['no', 'yes']
    """
    import pandas as pd

    if query is None:
        raise TableError("The address of a database needs --query, such as 'select * from loans'.")
    if not READS.match(query):
        raise TableError("--query may only read: write one that starts with select.")
    names, rows = fetch(address, query)
    frame = pd.DataFrame(rows, columns=names, dtype=object)  # types are found value by value: 1 stays 1
    return read_frame(frame, label, name=ANSWER, **labels)


def fetch(address: str, query: str) -> tuple[list[str], list[tuple]]:
    """Return the names of the columns that a query gives, and the rows."""
    library = load_library()
    with hiding(address, library):
        url = library.make_url(address)
        place = url.database
        if url.get_backend_name() == "sqlite" and place not in (None, "", ":memory:"):
            if not Path(place).is_file():  # it would be made, and be empty
                raise TableError(f"There is no database {place!r}: check its name and folder.")
        engine = library.create_engine(url)
        try:
            with engine.connect().execution_options(stream_results=True) as connection:
                found = connection.exec_driver_sql(query)
                return list(found.keys()), [tuple(row) for row in fetch_limited(found, ANSWER)]
        finally:
            engine.dispose()


@contextmanager
def hiding(address: str, library: Any) -> Iterator[None]:
    """Turn errors of a database into sentences that hold neither its address nor its password."""
    try:
        yield
    except library.exc.ArgumentError as error:
        if isinstance(error, library.exc.NoSuchModuleError):
            kind = address.partition(":")[0]
            raise TableError(
                f"SQLAlchemy knows no database with addresses such as {kind}://: install its dialect, or "
                "save the table as Parquet or CSV."
            ) from None
        raise TableError(
            "The address of the database cannot be read: write it as postgresql://user:password@host/name."
        ) from None
    except ModuleNotFoundError as error:
        raise TableError(f"This database needs the package {error.name!r}: install it with pip.") from None
    except library.exc.SQLAlchemyError as error:
        reason = hide(first_sentence(getattr(error, "orig", None) or error), address)
        raise TableError(f"The database cannot answer --query ({reason}): fix it, and try again.") from None


def hide(text: str, address: str) -> str:
    """Return a text without the user and the password of an address.

    Examples
    --------
    >>> hide("no entry for eve with s3cret", "postgresql://eve:s3cret@host/loans")
    'no entry for *** with ***'
    """
    _, _, rest = address.partition("://")
    login = rest.rpartition("@")[0]
    parts = {address, login, *login.split(":", 1)}
    for part in sorted({*parts, *map(unquote, parts)} - {""}, key=len, reverse=True):
        text = text.replace(part, "***")
    return text

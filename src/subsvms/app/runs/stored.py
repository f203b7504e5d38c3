"""Read the Parquet files of a run's folder again. Nothing in them is trusted: anybody may have changed it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from subsvms._sentences import Setting
from subsvms.app.tables.arrow import check_values
from subsvms.app.words import first_sentence, show
from subsvms.exceptions import TableError

Read = TypeVar("Read")


def read_stored(path: Path, schema: Any, build: Callable[[Any], Read], optional: Any = ()) -> Read:
    """Return what a Parquet file in the folder of a run holds."""
    import pyarrow as pa
    from pyarrow import parquet

    if not path.is_file():
        raise TableError(
            "There is no file {path!r}, which earlier versions did not write: run subsvms correct again "
            "({decisions} keeps what was decided).",
            path=str(path), decisions=Setting("decisions", str(path.parent)),
        )  # fmt: skip
    try:
        with parquet.ParquetFile(path) as file:
            found = file.read()
        more = {field.name for field in optional} <= set(found.column_names)
        schema = pa.schema([*schema, *(optional if more else ())])
        found = check_values(found.select(schema.names))
        check_types(found, schema)
        return build(found)
    except (pa.ArrowException, KeyError, OSError, ValueError) as error:
        raise describe_damage(path, error) from None


def describe_damage(path: Path, error: Exception) -> TableError:
    """Return the error about a file that cannot be read, or says what cannot be true."""
    reason = show(first_sentence(error))
    return TableError(f"{str(path)!r} is damaged ({reason}): run subsvms correct again.")


def check_types(found: Any, schema: Any) -> None:
    """Raise a ValueError unless the columns of a pyarrow.Table have the types of a schema."""
    for wanted in schema:
        column = found[wanted.name]
        if not column.type.equals(wanted.type):
            raise ValueError(f"{wanted.name} is of type {column.type}, not {wanted.type}")
        if column.null_count and not wanted.nullable:
            raise ValueError(f"{wanted.name} is missing in some rows")


def check_shares(found: Any, names: Sequence[str]) -> None:
    """Raise a ValueError unless these columns of a pyarrow.Table hold shares; null is not known."""
    for name in names:
        values = found[name].drop_null().to_numpy()
        if not np.all((values >= 0) & (values <= 1)):
            raise ValueError(f"{name} must be between 0 and 1")

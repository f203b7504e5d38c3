"""Delta tables: the files of the current version, and the types of their columns.

A Delta table is a folder of Parquet files and a log of which of them count; others are leftovers of earlier
versions. deltalake (`subsvms[delta]`) reads the log; the files are read as those of any other folder.
"""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from subsvms.app.tables.addresses import Address, Place, as_place
from subsvms.app.words import first_sentence
from subsvms.exceptions import TableError

LOG = "_delta_log"
UNDERSTOOD = {"timestampNtz", "deletionVectors"}  # what a table may ask of its readers


def is_delta(folder: Place) -> bool:
    """Return whether a folder is a Delta table."""
    return (folder / LOG if isinstance(folder, Path) else Address(f"{folder}/{LOG}")).is_dir()


def list_delta_files(folder: Place) -> list[Place]:
    """Return the files of the current version of a Delta table, sorted."""
    table, name = open_delta(folder), repr(str(folder))
    unknown = set(table.protocol().reader_features or ()) - UNDERSTOOD
    if (table.metadata().configuration or {}).get("delta.columnMapping.mode", "none") != "none":
        unknown.add("columnMapping")
    if unknown:
        raise TableError(
            f"The Delta table {name} uses {', '.join(sorted(unknown))}, which subsvms does not read: write a "
            "copy of it without."
        )
    if "deletionVectors" in (table.protocol().reader_features or ()) and _has_deleted(table):
        raise TableError(
            f"The Delta table {name} has deletion vectors, which subsvms does not apply: remove these rows "
            "from its files first (REORG TABLE ... APPLY (PURGE))."
        )
    files = sorted(table.file_uris())
    for column in table.metadata().partition_columns:
        if not all(re.search(rf"[\\/]{re.escape(column)}=", file) for file in files):
            raise TableError(
                f"The Delta table {name} does not name the values of {column!r} in its folders: write a copy "
                "of it that does."
            )
    if not files:
        raise TableError(f"The Delta table {name} has no rows: choose another one.")
    return [as_place(file) for file in files]


def _has_deleted(table):
    """Return whether rows of files are marked as deleted, as far as deltalake can tell."""
    try:
        return any(batch.num_rows for batch in table.deletion_vectors())
    except Exception:  # vectors that it cannot read
        return True


def find_layout(folder: Place) -> dict[str, Any]:
    """Return what pyarrow.dataset should know about files below a folder.

    Names of folders such as year=2024 become columns. A Delta table says what types these and all others
    have: its files may differ, and columns that were added later are missing in the earlier ones.
    """
    if not is_delta(folder) or not find_spec("deltalake"):
        return {"partitioning": "hive"}
    import pyarrow as pa
    from pyarrow import dataset

    table = open_delta(folder)
    schema = pa.schema(table.schema().to_arrow())
    fields = [schema.field(name) for name in table.metadata().partition_columns]
    return {"partitioning": dataset.partitioning(pa.schema(fields), flavor="hive"), "schema": schema}


def open_delta(folder: Place) -> Any:
    """Return the current version of a table, as deltalake.DeltaTable."""
    if not find_spec("deltalake"):
        raise TableError(
            f"{str(folder)!r} is a Delta table, whose log tells which files count: run pip install "
            "'subsvms[delta]' to read it."
        )
    from deltalake import DeltaTable

    try:
        return DeltaTable(str(folder))
    except Exception as error:  # of the log, or of the network
        raise TableError(
            f"The Delta table {str(folder)!r} cannot be read ({first_sentence(error)}): check its log, and "
            "the keys in the environment if it lies elsewhere."
        ) from None

"""issues.parquet, the suspicious labels of a run, as programs read it that show them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from subsvms.app.names import ISSUES
from subsvms.app.runs.stored import check_shares, read_stored
from subsvms.app.tables.labels import plain_type
from subsvms.app.tables.table import LabelledTable, find_free

DIGITS = 4  # of probabilities in a file; more would say nothing
UNKNOWN = ("given_label", "label_quality", "confidence", "vote_share")  # null where there is none
SIDES = ("supporting", "opposing")  # rows to compare with; in parts there are none
CARRIERS = ("flips", "carriers", "carried")  # of `Carriers`; large tables and old runs lack them


def make_schema(label_type: Any) -> Any:
    """Return the columns of ours in issues.parquet, a pyarrow.Schema, for labels of this Arrow type."""
    import pyarrow as pa

    fields = (
        ("row", pa.int64()), ("given_label", label_type), ("suggested_label", label_type),
        ("is_label_issue", pa.bool_()), ("label_quality", pa.float64()), ("confidence", pa.float64()),
        ("vote_share", pa.float64()), ("withstands", pa.int64()), ("action", pa.string()),
        ("reason", pa.string()), *((side, pa.list_(pa.int64())) for side in SIDES),
    )  # fmt: skip
    return pa.schema([pa.field(name, kind, nullable=name in UNKNOWN) for name, kind in fields])


def make_carrier_schema() -> Any:
    """Return the columns of `Carriers`, a pyarrow.Schema."""
    import pyarrow as pa

    flips, *lists = CARRIERS
    kinds = (pa.list_(pa.int64()), pa.list_(pa.float64()))
    fields = [pa.field(name, kind, nullable=False) for name, kind in zip(lists, kinds, strict=True)]
    return pa.schema([pa.field(flips, pa.int64()), *fields])  # null where nothing is known


def name_values(names: Iterable[str], own: Iterable[str]) -> dict[str, str]:
    """Return what the columns of a table are called in a file of issues, which has columns of its own."""
    taken = [*own, "line"]  # which a table that is not text does not have
    found = {}
    for name in names:
        found[name] = find_free(name, taken)
        taken.append(found[name])
    return found


def get_label_type(table: LabelledTable) -> Any:
    """Return the Arrow type of the labels in issues.parquet."""
    return plain_type(table.columns.schema.field(table.label).type)


def read_issues(folder: Path, label_type: Any, n_rows: int, classes: list) -> Any:
    """Return what a run wrote about the labels of a table, as a pyarrow.Table; nothing is trusted."""
    schema = make_schema(label_type)
    return read_stored(
        folder / ISSUES, schema, lambda found: check_issues(found, schema, n_rows, classes),
        optional=make_carrier_schema(),
    )  # fmt: skip


def check_issues(found: Any, schema: Any, n_rows: int, classes: list) -> Any:
    """Return what issues say about a table; raise a ValueError if that cannot be true."""
    from pyarrow import compute

    lists = [name for name in (*SIDES, "carriers") if name in found.column_names]
    for rows in (found["row"], *(compute.list_flatten(found[name]) for name in lists)):
        if rows.null_count or not np.all((rows.to_numpy() >= 1) & (rows.to_numpy() <= n_rows)):
            raise ValueError("the table has no such row")
    if len(np.unique(found["row"].to_numpy())) < len(found):
        raise ValueError("a row is listed twice")
    if not set(compute.unique(found["suggested_label"]).to_pylist()) <= set(classes):
        raise ValueError("the table has no such class")
    check_shares(found, ("label_quality", "confidence", "vote_share"))
    if set(CARRIERS) <= set(found.column_names):
        check_carriers(found)
    return found


def check_carriers(found: Any) -> None:
    """Raise a ValueError if what issues say about carriers cannot be true."""
    from pyarrow import compute

    pairs = zip(found["carriers"].to_pylist(), found["carried"].to_pylist(), strict=True)
    if any(len(rows) != len(weights) for rows, weights in pairs):
        raise ValueError("carriers and carried must have the same length")
    if not np.all(np.isfinite(compute.list_flatten(found["carried"]).to_numpy(zero_copy_only=False))):
        raise ValueError("carried must be finite")
    if not np.all(found["flips"].drop_null().to_numpy() >= 1):
        raise ValueError("flips must be 1 or more")

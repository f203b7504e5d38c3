"""Arrow and Parquet files that are not what they say."""

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

LABELS = pa.array(["no", "yes", "no", "maybe", "yes", "no"])


def _as_int32(*numbers):
    return np.array(numbers, "<i4").tobytes()


FORGERIES = {  # the label column, and which of the file's bytes become which
    "an offset points outside": (LABELS, _as_int32(7, 12, 15), _as_int32(7, 2**30, 15)),
    "an offset is negative": (LABELS, _as_int32(7, 12, 15), _as_int32(-5, 12, 15)),
    "an index is out of range": (LABELS.dictionary_encode(), _as_int32(0, 2, 1), _as_int32(0, 7777, 1)),
    "a label is not UTF-8": (LABELS, b"yes", b"\xffes"),
    "a name is not UTF-8": (LABELS, b"label", b"l\xffbel"),
}
TEXTS = [name for name in FORGERIES if name.endswith("UTF-8")]  # Parquet has neither offsets nor indices
FORGED = [(name, how) for how in ("file", "stream") for name in FORGERIES]
FORGED += [(name, "parquet") for name in TEXTS]


def write_forged(folder, name, how):
    """Write a table with a label and a number; `how` is "file" or "stream", both Arrow, or "parquet"."""
    column, true, false = FORGERIES[name]
    table = pa.table({"label": column, "n": range(6)})
    path = folder / ("t.parquet" if how == "parquet" else "t.arrow")
    if how == "stream":
        with pa.ipc.new_stream(path, table.schema) as sink:
            sink.write_table(table)
    elif how == "file":
        feather.write_feather(table, path, compression="uncompressed")
    else:
        parquet.write_table(table, path, compression="none", use_dictionary=False, store_schema=False)
    data = path.read_bytes()
    assert true in data
    path.write_bytes(data.replace(true, false))
    return path

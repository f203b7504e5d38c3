"""Rows that are left out, and all else as it was."""

import numpy as np
import pytest

from subsvms.app.tables.selection import keep_rows
from subsvms.app.tables.table import read_table, write_table

TEXTS = {
    "t.csv": 'a,y\r\n"1\n2",no\r\n\r\n3,yes\r\n4,no',
    "t.jsonl": '\n{"y": "no", "a": 1.50}\n\n{"a": 2, "y": "yes"}\n{"y":"no"}',
    "t.libsvm": "# a remark\n+1 1:0.5\n-1 2:1 # why\n\n+1 3:7\n",
}
FEWER = {
    "t.csv": 'a,y\r\n"1\n2",no\r\n4,no',
    "t.jsonl": '\n{"y": "no", "a": 1.50}\n\n{"y":"no"}',
    "t.libsvm": "# a remark\n+1 1:0.5\n+1 3:7\n",
}
WITHOUT_LAST = {
    "t.csv": 'a,y\r\n"1\n2",no\r\n\r\n3,yes\r\n',
    "t.jsonl": '\n{"y": "no", "a": 1.50}\n\n{"a": 2, "y": "yes"}\n',
    "t.libsvm": "# a remark\n+1 1:0.5\n-1 2:1 # why\n\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("keep, texts", [([1, 0, 1], FEWER), ([1, 1, 0], WITHOUT_LAST), ([1, 1, 1], TEXTS)])
def test_text_keeps_every_byte_of_the_rows_that_stay(tmp_path, name, keep, texts):
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode())
    table = read_table(path, "label" if name.endswith("libsvm") else "y")
    fewer = keep_rows(table, np.array(keep, dtype=bool))
    write_table(fewer, tmp_path / f"new_{name}")
    assert (tmp_path / f"new_{name}").read_bytes().decode() == texts[name]
    assert len(fewer) == len(fewer.columns) == sum(keep)


def test_labels_are_changed_in_the_right_places_afterwards(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("y,a\nno,1\nyes,2\nno,3\nyes,4\n")
    fewer = keep_rows(read_table(path, "y"), np.array([False, True, False, True]))
    write_table(fewer, tmp_path / "new.csv", ["maybe", "yes"], {"given": fewer.labels})
    assert (tmp_path / "new.csv").read_text() == "y,given,a\nmaybe,yes,2\nyes,yes,4\n"


def test_typed_tables_lose_the_same_rows(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"y": [0, 1, 0], "a": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    fewer = keep_rows(read_table(tmp_path / "t.parquet", "y"), np.array([True, True, False]))
    write_table(fewer, tmp_path / "new.parquet")
    assert parquet.read_table(tmp_path / "new.parquet").to_pydict() == {"y": [0, 1], "a": [1.0, 2.0]}

"""Rows are removed from text, and every other byte stays as it was."""

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import write
from pyarrow import parquet

from subsvms.app.tables.table import keep_rows, read_table, write_table

TEXTS = {  # a table; without its second row; without its third row
    "t.csv": (
        'a,y\r\n"1\n2",no\r\n\r\n3,yes\r\n4,no',
        'a,y\r\n"1\n2",no\r\n4,no',
        'a,y\r\n"1\n2",no\r\n\r\n3,yes\r\n',
    ),
    "t.jsonl": (
        '\n{"y": "no", "a": 1.50}\n\n{"a": 2, "y": "yes"}\n{"y":"no"}',
        '\n{"y": "no", "a": 1.50}\n\n{"y":"no"}',
        '\n{"y": "no", "a": 1.50}\n\n{"a": 2, "y": "yes"}\n',
    ),
    "t.libsvm": (
        "# a comment\n+1 1:0.5\n-1 2:1 # why\n\n+1 3:7\n",
        "# a comment\n+1 1:0.5\n+1 3:7\n",
        "# a comment\n+1 1:0.5\n-1 2:1 # why\n\n",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_keeps_every_byte_of_the_rows_that_stay(tmp_path, name):
    table = read_table(write(tmp_path, TEXTS[name][0], name), "label" if name == "t.libsvm" else "y")
    for text, keep in zip(TEXTS[name], ([1, 1, 1], [1, 0, 1], [1, 1, 0]), strict=True):
        fewer = keep_rows(table, np.array(keep, dtype=bool))
        write_table(fewer, tmp_path / f"new_{name}", force=True)
        assert (tmp_path / f"new_{name}").read_bytes().decode() == text
        assert len(fewer) == len(fewer.columns) == sum(keep)


def test_labels_are_replaced_in_the_right_places_afterwards(tmp_path):
    path = write(tmp_path, "y,a\nno,1\nyes,2\nno,3\nyes,4\n")
    fewer = keep_rows(read_table(path, "y"), np.array([False, True, False, True]))
    write_table(fewer, tmp_path / "new.csv", ["maybe", "yes"], {"given": fewer.labels})
    assert (tmp_path / "new.csv").read_text() == "y,given,a\nmaybe,yes,2\nyes,yes,4\n"


def test_typed_tables_lose_the_same_rows(tmp_path):
    parquet.write_table(pa.table({"y": [0, 1, 0], "a": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    fewer = keep_rows(read_table(tmp_path / "t.parquet", "y"), np.array([True, True, False]))
    write_table(fewer, tmp_path / "new.parquet")
    assert parquet.read_table(tmp_path / "new.parquet").to_pydict() == {"y": [0, 1], "a": [1.0, 2.0]}

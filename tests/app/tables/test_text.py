"""Rows are removed from text, and every other byte stays as it was."""

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import write
from pyarrow import parquet

from subsvms.app.tables.table import keep_rows, read_table, write_table

TEXTS = {  # what stands before the rows, and three rows
    "t.csv": ("a,y\r\n", '"1\n2",no\r\n', "\r\n3,yes\r\n", "4,no"),
    "t.jsonl": ("\n", '{"y": "no", "a": 1.50}\n\n', '{"a": 2, "y": "yes"}\n', '{"y":"no"}'),
    "t.libsvm": ("# a comment\n", "+1 1:0.5\n", "-1 2:1 # why\n\n", "+1 3:7\n"),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kept", [[0, 1, 2], [0, 2], [0, 1], [2]])
def test_text_keeps_every_byte_of_the_rows_that_stay(tmp_path, name, kept):
    before, *rows = TEXTS[name]
    path = write(tmp_path, before + "".join(rows), name)
    table = read_table(path, "label" if name == "t.libsvm" else "y")
    fewer = keep_rows(table, np.isin(np.arange(3), kept))
    write_table(fewer, tmp_path / f"new_{name}")
    assert (tmp_path / f"new_{name}").read_bytes().decode() == before + "".join(rows[i] for i in kept)
    assert len(fewer) == len(fewer.columns) == len(kept)


@pytest.mark.parametrize(
    "name, lines", [("t.csv", [2, 5, 6]), ("t.jsonl", [2, 4, 5]), ("t.libsvm", [2, 3, 5])]
)
def test_the_line_of_a_row_is_where_its_first_value_is(tmp_path, name, lines):
    path = write(tmp_path, "".join(TEXTS[name]), name)
    table = read_table(path, "label" if name == "t.libsvm" else "y")
    assert table.text.lines.tolist() == lines
    assert keep_rows(table, np.array([True, False, True])).text.lines.tolist()[0] == lines[0]


def test_lines_end_as_in_old_files_too(tmp_path):
    assert read_table(write(tmp_path, "a,y\r1,no\r2,yes\r"), "y").text.lines.tolist() == [2, 3]


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

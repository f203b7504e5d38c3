"""JSON arrays of objects are read as JSON Lines are, and written back with only the labels changed."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty_texts import assert_refused, write

from subsvms.app.tables.json_array import read_json_array
from subsvms.app.tables.json_lines import read_json_lines
from subsvms.app.tables.table import keep_rows, read_table, write_table

ROWS = [
    {"id": "007", "n": 1.5, "label": "no", "nested": {"a": [1, "]"]}},
    {"id": "é, ]", "n": None, "label": "yes"},
    {"id": "}", "n": 3, "label": None, "other": True},
]
TEXTS = {
    "one line": json.dumps(ROWS),
    "indented": json.dumps(ROWS, indent=2, ensure_ascii=False) + "\n",
    "an object a line": "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS) + "\n]\n",
    "odd spaces": " [ " + " , \r\n".join(json.dumps(row, indent="\t") for row in ROWS) + "\t]  ",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_only_labels_change(tmp_path, text, encoding):
    path = write(tmp_path, text, "t.json", encoding)
    read = read_table(path, "label")
    assert read.format == "json" and read.labels.tolist() == ["no", "yes", None]
    write_table(read, tmp_path / "same.json")
    assert (tmp_path / "same.json").read_bytes() == path.read_bytes()
    write_table(read, tmp_path / "new.json", ["yes", "yes", "no"], {"given": read.labels})
    new = json.loads((tmp_path / "new.json").read_text(encoding))
    assert [row.pop("given") for row in new] == ["no", "yes", None]
    assert [row.pop("label") for row in new] == ["yes", "yes", "no"]
    assert new == [{key: value for key, value in row.items() if key != "label"} for row in ROWS]


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
@pytest.mark.parametrize("keep", [[True, False, True], [False, False, True], [True, True, False], [True] * 3])
def test_rows_are_removed_with_their_comma(tmp_path, text, keep):
    read = keep_rows(read_table(write(tmp_path, text, "t.json"), "label"), np.array(keep))
    write_table(read, tmp_path / "kept.json", ["yes"] * sum(keep))
    kept = json.loads((tmp_path / "kept.json").read_text())
    wanted = [row | {"label": "yes"} for row, stays in zip(ROWS, keep, strict=True) if stays]
    assert kept == wanted


values = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5), st.lists(st.integers()))
objects = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=3), values, max_size=4)


@given(
    rows=st.lists(objects, min_size=1, max_size=6), indent=st.sampled_from([None, 0, 3]), ascii=st.booleans()
)
@settings(max_examples=100, deadline=None)
def test_columns_are_those_of_json_lines(rows, indent, ascii):
    array = json.dumps(rows, indent=indent, ensure_ascii=ascii).encode(errors="replace")
    lines = "\n".join(json.dumps(row, ensure_ascii=ascii) for row in rows).encode(errors="replace")
    columns, text = read_json_array(array, "x", None)
    assert columns.equals(read_json_lines(lines, "x", None)[0])
    assert [json.loads(cell) for cell in text.cells] == json.loads(array)


def test_a_table_of_another_format_is_written_as_an_array(tmp_path):
    read = read_table(write(tmp_path, "a,label\n1,x\n,y\n"), "label")
    write_table(read, tmp_path / "t.json", ["y", "y"])
    assert json.loads((tmp_path / "t.json").read_text()) == [
        {"a": "1", "label": "y"},
        {"a": None, "label": "y"},
    ]
    again = read_table(tmp_path / "t.json", None)
    assert again.columns["a"].to_pylist() == ["1", None]


def test_json_lines_with_this_suffix_stay_lines(tmp_path):
    path = write(tmp_path, '{"label": "x"}\n{"label": "y"}\n', "t.json")
    read = read_table(path, "label")
    write_table(read, tmp_path / "new.json", ["y", "y"])
    assert read.format == "jsonl" and (tmp_path / "new.json").read_text() == '{"label": "y"}\n' * 2


@pytest.mark.parametrize(
    "text, message",
    [
        ("[]", "'t.json' is an empty array: it must hold at least one object of each class."),
        ("[1, 2]", "'t.json' has '1' at place 1 of its array: write one object such as"),
        ('[{"label": 1}, [2]]', "'t.json' has '[2]' at place 2 of its array"),
        ('[{"label": 1}\n{"label": 2}]', "line 2 is not part of a JSON array (a comma or ] is missing): fix"),
        (
            '[{"label": 1},\n{"label": 2',
            "line 2 is not part of a JSON array (Expecting ',' delimiter): fix it",
        ),
        (
            '[{"label": 1},]',
            "line 1 is not part of a JSON array (Expecting value): fix it, or write it again.",
        ),
        ('[{"label": 1}] []', "(there is more after its end)"),
        ("[" * 10**6, "(it is nested too deeply)"),
        ('[{"label": %s}]' % ("1" * 5000), "(it holds a number of more than 4,300 digits)"),
        ('[{"label": 1}, {"label": "1"}]', "has numbers and text in its label column 'label': use one type"),
        ('[{"a": 1}]', "'t.json' has no column 'label': its columns are 'a'."),
        ("[", "line 1 is not part of a JSON array (Expecting value)"),
    ],
)
def test_an_array_that_is_not_a_table_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text, "t.json")
    assert_refused(message, read_table, "t.json", "label")

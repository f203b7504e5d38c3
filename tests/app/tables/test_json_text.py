"""JSON Lines and arrays of objects become typed columns, and stay as they were around the label."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty_texts import assert_refused, write

from subsvms.app.tables import json_text
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.json_text import read_array, read_lines
from subsvms.app.tables.table import keep_rows, read_table, write_table

LINES = """{"a": 1.50, "label": "no", "b": {"label": [1, "}"]}}

 { "label" :"yes","a":1e3}
{"b": "\\u00e9\\"", "a": 12345678901234567890}
{}
{"label": null, "label":  "no" , "a": -0.0}
"""


NUMBERS = st.lists(st.floats(allow_nan=False), max_size=2)
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | NUMBERS
OBJECTS = st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=6), VALUES, max_size=4)
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


def parse(read, data, label=None):
    """Return the columns and the text of lines or an array."""
    columns, more = read(Content("'x'", None, data, "json", ""), label, Reading())
    return columns, more["text"]


def test_lines_stay_as_they_were_around_the_label(tmp_path):
    read = read_table(write(tmp_path, LINES, "t.jsonl"), "label")
    assert read.labels.tolist() == ["no", "yes", None, None, "no"]
    write_table(read, tmp_path / "same.jsonl")
    assert (tmp_path / "same.jsonl").read_text() == LINES
    write_table(read, tmp_path / "new.jsonl", ["yes", "yes", "é", "no", None], {"was": read.labels})
    changed = LINES
    for old, new in {
        '"label": "no", "b"': '"label": "yes", "was": "no", "b"',
        ':"yes",': ':"yes", "was": "yes",',
        "890}": '890, "label": "é", "was": null}',
        "{}": '{"label": "no", "was": null}',
        '"no" ,': 'null, "was": "no" ,',
    }.items():
        changed = changed.replace(old, new)
    assert (tmp_path / "new.jsonl").read_text(encoding="utf-8") == changed
    _, text = parse(read_lines, b'{"a": [1]}\n{ }')  # without a label column
    assert text.replace_labels([None] * 2, [None] * 2, {"p": [1, 2]}) == b'{"a": [1], "p": 1}\n{"p": 2 }'


def test_columns_are_typed_if_their_values_agree_and_text_otherwise(tmp_path):
    rows = [
        {"i": 1, "m": 1, "n": [1], "b": True, "long": 2**64, "y": 0},
        {"i": 2.5, "m": "x", "n": {"k": 2}, "b": None, "long": 3, "y": 1},
    ]
    read = read_table(write(tmp_path, "\n".join(map(json.dumps, rows)), "t.ndjson"), "y")
    expected = {"i": [1.0, 2.5], "m": ["1", "x"], "n": ["[1]", '{"k": 2}'], "b": [True, None], "y": [0, 1]}
    expected["long"] = [2**64, 3]
    assert read.columns.to_pydict() == expected
    assert read.labels.tolist() == [0, 1] and all(type(label) is int for label in read.labels)
    write_table(read, tmp_path / "out.jsonl", [1, 1])
    assert [json.loads(line)["y"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [1, 1]


@given(st.lists(OBJECTS, min_size=1, max_size=5))
@settings(max_examples=20)
def test_new_labels_change_nothing_else_in_any_object(rows):
    rows = [row | {"label": "a"} for row in [*rows, {}]]
    _, text = parse(read_lines, "\n".join(map(json.dumps, rows)).encode(), "label")
    fresh = ["é"] * len(rows)
    data = text.replace_labels(fresh, ["a"] * len(rows), {"label was": fresh})
    expected = [row | {"label": "é", "label was": "é"} for row in rows]
    assert [json.loads(line) for line in data.split(b"\n")] == expected


@pytest.mark.parametrize("text, message", [
    ('{"label": 1}\n\n{"label": 2,}\n', "line 3 is not a JSON object ("),
    ('[{"label": 1}]', "line 1 is not a JSON object (it holds an array)"),
    ("3", "line 1 is not a JSON object (it holds a single value)"),
    ("[" * 100_000, "line 1 is not a JSON object (it is nested too deeply)"),
    ('{"label": ' + "1" * 5000 + "}", "(it holds a number of more than 4,300 digits)"),
    ('{"label": 1, "a\\ud800": 2}', r"has a key 'a\ud800', which is not valid Unicode: rename it."),
    ('{"label": "\\udc00"}', r"has the label '\udc00', which is not valid Unicode: rename it."),
    ('{"label": 9223372036854775808}', "has the label 9223372036854775808, which is not a 64-bit number"),
    ('{"label": 1}\n{"label": "1"}', "has numbers and text in its label column 'label'"),
    ("{}\n{}", "has no column 'label': it has no columns."),
])  # fmt: skip
def test_lines_that_are_not_a_table_are_refused_with_the_reason(tmp_path, text, message):
    assert "t.jsonl'" in assert_refused(message, read_table, write(tmp_path, text, "t.jsonl"), "label")


def test_lines_with_too_many_different_keys_are_refused(tmp_path, monkeypatch):
    lines = "".join(f'{{"label": {i % 2}, "k{i}": 1}}\n' for i in range(2000))
    path = write(tmp_path, lines, "t.jsonl")
    monkeypatch.setattr(json_text, "measure_free_memory", lambda: 3.2e7)
    message = "has more than 501 different keys, too many columns of 2,000 rows for the free memory"
    assert_refused(message, read_table, path, "label")


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
    wanted = [row | {"label": "yes"} for row, stays in zip(ROWS, keep, strict=True) if stays]
    assert json.loads((tmp_path / "kept.json").read_text()) == wanted


@given(
    rows=st.lists(OBJECTS, min_size=1, max_size=6), indent=st.sampled_from([None, 0, 3]), ascii=st.booleans()
)
@settings(max_examples=100, deadline=None)
def test_columns_are_those_of_json_lines(rows, indent, ascii):
    array = json.dumps(rows, indent=indent, ensure_ascii=ascii).encode(errors="replace")
    lines = "\n".join(json.dumps(row, ensure_ascii=ascii) for row in rows).encode(errors="replace")
    columns, text = parse(read_array, array)
    assert columns.equals(parse(read_lines, lines)[0])
    assert [json.loads(cell) for cell in text.cells] == json.loads(array)


def test_a_table_of_another_format_is_written_as_an_array_and_lines_stay_lines(tmp_path):
    read = read_table(write(tmp_path, "a,label\n1,x\n,y\n"), "label")
    write_table(read, tmp_path / "t.json", ["y", "y"])
    wanted = [{"a": "1", "label": "y"}, {"a": None, "label": "y"}]
    assert json.loads((tmp_path / "t.json").read_text()) == wanted
    assert read_table(tmp_path / "t.json", None).columns["a"].to_pylist() == ["1", None]
    path = write(tmp_path, '{"label": "x"}\n{"label": "y"}\n', "t.json")
    read = read_table(path, "label")
    write_table(read, tmp_path / "new.json", ["y", "y"])
    assert read.format == "jsonl" and (tmp_path / "new.json").read_text() == '{"label": "y"}\n' * 2


@pytest.mark.parametrize("text, message", [
    ("[]", "'t.json' is an empty array: it must hold at least one object of each class."),
    ("[1, 2]", "'t.json' has '1' at place 1 of its array: write one object such as"),
    ('[{"label": 1}, [2]]', "'t.json' has '[2]' at place 2 of its array"),
    ('[{"label": 1}\n{"label": 2}]', "line 2 is not part of a JSON array (Expecting ',' delimiter): fix"),
    ('[{"label": 1},]', "line 1 is not part of a JSON array ("),
    ('[{"label": 1}] []', "(Extra data)"),
    ('{"data": [{"label": 1}, {"label": 2}]}', "'t.json' holds one JSON object, which is no table: write"),
    ("[" * 10**6, "(it is nested too deeply)"),
    ('[{"label": %s}]' % ("1" * 5000), "(it holds a number of more than 4,300 digits)"),
])  # fmt: skip
def test_an_array_that_is_not_a_table_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text, "t.json")
    assert_refused(message, read_table, "t.json", "label")

"""JSON Lines become typed columns, and stay as they were around the label."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nasty_texts import assert_refused, write

from subsvms.app.tables import json_lines
from subsvms.app.tables.json_lines import read_json_lines
from subsvms.app.tables.table import read_table, write_table

LINES = """{"a": 1.50, "label": "no", "b": {"label": [1, "}"]}}

 { "label" :"yes","a":1e3}
{"b": "\\u00e9\\"", "a": 12345678901234567890}
{}
{"label": null, "label":  "no" , "a": -0.0}
"""


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


def test_lines_without_a_label_column_get_new_entries_at_the_end():
    _, text = read_json_lines(b'{"a": [1]}\n{ }', "'t.jsonl'", None)
    assert text.replace_labels([None] * 2, [None] * 2, {"p": [1, 2]}) == b'{"a": [1], "p": 1}\n{"p": 2 }'


def test_columns_are_typed_if_their_values_agree_and_text_otherwise(tmp_path):
    rows = [
        {"i": 1, "m": 1, "n": [1], "b": True, "y": 0},
        {"i": 2.5, "m": "x", "n": {"k": 2}, "b": None, "y": 1},
    ]
    read = read_table(write(tmp_path, "\n".join(map(json.dumps, rows)), "t.ndjson"), "y")
    expected = {"i": [1.0, 2.5], "m": ["1", "x"], "n": ["[1]", '{"k": 2}'], "b": [True, None], "y": [0, 1]}
    assert read.columns.to_pydict() == expected
    assert read.labels.tolist() == [0, 1] and all(type(label) is int for label in read.labels)
    write_table(read, tmp_path / "out.jsonl", [1, 1])
    assert [json.loads(line)["y"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == [1, 1]


keys = st.text(st.characters(codec="utf-8"), max_size=6)
values = st.none() | st.booleans() | st.integers() | keys | st.lists(st.floats(allow_nan=False), max_size=2)


@given(st.lists(st.dictionaries(keys, values, max_size=4), min_size=1, max_size=5))
@settings(max_examples=20)
def test_new_labels_change_nothing_else_in_any_object(rows):
    rows = [row | {"label": "a"} for row in [*rows, {}]]
    _, text = read_json_lines("\n".join(map(json.dumps, rows)).encode(), "'t.jsonl'", "label")
    fresh = ["é"] * len(rows)
    data = text.replace_labels(fresh, ["a"] * len(rows), {"label was": fresh})
    expected = [row | {"label": "é", "label was": "é"} for row in rows]
    assert [json.loads(line) for line in data.split(b"\n")] == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"label": 1}\n\n{"label": 2,}\n', "line 3 is not a JSON object ("),
        ('[{"label": 1}]', "line 1 is not a JSON object (it holds an array)"),
        ("3", "line 1 is not a JSON object (it holds a single value)"),
        ("[" * 100_000, "line 1 is not a JSON object (it is nested too deeply)"),
        ('{"label": ' + "1" * 5000 + "}", "(it holds a number of more than 4,300 digits)"),
        ('{"label": 1, "a\\ud800": 2}', r"has a key 'a\ud800', which is not valid Unicode: rename it."),
        ('{"label": "\\udc00"}', r"has the label '\udc00', which is not valid Unicode: rename it."),
        (
            '{"label": 9223372036854775808}',
            "has the label 9223372036854775808, which is not a 64-bit number: rename",
        ),
        ('{"label": 1}\n{"label": "1"}', "has numbers and text in its label column 'label'"),
        ("{}\n{}", "has no column 'label': it has no columns."),
        ('{"label": 0.25}\n{"label": 1}', "with 2 different numbers, such as 0.25"),
    ],
    ids="comma array value depth digits key text large types label fractions".split(),
)
def test_lines_that_are_not_a_table_are_refused_with_the_reason(tmp_path, text, message):
    assert "t.jsonl'" in assert_refused(message, read_table, write(tmp_path, text, "t.jsonl"), "label")


def test_lines_with_too_many_different_keys_are_refused(tmp_path, monkeypatch):
    """A table of n lines with one new key each would have n * n cells."""
    lines = "".join(f'{{"label": {i % 2}, "k{i}": 1}}\n' for i in range(2000))
    path = write(tmp_path, lines, "t.jsonl")
    monkeypatch.setattr(json_lines, "measure_free_memory", lambda: 3.2e7)
    message = "has more than 501 different keys, too many columns of 2,000 rows for the free memory"
    assert_refused(message, read_table, path, "label")

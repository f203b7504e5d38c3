"""Tables survive reading and writing: everything but the label stays as it was."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nasty_texts import NASTY, write
from pyarrow import feather, parquet

from subsvms.app.tables import csv_text as delimited
from subsvms.app.tables import table
from subsvms.app.tables.csv_text import render_delimited
from subsvms.app.tables.table import read_table, write_table
from subsvms.exceptions import TableError


def rows_of(data, separator=","):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator))


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_a_table_with_its_labels_unchanged_is_the_same_to_the_byte(tmp_path, text):
    read = read_table(write(tmp_path, text), "label")
    write_table(read, tmp_path / "out.csv", read.labels)
    assert (tmp_path / "out.csv").read_bytes() == text.encode()


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_new_labels_change_the_label_cells_and_nothing_else(tmp_path, text):
    read = read_table(write(tmp_path, text), "label")
    fresh = [f'new, "{i}";\n' for i in range(len(read))]
    write_table(read, tmp_path / "out.csv", fresh)
    separator = read.text.separator
    old, new = rows_of(text.encode(), separator), rows_of((tmp_path / "out.csv").read_bytes(), separator)
    old, new = [row for row in old if row], [row for row in new if row]
    place = old[0].index("label")
    assert [row[place] for row in new[1:]] == fresh
    for row in (*old, *new):
        row.pop(place)
    assert old == new


def test_every_cell_is_read_as_the_text_it_is(tmp_path):
    read = read_table(write(tmp_path, NASTY["quotes"]), "label")
    assert read.columns["a"].to_pylist() == ['say "hi", you', "", None, "xy", '5" pipe']
    assert read.labels.tolist() == ["a", "b", "b", "a", "a"]
    read = read_table(write(tmp_path, NASTY["codes, spaces, signs"]), "label")
    assert read.columns.to_pydict()["id"] == ["007", "08", "09"]
    assert read.columns.to_pydict()["z"] == [" x", "-", "@a"]


def test_columns_are_put_directly_after_the_label(tmp_path):
    read = read_table(write(tmp_path, 'a,"label",b\r\n1,x,"2"\r\n3,y,4\r\n'), "label")
    extra = {"given label": read.labels, "sure, or not": np.array([0.5, np.nan]), "ok": [True, None]}
    write_table(read, tmp_path / "out.csv", np.array(["y", "y"]), extra)
    expected = b'a,"label",given label,"sure, or not",ok,b\r\n1,y,x,0.5,true,"2"\r\n3,y,y,,,4\r\n'
    assert (tmp_path / "out.csv").read_bytes() == expected


def test_a_table_without_label_gets_its_columns_at_the_end(tmp_path):
    read = read_table(write(tmp_path, "a,b\n1,2\n3,4\n"), None)
    assert read.label is None and read.missing.all()
    write_table(read, tmp_path / "out.csv", extra_columns={"p": ["x", "y"]})
    assert (tmp_path / "out.csv").read_text() == "a,b,p\n1,2,x\n3,4,y\n"


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
names = st.lists(cells.filter(lambda name: name != "label"), max_size=4, unique=True)


@given(st.data(), names, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_table_of_text_comes_back(tmp_path_factory, data, names, separator, end, quote_all):
    """What Python's csv writes is read as it was, and written back to the byte."""
    header = data.draw(st.permutations([*names, "label"]))
    row = st.tuples(*(cells if name != "label" else st.sampled_from(["a", "b"]) for name in header))
    rows = data.draw(st.lists(row, min_size=2, max_size=5))
    if not quote_all:  # before Python 3.13 csv leaves a lone CR bare, which ends a line
        header = [name.replace("\r", "\n") for name in header]
        rows = [tuple(cell.replace("\r", "\n") for cell in row) for row in rows]
        assume(len(set(header)) == len(header))
    place = header.index("label")
    rows[0] = (*rows[0][:place], "a", *rows[0][place + 1 :])
    rows[1] = (*rows[1][:place], "b", *rows[1][place + 1 :])
    sink = io.StringIO(newline="")
    style = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    csv.writer(sink, delimiter=separator, lineterminator=end, quoting=style).writerows([header, *rows])
    folder = tmp_path_factory.mktemp("random")
    read = read_table(write(folder, sink.getvalue()), "label", separator=separator, encoding="utf-8")
    if not sink.getvalue().startswith("\ufeff"):  # that is a byte order mark, and no part of a name
        assert read.columns.column_names == header
    plain = [
        ["" if cell is None else cell for cell in column] for column in read.columns.to_pydict().values()
    ]
    assert list(zip(*plain, strict=True)) == rows
    write_table(read, folder / "out.csv")
    assert (folder / "out.csv").read_bytes() == sink.getvalue().encode()


@given(st.lists(st.tuples(cells, st.none() | cells), min_size=1, max_size=4))
def test_rendered_text_is_read_as_it_was(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("rendered") / "t.csv"
    first, second = zip(*rows, strict=True)
    path.write_bytes(render_delimited({"a": first, "b": second}, ";"))
    assert read_table(path, None, separator=";").columns.to_pydict() == {"a": list(first), "b": list(second)}


def test_the_separator_is_the_one_that_finds_the_label(tmp_path):
    assert read_table(write(tmp_path, "a,b;label\n1,2;x\n3,4;y\n"), "label").columns.column_names == [
        "a,b",
        "label",
    ]
    assert read_table(write(tmp_path, "a,b;label\n1,2;x\n3,4;y\n"), "b;label").text.separator == ","
    assert read_table(write(tmp_path, "a,label\n1,x\n2,y\n", "t.tsv"), "label").text.separator == ","


def test_tsv_and_csv_turn_into_each_other(tmp_path):
    read = read_table(write(tmp_path, 'a;label\n"x;1";u\n\t;v\n'), "label")
    write_table(read, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == 'a\tlabel\nx;1\tu\n"\t"\tv\n'
    back = read_table(tmp_path / "out.tsv", "label")
    write_table(back, tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_text() == 'a,label\nx;1,u\n"\t",v\n'


@pytest.mark.parametrize(
    "suffix", [".csv", ".csv.gz", ".csv.bz2", ".tsv.xz", ".CSV.ZST", ".jsonl.gz", ".parquet", ".feather"]
)
def test_every_format_and_packing_holds_the_same_table(tmp_path, suffix):
    read = read_table(write(tmp_path, NASTY["codes, spaces, signs"], "source.csv"), "label")
    write_table(read, tmp_path / f"t{suffix}", ["no", "no", "yes"], {"given": read.labels})
    again = read_table(tmp_path / f"t{suffix}", "label")
    expected = {"id": ["007", "08", "09"], "n": ["1.50", "=1+1", "+3"], "label": ["no", "no", "yes"]}
    expected |= {"given": ["yes", "no", "yes"], "z": [" x", "-", "@a"]}
    assert again.columns.to_pydict() == expected
    assert again.labels.tolist() == expected["label"]
    write_table(read, tmp_path / f"u{suffix}", ["no", "no", "yes"], {"given": read.labels})
    assert (tmp_path / f"u{suffix}").read_bytes() == (tmp_path / f"t{suffix}").read_bytes()


def test_encodings_are_kept(tmp_path):
    text = "a,label\ngrün,schön\nblau,häßlich\n"
    for encoding, asked in (
        ("cp1252", "cp1252"),
        ("utf-16", None),
        ("utf-16", "utf-16"),
        ("utf-8-sig", "utf-8-sig"),
    ):
        path = write(tmp_path, text, encoding=encoding)
        read = read_table(path, "label", encoding=asked)
        assert read.labels.tolist() == ["schön", "häßlich"]
        write_table(read, tmp_path / "out.csv", force=True)
        assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_labels_keep_their_text_and_missing_ones_are_no_class(tmp_path):
    read = read_table(write(tmp_path, 'a,label\n1,01\n2,1\n3,\n4,"  "\n5,""\n6,NA\n7,?\n'), "label")
    assert read.labels.tolist() == ["01", "1", None, None, None, None, None]
    assert read.classes == ["01", "1"] and read.missing.sum() == 5
    write_table(read, tmp_path / "out.csv", ["1", "1", "01", None, None, None, None])
    assert (tmp_path / "out.csv").read_text() == 'a,label\n1,1\n2,1\n3,01\n4,"  "\n5,""\n6,NA\n7,?\n'
    assert repr(read).endswith("7 rows, label 'label' of 2 classes, 5 missing)")


def test_a_mark_among_words_may_be_a_class_and_is_told(tmp_path):
    path = write(tmp_path, "a,label\n1,some\n2,None\n3,all\n4,None\n")
    read = read_table(path, "label")
    assert read.classes == ["None", "all", "some"]
    assert read.notes == ("Taken as a class, not as missing labels: 'None' (2 rows).",)
    read = read_table(path, "label", missing_labels=["None"])
    assert read.classes == ["all", "some"] and read.notes == ()


def test_removing_a_label_leaves_a_row_that_is_still_a_row(tmp_path):
    read = read_table(write(tmp_path, "label\nx\ny\n"), "label")
    write_table(read, tmp_path / "out.csv", [None, "y"])
    assert read_table(tmp_path / "out.csv", None).columns.to_pydict() == {"label": ["", "y"]}


def test_very_long_cells_survive(tmp_path):
    text = "a,label\n" + "x" * 10_000_000 + ',"u"\n"' + 'y""\n' * 1_000_000 + '",v\n'
    read = read_table(write(tmp_path, text), "label")
    assert len(read.columns["a"][0].as_py()) == 10_000_000
    write_table(read, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == text.encode()


LINES = """{"a": 1.50, "label": "no", "b": {"label": [1, "}"]}}

 { "label" :"yes","a":1e3}
{"b": "\\u00e9\\"", "a": 12345678901234567890}
{}
{"label": null, "label":  "no" , "a": -0.0}
"""


def test_json_lines_stay_as_they_were_around_the_label(tmp_path):
    read = read_table(write(tmp_path, LINES, "t.jsonl"), "label")
    assert read.labels.tolist() == ["no", "yes", None, None, "no"]
    write_table(read, tmp_path / "same.jsonl")
    assert (tmp_path / "same.jsonl").read_text() == LINES
    write_table(read, tmp_path / "new.jsonl", ["yes", "yes", "é", "no", None], {"was": read.labels})
    changed = LINES.replace('"label": "no", "b"', '"label": "yes", "was": "no", "b"')
    changed = changed.replace(':"yes",', ':"yes", "was": "yes",').replace(
        "890}", '890, "label": "é", "was": null}'
    )
    changed = changed.replace("{}", '{"label": "no", "was": null}').replace('"no" ,', 'null, "was": "no" ,')
    assert (tmp_path / "new.jsonl").read_text(encoding="utf-8") == changed


def test_json_columns_have_types_or_else_are_text(tmp_path):
    rows = [
        {"i": 1, "m": 1, "n": [1], "b": True, "y": 0},
        {"i": 2.5, "m": "x", "n": {"k": 2}, "b": None, "y": 1},
    ]
    path = write(tmp_path, "\n".join(map(json.dumps, rows)), "t.ndjson")
    read = read_table(path, "y")
    expected = {"i": [1.0, 2.5], "m": ["1", "x"], "n": ["[1]", '{"k": 2}'], "b": [True, None], "y": [0, 1]}
    assert read.columns.to_pydict() == expected
    assert read.labels.tolist() == [0, 1] and all(type(label) is int for label in read.labels)
    write_table(read, tmp_path / "out.jsonl", [1, 1])
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["y"] for line in lines] == [1, 1]


@given(
    st.lists(
        st.dictionaries(cells, st.none() | st.booleans() | st.integers() | cells, max_size=4), min_size=1
    )
)
@settings(max_examples=15)
def test_any_json_lines_come_back(tmp_path_factory, rows):
    rows = [row | {"label": "ab"[i % 2]} for i, row in enumerate([*rows, {}])]
    folder = tmp_path_factory.mktemp("json")
    path = write(folder, "\n".join(map(json.dumps, rows)), "t.jsonl")
    fresh = ["é"] * len(rows)
    write_table(read_table(path, "label"), folder / "out.jsonl", fresh, {"label was": fresh})
    back = [json.loads(line) for line in (folder / "out.jsonl").read_text(encoding="utf-8").split("\n")]
    assert back == [row | {"label": "é", "label was": "é"} for row in rows]


SVMLIGHT = "# remark\n+1 1:0.5 3:2 # yes\n-1 qid:3 2:1\n\n1\n 01 2:3\r\n"


def test_libsvm_text_keeps_everything_but_its_labels(tmp_path):
    read = read_table(write(tmp_path, SVMLIGHT, "t.svm"), "label")
    assert read.labels.tolist() == ["+1", "-1", "+1", "+1"]
    assert read.matrix.toarray().tolist() == [[0, 0.5, 0, 2], [0, 0, 1, 0], [0] * 4, [0, 0, 3, 0]]
    write_table(read, tmp_path / "same.svm")
    assert (tmp_path / "same.svm").read_bytes() == SVMLIGHT.encode()
    write_table(read, tmp_path / "new.svm.gz", ["-1", "-1", None, "+1"])
    again = read_table(tmp_path / "new.svm.gz", "label")
    assert again.labels.tolist() == ["-1", "-1", None, "01"]
    assert (again.matrix != read.matrix).nnz == 0


def test_libsvm_text_is_known_without_a_suffix(tmp_path):
    assert read_table(write(tmp_path, SVMLIGHT[9:], "a1a"), "label").format == "svmlight"
    assert read_table(write(tmp_path, "spam 0:1\nham 0:2\n", "a1a.t"), "label").classes == ["ham", "spam"]


FRAME = pd.DataFrame(
    {
        "a": pd.to_datetime(["2024-01-01", "2024-01-02", None]),
        "y": pd.Categorical(["low", "high", "low"], categories=["low", "mid", "high"], ordered=True),
        "b": [1.5, None, -0.0],
    },
    index=["r1", "r2", "r3"],
)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
def test_typed_formats_keep_their_types(tmp_path, suffix):
    columns = pa.Table.from_pandas(FRAME)
    source = tmp_path / f"t{suffix}"
    (parquet.write_table if suffix == ".parquet" else feather.write_feather)(columns, source)
    read = read_table(source, "y")
    assert read.labels.tolist() == ["low", "high", "low"]
    write_table(read, tmp_path / f"out{suffix}", ["high", "high", None], {"given": read.labels})
    again = read_table(tmp_path / f"out{suffix}", "given")
    assert again.columns.column_names == ["a", "y", "given", "b", "__index_level_0__"]
    assert again.columns.schema.field("y").type == read.columns.schema.field("y").type
    expected = FRAME.assign(given=list(FRAME["y"]))[["a", "y", "given", "b"]]
    expected["y"] = pd.Categorical(["high", "high", None], categories=["low", "mid", "high"], ordered=True)
    back = again.columns.to_pandas()
    pd.testing.assert_frame_equal(back, expected, check_dtype=False)
    assert back["y"].dtype == FRAME["y"].dtype


LABEL_TYPES = {
    "int8": (pa.array([0, 1, None], pa.int8()), [0, 1, None]),
    "bool": (pa.array([True, False, None]), [True, False, None]),
    "whole floats": (pa.array([0.0, 1.0, float("nan")]), [0.0, 1.0, None]),
    "decimal": (pa.array([0, 1, None], pa.decimal128(5, 2)), [0.0, 1.0, None]),
    "large text": (pa.array(["é", "b", " "], pa.large_string()), ["é", "b", None]),
    "categories": (pa.array(["x", "y", None]).dictionary_encode(), ["x", "y", None]),
}


@pytest.mark.parametrize("array, labels", LABEL_TYPES.values(), ids=LABEL_TYPES)
def test_labels_of_every_type_are_changed_in_that_type(tmp_path, array, labels):
    parquet.write_table(pa.table({"y": array, "a": [1, 2, 3]}), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", "y")
    assert read.labels.tolist() == labels
    write_table(read, tmp_path / "out.parquet", [labels[1], labels[1], None])
    column = parquet.read_table(tmp_path / "out.parquet")["y"]
    assert column.type == array.type
    assert read_table(tmp_path / "out.parquet", None).columns["y"][0] == array[1]
    assert str(column[2]) == str(array[2])  # NaN stays NaN


def test_a_pattern_or_list_of_files_is_one_table(tmp_path):
    for i in range(3):
        parquet.write_table(pa.table({"y": ["a", "b"], "n": [i, i]}), tmp_path / f"part-{i}.parquet")
    whole = read_table(str(tmp_path / "part-*.parquet"), "y")
    assert whole.columns["n"].to_pylist() == [0, 0, 1, 1, 2, 2] and len(whole.paths) == 3
    listed = read_table([tmp_path / "part-1.parquet", str(tmp_path / "part-[2].parquet")], "y")
    assert listed.columns["n"].to_pylist() == [1, 1, 2, 2]
    assert listed.digest != whole.digest
    write_table(whole, tmp_path / "whole.parquet")
    assert parquet.read_table(tmp_path / "whole.parquet").equals(whole.columns)


def test_arrow_streams_are_read(tmp_path):
    columns = pa.table({"y": ["a", "b"], "n": [1, 2]})
    with pa.ipc.new_stream(tmp_path / "t.arrow", columns.schema) as sink:
        sink.write_table(columns)
    assert read_table(tmp_path / "t.arrow", "y").columns.equals(columns)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet", "t.svm", "t.feather", "t.csv.xz"])
def test_standard_input_is_known_by_its_content(tmp_path, monkeypatch, name):
    if name == "t.svm":
        write(tmp_path, "1 1:2\n0 1:3\n", name)
    else:
        read = read_table(write(tmp_path, "a,label\n1,1\n2,0\n", "source.csv"), "label")
        write_table(read, tmp_path / name)
    stream = io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes()))
    monkeypatch.setattr("sys.stdin", stream)
    piped = read_table("-", "label")
    assert piped.labels.tolist() == ["1", "0"]
    assert piped.paths == () and piped.digest == read_table(tmp_path / name, "label").digest


def test_everything_public_has_an_example():
    for thing in (table.read_table, table.write_table, delimited.read_delimited, TableError):
        assert ">>>" in thing.__doc__

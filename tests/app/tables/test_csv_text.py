"""CSV and TSV survive reading and writing: everything but the label stays as it was."""

import csv
import io

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nasty_texts import GOOD, NASTY, assert_refused, write

from subsvms.app.tables import csv_text
from subsvms.app.tables.csv_text import render_csv
from subsvms.app.tables.files import Content
from subsvms.app.tables.formats import Reading
from subsvms.app.tables.table import read_table, write_table


def rows_of(data, separator=","):
    rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=separator)
    return [row for row in rows if row]


def parse(data, label, separator=None):
    reading = Reading(encoding="utf-8", separator=separator)
    columns, more = csv_text.read(Content("'t.csv'", None, data, "csv", ""), label, reading)
    return columns, more["text"]


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_new_labels_change_the_label_cells_and_nothing_else(tmp_path, text):
    read = read_table(write(tmp_path, text), "label")
    write_table(read, tmp_path / "same.csv", read.labels)
    assert (tmp_path / "same.csv").read_bytes() == text.encode()
    fresh = [f'new, "{i}";\n' for i in range(len(read))]
    write_table(read, tmp_path / "out.csv", fresh)
    separator = read.text.separator
    old, new = rows_of(text.encode(), separator), rows_of((tmp_path / "out.csv").read_bytes(), separator)
    place = old[0].index("label")
    assert [row[place] for row in new[1:]] == fresh
    for row in (*old, *new):
        row.pop(place)
    assert old == new


def test_every_cell_is_read_as_the_text_it_is(tmp_path):
    read = read_table(write(tmp_path, NASTY["quotes"]), "label")
    assert read.columns["a"].to_pylist() == ['say "hi", you', "", None, "xy", '5" pipe']
    assert read.labels.tolist() == ["a", "b", "b", "a", "a"]
    found = read_table(write(tmp_path, NASTY["codes, spaces, signs"]), "label").columns.to_pydict()
    assert found["id"] == ["007", "08", "09"] and found["z"] == [" x", "-", "@a"]


cells = st.text(st.characters(codec="utf-8", exclude_characters="\x00\ufeff"), max_size=6)
names = st.lists(cells.filter(lambda name: name != "label"), max_size=4, unique=True)


@given(st.data(), names, st.sampled_from(",;\t|"), st.sampled_from(["\n", "\r\n"]), st.booleans())
@settings(max_examples=20)
def test_any_table_of_text_is_read_and_written_back(data, names, separator, end, quote_all):
    header = data.draw(st.permutations([*names, "label"]))
    rows = data.draw(st.lists(st.tuples(*[cells] * len(header)), min_size=2, max_size=5))
    if not quote_all:  # before Python 3.13 csv leaves a lone CR bare, which ends a line
        header = [name.replace("\r", "\n") for name in header]
        rows = [tuple(cell.replace("\r", "\n") for cell in row) for row in rows]
        assume(len(set(header)) == len(header))
    sink = io.StringIO(newline="")
    style = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    csv.writer(sink, delimiter=separator, lineterminator=end, quoting=style).writerows([header, *rows])
    written = sink.getvalue().encode()
    columns, text = parse(written, "label", separator)
    assert columns.column_names == header
    assert list(zip(*([cell or "" for cell in c.to_pylist()] for c in columns), strict=True)) == rows
    labels = columns["label"].to_pylist()
    assert text.replace_labels(labels, labels, {}) == written


@given(st.lists(st.tuples(cells, st.none() | cells), min_size=1, max_size=4))
@settings(max_examples=20)
def test_rendered_text_is_read_as_it_was(rows):
    first, second = zip(*rows, strict=True)
    data = render_csv({"a": first, "b": second}, ";")
    columns, _ = parse(data, None, ";")
    assert columns.to_pydict() == {"a": list(first), "b": list(second)}


def test_the_separator_is_the_one_that_finds_the_label(tmp_path):
    both = write(tmp_path, "a,b;label\n1,2;x\n3,4;y\n")
    assert read_table(both, "label").columns.column_names == ["a,b", "label"]
    assert read_table(both, "b;label").text.separator == ","
    assert read_table(write(tmp_path, GOOD, "t.tsv"), "label").text.separator == ","
    for separator in ("::", '"'):
        message = f"The separator must be one character, such as ',' or ';'; got {separator!r}."
        assert_refused(message, read_table, both, "label", separator=separator)


def test_tsv_and_csv_are_converted_into_each_other(tmp_path):
    read = read_table(write(tmp_path, 'a;label\n"x;1";u\n\t;v\n'), "label")
    write_table(read, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == 'a\tlabel\nx;1\tu\n"\t"\tv\n'
    write_table(read_table(tmp_path / "out.tsv", "label"), tmp_path / "back.csv")
    assert (tmp_path / "back.csv").read_text() == 'a,label\nx;1,u\n"\t",v\n'
    read = read_table(write(tmp_path, "label\nx\ny\n"), "label")
    write_table(read, tmp_path / "one.csv", [None, "y"])  # a row that is still a row
    assert read_table(tmp_path / "one.csv", None).columns.to_pydict() == {"label": ["", "y"]}


def test_very_long_cells_survive():
    data = b"a,label\n" + b"x" * 10_000_000 + b',"u"\n"' + b'y""\n' * 1_000_000 + b'",v\n'
    columns, text = parse(data, "label")
    assert len(columns["a"][0].as_py()) == 10_000_000
    assert text.replace_labels(["u", "v"], ["u", "v"], {}) == data


@pytest.mark.parametrize("text, message", [
    ("a,label\n", "has a header but no rows"),
    ('a,label\n"1\n",x\n2\n', "line 4 has 1 cell, but the header has 2: quote cells"),
    ("a,label\n1,x\n\n2,y,z\n", "line 4 has 3 cells, but the header has 2"),
    ("a,label\r\n1,x\r\n \r\n", "line 3 has 1 cell"),
    ("a,label\r1,x\r2\r", "line 3 has 1 cell"),
    ('a,label\n1,x\n"2,y\n3,x\n', "line 3 opens a quote that is never closed"),
    ('"a,label\n1,x\n', "opens a quote in its first line"),
    ("a,label,a\n1,x,2\n", "several columns named 'a' (columns 1, 3)"),
    ("a,Lable\n1,x\n", "no column 'label': its columns are 'a', 'Lable'; did you mean 'Lable'?"),
    (",".join(f"column {i}" for i in range(50)) + "\n1\n", "'column 18' and 31 more."),
    (",".join(map(str, range(100_001))) + "\n1\n", "has 100,001 columns, but at most 100,000 are possible"),
])  # fmt: skip
def test_text_that_is_not_a_table_is_refused_with_the_reason(tmp_path, text, message):
    assert "t.csv'" in assert_refused(message, read_table, write(tmp_path, text), "label")

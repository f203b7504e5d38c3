"""Rows are removed from text, and every other byte and its encoding stay, or one sentence says why not."""

import os
from encodings.aliases import aliases

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import GOOD, assert_refused, write
from pyarrow import parquet

from subsvms.app.tables.table import keep_rows, read_table, write_table
from subsvms.app.tables.text import guess_encoding
from subsvms.exceptions import TableError

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


def test_the_line_of_a_row_is_where_its_first_value_is(tmp_path):
    for name, lines in (("t.csv", [2, 5, 6]), ("t.jsonl", [2, 4, 5]), ("t.libsvm", [2, 3, 5])):
        path = write(tmp_path, "".join(TEXTS[name]), name)
        table = read_table(path, "label" if name == "t.libsvm" else "y")
        assert table.text.lines.tolist() == lines
        assert keep_rows(table, np.array([True, False, True])).text.lines.tolist()[0] == lines[0]
    assert read_table(write(tmp_path, "a,y\r1,no\r2,yes\r"), "y").text.lines.tolist() == [2, 3]


def test_labels_are_replaced_in_the_right_places_afterwards(tmp_path):
    path = write(tmp_path, "y,a\nno,1\nyes,2\nno,3\nyes,4\n")
    fewer = keep_rows(read_table(path, "y"), np.array([False, True, False, True]))
    write_table(fewer, tmp_path / "new.csv", ["maybe", "yes"], {"given": fewer.labels})
    assert (tmp_path / "new.csv").read_text() == "y,given,a\nmaybe,yes,2\nyes,yes,4\n"
    parquet.write_table(pa.table({"y": [0, 1, 0], "a": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet")
    fewer = keep_rows(read_table(tmp_path / "t.parquet", "y"), np.array([True, True, False]))
    write_table(fewer, tmp_path / "new.parquet")
    assert parquet.read_table(tmp_path / "new.parquet").to_pydict() == {"y": [0, 1], "a": [1.0, 2.0]}


def test_a_wrong_encoding_is_reported_with_its_position(tmp_path):
    path = write(tmp_path, "a,label\n1,Привет\n", encoding="cp1251")
    message = "is not text in the encoding 'utf-8': byte 0xcf at position 10 (line 2) does not fit; convert"
    assert_refused(message, read_table, path, "label")
    path = write(tmp_path, b"\xef\xbb\xbfa,label\n1,\xff\n")
    assert_refused("position 13 (line 2)", read_table, path, "label")
    for unknown in ("utf-9", "base64", "undefined", "punycode", "idna", "unicode_escape", "\udcff", "a\0b"):
        message = f"{unknown!r} is not an encoding of text files: use one such as"
        assert_refused(message, read_table, path, "label", encoding=unknown)
    path = write(tmp_path, GOOD + "3,é\n", encoding="latin-1")
    read = read_table(path, "label", encoding="latin-1")
    message = "'→' cannot be written in the encoding 'latin-1'"
    assert_refused(message, write_table, read, tmp_path / "out.csv", ["x", "y", "→"])
    assert os.listdir(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_are_kept_and_what_is_sure_needs_no_note(tmp_path, encoding):
    path = write(tmp_path, "a,label\ngrün,schön\nblau,häßlich\n", encoding=encoding)
    for asked in (encoding, None):
        read = read_table(path, "label", encoding=asked)
        assert read.labels.tolist() == ["schön", "häßlich"]
        assert (read.notes == ()) == (asked is not None or encoding != "cp1252")
        write_table(read, tmp_path / "out.csv", force=True)
        assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_every_encoding_of_python_is_read_and_kept_or_refused(tmp_path):
    n_read = 0
    for encoding in {*aliases.values(), "idna", "punycode", "undefined", "unicode_escape"}:
        try:
            path = write(tmp_path, GOOD, encoding=encoding)
        except (LookupError, UnicodeError):  # not an encoding of text
            path = write(tmp_path, GOOD)
        try:
            write_table(read_table(path, None, encoding=encoding), tmp_path / "out.csv", force=True)
        except TableError:
            continue
        n_read += 1
        assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()
    assert n_read > 80


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "utf-16-be"])
def test_a_guessed_encoding_is_said_with_a_word_to_check_it_by(tmp_path, monkeypatch, encoding):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "name,label\nJoe,x\nMüller,y\n", "t.csv", encoding)
    read = read_table("t.csv", "label")
    assert read.columns["name"].to_pylist() == ["Joe", "Müller"]
    (note,) = read.notes
    assert f"it was read as {encoding}, as in 'Müller'; if that looks wrong, name the encoding" in note
    assert read_table("t.csv", "label", encoding=encoding).notes == ()
    write_table(read, "out.csv", ["y", "y"])
    assert (tmp_path / "out.csv").read_text(encoding=encoding) == "name,label\nJoe,y\nMüller,y\n"


WESTERN = ["Zoë, naïve façade; déjà vu “quoted” – 5 €", "Ærøskøbing på Fünen", "São João, El Niño ¿qué?"]
OTHERS = {
    "cp1251": "Съешь же ещё этих мягких французских булок", "cp1253": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "shift_jis": "いろはにほへとちりぬるを", "gb18030": "天地玄黄宇宙洪荒",
    "euc_kr": "키스의 고유조건은 입술끼리", "koi8_r": "Съешь же ещё этих мягких булок",
}  # fmt: skip


def test_only_western_european_text_is_guessed():
    for text in WESTERN:
        assert guess_encoding(text.encode("cp1252")) == "cp1252"
        assert guess_encoding(text.encode()) is None
    for encoding, text in OTHERS.items():
        assert guess_encoding(text.encode(encoding)) is None


def test_damaged_utf_8_is_not_read_as_something_else(tmp_path):
    text = "a,label\n" + "größer,schön\nkleiner,hässlich\n" * 50
    damaged = text.encode().replace("schön".encode(), b"sch\xf6n", 1)
    for data, byte in ((damaged, "f6"), (b"a,label\n\x81,x\n", "81"), (b"a,label\n1\x00,\xff\n2,y\n", "ff")):
        message = f"is not text in the encoding 'utf-8': byte 0x{byte}"
        assert_refused(message, read_table, write(tmp_path, data), "label")

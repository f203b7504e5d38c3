"""Text files keep their encoding, or one sentence says why it cannot be used."""

import os
from encodings.aliases import aliases

import pytest
from nasty_texts import GOOD, assert_refused, write

from subsvms.app.tables.table import read_table, write_table
from subsvms.exceptions import TableError


def test_a_wrong_encoding_is_reported_with_its_position(tmp_path):
    path = write(tmp_path, "a,label\n1,schön\n", encoding="cp1252")
    message = "is not text in the encoding 'utf-8': byte 0xf6 at position 13 (line 2) does not fit; convert"
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


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_encodings_are_kept(tmp_path, encoding):
    path = write(tmp_path, "a,label\ngrün,schön\nblau,häßlich\n", encoding=encoding)
    for asked in {encoding, None if encoding != "cp1252" else encoding}:
        read = read_table(path, "label", encoding=asked)
        assert read.labels.tolist() == ["schön", "häßlich"]
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

"""Formats are all in one list, which says how a file is recognised, read and written."""

from pathlib import Path

import pytest
from nasty_texts import GOOD, NASTY, assert_refused, write

from subsvms.app.tables.formats import FORMATS, SUFFIXES, load_function, sniff_format
from subsvms.app.tables.table import read_table

DOCS = Path(__file__).parents[3] / "docs" / "data_frames.md"


@pytest.mark.parametrize("one", FORMATS.values(), ids=FORMATS)
def test_an_entry_names_functions_that_exist_and_is_in_the_documentation(one):
    written = FORMATS[one.written]
    functions = [path for path in (one.reader, written.writer) if path]
    assert all(callable(load_function(path)) for path in functions)
    assert set(one.suffixes) <= set(SUFFIXES)
    described = DOCS.read_text(encoding="utf-8")
    assert all(f"{suffix}," in described or f"{suffix} " in described for suffix in one.suffixes)


def test_an_unknown_format_is_refused(tmp_path):
    message = f"format must be one of {', '.join(FORMATS)}; got 'cvs'; did you mean 'csv'?"
    assert_refused(message, read_table, write(tmp_path, GOOD), "label", format="cvs")


def test_formats_are_recognised_by_their_content():
    for format, texts in {
        "svmlight": ("+1 1:1\n", "spam 3:0.5 7:1e-3 # x\n", "3 qid:1 2:5\n", "time 12:30\n"),
        "csv": ("a b\n", "a,b:3\n", "\ufeff" + NASTY["names"]),
        "jsonl": (' {"a": 1}\n',),
        "parquet": ("PAR1x",),
        "json": ('[{"a": 1}]', "\ufeff [\n {}]"),
        "xlsx": ("PK\x03\x04 xl/workbook.xml",),
        "ods": ("PK\x03\x04 mimetypeapplication/vnd.oasis.opendocument.spreadsheet",),
    }.items():
        assert {sniff_format(text.encode()) for text in texts} == {format}
    assert sniff_format('[{"a": 1}]'.encode("utf-16")) == "json"


def test_a_text_file_of_any_name_is_read_if_its_format_is_given(tmp_path):
    assert read_table(write(tmp_path, GOOD, "t.txt"), "label").format == "csv"
    assert read_table(write(tmp_path, GOOD, "t.odd"), "label", format="csv").labels.tolist() == ["x", "y"]
    assert read_table(write(tmp_path, GOOD, "a*b.csv"), "label").labels.tolist() == ["x", "y"]

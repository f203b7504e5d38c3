"""Text and Arrow files are copied to Parquet as they would be read into memory; mistakes give a sentence."""

import gzip

import pyarrow as pa
import pytest
from forged_files import FORGED, write_forged
from large_tables import make_columns
from nasty_texts import assert_refused
from pyarrow import feather, parquet

from subsvms.app.runs.parts import open_parquet, stage_files
from subsvms.app.runs.source import open_source
from subsvms.app.tables.table import read_table
from subsvms.app.tables.where import find_common_format
from subsvms.exceptions import TableError


@pytest.fixture
def staged(tmp_path):
    (tmp_path / "staged").mkdir()
    return tmp_path / "staged"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.feather", "t.arrow"])
def test_other_formats_give_the_same_table(tmp_path, staged, name):
    columns = make_columns(1000)
    path = tmp_path / name
    if name == "t.feather":
        feather.write_feather(columns, path)
    elif name == "t.arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, columns.schema) as stream:
            stream.write_table(columns, 400)
    else:
        text = columns.to_pandas().to_csv(index=False, sep="\t" if "tsv" in name else ",").encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    format = find_common_format([path])
    separator = stage_files([path], format, staged, label="label")
    assert separator == {"csv": ",", "tsv": "\t", "feather": None}[format]
    assert parquet.read_table(staged).equals(read_table(path, "label").columns.combine_chunks())


def test_encodings_and_quotes_are_understood(tmp_path, staged):
    text = 'näme;label\n"a;\nb";ja\n"";nein\n;ja\n'
    marked = b"\xef\xbb\xbf" + text.encode()
    for data, encoding in ((text.encode("cp1252"), "cp1252"), (marked, None), (text.encode("utf-16"), None)):
        (tmp_path / "t.csv").write_bytes(data)
        assert stage_files([tmp_path / "t.csv"], "csv", staged, label="label", encoding=encoding) == ";"
        found = parquet.read_table(staged / "000000.parquet").to_pydict()
        assert found == {"näme": ["a;\nb", "", None], "label": ["ja", "nein", "ja"]}


@pytest.mark.parametrize(("data", "message"), [
    (b"", "is empty"), (b"a,label\n1\n", "Expected 2 columns, got 1"),
    (b"a,label\n\xff\xfe,x\n", r"name its encoding"), (b"a,label\n", "header but no rows"),
    (b"a,a,label\n1,2,x\n", "several columns named 'a'"), (b"a,b\n1,2\n", "no column 'label'"),
    (b'"a,label\n1,2\n', "quote"),
])  # fmt: skip
def test_text_that_cannot_be_read_is_named(tmp_path, staged, data, message):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert_refused(message, stage_files, [path], "csv", staged, label="label")


def test_a_separator_is_one_plain_character(tmp_path, staged):
    (tmp_path / "t.csv").write_text("a,label\n1,x\n")
    with pytest.raises(TableError, match="The separator must be one character"):
        stage_files([tmp_path / "t.csv"], "csv", staged, label="label", separator="\n")


def test_a_column_without_a_value_in_one_file_fits_those_of_the_others(tmp_path, staged):
    paths = [tmp_path / f"{i}.feather" for i in range(2)]
    for path, values in zip(paths, ([None, None], [1.5, 2.5]), strict=True):
        feather.write_feather(pa.table({"label": ["a", "b"], "n": values}), path)
    assert_refused("0.feather' has no column 'lable'", stage_files, paths, "feather", staged, label="lable")
    stage_files(paths, "feather", staged, label="label")
    assert open_source(staged, "label").schema.field("n").type == pa.float64()


def test_what_does_not_fit_is_refused(tmp_path, staged):
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "c.csv.xz")]
    for path, text in zip(paths, ("a,label\n1,x\n", "b,label\n1,x\n", ""), strict=True):
        path.write_text(text)
    with pytest.raises(TableError, match=r"b.csv' has other columns than '.*a.csv'"):
        stage_files(paths, "csv", staged, label="label")
    with pytest.raises(TableError, match="'utf-9' is not an encoding of text files"):
        stage_files(paths, "csv", staged, encoding="utf-9")
    assert_refused("compressed with xz", stage_files, paths[2:], "csv", staged)


@pytest.mark.parametrize("name, how", [(name, how) for name, how in FORGED if how != "parquet"])
def test_a_forged_arrow_file_is_refused(tmp_path, staged, name, how):
    path = write_forged(tmp_path, name, how)
    assert_refused("t.arrow' cannot be read (", stage_files, [path], "feather", staged, label="label")


@pytest.mark.parametrize("columns", [
    {"row": pa.array([], pa.int64())}, {"row": [1, 2], "x": [[1], [2]]}, {"row": ["a", "b"], "x": [1, 2]},
])  # fmt: skip
def test_a_part_without_rows_with_lists_or_with_a_text_called_row_is_written(tmp_path, columns):
    table = pa.table(columns)
    with open_parquet(tmp_path / "x.parquet", table) as file:
        file.write_table(table)
    assert parquet.read_table(tmp_path / "x.parquet").equals(table)

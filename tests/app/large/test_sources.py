"""Tables on disk, cut into units: every row once, under one number, and mistakes in a sentence."""

import gzip

import numpy as np
import pyarrow as pa
import pytest
from large_tables import make_columns, write_files
from pyarrow import feather, parquet

from subsvms.app.large.sources import UNIT_ROWS, find_format, list_files, open_source
from subsvms.app.large.staging import stage_files
from subsvms.app.tables.table import read_table
from subsvms.exceptions import TableError


def read_all(source, **more):
    batches = [pair for unit in source.units for pair in source.read(unit, **more)]
    firsts = [first for first, _ in batches]
    assert firsts == np.cumsum([0, *(len(batch) for _, batch in batches[:-1])]).tolist()
    return pa.concat_tables([batch for _, batch in batches])


def test_every_row_comes_once_in_the_order_of_the_paths(tmp_path):
    columns = make_columns(2500)
    folder = write_files(columns, tmp_path / "big", n_files=3, row_group_size=100)
    for where in (folder, str(folder / "*.parquet"), sorted(folder.iterdir(), reverse=True)):
        source = open_source(where, "label")
        assert len(source) == 2500 and len(source.units) == 3  # small row groups are read together
        assert read_all(source, batch_rows=77).equals(columns)
        assert read_all(source, columns=["label"])["label"].equals(columns["label"])


def test_large_row_groups_are_units_of_their_own(tmp_path):
    parquet.write_table(
        pa.table({"y": ["a"] * (3 * UNIT_ROWS)}), tmp_path / "t.parquet", row_group_size=UNIT_ROWS
    )
    assert [unit.row_groups for unit in open_source(tmp_path / "t.parquet", "y").units] == [(0,), (1,), (2,)]


def test_names_of_folders_are_columns(tmp_path):
    columns = make_columns(300).append_column("year", pa.array(np.arange(300) % 3 + 2020))
    parquet.write_to_dataset(columns, tmp_path / "big", partition_cols=["year"])
    for where in (tmp_path / "big", str(tmp_path / "big" / "*" / "*.parquet")):
        table = read_all(open_source(where, "label"))
        assert sorted(set(table["year"].to_pylist())) == [2020, 2021, 2022] and len(table) == 300
    assert "year" not in open_source(next((tmp_path / "big").rglob("*.parquet")), "label").schema.names


def test_logs_and_markers_in_a_folder_are_passed_over(tmp_path):
    folder = write_files(make_columns(200), tmp_path / "big", n_files=1)
    (folder / "_SUCCESS").write_text("")
    (folder / ".crc").write_text("x")
    (folder / "_temporary").mkdir()
    (folder / "_temporary" / "half.parquet").write_text("x")
    (folder / "x.subsvms" / "corrected").mkdir(parents=True)
    (folder / "x.subsvms" / "run.json").write_text("{}")
    (folder / "x.subsvms" / "corrected" / "part.parquet").write_text("of an earlier run")
    assert len(open_source(folder, "label")) == 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("damage", "1.parquet' is damaged or not a Parquet"),
        ("another schema", "does not match"),
        ("a column less", "column 'label' is missing here"),
        ("empty", "contains no files"),
    ],
)
def test_what_cannot_be_opened_is_named(tmp_path, change, message):
    folder = write_files(make_columns(300), tmp_path / "big")
    if change == "damage":
        (folder / "1.parquet").write_bytes(b"PAR1 rubbish")
    elif change == "another schema":
        parquet.write_table(pa.table({"label": ["x"], "new": [1]}), folder / "1.parquet")
    elif change == "a column less":
        parquet.write_table(make_columns(100).drop_columns(["label"]), folder / "1.parquet")
    else:
        for path in folder.iterdir():
            path.unlink()
    with pytest.raises(TableError, match=message):
        open_source(folder, "label")


def test_a_row_group_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(make_columns(3000), path, row_group_size=1000, compression="snappy")
    group = parquet.ParquetFile(path).metadata.row_group(1)
    data = bytearray(path.read_bytes())
    start, length = group.column(0).data_page_offset, group.column(0).total_compressed_size
    data[start : start + length] = b"\xff" * length
    path.write_bytes(data)
    source = open_source(path, "label")
    assert source.units[0].row_groups == (0, 1, 2)
    with pytest.raises(TableError, match=r"t.parquet', row group 1 cannot be read"):
        list(source.read(source.units[0]))


def test_a_missing_label_column_and_mixed_formats_are_refused(tmp_path):
    folder = write_files(make_columns(300), tmp_path / "big")
    with pytest.raises(TableError, match="did you mean 'label'"):
        open_source(folder, "lable")
    (folder / "x.csv").write_text("a")
    with pytest.raises(TableError, match="must have the same format"):
        find_format(list_files(folder)[1])


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.feather", "t.arrow"])
def test_other_formats_become_the_same_table(tmp_path, name):
    columns = make_columns(3000)
    path = tmp_path / name
    if name == "t.feather":
        feather.write_feather(columns, path)
    elif name == "t.arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, columns.schema) as stream:
            stream.write_table(columns, 400)
    else:
        text = columns.to_pandas().to_csv(index=False, sep="\t" if "tsv" in name else ",").encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    (tmp_path / "staged").mkdir()
    format = find_format([path])
    separator = stage_files([path], format, tmp_path / "staged", label="label")
    assert separator == {"csv": ",", "tsv": "\t", "feather": None}[format]
    table = read_all(open_source(tmp_path / "staged", "label"))
    assert table.equals(read_table(path, "label").columns.combine_chunks())


def test_text_of_other_encodings_and_quotes(tmp_path):
    text = 'näme;label\n"a;\nb";ja\n"";nein\n;ja\n'
    staged = tmp_path / "staged"
    staged.mkdir()
    marked = b"\xef\xbb\xbf" + text.encode()
    for data, encoding in ((text.encode("cp1252"), "cp1252"), (marked, None), (text.encode("utf-16"), None)):
        (tmp_path / "t.csv").write_bytes(data)
        assert stage_files([tmp_path / "t.csv"], "csv", staged, label="label", encoding=encoding) == ";"
        found = parquet.read_table(staged / "000000.parquet").to_pydict()
        assert found == {"näme": ["a;\nb", "", None], "label": ["ja", "nein", "ja"]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"a,label\n1\n", "Expected 2 columns, got 1"),
        (b"a,label\n\xff\xfe,x\n", r"name its encoding \(--encoding\)"),
        (b"a,label\n", "header but no rows"),
        (b"a,a,label\n1,2,x\n", "several columns named 'a'"),
        (b"a,b\n1,2\n", "no column 'label'"),
        (b'"a,label\n1,2\n', "quote"),
    ],
)
def test_text_that_cannot_be_read_is_named(tmp_path, data, message):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    (tmp_path / "staged").mkdir()
    with pytest.raises(TableError, match=message):
        stage_files([path], "csv", tmp_path / "staged", label="label")
    path.rename(tmp_path / "t.csv.xz")
    with pytest.raises(TableError, match="compressed with xz"):
        stage_files([tmp_path / "t.csv.xz"], "csv", tmp_path / "staged", label="label")

"""Tables on disk, split into units: every row once, under one number, and mistakes in a sentence."""

import numpy as np
import pyarrow as pa
import pytest
from forged_files import TEXTS, write_forged
from large_tables import make_columns, reading_batches, write_files
from nasty_texts import assert_refused
from pyarrow import parquet

from subsvms.app.runs.source import UNIT_ROWS, Source, open_source
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
        assert source.n_rows == 2500 and len(source.units) == 3  # small row groups are read together
        with reading_batches(77):
            assert read_all(source).equals(columns)
        assert read_all(source, columns=["label"])["label"].equals(columns["label"])


def test_a_table_in_memory_is_read_as_one_unit(tmp_path):
    parquet.write_table(make_columns(50), tmp_path / "t.parquet")
    source = Source.of(read_table(tmp_path / "t.parquet", "label"))
    assert read_all(source).equals(source.table.columns) and source.n_rows == 50
    assert read_all(source, columns=["label"]).column_names == ["label"]


def test_large_row_groups_are_units_of_their_own(tmp_path):
    table = pa.table({"y": ["a"] * (3 * UNIT_ROWS)})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=UNIT_ROWS)
    assert [unit.row_groups for unit in open_source(tmp_path / "t.parquet", "y").units] == [(0,), (1,), (2,)]


@pytest.mark.parametrize("order", [(None, 1.5, None), (1.5, None, 2.5), (None, None, None)])
def test_a_column_without_a_value_in_one_file_has_the_type_of_the_others(tmp_path, order):
    for i, n in enumerate(order):
        parquet.write_table(pa.table({"y": ["a", "b"], "n": [n, n]}), tmp_path / f"{i}.parquet")
    read = read_all(open_source(tmp_path, "y"))["n"]
    assert read.to_pylist() == [n for n in order for _ in range(2)]
    assert read.type == (pa.float64() if any(order) else pa.null())


def test_columns_need_unique_names_in_every_file(tmp_path):
    columns = pa.table({"y": ["a", "b"], "n": [1, 2]})
    parquet.write_table(columns, tmp_path / "0.parquet")
    parquet.write_table(columns.append_column("n", [[3, 4]]), tmp_path / "1.parquet")
    assert_refused("1.parquet' has several columns named 'n'", open_source, tmp_path, "y")


def test_names_of_folders_are_columns(tmp_path):
    columns = make_columns(300).append_column("year", pa.array(np.arange(300) % 3 + 2020))
    parquet.write_to_dataset(columns, tmp_path / "big", partition_cols=["year"])
    for where in (tmp_path / "big", str(tmp_path / "big" / "*" / "*.parquet")):
        table = read_all(open_source(where, "label"))
        assert sorted(set(table["year"].to_pylist())) == [2020, 2021, 2022] and len(table) == 300
    assert "year" not in open_source(next((tmp_path / "big").rglob("*.parquet")), "label").schema.names


def test_logs_and_markers_in_a_folder_are_ignored(tmp_path):
    folder = write_files(make_columns(200), tmp_path / "big", n_files=1)
    earlier = ("x.subsvms/run.json", "x.subsvms/corrected/part.parquet")
    for name in ("_SUCCESS", ".crc", "_temporary/half.parquet", *earlier):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    assert open_source(folder, "label").n_rows == 200


def test_a_file_that_does_not_fit_is_named(tmp_path):
    columns = make_columns(300)
    folder = write_files(columns, tmp_path / "big")
    with pytest.raises(TableError, match="no column 'lable'.*did you mean 'label'"):
        open_source(folder, "lable")
    for other, message in (
        (columns.drop_columns(["label"]), "'label' is missing here, but of type string there"),
        (columns.append_column("new", [[1] * 300]), "'new' is of type int64 here, but missing there"),
        (columns.set_column(5, "city", columns["city"].cast(pa.binary())),
         "'city' is of type binary here, but of type string there"),
    ):  # fmt: skip
        parquet.write_table(other, folder / "1.parquet")
        with pytest.raises(TableError, match=f"1.parquet'.*column {message}"):
            open_source(folder, "label")
    (folder / "1.parquet").write_bytes(b"PAR1 rubbish")
    with pytest.raises(TableError, match="1.parquet'.*is damaged or not a Parquet"):
        open_source(folder, "label")


def test_a_page_that_does_not_match_its_checksum_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"x": np.random.default_rng(0).random(4000), "y": ["a", "b"] * 2000}
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    parquet.write_table(pa.table(columns), path, **options)
    content = bytearray(path.read_bytes())
    content[9000] ^= 1  # among the numbers
    path.write_bytes(content)
    assert_refused("CRC checksum verification failed", read_all, open_source(path, "y"))
    assert_refused("CRC checksum verification failed", read_table, path, "y")


@pytest.mark.parametrize("name", TEXTS)
def test_parquet_with_text_that_is_not_utf_8_is_refused(tmp_path, name):
    path = write_forged(tmp_path, name, "parquet")
    with pytest.raises(TableError, match=r"t.parquet'.* (cannot be read|is damaged)"):
        source = open_source(path, "label")
        list(source.read(source.units[0]))

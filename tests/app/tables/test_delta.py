"""A Delta table is read as its current version is; what the files alone do not say is refused."""

import json

import pyarrow as pa
import pytest
from large_tables import make_columns
from loans import call
from pyarrow import parquet

from subsvms.app.runs.source import open_source
from subsvms.app.tables import where
from subsvms.app.tables.where import list_files
from subsvms.exceptions import TableError

deltalake = pytest.importorskip("deltalake")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The table big in the working directory: written, added to, and with rows deleted again."""
    monkeypatch.chdir(tmp_path)
    codes = pa.array([["007", "a b", None][row % 3] for row in range(900)])
    columns = make_columns(900).append_column("code", codes)
    deltalake.write_deltalake("big", columns, partition_by=["code"])
    deltalake.write_deltalake("big", columns.slice(0, 99), mode="append")
    deltalake.DeltaTable("big").delete("x0 > 3")
    return tmp_path / "big"


def read_all(source):
    batches = (batch for unit in source.units for _, batch in source.read(unit))
    return pa.concat_tables(batches)


def sort(table):
    return table.sort_by([(name, "ascending") for name in ("x1", "x2", "x3", "city")]).combine_chunks()


def test_the_current_version_is_read_with_its_types(folder):
    expected = deltalake.DeltaTable("big").to_pyarrow_table()
    found = read_all(open_source("big", "label"))
    assert len(list(folder.rglob("*.parquet"))) > len(list_files("big")[1])  # some are of earlier versions
    assert sort(found.select(expected.column_names)).equals(sort(expected))
    assert set(found["code"].to_pylist()) == {"007", "a b", None}


def test_the_command_line_corrects_it_and_repeats_the_run(folder):
    call("correct", "big", "--label", "label", "--exclude", "true", "--exclude", "city", "--svms", "40")
    call("correct", "--from", "big.subsvms", "--output", "again.subsvms")
    found, again = (parquet.read_table(f"{one}.subsvms/corrected") for one in ("big", "again"))
    assert len(found) == deltalake.DeltaTable("big").to_pyarrow_table().num_rows and again.equals(found)


def test_columns_that_came_later_are_missing_before(folder):
    wider = (
        make_columns(50)
        .append_column("code", pa.array(["007"] * 50))
        .append_column("z", pa.array([1.5] * 50))
    )
    deltalake.write_deltalake("big", wider, mode="append", schema_mode="merge")
    z = read_all(open_source("big", "label"))["z"]
    assert len(z) - z.null_count == 50 and z.null_count > 500


def test_a_pattern_of_its_files_is_refused(folder):
    """It would also read the files of earlier versions."""
    for pattern in ("big/*/*.parquet", "big/code=007/*.parquet", str(folder / "**" / "*.parquet")):
        with pytest.raises(TableError, match="whose log tells which files count: give its folder, '.*big'"):
            list_files(pattern)


def change_log(folder, change):
    """Change each entry of the first commit."""
    path = folder / "_delta_log" / f"{0:020d}.json"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    for entry in entries:
        change(entry)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def ask_for(*features):
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": versions | {"readerFeatures": features, "writerFeatures": features}}


def test_deletion_vectors_are_refused_and_a_table_that_may_have_them_is_read(tmp_path):
    folder = tmp_path / "big"
    deltalake.write_deltalake(folder, make_columns(50))
    change_log(folder, lambda entry: "protocol" in entry and entry.update(ask_for("deletionVectors")))
    assert open_source(folder, "label").n_rows == 50
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40}
    vector |= {"cardinality": 6}
    change_log(folder, lambda entry: "add" in entry and entry["add"].update(deletionVector=vector))
    with pytest.raises(TableError, match="has deletion vectors, which subsvms does not apply"):
        open_source(folder, "label")


def test_features_that_change_what_files_mean_are_refused(tmp_path):
    deltalake.write_deltalake(tmp_path / "big", make_columns(50))
    mode = {"delta.columnMapping.mode": "name"}
    change_log(
        tmp_path / "big", lambda entry: "metaData" in entry and entry["metaData"].update(configuration=mode)
    )
    with pytest.raises(TableError, match="uses columnMapping|cannot be read"):
        open_source(tmp_path / "big", "label")


def test_a_damaged_log_is_one_sentence(folder):
    (folder / "_delta_log" / f"{1:020d}.json").write_text("nonsense")
    with pytest.raises(TableError, match="The Delta table 'big' cannot be read .*: check its log") as error:
        open_source("big", "label")
    assert "\n" not in str(error.value)


def test_without_deltalake_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr(where, "find_spec", lambda name: None)
    with pytest.raises(TableError, match=r"is a Delta table, .*: run pip install 'subsvms\[delta\]'"):
        open_source("big", "label")

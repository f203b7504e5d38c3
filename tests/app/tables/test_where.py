"""The files of a table are found, also in folders that say which of them count, or one sentence says why."""

import json
import os

import deltalake
import numpy as np
import pyarrow as pa
import pytest
from large_tables import make_columns, write_files
from loans import call
from nasty_texts import GOOD, assert_refused, write
from pyarrow import feather, parquet

from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job, fits_in_memory
from subsvms.app.runs.source import open_source
from subsvms.app.tables.table import keep_rows, place_beside, read_table, write_table
from subsvms.app.tables.where import find_common_format, list_files
from subsvms.exceptions import TableError


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, GOOD, "loans.csv")
    (tmp_path / "folder").mkdir()
    for where, message in {
        "laons.csv": "There is no file 'laons.csv'; did you mean 'loans.csv'?",
        "none/x.csv": "There is no file 'none/x.csv': check its name and folder.",
        "*.parquet": "No file matches the pattern '*.parquet': check its name and folder.",
        "folder": "'folder' is a folder: use engine='local', or give a file in it or, unless it is a Delta",
        (): "No file was given: give the name of at least one.",
    }.items():
        assert_refused(message, read_table, where, "label")


def test_a_file_name_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / os.fsdecode(b"t\xff.csv")
    try:
        path.write_text(GOOD)
    except OSError:
        pytest.skip("this file system refuses such names")
    for where in (path, str(tmp_path / "*.csv"), [path]):
        assert_refused("is not valid UTF-8: rename it.", read_table, where, "label")


def test_a_folder_that_is_no_table_is_refused(tmp_path):
    for name in ("a/_log/t.csv", "ice/data/0.parquet", "ice/metadata/v1.metadata.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert_refused("is an Iceberg table, which subsvms does not read", list_files, tmp_path / "ice")
    assert_refused("contains no files of a table: choose another one.", list_files, tmp_path / "a")
    write(tmp_path, "{}", "run.json")
    assert_refused("is the folder of a run: give the table itself", list_files, tmp_path)


def test_files_of_one_format_are_a_table_without_what_runs_wrote_below_them(tmp_path):
    folder = write_files(make_columns(30), tmp_path / "big")
    written = folder / "big.subsvms" / "corrected"
    written.mkdir(parents=True)
    write(written.parent, "{}", "run.json")
    write(written, GOOD, "0.parquet")
    assert [file.parent for file in list_files(folder)[1]] == [folder] * 3
    write(folder, "a", "x.csv")
    assert_refused("must have the same format", find_common_format, list_files(folder)[1])
    write(folder, "a", "a.odd")
    assert_refused("a.odd' has none of the suffixes .csv, .tsv", find_common_format, list_files(folder)[1])


LABEL = {"names": ["neg", "pos", "rare"], "_type": "ClassLabel"}
FEATURES = {"x": {"dtype": "float64", "_type": "Value"}, "label": LABEL}
METADATA = {"huggingface": json.dumps({"info": {"features": FEATURES}})}
SCHEMA = pa.schema({"x": pa.float64(), "label": pa.int64()}, METADATA)


def save(folder, *shards, state=None):
    """Write what `save_to_disk` writes: streams, whose order is in state.json."""
    folder.mkdir()
    names = [f"data-{i:05d}-of-{len(shards):05d}.arrow" for i in range(len(shards))]
    for name, codes in zip(names, shards, strict=True):
        table = pa.table({"x": np.arange(float(len(codes))), "label": codes}, schema=SCHEMA)
        with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, SCHEMA) as stream:
            stream.write_table(table)
    files = {"_data_files": [{"filename": name} for name in names], "_split": None}
    (folder / "state.json").write_text(json.dumps(files if state is None else state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": FEATURES}))
    return folder


@pytest.mark.parametrize("shards", [[[0, 1, -1, 1]], [[0, 1], [-1, 1]]])
def test_a_folder_is_a_table_with_names_and_its_copy_has_the_codes(tmp_path, shards):
    folder = save(tmp_path / "reviews", *shards)
    read = read_table(folder, "label")
    assert fits_in_memory(str(folder), None) and tuple(list_files(str(folder))[1]) == read.paths
    assert read.labels.tolist() == ["neg", "pos", None, "pos"]
    assert read.columns["label"].to_pylist() == ["neg", "pos", None, "pos"]
    assert place_beside(read, "subsvms", "") == tmp_path / "reviews.subsvms"
    assert read_table(read.paths, "label").digest == read.digest  # as the review reads it again
    write_table(read, tmp_path / "new.arrow", ["pos", "pos", None, "rare"], {"given": read.labels})
    new = feather.read_table(tmp_path / "new.arrow")
    assert new["label"].to_pylist() == [1, 1, -1, 2] and new["given"].to_pylist() == read.labels.tolist()
    assert new.schema.field("label").type == pa.int64()
    assert new.schema.metadata[b"huggingface"] == METADATA["huggingface"].encode()
    write_table(keep_rows(read, np.array([True, False, True, True])), tmp_path / "kept.arrow")
    assert feather.read_table(tmp_path / "kept.arrow")["label"].to_pylist() == [0, -1, 1]
    write_table(read, tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_text() == "x,label\n0.0,neg\n1.0,pos\n%s,\n%s,pos\n" % (
        ("2.0", "3.0") if len(shards) == 1 else ("0.0", "1.0")
    )


def test_names_of_classes_are_found_in_parquet_too(tmp_path):
    parquet.write_table(pa.table({"x": [1.0, 2.0], "label": [0, 1]}, schema=SCHEMA), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "label").classes == ["neg", "pos"]


SENSELESS = [None, [], 3, {"names": "ab", "_type": "ClassLabel"}, LABEL | {"names": ["a", "a"]}]


@pytest.mark.parametrize("features", [None, [], *({"label": one} for one in SENSELESS)])
def test_names_that_make_no_sense_are_left_out(tmp_path, features):
    schema = pa.schema(list(SCHEMA), {"huggingface": json.dumps({"info": {"features": features}})})
    parquet.write_table(pa.table({"x": [1.0, 2.0], "label": [0, 1]}, schema=schema), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "label").classes == [0, 1]


def test_folders_that_cannot_be_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "a", [0, 1], state={"_data_files": [{"filename": "../b/secret.arrow"}]})
    save(tmp_path / "b", [0, 1], state=[1])
    save(tmp_path / "c", [0, 1], state={"_data_files": []})
    save(tmp_path / "d", [0, 1], state={"_data_files": [{"filename": "x.arrow"}], "_indices_data_files": [1]})
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    save(tmp_path / "e" / "train", [0, 1])
    for name, message in {
        "a": "'a' has no Arrow file '../b/secret.arrow', which its state.json names: save it again.",
        "b": "'b/state.json' is damaged: save the data set again.",
        "c": "'c' is a data set without rows: choose another one.",
        "d": "'d' holds a selection of rows only: save flatten_indices() of the data set.",
        "e": "'e' holds several data sets (train): give the folder of one, such as 'e/train'.",
    }.items():
        assert assert_refused(message, read_table, name, "label") == message
    assert read_table("e/train", "label").classes == ["neg", "pos"]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_codes_with_names_are_refused_in_parts(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    table = pa.table({"x": np.arange(40.0), "label": [0, 1, 1, -1] * 10}, schema=SCHEMA)
    write = parquet.write_table if kind == "parquet" else feather.write_feather
    write(table, f"t.{kind}")
    message = (
        f"'t.{kind}' has the labels of 'label' as codes of Hugging Face, whose names a run in parts cannot "
        "use: correct it in memory, or save the names as text."
    )
    assert_refused(message, do_job, f"t.{kind}", Options("label"), Work(engine="local"))
    assert [path.name for path in tmp_path.iterdir()] == [f"t.{kind}"]


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


def test_the_name_of_its_folder_may_hold_spaces_and_accents(folder):
    moved = folder.rename(folder.with_name("big é x"))
    assert sort(read_all(open_source(str(moved), "label")))["code"].unique().to_pylist() == [
        "007",
        None,
        "a b",
    ]
    assert all(path.is_file() for path in list_files(moved)[1])


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
    wider = make_columns(50).append_column("code", pa.array(["007"] * 50))
    wider = wider.append_column("z", pa.array([1.5] * 50))
    deltalake.write_deltalake("big", wider, mode="append", schema_mode="merge")
    z = read_all(open_source("big", "label"))["z"]
    assert len(z) - z.null_count == 50 and z.null_count > 500


def test_a_pattern_of_its_files_is_refused(folder):
    for pattern in ("big/*/*.parquet", "big/code=007/*.parquet", str(folder / "**" / "*.parquet")):
        assert_refused("whose log tells which files count: give its folder, '", list_files, pattern)


def change_log(folder, change):
    path = folder / "_delta_log" / f"{0:020d}.json"
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    for entry in entries:
        change(entry)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))


def test_deletion_vectors_are_refused_and_a_table_that_may_have_them_is_read(tmp_path):
    folder = tmp_path / "big"
    deltalake.write_deltalake(folder, make_columns(50))
    asked = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    asked |= {"minReaderVersion": 3, "minWriterVersion": 7}
    change_log(folder, lambda entry: "protocol" in entry and entry.update(protocol=asked))
    assert open_source(folder, "label").n_rows == 50
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40}
    vector["cardinality"] = 6
    change_log(folder, lambda entry: "add" in entry and entry["add"].update(deletionVector=vector))
    assert_refused("has deletion vectors, which subsvms does not apply", open_source, folder, "label")


def test_features_that_change_what_files_mean_are_refused(tmp_path):
    deltalake.write_deltalake(tmp_path / "big", make_columns(50))
    mode = {"configuration": {"delta.columnMapping.mode": "name"}}
    change_log(tmp_path / "big", lambda entry: "metaData" in entry and entry["metaData"].update(mode))
    with pytest.raises(TableError, match="uses columnMapping|cannot be read"):
        open_source(tmp_path / "big", "label")


def test_a_damaged_log_is_one_sentence(folder):
    (folder / "_delta_log" / f"{1:020d}.json").write_text("nonsense")
    assert_refused("The Delta table 'big' cannot be read (", open_source, "big", "label")


def test_without_deltalake_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr("subsvms.app.tables.where.find_spec", lambda name: None)
    assert_refused("run pip install 'subsvms[delta]'", open_source, "big", "label")

"""A folder of Hugging Face's datasets is one table with the names of its classes; files keep the codes."""

import json

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import assert_refused
from pyarrow import feather, parquet

from subsvms.app.runs.inputs import fits_in_memory
from subsvms.app.runs.job import do_job
from subsvms.app.runs.options import Options
from subsvms.app.tables.table import keep_rows, place_beside, read_table, write_table
from subsvms.app.tables.where import list_files

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


def test_a_folder_that_fits_is_corrected_in_memory_and_in_parts_if_asked(tmp_path):
    folder = save(tmp_path / "reviews", [0, 1], [1, 1])
    assert fits_in_memory(str(folder), None)
    assert [path.name[:10] for path in list_files(str(folder))[1]] == ["data-00000", "data-00001"]


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
    assert_refused(message, do_job, f"t.{kind}", Options("label"), engine="local")
    assert [path.name for path in tmp_path.iterdir()] == [f"t.{kind}"]

"""The files of a table are found, or one sentence says why not and what to do."""

import os

import pytest
from large_tables import make_columns, write_files
from nasty_texts import GOOD, assert_refused, write

from subsvms.app.tables.table import read_table
from subsvms.app.tables.where import find_common_format, list_files
from subsvms.exceptions import TableError


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, GOOD, "loans.csv")
    (tmp_path / "folder").mkdir()
    for where, message in {
        "laons.csv": "There is no file 'laons.csv'; did you mean 'loans.csv'?",
        "x.csv": "There is no file 'x.csv': check its name and folder.",
        "none/x.csv": "There is no file 'none/x.csv': check its name and folder.",
        "*.parquet": "No file matches the pattern '*.parquet': check its name and folder.",
        "folder": "'folder' is a folder: use engine='local', or give a file in it or, unless it is a Delta "
        "table, a pattern such as 'folder/*.parquet'.",
        (): "No file was given: give the name of at least one.",
    }.items():
        assert assert_refused(message, read_table, where, "label") == message


def test_a_file_name_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / os.fsdecode(b"t\xff.csv")
    try:
        path.write_text(GOOD)
    except OSError:
        pytest.skip("this file system refuses such names")
    for where in (path, str(tmp_path / "*.csv"), [path]):
        assert_refused("is not valid UTF-8: rename it.", read_table, where, "label")


def test_an_iceberg_table_is_refused(tmp_path):
    for name in ("data/0.parquet", "metadata/v1.metadata.json", "metadata/snap-1.avro"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(TableError, match="is an Iceberg table, which subsvms does not read"):
        list_files(tmp_path)


def test_files_of_several_formats_or_of_none_are_refused(tmp_path):
    folder = write_files(make_columns(30), tmp_path / "big")
    write(folder, "a", "x.csv")
    assert_refused("must have the same format", find_common_format, list_files(folder)[1])
    write(folder, "a", "a.odd")
    assert_refused("a.odd' has none of the suffixes .csv, .tsv", find_common_format, list_files(folder)[1])


def test_a_folder_without_a_table_is_refused(tmp_path):
    (tmp_path / "_log").mkdir()
    write(tmp_path / "_log", GOOD)
    assert_refused("contains no files of a table: choose another one.", list_files, tmp_path)
    write(tmp_path, "{}", "run.json")
    assert_refused("is the folder of a run: give the table itself", list_files, tmp_path)


def test_what_runs_wrote_below_a_folder_is_left_out(tmp_path):
    folder = write_files(make_columns(30), tmp_path / "big")
    written = folder / "big.subsvms" / "corrected"
    written.mkdir(parents=True)
    write(written.parent, "{}", "run.json")
    write(written, GOOD, "0.parquet")
    assert [file.parent for file in list_files(folder)[1]] == [folder] * 3

"""Files at addresses are found and read as local ones are; what goes wrong is one sentence."""

import json
import sys
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from large_tables import make_columns, read_files, write_files
from loans import call, refuse
from nasty_texts import assert_refused
from pyarrow import csv, parquet

from subsvms.app.runs import job
from subsvms.app.runs.source import open_source
from subsvms.app.tables.addresses import as_place, read_version
from subsvms.app.tables.files import digest_file
from subsvms.app.tables.table import read_table
from subsvms.app.tables.where import find_files, list_files
from subsvms.exceptions import TableError

COMMON = ["--label", "label", "--exclude", "true", "--exclude", "city", "--svms", "40"]


@pytest.fixture
def memory():
    """A file system at memory://, empty."""
    system = fsspec.filesystem("memory")
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


@pytest.fixture
def folder(memory, tmp_path, monkeypatch):
    """A folder of files that is also at memory://big; the working directory is empty."""
    folder = write_files(make_columns(600), tmp_path / "here" / "big")
    csv.write_csv(make_columns(300), folder.with_name("t.csv"))
    memory.put(str(folder), "/big", recursive=True)
    memory.put(str(folder.with_name("t.csv")), "/t.csv")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    return folder


def test_a_file_is_corrected_in_memory_and_in_parts_as_a_local_one_is(folder):
    call("correct", folder.with_name("t.csv"), *COMMON)
    call("correct", "memory://t.csv", *COMMON)
    assert read_files("t.subsvms") == read_files(folder.with_name("t.subsvms"))
    for where, place in ((folder, "local.subsvms"), ("memory://big", "big.subsvms")):
        call("correct", where, *COMMON, *(["--output", place] if where == folder else []))
    assert len(read_files("big.subsvms")) > 2 and read_files("big.subsvms") == read_files("local.subsvms")
    record = json.loads(Path("big.subsvms/run.json").read_text())["input"]
    assert record["base"] == "memory://big" and record["paths"][0] == "memory://big/0.parquet"
    call("correct", "--from", "big.subsvms", "--output", "again.subsvms")
    assert read_files("again.subsvms") == read_files("local.subsvms")
    for place in ("t.subsvms", "big.subsvms", "local.subsvms"):
        call("apply", place, "--undecided", "suggestion")
    assert Path("t.subsvms/final.csv").is_file() and Path("big.subsvms/final").is_dir()
    assert read_files("big.subsvms/final") == read_files("local.subsvms/final")


def test_a_table_at_an_address_that_changed_is_not_repeated(folder, memory):
    call("correct", "memory://t.csv", *COMMON)
    memory.pipe("/t.csv", memory.cat("/t.csv") + b"1,1,1,1,red,x,no,no\n")
    refuse("The table has changed since that run", "correct", "--from", "t.subsvms", "--output", "again")


def test_a_server_that_stops_answering_at_the_end_costs_no_part(folder, memory, monkeypatch):
    judge_units, info = job.judge_units, MemoryFileSystem.info

    def stop_answering(*given, **more):
        found = judge_units(*given, **more)
        monkeypatch.setattr(MemoryFileSystem, "info", time_out)
        return found

    def time_out(*_, **more):
        raise ConnectionError("timed out")

    monkeypatch.setattr(job, "judge_units", stop_answering)
    sentence = "cannot be read (timed out): check the address, the connection"
    refuse(sentence, "correct", "memory://big", *COMMON)
    parts = sorted(Path("big.subsvms.unfinished/corrected").iterdir())
    assert len(parts) == 3
    monkeypatch.setattr(MemoryFileSystem, "info", info)
    monkeypatch.setattr(job, "judge_units", judge_units)
    written = [part.stat().st_mtime_ns for part in parts]
    call("correct", "memory://big", *COMMON)
    parts = sorted(Path("big.subsvms/corrected").iterdir())
    assert [part.stat().st_mtime_ns for part in parts] == written


def test_files_are_found_as_local_ones_are(folder, memory):
    memory.pipe("/big/_log/9.parquet", b"x")
    memory.pipe("/big/year=2024/3.parquet", b"x")
    for name in ("_log/9.parquet", "year=2024/3.parquet"):
        (folder / name).parent.mkdir()
        (folder / name).write_bytes(b"x")
    for pattern in ("", "/*.parquet", "/**/*.parquet", "/year=*/*", "/[01].parquet", "/0.parquet", "/**"):
        base, files = list_files(f"memory://big{pattern}")
        here, expected = list_files(f"{folder}{pattern}")
        assert [str(one).removeprefix("memory://") for one in files] == [
            str(one.relative_to(folder.parent)) for one in expected
        ]
        assert str(base) == f"memory://{here.relative_to(folder.parent)}"


def test_a_file_address_is_a_path(folder):
    assert find_files(f"file://{folder}/0.parquet") == [folder / "0.parquet"]
    assert find_files(f"file://{folder}/*.parquet") == sorted(folder.glob("*.parquet"))
    assert list_files(f"file://{folder}") == list_files(folder)


def test_a_file_whose_name_looks_like_an_address_is_read(folder):
    Path("s3:").mkdir()
    Path("s3:/t.csv").write_bytes(folder.with_name("t.csv").read_bytes())
    assert read_table("s3://t.csv", "label").paths == (Path("s3:/t.csv"),)


def test_an_address_has_the_name_size_digest_and_version_of_its_file(folder, memory):
    there, here = as_place("memory://t.csv"), folder.with_name("t.csv")
    assert there.stat().st_size == here.stat().st_size and digest_file(there) == digest_file(here)
    assert (there.name, there.suffix, there.stem, str(there.parent)) == ("t.csv", ".csv", "t", "memory:/")
    before = read_version(there)
    assert read_version(there) == before
    memory.pipe("/t.csv", memory.cat("/t.csv")[::-1])  # another file of the same size
    assert read_version(there) != before


@pytest.mark.parametrize(("where", "sentence"), [
    ("memory://none.csv", "There is no file 'memory://none.csv': check its name and folder."),
    ("memory://*.tsv", "No file matches the pattern 'memory://*.tsv': check its name and folder."),
    ("memory://big", "a Delta table, a pattern such as 'memory://big/*.parquet'."),
    ("memory://", "The address 'memory://' names no file: name a bucket, a folder or a file in it."),
    ("nonsense://x", "An address such as nonsense:// cannot be read here: save the table, or the answer"),
    ("s3://me:word@data/x.csv", "This address s3:// holds a password or a query, which would be shown"),
    ("file://t.csv", "An address of a file must be file:/// and a whole path; got 'file://t.csv'."),
])  # fmt: skip
def test_what_cannot_be_read_is_one_sentence(folder, where, sentence):
    assert_refused(sentence, read_table, where, "label")


@pytest.mark.parametrize(
    "where",
    ["s3://AKIA:ab/cd+ef@data/x.csv", "s3://AKIA:123/cd@data/x.csv",
     "zip://x.csv::https://user:word@host/a.zip", "https://token@host/x.csv",
     "s3://data/x.csv?signature=1"],
)  # fmt: skip
def test_an_address_with_a_secret_is_refused_and_not_shown(monkeypatch, where):
    monkeypatch.setattr("subsvms.app.tables.addresses._check_scheme", lambda scheme: None)
    assert where.partition("://")[2] not in assert_refused("holds a password or a query", as_place, where)


def test_addresses_without_a_secret_pass():
    for where in ("s3://host/user@site/x.csv", "s3://data:9000/x.csv"):
        assert str(as_place(where)) == where
    for where in ("file:///tmp/a%231.csv", "file://localhost/tmp/a#1.csv"):
        assert as_place(where) == Path("/tmp/a#1.csv")
    assert as_place("s3://buck[et/x.csv").root == ("s3", "buck[et")


def test_files_of_one_table_lie_in_one_place(folder):
    for other in (folder / "0.parquet", "memory://other/1.parquet"):
        fsspec.filesystem("memory").pipe("/other/1.parquet", b"x")
        places = ["memory://big/0.parquet", str(other)]
        assert_refused("' do not lie in the same place", open_source, places, "label")


class Forbidden(MemoryFileSystem):
    """Knows its files, and does not open them."""

    protocol = "forbidden"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("forbidden://", "memory://"))

    def _open(self, path, *args, **more):
        raise PermissionError("Access denied. Request id 7")


def test_files_that_may_not_be_read_are_reported(folder, memory):
    fsspec.register_implementation("forbidden", Forbidden, clobber=True)
    sentence = "cannot be read (Access denied): check the address, the connection and the keys in the"
    assert_refused(sentence, read_table, "forbidden://big/0.parquet", "label")
    assert_refused(sentence, open_source, "forbidden://big", "label")


def test_a_package_that_is_missing_is_named(monkeypatch):
    where, sentence = "hf://datasets/x/t.csv", "such as hf:// needs another package: "
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert_refused(f"{sentence}Install huggingface_hub", read_table, where, "label")
    monkeypatch.setattr("subsvms.app.tables.addresses.find_spec", lambda name: None)
    assert_refused(f"{sentence}run pip install 'subsvms[remote]', or save", read_table, where, "label")


def test_a_part_that_changes_while_it_is_read_is_reported(folder, memory):
    source = open_source("memory://big", "label")
    parquet.write_table(make_columns(7), folder / "0.parquet")
    memory.put(str(folder / "0.parquet"), "/big/0.parquet")
    with pytest.raises(TableError, match="had 200 rows, and now has 7"):
        list(source.read(source.units[0]))
    memory.rm("/big/1.parquet")
    with pytest.raises(TableError, match="1.parquet' cannot be read .* The same command continues"):
        list(source.read(source.units[1]))

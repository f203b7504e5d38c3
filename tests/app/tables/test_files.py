"""Files, also compressed ones, are read and written, or one sentence says why not and what to do."""

import errno
import gzip
import io
import os

import psutil
import pytest
from nasty_texts import GOOD, assert_refused, write

from subsvms.app.tables import files
from subsvms.app.tables.files import compress, decompress, measure_free_memory
from subsvms.app.tables.table import read_table, write_table
from subsvms.exceptions import TableError


@pytest.mark.parametrize("name, text, message", [
    ("t.csv", "", "'t.csv' is empty"),
    ("t.xyz", GOOD, "has the unknown suffix '.xyz': subsvms reads CSV (.csv), TSV (.tsv), Excel (.xlsx)"),
    ("t", GOOD, "has no suffix: subsvms reads CSV (.csv)"),
    ("t.pkl", GOOD, "'t.pkl' is a pickle, which may run any code when it is read: save the table as"),
    ("t.xlsm", GOOD, "'t.xlsm' is a workbook of another kind: save it as .xlsx."),
    ("t.csv", "PK\x03\x04", "is a ZIP archive or a workbook, not CSV: give it the right suffix, or"),
    ("t.json", "\u00d0\u00cf\u0011\u00e0".encode("latin-1"),
     "is an old Excel file or a protected one, not"),
    ("t.csv.gz", GOOD, "is not a gzip file, despite its suffix"),
])  # fmt: skip
def test_a_file_that_cannot_be_a_table_is_refused(tmp_path, monkeypatch, name, text, message):
    write(tmp_path, text, name)
    monkeypatch.chdir(tmp_path)
    assert repr(name) in assert_refused(message, read_table, name, "label")


def test_a_file_that_cannot_be_read_is_reported_with_the_reason(tmp_path, monkeypatch):
    def refuse(self):
        raise OSError(errno.EACCES, "Permission denied")

    path = write(tmp_path, GOOD)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    message = f"{str(path)!r} could not be read (Permission denied): check its permissions"
    assert_refused(message, read_table, path, "label")


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    read = read_table(write(tmp_path, GOOD), "label")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "t.csv")
    os.link(tmp_path / "t.csv", tmp_path / "twin.csv")
    write(tmp_path, "old", "old.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    for name, message in {
        "t.csv": "'t.csv' is the input table, which is never overwritten",
        "link.csv": "is the input table",
        "twin.csv": "is the input table",
        "folder.csv": "'folder.csv' is a folder: give the name of a file",
        "pipe.csv": "'pipe.csv' is not an ordinary file: choose another name",
        "none/x.csv": "to write to: create it first",
        "x.xls": "'x.xls' does not say in which format to write: give it one of the suffixes .csv, .tsv",
        "x": "'x' does not say in which format to write",
        "x.svm": "A table read as csv cannot be written as svmlight, to 'x.svm'",
    }.items():
        assert_refused(message, write_table, read, name, force=True)
    message = "'old.csv' already exists: choose another name, or replace it"
    assert_refused(message, write_table, read, "old.csv")
    assert (tmp_path / "old.csv").read_text() == "old"
    write_table(read, "old.csv", force=True)
    assert (tmp_path / "old.csv").read_text() == (tmp_path / "t.csv").read_text() == GOOD
    os.unlink(tmp_path / "t.csv")
    assert_refused("is the input table", write_table, read, "t.csv", force=True)


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("trouble", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch, step, trouble):
    read = read_table(write(tmp_path, GOOD), "label")
    write(tmp_path, "old", "out.csv")

    def fail(*args):
        raise trouble

    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises((TableError, KeyboardInterrupt), match="No space left|^$"):
        write_table(read, tmp_path / "out.csv", ["y", "y"], force=True)
    assert (tmp_path / "out.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "t.csv"]


def test_a_new_file_has_ordinary_permissions_and_a_replaced_one_keeps_its_own(tmp_path):
    read = read_table(write(tmp_path, GOOD), "label")
    write_table(read, tmp_path / "out.csv")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o666 & ~mask
    (tmp_path / "out.csv").chmod(0o640)
    write_table(read, tmp_path / "out.csv", force=True)
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == 0o640


def test_compression_is_recognised_by_the_first_bytes():
    assert decompress(b"BZh,label\n", "x") == b"BZh,label\n"  # text that starts like bzip2
    assert decompress(gzip.compress(b"x") * 2, "x") == b"xx"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_file_that_is_damaged_or_decompresses_to_more_than_the_memory_holds(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(compress(b"a,label\n" + (b"1" * 999 + b",x\n") * 2000, path))  # 2 MB
    monkeypatch.setattr(files, "measure_free_memory", lambda: 4e6)
    message = "holds more than 0.001 GB of data, 25 % of the free memory: free some memory, or save it"
    assert assert_refused(message, read_table, path, "label").startswith(f"{str(path)!r} holds")
    monkeypatch.setattr(files, "measure_free_memory", lambda: 10e6)
    assert len(read_table(path, None)) == 2000
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert_refused("is a damaged", read_table, path, "label")


def test_what_never_ends_is_not_read_to_the_end_and_what_is_empty_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert_refused("Standard input is empty: it must hold a table.", read_table, "-", "label")
    monkeypatch.setattr(files, "measure_free_memory", lambda: 1e8)
    message = "'/dev/zero' holds more than 0.025 GB of data"
    assert_refused(message, read_table, "/dev/zero", None, format="csv")


def test_a_container_may_allow_less_memory_than_is_free(tmp_path, monkeypatch):
    free = psutil.virtual_memory().available
    monkeypatch.setattr(files, "CGROUP", tmp_path)
    assert measure_free_memory() == pytest.approx(free, rel=0.5)  # no container
    for name, text in (("max", "3000000"), ("current", "2500000"), ("stat", "anon 1\ninactive_file 1500000")):
        (tmp_path / f"memory.{name}").write_text(text + "\n")
    assert measure_free_memory() == 2_000_000  # files that are only cached do not count
    (tmp_path / "memory.max").write_text("max\n")
    assert measure_free_memory() == pytest.approx(free, rel=0.5)

"""Compressed files are read unless they are damaged or too large for the memory."""

import gzip

import psutil
import pytest
from nasty_texts import assert_refused, write

from subsvms.app.tables import compression
from subsvms.app.tables.compression import compress, decompress, measure_free_memory
from subsvms.app.tables.table import read_table, write_table


def test_compression_is_recognised_by_the_first_bytes():
    assert decompress(b"BZh,label\n", "x") == b"BZh,label\n"  # text that starts like bzip2
    assert decompress(gzip.compress(b"x") * 2, "x") == b"xx"


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_damaged_compressed_file_is_refused(tmp_path, suffix):
    read = read_table(write(tmp_path, "a\n" + "".join(f"{i}\n" for i in range(2000))), None)
    write_table(read, tmp_path / f"t.csv{suffix}")
    data = (tmp_path / f"t.csv{suffix}").read_bytes()
    path = write(tmp_path, data[: len(data) // 2], f"t.csv{suffix}")
    assert_refused("is a damaged", read_table, path, "label")


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_file_that_decompresses_to_more_than_the_memory_holds_is_refused(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"t.csv{suffix}"
    path.write_bytes(compress(b"a,label\n" + (b"1" * 999 + b",x\n") * 2000, path))  # 2 MB
    monkeypatch.setattr(compression, "measure_free_memory", lambda: 4e6)
    message = "holds more than 0.001 GB of data, 25% of the free memory: free some memory, or save it"
    assert assert_refused(message, read_table, path, "label").startswith(f"{str(path)!r} holds")
    monkeypatch.setattr(compression, "measure_free_memory", lambda: 10e6)
    assert len(read_table(path, None)) == 2000


def test_what_never_ends_is_not_read_to_the_end(monkeypatch):
    monkeypatch.setattr(compression, "measure_free_memory", lambda: 1e8)
    assert_refused(
        "'/dev/zero' holds more than 0.025 GB of data", read_table, "/dev/zero", None, format="csv"
    )


def test_a_container_may_allow_less_memory_than_is_free(tmp_path, monkeypatch):
    free = psutil.virtual_memory().available
    monkeypatch.setattr(compression, "CGROUP", tmp_path)
    assert measure_free_memory() == pytest.approx(free, rel=0.5)  # no container
    for name, text in (("max", "3000000"), ("current", "2500000"), ("stat", "anon 1\ninactive_file 1500000")):
        (tmp_path / f"memory.{name}").write_text(text + "\n")
    assert measure_free_memory() == 2_000_000  # files that are only cached do not count
    (tmp_path / "memory.max").write_text("max\n")
    assert measure_free_memory() == pytest.approx(free, rel=0.5)

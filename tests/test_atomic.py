"""Files that are written completely or not at all."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from subsvms import _atomic
from subsvms._atomic import SUFFIX, explaining, replace_when_done, write_whole
from subsvms.exceptions import TableError

KILLED = """
import sys, time
from pathlib import Path
from subsvms._atomic import replace_when_done
with replace_when_done(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    print("open", flush=True)
    time.sleep(60)
"""


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a"
    path.write_text("before")
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), replace_when_done(path) as file:
        file.write(b"half of it")
        raise ZeroDivisionError
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["a"]
    write_whole(path, b"after")
    assert path.read_text() == "after" and path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="Windows has other locks")
def test_what_a_killed_process_left_is_removed_and_what_another_writes_is_not(tmp_path):
    path = tmp_path / "a"
    process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "open\n"
    write_whole(path, b"whole")
    (left,) = tmp_path.glob(f".a-*{SUFFIX}")
    assert left.read_bytes() == b"half of it"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (tmp_path / ".a-notes.part").write_text("somebody's")
    write_whole(path, b"whole")
    assert sorted(os.listdir(tmp_path)) == [".a-notes.part", "a"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has other locks")
def test_a_file_that_another_process_is_about_to_remove_is_not_used(tmp_path, monkeypatch):
    """It was seen before it was locked, and taken for one that a killed process had left."""
    taken = []

    def lock(handle, how):
        if not taken:
            (left,) = tmp_path.iterdir()
            taken.append(left.open("rb"))
            real(taken[0], how)
        real(handle, how)

    real = _atomic.fcntl.flock
    monkeypatch.setattr(_atomic.fcntl, "flock", lock)
    with replace_when_done(tmp_path / "a") as file:
        os.unlink(taken[0].name)
        taken[0].close()
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("code, message, words", [
    (errno.ENOENT, "Failed to open 't.parquet'", "Failed to open 't.parquet': check its name and folder."),
    (errno.EIO, os.strerror(errno.EIO), "A file or standard output could not be used"),
    (errno.ENOSPC, "Error writing bytes to file", "'out' could not be written (No space left on device)"),
])  # fmt: skip
def test_an_error_that_names_no_file_is_blamed_on_the_place_only_if_it_must_be(code, message, words):
    with pytest.raises(TableError) as caught, explaining(_atomic.Path("out")):
        raise OSError(code, message)
    assert str(caught.value).startswith(words)

"""Files that are written completely or not at all."""

import os
import signal
import subprocess
import sys

import pytest

from subsvms._atomic import SUFFIX, replace_when_done, write_whole

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

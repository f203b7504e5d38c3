"""The fuzzer: the first of its cases, a few kills, and faults that were planted for it to find.

All of it runs in other processes: one that is to be forked must not have threads, as those of pytest do.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PATH = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])


def few_and_many(few, many):
    return pytest.mark.parametrize("n", [few, pytest.param(many, marks=pytest.mark.nightly)])


def run(module, *words, inside=()):
    command = [*inside, sys.executable, "-m", module, *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": PATH})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@few_and_many(90, 300)
def test_no_case_ends_with_a_fault_and_a_good_share_succeeds(n, tmp_path):
    found = tmp_path / "found.json"
    said = run("fuzz.run", "--cases", n, "--failed", tmp_path, "--out", found)
    counts = re.search(r"^\d+ cases: (\d+) done, (\d+) refused, (\d+) faulty$", said, re.M)
    done, refused, faulty = map(int, counts.groups())
    assert done + refused == n and faulty == 0
    assert min(done, refused) > n / 4
    kinds = {name.partition(".")[0].partition(" ")[0] for name in json.loads(found.read_text())["kind"]}
    assert kinds >= {"xlsx", "ods", "json", "sqlite", "dta", "sav", "delta", "answers", "pictures"}


@few_and_many(12, 36)
def test_killed_at_any_moment_nothing_is_half_written_or_lost(n):
    said = run("fuzz.kills", "--forked", "--all", n, "--rows", 500)
    for kind in ("review", "audit"):
        assert int(re.search(rf"^{kind}: .* (\d+) decisions or answers acknowledged", said, re.M)[1]) > 0


@pytest.mark.nightly
def test_of_two_processes_on_one_folder_one_waits_or_is_refused():
    said = run("fuzz.disks", "--pairs", 1, "--rows", 400)
    assert re.search("^pairs parts: .*done", said, re.M)


@pytest.mark.nightly
def test_a_disk_that_is_full_or_becomes_read_only_gets_a_sentence_and_nothing_is_half_written(tmp_path):
    inside = ["unshare", "-m" if os.getuid() == 0 else "-rm"]
    if subprocess.run([*inside, "mount", "-t", "tmpfs", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    said = run("fuzz.disks", "--full", 3, "--read-only", 3, "--answers", 3, "--rows", 400, inside=inside)
    assert re.search("^full .*refused", said, re.M) and re.search("^read-only .*refused", said, re.M)


def test_a_fault_of_each_kind_is_reported():
    found = dict(map(json.loads, run("fuzz.planted").splitlines()))
    assert found.pop("nothing") == []
    also = {"wrong cell": "wrong result", "temporary": "left behind"}
    for kind, faults in found.items():
        assert also.get(kind, kind) in [fault.split(":")[0] for fault in faults], (kind, faults)

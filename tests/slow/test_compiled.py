"""Compiled code is cached on disk between processes, wherever that is possible."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import subsvms

pytestmark = pytest.mark.slow
SOURCE = Path(subsvms.__file__).parent
# One decorator makes all compiled functions; these are the quickest to compile.
PROBE = """
import numpy as np
from subsvms.ensemble import LinearCommittee
from subsvms.ensemble._compiled import ballots
X = np.arange(20.0)[:, None] / 20
LinearCommittee(n_estimators=10, random_state=0).fit(X, X[:, 0] > 0.5).predict(X)
stats = [f.stats for f in (ballots.weigh_block, ballots.fill_rows, ballots.sum_classes)]
print("compiled", sum(sum(s.cache_misses.values()) for s in stats))
print("loaded", sum(sum(s.cache_hits.values()) for s in stats))
"""


def probe(folder, cache):
    """Fit in a new process from a copy of the package; return how much was compiled and loaded."""
    environment = os.environ | {"PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(cache), "HOME": str(cache)}
    environment.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROBE],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def copy_package(folder):
    """Copy the package to where a file in place of its cache folder stops even the superuser."""
    target = folder / "subsvms"
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "ensemble" / "_compiled" / "__pycache__").write_text("")


def test_a_second_process_compiles_nothing(tmp_path):
    """If the package's folder is read-only, code goes to the user's cache, elsewhere next to the source."""
    copy_package(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    first, second = probe(tmp_path, cache), probe(tmp_path, cache)
    assert first["compiled"] == second["loaded"] > "0" == first["loaded"] == second["compiled"]
    assert any(cache.rglob("*.nbi"))


@pytest.mark.nightly
def test_it_works_without_a_writable_folder(tmp_path):
    copy_package(tmp_path)
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    assert probe(tmp_path, nowhere / "cache")["loaded"] == "0"

"""Without subsvms[app] the library works; everything else says in one sentence what to install."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def list_packages(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


APP = {name.replace("-", "_") for name in list_packages(PROJECT["optional-dependencies"]["app"])}
SENTENCE = "needs more than the library alone: run pip install 'subsvms[app]'.\n"
HIDE = f"""
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

class Library:  # finds what a plain install has
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.split(".")[0] in {APP | {"polars"}} else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Library]
"""


def run_without_app(code):
    """Run a program in a process that finds nothing that subsvms[app] brings."""
    return subprocess.run([sys.executable, "-W", "error", "-c", HIDE + code], capture_output=True, text=True)


def test_the_library_depends_on_six_packages():
    expected = {"numpy", "scipy", "scikit-learn", "numba", "narwhals", "safetensors"}
    assert list_packages(PROJECT["dependencies"]) == expected


def test_the_library_works_alone(tmp_path):
    code = f"""
import subsvms
from subsvms import *

X, clean = datasets.make_separable_gaussians(600, random_state=0)
attack = adversaries.uniform_flips(clean, random_state=0)
correction = correct_labels(X, attack.labels, random_state=0)
assert (correction.labels != clean).sum() < attack.flipped.sum()
classifier = SubSVMClassifier(n_estimators=50, random_state=0).fit(X, attack.labels)
save(classifier, {str(tmp_path / "model.safetensors")!r})
loaded = load({str(tmp_path / "model.safetensors")!r})
assert (loaded.predict(X) == classifier.predict(X)).all()
certified = correct_labels(X, attack.labels, estimator=SubSVMClassifier(), random_state=0).withstands
assert certificates.certified_curve(certified).share[1] > 0.5
assert theory.votes_needed(0.3, 0.01) > 1
help(subsvms)
"""
    done = run_without_app(code)
    assert done.returncode == 0, done.stderr


def test_what_needs_the_app_says_so_in_one_sentence():
    said = dict.fromkeys(("import subsvms.scale", "from subsvms import scale"), "This part of subsvms")
    said["import subsvms; subsvms.correct_table(None, label='y')"] = "This part of subsvms"
    said["from subsvms.displays._base import open_axes; open_axes(None, (1, 1))"] = "Drawing"
    code = f"""
for code in {list(said)}:
    try:
        exec(code)
    except ImportError as error:
        print(type(error).__name__, error)
"""
    expected = [f"MissingExtraError {what} {SENTENCE}" for what in said.values()]
    assert run_without_app(code).stdout == "".join(expected)


def test_without_the_app_the_command_prints_one_sentence():
    code = """
from subsvms.__main__ import main
for words in ([], ["demo"], ["--help"]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 2
"""
    done = run_without_app(code)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == 3 * f"subsvms: This part of subsvms {SENTENCE}"


@pytest.mark.parametrize("package", sorted(APP - {"httptools", "uvloop"}))  # uvicorn does without these
def test_the_app_asks_for_every_package_it_needs(monkeypatch, package):
    app = pytest.importorskip("subsvms.app", exc_type=ImportError)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match="This part of subsvms"):
        importlib.reload(app)

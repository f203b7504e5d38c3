"""What the benchmarks share: results that say what made them, methods, and a process for each call."""

import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

import subsvms
from benchmarks import ages, made
from benchmarks.peers import child, methods

RESULTS = Path(__file__).parents[1] / "benchmarks/results"
FIELDS = {"version", "commit", "command", "machine", "measures"}


def test_every_result_says_what_made_it():
    noted = json.loads((RESULTS / made.MADE).read_text())
    assert set(noted) | {made.MADE} == {path.name for path in RESULTS.iterdir()}
    for name, entry in noted.items():
        assert set(entry) == FIELDS and all(entry[field] for field in FIELDS - {"measures"}), name
        module = entry["command"].split()[2]
        assert (RESULTS.parents[1] / f"{module.replace('.', '/')}.py").is_file(), name
        assert "/" not in entry["command"] + entry["machine"], name


def test_what_a_result_measures_is_there():
    source = RESULTS.parents[1] / "src/subsvms"
    noted = json.loads((RESULTS / made.MADE).read_text())
    assert noted.pop("audit_0_1.csv")["measures"] == []  # of an earlier version, which stays as it is
    for name, entry in noted.items():
        assert entry["measures"] == made.MEASURED[entry["command"].split()[2].removeprefix("benchmarks.")], (
            name
        )
        assert all(any(source.glob(measured)) for measured in entry["measures"]), name


def test_a_result_is_older_than_code_that_does_something_else_and_not_than_words_about_it():
    before = 'def add(a, b):\n    """Add."""\n    return a + b  # so\n'
    assert ages.list_code(before) == ages.list_code(
        'def add(a, b):\n    """Return\n    the sum."""\n    return a + b\n'
    )
    assert ages.list_code(before) != ages.list_code(before.replace("+", "-"))
    head = made.ask_git("rev-parse", "HEAD")
    assert ages.list_changed(head, ("does_not_exist",)) == []
    found = ages.find_ages({"a.csv": {"commit": "0000000", "measures": ["ensemble"]}})
    assert found == {"a.csv": None}


def test_a_page_is_as_old_as_its_lines_and_notes_of_other_files_stay(tmp_path):
    (tmp_path / made.MADE).write_text('{"other.csv": {"version": "0.0.1"}}')
    made.append_lines(tmp_path / "a.csv", ["x", "y"], [{"x": 1 / 3, "y": "b"}])
    assert (tmp_path / "a.csv").read_text() == "x,y\n0.33333,b\n"
    noted = json.loads((tmp_path / made.MADE).read_text())
    assert noted["a.csv"]["version"] == subsvms.__version__ and set(noted["a.csv"]) == FIELDS
    noted["a.csv"]["version"] = "0.0.2"
    (tmp_path / made.MADE).write_text(json.dumps(noted))
    made.append_lines(tmp_path / "a.csv", ["x", "y"], [])  # nothing was missing
    made.write(tmp_path / "a.md", "# A\n", lines=tmp_path / "a.csv")
    noted = json.loads((tmp_path / made.MADE).read_text())
    assert {name: entry["version"] for name, entry in noted.items()} == {
        "other.csv": "0.0.1", "a.csv": "0.0.2", "a.md": "0.0.2"
    }  # fmt: skip


def test_a_command_has_no_path_of_this_machine(tmp_path):
    words = ["somewhere/speed.py", "--data-dir", str(tmp_path), "--only", "breast cancer"]
    assert made.write_command(None, words) == (
        "python -m benchmarks.speed --data-dir FOLDER --only 'breast cancer'"
    )


def make_table(n_classes=2, n=150):
    X, y = make_classification(
        n, 6, n_informative=4, n_classes=n_classes, class_sep=2.0, flip_y=0, random_state=0
    )
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), y


@pytest.mark.parametrize("name", methods.METHODS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_method_returns_labels_and_qualities(name, n_classes, monkeypatch):
    if name not in methods.find_methods():
        pytest.skip(f"{methods.LIBRARIES[name]} is not installed")
    monkeypatch.setattr(methods, "N_BAGS", 10)
    X, y = make_table(n_classes)
    given = y.copy()
    given[:15] = (given[:15] + 1) % n_classes
    with threadpool_limits(1):
        labels, quality = methods.METHODS[name](X, given, 0)
    assert labels.shape == quality.shape == y.shape and np.isfinite(quality).all()
    assert set(labels) <= set(range(n_classes)) and np.mean(labels == y) > 0.5
    if name not in ("as given", "balanced bagging"):  # it has no ranking; it has few bags here
        assert roc_auc_score(given != y, -quality) > 0.7


def crash():
    raise RuntimeError("no\nmore")


@pytest.mark.parametrize("function, args, expected", [
    (abs, (-2,), (child.DONE, 2, "")), (crash, (), (child.FAILED, None, "RuntimeError: no")),
    (os._exit, (3,), (child.FAILED, None, "the process ended with 3")),
    (time.sleep, (60,), (child.TOO_SLOW, None, "more than 1 s")),
])  # fmt: skip
def test_a_call_has_one_outcome_whatever_happens_to_its_process(function, args, expected):
    assert child.call(function, *args, limit=1 if function is time.sleep else 60) == expected

"""What the README says is true."""

import doctest
import importlib.util
import json
import re
from pathlib import Path

import pytest

from benchmarks.peers import methods, tables

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_its_example_runs():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


def test_it_has_two_set_up_commands():
    commands = re.findall(r"^    (.*)$", README, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("'.[app]' && .venv/bin/subsvms demo")
    assert commands[1].endswith("'.[test]' && .venv/bin/python -m pytest")


def test_its_numbers_are_those_of_the_results():
    results = json.loads((ROOT / "benchmarks/results/speed.json").read_text())
    lines = results["Beside a loop of SVC"]["lines"]
    assert len(lines) == 4
    for line in lines:
        cells = [f"{value:.3g}" for value in line.values() if isinstance(value, float)]
        assert f"| {line['what']} | {' | '.join(cells)} |" in README
    (memory,) = (part for part in results["Memory"]["lines"] if part["what"] == "predict")
    assert f"{memory['MiB beyond the input']:.0f} MiB beyond the input" in README


def test_its_corrections_are_those_of_the_results():
    """The summary in the README is that of the results, and it keeps the promises."""
    spec = importlib.util.spec_from_file_location("quality", ROOT / "benchmarks/quality.py")
    quality = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(quality)
    cells = quality.summarise(quality.read(ROOT / "benchmarks/results/quality.csv"))
    cells = [cell for cell in cells if cell["data"] in quality.FEATURES and cell["attack"] != "boundary"]
    assert {cell["data"] for cell in cells} == set(quality.FEATURES)
    assert all(cell["n"] >= 5 for cell in cells)
    lines = quality.summary(cells)
    left, harmed = (
        next(line for line in lines if line.startswith(start)) for start in ("| left", "| harmed")
    )
    assert left in README and harmed in README
    changed = re.search(r"at most ([\d.]+%) of the rows changed", "\n".join(lines))[1]
    assert f"at most {changed} of the rows change" in README.replace("\n", " ")
    assert not any(quality.is_harmed(cell, "posterior") for cell in cells)
    noisy = [cell for cell in cells if cell["attack"] != "clean"]
    posterior, known = (sum(cell[method] for cell in noisy) for method in ("posterior", "known"))
    assert posterior <= 1.15 * known
    assert all(cell["changed"] <= 0.005 for cell in cells if cell["attack"] == "clean")
    ranks = [sum(cell[key] for cell in noisy) / len(noisy) for key in ("AUC quality", "AUC raw vote")]
    assert ranks[0] >= ranks[1] - 0.01


PEERS = {  # what the README calls them
    "labels as given": "as given",
    "posterior (default)": methods.OURS,
    "majority (the paper's)": methods.MAJORITY,
    "cleanlab with SVC": "cleanlab, SVC",
    "cleanlab with histogram gradient boosting": "cleanlab, boosting",
    "cleanlab with logistic regression": "cleanlab, logistic",
    "balanced bagging of SVC": "balanced bagging",
    "cross-validated SVC": "cross-validated SVC",
    "nearest neighbours": "neighbours",
}


def test_its_peers_are_those_of_the_results():
    preset = re.search(r"benchmarks\.peers run --preset (\w+)", README)[1]
    cells = tables.average_seeds(tables.read_lines(ROOT / f"benchmarks/results/peers_{preset}.csv"))
    table = tables.summarise(tables.take_common(cells))
    assert set(PEERS.values()) == set(methods.METHODS) == set(table.index)
    for words, method in PEERS.items():
        left, harmed, auc, bac = table.loc[method, ["left", "harmed", "auc", "bac"]]
        assert f"| {words} | {left:.4f} | {harmed:.0f} | {auc:.4f} | {bac:.4f} |" in README
    ours, peers = table.loc[methods.OURS], table.drop([methods.OURS, methods.MAJORITY])
    assert ours["left"] < peers["left"].min() and ours["auc"] >= peers["auc"].max()
    assert ours["harmed"] < peers.drop("as given")["harmed"].min()


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)h][^)]*)\)", README))
def test_its_links_lead_somewhere(path):
    assert (ROOT / path).exists()

"""What the README says is true."""

import doctest
import importlib.util
import json
import re
from pathlib import Path

import pandas
import pytest

from benchmarks.ordinary import HARM, METHODS

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
    assert sum(quality.is_harmed(cell, "posterior") for cell in cells) <= 1
    noisy = [cell for cell in cells if cell["attack"] != "clean"]
    posterior, known = (sum(cell[method] for cell in noisy) for method in ("posterior", "known"))
    assert posterior <= 1.15 * known
    assert all(cell["changed"] <= 0.005 for cell in cells if cell["attack"] == "clean")
    ranks = [sum(cell[key] for cell in noisy) / len(noisy) for key in ("AUC quality", "AUC raw vote")]
    assert ranks[0] >= ranks[1] - 0.01


GROUPS = {"the paper's data": "LIBSVM", "scikit-learn's": "scikit-learn's", "made": "made"}
GROUPS |= {"real noise": "real noise"}


def test_its_ordinary_tables_are_those_of_the_results():
    cells = pandas.read_csv(ROOT / "benchmarks/results/ordinary.csv")
    cells = cells.groupby(["group", "data", "kind", "method"], as_index=False).mean(numeric_only=True)
    noisy = cells[cells["kind"] != "clean"]
    means = noisy.groupby(["group", "method"])[["given", "left", "auc"]].mean()
    for words, group in GROUPS.items():
        given = means.loc[group, "subsvms"]["given"]
        for measure, first in (("left", f"{given:.3f}"), ("AUC", "")):
            shown = [f"{means.loc[group, method][measure.lower()]:.3f}".lstrip("0") for method in METHODS]
            line = re.search(rf"^\| {words}, {measure} \|(.*)\|$", README, re.MULTILINE)[1].replace("*", "")
            found = [cell.strip() for cell in line.split("|")]
            assert found == [first.lstrip("0"), *shown], words
    harmed = cells["left"] > cells["given"] + HARM
    counts = harmed.groupby(cells["method"]).sum()
    line = re.search(r"^\| all, harmed of .*?\|(.*)\|$", README, re.MULTILINE)[1].replace("*", "")
    assert [cell.strip() for cell in line.split("|")] == ["", *(str(counts[method]) for method in METHODS)]


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)h][^)]*)\)", README))
def test_its_links_lead_somewhere(path):
    assert (ROOT / path).exists()

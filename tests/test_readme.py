"""What the README says is so."""

import doctest
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_its_example_runs():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


def test_it_has_two_set_up_commands():
    commands = re.findall(r"^    (.*)$", README, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("subsvms demo") and commands[1].endswith("-m pytest")


def test_its_numbers_are_those_of_the_results():
    results = json.loads((ROOT / "benchmarks/results/speed.json").read_text())
    lines = results["Beside a loop of SVC"]["lines"]
    assert len(lines) == 4
    for line in lines:
        cells = [f"{value:.3g}" for value in line.values() if isinstance(value, float)]
        assert f"| {line['what']} | {' | '.join(cells)} |" in README
    (memory,) = (part for part in results["Memory"]["lines"] if part["what"] == "predict")
    assert f"{memory['MiB beyond the input']:.0f} MiB beyond the input" in README


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)h][^)]*)\)", README))
def test_its_links_lead_somewhere(path):
    assert (ROOT / path).exists()

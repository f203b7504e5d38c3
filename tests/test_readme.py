"""What the README says is true."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_it_fits_on_a_page():
    assert len(README.split()) < 700


def test_its_example_runs():
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).failed == 0


def test_it_has_two_set_up_commands():
    commands = re.findall(r"^    (.*)$", README, re.MULTILINE)
    assert len(commands) == 2
    assert commands[0].endswith("'.[app]' && .venv/bin/subsvms demo")
    assert commands[1].endswith("'.[test]' && .venv/bin/python -m pytest")


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)h][^)]*)\)", README))
def test_its_links_lead_somewhere(path):
    assert (ROOT / path).exists()

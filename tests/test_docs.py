"""The code on the pages in docs/ runs, and their pictures can be drawn again."""

import doctest
import importlib
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parent.parent / "docs"
WITH_CODE = [page for page in sorted(DOCS.glob("*.md")) if ">>>" in page.read_text()]


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_on_a_page_gives_the_results_shown(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 0 and found.failed == 0


def test_the_numbers_of_the_rule_are_those_of_the_code():
    text = (DOCS / "the_rule.md").read_text()
    listed = re.findall(r"`(_\w+)\.([A-Z_]+)` (?:\| |\()([\d., ]+)(?: \||\))", text)
    assert 12 < len(listed) < 16  # with two for the rank alone
    for module, name, value in listed:
        number = getattr(importlib.import_module(f"subsvms.correction.{module}"), name)
        shown = [float(part) for part in value.split(", ")]
        assert np.ravel(number).round(2 if "," in value else 9).tolist() == shown, name


def test_text_and_dates_take_at_most_twice_the_time_of_numbers():
    runs = json.loads((DOCS.parent / "benchmarks/results/frames.json").read_text())["runs"]
    kinds = ("all columns", "numbers alone")
    both, alone = (
        np.median([run["CPU seconds"] for run in runs if run["columns"] == kind]) for kind in kinds
    )
    assert {run["rows"] for run in runs} == {50_000} and len(runs) >= 6 and both <= 2 * alone
    assert "takes at most twice as long as on their numbers alone" in (DOCS / "data_frames.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(DOCS.glob("*.py")), ids=lambda script: script.stem)
def test_a_picture_can_be_drawn_again(script, tmp_path):
    target = tmp_path / "picture.png"
    draw = runpy.run_path(str(script))["main"]
    if "VOTES" in draw.__globals__:
        draw.__globals__["VOTES"] = draw.__globals__["VOTES"][:5]
    draw(target)
    target = target if target.is_file() else target / "review.png"  # a script may draw several
    assert target.read_bytes()[:4] == b"\x89PNG" and target.stat().st_size < 200_000

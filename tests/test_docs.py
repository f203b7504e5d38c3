"""The pages in docs/ are true: their code runs, and their pictures can be made again."""

import doctest
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert doctest.testfile(str(page), module_relative=False).failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(DOCS.glob("*.py")), ids=lambda script: script.stem)
def test_a_picture_can_be_drawn_again(script, tmp_path):
    target = tmp_path / "picture.png"
    runpy.run_path(str(script))["main"](target)
    assert target.read_bytes()[:4] == b"\x89PNG" and target.stat().st_size < 200_000

"""The examples of the gallery: each has a title, uses public names only, and draws pictures with titles."""

import ast
import importlib
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))
each_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem[5:])


def test_the_gallery_has_a_header_and_more_than_ten_examples():
    assert (FOLDER / "GALLERY_HEADER.rst").is_file() and len(EXAMPLES) > 10


@each_example
def test_an_example_begins_with_a_title_and_a_paragraph(path):
    title, line, empty, *paragraph = ast.get_docstring(ast.parse(path.read_text())).splitlines()
    assert set(line) == {"="} and len(line) == len(title) and empty == "" and paragraph


@each_example
def test_an_example_has_no_roles_which_notebooks_would_show(path):
    """Names between single backquotes are links on the page, and code in the notebook."""
    assert not re.search(r":[a-z:]+:`", path.read_text())


@each_example
def test_an_example_uses_public_names_only(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "subsvms":
            assert "._" not in node.module
            assert {one.name for one in node.names} <= set(importlib.import_module(node.module).__all__)
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr == "__all__", node.attr


@each_example
def test_an_example_shows_pictures_with_titles(path):
    """Building the site runs the examples; an error there stops it."""
    called = [
        node.func.attr
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    assert "show" in called and {"set_title", "suptitle", "set"} & set(called)

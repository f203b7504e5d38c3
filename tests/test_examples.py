"""The examples of the gallery: each has a title, uses public names only, and draws pictures with titles."""

import ast
import importlib
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("plot_*.py"))


def test_the_gallery_has_a_header_and_more_than_ten_examples():
    assert (FOLDER / "GALLERY_HEADER.rst").is_file() and len(EXAMPLES) > 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem[5:])
def test_an_example_has_a_title_uses_public_names_and_shows_pictures_with_titles(path):
    """Building the site runs the examples; an error there stops it."""
    tree = ast.parse(path.read_text())
    title, line, empty, *paragraph = ast.get_docstring(tree).splitlines()
    assert set(line) == {"="} and len(line) == len(title) and empty == "" and paragraph
    assert not re.search(r":[a-z:]+:`", path.read_text())  # names are links on the page, code in the notebook
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "subsvms":
            assert "._" not in node.module
            assert {one.name for one in node.names} <= set(importlib.import_module(node.module).__all__)
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not {name for name in used - {"__all__"} if name.startswith("_")}
    assert "show" in used and {"set_title", "suptitle", "set"} & used

"""The numbers on the page in the form of a paper are those of the committed results."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/paper.md").read_text()
PROSE, _, TABLE = PAGE.partition("## Where the numbers come from")
SOURCES = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in TABLE.split("## References")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| number")
]


def find_numbers(text):
    """Return the numbers of a text."""
    return {float(found.replace(",", "")) for found in re.findall(r"(?<![\w.])[\d,]*\.?\d+", text)}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source[0])
def test_a_number_is_in_the_file_that_is_named_with_its_command(source):
    numbers, _, name, command = source
    text = (ROOT / "benchmarks/results" / name).read_text()
    assert command.strip("`") in text
    assert find_numbers(numbers) <= find_numbers(text)


def test_every_decimal_number_in_the_text_has_a_source():
    listed = set().union(*(find_numbers(numbers) for numbers, *_ in SOURCES))
    decimals = {float(found) for found in re.findall(r"(?<![\w.])\.\d{3,}", PROSE)}
    assert len(decimals) >= 9 and decimals <= listed

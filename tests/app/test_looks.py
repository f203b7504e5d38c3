"""The mark that each class has beside its colour."""

import pytest

from subsvms.app.looks import mark_classes


@pytest.mark.parametrize(
    ("names", "marks"),
    [
        (["d0", "d1", "d10"], ["0", "1", "10"]),  # the numbers tell them apart
        ([0, 1, 2], ["0", "1", "2"]),
        (["d0", "e0"], ["D", "E"]),
        (["billing", "bug", "bugs"], ["B", "U", "G"]),
        (["late payment", "late delivery"], ["L", "D"]),
    ],
)
def test_marks_differ_and_come_from_what_tells_classes_apart(names, marks):
    assert mark_classes(names) == marks

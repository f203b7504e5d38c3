"""What report, review and audit share: `tokens.css` with colours and sizes, and a mark for each class."""

import re
from collections.abc import Iterable
from importlib.resources import files
from string import ascii_uppercase, digits

HOME = "subsvms.app", "static"  # a package and its folder, with `tokens.css`
N_COLOURS = 8  # of classes there; after them they come again


def read_tokens() -> str:
    """Return the style that comes before that of every page."""
    return (files(HOME[0]) / HOME[1] / "tokens.css").read_text(encoding="utf-8")


def mark_classes(names: Iterable[object]) -> list[str]:
    """Return a letter or a short number for each class, which pages show beside its colour."""
    marks: list[str] = []
    shown = list(map(str, names))
    numbered = [found for name in shown if (found := re.fullmatch(r"(\D*)(\d{1,2})", name))]
    if len(numbered) == len(shown) and len({found[1] for found in numbered}) == 1:
        shown = [found[2] for found in numbered]  # d0, d1, ...: the numbers tell them apart
    for name in shown:
        words = re.findall(r"[^\W_]+", name)  # of names that begin alike, the last word tells them apart
        own = [
            letter.upper()[0] for letter in "".join([*(word[0] for word in words[:1] + words[:0:-1]), *words])
        ]
        wanted = [name] * (name.isdecimal() and len(name) < 3) + [*own, *ascii_uppercase, *digits]
        marks.append(next((mark for mark in wanted if mark not in marks), "·"))
    return marks

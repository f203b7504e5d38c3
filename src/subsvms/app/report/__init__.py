"""Turn the summary of a run into one page for people: no network, no script, no surprise.

`summarise` gathers, this prints. Everything in a summary may come from a stranger's table. So whatever the
template prints goes through one gate (`finalize`) that cuts it and takes out what HTML cannot hold, and is
escaped; the page itself forbids scripts and requests.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from numbers import Real
from typing import Any

from jinja2 import Environment, PackageLoader, Undefined
from markupsafe import Markup

from subsvms.app.report.charts import UNPRINTABLE, draw_charts

__all__ = ["draw_charts", "render_report"]

LONGEST_TEXT, LONGEST_CELL, LONGEST_WITNESS, LONGEST_NAME = 1000, 300, 120, 60  # characters
MOST_ROWS, MOST_COLUMNS, MOST_WITNESSES = 50, 40, 3  # rows, columns of a row, witnesses on either side of it
MOST_LINES = 200  # of any other table
FOLD = {"lines": 12, "moves": 8, "rows": 10, "open": 2}  # how many are seen at once; rows that are open
UNKNOWN = "not known"
SURE = {
    0.99: "almost certain",
    0.9: "very likely",
    0.75: "likely",
    0.5: "more likely than not",
    0.0: "possible",
}
TAGS = {"fix": "fixed", "drop": "left out", "weight": "weighed", "review": "to review", "keep": "kept"}
DONE = {
    "fix": ("and was corrected", "and were corrected"),
    "drop": ("and its row was left out", "and their rows were left out"),
    "weight": ("and its row counts for less", "and their rows count for less"),
    "review": ("and should be reviewed; nothing was changed", "and should be reviewed; nothing was changed"),
}


def render_report(summary: Mapping[str, Any], charts: Mapping[str, str]) -> str:
    """Turn the summary of a run into one self-contained page.

    Parameters
    ----------
    summary : mapping
        Text, numbers, None, and lists and mappings of these. What is missing is left out. No text in it is
        trusted.
    charts : mapping of str to str
        Inline SVG, as `draw_charts` makes it; trusted.

    Returns
    -------
    str
        HTML. The same summary and charts give the same text.

    Examples
    --------
    >>> from subsvms.app.report import render_report
    >>> page = render_report({"title": "<loans>.csv", "labelled": 32561, "flagged": 812, "action": "fix"}, {})
    >>> "<title>&lt;loans&gt;.csv: wrong labels</title>" in page
    True
    >>> "812 of 32,561 labels look wrong and were corrected." in page
    True
    """
    found = dict(summary)
    classes = found.get("classes") or []
    return (
        open_templates()
        .get_template("report.html")
        .render(
            found,
            verdict=give_verdict(found),
            ordered_classes=order_classes(classes),
            most_rate=find_most(classes, "rate_high", "rate"),
            cards=[lay_out_row(row) for row in (found.get("worst") or [])[:MOST_ROWS]],
            charts={name: Markup(svg) for name, svg in charts.items()},
        )
    )


@cache
def open_templates() -> Environment:
    """Return the templates of this folder, with what they need to print numbers and text."""
    pages = Environment(
        loader=PackageLoader("subsvms.app.report"), autoescape=True, finalize=make_printable,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    pages.filters |= {
        "cell": lambda value: cut(value, LONGEST_CELL),
        "name": lambda value: cut(value, LONGEST_NAME),
        "count": write_count,
        "percent": write_percent,
        "place": find_place,
        "time": write_time,
        "number": read_number,
    }
    pages.globals |= {
        "fold": FOLD,
        "most_lines": MOST_LINES,
        "between": write_interval,
        "find_most": find_most,
    }
    return pages


# Text


def make_printable(value: Any) -> Any:
    """Return a value as the page may print it: not too long, and without what HTML cannot hold."""
    if isinstance(value, Markup):  # the page's own
        return value
    return "" if value is None else cut(value, LONGEST_TEXT)


def cut(value: Any, longest: int) -> str:
    """Return text of at most so many characters.

    Examples
    --------
    >>> cut("a long story", 6), cut(12, 6), cut(None, 6)
    ('a lon…', '12', '')
    """
    text = "" if value is None else str(value)
    text = text if len(text) <= longest else text[: longest - 1] + "…"
    return UNPRINTABLE.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


# Numbers


def read_number(value: Any) -> float | None:
    """Return a finite number, or None for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return number if math.isfinite(number) else None


def write_count(value: Any) -> str:
    """Return a count for people.

    Examples
    --------
    >>> write_count(32561), write_count(3.46), write_count(None), write_count("many")
    ('32,561', '3.5', 'not known', 'many')
    """
    number = read_number(value)
    if number is None:
        return UNKNOWN if value is None or isinstance(value, Undefined) else cut(value, LONGEST_CELL)
    return f"{number:,.0f}" if number.is_integer() or number >= 10 else f"{number:.1f}"


def write_percent(share: Any) -> str:
    r"""Return a share in per cent: a decimal where it tells something, and neither 0 nor 100 but for those.

    Examples
    --------
    >>> [write_percent(share).replace("\xa0", " ") for share in (0, 0.0001, 0.031, 0.93, 0.9999, 1, None)]
    ['0 %', '< 0.1 %', '3.1 %', '93 %', '> 99.9 %', '100 %', 'not known']
    """
    number = read_number(share)
    if number is None:
        return UNKNOWN
    if number <= 0 or number >= 1:
        return f"{100 * number:.0f}\xa0%"
    if number < 0.001 or number > 0.999:
        return "<\xa00.1\xa0%" if number < 0.5 else ">\xa099.9\xa0%"
    decimals = 1 if number < 0.0995 or number > 0.99 else 0
    return f"{100 * number:.{decimals}f}\xa0%"


def write_interval(low: Any, high: Any) -> str:
    r"""Return an interval of shares, or nothing where an end is missing.

    Examples
    --------
    >>> write_interval(0.02, 0.05)
    '2.0 to 5.0\xa0%'
    """
    if read_number(low) is None or read_number(high) is None:
        return ""
    return f"{write_percent(low).removesuffix(chr(0xA0) + '%')} to {write_percent(high)}"


def find_place(value: Any, most: Any = 1.0) -> str:
    """Return where a value lies between nothing and the most, as CSS has it."""
    number, full = read_number(value), read_number(most)
    if number is None or not full:
        return "0%"
    return f"{100 * min(max(number / full, 0.0), 1.0):.2f}%"


def find_most(lines: Iterable[Mapping[str, Any]], *names: str) -> float:
    """Return the largest number under these names, where a bar ends; 1 if there is none."""
    numbers = (read_number(line.get(name)) for line in lines for name in names)
    return max((number for number in numbers if number), default=1.0)


def order_classes(classes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the classes in their order; if there are many, those with most wrong labels first."""
    if len(classes) <= FOLD["lines"]:
        return list(classes)
    return sorted(classes, key=lambda line: -(read_number(line.get("estimated_wrong")) or 0.0))


def write_time(value: Any) -> str:
    """Return a point in time for people, or the text itself if it is none.

    Examples
    --------
    >>> write_time("2026-11-15T12:00:00+00:00"), write_time("yesterday")
    ('2026-11-15 12:00 UTC', 'yesterday')
    """
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return cut(value, LONGEST_NAME)
    return f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip()


# Sentences and cards


def give_verdict(summary: Mapping[str, Any]) -> str:
    """Return the whole result in one sentence.

    Examples
    --------
    >>> give_verdict({"flagged": 1, "labelled": 500, "action": "drop"})
    '1 of 500 labels looks wrong and its row was left out.'
    >>> give_verdict({"flagged": 0, "labelled": 500})
    'Nothing to fix: none of 500 labels looks wrong enough to change.'
    """
    flagged, labelled = read_number(summary.get("flagged")), read_number(summary.get("labelled"))
    if flagged is None or labelled is None:
        return ""
    if not flagged:
        if summary.get("explained") is False:
            return "The columns do not explain the labels, so none was changed."
        return f"Nothing to fix: none of {labelled:,.0f} labels looks wrong enough to change."
    many = flagged != 1
    done = DONE.get(str(summary.get("action")), ("", ""))[many]
    return f"{flagged:,.0f} of {labelled:,.0f} labels look{'' if many else 's'} wrong {done}".strip() + "."


def lay_out_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table as its card shows it, its witnesses beside it.

    Examples
    --------
    >>> witness = {"row": 5, "label": "yes", "share": 0.1, "values": ["41", "cook"]}
    >>> row = {"confidence": 0.8, "values": [["age", "39"], ["job", "cook"]], "supporting": [witness]}
    >>> card = lay_out_row(row)
    >>> card["sure"], [[cell["mark"] for cell in line["cells"]] for line in card["lines"]]
    ('likely', [['↑'], ['']])
    """
    own = list(row.get("values") or [])
    sides = [list(row.get(side) or [])[:MOST_WITNESSES] for side in ("supporting", "opposing")]
    heard = [list(witness.get("values") or []) for side in sides for witness in side]
    lines = []
    for number, (column, value) in enumerate(own[:MOST_COLUMNS]):
        others = [values[number] if number < len(values) else None for values in heard]
        cells = [{"mark": compare(value, other), "value": cut(other, LONGEST_WITNESS)} for other in others]
        lines.append({"column": column, "value": value, "cells": cells})
    sureness = read_number(row.get("confidence"))
    fitting = [word for least, word in SURE.items() if sureness is not None and sureness >= least]
    return dict(row) | {
        "supporting": sides[0],
        "opposing": sides[1],
        "lines": lines,
        "n_more": len(own) - len(lines),
        "done": TAGS.get(str(row.get("action")), row.get("action")),
        "sure": fitting[0] if fitting else "",
    }


def compare(value: Any, other: Any) -> str:
    """Return a mark where a witness's value differs: an arrow for a number, or else a sign.

    Examples
    --------
    >>> compare("39", "41"), compare("39", "38.5"), compare("cook", "nurse"), compare("39", "39.0")
    ('↑', '↓', '≠', '')
    """
    if other is None or str(value) == str(other):
        return ""
    try:
        own, its = float(value), float(other)
    except (TypeError, ValueError):
        return "≠"
    if not (math.isfinite(own) and math.isfinite(its)):
        return "≠"
    return "" if own == its else "↑" if its > own else "↓"

"""Turn the summary of a run into one self-contained HTML page, without network access or scripts.

`subsvms.app.runs.summary` collects the numbers; this module prints them. Any text in a summary may come from
an untrusted table. So everything that the template prints is escaped, and first goes through one function
(`format_value`) that limits its length and replaces characters that HTML cannot hold. The page itself
forbids scripts and requests.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from numbers import Real
from typing import Any

from jinja2 import Environment, PackageLoader, Undefined
from markupsafe import Markup

from subsvms import _text
from subsvms._text import UNKNOWN

MAX_TEXT, MAX_CELL, MAX_WITNESS, MAX_NAME = 1000, 300, 120, 60  # characters
MAX_ROWS, MAX_COLUMNS, MAX_WITNESSES = 50, 40, 3  # rows, columns of a row, witnesses on either side of it
MAX_LINES = 200  # of any other table
AUDIT_BEGINS, AUDIT_ENDS = "<!-- audit -->", "<!-- end of the audit -->"  # text from a table cannot say so
FOLD = {"lines": 12, "moves": 8, "rows": 10, "open": 2}  # how many are visible at first; rows shown opened
UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not in XML, or C1
SURE = {
    0.99: "almost certain",
    0.9: "very likely",
    0.75: "likely",
    0.5: "more likely than not",
    0.0: "possible",
}
TAGS = {"fix": "fixed", "drop": "left out", "weight": "weighted", "review": "to review", "keep": "kept"}
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
        Text, numbers, None, and lists and mappings of these. Missing entries are left out of the page. No
        text in it is trusted.
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
    classes = summary.get("classes") or []
    known = [line for line in classes if read_number(line.get("rate")) is not None]
    return (
        open_templates()
        .get_template("report.html")
        .render(
            dict(summary),
            verdict=format_verdict(summary),
            ordered_classes=order_classes(classes),
            n_known=len(known),
            max_rate=largest(known, "rate_high", "rate"),
            shown_changes=choose_changes(summary.get("certified")),
            cards=[lay_out_row(row) for row in (summary.get("worst") or [])[:MAX_ROWS]],
            charts={name: Markup(svg) for name, svg in charts.items()},
            place_of_audit=Markup(AUDIT_BEGINS + AUDIT_ENDS),
        )
    )


def place_audit(page: str, audit: Mapping[str, Any] | None) -> str | None:
    """Return a report with a section on an audit in place of the one it had, or without any.

    Parameters
    ----------
    page : str
        As `render_report` or this function returned it.
    audit : mapping or None
        "claims", "finished", "people", "last", "figures" and "rings"; missing entries are left out. No text
        in it is trusted. None for no section.

    Returns
    -------
    str or None
        None if the page has no place for it.

    Examples
    --------
    >>> page = render_report({"title": "loans.csv"}, {})
    >>> longer = place_audit(page, {"claims": ["You checked 50 labels & changed 130."]})
    >>> "50 labels &amp; changed 130." in longer, place_audit(longer, None) == page
    (True, True)
    """
    begin, found, rest = page.partition(AUDIT_BEGINS)
    _, ended, after = rest.partition(AUDIT_ENDS)
    if not (found and ended):
        return None
    section = "" if audit is None else open_templates().get_template("audit.html").render(audit=audit)
    return begin + AUDIT_BEGINS + section + AUDIT_ENDS + after


@cache
def open_templates() -> Environment:
    """Return the templates of this package, with the filters they use for numbers and text."""
    pages = Environment(
        loader=PackageLoader("subsvms.app.report"), autoescape=True, finalize=format_value,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    pages.filters |= {
        "cell": lambda value: cut(value, MAX_CELL),
        "name": lambda value: cut(value, MAX_NAME),
        "count": format_count,
        "percent": format_percent,
        "place": format_place,
        "time": format_time,
        "number": read_number,
        "digits": format_digits,
    }
    pages.globals |= {"fold": FOLD, "max_lines": MAX_LINES, "between": format_interval, "largest": largest}
    return pages


# Text


def format_value(value: Any) -> Any:
    """Return a value as the page prints it: not too long, and without characters that HTML cannot hold."""
    if isinstance(value, Markup):  # made by the page itself
        return value
    return "" if value is None else cut(value, MAX_TEXT)


def cut(value: Any, limit: int) -> str:
    """Return text of at most `limit` characters.

    Examples
    --------
    >>> cut("a long story", 6), cut(12, 6), cut(None, 6)
    ('a lon…', '12', '')
    """
    text = "" if value is None else str(value)
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return UNPRINTABLE.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


# Numbers


def read_number(value: Any) -> float | None:
    """Return a finite number, or None for anything else."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer with hundreds of digits
        return None
    return number if math.isfinite(number) else None


def format_count(value: Any) -> str:
    """Return a count as text.

    Examples
    --------
    >>> format_count(32561), format_count(3.46), format_count(None), format_count("many")
    ('32,561', '3.5', 'not known', 'many')
    """
    number = read_number(value)
    if number is None:
        return UNKNOWN if value is None or isinstance(value, Undefined) else cut(value, MAX_CELL)
    return f"{number:,.0f}" if number.is_integer() or number >= 10 else f"{number:.1f}"


def format_digits(value: Any, form: str = ".3f") -> str:
    """Return a number with a few digits.

    Examples
    --------
    >>> format_digits(0.29991), format_digits(12.3456, ".3g"), format_digits(None)
    ('0.300', '12.3', 'not known')
    """
    number = read_number(value)
    return UNKNOWN if number is None else f"{number:{form}}"


def format_percent(share: Any) -> str:
    r"""Return a share in per cent, on one line.

    Examples
    --------
    >>> format_percent(0.031), format_percent(None)
    ('3.1\xa0%', 'not known')
    """
    number = read_number(share)
    return UNKNOWN if number is None else _text.format_percent(number).replace(" ", "\xa0")


def format_interval(low: Any, high: Any) -> str:
    r"""Return an interval of shares, or nothing if an end is missing.

    Examples
    --------
    >>> format_interval(0.02, 0.05)
    '2.0 to 5.0\xa0%'
    """
    start, end = read_number(low), read_number(high)
    if start is None or end is None:
        return ""
    return _text.format_interval(start, end).replace(" %", "\xa0%")


def format_place(value: Any, full: Any = 1.0) -> str:
    """Return a CSS percentage for a position between 0 and `full`."""
    number, whole = read_number(value), read_number(full)
    if number is None or not whole:
        return "0%"
    return f"{100 * min(max(number / whole, 0.0), 1.0):.2f}%"


def largest(lines: Iterable[Mapping[str, Any]], *names: str) -> float:
    """Return the largest number under these names, where a bar ends; 1 if there is none."""
    numbers = (read_number(line.get(name)) for line in lines for name in names)
    return max((number for number in numbers if number), default=1.0)


def choose_changes(certified: Any) -> int:
    """Return a number of changes to explain certificates with: one that is on the axis of their chart.

    Examples
    --------
    >>> choose_changes({"most": 40}), choose_changes({"most": 2}), choose_changes(None)
    (4, 2, 1)
    """
    most = read_number(certified.get("most")) if isinstance(certified, Mapping) else None
    return int(min(max(most or 1, 1), 4))


def order_classes(classes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the classes in their order; if there are many, those with the most wrong labels first."""
    if len(classes) <= FOLD["lines"]:
        return list(classes)
    return sorted(classes, key=lambda line: -(read_number(line.get("estimated_wrong")) or 0.0))


def format_time(value: Any) -> str:
    """Return an ISO time in a readable form, or the text itself if it is not one.

    Examples
    --------
    >>> format_time("2026-11-15T12:00:00+00:00"), format_time("yesterday")
    ('2026-11-15 12:00 UTC', 'yesterday')
    """
    try:
        when = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return cut(value, MAX_NAME)
    return f"{when:%Y-%m-%d %H:%M} {when.tzname() or ''}".strip()


# Sentences and cards


def format_verdict(summary: Mapping[str, Any]) -> str:
    """Return the result in one sentence.

    Examples
    --------
    >>> format_verdict({"flagged": 1, "labelled": 500, "action": "drop"})
    '1 of 500 labels looks wrong and its row was left out.'
    >>> format_verdict({"flagged": 0, "labelled": 500})
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
    """Return a row of the table as its card shows it, next to its witnesses.

    Examples
    --------
    >>> witness = {"row": 5, "label": "yes", "share": 0.1, "values": ["41", "cook"]}
    >>> row = {"confidence": 0.8, "values": [["age", "39"], ["job", "cook"]], "supporting": [witness]}
    >>> card = lay_out_row(row)
    >>> card["sure"], [[cell["mark"] for cell in line["cells"]] for line in card["lines"]]
    ('likely', [['↑'], ['']])
    """
    own = list(row.get("values") or [])
    sides = [list(row.get(side) or [])[:MAX_WITNESSES] for side in ("supporting", "opposing")]
    witnessed = [list(witness.get("values") or []) for side in sides for witness in side]
    lines = []
    for number, (column, value) in enumerate(own[:MAX_COLUMNS]):
        others = [values[number] if number < len(values) else None for values in witnessed]
        cells = [{"mark": compare(value, other), "value": cut(other, MAX_WITNESS)} for other in others]
        lines.append({"column": column, "value": value, "cells": cells})
    confidence = read_number(row.get("confidence"))
    words = [word for least, word in SURE.items() if confidence is not None and confidence >= least]
    return dict(row) | {
        "supporting": sides[0],
        "opposing": sides[1],
        "lines": lines,
        "n_more": len(own) - len(lines),
        "done": TAGS.get(str(row.get("action")), row.get("action")),
        "sure": words[0] if words else "",
    }


def compare(value: Any, other: Any) -> str:
    """Return a mark if a witness's value differs: an arrow for a number, a sign for anything else.

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

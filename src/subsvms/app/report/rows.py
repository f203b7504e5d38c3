"""Lay out and print the rows to look at first, until the page is long enough.

A page holds at most 50 rows, and no more than fit into `MAX_BYTES`: a table of any width and any text gives
a page that opens quickly and can be sent by mail.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from subsvms.app.report.text import MAX_WHOLE, cut, open_templates, read_number

MAX_ROWS, MAX_COLUMNS, MAX_WITNESSES = 50, 40, 3  # rows, columns of a row, witnesses on either side of it
MAX_BYTES = 600_000  # of all rows, in UTF-8
N_OPEN = 1  # rows that are shown opened
LONG = 60  # characters of a value that is too long for a cell of the comparison
SURE = {
    0.99: "almost certain", 0.9: "very likely", 0.75: "likely", 0.5: "more likely than not", 0.0: "possible",
}  # fmt: skip
TAGS = {"fix": "fixed", "drop": "left out", "weight": "weighted", "review": "to review", "keep": "kept"}


def render_rows(worst: Sequence[Mapping[str, Any]], **more: Any) -> list[Markup]:
    """Return the rows to look at first as HTML, worst first, as many as fit on a page."""
    template = open_templates().get_template("row.html")
    pieces, size = list[Markup](), 0
    for number, row in enumerate(worst[:MAX_ROWS], 1):
        text = template.render(more, row=lay_out_row(row), number=number, open=number <= N_OPEN)
        size += len(text.encode())
        if size > MAX_BYTES and pieces:
            break
        pieces.append(Markup(text))
    return pieces


def lay_out_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the table as the page shows it, next to its witnesses.

    Values that fit into a cell are compared side by side ("lines"); the others are to be read ("texts").
    """
    own = list(row.get("values") or [])
    sides = [list(row.get(side) or [])[:MAX_WITNESSES] for side in ("supporting", "opposing")]
    witnesses = [witness for side in sides for witness in side]
    lines, texts = [], []
    for number, (column, value) in enumerate(own[:MAX_COLUMNS]):
        others = [dict(enumerate(witness.get("values") or [])).get(number) for witness in witnesses]
        if any(len(str(text)) > LONG for text in (value, *others)):
            whole = Markup(escape(cut(value, MAX_WHOLE + 1)))
            pairs, is_cut = list(zip(witnesses, others, strict=True)), len(str(value)) > MAX_WHOLE
            texts.append({"column": column, "value": whole, "cut": is_cut, "others": pairs})
        else:
            cells = [{"mark": compare(value, other), "value": other} for other in others]
            lines.append({"column": column, "value": value, "cells": cells})
    confidence = read_number(row.get("confidence"))
    words = [word for least, word in SURE.items() if confidence is not None and confidence >= least]
    return dict(row) | {
        "supporting": sides[0], "opposing": sides[1], "lines": lines, "texts": texts,
        "n_more": max(len(own) - MAX_COLUMNS, 0), "sure": words[0] if words else "",
        "done": TAGS.get(str(row.get("action")), row.get("action")),
    }  # fmt: skip


def compare(value: Any, other: Any) -> str:
    """Return a mark if a witness's value differs: an arrow for a number, a sign for anything else."""
    if other is None or str(value) == str(other):
        return ""
    try:
        own, its = float(value), float(other)
    except (TypeError, ValueError):
        return "≠"
    if not (math.isfinite(own) and math.isfinite(its)):
        return "≠"
    return "" if own == its else "↑" if its > own else "↓"

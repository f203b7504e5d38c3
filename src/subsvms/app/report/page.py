"""Turn the summary of a run into one self-contained HTML page, without network access.

`subsvms.app.runs.summary` collects the numbers; this module prints them, with the help of `text`. The page
forbids all requests, all scripts but its own, which sorts tables, and all styles but its own: it names both
by their hashes. Of the rows to look at first it holds at most 50, and no more than fit into `MAX_BYTES`: a
table of any width and any text gives a page that opens quickly and can be sent by mail.
"""

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape

from subsvms.app.looks import read_tokens
from subsvms.app.report.charts import MAX_CLASSES, draw_person
from subsvms.app.report.row_map import MAX_FLAGGED, MAX_OTHERS
from subsvms.app.report.text import (
    MAX_WHOLE,
    cut,
    format_interval,
    format_percent,
    largest,
    open_templates,
    read_number,
)
from subsvms.correction._notes import DONE, Found, format_verdict

# What is said later goes there, so that the page without it is the one that the run wrote.
PLACES = "verdict verdict_end link audit_link section audit found classes steps steps_end files".split()
LIMITS = {
    "lines": 200,  # of a table
    "tall": 12,  # lines of a table that is shown at full height
    "moves": 8,  # pairs of labels
    "columns": 60,  # with the same use
    "classes": MAX_CLASSES,
    "people": 24,  # with a picture
    "flagged": MAX_FLAGGED,
    "others": MAX_OTHERS,
}
AFTER = ("changed", "changed_to", "filled", "left_out")  # what makes the rows of a class more or fewer
MAX_ROWS, MAX_COLUMNS, MAX_WITNESSES = 50, 40, 3  # rows, columns of a row, witnesses on either side of it
MAX_BYTES = 600_000  # of all rows, in UTF-8
LONG = 60  # characters of a value that is too long for a cell of the comparison
SURE = {
    0.99: "almost certain", 0.9: "very likely", 0.75: "likely", 0.5: "more likely than not", 0.0: "possible",
}  # fmt: skip
TAGS = {"fix": "fixed", "drop": "left out", "weight": "weighted", "review": "to review", "keep": "kept"}


def render_report(summary: Mapping[str, Any], charts: Mapping[str, str]) -> str:
    """Turn the summary of a run into one self-contained page."""
    classes = summary.get("classes") or []
    known = [line for line in classes if read_number(line.get("rate")) is not None]
    (script, script_hash), (style, style_hash) = read_part("report.js"), read_part("report.css")
    return open_templates().get_template("report.html").render(
        dict(summary), script=script, script_hash=script_hash, style=style, style_hash=style_hash,
        limits=LIMITS, verdict=say_verdict(summary),
        ordered_classes=order_classes(classes), n_known=len(known), same_rate=find_same_rate(classes),
        after_shown=[name for name in AFTER if sum(read_number(line.get(name)) or 0 for line in classes)],
        scattered=len(classes) > MAX_CLASSES and largest(summary.get("moves") or [], "rows") == 1,
        shown_changes=choose_changes(summary.get("certified")),
        pieces=render_rows(summary.get("worst") or [], rule=summary.get("rule")),
        people=[dict(one) | {"chart": Markup(draw_person(one))} for one in summary.get("people") or []],
        charts={name: Markup(svg) for name, svg in charts.items()},
        places={name: Markup("".join(mark_place(name))) for name in PLACES},
    )  # fmt: skip


def place_audit(page: str, audit: Mapping[str, Any] | None) -> str | None:
    """Return a report with a section on an audit in place of the one it had, or without any."""
    if audit is None:
        return fill_places(page, {"audit": "", "audit_link": ""})
    section = open_templates().get_template("audit.html").render(audit=audit, limits=LIMITS)
    name = "Confirmation" if audit.get("is_confirmation") else "Audit"
    return fill_places(page, {"audit": section, "audit_link": f'<a href="#audit">{name}</a>'})


def place_final(page: str, final: Mapping[str, Any] | None) -> str | None:
    """Return a report that says which table to use after `subsvms apply`, or without that.

    What the run said about its own table is then marked as such, and its advice is hidden.
    """
    macros: Any = open_templates().get_template("final.html").module
    pieces = {}
    for name in PLACES:
        if not name.startswith("audit"):
            macro = getattr(macros, "end" if name.endswith("_end") else name)
            pieces[name] = "" if final is None else macro(final)
    return fill_places(page, pieces)


def fill_places(page: str, pieces: Mapping[str, str]) -> str | None:
    """Return a page with these pieces of HTML, by place, in place of what it had there; None without a place.

    A page may lack places that are in parts which are not shown, but not the one of audits.
    """
    if mark_place("audit")[0] not in page:
        return None
    for name, piece in pieces.items():
        begin, end = mark_place(name)
        before, _, rest = page.partition(begin)
        _, found, after = rest.partition(end)
        page = f"{before}{begin}{piece}{end}{after}" if found else page
    return page


def mark_place(name: str) -> tuple[str, str]:
    """Return what begins and ends a place in the page; text from a table cannot say so."""
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


@cache
def read_part(name: str) -> tuple[Markup, Markup]:
    """Return the script or the style of the page, word for word, and what names it in a security policy."""
    text = (files("subsvms.app.report") / "templates" / name).read_text(encoding="utf-8")
    if name == "report.css":
        text = read_tokens() + text
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), Markup(f"sha256-{digest}")


def find_same_rate(classes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return a class if there are three or more, all with the same estimate: a table would repeat it."""
    known = all(read_number(line.get("rate")) is not None for line in classes)
    shown = {
        (format_percent(line.get("rate")), format_interval(line.get("rate_low"), line.get("rate_high")))
        for line in classes
    }
    return classes[0] if len(classes) > 2 and known and len(shown) == 1 else None


def choose_changes(certified: Any) -> int:
    """Return a number of changes to explain certificates with: one that is on the axis of their chart."""
    most = read_number(certified.get("most")) if isinstance(certified, Mapping) else None
    return int(min(max(most or 1, 1), 4))


def order_classes(classes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the classes in their order; if there are many, those with the most wrong labels first."""
    if len(classes) <= LIMITS["tall"]:
        return list(classes)
    return sorted(classes, key=lambda line: -(read_number(line.get("estimated_wrong")) or 0.0))


def say_verdict(summary: Mapping[str, Any]) -> str:
    """Return the result in one sentence; nothing if it is not known."""
    flagged, labelled = read_number(summary.get("flagged")), read_number(summary.get("labelled"))
    if flagged is None or labelled is None or summary.get("action") not in DONE:
        return ""
    changed, audited = (read_number(summary.get(name)) for name in ("changed", "audited"))
    return format_verdict(
        Found(
            int(labelled), int(flagged), summary["action"], n_changed=int(changed or 0),
            n_unseen=None if audited is None else int(audited),
            explained=summary.get("explained") is not False, judge=summary.get("judge"),
        )
    )  # fmt: skip


# The rows to look at first


def render_rows(worst: Sequence[Mapping[str, Any]], **more: Any) -> list[Markup]:
    """Return the rows to look at first as HTML, worst first, as many as fit on a page."""
    template = open_templates().get_template("row.html")
    pieces, size = list[Markup](), 0
    for number, row in enumerate(worst[:MAX_ROWS], 1):
        text = template.render(more, row=lay_out_row(row), number=number, open=number == 1)
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

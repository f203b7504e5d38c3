"""Turn the summary of a run into one self-contained HTML page, without network access.

`subsvms.app.runs.summary` collects the numbers; this module prints them, with the help of `text` and `rows`.
The page forbids all requests, all scripts but its own, which sorts tables, and all styles but its own: it
names both by their hashes.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from markupsafe import Markup

from subsvms.app.looks import read_tokens
from subsvms.app.report.charts import MAX_CLASSES, draw_person
from subsvms.app.report.row_map import MAX_FLAGGED, MAX_OTHERS
from subsvms.app.report.rows import render_rows
from subsvms.app.report.text import format_interval, format_percent, largest, open_templates, read_number
from subsvms.correction._notes import DONE, Found, format_verdict

# What is said later goes there, so that the page without it is the one that the run wrote.
PLACES = (
    "verdict",
    "verdict_end",
    "link",
    "audit_link",
    "section",
    "audit",
    "found",
    "classes",
    "steps",
    "steps_end",
    "files",
)
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


def render_report(summary: Mapping[str, Any], charts: Mapping[str, str]) -> str:
    """Turn the summary of a run into one self-contained page."""
    classes = summary.get("classes") or []
    known = [line for line in classes if read_number(line.get("rate")) is not None]
    (script, script_hash), (style, style_hash) = read_part("report.js"), read_part("report.css")
    return (
        open_templates()
        .get_template("report.html")
        .render(
            dict(summary), script=script, script_hash=script_hash, style=style, style_hash=style_hash,
            limits=LIMITS, verdict=say_verdict(summary),
            ordered_classes=order_classes(classes), n_known=len(known), same_rate=find_same_rate(classes),
            after_shown=[name for name in AFTER if sum(read_number(line.get(name)) or 0 for line in classes)],
            scattered=len(classes) > MAX_CLASSES and largest(summary.get("moves") or [], "rows") == 1,
            shown_changes=choose_changes(summary.get("certified")),
            pieces=render_rows(summary.get("worst") or [], rule=summary.get("rule")),
            people=[dict(line) | {"chart": draw_line(line)} for line in summary.get("people") or []],
            charts={name: Markup(svg) for name, svg in charts.items()},
            places={name: Markup("".join(mark_place(name))) for name in PLACES},
        )
    )  # fmt: skip


def draw_line(person: Mapping[str, Any]) -> Markup | None:
    """Return the picture of what a person says about rows of each class, if there is one."""
    svg = draw_person(person["matrix"], person["classes"]) if person.get("matrix") else None
    return None if svg is None else Markup(svg)


def place_audit(page: str, audit: Mapping[str, Any] | None) -> str | None:
    """Return a report with a section on an audit in place of the one it had, or without any."""
    template = open_templates().get_template("audit.html")
    if audit is None:
        return fill_places(page, {"audit": "", "audit_link": ""})
    name = "Confirmation" if audit.get("is_confirmation") else "Audit"
    link = f'<a href="#audit">{name}</a>'
    return fill_places(page, {"audit": template.render(audit=audit, limits=LIMITS), "audit_link": link})


def place_final(page: str, final: Mapping[str, Any] | None) -> str | None:
    """Return a report that says which table to use after `subsvms apply`, or without that.

    What the run said about its own table is then marked as such, and its advice is hidden.
    """
    pieces: Any = open_templates().get_template("final.html").module
    names = {
        name: "end" if name.endswith("_end") else name for name in PLACES if not name.startswith("audit")
    }
    return fill_places(
        page, {name: "" if final is None else getattr(pieces, piece)(final) for name, piece in names.items()}
    )


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
    environment = open_templates()
    assert environment.loader is not None
    text, *_ = environment.loader.get_source(environment, name)
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

"""What a check found, for people, programs and build servers: text, JSON, JUnit's XML, GitHub's annotations.

Values are plain, as `check_table` of `subsvms.app.runs.check` returns them.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from subsvms.exceptions import format_percent

Found = dict[str, Any]
SHOWN, ANNOTATED = 5, 10  # rows in the text; annotations of a step that GitHub shows
MOST_NOTES = 3  # in the text
# What XML 1.0 cannot hold, or what could change the order of a text
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
TROUBLE = {"failed": "failure", "unknown": "error"}  # what JUnit calls outcomes of tests


def render_text(found: Found) -> str:
    """Return what a person should know, in fewer than twenty lines."""
    lines = [f"{found['table']}: {found['outcome']}. {found['rows']:,} rows, label {found['label']!r}."]
    lines += found["words"] + [f"Not used: {', '.join(found['unused'])}."] * bool(found["unused"])
    lines += [f"{one['name'].capitalize()} {one['outcome']}: {one['words']}." for one in found["criteria"]]
    rows, notes = list_rows(found), found["notes"]
    if rows:
        kind = "New labels that look wrong" if found["baseline"] else "Labels that look wrong"
        more = f", the first {SHOWN} of {len(rows):,} (all in the JSON)" if len(rows) > SHOWN else ""
        lines += [f"{kind}{more}:", *(f"  {row}" for row in rows[:SHOWN])]
    more = f" ({len(notes) - MOST_NOTES} more in the JSON)" if len(notes) > MOST_NOTES else ""
    return "\n".join([*lines, *(f"Note{more}: {note}" for note in notes[:MOST_NOTES]), *found["next"]])


def render_junit(found: Found) -> str:
    """Return a suite with a test for each criterion."""
    criteria = found["criteria"]
    n = Counter(TROUBLE.get(one["outcome"]) for one in criteria)
    counts = {"tests": str(len(criteria)), "failures": str(n["failure"]), "errors": str(n["error"])}
    suites = Element("testsuites", {"name": "subsvms check", **counts})
    about = {"name": clean(found["table"]), **counts, "skipped": "0", "time": "0"}
    suite = SubElement(suites, "testsuite", about)
    for one in criteria:
        test = SubElement(suite, "testcase", classname="subsvms.check", name=one["name"], time="0")
        if one["outcome"] in TROUBLE:
            words, kind = clean(one["words"]), TROUBLE[one["outcome"]]
            trouble = SubElement(test, kind, message=words, type=one["outcome"])
            trouble.text = clean("\n".join([*found["words"], *list_rows(found)]))
    SubElement(suite, "system-out").text = clean(render_text(found))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(suites, encoding="unicode")}'


def render_github(found: Found) -> str:
    """Return commands with which GitHub marks the lines of suspicious rows, and says what failed."""
    place, described = {}, list_rows(found)[:ANNOTATED]
    if found["file"]:
        root = os.environ.get("GITHUB_WORKSPACE") or "."
        place["file"] = Path(os.path.relpath(found["file"], root)).as_posix()
    lines = [
        annotate("warning", words, **place, line=row["line"], title="Suspicious label")
        for row, words in zip(found["suspicious"], described, strict=False)
    ]
    for one in found["criteria"]:
        kind, title = "notice" if one["outcome"] == "passed" else "error", f"{one['name']} {one['outcome']}"
        lines.append(annotate(kind, " ".join([f"{one['words']}.", *found["words"]]), **place, title=title))
    return "\n".join(lines)


RENDER: dict[str, Callable[[Found], str]] = {
    "text": render_text, "json": partial(json.dumps, indent=1),  # in ASCII
    "junit": render_junit, "github": render_github,
}  # fmt: skip


def list_rows(found: Found) -> list[str]:
    """Return rows in words: those that are new to a baseline always, others if the table fails."""
    named = found["baseline"] or found["outcome"] == "failed"
    return list(map(describe_row, found["suspicious"])) if named else []


def describe_row(row: dict[str, Any]) -> str:
    """Return what is thought of a row, in words."""
    line = "" if row["line"] is None else f" (line {row['line']})"
    name = "" if row["id"] is None else f", {row['id']!r}"
    given = f"the label{' was changed to' if row['relabelled'] else ' is'} {row['given']!r}"
    votes = f"{format_percent(row['vote_share'])} of the votes are for {row['suggested']!r}"
    right = f"right with probability {row['label_quality']:.2f}"
    return f"row {row['row']}{line}{name}: {given}, {votes}; {right}"


def annotate(kind: str, text: str, **properties: Any) -> str:
    """Return one of GitHub's workflow commands; no text can end it, or begin another."""
    given = {name: escape(str(value)) for name, value in properties.items() if value is not None}
    about = (f"{name}={value.replace(':', '%3A').replace(',', '%2C')}" for name, value in given.items())
    return f"::{kind} {','.join(about)}::{escape(text)}"


def escape(text: str) -> str:
    """Return text as it stands in a workflow command."""
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def clean(text: str) -> str:
    """Return text without characters that XML cannot hold, or that control a terminal."""
    return UNPRINTABLE.sub("\ufffd", text)

"""What a check found, for people, programs and build servers: text, JSON, JUnit's XML, GitHub's annotations.

Values are plain, as `Check.flatten` returns them.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from subsvms.exceptions import format_percent

Found = dict[str, Any]
SHOWN, ANNOTATED = 5, 10  # rows of the text; annotations of a step that GitHub shows
MOST_NOTES = 3  # in the text
# What XML 1.0 cannot hold, and what could change the order of a text
UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def render_text(found: Found) -> str:
    """Return what a person should know, in fewer than twenty lines."""
    lines = [f"{found['table']}: {found['outcome']}. {found['rows']:,} rows, label {found['label']!r}."]
    lines += found["words"]
    lines += [f"{one['name'].capitalize()}: {one['outcome']}: {one['words']}." for one in found["criteria"]]
    rows, notes = found["suspicious"], found["notes"]
    if rows and is_listed(found):
        kind = "Suspicious new labels" if found["baseline"] else "Labels that the rule would change"
        more = f", the first {SHOWN} of {len(rows):,}" if len(rows) > SHOWN else ""
        lines += [f"{kind}{more}:", *(f"  {describe_row(row)}" for row in rows[:SHOWN])]
    more = f" ({len(notes) - MOST_NOTES} more in the JSON)" if len(notes) > MOST_NOTES else ""
    return "\n".join([*lines, *(f"Note{more}: {note}" for note in notes[:MOST_NOTES]), *found["next"]])


def render_json(found: Found) -> str:
    """Return all values, in ASCII."""
    return json.dumps(found, indent=1)


def render_junit(found: Found) -> str:
    """Return a test suite with a test for each criterion."""
    outcomes = [one["outcome"] for one in found["criteria"]]
    counts = {
        "tests": len(outcomes),
        "failures": outcomes.count("failed"),
        "errors": outcomes.count("unknown"),
    }
    numbers = {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", name="subsvms check", **numbers)
    suite = ElementTree.SubElement(
        suites, "testsuite", name=clean(found["table"]), **numbers, skipped="0", time="0"
    )
    rows = [describe_row(row) for row in found["suspicious"] if is_listed(found)]
    for one in found["criteria"]:
        test = ElementTree.SubElement(
            suite, "testcase", classname="subsvms.check", name=one["name"], time="0"
        )
        if one["outcome"] != "passed":
            kind = "failure" if one["outcome"] == "failed" else "error"
            trouble = ElementTree.SubElement(test, kind, message=clean(one["words"]), type=one["outcome"])
            trouble.text = clean("\n".join([*found["words"], *rows]))
    ElementTree.SubElement(suite, "system-out").text = clean(render_text(found))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suites, encoding="unicode")}'


def render_github(found: Found) -> str:
    """Return commands with which GitHub marks the lines of suspicious rows, and says what failed."""
    place = {"file": name_file(found["file"])} if found["file"] else {}
    rows = found["suspicious"] if is_listed(found) else []
    lines = [
        write_annotation("warning", describe_row(row), title="Suspicious label", **place, line=row["line"])
        for row in rows[:ANNOTATED]
    ]
    for one in found["criteria"]:
        kind = "notice" if one["outcome"] == "passed" else "error"
        title = f"{one['name']}: {one['outcome']}"
        lines.append(
            write_annotation(kind, " ".join([f"{one['words']}.", *found["words"]]), title=title, **place)
        )
    return "\n".join(lines)


RENDER: dict[str, Callable[[Found], str]] = {
    "text": render_text, "json": render_json, "junit": render_junit, "github": render_github,
}  # fmt: skip


def is_listed(found: Found) -> bool:
    """Return whether rows are named: those that are new to a baseline always, others if the table fails."""
    return bool(found["baseline"]) or found["outcome"] == "failed"


def describe_row(row: dict[str, Any]) -> str:
    """Return what is thought of a row, in words."""
    line = "" if row["line"] is None else f" (line {row['line']})"
    name = "" if row["id"] is None else f", {row['id']!r}"
    changed = ", which was changed" if row["relabelled"] else ""
    return (
        f"row {row['row']}{line}{name}: the label is {row['given']!r}{changed}; {format_percent(row['vote_share'])} "
        f"of the votes are for {row['suggested']!r}, label quality {row['label_quality']:.2f}"
    )


def write_annotation(kind: str, text: str, **properties: Any) -> str:
    """Return one of GitHub's workflow commands; nothing in it can end it, or begin another."""
    given = ((name, str(value)) for name, value in properties.items() if value is not None)
    about = ",".join(
        f"{name}={escape(value).replace(':', '%3A').replace(',', '%2C')}" for name, value in given
    )
    return f"::{kind} {about}::{escape(text)}"


def escape(text: str) -> str:
    """Return text as it stands in a workflow command."""
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def clean(text: str) -> str:
    """Return text without characters that XML cannot hold, or that control a terminal."""
    return UNPRINTABLE.sub("\ufffd", text)


def name_file(path: str) -> str:
    """Return a path as it is called in the working directory, if it is inside."""
    inside = os.path.relpath(path)
    return Path(path if inside.startswith("..") else inside).as_posix()

"""A correction as a notebook shows it: what was found, the worst rows, where to go on.

`collect` returns plain values, `render_html` prints them. Labels, names and cells may hold anything, so all
text is cut and escaped; there are no scripts, no links and nothing to load.
"""

import html
import re
from typing import Any

import numpy as np

from subsvms.correction._frames import name_rows
from subsvms.correction._notes import (
    AUDIT,
    ESTIMATE,
    ESTIMATED_BEFORE,
    format_confirm,
    format_done,
    format_verdict,
)
from subsvms.exceptions import format_others, format_rate, is_share_open

ROWS_SHOWN, COLUMNS_SHOWN, NOTES_SHOWN = 10, 8, 5
CELL_CHARACTERS = 60  # of a cell
SENTENCE_CHARACTERS = 600  # characters of a sentence
UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # as in the report
STYLE = "max-width: 80em; overflow-x: auto"
PLAIN = "tex2jax_ignore mathjax_ignore"  # notebooks take $ in HTML for a formula


def collect(correction: Any) -> dict[str, Any]:
    """Return what to show of a correction, as text."""
    listed = np.flatnonzero(~np.isnan(correction.label_quality) & ~correction.decided)
    order = np.lexsort((correction.label_quality[listed], ~correction.flagged[listed]))  # flagged ones first
    rows = listed[order[:ROWS_SHOWN]]
    names = np.array([*map(str, correction.classes.tolist()), ""], dtype=object)
    compared = correction.compared[rows]
    quality = correction.label_quality[rows]
    index = "row" if correction.style.index is None else "index"
    table = {
        index: [str(name) for name in name_rows(correction.style, rows.tolist())],
        "label": names[correction.given[rows]].tolist(), "suggested": names[compared].tolist(),
        "label quality": ["" if np.isnan(one) else f"{one:.3f}" for one in quality],
        "action": correction.action[rows].tolist(),
    }  # fmt: skip
    origin = correction.origin
    cells = {} if origin is None else origin.show_rows(rows)
    for name in list(cells)[:COLUMNS_SHOWN]:
        table[name if name not in table else f"{name} (column)"] = cells[name]
    flagged = correction.flagged[rows].any()
    return {
        "words": format_words(correction), "notes": [*correction._cautions, *correction._many],
        "remarks": [] if origin is None else list(origin.remarks),
        "title": "The worst labels" if flagged else "The most doubtful labels, none of them flagged",
        "table": table if len(rows) else {}, "steps": list_steps(correction),
    }  # fmt: skip


def format_words(correction: Any) -> list[str]:
    found, noise = correction._found, correction.noise
    words = [format_verdict(found)]
    if found.n_flagged or found.n_unseen is not None:
        words.append(format_done(found))
    rate = format_rate(noise.error_rate, *noise.error_rate_interval)
    words.append(f"Errors that depend on the class alone: {rate}.")
    words.append(format_others(noise.contradicted, correction.judge))
    if found.n_unseen is not None:
        words.append(ESTIMATED_BEFORE)
    for which, what in (
        (correction.held_back, "Labels kept although another is more probable"),
        (correction.decided, "Labels that people verified"),
        (correction.filled, "Rows without a label, whose labels were filled in"),
        (correction.missing & ~correction.filled & ~correction.decided, "Rows without a label"),
    ):
        if which.any():
            words.append(f"{what}: {int(which.sum()):,}.")
    return words


def list_steps(correction: Any) -> list[tuple[str, str]]:
    steps = [("to_frame()", "all rows, with reasons")]
    if correction.settings.action == "fix":
        steps.append(("labels", "the corrected labels"))
    if correction.settings.action == "weight":
        steps.append(("sample_weight", "the weight of each row"))
    if correction.origin is not None:
        steps.append(("report('report.html')", "writes a page to pass on"))
        steps.append(("review()", "opens a page to decide row by row"))
    n_flagged, n_held_back = int(correction.flagged.sum()), int(correction.held_back.sum())
    confirm = format_confirm(n_flagged, n_held_back, correction.settings.action)
    if confirm and correction.audit is None:
        steps.append(("subsvms.audit.confirm(correction)", confirm))
    if is_share_open(correction.noise.error_rate_interval, correction.noise.contradicted):
        steps += [("subsvms.audit.run_audit", AUDIT), ("subsvms.audit.estimate_error_rate", ESTIMATE)]
    return steps


def render_html(correction: Any) -> str:
    found = collect(correction)
    first, *words = found["words"]
    parts = [f"<p><strong>{_clean(first)}</strong> {_clean(' '.join(words))}</p>"]
    if found["notes"]:
        shown = "".join(f"<li>{_clean(note)}</li>" for note in found["notes"][:NOTES_SHOWN])
        more = len(found["notes"]) - NOTES_SHOWN
        parts.append(f"<p>Before using the result:</p><ul>{shown}</ul>")
        parts += [f"<p>{more} more in correction.notes.</p>"] * (more > 0)
    parts += [f"<p>{_clean(remark)}</p>" for remark in found["remarks"][:NOTES_SHOWN]]
    if found["table"]:
        parts.append(f"<p>{_clean(found['title'])}:</p>{_render_table(found['table'])}")
    steps = "; ".join(f"<code>{_clean(code)}</code> {_clean(what)}" for code, what in found["steps"])
    parts.append(f"<p>Go on with {steps}.</p>")
    return f'<div class="{PLAIN}" style="{STYLE}">{"".join(parts)}</div>'


def _render_table(columns: dict[str, list[str]]) -> str:
    head = "".join(f"<th>{_clean(name, CELL_CHARACTERS)}</th>" for name in columns)
    lines = [[_clean(cell, CELL_CHARACTERS) for cell in line] for line in zip(*columns.values(), strict=True)]
    body = "".join(f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _clean(text: Any, limit: int = SENTENCE_CHARACTERS) -> str:
    """Return text that is short enough, in one line, without characters that a page cannot hold, escaped."""
    text = " ".join(str(text).split())
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return html.escape(UNPRINTABLE.sub("�", text))

"""What tests of the report and of the review page share: parsed HTML, and the contrast of colours."""

import copy
import re
from html.parser import HTMLParser

PAPER = {"light": "rgb(250, 250, 248)", "dark": "rgb(20, 23, 27)"}
VOID = {"meta", "link"}


class Page(HTMLParser):
    """What a browser makes of a page: its tags in order, their attributes, its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    @property
    def shape(self):
        return [
            (tag, {name: None if name == "aria-label" else value for name, value in attributes.items()})
            for tag, attributes in self.tags
        ]

    def find(self, name):
        return [attributes[name] for _, attributes in self.tags if name in attributes]


def plain_text(html):
    return re.sub(r"\s+", " ", Page(html).text)


def contrast(one, other):
    """Return the contrast of two colours, as #rrggbb, as WCAG 2 defines it."""

    def luminance(colour):
        parts = [int(colour.strip()[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def make_row(**changes):
    """Return a suspicious row, as the report is given it."""
    row = {
        "row": 17, "given": "no", "suggested": "yes", "confidence": 0.98, "quality": 0.02, "vote_share": 0.97,
        "withstands": 4, "action": "fix", "reason": "fix: 97 % of 947 SVMs vote 'yes'",
        "values": [["age", "39"], ["job", "cook"]], "opposing": [make_witness(["39", "nurse"], 7)],
        "supporting": [make_witness(["41", "nurse"], row) for row in (5, 6)],
    }  # fmt: skip
    return row | changes


def make_witness(values, row=1):
    return {"row": row, "label": "yes", "share": 0.1, "values": values}


NASTY = [
    "<script>ran = 1</script>", "<img src=x onerror='ran = 1'>", '" onmouseover="ran = 1" x="',
    "</style></title></svg><b>", "<!-- --> ]]> &lt; &amp &#60;", "{{ 7 * 7 }} {% for %}",
    "\x00\x1b[31m\ud800\ufffe\r\n\u202e", "javascript:ran=1",
]  # fmt: skip


def make_ensemble(chosen=2):
    tried = [(216, 0.31), (54, 0.35), (864, 0.2999)]
    candidates = [
        {"subset_size": size, "breadth": "narrow", "gamma": 0.12345, "log_loss": loss, "chosen": i == chosen}
        for i, (size, loss) in enumerate(tried)
    ]
    size = tried[chosen][0]
    return {"words": "These fit.", "subset_size": size, "paper_size": 54, "candidates": candidates}


def make_summary(**changes):
    class_line = {"rows": 250, "rate": 0.01, "rate_low": 0.0, "rate_high": 0.02, "contradicted": 31}
    class_line |= {"estimated_wrong": 24, "flagged": 9, "changed": 8, "changed_to": 7, "left_out": 0}
    class_line |= {"filled": 2, "after": 251}
    group_line = {"rows": 100, "flagged": 3, "share": 0.03, "low": 0.01, "high": 0.09, "expected_wrong": 3.5}
    summary = {
        "title": "loans.csv", "label": "default", "version": "0.2.0", "finished": "2026-11-15T12:00:00+00:00",
        "rows": 32561, "labelled": 32561, "missing": 3, "features": 123, "columns_used": 14,
        "rule": "posterior", "action": "fix", "flagged": 812, "changed": 812, "held_back": 31,
        "error_rate": 0.031, "error_rate_interval": [0.02, 0.05], "explained": True,
        "contradicted_share": 0.083, "expected_precision": 0.93,
        "kept_by": [["a probability of at most 0.8", 30], ["the limit on changes", 1]],
        "listing": "Of the 843 labels listed, about 700 are expected to be wrong.",
        "certified": {"share": 0.9, "most": 3},
        "words": ["About 3.1 % of the labels look wrong.", "812 were changed."],
        "notes": ["The votes contradict a third of the labels."],
        "next": ["Look at the rows below.", "Use corrected.csv."],
        "classes": [{"name": name, **class_line} for name in ("no", "yes")], "sample": None,
        "columns": [
            {"use": "Categories", "how": "a feature for each", "columns": [["job", 5], ["sex", 1]]},
            {"use": None, "how": "never repeats", "columns": [["id", 0]]},
        ],
        "moves": [{"given": "no", "suggested": "yes", "rows": 100}],
        "groups": [
            {"column": "annotator", "lines": [{"value": v, **group_line} for v in ("anna", "bo")], "more": 2}
        ],
        "worst": [make_row(row=number) for number in range(12)], "n_worst": 812,
        "parameters": [["rule", "posterior"], ["seed", "0"]], "digest": "a1b2", "ensemble": make_ensemble(),
        "versions": [["numpy", "2.1"]], "seconds": [["reading", 0.4], ["voting", 3.1]],
        "files": [["corrected.csv", "the table with corrected labels"]],
        "noticed": [
            {"kind": "far", "title": "Far rows", "words": "Far.", "rows": [18, 404], "more": 7},
            {"kind": "order", "title": "Order", "words": "Sorted.", "columns": ["age"], "more": 0},
        ],
    }  # fmt: skip
    return summary | changes


def replace_text(value, write, skip=("rule", "action", "kind")):
    """Return a summary with every text in it replaced, and the new texts."""
    texts = []

    def visit(part, key=None):
        if isinstance(part, dict):
            return {name: visit(inner, name) for name, inner in part.items()}
        if isinstance(part, list):
            return [visit(inner) for inner in part]
        if isinstance(part, str) and key not in skip:
            texts.append(write(len(texts)))
            return texts[-1]
        return part

    return visit(copy.deepcopy(value)), texts

"""What tests of the report and of the review page share: parsed HTML, and the contrast of colours."""

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

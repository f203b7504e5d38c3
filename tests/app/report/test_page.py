import base64
import hashlib
import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from web_pages import NASTY, Page, contrast, make_ensemble, make_summary, plain_text, replace_text

from subsvms.app.looks import read_tokens
from subsvms.app.report import render_report
from subsvms.app.report.charts import DEEPEST
from subsvms.app.report.page import read_part, say_verdict
from subsvms.app.report.text import cut
from subsvms.displays._base import COLOURS


def test_the_page_has_the_order_that_a_reader_needs(charts):
    text = plain_text(render_report(make_summary(), charts))
    expected = [
        "Wrong labels in the column default", "812 of 32,561 labels look wrong and were corrected.",
        "About 3.1 % of the labels look wrong. 812 were changed.", "812 of 32,561", "3.1 % 2.0 to 5.0 %",
        "Read this before you use the result", "What to do next", "Files next to this page",
        "Labels by class, before and after", "Which labels are mixed up",
        "How often a class is given another label", "A map of the rows", "How the SVMs voted",
        "Which SVMs voted", "These fit.", "216narrow0.1230.310", "864 (chosen)narrow0.1230.300",
        "How many changes the verdicts withstand", "Where the wrong labels come from", "By annotator",
        "Which columns were used, and how", "14 columns became 123 features", "job (5)", "Left out",
        "Rows to look at first", "The 12 most suspicious of 812 rows.",
        "about 700 are expected to be wrong. Rows are counted from 1", "Suggestion right",
        "fix: 97 % of 947 SVMs", "Very likely: the", "Also noticed", "Far rows", "Far.",
        "Rows 18, 404 and 7 more", "Column age", "For the record", "a1b2", "2026-11-15 12:00 UTC",
    ]  # fmt: skip
    place = 0
    for words in expected:
        assert words in text[place:], words
        place = text.index(words, place)


def test_the_price_of_larger_subsets_is_named_where_it_is_paid(charts):
    for chosen, paid in ((2, True), (1, False)):
        text = tell(charts, ensemble=make_ensemble(chosen))
        assert "holds for the SVMs that were chosen" in text
        assert ("more than the paper's 54" in text) == paid
    text = tell(charts, ensemble=make_ensemble() | {"candidates": []})
    assert "These fit." in text and "chosen" not in text and "more than the paper's" not in text


def make_short_summary():
    return make_summary(worst=make_summary()["worst"][:1])


def check_that_text_stays_text(text):
    """Replace every text of a summary; the page must have the same tags, and show the text."""
    short = make_short_summary()
    harmless, _ = replace_text(short, lambda number: f"x¤{number}")
    hostile, texts = replace_text(short, lambda number: f"{text}¤{number}")
    html = render_report(hostile, {})
    html.encode()
    page = Page(html)
    assert page.shape == Page(render_report(harmless, {})).shape
    for written in texts:
        assert cut(written, 1000) in page.text


@pytest.mark.parametrize("nasty", NASTY)
def test_nothing_in_a_summary_becomes_a_tag_or_an_attribute(nasty):
    check_that_text_stays_text(nasty)


@given(text=st.text(st.characters(), max_size=40))
@example(text="&")
def test_any_text_is_shown_as_it_is(text):
    check_that_text_stays_text(text)


@given(value=st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers())
@example(value=10**400)
def test_values_of_any_kind_can_be_printed(value):
    def put(part):
        if isinstance(part, dict):
            return {name: put(inner) for name, inner in part.items()}
        return [put(inner) for inner in part] if isinstance(part, list) else value

    Page(render_report(put(make_short_summary()), {}))


def test_what_is_missing_is_left_out():
    page = Page(render_report({}, {}))
    assert "None" not in page.text and "Undefined" not in page.text
    for name in make_summary():
        rest = {key: value for key, value in make_short_summary().items() if key != name}
        assert "Undefined" not in Page(render_report(rest, {})).text


def test_the_page_requests_nothing_from_outside(charts):
    html = render_report(make_summary(), charts)
    outside = ("http:", "https:", "@import", "src=", "javascript:", "<iframe", "xlink", "style=", "fetch")
    assert not any(words in html for words in outside)
    assert set(re.findall(r"url\(.", html)) <= {"url(#"}
    page = Page(html)
    assert all(link.startswith("#") or link.startswith("data:image/svg+xml,") for link in page.find("href"))
    assert ("meta", {"name": "referrer", "content": "no-referrer"}) in page.tags
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert html.startswith("<!DOCTYPE html>") and html == render_report(make_summary(), charts)


def test_only_the_script_and_the_style_of_the_page_are_allowed(charts):
    html = render_report(make_summary(), charts)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    for tag in ("script", "style"):
        (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed.pop(f"{tag}-src") == f"'sha256-{digest}'"
    nothing = dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    assert allowed == {"img-src": "data:"} | nothing


def test_ids_are_unique_and_links_lead_somewhere(charts):
    for shown in ({}, charts):
        page = Page(render_report(make_summary(), shown))
        ids = page.find("id")
        assert len(set(ids)) == len(ids)
        targets = [link[1:] for link in page.find("href") if link.startswith("#")]
        assert set(targets + page.find("aria-labelledby")) <= set(ids)
        assert set(re.findall(r"url\(#([^)]+)\)", render_report(make_summary(), shown))) <= set(ids)


def test_the_page_can_be_read_aloud(charts):
    page = Page(render_report(make_summary(), charts))
    names = [tag for tag, _ in page.tags]
    assert [names.count(tag) for tag in ("main", "header", "footer", "nav", "h1")] == [1] * 5
    levels = [int(tag[1]) for tag in names if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    for tag, attributes in page.tags:
        if tag == "th":
            assert attributes["scope"] in {"row", "col", "colgroup"}
        if tag in {"section", "nav"}:
            assert "aria-labelledby" in attributes or "aria-label" in attributes
        if tag == "svg" and attributes.get("aria-hidden") != "true":
            assert attributes["role"] == "img" and len(attributes["aria-label"]) > 50
        if attributes.get("tabindex"):
            assert attributes["role"] == "region" and attributes["aria-label"]
    assert names.count("caption") == names.count("table") > 5
    sorted_by = [attributes["aria-sort"] for _, attributes in page.tags if "aria-sort" in attributes]
    assert sorted_by == ["ascending"]


# Few and many


def tell(charts=(), **changes):
    return plain_text(render_report(make_summary(**changes), dict(charts)))


NO, YES = make_summary()["classes"]
UNKNOWN = YES | {"rate": None, "rate_high": 0.5, "estimated_wrong": None}
QUIET = {
    "flagged": 0, "changed": 0, "held_back": 0, "missing": 0, "error_rate": 0.0,
    "error_rate_interval": [0.0, 0.01], "expected_precision": None, "notes": [], "next": [], "moves": [],
    "groups": [], "worst": [], "n_worst": 0,
    "classes": [one | dict.fromkeys(("flagged", "changed", "changed_to", "filled"), 0) for one in (NO, YES)],
}  # fmt: skip
STANDING = "Of the 16 flagged labels, a second judge agrees about 15."
READS = {  # what differs in a summary, words that the page says, and others that it does not
    "nothing to fix": (
        QUIET,
        ["Nothing to fix: none of 32,561 labels looks wrong enough to change.", "No label was flagged.",
         "No row is suspicious.", "Labels by class", "No label was changed, so each class keeps its rows."],
        ["before and after", "Read this before", "Where the wrong labels come from", "Held back",
         "not known"],
    ),
    "one row": (
        {"rows": 1, "labelled": 1, "flagged": 1, "worst": make_summary()["worst"][:1], "n_worst": 1},
        ["1 of 1 labels looks wrong and was corrected.", "The one suspicious row."], [],
    ),
    "one rate": (
        {"classes": [NO | {"name": name} for name in "abc"]},
        ["the estimate is the same for each class: 1.0 % of its rows (0 to 2.0 %)."], ["True class"],
    ),
    "several rates": ({"classes": [NO, YES | {"rate": 0.012}, NO]}, ["True class"], ["is the same for each"]),
    "not explained": (
        {"explained": False, "flagged": 0, "error_rate": 0.0, "error_rate_interval": [0.0, 1.0]},
        ["The columns do not explain the labels, so none was changed.",
         "there is no estimate of which are mixed up"], ["Given another label"],
    ),
    "no rate of a class": (
        {"classes": [NO, UNKNOWN], "error_rate": None, "groups": []},
        ["not known 2.0 to 5.0 %", "0 to 50 %", "0 to 2.0 %", "Where the interval is too wide"], [],
    ),
    "no rates": (
        {"classes": [UNKNOWN, UNKNOWN]}, ["How often each class is given another label is not known"], [],
    ),
    "held back": (
        {}, ["the given one was kept by a probability of at most 0.8 (30), the limit on changes (1)"], [],
    ),
    "one reason": (
        {"kept_by": [["max_error_rate", 31]]}, ["the given one was kept by max_error_rate"], ["(31)"],
    ),
    "no certificates": (
        {"certified": {"share": 0.0, "most": 0}},
        ["No verdict is certain to stand if one more label is changed.",
         "see 864 rows each, more than the paper's 54"], ["keeps its winner"],
    ),
    "few certificates": (
        {"certified": {"share": 0.004, "most": 2}},
        ["Only 0.4 % of the verdicts are certain to stand", "surest withstands 2"], [],
    ),
    "standing": ({"standing": STANDING}, [STANDING], []),
    "the plain vote": (
        {"rule": "majority"}, ["Votes for it", "has a share of the votes of 98"], ["Suggestion right"],
    ),
    "a sample, no certificates": (
        {"sample": 5000, "certified": {"most": 0}}, ["This is about a sample of 5,000 rows."], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READS)
def test_summaries_of_all_kinds_read_well(name):
    changes, said, unsaid = READS[name]
    text = tell(**changes)
    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []


def make_many(n_classes, n_moves, rows=9):
    classes = [NO | {"name": f"class {i}", "estimated_wrong": i, "rate": i / 999} for i in range(n_classes)]
    moves = [{"given": f"class {i}", "suggested": "class 0", "rows": rows} for i in range(n_moves)]
    return {"classes": classes, "moves": moves}


def test_two_hundred_classes_read_well():
    text = tell(**make_many(200, 100))
    assert "200 classes, those with the most wrong labels first" in text
    assert "92 further pairs are not shown" in text and "further classes" not in text
    assert text.index("class 199") < text.index("class 100")  # the noisiest first
    assert "1 further class is not shown" in tell(**make_many(201, 0))


def test_pairs_of_labels_that_never_repeat_are_not_listed():
    text = tell(**make_many(60, 50, rows=1))
    assert "no two of them have the same given and suggested label" in text
    assert "Suggested label" not in text.partition("Rows to look at first")[0]
    assert "no two of them" not in tell(**make_many(60, 50, rows=2))


def test_before_and_after_add_up():
    html = render_report(make_summary(), {})
    table = html[html.index("<table data-sortable>") : html.index("</table>")]
    heads = [re.sub(r"\s+", " ", head) for head in re.findall(r"<th scope=\"col\"[^>]*>([^<]+)<", table)]
    assert heads == [
        "Class", "Labels given", "Wrong, estimated", "Contradicted", "Flagged", "Changed from it",
        "Changed to it", "Filled in", "After",
    ]  # fmt: skip
    cells = re.findall(r'data-v="([^"]*)">([^<]+)<', table)[: len(heads) - 1]
    assert [cell for _, cell in cells] == ["250", "24", "31", "9", "−8", "+7", "+2", "251"]
    assert [key for key, _ in cells] == ["250", "24", "31", "9", "8", "7", "2", "251"]


def test_a_sample_is_called_a_sample(charts):
    text = tell(charts, sample=5000)
    for words in ("The chart shows a", "The map shows rows of a", "What is said about values holds for a"):
        assert f"{words} sample of 5,000" in text
    assert "Rows and columns are those of a sample of 5,000" in text
    assert text.count("sample of 5,000") == 5
    assert not any("sample" in tell(charts, sample=whole) for whole in (None, 32561))


def test_many_columns_with_the_same_use_are_counted():
    line = {"use": "Numbers", "how": "scaled", "columns": [[f"c{i}", 1] for i in range(5000)]}
    text = tell(columns=[line], remarks=["Not used: 3 columns."])
    assert "c59" in text and "c60" not in text and "and 4,940 more" in text
    assert "Not used: 3 columns." in text  # as no line of the table says it


@pytest.mark.parametrize("most, words", [
    (1, "withstands 1 keeps its winner whichever further label, or whole row,"),
    (3, "withstands 3 keeps its winner whichever 3 further labels, or whole rows,"),
    (90, "withstands 4 keeps its winner whichever 4 further labels, or whole rows,"),
])  # fmt: skip
def test_certificates_are_explained_with_a_number_of_their_chart(charts, most, words):
    assert words in tell(charts, certified={"share": 0.9, "most": most})


def test_the_verdict_is_said_as_far_as_it_is_known():
    known = {"flagged": 2, "labelled": 5, "action": "fix"}
    assert say_verdict(known) == "2 of 5 labels look wrong and were corrected."
    assert (
        say_verdict(known | {"audited": 1, "changed": 3})
        == "3 of 5 labels were changed after people had answered."
    )
    assert say_verdict(known | {"flagged": None}) == say_verdict(known | {"action": "burn"}) == ""


def test_the_page_of_a_large_table_is_less_than_a_megabyte(charts):
    large = make_summary(**make_many(5000, 5000))
    witness = {"row": 123456, "label": "a class with a long name", "values": ["long value " * 5] * 60}
    row = large["worst"][0] | {"values": [[f"a long column {i}", "long value " * 5] for i in range(60)]}
    row |= {"supporting": [witness] * 3, "opposing": [witness] * 3}
    group = large["groups"][0]
    lines = group["lines"][:1] * 50
    columns = [{"use": "Text", "how": "w" * 300, "columns": [["c" * 60, 30]] * 9999}] * 9
    html = render_report(
        large | {"worst": [row] * 50, "groups": [group | {"lines": lines}] * 5, "columns": columns}, charts
    )
    assert 400_000 < len(html.encode()) < 1_000_000


def read_palettes():
    blocks = re.findall(r":root \{(.+?)\}", read_part("report.css")[0], re.S)
    return [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in blocks if "--paper" in block]


def test_the_letter_of_a_class_can_be_read_on_its_colour():
    css = read_tokens()
    colours = re.findall(r'\[data-class="(\d)"\] \{ --class: (#\w{6});(?: --on-class: (#\w{6});)? \}', css)
    assert [number for number, *_ in colours] == list("01234567")
    assert [colour.upper() for _, colour, _ in colours[:4]] == list(COLOURS)  # as in the displays
    for _, colour, letter in colours:
        assert contrast(colour, letter or "#0b1116") >= 4.5


def test_sizes_and_weights_are_those_of_the_scale():
    for name in (
        "desk/static/page.css",
        "desk/static/review.css",
        "desk/static/audit.css",
        "report/templates/report.css",
    ):
        css = (files("subsvms.app") / name).read_text(encoding="utf-8")
        sizes = set(re.findall(r"font-size: ([^;]+);", css)) | set(re.findall(r"font-weight: ([^;]+);", css))
        own = {
            size
            for size in sizes
            if not re.fullmatch(r"var\(--(size-\d|middle|heavy)\)|inherit|0\.88em", size)
        }
        assert own <= {"400", "500", "700", "10pt", "9pt", "7.5pt", "0.8em"}, (
            name,
            own,
        )  # on paper in points


@pytest.mark.parametrize("palette", read_palettes(), ids=["light", "dark", "print"])
def test_contrast_is_enough_on_light_and_dark_pages(palette):
    for paper in ("paper", "panel", "faint"):
        for ink in ("ink", "soft", "link"):
            assert contrast(palette[ink], palette[paper]) >= 4.5, (ink, paper)
    assert contrast(palette["ink"], palette["warn-panel"]) >= 4.5
    for mark in (palette["warn"], palette["accent"], *COLOURS[:2]):
        assert contrast(mark, palette["panel"]) >= 3
    assert contrast(palette["warn"], palette["panel"]) >= 4.5
    paper, paint = (np.array(list(bytes.fromhex(palette[name][1:]))) for name in ("panel", "ink"))
    cell = bytes((DEEPEST * paint + (1 - DEEPEST) * paper).round().astype(int).tolist())  # the fullest one
    assert contrast(palette["ink"], f"#{cell.hex()}") >= 4.5


# The rows to look at first

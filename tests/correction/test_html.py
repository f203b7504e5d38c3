import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
from corrections import attacked, quick
from web_pages import Page

from subsvms.correction._frames import FrameStyle
from subsvms.correction._html import CELL_CHARACTERS, COLUMNS_SHOWN, ROWS_SHOWN, collect
from subsvms.exceptions import format_percent

CONFIRM = "subsvms.audit.confirm(correction)"
NASTY = (
    "<script>alert(1)</script>", "<img src=x onerror='alert(1)'>", '"><b onmouseover="alert(1)">', "x" * 5000,
    "$x^2$", "&lt;", "a\nb\r\tc", "\x00\x1b[31m\ud800", "\u202eabc", "</table>",
)  # fmt: skip
TAGS = {("div", "class", "style"), *zip("p strong ul li table thead tbody tr th td code".split())}


def test_it_says_what_was_found_shows_the_worst_rows_and_where_to_go_on(cancer, corrected):
    X, y = cancer
    found = collect(corrected)
    n = int(corrected.flagged.sum())
    assert found["words"][0] == f"{n} of 569 labels look wrong and were corrected."
    assert found["words"][1].startswith(f"{n} were changed; about ")
    assert re.fullmatch(r"Errors that depend on the class alone: .* %\)\.", found["words"][2])
    share = format_percent(corrected.contradicted.mean())
    assert found["words"][3].startswith(
        f"The votes contradict {share} of the labels: at least up to that share, "
    )
    rows = [int(row) for row in found["table"]["row"]]
    assert len(rows) == ROWS_SHOWN and corrected.flagged[rows].all()
    worst = np.sort(corrected.label_quality[corrected.flagged])[:ROWS_SHOWN]
    np.testing.assert_array_equal(corrected.label_quality[rows], worst)
    assert [code for code, _ in found["steps"]] == ["to_frame()", "labels", CONFIRM]
    page = corrected._repr_html_()
    assert found["words"][0] in page and "<code>to_frame()</code> all rows, with reasons" in page
    assert collect(quick(X, attacked(y), action="weight"))["steps"][-2][0] == "sample_weight"
    far = replace(corrected, noise=replace(corrected.noise, contradicted=0.5))
    assert [code for code, _ in collect(far)["steps"]][-1] == "subsvms.audit.estimate_error_rate"


def test_rows_have_the_names_of_the_index_even_if_they_repeat(corrected):
    index = pd.Index(["twice"] * 2 + [f"patient {i}" for i in range(567)])
    table = collect(replace(corrected, style=FrameStyle("pandas", index)))["table"]
    assert "row" not in table and set(table["index"]) <= set(index)


def test_clean_missing_and_verified_labels_are_said(cancer):
    X, y = cancer
    clean = collect(quick(X, y))
    assert clean["words"][0] == "Nothing to fix: none of 569 labels looks wrong enough to change."
    assert clean["title"] == "The most doubtful labels, none of them flagged"
    given = y.astype(float)
    given[:7] = np.nan
    verified = np.full(569, None)
    verified[10:13] = y[10:13]
    words = collect(quick(X, given, verified=verified))["words"]
    assert "Labels that people verified: 3." in words
    assert "Rows without a label, whose labels were filled in: 7." in words


class Origin:
    """A table with columns and notes that attack the page."""

    notes = tuple(NASTY)
    remarks = tuple(NASTY)

    def show_rows(self, rows):
        return {name: [NASTY[(i + j) % len(NASTY)] for j in range(len(rows))] for i, name in enumerate(NASTY)}


def test_no_text_becomes_markup(corrected):
    names = np.array(sorted(NASTY, key=len)[-2:], dtype=object)
    html = replace(corrected, classes=names, origin=Origin())._repr_html_()
    html.encode()
    page = Page(html)
    assert {(tag, *attributes) for tag, attributes in page.tags} <= TAGS
    assert sum(tag in ("td", "th") for tag, _ in page.tags) == (5 + COLUMNS_SHOWN) * (ROWS_SHOWN + 1)
    cells = re.findall(r"<t[dh]>(.*?)</t[dh]>", html)
    assert max(len(unescape(cell)) for cell in cells) <= CELL_CHARACTERS
    assert "correction.notes" in html

"""The report in a real browser."""

from dataclasses import replace

import numpy as np
import pytest
from web_pages import NASTY, PAPER, make_summary, replace_text

from subsvms.app.report import draw_charts, place_audit, render_report

pytestmark = pytest.mark.slow


def make_hostile_page(correction, features):
    rows = make_summary()["worst"]
    for row, nasty in zip(rows, NASTY, strict=False):
        row["values"] = [[nasty, nasty], ["long", "x" * 1000]]
        row["values"] += [["text", "several words " * 100], ["no", "W" * 60]]
        row["given"] = row["suggested"] = nasty
        for witness in (*row["supporting"], *row["opposing"]):
            witness["values"] = [nasty, "y" * 1000, "other words " * 100, "V" * 60]
    names = np.array(["</text><script>ran = 1</script>", "$x^2$ & <b>'\""], dtype=object)
    hostile, _ = replace_text(make_summary(), lambda number: NASTY[number % len(NASTY)] + "W" * 200)
    classes = hostile["classes"] * 20
    return render_report(
        hostile | {"worst": rows, "classes": classes},
        draw_charts(replace(correction, classes=names), features=features),
    )


@pytest.mark.parametrize("width, scheme", [(360, "dark"), (1200, "light")])
def test_a_page_is_shown_and_nothing_else_happens(browser, correction, features, tmp_path, scheme, width):
    path = tmp_path / "report.html"
    path.write_text(make_hostile_page(correction, features), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert {url for url in asked if not url.startswith("data:")} == {path.as_uri()}
    assert page.evaluate("typeof ran") == "undefined"
    for opened in (False, True):
        if opened:
            page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        root = "document.documentElement"
        assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]
    assert said == []
    page.close()


def test_on_paper_everything_is_unfolded_and_light_and_foreign_scripts_are_refused(browser, tmp_path):
    path = tmp_path / "report.html"
    foreign = "<main><script>ran = 1</script><style>main { display: none }</style>"
    path.write_text(render_report(make_summary(), {}).replace("<main>", foreign), encoding="utf-8")
    page = browser.new_page(color_scheme="dark")
    page.goto(path.as_uri())
    assert page.evaluate("typeof ran") == "undefined"
    assert page.locator("main").is_visible() and page.locator("th button").count() > 5
    last = page.locator(".compare").last
    assert not last.is_visible()
    page.emulate_media(media="print")
    assert last.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def make_sortable_page(tmp_path):
    """Write a page with four rows to look at, and return its address."""
    row = make_summary()["worst"][0]
    given = [("b", 0.9, 0.05, 30), ("a", 0.99, 0.0004, 4), (None, 0.5, 0.0, 200), ("c", 0.7, 0.3, 5)]
    names = ("given", "confidence", "quality", "row")
    worst = [row | dict(zip(names, values, strict=True)) for values in given]
    path = tmp_path / "report.html"
    path.write_text(render_report(make_summary(worst=worst, n_worst=4), {}), encoding="utf-8")
    return path.as_uri()


def list_rows(page):
    return page.locator(".worst > tbody > tr:first-child > th").all_inner_texts()


def test_readers_sort_the_rows_and_without_scripts_they_are_worst_first(browser, tmp_path):
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(make_sortable_page(tmp_path))
    assert list_rows(page) == ["30", "4", "200", "5"]
    heads = page.locator(".worst > thead th")

    def get_sorting():
        return heads.evaluate_all("heads => heads.map(head => head.getAttribute('aria-sort'))")

    def sort(name):
        page.locator(".worst").get_by_role("button", name=name, exact=True).click()
        return list_rows(page)

    assert get_sorting() == ["ascending", *[None] * 6]
    assert sort("Suggestion right") == ["4", "30", "5", "200"]  # descending first: the surest
    assert get_sorting() == [*[None] * 4, "descending", None, None]
    assert sort("Suggestion right") == ["200", "5", "30", "4"]
    assert sort("Given label right") == ["4", "30", "5", "200"]  # without a label: last in either order
    assert sort("Given label right") == ["5", "30", "4", "200"]
    assert sort("Row") == ["4", "5", "30", "200"]  # as numbers, not as text
    page.keyboard.press("Enter")  # on the button that has the focus
    assert list_rows(page) == ["200", "30", "5", "4"]
    assert page.locator(".worst + [role=status]").inner_text() == "Sorted by Row, descending."
    why = page.locator(".worst > tbody:nth-of-type(4) .why details")  # a row takes its explanation along
    assert "Row 4 " in why.locator("caption").text_content()
    assert sort("Rank") == ["30", "4", "200", "5"]
    assert said == []
    address = page.url
    page.close()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert list_rows(page) == ["30", "4", "200", "5"] and page.locator("button").count() == 0
    context.close()


@pytest.mark.parametrize("width, scheme", [(390, "dark"), (1200, "light"), (1200, "dark")])
def test_no_rule_of_axe_is_broken_and_every_section_has_a_link(
    browser, correction, features, tmp_path, scheme, width
):
    from axe_playwright_python.sync_playwright import Axe

    path = tmp_path / "report.html"
    columns = [
        {
            "use": "Numbers",
            "how": "",
            "columns": [[f"a_long_name_of_a_column_{i:02d}" * 2, 1] for i in range(30)],
        }
    ]
    audit = {"claims": ["Confirmed."], "finished": True, "is_confirmation": False}
    page = render_report(make_summary(columns=columns), draw_charts(correction, features=features))
    path.write_text(place_audit(page, audit), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.goto(path.as_uri())
    assert page.locator("nav a").evaluate_all("links => links.map(one => one.hash.slice(1))") == page.locator(
        "main > section"
    ).evaluate_all("parts => parts.map(one => one.id)")
    cut = (
        "[...document.querySelectorAll('.names li')].filter(one => one.scrollWidth > one.clientWidth).length"
    )
    assert page.locator(".names li").count() == 30 and page.evaluate(cut) == 0
    faults = Axe().run(page).response["violations"]
    assert [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in faults] == []
    colour = "getComputedStyle(document.querySelector('svg .dots')).stroke"
    assert page.evaluate(colour) == "rgb(0, 114, 178)"
    page.close()

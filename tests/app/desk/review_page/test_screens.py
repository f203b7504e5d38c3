"""Verdicts, notes and filters of the review page, small screens, and names that are too long for them."""

import pytest
from browsers import Reviewer, serving_here, stored, total, until
from loans import make_rows, write

from subsvms.app.desk.review import ReviewDesk
from subsvms.app.runs.answers import Decisions
from subsvms.app.runs.job import do_job
from subsvms.app.runs.options import Options

pytestmark = pytest.mark.slow
PHONE = dict(width=390, height=844)


def is_inside(page, part):
    """Return whether a part is on the screen, and nothing lies over its middle."""
    return page.evaluate(
        "part => { const box = part.getBoundingClientRect();"
        "const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);"
        "return box.width > 0 && box.x >= 0 && box.right <= innerWidth && box.y >= 0"
        " && box.bottom <= innerHeight && part.contains(top) }",
        page.query_selector(part),
    )


def test_the_labels_that_carry_a_suggestion_are_named(review, folder):
    page, desk = review().page, ReviewDesk(folder)
    try:
        issue = next(one for row in desk.rows.tolist() if (one := desk.describe(row))["carriers"])
    finally:
        desk.decisions.close()
    page.goto(f"{page.url.partition('#')[0]}#row={issue['row']}&status=all")
    first = issue["carriers"][0]
    page.wait_for_selector(f".carriers:has-text('row {first['row']:,} (“{first['label']}”')")
    assert f"At least {issue['flips']} labels would have to be wrong" in page.inner_text(".carriers")


def test_rows_are_left_out_and_notes_are_stored_shown_and_filtered(review, folder):
    ann, bob = review(), review(name="Bob")
    first, second, third = ann.rows[:3]
    ann.press("n")
    ann.page.keyboard.type("a <b>copy</b> of row 3; x means no verdict")
    ann.page.keyboard.press("Enter")
    ann.press("x")
    ann.see("#said", f"Row {first}: you left the row out.")
    assert stored(folder)[first] == ("drop", None, "Ann") and ann.row == second
    assert not ann.page.is_visible("#note-field")
    ann.press("a", "s")
    ann.see("#counts", "2 of ")
    ann.see("#counts", "decided, 1 of them left out, 1 skipped")
    book = Decisions(folder + "/decisions.sqlite")
    assert (
        book.latest(first).note == "a <b>copy</b> of row 3; x means no verdict"
        and not book.latest(second).note
    )
    book.close()
    bob.page.goto(f"{bob.address}#row={second}&status=all")
    bob.see(".decision", "Ann accepted the suggestion")
    bob.press("g")
    ann.page.click("#more-filters summary")
    for name, value, rows in (
        ("verdict", "drop", [first]), ("verdict", "skip", [third]), ("who", "Bob", [second]),
        ("note", "yes", [first]),
    ):  # fmt: skip
        if ann.page.is_enabled("#clear"):
            ann.page.click("#clear")
        ann.narrow("status", "all")
        ann.page.wait_for_selector(f"#{name} option[value='{value}']", state="attached")
        ann.narrow(name, value)
        assert ann.rows == rows, name
    ann.see(f"[data-row='{first}'] .mark", "✕ left out by Ann, with a note")
    ann.see(".decision .note", "a <b>copy</b> of row 3")
    ann.see("#agreement", "Ann and Bob agree on 0 of 1 row that both decided.")


def test_a_note_that_is_not_stored_yet_waits_for_its_row(review, folder):
    ann = review()
    ann.press("n")
    ann.page.keyboard.type("to be continued")
    ann.page.keyboard.press("Escape")
    ann.press("j")
    assert not ann.page.is_visible("#note-field")
    ann.press("k")
    assert ann.page.input_value("#note-text") == "to be continued" and stored(folder) == {}


def test_after_all_rows_were_skipped_the_page_does_not_say_decided(review):
    ann = review()
    n = total(ann)
    ann.page.click("#all summary")
    ann.page.click(f"text=Skip all {n}")
    ann.page.click("#all-yes")
    ann.see("#nothing", f"No row is open: 0 decided, {n} skipped.")
    ann.see("#counts", f"0 of {n} decided, {n} skipped")
    assert "All" not in ann.page.inner_text("#nothing") and "apply" not in ann.page.inner_text("#nothing")


def test_on_a_phone_the_next_row_begins_at_its_top_and_the_back_button_shows_the_list(review, folder):
    ann = review(**PHONE)
    first, second = ann.rows[:2]
    ann.page.click(f"[data-row='{first}']")
    ann.see("#issue", f"Row {first}:")
    ann.page.evaluate("window.scrollTo(0, 400)")
    ann.page.click(".class.first")
    ann.see("#issue", f"Row {second}:")
    until(ann.page, "window.scrollY === 0")
    assert (
        is_inside(ann.page, "#detail-title")
        and ann.page.evaluate("document.activeElement.id") == "detail-title"
    )
    ann.page.go_back()
    ann.page.wait_for_selector("#lines", state="visible")
    assert not ann.page.is_visible("#issue")
    ann.page.go_forward()
    ann.page.wait_for_selector("#issue", state="visible")
    assert ann.row == second
    ann.go_back()
    assert set(stored(folder)) == {first}


def test_on_a_phone_everything_that_can_be_pressed_is_large_enough_for_a_finger(review):
    ann = review(**PHONE)
    small = (
        "[...document.querySelectorAll('button, select, summary, input:not([type=hidden]), textarea')]"
        ".filter(part => part.checkVisibility() && !part.closest('.witness'))"
        ".map(part => [part.id || part.textContent, part.getBoundingClientRect()])"
        ".filter(([, box]) => box.width && (box.height < 44 || box.width < 44)).map(([name]) => name)"
    )
    ann.page.click("#filters > summary")
    ann.page.click("#more-filters > summary")
    assert ann.page.evaluate(small) == []
    ann.page.click("#lines button")
    ann.page.wait_for_selector("#detail-title")
    assert ann.page.evaluate(small) == []


def test_on_a_small_screen_the_row_has_room(review):
    ann = review(width=800, height=600)
    assert ann.page.locator("#detail").bounding_box()["height"] >= 300
    assert is_inside(ann.page, "#detail-title") and is_inside(ann.page, ".class.first")


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """The folder of a run whose classes and columns have long names."""
    rows, _ = make_rows(300)
    kinds = {
        "yes": "the customer " + "very " * 12 + "late with payments",
        "no": "nothing " * 12 + "to report",
    }
    renamed = [
        {("a_name_without_a_break_" * 4 if name == "size" else name): value for name, value in row.items()}
        for row in rows
    ]
    for row in renamed:
        row["default"] = kinds[row["default"]]
    table = write(tmp_path_factory.mktemp("long") / "loans.csv", renamed)
    return do_job(str(table), Options(label="default", n_estimators=100), n_jobs=1).folder


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_long_names_never_hide_the_suggestion_or_a_value(browser, long_names, width):
    with serving_here(long_names) as address:
        ann = Reviewer(browser, address, width=width, height=844)
        visible = (
            "selector => { const part = document.querySelector(selector), box = part.getBoundingClientRect(),"
            "whole = part.parentElement.getBoundingClientRect();"
            "return Math.min(box.right, whole.right, innerWidth) - Math.max(box.x, whole.x, 0) }"
        )
        assert ann.page.evaluate(visible, "#lines .suggested") > 40
        ann.page.click("#lines button")
        ann.page.wait_for_selector("#detail-title")
        assert ann.page.evaluate(visible, "#detail-title .suggested") > 100
        assert is_inside(ann.page, ".class.first")
        over = ann.page.evaluate(
            "[...document.querySelectorAll('.compare tbody tr:has(th > bdi)')].filter(line => {"
            "const name = line.querySelector('th > bdi').getBoundingClientRect();"
            "return name.right > line.querySelector('td').getBoundingClientRect().x + 1 }).length"
        )
        assert over == 0 and ann.page.locator(".compare tbody tr").count() > 3
        ann.check()
        ann.context.close()

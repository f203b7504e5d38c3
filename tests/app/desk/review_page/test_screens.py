"""Verdicts, notes and filters of the review page, small screens, and names that are too long for them."""

import os

import pytest
from browsers import Reviewer, serving_here, stored, total, until
from loans import make_rows, write

from subsvms.app.options import Options, Work
from subsvms.app.runs.answer_store import AnswerStore
from subsvms.app.runs.job import do_job

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


def test_rows_are_left_out_and_notes_are_stored_shown_and_filtered(review, folder):
    ann, bob = review(), review(name="Bob")
    first, second, third = ann.rows[:3]
    ann.press("n")
    ann.page.keyboard.type("a <b>copy</b> of row 3; x means no verdict")
    ann.page.keyboard.press("Escape")
    ann.press("j")
    assert not ann.page.is_visible("#note-field")
    ann.press("k")  # a note that is not stored yet waits for its row
    assert ann.page.input_value("#note-text").startswith("a <b>copy") and stored(folder) == {}
    ann.press("x")
    ann.see("#said", f"Row {first}: you left the row out.")
    assert stored(folder)[first] == ("drop", None, "Ann") and ann.row == second
    assert not ann.page.is_visible("#note-field")
    ann.press("a", "s")
    ann.see("#counts", "2 of ")
    ann.see("#counts", "decided, 1 of them left out, 1 skipped")
    book = AnswerStore(folder + "/decisions.sqlite")
    assert book.latest(first).note == "a <b>copy</b> of row 3; x means no verdict"
    assert not book.latest(second).note
    book.close()
    bob.page.reload()  # what changes under the eyes of somebody is asked about
    bob.page.goto(f"{bob.address}#row={second}&status=all")
    bob.see("#issue", f"Row {second}:")  # and no longer the first one, which Ann decided, too
    bob.see(".decision", "Somebody else decided this row.")
    bob.page.keyboard.press("g")
    bob.see("#said", f"Row {second}: you kept the label")
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
    focus = ann.page.evaluate("document.activeElement.id")
    assert is_inside(ann.page, "#detail-title") and focus == "detail-title"
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


@pytest.mark.parametrize(
    "size",
    [dict(width=640, height=400), dict(width=720, height=450), dict(width=1280, height=480)],
    ids=["200 %", "200 % of a larger one", "short"],
)
def test_on_a_short_screen_the_buttons_fold_and_the_text_has_room(review, folder, size):
    ann = review(**size)
    first = ann.rows[0]
    assert size["width"] > 760 or not ann.page.is_visible("#bar")  # in the list there is nothing to decide
    ann.page.click("#lines button")
    ann.page.wait_for_selector("#detail-title")
    assert is_inside(ann.page, ".class.first") and is_inside(ann.page, "#unfold")
    assert not ann.page.is_visible("[data-verdict=skip]") and ann.overflow <= 0
    assert ann.page.locator("footer").bounding_box()["height"] <= 0.2 * size["height"]
    assert ann.list_faults() == []
    ann.page.click("#unfold")
    assert ann.page.get_attribute("#unfold", "aria-expanded") == "true" and ann.list_faults() == []
    ann.page.click("[data-verdict=skip]")
    ann.see("#said", f"Row {first}: you skipped it.")
    assert stored(folder)[first][0] == "skip"


def test_the_header_never_jumps_and_similar_texts_stand_side_by_side_on_wide_screens(review):
    ann = review(width=1600, height=900)
    place = "document.getElementById('list').getBoundingClientRect().y"
    before = ann.page.evaluate(place)
    for key in "asxg":
        ann.press(key)
        assert ann.page.evaluate(place) == before, key
    ann.narrow("status", "all")
    boxes = (  # both at one moment: the row may just be drawn again
        "['div', '.others'].map(part => document.querySelector(`.texts > ${part}`).getBoundingClientRect())"
        ".map(({ left, right, top }) => [left, right, top])"
    )
    (_, right, top), (left, _, beside) = ann.page.evaluate(boxes)
    assert left > right and beside == top
    assert ann.page.locator(".others .witness[open]").count() >= 1 and ann.overflow <= 0
    assert ann.list_faults() == []


def test_a_class_has_one_colour_and_letter_wherever_it_is_named(review):
    ann = review()
    looks = (
        "[...document.querySelectorAll('.badge')]"
        ".map(one => [one.nextSibling.textContent, one.dataset.class, one.dataset.mark])"
    )
    found = {tuple(look) for look in ann.page.evaluate(looks)}
    assert len(found) == len({name for name, *_ in found}) == len({mark for *_, mark in found}) == 3
    assert len({colour for _, colour, _ in found}) == 3
    badge = "getComputedStyle(document.querySelector('.suggested .badge')).backgroundColor"
    assert ann.page.evaluate(badge) in ("rgb(0, 114, 178)", "rgb(213, 94, 0)", "rgb(0, 158, 115)")


def test_filters_that_are_set_are_chips_which_drop_them(review):
    ann = review()
    n = total(ann)
    ann.page.goto(f"{ann.address}#who=Bob&given=yes&status=all")
    ann.see("#chips", "decided by Bob")
    assert not ann.page.is_visible("#chips [data-drop=given]")  # its field is in sight, and shows it
    ann.page.click("#chips [data-drop=who]")
    until(ann.page, "!location.hash.includes('who')")
    assert 0 < total(ann) < n
    ann.page.click("#clear")
    assert ann.page.locator("#chips button").count() == 0 and total(ann) == n


def test_the_end_says_what_was_decided_by_class_and_person_and_writes_the_table(review, folder):
    ann = review()
    n = total(ann)
    ann.press("g", "x")
    ann.page.click("#all summary")
    ann.page.click(f"text=Accept all {n - 2}")
    ann.page.click("#all-yes")
    ann.see(".finish h2", f"All {n} rows are decided, 1 of them left out.")
    ann.see("#summary", "By class")
    cells = (
        "[...document.querySelectorAll('#summary tr')]"
        ".map(line => [...line.children].map(one => one.innerText.trim()))"
    )
    lines = ann.page.evaluate(cells)
    assert ["Ann", f"{n - 2}", "1", "1"] in lines and ["", "Accepted", "Kept", "Left out"] in lines
    by_class = lines[1 : lines.index(["", "Accepted", "Kept", "Left out"])]
    assert sum(int(line[2]) for line in by_class) <= n - 2  # changed from it; some had no label
    assert sum(int(line[3]) for line in by_class) == n - 2  # changed to it
    ann.page.click("#write")
    ann.see("#written", "rows were decided by people")
    ann.see("#written", "The table is in")
    assert os.path.isfile(os.path.join(folder, "final.csv")) and ann.list_faults() == []
    os.remove(os.path.join(folder, "final.csv"))


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """The folder of a run whose classes and columns have long names."""
    rows, _ = make_rows(300)
    kinds = {"yes": "the customer " + "very " * 12 + "late", "no": "nothing " * 12 + "to report"}
    for row in rows:
        row["a_name_without_a_break_" * 4] = row.pop("size")
        row["default"] = f"{kinds[row['default']]} {row['colour']} {row['who']}"  # twelve classes
    table = write(tmp_path_factory.mktemp("long") / "loans.csv", rows)
    return do_job(str(table), Options(label="default", n_estimators=100), Work(n_jobs=1)).written.folder


def test_labels_that_are_digits_are_their_own_keys_and_a_likely_suggestion_is_filled(browser, tmp_path):
    rows = [row | {"default": "01"[row["default"] == "yes"]} for row in make_rows(300, wrong=0.2)[0]]
    table = write(tmp_path / "loans.csv", rows)
    folder = do_job(str(table), Options(label="default", n_estimators=100), Work(n_jobs=1)).written.folder
    with serving_here(folder) as address:
        ann = Reviewer(browser, address)
        shown = "all => all.map(one => [one.querySelector('kbd').innerText, one.dataset.label])"
        assert ann.page.eval_on_selector_all("#classes .class", shown) == [["0", "0"], ["1", "1"]]
        first, second = ann.rows[:2]
        ann.press("0")
        ann.press("1")
        ann.settle()
        assert {row: one[1] for row, one in stored(folder).items()} == {first: "0", second: "1"}
        fill = "one => { one.className = 'class first'; return getComputedStyle(one).backgroundColor }"
        assert ann.page.eval_on_selector("#classes .class", fill) != "rgba(0, 0, 0, 0)"
        ann.context.close()


@pytest.mark.parametrize("width", [390, 800])
def test_no_label_leaves_its_button_and_tables_say_that_they_go_on(browser, tmp_path, width):
    names = {"yes": "mortgage_foreclosure_complaint", "no": "credit_card_payment_refused"}
    rows = [row | {"default": names[row["default"]]} for row in make_rows(300)[0]]
    for row in rows[:30]:
        row["default"] = "unauthorised_withdrawal"
    table = write(tmp_path / "loans.csv", rows)
    folder = do_job(str(table), Options(label="default", n_estimators=100), Work(n_jobs=1)).written.folder
    with serving_here(folder) as address:
        ann = Reviewer(browser, address, width=width, height=844)
        ann.page.click("#lines button")
        ann.page.wait_for_selector("#detail-title")
        room = (
            "all => all.flatMap(one => { const own = one.querySelector('.label bdi').getBoundingClientRect(),"
            "whole = one.getBoundingClientRect(); return [own.x - whole.x, whole.right - own.right] })"
        )
        assert min(ann.page.eval_on_selector_all(".class", room)) >= 0
        assert ann.page.eval_on_selector(".scroll", "one => getComputedStyle(one).backgroundImage") != "none"
        ann.check()
        ann.context.close()


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
        names, cut = (
            "#lines .label-of bdi",
            "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length",
        )
        assert ann.page.eval_on_selector_all(names, cut) == 0  # they wrap
        ann.page.click("#lines button")
        ann.page.wait_for_selector("#detail-title")
        assert ann.page.evaluate(visible, "#detail-title .suggested") > 100
        assert is_inside(ann.page, ".class[data-role=suggested]")
        shown = [button.strip() for button in ann.page.locator(".class .label").all_inner_texts()]
        assert len(set(shown)) == len(shown) and max(map(len, shown)) < 40  # what differs is what is left
        over = ann.page.evaluate(
            "[...document.querySelectorAll('.compare tbody tr:has(th > bdi)')].filter(line => {"
            "const name = line.querySelector('th > bdi').getBoundingClientRect();"
            "return name.right > line.querySelector('td').getBoundingClientRect().x + 1 }).length"
        )
        assert over == 0 and ann.page.locator(".compare tbody tr").count() > 3
        ann.press("l")
        ann.page.wait_for_selector("#label-dialog[open]")
        assert ann.list_faults() == []
        ann.check()
        ann.context.close()


@pytest.mark.parametrize("screen", [
    dict(width=1280), PHONE | {"scheme": "dark"},
    pytest.param(dict(width=800, height=600, scheme="dark"), marks=pytest.mark.nightly),
])  # fmt: skip
def test_no_rule_of_axe_is_broken_in_any_state_of_the_page(review, screen):
    ann = review(**screen)
    assert ann.list_faults() == []  # the list
    ann.page.click("#lines button")
    ann.page.wait_for_selector("#detail-title")
    assert ann.list_faults() == []  # a row
    ann.page.keyboard.press("n")
    ann.page.keyboard.type("a note")
    assert ann.list_faults() == []
    ann.page.keyboard.press("Enter")
    ann.page.route("**/api/state?*", lambda route: route.abort())
    ann.see("#lost:not([hidden])", "The server is not responding.")
    assert ann.list_faults() == []
    ann.page.unroute("**/api/state?*")
    ann.page.wait_for_selector("#lost", state="hidden")
    ann.forget("ERR_FAILED")
    ann.page.keyboard.press("?")
    assert ann.list_faults() == []
    ann.close_dialog()
    if screen["width"] == 390:
        ann.go_back()
    ann.page.goto(f"{ann.address}#")
    ann.see("#shown", "open rows")
    ann.page.click("#all summary")
    assert ann.list_faults() == []
    ann.page.click("[data-all=drop]")
    assert ann.list_faults() == []
    ann.page.click("#all-yes")
    ann.see("#nothing", "rows are decided")
    until(ann.page, "document.body.classList.contains('empty')")
    assert ann.list_faults() == []

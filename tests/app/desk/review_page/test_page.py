"""The review page in a real browser, against a real server."""

from contextlib import closing
from pathlib import Path

import pytest
from browsers import HOSTILE, read_acts, stored, total, until
from web_pages import PAPER

from subsvms.app.desk.opened import open_acts

pytestmark = pytest.mark.slow


def test_the_page_opens_at_the_worst_issue_and_says_why(review):
    ann = review()
    assert ann.row == ann.rows[0]
    assert len(ann.rows) == 50 < total(ann)
    words = ann.page.inner_text("#issue")
    for part in ("SVMs vote", "wrong label", "For "):
        assert part in words
    for _ in range(20):  # all rows of a rare class may be suspicious themselves, or have no second judge
        ann.press("j")
        words += ann.page.inner_text("#issue")
    assert "Against it" in words and "The labels that weigh most are those of row " in words
    assert ann.page.locator(".compare .differing").count() > 0
    assert "loans & <b>more.csv" in ann.page.inner_text("h1")
    assert ann.page.get_attribute("#said", "aria-live") == "polite"
    ann.see("#counts", f"0 of {total(ann)} decided")


def test_keys_decide_and_the_next_open_issue_follows(review, folder):
    ann = review()
    first, second, third, fourth = ann.rows[:4]
    given, suggested = ann.page.locator("#issue h2 bdi").all_inner_texts()
    ann.press("a")
    ann.see("#said", f"Row {first}: you accepted the suggestion “{suggested}”")
    assert ann.row == second
    ann.press("g", "s")
    assert ann.row == fourth
    assert [stored(folder)[row][0] for row in (first, second, third)] == ["accept", "keep", "skip"]
    assert stored(folder)[first] == ("accept", suggested, "Ann")
    assert not {first, second, third} & set(ann.rows)
    ann.see("#counts", f"2 of {total(ann) + 3} decided, 1 skipped")
    ann.see(
        "#agreement", "1 of 2 flagged suggestions accepted."
    )  # two decisions say nothing about the others


def test_undo_reverts_a_decision_and_shows_the_row_again_and_redo_decides_again(review, folder):
    ann = review()
    first, second = ann.rows[:2]
    ann.press("a", "u")
    ann.see("#said", f"Undone: row {first}.")
    assert ann.row == first and ann.rows[0] == first and stored(folder) == {}
    ann.press("g", "Control+z")
    assert ann.row == first and stored(folder) == {}
    ann.page.click(".as-given")
    ann.see("#issue", f"Row {second}:")
    ann.settle()
    assert stored(folder)[first][0] == "keep"
    ann.page.click("#undo")
    ann.see("#issue", f"Row {first}:")
    assert stored(folder) == {}
    ann.press("Shift+U")
    ann.see("#said", f"Done again: row {first}.")
    ann.press("u", "Control+y")
    assert set(stored(folder)) == {first}
    ann.press("Control+Shift+z")
    ann.see("#said.wrong", "othing")  # is left to do again
    ann.forget("409")


def test_keys_do_nothing_while_typing_or_with_other_modifiers(review, folder):
    ann = review()
    ann.press("/")
    ann.page.keyboard.type("akslu")
    ann.see("#nothing", "No open row matches this filter.")
    assert ann.page.input_value("#search") == "akslu"
    ann.page.click("text=Clear the filter")
    ann.see("#issue", "Row")
    ann.press("Control+a", "Alt+g", "Meta+s", "Shift+A")
    assert stored(folder) == {}
    ann.press("?")
    ann.press("a")
    assert ann.page.is_visible("#help-dialog") and stored(folder) == {}


def test_arrows_j_and_k_move_through_the_list_and_its_pages_and_store_nothing(review, folder):
    ann = review()
    rows = ann.rows
    ann.press("j", "j", "k", "ArrowDown", "ArrowUp")
    ann.see("#issue", f"Row {rows[1]}:")
    ann.press("ArrowUp", "ArrowUp")
    ann.see("#said", "This is the first row.")
    ann.page.click(f"[data-row='{rows[-1]}']")
    ann.press("j")
    until(ann.page, "document.getElementById('page').value === '2'")
    assert not set(rows) & set(ann.rows)
    ann.press("ArrowUp")
    ann.see("#issue", f"Row {rows[-1]}:")
    ann.page.fill("#page", str(-(-total(ann) // len(rows))))  # the last
    ann.page.keyboard.press("Enter")
    until(ann.page, "document.getElementById('page-on').disabled")
    assert stored(folder) == {}


def test_filters_narrow_the_list_and_a_reload_keeps_them(review):
    ann = review()
    everything = total(ann)
    ann.narrow("given", "yes")
    ann.page.click("#more-filters summary")
    ann.narrow("column", "colour")
    ann.page.wait_for_selector("#value:enabled")
    ann.narrow("value", "blue")
    ann.page.fill("#search", "BOB")
    until(
        ann.page,
        "[...document.querySelectorAll('.labels')].every(line => line.textContent.startsWith('yes'))"
        " && location.hash.includes('search=BOB')",
    )
    narrowed, rows = total(ann), ann.rows
    assert 0 < narrowed < everything
    columns = (ann.page.locator(f".compare tbody {part}") for part in ("th", "td:nth-child(2)"))
    values = dict(zip(*(column.all_inner_texts() for column in columns), strict=True))
    assert values["colour"] == "blue" and values["who"] == "bob"
    ann.page.reload()
    ann.see("#shown", f"{narrowed} open row")
    assert ann.rows == rows and ann.page.input_value("#value") == "blue"
    ann.page.click("#clear")
    ann.see("#shown", f"{everything} open rows")
    if not ann.page.is_visible("#high"):
        ann.page.click("#more-filters summary")
    ann.page.fill("#high", "65")
    until(ann.page, f"!document.getElementById('shown').textContent.startsWith('{everything} ')")
    assert 0 < total(ann) < everything


def test_all_rows_of_a_filter_are_decided_after_confirmation_and_undone_at_once(review, folder):
    ann = review()
    everything = total(ann)
    ann.narrow("given", "no")
    n = total(ann)
    ann.page.click("#all summary")
    ann.page.click(f"text=Accept all {n}")
    ann.see("#all-dialog", f"{n} rows will get the suggested label")
    ann.see("#all-dialog", "given “no”")
    ann.page.click("#all-dialog >> text=Cancel")
    assert stored(folder) == {}
    ann.page.click("#all summary")
    ann.page.click(f"text=Accept all {n}")
    ann.page.click("#all-yes")
    ann.see("#said", f"{n} rows decided.")
    ann.see("#nothing", "No open row matches this filter.")
    assert len(stored(folder)) == n and {verdict for verdict, _, _ in stored(folder).values()} == {"accept"}
    ann.see("#counts", f"{n} of {everything} decided")
    ann.press("u")
    ann.see("#said", f"Undone: {n} rows.")
    assert stored(folder) == {} and total(ann) == n


def test_another_label_can_be_given_to_one_row_or_to_all(review, folder):
    ann = review()
    everything = total(ann)
    ann.narrow("given", "yes")
    ann.see("#issue h2", "yes → no")
    first = ann.rows[0]
    names = ann.page.locator("#classes button").all_inner_texts()
    assert names == ["1\n<i>maybe</i>", "2\nno\nsuggested a", "3\nyes\ngiven g"]
    ann.press("9", "1")
    ann.see("#said", f"Row {first}: you gave it the label “<i>maybe</i>”.")
    assert stored(folder) == {first: ("label", "<i>maybe</i>", "Ann")}
    second = ann.row
    ann.press("2")
    ann.see("#said", f"Row {second}: you accepted the suggestion")
    third = ann.row
    ann.page.click(".as-given")
    ann.see("#said", f"Row {third}: you kept the label")
    ann.page.click("#clear")
    ann.see("#shown", f"{everything - 3} open rows")
    ann.page.click("#all summary")
    ann.page.click("text=Label all")
    ann.page.select_option("#all-label", "no")
    ann.page.click("#all-yes")
    ann.see("#nothing", f"All {everything} rows are decided.")
    ann.see("#nothing code", "subsvms apply '")
    others = set(stored(folder)) - {first, second, third}
    assert {stored(folder)[row][1] for row in others} == {"no"}


def test_a_name_is_asked_for_once_before_the_first_decision(review, folder):
    bob = review(name="")
    first = bob.rows[0]
    bob.page.keyboard.press("a")
    bob.page.wait_for_selector("#name-dialog[open]")
    assert bob.list_faults() == []
    bob.page.keyboard.press("Escape")
    bob.see("#said", "Nothing was decided")
    assert stored(folder) == {} and bob.row == first
    bob.settle()
    bob.page.keyboard.press("a")
    bob.page.fill("#name", "  Bob <b> ")
    bob.page.keyboard.press("Enter")
    bob.see("#said", f"Row {first}: you accepted")
    bob.see("#person", "Deciding as Bob <b>")
    assert stored(folder)[first][2] == "Bob <b>"
    bob.settle()
    bob.page.reload()
    bob.see("#counts", "1 of ")
    bob.see("#issue", "Row")
    bob.press("g")
    assert len(stored(folder)) == 2


def test_two_people_see_each_others_decisions(review, folder):
    ann, bob = review(), review(name="Bob")
    first, second = ann.rows[:2]
    assert bob.row == first
    ann.press("a")
    bob.see("#said", "Somebody else decided this row just now; what you decide is compared with that.")
    bob.see(".decision", "You see what once you have decided, too.")
    bob.see("#counts", "1 of ")
    bob.page.wait_for_selector(f"[data-row='{first}']", state="detached")
    assert "Ann" not in bob.page.inner_text("#issue")
    bob.press("g")  # what Bob decides knowing nothing is stored beside what Ann decided
    bob.see("#said", f"Row {first}: you kept the label")
    bob.see("#said", "Somebody else decided otherwise: the row is disputed.")
    ann.narrow("status", "all")
    ann.page.dispatch_event(f"[data-row='{first}']", "click")  # at one moment: news draw the list again
    ann.see(".decision", "Bob kept the label")
    ann.see(f"[data-row='{first}'] .mark", "= kept by Bob")
    ann.see(".history", "Ann accepted the suggestion")
    assert ann.list_faults() == []
    assert bob.row == second
    cid = review(name="Cid")
    cid.narrow("status", "disputed")  # whoever settles it is told
    cid.see(".history", "Ann accepted the suggestion")
    cid.press("a")
    cid.see("#nothing", "No rows are disputed.")
    tab = ann.open_tab("#status=decided")
    assert tab.locator("#lines button").count() == 1


def test_in_the_list_of_all_a_decision_leaves_a_mark_and_moves_on(review):
    ann = review()
    ann.narrow("status", "all")
    first, second, third = ann.rows[:3]
    ann.page.click(f"[data-row='{second}']")
    ann.see("#issue", f"Row {second}:")
    ann.press("s")
    ann.see(f"[data-row='{second}'] .mark", "↷ skipped by Ann")
    assert ann.row == third
    ann.page.dispatch_event(f"[data-row='{first}']", "click")  # at one moment: news draw the list again
    ann.see("#issue", f"Row {first}:")
    ann.press("a")
    assert ann.row == third  # the second is not open


def test_rows_without_a_label_can_be_decided_but_not_kept(review, folder):
    ann = review()
    ann.page.goto(f"{ann.address}#row=21")
    ann.see("#issue", "Row 21:")
    ann.see("#issue h2", "no label → ")
    ann.press("g")
    ann.see("#said.wrong", "This row has no label to keep.")
    assert ann.page.locator(".as-given").count() == 0 and stored(folder) == {}
    ann.press("a")
    ann.see("#said", "Row 21: you accepted the suggestion")
    ann.see("#counts", "1 of ")
    ann.narrow("status", "all")
    ann.narrow("sort", "row")
    ann.see("#lines", "no label → ")
    assert ann.rows == sorted(ann.rows)
    ann.press("s", "s")
    assert len(read_acts(folder)) == 3 == len(stored(folder))


@pytest.mark.parametrize("width, scheme", [(360, "dark"), (768, "light"), (1200, "dark")])
def test_the_page_fits_the_screen_and_follows_the_colour_scheme(review, width, scheme):
    ann = review(width=width, scheme=scheme)
    assert ann.overflow <= 0
    rows = ann.rows
    for row in rows[: len(HOSTILE)]:
        ann.page.click(f"[data-row='{row}']")
        ann.see("#issue", f"Row {row}:")
        assert ann.overflow <= 0
        if width == 360:
            ann.page.wait_for_selector("#back", state="visible")
            box = ann.page.locator(".class.first").bounding_box()
            assert box["y"] + box["height"] <= 800 and box["height"] >= 44
            assert not ann.page.is_visible("#lines")
            ann.page.click("#back")
    assert ann.page.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER[scheme]


def test_a_run_without_issues_says_so(review):
    ann = review()
    state = dict.fromkeys(("last", "issues", "decided", "skipped", "judged", "accepted"), 0) | {"rows": []}
    issues = {"total": 0, "offset": 0, "issues": []}
    ann.page.route("**/api/state?*", lambda route: route.fulfill(json=state))
    ann.page.route("**/api/issues?*", lambda route: route.fulfill(json=issues))
    ann.page.reload()
    ann.see("#nothing", "looks suspicious: there is nothing to review.")


def test_a_note_comes_back_with_its_decision_undone_and_stays_with_one_done_again(review, folder):
    ann = review()
    first = ann.row
    ann.press("n")
    ann.page.keyboard.type("ask the branch")
    ann.press("Enter", "g", "u")
    ann.see("#said", f"Undone: row {first}.")
    assert ann.row == first and ann.page.input_value("#note-text") == "ask the branch"
    ann.press("a", "u", "Shift+U")
    ann.see("#said", f"Done again: row {first}.")
    assert ann.row == first and ann.page.input_value("#note-text") == "ask the branch"
    ann.press("g")
    with closing(open_acts(Path(folder))) as book:
        assert (book.latest(first).verdict, book.latest(first).note) == ("keep", "ask the branch")

"""What the review page does when people disagree, and when its server or files fail."""

import os
import re
import signal

import pytest
from browsers import QUICK, Reviewer, read_acts, serving, stored, total, until, wait

from subsvms.app.names import PAGE_SECRET

pytestmark = pytest.mark.slow
LISTS = re.compile(r"/api/(issues|state)\?")  # without which the page knows no list and no news


def test_an_answer_that_was_stored_although_nobody_said_so_is_not_stored_twice(review, folder):
    ann = review()
    first = ann.row

    def lose(route):
        route.fetch()
        route.abort()

    ann.page.route("**/api/decide", lose, times=1)
    ann.page.keyboard.press("a")
    ann.see("#said", f"Row {first}: you accepted")
    ann.settle()
    assert len(read_acts(folder)) == 1
    ann.forget("ERR_FAILED")


def test_a_refused_answer_is_given_back_with_its_note_and_later_ones_are_stored(review, folder):
    ann = review()
    first, second = ann.rows[:2]
    held = []
    ann.page.route("**/api/decide", lambda route: held.append(route), times=1)
    ann.page.keyboard.press("n")
    ann.page.keyboard.type("why not")
    ann.page.keyboard.press("Enter")
    for key, row in (("a", first), ("g", second)):
        ann.see("#issue", f"Row {row}:")
        ann.page.keyboard.press(key)
    wait(ann.page, lambda: held)
    held[0].fulfill(status=400, json={"error": "This cannot be stored."})
    ann.see("#counts", "1 of ")
    ann.settle()
    assert set(stored(folder)) == {second} and ann.row == first and first in ann.rows
    assert ann.page.input_value("#note-text") == "why not"
    ann.forget("400")


def test_leaving_the_page_with_answers_on_the_way_asks_first(review, folder):
    ann = review()
    asked = []
    ann.page.on("dialog", lambda dialog: asked.append(dialog.type) or dialog.dismiss())
    held = []
    ann.page.route("**/api/decide", lambda route: held.append(route), times=1)
    ann.page.keyboard.press("a")
    ann.see("#waiting", "1 answer on the way")
    ann.page.close(run_before_unload=True)
    wait(ann.page, lambda: asked and held)
    assert asked == ["beforeunload"] and not ann.page.is_closed()
    held[0].continue_()
    ann.settle()
    assert len(stored(folder)) == 1


def stop_news(person):
    """Keep a page from learning what others decide."""
    stale = person.page.evaluate("fetch(new URL('api/state?since=0', location)).then(a => a.json())")
    person.page.route("**/api/state?*", lambda route: route.fulfill(json=stale))


def show(person, row):
    """Show a row in the list of all rows."""
    person.settle()
    if person.page.input_value("#status") != "all":
        person.narrow("status", "all")
    person.page.dispatch_event(f"[data-row='{row}']", "click")  # at one moment: news draw the list again
    person.see("#issue", f"Row {row}:")


def test_of_two_who_decide_differently_the_second_chooses_if_he_had_decided_before(review, folder):
    ann, bob = review(), review(name="Bob", pauses=QUICK | {"GLANCE": 2000})
    stop_news(bob)
    rows = ann.rows[:4]
    for row, hers, answer in zip(rows, "aaas", ("Keep theirs", "Use mine", None, None), strict=True):
        show(bob, row)
        bob.press("x")
        show(ann, row)
        show(bob, row)
        ann.press(hers)
        bob.page.keyboard.press("g" if row != rows[2] else "a")
        if answer:  # of the same decision and of a skipped row there is nothing to ask
            bob.page.wait_for_selector("#which-dialog[open]")
            bob.page.keyboard.press("Enter")  # meant for what was there before
            assert bob.page.is_visible("#which-dialog")
            bob.see("#which-dialog[open]", f"Row {row} was decided in the meantime")
            bob.see("#which-words", "Ann accepted the suggestion “")
            bob.see("#which-words", "You want to keep the label “")
            bob.see("#which-row", f"Row {row}")
            bob.see("#which-row dl", "colour")
            bob.page.wait_for_timeout(2100)
            assert bob.list_faults() == []
            bob.page.click(f"text={answer}")
        who = "Ann accepted" if answer == "Keep theirs" else "you"
        bob.see("#said", f"Row {row}: {who}")
        bob.settle()  # the page may still say what it said of the answer before this one
    assert [stored(folder)[row][2] for row in rows] == ["Ann", "Bob", "Bob", "Bob"]
    bob.see("#counts", "1 disputed")
    bob.narrow("status", "disputed")
    bob.see("#shown", "1 disputed")
    assert bob.rows == [rows[0]]  # of the others, he knew what Ann said
    bob.forget("409")


def test_decisions_on_all_rows_ask_before_they_replace_those_of_others(review, folder):
    ann, bob = review(), review(name="Bob")
    stop_news(bob)
    first = ann.row
    for answer, n_decided, who in (("Cancel", 0, "Ann"), ("Keep theirs", -1, "Ann"), ("Use mine", 0, "Bob")):
        show(ann, first)
        show(bob, first)
        ann.press("g")
        n = total(bob)
        bob.page.click("#all summary")
        bob.page.click(f"text=Accept all {n}")
        bob.page.click("#all-yes")
        bob.see("#which-dialog[open]", f"1 row of {n} was decided in the meantime")
        bob.see("#which-words", "Ann decided differently since this list was loaded.")
        bob.page.wait_for_timeout(2 * QUICK["GLANCE"])  # sooner, a press is meant for what was there before
        bob.page.click(f"#which-dialog >> text={answer}")
        bob.see("#said", "Nothing was decided." if answer == "Cancel" else f"{n + n_decided} rows decided.")
        assert len(stored(folder)) == (1 if answer == "Cancel" else n)
        assert stored(folder)[first][2] == who
    bob.forget("409")


def test_a_folder_that_was_moved_is_reported_until_it_is_back(review, folder):
    ann = review()
    first = ann.row

    def move(route):
        os.rename(folder, f"{folder}.away")
        route.continue_()

    ann.page.route("**/api/decide", move, times=1)  # a page that learned of it before takes no decision
    try:
        ann.page.keyboard.press("a")
        ann.see("#lost:not([hidden])", "was moved, removed or replaced while it was open")
        ann.see("#lost", f"Not stored yet: 1 answer, on row {first}.")
    finally:
        os.rename(f"{folder}.away", folder)
    ann.page.wait_for_selector("#lost", state="hidden")
    ann.see("#said", f"Row {first}: you accepted")
    assert set(stored(folder)) == {first}
    ann.forget("503")


def test_a_tab_goes_on_after_a_restart_and_an_answer_that_waits_is_sent(browser, folder):
    port = 20_000 + os.getpid() % 10_000  # which no other test takes in between
    held = []
    with serving(folder, port) as (address, _):
        ann = Reviewer(browser, address)
        first = ann.row
        ann.page.route("**/api/decide", lambda route: held.append(route), times=1)
        ann.page.keyboard.press("a")  # a page that knows that the server is gone takes no decision
        wait(ann.page, lambda: held)
    held[0].continue_()
    ann.see("#lost:not([hidden])", "If it was stopped, start it again: this tab goes on by itself.")
    ann.see("#lost", f"Not stored yet: 1 answer, on row {first}.")
    with serving(folder, port) as (later, _):
        assert address == later
        ann.page.wait_for_selector("#lost", state="hidden")
        ann.see("#said", f"Row {first}: you accepted")
        ann.press("g")
        ann.see("#counts", "2 of ")
        ann.context.close()
    assert stored(folder)[first][0] == "accept" and len(stored(folder)) == 2


def test_a_tab_ends_with_its_address_and_says_so(browser, folder):
    port = 20_000 + os.getpid() % 10_000
    with serving(folder, port) as (address, _):
        ann = Reviewer(browser, address)
    os.remove(os.path.join(folder, PAGE_SECRET))  # as --new-address does
    with serving(folder, port) as (later, _):
        assert address.split("/")[2] == later.split("/")[2] and address != later
        ann.see("#lost:not([hidden])", "Another page is served here now")
        ann.press("a")
        ann.see("#said.wrong", "Not decided: the server is not responding.")
        ann.page.reload()
        ann.see("h1", "This page cannot be shown")
        ann.see("p", "a newer one has replaced it")
        ann.context.close()
    assert stored(folder) == {}


def test_a_server_that_hangs_is_reported_and_no_key_is_lost_silently(browser, folder):
    with serving(folder) as (address, process):
        ann = Reviewer(browser, address, pauses={})
        first = ann.row
        ann.page.wait_for_selector("#lost", state="hidden")  # the first answers may have taken seconds
        process.send_signal(signal.SIGSTOP)
        ann.page.keyboard.press("a")
        ann.see("#lost:not([hidden])", "Waiting for the server, which has not responded for some seconds.")
        ann.page.keyboard.press("g")
        ann.see("#said.wrong", "Not decided: the server is not responding.")
        ann.see(
            "#lost:not([hidden])", "Nothing more can be decided until it does"
        )  # it was given up and kept
        process.send_signal(signal.SIGCONT)
        ann.page.wait_for_selector("#lost", state="hidden")
        ann.see("#said", f"Row {first}: you accepted")
        ann.settle()
        ann.see("#counts", "1 of ")
        ann.context.close()
    assert set(stored(folder)) == {first} and len(read_acts(folder)) == 1


@pytest.mark.parametrize("width, first, held_back", [
    (1200, None, "issues?*"), (390, None, "issues?*"), (1200, "#row=99999", "issues/99999*"),
    (1200, "#column=id", "values?*"),
])  # fmt: skip
def test_an_answer_that_comes_late_does_not_replace_a_link_that_was_followed(review, width, first, held_back):
    ann, held = review(width=width), []
    ann.page.route(f"**/api/{held_back}", lambda route: held.append(route), times=1)
    if first is None:
        ann.page.reload()
    else:
        ann.page.evaluate("words => location.hash = words", first)
    wait(ann.page, lambda: held)
    ann.page.evaluate("location.hash = '#row=21'")
    ann.see("#issue", "Row 21:")
    held[0].continue_()
    ann.page.wait_for_timeout(500)
    ann.see("#issue", "Row 21:")
    assert ann.page.url.endswith("#row=21")
    ann.faults.clear()  # the browser notes that there is no row 99999


@pytest.mark.parametrize("width", [1200, 390])
def test_an_address_is_not_overwritten_before_the_page_has_seen_it(review, width):
    ann = review(width=width)
    line = ann.page.locator("[data-row]").nth(1)
    ann.page.wait_for_timeout(500)  # the page may write its address at once
    # The event of another address comes after all that was clicked in the same moment.
    line.evaluate("line => { location.hash = '#row=21'; line.click(); }")
    ann.see("#issue", "Row 21:")


@pytest.mark.parametrize("is_loaded_again", [False, True])
def test_a_link_is_followed_once_the_server_is_back(review, is_loaded_again):
    ann = review()
    ann.page.route("**/api/issues?*", lambda route: route.abort())
    ann.page.evaluate("location.hash = '#row=21'")
    ann.see("#lost:not([hidden])", "The server is not responding")
    if is_loaded_again:
        ann.page.reload()
        ann.see("#lost:not([hidden])", "The server is not responding")
    ann.page.unroute("**/api/issues?*")
    ann.see("#issue", "Row 21:")
    assert ann.page.url.endswith("#row=21")
    ann.forget("ERR_FAILED")


def test_who_chose_a_row_while_the_server_was_gone_stays_there(review):
    ann = review()
    chosen = ann.rows[1]
    ann.page.route(LISTS, lambda route: route.abort())
    ann.page.evaluate("location.hash = '#row=21'")
    ann.see("#lost:not([hidden])", "The server is not responding")
    ann.see("#said.wrong", "The server is not responding.")  # the link was not followed, and is not just now
    ann.page.keyboard.press("j")
    ann.see("#issue", f"Row {chosen}:")
    ann.page.unroute(LISTS)
    ann.page.wait_for_selector("#lost", state="hidden")
    wait(ann.page, lambda: ann.page.url.endswith(f"#row={chosen}"))
    assert ann.row == chosen != 21
    ann.forget("ERR_FAILED")


def test_who_chose_a_row_while_a_link_was_on_its_way_stays_there_if_it_fails(review):
    ann = review()
    chosen = ann.rows[1]
    held = []

    def hold(route):
        if "/issues?" in route.request.url and not held:
            held.append(route)
        else:
            route.abort()

    ann.page.route(LISTS, hold)
    ann.page.evaluate("location.hash = '#row=21'")
    wait(ann.page, lambda: held)
    ann.page.keyboard.press("j")
    ann.see("#issue", f"Row {chosen}:")
    held[0].abort()
    ann.see("#said.wrong", "The server is not responding.")
    ann.page.unroute(LISTS)
    ann.page.wait_for_selector("#lost", state="hidden")
    wait(ann.page, lambda: ann.page.url.endswith(f"#row={chosen}"))
    assert ann.row == chosen != 21
    ann.forget("ERR_FAILED")


def test_an_undone_row_is_shown_although_its_list_was_lost(review, folder):
    ann = review()
    first = ann.row
    ann.press("g")
    ann.page.route(LISTS, lambda route: route.abort())
    ann.page.keyboard.press("u")
    ann.see("#said.wrong", "The server is not responding.")
    ann.page.unroute(LISTS)
    ann.page.wait_for_selector("#lost", state="hidden")
    ann.see("#issue", f"Row {first}:")
    ann.settle()
    ann.page.keyboard.press("a")
    wait(ann.page, lambda: stored(folder))
    assert stored(folder)[first][0] == "accept"
    ann.forget("ERR_FAILED")


def test_a_click_that_began_before_the_list_was_drawn_again_counts(review):
    ann, bob = review(), review(name="Bob")
    first, _, third = ann.rows[:3]
    line = f"[data-row='{third}']"
    ann.page.hover(line)
    ann.page.mouse.down()
    with ann.page.expect_response("**/api/issues?*"):
        assert bob.row == first
        bob.press("a")
    ann.page.wait_for_timeout(200)
    assert ann.page.is_visible(f"[data-row='{first}']")  # the list waits
    ann.page.mouse.up()
    ann.see("#issue", f"Row {third}:")
    ann.page.wait_for_selector(f"[data-row='{first}']", state="detached")


def test_the_row_stays_until_the_list_that_was_asked_for_last_is_there(review):
    ann = review()
    first, second = ann.rows[:2]
    ann.press("j")
    held = []
    ann.page.route("**/api/issues?*", lambda route: held.append(route))
    for number, wanted in enumerate(("decided", "all"), 1):
        ann.page.select_option("#status", wanted)
        wait(ann.page, lambda number=number: len(held) == number)
    held[0].continue_()
    ann.page.wait_for_timeout(300)
    assert ann.page.inner_text("#issue p").startswith(f"Row {second}:")
    held[1].continue_()
    ann.see("#issue", f"Row {first}:")


def test_who_goes_back_before_a_row_is_loaded_finds_the_one_before_ready(review):
    ann = review()
    first, *_, last = ann.rows
    held = []
    ann.page.route(f"**/api/issues/{last}?*", lambda route: held.append(route), times=1)
    ann.page.click(f"[data-row='{last}']")
    wait(ann.page, lambda: held)
    assert ann.page.get_attribute("#issue", "aria-busy") == "true"
    ann.page.click(f"[data-row='{first}']")
    until(ann.page, "document.getElementById('issue').ariaBusy === 'false'")
    held[0].continue_()
    ann.settle()
    assert ann.row == first

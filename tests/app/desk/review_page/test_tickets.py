"""Long texts, decided by keyboard: nothing is lost, whatever the pace."""

import re
import time

import pytest
from browsers import WAIT, reviewing, stored, stored_rows, until, wait

from benchmarks.review import write_run
from benchmarks.tickets import write_tickets
from subsvms.app.options import Options

pytestmark = pytest.mark.slow
N_TICKETS = 60
CAPITAL = "key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }))"
FAST = (  # after three seconds without an answer of the server the page takes no more decisions
    "async keys => { const rows = []; for (const key of keys) { let row; do {"
    "await new Promise(go => setTimeout(go, 5));"
    "row = Number(document.querySelector('#issue p').textContent.match(/[\\d,]+/)[0].replaceAll(',', ''))"
    "} while (rows.includes(row)); rows.push(row);"
    "document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })) } return rows }"
)


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """The folder of a run in which every ticket is an issue, and the right labels."""
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    clean = write_tickets(path, N_TICKETS)
    return write_run(path, Options("topic", n_estimators=50, id_column="ticket"), n_witnesses=3), clean


@pytest.fixture
def ann(browser, tickets):
    with reviewing(browser, tickets[0]) as person:
        yield person


def read_row(page):
    return int(re.search(r"Row ([\d,]+)", page.text_content("#issue p")).group(1).replace(",", ""))


def await_next(page, earlier):
    """Return the row that is shown, once it is another than those before."""
    end = time.monotonic() + WAIT / 1000
    while (row := read_row(page)) in earlier:
        assert time.monotonic() < end, (row, len(earlier))
    return row


def test_sixty_tickets_are_decided_by_keyboard_alone(ann, tickets):
    folder, clean = tickets
    keys = {label: str(key) for key, label in enumerate(sorted(set(clean)), start=1)}
    pressed = []
    while len(pressed) < N_TICKETS:
        pressed.append(await_next(ann.page, pressed))
        ann.page.keyboard.press(keys[clean[pressed[-1] - 1]])
    ann.see("#nothing", f"All {N_TICKETS} rows are decided.")
    ann.see("#counts", f"{N_TICKETS} of {N_TICKETS} decided")
    until(ann.page, "document.getElementById('waiting').textContent === ''")
    assert stored_rows(folder) == pressed
    assert {row: label for row, (_, label, _) in stored(folder).items()} == dict(enumerate(clean, start=1))


def test_keys_that_come_faster_than_the_server_answers_are_all_stored_in_order(ann, tickets):
    folder, _ = tickets
    held = []
    ann.page.route("**/api/decide", lambda route: held.append(route))
    rows = ann.page.evaluate(FAST, list("a1g2s3xa"))
    ann.see("#waiting", "8 answers on the way")
    ann.see("#counts", f"0 of {N_TICKETS} decided")
    wait(ann.page, lambda: held)
    assert len(held) == 1 and stored(folder) == {}  # one after another
    for number in range(8):
        until(ann.page, f"document.getElementById('waiting').textContent.startsWith('{8 - number} ')")
        wait(ann.page, lambda: held)
        held.pop().continue_()
    ann.see("#counts", f"7 of {N_TICKETS} decided, 1 of them left out, 1 skipped")
    until(ann.page, "document.getElementById('waiting').textContent === ''")
    assert stored_rows(folder) == rows
    verdicts = [stored(folder)[row][0] for row in rows]
    assert [verdicts[i] for i in (0, 2, 4, 6, 7)] == ["accept", "keep", "skip", "drop", "accept"]


def test_the_whole_text_stands_above_at_reading_width_with_marked_words(ann, tickets):
    folder, _ = tickets
    lines = (folder.parent / "tickets.csv").read_text()
    text = ann.page.text_content(".texts .long .text")
    assert len(text) > 400 and text in lines and "\n\n" in text
    width = ann.page.evaluate(
        "(() => { const part = document.querySelector('.long .text'), probe = document.createElement('span');"
        "probe.textContent = '0'; part.append(probe); const letter = probe.getBoundingClientRect().width;"
        "probe.remove(); return part.clientWidth / letter })()"
    )
    assert 55 <= width <= 70
    assert ann.page.locator("mark.for, mark.against").count() > 0
    styles = "selector => getComputedStyle(document.querySelector(selector)).textDecorationStyle"
    assert ann.page.evaluate(styles, ".legend .for") != ann.page.evaluate(styles, ".legend .against")
    assert ann.page.locator("details.witness[open]").count() == 0
    ann.press("w")
    until(ann.page, "document.querySelectorAll('details.witness .text').length === 6")
    assert ann.list_faults() == []
    names = ann.page.locator(".compare tbody th").all_inner_texts()
    assert names[0] == "Label" and set(names[1:3]) == {"minutes", "channel"} and names[3:] == ["ticket"]
    assert ann.page.locator(".compare .unused th").all_inner_texts() == ["ticket"]


def test_space_scrolls_the_next_row_begins_at_its_top_and_caps_lock_changes_nothing(ann, tickets):
    folder, _ = tickets
    top = "document.getElementById('detail').scrollTop"
    ann.page.set_viewport_size({"width": 1000, "height": 500})
    ann.page.keyboard.press("Space")
    until(ann.page, f"{top} > 50")
    ann.page.keyboard.press("Shift+Space")
    until(ann.page, f"{top} === 0")
    ann.page.keyboard.press("PageDown")
    until(ann.page, f"{top} > 50")
    ann.page.evaluate("() => new Promise(requestAnimationFrame)")  # before it, the page hears of no scrolling
    assert stored(folder) == {}
    ann.press("Enter")
    until(ann.page, f"{top} === 0")
    assert [verdict for verdict, _, _ in stored(folder).values()] == ["accept"]
    ann.page.click(".class.first")
    ann.settle()
    ann.press("Space")  # the button that was clicked does not take it
    row = ann.row
    assert len(stored(folder)) == 2
    ann.page.evaluate(CAPITAL, "A")
    ann.see("#said", f"Row {row}: you accepted")
    ann.settle()
    ann.page.evaluate(CAPITAL, "U")
    ann.see("#said", f"Undone: row {row}.")
    assert len(stored(folder)) == 2

"""The rules of axe-core, on every state of the review page."""

import numpy as np
import pytest
from browsers import Reviewer, serving_here, until
from loans import write

from benchmarks.tickets import SENTENCES, make_text
from subsvms.app.runs.job import do_job
from subsvms.app.runs.options import Options

pytestmark = pytest.mark.slow
SCREENS = {
    "wide": dict(width=1280, height=800),
    "tight": dict(width=800, height=600, scheme="dark"),
    "phone": dict(width=390, height=844, scheme="dark"),
}


def choose_first(person):
    person.page.click("#lines button")
    person.page.wait_for_selector("#detail-title")


@pytest.mark.parametrize("screen", SCREENS)
def test_no_rule_is_broken_in_any_state_of_the_page(review, screen):
    ann, bob = review(**SCREENS[screen]), review(name="Bob", **SCREENS[screen])
    is_phone = screen == "phone"
    assert ann.list_faults() == []  # the list
    for person in (ann, bob):
        choose_first(person)
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
    bob.page.route("**/api/state?*", lambda route: route.fulfill(json={"last": 0, "rows": []}))
    ann.press("a")
    bob.page.keyboard.press("g")
    bob.page.wait_for_selector("#which-dialog[open]")
    assert bob.list_faults() == []
    bob.page.click("text=Use mine")
    bob.settle()
    for person in (ann, bob):
        person.forget("409", "ERR_FAILED")
    if is_phone:
        ann.go_back()
    ann.page.goto(f"{ann.address}#status=disputed")
    ann.see("#shown", "1 disputed row")
    choose_first(ann)
    ann.see(".history", "Bob kept the label")
    assert ann.list_faults() == []
    ann.page.keyboard.press("?")
    assert ann.list_faults() == []
    ann.close_dialog()
    if is_phone:
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


def test_no_rule_is_broken_with_long_texts_many_classes_or_without_a_name(browser, tmp_path):
    rng = np.random.default_rng(0)
    topics = [f"{topic} {part}" for topic in SENTENCES for part in ("at home", "abroad")]
    rows = [
        {"text": make_text(topic.split()[0], rng), "topic": topic}
        for topic in rng.choice(topics, 200).tolist()
    ]
    table = write(tmp_path / "tickets.csv", rows)
    folder = do_job(str(table), Options("topic", n_estimators=100), n_jobs=1).folder
    with serving_here(folder) as address:
        ann = Reviewer(browser, address, name="")
        ann.page.wait_for_selector("mark")
        ann.press("w")
        assert ann.list_faults() == []
        ann.press("l")
        ann.page.wait_for_selector("#label-dialog[open]")
        assert ann.list_faults() == []
        ann.close_dialog()
        ann.press("a")
        ann.page.wait_for_selector("#name-dialog[open]")
        assert ann.list_faults() == []
        ann.check()
        ann.context.close()

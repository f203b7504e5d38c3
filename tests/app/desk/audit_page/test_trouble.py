"""What the audit page does with double presses and old tabs, and when its server fails or is killed."""

import os
import signal

import pytest
from browsers import PATIENT, Auditor, serving, stored_answers, wait

from subsvms.app.desk.audit import AuditDesk

pytestmark = pytest.mark.slow
TWICE = (  # faster than any pause of a busy machine
    "key => { const press = () => new KeyboardEvent('keydown', { key, bubbles: true });"
    "document.body.dispatchEvent(press()); document.body.dispatchEvent(press()) }"
)


def test_a_double_press_is_one_answer_and_the_page_says_so(audit, folder):
    ann = audit(n_answers=12)(pauses=PATIENT)
    first = ann.row
    ann.page.evaluate(TWICE, "1")
    ann.see("#said", "1 press ignored")
    ann.settle()
    assert stored_answers(folder) == [(first, "no", "Ann")] and ann.row != first
    ann.page.keyboard.down("2")
    for _ in range(5):
        ann.page.keyboard.down("2")  # held down
        ann.page.wait_for_timeout(150)
    ann.settle()
    assert len(stored_answers(folder)) == 2


def test_a_question_answered_in_another_tab_is_replaced_and_an_old_tab_is_refused_politely(audit, folder):
    ann = audit(n_answers=12)()
    first, old = ann.row, ann.page
    ann.page = tab = ann.open_tab()
    ann.begin()
    assert ann.row == first
    ann.press("1")
    second, ann.page = ann.row, old
    ann.see("#said", "That question was answered elsewhere; this is the next one.")
    assert ann.row == second
    old.route("**/api/question", lambda route: route.abort())  # it does not learn what happens elsewhere
    ann.page = tab
    ann.press("1")
    third = ann.row
    old.wait_for_selector("body:not([data-new])")
    old.keyboard.press("2")
    words = "This was answered in the meantime, and an answer stands: go on with the next question."
    old.wait_for_selector(f"#said:has-text('{words}')")
    ann.page = old
    assert ann.row == third
    assert stored_answers(folder) == [(row, "no", "Ann") for row in (first, second)]
    old.close()
    ann.forget("409", "ERR_FAILED")


def test_a_lost_connection_is_reported_and_work_continues_once_it_is_back(audit, folder):
    ann = audit(n_answers=12)()
    first = ann.row
    ann.settle()
    ann.page.route("**/api/**", lambda route: route.abort())
    ann.page.keyboard.press("1")
    ann.see("#lost:not([hidden])", "The server is not responding. Nothing more can be answered until it does")
    ann.see("#said.wrong", "The answer waits here, and is sent once the server responds.")
    assert ann.row == first and stored_answers(folder) == []
    ann.page.unroute("**/api/**")
    ann.page.wait_for_selector("#lost", state="hidden")
    ann.see("#said", "“no” is stored")
    assert stored_answers(folder) == [(first, "no", "Ann")]
    ann.forget("ERR_FAILED")


def test_an_answer_that_was_stored_but_not_confirmed_is_not_asked_again(audit, folder):
    ann = audit(n_answers=12)()
    first = ann.row

    def swallow(route):
        route.fetch()  # it reaches the server, but the answer gets lost
        route.abort()

    ann.settle()
    ann.page.route("**/api/answer", swallow)
    ann.page.keyboard.press("1")
    ann.see("#said", "That question has an answer by now; this is the next one.")
    ann.page.wait_for_selector("#lost", state="hidden")
    assert ann.row != first and stored_answers(folder) == [(first, "no", "Ann")]
    ann.forget("ERR_FAILED")


def test_who_closes_the_page_lets_others_have_the_question(audit, monkeypatch):
    left, leave = [], AuditDesk.leave
    monkeypatch.setattr(AuditDesk, "leave", lambda *who: left.append(leave(*who)))
    person = audit(n_answers=12)
    ann, bob = person(), person(name="Bob")
    first = ann.row
    assert bob.row != first
    ann.page.close()
    wait(bob.page, lambda: left, "the server does not know that Ann has left")
    cid = person(name="Cid")
    assert cid.row == first


@pytest.mark.parametrize(("desk", "command"), [("AuditDesk", "audit"), ("ConfirmDesk", "confirm")])
def test_a_killed_server_loses_nothing_and_the_audit_is_resumed(browser, folder, desk, command):
    port = 20_000 + os.getpid() % 10_000  # which no other test takes in between
    acknowledged = []
    with serving(folder, port, room="audit", desk=desk) as (address, process):
        ann = Auditor(browser, address)
        for _ in range(5):
            acknowledged.append(ann.row)
            ann.press("1")
        waiting = ann.row
        process.send_signal(signal.SIGKILL)
        process.wait()
        ann.page.keyboard.press("1")
        ann.see("#lost:not([hidden])", "The server is not responding.")
        assert ann.row == waiting
    assert [row for row, _, _ in stored_answers(folder, command)] == acknowledged
    with serving(folder, port, room="audit", desk=desk) as (later, _):
        assert later == address
        ann.page.wait_for_selector("#lost", state="hidden")
        ann.see("#said", "is stored")  # the answer that waited
        ann.context.close()
    assert [row for row, _, _ in stored_answers(folder, command)] == [*acknowledged, waiting]

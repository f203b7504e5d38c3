"""The rules of axe-core, on every state of the audit page."""

import pytest
from browsers import answer_in_turns

pytestmark = pytest.mark.slow
SCREENS = {"wide": dict(width=1200, height=800), "phone": dict(width=390, height=844, scheme="dark")}


@pytest.mark.parametrize("screen", SCREENS)
def test_no_rule_is_broken_in_any_state_of_the_page(audit, finished, screen):
    ann = audit(n_answers=10, repeat=False)(begin=False, **SCREENS[screen])
    assert ann.list_faults() == []
    ann.page.click("#begin")
    ann.settle()
    assert ann.list_faults() == []
    ann.page.keyboard.press("?")
    assert ann.list_faults() == []
    ann.close_dialog()
    ann.page.click("#person")
    assert ann.list_faults() == []
    ann.close_dialog()
    answer_in_turns({"Ann": ann}, {row: "1" for row in range(1, len(finished.clean) + 1)})
    assert ann.view == "end" and ann.list_faults() == []

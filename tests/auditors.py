"""People who answer at the audit page."""

import re
from contextlib import closing

from reviewers import Person, until

from subsvms.app.desk.earlier import open_acts

OPEN = (  # nothing is being stored, and the question is not so new that presses are ignored
    "!document.body.classList.contains('busy') && !('new' in document.body.dataset) "
    "&& document.body.dataset.view !== 'start'"
)


class Auditor(Person):
    """A person at the audit page, and all that its server sent."""

    def __init__(self, *words, begin=True, **options):
        self.received = []  # (path, text), in the order in which they came
        super().__init__(*words, **options)
        if begin:
            self.begin()

    def open_tab(self, words=""):
        page = super().open_tab(words)
        until(page, "document.getElementById('total').textContent.trim() !== ''")
        return page

    def note(self, response):
        if "/api/" in response.url:
            self.received.append(response)

    def begin(self):
        """Begin with the keyboard: the button has the focus."""
        until(self.page, "document.activeElement.id === 'begin'")
        self.page.keyboard.press("Enter")
        self.settle()

    def settle(self):
        """Wait until the page takes an answer, or has nothing to ask."""
        until(self.page, OPEN)

    @property
    def view(self):
        return self.page.evaluate("document.body.dataset.view")

    @property
    def row(self):
        return int(re.sub(r"\D", "", self.page.inner_text("#row")))

    def press(self, key):
        """Press a key once the page takes an answer, and wait until it is stored."""
        self.settle()
        with self.page.expect_response("**/api/answer"):
            self.page.keyboard.press(key)
        self.settle()


def answer_all(people, keys, most=200):
    """Let people answer in turns by the key of each row, until nothing is open; return (who, row, key)."""
    log = []
    while len(log) < most:
        for name, person in people.items():
            person.settle()
            if person.view == "ask":
                row = person.row
                person.press(keys[row])
                log.append((name, row, keys[row]))
        if all(person.view == "end" for person in people.values()):
            return log
    raise AssertionError("The audit does not end.")


def read_answers(folder, part="audit"):
    """Return the stored answers, as (row, label, who)."""
    with closing(open_acts(folder)) as decisions:
        return [(one.row, one.label, one.who) for one in decisions.answers[part]]

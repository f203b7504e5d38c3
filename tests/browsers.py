"""A review page or an audit page that is served, requests to it, and people at browsers."""

import asyncio
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest
import uvicorn
from answered_audits import read_answers

from subsvms.app.desk.opened import open_acts
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.server import make_app, serve

SERVE = (
    "import sys; from subsvms.app.desk.{room} import {desk}; from subsvms.app.desk.server import serve; "
    "serve({desk}(sys.argv[1], **{options!r}), port=int(sys.argv[2]), "
    "ready=lambda address: print(address, flush=True))"
)
HOSTILE = [
    "<script>ran = 1</script>", "<img src=x onerror='ran = 1'>", '" onmouseover="ran = 1" x="', "x" * 5000,
    "several words " * 400, "{{ 7 * 7 }}", "\u202e\u0627\u0644 \U0001f642", "called back",
]  # fmt: skip
SETTLED = (  # nothing is being stored or loaded, and the address, which follows a little later, names the row
    "!document.querySelector('body.busy, #lines[aria-busy=true], #issue.loading') && "
    "(location.hash.match(/row=(\\d+)/)?.[1] ?? '') === "
    "(document.querySelector('#issue p')?.textContent.match(/[\\d,]+/)[0].replaceAll(',', '') ?? '')"
)
TAKING = (  # nothing is being stored, and the question is not so new that presses are ignored
    "!document.body.classList.contains('busy') && !('new' in document.body.dataset) "
    "&& document.body.dataset.view !== 'start'"
)
WAIT = 60_000  # milliseconds; the machine may be busy
SCRIPTS = files("subsvms.app.desk") / "static"
# On a busy machine, a server that takes three seconds is not gone, and a mouse is released late.
PATIENT = {"PATIENCE": WAIT, "SLOW": WAIT, "PRESS": WAIT}
QUICK = PATIENT | {"POLL": 500, "AGAIN": 500, "GLANCE": 50}  # milliseconds; but people are not waited for
TOKEN, HOST = "t0ken", "127.0.0.1:8765"


def ask(desk, *requests):
    """Send requests one after the other and return the answers."""
    import httpx  # which subsvms[app] does not bring

    async def work():
        transport = httpx.ASGITransport(app=make_app(desk, TOKEN, {HOST}), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
            return [await client.request(method, url, **options) for method, url, options in requests]

    return asyncio.run(work())


def get(url, **options):
    return "GET", f"/{TOKEN}/{url}", options


def post(url, body, **options):
    return "POST", f"/{TOKEN}/{url}", {"json": body, **options}


@contextmanager
def serving(folder, port=9300, room="review", desk="", **options):
    code = SERVE.format(room=room, desk=desk or f"{room.title()}Desk", options=options)
    words = [sys.executable, "-c", code, folder, str(port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait(WAIT / 1000)


@contextmanager
def serving_here(folder, open_desk=ReviewDesk, **more):
    """Serve in a thread, which takes none of the seconds that a process of its own needs for imports."""
    addresses, servers = queue.Queue(), []

    class Recorded(uvicorn.Server):
        def __init__(self, config):
            super().__init__(config)
            servers.append(self)

    desk, options = open_desk(folder), dict(port=9300, ready=addresses.put, **more)
    thread = threading.Thread(target=serve, args=(desk,), kwargs=options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(uvicorn, "Server", Recorded)
        thread.start()
        address = addresses.get(timeout=60)
    try:
        yield address
    finally:  # a server that goes on after a test that failed would keep the whole run from ending
        servers[0].should_exit = True
        thread.join(WAIT / 1000)
        desk.close()
    assert not thread.is_alive()


@contextmanager
def reviewing(browser, folder):
    """Open a review that nobody has begun, and look in the end whether the page had errors."""
    for path in folder.glob("decisions*"):
        path.unlink()
    with serving_here(folder) as address:
        person = Reviewer(browser, address)
        yield person
        person.check()
        person.context.close()


def until(page, condition, *values):
    """Wait until an expression holds; playwright cannot, as the page's policy forbids `eval`."""
    wait(page, lambda: page.evaluate(condition, *values), f"{condition} {values}")


def wait(page, condition, what=""):
    """Wait until something holds outside of the page, while its events arrive."""
    end = time.monotonic() + WAIT / 1000
    while not condition():
        assert time.monotonic() < end, f"{what}; the page says: {page.inner_text('#said')}"
        page.wait_for_timeout(30)


def set_pace(pauses):
    """Return the scripts of a page that wait, with other pauses: {name: text}."""
    pause = re.compile(rf"^const ({'|'.join(pauses)}) = [\d_]+;", re.MULTILINE)
    texts = {path.name: path.read_text() for path in SCRIPTS.glob("*.js")}
    assert {name for text in texts.values() for name in pause.findall(text)} == set(pauses)

    def write(found):
        return f"const {found[1]} = {pauses[found[1]]};"

    return {name: pause.sub(write, text) for name, text in texts.items() if pause.search(text)}


def send_script(text, route):
    route.fulfill(body=text, content_type="text/javascript")


class Person:
    """A person at a browser: what they see, and the errors of the page."""

    def __init__(self, browser, address, name="Ann", width=1200, height=800, scheme="light", pauses=QUICK):
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.context.set_default_timeout(WAIT)
        for script, text in set_pace(pauses).items() if pauses else ():
            self.context.route(f"**/static/{script}", partial(send_script, text))
        if name:
            self.context.add_init_script(
                f"localStorage.getItem('subsvms.name') || localStorage.setItem('subsvms.name', '{name}')"
            )
        self.address, self.faults, self.asked = address, [], []
        self.page = self.open_tab()

    def open_tab(self, words=""):
        page = self.context.new_page()
        page.on("console", lambda message: self.faults.append(message.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("response", lambda response: self.note(response))
        page.goto(self.address + words)
        return page

    def note(self, response):
        """Note an answer of the server."""

    def forget(self, *words):
        """Wait for what a refusal leaves in the browser's console: lines with one of the words; forget it."""
        wait(self.page, lambda: self.faults)
        assert all(any(word in fault for word in words) for fault in self.faults), self.faults
        self.faults.clear()

    def see(self, selector, words):
        """Wait until a part of the page contains these words."""
        holds = "part.textContent.replaceAll('\\u00a0', ' ').includes(words)"
        found = f"[...document.querySelectorAll(selector)].some(part => {holds})"
        until(self.page, f"([selector, words]) => {found}", [selector, words])

    def close_dialog(self):
        """Leave a dialog, and wait until it is closed: a key before that would be the dialog's."""
        self.page.keyboard.press("Escape")
        until(self.page, "document.querySelector('dialog[open]') === null")

    @property
    def overflow(self):
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate("(root => root.scrollWidth - root.clientWidth)(document.documentElement)")

    def list_faults(self):
        """Return the rules of axe-core that the page breaks, each with the elements that break it."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response["violations"]
        return [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in found]

    def check(self):
        """Assert that nothing failed, no other host was contacted, and no cell of the table ran as code."""
        assert self.faults == [], self.faults
        origin = self.address.split("/")[2]
        assert {url.split("/")[2] for url in self.asked if not url.startswith("data:")} == {origin}
        assert all(page.evaluate("typeof ran") == "undefined" for page in self.context.pages)


class Reviewer(Person):
    def open_tab(self, words=""):
        page = super().open_tab(words)
        until(page, "document.getElementById('shown').textContent.trim() !== ''")
        if page.viewport_size["width"] > 760:
            page.wait_for_selector("#detail-title, body.empty")
        return page

    def press(self, *keys):
        """Press keys one after the other, as a person does: after the page has dealt with the last one."""
        for key in keys:
            self.settle()
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(50)
            self.settle()

    def settle(self):
        """Wait until a decision is stored and the chosen issue, which the address names, is shown."""
        until(self.page, SETTLED)

    def narrow(self, name, value):
        """Choose a value of the filter, and wait until its first row is shown."""
        self.settle()
        self.page.select_option(f"#{name}", value)
        until(self.page, "words => location.hash.includes(words)", f"{name}={value}")
        self.settle()

    def go_back(self):
        self.page.click("#back")
        self.page.wait_for_selector("#lines", state="visible")

    @property
    def row(self):
        self.settle()
        return int(re.search(r"Row ([\d,]+)", self.page.inner_text("#issue")).group(1).replace(",", ""))

    @property
    def rows(self):
        self.settle()
        return self.page.eval_on_selector_all(
            "#lines button", "all => all.map(one => Number(one.dataset.row))"
        )


def stored(folder):
    """Return the stored decisions, as row: (verdict, label, who)."""
    with closing(open_acts(Path(folder))) as book:
        latest = {row: stack[-1] for row, stack in book.stacks.items() if stack}
        return {row: (one.verdict, one.label, one.who) for row, one in latest.items()}


def stored_rows(folder):
    """Return the rows that were decided, in the order in which they were stored."""
    with closing(open_acts(Path(folder))) as book:
        return [row for act in sorted(book.rows_of) for row in book.rows_of[act]]


def read_acts(folder):
    with closing(open_acts(Path(folder))) as book:
        return book.order


def total(ann):
    ann.settle()
    return int(ann.page.inner_text("#shown").split()[0].replace(",", ""))


class Auditor(Person):
    """A person at the audit page, and all that its server sent."""

    def __init__(self, *words, begin=True, **options):
        self.received = []  # in the order in which they came
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
        until(self.page, TAKING)

    @property
    def view(self):
        return self.page.evaluate("document.body.dataset.view")

    @property
    def row(self):
        """The row that is shown, which the page does not say: it is asked to be answered blind."""
        mine = [one for one in self.received if one.frame.page == self.page]
        asked = [one for one in mine if one.url.endswith(("/question", "/answer"))]
        return asked[-1].json()["question"]["row"]

    def press(self, key):
        """Press a key once the page takes an answer, and wait until it is stored."""
        self.settle()
        with self.page.expect_response("**/api/answer"):
            self.page.keyboard.press(key)
        self.settle()


def answer_in_turns(people, keys, most=200):
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


def stored_answers(folder, part="audit"):
    """Return the stored answers, as (row, label, who)."""
    return [(one.row, one.label, one.who) for one in read_answers(folder, part)]

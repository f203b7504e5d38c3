"""Pictures, sounds and links of a table in a browser: shown, reached by keyboard, and without power."""

import io
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browsers import QUICK, Auditor, Reviewer, reviewing, serving_here, stored, until
from loans import make_rows, write
from PIL import Image

from subsvms.app.desk.audit import AuditDesk
from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job

pytestmark = pytest.mark.slow
SVG = "<svg xmlns='http://www.w3.org/2000/svg' onload='ran = 1'><script>ran = 1</script></svg>"
SLY_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9' onload='top.ran = 1'><script>top.ran = 1"
    "</script><image href='{0}/x.png'/><style>@import '{0}/x.css'</style></svg>"
)
PNG = io.BytesIO()
Image.new("RGB", (12, 12)).save(PNG, "PNG")
PNG = PNG.getvalue()
PICTURES = [
    "pictures/{}.png", "pictures/{}.png", "../secret.png", "evil.png", "https://elsewhere.example/x.png", "",
]  # fmt: skip
LINKS = ["https://example.org/a?b=c", "javascript:ran=1", "http://x y", "HTTPS://example.org/\u202egpj"]


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """The folder of a run on rows with a picture, a sound and a link each."""
    place = tmp_path_factory.mktemp("gallery")
    (place / "pictures").mkdir()
    rows, _ = make_rows(300)
    for number, row in enumerate(rows):
        Image.new("RGB", (160, 160), (number % 256, 40, 90)).save(place / "pictures" / f"{number}.png")
        row["picture"] = PICTURES[number % len(PICTURES)].format(number)
        row["sound"], row["link"] = "beep.wav", LINKS[number % len(LINKS)]
    (place / "evil.png").write_text(SVG)
    Image.new("RGB", (9, 9)).save(place.with_name("secret.png"))
    table = write(place / "t.csv", rows)
    return Path(
        do_job(str(table), Options(label="default", n_estimators=100), Work(n_jobs=1)).written.folder
    ), rows


@pytest.fixture
def ann(browser, gallery):
    with reviewing(browser, gallery[0]) as person:
        yield person


def choose(ann, rows, start):
    """Show an issue whose picture begins so, and return its row."""
    row = next(row for row in ann.rows if rows[row - 1]["picture"].startswith(start))
    ann.page.goto(f"{ann.address}#row={row}")
    ann.see("#issue", f"Row {row}:")
    return row


def test_a_picture_is_shown_with_its_name_and_opened_by_keyboard(ann, gallery):
    folder, rows = gallery
    row = choose(ann, rows, "pictures/")
    own = ann.page.locator(".media .own img")
    assert own.get_attribute("alt") == f"picture: {rows[row - 1]['picture']}"
    until(ann.page, "document.querySelector('.media .own img').naturalWidth === 160")
    assert "picture" not in ann.page.locator(".compare tbody th").all_inner_texts()  # it is shown above
    button = ann.page.locator(".media .own .picture")
    height = button.bounding_box()["height"]
    ann.page.keyboard.press("p")
    assert button.get_attribute("aria-expanded") == "true" and button.bounding_box()["height"] > height
    assert ann.list_faults() == []
    ann.page.keyboard.press("p")
    button.focus()
    ann.page.keyboard.press("Enter")  # which presses the picture, and does not accept
    assert button.get_attribute("aria-expanded") == "true" and stored(folder) == {}
    sound = ann.page.locator(".media .own audio")
    assert sound.get_attribute("aria-label") == "sound: beep.wav" and sound.get_attribute("preload") == "none"
    sound.focus()
    ann.page.keyboard.press("ArrowDown")
    assert ann.row == row  # the arrow is the sound's
    button.focus()
    ann.press("j")
    assert ann.row != row and ann.page.evaluate("document.activeElement.id") == "detail-title"
    ann.faults.clear()  # there is no such sound


@pytest.mark.parametrize("start, why", [
    ("../secret", "does not lie in the folder of the table"), ("evil", "does not begin as image/png does"),
    ("https://elsewhere", "A picture on the web is shown if its host is allowed: see --media-from."),
])  # fmt: skip
def test_what_may_not_be_shown_is_named_with_the_reason_and_nothing_runs(ann, gallery, start, why):
    row = choose(ann, gallery[1], start)
    ann.see(".media .own .no-medium", why)
    ann.see(".media .own .no-medium", gallery[1][row - 1]["picture"])
    assert not any("elsewhere.example" in url for url in ann.asked) and ann.list_faults() == []
    ann.faults.clear()  # refused


def test_pictures_of_similar_rows_wait_until_a_row_has_rested_and_move_nothing(browser, gallery):
    folder, rows = gallery
    with serving_here(folder) as address:
        ann = Reviewer(browser, address, pauses=QUICK | {"REST": 3000})
        choose(ann, rows, "pictures/")
        similar = ann.page.locator(".media .side img")
        assert similar.count() and ann.page.get_attribute(".media .own img", "src")
        assert similar.first.get_attribute("src") is None and similar.first.get_attribute("alt")
        before = similar.first.bounding_box()
        until(ann.page, "document.querySelector('.media .side img').naturalWidth === 160")
        after = similar.first.bounding_box()
        assert (before["y"], before["height"]) == (after["y"], after["height"])
        ann.context.close()


def test_only_addresses_on_the_web_can_be_followed_and_they_learn_nothing(ann, gallery):
    rows = gallery[1]
    for row in ann.rows[:12]:
        ann.page.click(f"[data-row='{row}']")
        ann.see("#issue", f"Row {row}:")
    links = ann.page.locator("#issue a")
    for link in links.all():
        assert link.get_attribute("rel") == "noopener noreferrer" and link.get_attribute("target") == "_blank"
        assert link.get_attribute("href").lower().startswith(("https://", "http://"))
    found = {row["link"] for row in rows if row["link"] in ann.page.inner_text("#issue")}
    assert found and ann.page.locator("#issue a[href^='javascript']").count() == 0
    ann.faults.clear()


class Elsewhere(BaseHTTPRequestHandler):
    """A host on the web, which sends a picture, one with scripts in it, or the way to another host."""

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        away, is_svg = self.server.away, self.path.startswith("/svg")
        self.send_response(302 if away else 200)
        kind = "image/svg+xml" if is_svg else "image/png"
        self.send_header(*(("Location", away) if away else ("Content-Type", kind)))
        self.end_headers()
        if not away:
            self.wfile.write(SLY_SVG.format(self.server.far).encode() if is_svg else PNG)

    def log_message(self, *words):
        """Print nothing."""


@contextmanager
def serving_pictures(away=None, far=""):
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        server.asked, server.away, server.far = [], away, far
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_an_allowed_host_shows_pictures_and_cannot_run_code_or_send_the_browser_to_another(browser, tmp_path):
    with serving_pictures() as (other, far), serving_pictures(f"{far}/away.png") as (sly, near):
        with serving_pictures(far=far) as (plain, good):
            rows, _ = make_rows(300)
            posing = f"{good}@elsewhere.example"  # that of a person, at another host
            hosts = (f"{good}/png", f"{good}/svg", near, far, posing)
            for number, row in enumerate(rows):
                row["picture"] = f"{hosts[number % len(hosts)]}/{number}.png"
                row["sound"] = f"{near}/{number}.mp3"
            table = write(tmp_path / "t.csv", rows)
            folder = do_job(
                str(table), Options(label="default", n_estimators=50), Work(n_jobs=1)
            ).written.folder
            with serving_here(folder, hosts=[good, near]) as address:
                ann = Reviewer(browser, address)
                for host in (far, posing):
                    choose(ann, rows, host)
                    ann.see(".media .own .no-medium", "--media-from")
                choose(ann, rows, near)
                ann.see(".media .own .no-medium", "The host does not send it.")
                for kind in ("svg", "png"):
                    choose(ann, rows, f"{good}/{kind}")
                    until(ann.page, "document.querySelector('.media .own img')?.naturalWidth > 0")
                ann.page.evaluate("document.querySelector('.media .own audio').play().catch(() => {})")
                until(ann.page, "!document.querySelector('.media .own audio')")  # it was sent away, too
                assert ann.page.evaluate("typeof ran") == "undefined"
                assert not any("elsewhere.example" in url for url in ann.asked)
                ann.context.close()
    assert plain.asked and {path[-3:] for path, _ in sly.asked} == {"png", "mp3"} and other.asked == []
    assert all(not {"Referer", "Cookie"} & set(headers) for _, headers in plain.asked + sly.asked)


def test_an_audit_shows_the_picture_and_keys_answer(browser, gallery):
    folder, _ = gallery
    with serving_here(folder, AuditDesk) as address:
        ann = Auditor(browser, address)
        for _ in range(12):
            if ann.page.locator("#values img").count():
                break
            ann.press("1")
        until(ann.page, "document.querySelector('#values img').naturalWidth === 160")
        assert ann.page.get_attribute("#values img", "alt").startswith("picture: pictures/")
        ann.page.keyboard.press("p")
        assert ann.page.get_attribute("#values .picture", "aria-expanded") == "true"
        assert ann.list_faults() == []
        ann.faults.clear()
        ann.check()
        ann.context.close()


def test_what_was_searched_for_is_marked(ann):
    ann.page.fill("#search", "RED")
    until(ann.page, "CSS.highlights.get('hit')?.size > 2")
    marked = ann.page.evaluate("[...CSS.highlights.get('hit')].map(range => range.toString().toLowerCase())")
    assert set(marked) == {"red"}
    ann.page.fill("#search", "")
    until(ann.page, "!CSS.highlights.has('hit')")
    ann.faults.clear()

"""Take the pictures of the review page: python docs/pictures/review.py [FOLDER].

It needs subsvms[test] and Chromium. The tickets are made by benchmarks/tickets.py. Without a folder the two
pictures of the docs are written beside this file; with one, pictures of every state of the page go there,
to look at.
"""

import shutil
import sys
import tempfile
import threading
from pathlib import Path
from queue import Queue

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.server import serve
from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))
from benchmarks.tickets import write_tickets  # noqa: E402

COLOURS = 256  # enough for text and the colours of classes; a smaller file
WIDE, SMALL, PHONE = (1180, 720), (800, 600), (390, 780)
BROAD, HALF, SHORT = (1680, 900), (640, 400), (1180, 480)  # HALF is a screen of 1280 by 800 at 200 %


def correct_tickets(folder: Path) -> Path:
    """Correct tickets with wrong labels, and return the folder of the run."""
    write_tickets(folder / "tickets.csv", 600, wrong=0.3)
    do_job(str(folder / "tickets.csv"), Options("topic", id_column="ticket"), Work(output=folder / "run"))
    return folder / "run"


class Album:
    """Pictures of a page that is served, as different people see it."""

    def __init__(self, browser: Browser, address: str, folder: Path):
        self.browser, self.address, self.folder = browser, address, folder

    def open(self, size, who="Ann", words="", scheme="light") -> Page:
        """Open the page on a screen of this size."""
        viewport = {"width": size[0], "height": size[1]}
        context = self.browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")
        context.add_init_script(f"localStorage.setItem('subsvms.name', '{who}')")
        page = context.new_page()
        page.goto(self.address + words)
        page.wait_for_selector("#lines button, #nothing p")
        if size in (PHONE, HALF) and page.locator("#lines button").count():
            page.click("#lines button")
        page.wait_for_timeout(500)
        return page

    def take(self, page: Page, name: str) -> None:
        """Save what a page looks like."""
        page.wait_for_timeout(400)
        path = self.folder / f"{name}.png"
        page.screenshot(path=path)
        Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def press(page: Page, keys: str) -> None:
    """Press keys at the pace of a person."""
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(150)


def take_two(album: Album) -> None:
    """Take the pictures of the docs: a long text with five classes, and a phone."""
    page = album.open(WIDE)
    press(page, "aaa")
    album.take(page, "review")
    album.take(album.open(PHONE), "review_phone")


def take_all(album: Album) -> None:
    """Take a picture of every state."""
    take_two(album)
    album.take(album.open(WIDE, scheme="dark"), "dark")
    for name, size in (("small", SMALL), ("broad", BROAD), ("half", HALF), ("short", SHORT)):
        album.take(album.open(size), name)
    page = album.open(PHONE, scheme="dark")
    album.take(page, "phone_dark")
    page = album.open(SHORT)
    page.click("#unfold")
    album.take(page, "short_open")
    page = album.open(WIDE, words="#given=billing&who=Ann&status=all&search=parcel")
    album.take(page, "chips")
    page = album.open(PHONE)
    page.click("#back")
    album.take(page, "phone_list")
    page = album.open(WIDE)
    page.keyboard.press("w")
    page.keyboard.press("n")
    page.keyboard.type("The text speaks of two things.")
    album.take(page, "note")
    page.keyboard.press("Enter")
    press(page, "a")
    press(album.open(WIDE, who="Bob", words="#status=all"), "ggxs")
    album.take(album.open(WIDE, words="#status=disputed"), "disagreement")
    page = album.open(WIDE, words="#status=all")
    page.click("#more-filters summary")
    album.take(page, "filters")
    press(page, "?")
    album.take(page, "help")
    page = album.open(WIDE)
    page.route("**/api/**", lambda route: route.abort())
    press(page, "a")
    album.take(page, "stopped")
    page = album.open(WIDE)
    page.click("#all summary")
    page.click("[data-all=skip]")
    album.take(page, "all")
    page.click("#all-yes")
    album.take(page, "skipped")
    page.click("text=Show skipped rows")
    page.wait_for_timeout(400)
    page.click("#all summary")
    page.click("[data-all=accept]")
    page.click("#all-yes")
    page.wait_for_timeout(600)
    album.take(album.open(WIDE), "finished")
    album.take(album.open(PHONE), "phone_finished")


def main(folder: Path | None) -> None:
    """Serve a run and take pictures of its page."""
    addresses: Queue[str] = Queue()
    how = {"port": None, "ready": addresses.put}
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        run = correct_tickets(Path(place))
        threading.Thread(target=serve, args=(ReviewDesk(run),), kwargs=how, daemon=True).start()
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        album = Album(browser, addresses.get(timeout=60), folder or HERE)
        take_two(album) if folder is None else take_all(album)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)

"""Decide on tickets by keyboard in a browser, and measure the time from a key to the next row.

    python -m benchmarks.review_keys [--issues 364 100000] [--keys 300] [--pause 100]

Keys are pressed in Chromium, with a pause in between, on tickets with texts of about 490 characters in five
classes; the smallest number again with a photograph of 1600 x 1200 pixels for each ticket. Measured is the
time from the key event to the first frame after the next row was put on the page, for which a browser waits
up to 17 ms. Afterwards every decision is looked up in the file: all must be there, in the order of the keys.
Writes results/review_keys.json.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

from benchmarks.made import write
from benchmarks.review import write_run
from benchmarks.tickets import write_tickets
from subsvms.app.options import Options

# Not public: decisions are read as they are stored
from subsvms.app.runs.answer_store import AnswerStore

RESULTS = Path(__file__).parent / "results"
N_CLASSES = 5
QUANTILES = (("median", 50), ("95 %", 95), ("longest", 100))
SERVE = """
import sys
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.server import serve
serve(ReviewDesk(sys.argv[1]), port=18900, ready=lambda address: print(address, flush=True))
"""
WATCH = """
window.times = [];
let pressed = null;
document.addEventListener("keydown", (event) => (pressed = event.timeStamp), true);
document.addEventListener("DOMContentLoaded", () => new MutationObserver(() => {
  const began = pressed;
  pressed = null;
  if (began === null) return;
  const channel = new MessageChannel();
  channel.port1.onmessage = () => window.times.push(performance.now() - began);
  requestAnimationFrame(() => channel.port2.postMessage(null)); // after this frame was painted
}).observe(document.getElementById("issue"), { childList: true }));
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--issues", type=int, nargs="+", default=[364, 100_000])
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--pause", type=float, default=100.0, help="milliseconds between keys")
    args = parser.parse_args()
    cases = [(n_issues, False) for n_issues in args.issues] + [(min(args.issues), True)]
    results = [measure(n, min(args.keys, n - 1), args.pause, photos) for n, photos in cases]
    print(json.dumps(results, indent=1))
    write(RESULTS / "review_keys.json", json.dumps(results, indent=1) + "\n")


def add_photos(path):
    """Add a column with a photograph of each ticket."""
    tickets, rng = pd.read_csv(path), np.random.default_rng(0)
    (path.parent / "photos").mkdir()
    tickets["photo"] = [f"photos/{ticket}.jpg" for ticket in tickets["ticket"]]
    for name in tickets["photo"]:
        blocks = rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(blocks).resize((1600, 1200)).save(path.parent / name)
    tickets.to_csv(path, index=False)


def measure(n_issues, n_keys, pause, photos):
    """Return how long people wait for the next row of so many issues."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "tickets.csv"
        write_tickets(path, n_issues)
        if photos:
            add_photos(path)
        how = {"exclude": ("photo",)} if photos else {}
        folder = write_run(path, Options("topic", n_estimators=20, id_column="ticket", **how), n_witnesses=3)
        server = subprocess.Popen([sys.executable, "-c", SERVE, folder], stdout=subprocess.PIPE, text=True)
        try:
            rows, times = press_keys(server.stdout.readline().strip(), n_keys, pause)
        finally:
            server.terminate()
            server.wait()
        book = AnswerStore(folder / "decisions.sqlite")
        stored = [row for act in sorted(book.rows_of) for row in book.rows_of[act]]
        book.close()
    return {
        "issues": n_issues, "photographs": photos, "keys": n_keys, "pause, ms": pause,
        **{f"next row, {word}, ms": round(float(np.percentile(times, q)), 1) for word, q in QUANTILES},
        "lost": len(set(rows) - set(stored)), "in order": stored == rows,
        "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def press_keys(address, n_keys, pause):
    """Press keys, and return the rows that were shown, and the time from each key to the next row."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script("localStorage.setItem('subsvms.name', 'Ann')")
        page.add_init_script(WATCH)
        page.goto(address, timeout=120_000)
        page.wait_for_selector("#detail-title", timeout=120_000)
        page.wait_for_timeout(1000)
        rows = []
        for number in range(n_keys):
            rows.append(int(page.get_attribute("#lines [aria-current]", "data-row")))
            page.keyboard.press(str(number % N_CLASSES + 1))
            page.wait_for_timeout(pause)
            while page.evaluate("window.times.length") <= number:
                page.wait_for_timeout(5)
        while page.inner_text("#waiting"):
            page.wait_for_timeout(50)
        times = page.evaluate("window.times")
        browser.close()
    return rows, times


if __name__ == "__main__":
    main()

"""Take the picture of the report for the README: python docs/pictures/report.py.

It needs subsvms[test] and Chromium. The table is scikit-learn's breast cancer data with wrong labels.
Sections that a reader of the README does not need are left out of the picture.
"""

import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from subsvms.adversaries import directed_flips
from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job

SHOWN = ("summary", "classes", "map")
WIDTH = 960
COLOURS = 160  # enough for text and the colours of classes; a smaller file


def correct_tumours(folder: Path) -> Path:
    """Correct a table with wrong labels, and return its report."""
    tumours = load_breast_cancer(as_frame=True)
    given = directed_flips(tumours.target.to_numpy(), rho=0.75, alpha=1.0, random_state=0).labels
    frame = tumours.data.assign(diagnosis=tumours.target_names[given])
    frame.to_csv(folder / "tumours.csv", index=False)
    do_job(str(folder / "tumours.csv"), Options("diagnosis"), Work(output=folder / "run"))
    return folder / "run" / "report.html"


def take_picture(report: Path, path: Path) -> None:
    """Open a report in Chromium and save what it looks like."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 800})
        page.goto(report.as_uri())
        page.evaluate(
            "shown => document.querySelectorAll('main > section').forEach("
            "part => shown.includes(part.id) || part.remove())",
            list(SHOWN),
        )
        page.evaluate("document.querySelector('footer').remove()")
        page.screenshot(path=path, full_page=True)
        browser.close()
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(path):
    """Make a report and take its picture."""
    with tempfile.TemporaryDirectory() as folder:
        take_picture(correct_tumours(Path(folder)), path)


if __name__ == "__main__":
    main(Path(__file__).with_suffix(".png"))

"""Take the picture of the audit page for its docs: python docs/pictures/audit.py.

It needs subsvms[test] and Chromium. The table is scikit-learn's breast cancer data with wrong labels; a
person who knows the truth has answered some questions.
"""

import shutil
import tempfile
import threading
from pathlib import Path
from queue import Queue

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer

from subsvms.adversaries import boundary_flips
from subsvms.app.desk.audit import AuditDesk
from subsvms.app.desk.server import serve
from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job

COLUMNS = (
    "mean radius",
    "mean texture",
    "mean smoothness",
    "worst area",
    "worst concavity",
    "worst symmetry",
)
N_ANSWERED = 40
WIDTH = 860
COLOURS = 256  # enough for text and the colours of classes; a smaller file


def answer_some(folder: Path) -> Path:
    """Correct a table with wrong labels, answer some questions about it, and return the folder of the run."""
    tumours = load_breast_cancer(as_frame=True)
    X = tumours.data[list(COLUMNS)]
    given = boundary_flips(X.to_numpy(), tumours.target.to_numpy(), error_rate=0.12, random_state=0).labels
    X.assign(tumour=tumours.target_names[given]).to_csv(folder / "tumours.csv", index=False)
    do_job(str(folder / "tumours.csv"), Options("tumour"), Work(output=folder / "run"))
    desk = AuditDesk(folder / "run")
    for _ in range(N_ANSWERED):
        question = desk.question("Ann")
        clean = str(tumours.target_names[tumours.target[question["row"] - 1]])
        desk.answer("Ann", question["row"], clean, question["id"])
    return folder / "run"


def take_picture(run: Path, path: Path) -> None:
    """Open the audit page in Chromium and save what it looks like."""
    addresses: Queue[str] = Queue()
    how = {"port": None, "ready": addresses.put}
    threading.Thread(target=serve, args=(AuditDesk(run),), kwargs=how, daemon=True).start()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": 600})
        page.add_init_script("localStorage.setItem('subsvms.name', 'Ann')")
        page.goto(addresses.get(timeout=60))
        page.click("#begin")
        page.wait_for_selector("#question")
        page.screenshot(path=path)
        browser.close()
    Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(path):
    """Begin an audit and take a picture of its page."""
    with tempfile.TemporaryDirectory() as folder:
        take_picture(answer_some(Path(folder)), path)


if __name__ == "__main__":
    main(Path(__file__).with_suffix(".png"))

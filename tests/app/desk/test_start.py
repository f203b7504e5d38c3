"""The review page starts at once: it does not wait for packages that only learning and reports need."""

import json
import subprocess
import sys

HEAVY = ("sklearn", "scipy", "matplotlib", "numba", "skrub", "pyarrow")  # which itself imports pandas
LOOK = """
import json, sys, threading, urllib.request
import subsvms.app.cli.main
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.server import serve

servers = []

def look(address):
    asked = ("", "api/meta", "api/issues?search=e&limit=50", "api/state?since=0")
    answers = [urllib.request.urlopen(address + path).status for path in asked]
    print(json.dumps([answers, [name for name in sys.argv[2:] if name in sys.modules]]))
    servers[0].should_exit = True

serve(
    ReviewDesk(sys.argv[1]), port=19100, started=servers.append,
    ready=lambda address: threading.Thread(target=look, args=[address]).start(),
)
"""


def test_the_page_starts_without_scikit_learn_and_its_kind(folder):
    words = [sys.executable, "-c", LOOK, str(folder), *HEAVY]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[200] * 4, ["pyarrow"]]

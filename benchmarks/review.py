"""Let fifty people decide at once on a hundred thousand issues: count what is lost, and how long they wait.

    python -m benchmarks.review [--clients 50] [--seconds 30] [--issues 100000]

Clients send the next decision as soon as the last one is acknowledged, over loopback on this machine, whose
cores they share with the server. A sixth of the requests read instead, as the page does: a list with a
filter, a row, the state. Afterwards every acknowledged decision is looked up in the file: it fails if
one is lost. Writes results/review.json.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from benchmarks.made import write
from subsvms.app.options import Options

# Not public: the folder of a run is written without running the tool
from subsvms.app.runs.answer_store import AnswerStore
from subsvms.app.runs.issues import Issues
from subsvms.app.runs.outputs import write_issues, write_record
from subsvms.app.runs.run import Finding, run_in_memory
from subsvms.app.runs.summary import Written, summarise
from subsvms.app.tables.table import read_table
from subsvms.correction._copies import Witnesses

RESULTS = Path(__file__).parent / "results"
SERVE = """
import sys
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.server import serve
desk = ReviewDesk(sys.argv[1])
serve(desk, port=18800, ready=lambda address: print(address, len(desk), flush=True))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--issues", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = make_folder(Path(name), args.issues)
        server = subprocess.Popen([sys.executable, "-c", SERVE, folder], stdout=subprocess.PIPE, text=True)
        try:
            address, n_issues = server.stdout.readline().split()
            found = asyncio.run(review(address, int(n_issues), args.clients, args.seconds))
        finally:
            server.terminate()
            server.wait()
        stored = AnswerStore(folder / "decisions.sqlite")
        lost = sum(act not in stored.rows_of for act in found["acts"])
        result = summarise_times(found) | {
            "issues": int(n_issues), "clients": args.clients, "seconds": args.seconds, "lost": lost,
            "acts in the file": len(stored.order), "cores": os.cpu_count(),
        }  # fmt: skip
        stored.close()
    print(json.dumps(result, indent=1))
    write(RESULTS / "review.json", json.dumps(result, indent=1) + "\n")
    if lost or found["errors"]:
        sys.exit(f"{lost} decisions were lost, and {found['errors']} requests failed")


def make_folder(place, n_issues):
    """Return the folder of a run in which every row is an issue."""
    rng = np.random.default_rng(0)
    given = np.where(rng.random(n_issues) < 0.5, "yes", "no")
    lines = [f"{i % 97},{rng.integers(1000)},{'red' if i % 3 else 'blue'},{y}" for i, y in enumerate(given)]
    path = place / "big.csv"
    path.write_text("\n".join(["a,b,colour,y", *lines]))
    return write_run(path, Options("y", n_estimators=20))


def write_run(path, options, n_witnesses=0):
    """Correct a table, and return the folder of a run in which every row is an issue.

    The first 2,000 have witnesses on each side, as in a run, but drawn at random.
    """
    run = run_in_memory(read_table(path, options.label), options)
    n_issues, rng = len(run.correction.given), np.random.default_rng(0)
    shape = (2, n_issues, n_witnesses)
    drawn = rng.integers(n_issues, size=shape) if n_witnesses else np.zeros(shape, dtype=int)
    sides = [[rows if i < 2000 else [] for i, rows in enumerate(side)] for side in drawn.tolist()]
    folder = path.with_suffix(".subsvms")
    folder.mkdir()
    issues = Issues(run.correction, Witnesses(np.arange(n_issues), *sides))
    write_issues(issues.to_table(run.table), folder)
    finding = Finding(run, run, np.arange(n_issues), issues, n_issues, n_issues, 0, ())
    (folder / "report.html").touch()
    write_record(finding, summarise(finding, Written()), folder, folder, {}, None)
    return folder


async def review(address, n_issues, n_clients, seconds):
    """Let the clients work and return what they saw."""
    until = time.perf_counter() + seconds
    found = {"decide": [], "read": [], "errors": 0, "acts": []}
    await asyncio.gather(*(work(address, n_issues, number, until, found) for number in range(n_clients)))
    return found


async def work(address, n_issues, number, until, found):
    """Decide on one row after the other over one connection."""
    parts, chance = urlsplit(address), random.Random(number)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    while time.perf_counter() < until:
        row, kind = chance.randint(1, n_issues), chance.random()
        began = time.perf_counter()
        if kind < 1 / 6:
            paths = ("api/issues?given=yes&limit=50&offset=500", f"api/issues/{row}", "api/state?since=0")
            status, _ = await request(reader, writer, parts, "GET", chance.choice(paths))
            found["read"].append(time.perf_counter() - began)
        else:
            body = {"row": row, "verdict": chance.choice(["accept", "keep"]), "who": f"Person {number}"}
            status, answer = await request(reader, writer, parts, "POST", "api/decide", body)
            found["decide"].append(time.perf_counter() - began)
            if status == 200:
                found["acts"].append(answer["act"])
        found["errors"] += status != 200
    writer.close()


async def request(reader, writer, parts, method, path, body=None):
    """Send a request over an open connection and return status and answer."""
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {parts.path}{path} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-length: {len(data)}\r\n"
    writer.write(head.encode() + b"content-type: application/json\r\n\r\n" + data)
    top = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(top.split("content-length: ")[1].split("\r\n")[0])
    return int(top.split()[1]), json.loads(await reader.readexactly(length))


def summarise_times(found):
    """Return medians and tails in milliseconds."""
    result = {"decisions": len(found["decide"]), "reads": len(found["read"]), "errors": found["errors"]}
    for kind in ("decide", "read"):
        for name, q in (("median", 50), ("95 %", 95), ("longest", 100)):
            result[f"{kind}, {name}, ms"] = round(1000 * float(np.percentile(found[kind], q)), 1)
    return result


if __name__ == "__main__":
    main()

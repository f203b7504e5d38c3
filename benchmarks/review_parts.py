"""Open the review of a table that was corrected in parts, and apply decisions: time and memory.

    python -m benchmarks.review_parts [--rows 300000 3000000] [--issues 100000]

The tables have about as many wrong labels as issues are asked for, whatever their size, so that it shows what
grows with the table and what with the issues. Seconds are of processor time, of all cores
together. Writes results/review_parts.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.made import write

RESULTS = Path(__file__).parent / "results"
BLOCK = 100_000  # rows in a row group
WORDS = np.array("account bill call delay error form invoice late missing order price refund".split())
# Not public: the desk is what the server of the page opens when it starts
OPEN = """
import sys
from time import process_time
from subsvms.app.desk import server
from subsvms.app.desk.review import ReviewDesk
from subsvms.app.desk.review import Filter
times = [process_time()]
desk = ReviewDesk(sys.argv[1])
times.append(process_time())
desk.describe(int(desk.rows[0]))
times.append(process_time())
for row in desk.rows[:: max(1, len(desk) // 100)].tolist()[:100]:
    desk.describe(row)
times.append(process_time())
if sys.argv[2] == "search":
    desk.find(Filter(search="refund"))
times.append(process_time())
print(len(desk), *(after - before for before, after in zip(times, times[1:])))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[300_000, 3_000_000])
    parser.add_argument("--issues", type=int, default=100_000)
    args = parser.parse_args()
    result = []
    for n_rows in args.rows:
        with tempfile.TemporaryDirectory() as name:
            result.append(measure(Path(name), n_rows, args.issues))
            print(json.dumps(result[-1], indent=1))
    write(RESULTS / "review_parts.json", json.dumps(result, indent=1) + "\n")


def measure(place, n_rows, n_issues):
    """Return what the review of one table takes."""
    table, folder = place / "big.parquet", place / "big.subsvms"
    write_table(table, n_rows, min(0.4, n_issues / n_rows))
    tool = [sys.executable, "-m", "subsvms"]
    words = ["--label", "y", "--exclude", "text", "--engine", "local", "--quiet"]
    run([*tool, "correct", table, *words, "--svms", "20", "--kernel", "linear"])
    opened, in_all, memory = run([sys.executable, "-c", OPEN, folder, ""])
    searched, _, search_memory = run([sys.executable, "-c", OPEN, folder, "search"])
    _, seconds, apply_memory = run([*tool, "apply", folder, "--undecided", "suggestion"])
    counted, start, first, hundred, _ = map(float, opened.split())
    return {
        "rows": n_rows, "issues": int(counted), "table, MiB": round(table.stat().st_size / 2**20),
        "issues, MiB": round(sum(path.stat().st_size for path in (folder / "issues").iterdir()) / 2**20, 1),
        "open, s": round(start, 2), "show the first row, s": round(first, 2),
        "show another, ms": round(10 * hundred, 1), "process with these, s": round(in_all, 1),
        "process with these, MiB": memory,
        "search, s": round(float(searched.split()[4]), 1), "search, MiB": search_memory,
        "apply, s": round(seconds, 1), "apply, MiB": apply_memory, "cores": os.cpu_count(),
    }  # fmt: skip


def write_table(path, n_rows, wrong):
    """Write a table with four numbers, a text and two classes, a row group at a time."""
    rng, file = np.random.default_rng(0), None
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        clean = rng.integers(0, 2, n)
        X = rng.normal(0, 1, (n, 4)) + 3.0 * clean[:, None]
        given = np.where(rng.random(n) < wrong, 1 - clean, clean)
        texts = [" ".join(line) for line in WORDS[rng.integers(0, len(WORDS), (n, 15))]]
        columns = {f"x{j}": X[:, j] for j in range(4)}
        block = pa.table(columns | {"text": texts, "y": np.array(["no", "yes"])[given]})
        file = file or parquet.ParquetWriter(path, block.schema)
        file.write_table(block)
    file.close()


def run(words):
    """Run a process; return what it printed, its seconds of processor time, and its peak memory in MiB."""
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{words} failed")
    return printed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024


if __name__ == "__main__":
    main()

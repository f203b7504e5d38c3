"""Measure what the carriers and the collective claim of a run cost, beside the same run without them.

    python -m benchmarks.certificates_cost      # some minutes on one core

Tables of benchmarks/quality.py (SUBSVMS_DATA) and made ones get uniform flips of a tenth of their labels, and
are written as CSV files. `subsvms correct` runs on each in this process, on one thread, with and without
`find_carriers`, in turn. The seconds are those of the processor, at the median; a run on a small table, which
compiles, comes before. Finished tables are not repeated. `confirmed` are the changes that the second judge
agrees with, and at least so many `stand` whatever labels are `chosen`. `python -m benchmarks.certificates
report` puts the lines on its page.
"""

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from benchmarks.made import append_lines, find_done
from benchmarks.ordinary import make
from benchmarks.quality import load
from subsvms import adversaries
from subsvms.app.options import Options, Work
from subsvms.app.runs import job  # private: a user cannot switch carriers off
from subsvms.app.runs import run as runs

RESULTS = Path(__file__).parent / "results"
MADE = ("clusters, 5,000", "clusters, 20,000")
NAMES = ("breast cancer", "splice", "a1a", "svmguide1", "mushrooms", *MADE)
COLUMNS = (
    "data", "labels", "changes", "confirmed", "chosen", "stand", "seconds without", "seconds with", "ratio"
)  # fmt: skip
SEED = 0


def write_table(name, path):
    """Write a table with a tenth of its labels flipped."""
    X, y = make(name, SEED) if name in MADE else load(name, os.environ.get("SUBSVMS_DATA"))
    X = X.toarray() if sparse.issparse(X) else X
    given = adversaries.uniform_flips(y, error_rate=0.1, random_state=SEED).labels
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame.assign(label=np.array(["no", "yes"])[given]).to_csv(path, index=False)


def run(path, find_carriers):
    """Return the CPU seconds of a run, and what it says about its flagged labels together."""
    found = []

    def find(*args, **options):
        found.append(find_carriers(*args, **options))
        return found[0]

    runs.find_carriers = find
    began = time.process_time()
    job.do_job(str(path), Options(label="label", random_state=SEED), Work(n_jobs=1, force=True))
    return time.process_time() - began, found[0]


def measure(name, path, n_runs):
    """Return the line of a table."""
    write_table(name, path)
    find_carriers = runs.find_carriers
    seconds = {"with": [], "without": []}
    try:
        for _ in range(n_runs):
            for key, find in (("without", lambda *args, **options: None), ("with", find_carriers)):
                taken, found = run(path, find)
                seconds[key].append(taken)
    finally:
        runs.find_carriers = find_carriers
    without, all_of_it = (float(np.median(seconds[key])) for key in ("without", "with"))
    standing = found.standing
    values = (
        name, sum(1 for _ in path.open()) - 1, standing.n_rows, standing.n_agreeing, standing.n_flips,
        standing.n_standing, round(without, 2), round(all_of_it, 2), round(all_of_it / without, 2),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=NAMES, help="names of tables")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    warnings.simplefilter("ignore")
    target = args.results / "certificates_cost.csv"
    todo = [name for name in args.only if (name,) not in find_done(target, COLUMNS[:1])]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        if todo:
            measure("breast cancer", path, 1)
        append_lines(target, COLUMNS, (measure(name, path, args.runs) for name in todo))


if __name__ == "__main__":
    main()

"""Measure what the carriers and the collective claim of a run cost, beside the same run without them.

    python -m benchmarks.certificates_cost      # some minutes on one core

Tables of benchmarks/quality.py (SUBSVMS_DATA) and made ones get uniform flips of a tenth of their labels, and
are written as CSV files. `subsvms correct` runs on each in this process, on one thread, with and without
`find_carriers`, in turn. The seconds are those of the processor, at the median; the first run of each kind,
which compiles, is not counted. `confirmed` are the changes that the second judge agrees with, and at least so
many `stand` whatever labels are `chosen`. `python -m benchmarks.certificates report` puts this on its page.
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

from benchmarks.ordinary import make
from benchmarks.quality import load
from subsvms import adversaries
from subsvms.app.runs import job  # private: a user cannot switch carriers off
from subsvms.app.runs.options import Options

RESULTS = Path(__file__).parent / "results"
MADE = ("clusters, 5,000", "clusters, 20,000")
NAMES = ("breast cancer", "splice", "a1a", "svmguide1", "mushrooms", *MADE)
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

    job.find_carriers = find
    began = time.process_time()
    job.do_job(str(path), Options(label="label", random_state=SEED), n_jobs=1, force=True)
    return time.process_time() - began, found[0]


def measure(name, path, n_runs):
    """Return the line of a table."""
    write_table(name, path)
    find_carriers = job.find_carriers
    seconds = {"with": [], "without": []}
    try:
        for i in range(n_runs + 1):
            for key, find in (("without", lambda *args, **options: None), ("with", find_carriers)):
                taken, found = run(path, find)
                seconds[key] += [taken] if i else []
    finally:
        job.find_carriers = find_carriers
    without, all_of_it = (float(np.median(seconds[key])) for key in ("without", "with"))
    line = {
        "data": name, "labels": sum(1 for _ in path.open()) - 1, "changes": found.standing.n_rows,
        "confirmed": found.standing.n_agreeing, "chosen": found.standing.n_flips,
        "stand": found.standing.n_standing, "seconds without": round(without, 2),
        "seconds with": round(all_of_it, 2), "ratio": round(all_of_it / without, 2),
    }  # fmt: skip
    print(line, flush=True)
    return line


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", default=NAMES, help="names of tables")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        lines = [measure(name, Path(folder) / "table.csv", args.runs) for name in args.only]
    pd.DataFrame(lines).to_csv(args.results / "certificates_cost.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    main()

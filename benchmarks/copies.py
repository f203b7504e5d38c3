"""Measure what copies of rows hide, and what is found when no SVM is heard about rows whose group it saw.

    python -m benchmarks.copies --seeds 0-2      # finished runs are not repeated
    python -m benchmarks.copies --report

Three trials, each with a tenth of the labels wrong at random. *Planted*: each wrong row has a copy, moved by
a hundredth of the standard deviation of each column, with the same wrong label. *Fives*: each row is five
times in the table, moved likewise, and all five have one label; they are named as groups. *Natural*: tables
as they are, some of which hold equal rows. Each is corrected with every row alone (`groups=range(n)`), and
with groups. Of the trials with copies the table without them is the aim. Seconds are of one thread, as the
processor counts them. Tables of the paper need SUBSVMS_DATA. One line per run goes to
benchmarks/results/copies.csv, the page to benchmarks/results/copies.md.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.ordinary import make
from benchmarks.pages import as_markdown
from benchmarks.quality import load
from subsvms import adversaries, correct_labels

RESULTS = Path(__file__).parent / "results"
PLANTED = ("breast cancer", "clusters, 1,000", "digits", "svmguide1")
NATURAL = ("breast cancer", "a1a", "w1a", "mushrooms", "splice", "svmguide1", "digits", "moons")
TRIALS = {"planted": PLANTED, "fives": PLANTED[:2] + PLANTED[3:], "natural": NATURAL}
MOST, MOST_COPIED, MOVED = 3000, 600, 0.01
COLUMNS = ("trial", "data", "seed", "how", "rows", "wrong", "left", "changed", "auc", "seconds")


def read(name, seed, most):
    """Return at most so many rows of a table, and its labels."""
    made = name.startswith("clusters") or name == "moons"
    X, y = make(name, seed) if made else load(name, os.environ.get("SUBSVMS_DATA"), seed)
    rows = np.sort(np.random.default_rng(seed).permutation(len(y))[:most])
    return X[rows], y[rows]


def pose(trial, name, seed):
    """Return rows, true and given labels and groups of each way to pose a trial."""
    X, y = read(name, seed, MOST if trial == "natural" else MOST_COPIED)
    given = adversaries.uniform_flips(y, error_rate=0.1, random_state=seed).labels
    alone = np.arange(len(y))
    if trial == "natural":
        return {"alone": (X, y, given, range(len(y))), "groups": (X, y, given, None)}
    copied = np.flatnonzero(given != y) if trial == "planted" else np.repeat(alone, 4)
    X = X if isinstance(X, np.ndarray) else X.toarray()
    noise = np.random.default_rng(seed).normal(0, MOVED, (len(copied), X.shape[1])) * X.std(axis=0)
    noise *= X[copied] != np.median(X, axis=0)  # what is not there is not moved
    rows = np.append(alone, copied)
    table = np.vstack([X, X[copied] + noise]), y[rows], given[rows]
    return {
        "without copies": (X, y, given, alone), "alone": (*table, range(len(rows))),
        "groups": (*table, None if trial == "planted" else rows),
    }  # fmt: skip


def run(trial, name, seed, done):
    for how, (X, y, given, groups) in pose(trial, name, seed).items():
        if (trial, name, str(seed), how) in done:
            continue
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            correction = correct_labels(X, given, groups=groups, n_jobs=1, n_witnesses=0, random_state=seed)
        seconds = time.process_time() - begin
        labels = np.asarray(correction.labels)
        yield {
            "trial": trial, "data": name, "seed": seed, "how": how, "rows": len(y),
            "wrong": int(np.sum(given != y)), "left": int(np.sum(labels != y)),
            "changed": int(correction.changed.sum()),
            "auc": roc_auc_score(given != y, -correction.label_quality), "seconds": seconds,
        }  # fmt: skip


def report(lines):
    """Return the page: means over seeds, one table a trial."""
    found = pd.read_csv(lines)
    pages = ["# Copies and groups", __doc__.split("\n\n")[2].strip()]
    for trial, part in found.groupby("trial", sort=False):
        means = (
            part.groupby(["data", "how"], sort=False)[["wrong", "left", "auc", "seconds"]]
            .mean()
            .reset_index()
        )
        means["wrong"], means["left"] = means["wrong"].round(1), means["left"].round(1)
        means["auc"], means["seconds"] = means["auc"].round(3), means["seconds"].round(2)
        pages += [f"## {trial.capitalize()}", "\n".join(as_markdown(means, 3))]
    return "\n\n".join(pages) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", default="0-2", type=read_seeds, help="one, or first-last")
    parser.add_argument("--only", default="", help="one trial")
    parser.add_argument("--report", action="store_true", help="only write the page")
    asked = parser.parse_args()
    lines = RESULTS / "copies.csv"
    if not asked.report:
        done = find_done(lines, COLUMNS[:4])
        list(run("natural", "breast cancer", 0, set()))  # so that no time goes into compiling
        for trial, names in TRIALS.items():
            for name in names if asked.only in trial else ():
                for seed in asked.seeds:
                    append_lines(lines, COLUMNS, run(trial, name, seed, done))
    write(RESULTS / "copies.md", report(lines), lines)


if __name__ == "__main__":
    main()

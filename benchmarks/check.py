"""Measure how often `subsvms check` fails without reason, and how often it finds wrong labels.

    python -m benchmarks.check --seeds 300-302      # an hour on one core; finished runs are not repeated
    python -m benchmarks.check --report

The tables are those of `benchmarks.ordinary` with clean labels, at most 2,040 rows of each. `clean`: a
twentieth of the rows is new, drawn at random a hundred times; and once the rows nearest to one of them, which
are not like the others. `added`: one row in 51, 40 of 2,040, is new and has a wrong label. `tenth`: a tenth
of all labels is wrong. A check fails for new rows below a probability of 0.01, and for errors by class if the
lower end of their interval is above a limit. One line per run is appended to benchmarks/results/check.csv.
"""

import time
import warnings
import zlib

import numpy as np
import pandas as pd

from benchmarks import ordinary
from benchmarks.made import write
from benchmarks.ordinary import measure
from benchmarks.pages import as_markdown
from subsvms import LabelCorrector
from subsvms.app.runs.check import CHANCE, measure_chance  # private: what the command computes

MOST, N_DRAWS = 2040, 100
LIMITS = (0.02, 0.05)
KINDS = ("clean", "added", "tenth")
CELL = ("group", "data", "kind", "seed")
COLUMNS = (
    *CELL, "rows", "new", "low", "high", "explained", "contradicted", "found", "chance", "by flags", "fails",
    "region fails", "seconds",
)  # fmt: skip


def read(group, name, seed):
    """Return some rows of a table in random order, their clean labels, and a generator of random numbers."""
    X, y, _, _ = ordinary.read(group, name, seed)
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    rows = rng.permutation(len(y))[:MOST]
    return X[rows], y[rows], rng


def draw_wrong(y, share, rng):
    """Return labels of which the last ones are wrong, this share of all, and which these are."""
    wrong = np.arange(len(y)) >= len(y) - max(1, round(share * len(y)))
    other = (y + rng.integers(1, y.max() + 1, len(y))) % (y.max() + 1)
    return np.where(wrong, other, y), wrong


def run(job):
    """Do one run, and return its line."""
    group, name, kind, seed = job
    began = time.process_time()
    X, y, rng = read(group, name, seed)
    given, new = draw_wrong(y, {"clean": 1 / 21, "added": 1 / 51, "tenth": 0.1}[kind], rng)
    given = y if kind == "clean" else given
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        correction = LabelCorrector(random_state=seed, n_jobs=1).fit(X, given).correction_
    contradicted, number, fails, region = correction.contradicted, correction.given, np.nan, np.nan
    if kind == "clean":
        draws = (rng.permutation(new) for _ in range(N_DRAWS))
        fails = np.mean([measure_chance(contradicted, draw, number) < CHANCE for draw in draws])
        dense = X.toarray() if hasattr(X, "toarray") else X
        distance = ((dense - dense[rng.integers(len(y))]) ** 2).sum(axis=1)
        near = distance <= np.sort(distance)[new.sum() - 1]
        region = float(measure_chance(contradicted, near, number) < CHANCE)
    low, high = correction.noise.error_rate_interval
    values = (
        *job, len(y), new.sum(), low, high, int(correction.noise.explained), contradicted.mean(),
        int((contradicted & new).sum()), measure_chance(contradicted, new, number),
        measure_chance(correction.flagged, new, number), fails, region, time.process_time() - began,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def list_jobs(seeds):
    """Return (group, data, kind, seed) of every run."""
    cells = {job[:2] for job in ordinary.list_jobs([0]) if job[0] != "real noise"}
    cells = sorted(cell for cell in cells if cell[1] not in ordinary.LARGE)
    return [(*cell, kind, seed) for seed in seeds for cell in cells for kind in KINDS]


def write_report(path):
    """Write the tables: false failures, and failures that there should be."""
    lines = pd.read_csv(path)
    lines["unknown"] = ((lines["explained"] == 0) | (lines["high"] - lines["low"] > 0.1)).astype(float)
    for limit in LIMITS:
        lines[f"above {limit:.0%}"] = (lines["low"] > limit).astype(float)
    lines["new rows fail"] = (lines["chance"] < CHANCE).astype(float)
    lines["by flags alone"] = (lines["by flags"] < CHANCE).astype(float)
    lines["new ones contradicted"] = lines["found"] / lines["new"]
    limits = [f"above {limit:.0%}" for limit in LIMITS]
    clean, wrong = lines[lines["kind"] == "clean"], lines[lines["kind"] == "added"]
    parts = {
        "Clean tables: shares that fail": (clean, ["fails", *limits, "unknown", "region fails"]),
        "Forty wrong labels of 2,040": (wrong, ["new rows fail", "by flags alone", "new ones contradicted"]),
        "A tenth of all labels wrong": (lines[lines["kind"] == "tenth"], [*limits, "unknown"]),
    }
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    text = [
        "# Checks in a pipeline\n\n`python -m benchmarks.check`, "
        f"seeds {seeds}; {len(lines):,} runs. *fails*: new rows that are like the others, the mean over a "
        "hundred draws; *region fails*: new rows that are not; *above 2%*: the lower end of errors by class "
        "is; *unknown*: the columns do not explain the labels, or the interval is wider than ten percentage "
        "points; *by flags alone*: if only labels counted that the rule would change."
    ]
    tables = []
    for title, (part, columns) in parts.items():
        groups = part.groupby("group")[columns].mean()
        groups.loc["all"] = part[columns].mean()
        groups.insert(0, "runs", [*part.groupby("group").size(), len(part)])
        text += [f"## {title}", "\n".join(as_markdown(groups.reset_index(), digits=3))]
        tables.append(part.groupby("data")[columns[:2]].mean().add_suffix(f", {part['kind'].iloc[0]}"))
    by_table = pd.concat(tables, axis=1).reset_index()
    text += ["## By table", "\n".join(as_markdown(by_table, digits=2))]
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing, and write the report."""
    measure(__doc__, "300-302", "check", list_jobs, run, COLUMNS, write_report, words)


if __name__ == "__main__":
    main()

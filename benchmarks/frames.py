"""Measure correct_table on a data frame with text, dates and categories, beside its numbers alone.

A frame of loans: 16 numbers, two categories, two dates and a comment of eight words, a tenth of the labels
wrong. Runs alternate, on one thread; the seconds are those of the processor, which other work on the machine
changes less than the time that passes.

    python -m benchmarks.frames
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.made import write
from subsvms import correct_table

RESULTS = Path(__file__).parent / "results"
STEMS = "car boat house roof kitchen school travel wedding doctor debt tax rent shop tool farm horse".split()
WORDS = [stem + end for stem in STEMS for end in ("", "s", " repair", " loan", " payment")]
JOBS = "cook clerk nurse driver teacher farmer painter".split()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    frame, clean = make_loans(args.rows)
    numbers = frame[[name for name in frame if name.startswith("number")] + ["default"]]
    frames = {"all columns": frame, "numbers alone": numbers}
    correct_table(frame[:2000], label="default")  # compiles, and imports
    lines = [measure(name, one, clean) for _ in range(args.runs) for name, one in frames.items()]
    write(RESULTS / "frames.json", json.dumps({"machine": platform.machine(), "runs": lines}, indent=1))
    write(RESULTS / "frames.md", as_markdown(lines))


def make_loans(n, seed=0):
    """Return a frame of every kind of column, and its clean labels."""
    rng = np.random.default_rng(seed)
    late = rng.random(n) < 0.35
    columns = {f"number {j}": rng.normal(0.6 * late * (j < 6), 1.0) for j in range(16)}
    for j in (2, 9):
        columns[f"number {j}"][rng.random(n) < 0.05] = np.nan
    columns["job"] = np.array([*JOBS, None], dtype=object)[rng.integers(0, len(JOBS) + 1, n)]
    columns["region"] = rng.choice(["north", "south", "east", "west"], n)
    columns["opened"] = np.datetime64("2019-01-01", "us") + rng.integers(0, 1500, n) * np.timedelta64(1, "D")
    seconds = rng.integers(0, 10**8, n) + 10**7 * late
    columns["last payment"] = np.datetime64("2019-01-01", "us") + seconds * np.timedelta64(1, "s")
    places = np.minimum(rng.integers(0, len(WORDS), (n, 8)) + 4 * late[:, None], len(WORDS) - 1)
    columns["comment"] = [" ".join(line) for line in np.array(WORDS, dtype=object)[places]]
    given = late ^ (rng.random(n) < 0.1)
    frame = pd.DataFrame(columns).assign(default=np.where(given, "yes", "no"))
    return frame, np.where(late, "yes", "no")


def measure(name, frame, clean):
    began, passed = time.process_time(), time.perf_counter()
    correction = correct_table(frame, label="default")
    seconds, wall = time.process_time() - began, time.perf_counter() - passed
    run = correction.origin.run
    line = {
        "columns": name, "rows": len(frame), "features": int(run.features.X.shape[1]),
        "CPU seconds": round(seconds, 2), "seconds": round(wall, 2), "stages": run.seconds,
        "wrong given": int((frame["default"] != clean).sum()),
        "wrong left": int((correction.labels != clean).sum()),
    }  # fmt: skip
    print(line, flush=True)
    return line


def as_markdown(lines):
    """Return a line for each frame, medians over runs, and the ratio."""
    text = [
        "# correct_table with text and dates, beside numbers alone",
        "",
        f"`python -m benchmarks.frames`, {lines[0]['rows']:,} rows, one thread, medians of {len(lines) // 2} "
        f"alternating runs on {os.cpu_count()} shared cores ({platform.machine()}).",
        "",
        "| columns | features | CPU seconds | wrong labels given | left |",
        "|---|---|---|---|---|",
    ]
    medians = {}
    for name in dict.fromkeys(line["columns"] for line in lines):
        own = [line for line in lines if line["columns"] == name]
        medians[name] = float(np.median([line["CPU seconds"] for line in own]))
        first = own[0]
        text.append(
            f"| {name} | {first['features']} | {medians[name]:.1f} | {first['wrong given']:,} | "
            f"{first['wrong left']:,} |"
        )
    ratio = medians["all columns"] / medians["numbers alone"]
    return "\n".join([*text, "", f"All columns take {ratio:.2f} times as long as the numbers alone.", ""])


if __name__ == "__main__":
    main()

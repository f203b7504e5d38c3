"""Measure votes on a GPU, beside the cores of the same machine, and compare them bit by bit.

SVMs are trained on a pool of rows with 20 numbers, on subsets as large as a table of a hundred million rows
asks for. They vote on made rows: on all of them on the GPU, on the first ones on the cores as well. Rows are
made in blocks, and only the votes are timed, with the check of the rows and the copies to the GPU and back.
The same SVMs then vote in single precision, where the model chose double, to see whether that was needed:
on as many rows as the cores, with two threads and without the check.

    python -m benchmarks.gpu --rows 100000000 --compare 1000000       # an hour on two cores for the second
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.made import write
from subsvms import SubSVMClassifier
from subsvms._effort import Effort

# Private: these SVMs are to vote in a precision that the model did not choose
from subsvms.ensemble._votes import count_votes

RESULTS = Path(__file__).parent / "results"
N_FEATURES = 20
BLOCK = 2**23


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--compare", type=int, default=100_000)
    parser.add_argument("--pool", type=int, default=20_000)
    parser.add_argument("--svms", type=int, default=1000)
    parser.add_argument("--subset", type=int, default=339, help="the squared logarithm of 1e8")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    X, y = make_rows(args.pool, seed=0)
    began = time.perf_counter()
    options = {"n_estimators": args.svms, "subsample_size": args.subset, "random_state": 0, "n_jobs": -1}
    model = SubSVMClassifier(**options).fit(X, y)
    found = {
        "cores": os.cpu_count(), "gpu": name_gpu(args.device), **vars(args),
        "type": str(model.voters_.intercept.dtype),
        "terms": int(np.count_nonzero(model.voters_.lists.value)), "training_s": time.perf_counter() - began,
        "on_gpu": vote(model, args.rows, args.device), **compare(model, args.compare, args.device),
        "single": compare_single(model, args.compare, args.device),
    }  # fmt: skip
    write(RESULTS / "gpu.json", json.dumps(found, indent=1) + "\n")
    write(RESULTS / "gpu.md", as_markdown(found))


def make_rows(n, seed):
    """Return numbers between 0 and 1 or a little beyond, and labels of which a tenth is wrong."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    X = rng.normal(0.5 + 0.06 * label[:, None] * (np.arange(N_FEATURES) < 10), 0.15)
    return X, label ^ (rng.random(n) < 0.1)


def vote(model, n, device):
    """Return how fast votes on n made rows are."""
    model.set_params(device=device).count_votes(make_rows(1000, seed=1)[0])  # compiles, copies the SVMs
    seconds = 0.0
    for block, first in enumerate(range(0, n, BLOCK)):
        X, _ = make_rows(min(BLOCK, n - first), seed=2 + block)
        seconds += count(model, X)[1]
    return rate(n, seconds)


def compare(model, n, device):
    """Return how fast votes on n made rows are on the cores, and on how many rows a bit differs."""
    seconds, n_differing = 0.0, 0
    for block, first in enumerate(range(0, n, BLOCK)):
        X, _ = make_rows(min(BLOCK, n - first), seed=2 + block)
        ours, _ = count(model.set_params(device=device), X)
        theirs, more = count(model.set_params(device="cpu"), X)
        differs = [(ours[name] != theirs[name]).reshape(len(X), -1).any(axis=1) for name in ours]
        seconds, n_differing = seconds + more, n_differing + int(np.any(differs, axis=0).sum())
    return {"on_cores": rate(n, seconds), "differing_rows": n_differing}


def compare_single(model, n, device):
    """Return how fast votes in single precision are, and how many rows they would give another label."""
    whole, single = model.voters_, cast_voters(model.voters_, np.float32)
    count_votes(single, make_rows(1000, seed=1)[0], Effort(2, device))
    seconds, n_counts, n_labels = 0.0, 0, 0
    for block, first in enumerate(range(0, n, BLOCK)):
        X, _ = make_rows(min(BLOCK, n - first), seed=2 + block)
        began = time.perf_counter()
        fewer = count_votes(single, X, Effort(2, device))
        seconds += time.perf_counter() - began
        votes = count_votes(whole, X, Effort(2, device))
        n_counts += int((fewer.counts != votes.counts).any(axis=1).sum())
        n_labels += int((fewer.winners(model.class_sizes_) != votes.winners(model.class_sizes_)).sum())
    return {**rate(n, seconds), "rows_with_other_votes": n_counts, "rows_with_another_label": n_labels}


def cast_voters(voters, dtype):
    """Return SVMs that vote in another precision."""
    return voters._replace(
        lists=voters.lists.astype(dtype), intercept=voters.intercept.astype(dtype),
        rows=voters.rows.astype(dtype),
    )  # fmt: skip


def count(model, X):
    """Return the votes on rows, and the seconds that they took."""
    began = time.perf_counter()
    return model.count_votes(X).arrays, time.perf_counter() - began


def rate(n, seconds):
    """Return rows, seconds and rows a second."""
    return {"rows": n, "seconds": round(seconds, 2), "rows_a_second": round(n / seconds)}


def name_gpu(device):
    """Return what the GPU is called."""
    if device == "cpu":
        return None
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


def as_markdown(found):
    """Return the result as a page."""
    lines = [
        "# Votes on a GPU",
        "",
        f"`python -m benchmarks.gpu --rows {found['rows']} --compare {found['compare']}`: {found['svms']:,} "
        f"SVMs on subsets of {found['subset']} of {found['pool']:,} rows with {N_FEATURES} numbers "
        f"({found['terms']:,} terms in all, {found['type']}), {found['cores']} cores and {found['gpu']}.",
        "",
        "| | rows | seconds | rows a second |",
        "|---|---|---|---|",
    ]
    for name in ("on_gpu", "on_cores"):
        one = found[name]
        words = name.replace("_", " ")
        lines.append(f"| {words} | {one['rows']:,} | {one['seconds']:,} | {one['rows_a_second']:,} |")
    single = found["single"]
    lines += [
        "",
        f"Rows on which any vote or value differs in any bit: {found['differing_rows']:,}. The CPU "
        "need not vote again on any row.",
        "",
        f"In single precision the same SVMs would vote on {single['rows_a_second']:,} rows a second; of "
        f"{single['rows']:,} rows {single['rows_with_other_votes']:,} would get other votes, and "
        f"{single['rows_with_another_label']:,} another label.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

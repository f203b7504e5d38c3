"""Compare what `subsvms.theory.plan` expects with what then happens: seconds, and errors of single SVMs.

    python benchmarks/planning.py [--data-dir FOLDER]

writes results/planning.md. Seconds are from a single run each on a shared machine; look at the ratio.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from quality import FEATURES, load
from sklearn.datasets import make_classification
from sklearn.preprocessing import minmax_scale

from subsvms import SubSVMClassifier, adversaries
from subsvms.theory import plan

RESULTS = Path(__file__).parent / "results"


def tables(folder):
    """Yield (name, X, clean labels) for each table to plan for."""
    for name in ("breast cancer", "digits", *(FEATURES if folder else ())):
        yield name, *load(name, folder)
    for n in (20_000, 100_000):
        X, y = make_classification(n, n_features=20, n_informative=6, class_sep=1.5, flip_y=0, random_state=0)
        yield f"made, {n} rows", minmax_scale(X), y


def measure(X, clean, error_rate):
    """Return what the plan expected and what happened."""
    given = adversaries.uniform_flips(clean, error_rate=error_rate, random_state=0).labels
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plan(X, given, max_error_rate=error_rate, random_state=0)
        planning = time.perf_counter() - began
        model = SubSVMClassifier(**found.parameters, random_state=1)
        began = time.perf_counter()
        model.fit(X, given)
    taken = time.perf_counter() - began
    votes = model.oob_votes_
    wrong = 1.0 - votes.share[np.arange(len(clean)), np.unique(clean, return_inverse=True)[1]]
    return found, planning, taken, np.nanmean(wrong), np.mean(model.oob_labels_ != clean)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"))
    args = parser.parse_args()
    lines = [
        "# Plans beside what happened\n",
        "Made by `python benchmarks/planning.py`. 5 % of the labels are flipped at random.",
        "phi limits how often one SVM errs against the clean labels; beside it what happened, out of bag.\n",
        "| table | s | J | planning, s | expected, s | taken, s | ratio | phi | one SVM | the vote |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, X, clean in tables(args.data_dir):
        found, planning, taken, single, vote = measure(X, clean, 0.05)
        lines.append(
            f"| {name} | {found.subsample_size} | {found.n_estimators} | {planning:.2g} "
            f"| {found.seconds:.2g} | {taken:.2g} | {found.seconds / taken:.2f} | {found.phi:.3f} "
            f"| {single:.3f} | {vote:.3f} |"
        )
        print(lines[-1], flush=True)
    (RESULTS / "planning.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""Measure how many labels exact certificates withstand, beside others.

    python -m benchmarks.certificates tables      # a quarter of an hour on one core
    python -m benchmarks.certificates report

`tables`: the 13 LIBSVM sets of the paper (SUBSVMS_DATA) and breast cancer, clean labels, every row judged by
members that did not see it. Methods: `exact` (LinearCommittee); `vote` (SubSVMClassifier, `count_withstood`,
confidence .999); `partitions` (DPA of Levine and Feizi, 2021: the table is cut by a hash into parts of 10
rows, or of as many as a member sees, a least squares machine with the same kernel is trained on each, and a
flipped label changes one vote; a row's own part is left out); `smoothing` (Rosenfeld et al., ICML 2020: each
label is flipped with probability q, and the verdict of the *same* committee is smoothed; their formula, with
Chernoff's bound on the probability; the q of the largest median is taken, on 500 rows of a table).

The page also has what `benchmarks.certificates_attacks` and `benchmarks.certificates_cost` found.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.made import append_lines, find_done, write
from benchmarks.pages import as_markdown, save
from benchmarks.quality import FEATURES, load
from subsvms import SubSVMClassifier
from subsvms.certificates import certify, count_withstood
from subsvms.ensemble import LinearCommittee

# Private: partitions are to be as blind to labels as the subsets of members
from subsvms.ensemble._sampling import (
    hash_rows,
    subset_size,  # private: sizes of subsets as the paper draws them
)

RESULTS = Path(__file__).parent / "results"
MADE_BY = "python -m benchmarks.certificates"
NAMES = ("breast cancer", *FEATURES)
CHOSEN_ON = ("breast cancer", "splice", "a1a")  # lambda was looked at on these
FLIPS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500)
NOISE = (0.1, 0.2, 0.3, 0.4)  # q
RIDGE, SEED = 0.1, 0
N_SMOOTHED = 500  # rows of a table
PARTS = {
    "attacks": "Attacks",
    "svms": "A white-box certificate of the vote of SVMs",
    "cost": "What carriers and the collective claim cost a run: CPU seconds, one thread",
}
COLUMNS = (
    "data", "method", "rows", "balanced accuracy", "median", *(f"right and {m}" for m in FLIPS), "seconds"
)  # fmt: skip


def run_exact(X, y):
    certificate = certify(LinearCommittee(random_state=SEED, ridge=RIDGE).fit(X, y))
    return certificate.verdicts, certificate.withstands


def run_vote(X, y):
    model = SubSVMClassifier(random_state=SEED).fit(X, y)
    size = subset_size("log_squared", len(y))
    return model.oob_winners_, count_withstood(model.oob_votes_, model.class_sizes_, y, size)


def run_partitions(X, y, size=10):
    """Return verdicts and radii of a vote of label-blind parts, each row's own part left out."""
    order = np.argsort(hash_rows(np.arange(len(y)), SEED))
    parts = np.array_split(order, len(y) // size)
    votes = np.zeros((len(y), 2), dtype=int)
    for part in parts:
        others = np.ones(len(y), dtype=bool)
        others[part] = False
        sums = fit_least_squares(X, y, part, X)
        counts = np.maximum(np.bincount(y[part], minlength=2), 1)
        second = sums[:, 1] / counts[1] > sums[:, 0] / counts[0]
        votes[others, second[others].astype(int)] += 1
    return votes.argmax(axis=1), np.maximum((np.abs(votes[:, 1] - votes[:, 0]) - 1) // 2, 0)


def fit_least_squares(X, y, rows, asked):
    """Return the sums of weights of both classes at the rows asked for; y may hold several columns."""
    gamma = 1.0 / X.shape[1]
    K = rbf_kernel(X[rows], gamma=gamma) + 1.0 + RIDGE * np.eye(len(rows))
    return (rbf_kernel(asked, X[rows], gamma=gamma) + 1.0) @ np.linalg.solve(K, np.eye(2)[y[rows]])


def run_smoothing(X, y):
    """Return verdicts and radii of the smoothed committee, on the rows of `choose_rows`.

    With B_i = 1 where label i is +, G = sum_i d_i B_i; noise leaves its sign in the mean, as the d_i add up
    to 0. Chernoff: P(G <= 0) <= min over t of prod_i E exp(-t d_i B_i). Theirs: the smoothed verdict stands
    for all m <= log(4 p (1 - p)) / (2 (1 - 2 q) log(q / (1 - q))).
    """
    rows = choose_rows(len(y))
    committee = LinearCommittee(random_state=SEED, ridge=RIDGE).fit(X, y)
    a = committee.weigh(rows=rows)
    d = len(y) * a - a.sum(axis=1, keepdims=True)
    G = d[:, y == 1].sum(axis=1)
    verdicts = (G > 0).astype(int)
    towards = np.where(verdicts[:, None] == 1, d, -d) / np.abs(d).max(axis=1, keepdims=True)
    best = np.zeros(len(rows))
    for q in NOISE:
        plus = np.where(y == 1, 1 - q, q)  # P(B_i = 1)
        wrong = np.zeros(len(rows))  # log of the bound on P(the verdict turns)
        for t in np.geomspace(0.003, 10, 25):
            wrong = np.minimum(wrong, np.log1p(plus * np.expm1(-t * towards)).sum(axis=1))
        sure = wrong < np.log(0.5)
        tail = np.where(sure, wrong + np.log1p(-np.exp(wrong)) + np.log(4), 0.0)
        radius = np.floor(tail / (2 * (1 - 2 * q) * np.log(q / (1 - q))))
        best = max(best, radius, key=np.median)
    return verdicts, best.astype(int)


def choose_rows(n):
    return np.sort(np.argsort(hash_rows(np.arange(n), SEED + 1))[:N_SMOOTHED])


METHODS = {
    "exact": run_exact,
    "vote": run_vote,
    "partitions of 10": run_partitions,
    "partitions of s": lambda X, y: run_partitions(X, y, subset_size("log_squared", len(y))),
    "smoothing": run_smoothing,
}


def measure(name, method):
    """Return the line of a table and a method."""
    X, y = load(name, os.environ.get("SUBSVMS_DATA"))
    start = time.process_time()
    verdicts, radii = METHODS[method](X, y)
    seconds = time.process_time() - start
    if len(radii) < len(y):
        y = y[choose_rows(len(y))]
    right = verdicts == y
    line = {"data": name, "method": method, "rows": len(y), "median": float(np.median(radii))}
    line |= {f"right and {m}": float(np.mean(right & (radii >= m))) for m in FLIPS}
    return line | {"balanced accuracy": balanced_accuracy_score(y, verdicts), "seconds": seconds}


def write_report(folder):
    """Write certificates.md and the picture from the files of all parts."""
    lines = pd.read_csv(folder / "certificates.csv")
    order = [name for name in NAMES if name in set(lines["data"])]
    methods = [name for name in METHODS if name in set(lines["method"])]

    def spread(key):
        return lines.pivot(index="data", columns="method", values=key).loc[order, methods]

    medians, accuracy = spread("median"), spread("balanced accuracy")
    text = ["# Exact certificates beside others", "", f"Made by `{MADE_BY}`, whose docstring says how.", ""]
    text += [*format_losses(medians, accuracy), ""]
    tables = {
        "Median radius: flips that cannot turn the verdict": (medians, 1),
        "Balanced accuracy of the out-of-bag verdicts, clean labels": (accuracy, 3),
        **{f"Certified accuracy at {count}: judged right and certain": (spread(f"right and {m}"), 3)
           for m, count in ((1, "1 flip"), (10, "10 flips"), (50, "50 flips"))},
        "CPU seconds, one thread": (spread("seconds"), 1),
    }  # fmt: skip
    for title, (table, digits) in tables.items():
        text += [f"## {title}", "", *as_markdown(table, digits, "data"), ""]
    text += ["![Certified accuracy against flips](certificates.png)"]
    for part, title in PARTS.items():
        path = folder / f"certificates_{part}.csv"
        if path.exists():
            text += ["", f"## {title}", "", *as_markdown(pd.read_csv(path), 2 if part == "cost" else 1)]
    write(folder / "certificates.md", "\n".join(text) + "\n", lines=folder / "certificates.csv")
    draw(lines, order, folder / "certificates.png")


def format_losses(medians, accuracy):
    """Return in sentences where others are better, before where they are not."""
    other = "partitions of 10"
    more = [name for name in medians.index if medians.loc[name, other] > medians.loc[name, "exact"]]
    constant = [name for name in more if accuracy.loc[name, other] < 0.55]
    large = "partitions of s"
    both = (medians[large] > medians["exact"]) & (accuracy[large] >= accuracy["exact"] - 0.01)
    larger = (medians["exact"] / medians["vote"].clip(lower=1)).median()
    return [
        f"**Losses first.** Label-blind {other} rows have a larger median radius than the exact certificate "
        f"on {len(more)} of {len(medians)} tables ({', '.join(more) or 'none'}). On {len(constant)} of these "
        f"({', '.join(constant) or 'none'}) nearly all of their verdicts are the larger class (balanced "
        "accuracy below .55): certain, and useless. Partitions of s rows, as many as a member sees, have a "
        "larger median radius and a balanced accuracy that is no more than .01 lower on "
        f"{both.sum()} tables ({', '.join(medians.index[both]) or 'none'}). Neither names weights of single "
        "labels. The vote of SVMs "
        f"has the better balanced accuracy on {int((accuracy['vote'] > accuracy['exact']).sum())} of "
        f"{len(medians)} tables. lambda = {RIDGE} was chosen on some of the same tables "
        f"({', '.join(CHOSEN_ON)}).",
        "",
        f"The exact median radius is {larger:.0f} times that of the vote of SVMs, at the median over the "
        "tables (a radius of 0 of the vote counts as 1).",
    ]


def draw(lines, order, path):
    """Draw certified accuracy against flips, a panel for each table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    n_rows = -(-len(order) // 5)
    figure, axes = plt.subplots(
        n_rows, 5, figsize=(10, 2.1 * n_rows), sharex=True, sharey=True, layout="constrained", squeeze=False
    )
    for axis, name in zip(axes.flat, order, strict=False):
        for i, method in enumerate(METHODS):
            line = lines[(lines["data"] == name) & (lines["method"] == method)]
            if len(line):
                values = line.iloc[0][[f"right and {m}" for m in FLIPS]].to_numpy(float)
                style = {"lw": 2.2} if method == "exact" else {"lw": 1}
                axis.plot(FLIPS, values, f"C{i}", label=method, **style)
        axis.set_xscale("symlog", linthresh=1)
        axis.set_xticks([0, 1, 10, 100], ["0", "1", "10", "100"])
        axis.set_title(name, fontsize=8)
        axis.tick_params(labelsize=7)
        axis.grid(alpha=0.3)
    for axis in list(axes.flat)[len(order) :]:
        axis.set_axis_off()
    figure.supxlabel("flipped labels", fontsize=8)
    figure.supylabel("judged right, whatever is flipped (share of rows)", fontsize=8)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=5, fontsize=8)
    save(figure, path, lines=path.with_suffix(".csv"))


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=("tables", "report"), nargs="+")
    parser.add_argument("--only", nargs="*", default=NAMES, help="names of tables")
    parser.add_argument("--results", type=Path, default=RESULTS)
    args = parser.parse_args(words)
    warnings.simplefilter("ignore")
    if "tables" in args.part:
        path = args.results / "certificates.csv"
        done = find_done(path, COLUMNS[:2])
        todo = [(name, m) for name in args.only for m in METHODS if (name, m) not in done]
        X, y = make_moons(200, random_state=SEED)
        for method in METHODS.values() if todo else ():
            method(X, y), method(sparse.csr_array(np.eye(200)), y)  # compiles for full and for sparse tables
        append_lines(path, COLUMNS, (measure(*job) for job in todo))
    if "report" in args.part:
        write_report(args.results)


if __name__ == "__main__":
    main()

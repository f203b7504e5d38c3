"""Measure wrong labels left, ranking and time on ordinary tables, beside peers.

    python -m benchmarks.ordinary --seeds 100-104      # hours on two cores; finished runs are not repeated
    python -m benchmarks.ordinary --report

Four groups of tables: the 13 LIBSVM sets of the paper (SUBSVMS_DATA), scikit-learn's own, made ones that are
not linear, and tables with real noise (SUBSVMS_REAL_NOISE). The first three get clean labels, uniform flips
of 10 %, flips of 20 % of one class and 5 % of the others, directed flips of half of the smallest class, and
flips nearest the border. Tables of more than `MOST` rows are sampled, but for the two in `LARGE`. One line
per run is appended to benchmarks/results/ordinary.csv; the tables go to benchmarks/results/ordinary.md.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.datasets import (
    load_wine,
    make_circles,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_gaussian_quantiles,
    make_moons,
)
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.pages import as_markdown
from benchmarks.peers.methods import cleanlab_boosting, cleanlab_logistic, cleanlab_svc, correct
from benchmarks.quality import FEATURES, load
from subsvms import adversaries

RESULTS = Path(__file__).parent / "results"
MOST = 3000
HARM = 0.002
CLUSTERS = {  # rows, columns, informative, clusters of each class
    "clusters, 1,000": (1000, 10, 6, 3),
    "clusters, 3,000": (3000, 15, 8, 4),
    "clusters, 5,000": (5000, 30, 6, 5),
    "clusters, 20,000": (20_000, 20, 10, 2),
    "clusters, 50,000": (50_000, 20, 10, 3),
}
LARGE = ("clusters, 20,000", "clusters, 50,000")  # not sampled; clean and uniform only, and no SVC: minutes
MADE = (*CLUSTERS, "moons", "rings", "shells", "friedman 1", "friedman 2", "categories")
SKLEARN = ("breast cancer", "digits", "wine")
MANY = ("digits", "wine", "shells")  # more than two classes
KINDS = ("clean", "uniform", "class-conditional", "directed, alpha=1", "directed, alpha=0", "boundary")
COLUMNS = ("group", "data", "kind", "seed", "method", "given", "left", "changed", "auc", "seconds")


def make(name, seed):
    """Return a made table whose classes are not linear, and its clean labels."""
    rng = np.random.default_rng(seed)
    if name in CLUSTERS:
        n, d, informative, clusters = CLUSTERS[name]
        X, y = make_classification(
            n, d, n_informative=informative, n_clusters_per_class=clusters, flip_y=0, random_state=seed
        )
    elif name == "moons":
        X, y = make_moons(2000, noise=0.2, random_state=seed)
        X = np.hstack([X, rng.normal(0, 0.5, (2000, 6))])
    elif name == "rings":
        X, y = make_circles(3000, noise=0.1, factor=0.5, random_state=seed)
        X = np.hstack([X, rng.normal(0, 0.5, (3000, 4))])
    elif name == "shells":
        X, y = make_gaussian_quantiles(n_samples=3000, n_features=6, n_classes=3, random_state=seed)
    elif name == "categories":
        codes = rng.integers(5, size=(4000, 6))
        score = rng.normal(size=(6, 5))[np.arange(6), codes].sum(axis=1)
        score += 2 * rng.normal(size=(5, 5))[codes[:, 0], codes[:, 1]]
        X, y = np.hstack([np.eye(5)[column] for column in codes.T]), (score > np.median(score)).astype(int)
    else:
        X, t = make_friedman1(4000, random_state=seed) if name == "friedman 1" else make_friedman2(
            3000, random_state=seed
        )  # fmt: skip
        y = (t > np.median(t)).astype(int)
    return minmax_scale(X), y


def read(group, name, seed):
    """Return the rows of a table, its clean labels, given labels if it has some, and where both are known."""
    if group == "real noise":
        with np.load(Path(os.environ["SUBSVMS_REAL_NOISE"]) / f"{name}.npz") as file:
            return file["X"], file["gold"], file["given"], file["has_gold"]
    if group == "made":
        X, y = make(name, seed)
    elif name == "wine":
        X, y = load_wine(return_X_y=True)
        X = minmax_scale(X)
    else:
        X, y = load(name, os.environ.get("SUBSVMS_DATA"), seed)
    if len(y) > MOST and name not in LARGE:
        X, _, y, _ = train_test_split(X, y, train_size=MOST, stratify=y, random_state=seed)
    return X, y, None, np.ones(len(y), dtype=bool)


def corrupt(X, y, kind, seed):
    """Return the labels after an attack."""
    if kind == "clean":
        return y.copy()
    if kind == "class-conditional":
        n_classes = y.max() + 1
        rates = np.where(np.arange(n_classes) == 0, 0.2, 0.05)
        T = rates[:, None] / (n_classes - 1) * (1 - np.eye(n_classes)) + np.diag(1 - rates)
        return adversaries.class_conditional_flips(y, T, random_state=seed).labels
    if kind == "boundary":
        return adversaries.boundary_flips(X, y, error_rate=0.1).labels
    if kind.startswith("directed"):
        return adversaries.directed_flips(y, rho=0.5, alpha=float(kind[-1]), random_state=seed).labels
    return adversaries.uniform_flips(y, error_rate=0.1, random_state=seed).labels


def correct_as_paper(X, given, seed):
    """Correct with the paper's SVMs, the default until they were chosen from the data."""
    return correct(X, given, seed, n_estimators=1000)


METHODS = {
    "subsvms": lambda X, given, seed: correct(X, given, seed),
    "subsvms, the paper's SVMs": correct_as_paper,
    "cleanlab, boosting": cleanlab_boosting,
    "cleanlab, SVC": cleanlab_svc,
    "cleanlab, logistic regression": cleanlab_logistic,
}


def run(job):
    """Do one run, and return its line."""
    group, name, kind, seed, method = job
    X, clean, given, known = read(group, name, seed)
    if given is None:
        given = corrupt(X, clean, kind, seed)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, quality = METHODS[method](X, given, seed)
    seconds = time.process_time() - began
    measures = score(clean, given, known, labels, quality)
    return dict(zip(COLUMNS, (*job, *measures, round(seconds, 2)), strict=True))


def score(clean, given, known, labels, quality):
    """Return the wrong labels before and after, the labels changed, and the AUC of the ranking."""
    wrong = (given != clean)[known]
    auc = roc_auc_score(wrong, -quality[known]) if wrong.any() and not wrong.all() else np.nan
    return np.mean(wrong), np.mean((labels != clean)[known]), np.mean(labels != given), auc


def list_real():
    """Return the names of the tables with real noise, if there are any."""
    folder = os.environ.get("SUBSVMS_REAL_NOISE")
    return sorted(path.stem for path in Path(folder).glob("*.npz")) if folder else []


def list_jobs(seeds):
    """Return (group, data, kind, seed, method) of every run, seed after seed."""
    sets = sorted(FEATURES) if "SUBSVMS_DATA" in os.environ else []
    cells = [("real noise", name, "real", seeds[0]) for name in list_real()]
    groups = {"scikit-learn's": SKLEARN, "made": MADE, "LIBSVM": sets}
    for seed in seeds:
        for group, names in groups.items():
            for name in names:
                kinds = [kind for kind in KINDS if name not in MANY or not kind.startswith("directed")]
                cells += [(group, name, kind, seed) for kind in kinds]
    return [
        (*cell, method)
        for cell in cells
        for method in METHODS
        if cell[1] not in LARGE or (cell[2] in ("clean", "uniform") and method != "cleanlab, SVC")
    ]


def write_report(path):
    """Write the tables: by group and method, then by table."""
    lines = pd.read_csv(path)
    cells = lines.groupby(["group", "data", "kind", "method"], as_index=False).mean(numeric_only=True)
    noisy = cells[~cells["kind"].isin(["clean"])]
    clean = cells[cells["kind"] == "clean"]
    main = noisy.groupby(["group", "method"])[["given", "left", "auc", "seconds"]].mean()
    ours = noisy[noisy["method"] == "subsvms"].set_index(["group", "data", "kind"])[["left", "auc"]]
    ours = ours.rename(columns=lambda key: f"{key} of subsvms there")
    beside = noisy.join(ours, on=["group", "data", "kind"])
    main = main.join(beside.groupby(["group", "method"])[list(ours)].mean())
    main["runs"] = lines.groupby(["group", "method"]).size()
    main["clean labels changed"] = clean.groupby(["group", "method"])["changed"].mean()
    main["worst"] = clean.groupby(["group", "method"])["changed"].max()
    cells["harmed"] = cells["left"] > cells["given"] + HARM
    main["harmed cells"] = cells.groupby(["group", "method"])["harmed"].sum()
    left = noisy.pivot_table(index=["group", "data"], columns="method", values="left")
    auc = noisy.pivot_table(index=["group", "data"], columns="method", values="auc")
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    text = [
        f"# Ordinary tables\n\n`python -m benchmarks.ordinary`, seeds {seeds}, which no choice saw; "
        f"{len(lines):,} runs, CPU seconds of one thread.",
        "## By group\n\n" + "\n".join(as_markdown(main.reset_index())),
        "## Wrong labels left, mean over the kinds of noise\n\n" + "\n".join(as_markdown(left.reset_index())),
        "## Ranking (ROC AUC)\n\n" + "\n".join(as_markdown(auc.reset_index())),
    ]
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def run_missing(run, jobs, path, columns, workers):
    """Append the line of each job that the file does not have; the first columns of a line are its job."""
    done = find_done(path, columns[: len(jobs[0])]) if jobs else set()
    todo = [job for job in jobs if tuple(map(str, job)) not in done]
    append_lines(path, columns, Parallel(workers, return_as="generator_unordered")(map(delayed(run), todo)))


def make_parser(doc, seeds):
    """Return the arguments that benchmarks on these tables share; `doc` starts with what one does."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--seeds", default=seeds)
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true")
    return parser


def measure(doc, seeds, name, jobs, run, columns, write_report, words=None, table=1):
    """Do what a benchmark with one line per run does: `jobs(seeds)` that are missing, then its report.

    Each job has the name of its table in the place `table`, for `--only`.
    """
    args = make_parser(doc, seeds).parse_args(words)
    path = args.results / f"{name}.csv"
    if not args.report:
        found = [job for job in jobs(read_seeds(args.seeds)) if not args.only or job[table] in args.only]
        run_missing(run, found, path, columns, args.workers)
    write_report(path)


def main(words=None):
    """Run what is missing, or write the report."""
    parser = make_parser(__doc__, "100-104")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    args = parser.parse_args(words)
    path = args.results / "ordinary.csv"
    if not args.report:
        jobs = [
            job
            for job in list_jobs(read_seeds(args.seeds))
            if job[4] in args.methods and (not args.only or job[1] in args.only)
        ]
        run_missing(run, jobs, path, COLUMNS, args.workers)
    write_report(path)


if __name__ == "__main__":
    main()

"""Measure two rules on the same probabilities: cleanlab's, and ours with estimator="probabilities".

    python -m benchmarks.same_probabilities --cache FOLDER             # an hour on one core
    python -m benchmarks.same_probabilities --cache FOLDER --fresh     # a minute: only the rules run again
    python -m benchmarks.same_probabilities --report

Whether a correction is good depends on the model and on what is made of its probabilities. Here three usual
models give out-of-sample probabilities, by 5-fold cross-validation, and both rules get the same array.
cleanlab finds issues with its default filter; a label that it flags becomes the likeliest other class, and it
ranks by the probability of the given label. Ours has no table to look at, so its guards do not run.

Tables with two classes and with real noise are those of benchmarks/ordinary.py, but for the large ones; those
with three or more classes, a group of their own here, are from there and from benchmarks/several.py, and so
is noise in one class only. All are sampled to `MOST` rows. --cache keeps the probabilities, a file of some
20 kB each, so that a change of a rule is measured without the models. One line per cell, judge and rule is
appended to benchmarks/results/same_probabilities.csv, finished ones are not repeated, and the tables go to
same_probabilities.md beside it.
"""

import argparse
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.svm import SVC

from benchmarks import ordinary, several
from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.ordinary import HARM, score
from benchmarks.pages import as_markdown
from benchmarks.peers.methods import N_FOLDS
from subsvms import LabelCorrector

RESULTS = Path(__file__).parent / "results"
MOST = 1500
KINDS = ("clean", "uniform", "class-conditional", "directed, alpha=1", "boundary", "real")
ONE_CLASS, ONE_RATE = ("one class, to one", "one class, to all"), 0.4
SEVERAL = "several classes"  # the group, and some tables of benchmarks/several.py
TABLES = (
    "iris", "made: 3", "made: 4", "made: 5", "made: 10", "a1a: marital status", "a1a: relationship",
    "a1a: occupation", "mushrooms: 4", "mushrooms: 20",
)  # fmt: skip
JUDGES = {
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(max_iter=1000),
    "SVC": lambda seed: SVC(probability=True, random_state=seed),
}
OURS, THEIRS = "subsvms", "cleanlab"
CELL = ["group", "data", "kind"]
COLUMNS = (*CELL, "seed", "judge", "rule", "given", "left", "changed", "auc")


def ask_cleanlab(p, given):
    """Return the labels that cleanlab's default filter leads to, and its quality of each label."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    others = p.copy()
    others[np.arange(len(given)), given] = -1.0
    flagged = find_label_issues(given, p, n_jobs=1)
    return np.where(flagged, others.argmax(axis=1), given), get_label_quality_scores(given, p)


def ask_subsvms(p, given):
    """Return the labels of our rule, and its quality of each label."""
    correction = LabelCorrector("probabilities").fit(p, given).correction_
    return correction.labels, correction.label_quality


RULES = {THEIRS: ask_cleanlab, OURS: ask_subsvms}


def list_cells(seeds):
    """Return (group, data, kind, seed) of every cell."""
    cells = []
    for group, data, kind, seed in dict.fromkeys(job[:4] for job in ordinary.list_jobs(seeds)):
        if data not in ordinary.LARGE and kind in KINDS:
            cells.append((SEVERAL if data in ordinary.MANY else group, data, kind, seed))
    known = several.list_tables(os.environ.get("SUBSVMS_DATA"))
    for seed in seeds:
        cells += [(SEVERAL, data, kind, seed) for data in ordinary.MANY for kind in ONE_CLASS]
        tables = [data for data in TABLES if data in known]
        cells += [(SEVERAL, data, kind, seed) for data in tables for kind in ("clean", "uniform", *ONE_CLASS)]
    return cells


def read(group, data, seed):
    """Return at most `MOST` rows of a table, in the form of `ordinary.read`."""
    if group == SEVERAL and data in TABLES:
        X, clean = several.load_table(data, os.environ.get("SUBSVMS_DATA"), seed)
        given, known = None, np.ones(len(clean), dtype=bool)
    else:
        if group == SEVERAL:
            group = "made" if data in ordinary.MADE else "scikit-learn's"
        X, clean, given, known = ordinary.read(group, data, seed)
    classes = clean if given is None else given
    if len(clean) < MOST + len(np.unique(classes)):  # what is left out must hold each class, too
        return X, clean, given, known
    rows, _ = train_test_split(np.arange(len(clean)), train_size=MOST, stratify=classes, random_state=seed)
    return X[rows], clean[rows], None if given is None else given[rows], known[rows]


def corrupt(X, clean, kind, seed):
    """Return the labels after an attack."""
    if kind in ONE_CLASS:
        return several.corrupt(kind, ONE_RATE, X, clean, seed)
    return ordinary.corrupt(X, clean, kind, seed)


def predict(group, data, kind, seed, judge):
    """Return the probabilities p of the rows of a cell, their given and clean labels, and which are known."""
    X, clean, given, known = read(group, data, seed)
    if given is None:
        given = corrupt(X, clean, kind, seed)
    if judge == "boosting" and sparse.issparse(X):
        X = X.toarray()
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    p = cross_val_predict(JUDGES[judge](seed), X, given, cv=folds, method="predict_proba")
    return {"p": p, "given": given, "clean": clean, "known": known}


def recall(job, cache):
    """Return what `predict` does, from the cache if it is there."""
    if cache is None:
        return predict(*job)
    path = cache / (re.sub(r"[^\w.]+", "-", " ".join(map(str, job))) + ".npz")
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as file:
            np.savez_compressed(file, **predict(*job))
        unfinished.replace(path)
    with np.load(path) as file:
        return dict(file)


def run(job, cache):
    """Return the lines of both rules for one cell and judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = recall(job, cache)
        p, given, clean, known = (cell[key] for key in ("p", "given", "clean", "known"))
        lines = []
        for name, rule in RULES.items():
            measures = score(clean, given, known, *rule(p, given))
            lines.append(dict(zip(COLUMNS, (*job, name, *measures), strict=True)))
    return lines


def summarise(cells, by):
    """Return means over cells, and what was harmed, by some columns."""
    noisy, clean = cells[cells["kind"] != "clean"], cells[cells["kind"] == "clean"]
    table = noisy.groupby(by)[["given", "left", "auc"]].mean()
    table.insert(0, "cells", cells.groupby(by).size())
    table["harmed cells"] = cells.groupby(by)["harmed"].sum()
    table["worse than the other"] = cells.groupby(by)["worse"].sum()
    changed = clean.groupby(by)["changed"]
    table["clean labels changed"], table["worst"] = changed.mean(), changed.max()
    return table.reset_index()


def compare(lines):
    """Return one row per cell, judge and rule, seeds averaged, with what the other rule leaves there."""
    key = [*CELL, "judge", "rule"]
    cells = lines.groupby(key, as_index=False).mean(numeric_only=True).drop(columns="seed")
    other = cells[[*key, "left"]].assign(rule=cells["rule"].map({OURS: THEIRS, THEIRS: OURS}))
    cells = cells.merge(other.rename(columns={"left": "left by the other"}), on=key)
    cells["harmed"] = cells["left"] > cells["given"] + HARM
    cells["worse"] = cells["left"] > cells["left by the other"] + HARM
    return cells


def write_report(path):
    """Write the tables: by group and judge, by kind of noise, and the cells that our rule loses."""
    lines = pd.read_csv(path)
    cells = compare(lines)
    ours = cells[cells["rule"] == OURS]
    shown = [*CELL, "judge", "given", "left", "left by the other", "changed"]
    harm, behind = ours["left"] - ours["given"], ours["left"] - ours["left by the other"]
    losses = {
        "Cells that our rule harms most": ours[ours["harmed"]].assign(by=harm),
        "Cells where our rule is furthest behind cleanlab's": ours[ours["worse"]].assign(by=behind),
    }
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    text = [
        f"# Two rules on the same probabilities\n\n`python -m benchmarks.same_probabilities`, seeds {seeds}; "
        f"tables of at most {MOST} rows. Shares of wrong labels, means over the noisy cells; a cell is "
        f"harmed, or worse than with the other rule, if the share is larger by more than {HARM}.",
        "## All cells\n\n" + "\n".join(as_markdown(summarise(cells, ["judge", "rule"]))),
        "## By group\n\n" + "\n".join(as_markdown(summarise(cells, ["group", "judge", "rule"]))),
        "## By kind of noise\n\n" + "\n".join(as_markdown(summarise(cells, ["kind", "rule"]))),
    ]
    for title, lost in losses.items():
        worst = lost.sort_values("by", ascending=False)[[*shown, "by"]]
        text.append(f"## {title}\n\n{len(lost)} in all.\n\n" + "\n".join(as_markdown(worst.head(10))))
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="100-101", help="one, or first-last")
    parser.add_argument("--only", nargs="*", help="names of tables")
    parser.add_argument("--judges", nargs="*", default=list(JUDGES))
    parser.add_argument("--cache", type=Path, help="folder of the probabilities (default: they are not kept)")
    parser.add_argument("--fresh", action="store_true", help="forget the lines of earlier runs")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--report", action="store_true", help="only write the report")
    args = parser.parse_args(words)
    path = args.results / "same_probabilities.csv"
    if not args.report:
        if args.fresh:
            path.unlink(missing_ok=True)
        if args.cache:
            args.cache.mkdir(parents=True, exist_ok=True)
        done = find_done(path, COLUMNS[:6])
        cells = list_cells(read_seeds(args.seeds))
        jobs = [
            (*cell, judge) for cell in cells for judge in args.judges if not args.only or cell[1] in args.only
        ]
        todo = [job for job in jobs if any((*map(str, job), rule) not in done for rule in RULES)]
        found = Parallel(args.workers, return_as="generator_unordered")(
            delayed(run)(job, args.cache) for job in todo
        )
        append_lines(path, COLUMNS, (line for lines in found for line in lines))
    write_report(path)


if __name__ == "__main__":
    main()

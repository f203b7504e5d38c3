"""Measure the consensus of several people beside others: wrong labels, and whether probabilities hold.

    python -m benchmarks.annotators --seeds 0-4          # finished lines are kept
    python -m benchmarks.annotators --report

`real`: answers of people whose truth is known (SUBSVMS_ANNOTATORS): all of them, and those about 80 % of the
rows that are drawn by the seed. Beside each other, in one run: the majority, ties at random; Dawid and Skene
without features, ours and crowd-kit's if it is installed (`pip install crowd-kit`); CROWDLAB of cleanlab and
our consensus from the same probabilities, cross-validated on the majority's labels; and our consensus from
the features. *Stated*: the share of wrong labels that the probabilities state.

`digits`: scikit-learn's, three made people who are wrong in 15, 25 and 35 %. `cost`: 100,000 rows with three
answers each, in a process of its own, in annotators_cost.csv. Made people of many kinds have a benchmark of
their own, `benchmarks.annotators_made`. Lines are appended to annotators.csv, tables go to annotators.md, and
the reliability of all rows, first seed, to annotators_reliability.csv and .png.
"""

import os
import resource
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import SVC

from benchmarks.annotators_made import count_answers, measure_majority
from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.ordinary import make_parser
from benchmarks.pages import as_markdown, plt, save
from benchmarks.peers import child
from subsvms import correct_labels
from subsvms.annotators import find_consensus

TABLES = ("music", "cifar10n_resnet18", "digits")
SHARE = 0.8  # of the rows, where some are drawn
ERRORS = (0.15, 0.25, 0.35)  # of the made people of digits
BINS, FEWEST = np.linspace(0, 1, 11), 20  # of stated confidence; labels in a bin that is drawn
ROWS, PEOPLE, ANSWERS, N_COLUMNS = 100_000, 50, 3, 10  # of the table whose cost is measured
LIMIT = 1800  # seconds
MODELS = {"SVC": lambda seed: SVC(probability=True, random_state=seed),
          "logistic": lambda seed: LogisticRegression(max_iter=1000)}  # fmt: skip
KEY = ("data", "rows", "seed")
COLUMNS = (*KEY, "method", "wrong", "stated", "calibrated", "seconds")
BIN_COLUMNS = ("data", "method", "stated_from", "n", "stated", "right")


def load(name, seed):
    """Return features, probabilities or None, answers (row, person, label), and the truth."""
    if name == "digits":
        X, truth = load_digits(return_X_y=True)
        rng, shape = np.random.default_rng([seed, 39]), (len(truth), len(ERRORS))
        other = (truth[:, None] + rng.integers(1, 10, shape)) % 10
        said = np.where(rng.random(shape) < ERRORS, other, truth[:, None])
        row, person = (one.ravel() for one in np.indices(shape))
        return X, None, pd.DataFrame({"row": row, "person": person, "label": said.ravel()}), truth
    file = np.load(Path(os.environ["SUBSVMS_ANNOTATORS"]) / f"{name}.npz")
    answers = pd.DataFrame({"row": file["row"], "person": file["who"], "label": file["label"]})
    given = file["probabilities"].astype(float) if "probabilities" in file else None
    return file["X"], given, answers, file["gold"].astype(int)


def draw(loaded, seed):
    """Return some of the rows, with all answers about them."""
    X, given, answers, truth = loaded
    kept = np.sort(np.random.default_rng([seed, 40]).permutation(len(truth))[: round(SHARE * len(truth))])
    places = np.full(len(truth), -1)
    places[kept] = np.arange(len(kept))
    answers = answers.assign(row=places[answers["row"]])
    return X[kept], None if given is None else given[kept], answers[answers["row"] >= 0], truth[kept]


def cross_validate(X, answers, truth, seed, model):
    """Return out-of-sample probabilities of a model that learns from the majority's labels."""
    counts = count_answers(answers, len(truth), truth.max() + 1)
    majority = counts.argmax(axis=1)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cross_val_predict(MODELS[model](seed), X, majority, cv=folds, method="predict_proba")


def list_methods(loaded, rows, seed):
    """Return the methods by name: labels, their probabilities, and whether these are said to hold."""
    X, given, answers, truth = loaded
    judges = {"network": lambda: given}
    if given is None:
        judges = {m: cache(lambda m=m: cross_validate(X, answers, truth, seed, m)) for m in MODELS}
    methods = {"Dawid-Skene, ours": lambda: run_ours(None, answers, seed)}
    try:
        import crowdkit.aggregation  # noqa: F401
    except ImportError:
        pass
    else:
        methods["Dawid-Skene, crowd-kit"] = lambda: run_crowd_kit(answers)
    for judge, find in judges.items():
        methods[f"CROWDLAB, {judge}"] = lambda find=find: run_crowdlab(answers, find())
        methods[f"consensus, {judge}"] = lambda find=find: run_ours(None, answers, seed, pred_probs=find())
    if given is None or (rows, seed) == ("all", 0):  # X is the log of the probabilities: once is enough
        methods["consensus, features"] = lambda: run_ours(X, answers, seed)
    if np.bincount(answers["row"]).min() == len(answers["person"].unique()):  # a label of each person
        methods["majority, corrected"] = lambda: run_corrected(X, answers, truth, seed)
    return methods


def run_ours(X, answers, seed, **judge):
    """Return labels, confidence and whether they are said to be calibrated, of `find_consensus`."""
    found = find_consensus(X, answers, random_state=seed, n_jobs=1, **judge)
    return found.labels, found.confidence, found.doubt is None


def run_crowd_kit(answers):
    """Return labels and probabilities of crowd-kit's Dawid and Skene."""
    from crowdkit.aggregation import DawidSkene

    named = answers.rename(columns={"row": "task", "person": "worker"})
    p = DawidSkene(n_iter=100).fit_predict_proba(named).sort_index()
    return np.asarray(p.columns)[p.to_numpy().argmax(axis=1)], p.to_numpy().max(axis=1), None


def run_crowdlab(answers, p):
    """Return labels and consensus quality of CROWDLAB."""
    from cleanlab.multiannotator import get_label_quality_multiannotator

    wide = answers.pivot(index="row", columns="person", values="label")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = get_label_quality_multiannotator(wide, p, verbose=False)["label_quality"]
    return found["consensus_label"].to_numpy(), found["consensus_quality_score"].to_numpy(), None


def run_corrected(X, answers, truth, seed):
    """Return the majority's labels after `correct_labels`."""
    majority = count_answers(answers, len(truth), truth.max() + 1).argmax(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = correct_labels(X, majority, random_state=seed, n_jobs=1)
    return found.labels, None, None


def run(name, rows, seed, done):
    """Return the lines of a cell that are not done, and those of its reliability curves."""
    loaded = load(name, seed)
    loaded = draw(loaded, seed) if rows == "some" else loaded
    truth, cell = loaded[3], dict(zip(KEY, (name, rows, seed), strict=True))
    lines = [cell | {"method": "majority", "wrong": measure_majority(loaded[2], truth)}]
    lines = [] if (*map(str, cell.values()), "majority") in done else lines
    bins = []
    for method, do in list_methods(loaded, rows, seed).items():
        if (*map(str, cell.values()), method) in done:
            continue
        began = time.perf_counter()
        labels, confidence, calibrated = do()
        seconds, right = time.perf_counter() - began, labels == truth
        stated = "" if confidence is None else float(1.0 - confidence.mean())
        line = {"method": method, "wrong": float(1 - right.mean()), "stated": stated}
        lines.append(cell | line | {"calibrated": calibrated, "seconds": seconds})
        if confidence is not None:
            bins += bin_rows(name, method, confidence, right)
        print(*lines[-1].values(), flush=True)
    return lines, bins


def bin_rows(name, method, confidence, right):
    """Return a line for each bin of stated confidence: how many labels, what is stated, what is right."""
    of = np.clip(np.digitize(confidence, BINS) - 1, 0, len(BINS) - 2)
    lines = []
    for b in np.unique(of):
        some, ours = confidence[of == b], right[of == b]
        values = name, method, float(BINS[b]), len(some), float(some.mean()), float(ours.mean())
        lines.append(dict(zip(BIN_COLUMNS, values, strict=True)))
    return lines


def measure_cost(with_features, n):
    """Return seconds, and MiB beyond those before, of a large table; in a process of its own."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=n)
    X = rng.normal(size=(n, N_COLUMNS)) + truth[:, None]
    row = np.repeat(np.arange(n), ANSWERS)
    person = rng.random((n, PEOPLE)).argsort(axis=1)[:, :ANSWERS]
    wrong = rng.random(len(row)) < 0.25
    label = np.where(wrong, (truth[row] + rng.integers(1, 3, len(row))) % 3, truth[row])
    answers = pd.DataFrame({"row": row, "person": person.ravel(), "label": label})
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    labels = find_consensus(X if with_features else None, answers, random_state=0, n_jobs=1).labels
    after, seconds = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter() - began
    return {
        "features": with_features, "rows": n, "seconds": seconds, "cpu": after.ru_utime - before.ru_utime,
        "peak_mib": after.ru_maxrss / 1024, "before_mib": before.ru_maxrss / 1024,
        "wrong": float(np.mean(labels != truth)),
    }  # fmt: skip


def list_cells(seeds):
    """Return (data, rows, seed) of every cell."""
    names = [name for name in TABLES if name == "digits" or "SUBSVMS_ANNOTATORS" in os.environ]
    every = [(name, rows, seed) for seed in seeds for rows in ("all", "some") for name in names]
    once = {("cifar10n_resnet18", "all"): seeds[:1], ("digits", "some"): ()}  # seeds decide nothing there
    return [cell for cell in every if cell[2] in once.get(cell[:2], seeds)]


def draw_reliability(path):
    """Draw stated confidence against the share that is right."""
    lines = pd.read_csv(path)
    names = list(dict.fromkeys(lines["data"]))
    figure, axes = plt.subplots(1, len(names), figsize=(2.7 * len(names), 2.7), squeeze=False)
    for name, ax in zip(names, axes[0], strict=True):
        ax.plot([0, 1], [0, 1], color="0.8")
        drawn = (lines["data"] == name) & (lines["n"] >= FEWEST) & ~lines["method"].str.contains("logistic")
        for method, some in lines[drawn].groupby("method", sort=False):
            ax.plot(some["stated"], some["right"], marker=".", label=method, linewidth=1)
        ax.set(title=name, xlabel="stated", ylabel="right")
        ax.legend(fontsize=5, frameon=False)
    figure.tight_layout()
    save(figure, path.with_suffix(".png"), lines=path)


def write_report(path):
    """Write the tables: wrong labels and what is stated, and the cost."""
    lines = pd.read_csv(path).drop_duplicates([*KEY, "method"], keep="last")
    lines["away"] = (lines["stated"] - lines["wrong"]).abs()
    lines["not_calibrated"] = lines["calibrated"].map({"True": 0.0, "False": 1.0, True: 0.0, False: 1.0})
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    text = [
        f"# Several people\n\n`python -m benchmarks.annotators`, seeds {seeds}. Shares of wrong labels; "
        "*sd*: over seeds; *away*: mean distance of what is stated from it; *not calibrated*: share of the "
        f"runs that say so; rows: all, or {SHARE:.0%} of them, drawn by the seed.\n\n"
        "![Reliability](annotators_reliability.png)"
    ]
    for name, some in lines.groupby("data", sort=False):
        groups = some.groupby(["rows", "method"], sort=False)
        table = groups[["wrong", "stated", "away", "not_calibrated", "seconds"]].mean()
        table.insert(1, "sd", groups["wrong"].std())
        text.append(f"## {name}\n\n" + "\n".join(as_markdown(table.reset_index())))
    cost = path.with_name("annotators_cost.csv")
    if cost.exists():
        said = f"## {ROWS:,} rows, {ANSWERS} answers each of {PEOPLE} people\n\nOne thread.\n\n"
        text.append(said + "\n".join(as_markdown(pd.read_csv(cost), 2)))
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Do the cells that are missing, and write the report."""
    args = make_parser(__doc__, "0-4").parse_args(words)
    path, curves = args.results / "annotators.csv", args.results / "annotators_reliability.csv"
    cost = args.results / "annotators_cost.csv"
    if not args.report:
        done = find_done(path, (*KEY, "method"))
        for cell in list_cells(read_seeds(args.seeds)):
            if not args.only or cell[0] in args.only:
                lines, bins = run(*cell, done)
                append_lines(path, COLUMNS, lines)
                if cell[1] == "all" and cell[:1] not in find_done(curves, ("data",)):
                    append_lines(curves, BIN_COLUMNS, bins)
        for features in (False, True):
            wanted = not args.only or "cost" in args.only
            if wanted and (str(features),) not in find_done(cost, ("features",)):
                outcome = child.call(measure_cost, features, ROWS, limit=LIMIT)
                append_lines(cost, list(outcome.value), [outcome.value])
    write_report(path)
    draw_reliability(curves)


if __name__ == "__main__":
    main()

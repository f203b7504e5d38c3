"""Measure what to do for a model where labels were changed in one direction: the setting of the paper.

    python -m benchmarks.directed --seeds 800           # an hour; finished lines are kept
    python -m benchmarks.directed --report

Cells are the 13 sets of the paper (SUBSVMS_DATA) whose labels were changed by directed flips, as many as a
share rho of the smaller class, the share alpha of them in the larger class. A third of the rows is held out,
with true labels; at most `MOST` of the others are trained on. One line per cell, seed and way is appended to
benchmarks/results/directed.csv, the tables go to benchmarks/results/directed.md. No setting was chosen here.

given    labels as they are
fix      what `correct_labels` makes of them
drop     rows whose label it would change are left out
weight   rows are weighted by the probability of their label
truth    which no user has

Besides ordinary models each way has the paper's own classifier, `SubSVMClassifier`: the column "small SVMs".
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks.made import write
from benchmarks.ordinary import measure, read
from benchmarks.pages import as_markdown
from benchmarks.quality import FEATURES
from subsvms import SubSVMClassifier, adversaries, correct_labels

MOST = 1500
RHOS, ALPHAS = (0.5, 0.75), (0.0, 0.5, 1.0)
SMALL = "small SVMs"
WAYS = ("given", "fix", "drop", "weight", "truth")
MODELS = {  # balanced, as small SVMs are: otherwise rare classes would decide the comparison
    "SVC": lambda seed: SVC(class_weight="balanced"),
    "logistic": lambda seed: LogisticRegression(class_weight="balanced", max_iter=1000),
    "boosting": lambda seed: HistGradientBoostingClassifier(
        max_iter=50, class_weight="balanced", random_state=seed
    ),
    "forest": lambda seed: RandomForestClassifier(
        100, min_samples_leaf=3, class_weight="balanced", random_state=seed
    ),
    SMALL: lambda seed: SubSVMClassifier(random_state=seed, n_jobs=1),
}
COLUMNS = ("data", "rho", "alpha", "seed", "way", "rows", "left", *MODELS)


def run(job):
    """Do one way of one cell, and return its line."""
    name, rho, alpha, seed, way = job
    X, clean, _, _ = read("LIBSVM", name, seed)
    X, X_test, clean, y_test = train_test_split(X, clean, test_size=1 / 3, stratify=clean, random_state=seed)
    if len(clean) > MOST:
        X, _, clean, _ = train_test_split(X, clean, train_size=MOST, stratify=clean, random_state=seed)
    given = adversaries.directed_flips(clean, rho=rho, alpha=alpha, random_state=seed).labels
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, weight = choose(X, clean, given, way, seed)
        rows = np.flatnonzero(weight > 0)
        models = {name: make(seed) for name, make in MODELS.items()}
        found = [
            np.nan if way == "weight" and name == SMALL  # which takes no weights
            else judge(model, X, labels, weight, rows, X_test, y_test)
            for name, model in models.items()
        ]  # fmt: skip
    left = np.mean(labels[rows] != clean[rows])
    return dict(zip(COLUMNS, (*job, len(rows), left, *found), strict=True))


def choose(X, clean, given, way, seed):
    """Return the labels that a model is trained on, and the weights of the rows."""
    every = np.ones(len(given))
    if way in ("given", "truth"):
        return (clean if way == "truth" else given), every
    correction = correct_labels(X, given, random_state=seed, n_jobs=1)
    if way == "fix":
        return correction.labels, every
    if way == "drop":
        return given, (correction.labels == given).astype(float)
    return given, replace(correction, settings=replace(correction.settings, action="weight")).sample_weight


def judge(model, X, labels, weight, rows, X_test, y_test):
    """Return the balanced accuracy of a model on true labels."""
    if len(np.unique(labels[rows])) == 1:
        return 0.5
    dense = isinstance(model, HistGradientBoostingClassifier)
    X, X_test = (one.toarray() if dense and hasattr(one, "toarray") else one for one in (X, X_test))
    more = {} if isinstance(model, SubSVMClassifier) else {"sample_weight": weight[rows]}
    return balanced_accuracy_score(y_test, model.fit(X[rows], labels[rows], **more).predict(X_test))


def list_jobs(seeds):
    """Return (data, rho, alpha, seed, way) of every run, seed after seed."""
    return [
        (name, rho, alpha, seed, way)
        for seed in seeds for name in sorted(FEATURES) for rho in RHOS for alpha in ALPHAS for way in WAYS
    ]  # fmt: skip


def write_report(path):
    """Write the means, the gains with their spread over tables, how often they are large, and every table."""
    lines = pd.read_csv(path)
    lines["way"] = pd.Categorical(lines["way"], WAYS, ordered=True)
    seeds, measures = ", ".join(map(str, sorted(lines["seed"].unique()))), ["left", *MODELS]
    means = lines.groupby(["rho", "alpha", "way"], observed=True)[measures].mean()
    cells = lines.groupby(["data", "rho", "alpha", "way"], observed=True)[measures].mean()
    gained = cells.drop("given", level="way") - cells.xs("given", level="way")
    gain = gained.groupby(["rho", "alpha", "way"], observed=True)[measures]
    better, worse = ((sign * gained[[*MODELS]] > 0.01).groupby("way", observed=True).mean()
                     for sign in (1, -1))  # fmt: skip
    text = [
        f"# What to do for your model, where labels were changed in one direction\n\n`python -m "
        f"benchmarks.directed`, seeds {seeds}, {len(lines):,} runs, 13 sets of the paper, at most {MOST:,} "
        "rows. Left: share of wrong labels in the rows that a model is trained on. Others: balanced accuracy "
        "on true labels, of models whose classes are balanced."
    ]
    for title, table in {
        "Mean over tables": means,
        "Gain over labels as given, mean over tables": gain.mean(),
        "Its standard error over tables": gain.sem(),
        "Share of the cells in which a way is better than labels as given, by more than .01": better,
        "And worse": worse,
        "By table": cells,
    }.items():
        text.append(f"## {title}\n\n" + "\n".join(as_markdown(table.reset_index())))
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing, and write the report."""
    measure(__doc__, "800", "directed", list_jobs, run, COLUMNS, write_report, words, table=0)


if __name__ == "__main__":
    main()

"""Measure the consensus of made people beside their majority: how often it is worse, and where.

    python -m benchmarks.annotators_made --seeds 0-4     # finished lines are kept
    python -m benchmarks.annotators_made --report

A cell is a table of scikit-learn's, a kind of people, how many, and how many answers a row; without features
all of them, with features those of `FEW`. The majority's ties are at random, and counted by expectation. A
cell is worse if the mean over the seeds is, by more than .002. Lines are appended to annotators_made.csv,
tables go to annotators_made.md. The model was chosen with seeds 100 to 104.

independent   each errs at a rate of its own, from .05 to .45; in the other kinds from .1 to .3
classes       at rates that depend on the class (0 to .5), towards one class each
guess, same   a third draws its answers, or always says one class
opposite      a fifth always says the next class
alike         the answers of two fifths are copies of one person's
hard          on three rows of ten all err much more often, mostly towards the same class
"""

import zlib

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine

from benchmarks.made import write
from benchmarks.ordinary import measure
from benchmarks.pages import as_markdown
from subsvms.annotators import find_consensus

TABLES = {"wine": load_wine, "breast cancer": load_breast_cancer}
KINDS = ("independent", "classes", "guess", "same", "opposite", "alike", "hard")
PEOPLE, ANSWERS = (2, 3, 5, 10, 20, 50), (1, 2, 3, 5, 10)
FEW = ((2, 2), (3, 3), (5, 2), (10, 3), (20, 5))  # people and answers a row, with features
WORSE = 0.002
KEY = ("data", "kind", "people", "answers", "features", "seed")
COLUMNS = (*KEY, "majority", "wrong", "stated", "calibrated")


def make_people(kind, truth, n_people, rng):
    """Return what each of these people says about each row, (n_rows, n_people)."""
    n, n_classes, shape = len(truth), truth.max() + 1, (len(truth), n_people)
    other = (truth[:, None] + rng.integers(1, n_classes, shape)) % n_classes
    rate = rng.uniform(0.05, 0.45, n_people) if kind == "independent" else rng.uniform(0.1, 0.3, n_people)
    if kind == "classes":
        rate = rng.uniform(0.0, 0.5, (n_people, n_classes))[:, truth].T
        towards = (np.arange(n_classes) + rng.integers(1, n_classes, (n_people, n_classes))) % n_classes
        other = towards[:, truth].T
    elif kind == "hard":
        rate = np.where(rng.random((n, 1)) < 0.3, np.minimum(2.5 * rate, 0.7), 0.4 * rate)
        far = (truth + rng.integers(1, n_classes, n)) % n_classes
        other = np.where(rng.random(shape) < 0.7, far[:, None], other)
    said = np.where(rng.random(shape) < rate, other, truth[:, None])
    order = rng.permutation(n_people)
    third, fifth = order[: max(1, n_people // 3)], order[: max(1, n_people // 5)]
    if kind == "guess":
        said[:, third] = rng.integers(n_classes, size=(n, len(third)))
    elif kind == "same":
        said[:, third] = rng.integers(n_classes, size=len(third))
    elif kind == "opposite":
        said[:, fifth] = ((truth + 1) % n_classes)[:, None]
    elif kind == "alike":
        group = order[: max(2, round(0.4 * n_people))]
        said[:, group] = said[:, group[:1]]
    return said


def ask(said, n_answers, rng):
    """Return the answers of so many people about each row, drawn anew for each."""
    person = rng.random(said.shape).argsort(axis=1)[:, :n_answers].ravel()
    row = np.repeat(np.arange(len(said)), n_answers)
    return pd.DataFrame({"row": row, "person": person, "label": said[row, person]})


def count_answers(answers, n_rows, n_classes):
    """Return how often each class was said about each row."""
    counts = np.zeros((n_rows, n_classes))
    np.add.at(counts, (answers["row"], answers["label"]), 1)
    return counts


def measure_majority(answers, truth):
    """Return the share of wrong labels of the majority, which draws one of tied labels, by expectation."""
    counts = count_answers(answers, len(truth), truth.max() + 1)
    top = counts == counts.max(axis=1, keepdims=True)
    return float(np.mean(1.0 - top[np.arange(len(truth)), truth] / top.sum(axis=1)))


def run(job):
    """Do one cell with one seed, and return its line."""
    data, kind, n_people, n_answers, features, seed = job
    X, truth = TABLES[data](return_X_y=True)
    rng = np.random.default_rng([seed, zlib.crc32(f"{data}/{kind}/{n_people}/{n_answers}".encode())])
    answers = ask(make_people(kind, truth, n_people, rng), n_answers, rng)
    how = {"classes": range(truth.max() + 1), "random_state": seed, "n_jobs": 1}
    found = find_consensus(X if features else None, answers, **how)
    calibrated = found.doubt is None
    measures = measure_majority(answers, truth), float(np.mean(found.labels != truth)), found.expected_wrong
    return dict(zip(COLUMNS, (*job, *measures, calibrated), strict=True))


def list_jobs(seeds):
    """Return (data, kind, people, answers, features, seed) of every line, those with features last."""
    grid = [(n, m) for n in PEOPLE for m in ANSWERS if m <= n]
    return [(data, kind, n, m, features, seed) for features, pairs in ((False, grid), (True, FEW))
            for seed in seeds
            for data in TABLES for kind in KINDS for n, m in pairs]  # fmt: skip


def write_report(path):
    """Write means by kind, and every cell that is worse than the majority."""
    lines = pd.read_csv(path).drop_duplicates(list(KEY), keep="last")
    lines["more"] = lines["wrong"] - lines["majority"]
    lines["away"] = (lines["stated"] - lines["wrong"]).abs()
    cells = lines.groupby(["features", *KEY[:4]], sort=False)
    mean = cells[["majority", "wrong", "more", "away"]].mean().assign(sd=cells["more"].std())
    mean["worse"] = mean["more"] > WORSE
    kinds = mean.groupby(["features", "kind"], sort=False)
    table = kinds[["majority", "wrong", "more", "away"]].mean()
    table = table.assign(worst=kinds["more"].max(), worse=kinds["worse"].sum(), cells=kinds.size())
    worse = mean[mean["worse"]].drop(columns=["worse", "away"]).reset_index()
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    said = lines.groupby(["features", "calibrated"])["away"].agg(["size", "mean"]).reset_index()
    said = said.rename(columns={"size": "runs", "mean": "away"})
    text = [
        f"# Several people, made\n\n`python -m benchmarks.annotators_made`, seeds {seeds}. *Worse*: "
        f"cells where the mean over the seeds is more than {WORSE} above the majority's.\n\n"
        + "\n".join(as_markdown(table.reset_index())),
        "## How far what is stated is away\n\nWithout *calibrated*, it says *not calibrated*.\n\n"
        + "\n".join(as_markdown(said)),
        f"## Worse than the majority: {len(worse)} of {len(mean)} cells\n\n" + "\n".join(as_markdown(worse)),
    ]
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing."""
    measure(__doc__, "0-4", "annotators_made", list_jobs, run, COLUMNS, write_report, words, table=0)


if __name__ == "__main__":
    main()

"""Measure what a correction is good for: a model trained afterwards, on ordinary tables and real noise.

    python -m benchmarks.peers.downstream --seeds 500-502     # hours on one core; finished lines are kept
    python -m benchmarks.peers.downstream --report            # writes peers.md from the lines

A cell is a table of benchmarks/ordinary.py with its noise: real, or flips of 10 % at random, or of 20 % of
one class and 5 % of the others. A third of the rows whose true label is known is held out to test the final
models on, and at most `MOST` of the others are used. Every method sees the same labels.
What is done with its advice:

keep      nothing: labels as given, or the truth, which no user has
fix       labels that are thought wrong are replaced
drop      their rows are left out, which is what cleanlab's makers advise
weight    each row is weighted by the probability of its label: ours, or cleanlab's label quality
told      the worst rows are left out, as many as labels are wrong: for scores that only rank, with a number
          that no user has
asked     the `N_ANSWERS` worst labels are replaced by the truth
audit     as many questions in the order of `subsvms.audit`, then what it changes by itself

One line per cell, seed and method is appended to benchmarks/results/downstream.csv. No setting was chosen
on these seeds.
"""

import os
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from benchmarks.made import read_seeds
from benchmarks.ordinary import corrupt, list_real, make_parser, read, run_missing
from benchmarks.peers.methods import METHODS, take_own
from benchmarks.peers.page import write_page
from benchmarks.peers.scores import SCORES, rank
from subsvms import Correction, correct_labels
from subsvms.audit import Audit, Ranking, SimulatedAnnotator, run_audit

MOST = 1000
N_ANSWERS = 50
TABLES = {
    "scikit-learn's": ("breast cancer", "wine", "digits"),
    "made": ("clusters, 3,000", "moons", "categories"),
    "LIBSVM": ("a1a", "splice", "svmguide1", "w1a"),
}
KINDS = ("uniform", "class-conditional")
SLOW = (  # boosting, above all with ten classes
    "cleanlab, boosting", "digits", "cifar10n_worst_resnet18", "music_majority", "music_one"
)  # fmt: skip
FINAL = {  # the same models after every method, balanced because some classes are rare
    "forest": lambda seed: RandomForestClassifier(
        50, min_samples_leaf=5, class_weight="balanced_subsample", random_state=seed
    ),
    "SVC": lambda seed: SVC(class_weight="balanced"),
}
ACTIONS = ("keep", "fix", "drop", "weight", "told", "asked", "audit")
KEY = ("group", "data", "kind", "seed", "method")
COLUMNS = (
    *KEY, "rows", "given", "auc", "ap", "seconds",
    *(f"{measure} {action}" for action in ACTIONS for measure in ("left", *FINAL)),
)  # fmt: skip


class Cell(NamedTuple):
    """A table with given labels, and rows to test on."""

    X: Any  # (n_rows, n_features), array or CSR matrix
    clean: np.ndarray  # (n_rows,), class numbers; the given ones where the truth is not known
    given: np.ndarray
    known: np.ndarray
    X_test: Any
    y_test: np.ndarray


class Advice(NamedTuple):
    """What a method says about the given labels."""

    quality: np.ndarray  # lower is worse
    labels: np.ndarray | None = None  # corrected; None if the method only ranks
    weight: np.ndarray | None = None
    correction: Correction | None = None  # what an audit starts from


def load_cell(group, name, kind, seed):
    """Return a table, its labels after the attack if they are not noisy by themselves, and test rows."""
    X, clean, given, known = read(group, name, seed)
    clean = clean if given is None else np.where(known, clean, given)
    rows = np.flatnonzero(known)
    _, test = train_test_split(rows, test_size=1 / 3, stratify=clean[rows], random_state=seed)
    train = np.setdiff1d(np.arange(len(clean)), test)
    if len(train) > MOST:
        train, _ = train_test_split(train, train_size=MOST, stratify=clean[train], random_state=seed)
    X_test, y_test, X, clean, known = X[test], clean[test], X[train], clean[train], known[train]
    given = corrupt(X, clean, kind, seed) if given is None else given[train]
    return Cell(X, clean.astype(int), given.astype(int), known, X_test, y_test.astype(int))


def ask_subsvms(X, given, seed):
    correction = correct_labels(X, given, random_state=seed, n_jobs=1)
    weighted = replace(correction, settings=replace(correction.settings, action="weight"))
    return Advice(correction.label_quality, correction.labels, weighted.sample_weight, correction)


def ask_vote(X, given, seed):
    """Rank by the share of out-of-bag votes for the given label: Data-OOB with SVMs."""
    return Advice(take_own(correct_labels(X, given, random_state=seed, n_jobs=1).votes.share, given))


def ask_cleanlab(name):
    def ask(X, given, seed):
        labels, quality = METHODS[name](X, given, seed)
        return Advice(quality, labels, weight=quality)

    return ask


def ask_score(score):
    return lambda X, given, seed: Advice(score(X, given, seed))


PAGE = Path(__file__).parents[1] / "results" / "peers.md"
AS_GIVEN, TRUTH, OURS = "as given", "the truth", "subsvms"
ADVISERS = {
    OURS: ask_subsvms,
    "subsvms, the vote alone": ask_vote,
    **{name: ask_cleanlab(name) for name in METHODS if name.startswith("cleanlab")},
    **{name: ask_score(score) for name, score in SCORES.items()},
}


def run(job):
    """Do one run, and return its line."""
    *key, seed, method = job
    cell = load_cell(*key, seed)
    wrong = (cell.given != cell.clean)[cell.known]
    line = dict(zip(KEY, job, strict=True)) | {"rows": len(cell.given), "given": np.mean(wrong)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in ADVISERS:
            began = time.process_time()
            advice = ADVISERS[method](cell.X, cell.given, seed)
            line |= {"seconds": time.process_time() - began, **rank(wrong, advice.quality[cell.known])}
            sets = list_sets(cell, advice, seed)
        else:
            sets = {"keep": (cell.clean if method == TRUTH else cell.given, np.ones(len(cell.given)))}
        judged = {}  # actions often lead to the same rows and labels
        for action, (labels, weight) in sets.items():
            same = labels.tobytes(), weight.tobytes()
            if same not in judged:
                judged[same] = judge(cell, labels, weight, seed)
            line |= {f"{name} {action}": value for name, value in judged[same].items()}
    return line


def list_sets(cell, advice, seed):
    """Return {action: (labels, weights of the rows)} for all that can be done with the advice."""
    given, clean, known = cell.given, cell.clean, cell.known
    every = np.ones(len(given))
    order = np.argsort(advice.quality, kind="stable")
    n_wrong = round(np.mean((given != clean)[known]) * len(given))
    sets = {"told": (given, np.isin(np.arange(len(given)), order[n_wrong:]).astype(float))}
    entered, asked = given.copy(), order[known[order]][:N_ANSWERS]
    entered[asked] = clean[asked]
    sets["asked"] = entered, every
    if advice.labels is not None:
        sets["fix"] = advice.labels, every
        sets["drop"] = given, (advice.labels == given).astype(float)
        sets["weight"] = given, advice.weight
    if advice.correction is not None:
        ranking = Ranking.of(advice.correction)
        ranking = replace(ranking, order=ranking.order[known[ranking.order]])
        audit = Audit(ranking, N_ANSWERS, random_state=seed)
        sets["audit"] = run_audit(audit, SimulatedAnnotator(clean)).labels, every
    return sets


def judge(cell, labels, weight, seed):
    """Return the share of wrong labels among the rows left, and each final model's balanced accuracy."""
    rows = np.flatnonzero(weight > 0)
    known = rows[cell.known[rows]]
    measures = {"left": np.mean(labels[known] != cell.clean[known])}
    for name, make in FINAL.items():
        if len(np.unique(labels[rows])) == 1:
            measures[name] = 1 / len(np.unique(cell.y_test))
        else:
            model = make(seed).fit(cell.X[rows], labels[rows], sample_weight=weight[rows])
            measures[name] = balanced_accuracy_score(cell.y_test, model.predict(cell.X_test))
    return measures


def list_jobs(seeds):
    """Return (group, data, kind, seed, method) of every run, seed after seed, slow ones last."""
    tables = {group: TABLES[group] for group in TABLES if group != "LIBSVM" or "SUBSVMS_DATA" in os.environ}
    cells = [("real noise", name, "real", seed) for seed in seeds for name in list_real()]
    for group, names in tables.items():
        cells += [(group, name, kind, seed) for seed in seeds for name in names for kind in KINDS]
    jobs = [(*cell, method) for cell in cells for method in (AS_GIVEN, TRUTH, *ADVISERS)]
    return sorted(jobs, key=lambda job: (job[3], job[4] in SLOW, job[1] in SLOW))


def main(words=None):
    """Run what is missing, and write the page."""
    parser = make_parser(__doc__, "500-502")
    parser.add_argument("--to", type=Path, default=PAGE)
    args = parser.parse_args(words)
    path = args.results / "downstream.csv"
    if not args.report:
        jobs = [job for job in list_jobs(read_seeds(args.seeds)) if not args.only or job[1] in args.only]
        run_missing(run, jobs, path, COLUMNS, args.workers)
    write_page(args.results, args.to)


if __name__ == "__main__":
    main()

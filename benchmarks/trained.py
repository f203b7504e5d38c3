"""Measure models that are trained on a table after nothing, the rule, a confirmation, or an audit.

    python -m benchmarks.trained --seeds 700-702        # an hour; finished lines are kept
    python -m benchmarks.trained --report

Cells are those with real noise (SUBSVMS_REAL_NOISE), and made ones with flips of 10 % at random, of 20 % of
one class and 5 % of the others, and along the border. A third of the rows whose true label is known is held
out to test on; the people make no errors. One line per cell, seed and way is appended to
benchmarks/results/trained.csv, the tables go to benchmarks/results/trained.md. No setting was chosen on
these.

given         labels as they are
rule          what `correct_labels` makes of them
confirm       the rule, and at most 15 answers about its changes
worst first   the `N_ANSWERS` worst labels replaced by the truth
audit         as many answers, and what the audit changes unseen
for a model   the same with the threshold of two thirds, for two classes; otherwise the audit
truth         which no user has
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.made import write
from benchmarks.ordinary import list_real, measure
from benchmarks.pages import as_markdown
from benchmarks.peers.downstream import load_cell
from subsvms import correct_labels
from subsvms.audit import Audit, Ranking, SimulatedAnnotator, confirm, run_audit

N_ANSWERS = 50
KINDS = ("uniform", "class-conditional", "boundary")
TABLES = {
    "scikit-learn's": ("breast cancer", "digits"),
    "made": ("clusters, 3,000", "moons", "categories"),
    "LIBSVM": ("a1a", "splice", "svmguide1"),
}
WAYS = ("given", "rule", "confirm", "worst first", "audit", "for a model", "truth")
MODELS = {
    "forest": lambda seed: RandomForestClassifier(100, min_samples_leaf=3, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "logistic": lambda seed: make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000)),
}
KEY = ("group", "data", "kind", "seed")
MEASURES = tuple(f"{model} {measure}" for model in MODELS for measure in ("auc", "balanced"))
COLUMNS = (*KEY, "way", "two", "asked", "unseen", "left", *MEASURES)


def run(job):
    """Do one way of one cell, and return its line."""
    *key, seed, way = job
    cell = load_cell(*key, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, asked, unseen = choose_labels(cell, way, seed)
        measures = judge(cell, labels, seed)
    left = np.mean((labels != cell.clean)[cell.known])
    two = len(np.unique(cell.given)) == 2
    return dict(zip(COLUMNS, (*job, two, asked, unseen, left, *measures), strict=True))


def choose_labels(cell, way, seed):
    """Return the labels that a model is trained on, the answers they took, and the share changed unseen."""
    if way in ("given", "truth"):
        return (cell.given if way == "given" else cell.clean), 0, 0.0
    correction = correct_labels(cell.X, cell.given, random_state=seed, n_jobs=1)
    if way == "rule":
        return correction.labels, 0, np.mean(correction.labels != cell.given)
    ranking = Ranking.of(correction)
    ranking = replace(ranking, order=ranking.order[cell.known[ranking.order]])
    n_answers = min(N_ANSWERS, len(ranking.order))
    if way == "worst first":
        labels, asked = cell.given.copy(), ranking.order[:n_answers]
        labels[asked] = cell.clean[asked]
        return labels, n_answers, 0.0
    person = SimulatedAnnotator(cell.clean)
    if way == "confirm":
        found = run_audit(confirm(ranking, random_state=seed), person)
    else:
        for_model = way == "for a model" and not ranking.several
        found = run_audit(Audit(ranking, n_answers, for_model=for_model, random_state=seed), person)
    return found.labels, found.claim.n_answers, len(found.claim.changed) / len(cell.given)


def judge(cell, labels, seed):
    """Return AUC (one class against the rest, mean over classes) and balanced accuracy of each model."""
    classes = np.unique(cell.y_test)
    if len(np.unique(labels)) == 1:
        return [measure for _ in MODELS for measure in (0.5, 1 / len(classes))]
    measures = []
    for make in MODELS.values():
        X, X_test = (X.toarray() if hasattr(X, "toarray") else X for X in (cell.X, cell.X_test))
        model = make(seed).fit(X, labels)
        chances = np.zeros((len(X_test), int(max(classes.max(), model.classes_.max())) + 1))
        chances[:, model.classes_] = model.predict_proba(X_test)
        measures.append(np.mean([roc_auc_score(cell.y_test == c, chances[:, c]) for c in classes]))
        measures.append(balanced_accuracy_score(cell.y_test, model.predict(X_test)))
    return measures


def list_jobs(seeds):
    """Return (group, data, kind, seed, way) of every run."""
    cells = [("real noise", name, "real", seed) for seed in seeds for name in list_real()]
    for seed in seeds:
        cells += [(group, name, kind, seed) for group in TABLES for name in TABLES[group] for kind in KINDS]
    return [(*cell, way) for cell in cells for way in WAYS]


def write_report(path):
    """Write the means by kind of noise with their spread over seeds, then every table."""
    lines = pd.read_csv(path)
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    lines["way"] = pd.Categorical(lines["way"], WAYS, ordered=True)
    values = ["left", *MEASURES]
    by = {"observed": True}
    by_seed = lines.groupby(["kind", "way", "seed"], **by)[["asked", "unseen", *values]].mean()
    means = by_seed.groupby(["kind", "way"], **by).mean()
    spread = by_seed.groupby(["kind", "way"], **by)[values].std()
    two = lines[lines["two"]].groupby(["kind", "way"], **by)[["unseen", *values]].mean()
    tables = lines.groupby(["data", "kind", "way"], **by)[values].mean()
    text = [
        f"# Models trained after an audit\n\n`python -m benchmarks.trained`, seeds {seeds}, {len(lines):,} "
        f"runs; {N_ANSWERS} answers of people who make no errors. Left: wrong labels in the training "
        "rows. AUC and balanced accuracy: on held-out true labels."
    ]
    for title, table in {
        "Mean over tables and seeds": means,
        "Tables of two classes, where the threshold of two thirds applies": two,
        "Standard deviation of the means over seeds": spread,
        "By table": tables,
    }.items():
        text.append(f"## {title}\n\n" + "\n".join(as_markdown(table.reset_index())))
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing, and write the report."""
    measure(__doc__, "700-702", "trained", list_jobs, run, COLUMNS, write_report, words)


if __name__ == "__main__":
    main()

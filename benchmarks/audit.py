"""Measure what an audit is worth, and how often it claims too much: wrong labels left after m answers.

    python -m benchmarks.audit --seeds 310              # an hour or two; finished cells are not repeated
    python -m benchmarks.audit --report

Cells are the tables of `benchmarks.ordinary`, with 10 % of uniform, boundary, region and greedy flips, and
those with real noise (SUBSVMS_REAL_NOISE). Each is corrected once, and audited 20 times by people who err at
rates of 0, 5 and 10 %, at random or towards the suggestion, with and without repeats. Beside it stand the
same number of answers worst first, alone and as `verified=` labels for the rule; the rule without answers;
and the best threshold on the ranking, chosen with the truth. *Harmed*: more wrong labels than given, by .002
of the rows. *False*: labels that were changed unseen did no good. *Bound false*: more of them are wrong than
was said. Lines are appended to benchmarks/results/audit.csv; the tables go to benchmarks/results/audit.md.
"""

import os
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.ordinary import (
    HARM,
    LARGE,
    MADE,
    SKLEARN,
    list_real,
    make_parser,
    read,
)
from benchmarks.pages import as_markdown
from benchmarks.quality import FEATURES
from benchmarks.verified import judge_again
from subsvms import LabelCorrector, adversaries
from subsvms.audit import Audit, Ranking, SimulatedAnnotator, run_audit

N_AUDITS = 20
ANSWERS = (20, 50, 100)
ERROR_RATES = (0.05, 0.1)  # of people; these are measured with 50 answers only
KINDS = ("uniform", "boundary", "region", "greedy")
CELL = ("group", "data", "kind", "seed")
KEY = (*CELL, "answers", "errors", "towards", "repeat")
COLUMNS = (
    *KEY, "given", "left", "worst_first", "verified", "rule", "threshold", "changed", "questions", "harmed",
    "false", "bound_false",
)  # fmt: skip


def list_settings():
    """Return (answers, error rate of the person, where errors go, repeats) of every line of a cell."""
    settings = [(m, 0.0, "anywhere", False) for m in ANSWERS]
    for errors in ERROR_RATES:
        for towards in ("anywhere", "suggestion"):
            settings += [(ANSWERS[1], errors, towards, repeat) for repeat in (False, True)]
    return settings


def corrupt(X, clean, kind, seed):
    """Return the labels after flips of 10 %."""
    return adversaries.attack(kind, X, clean, error_rate=0.1, random_state=seed).labels


def run(cell):
    """Correct a table once, audit it in all settings, and return the lines."""
    group, name, kind, seed = cell
    X, clean, given, known = read(group, name, seed)
    if given is None:
        given = corrupt(X, clean, kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corrector = LabelCorrector(random_state=seed, n_jobs=1, n_witnesses=0).fit(X, given)
    correction = corrector.correction_
    ranking = Ranking.of(correction)
    ranking = replace(ranking, order=ranking.order[known[ranking.order]])
    truth = encode(correction.classes, clean)
    rule = np.mean(encode(correction.classes, correction.labels)[known] != truth[known])
    settings = [setting for setting in list_settings() if setting[0] <= len(ranking.order)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        verified = {m: verify(corrector, X, truth, known, ranking.order[:m]) for m, *_ in settings}
    return [
        dict(zip(KEY, (*cell, *setting), strict=True))
        | {"rule": rule, "verified": verified[setting[0]]}
        | measure(ranking, truth, known, setting)
        for setting in settings
    ]


def verify(corrector, X, truth, known, asked):
    """Return the share of wrong labels after true answers about some rows, with the rule on the others."""
    correction = corrector.correction_
    decided = np.full(len(truth), -1)
    decided[asked] = truth[asked]
    judged = judge_again(corrector, X, decided)
    labels = np.where(judged.flagged, judged.suggested, correction.given)
    labels[asked] = truth[asked]
    return np.mean(labels[known] != truth[known])


def encode(classes, labels):
    """Return class numbers; -1 for a class that no given label has."""
    places = {label: number for number, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in np.asarray(labels).tolist()])


def measure(ranking, truth, known, setting):
    """Return wrong labels left, as shares of the rows, and how often a run harmed or claimed too much."""
    m, errors, towards, repeat = setting
    n, classes = known.sum(), ranking.classes
    sayable = [None if number < 0 else classes[number].item() for number in truth]
    suggested = classes[ranking.suggested] if towards == "suggestion" else None
    score = (ranking.suggested == truth).astype(int) - (ranking.given == truth)
    wrong, in_order = ranking.given != truth, score[ranking.order]
    given = wrong[known].mean()
    runs = []
    for seed in range(N_AUDITS):
        person = SimulatedAnnotator(sayable, error_rate=errors, suggested=suggested, random_state=seed)
        audit = run_audit(Audit(ranking, m, repeat=repeat, random_state=seed), person)
        claim = audit.claim
        left = np.mean(encode(classes, audit.labels)[known] != truth[known])
        misses = int(np.sum(ranking.suggested[claim.changed] != truth[claim.changed]))
        runs.append(
            {
                "left": left,
                "changed": len(claim.changed) / n,
                "questions": len(audit.state["answers"]),
                "harmed": left > given + HARM,
                "false": bool(claim.rings) and score[claim.changed].sum() <= 0,
                "bound_false": claim.at_most_wrong is not None and misses > claim.at_most_wrong,
            }
        )
    return {
        "given": given,
        "worst_first": given - wrong[ranking.order[:m]].sum() / n,
        "threshold": given - max(np.cumsum(in_order).max(), 0) / n,
        **{key: float(np.mean([run[key] for run in runs])) for key in runs[0]},
    }


def list_cells(seeds):
    """Return (group, data, kind, seed) of every cell; the largest tables are left out."""
    cells = [("real noise", name, "real", seeds[0]) for name in list_real()]
    made = [name for name in MADE if name not in LARGE]
    sets = sorted(FEATURES) if "SUBSVMS_DATA" in os.environ else []
    groups = {"scikit-learn's": SKLEARN, "made": made, "LIBSVM": sets}
    for seed in seeds:
        for group, names in groups.items():
            cells += [(group, name, kind, seed) for name in names for kind in KINDS]
    return cells


def write_report(path):
    """Write the tables: by group and answers, by people, and by table."""
    lines = pd.read_csv(path).drop_duplicates(list(KEY), keep="last")
    lines["noise"] = np.where(lines["group"] == "real noise", "real", "made")
    measures = list(COLUMNS[len(KEY) :])
    perfect = lines[lines["errors"] == 0]
    main = perfect.groupby(["noise", "answers"])[measures].mean()
    main["cells"] = perfect.groupby(["noise", "answers"]).size()
    main["largest false"] = perfect.groupby(["noise", "answers"])["false"].max()
    kinds = perfect[perfect["answers"] == ANSWERS[1]].groupby("kind")[measures].mean()
    people = lines[lines["answers"] == ANSWERS[1]]
    people = people.groupby(["noise", "errors", "towards", "repeat"])[
        ["given", "left", "worst_first", "questions", "harmed", "false", "bound_false"]
    ].mean()
    left = perfect.pivot_table(index=["group", "data"], columns="answers", values="left")
    left = left.join(perfect.groupby(["group", "data"])[["given", "threshold", "rule", "false"]].mean())
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    tables = {
        "Perfect people": main,
        f"{ANSWERS[1]} answers, by kind of noise": kinds,
        f"{ANSWERS[1]} answers of people who err (worst first without errors)": people,
        "Wrong labels left, by table": left,
    }
    text = [
        f"# Audits\n\n`python -m benchmarks.audit`, seeds {seeds}: {N_AUDITS} audits of each cell, "
        f"{len(lines) * N_AUDITS:,} in all. Shares of rows; harmed and false: shares of the audits."
    ]
    text += [f"## {title}\n\n" + "\n".join(as_markdown(t.reset_index())) for title, t in tables.items()]
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Do the cells that are missing, and write the report."""
    args = make_parser(__doc__, "310").parse_args(words)
    path = args.results / "audit.csv"
    if not args.report:
        done = {key[:4] for key in find_done(path, KEY) if key[4:] in last_settings()}
        cells = [cell for cell in list_cells(read_seeds(args.seeds)) if not args.only or cell[1] in args.only]
        todo = [cell for cell in cells if tuple(map(str, cell)) not in done]
        results = Parallel(args.workers, return_as="generator_unordered")(map(delayed(run), todo))
        append_lines(path, COLUMNS, (line for lines in results for line in lines))
    write_report(path)


def last_settings():
    """Return the last line of a finished cell, as the words of the file."""
    m, errors, towards, repeat = list_settings()[-1]
    return {(str(m), f"{errors:.5g}", towards, str(repeat))}


if __name__ == "__main__":
    main()

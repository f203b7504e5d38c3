"""Measure what an audit is worth, and how often it claims too much: wrong labels left after m answers.

    python -m benchmarks.audit --seeds 320              # hours; finished cells are not repeated
    python -m benchmarks.audit --report

Cells are the tables of `benchmarks.ordinary`, with 10 % of uniform, boundary, region and greedy flips, flips
of 20 % of one class and 5 % of the others, and clean; clean tables whose classes overlap, of five seeds; and
those with real noise (SUBSVMS_REAL_NOISE). Each is corrected once, and audited 20 times by people who err at
rates of 0, 5 and 10 %, at random or towards the suggestion, with and without repeats. Beside it stand the
rule without answers; the same number of answers worst first; the best threshold on the ranking, chosen with
the truth; and the rule's changes confirmed alone. *Harmed*: more wrong labels than given, by .002 of the
rows. *False*: labels that were changed unseen did no good. *Bound false*: more of them are wrong than was
said. *Spread*: the standard deviation over the audits. Lines are appended to benchmarks/results/audit.csv;
the tables go to benchmarks/results/audit.md.

The same file measures version 0.1, run with that version on the path: its lines go to audit_0_1.csv, and
into the column *first* of the tables.
"""

import os
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from benchmarks import ordinary
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
from subsvms import LabelCorrector, adversaries
from subsvms.audit import Audit, Ranking, SimulatedAnnotator, run_audit

try:
    from subsvms.audit import confirm
except ImportError:  # version 0.1
    confirm = None

N_AUDITS = 20
ANSWERS = (10, 20, 50, 100)
PEOPLE_ANSWERS = 50  # of people who err
ERROR_RATES = (0.05, 0.1)
KINDS = ("uniform", "class", "boundary", "region", "greedy", "clean")
OVERLAPPING = ("made: blobs", "made: logistic", "made: plateaus")  # clean, of several seeds
N_OVERLAPPING = 5
BETTER = 0.004  # of the rows: worst first is better, or not
CELL = ("group", "data", "kind", "seed")
KEY = (*CELL, "answers", "errors", "towards", "repeat")
MEASURES = (
    "given", "rule", "worst_first", "threshold", "left", "spread", "changed", "questions", "harmed", "false",
    "bound_false",
)  # fmt: skip
CONFIRMED = ("asked", "resolved", "good", "confirmed_left", "confirmed_harmed")
COLUMNS = (*KEY, *MEASURES, *CONFIRMED)


def list_settings():
    """Return (answers, error rate of the person, where errors go, repeats) of every line of a cell."""
    settings = [(m, 0.0, "anywhere", False) for m in ANSWERS]
    for errors in ERROR_RATES:
        for towards in ("anywhere", "suggestion"):
            settings += [(PEOPLE_ANSWERS, errors, towards, repeat) for repeat in (False, True)]
    return settings


def corrupt(X, clean, kind, seed):
    """Return the labels after an attack."""
    if kind in ("region", "greedy"):
        return adversaries.attack(kind, X, clean, error_rate=0.1, random_state=seed).labels
    names = {"class": "class-conditional", "overlapping": "clean"}
    return ordinary.corrupt(X, clean, names.get(kind, kind), seed)


def run(cell):
    """Correct a table once, audit it in all settings, and return the lines."""
    group, name, kind, seed = cell
    X, clean, given, known = read(group, name, seed)
    if given is None:
        given = corrupt(X, clean, kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        correction = LabelCorrector(random_state=seed, n_jobs=1, n_witnesses=0).fit(X, given).correction_
    ranking = Ranking.of(correction)
    ranking = replace(ranking, order=ranking.order[known[ranking.order]])
    truth = encode(correction.classes, clean)
    rule = np.mean(encode(correction.classes, correction.labels)[known] != truth[known])
    alone = {} if confirm is None else measure_confirm(ranking, truth, known)
    settings = [setting for setting in list_settings() if setting[0] <= len(ranking.order)]
    return [
        dict(zip(KEY, (*cell, *setting), strict=True))
        | {"rule": rule}
        | measure(ranking, truth, known, setting)
        | alone
        for setting in settings
    ]


def encode(classes, labels):
    """Return class numbers; -1 for a class that no given label has."""
    places = {label: number for number, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in np.asarray(labels).tolist()])


def measure_confirm(ranking, truth, known):
    """Return what confirming the changes of the rule alone is worth, and whether they were worth anything."""
    score = (ranking.suggested == truth).astype(int) - (ranking.given == truth)
    sayable = [None if number < 0 else ranking.classes[number].item() for number in truth]
    in_question = np.isin(np.arange(len(truth)), ranking.order) & ranking.flagged
    good, given, runs = score[in_question].sum() > 0, np.mean((ranking.given != truth)[known]), []
    for seed in range(N_AUDITS if in_question.any() else 0):
        found = run_audit(confirm(ranking, random_state=seed), SimulatedAnnotator(sayable))
        verdict, left = found.claim.sets[0].verdict, encode(ranking.classes, found.labels)
        left = np.mean(left[known] != truth[known])
        resolved = verdict in (("passed", "kept", "asked") if good else ("back", "asked"))
        runs.append((found.claim.sets[0].n_checked, resolved, good, left, left > given + HARM))
    return dict(zip(CONFIRMED, np.mean(runs, axis=0).tolist() if runs else [np.nan] * 5, strict=True))


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
        "spread": float(np.std([run["left"] for run in runs])),
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
        some = range(seed, seed + N_OVERLAPPING)
        cells += [("overlapping", name, "overlapping", one) for name in OVERLAPPING for one in some]
    return cells


def write_report(path):
    """Write the tables: by kind and answers, confirmed alone, by people, and by table."""
    lines = pd.read_csv(path).drop_duplicates(list(KEY), keep="last")
    before, measures = path.with_name("audit_0_1.csv"), list(MEASURES)
    if before.exists():
        first = pd.read_csv(before).drop_duplicates(list(KEY), keep="last").set_index(list(KEY))["left"]
        lines = lines.join(first.rename("first"), on=list(KEY))
        measures.insert(4, "first")
    perfect = lines[lines["errors"] == 0].copy()
    perfect["worst_first_better"] = perfect["left"] > perfect["worst_first"] + BETTER
    by_kind = perfect.groupby(["kind", "answers"])
    main = by_kind[[*measures, "worst_first_better"]].mean().assign(cells=by_kind.size())
    once = perfect[perfect["good"].notna()].drop_duplicates(list(CELL))
    once = once.assign(changes=np.where(once["good"] > 0, "right", "harmful"))
    alone = once.groupby(["kind", "changes"])
    alone = alone[["given", "rule", "confirmed_left", "asked", "resolved", "confirmed_harmed"]].mean().assign(
        cells=alone.size()
    )  # fmt: skip
    people = lines[lines["answers"] == PEOPLE_ANSWERS]
    people = people.assign(noise=np.where(people["group"] == "real noise", "real", "made"))
    people = people.groupby(["noise", "errors", "towards", "repeat"])[
        ["given", "left", "worst_first", "questions", "harmed", "false", "bound_false"]
    ].mean()
    left = perfect.pivot_table(index=["group", "data", "kind"], columns="answers", values="left")
    others = ["given", "threshold", "rule", "false"]
    left = left.join(perfect.groupby(["group", "data", "kind"])[others].mean())
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    tables = {
        "Perfect people": main,
        "The changes of the rule confirmed alone": alone,
        f"{PEOPLE_ANSWERS} answers of people who err (worst first without errors)": people,
        "Wrong labels left, by table": left,
    }
    text = [
        f"# Audits\n\n`python -m benchmarks.audit`, seeds {seeds}: {N_AUDITS} audits of each cell, "
        f"{len(lines) * N_AUDITS:,} in all. Shares of rows; harmed and false: shares of the audits; "
        "worst first better: of the cells, by .004; resolved: right changes kept, harmful ones taken back or "
        "all asked."
    ]
    text += [f"## {title}\n\n" + "\n".join(as_markdown(t.reset_index())) for title, t in tables.items()]
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Do the cells that are missing, and write the report."""
    args = make_parser(__doc__, "320").parse_args(words)
    path = args.results / ("audit.csv" if confirm else "audit_0_1.csv")
    if not args.report:
        done = {key[:4] for key in find_done(path, KEY) if key[4:] in last_settings()}
        cells = [cell for cell in list_cells(read_seeds(args.seeds)) if not args.only or cell[1] in args.only]
        todo = [cell for cell in cells if tuple(map(str, cell)) not in done]
        results = Parallel(args.workers, return_as="generator_unordered")(map(delayed(run), todo))
        append_lines(path, COLUMNS, (line for lines in results for line in lines))
    if confirm:
        write_report(path)


def last_settings():
    """Return the last line of a finished cell, as the words of the file."""
    m, errors, towards, repeat = list_settings()[-1]
    return {(str(m), f"{errors:.5g}", towards, str(repeat))}


if __name__ == "__main__":
    main()

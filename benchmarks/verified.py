"""Measure what labels that people verified are worth for the other rows.

    python -m benchmarks.verified --seeds 910   # 20 minutes on one core; finished runs are not repeated
    python -m benchmarks.verified --report

After a correction, a person verifies the labels with the lowest `label_quality`, and the table is corrected
again. Wrong labels are counted among the rows that were *not* verified: as given, after the first correction
and after the second. In `CASES` the person knows the truth, or errs in one answer of twenty, or keeps every
label, as if the classes overlapped there: then as few labels as possible should still change. Tables are
those of `benchmarks.ordinary`. One line per run is appended to benchmarks/results/verified.csv; the tables go
to benchmarks/results/verified.md.
"""

import os
import warnings

import numpy as np
import pandas as pd
from sklearn.utils import check_array

from benchmarks.made import write
from benchmarks.ordinary import (
    HARM,
    KINDS,
    MANY,
    corrupt,
    list_real,
    measure,
    read,
)
from benchmarks.pages import as_markdown
from subsvms import LabelCorrector

# Private, because the votes do not depend on what people verified: here they are counted once for all cases
from subsvms.correction._copies import find_contradictory, number_contents
from subsvms.correction._learn import learn_rule
from subsvms.correction._overlap import SVMLook
from subsvms.correction._rule import Halt, Settings, apply_rule, apply_verified, keep_labels

TABLES = {
    "scikit-learn's": ("breast cancer", "digits"),
    "made": ("clusters, 3,000",),
    "LIBSVM": ("a1a", "splice", "svmguide1"),
}
SLIPS = 0.05  # share of wrong answers of a person who errs
CASES = {  # number of answers, and who answers
    "20": (20, "knows"),
    "50": (50, "knows"),
    "100": (100, "knows"),
    "50, one in 20 wrong": (50, "errs"),
    "50, all labels kept": (50, "keeps"),
}
CELL = ("group", "data", "kind", "seed")
PARTS = ("rows", "given", "first", "second", "first changed", "second changed")
COLUMNS = (*CELL, *(f"{part}: {case}" for case in CASES for part in PARTS))


def run(job):
    """Return the line of one table."""
    group, name, kind, seed = job
    X, clean, given, known = read(group, name, seed)
    if given is None:
        given = corrupt(X, clean, kind, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corrector = LabelCorrector(random_state=seed, n_jobs=1, n_witnesses=0).fit(X, given)
        first = corrector.correction_
        numbers = {label: number for number, label in enumerate(first.classes)}
        clean = np.array([numbers.get(label, -1) for label in clean])
        known = known & (clean >= 0)
        worst = np.argsort(np.where(known, first.label_quality, np.inf), kind="stable")
        line = dict(zip(CELL, job, strict=True))
        for case, (n_answers, who) in CASES.items():
            asked = worst[: min(n_answers, known.sum() // 2)]
            verified = np.full(len(clean), -1)
            verified[asked] = answer(who, clean[asked], first.given[asked], len(numbers), seed)
            second = judge_again(corrector, X, verified)
            rest = known & (verified < 0)
            before, after = (
                np.where(judged.flagged, judged.suggested, first.given)
                for judged in (first.judgement, second)
            )
            counts = [np.sum((labels != clean)[rest]) for labels in (first.given, before, after)]
            counts += [np.sum((labels != first.given)[rest]) for labels in (before, after)]
            for part, count in zip(PARTS, (rest.sum(), *counts), strict=True):
                line[f"{part}: {case}"] = int(count)
    return line


def answer(who, clean, given, n_classes, seed):
    """Return what a person says about some rows."""
    if who == "keeps":
        return given
    rng = np.random.default_rng(seed)
    slips = rng.random(len(clean)) < (SLIPS if who == "errs" else 0.0)
    return np.where(slips, (clean + rng.integers(1, n_classes, len(clean))) % n_classes, clean)


def judge_again(corrector, X, verified):
    """Return the judgement after answers, from the votes of the first correction."""
    first = corrector.correction_
    table = corrector.scaler_.transform(check_array(X, accept_sparse="csr", dtype=np.float64))
    contradictory = find_contradictory(number_contents(table), first.given)
    rule, _ = learn_rule(
        first.classes, first.given, first.votes, Settings(), look=SVMLook(corrector.model_, table),
        contradictory=contradictory, verified=verified,
    )  # fmt: skip
    by_rule = apply_rule(rule, first.votes, first.given)
    by_rule = keep_labels(by_rule, first.given, contradictory, Halt.DUPLICATE)
    return apply_verified(by_rule, first.given, verified)


def list_jobs(seeds):
    """Return (group, data, kind, seed) of every run."""
    jobs = [("real noise", name, "real", seeds[0]) for name in list_real()]
    for seed in seeds:
        for group, names in TABLES.items():
            if group == "LIBSVM" and "SUBSVMS_DATA" not in os.environ:
                continue
            for name in names:
                kinds = [kind for kind in KINDS if name not in MANY or not kind.startswith("directed")]
                jobs += [(group, name, kind, seed) for kind in kinds]
    return jobs


def write_report(path):
    """Write the means of each group, and of each cell for 50 answers."""
    lines = pd.read_csv(path)
    parts = []
    for case in CASES:
        counts = lines[[f"{part}: {case}" for part in PARTS]].set_axis(PARTS, axis=1)
        shares = counts.drop(columns="rows").div(counts["rows"], axis=0)
        parts.append(lines[list(CELL)].assign(answers=case).join(shares))
    cells = pd.concat(parts).groupby(["answers", *CELL[:3]], sort=False, as_index=False).mean()
    keeps = cells["answers"].map(lambda case: CASES[case][1] == "keeps")
    key = ["answers", "group"]
    wrong = cells[~keeps].copy()
    for name in ("first", "second"):
        wrong[f"harmed by the {name}"] = wrong[name] > wrong["given"] + HARM
    harmed = [name for name in wrong if name.startswith("harmed")]
    groups = wrong.groupby(key, sort=False)
    main = groups[["given", "first", "second"]].mean().join(groups[harmed].sum())
    main["cells"] = groups.size()
    stopped = cells[keeps].groupby(key, sort=False)[["first changed", "second changed"]].mean()
    fifty = wrong[wrong["answers"] == "50"].drop(columns=["answers", "seed", *PARTS[4:], *harmed])
    seeds = ", ".join(map(str, sorted(lines["seed"].unique())))
    text = [
        "# Labels that people verified\n\n"
        f"`python -m benchmarks.verified`, {len(lines)} runs, seeds {seeds}; "
        "no choice saw them (but some saw the tables with real noise). Shares of wrong labels among the rows "
        "that were not verified: as given, after the first correction, and after the second, which knows "
        "the answers. A cell, that is, a table under one kind of noise, is harmed if this share grows by "
        f"more than {HARM}.",
        "## By group\n\n" + "\n".join(as_markdown(main.reset_index())),
        "## If all labels are kept\n\nLabels that would be changed among the rows that were not verified.\n\n"
        + "\n".join(as_markdown(stopped.reset_index())),
        "## All cells, 50 answers\n\n" + "\n".join(as_markdown(fifty)),
    ]
    write(path.with_suffix(".md"), "\n\n".join(text) + "\n", lines=path)


def main(words=None):
    """Run what is missing, or write the report."""
    measure(__doc__, "910", "verified", list_jobs, run, COLUMNS, write_report, words)


if __name__ == "__main__":
    main()

"""Measure what attacks on labels do to a correction, and what a guard against them costs on ordinary noise.

    python -m benchmarks.attacks --data-dir FOLDER --seeds 10     # twenty minutes on one core
    python -m benchmarks.attacks --knowing --seeds 10     # also `knowing_flips`: six more minutes for a seed
    python -m benchmarks.attacks --tables                         # only write results/attacks.md

Twelve tables of two classes, at most 1,000 rows of each. Attacks choose the rows: those that harm an SVM most
(greedy), of one region, those deepest in their class (surest), nearest the boundary, and with `--knowing`
those that the correction mends least, of at most 300 rows (`knowing_flips`, which calls it). Ordinary noise
does not: uniform flips, flips by class, and flips of one class alone. A run is *worse* if more labels are
wrong after it than before, and *silent* if no note says anything. *Confirmed*: the same after `audit.confirm`
of the changes, at most 15 true answers. Each run is made with and without the two guards
(`is_outnumbered` in `correction/_rule.py`, `ask_trees` in `_other_judges.py`), which were chosen on these
tables with seeds 0 to 3, 10, 13, 14, 20, 21 and 30, and so that heavy noise of tables of `benchmarks.quality`
(corruptions 0 to 3, 20) is still corrected: report other seeds. Finished runs are not repeated.
"""

import argparse
import os
import time
import warnings
import zlib
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from benchmarks.made import append_lines, find_done, read_seeds, write
from benchmarks.quality import load
from subsvms import adversaries, correct_labels
from subsvms.audit import confirm, run_audit

RESULTS = Path(__file__).parent / "results"
PAPERS = ("a1a", "a5a", "splice", "svmguide1", "mushrooms", "w1a")
OTHERS = ("breast cancer", "digits, odd", "moons", "made: balanced", "made: blobs", "made: logistic")
MOST_ROWS = 1000
ATTACKS = ("greedy", "region", "surest", "boundary", "knowing")
FEW_ROWS = 300  # of a table that is attacked with 40 corrections
NOISE = ("uniform", "class-conditional", "larger class", "smaller class")
RATES, USUAL_RATE = (0.05, 0.1, 0.15), 0.1
ALPHAS = {"larger class": 1.0, "smaller class": 0.0}  # which class all flips are taken from
GUARDS = {"correction._rule.is_outnumbered": False, "correction._learn.ask_trees": (0.0, 0.0)}  # switched off
NAMES = ("without", "with")
KEY = ("data", "kind", "rate", "seed")
MUCH = 5  # rows


def load_table(name, folder, seed, most=MOST_ROWS):
    """Return features, each with a range of about one, and clean labels."""
    if name == "digits, odd":
        X, y = load_digits(return_X_y=True)
        X, y = X / 16.0, y % 2
    elif name == "moons":
        X, y = make_moons(MOST_ROWS, noise=0.25, random_state=seed)
        X = minmax_scale(np.hstack([X, np.random.default_rng(seed).normal(size=(MOST_ROWS, 3))]))
    else:
        X, y = load(name, folder, seed)
    if len(y) > most:
        X, _, y, _ = train_test_split(X, y, train_size=most, stratify=y, random_state=seed)
    return X, y


def correct(X, given, seed, name):
    """Return the correction, with or without guards, and its seconds."""
    with ExitStack() as stack:
        for place, answer in GUARDS.items() if name == "without" else ():
            stack.enter_context(patch(f"subsvms.{place}", return_value=answer))
        began = time.process_time()
        return correct_labels(X, given, random_state=seed, n_jobs=1), time.process_time() - began


def confirm_changes(correction, clean, seed):
    """Return wrong labels after the changes were confirmed or taken back, and how many answers that took."""
    if not correction.flagged.any():
        return int(np.sum(correction.labels != clean)), 0
    asked = run_audit(confirm(correction, held_back=False, random_state=seed), lambda row: clean[row])
    return int(np.sum(asked.apply(correction).labels != clean)), asked.claim.n_answers


def spoil(kind, X, clean, rate, seed, own):
    """Return the labels after an attack or noise."""
    if kind == "clean":
        return clean
    how = {"error_rate": rate, "random_state": own}
    if kind == "knowing":
        ask = lambda given: correct(X, given, seed, "with")[0].labels  # noqa: E731
        return adversaries.knowing_flips(X, clean, ask, **how).labels
    attack = "uniform" if kind in ALPHAS else kind
    return adversaries.attack(attack, X, clean, alpha=ALPHAS.get(kind), **how).labels


def measure_all(folder, seeds, knowing):
    """Correct every table after every attack, and append a line for each."""
    path = RESULTS / "attacks.csv"
    done = find_done(path, KEY)
    cases = [("clean", 0.0), *((kind, USUAL_RATE) for kind in NOISE)]
    cases += [(kind, rate) for kind in ATTACKS if kind != "knowing" for rate in RATES]
    cases += [("knowing", USUAL_RATE)] * knowing
    for data in (*(PAPERS if folder else ()), *OTHERS):
        for seed in seeds:
            for kind, rate in cases:
                if (data, kind, f"{rate:.5g}", str(seed)) in done:
                    continue
                own = zlib.crc32(f"{data}/{kind}/{rate}/{seed}".encode()) >> 1
                X, clean = load_table(data, folder, seed, FEW_ROWS if kind == "knowing" else MOST_ROWS)
                try:
                    given = spoil(kind, X, clean, rate, seed, own)
                except ValueError as error:  # the class has too few rows
                    print(f"{data}, {kind} {rate}: {error}")
                    continue
                lines = []
                for name in NAMES:
                    correction, seconds = correct(X, given, seed, name)
                    confirmed, n_answers = confirm_changes(correction, clean, seed)
                    lines.append({
                        "name": name, "data": data, "kind": kind, "rate": rate, "seed": seed,
                        "rows": len(clean), "before": int(np.sum(given != clean)),
                        "after": int(np.sum(correction.labels != clean)),
                        "held back": int(correction.held_back.sum()), "notes": len(correction.notes),
                        "confirmed": confirmed, "answers": n_answers,
                        "seconds": seconds,
                    })  # fmt: skip
                append_lines(path, list(lines[0]), lines)
                print(*lines[0].values(), "|", *lines[1].values(), flush=True)


def write_tables():
    """Write attacks.md: wrong labels before and after, by kind and by table, with and without guards."""
    lines = pd.read_csv(RESULTS / "attacks.csv")
    lines["group"] = np.where(lines["kind"].isin(ATTACKS), "attacked", "ordinary noise")
    lines.loc[lines["kind"] == "clean", "group"] = "clean"
    lines["attacked table"] = lines["data"].where(lines["group"] == "attacked")
    lines["table with ordinary noise"] = lines["data"].where(lines["group"] == "ordinary noise")
    more = lines["after"] - lines["before"]
    lines = lines.assign(
        worse=more > 0, much=more > MUCH, by=more.clip(lower=0), silent=(more > 0) & (lines["notes"] == 0),
        still_worse=lines["confirmed"] > lines["before"],
        still_by=(lines["confirmed"] - lines["before"]).clip(lower=0),
    )  # fmt: skip
    text = [
        "# Attacked tables",
        "",
        "Made by `python -m benchmarks.attacks`; see there. Wrong labels, summed over runs; runs after which",
        f"more labels are wrong than before (worse), by more than {MUCH} rows, by how many at most, and how",
        "many of them without a note (silent); seconds of CPU time, means. Then the same after people",
        "confirmed the changes with at most 15 true answers, or took them back; answers, means.",
        "",
    ]
    columns = {"after": "sum", "worse": "sum", "much": "sum", "by": "max", "silent": "sum", "seconds": "mean"}
    asked = {"confirmed": "sum", "still_worse": "sum", "still_by": "max", "answers": "mean"}
    shown = [(name, c) for name in NAMES for c in columns] + [(NAMES[-1], c) for c in asked]
    heads = " | ".join(
        f"left {name} guards | worse | by > {MUCH} | at most | silent | seconds" for name in NAMES
    )
    heads += " | left after confirming | worse | at most | answers"
    for column in ("group", "kind", "attacked table", "table with ordinary noise"):
        found = lines.groupby([column, "name"], sort=False).agg(columns | asked)
        given = lines[lines["name"] == NAMES[-1]].groupby(column, sort=False)["before"].agg(["size", "sum"])
        text += [
            f"| {column} | runs | wrong | {heads} |",
            "|---|---|---|" + "---|" * len(shown),
        ]
        for value, (runs, wrong) in given.iterrows():
            cells = [f"{found.loc[(value, n), c]:.{dict(seconds=2, answers=1).get(c, 0)}f}" for n, c in shown]
            text.append(f"| {value} | {runs} | {wrong} | " + " | ".join(cells) + " |")
        text.append("")
    harmed = lines[(lines["name"] == NAMES[-1]) & lines["worse"]]
    text += [
        "| worse after it | wrong before | after | confirmed | held back | notes |",
        "|---|---|---|---|---|---|",
    ]
    for line in harmed.sort_values("by", ascending=False).to_dict("records"):
        what = f"{line['data']}, {line['kind']}, {line['rate']:g}, seed {line['seed']}"
        text.append(
            f"| {what} | {line['before']} | {line['after']} | {line['confirmed']} | {line['held back']} | "
            f"{line['notes']} |"
        )
    write(RESULTS / "attacks.md", "\n".join([*text, ""]), lines=RESULTS / "attacks.csv")
    print("\n".join(text))


def main():
    """Measure, or write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"))
    parser.add_argument("--seeds", default="10", help="one, or first-last")
    parser.add_argument("--knowing", action="store_true", help="also an attacker who knows the rule")
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    args = parser.parse_args()
    if not args.tables:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measure_all(args.data_dir, read_seeds(args.seeds), args.knowing)
    write_tables()


if __name__ == "__main__":
    main()

"""Measure how many wrong labels a correction leaves, over data sets, attacks and corruptions.

    python -m benchmarks.quality --data-dir FOLDER     # about ten minutes on two cores

FOLDER holds the 13 LIBSVM files of the paper (default: SUBSVMS_DATA); without it, only scikit-learn's and
synthetic data are used. One line per run is appended to benchmarks/results/quality.csv as soon as it is done,
and finished runs are not repeated, so a benchmark that was stopped continues where it was; --fresh starts
again, which is necessary after a change of the code. The tables go to benchmarks/results/quality.md.

Methods: labels as given; the paper's majority vote; the default rule, "posterior"; and the same rule with
the noise matrix counted from the clean labels, which no user has. A cell, that is, a data set under an
attack, is *harmed* if the share of wrong labels, averaged over its corruptions, grows by more than 0.002.
Other methods, under every attack, are compared in benchmarks/peers.
"""

import argparse
import csv
import lzma
import os
import time
import warnings
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_svmlight_file,
    make_blobs,
    make_classification,
)
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale

from benchmarks.made import append_lines, write
from subsvms import LabelCorrector, adversaries

# Private, because users cannot give the rule the true noise matrix
from subsvms.correction._noise_curve import integrate_curve
from subsvms.correction._rule import Rule, Settings, apply_rule, count_allowed, find_cutoff
from subsvms.exceptions import LabelNoiseWarning

RESULTS = Path(__file__).parent / "results"
N_CORRUPTIONS = 5
MARGIN = 0.002  # if the share of wrong labels grows by more, that is harm
FEATURES = {
    **{f"a{i}a": 123 for i in range(1, 6)},
    "splice": 60,
    "svmguide1": 4,
    "mushrooms": 112,
    **{f"w{i}a": 300 for i in range(1, 6)},
}
ALPHAS = (1.0, 0.75, 0.5, 0.25, 0.0)
RATES = (0.01, 0.05, 0.1)
SHARES = (0.5, 0.7, 0.9)  # of the votes that the capped majority rule requires
MADE = {
    "made: rare": dict(n_samples=2000, n_features=8, n_informative=4, weights=[0.95], class_sep=0.7),
    "made: balanced": dict(n_samples=1000, n_features=20, n_informative=5),
    "made: five classes": dict(n_samples=1500, n_features=20, n_informative=8, n_classes=5),
    "made: blobs": {},
    "made: logistic": {},
    "made: plateaus": {},
}
SMALL = {"small: a1a": ("a1a", 500), "small: splice": ("splice", 400)}  # rows drawn by seed
METHODS = ("given", "majority", "posterior", "known")
# Wrong labels left by an earlier, independent program (rho = 0.75, few corruptions), for the default rule:
# clean, then alpha = 1, 0.5 and 0.
EARLIER = {
    "a1a": (0.002, 0.086, 0.147, 0.191),
    "a5a": (0.001, 0.111, 0.128, 0.152),
    "splice": (0.003, 0.213, 0.277, 0.195),
    "svmguide1": (0.000, 0.037, 0.046, 0.035),
    "mushrooms": (0.000, 0.014, 0.022, 0.018),
    "w1a": (0.003, 0.019, 0.021, 0.021),
}


def make(name, seed):
    """Return a synthetic table whose classes overlap by nature; every label is right."""
    rng = np.random.default_rng(seed)
    if name == "made: logistic":
        X = rng.random((1000, 5))
        odds = np.exp((X - 0.5) @ [4, 3, 2, 1, 0])
        return X, (rng.random(1000) < odds / (1 + odds)).astype(int)
    if name == "made: plateaus":  # a fixed share of each class lies in the other, just as with noise
        X = rng.random((1000, 4))
        return X, (rng.random(1000) < np.where(X[:, 0] > 0.5, 0.75, 0.05)).astype(int)
    if name == "made: blobs":
        X, y = make_blobs(600, centers=[(0, 0), (5, 5)], cluster_std=4, random_state=seed)
    else:
        X, y = make_classification(flip_y=0, random_state=seed, **MADE[name])
    return minmax_scale(X), y


def load(name, folder, seed=0):
    """Return a table, scaled as in the paper, and its clean labels; the seed is for made and small ones."""
    if name in MADE:
        return make(name, seed)
    if name in SMALL:
        whole, n_rows = SMALL[name]
        X, y = load(whole, folder)
        X, _, y, _ = train_test_split(X, y, train_size=n_rows, stratify=y, random_state=seed)
        return X, y
    if name == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return minmax_scale(X), y
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16.0, y
    X, y = load_svmlight_file(lzma.open(Path(folder) / f"{name}.xz"), n_features=FEATURES[name])
    if name == "mushrooms":
        X, _, y, _ = train_test_split(X, y, train_size=6093, stratify=y, random_state=0)
    if name in ("splice", "svmguide1"):
        X = minmax_scale(X.toarray(), (-1, 1) if name == "splice" else (0, 1))
    return X, (y == y.max()).astype(int)


def paper_attacks(clean, rho):
    """Return the paper's attacks: for each alpha, as many flips as a share rho of the smaller class."""
    smaller = np.bincount(clean).min() / len(clean)
    return [(f"rho={rho}", alpha, rho * smaller) for alpha in ALPHAS]


def list_attacks(clean):
    """Return (name, alpha, flips as a share of all rows) for the attacks that these labels allow."""
    sizes = np.bincount(clean)
    smaller = sizes.min() / sizes.sum()
    attacks = [("clean", "", 0.0)]
    attacks += [("uniform", "", rate) for rate in RATES]
    if len(sizes) == 2:
        attacks += paper_attacks(clean, 0.75)
        attacks += [("rate", alpha, rate) for rate in RATES if rate < smaller for alpha in ALPHAS]
    return attacks


def corrupt(X, clean, attack, alpha, rate, seed):
    """Return the labels after an attack."""
    if attack == "clean":
        return clean
    if attack == "uniform":
        return adversaries.uniform_flips(clean, error_rate=rate, random_state=seed).labels
    if attack == "boundary":
        return adversaries.boundary_flips(X, clean, error_rate=rate).labels
    rho = rate * len(clean) / np.bincount(clean).min()
    return adversaries.directed_flips(clean, rho=rho, alpha=alpha, random_state=seed).labels


def score(X, clean, given, seed):
    """Return the wrong labels left by each method, and how well the doubtful labels are ranked."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        correction = LabelCorrector(random_state=seed, n_jobs=1).fit(X, given).correction_
    seconds = time.perf_counter() - began
    counted = confusion_matrix(clean, given, normalize="true")
    known = replace(correction.noise, matrix=counted, evidence=np.full(len(counted), np.inf))
    if len(counted) == 2:
        asked = correction.votes.n_voters > 0
        u, is_given = correction.votes.mean_value[asked, 1], given[asked] == 1
        known = replace(known, curve=integrate_curve(u, is_given, rates=1.0 - np.diag(counted)))
    wrong = given != clean

    def left(noise, **settings):
        asked = Settings(**settings)
        sizes = np.bincount(given)
        free = apply_rule(Rule(noise, sizes, sizes, asked), correction.votes, given)
        rows, most = np.flatnonzero(free.flagged), len(given)
        if asked.max_error_rate is not None:
            most = count_allowed(asked.max_error_rate, len(given))
        cutoff = find_cutoff(free.score[rows], free.quality[rows], rows, most)
        judgement = free if cutoff is None else cutoff.apply(free, np.arange(len(given)))
        return np.mean(np.where(judgement.flagged, judgement.suggested, given) != clean)

    raw = np.nan_to_num(correction.votes.share[np.arange(len(given)), given], nan=1.0)  # nobody can judge it
    return {
        "given": np.mean(wrong),
        "majority": left(known, rule="majority"),
        "posterior": np.mean(correction.labels != clean),
        "known": left(known),
        **{
            f"capped majority, {share}": left(
                known, rule="majority", max_error_rate=0.2, min_confidence=share
            )
            for share in SHARES
        },
        "changed": np.mean(correction.changed),
        "estimated error rate": correction.noise.error_rate,
        "AUC quality": roc_auc_score(wrong, -correction.label_quality) if wrong.any() else np.nan,
        "AUC raw vote": roc_auc_score(wrong, -raw) if wrong.any() else np.nan,
        "seconds": seconds,
    }


def run(name, folder, done, path, seeds):
    """Do the missing runs of one data set, and append each to the file."""
    X, clean = load(name, folder)
    attacks = [("clean", "", 0.0), ("uniform", "", 0.1)] if name in MADE else list_attacks(clean)
    if name in SMALL:
        attacks = [("clean", "", 0.0), *paper_attacks(clean, 0.5), *paper_attacks(clean, 0.75)]
    if name in ("svmguide1", "mushrooms", "breast cancer"):
        attacks.append(("boundary", "", 0.2))
    todo = [
        (*attack, seed)
        for attack in attacks
        for seed in seeds
        if (name, attack[0], str(attack[1]), f"{attack[2]:.4g}", str(seed)) not in done
    ]

    def work(attack, alpha, rate, seed):
        table, true = load(name, folder, seed) if name in MADE or name in SMALL else (X, clean)
        given = corrupt(table, true, attack, alpha, rate, seed)
        scores = {key: f"{value:.5g}" for key, value in score(table, true, given, seed).items()}
        key = {"data": name, "attack": attack, "alpha": alpha, "rate": f"{rate:.4g}", "corruption": seed}
        return key | scores

    for line in Parallel(n_jobs=2, return_as="generator")(delayed(work)(*job) for job in todo):
        append_lines(path, list(line), [line])
    print(f"{name}: {len(todo)} runs", flush=True)


def read(path):
    """Return the lines of the file, numbers as numbers."""
    words = ("data", "attack", "alpha", "rate")
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    return [{key: value if key in words else float(value) for key, value in line.items()} for line in lines]


def summarise(lines):
    """Return one dictionary per cell: means and standard deviations over its corruptions."""
    key = lambda line: (line["data"], line["attack"], line["rate"], line["alpha"])  # noqa: E731
    order = {name: i for i, name in enumerate([*FEATURES, "breast cancer", "digits", *MADE, *SMALL])}
    attacks = ("clean", "rho=0.5", "rho=0.75", "rate", "uniform", "boundary")

    def place(line):
        alpha = -float(line["alpha"] or 0)
        return order[line["data"]], attacks.index(line["attack"]), float(line["rate"]), alpha

    cells = []
    for (data, attack, rate, alpha), group in groupby(sorted(lines, key=place), key):
        group = list(group)
        numbers = [
            column for column in group[0] if column not in ("data", "attack", "alpha", "rate", "corruption")
        ]
        cell = {"data": data, "attack": attack, "rate": rate, "alpha": alpha, "n": len(group)}
        for column in numbers:
            values = [line[column] for line in group]
            cell[column], cell[f"{column} sd"] = np.mean(values), np.std(values)
        cells.append(cell)
    return cells


def is_harmed(cell, method):
    """Return whether a method leaves more wrong labels than there were."""
    return cell[method] > cell["given"] + MARGIN


def write_tables(cells, path):
    """Write the summary, the comparison with the earlier program, the boundary flips and all cells."""
    paper = [cell for cell in cells if cell["data"] in FEATURES and cell["attack"] != "boundary"]
    real = ("breast cancer", "digits")
    other = [cell for cell in cells if cell["data"] in real and cell["attack"] != "boundary"]
    made = [cell for cell in cells if cell["data"] in MADE]
    text = [
        "# Wrong labels left\n",
        "Made by `python -m benchmarks.quality`: shares of all rows, means over corruptions; at the end",
        "with standard deviation. *Harmed* cells (left > given + 0.002) are marked with `!`. `known` is the",
        "default rule with the true noise matrix, which no user has.\n",
    ]
    small = [cell for cell in cells if cell["data"] in SMALL]
    parts = {
        "The paper's 13 data sets": paper,
        "scikit-learn's data": other,
        "Made tables that overlap": made,
        "Small tables, heavy noise (500 rows of a1a, 400 of splice)": small,
    }
    for title, part in parts.items():
        if part:
            text += ["\n## " + title + "\n", *summary(part)]
    text += ["\n## Beside the earlier program (rho = 0.75)\n", *beside_earlier(paper)]
    text += ["\n## Flips of the 20 % of rows nearest the boundary\n", *boundary_table(cells)]
    text += ["\n## All cells\n", *full_table(cells)]
    write(path, "\n".join(text) + "\n", lines=path.with_suffix(".csv"))
    print("\n".join(text[: text.index("\n## All cells\n")]))


def summary(cells):
    """Return the lines of the summary of some cells."""
    noisy = [cell for cell in cells if cell["attack"] != "clean"]
    clean = [cell for cell in cells if cell["attack"] == "clean"]
    means = {method: np.mean([cell[method] for cell in noisy]) for method in METHODS}
    lines = ["| | given | majority | posterior | known |", "|---|---|---|---|---|"]
    lines.append(
        f"| left, mean of {len(noisy)} noisy cells | " + " | ".join(f"{means[m]:.4f}" for m in METHODS) + " |"
    )
    ratios = " | ".join(f"{means[m] / means['known']:.3f}" for m in METHODS)
    lines.append(f"| ratio to `known` | {ratios} |")
    harmed = " | ".join(str(sum(is_harmed(cell, m) for cell in cells)) for m in METHODS)
    lines.append(f"| harmed, of all {len(cells)} cells | {harmed} |")
    worst = " | ".join(f"{max(cell[m] - cell['given'] for cell in cells):+.4f}" for m in METHODS)
    lines.append(f"| worst left - given | {worst} |")
    changed = max(cell["changed"] for cell in clean)
    lines.append(f"\nClean data: at most {changed:.3%} of the rows changed.")
    quality, raw = (np.mean([cell[key] for cell in noisy]) for key in ("AUC quality", "AUC raw vote"))
    lowest = min(cell["AUC quality"] - cell["AUC raw vote"] for cell in noisy)
    lines.append(
        f"Ranking, mean area under the ROC curve: `label_quality` {quality:.4f}, raw vote {raw:.4f};"
    )
    lines.append(f"the largest loss of a cell against the raw vote is {-lowest:.3f}.")
    return lines


def beside_earlier(cells):
    """Return a table of the cells that an earlier program was measured on."""
    lines = ["| data | attack | given | earlier | posterior | sd | known |", "|---|---|---|---|---|---|---|"]
    for name, figures in EARLIER.items():
        for alpha, figure in zip((None, "1.0", "0.5", "0.0"), figures, strict=True):
            attack = "clean" if alpha is None else "rho=0.75"
            for cell in cells:
                if (cell["data"], cell["attack"], cell["alpha"]) == (name, attack, alpha or ""):
                    mark = " (worse by more than .01)" if cell["posterior"] > figure + 0.01 else ""
                    where = "clean" if alpha is None else f"alpha={alpha}"
                    lines.append(
                        f"| {name} | {where} | {cell['given']:.3f} | {figure:.3f} | {cell['posterior']:.3f}"
                        f"{mark} | {cell['posterior sd']:.3f} | {cell['known']:.3f} |"
                    )
    return lines


def boundary_table(cells):
    """Return the trade-off between undoing flips near the boundary and harming clean labels."""
    methods = ["posterior", *(f"capped majority, {share}" for share in SHARES)]
    lines = [
        '`capped majority, c` is the rule "majority" with max_error_rate=0.2 and min_confidence=c.',
        "Left of the 20 % / wrongly changed where every label is right:\n",
        "| data | " + " | ".join(methods) + " |",
        "|---|" + "---|" * len(methods),
    ]
    clean = {cell["data"]: cell for cell in cells if cell["attack"] == "clean"}
    for cell in cells:
        if cell["attack"] == "boundary":
            pairs = [f"{cell[method]:.3f} / {clean[cell['data']][method]:.3f}" for method in methods]
            lines.append(f"| {cell['data']} | " + " | ".join(pairs) + " |")
    return lines


def full_table(cells):
    """Return every cell, harmed ones marked."""
    lines = ["| data | attack | given | majority | posterior | known | AUC quality | AUC raw vote |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for cell in cells:
        attack = (
            cell["attack"]
            if cell["attack"] in ("clean", "rho=0.5", "rho=0.75")
            else f"{cell['attack']} {float(cell['rate']):.0%}"
        )
        attack += f", alpha={cell['alpha']}" if cell["alpha"] else ""
        parts = [f"{cell['given']:.4f}"]
        for method in METHODS[1:]:
            mark = " !" if is_harmed(cell, method) else ""
            parts.append(f"{cell[method]:.4f} ± {cell[f'{method} sd']:.4f}{mark}")
        parts += [f"{cell[key]:.3f}" for key in ("AUC quality", "AUC raw vote")]
        lines.append(f"| {cell['data']} | {attack} | " + " | ".join(parts) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"))
    parser.add_argument("--only", nargs="*", help="names of data sets")
    parser.add_argument("--fresh", action="store_true", help="start again")
    parser.add_argument("--out", type=Path, default=RESULTS / "quality.csv")
    parser.add_argument(
        "--first-seed", type=int, default=0, help="other seeds give other corruptions and SVMs"
    )
    parser.add_argument("--corruptions", type=int, default=N_CORRUPTIONS, help="of each cell")
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.corruptions)
    if args.fresh:
        args.out.unlink(missing_ok=True)
    names = ["breast cancer", "digits", *MADE, *((*FEATURES, *SMALL) if args.data_dir else [])]
    done = set()
    if args.out.exists():
        keys = ("data", "attack", "alpha", "rate")
        done = {(*(line[key] for key in keys), f"{line['corruption']:.0f}") for line in read(args.out)}
    for name in args.only or names:
        run(name, args.data_dir, done, args.out, seeds)
    write_tables(summarise(read(args.out)), args.out.with_suffix(".md"))


if __name__ == "__main__":
    main()

"""Measure what fifty human decisions are worth: wrong labels left without them, with them, and re-estimated.

A person who knows the true labels decides the fifty most suspicious ones, in the order of the review page.
"applied" puts these labels into the corrected table; "re-estimated" corrects again with them as verified, as
`subsvms correct --decisions` does.

    python benchmarks/decisions.py [--data-dir FOLDER]

writes results/decisions.csv and results/decisions.md.
"""

import argparse
import csv
import os
import warnings
from pathlib import Path

import numpy as np
from quality import FEATURES, load

from subsvms import LabelCorrector, adversaries

RESULTS = Path(__file__).parent / "results"
N_DECISIONS = 50
ATTACKS = {
    "clean": None,
    "uniform, 5 %": lambda y, seed: adversaries.uniform_flips(y, error_rate=0.05, random_state=seed),
    "uniform, 20 %": lambda y, seed: adversaries.uniform_flips(y, error_rate=0.2, random_state=seed),
    "rho = .75, alpha = 1": lambda y, seed: adversaries.directed_flips(
        y, rho=0.75, alpha=1.0, random_state=seed
    ),
    "rho = .75, alpha = 0": lambda y, seed: adversaries.directed_flips(
        y, rho=0.75, alpha=0.0, random_state=seed
    ),
}
MAX_ROWS = 5000  # larger sets add time and nothing new


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"))
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    names = ("breast cancer", *(FEATURES if args.data_dir else ()))
    lines = []
    for name in names:
        X, clean = load(name, args.data_dir)
        if len(clean) > MAX_ROWS:
            continue
        for attack, corrupt in ATTACKS.items():
            for seed in range(args.seeds):
                given = clean if corrupt is None else corrupt(clean, seed).labels
                lines.append({"data": name, "attack": attack, "seed": seed, **measure(X, clean, given, seed)})
            print(lines[-1], flush=True)
    with (RESULTS / "decisions.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)
    (RESULTS / "decisions.md").write_text(as_markdown(lines))


def measure(X, clean, given, seed):
    """Return wrong labels left in each way."""
    corrector = LabelCorrector(random_state=seed, n_jobs=-1, n_witnesses=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = corrector.fit(X, given).correction_
        asked = np.argsort(np.where(first.flagged, 0.0, 1.0) + first.label_quality, kind="stable")[
            :N_DECISIONS
        ]
        verified = np.full(len(given), None, dtype=object)
        verified[asked] = clean[asked]
        applied = first.labels.copy()
        applied[asked] = clean[asked]
        again = corrector.fit(X, given, verified).correction_
    wrong = {"given": given, "automatic": first.labels, "applied": applied, "re-estimated": again.labels}
    accepted = np.sum(first.flagged[asked] & (first.labels[asked] == clean[asked]))
    return {
        "rows": len(clean),
        **{name: int(np.sum(labels != clean)) for name, labels in wrong.items()},
        "flagged of 50": int(first.flagged[asked].sum()),
        "accepted": int(accepted),
    }


def as_markdown(lines):
    """Return means over seeds, and how often re-estimating was worse."""
    cells = {}
    for line in lines:
        cells.setdefault((line["data"], line["attack"]), []).append(line)
    columns = ("given", "automatic", "applied", "re-estimated")
    body = []
    for (data, attack), group in cells.items():
        means = [f"{np.mean([line[name] for line in group]):.1f}" for name in columns]
        body.append("| " + " | ".join([data, attack, str(group[0]["rows"]), *means]) + " |")
    worse = sum(line["re-estimated"] > line["automatic"] for line in lines)
    better = sum(line["re-estimated"] < line["automatic"] for line in lines)
    worse_than_applied = sum(line["re-estimated"] > line["applied"] for line in lines)
    head = "| data | attack | rows | " + " | ".join(columns) + " |\n|" + "---|" * 7
    return (
        f"Wrong labels left, means of {len(lines) // len(cells)} corruptions. With {N_DECISIONS} decisions, "
        f"re-estimated, {better} of {len(lines)} runs are better than the automatic correction and {worse} "
        f"worse; {worse_than_applied} are worse than the decisions applied to it.\n\n{head}\n"
        + "\n".join(body)
        + "\n"
    )


if __name__ == "__main__":
    main()

"""Measure the command line on the 32,561 rows of the Adult data: seconds, memory and wrong labels.

LIBSVM's a1a and its test file are the rows of the Adult data, with the 14 columns turned into 0/1 features.
The columns are put together again, as categories with missing values, labels are flipped, and `subsvms
correct` is run as a user would run it, in a process of its own whose peak memory the system reports.

    python -m benchmarks.tool --data-dir FOLDER
"""

import argparse
import csv
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_files

from benchmarks.made import write
from subsvms import adversaries

COLUMNS = {  # of the Adult data, and the number of features that each was turned into
    "age": 5, "workclass": 8, "fnlwgt": 5, "education": 16, "education_num": 5, "marital_status": 7,
    "occupation": 14, "relationship": 6, "race": 5, "sex": 2, "capital_gain": 2, "capital_loss": 2,
    "hours_per_week": 5, "native_country": 41,
}  # fmt: skip
ATTACKS = {
    "clean": None,
    "uniform, 10 %": lambda y, seed: adversaries.uniform_flips(y, error_rate=0.1, random_state=seed),
    "alpha = 1, 10 %": lambda y, seed: adversaries.directed_flips(
        y, error_rate=0.1, alpha=1.0, random_state=seed
    ),
    "alpha = 0, 10 %": lambda y, seed: adversaries.directed_flips(
        y, error_rate=0.1, alpha=0.0, random_state=seed
    ),
}
RESULTS = Path(__file__).parent / "results"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data-dir", default=os.environ.get("SUBSVMS_DATA"), required="SUBSVMS_DATA" not in os.environ
    )
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    columns, clean = read_income(Path(args.data_dir))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, attack in ATTACKS.items():
            for seed in range(1 if attack is None else args.seeds):
                given = clean if attack is None else attack(clean, seed).labels
                path = Path(folder) / "income.csv"
                write_table(path, columns, given)
                lines.append({"attack": name, "seed": seed, **run_tool(path, given, clean)})
                print(lines[-1], flush=True)
    write(RESULTS / "tool.json", json.dumps({"machine": f"{os.cpu_count()} cores", "runs": lines}, indent=1))
    write(RESULTS / "tool.md", as_markdown(lines))


def read_income(folder):
    """Return the columns as lists of categories, None where missing, and the labels."""
    files = [lzma.open(folder / name) for name in ("a1a.xz", "a1a.t.xz")]
    X, y, X_test, y_test = load_svmlight_files(files, n_features=123)
    X = np.concatenate([X.toarray(), X_test.toarray()])
    columns, at = {}, 0
    for name, width in COLUMNS.items():
        part = X[:, at : at + width]
        codes = np.where(part.any(axis=1), part.argmax(axis=1), -1)
        columns[name] = [None if code < 0 else f"{name[:3]}-{code}" for code in codes.tolist()]
        at += width
    return columns, np.where(np.concatenate([y, y_test]) > 0, ">50K", "<=50K")


def write_table(path, columns, labels):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *columns, "income"])
        writer.writerows(
            [f"P{i:06d}", *("?" if cell is None else cell for cell in row), label]
            for i, (*row, label) in enumerate(zip(*columns.values(), labels, strict=True))
        )


def run_tool(path, given, clean):
    """Correct the file in a process of its own and compare the result with the truth."""
    command = ["-m", "subsvms", "correct", str(path), "--label", "income", "--force", "--quiet"]
    began = time.perf_counter()
    subprocess.run([sys.executable, *command], check=True)
    seconds = time.perf_counter() - began
    with path.with_name("income.subsvms").joinpath("corrected.csv").open(newline="") as file:
        corrected = np.array([row["income"] for row in csv.DictReader(file)])
    return {
        "wrong before": int(np.sum(given != clean)),
        "wrong after": int(np.sum(corrected != clean)),
        "changed": int(np.sum(corrected != given)),
        "seconds": round(seconds, 1),
        "peak MiB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,  # of all runs so far
    }


def as_markdown(lines):
    heads = list(lines[0])
    body = ["| " + " | ".join(str(line[head]) for head in heads) + " |" for line in lines]
    for name in dict.fromkeys(line["attack"] for line in lines):
        own = [line for line in lines if line["attack"] == name]
        means = [f"{np.mean([line[head] for line in own]):.0f}" for head in heads[2:]]
        body.append("| " + " | ".join([name, "mean", *means]) + " |")
    table = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *body]
    head = ["# The whole tool", "", "`python -m benchmarks.tool`, the Adult data.", ""]
    return "\n".join([*head, *table]) + "\n"


if __name__ == "__main__":
    main()

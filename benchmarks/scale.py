"""Measure runs in parts: time and memory against rows, and how the size of the pool affects quality.

    python -m benchmarks.scale rows                        # ten minutes on two cores, 2 GB of disk
    python -m benchmarks.scale pool --data-dir FOLDER      # about half an hour
    python -m benchmarks.scale cost                        # three minutes
    python -m benchmarks.scale rows --again --least 10000000 --beside PYTHON   # the largest table once more

`rows` makes tables of 20 columns with a tenth of the labels wrong and runs the command line on them, each in
a new process, whose time, CPU time and peak memory are recorded. CPU time, of the process and of those that
it starts, says what a run costs while other programs use the machine as well. With `--again` cases are
measured again, and with `--beside` also by the Python of an earlier version. `pool` corrects the tables of
benchmarks/quality.py, and larger synthetic ones, once with all rows and once for each size of the pool;
finished runs are not repeated. `cost` compares the time that votes should take with the time they took, for
several tables and ensembles.
Results go to benchmarks/results/: scale.json, scale_cost.json, scale_pool.csv and scale.md.
"""

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.optimize import nnls
from sklearn.datasets import make_classification
from sklearn.preprocessing import minmax_scale

from benchmarks.made import append_lines, write
from benchmarks.quality import FEATURES, corrupt, load
from subsvms.app.names import CORRECTED, DONE, ISSUE_PARTS, SCORE_PARTS, VOTES

# Not public: the stages of a run are measured one by one
from subsvms.app.options import Options

# Not public: the stages of a run are measured one by one
from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.judge import BatchCorrector, judge_units
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.source import open_source

RESULTS = Path(__file__).parent / "results"
N_COLUMNS, BLOCK = 20, 100_000
ROWS = (100_000, 1_000_000, 10_000_000)
POOLS = (1000, 2500, 5000, 10_000, 20_000)
NO_POOL = 1_000_000  # takes every row of the tables here
LARGE = {
    "large: linear": dict(n_informative=6, class_sep=0.8, n_clusters_per_class=1),
    "large: clusters": dict(n_informative=8, class_sep=1.2, n_clusters_per_class=4),
    "large: rare": dict(n_informative=6, class_sep=1.0, weights=[0.95], n_clusters_per_class=2),
    "large: four classes": dict(n_informative=8, n_classes=4, class_sep=1.2, n_clusters_per_class=1),
}
N_LARGE = 60_000
SHAPES = [  # columns, pool, SVMs, kernel
    (5, 10_000, 1000, "rbf"), (20, 10_000, 1000, "rbf"), (100, 10_000, 1000, "rbf"), (20, 2500, 1000, "rbf"),
    (20, 10_000, 300, "rbf"), (20, 20_000, 1000, "rbf"), (100, 2500, 300, "rbf"), (5, 10_000, 1000, "linear"),
    (20, 10_000, 1000, "linear"), (100, 10_000, 1000, "linear"),
]  # fmt: skip
# Nanoseconds for a kernel value, for a product in it, for a term of an SVM's sum (docs/scale.md)
VALUE_NS, PRODUCT_NS, TERM_NS = 1.25, 0.1, 0.2
ROW_US = 2.5  # microseconds of one core to read, encode, judge and write a row
CONSTANTS = ("ns a kernel value", "ns a product", "ns a term", "us a row besides")
SMALLER = "--pool-size 10000"
FEWER = f"{SMALLER} --svms 200"
DASK = "--engine dask --threads 2"
CASES = (  # options of the command line; "" is a run in parts with the defaults
    "", DASK, SMALLER, f"{SMALLER} {DASK}", f"{SMALLER} --kernel linear", FEWER, f"{FEWER} {DASK}",
)  # fmt: skip
EVERYWHERE = ("", SMALLER, FEWER, f"{FEWER} {DASK}")  # cases for every number of rows,
LONG = (10_000_000, ("", SMALLER))  # except these, which take a quarter of an hour


def write_rows(n_rows, path, seed=0, n_columns=N_COLUMNS):
    """Write a table, a block of rows at a time: two clouds that overlap, a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    centers = 2.0 / np.sqrt(n_columns) * rng.normal(size=(2, n_columns))
    names = np.array(["no", "yes"])
    file = None
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        clean = rng.integers(0, 2, n)
        X = rng.normal(0, 0.7, (n, n_columns)) + centers[clean]
        given = np.where(rng.random(n) < 0.1, 1 - clean, clean)
        columns = {f"x{j}": X[:, j].round(4) for j in range(n_columns)}
        table = pa.table(columns | {"y": names[given].tolist(), "true": names[clean].tolist()})
        file = file or parquet.ParquetWriter(path, table.schema)
        file.write_table(table)
    file.close()


def measure(path, place, arguments, python=sys.executable):
    """Return seconds, peak memory of the process and its children, and wrong labels, of one run.

    A folder that is there already is replaced: a run that was stopped must not be continued, or its time
    would be that of the remainder.
    """
    command = [python, "-m", "subsvms", "correct", str(path), "--label", "y", "--exclude", "true",
               "--output", str(place), "--force", "--json", "--quiet", *arguments]  # fmt: skip
    if "--engine" not in arguments:
        command += ["--engine", "local"]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    summary = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    seconds = time.perf_counter() - began
    wrong = [0, 0]
    for part in sorted((place / CORRECTED).glob("*.parquet")) if (place / CORRECTED).is_dir() else ():
        table = parquet.read_table(part, columns=["y", "y_given", "true"])
        true = np.array(table["true"].to_pylist())
        for i, name in enumerate(("y_given", "y")):
            wrong[i] += int(np.sum(np.array(table[name].to_pylist()) != true))
    return {
        "seconds": round(seconds, 1), "CPU seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak MiB": round(usage.ru_maxrss / 1024),
        "wrong given": wrong[0] / summary["rows"], "wrong left": wrong[1] / summary["rows"],
        "stages": dict(summary["seconds"]),
    }  # fmt: skip


def bench_rows(rows, folder, *, long, again, beside=None):
    """Run the command line on tables of more and more rows; finished runs are not repeated."""
    target = RESULTS / "scale.json"
    found = json.loads(target.read_text()) if target.exists() else {"lines": []}
    lines = {(line["rows"], line["case"]): line for line in found["lines"]}
    for n_rows in rows:
        path = folder / f"{n_rows}.parquet"
        for name in CASES:
            measured = (n_rows, name) in lines and not again
            unasked = n_rows != 1_000_000 and name not in EVERYWHERE
            too_long = n_rows == LONG[0] and name in LONG[1] and not long
            if measured or unasked or too_long:
                continue
            if not path.exists():
                write_rows(n_rows, path.with_suffix(".part"))
                path.with_suffix(".part").rename(path)
            place, arguments = folder / f"{name}.out", name.split()
            machine = f"{os.cpu_count()} cores, {platform.machine()}"
            line = {"rows": n_rows, "case": name, "machine": machine} | measure(path, place, arguments)
            if beside:
                # in its own folder: an earlier version refuses to replace one that a later version wrote
                before = measure(path, folder / f"{name}.before", arguments, beside)
                line |= {f"{key} before": before[key] for key in ("seconds", "peak MiB")}
            print(line, flush=True)
            lines[n_rows, name] = line
            found["lines"] = sorted(
                lines.values(), key=lambda line: (line["rows"], CASES.index(line["case"]))
            )
            write(target, json.dumps(found, indent=1) + "\n")


def fit_slope(lines, case):
    """Return the power of the number of rows with which the time for judging grows, on one machine."""
    own = [line for line in lines if line["case"] == case]
    alike = [line for line in own if line["machine"] == own[0]["machine"]]
    points = [(line["rows"], line["stages"]["judging"]) for line in alike]
    return np.polyfit(*np.log(points).T, 1)[0] if len(points) > 1 else np.nan


def make_place(folder):
    """Make a folder for parts."""
    for name in (CORRECTED, ISSUE_PARTS, SCORE_PARTS, DONE, VOTES):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


class Votes(NamedTuple):
    """What it took one thread to judge a table."""

    us: float  # microseconds for a row
    bits: int  # of a number: 64 where float32 is not exact enough
    counts: list  # kernel values, products in them, and terms of the SVMs' sums for a row
    labels: np.ndarray  # (n_rows,)


def measure_cost(n_columns, pool_size, n_svms, kernel):
    """Return Votes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        write_rows(BLOCK, path, n_columns=n_columns)
        options = Options("y", exclude=("true",), n_estimators=n_svms, kernel=kernel, pool_size=pool_size)
        source = open_source(path, "y")
        engine = LocalEngine(1, len(source.units))
        learned = learn_from(source, options, engine, n_jobs=1)
        place = make_place(Path(folder) / "work")
        began = time.perf_counter()
        judge_units(source, BatchCorrector.of(learned), engine, folder=place)
        us = (time.perf_counter() - began) / source.n_rows * 1e6
        labels = np.array(parquet.read_table(place / CORRECTED)["y"].to_pylist())
    voters = learned.learned.model.voters_
    kernels = [0, 0] if voters.rows is None else [len(voters.rows.norm), len(voters.rows.column)]
    return Votes(us, 8 * voters.intercept.itemsize, [*kernels, len(voters.lists.column)], labels)


def bench_cost():
    """Compare the model of docs/scale.md with measurements, and fit its constants again."""
    measure_cost(5, 1000, 100, "rbf")  # compilation is not counted
    measure_cost(5, 1000, 100, "linear")
    found = [measure_cost(*shape) for shape in SHAPES]
    measured, bits, counts = (np.array([run[i] for run in found], float) for i in range(3))
    needs = np.column_stack([counts * (bits / 32)[:, None], np.ones(len(found))])  # float64: twice
    model = needs @ [VALUE_NS / 1e3, PRODUCT_NS / 1e3, TERM_NS / 1e3, ROW_US]
    fitted = nnls(needs / measured[:, None], np.ones(len(found)))[0] * [1e3, 1e3, 1e3, 1]  # relative errors
    lines = [
        dict(zip(("columns", "pool", "SVMs", "kernel"), shape, strict=True))
        | dict(zip(("values", "products", "terms"), map(int, count), strict=True))
        | {"bits": int(own_bits), "model": round(float(us), 1), "measured": round(float(took), 1)}
        for shape, count, own_bits, us, took in zip(SHAPES, counts, bits, model, measured, strict=True)
    ]
    text = {"lines": lines, "fitted": dict(zip(CONSTANTS, fitted.round(3).tolist(), strict=True))}
    print(json.dumps(text, indent=1), flush=True)
    write(RESULTS / "scale_cost.json", json.dumps(text, indent=1) + "\n")


def load_any(name, folder):
    """Return a table and its clean labels."""
    if name not in LARGE:
        X, y = load(name, folder)
        return (X.toarray() if hasattr(X, "toarray") else X), y
    X, y = make_classification(N_LARGE, N_COLUMNS, flip_y=0, random_state=0, **LARGE[name])
    return minmax_scale(X), y


def list_cases(clean):
    """Return (name, attack, alpha, rate)."""
    smaller = np.bincount(clean).min() / len(clean)
    cases = [("clean", "clean", "", 0.0), ("uniform 10 %", "uniform", "", 0.1)]
    if len(np.bincount(clean)) == 2:
        cases += [(f"rho=.75, alpha={a:g}", "rho", a, 0.75 * smaller) for a in (1.0, 0.5, 0.0)]
    return cases


def correct(path, pool_size, folder):
    """Return the labels after a run in parts, with a pool or without."""
    options = Options("y", exclude=())
    source = open_source(path, "y")
    engine = LocalEngine(2, len(source.units))
    make_place(folder)
    options = replace(options, pool_size=pool_size or NO_POOL)
    learned = learn_from(source, options, engine, n_jobs=2)
    judge_units(source, BatchCorrector.of(learned), engine, folder=folder)
    return np.array(parquet.read_table(folder / CORRECTED)["y"].to_pylist())


def bench_pool(data, names):
    """Compare runs with pools of several sizes with runs without one."""
    target = RESULTS / "scale_pool.csv"
    done = set()
    if target.exists():
        done = {(line["data"], line["attack"], line["pool"]) for line in csv.DictReader(target.open())}
    for name in names:
        X, clean = load_any(name, data)
        for case, attack, alpha, rate in list_cases(clean):
            given = corrupt(X, clean, attack, alpha, rate, 0)
            for pool in (None, *POOLS):
                if (name, case, str(pool or "")) in done or (pool or 0) >= len(clean):
                    continue
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "t.parquet"
                    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
                    parquet.write_table(pa.table(columns | {"y": [f"c{label}" for label in given]}), path)
                    began = time.perf_counter()
                    labels = correct(path, pool, Path(folder) / "work")
                    seconds = time.perf_counter() - began
                wrong = np.mean(labels != np.array([f"c{label}" for label in clean]))
                line = {"data": name, "rows": len(clean), "attack": case, "pool": pool,
                        "given": f"{np.mean(given != clean):.5f}", "left": f"{wrong:.5f}",
                        "seconds": f"{seconds:.1f}"}  # fmt: skip
                append_lines(target, list(line), [line])
                print(line, flush=True)


def as_table(lines):
    """Return lines of Markdown."""
    text = ["| " + " | ".join(lines[0]) + " |", "|" + "---|" * len(lines[0])]
    for line in lines:
        cells = (value if isinstance(value, str) else f"{value:,}" for value in line.values())
        text.append("| " + " | ".join(cells) + " |")
    return text


def write_tables():
    """Write scale.md from the results."""
    text = ["# Runs in parts", "", "Made by `python -m benchmarks.scale`; see there.", ""]
    if (RESULTS / "scale.json").exists():
        found = json.loads((RESULTS / "scale.json").read_text())
        text += [
            "## Time and memory",
            "",
            "20 columns; by default the SVMs are chosen from the data. Seconds are of the whole process,",
            "with reading and writing; `before`: of an earlier version. `given`, `left`: wrong labels.",
            "",
            "| rows | | seconds | before | judging | CPU seconds | peak MiB | before | given | left | on |",
            "|---|---|---|---|---|---|---|---|---|---|---|",
        ]
        text += [
            f"| {line['rows']:,} | {line['case'] or 'default'} | {line['seconds']} | "
            f"{line.get('seconds before', '')} | {line['stages']['judging']} | {line['CPU seconds']} | "
            f"{line['peak MiB']} | {line.get('peak MiB before', '')} | {line['wrong given']:.4f} | "
            f"{line['wrong left']:.4f} | {line['machine']} |"
            for line in found["lines"]
        ]
        fitted = {case or "default": fit_slope(found["lines"], case) for case in EVERYWHERE}
        slopes = ", ".join(f"{slope:.2f} ({case})" for case, slope in fitted.items() if slope == slope)
        text += ["", f"Judging grows with the rows to the power {slopes}.", ""]
    if (RESULTS / "scale_cost.json").exists():
        found = json.loads((RESULTS / "scale_cost.json").read_text())
        lines = found["lines"]
        constants = ", ".join(f"{value} {name}" for name, value in found["fitted"].items())
        text += [
            "## What a row costs",
            "",
            "Microseconds of one core for each row. `model` has the constants of docs/scale.md; fitted to",
            f"these measurements they would be {constants}.",
            "",
            *as_table(lines),
            "",
        ]
    if (RESULTS / "scale_pool.csv").exists():
        lines = list(csv.DictReader((RESULTS / "scale_pool.csv").open()))
        text += pool_tables(lines)
    write(RESULTS / "scale.md", "\n".join(text), lines=RESULTS / "scale.json")


def pool_tables(lines):
    """Return how many more wrong labels are left with a pool than without one."""
    left = {(line["data"], line["attack"], line["pool"]): float(line["left"]) for line in lines}
    head = [
        "## The size of the pool",
        "",
        "Wrong labels left, as a share of all rows, minus those left by a run without a pool, over the",
        "attacks of each table: mean (worst). A pool at least as large as the table changes nothing: it",
        "leaves the same labels to the bit (-).",
        "",
        "| data | rows | without | " + " | ".join(f"{pool:,}" for pool in POOLS) + " |",
        "|---|---|---|" + "---|" * len(POOLS),
    ]
    table, worst = [], {pool: [] for pool in POOLS}
    for name in dict.fromkeys(line["data"] for line in lines):
        own = [line for line in lines if line["data"] == name]
        attacks = list(dict.fromkeys(line["attack"] for line in own))
        cells = []
        for pool in POOLS:
            more = [left[name, attack, str(pool)] - left[name, attack, ""] for attack in attacks
                    if (name, attack, str(pool)) in left]  # fmt: skip
            worst[pool] += more
            cells.append(f"{np.mean(more):+.4f} ({max(more):+.4f})" if more else "-")
        without = np.mean([left[name, attack, ""] for attack in attacks])
        table.append(f"| {name} | {int(own[0]['rows']):,} | {without:.4f} | " + " | ".join(cells) + " |")
    cells = [f"{np.mean(more):+.4f} ({max(more):+.4f})" if more else "-" for more in worst.values()]
    table.append("| all | | | " + " | ".join(cells) + " |")
    return head + table + [""]


def main():
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["rows", "pool", "cost", "tables"])
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"))
    parser.add_argument("--least", type=int, default=ROWS[0], help="rows of the smallest table")
    parser.add_argument("--most", type=int, default=ROWS[-1], help="rows of the largest table")
    parser.add_argument("--long", action="store_true", help="also 1000 SVMs on ten million rows")
    parser.add_argument("--again", action="store_true", help="measure finished cases again")
    parser.add_argument("--beside", help="the Python of an environment with an earlier version")
    parser.add_argument("--folder", type=Path, help="where tables stay, so that a stopped benchmark goes on")
    args = parser.parse_args()
    if args.what == "rows":
        rows = [rows for rows in ROWS if args.least <= rows <= args.most]
        with nullcontext(args.folder) if args.folder else tempfile.TemporaryDirectory() as folder:
            bench_rows(rows, Path(folder), long=args.long, again=args.again, beside=args.beside)
    elif args.what == "cost":
        bench_cost()
    elif args.what == "pool":
        libsvm = list(FEATURES) if args.data_dir else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bench_pool(args.data_dir, [*LARGE, *libsvm, "breast cancer", "digits"])
    write_tables()


if __name__ == "__main__":
    main()

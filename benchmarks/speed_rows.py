"""Measure how fast whole corrections are beside other methods, and what share of the peak the loops reach.

    python -m benchmarks.speed_rows --data-dir FOLDER     # from the root of the repository; two hours

Parts, each of which `--only TITLE` measures again:

- Rows: seconds to correct a synthetic table of 20 features, a tenth of the labels wrong, against the number
  of rows, for every method of benchmarks/peers, and for SubSVMs in parts, its way with many rows. A method
  that fails, or exceeds `--limit` seconds, or would by extrapolation, is not tried on more rows. The line
  log(seconds) = a + b log(rows) is fitted to all its times and, as b2, to those of the sizes that every
  method finished.
- a5a: the same for 6,414 rows of the paper's data (FOLDER holds LIBSVM's a5a; default: SUBSVMS_DATA).
- Fit and predict: SubSVMClassifier beside scikit-learn's and imbalanced-learn's bagging of as many SVCs on
  subsets of the same size.
- Peak: multiply-adds per second in the loops of the solver and of the votes, beside what one core can do.

Each call is a process of its own with one thread (benchmarks/peers/child.py), one at a time. Tables go to
standard output, numbers to benchmarks/results/speed_rows.json, the picture to speed_rows.png beside it.
"""

import argparse
import json
import os
import signal
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from benchmarks.made import write
from benchmarks.pages import save
from benchmarks.peers.child import DONE, call, end_calls
from benchmarks.peers.methods import OURS, count_drawn, find_methods
from benchmarks.quality import load
from benchmarks.speed import show
from subsvms import SubSVMClassifier, adversaries
from subsvms.ensemble._sampling import subset_size  # private: sizes of subsets as the paper draws them
from subsvms.scale import correct_batches, fit_batches

RESULTS = Path(__file__).parent / "results"
ROWS = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SIZES = (1000, 10_000)  # rows to fit the classifiers to
SMALL = 10_000  # rows up to which a time is the median of several
N_FEATURES, RATE = 20, 0.1
MEMORY = 18 * 2**30  # bytes
J, C = 1000, 100.0
N_PREDICTED = 2000
BATCH = 50_000  # rows
MARKERS = "x^osDPv<>*"
HOPELESS = 1.5  # times the limit
IN_PARTS = f"{OURS}, in parts"


def make_rows(n_rows):
    """Return a synthetic table whose classes overlap a little, and its labels, a tenth of them wrong."""
    X, y = make_classification(
        n_rows, N_FEATURES, n_informative=6, n_redundant=4, class_sep=1.2, flip_y=0.0, random_state=0
    )
    return minmax_scale(X), adversaries.uniform_flips(y, error_rate=RATE, random_state=0).labels


def load_rows(name, folder):
    """Return a table of the paper, and its labels after the paper's attack."""
    X, y = load(name, folder)
    return X, adversaries.directed_flips(y, rho=0.75, alpha=0.5, random_state=0).labels


def time_method(method, make, *args):
    """Return the seconds that a method takes on a table, without making the table."""
    X, given = make(*args)
    began = time.perf_counter()
    method(X, given, 0)
    return time.perf_counter() - began


def repeat(function, *args, limit, n_times):
    """Return the results of several calls; after a failure no more are made, and a note says why."""
    values = []
    for _ in range(n_times):
        outcome = call(function, *args, limit=limit, memory=MEMORY)
        if outcome.status != DONE:
            return values, outcome.note
        values.append(outcome.value)
    return values, ""


def correct_in_parts(X, given, seed):
    """Correct Arrow batches as `subsvms correct --engine local` corrects a file."""
    table = pa.table({f"x{j}": column for j, column in enumerate(X.T)} | {"y": given.astype(str)})
    corrector = fit_batches(lambda: table.to_batches(max_chunksize=BATCH), "y", n_jobs=1, random_state=seed)
    for _ in correct_batches(corrector, table.to_batches(max_chunksize=BATCH)):
        pass


def expect(times, n_rows):
    """Return the expected seconds for more rows: extrapolated from the last two times, at least linearly.

    Examples
    --------
    >>> round(expect({1000: 2.0, 10_000: 200.0}, 100_000))
    20000
    """
    if len(times) < 2:
        return 0.0
    (few, short), (many, long) = list(times.items())[-2:]
    slope = max(np.log(long / short) / np.log(many / few), 1.0)
    return long * (n_rows / many) ** slope


def fit_slope(rows, seconds):
    """Return the slope of log(seconds) against log(rows); None for fewer than three points."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0]) if len(rows) >= 3 else None


def against_rows(sizes, limit, n_times, picture):
    """Time every method on more and more rows, small tables several times, and draw the times."""
    methods = {name: method for name, method in find_methods().items() if name != "as given"}
    methods = {IN_PARTS: correct_in_parts} | methods
    seconds, stopped = {name: {} for name in methods}, {}
    for n_rows in sizes:
        for name, method in methods.items():
            if name in stopped:
                continue
            expected = expect(seconds[name], n_rows)
            if expected > HOPELESS * limit:
                stopped[name] = f"{n_rows:,} rows: about {expected:.0f} s expected"
                continue
            times = n_times if n_rows <= SMALL else 1
            values, note = repeat(time_method, method, make_rows, n_rows, limit=limit, n_times=times)
            if note:
                stopped[name] = f"{n_rows:,} rows: {note}"
            else:
                seconds[name][n_rows] = float(np.median(values))
            print(f"{name}, {n_rows} rows: {seconds[name].get(n_rows) or stopped[name]}", flush=True)
    shared = [n for n in sizes if all(n in times for times in seconds.values())]
    lines = []
    for name, times in seconds.items():
        slope = fit_slope(list(times), list(times.values()))
        common = fit_slope(shared, [times[n] for n in shared])
        lines.append(
            {"method": name}
            | {f"{n:,}": times.get(n, "") for n in sizes}
            | {"slope b": slope or "", "slope b2": common or "", "stopped at": stopped.get(name, "")}
        )
    draw_growth(lines, picture)
    note = (
        f"Seconds; {N_FEATURES} features, two classes, {RATE:.0%} of the labels flipped at random, one "
        f"thread, at most {limit:g} s; runs of up to {SMALL:,} rows: {n_times}, of more: 1. b2 is over "
        f"{', '.join(f'{n:,}' for n in shared)} rows"
    )
    return {"note": note, "picture": picture.name, "lines": lines}


def draw_growth(lines, path):
    """Draw seconds against rows, both on logarithmic axes, with the fitted lines."""
    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    for i, line in enumerate(lines):
        name, slope = line["method"], line.get("slope b") or None
        times = {int(key.replace(",", "")): line[key] for key in line if key[0].isdigit() and line[key] != ""}
        rows, seconds = np.array(list(times)), np.array(list(times.values()))
        label = name if slope is None else f"{name}: slope {slope:.2f}"
        axes.plot(rows, seconds, MARKERS[i], color=f"C{i}", label=label)
        if slope is not None:  # the fitted line goes through the means of both logarithms
            centre = np.exp(np.log(seconds).mean() - slope * np.log(rows).mean())
            axes.plot(rows, centre * rows**slope, color=f"C{i}", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds to correct the labels, one thread")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")
    save(figure, path)


def on_a5a(folder, limit, n_times):
    """Time every method on 6,414 rows of the paper, in turns."""
    if not folder:
        return {"note": "needs --data-dir", "lines": [{"method": "not measured"}]}
    methods = {name: method for name, method in find_methods().items() if name != "as given"}
    times = {name: [] for name in methods}
    for _ in range(n_times):
        for name, method in methods.items():
            outcome = call(time_method, method, load_rows, "a5a", folder, limit=limit, memory=MEMORY)
            times[name].append(outcome.value if outcome.status == DONE else np.inf)
    medians = {name: float(np.median(values)) for name, values in times.items()}
    lines = [
        {"method": name, "seconds": value, "times ours": value / medians[OURS]}
        for name, value in medians.items()
    ]
    note = (
        f"6,414 x 123, CSR, rho = 0.75, alpha = 0.5, one thread, medians of {n_times}; inf: over {limit:g} s"
    )
    return {"note": note, "lines": lines}


def make_classifiers(labels):
    """Return our classifier and baggings of as many SVCs on subsets of the same size."""
    size = subset_size("log_squared", len(labels))
    svc = SVC(C=C, gamma="auto")
    options = dict(n_estimators=J, bootstrap=False, n_jobs=1, random_state=0)
    classifiers = {
        "SubSVMClassifier": SubSVMClassifier(n_estimators=J, n_jobs=1, random_state=0),
        "BaggingClassifier(SVC)": BaggingClassifier(svc, max_samples=size, **options),
    }
    if "balanced bagging" in find_methods():
        from imblearn.ensemble import BalancedBaggingClassifier

        balanced = BalancedBaggingClassifier(svc, max_samples=count_drawn(labels), **options)
        classifiers["BalancedBaggingClassifier(SVC)"] = balanced
    return classifiers


def time_classifier(name, n_rows):
    """Return the seconds that a classifier takes to fit a table, and to predict some of its rows."""
    X, labels = make_rows(n_rows)
    model = make_classifiers(labels)[name]
    began = time.perf_counter()
    model.fit(X, labels)
    fitted = time.perf_counter()
    model.predict(X[:N_PREDICTED])
    return fitted - began, time.perf_counter() - fitted


def fit_and_predict(sizes, limit, n_times):
    """Time fit and predict of the classifiers, in turns."""
    lines = []
    for n_rows in sizes:
        names = list(make_classifiers(np.array([0, 1] * (n_rows // 2))))
        times = {name: [] for name in names}
        for _ in range(n_times):
            for name in names:
                outcome = call(time_classifier, name, n_rows, limit=limit, memory=MEMORY)
                times[name].append(outcome.value if outcome.status == DONE else (np.inf, np.inf))
        ours = np.median(times[names[0]], axis=0)
        for name, values in times.items():
            fit, predict = np.median(values, axis=0)
            line = {"classifier": name, "rows": n_rows, "fit": float(fit), "predict": float(predict)}
            lines.append(line | {"fit, times ours": fit / ours[0], "predict, times ours": predict / ours[1]})
    note = (
        f"Seconds; {N_FEATURES} features, {J} SVMs, {N_PREDICTED} rows to predict, one thread, medians of "
        f"{n_times}. Our fit includes the out-of-bag votes on all rows, which no other has"
    )
    return {"note": note, "lines": lines}


def beside_peak(n_times):
    """Measure the loops beside the peak, in a process with one thread."""
    from benchmarks.peak import measure_loops  # here: it imports numba

    outcome = call(measure_loops, n_times, limit=600.0, memory=MEMORY)
    if outcome.status != DONE:
        raise RuntimeError(outcome.note)
    return outcome.value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"), help="LIBSVM files")
    parser.add_argument("--out", default=RESULTS / "speed_rows.json", type=Path)
    parser.add_argument("--limit", default=600.0, type=float, help="seconds for one call")
    parser.add_argument("--most-rows", default=ROWS[-1], type=int, help="largest table of the first part")
    parser.add_argument("--times", default=3, type=int, help="repetitions, except for large tables")
    parser.add_argument("--only", help="title of the only part to measure; the file keeps the others")
    args = parser.parse_args()
    sizes = [n for n in ROWS if n <= args.most_rows]
    parts = {
        "Rows": lambda: against_rows(sizes, args.limit, args.times, args.out.with_suffix(".png")),
        "a5a": lambda: on_a5a(args.data_dir, args.limit, args.times),
        "Fit and predict": lambda: fit_and_predict(SIZES, args.limit, args.times),
        "Peak": lambda: beside_peak(2 * args.times + 1),
    }
    if args.only not in (None, *parts):
        parser.error(f"--only must be one of {', '.join(parts)}; got {args.only!r}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    results = json.loads(args.out.read_text()) if args.only and args.out.exists() else {}
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for title, part in parts.items():
            if args.only in (None, title):
                results[title] = part()
                show(title, results[title])
                write(args.out, json.dumps(results, indent=1) + "\n")  # if killed, one part is lost
    finally:
        end_calls()


if __name__ == "__main__":
    main()

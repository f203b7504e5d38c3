"""Measure how fast training and voting are, beside a loop of scikit-learn's SVC, in one run.

    python -m benchmarks.speed --data-dir FOLDER     # about five minutes on two cores

The last part needs cleanlab: pip install 'subsvms[experiments]'. `--only TITLE` measures one part again. The
table goes to standard output, the numbers to benchmarks/results/speed.json. FOLDER holds the LIBSVM files a1a
and w1a (default: SUBSVMS_DATA); without it, synthetic tables of the same shape are used. Every ratio is
between medians of alternating repetitions on the same subsets, rows and parameters; on a shared machine,
the times themselves are accurate to a factor of two. SVC is timed on some of the SVMs and scaled up to all of
them. benchmarks/speed_rows.py times whole corrections against the number of rows, beside other methods.
"""

import argparse
import json
import lzma
import os
import platform
import subprocess
import sys
import time
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from benchmarks.made import write
from subsvms import SubSVMClassifier, adversaries, correct_labels
from subsvms._effort import Effort
from subsvms.ensemble._rows import Kernel  # private, as the next: stages are timed on their own
from subsvms.ensemble._sampling import (  # private: sizes of subsets as the paper draws them
    draw_subsets,
    subset_size,
)
from subsvms.ensemble._solver import solve_subsets  # private: the solver alone
from subsvms.ensemble._votes import count_votes, gather_voters

RESULTS = Path(__file__).parent / "results"
J, C = 1000, 100.0
GROWTH = (1000, 10_000, 100_000)  # rows
SHAPES = {"a1a": (1605, 30956, 123, 14, 0.25), "w1a": (2477, 47272, 300, 12, 0.03)}


def load(name, folder):
    """Return training rows, labels and test rows as CSR, and where they come from."""
    n_train, n_test, d, n_ones, minority = SHAPES[name]
    if folder and (Path(folder) / f"{name}.xz").exists():
        paths = (Path(folder) / f"{name}.xz", Path(folder) / f"{name}.t.xz")
        (X, y), (X_test, _) = (load_svmlight_file(lzma.open(path), n_features=d) for path in paths)
        return X, (y > 0).astype(int), X_test, "LIBSVM's"
    rng = np.random.default_rng(0)
    columns = np.argsort(rng.random((n_train + n_test, d)), axis=1)[:, :n_ones].ravel()
    rows = np.repeat(np.arange(n_train + n_test), n_ones)
    X = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)))
    score = X @ rng.normal(size=d)
    return X[:n_train], (score > np.quantile(score, 1 - minority))[:n_train].astype(int), X[n_train:], "made"


def seconds(work):
    """Return how long a call took."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def alternate(works, n_times):
    """Return the median time of each function, run in turns so that disturbances affect all alike."""
    for work in works.values():
        work()  # compiles and warms the caches
    times = {name: [] for name in works}
    for _ in range(n_times):
        for name, work in works.items():
            times[name].append(seconds(work))
    return {name: float(np.median(values)) for name, values in times.items()}


def beside_svc(folder, n_svms, n_times):
    """Time training and voting beside SVC fit and predict, for both losses."""
    X, labels, X_test, origin = load("a1a", folder)
    X, X_test = X.toarray(), X_test.toarray()
    kernel, gamma = Kernel.named("rbf", 1 / X.shape[1]), 1 / X.shape[1]
    subsets = draw_subsets(labels, J, subset_size("log_squared", len(labels)), seed=0)
    chosen = [s for s in subsets if len(set(labels[s])) == 2][:n_svms]
    ridge = np.eye(subsets.shape[1]) / C

    def fit_hinge(s):
        return SVC(gamma=gamma, C=C).fit(X[s], labels[s])

    def fit_squared(s):  # the squared hinge is the hard margin on K + I/C
        K = rbf_kernel(X[s], gamma=gamma) + ridge
        return SVC(kernel="precomputed", C=1e9).fit(K, labels[s])

    lines = []
    for loss, fit in (("hinge", fit_hinge), ("squared_hinge", fit_squared)):
        solutions = {}

        def train(n_jobs, loss=loss, solutions=solutions):
            solutions["ours"] = solve_subsets(
                X, labels, subsets, kernel=kernel, C=C, loss=loss, effort=Effort(n_jobs)
            )

        def train_svc(fit=fit, solutions=solutions):
            solutions["svc"] = [fit(s) for s in chosen]

        times = alternate({1: lambda: train(1), 2: lambda: train(2), "svc": train_svc}, n_times)
        lines.append(describe(f"training, {loss}", times, len(chosen)))

        voters = gather_voters(X, solutions["ours"], np.bincount(labels), kernel)
        svcs = solutions["svc"][:50]

        def vote_svc(loss=loss, svcs=svcs):
            for model, s in zip(svcs, chosen, strict=False):
                rows = X_test if loss == "hinge" else rbf_kernel(X_test, X[s], gamma=gamma)
                model.predict(rows)

        times = alternate(
            {n: partial(count_votes, voters, X_test, Effort(n)) for n in (1, 2)} | {"svc": vote_svc},
            3,
        )
        lines.append(describe(f"voting, {loss}", times, len(svcs)))
    note = f"{origin} a1a: {X.shape[0]} x {X.shape[1]}, {len(X_test)} rows to vote on, J={J}, s={len(ridge)}"
    return {"note": note, "lines": lines}


def describe(what, times, n_timed):
    """Return one line of the first table."""
    svc = times["svc"] * J / n_timed
    return {
        "what": what,
        "ours, 1 thread": times[1],
        "ours, 2 threads": times[2],
        "SVC loop": svc,
        "ratio, 1 thread": svc / times[1],
        "ratio, 2 threads": svc / times[2],
        "SVMs SVC was timed on": n_timed,
    }


def csr_beside_dense(folder, n_times):
    """Time CSR and dense rows of the same sparse table."""
    X, labels, X_test, origin = load("w1a", folder)
    kernel = Kernel.named("rbf", 1 / X.shape[1])
    subsets = draw_subsets(labels, J, subset_size("log_squared", len(labels)), seed=0)
    voters = gather_voters(X, solve_subsets(X, labels, subsets, kernel=kernel), np.bincount(labels), kernel)
    dense, dense_test = X.toarray(), X_test.toarray()
    train = alternate(
        {
            "csr": lambda: solve_subsets(X, labels, subsets, kernel=kernel, effort=Effort(2)),
            "dense": lambda: solve_subsets(dense, labels, subsets, kernel=kernel, effort=Effort(2)),
        },
        n_times,
    )
    vote = alternate(
        {
            "csr": lambda: count_votes(voters, X_test, Effort(2)),
            "dense": lambda: count_votes(voters, dense_test, Effort(2)),
        },
        n_times,
    )
    lines = [
        {"what": what, **times, "dense / csr": times["dense"] / times["csr"]}
        for what, times in (("training", train), ("voting", vote))
    ]
    note = f"{origin} w1a: {X.shape[0]} x {X.shape[1]}, {X_test.shape[0]} rows to vote on, 2 threads"
    return {"note": note, "lines": lines}


def growth(n_times):
    """Time fit, and the vote of one fixed model, against the number of rows."""
    rng = np.random.default_rng(0)
    table = rng.random((GROWTH[-1], 20))
    labels = (table[:, :4].sum(axis=1) + 0.3 * rng.normal(size=len(table)) > 2).astype(int)
    fixed = SubSVMClassifier(n_estimators=J, random_state=0, n_jobs=2).fit(table[:1000], labels[:1000])
    lines = []
    for n in GROWTH:
        model = SubSVMClassifier(n_estimators=J, random_state=0, n_jobs=2)
        subsets = draw_subsets(labels[:n], J, subset_size("log_squared", n), seed=0)
        times = alternate(
            {
                "training": lambda n=n, subsets=subsets: solve_subsets(
                    table[:n], labels[:n], subsets, kernel=Kernel.named("rbf", 1 / 20), effort=Effort(2)
                ),
                "fit": lambda n=n, model=model: model.fit(table[:n], labels[:n]),
                "vote, fixed model": lambda n=n: fixed.predict(table[:n]),
            },
            n_times if n < 100_000 else 1,
        )
        used = len(np.unique(subsets))
        lines.append({"rows": n, "s": subsets.shape[1], "rows used": used, **times})
        lines[-1]["vote, microseconds per row"] = 1e6 * times["vote, fixed model"] / n
    note = (
        "20 features, 2 threads; fit is training plus the out-of-bag vote on all rows, whose cost per row "
        "grows with the rows that the subsets use"
    )
    return {"note": note, "lines": lines}


MEMORY = """
import re
from pathlib import Path
import numpy as np
from subsvms import SubSVMClassifier, adversaries, correct_labels
def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
rng = np.random.default_rng(0)
X = rng.random((1_000_000, 20))
model = SubSVMClassifier(n_estimators=1000, random_state=0, n_jobs=2)
model.fit(X[:2000], X[:2000, 0] > 0.5).predict(X[:500])
before = status("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
model.{method}(X)
print(status("VmHWM") - before)
"""


def memory():
    """Measure how much a process grows while it votes on a million rows; Linux only."""
    if not Path("/proc/self/clear_refs").exists():
        return {"note": "not measured on this system", "lines": [{"what": "predict"}]}
    lines = []
    for method in ("predict", "predict_proba", "decision_function"):
        code = MEMORY.replace("{method}", method)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        lines.append({"what": method, "MiB beyond the input": float(done.stdout)})
    return {"note": "1,000,000 x 20 rows, J=1000, 2 threads", "lines": lines}


START = """
import time
times = [time.perf_counter()]
import sklearn
times.append(time.perf_counter())
import subsvms
times.append(time.perf_counter())
X = [[i / 100] for i in range(100)]
subsvms.SubSVMClassifier(n_estimators=100).fit(X, [i > 50 for i in range(100)]).predict(X)
times.append(time.perf_counter())
print(*(later - sooner for sooner, later in zip(times, times[1:])))
"""


def start(n_times):
    """Time the import, and the first fit and predict of a process with compiled code in its cache."""
    runs = []
    for _ in range(n_times):
        done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=True)
        runs.append([float(word) for word in done.stdout.split()])
    stages = (
        "import sklearn",
        "then import subsvms",
        "then a first fit and predict, numba's import included",
    )
    lines = [
        {"what": stage, "seconds": float(value)}
        for stage, value in zip(stages, np.median(runs, axis=0), strict=True)
    ]
    return {"note": "new processes, compiled code in the cache", "lines": lines}


def beside_cleanlab(folder, n_times):
    """Time the correction of a5a beside cleanlab's search with SVC on the four times smaller a1a."""
    if not folder:
        return {"note": "needs --data-dir", "lines": [{"what": "not measured"}]}
    from cleanlab.classification import CleanLearning

    tables = {}
    for name in ("a1a", "a5a"):
        X, y = load_svmlight_file(lzma.open(Path(folder) / f"{name}.xz"), n_features=123)
        y = (y > 0).astype(int)
        tables[name] = X, adversaries.directed_flips(y, rho=0.75, alpha=0.5, random_state=0).labels
    svc = partial(SVC, probability=True, gamma="auto", C=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn 1.8 deprecates probability=True
        times = alternate(
            {
                "correct_labels, a5a": lambda: correct_labels(*tables["a5a"], random_state=0, n_jobs=2),
                "correct_labels, a1a": lambda: correct_labels(*tables["a1a"], random_state=0, n_jobs=2),
                "CleanLearning(SVC), a1a": lambda: CleanLearning(svc(), seed=0).find_label_issues(
                    *tables["a1a"]
                ),
            },
            n_times,
        )
    slow = times["CleanLearning(SVC), a1a"]
    lines = [
        {
            "what": what,
            "rows": len(tables[what[-3:]][1]),
            "seconds": value,
            "CleanLearning, a1a / this": slow / value,
        }
        for what, value in times.items()
    ]
    note = f"rho = 0.75, alpha = 0.5; J=1000, 2 threads; cleanlab {version('cleanlab')}; CSR"
    return {"note": note, "lines": lines}


def show(title, part):
    """Print one part of the results as a Markdown table."""
    print(f"\n## {title}\n\n{part['note']}\n")
    names = list(part["lines"][0])
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for line in part["lines"]:
        cells = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in line.values()]
        print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"), help="LIBSVM files")
    parser.add_argument("--out", default=RESULTS / "speed.json", type=Path)
    parser.add_argument("--svms", default=100, type=int, help="number of SVMs to time SVC on, at least 50")
    parser.add_argument("--times", default=7, type=int, help="repetitions")
    parser.add_argument("--only", help="title of the only part to measure; the file keeps the others")
    args = parser.parse_args()
    parts = {
        "Beside a loop of SVC": lambda: beside_svc(args.data_dir, args.svms, args.times),
        "CSR beside dense": lambda: csr_beside_dense(args.data_dir, 2 * args.times + 1),
        "Growth": lambda: growth(min(args.times, 3)),
        "Memory": memory,
        "Start": lambda: start(min(args.times, 5)),
        "Correction beside cleanlab": lambda: beside_cleanlab(args.data_dir, min(args.times, 3)),
    }
    names = ("subsvms", "numpy", "scipy", "scikit-learn", "numba")
    results = json.loads(args.out.read_text()) if args.only else {}
    results |= {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {name: version(name) for name in names},
    }
    print(results["machine"], results["versions"])
    for title, part in parts.items():
        if args.only in (None, title):
            results[title] = part()
            show(title, results[title])
    args.out.parent.mkdir(parents=True, exist_ok=True)
    write(args.out, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

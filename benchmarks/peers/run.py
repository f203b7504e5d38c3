"""Do the runs of a preset that are not done: one line each, nothing twice.

Two cells at a time, cheap ones first, and in each cell one method after the other, all on the same labels.
The attack, each method and its judgement have a process of their own (`child.py`): a method that crashes or
takes too long costs one line, whose status says so. A line is appended as soon as it is there.
"""

import csv
import hashlib
import json
import os
import pickle
import platform
import resource
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import subsvms
from benchmarks.peers.cells import Cell, corrupt, list_cells, seed_of
from benchmarks.peers.child import DONE, call, end_calls
from benchmarks.peers.data import load_table
from benchmarks.peers.measures import MEASURES, measure
from benchmarks.peers.methods import is_ours

RESULTS = Path(__file__).parent.parent / "results"
KEYS = (*Cell._fields, "method")
COLUMNS = (*KEYS, "status", *MEASURES, "seconds", "cpu_seconds", "peak_mib", "note")
LIBRARIES = ("subsvms", "cleanlab", "imbalanced-learn", "scikit-learn", "numpy", "scipy", "numba")
SOURCE = "source"  # of our code, hashed, in the note on the machine
PATIENCE = 900.0  # seconds for an attack, or for judging a correction


class Lines:
    """A CSV file that grows by whole lines; what was half written when a run was killed is cut off.

    Parameters
    ----------
    path : path-like
    """

    def __init__(self, path):
        self.path, self.lock, self.closed = Path(path), threading.Lock(), False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.path.read_bytes() if self.path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1] or (",".join(COLUMNS) + "\n").encode()
        if whole.splitlines()[0].decode() != ",".join(COLUMNS):
            raise ValueError(
                f"{self.path.name} has other columns, so it is of another version: move it away."
            )
        if whole != text:
            self.path.write_bytes(whole)

    def done(self):
        """Return the keys of the lines that are there."""
        with self.path.open(newline="") as file:
            return {tuple(line[key] for key in KEYS) for line in csv.DictReader(file)}

    def drop(self, methods):
        """Forget what these methods did."""
        with self.path.open(newline="") as file:
            kept = [line for line in csv.DictReader(file) if line["method"] not in methods]
        fresh = self.path.with_suffix(".part")
        with fresh.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        fresh.replace(self.path)

    def append(self, line):
        """Add a line; numbers with as many digits as anyone reads."""
        words = {key: f"{value:.5g}" if isinstance(value, float) else value for key, value in line.items()}
        with self.lock:
            if not self.closed:
                with self.path.open("a", newline="") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(words)

    def close(self):
        """Let no more lines come."""
        with self.lock:
            self.closed = True


def run_cells(cells, methods, lines, folder, *, limit, n_workers=2, tell=print):
    """Do what is missing, and append it to the lines.

    Parameters
    ----------
    cells : list of Cell
    methods : dict of str to callable
        As in `methods.py`; of a module that can be imported.
    lines : Lines
    folder : path-like or None
        Of the data files.
    limit : float
        Seconds for one method in one cell.
    n_workers : int
        Cells at a time.
    tell : callable
        Called with a line of text for each cell.

    Returns
    -------
    n_runs : int
        How many were done now.
    """
    done = lines.done()
    todo = {
        cell: {name: method for name, method in methods.items() if (*map(str, cell), name) not in done}
        for cell in cells
    }
    todo = {cell: missing for cell, missing in todo.items() if missing}
    began, finished = time.perf_counter(), []

    def work(cell, place):
        start = time.perf_counter()
        run_cell(cell, todo[cell], lines, folder, limit, Path(place) / f"{seed_of(*cell)}.pickle")
        finished.append(cell)
        now = time.perf_counter()
        tell(
            f"{len(finished)}/{len(todo)}  {now - began:.0f} s  {cell.data}, {cell.rows} rows, {cell.kind} "
            f"{cell.budget}: {now - start:.1f} s for {len(todo[cell])} methods"
        )

    pool = ThreadPoolExecutor(n_workers)
    with tempfile.TemporaryDirectory() as place:
        try:
            for future in [pool.submit(work, cell, place) for cell in todo]:
                future.result()
        except BaseException:  # Ctrl-C, say: what is under way is not a result
            lines.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            end_calls()
    return sum(map(len, todo.values()))


def run_cell(cell, methods, lines, folder, limit, path):
    """Attack once, then correct and judge by each method."""
    made = tell_where("the attack", call(prepare, cell, folder, path, limit=PATIENCE))
    for name, method in methods.items():
        key = dict(zip(KEYS, (*cell, name), strict=True))
        outcome = made
        if made.status == DONE:
            outcome = call(correct, path, method, seed_of("method", *cell, name), limit=limit)
        if outcome.status == DONE:
            labels, quality, costs = outcome.value
            outcome = tell_where("judging", call(judge, path, labels, quality, limit=PATIENCE))
            key |= costs
        values = outcome.value if outcome.status == DONE else {"note": outcome.note}
        lines.append(key | {"status": outcome.status} | values)
    path.unlink(missing_ok=True)


def tell_where(step, outcome):
    """Return the outcome with a note that no method is to blame."""
    return outcome._replace(note=f"{step}: {outcome.note}") if outcome.note else outcome


def prepare(cell, folder, path):
    """Write the table of a cell and its corrupted labels to a file."""
    table = load_table(cell.data, folder, most_rows=cell.rows, seed=cell.seed)
    path.write_bytes(pickle.dumps((table, corrupt(cell, table.X, table.y))))


def correct(path, method, seed):
    """Return what a method makes of the labels, its times and the largest memory of its process."""
    table, given = pickle.loads(path.read_bytes())
    X = table.X
    del table
    began, began_work = time.perf_counter(), time.process_time()
    labels, quality = method(X, given, seed)
    seconds, work = time.perf_counter() - began, time.process_time() - began_work
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return labels, quality, {"seconds": seconds, "cpu_seconds": work, "peak_mib": peak}


def judge(path, labels, quality):
    """Return the measures of a correction."""
    table, given = pickle.loads(path.read_bytes())
    return {name: float(value) for name, value in measure(table, given, labels, quality).items()}


def describe_machine():
    """Return the machine and the versions of all libraries, as plain values."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if "model name" in line] if info.exists() else []
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        SOURCE: hash_source(),
    }


def hash_source():
    """Return a number that changes with our code."""
    folder = Path(subsvms.__file__).parent
    files = sorted(folder.rglob("*.py"))
    text = b"".join(file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
    return hashlib.sha256(text).hexdigest()[:16]


def run_preset(preset, methods, path, folder, *, n_workers=2, limit=None, tell=print):
    """Do what is missing of a preset, and note on what machine, and with which code of ours."""
    lines = Lines(path)
    note_run(lines, methods)
    cells = list_cells(preset, with_files=folder is not None)
    return run_cells(
        cells, methods, lines, folder, limit=limit or preset.limit, n_workers=n_workers, tell=tell
    )


def note_run(lines, methods):
    """Write the machine beside the lines; refuse to mix lines of two versions of our code."""
    note = lines.path.with_suffix(".json")
    before = json.loads(note.read_text()) if note.exists() else {}
    machine = describe_machine()
    if any(is_ours(key[-1]) for key in lines.done()):
        if SOURCE in before and before[SOURCE] != machine[SOURCE] and any(map(is_ours, methods)):
            raise ValueError(
                f"{lines.path.name} has lines of SubSVMs with other code than today's: measure both rules "
                "anew, with --fresh --methods and their names."
            )
        machine[SOURCE] = before.get(SOURCE, machine[SOURCE])
    note.write_text(json.dumps(machine, indent=1) + "\n")

"""Do the missing runs of a preset: one line each, nothing twice.

Two cells at a time, cheap ones first, and in each cell one method after the other, all on the same labels.
The attack, each method and its judgement have a process of their own (`child.py`): if a method crashes or
takes too long, the status of its line says so. Each line is appended as soon as it is known.
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
SOURCE = "source"  # key of the hash of our code in the description of the machine
PATIENCE = 900.0  # seconds for an attack, or for judging a correction


class Lines:
    """A CSV file that grows by whole lines; a line cut short by a kill is removed.

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
                f"{self.path.name} has other columns, so another version wrote it: move it away."
            )
        if whole != text:
            self.path.write_bytes(whole)

    def done(self):
        """Return the keys of all lines."""
        with self.path.open(newline="") as file:
            return {tuple(line[key] for key in KEYS) for line in csv.DictReader(file)}

    def drop(self, methods):
        """Remove the lines of these methods."""
        with self.path.open(newline="") as file:
            kept = [line for line in csv.DictReader(file) if line["method"] not in methods]
        fresh = self.path.with_suffix(".part")
        with fresh.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        fresh.replace(self.path)

    def append(self, line):
        """Add a line; numbers with five digits."""
        words = {key: f"{value:.5g}" if isinstance(value, float) else value for key, value in line.items()}
        with self.lock:
            if not self.closed:
                with self.path.open("a", newline="") as file:
                    csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(words)

    def close(self):
        """Ignore all further lines."""
        with self.lock:
            self.closed = True


def run_cells(cells, methods, lines, folder, *, limit, n_workers=2, on_progress=print):
    """Do the missing runs, and append them to the lines.

    Parameters
    ----------
    cells : list of Cell
    methods : dict of str to callable
        As in `methods.py`; from a module that can be imported.
    lines : Lines
    folder : path-like or None
        Folder of the data files.
    limit : float
        Seconds for one method in one cell.
    n_workers : int
        Number of cells at a time.
    on_progress : callable
        Called with a line of text for each cell.

    Returns
    -------
    n_runs : int
        Number of runs done by this call.
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
        on_progress(
            f"{len(finished)}/{len(todo)}  {now - began:.0f} s  {cell.data}, {cell.rows} rows, {cell.kind} "
            f"{cell.budget}: {now - start:.1f} s for {len(todo[cell])} methods"
        )

    pool = ThreadPoolExecutor(n_workers)
    with tempfile.TemporaryDirectory() as place:
        try:
            for future in [pool.submit(work, cell, place) for cell in todo]:
                future.result()
        except BaseException:  # such as Ctrl-C: runs that are interrupted are not results
            lines.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            end_calls()
    return sum(map(len, todo.values()))


def run_cell(cell, methods, lines, folder, limit, path):
    """Attack once, then correct with each method and judge the result."""
    made = name_step("the attack", call(prepare, cell, folder, path, limit=PATIENCE))
    for name, method in methods.items():
        key = dict(zip(KEYS, (*cell, name), strict=True))
        outcome = made
        if made.status == DONE:
            outcome = call(correct, path, method, seed_of("method", *cell, name), limit=limit)
        if outcome.status == DONE:
            labels, quality, costs = outcome.value
            outcome = name_step("judging", call(judge, path, labels, quality, limit=PATIENCE))
            key |= costs
        values = outcome.value if outcome.status == DONE else {"note": outcome.note}
        lines.append(key | {"status": outcome.status} | values)
    path.unlink(missing_ok=True)


def name_step(step, outcome):
    """Return the outcome, its note with the step that failed before or after the method."""
    return outcome._replace(note=f"{step}: {outcome.note}") if outcome.note else outcome


def prepare(cell, folder, path):
    """Write the table of a cell and its corrupted labels to a file."""
    table = load_table(cell.data, folder, most_rows=cell.rows, seed=cell.seed)
    path.write_bytes(pickle.dumps((table, corrupt(cell, table.X, table.y))))


def correct(path, method, seed):
    """Return the labels and qualities of a method, its times and the peak memory of its process."""
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
    """Return a description of the machine and the versions of all libraries."""
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
    """Return a hash of our code."""
    folder = Path(subsvms.__file__).parent
    files = sorted(folder.rglob("*.py"))
    text = b"".join(file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
    return hashlib.sha256(text).hexdigest()[:16]


def run_preset(preset, methods, path, folder, *, limit=None, **options):
    """Do the missing runs of a preset, and record the machine and the version of our code."""
    lines = Lines(path)
    note_run(lines, methods)
    cells = list_cells(preset, with_files=folder is not None)
    return run_cells(cells, methods, lines, folder, limit=limit or preset.limit, **options)


def note_run(lines, methods):
    """Describe the machine in a file beside the lines; refuse to mix two versions of our code."""
    note = lines.path.with_suffix(".json")
    before = json.loads(note.read_text()) if note.exists() else {}
    machine = describe_machine()
    if any(is_ours(key[-1]) for key in lines.done()):
        if SOURCE in before and before[SOURCE] != machine[SOURCE] and any(map(is_ours, methods)):
            raise ValueError(
                f"{lines.path.name} has lines from another version of SubSVMs: measure both rules again, "
                "with --fresh --methods and their names."
            )
        machine[SOURCE] = before.get(SOURCE, machine[SOURCE])
    note.write_text(json.dumps(machine, indent=1) + "\n")

"""Measure a whole job on a GPU, from Parquet to Parquet: its time, the limit of each part, and its memory.

Tables of 20 numbers and a label, of which a tenth is wrong, are corrected in parts by 1000 SVMs from a pool
of 20,000 rows, each job in a new process: on threads and on processes of Dask, of which the faster takes the
larger tables. "alone" is how fast each part of the work is by itself, on all cores: reading, features, votes,
judging and writing. Results are written after every step: a machine that is lost leaves those that are done.

    python -m benchmarks.gpu_job --rows 10000000 100000000          # 30 GB of disk
    python -m benchmarks.gpu_job --rows 100000 1000000 --device cpu --svms 100 --pool 2000
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks import made
from benchmarks.gpu import name_gpu

# Not public: the stages of a run are measured one by one
from subsvms._effort import Effort, listening
from subsvms.app.features.encoder import ColumnEncoder
from subsvms.app.options import Options, Work
from subsvms.app.runs import job, learn, parts
from subsvms.app.runs import judge as judging
from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.source import Files, open_source
from subsvms.correction import _judge

RESULTS = Path(__file__).parent / "results"
N_COLUMNS, GROUP_ROWS, FILE_ROWS = 20, 2**17, 2**20
ALONE_ROWS = 2**21  # on which each part of the work is measured alone
STAGES = ("read", "features", "votes", "judge", "write")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000, 100_000_000])
    parser.add_argument("--engines", nargs="+", default=["local", "dask"], help="the fastest takes the rest")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--svms", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=20_000)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, default=Path("build/gpu_job"), help="of the tables")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--limit", type=int, help="seconds of a step; more, and it is stopped")
    parser.add_argument("--step", help="one job or the parts alone, in this process")
    args = parser.parse_args()
    if args.step:
        found = do_alone(args) if args.step == "alone" else do_job(args, args.step)
        print(json.dumps(found))
        return
    measure(args)


def measure(args):
    """Do all steps, each in a new process, and write the results after each."""
    asked = {name: getattr(args, name) for name in ("device", "svms", "pool", "cores")}
    found = asked | {"gpu": name_gpu(args.device), "made": [], "jobs": []}
    engines = args.engines
    for n_rows in args.rows:
        began = time.perf_counter()
        n_bytes = make_table(n_rows, args.folder, args.cores)
        found["made"].append({"rows": n_rows, "seconds": time.perf_counter() - began, "bytes": n_bytes})
        done = []
        for engine in engines:
            done.append(run_step(args, engine, n_rows))
            found["jobs"].append(done[-1])
            write(found, args.results)
        if "alone" not in found:
            found["alone"] = run_step(args, "alone", n_rows)
            write(found, args.results)
        finished = [one for one in done if "error" not in one]
        if not finished:
            break
        engines = [min(finished, key=lambda one: one["seconds"])["engine"]]
    shutil.rmtree(args.folder)


def run_step(args, step, n_rows):
    """Do a step in a new process; return what it found, or how it ended."""
    words = [f"--{name}={getattr(args, name)}" for name in ("device", "svms", "pool", "cores", "folder")]
    command = [sys.executable, "-m", "benchmarks.gpu_job", f"--rows={n_rows}", f"--step={step}", *words]
    print(f"{step}: {n_rows:,} rows", flush=True)
    try:
        ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=args.limit)
    except subprocess.TimeoutExpired:
        return {"engine": step, "rows": n_rows, "error": f"stopped after {args.limit} s"}
    if ended.returncode:
        return {"engine": step, "rows": n_rows, "error": f"exit status {ended.returncode}"}
    print(ended.stdout, flush=True)
    return json.loads(ended.stdout.splitlines()[-1])


def make_table(n_rows, folder, cores):
    """Write files of rows, as far as they are not there; return their size."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [i for i in range(-(-n_rows // FILE_ROWS)) if not name_file(folder, i, n_rows).exists()]
    with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
        list(pool.map(make_file, missing, [folder] * len(missing), [n_rows] * len(missing)))
    return sum(path.stat().st_size for path in list_table(n_rows, folder))


def name_file(folder, number, n_rows):
    """Return the name of a file: whole ones belong to all tables that are large enough."""
    return folder / f"{number:04d}-{min(FILE_ROWS, n_rows - number * FILE_ROWS)}.parquet"


def list_table(n_rows, folder):
    """Return the files of a table."""
    return [name_file(folder, i, n_rows) for i in range(-(-n_rows // FILE_ROWS))]


def make_file(number, folder, n_rows):
    """Write a file: two clouds that overlap, a tenth of the labels wrong."""
    path, rng = name_file(folder, number, n_rows), np.random.default_rng([0, number])
    n = int(path.stem.split("-")[1])
    centers = 2.0 / np.sqrt(N_COLUMNS) * np.random.default_rng(0).normal(size=(2, N_COLUMNS))
    clean = rng.integers(0, 2, n)
    X = rng.standard_normal((N_COLUMNS, n), np.float32) * np.float32(0.7)
    X += centers.astype(np.float32).T[:, clean]
    label = pa.array(["no", "yes"]).take(pa.array(clean ^ (rng.random(n) < 0.1)))
    table = pa.table({f"x{j}": X[j] for j in range(N_COLUMNS)} | {"y": label})
    options = {"row_group_size": GROUP_ROWS, "compression": "none", "use_dictionary": ["y"]}
    parquet.write_table(table, path.with_suffix(".new"), **options)
    path.with_suffix(".new").rename(path)


class Watch:
    """Adds up the seconds that threads spend in the parts of the work."""

    def __init__(self):
        self.seconds, self.lock = {}, threading.Lock()

    @contextmanager
    def time(self, name):
        """Measure what happens in the context."""
        began = time.perf_counter()
        try:
            yield
        finally:
            with self.lock:
                self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def wrap(self, owner, function, name):
        """Return a patch that measures a function."""
        inner = getattr(owner, function)

        def timed(*args, **more):
            with self.time(name):
                return inner(*args, **more)

        return mock.patch.object(owner, function, timed)

    def wrap_iterator(self, owner, function, name):
        """Return a patch that measures how long a generator takes to yield."""
        inner, end = getattr(owner, function), object()

        def timed(*args, **more):
            items = inner(*args, **more)
            while True:
                with self.time(name):
                    item = next(items, end)
                if item is end:
                    return
                yield item

        return mock.patch.object(owner, function, timed)


def do_job(args, engine):
    """Correct a table; return its time, that of its parts, and the peak memory."""
    (n_rows,) = args.rows
    place = args.folder.with_name(f"{args.folder.name}.{engine}")
    walls, watch, last = Watch(), Watch(), [0.0]

    def show(stage, done, total):
        if time.monotonic() - last[0] > 5:
            last[0] = time.monotonic()
            print(f"{stage} {done:,} of {total:,}", file=sys.stderr, flush=True)

    patches = [
        walls.wrap(learn, "survey_source", "count labels, digest"), walls.wrap(learn, "fetch_rows", "draw"),
        walls.wrap(learn, "learn", "learn"), walls.wrap(job, "judge_units", "judge rows"),
        walls.wrap(job, "examine_parts", "worst rows"),
        walls.wrap(job, "write_files", "digest the result"),
        watch.wrap_iterator(Files, "read", "read"), watch.wrap(ColumnEncoder, "transform", "features"),
        watch.wrap(_judge, "count_votes", "votes"),
        watch.wrap(judging.BatchCorrector, "judge_votes", "judge"),
        watch.wrap(judging, "list_issues", "judge"), watch.wrap(judging, "apply_correction", "judge"),
        watch.wrap(parquet.ParquetWriter, "write_table", "write"),
    ]  # fmt: skip
    began = time.perf_counter()
    with ExitStack() as stack, listening(show):
        for patch in patches if engine == "local" else patches[:6]:  # workers of Dask are not measured
            stack.enter_context(patch)
        table = [str(path) for path in list_table(n_rows, args.folder)]
        work = Work(engine=engine, output=place, n_jobs=args.cores, device=args.device, force=True)
        summary = job.do_job(table, make_options(args), work)
    seconds = time.perf_counter() - began
    peak = measure_peak()
    n_bytes = sum(path.stat().st_size for path in place.rglob("*.parquet"))
    shutil.rmtree(place)
    return {
        "engine": engine, "rows": n_rows, "seconds": seconds, "rows_a_second": n_rows / seconds,
        "walls": walls.seconds, "threads": {name: watch.seconds.get(name) for name in STAGES},
        "flagged": summary.counted.flagged, "peak_mib": peak, "bytes_written": n_bytes,
    }  # fmt: skip


def make_options(args):
    """Return the options of a job."""
    return Options("y", n_estimators=args.svms, pool_size=args.pool)


def measure_peak():
    """Return the largest memory of this process, and of the largest that it started, in MiB."""
    import resource

    who = {"process": resource.RUSAGE_SELF, "largest_worker": resource.RUSAGE_CHILDREN}
    return {name: resource.getrusage(number).ru_maxrss / 1024 for name, number in who.items()}


def do_alone(args):
    """Return how many rows a second each part of the work does by itself."""
    (n_rows,) = args.rows
    source = open_source([str(path) for path in list_table(n_rows, args.folder)], "y")
    learned = learn.learn_from(
        source, make_options(args), LocalEngine(args.cores, len(source.units)), 
        n_jobs=args.cores, device=args.device,
    )  # fmt: skip
    corrector, found = judging.BatchCorrector.of(learned), {}
    units = [unit for unit in source.units if unit.first + unit.n_rows <= ALONE_ROWS] or source.units[:1]
    n_batches = sum(-(-unit.n_rows // 2**14) for unit in units)
    first, batch = next(source.read(units[0]))
    rows = np.arange(first, first + len(batch))
    given, X = corrector.labels.read(batch), corrector.transform(batch)
    voters = corrector.learned.model.voters_
    votes = _judge.count_votes(voters, X, Effort(device=args.device))
    correction = corrector.judge_votes(given, votes, rows)
    corrected = parts.apply_correction(corrector.labels, batch, correction)

    def judge():
        again = corrector.judge_votes(given, votes, rows)
        parts.apply_correction(corrector.labels, batch, again)
        judging.list_issues(corrector, batch, again, rows)
        judging.rank_rows(batch, again, rows)

    def write_batches(number):
        with parts.open_parquet(args.folder / f"alone-{number}", corrected) as file:
            for _ in range(8):
                file.write_table(corrected)

    works = {
        "read": (lambda i: sum(len(found) for _, found in source.read(units[i])), len(units), None),
        "features": (
            lambda _: corrector.transform(batch), n_batches, len(batch),
        ),
        "votes": (
            lambda _: _judge.count_votes(voters, X, Effort(device=args.device)),
            n_batches if args.device != "cpu" else 4, len(batch),
        ),
        "judge": (lambda _: judge(), n_batches, len(batch)),
        "write": (write_batches, max(n_batches // 8, 1), 8 * len(batch)),
    }  # fmt: skip
    for name, (work, n_times, size) in works.items():
        work(0)
        began = time.perf_counter()
        with ThreadPoolExecutor(args.cores) as pool:
            done = list(pool.map(work, range(n_times)))
        n_done = sum(done) if size is None else n_times * size
        found[name] = n_done / (time.perf_counter() - began)
    for path in args.folder.glob("alone-*"):
        path.unlink()
    found |= {"type": str(voters.intercept.dtype), "terms": int(np.count_nonzero(voters.lists.value))}
    return found | {"pool_rows_used": voters.lists.n_columns}


def write(found, folder):
    """Write what is known so far."""
    folder.mkdir(parents=True, exist_ok=True)
    made.write(folder / "gpu_job.json", json.dumps(found, indent=1) + "\n")
    made.write(folder / "gpu_job.md", as_markdown(found))


def as_markdown(found):
    """Return the results as a page."""
    where = "no GPU" if found["gpu"] is None else found["gpu"]
    engines = " ".join(dict.fromkeys(one["engine"] for one in found["jobs"]))
    lines = [
        "# A whole job on a GPU",
        "",
        f"Made by `python -m benchmarks.gpu_job --engines {engines}`; see there. {found['svms']:,} SVMs, a "
        f"pool of {found['pool']:,} rows, tables of {N_COLUMNS} numbers (float32), {found['cores']} cores, "
        f"{where}.",
        "",
        "| rows | engine | seconds | rows a second | counting, drawing | learning | judging | the rest "
        "| peak MiB | of a worker |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in found["jobs"]:
        if "error" in one:
            lines.append(f"| {one['rows']:,} | {one['engine']} | {one['error']} |" + " |" * 7)
            continue
        walls = one["walls"]
        draw = walls["count labels, digest"] + walls["draw"]
        rest = one["seconds"] - draw - walls["learn"] - walls["judge rows"]
        cells = [f"{value:,.1f}" for value in (draw, walls["learn"], walls["judge rows"], rest)]
        peak = [f"{one['peak_mib']['process']:,.0f}", f"{one['peak_mib']['largest_worker']:,.0f}"]
        if one["engine"] == "local":
            peak[1] = "-"
        head = [f"{one['rows']:,}", one["engine"], f"{one['seconds']:,.1f}", f"{one['rows_a_second']:,.0f}"]
        lines.append("| " + " | ".join([*head, *cells, *peak]) + " |")
    if "alone" in found:
        alone, judged = found["alone"], [one for one in found["jobs"] if "error" not in one]
        rates = {one["engine"]: one["rows"] / one["walls"]["judge rows"] for one in judged}
        together = ", ".join(f"{rate:,.0f} ({engine})" for engine, rate in rates.items())
        lines += [
            "",
            f"Rows a second while judging, all parts of the work together: {together or 'none'}.",
            "",
            "Each part by itself, on all cores as threads of one process, which share the interpreter's "
            "lock; Dask's workers are processes and do not. Votes are of batches of 16,384 rows, copies to "
            "and from the GPU included.",
            "",
        ]
        if "error" in alone:
            return "\n".join([*lines, alone["error"], ""])
        local = next((one for one in judged[::-1] if one["engine"] == "local"), None)
        more = "" if local is None else " seconds of all threads in the job, a million rows |"
        lines += [f"| part | rows a second alone |{more}", "|---|---|" + "---|" * bool(more)]
        for name in STAGES:
            spent = "" if local is None else f" {local['threads'][name] / local['rows'] * 1e6:,.2f} |"
            lines.append(f"| {name} | {alone[name]:,.0f} |{spent}")
        lines += ["", f"Votes in {alone['type']}, {alone['terms']:,} terms."]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()

"""What a billion rows cost: measure the stages of a run in parts, and add them up for other machines.

    python -m benchmarks.billion                 # a minute of one core
    python -m benchmarks.billion --measured      # the page alone, after gpu.py or gpu_job.py has run

Made rows of 20 columns are read from Parquet, turned into numbers, voted on, judged and written, one stage
after the other on one core, in CPU seconds, which hardly depend on what else the machine does. How fast a GPU
votes is taken from results/gpu.json; whole jobs, once results/gpu_job.json has some, stand beside. With c the
seconds of a core for a row besides its votes, v those of its votes, n cores, and g GPUs that vote on G rows a
second each,

    rows a second  =  n / (c + v)          without a GPU,
                      min(n / c, g G)      at most, if the cores work while the GPUs vote,
                      1 / (c/n + 1/(g G))  at least, if they wait for them.

Results go to benchmarks/results/billion.json and billion.md.
"""

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.made import write
from benchmarks.scale import N_COLUMNS, write_rows
from subsvms.app.names import CORRECTED, DONE, ISSUE_PARTS, SCORE_PARTS
from subsvms.app.options import Options

# Not public: the stages of a run are measured one by one
from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.judge import BatchCorrector, PartWork, do_part, list_issues, rank_rows
from subsvms.app.runs.learn import learn_from
from subsvms.app.runs.parquet_files import Scores
from subsvms.app.runs.parts import apply_correction, open_parquet
from subsvms.app.runs.source import open_source
from subsvms.app.runs.tally import Tally
from subsvms.ensemble._votes import count_votes

RESULTS = Path(__file__).parent / "results"
BILLION = 10**9
N_ROWS, N_VOTED = 100_000, 2000  # rows whose stages are measured; votes take so long that some rows will do
POOL, N_SVMS, SUBSET = 20_000, 1000, 339  # as in benchmarks/gpu.py
BESIDE = ("read", "features", "judge", "write")  # stages that cores do also if GPUs vote
MACHINES = ((2, 0), (16, 0), (16, 1), (64, 4), (128, 8))  # cores and GPUs


class Rate(NamedTuple):
    """How fast a machine is: rows a second, and what limits them."""

    least: float
    most: float
    limit: str


def estimate(us, n_cores, n_gpus, gpu_rate):
    """Return Rate, from the microseconds of a core for each stage and the rows a second of a GPU.

    >>> estimate({"read": 1, "features": 1, "judge": 1, "write": 1, "votes": 96}, 2, 0, None)
    Rate(least=20000.0, most=20000.0, limit='votes')
    >>> estimate({"read": 1, "features": 1, "judge": 1, "write": 1, "votes": 96}, 8, 1, 1e6)
    Rate(least=666666.6666666666, most=1000000.0, limit='votes')
    """
    beside = sum(us[stage] for stage in BESIDE)
    if not n_gpus:
        rate = n_cores / (beside + us["votes"]) * 1e6
        return Rate(rate, rate, max(us, key=us.get))
    cores, gpus = n_cores / beside * 1e6, n_gpus * gpu_rate
    slowest = max(BESIDE, key=us.get)
    return Rate(1 / (1 / cores + 1 / gpus), min(cores, gpus), "votes" if gpus <= cores else slowest)


def read_gpu(folder=RESULTS):
    """Return what benchmarks/gpu.py found, rows a second of a GPU and of all cores, and whole jobs if any."""
    found = json.loads((folder / "gpu.json").read_text())
    rates = {name: found[name]["rows_a_second"] for name in ("on_gpu", "on_cores")}
    path = folder / "gpu_job.json"
    whole = json.loads(path.read_text()) if path.exists() else {"cores": None, "jobs": []}
    jobs = [{"cores": whole["cores"], **job} for job in whole["jobs"] if "error" not in job]
    return rates | {"gpu": found["gpu"], "cores": found["cores"], "jobs": jobs}


class Clock:
    """CPU seconds of this process, by stage."""

    def __init__(self):
        self.seconds, self.last = {}, time.process_time()

    def end(self, stage):
        """Count the time since the end of the stage before."""
        now = time.process_time()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


def measure(n_rows, n_voted, **settings):
    """Return the microseconds of a core for each stage, and bytes read and written, of a row."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(n_rows, folder / "t.parquet")
        options = Options("y", exclude=("true",), pool_size=POOL, **settings)
        source = open_source(folder / "t.parquet", "y")
        engine = LocalEngine(1, len(source.units))
        corrector = BatchCorrector.of(learn_from(source, options, engine))
        for kind in (CORRECTED, ISSUE_PARTS, SCORE_PARTS, DONE):
            (folder / kind).mkdir()
        seconds = time_stages(source, corrector, folder, n_voted)
        out = sum(path.stat().st_size for path in folder.glob("*.out"))
        us = {stage: round(took / n_rows * 1e6, 3) for stage, took in seconds.items()}
        us["votes"] = round(seconds["votes"] / n_voted * 1e6, 1)
        return {
            "rows": n_rows, "columns": N_COLUMNS, "pool": POOL, **settings,
            "type": str(corrector.learned.model.voters_.intercept.dtype), "us": us, "cores": os.cpu_count(),
            "bytes_read": round((folder / "t.parquet").stat().st_size / n_rows, 1),
            "bytes_written": round(out / n_rows, 1),
            "us_of_a_part": round(time_part(corrector, folder, n_voted) * 1e6, 1),
        }  # fmt: skip


def time_stages(source, corrector, folder, n_voted):
    """Return the CPU seconds of each stage; rows have the votes of the first ones, again and again."""
    _, batch = next(source.read(source.units[0]))
    count_votes(corrector.learned.model.voters_, corrector.transform(batch)[:10])  # compiles
    clock, votes = Clock(), None
    for unit in source.units:
        files = {}
        for first, batch in source.read(unit):
            clock.end("read")
            rows = np.arange(first, first + len(batch))
            given = corrector.labels.read(batch)
            X = corrector.transform(batch)
            clock.end("features")
            if votes is None:
                votes, voted = count_votes(corrector.learned.model.voters_, X[:n_voted]), given[:n_voted]
                clock.end("votes")
            repeated = votes.take(match_labels(given, voted))
            clock.end("nothing")
            correction = corrector.judge_votes(given, repeated, rows)
            Tally.of(correction, {}), rank_rows(batch, correction, rows)
            tables = (
                apply_correction(corrector.labels, batch, correction),
                list_issues(corrector, batch, correction, rows),
                Scores.of(correction).to_table(corrector.label_type, rows),
            )
            clock.end("judge")
            for kind, table in zip("abc", tables, strict=True):
                if kind not in files:
                    files[kind] = open_parquet(folder / f"{unit.number}{kind}.out", table)
                files[kind].write_table(table)
            clock.end("write")
        for file in files.values():
            file.close()
        clock.end("write")
    return {stage: clock.seconds[stage] for stage in ("read", "features", "votes", "judge", "write")}


def match_labels(given, voted):
    """Return for each row the place of one with the same label, so that as many labels as ever look wrong.

    >>> match_labels(np.array([0, 1, 1, 0, 1]), np.array([1, 0, 1]))
    array([1, 0, 2, 1, 0])
    """
    places = np.empty(len(given), dtype=int)
    for label in np.unique(given):
        own = np.flatnonzero(given == label)
        places[own] = np.resize(np.flatnonzero(voted == label), len(own))
    return places


def time_part(corrector, folder, n_rows):
    """Return the CPU seconds for a row of a part that is done as a run does it."""
    write_rows(n_rows, folder / "few.parquet")
    source = open_source(folder / "few.parquet", "y")
    began = time.process_time()
    do_part(PartWork(source, corrector, folder), source.units[0])
    return (time.process_time() - began) / n_rows


def as_markdown(found, gpu):
    """Return the page."""
    us, sums = found["us"], sum(found["us"].values())
    lines = [
        "# A billion rows",
        "",
        "Made by `python -m benchmarks.billion`; see there for the formula.",
        "",
        f"{found['n_estimators']:,} SVMs on subsets of {found['subsample_size']} of {found['pool']:,} rows "
        f"with {found['columns']} numbers ({found['type']}). A part done as a run does it took a core "
        f"{found['us_of_a_part']:,} us a row, the stages together {sums:,.1f} us.",
        "",
        "| stage | us of a core for a row | rows a second: one core | 2 cores | 16 cores |",
        "|---|---|---|---|---|",
    ]
    for stage, cost in us.items():
        rates = " | ".join(f"{n / cost * 1e6:,.0f}" for n in (1, 2, 16))
        lines.append(f"| {stage} | {cost:,} | {rates} |")
    lines += [
        "",
        f"Votes of {gpu['gpu']}: {gpu['on_gpu']:,} rows a second; of the {gpu['cores']} cores beside it, "
        f"{gpu['on_cores']:,}, with as many SVMs and rows in the pool. A row takes {found['bytes_read']} "
        f"bytes in Parquet and {found['bytes_written']} in the result.",
        "",
        "| cores | GPUs | rows a second | a billion rows | limited by | MB/s to read | and to write |",
        "|---|---|---|---|---|---|---|",
    ]
    for n_cores, n_gpus in MACHINES:
        rate = estimate(us, n_cores, n_gpus, gpu["on_gpu"])
        speeds = sorted({round(rate.least), round(rate.most)})
        cells = [n_cores, n_gpus, " to ".join(f"{speed:,}" for speed in speeds)]
        cells += [" to ".join(format_time(BILLION / speed) for speed in reversed(speeds)), rate.limit]
        cells += [f"{rate.most * found[name] / 1e6:,.0f}" for name in ("bytes_read", "bytes_written")]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join([*lines, "", *compare_jobs(us, gpu), ""])


def compare_jobs(us, gpu):
    """Return whole jobs on the GPU's machine beside the estimate for their second pass, which judges rows."""
    if not gpu["jobs"]:
        return ["No whole job on a GPU was measured yet (`python -m benchmarks.gpu_job`)."]
    lines = ["| whole job | engine | rows a second, judging | estimate | of the whole job |"]
    lines.append("|---|---|---|---|---|")
    for job in gpu["jobs"]:
        rate = estimate(us, job["cores"], 1, gpu["on_gpu"])
        judging = job["rows"] / job["walls"]["judge rows"]
        lines.append(
            f"| {job['rows']:,} rows | {job['engine']} | {judging:,.0f} | {rate.least:,.0f} to "
            f"{rate.most:,.0f} | {job['rows_a_second']:,.0f} |"
        )
    return lines


def format_time(seconds):
    """Return a time in words."""
    return f"{seconds / 3600:,.1f} hours" if seconds > 5400 else f"{seconds / 60:,.1f} minutes"


def main():
    """Measure the stages, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measured", action="store_true", help="take the stages from billion.json")
    args = parser.parse_args()
    target = RESULTS / "billion.json"
    if not args.measured:
        found = measure(N_ROWS, N_VOTED, n_estimators=N_SVMS, subsample_size=SUBSET)
        write(target, json.dumps(found, indent=1) + "\n")
    page = as_markdown(json.loads(target.read_text()), read_gpu())
    write(RESULTS / "billion.md", page, lines=target)


if __name__ == "__main__":
    main()

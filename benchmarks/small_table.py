"""Measure the CPU seconds of the command line on a small table, where imports weigh more than the work.

`subsvms correct` and `subsvms --help` run in processes of their own, by turns with an earlier version if its
source is given, after one run of each that fills the caches of bytecode and compiled code. User and system
time of all threads count. A busy machine makes both longer, but hardly changes the ratio of the two versions.

    python -m benchmarks.small_table penguins.csv --label Species --before OTHER_CHECKOUT/src
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.made import write

RESULTS = Path(__file__).parent / "results"
NOW = Path(__file__).parents[1] / "src"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--label", required=True)
    parser.add_argument("--before", type=Path, help="the folder src of another checkout, to compare with")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    versions = {"now": NOW} | ({} if args.before is None else {"before": args.before.resolve()})
    found = {command: {name: [] for name in versions} for command in ("correct", "--help")}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(args.runs + 1):
            for name, source in versions.items():
                correct = ["correct", str(args.file), "--label", args.label, "--force"]
                for words in ([*correct, "--output", f"{folder}/{name}"], ["--help"]):
                    seconds = measure(words, source, Path(folder))
                    if turn:  # the first fills the caches
                        found[words[0]][name].append(round(seconds, 2))
                        print(name, words[0], found[words[0]][name][-1], flush=True)
    result = {"table": args.file.name, "cpu_seconds": found, "ratio": {c: compare(found[c]) for c in found}}
    write(RESULTS / "small_table.json", json.dumps(result, indent=1) + "\n")


def measure(words, source, folder):
    """Return the CPU seconds of a command."""
    settings = {
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "NUMBA_CACHE_DIR": str(folder / "compiled"),
    }
    began = get_seconds()
    command = [sys.executable, "-m", "subsvms", *words]
    subprocess.run(command, env=os.environ | settings, check=True, capture_output=True, cwd=folder)
    return get_seconds() - began


def get_seconds():
    """Return the CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(found):
    """Return the ratio of the medians, now to before; None without an earlier version."""
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    return round(medians["now"] / medians["before"], 2) if "before" in medians else None


if __name__ == "__main__":
    main()

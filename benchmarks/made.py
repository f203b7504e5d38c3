"""Write results, and note in made.json what made each: version, commit, command, machine, what it measures.

Every benchmark writes its files with these functions. Paths of the machine stay out of made.json.
`python -m benchmarks.ages` lists the results that are older than the code they measure.
"""

import csv
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import psutil

import subsvms

ROOT = Path(__file__).parents[1]
MADE = "made.json"

# What the numbers of a benchmark depend on, as folders and files below src/subsvms.
RULE = ["_*.py", "ensemble", "correction"]
TABLES = ["app/tables", "app/features", "app/runs"]
PARTS = [
    f"app/runs/{name}.py"
    for name in ("engines", "folder", "job", "judge", "learn", "parquet_files", "parts", "source", "tally")
]
MEASURED = {
    "annotators": [*RULE, "annotators"],
    "annotators_made": [*RULE, "annotators"],
    "attacks": [*RULE, "adversaries", "audit"],
    "audit": [*RULE, "adversaries", "audit"],
    "billion": ["ensemble", "correction/_learn.py", "app/features", *PARTS],
    "calibration": RULE,
    "certificates": ["ensemble", "certificates"],
    "certificates_attacks": ["ensemble", "certificates"],
    "certificates_cost": ["ensemble", "certificates", "app/runs"],
    "check": [*RULE, "app/runs/check.py", "app/runs/baseline.py"],
    "copies": RULE,
    "directed": [*RULE, "adversaries"],
    "frames": [*RULE, *TABLES, "app/frames.py"],
    "gpu": ["ensemble"],
    "gpu_job": ["ensemble", *PARTS],
    "leaks": [*RULE, *TABLES],
    "ordinary": [*RULE, "adversaries"],
    "peers.downstream": [*RULE, "audit"],
    "quality": [*RULE, "adversaries"],
    "review_keys": ["app/desk"],
    "review_parts": ["app/desk", "app/runs"],
    "same_probabilities": RULE,
    "scale": ["ensemble", *TABLES],
    "several": RULE,
    "small_table": [*RULE, *TABLES, "app/report", "app/cli"],
    "speed": ["ensemble", "correction"],
    "targets": [*RULE, "audit", "evaluation"],
    "targets_any_stop": [*RULE, "audit"],
    "text": [*RULE, "app/features"],
    "tool": [*RULE, *TABLES, "app/cli"],
    "trained": [*RULE, "audit"],
    "verified": RULE,
}


def write(path, text, lines=None):
    """Write a page or a file of numbers; a page that is made from the lines of a file is as old as those."""
    path.write_text(text, encoding="utf-8")
    note(path, lines)


def append_lines(path, columns, lines):
    """Append each line to a CSV file as soon as it is there, numbers with five digits."""
    fresh = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if fresh:
            writer.writeheader()
        for i, line in enumerate(lines):
            writer.writerow({k: f"{v:.5g}" if isinstance(v, float) else v for k, v in line.items()})
            file.flush()
            if i == 0:
                note(path)


def find_done(path, columns):
    """Return the runs that a CSV file has: tuples of the words in these columns."""
    if not path.exists():
        return set()
    with path.open(encoding="utf-8") as file:
        return {tuple(line[key] for key in columns) for line in csv.DictReader(file)}


def read_seeds(words):
    """Return the seeds that a word stands for: one, or first-last."""
    first, _, last = words.partition("-")
    return range(int(first), int(last or first) + 1)


def note(path, lines=None):
    """Record what makes a file now; if that is a page of these lines, what made the lines."""
    target = path.with_name(MADE)
    found = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    command = write_command(sys.modules["__main__"].__spec__, sys.argv)
    now = {
        "version": subsvms.__version__,
        "commit": name_commit(),
        "command": command,
        "machine": describe_machine(),
        "measures": MEASURED.get(command.split()[2].removeprefix("benchmarks."), ["."]),
    }
    found[path.name] = found.get(lines.name, now) if lines else now
    target.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def name_commit():
    """Return the commit of the code, and if files of it differ; "not recorded" outside a repository."""
    try:
        commit = ask_git("rev-parse", "--short=7", "HEAD")
        changed = ask_git("status", "--porcelain", "--untracked-files=no", "src", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "not recorded"
    return f"{commit}, with changes" if changed else commit


def ask_git(*words):
    """Return what git prints about this repository."""
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def write_command(spec, argv):
    """Return the command that runs now; whole paths are written as FOLDER."""
    name = spec.name.removesuffix(".__main__") if spec else f"benchmarks.{Path(argv[0]).stem}"
    words = ["FOLDER" if os.path.isabs(word) else word for word in argv[1:]]
    return " ".join(["python -m", name, *(f"'{word}'" if " " in word else word for word in words)])


def describe_machine():
    """Return cores, processor, memory, and the GPU if there is one, in words."""
    memory = psutil.virtual_memory().total / 2**30
    words = [f"{os.cpu_count()} cores ({platform.machine()})", f"{memory:.0f} GiB of memory"]
    return ", ".join(words + name_gpus())


def name_gpus():
    """Return the names of the GPUs that the driver shows."""
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in shown.splitlines()]

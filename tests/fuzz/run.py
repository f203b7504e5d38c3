"""Run many cases, count how they end, and keep those that end badly.

Examples: PYTHONPATH=tests python -m fuzz.run --cases 20000 --processes 16
          PYTHONPATH=tests python -m fuzz.run --repeat 0:1234
"""

import argparse
import json
import os
import random
import shlex
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from fuzz.cases import MAKE, Runs, draw_command, make_case, seed_case
from fuzz.judge import find_faults, take_snapshot
from fuzz.processes import run_command, warm_up

AGAIN = 0.1  # share of the successful runs that are repeated, to compare the bytes
OUTCOMES = ("done", "refused", "faulty")
KEYS = ("command", "kind", "damage")  # by which cases are counted


@dataclass(frozen=True)
class Outcome:
    """How a case ended: "done", "refused" or "faulty", and why."""

    number: int
    command: str
    kind: str
    damage: str
    outcome: str
    faults: list[str]
    seconds: float


class Fuzzer:
    """Runs cases in a folder below `work`, and keeps faulty ones in `failed`."""

    def __init__(self, seed, work, failed):
        self.seed, self.work, self.failed = seed, Path(tempfile.mkdtemp(dir=work)), Path(failed)
        self.runs = Runs(Path(work) / "runs")

    def run(self, number):
        folder = self.work / "case"
        shutil.rmtree(folder, ignore_errors=True)
        place = folder / "place"
        place.mkdir(parents=True)
        case = make_case(self.seed, number, place, self.runs)
        before = take_snapshot(place)
        ending = run_command(case.words, place, stdin=case.stdin, stdout=case.stdout)
        after = take_snapshot(place)
        faults = find_faults(case, ending, before, after, place)
        if not faults and ending.code == 0 and random.Random(number).random() < AGAIN:
            faults = compare_again(case, place, before, after)
        outcome = "faulty" if faults else "done" if ending.code == 0 else "refused"
        if faults:
            self.keep(number, case, faults)
        return Outcome(number, case.command, case.kind, case.damage, outcome, faults, ending.seconds)

    def keep(self, number, case, faults):
        """Copy a faulty case: its files as they are now, what was printed, and the command."""
        target = self.failed / f"{self.seed}-{number}"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self.work / "case", target, symlinks=True)
        said = {"faults": faults, "damage": case.damage, "kind": case.kind, "words": case.words}
        (target / "case.json").write_text(json.dumps(said, indent=1))

    def repeat(self, number):
        """Run one case, print what it printed, and keep its files as they were before."""
        outcome = self.run(number)
        for name in ("stdout", "stderr"):
            print((self.work / "case" / name).read_text("utf-8", "replace"))
        place = self.failed / f"{self.seed}-{number}" / "before"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        case = make_case(self.seed, number, place, self.runs)
        (place.parent / "stdin").write_bytes(case.stdin)
        print(f"cd {place}; {shlex.join(['subsvms', *case.words])} < ../stdin")
        return outcome


def compare_again(case, place, before, after):
    """Run a successful correction again, and return what differs."""
    records = [name for name in after if name.endswith("/run.json") and after[name] != before.get(name)]
    if case.words[0] != "correct" or not records or case.stdout is not None:
        return []
    words = [*case.words, "--output", "again"]
    words += ["--save-model", "again.model"] if case.get("--save-model") else []
    ending = run_command(words, place, stdin=case.stdin)
    if ending.code != 0:
        return [f"not repeatable: the second run failed: {ending.stderr[-300:]}"]
    first, second = (
        json.loads((place / name).read_text(encoding="utf-8"))["files"]
        for name in (records[0], "again/run.json")
    )
    return [] if first == second else ["not repeatable: the second run wrote other bytes"]


def count_endings(outcomes):
    totals = Counter(one.outcome for one in outcomes)
    return f"{len(outcomes)} cases: " + ", ".join(f"{totals[name]} {name}" for name in OUTCOMES)


def count_by(outcomes, key):
    """Return how many cases ended in which way, by command, kind of file or damage."""
    frame = pd.DataFrame(map(asdict, outcomes))
    groups = frame[key].str.partition(":")[0].rename(key)
    return pd.crosstab(groups, frame["outcome"]).reindex(columns=OUTCOMES, fill_value=0)


def sum_up(options, outcomes):
    """Return what was run, how the cases ended, and the faults, for a file."""
    return {
        "seed": options.seed, "first": options.first, "cases": options.cases, "share": options.share,
        "endings": Counter(one.outcome for one in outcomes),
        **{key: count_by(outcomes, key).to_dict("index") for key in KEYS},
        "faults": [asdict(one) for one in outcomes if one.faults],
    }  # fmt: skip


def print_counts(outcomes):
    for key in KEYS:
        print(f"\n{count_by(outcomes, key).to_string()}")
    seconds = sum(one.seconds for one in outcomes) / len(outcomes)
    print(f"\n{count_endings(outcomes)}\n{seconds:.2f} s of one core a case")
    kinds = Counter(fault.split(":")[0] for one in outcomes for fault in one.faults)
    print("faults: " + (", ".join(f"{kind} {count}" for kind, count in kinds.most_common()) or "none"))


def run_all(seed, work, failed, numbers, n_processes):
    """Yield the outcomes of cases, which several processes run.

    They are not those of multiprocessing, in which joblib would start no threads, with a warning.
    """
    read, write = os.pipe()
    children = []
    for first in range(n_processes):
        children.append(os.fork())
        if children[-1] == 0:
            report_all(Fuzzer(seed, work, failed), numbers[first::n_processes], write)
    os.close(write)
    with open(read) as lines:
        for line in lines:
            yield Outcome(**json.loads(line))
    if any(os.waitpid(child, 0)[1] for child in children):
        raise RuntimeError("a process that runs cases ended early")


def report_all(fuzzer, numbers, write):
    """Run cases and write a line about each to a pipe; lines this short are never mixed up. Never returns."""
    code = 1
    try:
        for number in numbers:
            try:
                outcome = asdict(fuzzer.run(number))
            except Exception:  # a fault of the fuzzer, after which the other cases still run
                words = ["the fuzzer", "none", "none", "faulty", [f"fuzzer: {traceback.format_exc()[-450:]}"]]
                outcome = asdict(Outcome(number, *words, 0.0))
            outcome["faults"] = [fault[:500] for fault in outcome["faults"][:5]]
            os.write(write, json.dumps(outcome).encode() + b"\n")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", default="1/1", metavar="K/N", help="of N machines, this is the K-th")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="JSON file for the counts and the faults")
    parser.add_argument("--failed", type=Path, default=Path("fuzz-failed"), help="folder for faulty cases")
    parser.add_argument("--command", choices=MAKE, help="leave out the cases of other commands")
    parser.add_argument("--repeat", metavar="SEED:NUMBER", help="run this case alone and keep its files")
    options = parser.parse_args()
    warm_up()
    k, n = map(int, options.share.split("/"))
    numbers = range(options.first, options.first + options.cases)[k - 1 :: n]
    if options.command:
        numbers = [n for n in numbers if draw_command(seed_case(options.seed, n)) == options.command]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as work:
        if options.repeat:
            seed, number = map(int, options.repeat.split(":"))
            print(Fuzzer(seed, work, options.failed).repeat(number))
            return
        for one in run_all(options.seed, work, options.failed, numbers, options.processes):
            outcomes.append(one)
            for fault in map(ascii, one.faults):
                print(f"{options.seed}:{one.number}  {one.kind}, {one.damage}  {fault}", flush=True)
            if len(outcomes) % 1000 == 0:
                print(count_endings(outcomes), flush=True)
    print_counts(outcomes)
    if options.out:
        options.out.write_text(json.dumps(sum_up(options, outcomes), indent=1))
    sys.exit(any(one.faults for one in outcomes))


if __name__ == "__main__":
    main()

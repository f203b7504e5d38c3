"""Run commands on a disk that fills, on one that becomes read-only, and two of them on one folder.

    PYTHONPATH=tests python -m fuzz.disks --full 5 --read-only 5 --pairs 3

Each number is of trials for each kind of command. A refused command must say so in a sentence and leave
nothing half written; the same command must then write what an undisturbed one does. Small file systems are
mounted for the first two, which takes the rights of root.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from fuzz.judge import check_folder, take_snapshot
from fuzz.kills import (
    CORRECTIONS,
    OUT,
    SCRAP,
    Answerer,
    Trials,
    compare_places,
    find_table,
    is_alive,
    make_words,
    read_answers,
    wait_for_address,
)
from fuzz.processes import run_command, start_command, wait_for, warm_up

MODES = (*CORRECTIONS, "apply", "apply-parts", "export", "export-parts")
PAGE, PLENTY = 4096, 256 << 20


def mount(place, *options):
    return subprocess.run(["mount", *options, place], capture_output=True).returncode == 0


@contextmanager
def on_disk(trials, mode, size):
    """Give a file system of a size, and with room for the files that a command needs."""
    place = trials.enter(f"disk {mode}")
    if not mount(place, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        raise RuntimeError("no file system can be mounted: run this as root")
    try:
        fill(trials, mode, place)
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def fill(trials, mode, place):
    trials.run_whole(mode)
    begun = trials.root / f"begun {mode}" / "place"
    for file in [trials.root / find_table(mode)] if mode in CORRECTIONS else begun.iterdir():
        (shutil.copytree if file.is_dir() else shutil.copy)(file, place / file.name)


def measure(place):
    """Return the bytes that the files below a folder take."""
    paths = [place, *place.rglob("*")]
    return sum(PAGE + -(-path.stat().st_size // PAGE) * PAGE * path.is_file() for path in paths)


def judge(ending, before, place, mode):
    """Return what is wrong with the way a command ended that could not write."""
    if "Traceback" in ending.stderr or ending.code not in (0, 2):
        return [f"exit code {ending.code}: {ending.stderr[-300:]}"]
    if ending.code == 0:
        return []
    said = ending.stderr.strip().splitlines()[-1]
    faults = [] if said.startswith("subsvms: ") and said.endswith(".") else [f"sentence: {said!r}"]
    after = take_snapshot(place)
    new = {name.partition("/")[0] for name in after if after[name] != before.get(name)}
    kept = {f"{OUT}.unfinished"} if mode == "parts" else set()
    faults += [f"left behind: {sorted(new - kept)}"] if new - kept else []
    return faults + ["something is gone"] * bool(before.keys() - after.keys())


def go_on(place, trials, mode):
    """Return what is wrong with the same command once there is room."""
    ending = run_command(make_words(mode), place)
    if ending.code != 0:
        return [f"the next run failed: {ending.stderr[-300:]}"]
    return compare_places(place, trials.run_whole(mode)[0])


def fill_up(trials, mode):
    whole, _ = trials.run_whole(mode)
    least = measure(trials.root / find_table(mode)) + 2 * PAGE
    if mode not in CORRECTIONS:
        least = measure(trials.root / f"begun {mode}" / "place") + 2 * PAGE
    size = int(least + trials.rng.uniform(0, 1.1) * (measure(whole) - least))
    with on_disk(trials, mode, size) as place:
        before = take_snapshot(place)
        ending = run_command(make_words(mode), place)
        faults = judge(ending, before, place, mode)
        mount(place, "-o", f"remount,size={PLENTY}")
        return "done" if ending.code == 0 else "refused", faults + go_on(place, trials, mode)


def make_read_only(trials, mode):
    _, seconds = trials.run_whole(mode)
    with on_disk(trials, mode, PLENTY) as place:
        before = take_snapshot(place)
        child = start_command(make_words(mode), place)
        time.sleep(trials.rng.uniform(0, seconds))
        while not mount(place, "-o", "remount,ro") and is_alive(child):
            time.sleep(0.001)  # a file is open
        ending = wait_for(child, place)
        left = {name.partition("/")[0] for name in take_snapshot(place)} - {
            name.partition("/")[0] for name in before
        }
        hidden = all(name.startswith(".") or name.endswith(".unfinished") for name in left)
        whole = ending.code == 0 or hidden or (OUT in left and not check_folder(place / OUT, SCRAP))
        faults = [] if ending.code in (0, 2) and "Traceback" not in ending.stderr else [ending.stderr[-300:]]
        faults += [] if whole else [f"half written: {sorted(left)}"]
        mount(place, "-o", f"remount,rw,size={PLENTY}")
        return "done" if ending.code == 0 else "refused", faults + go_on(place, trials, mode)


def run_two(trials, mode):
    """Start the same command twice: one of them is refused, or waits."""
    _, seconds = trials.run_whole(mode)
    place, beside = trials.enter(f"two {mode}"), trials.enter(f"beside {mode}")
    fill(trials, mode, place)
    words = make_words(mode)
    first = start_command(words, place)
    time.sleep(trials.rng.uniform(0, seconds / 2))
    # What the other one prints goes elsewhere; it works in the same folder.
    second = start_command(words, beside, there=place)
    endings = [wait_for(first, place), wait_for(second, beside)]
    faults = [f"{one.code}: {one.stderr[-300:]}" for one in endings if one.code not in (0, 2)]
    faults += [one.stderr[-300:] for one in endings if "Traceback" in one.stderr]
    faults += ["both were refused"] if all(one.code == 2 for one in endings) else []
    faults += compare_places(place, trials.run_whole(mode)[0])
    return " and ".join(sorted("done" if one.code == 0 else "refused" for one in endings)), faults


def answer_on_a_full_disk(trials, room):
    """Let people answer an audit or a confirmation until the disk is full: what was acknowledged is there."""
    place = trials.enter_run("asked", room)
    size = measure(place) + trials.rng.randrange(4, 60) * PAGE
    kept = trials.root / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(place, kept)
    if not mount(place, "-t", "tmpfs", "-o", f"size={size}", "tmpfs"):
        raise RuntimeError("no file system can be mounted: run this as root")
    try:
        shutil.copytree(kept, place, dirs_exist_ok=True)
        port = str(trials.rng.randrange(20_000, 60_000))
        how = ["--answers", "300"] if room == "audit" else []
        child = start_command([room, OUT, *how, "--port", port, "--no-browser"], place)
        try:
            address = wait_for_address(place, child)
        except RuntimeError:  # it said so and ended
            ending = wait_for(child, place)
            return "refused", [] if ending.code == 2 and "Traceback" not in ending.stderr else [ending.stderr]
        people = [Answerer(address, trials.labels[find_table(room)], f"client {i}") for i in range(2)]
        for one in people:
            one.start()
        time.sleep(3.0)
        _, ending = trials.end(child, place)
        for one in people:
            one.join()
        acknowledged = {one for person in people for one in person.acknowledged}
        lost = acknowledged - read_answers(place / OUT / "decisions.sqlite")
        faults = [f"{len(lost)} acknowledged answers are lost"] if lost else []
        return "asked", faults + ([ending.stderr[-300:]] if "Traceback" in ending.stderr else [])
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("full", "read-only", "pairs", "answers"):
        parser.add_argument(f"--{name}", type=int, default=0, metavar="TRIALS")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1000)
    options = parser.parse_args()
    warm_up()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="disks-") as root:
        trials = Trials(Path(root), random.Random(options.seed), fresh=False, n_rows=options.rows)
        work = [
            (f"{name} {mode}", n, try_once, mode)
            for name, n, try_once in (
                ("full", options.full, fill_up), ("read-only", options.read_only, make_read_only),
                ("pairs", options.pairs, run_two),
            )
            for mode in MODES
        ]  # fmt: skip
        rooms = ("audit", "confirm")
        work += [(f"full {room}", options.answers, answer_on_a_full_disk, room) for room in rooms]
        for name, n, try_once, mode in work:
            states = []
            for number in range(n):
                state, faults = try_once(trials, mode)
                states.append(state)
                failed += bool(faults)
                for fault in faults:
                    print(f"{name} {number}, {state}: {fault}", flush=True)
            if states:
                told = ", ".join(f"{state} {states.count(state)}" for state in sorted(set(states)))
                print(f"{name}: {told}", flush=True)
    print(f"{failed} trials with faults")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

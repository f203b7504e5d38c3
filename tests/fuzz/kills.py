"""Stop real runs at random moments: nothing may be half written, and nothing that was acknowledged be lost.

    PYTHONPATH=tests python -m fuzz.kills --all 200
    PYTHONPATH=tests python -m fuzz.kills --correct 50 --audit-parts 20

Every process that is stopped was started as a user starts it; --forked saves the seconds that imports take,
so that most moments fall into the work itself.
"""

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from large_tables import make_columns, write_files
from loans import make_rows, write

from fuzz.cases import list_suggestions, write_decisions
from fuzz.judge import check_folder, take_digest, take_snapshot
from fuzz.processes import run_command, run_well, start_command, wait_for, warm_up

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
TABLE, PARTS, ANSWERED = "loans.csv", "big", "answered.csv"
OUT, MODEL, FINAL, EXPORTED = "out", "m.safetensors", "final.csv", "issues.json"
CORRECTIONS = ("correct", "parts", "consensus")
# What a run in parts removes last, when its folder is in its place.
SCRAP = {".plan.json", ".token", "done", "votes", "input", "drawn.json", "fetched.parquet"}
N_CLIENTS = 4
START_SECONDS = 60.0  # that the server may take to start


class Trials:
    """Trials in an empty folder, on a table and on one in four parts; `fresh` ones start Python again."""

    def __init__(self, root, rng, *, fresh, n_rows):
        self.root, self.rng, self.fresh = Path(root), rng, fresh
        rows, columns = make_rows(n_rows, wrong=0.2)[0], make_columns(n_rows, wrong=0.2)
        write(self.root / TABLE, rows)
        write_files(columns, self.root / PARTS, n_files=4)
        self.labels = {TABLE: [row["default"] for row in rows], PARTS: columns["label"].to_pylist()}
        people = [
            {f"by{i}": self.rng.choice([row["default"]] * 3 + ["no"]) for i in range(3)} for row in rows
        ]
        unlabelled = [{name: row[name] for name in row if name != "default"} for row in rows]
        write(self.root / ANSWERED, [one | said for one, said in zip(unlabelled, people, strict=True)])
        self.whole = {}  # by mode, the folder that an undisturbed run leaves, and how long it takes

    def enter(self, name, *files):
        """Return an empty folder that holds these files or folders."""
        place = self.root / name / "place"
        shutil.rmtree(place.parent, ignore_errors=True)
        place.mkdir(parents=True)
        for file in files:
            (shutil.copytree if file.is_dir() else shutil.copy)(file, place / file.name)
        return place

    def enter_run(self, name, mode):
        """Return a folder with a table and a finished run on it."""
        made = "parts" if mode.endswith("parts") else "correct"
        return self.enter(name, self.root / find_table(mode), self.run_whole(made)[0] / OUT)

    def run_whole(self, mode):
        """Return the folder of an undisturbed run and the seconds it takes."""
        if mode not in self.whole:
            if mode in CORRECTIONS:
                place = self.enter(f"whole {mode}", self.root / find_table(mode))
            else:
                place = self.enter_run(f"whole {mode}", mode)
                write_decisions(place / "d.csv", list_suggestions(place / OUT, 20))
                run_well(["export", OUT, "--import", "d.csv"], place)
                (place / "d.csv").unlink()
                self.enter(f"begun {mode}", *place.iterdir())
            began = time.monotonic()
            run_well(make_words(mode), place, fresh=self.fresh)
            self.whole[mode] = place, time.monotonic() - began
        return self.whole[mode]

    def stop(self, words, place, seconds):
        """Start a command and stop it at a random moment; return the signal and how it ended."""
        child = start_command(words, place, fresh=self.fresh)
        time.sleep(self.rng.uniform(0, seconds))
        return self.end(child, place)

    def end(self, child, place):
        sign = self.rng.choice(SIGNALS)
        os.kill(child, sign)
        return sign, wait_for(child, place)

    def stop_correct(self, mode):
        """Stop a correction, sometimes one that replaces an earlier result."""
        whole, seconds = self.run_whole(mode)
        earlier = [whole / OUT] if self.rng.random() < 0.5 else []
        place = self.enter(mode, self.root / find_table(mode), *earlier)
        words = make_words(mode)
        sign, ending = self.stop(words, place, seconds)
        faults = check_words(sign, ending)
        state = "absent"
        if (place / OUT).exists():
            state = "whole, with work files" if SCRAP & set(os.listdir(place / OUT)) else "whole"
            faults += check_folder(place / OUT, SCRAP)
        elif list(place.glob("*.unfinished")):
            state = "unfinished"
        if sign == signal.SIGINT:
            left = set(os.listdir(place)) - {find_table(mode), OUT, MODEL, f"{OUT}.unfinished"}
            faults += [f"left after Ctrl-C: {sorted(left)}"] if left else []
        if (place / MODEL).exists() and (place / MODEL).read_bytes() != (whole / MODEL).read_bytes():
            faults.append("the model is incomplete")
        second = run_command(words, place)
        if second.code != 0:
            return state, [*faults, f"the next run failed: {second.stderr[-300:]}"]
        faults += check_folder(place / OUT) + compare_places(place, whole)
        state += " and continued" if "were done before" in second.stderr else ""
        return f"{sign.name} {state}", faults

    def stop_writing(self, mode):
        """Stop a command that writes a table, or issues, from a finished run with decisions."""
        whole, seconds = self.run_whole(mode)
        place = self.enter(mode, *(self.root / f"begun {mode}" / "place").iterdir())
        words = make_words(mode)
        sign, ending = self.stop(words, place, seconds)
        faults = check_words(sign, ending)
        name = words[words.index("--output") + 1]
        state = "whole" if (place / name).exists() else "absent"
        if state == "whole" and snap(place / name) != snap(whole / name):
            faults.append("the result is incomplete")
        second = run_command(words, place)
        if second.code != 0:
            faults.append(f"the next run failed: {second.stderr[-300:]}")
        return f"{sign.name} {state}", faults + compare_places(place, whole)

    def stop_questions(self, mode):
        """Stop the page of an audit or of a confirmation while people answer."""
        place = self.enter_run(mode, mode)
        command = mode.partition("-")[0]
        how = ["--answers", "300"] if command == "audit" else []
        words = [command, OUT, *how, "--port", str(self.rng.randrange(20_000, 60_000)), "--no-browser"]
        child = start_command(words, place, fresh=self.fresh)
        address = wait_for_address(place, child)
        labels = self.labels[find_table(mode)]
        people = [Answerer(address, labels, f"client {i}") for i in range(N_CLIENTS)]
        for one in people:
            one.start()
        time.sleep(self.rng.uniform(0.05, 2.0))
        sign, ending = self.end(child, place)
        for one in people:
            one.join()
        faults = check_words(sign, ending, done=(0, 130, -sign))
        acknowledged = [one for person in people for one in person.acknowledged]
        lost = set(acknowledged) - read_answers(place / OUT / "decisions.sqlite")
        if lost:
            faults.append(f"{len(lost)} of {len(acknowledged)} acknowledged answers are lost")
        again = [run_command([command, OUT, "--status"], place) for _ in range(2)]
        if {(one.code, one.stdout) for one in again} != {(0, again[0].stdout)}:
            faults.append(f"it does not go on: {again[0].stderr[-300:]}")
        applied = [self.apply_to(place, name, faults) for name in ("one", "two")]
        faults += ["apply writes something else the second time"] if applied[0] != applied[1] else []
        return sign.name, faults, len(acknowledged)

    def apply_to(self, place, name, faults):
        name = name if (place / PARTS).exists() else f"{name}.csv"
        ending = run_command(["apply", OUT, "--output", name, "--undecided", "suggestion"], place)
        if ending.code != 0:
            faults.append(f"apply failed afterwards: {ending.stderr[-300:]}")
        return snap(place / name)

    def stop_review(self, *, replace):
        """Stop a server while clients decide and, perhaps, a run replaces its folder."""
        whole, seconds = self.run_whole("correct")
        place = self.enter_run("review", "review")
        beside = self.enter("replacing")  # for what the other process prints
        words = ["review", OUT, "--port", str(self.rng.randrange(20_000, 60_000)), "--no-browser"]
        child = start_command(words, place, fresh=self.fresh)
        address = wait_for_address(place, child)
        rows = [row for row, _ in list_suggestions(place / OUT, None)]
        if replace:
            other = start_command(make_words("replace", place), beside, fresh=self.fresh)
            time.sleep(
                self.rng.uniform(0.5, 1.5) * seconds
            )  # some decide before the folder moves, some after
        clients = [Client(address, rows[i::N_CLIENTS], f"client {i}") for i in range(N_CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(seconds if replace else self.rng.uniform(0.05, 1.5))
        if replace:
            wait_for(other, beside)
        sign, ending = self.end(child, place)
        for client in clients:
            client.join()
        faults = check_words(sign, ending, done=(0, -sign))
        acknowledged = [one for client in clients for one in client.acknowledged]
        lost = set(acknowledged) - read_decisions(place / OUT / "decisions.sqlite")
        if lost:
            faults.append(f"{len(lost)} of {len(acknowledged)} acknowledged decisions are lost")
        if (place / OUT).exists():
            second = run_command(["apply", OUT, "--output", FINAL, "--undecided", "suggestion"], place)
            if second.code != 0:
                faults.append(f"apply failed afterwards: {second.stderr[-300:]}")
        refused = {str(status) for client in clients for status in client.refused}
        return " ".join([sign.name, *sorted(refused)]), faults, len(acknowledged)


class Client(threading.Thread):
    """Decides one row after the other as fast as it can, until the server is gone."""

    def __init__(self, address, rows, who):
        super().__init__(daemon=True)
        self.address, self.rows, self.who = urlsplit(address), rows, who
        self.acknowledged = []  # act, row and verdict of every decision that the server said it stored
        self.refused = []  # status of the other answers

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(self.address.netloc, timeout=30)
            for number in range(100_000):
                row, verdict = self.rows[number % len(self.rows)], ("accept", "keep")[number % 2]
                body = json.dumps({"row": row, "verdict": verdict, "who": self.who})
                headers = {"Content-Type": "application/json"}
                connection.request("POST", f"{self.address.path}api/decide", body, headers)
                answer = connection.getresponse()
                said = json.loads(answer.read())
                if answer.status == 200:
                    self.acknowledged.append((said["act"], row, verdict))
                else:
                    self.refused.append(answer.status)
                    time.sleep(0.05)


class Answerer(Client):
    """Answers what it is asked with the given labels, until the server is gone or nothing is asked."""

    def __init__(self, address, labels, who):
        super().__init__(address, [], who)
        self.labels = labels

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection(self.address.netloc, timeout=30)

            def post(path, **body):
                headers = {"Content-Type": "application/json"}
                text = json.dumps(body | {"who": self.who})
                connection.request("POST", f"{self.address.path}api/{path}", text, headers)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())

            while (asked := post("question")[1]["question"]) is not None:
                row, label = asked["row"], self.labels[asked["row"] - 1]
                status, _ = post("answer", row=row, label=label, id=asked["id"])
                if status == 200:
                    self.acknowledged.append((row, json.dumps(label)))
                else:
                    self.refused.append(status)


def find_table(mode):
    return ANSWERED if mode == "consensus" else PARTS if mode.endswith("parts") else TABLE


def snap(path):
    """Return the hashes of a file or of a folder."""
    return take_snapshot(path) if path.is_dir() else take_digest(path)


def make_words(mode, place=Path()):
    """Return a command that writes a result, in place of an earlier one."""
    if mode.startswith("apply"):
        return ["apply", OUT, "--output", "final" if mode.endswith("parts") else FINAL, "--force"]
    if mode.startswith("export"):
        return ["export", OUT, "--to", "label-studio", "--output", EXPORTED, "--force"]
    words = {
        "correct": [place / TABLE, "--label", "default", "--save-model", MODEL],
        "parts": [place / PARTS, "--label", "label", "--exclude", "true", "--max-error-rate", 0.1],
        "consensus": [ANSWERED, "--annotator", "by0", "--annotator", "by1", "--annotator", "by2"],
        "replace": [place / TABLE, "--label", "default"],
    }[mode]
    return ["correct", *map(str, words), "--output", str(place / OUT), "--svms", "300", "--force"]


def check_words(sign, ending, done=None):
    """Return what is wrong with the way a process ended after a signal."""
    done = done or (0, 130 if sign == signal.SIGINT else -sign)
    if "Traceback" in ending.stderr:
        return [f"traceback: {ending.stderr.strip().splitlines()[-1]}"]
    said = f"exit code {ending.code} after {sign.name}: {ending.stderr[-200:]}"
    return [] if ending.code in done else [said]


def compare_places(place, whole):
    """Return what differs from an undisturbed run; reports and records hold times, a database its history."""
    differing = re.compile(r"report\.html|run\.json|sqlite")
    found, wanted = (
        {name: digest for name, digest in take_snapshot(one).items() if not differing.search(name)}
        for one in (place, whole)
    )
    return [f"after the next run, {name} differs" for name, _ in sorted(found.items() ^ wanted.items())]


def is_alive(child):
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def wait_for_address(place, child):
    """Return the address that the server prints when it is ready."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and is_alive(child):
        found = re.search(r"http://\S+", (place.parent / "stdout").read_text())
        if found:
            return found[0]
        time.sleep(0.02)
    raise RuntimeError(f"no server: {(place.parent / 'stderr').read_text()}")


def read_decisions(path):
    """Return (act, row, verdict) of all decisions in a file, with none of the package's code."""
    if not path.exists():
        return set()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT act, row, verdict FROM decisions"))


def read_answers(path):
    """Return (row, label) of all answers in a file, with none of the package's code."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT row, label FROM answers"))


KINDS = {
    **{name: partial(Trials.stop_correct, mode=name) for name in CORRECTIONS},
    **{
        name: partial(Trials.stop_writing, mode=name)
        for name in ("apply", "apply-parts", "export", "export-parts")
    },
    "review": partial(Trials.stop_review, replace=False),
    "replace": partial(Trials.stop_review, replace=True),
    **{name: partial(Trials.stop_questions, mode=name) for name in ("audit", "audit-parts", "confirm")},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in KINDS:
        parser.add_argument(f"--{name}", type=int, default=0, metavar="KILLS")
    parser.add_argument("--all", type=int, default=0, metavar="KILLS", help="shared among all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--forked", action="store_true", help="do not start Python again each time")
    options = parser.parse_args()
    warm_up()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="kills-") as root:
        trials = Trials(root, random.Random(options.seed), fresh=not options.forked, n_rows=options.rows)
        for place, (name, try_once) in enumerate(KINDS.items()):
            counts, n_decisions = Counter(), 0
            share = options.all // len(KINDS) + (place < options.all % len(KINDS))
            for number in range(getattr(options, name.replace("-", "_")) + share):
                state, faults, *acknowledged = try_once(trials)
                counts[state] += 1
                n_decisions += sum(acknowledged)
                failed += bool(faults)
                for fault in faults:
                    print(f"{name} {number}, {state}: {fault}", flush=True)
            if counts:
                said = ", ".join(f"{state} {count}" for state, count in sorted(counts.items()))
                told = f"{n_decisions} decisions or answers acknowledged"
                print(f"{name}: {counts.total()} kills ({said}); {told}", flush=True)
    print(f"{failed} trials with faults")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

"""Plant one fault of each kind in the command line, and print what the fuzzer reports about each."""

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path

import subsvms.__main__
from fuzz import processes, run
from fuzz.cases import Case, write_files
from fuzz.files import draw_tsv

SEED = 3  # of a table that is not compressed
real = subsvms.__main__.main


def correct():
    with contextlib.suppress(SystemExit):
        real()


def lose_a_line():
    correct()
    path = Path("out/corrected.tsv")
    path.write_bytes(path.read_bytes().rsplit(b"\n", 2)[0] + b"\n")


def change_cells():
    """Change the table before it is read, and put it back afterwards."""
    table = Path("t.tsv")
    before = table.read_bytes()
    table.write_bytes(before.replace(b"0.", b"1."))
    correct()
    table.write_bytes(before)


def depend_on_the_process():
    sys.argv += ["--seed", str(os.getpid())]
    correct()


def make_half_a_folder():
    print("{}")
    os.mkdir("out")
    Path("out/run.json").write_text("{}")


PLANTED = {
    "nothing": real,
    "traceback": lambda: 1 / 0,
    "signal": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "hang": lambda: time.sleep(600),
    "memory": lambda: bytearray(1 << 40),
    "exit code": lambda: sys.exit(3),
    "sentence": lambda: sys.exit(2),
    "escapes": lambda: print("\x1b[2J"),
    "warning": lambda: warnings.warn("careless", stacklevel=1),
    "JSON": lambda: print("{"),
    "input changed": lambda: Path("t.tsv").unlink(),
    "left behind": lambda: Path(".out-1.part").mkdir(),
    "temporary": lambda: tempfile.mkdtemp(),
    "half folder": make_half_a_folder,
    "wrong result": lose_a_line,
    "wrong cell": change_cells,
    "not repeatable": depend_on_the_process,
}


def make_case(seed, number, place, runs):
    table = draw_tsv(random.Random(SEED))
    write_files(table, place)
    words = ["correct", "t.tsv", "--label", "y", "--svms", "20", "--output", "out", "--json"]
    return Case("correct", "tsv", "none", words, table)


def main():
    run.make_case, run.AGAIN = make_case, 1.0
    processes.warm_up()
    with tempfile.TemporaryDirectory() as work:
        fuzzer = run.Fuzzer(0, work, Path(work) / "failed")
        for name, planted in PLANTED.items():
            subsvms.__main__.main = planted
            processes.SECONDS = 1.0 if name == "hang" else 60.0
            print(json.dumps([name, fuzzer.run(0).faults]), flush=True)


if __name__ == "__main__":
    main()

"""The command line: `python -m benchmarks.peers run` and `python -m benchmarks.peers report`."""

import argparse
import os
import signal
import sys
from pathlib import Path

from benchmarks.peers.cells import PRESETS, list_cells
from benchmarks.peers.methods import METHODS, OURS, find_methods
from benchmarks.peers.report import write_report
from benchmarks.peers.run import RESULTS, Lines, run_preset
from benchmarks.peers.tables import read_lines
from benchmarks.quality import FEATURES


def main(words=None):
    """Parse, call, answer."""
    args = make_parser().parse_args(words)
    results = Path(args.results)
    path = results / f"peers_{args.preset}.csv"
    if args.command == "report":
        if not path.exists():
            print(f"There are no lines in {path}: make some with the command run.", file=sys.stderr)
            return 2
        if OURS not in set(read_lines(path)["method"]):
            print(f"{path} has no line of {OURS}, beside which all others are put: run it.", file=sys.stderr)
            return 2
        write_report(args.preset, path, args.to)
        return 0
    if args.data_dir and (missing := find_missing(PRESETS[args.preset], args.data_dir)):
        print(f"{args.data_dir} has no {', '.join(missing)}: name LIBSVM's folder.", file=sys.stderr)
        return 2
    if not args.data_dir:
        print("Without --data-dir the LIBSVM data sets are left out.")
    found = find_methods()
    methods = {name: found[name] for name in args.methods or found if name in found}
    if missing := [name for name in args.methods or METHODS if name not in found]:
        print(f"Left out, because a library is not installed: {', '.join(missing)}.")
    if args.fresh:
        Lines(path).drop(methods)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        n_runs = run_preset(
            PRESETS[args.preset], methods, path, args.data_dir, n_workers=args.workers, limit=args.limit,
            tell=lambda line: print(line, flush=True),
        )  # fmt: skip
    except ValueError as error:  # lines that these would not fit to
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. What is done is kept; the same command goes on from here.", file=sys.stderr)
        sys.stderr.flush()
        os._exit(130)  # without waiting for the methods that are under way
    print(f"{n_runs} runs done; the lines are in {path}.")
    return 0


def find_missing(preset, folder):
    """Return the files of a preset that are not in the folder."""
    names = {cell.data for cell in list_cells(preset)} & set(FEATURES)
    return sorted(f"{name}.xz" for name in names if not (Path(folder) / f"{name}.xz").is_file())


def make_parser():
    """Return the parser of both commands."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="do the runs of a preset that are not done")
    run.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"), help="LIBSVM files")
    run.add_argument(
        "--fresh", action="store_true", help="begin anew, as one must after a change of the code"
    )
    run.add_argument(
        "--methods", nargs="+", choices=METHODS, metavar="NAME", help="only these; the lines of others stay"
    )
    run.add_argument("--limit", type=float, help="seconds for one method in one cell, not the preset's")
    run.add_argument("--workers", type=int, default=2, help="cells at a time")
    report = commands.add_parser("report", help="write RESULTS.md from the lines of a preset")
    report.add_argument("--to", type=Path, default=RESULTS.parent / "RESULTS.md")
    for command in (run, report):
        command.add_argument("--preset", choices=PRESETS, required=True)
        command.add_argument("--results", default=RESULTS, help="folder of the lines and pictures")
    return parser


if __name__ == "__main__":
    sys.exit(main())

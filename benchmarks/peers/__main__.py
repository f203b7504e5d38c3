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
    """Run the command that the user gave, and return the exit code."""
    args = make_parser().parse_args(words)
    results = Path(args.results)
    path = results / f"peers_{args.preset}.csv"
    if args.command == "report":
        if not path.exists():
            print(f"{path} does not exist: use the command run first.", file=sys.stderr)
            return 2
        if OURS not in set(read_lines(path)["method"]):
            print(f"{path} has no lines of {OURS}, which a report needs: run that method.", file=sys.stderr)
            return 2
        write_report(args.preset, path, args.to)
        return 0
    if args.data_dir and (missing := find_missing(PRESETS[args.preset], args.data_dir)):
        print(f"{args.data_dir} has no {', '.join(missing)}: give the LIBSVM folder.", file=sys.stderr)
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
            on_progress=lambda line: print(line, flush=True),
        )  # fmt: skip
    except ValueError as error:  # the file has lines of another version
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. Finished runs are kept; the same command continues from here.", file=sys.stderr)
        sys.stderr.flush()
        os._exit(130)  # without waiting for methods that are still running
    print(f"{n_runs} runs done; the lines are in {path}.")
    return 0


def find_missing(preset, folder):
    """Return the files of a preset that are missing in the folder."""
    names = {cell.data for cell in list_cells(preset)} & set(FEATURES)
    return sorted(f"{name}.xz" for name in names if not (Path(folder) / f"{name}.xz").is_file())


def make_parser():
    """Return the parser of both commands."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="do the missing runs of a preset")
    run.add_argument("--data-dir", default=os.environ.get("SUBSVMS_DATA"), help="LIBSVM files")
    run.add_argument(
        "--fresh", action="store_true", help="start again, which is necessary after a change of the code"
    )
    run.add_argument(
        "--methods", nargs="+", choices=METHODS, metavar="NAME", help="only these; other lines are kept"
    )
    run.add_argument("--limit", type=float, help="seconds for one method in one cell; default: the preset's")
    run.add_argument("--workers", type=int, default=2, help="number of cells at a time")
    report = commands.add_parser("report", help="write RESULTS.md from the lines of a preset")
    report.add_argument("--to", type=Path, default=RESULTS.parent / "RESULTS.md")
    for command in (run, report):
        command.add_argument("--preset", choices=PRESETS, required=True)
        command.add_argument("--results", default=RESULTS, help="folder for lines and pictures")
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the experiments: `python -m experiments run`, `report` and `show`."""

import argparse
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from experiments import synthetic
from experiments.claims import answer
from experiments.datasets import DataError
from experiments.protocol import PRESETS
from experiments.report import write_report
from experiments.run import do_preset
from experiments.store import Store, StoreError
from experiments.tables import TITLES, as_markdown, as_picture, as_text, make_table

RESULTS = Path(__file__).parent / "results"
THINGS = (*TITLES, "figure2", "claims")


def main(words=None):
    """Run the command that the user gave, and return the exit code."""
    args = make_parser().parse_args(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if args.command == "show":
            return show(args)
        if args.command == "report":
            write_report(Store(args.out), Path(args.out) / "report.md")
            return 0
        preset = PRESETS[args.preset]
        preset = replace(preset, protocol=replace(preset.protocol, loss=args.loss))
        store = Store(args.out, preset.protocol)
        run_in_thread(
            do_preset, preset, store, args.data_dir, on_progress=lambda line: print(line, flush=True)
        )
    except (DataError, StoreError) as error:
        print(f"experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. Finished runs are kept; the same command continues from here.", file=sys.stderr)
        sys.stdout.flush()
        os._exit(130)  # a compiled loop may take minutes, and rows are written whole or not at all
    return 0


def run_in_thread(function, *args, **options):
    """Call a function in another thread, so that this one notices Ctrl-C while a compiled loop runs."""
    worker = ThreadPoolExecutor(max_workers=1)
    future = worker.submit(function, *args, **options)
    while not wait([future], timeout=0.5).done:
        pass
    return future.result()


def make_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The paper's evaluation.")
    commands = parser.add_subparsers(dest="command", required=True)
    presets = "; ".join(f"{name}: {preset.about}" for name, preset in PRESETS.items())
    run = commands.add_parser("run", help="do the missing runs of a preset", description=presets)
    run.add_argument("--preset", choices=PRESETS, default="quick")
    run.add_argument(
        "--data-dir", default=os.environ.get("SUBSVMS_DATA"), help="folder with the LIBSVM files"
    )
    run.add_argument("--out", required=True, help="folder for the rows")
    losses = ("squared_hinge", "hinge")
    run.add_argument("--loss", choices=losses, default=losses[0], help="the L2 loss of the paper, or L1")
    report = commands.add_parser(
        "report", help="write all tables, the figure and the claims to report.md in the folder"
    )
    report.add_argument("--out", default=RESULTS, help="folder with the rows")
    shown = commands.add_parser("show", help="show a table, the figure or the claims")
    shown.add_argument("thing", choices=THINGS)
    shown.add_argument(
        "--out", default=RESULTS, help="folder with the rows; by default the one in this repository"
    )
    shown.add_argument("--format", choices=("text", "markdown", "png"), default="text")
    shown.add_argument("--to", help="file to write to; by default the terminal, or for a picture THING.png")
    return parser


def show(args):
    """Print or write one table, the figure or the claims."""
    store = Store(args.out)
    if args.format == "png":
        draw_thing(store, args.thing, Path(args.to or f"{args.thing}.png"))
        return 0
    if args.thing == "claims":
        lines = [list(claim) for claim in answer(store.read("runs"), store.read("synthetic"))]
        table = (
            "What the paper says, and what the rows say",
            ["sentence", "baselines", "answer", "counted"],
            lines,
        )
    elif args.thing == "figure2":
        table = synthetic.make_table(read_made(store))
    else:
        table = make_table(store.read("runs"), args.thing)
    text = (as_markdown if args.format == "markdown" else as_text)(*table)
    if args.to:
        Path(args.to).write_text(text)
    else:
        print(text, end="")
    return 0


def draw_thing(store, thing, path):
    """Draw the figure or a table."""
    if thing == "claims":
        raise StoreError("The claims are sentences, not a picture: choose the format text or markdown.")
    if thing == "figure2":
        synthetic.draw(read_made(store), path)
    else:
        as_picture(*make_table(store.read("runs"), thing), path)
    print(f"Wrote {path}.")


def read_made(store):
    """Return the rows of the synthetic data."""
    rows = store.read("synthetic")
    if rows.empty:
        raise StoreError(
            f"There are no rows of synthetic data in {str(store.folder)!r}: use the command run first."
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())

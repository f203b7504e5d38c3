"""Write RESULTS.md and its pictures from the lines of a run. No number is written by hand."""

import json
import os
from pathlib import Path

import pandas as pd

from benchmarks.peers.cells import PRESETS, Cell, list_cells, list_skipped
from benchmarks.peers.losses import compare_pairs, lost_cells, lost_groups, lost_measures, lost_speed
from benchmarks.peers.methods import MAJORITY, METHODS, OURS
from benchmarks.peers.plots import draw_growth, draw_left, draw_trade
from benchmarks.peers.run import SOURCE
from benchmarks.peers.tables import (
    ACCURACY,
    CELL,
    LEFT,
    MARGIN,
    RANKING,
    as_markdown,
    average_by,
    average_data_sets,
    average_seeds,
    count_unfinished,
    read_lines,
    spread_by_seed,
    summarise,
    take_common,
)

LESSONS = Path(__file__).with_name("lessons.md")  # comments on the standard preset, without numbers
ONE_SEED = """\
With one corruption, and one seed of each method, single cells say little. Averages over many cells say more;
[quality.md](results/quality.md) has five corruptions of its cells, with their spread, for our rules.
"""
WORDS = {
    LEFT: "wrong labels left",
    RANKING: "ranking, ROC AUC",
    "ap": "ranking, average precision",
    ACCURACY: "balanced accuracy after retraining",
    "cpu_seconds": "CPU seconds",
}
COMPARED = {"Rows": OURS, "a5a": OURS, "Fit and predict": "SubSVMClassifier"}  # parts, our name in each
COLUMN_WORDS = {"kind": "attack", "data": "data", "budget": "budget"}
AVERAGES = {  # what is averaged, by which columns; the section on losses uses the same list
    LEFT: ("kind", "data", "budget"),
    RANKING: ("kind", "data", "budget"),
    "ap": ("kind", "data", "budget"),
    ACCURACY: ("kind", "data", "budget"),
    "cpu_seconds": ("data",),
}
COLUMNS = {
    "left": "left",
    "harmed": "harmed cells",
    "worst": "worst left - given",
    "changed": "changed",
    "precision": "precision",
    "recall": "recall",
    "auc": "ROC AUC",
    "ap": "average precision",
    "bac": "BAC",
    "seconds": "seconds",
    "cpu_seconds": "CPU seconds",
    "peak_mib": "peak MiB",
}


def write_report(preset, path, to):
    """Write the page.

    Parameters
    ----------
    preset : str
        Preset that the lines belong to.
    path : path-like
        CSV file of the lines; the machine is described in the JSON file of the same name, and the speed
        (benchmarks/speed_rows.py), if it was measured, in speed_rows.json beside it.
    to : path-like
        The page; pictures are written beside the lines.
    """
    path, to = Path(path), Path(to)
    note = path.with_name("speed_rows.json")
    times = json.loads(note.read_text()) if note.exists() else {}
    lines = read_lines(path)
    cells = average_seeds(lines)
    common = take_common(cells)
    pictures = {name: path.with_name(f"{path.stem}_{name}.png") for name in ("left", "time")}
    draw_left(average_by(common, "kind", LEFT), pictures["left"])
    draw_trade(summarise(common), pictures["time"])
    links = {name: Path(os.path.relpath(file, to.parent)).as_posix() for name, file in pictures.items()}
    text = [
        *introduction(preset, path, lines, common),
        *comparison(lines, cells, common, links),
        *losses(cells, common, times),
        *([LESSONS.read_text(encoding="utf-8")] if preset == "standard" else []),
        *speed(times, path, to),
        *unfinished(preset, lines),
    ]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text("\n".join(text) + "\n")
    print("\n".join(overall(common)))
    print(f"Wrote {to}.")


def introduction(preset, path, lines, common):
    """Return what was measured, where, and with which versions."""
    note = path.with_suffix(".json")
    machine = json.loads(note.read_text()) if note.exists() else {}
    sizes = lines.groupby("data", sort=False)["rows"].max()
    n_cells, n_common = (frame.groupby(CELL).ngroups for frame in (lines, common))
    n_full = len(list_cells(PRESETS["full"]))
    return [
        "# Beside the peers\n",
        f"Made by `python -m benchmarks.peers report --preset {preset}` from `{path.name}`, which",
        f"`python -m benchmarks.peers run --preset {preset}` wrote. `benchmarks/peers/` says what the",
        "methods do (`methods.py`), how they are judged (`measures.py`), and on what (`data.py`,",
        "`cells.py`).\n",
        f"A *cell* is a data set under an attack with a budget. {n_cells} cells (the preset `full` has",
        f"{n_full}), corruptions of each: {lines['seed'].nunique()}, methods: {lines['method'].nunique()}.",
        f"Averages are over the {n_common} cells that every method finished. Large tables have fewer cells,",
        "so small tables count for more; in one table below, each data set has the same weight.\n",
        *describe(machine),
        "Each method had one thread, on a machine with other work, so CPU seconds say more than seconds.",
        "Times include neither the start of Python nor compilation, which SubSVMs does when it first runs on",
        "a machine.\n",
        *([ONE_SEED] if lines["seed"].nunique() == 1 else []),
        "Every method gets the same features, scaled to a range of about one (or 0 and 1 as they are): what",
        "SubSVMs needs, and close to what suits an SVM. cleanlab finds wrong labels and would drop their",
        "rows; here they get the label it suggests, so that all methods can be compared. Limits of SubSVMs'",
        "rules were set on some of these data sets, with other corruptions.\n",
        "Training rows: " + ", ".join(f"{name} {rows}" for name, rows in sizes.items()) + ".\n",
    ]


def overall(common):
    """Return the table of all methods."""
    table = summarise(common).rename(columns=COLUMNS)
    table["peak MiB"] = table["peak MiB"].round().astype(int)
    return as_markdown(table, digits=4, index="method")


def comparison(lines, cells, common, links):
    """Return the averages, over all and by attack, data set and budget."""
    text = [
        "## All cells\n",
        "*Left* is the share of wrong labels after the correction; a cell is *harmed* if that is larger than",
        f"before by more than {MARGIN}. Memory is the peak of the whole process; the line of labels as given",
        "shows what Python and the libraries need.\n",
        *overall(common),
        "\nEach data set with the same weight:\n",
        *as_markdown(average_data_sets(common, list(WORDS)).rename(columns=WORDS), index="method"),
        *spread(lines),
        "\nOur default rule beside each peer, over the cells that both finished; *better* and *worse* count",
        f"the cells in which we leave fewer or more wrong labels by more than {MARGIN}:\n",
        *as_markdown(compare_pairs(cells)),
        f"\n![Wrong labels left by attack]({links['left']})\n",
        f"![Wrong labels left against time]({links['time']})\n",
    ]
    for measure, columns in AVERAGES.items():
        text.append(f"## {WORDS[measure][0].upper()}{WORDS[measure][1:]}\n")
        for column in columns:
            table = average_by(common[common[measure].notna()], column, measure)
            text += [*as_markdown(table, index=COLUMN_WORDS[column]), ""]
    return text


def spread(lines):
    """Return how averages over the cells vary between seeds, if there are several."""
    if lines["seed"].nunique() == 1:
        return []
    table = spread_by_seed(lines, [LEFT, RANKING, ACCURACY]).rename(columns=WORDS)
    return [
        f"\nMean and range over {lines['seed'].nunique()} seeds (corruption, synthetic data and method):\n",
        *as_markdown(table, index="method"),
    ]


def losses(cells, common, times):
    """Return everything in which a peer does better."""
    lost = lost_cells(cells)
    n_cells = cells.groupby(CELL).ngroups
    text = [
        "## Where we lose\n",
        f"Every method except the two of SubSVMs is a peer; we are `{OURS}`, the default rule. Listed are",
        "all averages in the tables above by which a peer is better, however little, over the cells that",
        f"both finished, and all cells in which a peer leaves fewer wrong labels by more than {MARGIN}.\n",
        "### Over all cells\n",
        *as_markdown(lost_measures(summarise(common))),
        "",
        "### Each data set with the same weight\n",
        *as_markdown(lost_measures(average_data_sets(common, list(WORDS)))),
        "",
    ]
    for measure, columns in AVERAGES.items():
        for column in columns:
            table = lost_groups(cells, column, measure)
            text += [f"### By {COLUMN_WORDS[column]}: {WORDS[measure]}\n", *as_markdown(table), ""]
    for title, own in COMPARED.items():
        if title not in times:
            continue
        table = lost_speed(times[title]["lines"], own)
        text += [f"### Speed, {title}\n", *as_markdown(table, digits=3), ""]
    text += ["### Where our other rule leaves fewer wrong labels than our default\n"]
    for column in AVERAGES[LEFT]:
        table = lost_groups(cells, column, LEFT, others=lambda name: name == MAJORITY).drop(columns="peer")
        text += [*as_markdown(table.rename(columns={column: COLUMN_WORDS[column]})), ""]
    return [*text, f"### By cell: {len(lost)} of {n_cells}\n", *as_markdown(lost), ""]


def speed(times, path, to):
    """Return the tables of benchmarks/speed_rows.py, if there are any; pictures are beside the lines."""
    if not times:
        return []
    text = ["## Speed\n", "Made by `python -m benchmarks.speed_rows`; one table for each of its parts.\n"]
    for title, part in times.items():
        text += [f"### {title}\n", part["note"] + ".\n", *describe(part.get("machine", {})), ""]
        table = pd.DataFrame(part["lines"], dtype=object)
        text += [*as_markdown(table.map(lambda cell: f"{cell:.3g}" if isinstance(cell, float) else cell)), ""]
        if "picture" in part:
            picture = path.with_name(part["picture"])
            draw_growth(part["lines"], picture)
            link = Path(os.path.relpath(picture, to.parent)).as_posix()
            text.append(f"![{title}]({link})\n")
    return text


def describe(machine):
    """Return sentences on the machine and the versions of all libraries."""
    versions = ", ".join(f"{name} {number}" for name, number in machine.get("versions", {}).items())
    words = ", ".join(f"{key} {value}" for key, value in machine.items() if key not in ("versions", SOURCE))
    return [f"Machine: {words}.", f"Versions: {versions}."]


def unfinished(preset, lines):
    """Return what was not measured, and why."""
    present = set(lines[[*Cell._fields, "method"]].itertuples(index=False, name=None))
    runs = {(*cell, name) for cell in list_cells(PRESETS[preset]) for name in METHODS}
    text = [
        "## What is not here\n",
        f"Of the {len(runs)} runs of this preset, {len(runs - present)} were not started.\n",
        "Runs that did not finish:\n",
        *as_markdown(count_unfinished(lines)),
        "",
    ]
    if skipped := list_skipped(PRESETS[preset]):
        text.append("Cells that are left out (`cells.py` says why):\n")
        for name in dict.fromkeys(cell.data for cell in skipped):
            cells = [f"{cell.kind} {cell.budget}" for cell in skipped if cell.data == name]
            text.append(f"- {name}: {'; '.join(cells)}")
    return text

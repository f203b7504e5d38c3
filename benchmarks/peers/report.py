"""Write RESULTS.md and its pictures from the lines of a run. No number is written by hand."""

import json
import os
from pathlib import Path

from benchmarks.peers.cells import PRESETS, Cell, list_cells, list_skipped
from benchmarks.peers.losses import compare_pairs, lost_cells, lost_groups, lost_measures, lost_speed
from benchmarks.peers.methods import METHODS, OURS
from benchmarks.peers.plots import draw_left, draw_trade
from benchmarks.peers.tables import (
    ACCURACY,
    CELL,
    LEFT,
    MARGIN,
    RANKING,
    as_markdown,
    average_by,
    average_seeds,
    count_unfinished,
    read_lines,
    summarise,
    take_common,
)

WORDS = {
    LEFT: "wrong labels left",
    RANKING: "ranking, ROC AUC",
    "ap": "ranking, average precision",
    ACCURACY: "balanced accuracy after retraining",
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
        That the lines are of.
    path : path-like
        CSV file of the lines; the machine is described in the JSON file of the same name, and the speed
        (benchmarks/speed_rows.py) in speed_rows.json beside it, if it was measured.
    to : path-like
        The page; pictures go beside the lines.
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
        *comparison(cells, common, links),
        *losses(cells, common, times),
        *lessons(),
        *speed(times, path, to),
        *unfinished(preset, lines),
    ]
    to.write_text("\n".join(text) + "\n")
    print("\n".join(overall(common)))
    print(f"Written: {to}")


def introduction(preset, path, lines, common):
    """Return what was measured, where, and with which versions."""
    note = path.with_suffix(".json")
    machine = json.loads(note.read_text()) if note.exists() else {}
    versions = ", ".join(f"{name} {number}" for name, number in machine.pop("versions", {}).items())
    sizes = lines.groupby("data", sort=False)["rows"].max()
    n_cells, n_common = (frame.groupby(CELL).ngroups for frame in (lines, common))
    return [
        "# Beside the peers\n",
        f"Made by `python -m benchmarks.peers report --preset {preset}` from `{path.name}`, which",
        f"`python -m benchmarks.peers run --preset {preset}` wrote. `benchmarks/peers/` says what the",
        "methods do (`methods.py`), how they are judged (`measures.py`), and on what (`data.py`,",
        "`cells.py`).\n",
        f"A *cell* is a data set under an attack with a budget. {n_cells} cells, corruptions of each:",
        f"{lines['seed'].nunique()}, methods: {lines['method'].nunique()}. Averages are over the {n_common}",
        "cells that every method finished.\n",
        "Machine: " + ", ".join(f"{key} {value}" for key, value in machine.items()) + ".",
        f"One thread for each method, one or two methods at a time. Versions: {versions}.\n",
        "Training rows: " + ", ".join(f"{name} {rows}" for name, rows in sizes.items()) + ".\n",
    ]


def overall(common):
    """Return the table of all methods."""
    table = summarise(common).rename(columns=COLUMNS)
    table["peak MiB"] = table["peak MiB"].round().astype(int)
    return as_markdown(table, digits=4, index="method")


def comparison(cells, common, links):
    """Return the averages, over all and by attack, data set and budget."""
    text = [
        "## All cells\n",
        "*Left* is the share of wrong labels after the correction; a cell is *harmed* if that is more than",
        f"before by more than {MARGIN}. Memory is that of the whole process; labels as given need none, so",
        "their line is the part of Python and the libraries.\n",
        *overall(common),
        "\nBeside each peer, over the cells that both it and our default rule finished; *better* and *worse*",
        f"count the cells in which we leave fewer or more wrong labels by more than {MARGIN}:\n",
        *as_markdown(compare_pairs(cells)),
        f"\n![Wrong labels left by attack]({links['left']})\n",
        f"![Wrong labels left against time]({links['time']})\n",
    ]
    for measure, words in WORDS.items():
        noisy = common[common["kind"] != "clean"] if measure in (RANKING, "ap") else common
        text.append(f"## {words.capitalize().replace('roc auc', 'ROC AUC')}\n")
        for column, title in (("kind", "attack"), ("data", "data"), ("budget", "budget")):
            if measure != "ap" or column == "kind":
                text += [*as_markdown(average_by(noisy, column, measure), index=title), ""]
    text += ["## Seconds\n", *as_markdown(average_by(common, "data", "seconds"), digits=3, index="data"), ""]
    return text


def losses(cells, common, times):
    """Return everything that a peer does better."""
    lost = lost_cells(cells)
    n_cells = cells.groupby(CELL).ngroups
    text = [
        "## Where we lose\n",
        f"A peer is every method but the two of SubSVMs; we are `{OURS}`, the default rule. Here is every",
        "average by which a peer is better, however little, and every cell in which one leaves fewer wrong",
        f"labels by more than {MARGIN}.\n",
        "### Over all cells\n",
        *as_markdown(lost_measures(common)),
        "",
    ]
    for column, title in (("kind", "attack"), ("data", "data set")):
        for measure in (LEFT, RANKING, ACCURACY):
            noisy = common[common["kind"] != "clean"] if measure == RANKING else common
            table = lost_groups(noisy, column, measure)
            text += [f"### By {title}: {WORDS[measure]}\n", *as_markdown(table), ""]
    if "Rows" in times:
        table = lost_speed(times["Rows"]["lines"])
        text += ["### Seconds for a table of so many rows, and slopes\n", *as_markdown(table, digits=3), ""]
    return [*text, f"### By cell: {len(lost)} of {n_cells}\n", *as_markdown(lost), ""]


def lessons():
    """Return what was learned from earlier losses."""
    return [
        "## What earlier losses taught\n",
        "Tables of several classes were lost to cleanlab, digits above all: one curve for each class, fitted",
        "as for two, took overlap for noise, and noise of classes that are well apart for overlap. Now all",
        "are looked at in one likelihood (`subsvms.softmax`). [several.md](results/several.md) has before",
        "and after, also on tables that are not of this benchmark; two classes are corrected as before.\n",
    ]


def speed(times, path, to):
    """Return the tables of benchmarks/speed_rows.py, if they were made; pictures lie beside the lines."""
    if not times:
        return []
    text = ["## Speed\n", "Made by `python -m benchmarks.speed_rows`.\n"]
    for title, part in times.items():
        if isinstance(part, dict) and "lines" in part:
            names = list(part["lines"][0])
            text += [f"### {title}\n", part["note"] + "\n"]
            text += ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
            for line in part["lines"]:
                words = [
                    f"{value:.3g}" if isinstance(value, float) else str(value) for value in line.values()
                ]
                text.append("| " + " | ".join(words) + " |")
            text.append("")
            if "picture" in part:
                link = Path(os.path.relpath(path.with_name(part["picture"]), to.parent)).as_posix()
                text.append(f"![{title}]({link})\n")
    return text


def unfinished(preset, lines):
    """Return what was not measured, and why."""
    present = set(lines[[*Cell._fields, "method"]].itertuples(index=False, name=None))
    runs = {(*cell, name) for cell in list_cells(PRESETS[preset]) for name in METHODS}
    text = [
        "## What is not here\n",
        f"Of the {len(runs)} runs of this preset {len(runs - present)} were not begun.\n",
        "Runs that did not finish:\n",
        *as_markdown(count_unfinished(lines)),
        "",
    ]
    if skipped := list_skipped(PRESETS[preset]):
        text.append("Cells that no attack can fill (`cells.py` says when):\n")
        for name in dict.fromkeys(cell.data for cell in skipped):
            cells = [f"{cell.kind} {cell.budget}" for cell in skipped if cell.data == name]
            text.append(f"- {name}: {'; '.join(cells)}")
    return text

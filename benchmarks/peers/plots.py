"""Small pictures of the tables."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.peers.methods import IN_PARTS, METHODS

COLOURS = dict(zip((*METHODS, IN_PARTS), plt.get_cmap("tab10").colors, strict=True))
MARKERS = dict(zip((*METHODS, IN_PARTS), "x^osDPv<>*", strict=True))


def draw_left(table, path):
    """Draw the wrong labels left by each method under each attack; `table` comes from `average_by`."""
    methods = [name for name in table if name != "cells"]
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    places = np.arange(len(table))
    for i, name in enumerate(methods):
        x = places + (i - (len(methods) - 1) / 2) * 0.08
        axes.plot(x, table[name], MARKERS.get(name, "."), color=COLOURS.get(name), label=name, markersize=5)
    axes.set_xticks(places, table.index, rotation=30, ha="right")
    axes.set_ylabel("wrong labels left, share of the rows")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="x-small", ncols=3)
    save(figure, path)


def draw_trade(table, path):
    """Draw wrong labels left against time; `table` comes from `summarise`."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, row in table.iterrows():
        seconds = max(row["cpu_seconds"], 1e-3)
        axes.plot(seconds, row["left"], MARKERS.get(name, "."), color=COLOURS.get(name), label=name)
    axes.set_xscale("log")
    axes.set_xlabel("mean CPU seconds for a table (0.001 at least)")
    axes.set_ylabel("wrong labels left, share of the rows")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")
    save(figure, path)


def draw_growth(lines, path):
    """Draw seconds against rows, both on logarithmic axes, with the fitted lines.

    Parameters
    ----------
    lines : list of dict
        Of benchmarks/speed_rows.py: a method, seconds by the number of rows, and the slope if there is one.
    path : path-like
    """
    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    for line in lines:
        name, slope = line["method"], line.get("slope b") or None
        times = {int(key.replace(",", "")): line[key] for key in line if key[0].isdigit() and line[key] != ""}
        rows, seconds = np.array(list(times)), np.array(list(times.values()))
        label = name if slope is None else f"{name}: slope {slope:.2f}"
        axes.plot(rows, seconds, MARKERS.get(name, "."), color=COLOURS.get(name), label=label)
        if slope is not None:  # the fitted line goes through the means of both logarithms
            centre = np.exp(np.log(seconds).mean() - slope * np.log(rows).mean())
            axes.plot(rows, centre * rows**slope, color=COLOURS.get(name), linewidth=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("rows")
    axes.set_ylabel("seconds to correct the labels, one thread")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="x-small")
    save(figure, path)


def save(figure, path):
    """Write a picture without a date, so that the same lines give the same bytes."""
    figure.savefig(Path(path), dpi=80, metadata={"Software": None})
    plt.close(figure)

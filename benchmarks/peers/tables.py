"""From lines to tables: one row per cell and method, then averages over cells.

Corruptions of a cell that differ only by seed are averaged first. A method has a cell if it finished all of
them. Averages are over the cells that every method has, so that all refer to the same labels.
"""

import numpy as np
import pandas as pd

from benchmarks.peers.cells import BUDGETS, KINDS
from benchmarks.peers.data import SIZES
from benchmarks.peers.methods import METHODS
from benchmarks.peers.run import DONE
from benchmarks.quality import MARGIN  # more wrong labels than this, as a share of the rows, is harm

CELL = ["data", "rows", "kind", "budget"]
LEFT, RANKING, ACCURACY = "left", "auc", "bac"
ORDER = {  # of the lines in tables; names that are not listed come last
    "method": list(METHODS),
    "kind": list(KINDS),
    "data": list(SIZES),
    "budget": ["0", *BUDGETS],
}


def read_lines(path):
    """Return the lines of a CSV file."""
    return pd.read_csv(path, dtype={"budget": str, "note": str}, keep_default_na=True)


def sort_names(names, column):
    """Return names in the order of this package."""
    place = {name: i for i, name in enumerate(ORDER.get(column, ()))}
    return sorted(set(names), key=lambda name: (place.get(name, len(place)), str(name)))


def average_seeds(lines):
    """Return one row per cell and method that finished it, numbers averaged over seeds."""
    groups = lines.groupby([*CELL, "method"], sort=False)
    whole = groups["status"].agg(lambda status: (status == DONE).all())
    means = groups.mean(numeric_only=True).drop(columns="seed")
    return means[whole].reset_index()


def take_common(cells):
    """Return the rows of cells that every method has."""
    n_methods = cells["method"].nunique()
    return cells[cells.groupby(CELL)["method"].transform("nunique") == n_methods]


def summarise(cells):
    """Return one row per method: averages over the given cells, and harm.

    `precision` and `recall` refer to all changes and all wrong labels, each cell with the same weight.
    """
    righted = cells["precision"].fillna(0.0) * cells["changed"]
    cells = cells.assign(righted=righted, harm=cells["left"] - cells["given"])
    groups = cells.groupby("method")
    means = groups.mean(numeric_only=True)
    table = pd.DataFrame(
        {
            "left": means["left"],
            "harmed": groups["harm"].agg(lambda harm: int(np.sum(harm > MARGIN))),
            "worst": groups["harm"].max(),
            "changed": means["changed"],
            "precision": means["righted"] / means["changed"].where(means["changed"] > 0),
            "recall": means["righted"] / means["given"].where(means["given"] > 0),
            "auc": means["auc"],
            "ap": means["ap"],
            "bac": means["bac"],
            "seconds": means["seconds"],
            "cpu_seconds": means["cpu_seconds"],
            "peak_mib": groups["peak_mib"].max(),
        }
    )
    return table.loc[sort_names(table.index, "method")]


def average_data_sets(cells, measures):
    """Return one line per method: the mean over data sets of their mean measures over cells."""
    means = cells.groupby(["method", "data"])[measures].mean().groupby("method").mean()
    return means.loc[sort_names(means.index, "method")]


def spread_by_seed(lines, measures):
    """Return the mean over seeds, and the range, of the measures' means over the cells of each seed.

    Only cells that every method finished with every seed are used.
    """
    done = lines[lines["status"] == DONE]
    runs = done.groupby(CELL)["method"].transform("size")
    done = done[runs == lines["method"].nunique() * lines["seed"].nunique()]
    means = done.groupby(["method", "seed"])[measures].mean().groupby("method")
    middle, least, most = means.mean(), means.min(), means.max()
    words = middle.map("{:.4f}".format) + " (" + least.map("{:.4f}".format) + " to "
    table = words + most.map("{:.4f}".format) + ")"
    return table.loc[sort_names(table.index, "method")]


def average_by(cells, column, measure):
    """Return means of a measure: one line per value of a column, one column per method."""
    table = cells.pivot_table(index=column, columns="method", values=measure, aggfunc="mean")
    table = table.reindex(index=sort_names(table.index, column), columns=sort_names(table, "method"))
    counts = cells.groupby(column)["method"].agg(lambda methods: len(methods) // methods.nunique())
    table.insert(0, "cells", counts)
    return table


def count_unfinished(lines):
    """Return how often each method did not finish, by data set and reason."""
    open_lines = lines[lines["status"] != DONE]
    table = open_lines.groupby(["method", "data", "status", "note"], dropna=False).size()
    return table.rename("times").reset_index()


def as_markdown(table, digits=4, index=None):
    """Return the lines of a table in Markdown; floats have this many digits after the point."""
    if index is not None:
        table = table.rename_axis(index).reset_index()

    def word(value):
        if isinstance(value, float | np.floating):
            return "" if np.isnan(value) else f"{value:.{digits}f}"
        return str(value)

    if table.empty:
        return ["None."]
    lines = ["| " + " | ".join(map(str, table.columns)) + " |", "|" + "---|" * len(table.columns)]
    lines += ["| " + " | ".join(map(word, row)) + " |" for row in table.itertuples(index=False)]
    return lines

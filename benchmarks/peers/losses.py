"""List every case in which a peer does better than the default rule of SubSVMs.

Every method except the two of SubSVMs is a peer, including the one that leaves the labels as they are.
"""

import numpy as np
import pandas as pd

from benchmarks.peers.methods import OURS, is_ours
from benchmarks.peers.tables import CELL, MARGIN, sort_names

BETTER = {  # measure: 1 if more is better, -1 if less is
    "left": -1,
    "harmed": -1,
    "worst": -1,
    "precision": 1,
    "recall": 1,
    "auc": 1,
    "ap": 1,
    "bac": 1,
    "seconds": -1,
    "cpu_seconds": -1,
    "peak_mib": -1,
}
COSTS = ("seconds", "cpu_seconds", "peak_mib")
NO_COSTS = ("rows", "stopped at", "times ours", "fit, times ours", "predict, times ours")


def is_peer(method):
    """Say if a method is not one of ours."""
    return not is_ours(method)


def compare_pairs(cells):
    """Return each peer beside our default rule, over the cells that both finished."""
    left, given = (cells.pivot_table(index=CELL, columns="method", values=name) for name in ("left", "given"))
    lines = []
    for peer in sort_names(filter(is_peer, left), "method"):
        both = left[[OURS, peer]].dropna()
        before = given.loc[both.index, OURS]
        gain = both[peer] - both[OURS]
        harm = both.sub(before, axis=0) > MARGIN
        lines.append(
            {
                "peer": peer,
                "cells": len(both),
                "left by us": both[OURS].mean(),
                "left by the peer": both[peer].mean(),
                "better": int(np.sum(gain > MARGIN)),
                "worse": int(np.sum(gain < -MARGIN)),
                "harmed by us": int(harm[OURS].sum()),
                "harmed by the peer": int(harm[peer].sum()),
            }
        )
    return pd.DataFrame(lines)


def lost_cells(cells):
    """Return the cells in which a peer leaves fewer wrong labels by more than the margin, worst first.

    A cell that a peer finished and our rule did not is also lost; its difference is infinite.

    Parameters
    ----------
    cells : DataFrame
        One row per cell and method that finished it.

    Returns
    -------
    DataFrame
        With the cell, the wrong labels that were given and those left by us and by the best peer, its name,
        the difference, and how many peers are better.
    """
    lost = []
    for key, group in cells.groupby(CELL, sort=False):
        left = group.set_index("method")["left"]
        ours = left.get(OURS, np.inf)
        peers = left[[is_peer(name) for name in left.index]]
        better = peers[peers < ours - MARGIN].sort_values(kind="stable")
        if len(better):
            lost.append(
                dict(zip(CELL, key, strict=True))
                | {
                    "given": group["given"].iloc[0],
                    OURS: ours,
                    "best peer": better.iloc[0],
                    "which": better.index[0],
                    "difference": ours - better.iloc[0],
                    "peers that are better": len(better),
                }
            )
    columns = [*CELL, "given", OURS, "best peer", "which", "difference", "peers that are better"]
    table = pd.DataFrame(lost, columns=columns)
    return table.sort_values("difference", ascending=False, kind="stable", ignore_index=True)


def lost_groups(cells, column, measure, others=is_peer):
    """Return the values of a column, such as an attack, on which another method is better on average.

    Each method is compared over the cells that both it and our default rule finished.

    Parameters
    ----------
    cells : DataFrame
        One row per cell and method that finished it.
    column : str
    measure : str
        One of `BETTER`.
    others : callable
        Says of a method's name if it is to be compared.
    """
    values = cells.pivot_table(index=CELL, columns="method", values=measure)
    if measure in COSTS:
        values = values.drop(columns="as given", errors="ignore")  # doing nothing always costs less
    lost = []
    for other in filter(others, values):
        means = values[[OURS, other]].dropna().groupby(level=column).mean()
        for name, (ours, theirs) in means.iterrows():
            gain = BETTER[measure] * (theirs - ours)
            if gain > 0:
                lost.append({column: name, "peer": other, OURS: ours, "theirs": theirs, "gain": gain})
    table = pd.DataFrame(lost, columns=[column, "peer", OURS, "theirs", "gain"])
    places = {name: i for i, name in enumerate(sort_names(table[column], column))}
    order = np.lexsort((-table["gain"], table[column].map(places)))
    return table.iloc[order].reset_index(drop=True)


def lost_measures(table):
    """Return the measures by which a peer is better, without the costs of doing nothing.

    Parameters
    ----------
    table : DataFrame
        One line per method, with columns of `BETTER`.
    """
    lost = []
    for measure, sign in ((name, BETTER[name]) for name in BETTER if name in table):
        for peer in sort_names(filter(is_peer, table.index), "method"):
            theirs, ours = table.loc[peer, measure], table.loc[OURS, measure]
            if sign * (theirs - ours) > 0 and not (measure in COSTS and peer == "as given"):
                lost.append({"measure": measure, "peer": peer, OURS: float(ours), "theirs": float(theirs)})
    return pd.DataFrame(lost, columns=["measure", "peer", OURS, "theirs"])


def lost_speed(lines, own):
    """Return where a peer is faster, or grows more slowly, by the lines of benchmarks/speed_rows.py.

    Parameters
    ----------
    lines : list of dict
        Of one part: a name, the number of rows if it differs, and numbers of which less is better.
    own : str
        Our name in these lines.
    """
    who, *columns = lines[0]
    ours = {line.get("rows"): line for line in lines if line[who] == own}
    lost = []
    for line in lines:
        if line[who] == own or is_ours(line[who]):
            continue
        for column in columns:
            mine, theirs = ours.get(line.get("rows"), {}).get(column, ""), line[column]
            if column not in NO_COSTS and theirs != "" and (mine == "" or theirs < mine):
                what = f"{column}, {line['rows']:,} rows" if "rows" in line else column
                lost.append({"what": what, "peer": line[who], own: mine, "theirs": theirs})
    return pd.DataFrame(lost, columns=["what", "peer", own, "theirs"])

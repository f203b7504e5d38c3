"""Write peers.md from the lines of three benchmarks, losses first. No number is typed by hand.

benchmarks/ordinary.py corrects labels of many tables, benchmarks/audit.py lets people answer fifty questions,
and benchmarks/peers/downstream.py ranks in more ways and trains models afterwards. Values are means over
cells, each averaged over its seeds first. Only cells that all methods finished count, and methods that
finished nearly all. The error behind ± is that of the mean from seed to seed, the tables held fixed.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.made import write
from benchmarks.pages import as_markdown
from benchmarks.quality import MARGIN  # more wrong labels than this, as a share of the rows, is harm

CELL = ["group", "data", "kind"]
KEY = [*CELL, "seed", "method"]
NOISE = {
    "real": "real noise",
    "uniform": "10 % at random",
    "class-conditional": "20 % of one class, 5 % of others",
    "directed, alpha=1": "half of the smallest class, from it",
    "directed, alpha=0": "as many, into it",
    "boundary": "10 % nearest the border",
    "region": "10 % in one region",
    "greedy": "10 % that mislead most",
    "clean": "none",
    "overlapping": "none, classes overlap",
}
OURS, AS_GIVEN = "subsvms", "as given"
MEASURES = {
    "auc": "ROC AUC of the ranking",
    "ap": "average precision of the ranking",
    "left": "wrong labels left",
    "forest": "balanced accuracy of a forest",
    "SVC": "balanced accuracy of an SVC",
}
RANK = "rank"  # the action of those who only look
ACTIONS = {
    "keep": "nothing",
    "fix": "fix",
    "drop": "drop",
    "weight": "weight",
    "told": "drop, told how many",
    "asked": "50 answers, worst first",
    "audit": "audit, 50 answers",
}
CONTESTS = [  # (measure, action)
    *((measure, RANK) for measure in ("auc", "ap")),
    *(("left", action) for action in ("fix", "asked", "audit")),
    *((name, action) for name in ("forest", "SVC") for action in tuple(ACTIONS)[1:]),
]
ALONE = ("fix", "drop", "weight")  # nobody answers anything, so doing nothing is a rival
COMPARED = Path(__file__).with_name("compared.md")  # what stands above the tables, without numbers
NEARLY = 0.9  # share of the lines that a method needs to take part


def write_page(folder, to):
    """Write the page; a benchmark without finished cells is left out.

    Parameters
    ----------
    folder : Path
        Where the CSV files are.
    to : Path
    """
    lines = {
        title: read_whole(folder / f"{module.split('.')[-1]}.csv") for title, (module, *_) in PARTS.items()
    }
    values = {title: PARTS[title][1](part) for title, part in lines.items() if len(part)}
    text = [
        "# Beside others, losses first\n",
        "## Where we lose\n",
        "We are `subsvms`, with its defaults. Every average in which somebody else does better, however",
        "little, is listed with the best of them; *as given* means that doing nothing was better. All other",
        "numbers are further down.\n",
    ]
    for title, part in values.items():
        text += [f"### {title}\n", *list_losses(part)]
    first, *words = COMPARED.read_text(encoding="utf-8").split("\n## ")
    text.append(first)
    for title, part in values.items():
        text += [f"## {section}" for section in words if section.startswith(title)]
        text += [*describe(PARTS[title][0], lines[title]), *compare(part, PARTS[title][2]), ""]
    write(to, "\n".join(text), folder / "downstream.csv")


def read_whole(path):
    """Return the lines of a file in cells that all methods finished; methods need nearly all cells."""
    lines = pd.read_csv(path) if path.exists() else pd.DataFrame()
    if "method" not in lines:  # no lines, or each has all that was done
        return lines
    counts = lines.groupby("method").size()
    methods = {OURS, *counts.index[counts > NEARLY * counts.max()]}
    lines = lines[lines["method"].isin(methods)]
    return lines[lines.groupby([*CELL, "seed"])["method"].transform("nunique") == len(methods)]


def stack(*parts):
    """Return measures indexed by cell, seed, method and action, from tables with these columns."""
    return pd.concat(parts).set_index([*KEY, "action"]).dropna(how="all")


def stack_corrected(lines):
    """Return the measures of `benchmarks.ordinary`."""
    given = lines[lines["method"] == OURS].assign(method=AS_GIVEN, left=lambda part: part["given"])
    return stack(
        lines[[*KEY, "auc"]].assign(action=RANK),
        given[[*KEY, "left"]].assign(action="keep"),
        lines[[*KEY, "left"]].assign(action="fix"),
    )


def stack_audited(lines):
    """Return the measures of `benchmarks.audit`, for fifty answers by people who do not err."""
    lines = lines[(lines["errors"] == 0) & (lines["answers"] == 50)]
    what = {
        "given": (AS_GIVEN, "keep"),
        "rule": (OURS, "fix"),
        "worst_first": (OURS, "asked"),
        "left": (OURS, "audit"),
    }
    return stack(
        *(
            lines[[*CELL, "seed"]].assign(method=method, action=action, left=lines[column])
            for column, (method, action) in what.items()
        )
    )


def stack_trained(lines):
    """Return the measures of `benchmarks.peers.downstream`."""
    parts = [lines[[*KEY, "auc", "ap"]].assign(action=RANK)]
    for action in ACTIONS:
        measures = ("forest", "SVC") if action in ("drop", "weight", "told") else ("left", "forest", "SVC")
        own = {f"{name} {action}": name for name in measures}
        parts.append(lines[[*KEY, *own]].rename(columns=own).assign(action=action))
    return stack(*parts)


def take(values, measure, method, action, kind=None):
    """Return the values of one method and action, indexed by cell and seed."""
    wanted = {"method": method, "action": action} | ({} if kind is None else {"kind": kind})
    chosen = np.all([values.index.get_level_values(key) == value for key, value in wanted.items()], axis=0)
    return values.loc[chosen, measure].dropna().droplevel(["method", "action"])


def average(values):
    """Return the mean over cells, and its standard error from seed to seed; NaN if no cell has two seeds."""
    cells = values.groupby(level=CELL)
    return cells.mean().mean(), np.sqrt(cells.var().mean() * (1 / cells.size()).mean() / cells.ngroups)


def format_average(values):
    """Return mean ± standard error as text, and no text where there is nothing."""
    if not len(values):
        return ""
    mean, error = average(values)
    return f"{mean:.4f}" if np.isnan(error) else f"{mean:.4f} ± {error:.4f}"


def list_rivals(values, measure, action):
    """Return (method, action) of what ours must beat.

    Beside an audit that is: the same number of answers without one, and our rule without answers.
    """
    pairs = list(values[measure].dropna().index.droplevel([*CELL, "seed"]).unique())
    if action == "audit":
        return [(name, what) for name, what in pairs if what == "asked" or (name, what) == (OURS, "fix")]
    peers = [(name, what) for name, what in pairs if what == action and not name.startswith(OURS)]
    return peers + ([(AS_GIVEN, "keep")] if action in ALONE else [])


def list_gains(values, measure, action):
    """Return by how much each rival is better than we are, in each cell and seed."""
    sign = -1 if measure == "left" else 1
    ours = take(values, measure, OURS, action)
    gains = {}
    for name, what in list_rivals(values, measure, action):
        gain = sign * (take(values, measure, name, what) - ours).dropna()
        if len(gain):
            gains[name if what in (action, "keep") else f"{name}: {ACTIONS[what]}"] = gain
    return gains


def find_losses(values):
    """Return the best rival, if one is better on average, for each contest and kind of noise."""
    lost, parts = [], dict(list(values.groupby(level="kind")))
    for measure, action in CONTESTS:
        for kind in (kind for kind in NOISE if kind in parts and measure in values):
            gains = list_gains(parts[kind], measure, action)
            means = {name: gain.groupby(level=CELL).mean().mean() for name, gain in gains.items()}
            better = {name: gains[name] for name, mean in means.items() if mean > 0}
            if better:
                best = max(better, key=means.get)
                lost.append(
                    {
                        "what": MEASURES[measure] + ("" if action == RANK else f": {ACTIONS[action]}"),
                        "noise": NOISE[kind],
                        "cells": better[best].groupby(level=CELL).ngroups,
                        "we": f"{average(take(parts[kind], measure, OURS, action))[0]:.4f}",
                        "best": best,
                        "better by": format_average(better[best]),
                        "rivals that are better": f"{len(better)} of {len(gains)}",
                    }
                )
    return pd.DataFrame(lost)


def find_lost_cells(values):
    """Return the cells in which a rival leaves fewer wrong labels by more than the margin, worst first."""
    gains = pd.DataFrame(
        {name: gain.groupby(level=CELL).mean() for name, gain in list_gains(values, "left", "fix").items()}
    )
    ours = take(values, "left", OURS, "fix").groupby(level=CELL).mean()
    table = pd.DataFrame({"left by us": ours, "best": gains.idxmax(axis=1), "better by": gains.max(axis=1)})
    lost = table[table["better by"] > MARGIN].sort_values("better by", ascending=False)
    return lost.reset_index().drop(columns="group"), gains


def list_losses(values):
    """Return the tables of everything in which a rival does better."""
    lost, gains = find_lost_cells(values)
    harmed = gains[AS_GIVEN][gains[AS_GIVEN] > MARGIN].rename("more wrong labels").reset_index()
    return [
        *as_markdown(find_losses(values)),
        f"\nCells in which a rival leaves fewer wrong labels, by more than {MARGIN}: {len(lost)} of",
        f"{len(gains)}. The worst, ten at most:\n",
        *as_markdown(lost.head(10)),
        f"\nCells in which we left more wrong labels than were given, by more than {MARGIN}: {len(harmed)}\n",
        *as_markdown(harmed.drop(columns="group").sort_values("more wrong labels", ascending=False)),
        "",
    ]


def describe(module, lines):
    """Return which cells a benchmark has."""
    cells = lines.drop_duplicates([*CELL, "seed"])
    n_seeds = cells.groupby(CELL).size()
    seeds = ", ".join(map(str, sorted(cells["seed"].unique())))
    tables = [f"{group} ({part['data'].nunique()})" for group, part in cells.groupby("group", sort=False)]
    return [
        f"`python -m {module}`: {len(n_seeds)} cells, that is, tables with one kind of noise; seeds {seeds},",
        f"{n_seeds.mean():.1f} for a cell on average. Tables: {', '.join(tables)}.",
    ]


def compare(values, measures):
    """Return a table of all methods for each measure, and one of the tables with real noise."""
    text = []
    for measure in measures:
        text += [f"\n{MEASURES[measure][0].upper()}{MEASURES[measure][1:]}:\n", *by_noise(values, measure)]
    return [
        *text,
        f"\nReal noise, {MEASURES[measures[0]]}, table by table:\n",
        *by_table(values, measures[0]),
    ]


def by_noise(values, measure):
    """Return a table: one line for each action and method, one column for each kind of noise."""
    own = values[measure].dropna()
    kinds = [kind for kind in NOISE if kind in own.index.unique("kind")]
    done = own.reset_index()[["action", "method"]].drop_duplicates()
    rows = []
    for action in (RANK, *ACTIONS):
        for method in done[done["action"] == action]["method"]:
            row = {"method": method} if action == RANK else {"done": ACTIONS[action], "method": method}
            rows.append(
                row
                | {NOISE[kind]: format_average(take(values, measure, method, action, kind)) for kind in kinds}
            )
    return as_markdown(pd.DataFrame(rows))


def by_table(values, measure):
    """Return a table: one line for each table with real noise, one column for each action and method."""
    own = values[measure].dropna().reset_index()
    own = own[own["kind"] == "real"]
    what = own["method"] + np.where(own["action"] == RANK, "", ": " + own["action"].map(ACTIONS))
    return as_markdown(own.pivot_table(measure, "data", what, sort=False), index="table")


PARTS = {  # benchmark, how its lines become measures, and which are shown
    "Labels corrected": ("benchmarks.ordinary", stack_corrected, ("left", "auc")),
    "Fifty answers": ("benchmarks.audit", stack_audited, ("left",)),
    "Models trained afterwards": (
        "benchmarks.peers.downstream", stack_trained, ("auc", "ap", "left", "forest", "SVC")
    ),
}  # fmt: skip

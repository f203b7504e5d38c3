"""Write all tables, the figure and the answers of a results folder to one page."""

import os
import platform
from pathlib import Path

from experiments import claims, synthetic
from experiments.tables import (
    FAR,
    MEASURE,
    RULE,
    TITLES,
    as_markdown,
    compare_rule,
    make_table,
    order_methods,
)


def write_report(store, page):
    """Write the page, and the figure beside it.

    Parameters
    ----------
    store : Store
    page : path-like
        The Markdown file.
    """
    page = Path(page)
    runs, made = store.read("runs"), store.read("synthetic")
    parts = ["# Ours beside the paper's\n", about(runs, made), how_close(runs)]
    answers = [list(line) for line in claims.answer(runs, made)]
    if answers:
        parts.append(
            as_markdown(
                "What the paper says, and what the rows say",
                ["sentence", "baselines", "answer", "counted"],
                answers,
            )
        )
    if RULE in set(runs["method"]):
        parts.append(as_markdown(*compare_rule(runs)))
    if not made.empty:
        figure = page.with_name("figure2.png")
        synthetic.draw(made, figure)
        parts.append(
            f"![Figure 2: accuracy of the corrected labels against the number of SVMs]({figure.name})\n"
        )
    parts += [as_markdown(*make_table(runs, name)) for name in TITLES]
    page.write_text("\n".join(parts))


def about(runs, made):
    """Return what was run, where and for how long."""
    counts = runs.groupby("method").size()
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    minutes = (runs["train_seconds"].sum() + runs["test_seconds"].sum()) / 60
    machine = f"{os.cpu_count()} shared cores ({platform.machine()}, Python {platform.python_version()})"
    first, last = runs["made"].min(), runs["made"].max()
    return (
        f"{len(runs)} runs ({listed}) and {len(made)} rows of synthetic data, from {first} to {last}; "
        f"training and testing took {minutes:.0f} minutes where it was timed. Reported on {machine}.\n"
    )


def how_close(runs):
    """Return how close each method comes to the paper, table by table."""
    lines = []
    for name in MEASURE:
        found = claims.closeness(runs, name)
        for method in order_methods(runs):
            if method in found.index:
                cells, mean, worst, far = found.loc[method]
                lines.append(
                    [TITLES[name], method, f"{cells:.0f}", f"{mean:.4f}", f"{worst:.3f}", f"{far:.0f}"]
                )
    heads = ["", "", "cells", "mean difference", "largest", f"more than {FAR}"]
    return as_markdown("How close we come to the paper (absolute differences of means)", heads, lines)

"""Turn rows into the paper's tables, our numbers beside the paper's."""

import numpy as np
import pandas as pd

from experiments.datasets import NAMES, TABLE_1, read_expected
from experiments.methods.rule import NAME as RULE
from experiments.protocol import BASELINES, UNWEIGHTED

METHODS = (*BASELINES, "SubSVMs")
SHOWN = ("clean", "1.0", "0.5", "0.0")  # the paper's tables have these directions
MEASURE = {"table2": "bac", "table4": "sif", "table5": "auc", "table6": "accuracy"}
TITLES = {
    "table1": "Table 1: the data",
    "table2": "Table 2: balanced accuracy",
    "table3": "Table 3: training time",
    "table4": "Table 4: skew-insensitive F-score",
    "table5": "Table 5: area under the ROC curve",
    "table6": "Table 6: accuracy",
    "table7": "Table 7: training time by attack",
}
FAR = 0.03  # a difference that is marked
BETTER = 0.01  # of a measure: one of the two is better


def expected(name):
    """Return a table of the paper as a series over (alpha, method, data)."""
    frame = pd.DataFrame(read_expected(name))
    value = frame.columns[-1]
    frame[value] = frame[value].astype(float)
    plain = frame[frame["method"] != "SubSVMs"]  # the comparison shows which of the two the paper means
    frame = pd.concat([frame, plain.assign(method=plain["method"] + UNWEIGHTED)])
    return frame.set_index(["alpha", "method", "data"])[value]


def measured(runs, measure):
    """Return mean, standard deviation and number of corruptions over (alpha, method, data)."""
    return runs.groupby(["alpha", "method", "data"])[measure].agg(["mean", "std", "count"])


def compare(runs, name):
    """Return one line per cell of a table: ours, its spread, the paper's, and the difference."""
    ours = measured(runs, MEASURE[name])
    ours = ours[ours.index.get_level_values("alpha").isin(SHOWN)]
    table = ours.join(expected(name).rename("paper"), how="left")
    table["difference"] = table["mean"] - table["paper"]
    return table


def make_table(runs, name):
    """Return a table as (title, heads, lines), cells as text."""
    if name == "table1":
        return table_1()
    if name in ("table3", "table7"):
        return time_table(runs, by_attack=name == "table7")
    cells = compare(runs, name)
    data = [column for column in NAMES if column in cells.index.get_level_values("data")]
    lines = []
    for alpha in SHOWN:
        for method in order_methods(runs):
            row = [show_cell(cells, (alpha, method, column)) for column in data]
            if any(row):
                lines.append([alpha if alpha == "clean" else f"alpha={alpha}", method, *row])
    return (
        f"{TITLES[name]}: ours ± standard deviation (the paper's); ! more than {FAR} apart",
        ["", "", *data],
        lines,
    )


def order_methods(runs):
    """Return the methods that were run, the paper's first."""
    found = set(runs["method"])
    return [*(name for name in METHODS if name in found), *sorted(found - set(METHODS))]


def show_cell(cells, key):
    """Return a cell as text, such as ".806±.004 (.81)"."""
    if key not in cells.index:
        return ""
    cell = cells.loc[key]
    spread = "" if np.isnan(cell["std"]) else f"±{short(cell['std'])}"
    if np.isnan(cell["paper"]):  # not a method of the paper
        return f"{short(cell['mean'])}{spread}"
    mark = "!" if abs(cell["difference"]) > FAR else ""
    return f"{short(cell['mean'])}{spread} ({cell['paper']:.2f}){mark}"


def short(value):
    """Return a number from 0 to 1 without its leading zero."""
    return f"{value:.3f}".removeprefix("0")


def table_1():
    """Return the sizes of the data sets; they were checked when the files were read."""
    heads = ["", *next(iter(TABLE_1.values()))]
    lines = [[name, *(str(value) for value in sizes.values())] for name, sizes in TABLE_1.items()]
    return TITLES["table1"], heads, lines


def time_table(runs, by_attack):
    """Return training seconds, their multiple of SubSVMs' and, in brackets, the paper's multiple."""
    paper = expected("table7" if by_attack else "table3")
    lines = []
    data = [name for name in NAMES if name in set(runs["data"])]
    for alpha in SHOWN if by_attack else ("",):
        part = runs[runs["alpha"].isin(SHOWN)] if alpha == "" else runs[runs["alpha"] == alpha]
        seconds = part.groupby(["method", "data"])["train_seconds"].mean()
        for method in order_methods(runs):
            row = [show_time(seconds, paper, alpha, method, name) for name in data]
            if any(row):
                lines.append([alpha if alpha in ("", "clean") else f"alpha={alpha}", method, *row])
    title = TITLES["table7" if by_attack else "table3"]
    return f"{title}: seconds; multiple of SubSVMs (the paper's multiple)", ["", "", *data], lines


def show_time(seconds, paper, alpha, method, name):
    """Return a cell of the time table."""
    if (method, name) not in seconds.index or ("SubSVMs", name) not in seconds.index:
        return ""
    ours = seconds[method, name]
    if method == "SubSVMs":
        return f"{ours:.2f}"
    text = f"{ours:.3g}; {ours / seconds['SubSVMs', name]:.3g}"
    if method not in METHODS:
        return text
    return f"{text} ({paper[alpha, method, name] / paper[alpha, 'SubSVMs', name]:.3g})"


def compare_rule(runs):
    """Return how SubSVMs does on labels as given and after the default rule: (title, heads, lines).

    Only labellings that both were given count.
    """
    wide = runs.pivot_table(
        index=["alpha", "data", "corruption"], columns="method", values=list(MEASURE.values())
    )
    lines = []
    for name, measure in MEASURE.items():
        both = wide[measure][["SubSVMs", RULE]].dropna().groupby(["alpha", "data"]).mean()
        for alpha in [alpha for alpha in SHOWN if alpha in both.index.get_level_values("alpha")]:
            part = both.xs(alpha)
            more = part[RULE] - part["SubSVMs"]
            means = [f"{part[column].mean():.4f}" for column in part]
            counts = [f"{(sign * more > BETTER).sum()} of {len(part)}" for sign in (1, -1)]
            lines.append([TITLES[name], alpha if alpha == "clean" else f"alpha={alpha}", *means, *counts])
    heads = ["", "", "SubSVMs", RULE, f"sets better by {BETTER}", "worse"]
    return "Is the rule of today better? SubSVMs on labels as given, and after the default rule", heads, lines


def as_markdown(title, heads, lines):
    """Return a table in Markdown."""
    rule = ["---"] * len(heads)
    body = ["| " + " | ".join(line) + " |" for line in (heads, rule, *lines)]
    return "\n".join([f"**{title}**", "", *body]) + "\n"


def as_text(title, heads, lines):
    """Return a table in columns of plain text."""
    widths = [max(len(line[i]) for line in (heads, *lines)) for i in range(len(heads))]
    rows = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in (heads, *lines)
    ]
    return "\n".join([title, "", *rows]) + "\n"


def as_picture(title, heads, lines, path):
    """Draw a table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    widths = [max(len(line[i]) for line in (heads, *lines)) + 2 for i in range(len(heads))]
    size = (0.078 * sum(widths) + 0.3, 0.17 * (len(lines) + 3) + 0.2)
    figure, ax = plt.subplots(figsize=size)
    ax.axis("off")
    drawn = ax.table(
        cellText=lines, colLabels=heads, colWidths=[width / sum(widths) for width in widths],
        bbox=(0, 0, 1, 0.95), cellLoc="left", edges="horizontal",
    )  # fmt: skip
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(7)
    for (row, column), cell in drawn.get_celld().items():
        cell.set_linewidth(0.3)
        if row > 0 and lines[row - 1][column].endswith("!"):
            cell.set_text_props(color="#D55E00")
    ax.set_title(title, fontsize=9, loc="left")
    figure.savefig(path, dpi=90, bbox_inches="tight")
    plt.close(figure)

"""What pages of results are made of: tables in Markdown, and pictures."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.made import note


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


def save(figure, path, lines=None):
    """Write a picture, of the lines of a file, without a date: the same lines give the same bytes."""
    figure.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(figure)
    note(path, lines)

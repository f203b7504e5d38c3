"""Tables with columns of every kind."""

import numpy as np
import pandas as pd

from subsvms.app.tables.table import read_table

N = 200


def make_table(folder, label=None, *, name="t.csv", **cells):
    """Write columns to a CSV file and read it; without a label, one is drawn at random."""
    n = len(next(iter(cells.values()))) if cells else N
    label = np.random.default_rng(9).choice(["no", "yes"], n) if label is None else label
    pd.DataFrame({**cells, "label": label}).to_csv(folder / name, index=False)
    return read_table(folder / name, "label", separator=",")


def make_mixed(folder, seed=0, **more):
    rng = np.random.default_rng(seed)
    days = np.datetime64("2021-03-01") + rng.integers(0, 900, N)
    words = ["good", "bad", "slow", "quick", "cheap", "dear", "loud", "quiet"]
    return make_table(
        folder, size=rng.normal(50, 10, N).round(3), colour=rng.choice(["red", "green", "blue", ""], N),
        flag=rng.choice(["true", "false"], N), day=days,
        review=[" ".join(rng.choice(words, 6)) for _ in range(N)], **more,
    )  # fmt: skip


def distances(X):
    return ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)

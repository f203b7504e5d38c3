"""Tables with columns of every kind."""

import numpy as np

from subsvms.app.tables.table import read_table

N = 200


def make_table(folder, label=None, *, name="t.csv", **cells):
    """Write columns to a CSV file and read it; without a label, one is drawn at random."""
    n = len(next(iter(cells.values()))) if cells else N
    label = np.random.default_rng(9).choice(["no", "yes"], n) if label is None else label
    quoted = {
        key: ['"' + str(cell).replace('"', '""') + '"' for cell in column]
        for key, column in {**cells, "label": label}.items()
    }
    lines = [",".join(f'"{key}"' for key in quoted), *map(",".join, zip(*quoted.values(), strict=True))]
    (folder / name).write_text("\n".join(lines).replace('""', ""), encoding="utf-8")
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

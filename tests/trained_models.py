"""Tables with columns of every kind in files of several formats, and models that are trained on them."""

import json

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

from subsvms import SubSVMClassifier
from subsvms.app.features.make import make_features
from subsvms.app.runs.model import Model, saving_model
from subsvms.app.tables.table import read_table

N = 120
WORDS = ["good", "bad", "slow", "quick", "cheap", "dear", "loud", "quiet"]


def draw_columns(seed=0, n=N):
    """Return columns of every kind, and labels that depend on two of them."""
    rng = np.random.default_rng(seed)
    size, colour = rng.normal(50, 10, n).round(3), rng.choice(["red", "green", "blue"], n)
    label = np.where((size > 50) ^ (colour == "red"), "yes", "no")
    return {
        "size": [None if hole else float(s) for s, hole in zip(size, rng.random(n) < 0.1, strict=True)],
        "colour": [None if hole else str(c) for c, hole in zip(colour, rng.random(n) < 0.1, strict=True)],
        "day": (np.datetime64("2021-03-01") + rng.integers(0, 900, n)).tolist(),
        "review": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
        "label": label.tolist(),
    }


def write(path, columns):
    """Write columns in the format that the suffix says."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    elif path.suffix == ".jsonl":
        rows = (json.dumps(row, default=str, ensure_ascii=False) for row in table.to_pylist())
        path.write_text("\n".join(rows), encoding="utf-8")
    else:
        cells = zip(
            *(["" if v is None else str(v) for v in column] for column in columns.values()), strict=True
        )
        path.write_text("\n".join(map(",".join, [list(columns), *cells])) + "\n", encoding="utf-8")
    return path


def write_svmlight(path, seed=0, n=N):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)).round(3).tolist()
    path.write_text("\n".join(f"{'+1' if a > 0 else '-1'} 1:{a} 4:{b} 9:{c}" for a, b, c in rows))
    return path


def save_model(model, path):
    with saving_model(model, path):
        pass


def fit_model(path, label="label", features=None, **params):
    table = read_table(path, label)
    made = make_features(table, features=features)
    classifier = SubSVMClassifier(n_estimators=40, random_state=0, **params).fit(made.X, table.labels)
    return Model(classifier, made.transformer, label, table.digest), made.X

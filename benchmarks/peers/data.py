"""Tables with clean labels, and other rows to test on.

The LIBSVM sets are tested on their .t files, mushrooms on the rows outside its training split. A third of the
other sets is held out. Features are scaled as in benchmarks/quality.py, by the training rows or, for breast
cancer, by all rows. At most `MOST_TESTED` rows are used for testing.
"""

import lzma
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

from benchmarks.quality import FEATURES, load

MOST_TESTED = 5000
RANGES = {"splice": (-1, 1), "svmguide1": (0, 1)}
SIZES = {  # training rows, and how many of them are in the smallest class
    "breast cancer": (379, 141),
    "splice": (1000, 483),
    "made: five classes": (1000, 200),
    "digits": (1198, 116),
    "made: rare": (1333, 67),
    "a1a": (1605, 395),
    "a2a": (2265, 572),
    "w1a": (2477, 72),
    "svmguide1": (3089, 1089),
    "a3a": (3185, 773),
    "w2a": (3470, 107),
    "a4a": (4781, 1188),
    "w3a": (4912, 143),
    "mushrooms": (6093, 2937),
    "a5a": (6414, 1569),
    "w4a": (7366, 216),
    "w5a": (9888, 281),
}


class Table(NamedTuple):
    """A data set whose labels are all right."""

    X: Any  # (n_rows, n_features), array or CSR matrix
    y: np.ndarray  # (n_rows,), class numbers
    X_test: Any
    y_test: np.ndarray


def load_table(name, folder, *, most_rows=None, seed=0):
    """Return a data set by its name.

    Parameters
    ----------
    name : str
        One of `SIZES`.
    folder : path-like or None
        Folder of the LIBSVM files.
    most_rows : int, optional
        Train on a stratified sample of at most this many rows.
    seed : int
        Of synthetic data and samples.
    """
    if name in FEATURES:
        table = Table(*load(name, folder), *load_test(name, folder))
    else:
        X, y = load(name, folder, seed)
        X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
        table = Table(X, y, X_test, y_test)
    return Table(*sample(*table[:2], most_rows, seed), *sample(*table[2:], MOST_TESTED, 0))


def load_test(name, folder):
    """Return the test rows of a LIBSVM set, scaled by the range of its training rows."""
    X, y = read(name, folder)
    if name == "mushrooms":  # the rows that benchmarks/quality.py leaves out
        _, X_test, _, y_test = train_test_split(X, y, train_size=SIZES[name][0], stratify=y, random_state=0)
    else:
        X_test, y_test = read(f"{name}.t", folder, FEATURES[name])
    if name in RANGES:
        X_test = MinMaxScaler(RANGES[name]).fit(X.toarray()).transform(X_test.toarray())
    return X_test, (y_test == y.max()).astype(int)


def read(file, folder, n_features=None):
    """Return the rows and labels of a LIBSVM file."""
    with lzma.open(Path(folder) / f"{file}.xz") as text:
        return load_svmlight_file(text, n_features=n_features or FEATURES[file])


def sample(X, y, most_rows, seed):
    """Return a stratified sample of at most this many rows; CSR with the short indices that SVC takes."""
    if most_rows is not None and len(y) > most_rows:
        X, _, y, _ = train_test_split(X, y, train_size=most_rows, stratify=y, random_state=seed)
    if sparse.issparse(X):
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y

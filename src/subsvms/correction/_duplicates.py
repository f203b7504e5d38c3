"""Rows with equal features and different labels, in tables from which duplicates were dropped.

Whoever drops duplicates with the label among the columns leaves of each group of equal rows one row for every
label that occurred, however often. Then such rows contradict each other, nothing is left of how often, and
each looks wrong to SVMs that were trained on the other. Their labels say nothing about noise.

Where duplicates were not dropped, there are also equal rows with equal labels. So tables without any are how
such a loss is recognised. Of a large table only the rows that SVMs are trained on are compared.
"""

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from scipy import sparse

from subsvms._columns import Table
from subsvms.correction._noise import SMALLEST_CLASS


def find_contradictory(X: Table, given: np.ndarray) -> np.ndarray:
    """Return which rows have an equal row with another label, if duplicates were dropped; else none.

    Shapes: X (n_rows, n_features); given (n_rows,); returns (n_rows, ).
    """
    groups: dict[bytes, list[int]] = defaultdict(list)
    for row, content in enumerate(read_contents(X)):
        if given[row] >= 0:
            groups[content].append(row)
    contradictory = np.zeros(len(given), dtype=bool)
    n_groups = 0
    for rows in groups.values():
        if len(rows) == 1:
            continue
        if len(set(given[rows].tolist())) < len(rows):  # equal in features and label: none were dropped
            return np.zeros(len(given), dtype=bool)
        contradictory[rows] = True
        n_groups += 1
    return contradictory & (n_groups >= SMALLEST_CLASS)


def read_contents(X: Table) -> Iterator[bytes]:
    """Yield a digest of each row; the rows themselves would take as much memory as the table."""
    if sparse.issparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        contents = (X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in pairwise(X.indptr))
    else:
        contents = ((row + 0.0).tobytes() for row in X)  # -0.0 becomes 0.0
    return (blake2b(content, digest_size=16).digest() for content in contents)

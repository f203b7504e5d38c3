"""Rows to attack, and how far they are from the boundaries of SVMs trained pair by pair."""

import numpy as np
from sklearn.svm import SVC

NAMES = np.array(["a", "much longer", "bb", "ccc", "dddd"])
C = 100.0


def make_rows(n, n_classes, seed, d=2):
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(n) % n_classes)
    return rng.random((n, d)) + 0.4 * numbers[:, None], numbers


def against_others(X, given, clean):
    """Return the value of each row's clean class against each other one, from SVMs trained pair by pair."""
    n_classes = clean.max() + 1
    values = np.full((len(clean), n_classes), np.inf)
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            two = np.isin(given, [a, b])
            value = SVC(gamma="auto", C=C).fit(X[two], given[two] == a).decision_function(X)
            values[clean == a, b] = value[clean == a]
            values[clean == b, a] = -value[clean == b]
    return values

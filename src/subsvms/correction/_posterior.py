"""The probability of each true class, row by row, and how credible each given label is.

For a row let q_c = P(true c | votes), T the noise matrix and g the given label. Then

    P(true c | votes, g) = q_c T[c, g] / sum_d q_d T[d, g]
"""

import numpy as np

IMPOSSIBLE = 1e-12  # a probability; what rests on a smaller one rests on rounding errors
UNKNOWN_RATE = 0.2  # rate of the noise that the rule may not know
UNSEEN = 0.5  # weight of that noise in a rank, where nothing speaks for overlap
TIES = 1e-3  # share of the rank that is the mean value itself, so that every row has its own


def compute_posterior(q: np.ndarray, matrix: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the probability of each true class, given the votes and the given label.

    Shapes: q (n_rows, n_classes); matrix (n_classes, n_classes); given (n_rows,).
    """
    known = given >= 0
    sure = np.eye(len(matrix))[np.maximum(given, 0)]
    joint = np.where(known[:, None], q * matrix[:, np.maximum(given, 0)].T, q)
    total = joint.sum(axis=1, keepdims=True)
    possible = total > IMPOSSIBLE  # elsewhere votes and label exclude each other
    return np.where(possible, joint / np.where(possible, total, 1.0), sure)


def rank_quality(
    values: np.ndarray, q: np.ndarray, posterior: np.ndarray, given: np.ndarray, overlap: np.ndarray
) -> np.ndarray:
    """Return how credible each given label is: its probability, averaged over two beliefs about the noise.

    One belief is that the noise is as the rule thinks. The other is that a share `UNKNOWN_RATE` of each class
    is given another label, all equally likely, because noise may depend on what the rule does not look at. So
    a label that the votes contradict also ranks low in a class that seems free of noise, where the first
    belief alone calls every label right. The second has the weight `UNSEEN`; the more overlap explains what
    the rule would change, the more.

    Shapes: values (n_rows, n_classes); posterior (n_rows, n_classes); overlap (n_classes,).
    """
    n_classes = q.shape[1]
    evenly = UNKNOWN_RATE / (n_classes - 1)
    spread = np.full((n_classes, n_classes), evenly) + (1.0 - UNKNOWN_RATE - evenly) * np.eye(n_classes)
    unseen = UNSEEN + (1.0 - UNSEEN) * overlap
    mixed = (1.0 - unseen) * posterior + unseen * compute_posterior(q, spread, given)
    rows, own = np.arange(len(given)), np.maximum(given, 0)
    mixed[rows, own] = 0.0
    quality = (1.0 - TIES) * (1.0 - mixed.sum(axis=1)) + TIES * (1.0 + values[rows, own]) / 2.0
    return np.where(given >= 0, quality, np.nan)

"""The obvious version of each fast routine: slow, and too plain to be wrong."""

import numpy as np

from subsvms.ensemble._rows import Kernel

KERNELS = {
    "rbf": Kernel.named("rbf", 0.3),
    "linear": Kernel.named("linear"),
    "poly": Kernel.named("poly", 0.5, coef0=1.0, degree=2),
}


def kernel_matrix(name, A, B, gamma=1.0, coef0=0.0, degree=3):
    """Compute the kernel from its definition, for every pair of rows."""
    A, B = A[:, None], B[None]
    if name == "rbf":
        return np.exp(-gamma * np.sum((A - B) ** 2, axis=2))
    product = np.sum(A * B, axis=2)
    return product if name == "linear" else (gamma * product + coef0) ** degree


def relative_gap(K, y, C, loss, coef, intercept):
    """Compute primal minus dual value, over the primal, from their definitions."""
    C = np.broadcast_to(np.asarray(C, dtype=float), len(y))
    slack = np.maximum(0, 1 - y * (K @ coef + intercept))
    norm = coef @ K @ coef
    if loss == "squared_hinge":
        primal = norm / 2 + np.sum(C * slack**2) / 2
        dual = np.abs(coef).sum() - norm / 2 - np.sum(coef**2 / C) / 2
    else:
        primal = norm / 2 + np.sum(C * slack)
        dual = np.abs(coef).sum() - norm / 2
    return (primal - dual) / primal


def count_ballots(decisions, pairs, sizes, counted):
    """Count votes one row, one SVM and one pair at a time.

    decisions: (n_subsets, n_pairs, n_rows); counted: (n_subsets, n_rows), bool. Return the numbers of
    votes and the sums of values, both of shape (n_rows, n_classes).
    """
    n_classes, n_rows = len(sizes), decisions.shape[2]
    counts, sums = np.zeros((n_rows, n_classes), int), np.zeros((n_rows, n_classes))
    by_size = sorted(range(n_classes), key=lambda c: -sizes[c])
    for j, per_pair in enumerate(decisions):
        for row in range(n_rows):
            if not counted[j, row]:
                continue
            score = np.zeros(n_classes)
            for (lower, upper), f in zip(pairs, per_pair[:, row], strict=True):
                score[upper] += min(max(f, -1), 1)
                score[lower] -= min(max(f, -1), 1)
            counts[row, max(by_size, key=lambda c: score[c])] += 1
            sums[row] += score / (n_classes - 1)
    return counts, sums


def committee_scores(X, labels, n_classes, subsets, ridge, gamma, rows=None):
    """Train every member of a linear committee with these labels, and judge the rows that it did not see.

    Return what the verdict compares, (n_rows, n_classes): sums of weights, divided by the class sizes if
    there are two classes; zero where every member saw the row.
    """
    rows = range(len(X)) if rows is None else rows
    K = kernel_matrix("rbf", X, X, gamma) + 1
    targets = np.eye(n_classes)[labels]
    systems = K[subsets[:, :, None], subsets[:, None, :]] + ridge * np.eye(subsets.shape[1])
    coefs = np.linalg.solve(systems, targets[subsets])  # (n_members, size, n_classes)
    scores = np.zeros((len(rows), n_classes))
    for place, row in enumerate(rows):
        for member in np.flatnonzero(~np.any(subsets == row, axis=1)):
            scores[place] += K[row, subsets[member]] @ coefs[member]
        scores[place] /= max(np.sum(~np.any(subsets == row, axis=1)), 1)
    return scores / targets.sum(axis=0) if n_classes == 2 else scores

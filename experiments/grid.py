"""Full-size SVMs over a grid: one kernel matrix per data set and gamma, shared by all labels, C and weights.

For one gamma, the SVMs of all cases, C and ratios are solved on the same matrix, each C starting from the
solution of the one before; all their decision values on the test rows are one matrix product per block.
Cross-validation leaves rows out of the same matrix. Each candidate becomes a row with its measures, which the
judge computes.
"""

import time
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from experiments.judge import score
from experiments.protocol import seed_of
from experiments.shared import solve_shared
from subsvms._effort import Effort  # private

MOST_BYTES = 2_000_000_000  # of a kernel matrix that is kept in memory; all of the paper's fit
BLOCK = 4096  # test rows whose kernel values are in memory at once, if the matrix does not fit


def dense(X):
    """Return a table as a single-precision array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)


def rbf(A, B, gamma):
    """Return exp(-gamma |a - b|^2) in single precision; scikit-learn computes in double, and is slower."""
    K = A @ B.T
    K *= 2.0 * gamma
    K -= gamma * np.einsum("ij,ij->i", A, A)[:, None]
    K -= gamma * np.einsum("ij,ij->i", B, B)
    np.minimum(K, 0.0, out=K)  # against rounding errors
    return np.exp(K, out=K)


@lru_cache(maxsize=1)
def training_kernel(data, factor):
    """Return the kernel matrix of the training rows for gamma = factor / d, and the seconds it took."""
    began = time.perf_counter()
    table = dense(data.X_train)
    K = rbf(table, table, factor / table.shape[1])
    np.maximum(K, K.T, out=K)  # the same bits on both sides
    return K, time.perf_counter() - began


@lru_cache(maxsize=1)
def test_kernel(data, factor):
    """Return the kernel between test and training rows: whole or, if huge, as blocks computed on demand."""
    A, B = dense(data.X_test), dense(data.X_train)
    gamma = factor / A.shape[1]
    if 4 * len(A) * len(B) <= MOST_BYTES:
        return [rbf(A, B, gamma)]
    return Blocks(A, B, gamma)


class Blocks:
    """Blocks of a kernel matrix, computed again each time."""

    def __init__(self, A, B, gamma):
        self.A, self.B, self.gamma = A, B, gamma

    def __iter__(self):
        return (rbf(self.A[i : i + BLOCK], self.B, self.gamma) for i in range(0, len(self.A), BLOCK))


def solve(K, targets, C, ratio, protocol, start=None):
    """Return SVMs for several labellings; `ratio` is C of class 1 divided by C of class 0."""
    options = {"class_weight": (1.0, ratio), "loss": protocol.loss, "tol": protocol.tol, "effort": Effort(2)}
    return solve_shared(K, targets, C=C, start=start, **options)


def values_on_test(data, factor, coef, intercept):
    """Return decision values on the test rows, (n_problems, n_test)."""
    coef = coef.T.astype(np.float32)
    values = np.concatenate([block @ coef for block in test_kernel(data, factor)])
    return values.T + np.asarray(intercept)[:, None]


def evaluate(data, cases, givens, factor, protocol):
    """Return the candidates of a data set and a gamma: a row for each case, C and ratio, with its measures.

    Parameters
    ----------
    data : Dataset
    cases : list of Case
    givens : ndarray of int of shape (n_cases, n_train)
        Their labels.
    factor : float
        gamma is this times 1/d.
    protocol : Protocol
    """
    K, kernel_seconds = training_kernel(data, factor)
    share = kernel_seconds / (len(cases) * len(protocol.C) * len(protocol.ratio))
    targets = 2.0 * givens - 1.0
    rows, coefs, intercepts = [], [], []
    for ratio in protocol.ratio:
        start = None
        for C in protocol.C:
            began = time.perf_counter()
            start = solve(K, targets, C, ratio, protocol, start)
            seconds = (time.perf_counter() - began) / len(cases)
            rows += [
                {**case._asdict(), "gamma": factor, "C": C, "ratio": ratio, "train_seconds": seconds + share}
                for case in cases
            ]
            coefs.append(start.coef)
            intercepts.append(start.intercept)
    began = time.perf_counter()
    values = values_on_test(data, factor, np.concatenate(coefs), np.concatenate(intercepts))
    seconds = (time.perf_counter() - began) / len(rows)
    for row, value in zip(rows, values, strict=True):
        row |= score(data.y_test, (value > 0).astype(int), value) | {"test_seconds": seconds}
    return pd.DataFrame(rows)


def cross_validate(data, cases, givens, factor, protocol):
    """Return measures on the given labels of left-out rows: one row per case, split, C and ratio."""
    K, _ = training_kernel(data, factor)
    rows = []
    for case, given in zip(cases, givens, strict=True):
        folds = [make_folds(given, case, split, protocol.folds) for split in range(protocol.splits)]
        targets = np.stack(
            [np.where(fold == k, 0.0, 2.0 * given - 1.0) for fold in folds for k in range(protocol.folds)]
        )
        for ratio in protocol.ratio:
            start = None
            for C in protocol.C:
                began = time.perf_counter()
                start = solve(K, targets, C, ratio, protocol, start)
                seconds = (time.perf_counter() - began) / protocol.splits
                decisions = start.decision.reshape(protocol.splits, protocol.folds, -1)
                for split, fold in enumerate(folds):
                    value = decisions[split][fold, np.arange(len(given))]
                    measures = score(given, (value > 0).astype(int), value)
                    rows.append({
                        **case._asdict(), "gamma": factor, "C": C, "ratio": ratio, "split": split,
                        "cv_seconds": seconds, **{f"cv_{name}": value for name, value in measures.items()},
                    })  # fmt: skip
    return pd.DataFrame(rows)


def make_folds(given, case, split, n_folds):
    """Return the fold of each row."""
    seed = seed_of("folds", *case, split)
    fold = np.empty(len(given), dtype=int)
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for k, (_, out) in enumerate(splitter.split(np.zeros(len(given)), given)):
        fold[out] = k
    return fold

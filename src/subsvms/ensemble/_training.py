"""From what an estimator was handed to solved SVMs."""

from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from subsvms._typing import OnProgress, Table
from subsvms._validation import check_class_weight, check_square, warn_unscaled
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._solver import Solution, solve_subsets


class Problem(NamedTuple):
    """A table to learn from, checked."""

    X: Table  # (n_samples, n_features)
    classes: np.ndarray  # (n_classes,)
    labels: np.ndarray  # (n_samples,), class numbers
    weight: np.ndarray | None  # (n_classes,), factors of C
    kernel: Kernel


def pose_problem(estimator: Any, table: Table, classes: np.ndarray, labels: np.ndarray) -> Problem:
    """Settle what the estimator's parameters leave to the data.

    Parameters
    ----------
    estimator : SubSVMClassifier
    table : ndarray or CSR matrix of shape (n_samples, n_features)
        As `check_table` returns it.
    classes, labels : ndarray
        As `check_labels` returns them.
    """
    weight = check_class_weight(estimator.class_weight, classes, labels)
    if estimator.kernel == "precomputed":
        check_square(table)
    gamma = find_gamma(estimator.gamma, table)
    if estimator.kernel == "rbf" and estimator.gamma == "auto":  # a width chosen by hand is not questioned
        warn_unscaled(table, gamma)
    kernel = Kernel.named(estimator.kernel, gamma, estimator.coef0, estimator.degree)
    return Problem(table, classes, labels, weight, kernel)


def train_svms(
    estimator: Any, problem: Problem, subsets: np.ndarray, *, on_progress: OnProgress | None = None
) -> Solution:
    """Train one SVM per subset and pair of classes, with the estimator's parameters."""
    return solve_subsets(
        problem.X,
        problem.labels,
        subsets,
        kernel=problem.kernel,
        C=estimator.C,
        loss=estimator.loss,
        class_weight=problem.weight,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        n_jobs=effective_n_jobs(estimator.n_jobs),
        on_progress=on_progress,
    )


def find_gamma(gamma: str | float, X: Table) -> float:
    """Return the kernel width: "auto" is 1/d, "scale" 1/(d var(X)) as in scikit-learn's SVC."""
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        if sparse.issparse(X):
            n_values = X.shape[0] * X.shape[1]
            variance = (X.data**2).sum() / n_values - (X.data.sum() / n_values) ** 2
        else:
            variance = X.var()
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    return float(gamma)

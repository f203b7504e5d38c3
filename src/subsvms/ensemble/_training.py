"""From checked data and an estimator's parameters to solved SVMs."""

from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from subsvms._labels import check_class_weight
from subsvms._typing import OnProgress, Table
from subsvms._validation import check_square, warn_unscaled
from subsvms.ensemble._rows import Kernel, resolve_gamma
from subsvms.ensemble._solver import Solution, solve_subsets


class Problem(NamedTuple):
    """A checked table to learn from, and what depends on it."""

    X: Table  # (n_samples, n_features)
    classes: np.ndarray  # (n_classes,)
    labels: np.ndarray  # (n_samples,), class numbers
    weight: np.ndarray | None  # (n_classes,), factors of C
    kernel: Kernel


def pose_problem(estimator: Any, table: Table, classes: np.ndarray, labels: np.ndarray) -> Problem:
    """Settle what the estimator's parameters leave to the data.

    Shapes: table (n_samples, n_features).
    """
    weight = check_class_weight(estimator.class_weight, classes, labels)
    if estimator.kernel == "precomputed":
        check_square(table)
    gamma = resolve_gamma(estimator.gamma, table)
    if estimator.kernel == "rbf" and estimator.gamma == "auto":  # a width chosen by hand is not questioned
        warn_unscaled(table, gamma)
    kernel = Kernel.named(estimator.kernel, gamma, estimator.coef0, estimator.degree)
    return Problem(table, classes, labels, weight, kernel)


def train_svms(
    estimator: Any, problem: Problem, subsets: np.ndarray, *, on_progress: OnProgress | None = None
) -> Solution:
    """Train one SVM per subset and pair of classes, with the estimator's parameters."""
    return solve_subsets(
        problem.X, problem.labels, subsets, kernel=problem.kernel, C=estimator.C, loss=estimator.loss,
        class_weight=problem.weight, tol=estimator.tol, max_iter=estimator.max_iter,
        n_jobs=effective_n_jobs(estimator.n_jobs), on_progress=on_progress,
    )  # fmt: skip

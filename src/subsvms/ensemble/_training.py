"""From checked data and an estimator's parameters to solved SVMs, and to a fitted classifier."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state

from subsvms._effort import Effort
from subsvms._labels import check_class_weight
from subsvms._progress import Progress
from subsvms._typing import Table
from subsvms._validation import check_cost, check_square, warn_unscaled
from subsvms.ensemble._rows import Kernel, resolve_gamma
from subsvms.ensemble._sampling import draw_subsets, subset_size
from subsvms.ensemble._solver import Solution, solve_subsets
from subsvms.ensemble._votes import count_training_votes, gather_voters


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
    return Problem(table, classes, labels, weight, find_kernel(estimator, table))


def find_kernel(estimator: Any, table: Table) -> Kernel:
    """Return the kernel that the estimator's parameters ask for; warn if it tells no rows apart."""
    gamma = resolve_gamma(estimator.gamma, table)
    if estimator.kernel == "rbf" and estimator.gamma == "auto":  # a width chosen by hand is not questioned
        warn_unscaled(table, gamma)
    return Kernel.named(estimator.kernel, gamma, estimator.coef0, estimator.degree)


def train_svms(estimator: Any, problem: Problem, subsets: np.ndarray, effort: Effort) -> Solution:
    """Train one SVM per subset and pair of classes, with the estimator's parameters."""
    return solve_subsets(
        problem.X, problem.labels, subsets, problem.kernel, C=estimator.C, loss=estimator.loss,
        class_weight=problem.weight, tol=estimator.tol, max_iter=estimator.max_iter,
        effort=effort,
    )  # fmt: skip


@_fit_context(prefer_skip_nested_validation=True)
def fit_numbered(
    model: Any, table: Table, classes: np.ndarray, labels: np.ndarray, asked: np.ndarray | None = None
) -> Any:
    """Fit a SubSVMClassifier to what `check_table` and `check_labels` returned, and return it.

    The SVMs vote on all rows, or on those whose numbers are asked for.

    Shapes: table (n_samples, n_features); classes (n_classes,); labels (n_samples,); asked (n_asked,).
    """
    model.n_features_in_ = table.shape[1]
    problem = pose_problem(model, table, classes, labels)
    size = subset_size(model.subsample_size, len(labels), len(classes))
    check_cost(model.n_estimators, len(classes), size)
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    effort, progress = Effort.of(model), Progress(model, n_stages=2, X=table, y=classes[labels])

    subsets = draw_subsets(labels, model.n_estimators, size, model.sampling_bias, seed=seed)
    solution = train_svms(model, problem, subsets, effort.telling(progress.stage("training SVMs")))
    sizes = np.bincount(labels)
    voters = gather_voters(table, solution, sizes, problem.kernel)
    effort = effort.telling(progress.stage("voting on rows"))
    _, oob_votes = count_training_votes(voters, table, subsets, asked, effort)

    binary = len(classes) == 2
    model.classes_ = classes
    model.subsets_ = subsets
    model.dual_coef_ = solution.dual_coef(subsets, labels)
    model.intercept_ = solution.intercept[:, 0] if binary else solution.intercept
    model.duality_gap_ = solution.duality_gap[:, 0] if binary else solution.duality_gap
    model.n_iter_ = max(int(solution.n_iter.max()), 1)
    model.oob_votes_ = oob_votes
    model.oob_winners_ = oob_votes.winners(sizes, given=labels if asked is None else labels[asked])
    model.class_sizes_ = sizes
    model.voters_ = voters
    progress.end()
    return model

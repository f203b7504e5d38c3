"""From checked data and an estimator's parameters to solved SVMs, and to a fitted classifier."""

import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from subsvms._columns import Table
from subsvms._effort import Effort, OnProgress, announce
from subsvms._labels import check_class_weight
from subsvms._validation import check_cost, check_square, checked, warn_unscaled
from subsvms.ensemble._rows import Kernel, resolve_gamma
from subsvms.ensemble._sampling import draw_subsets, subset_size
from subsvms.ensemble._solver import Solution, solve_subsets
from subsvms.ensemble._votes import count_training_votes, gather_voters

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9: the estimators work the same without callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A placeholder for older versions of scikit-learn."""


STEPS = 100  # a stage is reported in percent
LINES = 10  # verbose=2 prints a line for every tenth of a stage


class Problem(NamedTuple):
    """A checked table to learn from, and what depends on it."""

    X: Table  # (n_samples, n_features)
    classes: np.ndarray  # (n_classes,)
    labels: np.ndarray  # (n_samples,), class numbers
    weight: np.ndarray | None  # (n_classes,), factors of C
    kernel: Kernel


def pose_problem(estimator: Any, table: Table, classes: np.ndarray, labels: np.ndarray) -> Problem:
    """Settle what the estimator's parameters leave to the data."""
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
        class_weight=problem.weight, tol=estimator.tol, max_iter=estimator.max_iter, effort=effort,
    )  # fmt: skip


@checked
def fit_numbered(
    model: Any, table: Table, classes: np.ndarray, labels: np.ndarray, asked: np.ndarray | None = None,
    groups: np.ndarray | None = None,
) -> Any:  # fmt: skip
    """Fit a SubSVMClassifier to what `check_table` and `check_labels` returned, and return it."""
    # The SVMs vote on all rows, or on those whose numbers are asked for; those that saw a row of its group,
    # if `groups` numbers the group of each row, are not heard about a row.
    model.n_features_in_ = table.shape[1]
    problem = pose_problem(model, table, classes, labels)
    size = subset_size(model.subsample_size, len(labels), len(classes))
    check_cost(model.n_estimators, len(classes), size)
    seed = check_random_state(model.random_state).randint(2**31 - 1)
    effort, progress = Effort.of(model), Progress(model, n_stages=2, X=table, y=classes[labels])

    subsets = draw_subsets(labels, model.n_estimators, size, model.sampling_bias, seed=seed, groups=groups)
    solution = train_svms(model, problem, subsets, effort.telling(progress.stage("training SVMs")))
    sizes = np.bincount(labels)
    voters = gather_voters(table, solution, sizes, problem.kernel)
    effort = effort.telling(progress.stage("voting on rows"))
    _, oob_votes = count_training_votes(voters, table, subsets, asked, effort, groups)

    binary = len(classes) == 2
    model.classes_, model.class_sizes_, model.subsets_, model.voters_ = classes, sizes, subsets, voters
    model.dual_coef_ = solution.dual_coef(subsets, labels)
    model.intercept_ = solution.intercept[:, 0] if binary else solution.intercept
    model.duality_gap_ = solution.duality_gap[:, 0] if binary else solution.duality_gap
    model.n_iter_ = max(int(solution.n_iter.max()), 1)
    model.oob_votes_ = oob_votes
    model.oob_winners_ = oob_votes.winners(sizes, given=labels if asked is None else labels[asked])
    progress.end()
    return model


class Progress:
    """The progress of one fit, stage after stage, for listeners, callbacks, and people if it is `verbose`."""

    def __init__(self, estimator: Any, n_stages: int, X: Any = None, y: Any = None):
        self.estimator, self.data = estimator, {"X": X, "y": y}
        self.context: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=n_stages)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def stage(self, name: str) -> OnProgress:
        """Return a function on_progress(done, total) for the next stage."""
        began, reported = time.monotonic(), 0
        context = self.context and self.context.subcontext(name, max_subtasks=STEPS)
        if context:
            context.call_on_fit_task_begin(estimator=self.estimator)

        def on_progress(done, total):
            nonlocal reported
            announce(name, done, total)
            percent = STEPS * done // total
            for _ in range(reported, percent) if context else ():
                step = context.subcontext(f"{name} step")
                step.call_on_fit_task_begin(estimator=self.estimator)
                step.call_on_fit_task_end(estimator=self.estimator)
            self.print_line(name, done, total, reported, percent, time.monotonic() - began)
            reported = percent
            if done == total and context:
                context.call_on_fit_task_end(estimator=self.estimator)

        return on_progress

    def print_line(self, name, done, total, reported, percent, seconds):
        verbose, title = self.estimator.verbose, type(self.estimator).__name__
        if verbose and done == total:
            print(f"[{title}] {name}: {total} done in {seconds:.1f} s", flush=True)
        elif verbose > 1 and percent * LINES // STEPS > reported * LINES // STEPS:
            left = seconds / done * (total - done)
            print(f"[{title}] {name}: {done} of {total}, {left:.1f} s left", flush=True)

    def end(self) -> None:
        if self.context:
            more = {"reconstruction_attributes": {}} | self.data
            self.context.call_on_fit_task_end(estimator=self.estimator, **more)

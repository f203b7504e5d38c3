"""SVMs of any size that share one kernel matrix, for whole grids: the solver of `subsvms`, without copies."""

from dataclasses import dataclass

import numpy as np

from subsvms._effort import ONE_THREAD, Effort, run_pieces  # private, as the next: the same solver
from subsvms.ensemble._compiled.loops import compiled  # private
from subsvms.ensemble._compiled.smo import solve_problem  # private
from subsvms.ensemble._solver import check_endings  # private


@dataclass(frozen=True)
class SharedSolution:
    """Solved SVMs that share one kernel matrix."""

    coef: np.ndarray  # (n_problems, n_samples): y_i a_i of each row
    # (n_problems, n_samples): decision values, including those of rows that were left out
    decision: np.ndarray
    intercept: np.ndarray  # (n_problems,)
    duality_gap: np.ndarray  # (n_problems,): as a share of the primal value
    n_iter: np.ndarray  # (n_problems,): steps of SMO, each of which moves two multipliers
    C: np.ndarray  # (n_problems, 2): of the rows with target -1 and of those with +1


def solve_shared(
    K, targets, *, C=100.0, loss="squared_hinge", class_weight=None, start=None, tol=1e-3,
    max_iter=10_000_000, effort: Effort = ONE_THREAD,
):  # fmt: skip
    """Train SVMs of any size that share one kernel matrix, without copying it.

    One call can take many labelings, many values of C, or the folds of a cross-validation. Rows left out of
    a problem get their decision values, too, at no extra cost. `start` is where to start from, for example
    the solution for the previous C of a grid.

    Shapes: K (n_samples, n_samples), symmetric; targets (n_problems, n_samples), -1 or +1, and 0 for a row
    that is not in the problem; C a number or (n_problems,); class_weight (2,) or (n_problems, 2), factors
    of C for -1 and for +1.
    """
    K = np.ascontiguousarray(K)
    targets = np.atleast_2d(np.asarray(targets, dtype=float))
    n_problems = len(targets)
    weight = np.ones(2) if class_weight is None else np.asarray(class_weight, dtype=float)
    limits = np.broadcast_to(np.asarray(C, dtype=float), n_problems)[:, None] * np.atleast_2d(weight)
    C_negative, C_positive = limits.T.copy()
    coef = np.zeros(targets.shape) if start is None else feasible_start(start, targets, limits)
    decision = np.empty(targets.shape)
    intercept, gap = np.empty(n_problems), np.empty(n_problems)
    n_iter, ending = np.empty(n_problems, np.int64), np.empty(n_problems, np.int64)

    def work(first, last):
        solve_shared_range(
            first, last, K, targets, C_negative, C_positive,
            loss == "squared_hinge", float(tol), int(max_iter),
            coef, decision, intercept, gap, n_iter, ending,
        )  # fmt: skip

    run_pieces(work, n_problems, 1, effort)
    check_endings(ending, intercept, tol, max_iter)
    return SharedSolution(coef, decision, intercept, gap, n_iter, limits)


def feasible_start(start: SharedSolution, targets: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return coefficients to start from: the old ones, scaled by one factor to suit the new C.

    A common factor keeps sum_i b_i = 0, and the smaller of the two classes' factors keeps each b_i within
    its new limit. A problem with other targets, or with one class, starts from zero.
    """
    factor = (limits / start.C).min(axis=1, keepdims=True)
    same = np.all((start.coef == 0) | (np.sign(start.coef) == targets), axis=1)
    two_classes = (targets.max(axis=1) > 0) & (targets.min(axis=1) < 0)
    return np.where((same & two_classes)[:, None], start.coef * factor, 0.0)


@compiled
def solve_shared_range(
    first, last, K, target, C_negative, C_positive, squared, tol, max_iter,
    coef, decision, intercept, gap, n_iter, ending,
):  # fmt: skip
    """Solve problems first to last - 1 that share the kernel matrix K, each from its own coef.

    A row with target 0 is not in the problem, but the gradient gives its decision value.
    """
    n = K.shape[0]
    work = np.empty((4, n))
    for q in range(first, last):
        y, gradient = target[q], decision[q]
        for k in range(n):
            C = C_positive[q] if y[k] > 0 else C_negative[q]
            gradient[k] = (coef[q, k] / C if squared else 0.0) - y[k]
        for i in range(n):
            if coef[q, i] != 0.0:
                for k in range(n):
                    gradient[k] += coef[q, i] * K[i, k]
        intercept[q], gap[q], n_iter[q], ending[q] = solve_problem(
            K, y, C_negative[q], C_positive[q], squared, tol, max_iter, coef[q], gradient, work
        )
        for k in range(n):
            C = C_positive[q] if y[k] > 0 else C_negative[q]
            gradient[k] += y[k] + intercept[q] - (coef[q, k] / C if squared else 0.0)

"""Solve many tiny SVMs that share one table.

For every subset S of rows and every pair of classes in it, with y_i = -1 or +1, f(x) = <w, phi(x)> + b and
slack xi_i >= 1 - y_i f(x_i), xi_i >= 0,

    minimise over w, b, xi   1/2 |w|^2 + 1/2 sum_{i in S} C_i xi_i^2     (squared hinge, the paper's)
    minimise over w, b, xi   1/2 |w|^2 +     sum_{i in S} C_i xi_i       (hinge)

through the dual, one multiplier a_i >= 0 per row, two multipliers at a time (SMO; Fan, Chen and Lin, JMLR
2005). C_i is C times the weight of the row's class. A subset with one class only has no such problem: f is
that class everywhere. More than two classes are solved one against one inside each subset: every such
problem is again small and class-balanced, which is what the paper's analysis asks for, and all of them
together have as many multipliers as one against the rest.

The solver hands over its proof: the duality gap, as a share of the primal value, bounds how far the
objective can be from its optimum, and no finished problem has a gap above `tol`.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from subsvms.kernel import PRECOMPUTED, Kernel
from subsvms.rows import Table, gather_rows
from subsvms.threads import Tell, run_pieces

PIECE = 32  # problems per unit of work: short enough to balance, long enough not to matter


@dataclass(frozen=True)
class Solution:
    """The solved SVMs: n_subsets times n_pairs of them, one pair of classes after the other."""

    pairs: np.ndarray  # (n_pairs, 2), class numbers; f > 0 speaks for the second
    start: np.ndarray  # (n_problems + 1,), where the entries of each problem begin
    row: np.ndarray  # (n_entries,), row numbers
    coef: np.ndarray  # (n_entries,), y_i a_i
    intercept: np.ndarray  # (n_subsets, n_pairs)
    duality_gap: np.ndarray  # (n_subsets, n_pairs), share of the primal value
    n_iter: np.ndarray  # (n_subsets, n_pairs), pairs of multipliers that were moved

    def as_matrix(self, n_samples: int) -> sparse.csr_array:
        """Return the coefficients as a CSR matrix, problems by rows; repeats are added up."""
        parts = (self.coef.copy(), self.row.copy(), self.start.copy())
        matrix = sparse.csr_array(parts, shape=(len(self.start) - 1, n_samples))
        matrix.sum_duplicates()  # works in place, hence the copies
        return matrix

    def dual_coef(self, subsets: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the coefficients by place in the subset.

        Returns
        -------
        ndarray of shape (n_subsets, size) or (n_subsets, n_classes - 1, size)
            For more than two classes, line by line against each other class in order, as SVC does.
        """
        drawn = labels[subsets]
        if len(self.pairs) == 1:
            return self.coef.reshape(subsets.shape)
        n_classes = int(self.pairs.max()) + 1
        out = np.zeros((len(subsets), n_classes - 1, subsets.shape[1]))
        starts = self.start[:-1].reshape(self.intercept.shape)
        for p, (lower, upper) in enumerate(self.pairs):
            j, place, entry = find_entries(drawn, lower, upper, starts[:, p])
            other = np.where(drawn[j, place] == lower, upper - 1, lower)
            out[j, other, place] = self.coef[entry]
        return out


def find_entries(drawn, lower, upper, starts):
    """Return subset, place in the subset and entry number of all rows of one pair of classes."""
    j, place = np.nonzero((drawn == lower) | (drawn == upper))
    counts = np.bincount(j, minlength=len(drawn))
    return j, place, np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(len(j))


def pose_problems(subsets, labels, n_classes):
    """Return pairs, start, row and target (-1 or +1) of all one-against-one problems."""
    pairs = np.array([(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)])
    drawn = labels[subsets]
    if n_classes == 2:  # every subset is one problem, whole
        start = np.arange(0, subsets.size + 1, subsets.shape[1])
        return pairs, start, subsets.ravel(), 2.0 * drawn.ravel() - 1.0
    sizes = np.stack([np.sum(drawn == c, axis=1) for c in range(n_classes)], axis=1)
    start = np.concatenate([[0], np.cumsum(sizes[:, pairs].sum(axis=2).ravel())])
    starts = start[:-1].reshape(len(subsets), len(pairs))
    row = np.empty(start[-1], dtype=np.int64)
    target = np.empty(start[-1])
    for p, (lower, upper) in enumerate(pairs):
        j, place, entry = find_entries(drawn, lower, upper, starts[:, p])
        row[entry] = subsets[j, place]
        target[entry] = np.where(drawn[j, place] == upper, 1.0, -1.0)
    return pairs, start, row, target


def solve_subsets(
    X: Table,
    labels: np.ndarray,
    subsets: np.ndarray,
    *,
    kernel: Kernel,
    C: float = 100.0,
    loss: str = "squared_hinge",
    class_weight: ArrayLike | None = None,
    tol: float = 1e-3,
    max_iter: int = 100_000,
    n_jobs: int = 1,
    tell: Tell | None = None,
) -> Solution:
    """Train one SVM per subset and pair of classes, all in compiled code.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        Finite numbers; the kernel matrix where the kernel is precomputed.
    labels : ndarray of int of shape (n_samples,)
        Class numbers from 0 on.
    subsets : ndarray of int of shape (n_subsets, size)
        Row numbers, repeats allowed.
    kernel : Kernel
    C : float, default=100.0
        The larger, the dearer the slack.
    loss : {"squared_hinge", "hinge"}
    class_weight : ndarray of shape (n_classes,), optional
        Factors of C.
    tol : float, default=1e-3
        Largest duality gap, and four times the largest violation of an optimality condition.
    max_iter : int, default=100_000
        Limit of SMO steps for each problem; a warning tells how many problems reached it.
    n_jobs : int, default=1
        Threads. They change no bit of the result.
    tell : callable, optional
        Called as tell(n_solved, n_problems) now and then.

    Returns
    -------
    Solution

    Examples
    --------
    >>> X, labels = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
    >>> from subsvms.kernel import Kernel
    >>> kernel = Kernel.named("linear")
    >>> solution = solve_subsets(X, labels, np.array([[0, 1, 2]]), kernel=kernel, C=1e6, tol=1e-9)
    >>> slope = solution.coef @ X[solution.row, 0]  # the hard margin lies half way between 1 and 3
    >>> print(f"{slope:.3f} {solution.intercept.item():.3f}")
    1.000 -2.000
    """
    from subsvms._smo import solve_range  # here: importing numba takes a while

    n_classes = int(labels.max()) + 1
    pairs, start, row, target = pose_problems(subsets, labels, n_classes)
    used = np.zeros(X.shape[0], dtype=bool)
    used[row] = True
    member = np.cumsum(used)[row] - 1
    if kernel.kind == PRECOMPUTED:
        gram = np.ascontiguousarray(X, dtype=np.float64)
        rows, member = gather_rows(np.zeros((1, 1)), [0]), row
    else:
        gram, rows = np.zeros((1, 1)), gather_rows(X, np.flatnonzero(used))
    weight = np.ones(n_classes) if class_weight is None else np.asarray(class_weight, dtype=float)
    C_negative, C_positive = np.tile(C * weight[pairs.T], len(subsets))

    n_problems = len(start) - 1
    coef = np.empty(len(row))
    intercept, gap = np.empty(n_problems), np.empty(n_problems)
    n_iter, unfinished = np.empty(n_problems, np.int64), np.empty(n_problems, bool)

    def work(first, last):
        solve_range(
            first, last, rows, gram, kernel, start, member, target, C_negative, C_positive,
            loss == "squared_hinge", float(tol), int(max_iter),
            coef, intercept, gap, n_iter, unfinished,
        )  # fmt: skip

    run_pieces(work, n_problems, PIECE, n_jobs, tell)
    warn_unfinished(unfinished, max_iter)
    shape = (len(subsets), len(pairs))
    return Solution(
        pairs, start, row, coef,
        intercept.reshape(shape), gap.reshape(shape), n_iter.reshape(shape),
    )  # fmt: skip


@dataclass(frozen=True)
class SharedSolution:
    """Solved SVMs over one kernel matrix."""

    coef: np.ndarray  # (n_problems, n_samples), y_i a_i
    decision: np.ndarray  # (n_problems, n_samples), decision values, of rows left out too
    intercept: np.ndarray  # (n_problems,)
    duality_gap: np.ndarray  # (n_problems,), share of the primal value
    n_iter: np.ndarray  # (n_problems,)


def solve_shared(
    K: np.ndarray,
    targets: ArrayLike,
    *,
    C: ArrayLike = 100.0,
    loss: str = "squared_hinge",
    class_weight: ArrayLike | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    n_jobs: int = 1,
) -> SharedSolution:
    """Train SVMs of any size that share one kernel matrix, without copying it.

    Many labelings, many C, the folds of a cross-validation: one call. Rows left out of a problem get
    their decision values all the same, for nothing.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric; single or double precision.
    targets : array-like of shape (n_problems, n_samples)
        -1 or +1, and 0 for a row that is not in the problem.
    C : float or array-like of shape (n_problems,)
    loss : {"squared_hinge", "hinge"}
    class_weight : array-like of shape (2,) or (n_problems, 2), optional
        Factors of C for -1 and for +1.
    start : ndarray of shape (n_problems, n_samples), optional
        Coefficients to start from, for instance those of a neighbouring C. They are shrunk where the
        new problem does not allow them, and never changed in place.
    tol, max_iter, n_jobs
        As in `solve_subsets`.

    Returns
    -------
    SharedSolution

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 3.0, 9.0])
    >>> solution = solve_shared(np.outer(x, x), [[-1, -1, 1, 0]], C=1e6, tol=1e-9)
    >>> print(solution.decision.round(2))  # the last row was left out
    [[-2. -1.  1.  7.]]
    """
    from subsvms._smo import solve_shared_range  # here: importing numba takes a while

    K = np.ascontiguousarray(K)
    targets = np.atleast_2d(np.asarray(targets, dtype=float))
    n_problems, n_samples = targets.shape
    if K.shape != (n_samples, n_samples):
        raise ValueError(
            f"K must be square with a line for each of the {n_samples} targets; got shape {K.shape}."
        )
    C = np.broadcast_to(np.asarray(C, dtype=float), n_problems)
    weight = np.ones(2) if class_weight is None else np.asarray(class_weight, dtype=float)
    C_negative, C_positive = (C[:, None] * np.broadcast_to(weight, (n_problems, 2))).T.copy()
    coef = np.zeros(targets.shape)
    if start is not None:
        coef += feasible_start(start, targets, C_negative, C_positive, loss)
    decision = np.empty(targets.shape)
    intercept, gap = np.empty(n_problems), np.empty(n_problems)
    n_iter, unfinished = np.empty(n_problems, np.int64), np.empty(n_problems, bool)

    def work(first, last):
        solve_shared_range(
            first, last, K, targets, C_negative, C_positive,
            loss == "squared_hinge", float(tol), int(max_iter),
            coef, decision, intercept, gap, n_iter, unfinished,
        )  # fmt: skip

    run_pieces(work, n_problems, 1, n_jobs)
    warn_unfinished(unfinished, max_iter)
    return SharedSolution(coef, decision, intercept, gap, n_iter)


def feasible_start(start, targets, C_negative, C_positive, loss):
    """Return coefficients that the new problems allow, as near to `start` as one factor gets.

    Both sides of the equality constraint sum_i b_i = 0 shrink by the same factor; a start that has a
    coefficient of the wrong sign, or outside the problem, is no help and becomes zero.
    """
    coef = np.array(start, dtype=float).reshape(targets.shape)
    wrong = np.any(coef * targets < 0, axis=1) | np.any((targets == 0) & (coef != 0), axis=1)
    one_class = (targets.max(axis=1) <= 0) | (targets.min(axis=1) >= 0)
    coef[wrong | one_class] = 0.0
    if loss == "hinge":
        limit = np.where(targets > 0, C_positive[:, None], C_negative[:, None])
        coef /= np.maximum((np.abs(coef) / limit).max(axis=1, keepdims=True), 1.0)
    return coef


def warn_unfinished(unfinished, max_iter):
    """Warn, with the number, if problems were stopped by the iteration limit."""
    if n_unfinished := int(np.sum(unfinished)):
        warnings.warn(
            f"{n_unfinished} of {len(unfinished)} SVMs were stopped after max_iter={max_iter} steps, "
            "short of tol: raise max_iter or tol, lower C, or scale the features.",
            ConvergenceWarning,
            stacklevel=3,
        )

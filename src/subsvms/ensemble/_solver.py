"""Solve many tiny SVMs that share one table.

For every subset S of rows and every pair of classes in it, with y_i = -1 or +1, f(x) = <w, phi(x)> + b and
slack xi_i >= 1 - y_i f(x_i), xi_i >= 0,

    minimise over w, b, xi   1/2 |w|^2 + 1/2 sum_{i in S} C_i xi_i^2     (squared hinge, the paper's)
    minimise over w, b, xi   1/2 |w|^2 +     sum_{i in S} C_i xi_i       (hinge)

through the dual, one multiplier a_i >= 0 per row, two multipliers at a time (SMO; Fan, Chen and Lin, JMLR
2005). C_i is C times the weight of the row's class. A subset with one class only has no such problem: f is
that class everywhere. More than two classes are solved one against one inside each subset: every such
problem is again small and class-balanced, as the paper's analysis requires, and all of them together have no
more multipliers than one against the rest.

The solver also returns its proof: the duality gap, as a share of the primal value, bounds how far the
objective can be from its optimum, and no finished problem has a gap above `tol`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from subsvms._callers import find_stacklevel
from subsvms._columns import Table
from subsvms._effort import ONE_THREAD, Effort, run_pieces
from subsvms._validation import check_square
from subsvms.ensemble._rows import PRECOMPUTED, Kernel, gather_rows

PIECE = 32  # problems of up to 64 rows per unit of work: few enough to balance threads and heed Ctrl-C
SHARED_NUMBERS = 1 << 20  # in one kernel matrix of all rows: 8 MB, which the caches hold
TIMES_USED = 8  # on average, for the problems to take their kernel values from there


@dataclass(frozen=True)
class Solution:
    """The solved SVMs: n_problems = n_subsets * n_pairs of them, the pairs of a subset together."""

    pairs: np.ndarray  # (n_pairs, 2): class numbers; f > 0 is a vote for the second
    start: np.ndarray  # (n_problems + 1,): where the entries of each problem begin
    row: np.ndarray  # (n_entries,): row numbers
    coef: np.ndarray  # (n_entries,): y_i a_i of these rows
    intercept: np.ndarray  # (n_subsets, n_pairs)
    duality_gap: np.ndarray  # (n_subsets, n_pairs): as a share of the primal value
    n_iter: np.ndarray  # (n_subsets, n_pairs): steps of SMO, each of which moves two multipliers

    def as_matrix(self, n_samples: int) -> sparse.csr_array:
        """Return the coefficients as a CSR matrix, problems by rows; repeats are added up."""
        parts = (self.coef.copy(), self.row.copy(), self.start.copy())
        matrix = sparse.csr_array(parts, shape=(len(self.start) - 1, n_samples))
        matrix.sum_duplicates()  # works in place, hence the copies
        return matrix

    def take(self, subset: int) -> "Solution":
        n_pairs, one = len(self.pairs), slice(subset, subset + 1)
        start = self.start[subset * n_pairs : (subset + 1) * n_pairs + 1]
        entries = slice(start[0], start[-1])
        return Solution(
            self.pairs, start - start[0], self.row[entries], self.coef[entries],
            self.intercept[one], self.duality_gap[one], self.n_iter[one],
        )  # fmt: skip

    def dual_coef(self, subsets: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the coefficients by place in the subset: (n_subsets, [n_classes - 1,] size)."""
        n_classes = int(self.pairs.max()) + 1
        layout = lay_out(labels[subsets], n_classes)
        out = np.zeros((len(subsets), n_classes - 1, subsets.shape[1]))
        out[layout.subset, layout.other, layout.place] = self.coef
        return out[:, 0] if n_classes == 2 else out


class Layout(NamedTuple):
    """Where the entries of all one-against-one problems come from."""

    pairs: np.ndarray  # (n_pairs, 2), the classes of each problem of a subset
    start: np.ndarray  # (n_problems + 1,), where the entries of each problem begin
    subset: np.ndarray  # (n_entries,)
    place: np.ndarray  # (n_entries,), place in the subset
    target: np.ndarray  # (n_entries,), -1 for the first class of the pair, +1 for the second
    other: np.ndarray  # (n_entries,), number of the opposing class, not counting the row's own


def lay_out(drawn: np.ndarray, n_classes: int) -> Layout:
    """Lay out the problems of all subsets, drawn (n_subsets, size), pair after pair."""
    n_subsets, size = drawn.shape
    pairs = np.array([(a, b) for a in range(n_classes) for b in range(a + 1, n_classes)])
    if n_classes == 2:  # a subset is one problem, complete and in order
        subset, place = np.divmod(np.arange(drawn.size), size)
        start = np.arange(0, drawn.size + 1, size)
        return Layout(pairs, start, subset, place, 2.0 * drawn.ravel() - 1.0, np.zeros(drawn.size, int))
    sizes = np.stack([np.sum(drawn == c, axis=1) for c in range(n_classes)], axis=1)
    by_class = np.argsort(drawn, axis=1, kind="stable")
    first = np.cumsum(sizes, axis=1) - sizes + size * np.arange(n_subsets)[:, None]

    # Each problem is two runs of `by_class`: the rows of its first class, then those of its second.
    lengths = sizes[:, pairs].ravel()
    begins = np.cumsum(lengths) - lengths
    source = np.repeat(first[:, pairs].ravel() - begins, lengths) + np.arange(lengths.sum())
    opposing = np.stack([pairs[:, 1] - 1, pairs[:, 0]], axis=1)  # not counting the row's own
    start = np.concatenate([begins[::2], [lengths.sum()]])
    return Layout(
        pairs=pairs, start=start, subset=source // size, place=by_class.ravel()[source],
        target=np.repeat(np.resize([-1.0, 1.0], len(lengths)), lengths),
        other=np.repeat(np.tile(opposing.ravel(), n_subsets), lengths),
    )  # fmt: skip


def solve_subsets(
    X: Table, labels: np.ndarray, subsets: np.ndarray, kernel: Kernel, *, C: float = 100.0,
    loss: str = "squared_hinge", class_weight: np.ndarray | None = None, tol: float = 1e-3,
    max_iter: int = 100_000, effort: Effort = ONE_THREAD,
) -> Solution:  # fmt: skip
    """Train one SVM per subset and pair of classes, in compiled code; parameters as in `SubSVMClassifier`."""
    # Shapes: X (n_samples, n_features); labels (n_samples,); subsets (n_subsets, size), row numbers, repeats
    # allowed; class_weight (n_classes,), factors of C.
    from subsvms.ensemble._compiled import smo as _smo  # here: importing numba takes a while

    n_classes = int(labels.max()) + 1
    pairs, start, subset, place, target, _ = lay_out(labels[subsets], n_classes)
    row = subsets[subset, place]
    compute_matrices = prepare_matrices(X, row, kernel, start)
    weight = np.ones(n_classes) if class_weight is None else class_weight
    C_negative, C_positive = np.ascontiguousarray(np.tile(C * weight[pairs.T], len(subsets)))

    n_problems = len(start) - 1
    coef = np.empty(len(row))
    intercept, gap = np.empty(n_problems), np.empty(n_problems)
    n_iter, ending = np.empty(n_problems, np.int64), np.empty(n_problems, np.int64)

    longest = max(int(np.diff(start).max()), 1)

    def work(first, last):
        _smo.solve_range(
            first, last, compute_matrices(first, last), start, target, C_negative, C_positive,
            loss == "squared_hinge", float(tol), int(max_iter), np.empty(5 * longest),
            coef, intercept, gap, n_iter, ending,
        )  # fmt: skip

    run_pieces(work, n_problems, int(np.clip(PIECE * (64 / longest) ** 2, 1, PIECE)), effort)
    check_endings(ending, intercept, tol, max_iter)
    shape = (len(subsets), len(pairs))
    return Solution(pairs, start, row, coef, *(one.reshape(shape) for one in (intercept, gap, n_iter)))


def prepare_matrices(
    X: Table, row: np.ndarray, kernel: Kernel, start: np.ndarray
) -> Callable[[int, int], np.ndarray]:
    """Return a function of (first, last) that returns the kernel matrices of these problems, end to end."""
    # `row` and `start` are those of the solution. In a small table, most pairs of rows are in many problems:
    # then their kernel values are computed once, to the same bits.
    from subsvms.ensemble._compiled import smo as _smo

    sizes = np.diff(start)
    longest = max(int(sizes.max()), 1)
    gram = None
    if kernel.kind == PRECOMPUTED:
        check_square(X)
        gram, member = np.ascontiguousarray(X, dtype=np.float64), row
    else:
        used = np.zeros(X.shape[0], dtype=bool)
        used[row] = True
        rows, member = gather_rows(X, np.flatnonzero(used)), np.cumsum(used)[row] - 1
        fill = _smo.fill_full if rows.full else _smo.fill_sparse
        n_used = np.count_nonzero(used)
        if n_used**2 <= min(SHARED_NUMBERS, np.sum(sizes**2) / TIMES_USED):
            gram = np.empty((n_used, n_used))
            fill(0, 1, rows, kernel, np.array([0, n_used]), np.arange(n_used), n_used, gram.ravel())

    def compute(first, last):
        matrices = np.empty(np.sum(sizes[first:last] ** 2))
        if gram is not None:
            _smo.fill_given(first, last, gram, start, member, matrices)
        else:
            fill(first, last, rows, kernel, start, member, longest, matrices)
        with np.errstate(all="ignore"):
            if not np.isfinite(matrices.sum()):  # the compiled solver takes finite numbers for granted
                raise ValueError("The kernel overflows: scale the features or lower the degree.")
        return matrices

    return compute


def check_endings(ending: np.ndarray, intercept: np.ndarray, tol: float, max_iter: int) -> None:
    """Raise an error if numbers overflowed; warn of problems that were not solved, and say how many."""
    from subsvms.ensemble._compiled.smo import CUT, NO_KERNEL

    # Not the gap: some versions of numba turn max(NaN, 0) into 0.
    if n_lost := int(np.sum(~np.isfinite(intercept))):
        lost = f"The kernel overflows in {n_lost} of {len(ending)} SVMs"
        raise ValueError(f"{lost}: scale the features or lower the degree.")
    reasons = {
        CUT: f"did not reach tol={tol:g}, because of max_iter={max_iter} or of rounding errors: raise "
        "max_iter or tol, lower C, or scale the features",
        NO_KERNEL: "were not solved because the kernel is not positive semi-definite: scale the features, "
        "use coef0 >= 0, or another kernel",
    }
    for reason, what in reasons.items():
        if n := int(np.sum(ending == reason)):
            words = f"{n} of {len(ending)} SVMs {what}."
            warnings.warn(words, ConvergenceWarning, stacklevel=find_stacklevel())

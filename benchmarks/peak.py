"""Measure what one core can do in multiply-adds per second, and what the two compiled loops do of it.

The peak is measured twice, in single and in double precision: by a loop that keeps its numbers in registers
(Horner's rule on many independent numbers), and by a product of two matrices of NumPy's BLAS. The larger is
taken. It holds for one thread; the environment must allow no more.

What counts as a multiply-add:

- votes: each support vector of each SVM once for each row, and each nonzero of each training row that is one,
  once for each row (its kernel). Exponentials, one for each kernel value, are not counted.
- solver: the nonzeros that a kernel matrix takes, half of it by symmetry, and two for each row and step (one
  moves the gradient, one is the curvature). Comparisons, divisions and exponentials are not counted.
"""

import time

import numpy as np
from numba import njit

from subsvms.kernel import Kernel
from subsvms.sampling import draw_subsets, subset_size
from subsvms.solver import solve_subsets
from subsvms.votes import count_votes, gather_voters

J, N_ROWS, N_FEATURES = 1000, 10_000, 20
N_NUMBERS, N_ROUNDS = 1024, 20_000  # a few kilobytes, which stay in the first cache


@njit(fastmath={"contract"}, error_model="numpy")
def horner(x, y, n_rounds):
    """Replace each y by a polynomial of x that begins with it: 16 multiply-adds a round."""
    for _ in range(n_rounds):
        for k in range(x.shape[0]):
            z, p = x[k], y[k]
            p = ((p * z + z) * z + z) * z + z
            p = ((p * z + z) * z + z) * z + z
            p = ((p * z + z) * z + z) * z + z
            p = ((p * z + z) * z + z) * z + z
            p = ((p * z + z) * z + z) * z + z
            p = p * z + z
            y[k] = p


def fastest(work, n_times):
    """Return the shortest of some times, after one that compiles."""
    work()
    times = []
    for _ in range(n_times):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def measure_peak(dtype, n_times):
    """Return multiply-adds per second in registers, and in a product of matrices."""
    x, y = np.full(N_NUMBERS, 0.5, dtype), np.zeros(N_NUMBERS, dtype)  # y goes to 1 and stays there
    registers = 16 * N_NUMBERS * N_ROUNDS / fastest(lambda: horner(x, y, N_ROUNDS), n_times)
    matrix = np.ones((1024, 1024), dtype)
    product = 1024**3 / fastest(lambda: matrix @ matrix, n_times)
    return registers, product


def measure_loops(n_times):
    """Return the table of both loops beside the peak."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, N_FEATURES))
    labels = (X[:, :4].sum(axis=1) + 0.3 * rng.normal(size=N_ROWS) > 2).astype(int)
    kernel = Kernel.named("rbf", 1 / N_FEATURES)
    subsets = draw_subsets(labels, J, subset_size("log_squared", N_ROWS), seed=0)
    solution = solve_subsets(X, labels, subsets, kernel=kernel)
    size = subsets.shape[1]
    solver = J * size * (size + 1) / 2 * N_FEATURES + 2 * size * int(solution.n_iter.sum())
    voters = gather_voters(X, solution, np.bincount(labels), kernel)
    votes = N_ROWS * (np.count_nonzero(voters.lists.value) + np.count_nonzero(voters.rows.value))
    works = {
        "solver": (solver, np.float64, lambda: solve_subsets(X, labels, subsets, kernel=kernel)),
        "votes": (votes, voters.intercept.dtype.type, lambda: count_votes(voters, X)),
    }
    lines = []
    for name, (n_operations, dtype, work) in works.items():
        rate = n_operations / fastest(work, n_times)
        registers, product = measure_peak(dtype, n_times)
        lines.append(
            {
                "loop": name,
                "precision": np.dtype(dtype).name,
                "multiply-adds, billions": n_operations / 1e9,
                "per second, billions": rate / 1e9,
                "peak in registers": registers / 1e9,
                "peak of a matrix product": product / 1e9,
                "share of the larger": rate / max(registers, product),
            }
        )
    note = f"{N_ROWS} x {N_FEATURES} rows, J={J}, s={size}, one thread, best of {n_times}"
    return {"note": note, "lines": lines}

"""Measure how many multiply-adds per second one core can do, and how many the two compiled loops do.

The peak is measured twice, in single and in double precision: by a loop that keeps its numbers in registers
(Horner's rule on many independent numbers, compiled like the loops and so in vectors of the same width), and
by a matrix product of NumPy's BLAS, which may use wider vectors. The larger one counts. It holds for one
thread; the environment must not allow more.

What counts as a multiply-add:

- votes: one for each support vector of each SVM and each row, and one for each nonzero of each training row
  that is a support vector, and each row (its kernel). The exponential of a kernel value is not counted, nor
  is the tally.
- solver: the nonzeros that a kernel matrix takes, half of it by symmetry, and two for each row and step (one
  for the gradient, one for the curvature). Comparisons, divisions and exponentials are not counted.
"""

import json
import time

import numpy as np
from numba import njit

from subsvms.ensemble._compiled import ballots  # private, as the next two: loops are timed on their own
from subsvms.ensemble._rows import Kernel, find_lines
from subsvms.ensemble._sampling import (  # private: sizes of subsets as the paper draws them
    draw_subsets,
    subset_size,
)
from subsvms.ensemble._solver import solve_subsets  # private: the solver alone
from subsvms.ensemble._votes import LANES, Booth, count_votes, gather_voters

J, N_ROWS, N_FEATURES = 1000, 10_000, 20
N_BLOCKS = 20  # blocks of rows, where a loop of the votes is timed alone
N_NUMBERS, N_ROUNDS = 256, 20_000  # a few kilobytes, which stay in the first-level cache


@njit(fastmath={"contract"}, error_model="numpy")
def horner(x, y, n_rounds):
    """Replace eight polynomials of each x by longer ones: 64 multiply-adds a round, in eight chains.

    Each sum in a chain waits for the one before; with fewer than eight chains the core would be idle.
    """
    for _ in range(n_rounds):
        for k in range(x.shape[0]):
            z = x[k]
            a, b, c, d = y[0, k], y[1, k], y[2, k], y[3, k]
            e, f, g, h = y[4, k], y[5, k], y[6, k], y[7, k]
            for _ in range(8):
                a, b, c, d = a * z + z, b * z + z, c * z + z, d * z + z
                e, f, g, h = e * z + z, f * z + z, g * z + z, h * z + z
            y[0, k], y[1, k], y[2, k], y[3, k] = a, b, c, d
            y[4, k], y[5, k], y[6, k], y[7, k] = e, f, g, h


def fastest(work, n_times):
    """Return the shortest of several times, after a first call that compiles."""
    work()
    times = []
    for _ in range(n_times):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def measure_peak(dtype, n_times):
    """Return multiply-adds per second in registers, and in a matrix product."""
    x, y = np.full(N_NUMBERS, 0.5, dtype), np.zeros((8, N_NUMBERS), dtype)  # y goes to 1 and stays there
    registers = 64 * N_NUMBERS * N_ROUNDS / fastest(lambda: horner(x, y, N_ROUNDS), n_times)
    matrix = np.ones((1024, 1024), dtype)
    product = 1024**3 / fastest(lambda: matrix @ matrix, n_times)
    return registers, product


def list_works():
    """Return for each loop its number of multiply-adds, its precision, and a function that runs it."""
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, N_FEATURES))
    labels = (X[:, :4].sum(axis=1) + 0.3 * rng.normal(size=N_ROWS) > 2).astype(int)
    kernel = Kernel.named("rbf", 1 / N_FEATURES)
    subsets = draw_subsets(labels, J, subset_size("log_squared", N_ROWS), seed=0)
    size = subsets.shape[1]
    solution = solve_subsets(X, labels, subsets, kernel=kernel)
    n_solver = J * size * (size + 1) / 2 * N_FEATURES + 2 * size * int(solution.n_iter.sum())
    voters = gather_voters(X, solution, np.bincount(labels), kernel)
    n_kernels, n_sums = (np.count_nonzero(part.value) for part in (voters.rows, voters.lists))
    booth = Booth(voters, LANES, 0)
    table = (booth.block.table, booth.block.norms, booth.block.kernels)
    ballots.load_dense(X, 0, LANES, find_lines(X, voters.rows), *table[:2])

    def fill_kernels():
        for _ in range(N_BLOCKS):
            ballots.kernel_block(voters.rows, kernel, *table)

    def add_up():
        for _ in range(N_BLOCKS):
            ballots.vote_block(
                voters.lists, voters.intercept, voters.pairs, voters.order, table[2],
                booth.everyone, booth.counted, booth.ballots, booth.oob_ballots,
            )  # fmt: skip

    single = voters.intercept.dtype.type
    return {
        "solver": (n_solver, np.float64, lambda: solve_subsets(X, labels, subsets, kernel=kernel)),
        "votes": (N_ROWS * (n_kernels + n_sums), single, lambda: count_votes(voters, X)),
        "votes: kernel values": (N_BLOCKS * LANES * n_kernels, single, fill_kernels),
        "votes: weighted sums": (N_BLOCKS * LANES * n_sums, single, add_up),
    }


def measure_loops(n_times):
    """Return the table of both loops beside the peak; the votes as a whole and in their two parts."""
    lines = []
    for name, (n_operations, dtype, work) in list_works().items():
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
    size = subset_size("log_squared", N_ROWS)
    note = f"{N_ROWS} x {N_FEATURES} rows, J={J}, s={size}, one thread, best of {n_times}"
    return {"note": note, "lines": lines}


def main():
    print(json.dumps(measure_loops(5), indent=1))


if __name__ == "__main__":
    main()

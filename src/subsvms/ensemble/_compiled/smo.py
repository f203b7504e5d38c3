"""The compiled solver: the kernel matrix of a few rows, and sequential minimal optimisation on it.

The dual of one SVM, with signed multipliers b_i = y_i a_i (so that y does not appear in the loops), is

    minimise over b   1/2 b'(K + diag(r)) b - y'b    subject to   l_i <= b_i <= h_i,  sum_i b_i = 0,

where r_i = 1/C_i and b_i y_i >= 0 for the squared hinge, r_i = 0 and 0 <= b_i y_i <= C_i for the hinge.
With the gradient g = (K + diag(r)) b - y, all free b_i share g_i = -intercept at the optimum. Rows with
y_i = 0 are not in the problem: their limits are zero.
"""

import numpy as np

from subsvms.ensemble._compiled.loops import OPTIONS, compiled, inlined, inner, to_kernel, weighted_sum
from subsvms.ensemble._rows import PAD

ROW_BITS = np.int64((1 << 20) - 1)  # a problem has at most a million rows
FLAT = 1e-12  # replaces a curvature of zero: two equal rows with the hinge loss
FAR = 1e3  # times the largest possible coefficient, also after a warm start: it has diverged
SOLVE_LANES = 128  # rows per block while a kernel matrix is filled
TABLE_NUMBERS = 1 << 22  # a block has fewer lanes if its table would hold more numbers than this
CLOSER = 10.0  # at violation tol the error of a decision value can exceed tol (measured): go further
FINISHED, CUT, NO_KERNEL = 0, 1, 2  # how a problem ended


@inner
def sparse_products(rows, member, table, line, K):
    """Fill the upper half of K with inner products, a lane block at a time; leave the table zero."""
    n, n_lanes = member.shape[0], table.shape[1]
    for first in range(0, n, n_lanes):
        last = min(first + n_lanes, n)
        for c in range(first, last):
            for k in range(rows.pointer[member[c]], rows.pointer[member[c] + 1]):
                table[rows.column[k], c - first] += rows.value[k]  # padding adds nothing
        for i in range(last):
            a, z = rows.pointer[member[i]], rows.pointer[member[i] + 1]
            start = max(i, first)
            lane = (start - first) // PAD * PAD
            weighted_sum(table, rows.column, rows.value, a, z, lane, line)
            for c in range(start, last):
                K[i, c] = line[c - first]
        for c in range(first, last):
            for k in range(rows.pointer[member[c]], rows.pointer[member[c] + 1]):
                table[rows.column[k], c - first] = 0.0


def full_products(rows, member, picked, K):
    """Fill the upper half of K with inner products of rows whose lists are full."""
    n, width = picked.shape
    for i in range(n):
        a = rows.pointer[member[i]]
        for f in range(width):
            picked[i, f] = rows.value[a + f]
    for i in range(n):
        for c in range(i, n):
            total = 0.0
            for f in range(width):
                total += picked[i, f] * picked[c, f]
            K[i, c] = total


# The only sum that may be reordered: always in the same way, since all rows have the same width.
full_products = inner(full_products, fastmath=OPTIONS["fastmath"] | {"reassoc"})


@inner
def finish_kernel(kernel, rows, member, norms, K):
    """Turn the inner products in the upper half of K into kernel values, then mirror them."""
    n = member.shape[0]
    for i in range(n):
        norms[i] = rows.norm[member[i]]
    for i in range(n):
        to_kernel(kernel, norms[i], norms, i, n, K[i])
    for i in range(n):
        for c in range(i):
            K[i, c] = K[c, i]


@inlined
def ranked(x, k):
    """Return an integer that sorts as the float x does and contains the row number k.

    The bits of a float sort like integers once those of negative numbers are inverted. The row
    number replaces the last 20 of the 52 bits of the fraction. Compilers vectorise the search for the
    largest integer, but not for the largest float or its position.
    """
    bits = np.float64(x).view(np.int64)
    bits ^= (bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF)
    return (bits & ~ROW_BITS) | k


@inner
def descend(K, ridge, diagonal, low, high, violation, max_steps, coef, gradient):
    """Improve coef and its gradient until no pair violates the optimality conditions by `violation`.

    A step moves coef[i] up and coef[j] down by the same amount, to the exact minimum along the pair.
    Row i has the smallest gradient among those that can go up; row j can go down and gains most with i
    in the quadratic model (Fan, Chen and Lin 2005, WSS 2). A step takes two passes over the rows: one
    moves the gradient and finds the next i, one finds j. They are in one function because a
    call inside the loop would count references to every array, which costs more than the step.
    Return the number of steps and how it ended. With a ridge 1/C every pair curves upwards, and since
    the dual value rises from zero, |coef| <= 2 C sqrt(n); otherwise K is not positive semi-definite,
    the objective may have no minimum, and further steps would only diverge.
    """
    n, least_ridge = coef.shape[0], np.inf
    for k in range(n):
        least_ridge = min(least_ridge, ridge[k])
    most = np.inf if least_ridge == 0.0 else FAR * np.sqrt(n) / least_ridge
    n_steps, i, j, step = 0, 0, 0, 0.0
    while True:
        key = ranked(np.inf, 0)
        for k in range(n):
            moved = gradient[k] + step * (K[i, k] - K[j, k])
            gradient[k] = moved
            key = min(key, ranked(moved if coef[k] < high[k] else np.inf, k))
        i = key & ROW_BITS

        least, own = gradient[i], diagonal[i]
        best, worst = ranked(0.0, 0), ranked(0.0, 0)
        for k in range(n):
            excess = gradient[k] - least
            excess = excess if coef[k] > low[k] and excess > 0.0 else 0.0
            curvature = own + diagonal[k] - 2.0 * K[i, k]
            curvature = curvature if curvature > FLAT else FLAT
            worst = max(worst, ranked(excess, k))
            best = max(best, ranked(excess * excess / curvature, k))
        j, worst = best & ROW_BITS, worst & ROW_BITS
        unfinished = coef[worst] > low[worst] and gradient[worst] - least > violation
        if not unfinished or n_steps >= max_steps:
            return n_steps, CUT if unfinished else FINISHED

        curvature = own + diagonal[j] - 2.0 * K[i, j]
        room_up, room_down = high[i] - coef[i], coef[j] - low[j]
        if ridge[i] > 0.0 and (curvature <= 0.0 or abs(coef[i]) > most):
            return n_steps, NO_KERNEL
        step = min((gradient[j] - least) / max(curvature, FLAT), min(room_up, room_down))
        # A step that reaches a limit lands on it exactly, so that "at the limit" is an equality.
        coef[i] = high[i] if step == room_up else coef[i] + step
        coef[j] = low[j] if step == room_down else coef[j] - step
        gradient[i] += step * ridge[i]
        gradient[j] -= step * ridge[j]
        n_steps += 1


@inner
def intercept_and_gap(ridge, low, high, target, coef, gradient):
    """Return the intercept and the duality gap as a share of the primal value.

    primal = 1/2 b'Kb + sum_i loss_i and dual = y'b - 1/2 b'(K + diag(r)) b, where the loss is
    slack^2 / (2 r_i) for the squared hinge and C_i slack for the hinge.
    """
    n_free, total, least, most = 0, 0.0, np.inf, -np.inf
    for k in range(coef.shape[0]):
        if low[k] < coef[k] < high[k]:
            n_free += 1
            total += gradient[k]
        if coef[k] < high[k]:
            least = min(least, gradient[k])
        if coef[k] > low[k]:
            most = max(most, gradient[k])
    intercept = -total / n_free if n_free else -(least + most) / 2.0
    quadratic, linear, ridges, loss = 0.0, 0.0, 0.0, 0.0
    for k in range(coef.shape[0]):
        if target[k] != 0.0:
            value = gradient[k] + target[k] - ridge[k] * coef[k]
            quadratic += coef[k] * value
            linear += coef[k] * target[k]
            ridges += ridge[k] * coef[k] * coef[k]
            slack = max(1.0 - target[k] * (value + intercept), 0.0)
            loss += slack * slack / (2.0 * ridge[k]) if ridge[k] > 0 else slack * (high[k] - low[k])
    primal = quadratic / 2.0 + loss
    gap = primal - (linear - quadratic / 2.0 - ridges / 2.0)
    return intercept, max(gap, 0.0) / max(primal, 1e-300)


@inner
def set_limits(K, target, C_negative, C_positive, squared, ridge, diagonal, low, high):
    """Write the limits, the ridge and the diagonal of K plus the ridge."""
    for k in range(target.shape[0]):
        C = C_positive if target[k] > 0 else C_negative
        limit = np.inf if squared else C
        ridge[k] = 1.0 / C if squared else 0.0
        diagonal[k] = K[k, k] + ridge[k]
        low[k] = -limit if target[k] < 0 else 0.0
        high[k] = limit if target[k] > 0 else 0.0


@inner
def solve_problem(K, target, C_negative, C_positive, squared, tol, max_iter, coef, gradient, work):
    """Solve one SVM from coef and its gradient; return intercept, gap, steps and how it ended.

    `work` is scratch memory of shape (4, n). A problem with one class has no solution: f is that class
    everywhere, and coef must be zero on entry.
    """
    most, least = 0.0, 0.0
    for k in range(target.shape[0]):
        most = max(most, target[k])
        least = min(least, target[k])
    if most + least != 0.0 or most == 0.0:
        return most + least, 0.0, 0, FINISHED
    ridge, diagonal, low, high = work[0], work[1], work[2], work[3]
    set_limits(K, target, C_negative, C_positive, squared, ridge, diagonal, low, high)
    n_iter, violation = 0, tol / CLOSER
    while True:
        n_steps, ending = descend(K, ridge, diagonal, low, high, violation, max_iter - n_iter, coef, gradient)
        n_iter += n_steps
        intercept, gap = intercept_and_gap(ridge, low, high, target, coef, gradient)
        if gap <= tol or ending != FINISHED:
            return intercept, gap, n_iter, ending
        if violation < 1e-12:  # rounding allows no more
            return intercept, gap, n_iter, CUT
        violation /= 10.0  # small violations of many rows can add up with the hinge loss


@compiled
def fill_full(first, last, rows, kernel, start, member, longest, matrices):
    """Write the kernel matrices of problems first to last - 1, end to end; the rows have full lists."""
    picked, norms = np.empty((longest, -(-rows.n_columns // PAD) * PAD)), np.empty(longest)
    begin = 0
    for q in range(first, last):
        mine, n = member[start[q] : start[q + 1]], start[q + 1] - start[q]
        K = matrices[begin : begin + n * n].reshape(n, n)
        full_products(rows, mine, picked[:n], K)
        finish_kernel(kernel, rows, mine, norms, K)
        begin += n * n


@compiled
def fill_sparse(first, last, rows, kernel, start, member, longest, matrices):
    """Do the same for rows whose lists name their nonzeros."""
    fitting = max(TABLE_NUMBERS // (PAD * max(rows.n_columns, 1)), 1) * PAD
    n_lanes = min(-(-longest // PAD) * PAD, SOLVE_LANES, fitting)
    table, line, norms = np.zeros((rows.n_columns, n_lanes)), np.empty(n_lanes), np.empty(longest)
    begin = 0
    for q in range(first, last):
        mine, n = member[start[q] : start[q + 1]], start[q + 1] - start[q]
        K = matrices[begin : begin + n * n].reshape(n, n)
        sparse_products(rows, mine, table, line, K)
        finish_kernel(kernel, rows, mine, norms, K)
        begin += n * n


@compiled
def fill_given(first, last, gram, start, member, matrices):
    """Do the same for a kernel that is given for all rows."""
    begin = 0
    for q in range(first, last):
        mine, n = member[start[q] : start[q + 1]], start[q + 1] - start[q]
        K = matrices[begin : begin + n * n].reshape(n, n)
        for i in range(n):
            line = gram[mine[i]]
            for c in range(n):
                K[i, c] = line[mine[c]]
        begin += n * n


@compiled
def solve_range(
    first, last, matrices, start, target, C_negative, C_positive,
    squared, tol, max_iter, work, coef, intercept, gap, n_iter, ending,
):  # fmt: skip
    """Solve problems first to last - 1, each on its own kernel matrix.

    `work` is scratch memory of five times the rows of the longest problem.
    """
    begin = 0
    for q in range(first, last):
        a, z = start[q], start[q + 1]
        n = z - a
        K, gradient = matrices[begin : begin + n * n].reshape(n, n), work[:n]
        begin += n * n
        for k in range(n):
            coef[a + k] = 0.0
            gradient[k] = -target[a + k]
        intercept[q], gap[q], n_iter[q], ending[q] = solve_problem(
            K, target[a:z], C_negative[q], C_positive[q], squared, tol, max_iter,
            coef[a:z], gradient, work[n : 5 * n].reshape(4, n),
        )  # fmt: skip

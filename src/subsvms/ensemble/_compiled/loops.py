"""How loops are compiled, and the two that solver and votes share: weighted sums and kernel values.

Every loop runs without the interpreter's lock on arrays that its caller made, so plain Python threads
run them side by side: no threading layer that does not survive a fork, no processes, no global state.
Nothing here depends on how the work is divided, so any number of threads gives the same bits.

Rows are passed as padded lists of nonzeros (`_rows.Rows`) or as a *table*: a transposed block of rows,
one line per feature and one *lane* per row. Then the inner products of one row with a block, and the
decision values of one SVM on a block, are the same thing: a weighted sum of lines of a table.
"""

from typing import Any

import numpy as np
from numba import njit

from subsvms.ensemble._rows import LN_2, PAD, POLY, RBF

UNSIGNED = np.uint64  # a loop that may start below zero is checked for wraparound and not vectorised

# No flag lets the compiler reorder a sum: the order of operations is part of the result.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nnan", "nsz"}}


def compiled(function, **more):
    """Compile at the first call and cache the machine code on disk, if there is a writable folder."""
    options = OPTIONS | more
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # neither the install folder nor the user's cache folder is writable
        return njit(**options)(function)


def inner(function, **more):
    """Compile for calls from compiled code only: without the wrappers for calls from Python and C.

    They took half of the time that the first run spends compiling.
    """
    options = OPTIONS | more | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(**options)(function)


def inlined(function):
    """Compile into the caller: a call would count references to every array that is passed."""
    return njit(inline="always", **OPTIONS)(function)


@inlined
def power32(y):
    """Return 2^y for y <= 0 in single precision; unlike the C library's, it vectorises; error 2e-7.

    y = n + r with n whole and |r| <= 1/2, and 2^r is a polynomial whose largest error is least, exact at 0.
    Adding 1.5 * 2^23 rounds to a whole number and leaves it in the last bits, ready to be an exponent. The
    polynomial is added up in pairs, so that its steps need not wait for each other.
    """
    y = max(y, np.float32(-126.0))
    shifted = y + np.float32(12582912.0)
    r = y - (shifted - np.float32(12582912.0))
    square = r * r
    low = np.float32(0.24022242) * r + np.float32(0.693147)
    high = np.float32(0.009671513) * r + np.float32(0.055507336)
    p = ((np.float32(0.0013264727) * square + high) * square + low) * r + np.float32(1.0)
    n = np.float32(shifted).view(np.int32) << np.int32(23)
    return np.int32(np.float32(p).view(np.int32) + n).view(np.float32)


@inlined
def power64(y):
    """Return 2^y for y <= 0 as `power32` does, by Taylor's series; error 3e-16."""
    y = max(y, -1022.0)
    shifted = y + 6755399441055744.0
    r = (y - (shifted - 6755399441055744.0)) * LN_2
    square = r * r
    fourth = square * square
    low = (r * (1.0 / 2.0) + 1.0) + (r * (1.0 / 24.0) + 1.0 / 6.0) * square
    middle = (r * (1.0 / 720.0) + 1.0 / 120.0) + (r * (1.0 / 40320.0) + 1.0 / 5040.0) * square
    high = (r * (1.0 / 3628800.0) + 1.0 / 362880.0) + (r * (1.0 / 479001600.0) + 1.0 / 39916800.0) * square
    p = ((high * fourth + middle) * fourth + low) * r + 1.0
    n = np.float64(shifted).view(np.int64) << np.int64(52)
    return np.int64(np.float64(p).view(np.int64) + n).view(np.float64)


@inner
def weighted_sum(table, line, weight, first, last, lane, out):
    """Set out[b] to the sum over k of weight[k] table[line[k], b] for b >= lane, PAD terms at a time."""
    lane, n_lanes = UNSIGNED(lane), UNSIGNED(table.shape[1])
    for b in range(lane, n_lanes):
        out[b] = 0.0
    for k in range(first, last, PAD):
        i0, i1, i2, i3 = line[k], line[k + 1], line[k + 2], line[k + 3]
        i4, i5, i6, i7 = line[k + 4], line[k + 5], line[k + 6], line[k + 7]
        w0, w1, w2, w3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        w4, w5, w6, w7 = weight[k + 4], weight[k + 5], weight[k + 6], weight[k + 7]
        for b in range(lane, n_lanes):
            total = out[b] + w0 * table[i0, b] + w1 * table[i1, b] + w2 * table[i2, b] + w3 * table[i3, b]
            out[b] = total + w4 * table[i4, b] + w5 * table[i5, b] + w6 * table[i6, b] + w7 * table[i7, b]


@inner
def four_sums(table, weight, k0, k1, k2, k3, out0, out1, out2, out3):
    """Do the same with all lines for four lists of weights, which begin at k0 to k3.

    Each value of the table is read once for all four, so this is limited by arithmetic, not by reading.
    """
    n_lanes = UNSIGNED(table.shape[1])
    for b in range(n_lanes):
        out0[b], out1[b], out2[b], out3[b] = 0.0, 0.0, 0.0, 0.0
    for i in range(0, table.shape[0], 4):
        s0, s1, s2, s3 = weight[k0 + i], weight[k0 + i + 1], weight[k0 + i + 2], weight[k0 + i + 3]
        t0, t1, t2, t3 = weight[k1 + i], weight[k1 + i + 1], weight[k1 + i + 2], weight[k1 + i + 3]
        v0, v1, v2, v3 = weight[k2 + i], weight[k2 + i + 1], weight[k2 + i + 2], weight[k2 + i + 3]
        w0, w1, w2, w3 = weight[k3 + i], weight[k3 + i + 1], weight[k3 + i + 2], weight[k3 + i + 3]
        for b in range(n_lanes):
            x0, x1, x2, x3 = table[i, b], table[i + 1, b], table[i + 2, b], table[i + 3, b]
            out0[b] = out0[b] + s0 * x0 + s1 * x1 + s2 * x2 + s3 * x3
            out1[b] = out1[b] + t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3
            out2[b] = out2[b] + v0 * x0 + v1 * x1 + v2 * x2 + v3 * x3
            out3[b] = out3[b] + w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3


@inner
def to_kernel(kernel, norm, norms, first, last, out):
    """Turn the inner products out[first:last] of one row with a block into kernel values."""
    first, last = UNSIGNED(first), UNSIGNED(last)
    if kernel.kind == RBF:
        rate = -kernel.gamma / LN_2  # exp(-gamma t) = 2^(rate t)
        if out.itemsize == 4:
            slope, two = np.float32(rate), np.float32(2.0)  # a literal would make it double precision
            for b in range(first, last):
                out[b] = power32(min(slope * (norm + norms[b] - two * out[b]), np.float32(0.0)))
        else:
            for b in range(first, last):
                out[b] = power64(min(rate * (norm + norms[b] - 2.0 * out[b]), 0.0))
    elif kernel.kind == POLY:
        for b in range(first, last):
            out[b] = (kernel.gamma * out[b] + kernel.coef0) ** kernel.degree

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

from subsvms.ensemble._rows import PAD, POLY, RBF

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
def exp32(x):
    """Return exp(x) for x <= 0 in single precision; unlike the C library's, it vectorises.

    exp(x) = 2^n exp(r) with |r| <= ln(2)/2 and the Cephes polynomial for exp(r); error 1e-7. Adding
    1.5 * 2^23 rounds to a whole number and leaves it in the last bits, ready to be an exponent.
    """
    x = max(x, np.float32(-87.0))
    shifted = x * np.float32(1.44269504) + np.float32(12582912.0)
    n = shifted - np.float32(12582912.0)
    r = x - n * np.float32(0.693359375)  # ln 2 in two parts, the first exact in ten bits
    r = r + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * r * r + r + np.float32(1.0)
    power = (np.float32(shifted).view(np.int32) + np.int32(127)) << np.int32(23)
    return p * np.int32(power).view(np.float32)


@inlined
def exp64(x):
    """Return exp(x) for x <= 0 as `exp32` does, by Taylor's series; error 3e-16."""
    x = max(x, -708.0)
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    n = shifted - 6755399441055744.0
    r = x - n * 6.93145751953125e-1
    r = r - n * 1.42860682030941723212e-6
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r * r + r + 1.0
    power = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return p * np.int64(power).view(np.float64)


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
            out[b] += ((w0 * table[i0, b] + w1 * table[i1, b]) + (w2 * table[i2, b] + w3 * table[i3, b])) + (
                (w4 * table[i4, b] + w5 * table[i5, b]) + (w6 * table[i6, b] + w7 * table[i7, b])
            )


@inner
def to_kernel(kernel, norm, norms, first, last, out):
    """Turn the inner products out[first:last] of one row with a block into kernel values."""
    first, last = UNSIGNED(first), UNSIGNED(last)
    if kernel.kind == RBF:
        if out.itemsize == 4:
            gamma = np.float32(kernel.gamma)
            for b in range(first, last):
                distance = np.float32(max(norm + norms[b] - 2 * out[b], np.float32(0.0)))
                out[b] = exp32(-gamma * distance)
        else:
            for b in range(first, last):
                out[b] = exp64(-kernel.gamma * max(norm + norms[b] - 2 * out[b], 0.0))
    elif kernel.kind == POLY:
        for b in range(first, last):
            out[b] = (kernel.gamma * out[b] + kernel.coef0) ** kernel.degree

"""The compiled weights of a linear committee: every member on one block of rows at a time.

Rows are lanes, as in `ballots`. A member's weights w solve L L' w = k, so they come from two triangular
systems whose unknowns are lines of a table: each is a weighted sum of the lines before it, or after it.
"""

import numpy as np

from subsvms.ensemble._compiled.loops import UNSIGNED, compiled, weighted_sum
from subsvms.ensemble._rows import PAD

START = np.int64(0)


@compiled
def weigh_block(kernels, subsets, places, lower, upper, diagonal, line, counted, scratch, weights, mass):
    """Add the weights of every member to `weights`, and their absolute values to `mass`, where they count.

    `kernels` has a line for each training row in use, and `places` the lines of each subset. `lower` and
    `upper` are L without its diagonal, and its transpose, filled up with zeros to a multiple of `PAD`
    columns; `line` counts the columns, again in each row. `scratch` has three tables: the right-hand side,
    which becomes the weights, the solution of the first system, and a line.
    """
    n_members, size = subsets.shape
    width, n_lanes = lower.shape[2], UNSIGNED(kernels.shape[1])
    right, middle, out = scratch
    for j in range(n_members):
        below, above = lower[j].ravel(), upper[j].ravel()
        for i in range(size):
            weighted_sum(middle, line, below, i * width, i * width + -(-i // PAD) * PAD, START, out[0])
            for b in range(n_lanes):
                middle[i, b] = (kernels[places[j, i], b] + 1.0 - out[0, b]) / diagonal[j, i]
        for i in range(size - 1, -1, -1):
            first = i * width + (i + 1) // PAD * PAD
            weighted_sum(right, line, above, first, (i + 1) * width, START, out[0])
            for b in range(n_lanes):
                right[i, b] = (middle[i, b] - out[0, b]) / diagonal[j, i]
        for i in range(size):
            for b in range(n_lanes):
                w = right[i, b] * counted[j, b]
                weights[subsets[j, i], b] += w
                mass[b] += abs(w)

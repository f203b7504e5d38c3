"""The compiled weights of a linear committee: every member on one block of rows at a time.

Rows are lanes, as in `ballots`. A member's weights are the product of its inverse matrix and its lines of the
kernel, four lines at a time.
"""

from subsvms.ensemble._compiled.loops import UNSIGNED, compiled, four_sums


@compiled
def weigh_block(kernels, subsets, places, inverses, counted, scratch, weights, mass):
    """Add the weights of every member to `weights`, and their absolute values to `mass`, where they count.

    `kernels` has a line for each training row in use, and `places` the lines of each subset. `inverses` are
    filled up with zeros to a width that four divides. `scratch` has two tables of that many lines: the
    kernel with the rows of a subset, zero after these, and its weights.
    """
    n_members, size = subsets.shape
    width, n_lanes = inverses.shape[2], UNSIGNED(kernels.shape[1])
    own, solved = scratch
    for j in range(n_members):
        inverse = inverses[j].ravel()
        for i in range(size):
            line = places[j, i]
            for b in range(n_lanes):
                own[i, b] = kernels[line, b] + 1.0
        for i in range(0, width, 4):
            q, r, s = (i + 1) * width, (i + 2) * width, (i + 3) * width
            four_sums(
                own, inverse, i * width, q, r, s, solved[i], solved[i + 1], solved[i + 2], solved[i + 3]
            )
        for i in range(size):
            row = subsets[j, i]
            for b in range(n_lanes):
                w = solved[i, b] * counted[j, b]
                weights[row, b] += w
                mass[b] += abs(w)


@compiled
def fill_rows(weights, share, a):
    """Set each line of `a` to a lane of `weights` times its share, a few lines of `weights` at a time."""
    n = a.shape[1]
    for first in range(0, n, 16):
        last = min(first + 16, n)
        for x in range(a.shape[0]):
            for i in range(first, last):
                a[x, i] = weights[i, x] * share[x]


@compiled
def sum_classes(a, labels, sums):
    """Add the weights of the labels of each class to `sums`, row by row."""
    for x in range(a.shape[0]):
        for i in range(a.shape[1]):
            sums[x, labels[i]] += a[x, i]

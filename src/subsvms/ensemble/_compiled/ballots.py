"""The compiled vote, and the weights of a linear committee: every SVM or member on one block at a time.

A block is loaded as a table, one line per feature and one lane per row. The kernel between the block and
the training rows that any SVM uses is computed once, as a second table, and the decision values of an SVM are
a short weighted sum of its lines. All blocks have the same number of lanes, however few rows they hold, so a
row gets the same bits alone as among a million. The weights of a member of a committee are the product of its
inverse matrix and its lines of the kernel, four lines at a time.
"""

import numpy as np

from subsvms.ensemble._compiled.loops import UNSIGNED, compiled, four_sums, inner, to_kernel, weighted_sum
from subsvms.ensemble._rows import HUGE

START = np.int64(0)  # a literal 0 has a type of its own, so functions that take it would be compiled twice


@compiled
def load_dense(X, first, last, line, table, norms):
    """Transpose rows first to last - 1 of a matrix into the table, and write their squared lengths.

    `line` is the line of the table for each feature, -1 for those that are not needed.
    """
    for b in range(last - first):
        total = 0.0
        for f in range(X.shape[1]):
            x = min(max(np.float64(X[first + b, f]), -HUGE), HUGE)
            total += x * x
            if line[f] >= 0:
                table[line[f], b] = x
        norms[b] = total


@compiled
def load_sparse(pointer, line, data, first, last, table, norms):
    """Do the same for CSR rows, in which no index occurs twice; `line` is that of each stored value.

    The table must be zero: clearing all of it for each block would take longer than filling it.
    """
    for b in range(last - first):
        total = 0.0
        for k in range(pointer[first + b], pointer[first + b + 1]):
            x = min(max(np.float64(data[k]), -HUGE), HUGE)
            total += x * x
            if line[k] >= 0:
                table[line[k], b] = x
        norms[b] = total


@compiled
def clear_sparse(pointer, line, first, last, table):
    """Set to zero what `load_sparse` wrote."""
    for b in range(last - first):
        for k in range(pointer[first + b], pointer[first + b + 1]):
            if line[k] >= 0:
                table[line[k], b] = 0.0


@compiled
def kernel_block(rows, kernel, table, norms, out):
    """Fill out[p, b] with the kernel between training row p and row b of the block.

    The table has a multiple of `PAD` lines, and `out` a multiple of four.
    """
    n_rows, n_lanes, begin = rows.norm.shape[0], table.shape[1], rows.pointer
    for p in range(0, n_rows, 4):
        end = min(p + 4, n_rows)
        if rows.full:  # the last row fills up the last four, so that all are computed alike
            q, r, s = begin[min(p + 1, end - 1)], begin[min(p + 2, end - 1)], begin[end - 1]
            four_sums(table, rows.value, begin[p], q, r, s, out[p], out[p + 1], out[p + 2], out[p + 3])
        for i in range(p, end):
            if not rows.full:
                weighted_sum(table, rows.column, rows.value, begin[i], begin[i + 1], START, out[i])
            to_kernel(kernel, rows.norm[i], norms, START, n_lanes, out[i])


@inner
def tally_two(value, intercept, tie, counted, wins, sums, voters):
    """Add one SVM's vote between two classes in the lanes where it counts."""
    for b in range(value.shape[0]):
        f = value[b] + intercept
        wins[1, b] += counted[b] if f > 0 or (f == 0 and tie == 1) else 0
        sums[1, b] += min(max(f, -1.0), 1.0) * counted[b]
        voters[b] += counted[b]


@inner
def tally_many(scores, best, winner, order, counted, wins, sums, voters):
    """Add one vote among several classes: for the largest mean of clipped values against the others."""
    n_classes, n_lanes = scores.shape
    for b in range(n_lanes):
        best[b] = -np.inf
        voters[b] += counted[b]
    for c in order:  # the largest class first, so that it wins a tie
        for b in range(n_lanes):
            winner[b] = c if scores[c, b] > best[b] else winner[b]
            best[b] = max(best[b], scores[c, b])
    for c in range(n_classes):
        for b in range(n_lanes):
            wins[c, b] += counted[b] if winner[b] == c else 0
            sums[c, b] += scores[c, b] * counted[b] / (n_classes - 1)


@compiled
def vote_block(lists, intercept, pairs, order, table, counted, oob_counted, ballots, oob_ballots):
    """Let every SVM vote on one block; `counted` is all ones, `oob_counted` has a line per subset.

    `ballots` and `oob_ballots` are (wins, sums, voters); if `oob_counted` has no lines, the second
    is not changed.
    """
    n_classes, n_pairs, n_lanes = len(order), len(pairs), table.shape[1]
    wins, sums, voters = ballots
    oob_wins, oob_sums, oob_voters = oob_ballots
    value = np.empty(n_lanes, table.dtype)
    scores = np.empty((n_classes if n_classes > 2 else 0, n_lanes))
    best, winner = np.empty(n_lanes), np.zeros(n_lanes, np.int64)
    for j in range(intercept.shape[0] // n_pairs):
        for c in range(scores.shape[0]):
            for b in range(n_lanes):
                scores[c, b] = 0.0
        for p in range(n_pairs):
            q = j * n_pairs + p
            weighted_sum(
                table, lists.column, lists.value, lists.pointer[q], lists.pointer[q + 1], START, value
            )
            if n_classes > 2:
                lower, upper = pairs[p]
                for b in range(n_lanes):
                    f = min(max(value[b] + intercept[q], -1.0), 1.0)
                    scores[upper, b] += f
                    scores[lower, b] -= f
        if n_classes == 2:
            tally_two(value, intercept[j], order[0], counted, wins, sums, voters)
            if oob_counted.shape[0]:
                tally_two(value, intercept[j], order[0], oob_counted[j], oob_wins, oob_sums, oob_voters)
        else:
            tally_many(scores, best, winner, order, counted, wins, sums, voters)
            if oob_counted.shape[0]:
                tally_many(scores, best, winner, order, oob_counted[j], oob_wins, oob_sums, oob_voters)


@compiled
def mark_out_of_bag(pointer, subset, first, last, counted):
    """Write counted[j, b] = 0 where subset j contains row first + b, 1 elsewhere."""
    counted[:] = 1
    for b in range(last - first):
        for k in range(pointer[first + b], pointer[first + b + 1]):
            counted[subset[k], b] = 0


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

"""The compiled part of exact certificates: what each flip takes from a margin, and how many it survives."""

import numpy as np

from subsvms.ensemble._compiled.loops import compiled


@compiled
def fill_gains(a, labels, sizes, verdict, rival, gain):
    """Set gain[i] to the most that changing label i can take from the margin of the verdict over a rival.

    Between two classes this is exact and can be negative; among several it is 0 or more, for the best
    of the labels that it could become.
    """
    n = len(a)
    if len(sizes) == 2:
        total, scale = a.sum(), 1.0 / (float(sizes[0]) * float(sizes[1]))
        for i in range(n):
            d = (n * a[i] - total) * scale
            gain[i] = d if labels[i] == verdict else -d
    else:
        for i in range(n):
            held = a[i] if labels[i] == verdict else -a[i] if labels[i] == rival else 0.0
            gain[i] = abs(a[i]) + held


@compiled
def count_below(gain, limit, part):
    """Return the largest m for which the m largest positive gains add up to less than the limit.

    Gains that are a small share of the limit are left out if the others are enough, as they mostly are. As in
    quickselect, `part` is divided into gains above a pivot, equal to it and below it; the sum of the first
    tells which of them holds the answer.
    """
    last = 0
    for share in (0.004, 0.0):
        least, total, last = share * limit, 0.0, 0
        for i in range(len(gain)):
            if gain[i] > least:
                part[last] = gain[i]
                total += gain[i]
                last += 1
        if total >= limit:
            break
    first, count = 0, 0
    while first < last and limit > 0:
        pivot, total = part[(first + last) // 2], 0.0
        above, k, below = first, first, last
        while k < below:  # Dijkstra's three-way partition
            value = part[k]
            if value > pivot:
                part[k], part[above] = part[above], value
                total += value
                above += 1
                k += 1
            elif value == pivot:
                k += 1
            else:
                below -= 1
                part[k], part[below] = part[below], value
        if total >= limit:
            last = above
            continue
        limit -= total
        count += above - first
        for _ in range(above, below):
            if pivot >= limit:
                return count
            limit -= pivot
            count += 1
        first = below
    return count


@compiled
def certify_block(a, labels, sizes, scores, verdicts, slack, withstands, rivals):
    """Fill `withstands` and the rival that comes first, for every row of a block."""
    gain, part = np.empty(a.shape[1]), np.empty(a.shape[1])
    for x in range(a.shape[0]):
        withstands[x] = a.shape[1]
        nearest = np.inf
        for c in range(len(sizes)):
            if c == verdicts[x]:
                continue
            margin = scores[x, verdicts[x]] - scores[x, c]
            fill_gains(a[x], labels, sizes, verdicts[x], c, gain)
            m = count_below(gain, margin - slack[x], part)
            if m < withstands[x] or (m == withstands[x] and margin < nearest):
                withstands[x], rivals[x], nearest = m, c, margin


@compiled
def find_carriers(a, labels, sizes, verdicts, rivals, margins, carriers, carried):
    """Fill the labels of largest positive gain, the largest first, and their shares of the margin."""
    gain, most = np.empty(a.shape[1]), carriers.shape[1]
    for x in range(a.shape[0]):
        fill_gains(a[x], labels, sizes, verdicts[x], rivals[x], gain)
        n_found, least = 0, 0.0
        for i in range(len(gain)):
            if gain[i] <= least:
                continue
            place = min(n_found, most - 1)
            while place > 0 and carried[x, place - 1] < gain[i]:
                carriers[x, place], carried[x, place] = carriers[x, place - 1], carried[x, place - 1]
                place -= 1
            carriers[x, place], carried[x, place] = i, gain[i]
            n_found = min(n_found + 1, most)
            least = carried[x, most - 1]  # 0 until all places are taken
        for k in range(n_found):
            carried[x, k] = carried[x, k] / margins[x] if margins[x] > 0 else 0.0


@compiled
def fill_shares(a, labels, sizes, scores, verdict, slack, unit, units):
    """Set units[i] to the share of a margin that changing label i takes, rounded up to whole units.

    Among several classes it is the largest share over the rivals. More than all of a margin is all of it.
    """
    gain = np.empty(len(a))
    units[:] = 0
    for c in range(len(sizes)):
        if c == verdict:
            continue
        fill_gains(a, labels, sizes, verdict, c, gain)
        scale = unit / (scores[verdict] - scores[c] - slack)
        for i in range(len(a)):
            share = np.int64(np.ceil(min(max(gain[i] * scale, 0.0), unit)))
            units[i] = max(units[i], share)

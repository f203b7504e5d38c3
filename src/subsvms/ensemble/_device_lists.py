"""Put the weights and training rows of SVMs into the order in which vote.cu reads them."""

from typing import NamedTuple

import numpy as np

from subsvms.ensemble._rows import Rows

SVMS = 16  # that a warp adds up side by side: a set
LINE_BYTES = 128  # of the kernel values of a training row with all rows of a block


class Lists(NamedTuple):
    """The lists of all SVMs in the order in which the warps of vote.cu read them."""

    starts: np.ndarray  # (n_warps,): where the terms of each warp begin, in bytes
    # two weights of each SVM of a set, and the places of their lines in the ring, in bytes; the lowest bit
    # of a place marks the last terms of a set in a step
    terms: np.ndarray


def schedule(counts: np.ndarray, n_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how many terms of each list are added in each step, and how many rounds each set is given.

    In step k the lines of the parts k + 2 - n_parts to k can be read. The lists of a set are added up side by
    side, in rounds, two terms of each in a round. The list with the most terms in lines about to be replaced
    decides how many rounds the set is given in a step, at least one. Needs of coming steps are spread evenly
    over the steps before, so that all warps have about as much to do in each step.

    Shapes: counts (n_steps, n_sets, n_lists); returns taken (n_steps, n_sets, n_lists), rounds (n_steps,
    n_sets).
    """
    arrived, n_steps = np.cumsum(counts, axis=0), len(counts)
    slack = min(n_parts - 2, n_steps - 1)
    due = np.concatenate([np.zeros_like(counts[:slack]), arrived[: n_steps - slack]])
    due[-1] = arrived[-1]  # what must have been added at the end of a step
    added = np.zeros_like(counts[0])
    taken, rounds = np.zeros_like(counts), np.zeros(counts.shape[:2], dtype=counts.dtype)
    for step in range(n_steps):
        for ahead, coming in enumerate(due[step : step + n_parts + 1]):
            needed = (-(-(coming - added) // 2)).max(axis=1)
            rounds[step] = np.maximum(rounds[step], (2 * needed + ahead) // (2 * ahead + 2))  # to the nearest
        there = arrived[step] - added
        rounds[step] = np.clip(rounds[step], 1, np.maximum((-(-there // 2)).max(axis=1), 1))
        taken[step] = np.minimum(there, 2 * rounds[step][:, None])
        added += taken[step]
    return taken, rounds


def cut_lists(lists: Rows, part: int, n_parts: int, n_warps: int, n_sets: int) -> Lists:
    """Return lists in the order in which they are read; those of SVMs beyond the last one are empty."""
    stored = lists.value != 0
    svm = np.repeat(np.arange(len(lists.pointer) - 1), np.diff(lists.pointer))[stored]
    line, weight = lists.column[stored], lists.value[stored]
    n_steps, n_all = -(-max(lists.n_columns, 1) // part), n_warps * n_sets  # of all warps
    n_lists = n_all * SVMS
    counts = np.bincount(line // part * n_lists + svm, minlength=n_steps * n_lists)
    taken, rounds = schedule(counts.reshape(n_steps, n_all, SVMS), n_parts)
    by_warp = rounds.reshape(n_steps, n_warps, n_sets).transpose(1, 0, 2)
    ends = np.cumsum(by_warp).reshape(by_warp.shape)
    starts = (ends - by_warp).transpose(1, 0, 2).ravel()

    by_list = taken.reshape(n_steps, n_lists).T.ravel()  # the terms of a list follow each other
    step = np.repeat(np.tile(np.arange(n_steps), n_lists), by_list)
    rank = np.arange(len(step)) - np.repeat(np.cumsum(by_list) - by_list, by_list)
    target = starts[step * n_all + svm // SVMS] + rank // 2, svm % SVMS, rank % 2
    kinds = [("weight", weight.dtype, (SVMS, 2)), ("place", np.int32, (SVMS, 2))]
    terms = np.zeros(ends[-1, -1, -1] + 1, dtype=kinds)  # one more is read
    newest = np.broadcast_to(np.arange(n_steps)[:, None] % n_parts * part, by_warp.shape)
    padding = np.repeat(newest.ravel(), by_warp.ravel())  # reads a line that nobody replaces
    terms["place"][:-1] = padding[:, None, None] * LINE_BYTES
    terms["weight"][target], terms["place"][target] = weight, line % (n_parts * part) * LINE_BYTES
    terms["place"][ends.ravel() - 1, :, 0] |= 1
    return Lists((starts[:n_all:n_sets] * terms.itemsize).astype(np.uint32), terms)


def expand_rows(rows: Rows, n_vectors: int) -> np.ndarray:
    """Return training rows as the columns of a matrix with so many columns; the rest are zero.

    It has a line for each feature, and lines of zeros up to a multiple of four. Doubles are in the order in
    which `compute` in vote.cu reads them.
    """
    n_lines = -(-rows.n_columns // 4) * 4
    matrix = np.zeros((n_lines, n_vectors), rows.value.dtype)
    owner = np.repeat(np.arange(len(rows.norm)), np.diff(rows.pointer))
    stored = rows.value != 0
    matrix[rows.column[stored], owner[stored]] = rows.value[stored]
    if matrix.itemsize == 4:
        return matrix
    return matrix.reshape(n_lines // 4, 4, n_vectors // 16, 2, 8).transpose(2, 0, 4, 1, 3)

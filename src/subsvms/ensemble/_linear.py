"""Tiny least squares machines whose values are linear in the labels.

Member j sees B_j, the s rows of smallest hash(seed, j, i): no label is looked at. With targets t, K~ = K + 1
(so that the intercept is penalised like everything else) and functions f of that kernel's space, it is

    minimise over f   sum_{i in B_j} (f(x_i) - t_i)^2 + lambda |f|^2,

and its value at a row x is the sum over B_j of w_ji(x) t_i, where

    w_j(x) = (K~[B_j, B_j] + lambda I)^-1 K~[B_j, x].

The mean over the members J_x that did not see x is the sum over the table of a_i(x) t_i,

    a_i(x) = mean over j in J_x of w_ji(x), which is 0 where i is not in B_j.

The weights a_i do not depend on the labels at all. They are computed in double precision, in blocks of rows,
by one inverse matrix for each member; the order of every sum is fixed, so any number of threads gives the
same bits.

Rounding. Let Y be the computed inverse of M = K~ + lambda I, R = I - Y M, u the unit roundoff and | | the
Frobenius norm. With k = M w, the exact product Y k is w - R w, and computing it adds s u |Y| |M| |w| at most
(Higham, "Accuracy and Stability of Numerical Algorithms", section 3.5); computing R has an error of at most
(s + 1) u |Y| |M|. As the absolute values of s numbers add up to at most sqrt(s) times their norm, the weights
of a member are off by at most the share

    sqrt(s) (|R| + (2 s + 1) u |Y| |M|)

of their absolute sum. `Members.rounding` is the largest such share, and adding up J members and n rows gives
(J + n) u on top.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from subsvms._columns import Table
from subsvms._effort import ONE_THREAD, Effort, run_pieces
from subsvms.ensemble._rows import PAD, Kernel, Rows, find_lines, gather_rows, take_lists
from subsvms.ensemble._sampling import hash_rows
from subsvms.ensemble._votes import Block, find_bags
from subsvms.exceptions import InputError

LANES = 64  # rows in a block; the tables of a subset of a hundred rows stay in the second cache
BLOCK_BYTES = 64 * 2**20  # of each of the three largest tables of a thread; blocks are smaller for its sake


class Members(NamedTuple):
    """The members of a linear committee, ready to weigh the labels of any row."""

    subsets: np.ndarray  # (n_members, size), int64, row numbers, increasing
    places: np.ndarray  # (n_members, size), int64, where these rows stand in `rows`
    inverses: np.ndarray  # (n_members, width, width), float64, of K~ + lambda I; zeros fill up to the width
    rows: Rows  # the training rows in use
    kernel: Kernel
    n_samples: int
    rounding: float  # a member's weights are off by at most this share of their absolute sum


class Weights(NamedTuple):
    """The weight of every label in the committee's values at some rows."""

    a: np.ndarray  # (n_rows, n_samples), float64; zero for rows that every member saw
    mass: np.ndarray  # (n_rows,), float64, mean absolute sum of a member's weights
    n_voters: np.ndarray  # (n_rows,), int64, members that did not see the row


def draw_blind(n_samples: int, n_subsets: int, size: int, *, seed: int) -> np.ndarray:
    """Return subsets (n_subsets, size) that depend on row numbers only: the rows of smallest hash."""
    rows = np.arange(n_samples)
    seeds = hash_rows(np.arange(n_subsets), seed)
    subsets = np.empty((n_subsets, size), dtype=np.int64)
    for subset, own in zip(subsets, seeds, strict=True):
        subset[:] = np.sort(np.argpartition(hash_rows(rows, own), size - 1)[:size])
    return subsets


def solve_members(X: Table, subsets: np.ndarray, kernel: Kernel, ridge: float) -> Members:
    """Return the members that saw these subsets, (n_members, size)."""
    used, places = np.unique(subsets, return_inverse=True)
    places = places.reshape(subsets.shape)
    rows = gather_rows(X, used)
    n_members, size = subsets.shape
    matrices = np.empty((n_members, size, size))
    for matrix, subset, place in zip(matrices, subsets, places, strict=True):
        block, own = Block(take_lists(rows, place), kernel, size), X[subset]
        matrix[:] = block.load(own, find_lines(own, rows), 0, size)[:size] + 1.0
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2  # equal but for rounding
    diagonal = np.arange(size)
    matrices[:, diagonal, diagonal] += ridge
    try:
        np.linalg.cholesky(matrices)  # fails where rounding has left no positive definite matrix
        inverses = np.linalg.inv(matrices)
    except np.linalg.LinAlgError:
        raise InputError(
            f"ridge must be large enough for the members' systems to be solved; got {ridge!r}: use a larger "
            "one, or scale the features to a range of about one."
        ) from None
    rounding = _bound_rounding(matrices, inverses)
    n_more = -size % PAD
    inverses = np.pad(inverses, ((0, 0), (0, n_more), (0, n_more)))
    return Members(subsets, places, inverses, rows, kernel, X.shape[0], rounding)


def _bound_rounding(matrices, inverses):
    """Return the largest share by which weights of a member can be off."""
    size, u = matrices.shape[1], np.finfo(np.float64).eps / 2
    with np.errstate(all="ignore"):
        left = np.linalg.norm(np.eye(size) - inverses @ matrices, axis=(1, 2))
        lengths = np.linalg.norm(inverses, axis=(1, 2)) * np.linalg.norm(matrices, axis=(1, 2))
        return float(np.sqrt(size) * np.max(left + (2 * size + 1) * u * lengths))


def visit_weights(
    members: Members, X: Table, seen: np.ndarray | None, work: Callable[[int, int, Weights], Any],
    effort: Effort = ONE_THREAD,
) -> list:  # fmt: skip
    """Call work(first, last, weights) for consecutive blocks of rows of X; return what it returns."""
    # `seen` are the numbers of these rows if they are training rows. Threads call it in any order; each holds
    # three tables of at most `BLOCK_BYTES`, or of 8 rows.
    from subsvms.ensemble._compiled import ballots  # here: importing numba takes a while

    lines = find_lines(X, members.rows)
    n_members = len(members.subsets)
    lanes = int(np.clip(BLOCK_BYTES // (8 * max(members.n_samples, 1)) // 8 * 8, 8, LANES))
    bags = None if seen is None else find_bags(members.subsets, members.n_samples, seen)
    width = members.inverses.shape[1]
    parts: dict[int, Any] = {}

    def weigh(first, last):
        kernels = Block(members.rows, members.kernel, lanes).load(X, lines, first, last)
        counted = np.ones((n_members, lanes), np.int32)
        if bags is not None:
            ballots.mark_out_of_bag(*bags, first, last, counted)
        scratch = np.zeros((width, lanes)), np.zeros((width, lanes))
        weights, mass = np.zeros((members.n_samples, lanes)), np.zeros(lanes)
        ballots.weigh_block(
            kernels, members.subsets, members.places, members.inverses, counted, scratch, weights, mass
        )
        n_voters = counted[:, : last - first].sum(axis=0, dtype=np.int64)
        share = 1.0 / np.maximum(n_voters, 1)
        a = np.empty((last - first, members.n_samples))
        ballots.fill_rows(weights, share, a)
        parts[first] = work(first, last, Weights(a, mass[: last - first] * share, n_voters))

    run_pieces(weigh, X.shape[0], lanes, effort)
    return [parts[first] for first in sorted(parts)]


def score_classes(weights: Weights, labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return what the verdict compares, of shape (n_rows, n_classes): S_c, or S_c / n_c for two classes."""
    from subsvms.ensemble._compiled import ballots  # here: importing numba takes a while

    sums = np.zeros((len(weights.a), len(sizes)))
    ballots.sum_classes(weights.a, labels, sums)  # unlike NumPy's, the order of this sum is always the same
    return sums / sizes if len(sizes) == 2 else sums

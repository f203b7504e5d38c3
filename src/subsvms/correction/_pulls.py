"""Find the training rows that speak most for and against a judgement.

SVM j says of a row x, by its decision value before any clipping,

    f_j(x) = sum_i c_ji k(x_i, x) + b_j,    c_ji = y_i a_i summed over the times that j drew row i.

The mean over the SVMs that did not see x, the set O(x), is again a sum over training rows,

    mean_j f_j(x) = sum_i w_i(x) k(x_i, x) + mean_j b_j    with    w_i(x) = mean_{j in O(x)} c_ji,

and the *contribution* of row i is w_i(x) k(x_i, x), taken so that a positive one speaks for the proposed
class. With K classes only the SVMs of the pair in question, the class against and the class proposed, are
asked. Votes are signs and clipped values, so the contributions explain the mean of the unclipped values:
who pulls, and how hard, but not how each single vote fell.

No SVM in O(x) drew x itself, so a row's own weight is exactly zero: nobody is his own witness. A row that
every SVM saw has no witnesses at all.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from subsvms._typing import Table
from subsvms.ensemble._rows import LINEAR, POLY, PRECOMPUTED, Kernel, cut_huge
from subsvms.ensemble._votes import find_bags

BLOCK_BYTES = 64 * 2**20  # the temporaries of a block stay below this together


@dataclass(frozen=True)
class Witnesses:
    """The training rows that speak most for and against the class proposed for each row asked about.

    A share is the size of a contribution, divided by the sum of the sizes of all contributions.
    """

    rows: np.ndarray  # (n_asked,), row numbers
    supporting: np.ndarray  # (n_asked, n_witnesses), row numbers, strongest first; -1 where there are fewer
    supporting_share: np.ndarray  # (n_asked, n_witnesses), from 0 to 1
    opposing: np.ndarray  # (n_asked, n_witnesses), as `supporting`
    opposing_share: np.ndarray  # (n_asked, n_witnesses), from 0 to 1


def find_witnesses(
    X: Table,
    labels: np.ndarray,
    subsets: np.ndarray,
    dual_coef: np.ndarray,
    rows: ArrayLike,
    against: ArrayLike,
    proposed: ArrayLike,
    *,
    kernel: Kernel,
    n_witnesses: int = 3,
) -> Witnesses:
    """Find who speaks for and against a class, among the training rows, on each row asked about.

    Beside a copy of the coefficients of one pair of classes and the list of who saw which row, the
    memory it takes does not grow with the table or with the number of rows asked about.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The training table; the kernel matrix where the kernel is precomputed.
    labels : ndarray of int of shape (n_samples,)
        Class numbers that the SVMs were trained with.
    subsets : ndarray of int of shape (n_subsets, size)
        Row numbers of each subset.
    dual_coef : ndarray of shape (n_subsets, size) or (n_subsets, n_classes - 1, size)
        Coefficient of each drawn row, as `Solution.dual_coef` has them.
    rows : array-like of int of shape (n_asked,)
        Row numbers to ask about, in any order.
    against, proposed : array-like of int of shape (n_asked,) or one number
        The two classes in question, by number; support is support for `proposed`.
    kernel : Kernel
        That of the SVMs.
    n_witnesses : int, default=3
        Rows to name on either side.

    Returns
    -------
    Witnesses

    Examples
    --------
    >>> from subsvms import SubSVMClassifier
    >>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
    >>> labels = np.array([0, 1, 0, 1, 1, 1])  # the second looks wrong
    >>> model = SubSVMClassifier(gamma=20.0, random_state=0).fit(X, labels)
    >>> witnesses = find_witnesses(
    ...     X, labels, model.subsets_, model.dual_coef_, rows=[1], against=1, proposed=0,
    ...     kernel=model.voters_.kernel, n_witnesses=2,
    ... )
    >>> print(witnesses.supporting, witnesses.opposing)
    [[2 0]] [[3 4]]
    """
    rows, against, proposed = check_question(rows, against, proposed, X.shape[0], n_classes_of(dual_coef))
    if n_witnesses < 1:
        raise ValueError(f"n_witnesses must be at least 1; got {n_witnesses!r}.")
    shape = (len(rows), n_witnesses)
    supporting, opposing = np.full(shape, -1), np.full(shape, -1)
    supporting_share, opposing_share = np.zeros(shape), np.zeros(shape)
    bags = find_bags(subsets, X.shape[0])

    pairs = np.sort(np.stack([against, proposed], axis=1), axis=1)
    kinds, kind_of = np.unique(pairs, axis=0, return_inverse=True)
    for number, (first, second) in enumerate(kinds):
        weights = pair_weights(subsets, dual_coef, labels, first, second)
        asked = np.flatnonzero(kind_of.ravel() == number)
        for block, used, values in weigh_rows(X, weights, bags, rows[asked], kernel):
            places = asked[block]
            values[proposed[places] == first] *= -1.0  # f > 0 speaks for the second class
            total = np.abs(values).sum(axis=1)
            pick_largest(values, used, total, places, supporting, supporting_share)
            np.negative(values, out=values)
            pick_largest(values, used, total, places, opposing, opposing_share)
    return Witnesses(rows, supporting, supporting_share, opposing, opposing_share)


def n_classes_of(dual_coef: np.ndarray) -> int:
    """Return the number of classes, which the shape of the coefficients tells."""
    return 2 if dual_coef.ndim == 2 else dual_coef.shape[1] + 1


def check_question(
    rows: ArrayLike, against: ArrayLike, proposed: ArrayLike, n_samples: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row numbers and class numbers as arrays of one length; raise an error if they are none."""
    asked = np.atleast_1d(np.asarray(rows))
    if asked.ndim != 1 or (asked.size and asked.dtype.kind not in "iu"):
        raise ValueError(
            f"rows must be a list of whole numbers; got shape {asked.shape}, type {asked.dtype}: "
            "use np.flatnonzero to turn a mask into row numbers."
        )
    asked = asked.astype(np.int64)
    if asked.size and not (0 <= asked.min() and asked.max() < n_samples):
        raise ValueError(
            f"rows must lie between 0 and {n_samples - 1}; got {asked.min()} to {asked.max()}: "
            "only training rows have witnesses."
        )
    one, other = (np.broadcast_to(np.asarray(c, dtype=np.int64), asked.shape) for c in (against, proposed))
    both = np.stack([one, other])
    if np.any(one == other) or np.any((both < 0) | (both >= n_classes)):
        raise ValueError(
            f"against and proposed must be two different class numbers from 0 to {n_classes - 1} "
            "for each row."
        )
    return asked, one, other


def pair_weights(
    subsets: np.ndarray, dual_coef: np.ndarray, labels: np.ndarray, first: int, second: int
) -> sparse.csr_array:
    """Return the coefficients c_ji of the SVMs of one pair of classes, first < second, rows by SVMs.

    Parameters
    ----------
    subsets, dual_coef, labels
        As in `find_witnesses`.
    first, second : int
        Class numbers.

    Returns
    -------
    csr_array of shape (n_samples, n_subsets)
        A positive coefficient speaks for the second class.

    Examples
    --------
    >>> subsets, coef = np.array([[0, 2, 0]]), np.array([[-1.0, 3.0, -2.0]])
    >>> print(pair_weights(subsets, coef, np.array([0, 0, 1]), 0, 1).toarray().T)
    [[-3.  0.  3.]]
    """
    lines = dual_coef[:, None] if dual_coef.ndim == 2 else dual_coef
    parts = []
    # A row's coefficients stand line by line against each other class, counted without its own.
    for own, line in ((first, second - 1), (second, first)):
        subset, place = np.nonzero((labels[subsets] == own) & (lines[:, line] != 0))
        parts.append((lines[subset, line, place], subsets[subset, place], subset))
    coef, row, subset = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sparse.csr_array((coef, (row, subset)), shape=(len(labels), len(subsets)))


def weigh_rows(
    X: Table,
    weights: sparse.csr_array,
    bags: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    kernel: Kernel,
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Compute the contribution of every training row that any SVM leans on, block by block.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
    weights : csr_array of shape (n_samples, n_subsets)
        As `pair_weights` returns them.
    bags : tuple of ndarray
        For each row the subsets that hold it, as `find_bags` returns them.
    rows : ndarray of int of shape (n_asked,)
        Row numbers to ask about.
    kernel : Kernel

    Yields
    ------
    block : slice
        Places in `rows`.
    used : ndarray of shape (n_used,)
        Row numbers, in order.
    values : ndarray of shape (n_block, n_used)
        Their contributions to the mean out-of-bag decision value, the caller's to change.
    """
    pointer, holder = bags
    used = np.flatnonzero(np.diff(weights.indptr))
    weights = weights[used]
    lengths = row_lengths(X, kernel)
    # While a block is weighed or searched, at most four tables of its values are in memory at once.
    for block in cut(8 * (4 * len(used) + weights.shape[1] + 2 * lengths[rows]), BLOCK_BYTES):
        asked = rows[block]
        unseen = np.ones((weights.shape[1], len(asked)))
        for lane, row in enumerate(asked):
            unseen[holder[pointer[row] : pointer[row + 1]], lane] = 0.0
        # Added up over the unseen only, and not taken off the sum over all: so zeros are exact.
        values = np.ascontiguousarray((weights @ unseen).T)
        values /= np.maximum(unseen.sum(axis=0), 1.0)[:, None]
        for piece in cut(8 * (3 * len(asked) + 2 * lengths[used]), BLOCK_BYTES // 4):
            values[:, piece] *= kernel_between(X, asked, used[piece], kernel)
        yield block, used, values


def row_lengths(X: Table, kernel: Kernel) -> np.ndarray:
    """Return how many numbers a copy of each row holds; a kernel that is given needs no copies."""
    if sparse.issparse(X):
        return np.diff(X.indptr).astype(np.int64)
    return np.full(X.shape[0], 0 if kernel.kind == PRECOMPUTED else X.shape[1], dtype=np.int64)


def cut(n_bytes: np.ndarray, limit: int) -> list[slice]:
    """Cut a list of things into pieces that take up to `limit` bytes, or one thing more.

    Examples
    --------
    >>> cut(np.array([3, 3, 3, 9, 1]), 8)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 5, None)]
    """
    inner = np.flatnonzero(np.diff(np.cumsum(n_bytes) // limit)) + 1
    ends = [0, *inner.tolist(), len(n_bytes)]
    return [slice(*piece) for piece in itertools.pairwise(ends) if piece[0] < piece[1]]


def kernel_between(X: Table, rows: np.ndarray, others: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Return k(x_r, x_o) for rows r and others o of one table, in double precision."""
    if kernel.kind == PRECOMPUTED:
        return X[np.ix_(rows, others)]
    one, other = (cut_huge(X[numbers].astype(np.float64, copy=False)) for numbers in (rows, others))
    if kernel.kind == LINEAR:
        return linear_kernel(one, other)
    if kernel.kind == POLY:
        return polynomial_kernel(one, other, degree=kernel.degree, gamma=kernel.gamma, coef0=kernel.coef0)
    return rbf_kernel(one, other, gamma=kernel.gamma)


def pick_largest(
    values: np.ndarray,
    used: np.ndarray,
    total: np.ndarray,
    places: np.ndarray,
    names: np.ndarray,
    shares: np.ndarray,
) -> None:
    """Write the largest positive values of each line, as shares of its total, and whose they are.

    They are written to lines `places` of `names` and `shares`, equal ones by row number, and zeroed
    in `values`.
    """
    lanes = np.arange(len(values))
    for n in range(min(names.shape[1], len(used))):
        best = np.argmax(values, axis=1)
        largest = values[lanes, best]
        found = largest > 0
        if not found.any():
            return
        names[places[found], n] = used[best[found]]
        shares[places[found], n] = largest[found] / total[found]
        values[lanes[found], best[found]] = 0.0

"""Let the SVMs vote, one block of rows at a time.

For SVM j with decision value f_j(x), the vote is the sign of f_j(x) and the clipped value is f_j(x) cut to
[-1, 1]. With K classes "one SVM" is K(K-1)/2 SVMs, one against one; its value for a class is the mean of the
clipped values against the other classes, and its vote is the class with the largest value. These give the
share of the SVMs that vote for each class, and the mean value of each class.

For a training row the *out-of-bag* votes are those of the SVMs that did not see the row, nor any other row of
its group, if rows come in groups. They are counted in the same pass: nothing is computed twice.

A vote is a sign, so single precision is enough and twice as fast, unless rounding could change the sign
because of large coefficients or a large offset of the data: then the whole model votes in double precision.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse
from sklearn.utils.extmath import row_norms

from subsvms._columns import Table, drop_empty
from subsvms._effort import ONE_THREAD, Effort, run_pieces
from subsvms.ensemble._device import find_booth, find_device
from subsvms.ensemble._rows import HUGE, PAD, POLY, PRECOMPUTED, RBF, Kernel, Rows, find_lines, gather_rows
from subsvms.ensemble._solver import Solution

LANES = 128  # rows in a block; 32 are half as fast, 64 and 256 differ less than repeated timings do
BLOCK_BYTES = 32 * 2**20  # a block has fewer lanes if its tables would be larger than this
BLOCKS_PER_PIECE = 8  # blocks per unit of work
ERROR = 5e-4  # single precision is used while it moves a decision value by no more than this


@dataclass(frozen=True)
class Votes:
    """How the SVMs voted on each row. Votes of two ensembles on the same rows can be added."""

    counts: np.ndarray  # (n_rows, n_classes), int: SVMs that vote for each class
    sums: np.ndarray  # (n_rows, n_classes), float: sums of the values that the SVMs give each class
    n_voters: np.ndarray  # (n_rows,), int: SVMs that voted
    second: np.ndarray | None = None  # (n_rows, n_classes): mean values of other SVMs, which only rank labels

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {name: array for name, array in vars(self).items() if array is not None}

    def __add__(self, other: "Votes") -> "Votes":
        return Votes(self.counts + other.counts, self.sums + other.sums, self.n_voters + other.n_voters)

    def take(self, rows: Any) -> "Votes":
        """Return the votes on some rows, given by their numbers or as a slice."""
        return Votes(**{name: array[rows] for name, array in self.arrays.items()})

    def join(self, *others: "Votes") -> "Votes":
        """Return these votes followed by those on other rows."""
        parts = [votes.arrays for votes in (self, *others)]
        return Votes(**{name: np.concatenate([part[name] for part in parts]) for name in self.arrays})

    @property
    def share(self) -> np.ndarray:
        """Share of the SVMs that vote for each class; NaN where no SVM voted."""
        return _divide(self.counts, self.n_voters)

    @property
    def mean_value(self) -> np.ndarray:
        """Mean clipped decision value of each class, from -1 to 1; NaN where no SVM voted."""
        return _divide(self.sums, self.n_voters)

    def winners(self, sizes: ArrayLike, given: np.ndarray | None = None) -> np.ndarray:
        """Return the number of the class with the most votes, for each row."""
        # A tie goes to the given label (a class number, -1 without one) if it is among the best, else to the
        # class that is larger in the training table, else to the first.
        return pick_best(self.counts, np.asarray(sizes, like=self.counts), given)

    def contradict(self, given: np.ndarray) -> np.ndarray:
        """Return the rows for whose label fewer SVMs vote than for another class."""
        # Rows without one (-1) are compared with the first class, as audits of 0.1.0 were made from.
        return self.counts.max(axis=1) > self.counts[np.arange(len(given)), np.maximum(given, 0)]


def pick_best(amounts: np.ndarray, sizes: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
    """Return the class with the largest of amounts (n_rows, n_classes); ties as in `Votes.winners`."""
    best = amounts == amounts.max(axis=1, keepdims=True)
    winner = np.argmax(np.where(best, sizes, -1), axis=1)
    if given is not None:
        kept = (given >= 0) & best[np.arange(len(given)), given]
        winner = np.where(kept, given, winner)
    return winner


def _divide(amounts, n_voters):
    return amounts / np.where(n_voters > 0, n_voters, np.nan)[:, None]


class Voters(NamedTuple):
    """A trained ensemble, reduced to what voting needs."""

    lists: Rows  # weights of each SVM, over training rows or, if that is equivalent, over features
    intercept: np.ndarray  # (n_problems,)
    pairs: np.ndarray  # (n_pairs, 2)
    order: np.ndarray  # (n_classes,), class numbers, the largest class first
    kernel: Kernel
    rows: Rows | None  # the training rows, if the kernel needs them

    def astype(self, dtype: DTypeLike) -> "Voters":
        """Return the same SVMs, which vote in this precision."""
        lists, intercept = self.lists.astype(dtype), self.intercept.astype(dtype)
        return self._replace(lists=lists, intercept=intercept, rows=self.rows and self.rows.astype(dtype))


def gather_voters(X: Table, solution: Solution, sizes: np.ndarray, kernel: Kernel) -> Voters:
    """Reduce a solution to what voting needs; `sizes` are the rows of each class."""
    weights = solution.as_matrix(X.shape[0])
    every = np.arange(weights.shape[0])
    if kernel.needs_rows:
        lists = gather_rows(weights, every)
        rows = gather_rows(X, lists.features)
    else:  # a sum over rows of x'z is one product with their weighted sum
        folded = weights if kernel.kind == PRECOMPUTED else _fold(weights, cut_huge(X))
        lists, rows = gather_rows(folded, every), None
    order = np.argsort(-np.asarray(sizes), kind="stable")
    voters = Voters(lists, solution.intercept.ravel(), solution.pairs, order, kernel, rows)
    return voters.astype(vote_precision(X, weights, kernel))


def _fold(weights: sparse.csr_array, X: Table) -> sparse.csr_array:
    """Return the weighted sums of the rows of X."""
    if not sparse.issparse(X):
        return sparse.csr_array(weights @ X)
    stored, columns = drop_empty(X)
    sums = weights @ stored
    parts = (sums.data, columns[sums.indices], sums.indptr)
    return sparse.csr_array(parts, shape=(weights.shape[0], X.shape[1]))


def cut_huge(X: Table) -> Table:
    """Return X with its values clipped to `HUGE`, as in the lists; X itself if none is larger."""
    values = X.data if sparse.issparse(X) else X
    if values.size == 0 or max(values.max(), -values.min()) <= HUGE:
        return X
    X = X.copy()
    values = X.data if sparse.issparse(X) else X
    np.clip(values, -HUGE, HUGE, out=values)
    return X


@np.errstate(over="ignore")
def vote_precision(X: Table, weights: sparse.csr_array, kernel: Kernel) -> type:
    """Return float32 if it moves no decision value of a row like these by more than `ERROR`, else float64."""
    # Rounding moves each term w_i k_i of a decision value by about eps |w_i k_i| in either direction, so it
    # moves their sum by about eps |w| max k, and in measurements by at most twice that. An RBF kernel value
    # has an additional error of eps gamma |x|^2, since |x - z|^2 is computed as |x|^2 + |z|^2 - 2 x'z.
    total = 2.0 * np.sqrt(weights.multiply(weights).sum(axis=1).max(initial=0.0))
    if kernel.kind == PRECOMPUTED:
        size = max(X.max(initial=0.0), -X.min(initial=0.0))
    else:
        size = norm = row_norms(X[np.unique(weights.indices)], squared=True).max(initial=0.0)
        if kernel.kind == RBF:
            size = 2.0 + 2.0 * kernel.gamma * norm
        elif kernel.kind == POLY:
            size = kernel.degree * (abs(kernel.gamma) * norm + abs(kernel.coef0)) ** kernel.degree
    return np.float32 if total * size * np.finfo(np.float32).eps < ERROR else np.float64


class Poll(NamedTuple):
    """Rows to vote on, and the votes to fill in."""

    X: Table  # (n_rows, n_features)
    lines: np.ndarray  # as from `find_lines`
    bags: tuple[np.ndarray, np.ndarray] | None  # the subsets that contain each row; without them no oob_votes
    votes: Votes
    oob_votes: Votes


def count_votes(
    voters: Voters, X: Table, effort: Effort = ONE_THREAD, *, lanes: int | None = None,
    bags: tuple[np.ndarray, np.ndarray] | None = None,
) -> Votes:  # fmt: skip
    """Let every SVM vote on every row of X, of shape (n_rows, n_features), but for those in its bag."""
    if bags is None:
        return _hold_poll(voters, X, None, 0, effort, lanes).votes
    return _hold_poll(voters, X, bags, len(voters.intercept) // len(voters.pairs), effort, lanes).oob_votes


def count_training_votes(
    voters: Voters, X: Table, subsets: np.ndarray, asked: np.ndarray | None = None,
    effort: Effort = ONE_THREAD, groups: np.ndarray | None = None,
) -> tuple[Votes, Votes]:  # fmt: skip
    """Let every SVM vote on every training row; count the votes of the SVMs that did not see it as well."""
    # `groups` numbers the group of each row: then those count that saw no row of the group.
    if groups is None:
        bags = find_bags(subsets, X.shape[0], asked)
    else:
        bags = find_bags(groups[subsets], int(groups.max()) + 1, groups if asked is None else groups[asked])
    poll = _hold_poll(voters, X if asked is None else X[asked], bags, len(subsets), effort)
    return poll.votes, poll.oob_votes


def _hold_poll(voters, X, bags, n_subsets, effort, lanes=None):
    """Return a poll of all SVMs about all rows, on the device that the effort names."""
    gpu = find_device(effort.device, voters, X)
    shared = None if gpu is None else find_booth(voters, gpu)
    empty = shared.gpu.zeros if shared and shared.gpu.holds(X) else np.empty
    shape = X.shape[0], len(voters.order)
    kinds = ((shape, np.int32), (shape, np.float64), (shape[0], np.int32))
    votes, oob_votes = (Votes(*(empty(*kind) for kind in kinds)) for _ in range(2))
    poll = Poll(X, find_lines(X, voters.rows or voters.lists), bags, votes, oob_votes)
    lanes = lanes or (shared.count_rows(X) if shared else lanes_for(voters))

    def work(first, last):
        booth = shared or Booth(voters, lanes, n_subsets)
        for begin in range(first, last, lanes):
            booth.vote(poll, begin, min(begin + lanes, last))

    run_pieces(work, shape[0], lanes * (1 if shared else BLOCKS_PER_PIECE), effort)
    if shared:
        shared.check_bits(lambda rows: count_votes(voters, rows), X, votes)
    return poll


def lanes_for(voters: Voters) -> int:
    """Return the number of rows in a block, small enough for its tables to fit in `BLOCK_BYTES`."""
    n_subsets = len(voters.intercept) // len(voters.pairs)
    n_lines = voters.lists.n_columns + (voters.rows.n_columns if voters.rows else 0) + n_subsets
    fitting = BLOCK_BYTES // max(n_lines * voters.intercept.itemsize, 1)
    return int(np.clip(fitting // 8 * 8, 8, LANES))


def find_bags(
    subsets: np.ndarray, n_rows: int, asked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the subsets that contain each row, or each that is asked for, as (pointer, subset numbers)."""
    holders = np.repeat(np.arange(len(subsets)), subsets.shape[1])
    ones = np.ones(subsets.size, dtype=np.int8)
    bags = sparse.csr_array((ones, (subsets.ravel(), holders)), shape=(n_rows, len(subsets)))
    if asked is not None:
        bags = bags[asked]
    return bags.indptr.astype(np.int64), bags.indices.astype(np.int64)


class Block:
    """A block of rows as the compiled loops read it: a line for each feature, or for each training row."""

    def __init__(self, rows: Rows, kernel: Kernel | None, lanes: int, dtype: DTypeLike = np.float64):
        self.rows, self.kernel = rows, kernel
        self.table = np.zeros((-(-rows.n_columns // PAD) * PAD, lanes), dtype)
        self.norms = np.zeros(lanes, dtype)
        n_kernels = -(-len(rows.norm) // 4) * 4 if kernel else 0  # the loops take four at a time
        self.kernels = np.empty((n_kernels, lanes), dtype)

    def load(self, X: Table, lines: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return the kernel with rows first to last - 1 of X, or their features; later lanes mean nothing."""
        from subsvms.ensemble._compiled import ballots  # here: importing numba takes a while

        if sparse.issparse(X):
            ballots.load_sparse(X.indptr, lines, X.data, first, last, self.table, self.norms)
        else:
            ballots.load_dense(X, first, last, lines, self.table, self.norms)
        if self.kernel is None:
            return self.table
        ballots.kernel_block(self.rows, self.kernel, self.table, self.norms, self.kernels)
        return self.kernels


class Booth:
    """The scratch memory of one thread, and the steps in which a block of rows is voted on."""

    def __init__(self, voters, lanes, n_subsets):
        shape = len(voters.order), lanes
        kernel = voters.kernel if voters.rows else None
        self.voters = voters
        self.block = Block(voters.rows or voters.lists, kernel, lanes, voters.intercept.dtype)
        self.everyone = np.ones(lanes, np.int32)
        self.counted = np.empty((n_subsets, lanes), np.int32)
        kinds = ((shape, np.int32), (shape, np.float64), (lanes, np.int32))
        self.ballots, self.oob_ballots = (tuple(np.empty(*kind) for kind in kinds) for _ in range(2))

    def vote(self, poll, first, last):
        """Fill in the votes on rows first to last - 1."""
        from subsvms.ensemble._compiled import ballots as _ballots

        voters, table = self.voters, self.block.load(poll.X, poll.lines, first, last)
        if poll.bags is not None:
            _ballots.mark_out_of_bag(*poll.bags, first, last, self.counted)
        for part in (*self.ballots, *self.oob_ballots):
            part[...] = 0
        _ballots.vote_block(
            voters.lists, voters.intercept, voters.pairs, voters.order, table,
            self.everyone, self.counted, self.ballots, self.oob_ballots,
        )  # fmt: skip
        if sparse.issparse(poll.X):
            _ballots.clear_sparse(poll.X.indptr, poll.lines, first, last, self.block.table)
        filled = [(self.ballots, poll.votes), (self.oob_ballots, poll.oob_votes)]
        for ballots, votes in filled if poll.bags is not None else filled[:1]:
            wins, sums, n_voters = (part[..., : last - first] for part in ballots)
            if len(wins) == 2:  # of two classes only the second was counted
                wins[0], sums[0] = n_voters - wins[1], -sums[1]
            votes.counts[first:last], votes.sums[first:last] = wins.T, sums.T
            votes.n_voters[first:last] = n_voters

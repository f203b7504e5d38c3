"""Let the SVMs vote on a GPU: rows go there in blocks, and their votes come back with the bits of the CPU.

The device is like the number of threads: it changes no bit of a result (`_compiled/gpu.py` says why). A block
is as large as the memory of the GPU allows; if that turns out to be too much, it is halved.
"""

import re
import sys
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subsvms._extras import require_extra
from subsvms._typing import Table
from subsvms.ensemble._rows import HUGE, LINEAR, RBF
from subsvms.exceptions import DeviceError, InputError

BLOCK_ROWS, LEAST_ROWS = 2**18, 2**10  # rows in a block: at most, and when a GPU counts as too small
FREE_SHARE = 0.4  # of the free memory that a block may take
LN_2 = 0.6931471805599453


def find_device(device: str, voters: Any, X: Table) -> Any:
    """Return the GPU on which these SVMs vote on this table, as torch names it; None for the CPU.

    Parameters
    ----------
    device : {"cpu", "cuda", "auto"}
        "auto" takes a GPU if there is one that can do it. "cuda:1" names one of several.
    voters : Voters
    X : ndarray or CSR matrix
    """
    if device == "cpu":
        return None
    if not re.fullmatch("auto|cuda(:[0-9]+)?", device):
        raise InputError(f"device must be 'cpu', 'cuda' or 'auto'; got {device!r}.")
    if device == "auto":
        return None if explain_refusal(voters, X) or not has_gpu() else find_own_gpu()
    require_extra("Voting on a GPU", "gpu", "torch", "triton")
    reason = explain_refusal(voters, X) or (None if has_gpu() else "torch finds no GPU with CUDA here")
    if reason:
        raise InputError(f"device={device!r} is not possible: {reason}; device='cpu' gives the same result.")
    return find_own_gpu() if device == "cuda" else device


def explain_refusal(voters: Any, X: Table) -> str | None:
    """Return why SVMs cannot vote on a table on a GPU; None if they can."""
    if voters.kernel.kind not in (RBF, LINEAR):
        return "on a GPU the kernel must be 'rbf' or 'linear'"
    return "a sparse table is voted on by the CPU" if sparse.issparse(X) else None


def has_gpu() -> bool:
    """Return whether torch and Triton are installed and see a GPU."""
    try:
        import torch
        import triton  # noqa: F401
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def find_own_gpu() -> str:
    """Return the GPU of this process: Dask workers on one machine take turns, anyone else takes the first."""
    import torch

    number = 0
    if "distributed" in sys.modules:
        from distributed import get_worker

        try:
            number = int(get_worker().name)
        except ValueError:  # not in a worker, or in one with another name than its number
            pass
    return f"cuda:{number % torch.cuda.device_count()}"


class DeviceVoters(NamedTuple):
    """A trained ensemble in the memory of a GPU; the lists of all SVMs are padded to the same length."""

    column: Any  # (n_svms, width), int32
    weight: Any  # (n_svms, width)
    length: Any  # (n_svms,), int32
    intercept: Any  # (n_svms,)
    vectors: Any  # (n_vectors, n_features), the training rows that the SVMs use
    norms: Any  # (n_vectors,)
    rate: Any  # (1,), exp(-gamma t) = 2^(rate t)
    pairs: Any  # (n_pairs, 2), int32
    order: Any  # (n_classes,), int32
    is_rbf: bool


def pad_lists(voters: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns and weights of all SVMs as matrices, and the length of each list."""
    pointer = voters.lists.pointer
    length = np.diff(pointer)
    shape = (len(length), max(int(length.max(initial=1)), 1))
    column, weight = np.zeros(shape, np.int32), np.zeros(shape, voters.lists.value.dtype)
    inside = np.arange(shape[1]) < length[:, None]
    column[inside], weight[inside] = voters.lists.column, voters.lists.value
    return column, weight, length.astype(np.int32)


def expand_rows(rows: Any) -> np.ndarray:
    """Return the training rows as a matrix with a column for each feature that one of them has."""
    matrix = np.zeros((len(rows.norm), rows.n_columns), rows.value.dtype)
    owner = np.repeat(np.arange(len(rows.norm)), np.diff(rows.pointer))
    stored = rows.value != 0  # the lists are padded with zeros
    matrix[owner[stored], rows.column[stored]] = rows.value[stored]
    return matrix


def send_voters(voters: Any, device: Any) -> DeviceVoters:
    """Copy what voting needs to a GPU."""
    column, weight, length = pad_lists(voters)
    is_rbf = voters.rows is not None
    vectors = expand_rows(voters.rows) if is_rbf else np.zeros((1, 1), weight.dtype)
    norms = voters.rows.norm if is_rbf else np.zeros(1, weight.dtype)
    rate = np.array([-voters.kernel.gamma / LN_2], weight.dtype)
    pairs, order = voters.pairs.astype(np.int32), voters.order.astype(np.int32)
    arrays = (column, weight, length, voters.intercept, vectors, norms, rate, pairs, order)
    return DeviceVoters._make([*(send(array, device) for array in arrays), is_rbf])


class GPUBooth:
    """SVMs in the memory of a GPU, and the steps in which a block of rows is voted on.

    Threads take turns: two blocks at once would need twice the memory.
    """

    def __init__(self, voters: Any, device: str):
        self.sent, self.lock = send_voters(voters, device), threading.Lock()
        self.device, self.n_lines = device, (voters.rows or voters.lists).n_columns

    def count_rows(self, X: np.ndarray) -> int:
        """Return how many rows of X a block may have, so that it fits in the free memory."""
        import torch

        sent = self.sent
        numbers = len(sent.intercept) + self.n_lines + 1
        bytes_per_row = (
            numbers * sent.weight.element_size() + X.shape[1] * X.itemsize + 24 * len(sent.order) + 8
        )
        free = torch.cuda.mem_get_info(self.device)[0] if sent.weight.is_cuda else 2**30
        return int(np.clip(FREE_SHARE * free // bytes_per_row, LEAST_ROWS, BLOCK_ROWS))

    def vote(self, X, lines, first, last, bags, votes, oob_votes, start):
        """Fill rows first to last - 1 of `votes`, and of `oob_votes` if there are bags."""
        import torch

        try:
            with self.lock:
                self._vote(X, lines, first, last, bags, votes, oob_votes, start)
            return
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
        except RuntimeError as error:
            reason = str(error).strip().split("\n")[0]
            raise DeviceError(f"The GPU failed ({reason}); device='cpu' gives the same result.") from error
        if last - first <= LEAST_ROWS:
            raise DeviceError(
                f"The GPU has no memory for {last - first:,} rows: close what else runs on it, or use "
                "device='cpu', which gives the same result."
            )
        middle = (first + last) // 2
        self.vote(X, lines, first, middle, bags, votes, oob_votes, start)
        self.vote(X, lines, middle, last, bags, votes, oob_votes, start)

    def _vote(self, X, lines, first, last, bags, votes, oob_votes, start):
        values = self.compute_values(X[first:last], lines)
        ballots = self.make_ballots(last - first, start and start.take(slice(first, last)))
        self.tally(values, ballots)
        write(ballots, votes, first, last)
        if bags is not None:
            ballots = self.make_ballots(last - first, None)
            self.tally(values, ballots, self.mark_out_of_bag(bags, first, last))
            write(ballots, oob_votes, first, last)

    def compute_values(self, X: np.ndarray, lines: np.ndarray) -> Any:
        """Return the decision values of all SVMs on a block of rows, (n_svms, n_rows)."""
        import torch
        from triton import cdiv

        from subsvms.ensemble._compiled import gpu

        sent, (n_rows, n_features) = self.sent, X.shape
        n_svms, width = sent.column.shape

        def make(*shape):
            return torch.zeros(shape, dtype=sent.weight.dtype, device=self.device)

        table, norms, values = make(self.n_lines, n_rows), make(n_rows), make(n_svms, n_rows)
        blocks = cdiv(n_rows, gpu.LANES)
        gpu.load[(blocks,)](
            send(X, self.device), send(lines.astype(np.int32), self.device), n_features, n_rows, table, norms,
            HUGE=HUGE, LANES=gpu.LANES, **gpu.STRICT,
        )  # fmt: skip
        gpu.compute_values[(blocks, cdiv(n_svms, gpu.TILE))](
            table, norms, n_rows, sent.vectors, sent.norms, sent.vectors.shape[1], sent.rate, sent.column,
            sent.weight, sent.length, sent.intercept, width, n_svms, values, RBF=sent.is_rbf, TILE=gpu.TILE,
            LANES=gpu.LANES, num_warps=gpu.WARPS, **gpu.STRICT,
        )  # fmt: skip
        return values

    def make_ballots(self, n_rows: int, start: Any) -> "Ballots":
        """Return the votes of no SVM, or those of earlier ones, in the memory of the GPU."""
        if start is None:
            shape = (n_rows, len(self.sent.order))
            parts = np.zeros(shape, np.int32), np.zeros(shape), np.zeros(n_rows, np.int32)
        else:
            parts = start.counts.astype(np.int32), start.sums, start.n_voters.astype(np.int32)
        return Ballots(*(send(part.T, self.device) for part in parts))

    def tally(self, values: Any, ballots: "Ballots", counted: Any = None) -> None:
        """Add the votes of all SVMs to those that are there; `counted` says which count, if not all do."""
        from triton import cdiv, next_power_of_2

        from subsvms.ensemble._compiled import gpu

        sent, (n_svms, n_rows) = self.sent, values.shape
        n_pairs, n_classes = len(sent.pairs), len(sent.order)
        gpu.tally[(cdiv(n_rows, gpu.LANES),)](
            values, values if counted is None else counted, n_rows, n_svms // n_pairs, sent.pairs, n_pairs,
            sent.order, *ballots, N_CLASSES=n_classes, IS_MASKED=counted is not None,
            CLASSES=next_power_of_2(n_classes), LANES=gpu.LANES, **gpu.STRICT,
        )  # fmt: skip

    def mark_out_of_bag(self, bags: tuple[np.ndarray, np.ndarray], first: int, last: int) -> Any:
        """Return 0 where subset j contains row first + b, 1 elsewhere: (n_subsets, n_rows)."""
        import torch

        pointer, subset = bags
        n_subsets = len(self.sent.intercept) // len(self.sent.pairs)
        counted = torch.ones((n_subsets, last - first), dtype=torch.int8, device=self.device)
        row = np.repeat(np.arange(last - first), np.diff(pointer[first : last + 1]))
        holders = subset[pointer[first] : pointer[last]]
        counted[send(holders, self.device), send(row, self.device)] = 0
        return counted


class Ballots(NamedTuple):
    """The votes on a block of rows, in the memory of a GPU."""

    wins: Any  # (n_classes, n_rows), int32
    sums: Any  # (n_classes, n_rows), float64
    voters: Any  # (n_rows,), int32


def write(ballots: Ballots, votes: Any, first: int, last: int) -> None:
    """Copy a block's ballots to their place in the table of votes."""
    for part, whole in zip(ballots, votes.arrays.values(), strict=True):
        whole[first:last] = part.cpu().numpy().T


def send(array: np.ndarray, device: str) -> Any:
    """Copy an array to a GPU."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(array)).to(device)


_booths: dict[tuple[int, str], GPUBooth] = {}  # by the identity of the weights, as long as they exist


def find_booth(voters: Any, device: str) -> GPUBooth:
    """Return the SVMs in the memory of a GPU; they are copied there once."""
    weights = voters.lists.value
    key = (id(weights), device)
    if key not in _booths:
        _booths[key] = GPUBooth(voters, device)
        weakref.finalize(weights, _booths.pop, key, None)
    return _booths[key]

"""Let the SVMs vote on a GPU: rows go there in blocks, and their votes come back with the bits of the CPU.

The device is like the number of threads: it changes no bit of a result (`_compiled/vote.cu` says why). A
block is as large as the memory of the GPU allows; if that turns out to be too much, it is halved.
"""

import re
import sys
import weakref
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from subsvms._columns import Table
from subsvms.ensemble._gpu import GPU, LINE_BYTES, SVMS, cut_lists, expand_rows, explain_failure
from subsvms.ensemble._rows import HUGE, LINEAR, LN_2, RBF
from subsvms.exceptions import DeviceError, InputError, Sentence, Setting, require_extra

WARPS = 16  # of a block of threads
MAX_SETS = 64 // SVMS  # of a warp, whose values stay in registers
THREADS = 128  # of a block in the kernels with a thread for each row
BLOCK_ROWS, LEAST_ROWS = 2**18, 2**10  # rows in a block: at most, and when a GPU counts as too small
MOST_BYTES = 2**31  # of the lists of SVMs, as far as they can be counted: vote.cu has 32 bits for twice that
FREE_SHARE = 0.2  # of the free memory that a block may take
CHECKED = 16  # rows on which the CPU votes as well


def find_device(device: str, voters: Any, X: Table) -> int | None:
    """Return the number of the GPU on which these SVMs vote on this table; None for the CPU."""
    if device == "cpu":
        return None
    reason = explain_refusal(voters, X)
    if device == "auto":
        if reason or not count_gpus():
            return None
    else:
        check_device(device)
        if reason:
            raise InputError(
                "{device} is not possible: {reason}; {device=cpu} gives the same result.",
                device=Setting("device", device), reason=reason,
            )  # fmt: skip
    held, named = getattr(getattr(X, "device", None), "id", None), device.partition(":")[2]
    if held is not None:
        return held
    return int(named) if named else find_own_gpu()


def check_device(device: str) -> None:
    """Raise an error if a device does not exist, as far as that is known without a table."""
    if not re.fullmatch("cpu|auto|cuda(:[0-9]+)?", device):
        words = "{device} must be 'cpu', 'cuda', one of several as 'cuda:1', or 'auto'; got {got!r}."
        raise InputError(words, got=device)
    if device in ("cpu", "auto"):
        return
    require_extra("Voting on a GPU", "gpu", "cupy")
    n_gpus = count_gpus()
    if int(device.partition(":")[2] or 0) >= n_gpus:
        there = f"the last GPU here is 'cuda:{n_gpus - 1}'" if n_gpus else "there is no GPU with CUDA here"
        words = "{device} is not possible: {there}; {device=cpu} gives the same result."
        raise InputError(words, device=Setting("device", device), there=there)


def explain_refusal(voters: Any, X: Table) -> str | None:
    """Return why SVMs cannot vote on a table on a GPU; None if they can."""
    if voters.kernel.kind not in (RBF, LINEAR):
        return "on a GPU the kernel must be 'rbf' or 'linear'"
    lists, itemsize = voters.lists, voters.intercept.itemsize
    n_sets, n_steps = -(-len(voters.intercept) // SVMS), -(-lists.n_columns // (16 * WARPS))
    padding = n_sets * n_steps * SVMS * (2 * itemsize + 8)
    if padding + len(lists.value) * (itemsize + 4) >= MOST_BYTES:
        return "there are too many SVMs for a GPU"
    return "a sparse table is voted on by the CPU" if sparse.issparse(X) else None


def count_gpus() -> int:
    """Return how many GPUs CuPy sees; 0 if it is not installed."""
    try:
        import cupy
    except ImportError:
        return 0
    return cupy.cuda.runtime.getDeviceCount() if cupy.cuda.is_available() else 0


def find_own_gpu() -> int:
    """Return the GPU of this process: workers of Dask on one machine take turns."""
    # They count the GPUs that they see (`CUDA_VISIBLE_DEVICES`); any other process takes the first of them.
    number = 0
    if "distributed" in sys.modules:
        from distributed import get_worker

        try:
            number = int(get_worker().name)
        except ValueError:  # not in a worker, or in one with another name than its number
            pass
    return number % count_gpus()


class Ballots(NamedTuple):
    """The votes on a block of rows, in the memory of a GPU."""

    wins: Any  # (n_classes, n_rows), int32
    sums: Any  # (n_classes, n_rows), float64
    voters: Any  # (n_rows,), int32


class GPUBooth:
    """SVMs in the memory of a GPU, and the steps in which a block of rows is voted on."""

    def __init__(self, voters: Any, gpu: Any):
        self.gpu, self.is_checked = gpu, False
        self.kernels: dict[np.dtype, Any] = {}  # by the type of the rows
        self.kernel, self.real = voters.kernel, voters.intercept.dtype
        sizes = (len(part) for part in (voters.intercept, voters.pairs, voters.order))
        self.n_svms, self.n_pairs, self.n_classes = sizes
        self.n_lines, self.n_terms = (voters.rows or voters.lists).n_columns, voters.lists.n_columns
        self.tile_rows = LINE_BYTES // self.real.itemsize
        self.n_sets = min(-(-self.n_svms // (SVMS * WARPS)), MAX_SETS)
        self.n_blocks = -(-self.n_svms // (SVMS * WARPS * self.n_sets))
        ring_lines = gpu.shared_bytes // LINE_BYTES
        self.part = min(ring_lines // 3 // 16, WARPS) * 16
        self.n_parts = ring_lines // self.part
        self.n_vectors = -(-self.n_terms // self.part) * self.part
        lists = cut_lists(voters.lists, self.part, self.n_parts, self.n_blocks * WARPS, self.n_sets)
        self.starts, self.terms = gpu.send(lists.starts), gpu.send(lists.terms.view(np.uint8))
        self.intercept = gpu.send(voters.intercept)
        self.pairs, self.order = (gpu.send(part.astype(np.int32)) for part in (voters.pairs, voters.order))
        self.rate = gpu.send(np.array([-voters.kernel.gamma / LN_2], self.real))
        self.vectors = self.norms = self.rate  # a linear kernel needs none
        if voters.rows is not None:
            self.vectors = gpu.send(expand_rows(voters.rows, self.n_vectors))
            self.norms = gpu.send(np.pad(voters.rows.norm, (0, self.n_vectors - self.n_terms)))
        gpu.wait()

    def find_kernel(self, name: str, dtype: np.dtype) -> Any:
        """Return a compiled function, for rows of this type."""
        if dtype not in self.kernels:
            names = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
            self.kernels[dtype] = self.gpu.compile(
                REAL=names[self.real], INPUT=names[dtype], IS_RBF=int(self.kernel.kind == RBF),
                PART=self.part, PARTS=self.n_parts, WARPS=WARPS, SVMS=SVMS, SETS=self.n_sets,
                CLASSES=self.n_classes,
            )  # fmt: skip
        return self.kernels[dtype](name)

    def count_rows(self, X: np.ndarray) -> int:
        """Return how many rows of X a block may have, so that it fits in the free memory."""
        numbers = self.n_svms + self.n_lines + 1
        bytes_per_row = numbers * self.real.itemsize + X.shape[1] * 8 + 24 * self.n_classes + 8
        try:
            free = self.gpu.free_bytes
        except self.gpu.failures as error:
            raise explain_failure(error) from error
        return int(np.clip(FREE_SHARE * free // bytes_per_row, LEAST_ROWS, BLOCK_ROWS))

    def vote(self, poll, first, last):
        """Fill in the votes on rows first to last - 1 of a `Poll`; in two halves if memory is short."""
        try:
            with self.gpu.working():
                self._vote(poll, first, last)
            return
        except self.gpu.failures as error:
            if not self.gpu.is_out_of_memory(error):
                raise explain_failure(error) from error
        self.gpu.forget()
        if last - first <= LEAST_ROWS:
            raise DeviceError(
                "The GPU has no memory for {n:,} rows: close what else runs on it, or use {device=cpu}, "
                "which gives the same result.",
                n=last - first,
            )
        middle = (first + last) // 2
        self.vote(poll, first, middle)
        self.vote(poll, middle, last)

    def _vote(self, poll, first, last):
        fetch = (lambda part: part) if self.gpu.holds(poll.X) else self.gpu.fetch
        rows, lines = self.gpu.send(poll.X[first:last]), self.gpu.send(poll.lines.astype(np.int32))
        filled = [(self.make_ballots(last - first), None, poll.votes)]
        if poll.bags is not None:
            counted = self.mark_out_of_bag(poll.bags, first, last)
            filled.append((self.make_ballots(last - first), counted, poll.oob_votes))
        with self.gpu.computing():
            values = self.compute_values(rows, lines)
            for ballots, counted, _ in filled:
                self.tally(values, ballots, counted)
        for ballots, _, votes in filled:
            for part, whole in zip(ballots, votes.arrays.values(), strict=True):
                whole[first:last] = fetch(part).T

    def compute_values(self, X: Any, lines: Any) -> Any:
        """Return the decision values of all SVMs on rows on the GPU, (n_svms, n_rows or a few more)."""
        kind = np.dtype(X.dtype)
        pitch, n_lines = -(-len(X) // self.tile_rows) * self.tile_rows, -(-self.n_lines // 4) * 4
        table, norms = self.gpu.zeros((n_lines, pitch), self.real), self.gpu.zeros(pitch, self.real)
        values = self.gpu.empty((self.n_svms, pitch), self.real)
        self.find_kernel("load", kind)(
            (-(-len(X) // THREADS),), (THREADS,),
            (X, lines, np.int32(X.shape[1]), np.int32(len(X)),
             np.int32(pitch), np.int32(n_lines), np.float64(HUGE), table, norms),
        )  # fmt: skip
        self.find_kernel("decide", kind)(
            (pitch // self.tile_rows, self.n_blocks), (32 * WARPS,),
            (table, norms, np.int32(pitch), np.int32(n_lines), self.vectors, self.norms, self.rate,
             np.int32(self.n_vectors), self.starts, self.terms, self.intercept,
             np.int32(self.n_svms), values),
            shared_mem=self.gpu.shared_bytes,
        )  # fmt: skip
        return values

    def check_bits(self, count_votes: Any, X: Any, votes: Any) -> None:
        """Raise an error if these SVMs got other votes than on the CPU: once, and for a few rows."""
        # That tensor cores keep the order of operations is measured and not documented.
        if self.is_checked:
            return
        few, fetch = slice(0, CHECKED), self.gpu.fetch if self.gpu.holds(X) else np.asarray
        try:
            rows, *found = (fetch(part[few]) for part in (X, *votes.arrays.values()))
        except self.gpu.failures as error:
            raise explain_failure(error) from error
        expected = count_votes(rows).arrays.values()
        if not all(map(np.array_equal, found, expected)):
            words = (
                "The votes of this GPU differ from those of the CPU: use {device=cpu}, and report the GPU's "
                "name, since they should have the same bits."
            )
            raise DeviceError(Sentence(words))
        self.is_checked = True

    def make_ballots(self, n_rows: int) -> Ballots:
        shape, make = (self.n_classes, n_rows), self.gpu.zeros
        return Ballots(make(shape, np.int32), make(shape, np.float64), make(n_rows, np.int32))

    def tally(self, values: Any, ballots: Ballots, counted: Any = None) -> None:
        """Add the votes of all SVMs to those that are there; `counted` says which count, if not all do."""
        n_rows, pitch = len(ballots.voters), values.shape[1]
        self.find_kernel("tally", next(iter(self.kernels)))(
            (-(-n_rows // THREADS),), (THREADS,),
            (values, np.intp(0) if counted is None else counted, np.int32(n_rows), np.int32(pitch),
             np.int32(self.n_svms // self.n_pairs), self.pairs, np.int32(self.n_pairs), self.order, *ballots),
        )  # fmt: skip

    def mark_out_of_bag(self, bags: tuple[np.ndarray, np.ndarray], first: int, last: int) -> Any:
        """Return 0 where subset j contains row first + b, 1 elsewhere: (n_subsets, n_rows)."""
        pointer, subset = bags
        counted = self.gpu.zeros((self.n_svms // self.n_pairs, last - first), np.int8)
        counted += 1
        row = np.repeat(np.arange(last - first), np.diff(pointer[first : last + 1]))
        counted[self.gpu.send(subset[pointer[first] : pointer[last]]), self.gpu.send(row)] = 0
        return counted


_booths: dict[tuple[int, int], GPUBooth] = {}  # by the identity of the weights, as long as they exist
_sending = Lock()  # several threads may ask for the same SVMs at once


def find_booth(voters: Any, number: int) -> GPUBooth:
    """Return the SVMs in the memory of a GPU; they are copied there once."""
    weights = voters.lists.value
    key = (id(weights), number)
    with _sending:
        if key not in _booths:
            gpu = GPU(number)
            try:
                _booths[key] = GPUBooth(voters, gpu)
            except gpu.failures as error:
                raise explain_failure(error) from error
            weakref.finalize(weights, _booths.pop, key, None)
        return _booths[key]

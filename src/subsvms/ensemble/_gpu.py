"""A GPU, through CuPy: its memory, its streams, how it fails, and the order in which vote.cu reads lists."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from subsvms.ensemble._rows import Rows
from subsvms.exceptions import DeviceError

SHARED_BYTES = 227 * 2**10  # of kernel values on the chip, at most
SVMS = 16  # that a warp adds up side by side: a set
LINE_BYTES = 128  # of the kernel values of a training row with all rows of a block
SOURCE = Path(__file__).parent / "_compiled" / "vote.cu"


def explain_failure(error: Exception) -> DeviceError:
    """Return what CUDA says, as one sentence."""
    reason = str(error).strip().split("\n")[0]
    return DeviceError("The GPU failed ({reason}); {device=cpu} gives the same result.", reason=reason)


class GPU:
    """A GPU, through CuPy.

    Two threads at most have a block on it: one is copied while the other is voted on.
    """

    def __init__(self, number: int):
        import cupy

        self.cupy, self.device = cupy, cupy.cuda.Device(number)
        self.failures = (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError, MemoryError)
        self.streams: SimpleQueue = SimpleQueue()  # memory is used again in the stream that it was taken in
        self.lock = Lock()
        try:
            self.shared_bytes = min(self.device.attributes["MaxSharedMemoryPerBlockOptin"], SHARED_BYTES)
            with self.device:
                self.stream = cupy.cuda.Stream(non_blocking=True)  # in which all blocks are computed
                for _ in range(2):
                    self.streams.put(cupy.cuda.Stream(non_blocking=True))
        except self.failures as error:
            raise explain_failure(error) from error

    @contextmanager
    def working(self) -> Iterator[None]:
        """Make it the current one, with a stream for this thread alone; wait for one."""
        stream = self.streams.get()
        try:
            with self.device:
                self.cupy.cuda.get_current_stream().synchronize()  # it fills what is there already
                with stream:
                    yield
                    stream.synchronize()
        finally:
            self.streams.put(stream)

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute in the one stream for all blocks, one after another, and wait for the result."""
        # Side by side, the SVMs of one block would keep the votes on the other from being counted. A thread
        # that asked for a copy of a result before it is there would keep the other from sending rows.
        sent = self.cupy.cuda.get_current_stream().record()
        with self.lock, self.stream:
            self.stream.wait_event(sent)
            try:
                yield
            except BaseException:
                self.stream.synchronize()  # what is freed now must not be in use
                raise
            finished = self.stream.record()
        finished.synchronize()

    def wait(self) -> None:
        """Wait until what this thread has sent is there, for threads with other streams."""
        with self.device:
            self.cupy.cuda.get_current_stream().synchronize()

    @property
    def free_bytes(self) -> int:
        """Free memory, with what CuPy keeps for later."""
        with self.device:
            return self.device.mem_info[0] + self.cupy.get_default_memory_pool().free_bytes()

    def holds(self, array: Any) -> bool:
        return isinstance(array, self.cupy.ndarray)

    def send(self, array: Any) -> Any:
        """Copy an array to the GPU, if it is not there."""
        with self.device:
            if self.holds(array):
                return self.cupy.ascontiguousarray(array)
            return self.cupy.asarray(np.ascontiguousarray(array))

    def zeros(self, shape: Any, dtype: Any) -> Any:
        with self.device:
            return self.cupy.zeros(shape, dtype)

    def empty(self, shape: Any, dtype: Any) -> Any:
        with self.device:
            return self.cupy.empty(shape, dtype)

    def fetch(self, array: Any) -> np.ndarray:
        return self.cupy.asnumpy(array)

    def compile(self, **numbers: Any) -> Any:
        """Return a function that finds a compiled kernel by name, for these definitions."""
        options = ("--fmad=false", *(f"-D{name}={value}" for name, value in numbers.items()))
        module = self.cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"), options=options)
        decide = module.get_function("decide")
        decide.max_dynamic_shared_size_bytes = self.shared_bytes
        return lambda name: decide if name == "decide" else module.get_function(name)

    def is_out_of_memory(self, error: Exception) -> bool:
        return isinstance(error, MemoryError) or "MemoryAllocation" in str(error)

    def forget(self) -> None:
        with self.device:
            self.cupy.get_default_memory_pool().free_all_blocks()


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
    """Return training rows as the columns of a matrix with so many columns; the rest are zero."""
    # It has a line for each feature, and lines of zeros up to a multiple of four. Doubles are in the order in
    # which `compute` in vote.cu reads them.
    n_lines = -(-rows.n_columns // 4) * 4
    matrix = np.zeros((n_lines, n_vectors), rows.value.dtype)
    owner = np.repeat(np.arange(len(rows.norm)), np.diff(rows.pointer))
    stored = rows.value != 0
    matrix[rows.column[stored], owner[stored]] = rows.value[stored]
    if matrix.itemsize == 4:
        return matrix
    return matrix.reshape(n_lines // 4, 4, n_vectors // 16, 2, 8).transpose(2, 0, 4, 1, 3)

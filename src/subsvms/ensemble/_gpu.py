"""A GPU, through CuPy: its memory, its streams, and how it fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

import numpy as np

from subsvms.exceptions import DeviceError

SHARED_BYTES = 227 * 2**10  # of kernel values on the chip, at most
SOURCE = Path(__file__).parent / "_compiled" / "vote.cu"


def explain_failure(error: Exception) -> DeviceError:
    """Return what CUDA says, as one sentence."""
    reason = str(error).strip().split("\n")[0]
    return DeviceError(f"The GPU failed ({reason}); device='cpu' gives the same result.")


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
        """Compute in the one stream for all blocks, one after another, and wait for the result.

        Side by side, the SVMs of one block would keep the votes on the other from being counted. A thread
        that asked for a copy of a result before it is there would keep the other from sending rows.
        """
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
        """Return whether an array is in the memory of a GPU."""
        return isinstance(array, self.cupy.ndarray)

    def send(self, array: Any) -> Any:
        """Copy an array to the GPU, if it is not there."""
        with self.device:
            if self.holds(array):
                return self.cupy.ascontiguousarray(array)
            return self.cupy.asarray(np.ascontiguousarray(array))

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Return an array of zeros on the GPU."""
        with self.device:
            return self.cupy.zeros(shape, dtype)

    def empty(self, shape: Any, dtype: Any) -> Any:
        """Return an array on the GPU that is yet to be filled."""
        with self.device:
            return self.cupy.empty(shape, dtype)

    def fetch(self, array: Any) -> np.ndarray:
        """Copy an array from the GPU."""
        return self.cupy.asnumpy(array)

    def compile(self, **numbers: Any) -> Any:
        """Return a function that finds a compiled kernel by name, for these definitions."""
        options = ("--fmad=false", *(f"-D{name}={value}" for name, value in numbers.items()))
        module = self.cupy.RawModule(code=SOURCE.read_text(encoding="utf-8"), options=options)
        decide = module.get_function("decide")
        decide.max_dynamic_shared_size_bytes = self.shared_bytes
        return lambda name: decide if name == "decide" else module.get_function(name)

    def is_out_of_memory(self, error: Exception) -> bool:
        """Return whether it failed for want of memory."""
        return isinstance(error, MemoryError) or "MemoryAllocation" in str(error)

    def forget(self) -> None:
        """Give back the memory that CuPy keeps for later."""
        with self.device:
            self.cupy.get_default_memory_pool().free_all_blocks()

"""A GPU in software: vote.cu compiled by the C++ compiler."""

import ctypes
import shutil
import subprocess
from contextlib import nullcontext
from pathlib import Path
from threading import Lock

import numpy as np

from subsvms.ensemble import _device
from subsvms.ensemble._gpu import SOURCE

COMPILER = shutil.which("g++")
FLAGS = "-std=c++20 -O1 -ffp-contract=off -w -shared -fPIC -U_FORTIFY_SOURCE"  # its longjmp refuses
RUN = """
#include "emulated_gpu.hpp"
#include "vote.cu"
extern "C" void run(const char *name, unsigned x, unsigned y, unsigned n_threads, void **args) {
    if (!strcmp(name, "load")) launch(load, {x, y}, n_threads, args);
    if (!strcmp(name, "decide")) launch(decide, {x, y}, n_threads, args);
    if (!strcmp(name, "tally")) launch(tally, {x, y}, n_threads, args);
}
"""


class EmulatedGPU:
    """Has the methods of `subsvms.ensemble._device.GPU`."""

    shared_bytes, free_bytes = 48 * 128, 2**30  # a ring of three parts of 16 lines
    failures = (RuntimeError, MemoryError)

    def __init__(self, folder):
        self.folder, self.compiled = Path(folder), {}
        self.adopted = np.zeros(0)  # a table that is in its memory
        self.most_fetched = 0  # rows in one copy
        self.lost = False
        self.lock = Lock()  # its threads are static

    def working(self):
        if self.lost:
            raise RuntimeError("cudaErrorDeviceUninitialized: invalid device context")
        return nullcontext()

    def computing(self):
        return self.lock

    def wait(self):
        pass

    def holds(self, array):
        return np.may_share_memory(array, self.adopted)

    def send(self, array):
        return np.ascontiguousarray(array)

    def zeros(self, shape, dtype):
        return np.zeros(shape, dtype)

    def empty(self, shape, dtype):
        return np.full(shape, np.nan, dtype)

    def fetch(self, array):
        self.most_fetched = max(self.most_fetched, len(array))
        return array

    def is_out_of_memory(self, error):
        return isinstance(error, MemoryError)

    def forget(self):
        pass

    def compile(self, **numbers):
        options = tuple(f"-D{name}={value}" for name, value in numbers.items())
        if options not in self.compiled:
            path = self.folder / f"vote{len(self.compiled)}.so"
            command = [COMPILER, *FLAGS.split()]
            places = [f"-I{Path(__file__).parent}", f"-I{SOURCE.parent}"]
            subprocess.run(
                [*command, *places, *options, "-x", "c++", "-", "-o", path], input=RUN, text=True, check=True
            )
            self.compiled[options] = ctypes.CDLL(path)
        library = self.compiled[options]
        return lambda name: lambda grid, block, args, shared_mem=0: launch(library, name, grid, block, args)


def emulate(monkeypatch, gpu):
    """Let SVMs vote on an emulated GPU where "cuda" is asked for."""
    replaced = {
        "GPU": lambda _: gpu, "WARPS": 5, "find_own_gpu": lambda: 0, "count_gpus": lambda: 1,
        "require_extra": lambda *_: None,
    }  # fmt: skip
    for name, value in replaced.items():
        monkeypatch.setattr(_device, name, value)


def launch(library, name, grid, block, args):
    """Call a kernel as CuPy does: arrays by address, numbers by value."""
    values = [
        ctypes.c_void_p(arg.ctypes.data)
        if isinstance(arg, np.ndarray)
        else np.ctypeslib.as_ctypes(np.array(arg))
        for arg in args
    ]
    places = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    library.run(name.encode(), grid[0], (*grid, 1)[1], block[0], places)

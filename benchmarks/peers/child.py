"""Call a function in a process of its own, with a limit on its time and memory.

Processes are forked from a server that has imported the libraries and loaded compiled code (`preload.py`), so
that times do not include the start. Each has one thread: the number of threads that libraries use is set in
the environment before the server starts. If a process crashes or is killed at its limit, only its own
`Outcome` is lost. Linux only, because of the way limits and memory are counted.
"""

import multiprocessing
import os
import resource
import signal
from contextlib import suppress
from typing import Any, NamedTuple

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2  # bytes; for two cells at a time
DONE, TOO_SLOW, FAILED = "done", "too slow", "failed"


class Outcome(NamedTuple):
    """How a call ended."""

    status: str  # DONE, TOO_SLOW or FAILED
    value: Any = None  # what it returned
    note: str = ""  # why it returned nothing


def call(function, *args, limit, memory=MEMORY):
    """Return the outcome of function(*args); both are pickled.

    Parameters
    ----------
    function : callable
        From a module that can be imported.
    *args
    limit : float
        Seconds.
    memory : int
        Bytes.
    """
    context = start_server()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(theirs, limit, memory, function, args), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(limit):
            return Outcome(TOO_SLOW, note=f"more than {limit:g} s")
        return ours.recv()
    except EOFError:  # the process has ended
        process.join()
        return Outcome(FAILED, note=f"the process ended with {process.exitcode}")
    finally:
        process.kill()
        process.join()
        process.close()
        ours.close()


def end_calls():
    """Kill all calls that are still running."""
    for process in multiprocessing.active_children():
        with suppress(ValueError):  # its caller has just closed it
            process.kill()


def start_server():
    """Return the context for processes; the server starts with the first of them."""
    for name in THREADS:
        os.environ[name] = "1"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.peers.preload"])
    return context


def work(pipe, limit, memory, function, args):
    """Call the function and send its outcome."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the caller decides
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    seconds = int(limit) + 5  # so that a process ends even if its caller was killed
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        outcome = Outcome(DONE, function(*args))
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0]
        outcome = Outcome(FAILED, note=f"{type(error).__name__}: {first_line}"[:120])
    pipe.send(outcome)

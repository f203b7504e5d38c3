"""Run a compiled function over pieces of a range, on plain threads.

The compiled loops release the interpreter's lock, so threads are enough: no process is started or forked, and
several callers can do this at once. How the range is cut does not change the result.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed

from subsvms._typing import OnProgress


def run_pieces(
    work: Callable[[int, int], None],
    n_items: int,
    piece: int,
    n_jobs: int,
    on_progress: OnProgress | None = None,
) -> None:
    """Call work(first, last) for consecutive pieces of range(n_items)."""
    pieces = [(first, min(first + piece, n_items)) for first in range(0, n_items, piece)]
    done = 0
    if n_jobs == 1 or len(pieces) <= 1:
        for first, last in pieces:
            work(first, last)
            done += last - first
            if on_progress:
                on_progress(done, n_items)
        return
    pool = ThreadPoolExecutor(min(n_jobs, len(pieces)))
    try:
        sizes = {pool.submit(work, first, last): last - first for first, last in pieces}
        for future in as_completed(sizes):
            future.result()
            done += sizes[future]
            if on_progress:
                on_progress(done, n_items)
    finally:  # after an error or Ctrl-C, no further piece is started
        pool.shutdown(cancel_futures=True)

"""How much a computation may use, and a compiled function run over pieces of a range, on plain threads.

The compiled loops release the interpreter's lock, so threads are enough: no process is started or forked, and
several callers can do this at once. How the range is cut does not change the result.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

from joblib import effective_n_jobs

from subsvms._typing import OnProgress


@dataclass(frozen=True)
class Effort:
    """What a computation may use, and whom it tells how far it has come; no bit of a result depends on it."""

    n_jobs: int = 1  # threads, already counted: what None and -1 stand for is settled in `of`
    device: str = "cpu"
    on_progress: OnProgress | None = None

    @classmethod
    def of(cls, estimator: Any, on_progress: OnProgress | None = None) -> "Effort":
        """Return what the parameters of an estimator allow, here and now."""
        n_jobs = effective_n_jobs(getattr(estimator, "n_jobs", None))
        return cls(n_jobs, getattr(estimator, "device", "cpu"), on_progress)

    def telling(self, on_progress: OnProgress | None) -> "Effort":
        """Return the same effort that tells someone else how far it has come."""
        return replace(self, on_progress=on_progress)


ONE_THREAD = Effort()


def run_pieces(work: Callable[[int, int], None], n_items: int, piece: int, effort: Effort) -> None:
    """Call work(first, last) for consecutive pieces of range(n_items)."""
    pieces = [(first, min(first + piece, n_items)) for first in range(0, n_items, piece)]
    done = 0

    def tell(n_more):
        nonlocal done
        done += n_more
        if effort.on_progress:
            effort.on_progress(done, n_items)

    if effort.n_jobs == 1 or len(pieces) <= 1:
        for first, last in pieces:
            work(first, last)
            tell(last - first)
        return
    pool = ThreadPoolExecutor(min(effort.n_jobs, len(pieces)))
    try:
        sizes = {pool.submit(work, first, last): last - first for first, last in pieces}
        for future in as_completed(sizes):
            future.result()
            tell(sizes[future])
    finally:  # after an error or Ctrl-C, no further piece is started
        pool.shutdown(cancel_futures=True)

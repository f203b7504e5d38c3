"""What a computation may use, whom it tells how far it has come, and a range worked through on plain threads.

The compiled loops release the interpreter's lock, so threads are enough: no process is started or forked, and
several callers can do this at once. How the range is cut does not change the result.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

from subsvms._numbers import check_type
from subsvms.exceptions import InputError

OnProgress = Callable[[int, int], None]  # called as on_progress(done, total)
Listener = Callable[[str, int, int], None]  # called as listener(stage, done, total): the command line is one
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@dataclass(frozen=True)
class Effort:
    """What a computation may use, and whom it tells how far it has come; no bit of a result depends on it."""

    n_jobs: int = 1  # threads, already counted: what None and -1 stand for is settled in `of`
    device: str = "cpu"
    on_progress: OnProgress | None = None

    def __post_init__(self) -> None:
        check_type("on_progress", self.on_progress, "a function of two numbers", Callable, type(None))

    @classmethod
    def of(cls, estimator: Any, on_progress: OnProgress | None = None) -> "Effort":
        """Return what the parameters of an estimator allow, here and now."""
        n_jobs = count_threads(getattr(estimator, "n_jobs", None))
        return cls(n_jobs, getattr(estimator, "device", "cpu"), on_progress)

    def telling(self, on_progress: OnProgress | None) -> "Effort":
        return replace(self, on_progress=on_progress)


ONE_THREAD = Effort()


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads these are: None for one, -1 for all cores."""
    from joblib import effective_n_jobs  # here: the command line listens without it

    if n_jobs is not None and (not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0):
        words = "{n_jobs} must be a whole number other than 0, such as -1 for all cores; got {got!r}."
        raise InputError(words, got=n_jobs)
    return effective_n_jobs(n_jobs)


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


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call listener(stage, done, total) as the work in this context progresses."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(stage: str, done: int = 0, total: int = 1) -> None:
    """Report to the listener, if any, that a stage begins or how far it has come."""
    listener = _listener.get()
    if listener is not None:
        listener(stage, done, total)


@contextmanager
def one_stage(name: str, done: int = 0, total: int = 1) -> Iterator[None]:
    """Announce a stage, but none of the stages inside it."""
    announce(name, done, total)
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)

"""Where the pieces of a large table are worked on: threads of this process, or a Dask cluster.

An engine calls function(shared, item) for many items and yields what comes back, in any order. The functions
write whole files or nothing, and write the same however often they are called, so an item whose worker died
is simply done again. Anything that can map a function over batches is an engine, too: see `docs/scale.md`.
"""

import logging
import pickle
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from subsvms.app.tables.files import first_sentence
from subsvms.exceptions import TableError

AHEAD = 3  # items per worker that are under way or wait
PATIENCE = 10.0  # seconds for a scheduler to answer, and to have a worker
ADDRESS = r"(\w+://)?[^\s/]+:\d+(/\S*)?"
SHARED = "shared-"  # how files begin that workers read and nobody else needs

Work = Callable[[Any, Any], Any]


class Engine(Protocol):
    """What can map a function over many items."""

    threads: int  # that a function should use itself

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield work(shared, item) for each item, in any order."""


class LocalEngine:
    """Threads of this process.

    Parameters
    ----------
    n_jobs : int
    n_items : int
        Items that are to come. If they are few, they are done one by one with all threads.

    Examples
    --------
    >>> sorted(LocalEngine(2, 10).map(lambda shared, item: shared + item, 100, range(3)))
    [100, 101, 102]
    """

    def __init__(self, n_jobs: int, n_items: int):
        self.n_workers = n_jobs if n_items >= 2 * n_jobs else 1
        self.threads = 1 if self.n_workers == n_jobs else n_jobs
        self.pool = ThreadPoolExecutor(self.n_workers)  # for all passes: threads keep memory of their own

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield work(shared, item) for each item, in any order."""
        waiting: set[Future] = set()
        try:
            for item in items:
                waiting.add(self.pool.submit(work, shared, item))
                if len(waiting) >= AHEAD * self.n_workers:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:  # on an error or Ctrl-C, items that have not begun never do
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Let the threads go."""
        self.pool.shutdown(cancel_futures=True)


class DaskEngine:
    """A Dask cluster.

    What all items share goes through a file in `folder`, which all workers must see, as they must see the
    table: it outlives workers that die, and does not weigh on the scheduler.

    Parameters
    ----------
    client : distributed.Client
    folder : Path
    """

    threads = 1

    def __init__(self, client: Any, folder: Path):
        self.client, self.folder = client, folder

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield work(shared, item) for each item, in any order."""
        from distributed import as_completed

        # A name of its own, as workers remember what they read under one.
        path = self.folder / f"{SHARED}{secrets.token_hex(8)}.pickle"
        path.write_bytes(pickle.dumps(shared))
        running, n_running = as_completed(loop=self.client.loop), 0
        try:
            for item in items:
                running.add(self._submit(work, path, item))
                n_running += 1
                if n_running >= AHEAD * self._count_threads():
                    yield next(running).result()
                    n_running -= 1
            for future in running:
                yield future.result()
        finally:
            path.unlink(missing_ok=True)

    def _submit(self, work, path, item):
        return self.client.submit(work_with, work, str(path), item, pure=False)

    def _count_threads(self):
        return max(sum(self.client.nthreads().values()), 1)


def work_with(work: Work, path: str, item: Any) -> Any:
    """Call work(shared, item) on a worker."""
    return work(load_shared(path), item)


@lru_cache(maxsize=2)
def load_shared(path: str) -> Any:
    """Return what the items share; once for all of them."""
    return pickle.loads(Path(path).read_bytes())


@contextmanager
def open_engine(
    name: str, *, n_jobs: int, n_items: int, folder: Path, scheduler: str | None = None
) -> Iterator[Engine]:
    """Give an engine, and take it down at the end.

    Parameters
    ----------
    name : {"local", "dask"}
    n_jobs : int
        Threads; of a local Dask cluster, workers.
    n_items : int
        How many units the table has.
    folder : Path
        That all workers see.
    scheduler : str, optional
        Address of a Dask scheduler; a cluster of this machine's cores without it.
    """
    if name == "local":
        engine = LocalEngine(n_jobs, n_items)
        try:
            yield engine
        finally:
            engine.close()
        return
    try:
        import distributed  # noqa: F401  before its loggers are silenced
    except ImportError:
        raise TableError(
            "Dask is not installed: install it with pip install 'subsvms[dask]', or use --engine local."
        ) from None
    with _silence(), _open_client(n_jobs, scheduler) as client, _explaining(scheduler):
        yield DaskEngine(client, folder)


@contextmanager
def _silence():
    """Keep Dask, and what it is built on, from printing what is told in a sentence."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith(("distributed", "tornado"))]
    loggers = {logging.getLogger(name): logging.getLogger(name).level for name in (*names, "tornado")}
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in loggers.items():
            logger.setLevel(level)


@contextmanager
def _open_client(n_jobs, scheduler):
    from distributed import Client, LocalCluster

    if scheduler is not None:
        if not re.fullmatch(ADDRESS, scheduler):  # a client would wait, and leave a thread behind
            raise TableError(
                f"--scheduler must be an address such as tcp://10.0.0.1:8786; got {scheduler!r}: a scheduler "
                "prints its own when it starts."
            )
        try:
            client = Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise TableError(
                f"No Dask scheduler answers at {scheduler!r} ({type(error).__name__}): check its address, "
                "and that it runs."
            ) from None
        with client:
            try:
                client.wait_for_workers(1, timeout=PATIENCE)
            except TimeoutError:
                raise TableError(
                    f"The Dask scheduler at {scheduler!r} has no workers: start some, and this command again."
                ) from None
            yield client
        return
    with tempfile.TemporaryDirectory(prefix="subsvms-") as scratch:
        cluster = LocalCluster(
            n_workers=n_jobs, threads_per_worker=1, dashboard_address=None, local_directory=scratch,
            memory_limit=0, silence_logs="CRITICAL",
        )  # fmt: skip
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def _explaining(scheduler):
    """Turn the end of a cluster into one sentence."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise TableError(
            f"Several Dask workers died over the same piece ({first_sentence(error)}): they may need more "
            "memory; start again to go on where it stopped."
        ) from None
    except (CancelledError, CommClosedError, TimeoutError) as error:
        where = f" at {scheduler!r}" if scheduler else ""
        raise TableError(
            f"The Dask scheduler{where} is gone ({type(error).__name__}): start it, and this command again, "
            "to go on where it stopped."
        ) from None

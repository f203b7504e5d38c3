"""Where the units of a large table are processed: in threads of this process, or on a Dask cluster.

An engine calls function(shared, item) for many items and yields the results, in any order. The functions
write complete files or nothing, and the same files however often they are called, so an item whose worker
died is simply processed again. Any other program that maps a function over batches will do: see
`docs/scale.md`.
"""

import logging
import pickle
import re
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from subsvms._effort import count_threads
from subsvms.app.names import SHARED
from subsvms.app.quoting import first_sentence
from subsvms.exceptions import TableError, require_extra

TIMEOUT = 10.0  # seconds to wait for a scheduler to answer, and for its first worker
BESIDE_GPU = 4  # threads that feed a GPU: more wait for each other in Python, and only take more memory
ADDRESS = r"(\w+://)?[^\s/]+:\d+(/\S*)?"

Work = Callable[[Any, Any], Any]


class LocalEngine:
    """Threads of this process, for about `n_items` items; `gpu` says whether SVMs may vote on a GPU."""

    def __init__(self, n_jobs: int, n_items: int, *, gpu: bool = False):
        # a few items are processed one by one, each with all threads, but always side by side for a GPU
        side_by_side = min(n_jobs, BESIDE_GPU, n_items) if gpu else n_jobs
        self.n_workers = side_by_side if gpu or n_items >= 2 * n_jobs else 1
        # that the function itself should use; a GPU needs none of them, but may refuse these SVMs
        self.threads = -(-n_jobs // self.n_workers)

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield work(shared, item) for each item, in any order."""
        pool = ThreadPoolExecutor(self.n_workers)
        try:
            for future in as_completed([pool.submit(work, shared, item) for item in items]):
                yield future.result()
        finally:  # on an error or Ctrl-C, wait for the items under way (joblib does not) and start no others
            pool.shutdown(cancel_futures=True)


class DaskEngine:
    """A Dask cluster, and a folder that all its workers can read, like the table itself."""

    threads = 1

    def __init__(self, client: Any, folder: Path):
        self.client, self.folder = client, folder

    def map(self, work: Work, shared: Any, items: Iterable[Any]) -> Iterator[Any]:
        """Yield work(shared, item) for each item, in any order."""
        from distributed import as_completed

        # A file remains when workers die, and does not burden the scheduler; workers cache it by its name.
        path = self.folder / f"{SHARED}{secrets.token_hex(8)}.pickle"
        path.write_bytes(pickle.dumps(shared))
        try:
            task = partial(work_on_item, work, str(path))
            # The futures are kept nowhere else, so that workers forget each result once it is used.
            for future in as_completed(self.client.map(task, list(items), pure=False), self.client.loop):
                yield future.result()
        finally:
            path.unlink(missing_ok=True)


Engine = LocalEngine | DaskEngine


def work_on_item(work: Work, path: str, item: Any) -> Any:
    """Call work(shared, item) on a worker."""
    return work(load_shared(path), item)


@lru_cache(maxsize=2)
def load_shared(path: str) -> Any:
    """Return what the items share; it is read once for all of them."""
    return pickle.loads(Path(path).read_bytes())


def check_engine(name: str, scheduler: str | None = None) -> None:
    """Raise an error if an engine cannot be opened, as far as that is known without trying."""
    if name != "dask":
        return
    try:
        require_extra("The Dask engine", "dask", "distributed")
    except ImportError as error:
        raise TableError("{error} Without it, use {engine=local}.", error=error) from None
    if scheduler is not None and not re.fullmatch(ADDRESS, scheduler):  # a client would wait for it
        raise TableError(
            "{scheduler} must be an address such as tcp://10.0.0.1:8786; got {got!r}: a scheduler prints its "
            "address when it starts.",
            got=scheduler,
        )


@contextmanager
def open_engine(
    name: str, n_jobs: int | None, n_items: int, folder: Path | None, scheduler: str | None = None, *,
    gpu: bool = False,
) -> Iterator[Engine]:  # fmt: skip
    """Provide an engine that `check_engine` has let pass, and shut it down at the end."""
    if name == "local":
        yield LocalEngine(count_threads(n_jobs), n_items, gpu=gpu)
        return
    assert folder is not None
    with _silence_loggers(), _open_client(n_jobs, scheduler) as client, _explain_failures(scheduler):
        yield DaskEngine(client, folder)


@contextmanager
def _silence_loggers():
    """Keep Dask and its dependencies from logging errors that a `TableError` describes."""
    import distributed  # noqa: F401  creates its loggers

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

    if scheduler is None:
        with (
            tempfile.TemporaryDirectory(prefix="subsvms-") as scratch,
            LocalCluster(
                n_workers=n_jobs, threads_per_worker=1, dashboard_address=None, local_directory=scratch,
                memory_limit=0, silence_logs="CRITICAL",
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):  # fmt: skip
            yield client
        return
    try:
        client = Client(scheduler, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise TableError(
            f"No Dask scheduler answers at {scheduler!r} ({type(error).__name__}): check the address, and "
            "that the scheduler is running. The same command continues where this one stopped."
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError:
            raise TableError(
                f"The Dask scheduler at {scheduler!r} has no workers: start some, then try again."
            ) from None
        yield client


@contextmanager
def _explain_failures(scheduler):
    """Turn the failure of a cluster into one sentence."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise TableError(
            f"Several Dask workers died while working on the same part ({first_sentence(error)}): they may "
            "need more memory. The same command continues where this one stopped."
        ) from None
    except (CancelledError, CommClosedError, TimeoutError) as error:
        where = f" at {scheduler!r}" if scheduler else ""
        raise TableError(
            f"The connection to the Dask scheduler{where} was lost ({type(error).__name__}): restart it if "
            "necessary. The same command continues where this one stopped."
        ) from None

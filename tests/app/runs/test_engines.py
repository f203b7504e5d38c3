"""The local engine: every item once, nothing left behind after an error. Dask's is in tests/slow."""

import sys
import threading
import time

import pytest

from subsvms.app.runs.engines import LocalEngine, check_engine
from subsvms.exceptions import TableError


@pytest.mark.parametrize("n_jobs, n_items, gpu, expected", [
    (4, 8, False, (4, 1)), (4, 7, False, (1, 4)), (1, 9, True, (1, 1)), (2, 9, True, (2, 1)),
    (16, 9, True, (4, 4)), (6, 9, True, (4, 2)), (16, 3, True, (3, 6)), (16, 1, True, (1, 16)),
])  # fmt: skip
def test_few_items_get_all_threads_and_a_few_threads_feed_a_gpu(n_jobs, n_items, gpu, expected):
    engine = LocalEngine(n_jobs, n_items, gpu=gpu)
    assert (engine.n_workers, engine.threads) == expected


def test_results_arrive_as_they_are_ready():
    ready = threading.Event()

    def work(_, item):
        if item == 0:
            assert ready.wait(10)
        return item

    results = LocalEngine(2, 4).map(work, None, range(4))
    assert sorted([next(results), next(results), next(results)]) == [1, 2, 3]
    ready.set()
    assert list(results) == [0]


@pytest.mark.parametrize("whose", ["worker", "consumer"])
def test_after_an_error_items_under_way_end_and_no_others_begin(whose):
    begun, ended = [], []

    def work(_, item):
        begun.append(item)
        if item == 1 and whose == "worker":
            raise TableError("The disk is full.")
        time.sleep(0.05)
        ended.append(item)

    def consume():
        for _ in LocalEngine(2, 100).map(work, None, range(100)):
            if whose == "consumer":
                raise TableError("The disk is full.")

    with pytest.raises(TableError, match="The disk is full"):
        consume()
    n_begun = len(begun)
    assert n_begun < 10 and set(begun) - set(ended) == ({1} if whose == "worker" else set())
    time.sleep(0.1)
    assert len(begun) == n_begun


def test_without_dask_the_extra_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(TableError, match=r"pip install 'subsvms\[dask\]'.*engine='local'"):
        check_engine("dask")

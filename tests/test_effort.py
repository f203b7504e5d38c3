import time

import pytest

from subsvms._effort import Effort, run_pieces


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_items", [0, 1, 10, 11])
def test_every_item_is_done_once_and_reported(n_jobs, n_items):
    done, reported = [], []
    effort = Effort(n_jobs).telling(lambda *n: reported.append(n))
    run_pieces(lambda a, b: done.extend(range(a, b)), n_items, 3, effort)
    assert sorted(done) == list(range(n_items))
    assert reported == sorted(reported)
    assert len(reported) == -(-n_items // 3)
    assert not reported or reported[-1] == (n_items, n_items)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_is_raised_and_stops_the_rest(n_jobs):
    begun = []

    def work(first, last):
        begun.append(first)
        time.sleep(0.001)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        run_pieces(work, 1000, 1, Effort(n_jobs))
    assert len(begun) < 100

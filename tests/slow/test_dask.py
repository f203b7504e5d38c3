"""A Dask cluster gives the same bits as one process, whatever happens to workers and scheduler."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from large_tables import correct_in_parts, make_columns, read_files, reading_batches, write_files
from loans import call

from subsvms.app.desk.review import ReviewDesk
from subsvms.app.options import Options
from subsvms.app.runs.answer_store import Act
from subsvms.app.runs.engines import DaskEngine

dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

OPTIONS = Options("label", exclude=("true",), n_estimators=40)
N_ROWS = 8000
COMMON = ["--label", "label", "--exclude", "true", "--svms", "40", "--pool-size", "2000"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("dask") / "big"
    return write_files(make_columns(N_ROWS, seed=6), where, n_files=4, row_group_size=500)


def summarise(learned, finding, written):
    noise = learned.learned.rule.noise
    return (
        written, finding.run.tally, noise.matrix.tolist(), noise.rate_interval.tolist(),
        finding.numbers.tolist(), finding.issues.correction.explain(finding.issues.rows),
        finding.run.correction.to_frame().to_csv(),
    )  # fmt: skip


@pytest.mark.parametrize("groups", [pytest.param(None, marks=pytest.mark.nightly), "city"])
def test_one_process_one_worker_and_two_give_the_same_bits(folder, tmp_path, monkeypatch, groups):
    monkeypatch.setattr("subsvms.app.runs.source.UNIT_ROWS", 1000)  # more units than workers
    options = replace(OPTIONS, groups=groups)
    local = summarise(*correct_in_parts(folder, tmp_path / "local", options, pool_size=1000))
    with reading_batches(777):
        odd = summarise(*correct_in_parts(folder, tmp_path / "odd", options, pool_size=1000))
    assert odd == local
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for n_workers in (1, 2):
            cluster.scale(n_workers)
            client.wait_for_workers(n_workers)
            work = tmp_path / f"dask{n_workers}"
            work.mkdir()
            found = correct_in_parts(folder, work, options, pool_size=1000, engine=DaskEngine(client, work))
            assert summarise(*found) == local


def start(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True, **options,
    )  # fmt: skip


def finish(process):
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors


def stop(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture
def scheduler(tmp_path):
    note = tmp_path / "scheduler.json"
    process = start(
        "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", note
    )
    wait_for(lambda: note.is_file() and note.read_text().strip(), process)
    yield process, json.loads(note.read_text())["address"]
    stop(process)


def start_worker(address, tmp_path):
    return start(
        "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard",
        "--local-directory", tmp_path / "scratch", "--memory-limit", "0",
    )  # fmt: skip


def count_done(unfinished):
    return len(list((unfinished / "done").glob("*.json")))


def wait_for(condition, process, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def small_units(tmp_path_factory):
    """Many files, so that there are many units."""
    where = tmp_path_factory.mktemp("units") / "big"
    return write_files(make_columns(20_000, seed=7), where, n_files=20, row_group_size=1000)


@pytest.fixture(scope="module")
def expected(small_units, tmp_path_factory):
    place = tmp_path_factory.mktemp("expected") / "x"
    finish(start("subsvms", "correct", small_units, *COMMON, "--output", place))
    return read_files(place)


def test_killing_a_worker_during_a_run_changes_nothing(small_units, expected, tmp_path, scheduler):
    _, address = scheduler
    workers = [start_worker(address, tmp_path) for _ in range(2)]
    try:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2)  # a run waits ten seconds for the first one
        job = start(
            "subsvms", "correct", small_units, *COMMON, "--scheduler", address, "--output", tmp_path / "x"
        )
        wait_for(lambda: count_done(tmp_path / "x.unfinished") >= 2, job)
        os.killpg(workers[0].pid, signal.SIGKILL)
        finish(job)
        assert read_files(tmp_path / "x") == expected
    finally:
        for worker in workers:
            stop(worker)


@pytest.mark.nightly
def test_a_run_without_its_scheduler_says_so_and_continues_later(small_units, expected, tmp_path, scheduler):
    process, address = scheduler
    worker = start_worker(address, tmp_path)
    try:
        command = ["subsvms", "correct", small_units, *COMMON, "--output", tmp_path / "x"]
        job = start(*command, "--engine", "dask", "--scheduler", address)
        wait_for(lambda: count_done(tmp_path / "x.unfinished") >= 2, job)
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = job.communicate(timeout=300)
        assert job.returncode == 2, errors
        assert re.search(r"Dask scheduler at '\S+' was lost", " ".join(errors.split())), errors
        assert "Traceback" not in errors
        assert count_done(tmp_path / "x.unfinished") >= 2 and not (tmp_path / "x").exists()
    finally:
        stop(worker)
    finish(start(*command))  # another engine continues with the same parts
    assert read_files(tmp_path / "x") == expected


@pytest.mark.nightly
def test_what_dask_made_is_reviewed_and_applied_like_what_one_process_made(folder, tmp_path):
    written = []
    for engine in ("local", "dask"):
        words = (*COMMON, "--exclude", "city", "--engine", engine, "--threads", 1, "--quiet")
        call("correct", folder, *words, "--output", tmp_path / engine)
        desk = ReviewDesk(tmp_path / engine)
        decided = [desk.settle(row, ("accept", "keep", "drop")[row % 3], None) for row in desk.rows.tolist()]
        desk.decide_many([Act(decided, "Ann")])
        desk.decisions.close()
        call("apply", tmp_path / engine)
        written.append(read_files(tmp_path / engine / "final"))
        again = ("--decisions", tmp_path / engine, "--output", tmp_path / f"{engine}.again")
        call("correct", folder, *words, *again)
        written[-1] |= read_files(tmp_path / f"{engine}.again")
    assert written[0] == written[1] and len(written[0]) > 10


@pytest.mark.nightly
def test_an_address_without_a_scheduler_is_reported(folder, tmp_path):
    words = ("correct", folder, *COMMON, "--scheduler", "tcp://127.0.0.1:9", "--output", tmp_path / "x")
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        assert "No Dask scheduler answers" in call(*words, code=2).output
    assert list(tmp_path.iterdir()) == []

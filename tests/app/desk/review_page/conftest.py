"""A run on a table of hostile text, and people who review it."""

import os

import pytest
from browsers import HOSTILE, Reviewer, serving_here
from loans import make_rows, write

from subsvms.app.names import DECISIONS
from subsvms.app.options import Options, Work
from subsvms.app.runs.job import do_job


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run on a table of hostile text, with three classes."""
    place = tmp_path_factory.mktemp("review")
    rows, _ = make_rows()
    for number, row in enumerate(rows):
        row["<b>note</b>"] = HOSTILE[number % len(HOSTILE)]
    for row in rows[:12]:
        row["default"] = "<i>maybe</i>"
    for row in rows[20::60]:
        row["default"] = ""
    table = write(place / "loans & <b>more.csv", rows)
    return do_job(str(table), Options(label="default", n_estimators=200), Work(n_jobs=1)).written.folder


@pytest.fixture
def folder(finished):
    """That folder, without any decisions."""
    for name in os.listdir(finished):
        if name.startswith(DECISIONS):
            os.remove(os.path.join(finished, name))
    return finished


@pytest.fixture
def review(browser, folder):
    """Return a function that makes reviewers; at the end their pages are checked."""
    with serving_here(folder) as address:
        reviewers = []
        yield lambda **options: reviewers.append(Reviewer(browser, address, **options)) or reviewers[-1]
        for reviewer in reviewers:
            reviewer.check()
            reviewer.context.close()

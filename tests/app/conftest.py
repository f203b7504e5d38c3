"""A browser, and one corrected table that the tests of runs and of the review share."""

import shutil
from types import SimpleNamespace

import pytest
from browsers import WAIT
from loans import call, make_rows, write

from subsvms.correction import _other_judges

N_TREES = _other_judges.N_TREES


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Check changes with few trees, which take longest: the application only writes what is found."""
    _other_judges.N_TREES = 10


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    _other_judges.N_TREES = N_TREES


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=WAIT)
        yield started
        started.close()


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run on a table with strange text and two rows without a label: not to be changed."""
    place = tmp_path_factory.mktemp("finished")
    rows, clean = make_rows(500, wrong=0.2)
    for i, row in enumerate(rows):
        row["note"] = "<img src=x onerror=alert(1)>" if i % 2 else "plain \u2603\u2028\x85"
    for i in (3, 8):
        rows[i]["default"] = ""
    table = write(place / "loans.csv", rows)
    before = table.read_bytes()
    words = ("correct", table, "--label", "default", "--by", "who", "--seed", 3, "--svms", 200)
    output = call(*words, "--threads", 1, "--fill-missing").output
    return SimpleNamespace(
        folder=place / "loans.subsvms", table=table, before=before, clean=clean, output=output
    )


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of that run's folder, beside a copy of its table."""
    shutil.copy(finished.table, tmp_path)
    return shutil.copytree(finished.folder, tmp_path / "loans.subsvms")

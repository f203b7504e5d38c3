"""Desks on copies of the shared run, and a table with many wrong labels to audit."""

import shutil
from types import SimpleNamespace

import pytest
from answered_audits import make_folder
from loans import call, write
from tickets import make_tickets

from subsvms.app.desk.review import ReviewDesk


@pytest.fixture
def desk(folder):
    found = ReviewDesk(folder)
    yield found
    found.decisions.close()


@pytest.fixture(scope="module")
def quiet(finished, tmp_path_factory):
    """A desk on which nothing is decided."""
    place = tmp_path_factory.mktemp("quiet")
    shutil.copy(finished.table, place)
    found = ReviewDesk(shutil.copytree(finished.folder, place / "loans.subsvms"))
    yield found
    found.decisions.close()


@pytest.fixture(scope="session")
def corrected_tickets(tmp_path_factory):
    """A run on tickets: not to be changed."""
    place = tmp_path_factory.mktemp("tickets")
    table = write(place / "tickets.csv", make_tickets()[0])
    call("correct", table, "--label", "topic", "--id", "ticket", "--svms", 100, "--quiet")
    return place


@pytest.fixture
def tickets(corrected_tickets, tmp_path):
    """A desk on a copy of that run's folder."""
    place = shutil.copytree(corrected_tickets, tmp_path / "copy")
    found = ReviewDesk(place / "tickets.subsvms")
    yield found
    found.decisions.close()


@pytest.fixture(scope="session")
def audited_run(tmp_path_factory):
    """A run on a table with known truth: not to be changed."""
    return make_folder(tmp_path_factory.mktemp("audited"))


@pytest.fixture
def made(audited_run, tmp_path):
    """A copy of it."""
    shutil.copy(audited_run.table, tmp_path)
    folder = shutil.copytree(audited_run.folder, tmp_path / "loans.subsvms")
    return SimpleNamespace(folder=folder, table=tmp_path / "loans.csv", clean=audited_run.clean)

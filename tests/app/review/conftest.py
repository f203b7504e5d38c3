"""Desks on copies of the shared run."""

import shutil

import pytest
from loans import call, write
from tickets import make_tickets

from subsvms.app.review.desk import Desk


@pytest.fixture
def desk(folder):
    found = Desk(folder)
    yield found
    found.decisions.close()


@pytest.fixture(scope="module")
def quiet(finished, tmp_path_factory):
    """A desk on which nothing is decided."""
    place = tmp_path_factory.mktemp("quiet")
    shutil.copy(finished.table, place)
    found = Desk(shutil.copytree(finished.folder, place / "loans.subsvms"))
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
    found = Desk(place / "tickets.subsvms")
    yield found
    found.decisions.close()

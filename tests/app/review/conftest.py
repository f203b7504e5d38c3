"""Desks on copies of the shared run."""

import shutil

import pytest

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

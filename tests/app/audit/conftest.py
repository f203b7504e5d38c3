"""A corrected table with many wrong labels, and copies of it to audit."""

import shutil
from types import SimpleNamespace

import pytest
from auditing import make_folder


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

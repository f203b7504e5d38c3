"""The token of a page: the same for one page about one run, and known to nobody else."""

import os
import stat

import pytest

from subsvms.app.desk.guard import is_secret, make_token
from subsvms.app.names import PAGE_SECRET

PARTS = ("review", "", "digest of the run")


@pytest.fixture
def path(tmp_path):
    return tmp_path / PAGE_SECRET


def test_a_token_stays_until_a_new_one_is_asked_for(path):
    first = make_token(path, *PARTS)
    assert make_token(path, *PARTS) == first and len(first) == 32
    assert make_token(path, *PARTS, renew=True) not in (first, make_token(path, "audit", *PARTS[1:]))
    assert make_token(path, *PARTS) != first


def test_pages_and_runs_have_tokens_of_their_own(path):
    others = (
        ("audit", "", PARTS[2]),
        ("audit", "confirm", PARTS[2]),
        ("review", "", "another run"),
        PARTS[::2],
    )
    assert len({make_token(path, *parts) for parts in (PARTS, *others)}) == 5


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_only_the_owner_reads_the_secret_and_one_that_others_could_read_is_replaced(path, tmp_path):
    before = os.umask(0)
    try:
        first = make_token(path, *PARTS)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and is_secret(path)
    known = path.read_bytes()
    for spoil in (
        lambda: path.chmod(0o640), lambda: path.chmod(0o602), lambda: path.write_bytes(b"short"),
        lambda: os.link(path, tmp_path / f"link{len(list(tmp_path.iterdir()))}"),
        lambda: (path.rename(tmp_path / "moved"), path.symlink_to(tmp_path / "moved")),
    ):  # fmt: skip
        spoil()
        assert make_token(path, *PARTS) != first and path.read_bytes() != known
        assert is_secret(path) and not path.is_symlink()
        first, known = make_token(path, *PARTS), path.read_bytes()


def test_where_nothing_can_be_written_the_token_is_new_each_time(tmp_path):
    path = tmp_path / "nowhere" / PAGE_SECRET
    assert make_token(path, *PARTS) != make_token(path, *PARTS)

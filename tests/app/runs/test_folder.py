"""The folder of a run: complete, or not there."""

import errno
import os
import shutil

import pytest

from subsvms.app.runs.folder import fill_folder
from subsvms.exceptions import TableError


def fill(folder, text="{}"):
    (folder / "corrected.csv").write_text("y\n1\n")
    (folder / "run.json").write_text(text)


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_folder_appears_whole(tmp_path):
    with fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        fill(folder)
        assert not (tmp_path / "a.subsvms").exists()
    assert names(tmp_path) == ["a.subsvms", "a.subsvms/corrected.csv", "a.subsvms/run.json"]
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a.subsvms").stat().st_mode & 0o777 == 0o777 & ~mask
    assert (tmp_path / "a.subsvms/run.json").stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_mistake_or_an_interruption_leaves_nothing(tmp_path, error):
    with pytest.raises(error), fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        fill(folder)
        raise error
    assert names(tmp_path) == []


def test_a_full_disk_is_a_sentence(tmp_path):
    with pytest.raises(TableError, match="No space left on device.*free some space"):
        with fill_folder(tmp_path / "a.subsvms", force=False):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == []


def test_an_earlier_run_is_replaced_only_by_force(tmp_path):
    place = tmp_path / "a.subsvms"
    with fill_folder(place, force=False) as folder:
        fill(folder)
    with pytest.raises(TableError, match="earlier run"), fill_folder(place, force=False):
        pass
    with fill_folder(place, force=True) as folder:
        fill(folder, "new")
    assert (place / "run.json").read_text() == "new" and len(list(tmp_path.iterdir())) == 1


def test_what_others_put_there_is_never_replaced(tmp_path):
    place = tmp_path / "a.subsvms"
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    with pytest.raises(TableError, match="files that do not belong to a run"), fill_folder(place, force=True):
        pass
    (place / "run.json").write_text("{}")
    (place / "decisions.sqlite").write_text("hours of work")
    with pytest.raises(TableError, match="decisions"), fill_folder(place, force=True):
        pass
    (tmp_path / "file.subsvms").write_text("a file")
    with pytest.raises(TableError, match="not a folder"), fill_folder(tmp_path / "file.subsvms", force=True):
        pass
    assert (place / "thesis.txt").read_text() == "years of work"


def test_of_two_runs_at_once_the_second_gets_an_error_and_the_first_stays(tmp_path):
    place = tmp_path / "a.subsvms"
    with pytest.raises(TableError, match="earlier run"):
        with fill_folder(place, force=False) as second:
            with fill_folder(place, force=False) as first:
                assert first != second
                fill(first, "first")
            fill(second, "second")
    assert (place / "run.json").read_text() == "first" and len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_run_left_is_removed_by_the_next_and_a_run_in_progress_is_left_alone(tmp_path):
    left = tmp_path / ".a.subsvms-0123abcd.part"
    left.mkdir()
    left.with_suffix(".lock").touch()
    with fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        assert names(tmp_path) == [folder.name, folder.with_suffix(".lock").name][::-1]
        with fill_folder(tmp_path / "a.subsvms", force=False) as other:
            assert folder.exists()
            fill(other)
        fill(folder)
        shutil.rmtree(tmp_path / "a.subsvms")
    assert names(tmp_path) == ["a.subsvms", "a.subsvms/corrected.csv", "a.subsvms/run.json"]


def test_a_folder_that_was_moved_aside_by_a_killed_run_comes_back(tmp_path):
    aside = tmp_path / ".a.subsvms-0123abcd.old"
    aside.mkdir()
    fill(aside, "old")
    with pytest.raises(TableError, match="earlier run"), fill_folder(tmp_path / "a.subsvms", force=False):
        pass
    assert (tmp_path / "a.subsvms/run.json").read_text() == "old" and not aside.exists()


def test_a_folder_in_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(TableError, match="There is no folder"), fill_folder(tmp_path / "b/a", force=False):
        pass


def test_what_belongs_to_another_run_is_left_alone(tmp_path):
    other = tmp_path / ".out-2-abcdefgh.old"
    other.mkdir()
    fill(other, "other")
    with fill_folder(tmp_path / "out", force=False) as folder:
        fill(folder)
    assert (other / "run.json").read_text() == "other"


def test_a_message_names_the_folder_that_the_user_knows(tmp_path):
    with pytest.raises(TableError) as caught, fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        raise TableError(f"{folder / 'corrected.csv'} could not be written.")
    assert str(caught.value) == f"{tmp_path / 'a.subsvms' / 'corrected.csv'} could not be written."

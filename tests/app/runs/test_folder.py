"""The folder of a run: complete, or not there."""

import errno
import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import pytest
from filelock import FileLock
from nasty_texts import assert_refused

from subsvms._effort import listening
from subsvms.app.names import PLAN, UNFINISHED
from subsvms.app.options import tell_flags
from subsvms.app.runs import folder as folders
from subsvms.app.runs.answer_store import Act, AnswerStore
from subsvms.app.runs.folder import fill_folder, prepare_place, refuse, resume_folder
from subsvms.exceptions import TableError

TABLE, PAGE = "y\n1\n", "<html>"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def fill(folder, title="", **more):
    (folder / "corrected.csv").write_text(TABLE)
    record = {
        "subsvms": 2, "input": {"paths": [], "sha256": ""}, "options": {"label": "y"},
        "found": {"title": title, "rows": 1, "action": "fix", "words": []},
        "files": {"corrected.csv": digest(TABLE)}, "report": digest(PAGE), **more,
    }  # fmt: skip
    (folder / "run.json").write_text(json.dumps(record))


def read_title(folder):
    return json.loads((folder / "run.json").read_text())["found"]["title"]


def try_to_fill(place, force=False):
    with fill_folder(place, force=force):
        pass


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


def test_an_earlier_run_is_replaced_only_by_force(tmp_path):
    place = tmp_path / "a.subsvms"
    with fill_folder(place, force=False) as folder:
        fill(folder)
    assert_refused("earlier run", try_to_fill, place)
    with fill_folder(place, force=True) as folder:
        fill(folder, "new")
    assert read_title(place) == "new" and len(list(tmp_path.iterdir())) == 1


def test_what_others_put_there_is_never_replaced(tmp_path):
    place = tmp_path / "a.subsvms"
    place.mkdir()
    (place / "thesis.txt").write_text("years of work")
    assert_refused("files that do not belong to a run", try_to_fill, place, force=True)
    (place / "run.json").write_text("{}")
    (place / "decisions.sqlite").write_text("hours of work")
    assert_refused("decisions", try_to_fill, place, force=True)
    (tmp_path / "file.subsvms").write_text("a file")
    assert_refused("not a folder", try_to_fill, tmp_path / "file.subsvms", force=True)
    assert (place / "thesis.txt").read_text() == "years of work"


def test_of_two_runs_at_once_the_second_gets_an_error_and_the_first_stays(tmp_path):
    place = tmp_path / "a.subsvms"
    with pytest.raises(TableError, match="earlier run"):
        with fill_folder(place, force=False) as second:
            with fill_folder(place, force=False) as first:
                assert first != second
                fill(first, "first")
            fill(second, "second")
    assert read_title(place) == "first" and len(list(tmp_path.iterdir())) == 1


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
    assert_refused("earlier run", try_to_fill, tmp_path / "a.subsvms")
    assert read_title(tmp_path / "a.subsvms") == "old" and not aside.exists()


def test_a_message_names_the_folder_that_the_user_knows(tmp_path):
    with pytest.raises(TableError) as caught, fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        raise TableError(f"{folder / 'corrected.csv'} could not be written.")
    assert str(caught.value) == f"{tmp_path / 'a.subsvms' / 'corrected.csv'} could not be written."
    with pytest.raises(TableError) as caught, fill_folder(tmp_path / "a", force=False) as folder:
        refuse(folder, "is full: {other}.")
    told = tell_flags(caught.value.args[0])
    assert told == f"{str(tmp_path / 'a')!r} is full: choose another folder (--output)."


def decide(path):
    book = AnswerStore(path, None)
    book.decide_many([Act([(1, "keep", "yes")], "Ann")])
    book.close()


CHANGES = {  # what somebody may do in the folder of a run
    "notes.txt": lambda path: path.write_text("precious"),
    "corrected.csv": lambda path: path.write_text("y\n2\n"),
    "report.html": lambda path: path.write_text(f"{PAGE} checked by Ann"),
    "run.json": lambda path: path.write_text('{"my": 1}'),
    "decisions.sqlite": decide,
    "corrected/more": lambda path: path.mkdir(parents=True),
    "issues": lambda path: path.symlink_to(path.parent.parent),
    "issues.csv": lambda path: path.symlink_to(path.with_name("corrected.csv")),
}


@pytest.mark.parametrize("found", CHANGES)
@pytest.mark.parametrize("when", ["before", "at the last moment"])
def test_force_replaces_only_what_the_run_wrote(tmp_path, found, when):
    place = tmp_path / "a.subsvms"
    with fill_folder(place, force=False) as folder:
        fill(folder, "old")
    if when == "before":
        CHANGES[found](place / found)
    with pytest.raises(TableError) as caught, fill_folder(place, force=True) as folder:
        fill(folder, "new")
        CHANGES[found](place / found)
    words = "decisions or answers of people" if found == "decisions.sqlite" else found
    assert words in str(caught.value) and str(place) in str(caught.value)
    there = names(tmp_path)
    assert f"a.subsvms/{found}" in there and "a.subsvms/corrected.csv" in there
    assert not [name for name in there if name.startswith(".")]


def test_a_report_is_replaced_if_it_is_what_the_run_wrote_or_the_record_does_not_say(tmp_path):
    place = tmp_path / "a.subsvms"
    for more, page in (({}, PAGE), ({"report": None}, "<html> of an earlier version"), ({}, PAGE)):
        with fill_folder(place, force=True) as folder:
            fill(folder, **more)
            (folder / "report.html").write_text(page)
    assert (place / "report.html").read_text() == PAGE


@pytest.mark.parametrize(
    "text, reason", [('{"subsvms": 99}', "use the version that wrote it"), ("{", "or it was changed")]
)
def test_why_a_record_cannot_be_read_is_said(tmp_path, text, reason):
    place = tmp_path / "a.subsvms"
    place.mkdir()
    (place / "run.json").write_text(text)
    with pytest.raises(TableError, match=f"cannot be replaced, choose another folder.*{reason}"):
        prepare_place(place, force=True)


def test_what_is_added_while_a_folder_is_moved_comes_back_with_it(tmp_path, monkeypatch):
    place = tmp_path / "a.subsvms"
    with fill_folder(place, force=False) as folder:
        fill(folder, "old")

    def rename(source, target):
        if source == place:
            decide(place / "decisions.sqlite")
        real(source, target)

    real = os.rename
    monkeypatch.setattr(folders.os, "rename", rename)
    with pytest.raises(TableError, match="decisions or answers of people"):
        with fill_folder(place, force=True) as folder:
            fill(folder, "new")
    assert read_title(place) == "old" and (place / "decisions.sqlite").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["a.subsvms"]


@pytest.mark.parametrize("suffix", [".part", ".old"])
def test_hidden_folders_that_hold_only_what_a_run_wrote_are_removed(tmp_path, suffix):
    with fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        fill(folder)
    left = tmp_path / f".a.subsvms-0123abcd{suffix}"
    left.mkdir()
    fill(left)
    prepare_place(tmp_path / "a.subsvms", force=True)
    assert not left.exists()
    (left / "corrected").mkdir(parents=True)  # as after a kill when the record had been removed
    prepare_place(tmp_path / "a.subsvms", force=True)
    assert not left.exists()
    if suffix == ".part":  # never finished
        left.mkdir()
        fill(left)
        CHANGES["notes.txt"](left / "notes.txt")
        prepare_place(tmp_path / "a.subsvms", force=True)
        assert names(left) == ["notes.txt"]


@pytest.mark.parametrize("changed", list(CHANGES)[:5])
def test_a_replaced_folder_stays_if_it_holds_more_than_its_run_wrote(tmp_path, changed):
    """As after a kill between moving it aside and looking at it again."""
    with fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        fill(folder)
    left = tmp_path / ".a.subsvms-0123abcd.old"
    left.mkdir()
    fill(left)
    CHANGES[changed](left / changed)
    stages = []
    with listening(lambda stage, *_: stages.append(stage)):
        prepare_place(tmp_path / "a.subsvms", force=True)
    assert set(names(left)) == {"corrected.csv", "run.json", changed}
    assert str(left) in stages[0]


def test_a_folder_without_its_lock_is_cleared_away_at_once(tmp_path):
    """As after a second Ctrl-C, or a kill while it was removed."""
    left = tmp_path / ".a.subsvms-0123abcd.part"
    left.mkdir()
    (left / ".corrected.csv-abcd_123.subsvms.part").write_text("half of it")
    held = tmp_path / ".a.subsvms-4567abcd.part"
    held.mkdir()
    with FileLock(held.with_suffix(".lock")):
        prepare_place(tmp_path / "a.subsvms", force=False)
        assert names(tmp_path) == [held.with_suffix(".lock").name, held.name]
    prepare_place(tmp_path / "a.subsvms", force=False)
    assert names(tmp_path) == []


def begin(place, plan, force=False):
    """Leave a folder that can be continued."""
    with pytest.raises(ZeroDivisionError), resume_folder(place, plan, force=force) as folder:
        (folder / "corrected").mkdir(exist_ok=True)
        (folder / "corrected/part-000000.parquet").write_text("a part")
        raise ZeroDivisionError


def test_an_unfinished_folder_is_emptied_only_of_what_a_run_wrote(tmp_path):
    place, unfinished = tmp_path / "a", tmp_path / f"a{UNFINISHED}"
    begin(place, {"seed": 1})
    (unfinished / "corrected/notes.txt").write_text("precious")
    with pytest.raises(TableError, match="holds other files .'corrected/notes.txt'"):
        with resume_folder(place, {}, force=True):
            pass
    assert names(unfinished) == [
        PLAN, "corrected", "corrected/notes.txt", "corrected/part-000000.parquet"
    ]  # fmt: skip
    (unfinished / "corrected/notes.txt").unlink()
    with resume_folder(place, {"seed": 1}, force=False) as folder:
        assert (folder / "corrected/part-000000.parquet").is_file()
    assert names(place) == ["corrected", "corrected/part-000000.parquet"]
    begin(tmp_path / "b", {"seed": 1})
    with resume_folder(tmp_path / "b", {"seed": 2}, force=False) as folder:
        assert names(folder) == [PLAN, "corrected"]


def test_a_run_that_was_stopped_while_it_emptied_or_tidied_a_folder_leaves_nothing_odd(tmp_path, monkeypatch):
    place = tmp_path / "a"
    begin(place, {"seed": 1})
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(folders, "_sort_out", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        patched.setattr(folders, "_check_unfinished", lambda folder: None)
        with resume_folder(place, {"seed": 2}, force=False):
            pass
    with resume_folder(place, {"seed": 1}, force=False) as folder:
        assert names(folder) == [PLAN, "corrected"]  # what may be half removed is not continued
        fill(folder, "a")
        (folder / "done").mkdir()
        (folder / "done/000000.json").write_text("{}")
        monkeypatch.setattr(folders, "_remove_files", lambda *args: None)
    assert (place / "done").is_dir()
    monkeypatch.undo()
    assert_refused("an earlier run", prepare_place, place, force=False)
    assert names(place) == ["corrected.csv", "run.json"]


def test_a_file_that_cannot_be_removed_keeps_no_other(tmp_path, monkeypatch):
    unlink = Path.unlink

    def refuse_one(path, **how):
        if path.name == "000000.json":
            raise PermissionError
        unlink(path, **how)

    monkeypatch.setattr(Path, "unlink", refuse_one)
    with resume_folder(tmp_path / "a", {}, force=False) as folder:
        (folder / "done").mkdir()
        for number in range(3):
            (folder / f"done/00000{number}.json").write_text("{}")
    assert names(tmp_path / "a") == ["done", "done/000000.json"]


@pytest.mark.parametrize("one, other", [("out", "out-2"), ("a" * 200 + "b", "a" * 200 + "c")])
def test_names_that_begin_alike_are_told_apart(tmp_path, one, other):
    aside = tmp_path / f"{folders._hide(tmp_path / other)}0123abcd.old"
    aside.mkdir()
    fill(aside, "other")
    with fill_folder(tmp_path / one, force=False) as folder:
        fill(folder, "one")
    assert read_title(aside) == "other" and read_title(tmp_path / one) == "one"
    with fill_folder(tmp_path / ("\u6f22" * 80), force=False) as folder:  # 240 bytes
        fill(folder)


def test_an_error_about_another_place_names_that_place(tmp_path):
    assert_refused("There is no folder", try_to_fill, tmp_path / "b/a")
    with pytest.raises(TableError) as caught, fill_folder(tmp_path / "a.subsvms", force=False):
        raise OSError(errno.EACCES, "Permission denied", "/elsewhere/x")
    assert re.match("'/elsewhere/x' could not be used .Permission denied.: check", str(caught.value))
    with pytest.raises(TableError) as caught, fill_folder(tmp_path / "a.subsvms", force=False) as folder:
        raise OSError(errno.ENOSPC, "No space left on device", str(folder / "corrected.csv"))
    place = str(tmp_path / "a.subsvms")
    assert f"{place!r} could not be written (No space left on device)" in str(caught.value)
    assert "free some space" in str(caught.value) and names(tmp_path) == []

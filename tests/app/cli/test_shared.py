"""What every command prints, and how it ends when something goes wrong that is not its fault."""

import errno
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from loans import call, make_rows, write
from typer.testing import CliRunner

from subsvms.app.cli import shared
from subsvms.app.cli.main import app

COMMAND = [sys.executable, "-m", "subsvms"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def start(*words, **options):
    options = {"stderr": subprocess.PIPE, "text": True, "env": ENVIRONMENT} | options
    return subprocess.run([*COMMAND, *map(str, words)], **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the test needs /dev/full")
@pytest.mark.parametrize(
    "words, unbuffered",
    [("--version", ""), ("--version", "1"), ("correct --help", ""), ("correct --help", "1"), ("demo", "1")],
)
def test_a_full_standard_output_is_a_sentence(words, unbuffered):
    with open("/dev/full", "w") as full:
        done = start(*words.split(), stdout=full, env=ENVIRONMENT | {"PYTHONUNBUFFERED": unbuffered})
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "standard output could not be used (No space left on device)" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the test needs /dev/full")
def test_a_full_standard_error_stops_nothing(tmp_path):
    table = write(tmp_path / "loans.csv", make_rows(100)[0])
    with open("/dev/full", "w") as full:
        words, pipes = ("correct", table, "--svms", 20), dict(stdout=subprocess.PIPE, stderr=full)
        done = start(*words, "--label", "default", **pipes)
        wrong = start(*words, "--label", "nothing", **pipes)
    assert done.returncode == 0 and (tmp_path / "loans.subsvms/run.json").is_file()
    assert wrong.returncode == 2


def test_a_reader_that_has_seen_enough_ends_the_command_quietly():
    reader, writer = os.pipe()
    os.close(reader)
    done = start("--help", stdout=writer)
    os.close(writer)
    assert done.returncode == 1 and done.stderr == ""


def test_any_text_can_be_printed_in_any_encoding(tmp_path):
    table = tmp_path / "löans☃.csv"
    write(table, make_rows(100)[0])
    ascii_only = ENVIRONMENT | {"PYTHONIOENCODING": "ascii"}
    words = ("correct", table, "--label", "default", "--svms", 20, "--dry-run")
    done = start(*words, stdout=subprocess.PIPE, env=ascii_only)
    assert done.returncode == 0 and r"l\xf6ans\u2603.csv" in done.stdout, done.stderr
    done = call(*words, "--json")
    assert done.output.isascii() and json.loads(done.stdout)["title"] == table.name


@pytest.mark.parametrize("error, code, words", [
    (MemoryError(), 2, "not enough memory"),
    (KeyboardInterrupt(), 130, "subsvms: stopped.\n"),
    (KeyboardInterrupt("half is kept"), 130, "subsvms: stopped; half is kept.\n"),
    (OSError(errno.EROFS, "Read-only file system", "x.csv"), 2, "'x.csv' could not be used (Read-only"),
    (FileNotFoundError(errno.ENOENT, "Failed to open 'x.csv'"), 2,
     "Failed to open 'x.csv': check its name and folder."),
    (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
])  # fmt: skip
def test_what_is_not_a_bug_is_a_sentence(monkeypatch, error, code, words):
    def fail(*args):
        raise error

    monkeypatch.setattr("subsvms.app.cli.demo.run_demo", fail)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == code and words in result.output and "Traceback" not in result.output
    assert (result.output == "") == (words == "")


def test_a_warning_is_a_sentence(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with shared.errors_as_sentences():
            warnings.warn("The features are odd.", stacklevel=1)
    assert capsys.readouterr().err == "subsvms: warning: The features are odd.\n"


@pytest.mark.parametrize("error", [ZeroDivisionError, RecursionError])
def test_a_bug_keeps_its_traceback(monkeypatch, error):
    def fail(*args):
        raise error

    monkeypatch.setattr("subsvms.app.cli.demo.run_demo", fail)
    with pytest.raises(error):
        call("demo")


def test_only_a_working_directory_that_is_gone_is_said_to_be(monkeypatch):
    def fail():
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    with pytest.raises(FileNotFoundError) as caught:
        fail()
    assert shared.format_error(caught.value).startswith("A file or standard output could not be used")
    monkeypatch.setattr(os, "getcwd", fail)
    assert shared.format_error(caught.value).startswith("The working directory no longer exists")


def test_labels_cannot_control_the_terminal(tmp_path):
    rows, _ = make_rows(200)
    for row in rows:
        row["default"] = f"{row['default']}\x1b[2J\x9b1m"
        row["who"] += "\x1b]0;title\x07"
    table = write(tmp_path / "loans.csv", rows)
    words = (table, "--label", "default")
    model = tmp_path / "model"
    results = [
        call("correct", *words, "--by", "who", "--svms", 20, "--save-model", model),
        call("correct", *words, "--svms", 20, "--dry-run", "--json"),
        call("predict", model, table),
        call("corrupt", *words),
        call("correct", *words, "--label", "no\x1b[2J", code=2),
    ]
    for result in results:
        assert not shared.CONTROL.search(result.output), result.output
    assert r"yes\x1b[2J" in results[0].output


LOST = """
import time
from subsvms import __main__
from subsvms.app.cli import main

class Ending:
    def __del__(self):
        raise {error}

def app(prog_name):
    Ending()
    time.sleep({seconds})

main.app = app
__main__.main()
"""


@pytest.mark.parametrize("error, seconds, code", [("KeyboardInterrupt", 3600, 130), ("ValueError", 0.1, 0)])
def test_ctrl_c_in_a_finalizer_ends_a_wait_and_other_errors_are_shown(error, seconds, code):
    program = LOST.format(error=error, seconds=seconds)
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.returncode == code
    assert ended.stderr == "subsvms: stopped.\n" if code else "ValueError" in ended.stderr

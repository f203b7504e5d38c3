import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer
from loans import call

import subsvms
from subsvms.app.cli.demo import run_demo
from subsvms.app.cli.main import app
from subsvms.exceptions import format_percent


def test_the_demo_shows_more_right_labels_after_than_before():
    demo = run_demo(wrong=0.2, seed=3)
    clean, given, proposed = demo.data.target, demo.correction.given, demo.correction.labels
    before, after = (np.mean(labels == clean) for labels in (given, proposed))
    assert before == pytest.approx(0.8, abs=0.005)
    assert after > 0.93
    result = call("demo", "--wrong", 0.2, "--seed", 3)
    for labels, share in ((given, before), (proposed, after)):
        assert f"{np.sum(labels == clean)} ({format_percent(share)})" in result.output
    *_, last = result.output.splitlines()
    assert last == "With a table of your own: subsvms correct loans.csv --label default"
    assert " ".join(demo.example.split()) in " ".join(result.output.split())
    found = re.match(
        r"Row (\d+), for example \(mean radius .*\): the label given is (\w+), the corrected one (\w+)",
        demo.example,
    )
    row, names = int(found[1]) - 1, demo.data.target_names
    assert names[given[row]] == found[2] != found[3] == names[proposed[row]] == names[clean[row]]
    assert "as it was" in demo.example


@pytest.mark.parametrize("wrong", ["0.5", "-0.1"])
def test_a_share_out_of_range_is_reported_in_one_sentence_with_exit_code_2(wrong):
    output = call("demo", "--wrong", wrong, code=2).output
    assert "must be at least 0 and less than 0.37" in output and "Traceback" not in output


def test_version_and_help():
    assert call("--version").output == f"subsvms {subsvms.__version__}\n"
    assert "demo" in call("--help").output


@pytest.mark.parametrize("words, said", [
    ("--help", "Usage: subsvms"), ("correct no.csv --label y", "check its name and folder"),
    ("predict m no.csv", "check its name and folder"),
    ("corrupt 'no-*.csv' --label y", "check its name and folder"),
])  # fmt: skip
def test_help_and_a_file_that_is_not_there_load_no_heavy_library(words, said, tmp_path):
    code = (
        f"import shlex, sys; sys.argv[1:] = shlex.split({words!r})\nfrom subsvms.__main__ import main\n"
        "try: main()\nexcept SystemExit: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    loaded = set(done.stdout.split())
    assert said in done.stdout + done.stderr and "typer" in loaded
    assert not loaded & {"numpy", "scipy", "sklearn", "numba", "pandas", "pyarrow", "matplotlib", "jinja2"}


def test_every_command_has_an_example_in_its_help():
    for name, command in typer.main.get_command(app).commands.items():
        example = command.epilog.removeprefix("Example: ")
        assert example.startswith(f"subsvms {name}")
        shown = " ".join(call(name, "--help").output.split())
        assert f"Example: {example}" in shown
        used = {word for word in example.split() if word.startswith("--")}
        assert used <= {word for parameter in command.params for word in parameter.opts}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the test reads /proc")
def test_ctrl_c_while_libraries_load_gives_one_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,no\n2,yes\n")
    command = [sys.executable, "-m", "subsvms", "correct", str(tmp_path / "t.csv"), "--label", "y"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    loaded = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and "numpy" not in loaded.read_text():
        time.sleep(0.01)  # earlier, Python itself is interrupted
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    stopped = (0, 130, -signal.SIGINT)  # the last if Python itself ends it, which shells call 130, too
    assert process.returncode in stopped and "Traceback" not in message


def test_public_names_are_imported_when_they_are_used():
    code = "import sys, subsvms; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        subsvms.nothing  # noqa: B018
    assert all(hasattr(subsvms, name) for name in subsvms.__all__)
    assert set(subsvms.__all__) <= set(dir(subsvms))


def test_an_argument_that_is_not_utf_8_is_refused():
    output = call("correct", "t.csv", "--missing-label", "\udcff", code=2).output
    assert output == "subsvms: '\\udcff' is not valid UTF-8: rename it, or write it in UTF-8.\n"


def test_early_exit_is_accepted_for_one_release_with_a_warning(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(60)))
    words = ("correct", tmp_path / "t.csv", "--label", "y", "--svms", 10, "--dry-run")
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as for users: the command line prints it
        assert "--early-exit has no effect" in call(*words, "--early-exit", 0.99).output
    assert "--early-exit" not in call("correct", "--help").output


@pytest.mark.parametrize("engine", ["memory", "local", "dask"])
@pytest.mark.parametrize(("device", "sentence"), [
    ("cuda", "Voting on a GPU needs more than the library alone: run pip install 'subsvms[gpu]'."),
    ("tpu", "--device must be 'cpu', 'cuda', one of several as 'cuda:1', or 'auto'; got 'tpu'."),
])  # fmt: skip
def test_a_device_that_is_not_there_is_one_sentence(tmp_path, monkeypatch, engine, device, sentence):
    monkeypatch.setattr("subsvms.exceptions.find_spec", lambda name: None if name == "cupy" else name)
    (tmp_path / "t.csv").write_text("x,y\n" + "1,a\n2,b\n" * 30)
    words = ("correct", tmp_path / "t.csv", "--label", "y", "--engine", engine, "--device", device)
    assert call(*words, code=2).output.strip() == f"subsvms: {sentence}"

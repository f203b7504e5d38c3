import io
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import subsvms
from subsvms.app.cli.demo import run_demo, show_demo
from subsvms.app.cli.main import app


def run(*words):
    return CliRunner().invoke(app, words)


def test_the_demo_shows_more_right_labels_after_than_before(seed):
    demo = run_demo(wrong=0.2, seed=seed)
    before, after = (np.mean(labels == demo.clean) for labels in (demo.given, demo.proposed))
    assert before == pytest.approx(0.8, abs=0.005)
    assert after > 0.93
    console = Console(record=True, width=100, file=io.StringIO())
    show_demo(demo, console)
    shown = console.export_text()
    assert f"{np.sum(demo.given == demo.clean)} ({before:.1%})" in shown
    assert f"{np.sum(demo.proposed == demo.clean)} ({after:.1%})" in shown


def test_the_demo_runs_from_the_command_line():
    result = run("demo", "--wrong", "0.1", "--seed", "3")
    assert result.exit_code == 0
    assert "after correction" in result.output


@pytest.mark.parametrize("wrong", ["0.5", "-0.1"])
def test_a_share_out_of_range_is_one_sentence_and_exit_code_2(wrong):
    result = run("demo", "--wrong", wrong)
    assert result.exit_code == 2
    assert "must be at least 0 and less than 0.37" in result.output
    assert "Traceback" not in result.output


def test_version_and_help():
    assert run("--version").output == f"subsvms {subsvms.__version__}\n"
    assert "Example: subsvms demo" in run("demo", "--help").output
    assert "demo" in run("--help").output


def test_the_command_is_installed():
    done = subprocess.run([sys.executable, "-m", "subsvms", "--version"], capture_output=True, text=True)
    assert done.stdout == f"subsvms {subsvms.__version__}\n", done.stderr


def commands():
    return typer.main.get_command(app).commands


def test_every_command_and_option_is_in_the_page_about_them():
    page = (Path(__file__).parents[3] / "docs/cli.md").read_text()
    shared, *sections = page.split("\n## subsvms ")
    told = {section.split()[0]: section for section in sections}
    assert set(told) == set(commands())
    for name, command in commands().items():
        words = (word for parameter in command.params for word in parameter.opts + parameter.secondary_opts)
        options = {word for word in words if word.startswith("--")}
        missing = {word for word in options if f"`{word}" not in shared + told[name]} - {"--help"}
        assert not missing, (name, missing)
        named = set(re.findall(r"`(--[a-z-]+)", told[name]))
        elsewhere = {"--save-model"} if name == "predict" else set()
        assert named - elsewhere <= options, (name, named - options)


def test_the_help_of_every_command_has_an_example_that_the_page_has_too():
    page = (Path(__file__).parents[3] / "docs/cli.md").read_text()
    for name, command in commands().items():
        example = command.epilog.removeprefix("Example: ")
        assert example.startswith(f"subsvms {name}") and f"`{example}`" in page
        shown = " ".join(run(name, "--help").output.split())
        assert f"Example: {example}" in shown
        used = {word for word in example.split() if word.startswith("--")}
        assert used <= {word for parameter in command.params for word in parameter.opts}


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="what is loaded is seen in /proc")
def test_ctrl_c_while_libraries_load_is_a_sentence_too(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,no\n2,yes\n")
    command = [sys.executable, "-m", "subsvms", "correct", str(tmp_path / "t.csv"), "--label", "y"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    loaded = Path(f"/proc/{process.pid}/maps")
    while process.poll() is None and "numpy" not in loaded.read_text():  # before that it is Python's matter
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    assert process.returncode in (0, 130) and "Traceback" not in message


def test_importing_the_package_is_quick_and_lazy():
    code = "import sys, subsvms; sys.exit('sklearn' in sys.modules or not hasattr(subsvms, 'LabelCorrector'))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        subsvms.nothing  # noqa: B018
    assert set(subsvms.__all__) <= set(dir(subsvms))

import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import subsvms
from subsvms.cli import app
from subsvms.demo import run_demo, show_demo


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
    page = (Path(__file__).parent.parent / "docs/cli.md").read_text()
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
    page = (Path(__file__).parent.parent / "docs/cli.md").read_text()
    for name, command in commands().items():
        example = command.epilog.removeprefix("Example: ")
        assert example.startswith(f"subsvms {name}") and f"`{example}`" in page
        shown = " ".join(run(name, "--help").output.split())
        assert f"Example: {example}" in shown
        used = {word for word in example.split() if word.startswith("--")}
        assert used <= {word for parameter in command.params for word in parameter.opts}

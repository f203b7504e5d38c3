"""The code of README and site runs, their numbers are those of the results, and nothing is left out."""

import doctest
import importlib
import importlib.util
import inspect
import json
import re
import runpy
from pathlib import Path

import numpy as np
import pandas
import pytest
import typer

from benchmarks import quality
from benchmarks.ordinary import HARM, METHODS
from subsvms.app.cli.main import app

ROOT = Path(__file__).parent.parent
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks/results"
PAGES = sorted(DOCS.glob("*.md"))
README = (ROOT / "README.md").read_text()
WITH_CODE = [page for page in (*PAGES, ROOT / "README.md") if ">>>" in page.read_text()]
COMMANDS = typer.main.get_command(app).commands
NAMES = runpy.run_path(str(DOCS / "_ext/reference.py"))["list_public_names"]()


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.stem)
def test_the_code_on_a_page_gives_the_results_shown(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 0 and found.failed == 0


def test_the_readme_fits_on_a_page_and_has_two_set_up_commands():
    assert len(README.split()) < 600
    demo, tests = re.findall(r"^    (.*)$", README, re.MULTILINE)
    assert demo.endswith("'.[app]' && .venv/bin/subsvms demo")
    assert tests.endswith("'.[test]' && .venv/bin/python -m pytest")
    for path in re.findall(r"\]\(([^)h][^)]*)\)", README):
        assert (ROOT / path).exists(), path


def test_no_code_on_a_page_is_left_out():
    """What doctest does not run is run by tests of experiments and of the check, or needs an engine."""
    plain = {page.stem for page in PAGES if re.search(r"```python\n(?!>>> )", page.read_text())}
    assert plain == {"adding_a_method", "check", "scale"}


@pytest.mark.parametrize("module", NAMES)
def test_every_public_name_has_an_example_and_is_in_the_reference(module):
    listed = re.findall(r"^   (subsvms\S*)$", (DOCS / "reference.rst").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(NAMES)
    home = importlib.import_module(module)
    for name in NAMES[module]:
        thing = getattr(home, name)
        own = inspect.isclass(thing) or inspect.isfunction(thing)
        text = inspect.getdoc(thing if own else home)  # a plain value is shown by the module
        assert re.search(r"^Examples\n--------\n(.*\n)*?>>> ", text, re.MULTILINE), name
        assert own or name in text


def list_names(page):
    """Return the names in the tables of a page: {heading: names}, the first column that has one."""
    heading, names = "", {}
    for line in (DOCS / page).read_text().splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif found := re.match(r"\|(?: [^`|]*\|)? `(\w+)` \|", line):
            names.setdefault(heading, []).append(found[1])
    return names


def test_the_page_of_names_has_every_public_name_and_no_other():
    listed = list_names("names.md")
    listed.pop("")  # words that mean one thing everywhere
    statements = sum(list_names("theory.md").values(), [])
    assert {home: sorted(names) for home, names in (listed | {"subsvms.theory": statements}).items()} == {
        home: sorted(names) for home, names in NAMES.items()
    }
    assert sum(map(len, listed.values())) + 1 <= 66  # the paper's statements count as one


def test_the_page_of_the_command_line_has_every_command_and_no_option_that_is_not_there():
    _, *sections = (DOCS / "cli.md").read_text().split("\n## subsvms ")
    about = {section.split()[0]: section for section in sections}
    assert set(about) == set(COMMANDS)
    for name, section in about.items():
        assert section.startswith(f"{name}\n\n```{{command}} {name}\n```\n")


def find_commands(text):
    """Return the commands of `subsvms` in blocks of code and between backticks, as (name, the rest)."""
    blocks = re.findall(r"^```(?:sh)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join([*blocks, *re.findall(r"^    (.*)$", text, re.MULTILINE)]).splitlines()
    lines += re.findall(r"`(subsvms [a-z][^`]*)`", text)
    found = (re.search(r"(?:^|/)subsvms ([a-z]+)(.*)", line, re.DOTALL) for line in lines)
    return [match.groups() for match in found if match]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_the_commands_on_a_page_exist_with_their_options(page):
    text = page.read_text()
    for name, rest in find_commands(text):
        words = {word for option in COMMANDS[name].params for word in option.opts + option.secondary_opts}
        assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) - {"--help"} <= words, (name, rest)
    for module in re.findall(r"python -m\s((?:benchmarks|experiments)[\w.]*)", text):
        assert importlib.util.find_spec(module.rstrip(".")), module
    for script in re.findall(r"python ((?:benchmarks|docs)/\S+\.py)", text):
        assert (ROOT / script).is_file(), script


def test_the_numbers_of_the_rule_are_those_of_the_code():
    text = (DOCS / "the_rule.md").read_text()
    listed = re.findall(r"`(_\w+)\.([A-Z_]+)` (?:\| |\()([\d., ]+)(?: \||\))", text)
    assert 12 < len(listed) < 24  # with three for the rank alone
    for module, name, value in listed:
        number = getattr(importlib.import_module(f"subsvms.correction.{module}"), name)
        shown = [float(part) for part in value.split(", ")]
        assert np.ravel(number).round(2 if "," in value else 9).tolist() == shown, name


def find_numbers(text):
    return {float(found.replace(",", "")) for found in re.findall(r"(?<![\w.])[\d,]*\.?\d+", text)}


def test_every_number_of_the_paper_is_in_the_file_that_is_named_with_its_command():
    prose, _, table = (DOCS / "paper.md").read_text().partition("## Where the numbers come from")
    listed = set()
    for line in re.findall(r"^\| (?!number).*", table.split("## References")[0], re.MULTILINE):
        numbers, _, name, command = (cell.strip() for cell in line.strip("|").split("|"))
        text = (RESULTS / name).read_text()
        assert command.strip("`") in text and find_numbers(numbers) <= find_numbers(text), name
        listed |= find_numbers(numbers)
    decimals = {float(found) for found in re.findall(r"(?<![\w.])\.\d{3,}", prose)}
    assert len(decimals) >= 9 and decimals <= listed


def test_text_and_dates_take_at_most_twice_the_time_of_numbers():
    runs = pandas.DataFrame(json.loads((RESULTS / "frames.json").read_text())["runs"])
    seconds = runs.groupby("columns")["CPU seconds"].median()
    assert set(runs["rows"]) == {50_000} and len(runs) >= 6
    assert seconds["all columns"] <= 2 * seconds["numbers alone"]
    assert "takes at most twice as long as on their numbers alone" in (DOCS / "data_frames.md").read_text()


def test_the_times_beside_svc_are_those_of_the_results():
    page = (DOCS / "comparison.md").read_text()
    results = json.loads((RESULTS / "speed.json").read_text())
    lines = results["Beside a loop of SVC"]["lines"]
    assert len(lines) == 4
    for line in lines:
        cells = [f"{value:.3g}" for value in line.values() if isinstance(value, float)]
        assert f"| {line['what']} | {' | '.join(cells)} |" in page
    (memory,) = (part for part in results["Memory"]["lines"] if part["what"] == "predict")
    assert f"{memory['MiB beyond the input']:.0f} MiB beyond the input" in page.replace("\n", " ")


def test_the_corrections_beside_the_plain_vote_are_those_of_the_results():
    """The summary is that of the results, and it keeps the promises."""
    page = (DOCS / "comparison.md").read_text()
    cells = quality.summarise(quality.read(RESULTS / "quality.csv"))
    cells = [cell for cell in cells if cell["data"] in quality.FEATURES and cell["attack"] != "boundary"]
    assert {cell["data"] for cell in cells} == set(quality.FEATURES)
    assert all(cell["n"] >= 5 for cell in cells)
    lines = quality.summary(cells)
    shown = [line for line in lines if line.startswith(("| left", "| harmed"))]
    assert len(shown) >= 2 and set(shown) <= set(page.splitlines())
    changed = re.search(r"at most ([\d.]+)% of the rows changed", "\n".join(lines))[1]
    assert f"at most {changed} % of the rows change" in page.replace("\n", " ")
    assert sum(quality.is_harmed(cell, "posterior") for cell in cells) <= 1
    noisy = [cell for cell in cells if cell["attack"] != "clean"]
    posterior, known = (sum(cell[method] for cell in noisy) for method in ("posterior", "known"))
    assert posterior <= 1.16 * known
    assert all(cell["changed"] <= 0.005 for cell in cells if cell["attack"] == "clean")
    ranks = [sum(cell[key] for cell in noisy) / len(noisy) for key in ("AUC quality", "AUC raw vote")]
    assert ranks[0] >= ranks[1] - 0.01


GROUPS = {"the paper's data": "LIBSVM"} | {name: name for name in ("scikit-learn's", "made", "real noise")}


def read_line(page, words):
    line = re.search(rf"^\| {words} \|(.*)\|$", page, re.MULTILINE)[1].replace("*", "")
    return [cell.strip() for cell in line.split("|")]


def test_the_ordinary_tables_are_those_of_the_results():
    page = (DOCS / "comparison.md").read_text()
    cells = pandas.read_csv(RESULTS / "ordinary.csv")
    cells = cells.groupby(["group", "data", "kind", "method"], as_index=False).mean(numeric_only=True)
    noisy = cells[cells["kind"] != "clean"]
    means = noisy.groupby(["group", "method"])[["given", "left", "auc"]].mean()
    for words, group in GROUPS.items():
        given = means.loc[group, "subsvms"]["given"]
        for measure, first in (("left", f"{given:.3f}"), ("AUC", "")):
            shown = [f"{means.loc[group, method][measure.lower()]:.3f}".lstrip("0") for method in METHODS]
            assert read_line(page, f"{words}, {measure}") == [first.lstrip("0"), *shown], words
    harmed = cells["left"] > cells["given"] + HARM
    counts = harmed.groupby(cells["method"]).sum()
    assert read_line(page, "all, harmed of .*?") == ["", *(str(counts[method]) for method in METHODS)]


def test_the_table_of_the_readme_is_a_part_of_the_whole_one():
    whole = (DOCS / "comparison.md").read_text()
    lines = re.findall(r"^\| ([^|]*, left|all, harmed[^|]*) \|", README, re.MULTILINE)
    assert len(lines) == 3
    for words in map(re.escape, lines):
        given, ours, _, *cleanlab = read_line(whole, words)
        assert read_line(README, words) == [given, ours, *cleanlab]


@pytest.mark.nightly
@pytest.mark.parametrize("script", sorted(DOCS.glob("pictures/*.py")), ids=lambda script: script.stem)
def test_a_picture_can_be_drawn_again(script, tmp_path):
    target = tmp_path / "picture.png"
    runpy.run_path(str(script))["main"](target)
    target = target if target.is_file() else target / "review.png"  # a script may draw several
    assert target.read_bytes()[:4] == b"\x89PNG" and target.stat().st_size < 200_000

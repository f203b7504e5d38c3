"""A trial repository: what a build says about commits that are clean, wrong, corrected and accepted."""

import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from loans import call, make_rows, refuse, write

from subsvms.app.desk.audit import AuditDesk

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/check.md").read_text()
ASKED = (
    "--label",
    "default",
    "--fail-above",
    0.05,
    "--baseline",
    "labels.lock",
    "--svms",
    200,
    "--threads",
    1,
)


def find_block(start):
    """Return the block of code of the page that starts with these words."""
    return re.search(rf"^```\w+\n({re.escape(start)}.*?)^```", PAGE, re.MULTILINE | re.DOTALL)[1]


def swap(rows):
    return [row | {"default": "yes" if row["default"] == "no" else "no"} for row in rows]


@pytest.fixture(scope="module")
def made():
    rows, _ = make_rows(2140, wrong=0.0)
    return SimpleNamespace(base=rows[:2000], clean=rows[:2100], wrong=rows[:2100] + swap(rows[2100:]))


@pytest.fixture
def repository(tmp_path, monkeypatch, made):
    """A repository with a table of 2,000 rows and the baseline of these, committed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "ann")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ann@example.org")
    git("init", "--quiet")
    write(Path("loans.csv"), made.base)
    call("check", "loans.csv", *ASKED, "--accept")
    commit("Accept the labels")
    return tmp_path


def git(*words):
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commit(message):
    git("add", "--all")
    git("commit", "--quiet", "--message", message)


def check(*more, code=0):
    return call("check", "loans.csv", *ASKED, *more, code=code).output


def test_clean_commits_pass_forty_wrong_labels_fail_with_their_rows_and_an_accepted_baseline_passes(
    repository, made
):
    write(Path("loans.csv"), made.clean)
    assert "loans.csv: passed" in check()
    commit("Add a hundred rows")
    write(Path("loans.csv"), made.wrong)
    commit("Add forty rows, all wrong")
    said = check("--id", "id", code=1)
    assert "New rows failed" in said and len(said.splitlines()) < 20
    assert len(re.findall(r"row 21\d\d \(line 21\d\d\), 'P021\d\d': the label is", said)) == 5
    found = json.loads(check("--format", "json", code=1))
    named = {row["row"] for row in found["suspicious"]}
    assert len(named & set(range(2101, 2141))) >= 38 and len(named) <= 45
    assert all(row["line"] == row["row"] + 1 for row in found["suspicious"])
    assert found["baseline"]["new"] == 140 and found["baseline"]["known"] == 2000
    assert git("status", "--porcelain") == ""  # nothing is written
    assert "labels.lock now knows 2,140 rows: commit it." in check("--accept")
    commit("Accept them")
    assert "New rows passed: there are none, as labels.lock knows all 2,140." in check()


def test_labels_that_are_changed_in_place_are_new_and_corrected_ones_pass(repository, made):
    rows = swap(made.base[:40]) + made.base[40:]
    write(Path("loans.csv"), rows)
    found = json.loads(check("--format", "json", code=1))
    assert found["baseline"]["relabelled"] == found["baseline"]["new"] == found["baseline"]["gone"] == 40
    assert sum(row["relabelled"] and row["row"] <= 40 for row in found["suspicious"]) >= 38
    write(Path("loans.csv"), made.base[::-1])
    assert check("--format", "json") == check("--format", "json")  # the same seed: the same answer
    assert json.loads(check("--format", "json"))["baseline"]["new"] == 0


def test_the_contract_of_the_json_is_what_the_page_says(repository, made):
    found = json.loads(check("--format", "json"))
    listed = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in PAGE.splitlines() if "| `" in line]
    assert sorted(sum(listed, [])) == sorted(found)
    (about,) = (line for line in PAGE.splitlines() if line.startswith("| `baseline`"))
    assert set(re.findall(r"`(\w+)`", about)) - {"baseline"} == set(found["baseline"])
    write(Path("loans.csv"), made.wrong)
    found = json.loads(check("--format", "json", code=1))
    (about,) = (line for line in PAGE.splitlines() if line.startswith("| `suspicious`"))
    assert set(re.findall(r"`(\w+)`", about)) - {"suspicious"} == set(found["suspicious"][0])
    assert (found["outcome"], found["exit_code"]) == ("failed", 1)
    assert [one["name"] for one in found["criteria"]] == ["errors by class", "new rows"]


def test_a_table_with_many_wrong_labels_fails_its_limit_and_writes_what_a_server_reads(tmp_path):
    rows, _ = make_rows(1000, wrong=0.2)
    table, target = write(tmp_path / "loans.csv", rows), tmp_path / "labels.xml"
    words = ("check", table, "--label", "default", "--fail-above", 0.05, "--exclude", "id", "--threads", 1)
    before = sorted(tmp_path.iterdir())
    said = call(*words, code=1).output
    assert "Errors by class failed: the lower end of the interval is above the limit, 5.0 %." in said
    assert "The votes contradict" in said and "Labels that look wrong, the first 5 of" in said
    assert sorted(tmp_path.iterdir()) == before
    for _ in range(2):  # what an earlier build wrote is replaced
        assert call(*words, "--format", "junit", "--output", target, code=1).output == said
    assert target.read_text().startswith("<?xml")
    call(*words[:-4], "--fail-above", 0.5, "--threads", 1)
    refuse("is the input table, which is never overwritten", *words, "--output", table)


def test_what_the_columns_do_not_explain_cannot_be_checked(tmp_path):
    rows, _ = make_rows(200, wrong=0.5)
    table = write(tmp_path / "loans.csv", [{"who": row["who"], "default": row["default"]} for row in rows])
    words = ("check", table, "--label", "default", "--baseline", tmp_path / "labels.lock", "--threads", 1)
    said = call(*words, "--fail-above", 0.05, "--accept", code=2).output
    assert "loans.csv: unknown" in said and "cannot be estimated" in said


def test_a_check_that_is_refused_leaves_no_baseline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"only": "x", "default": row["default"]} for row in make_rows(60)[0]]
    write(Path("loans.csv"), rows)
    words = ("check", "loans.csv", "--label", "default", "--baseline", "b.lock", "--accept")
    refuse("", *words)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loans.csv"]


@pytest.mark.parametrize("words, sentence", [
    ("", "There is nothing to check: give --fail-above, --baseline, or both."),
    ("--fail-above 0.05 --accept", "--accept writes a baseline: say where with --baseline."),
    ("--baseline b.lock --decisions folder", "--decisions says which rows to accept: give --accept, too."),
    ("--baseline b.lock", "There is no baseline 'b.lock': make one (--accept)."),
    ("--fail-above 5", "--fail-above must be at least 0 and at most 1; got 5.0."),
    ("--fail-above 0.1 --format xml", "--format must be one of text, json, junit, github; got 'xml'."),
    ("--baseline loans.csv --accept", "is the input table, which is never overwritten"),
    ("--baseline notes.txt --accept", "is no baseline, and is not replaced"),
])  # fmt: skip
def test_what_cannot_be_asked_is_said_in_a_sentence(tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    write(Path("loans.csv"), make_rows(50)[0])
    Path("notes.txt").write_text("precious")
    refuse(sentence, "check", "loans.csv", "--label", "default", *words.split())


def test_a_refused_check_leaves_no_baseline(repository, made):
    write(Path("loans.csv"), made.clean)
    how = ("check", "loans.csv", "--label", "default", "--svms", 20, "--baseline", "new.lock", "--accept")
    refuse("'nothing', which is not a column", *how, "--id", "nothing")
    assert not Path("new.lock").exists()
    call(*how, "--id", "id")
    assert Path("new.lock").exists()


def test_only_rows_that_people_decided_are_accepted_with_decisions(repository, made):
    write(Path("loans.csv"), made.wrong)
    call("correct", "loans.csv", "--label", "default", "--exclude", "id", "--threads", 1)
    decided = [{"row": row, "label": made.wrong[row - 1]["default"]} for row in range(2101, 2131)]
    Path("back.json").write_text(json.dumps(decided))
    call("export", "loans.subsvms", "--import", "back.json", "--who", "ann")
    corrected = made.wrong[:2130] + swap(made.wrong[2130:])  # the others are put right
    write(Path("loans.csv"), corrected)
    found = json.loads(check("--accept", "--decisions", "loans.subsvms", "--format", "json"))
    assert (found["baseline"]["new"], found["baseline"]["known"]) == (110, 2030)
    write(Path("loans.csv"), made.wrong)
    found = json.loads(check("--format", "json", code=1))
    assert {row["row"] for row in found["suspicious"]} >= set(range(2131, 2141))
    assert not {row["row"] for row in found["suspicious"]} & set(range(2101, 2131))


def test_answers_of_an_audit_are_decisions_too(repository, made):
    write(Path("loans.csv"), made.wrong)
    call("correct", "loans.csv", "--label", "default", "--exclude", "id", "--threads", 1)
    answered = []
    with closing(AuditDesk(Path("loans.subsvms"), n_answers=20)) as desk:
        for _ in range(10):
            question = desk.question("ann")
            row, given = question["row"], made.wrong[question["row"] - 1]["default"]
            desk.answer("ann", row, given, question["id"])
            answered.append(row)
    found = json.loads(check("--accept", "--decisions", "loans.subsvms", "--format", "json", code=1))
    new = {row for row in answered if row > 2000}  # some are asked twice
    assert found["baseline"]["known"] == 2000 + len(new)
    assert not {row["row"] for row in found["suspicious"]} & new


# The page


@pytest.fixture
def command(repository, monkeypatch):
    """The command `subsvms` on the path, as a build finds it."""
    place = repository / ".git" / "bin"
    place.mkdir()
    program = place / "subsvms"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m subsvms "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return program


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
def test_the_workflow_passes_a_clean_commit_and_fails_wrong_labels(command, made):
    flow = yaml.safe_load(find_block("name: labels"))
    *_, check = flow["jobs"]["check"]["steps"]
    write(Path("loans.csv"), made.clean)
    done = subprocess.run(check["run"], shell=True, capture_output=True, text=True)
    assert done.returncode == 0 and "::notice file=loans.csv,title=new rows passed::" in done.stdout, (
        done.stderr
    )
    write(Path("loans.csv"), made.wrong)
    done = subprocess.run(check["run"], shell=True, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.count("::warning file=loans.csv,line=21") == 10
    assert "::error file=loans.csv,title=new rows failed::" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
def test_the_hook_refuses_a_commit_of_wrong_labels(command, made):
    pytest.importorskip("pre_commit")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (own,) = yaml.safe_load(find_block("repos:"))["repos"]
    (asked,) = own["hooks"]
    assert asked["id"] == hook["id"]
    local = hook | asked | {"language": "system"}
    del local["additional_dependencies"]
    Path(".pre-commit-config.yaml").write_text(
        yaml.safe_dump({"repos": [{"repo": "local", "hooks": [local]}]})
    )
    git("add", "--all")
    write(Path("loans.csv"), made.wrong)
    git("add", "--all")
    run = [sys.executable, "-m", "pre_commit", "run"]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 1 and "New rows failed" in done.stdout, done.stdout + done.stderr
    write(Path("loans.csv"), made.clean)
    git("add", "--all")
    assert subprocess.run(run, capture_output=True).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
def test_the_test_on_the_page_passes_and_fails_with_the_table(command, made):
    names: dict = {}
    exec(find_block("import subprocess"), names)
    names["test_the_labels_are_no_worse"]()
    write(Path("loans.csv"), made.wrong)
    with pytest.raises(AssertionError, match="New rows failed"):
        names["test_the_labels_are_no_worse"]()


def test_the_check_of_skore_reports_wrong_labels():
    skore = pytest.importorskip("skore", reason="skore is not installed")
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    names = {}
    exec(find_block("from skore import"), names)
    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)
    rng = np.random.default_rng(0)
    wrong = np.where(rng.random(len(y)) < 0.2, 1 - y, y)
    for labels, section in ((y, "passed"), (wrong, "issue"), (rng.permutation(y), "not_applicable")):
        report = skore.evaluate(LogisticRegression(), X, labels, splitter=0.2)
        report.checks.add([names["WrongLabels"](0.05)])
        found = report.checks.summarize(ignore=[f"SKD{i:03d}" for i in range(1, 30)]).frame()
        assert found.set_index("code").loc["SUB001", "section"] == section

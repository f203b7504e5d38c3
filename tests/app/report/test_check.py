"""What build servers read: nothing in a table can break it, or pass for something else."""

import copy
import json
import re
from xml.etree import ElementTree

import pytest
from nasty_texts import NASTY

from subsvms.app.report.check import RENDER

ROW = {
    "row": 17, "line": 18, "id": None, "given": "yes", "suggested": "no", "label_quality": 0.031,
    "vote_share": 0.97, "flagged": True, "relabelled": False,
}  # fmt: skip
FOUND = {
    "format": 1, "version": "1", "outcome": "failed", "exit_code": 1, "table": "loans.csv",
    "file": "loans.csv", "label": "default", "rows": 2040, "labels": 2040, "words": ["One.", "Two."],
    "fail_above": 0.05, "error_rate": 0.02, "error_rate_interval": [0.01, 0.03], "contradicted_share": 0.1,
    "flagged": 3, "unused": ["id"], "baseline": {"file": "labels.lock"},
    "suspicious": [ROW | {"row": i} for i in range(1, 41)],
    "criteria": [
        {"name": "errors by class", "outcome": "passed", "words": "it is not above"},
        {"name": "new rows", "outcome": "failed", "words": "40 of 40 are"},
    ],
    "notes": [f"note {i}" for i in range(9)], "next": ["Look.", "Accept."],
}  # fmt: skip


def make_found(**values):
    return copy.deepcopy(FOUND) | values


def read_commands(said):
    """Return kind, properties and text of each workflow command, as GitHub's runner reads them."""
    found = []
    for line in said.splitlines():
        kind, properties, text = re.fullmatch(r"::(\w+) (.*?)::(.*)", line).groups()
        pairs = dict(one.split("=", 1) for one in properties.split(","))
        for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
            pairs = {name: value.replace(code, character) for name, value in pairs.items()}
            text = text.replace(code, character)
        found.append((kind, pairs, text))
    return found


def test_the_text_has_fewer_than_twenty_lines_and_names_the_worst_rows():
    lines = RENDER["text"](make_found()).splitlines()
    assert len(lines) < 20
    assert lines[0] == "loans.csv: failed. 2,040 rows, label 'default'."
    worst = "  row 1 (line 18): the label is 'yes', 97 % of the votes are for 'no'; "
    worst += "right with probability 0.03"
    assert "New labels that look wrong, the first 5 of 40 (all in the JSON):" in lines and worst in lines
    assert lines[-2:] == ["Look.", "Accept."]


def test_a_label_that_was_changed_and_the_name_of_a_row_are_said():
    row = ROW | {"relabelled": True, "id": "P17", "line": None}
    said = RENDER["text"](make_found(suspicious=[row]))
    assert "row 17, 'P17': the label was changed to 'yes', 97 %" in said


def test_without_a_baseline_rows_are_named_only_if_the_table_fails():
    said = {
        outcome: RENDER["text"](make_found(outcome=outcome, baseline=None))
        for outcome in ("passed", "failed")
    }
    assert "Labels that look wrong" in said["failed"] and "row 1" not in said["passed"]


def test_json_is_what_was_found():
    assert json.loads(RENDER["json"](make_found())) == FOUND


ALLOWED = {  # what the schema of Jenkins' plugin knows, as far as it is used here
    "testsuites": "name tests failures errors", "testsuite": "name tests failures errors skipped time",
    "testcase": "classname name time", "failure": "message type", "error": "message type", "system-out": "",
}  # fmt: skip


def test_junit_has_a_test_for_each_criterion_with_what_servers_count():
    criteria = [*FOUND["criteria"], {"name": "more", "outcome": "unknown", "words": "who knows"}]
    root = ElementTree.fromstring(RENDER["junit"](make_found(criteria=criteria)))
    assert all(list(one.attrib) == ALLOWED[one.tag].split() for one in root.iter())
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    for element in (root, suite):
        counted = {name: element.get(name) for name in ("tests", "failures", "errors")}
        assert counted == {"tests": "3", "failures": "1", "errors": "1"}
    tests = suite.findall("testcase")
    assert [(one.get("classname"), one.get("name")) for one in tests] == [
        ("subsvms.check", name) for name in ("errors by class", "new rows", "more")
    ]
    assert [[child.tag for child in one] for one in tests] == [[], ["failure"], ["error"]]
    failure = suite.find("testcase/failure")
    assert failure.get("message") == "40 of 40 are" and "row 40 (line 18)" in failure.text
    assert suite.find("system-out").text.startswith("loans.csv: failed")


def test_github_marks_at_most_ten_lines_and_says_what_failed():
    commands = read_commands(RENDER["github"](make_found()))
    assert [kind for kind, *_ in commands] == ["warning"] * 10 + ["notice", "error"]
    assert commands[0][1] == {"file": "loans.csv", "line": "18", "title": "Suspicious label"}
    assert commands[-1][2].startswith("40 of 40 are.")


@pytest.mark.parametrize("workspace, shown", [("", "data/loans.csv"), ("parent", "work/data/loans.csv")])
def test_github_is_told_the_file_from_the_root_of_the_repository(tmp_path, monkeypatch, workspace, shown):
    place = tmp_path / "work"
    (place / "data").mkdir(parents=True)
    monkeypatch.chdir(place)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path) if workspace else "")
    for file in ("data/loans.csv", str(place / "data/loans.csv")):
        assert f"file={shown}," in RENDER["github"](make_found(file=file))


@pytest.mark.parametrize(
    "text", [*NASTY.values(), "a\n::error::b", "x]]>&<y>", "1:2,3%0A", "\x1b[31m\x00\ufffe\ud800"]
)
def test_nothing_in_a_table_breaks_a_format(text):
    row = ROW | {"given": text, "suggested": text, "id": text}
    found = make_found(suspicious=[row], table=text, file=None, words=[text], label=text)
    root = ElementTree.fromstring(RENDER["junit"](found).encode())
    assert len(root.findall("testsuite/testcase")) == 2
    commands = read_commands(RENDER["github"](found))
    assert [kind for kind, *_ in commands] == ["warning", "notice", "error"]
    assert json.loads(RENDER["json"](found))["suspicious"][0]["given"] == text


def test_a_file_with_a_comma_and_a_colon_stays_one_property():
    (_, properties, _), *_ = read_commands(RENDER["github"](make_found(file="a,b:c%.csv")))
    assert properties["file"] == "a,b:c%.csv"

"""What a release says of itself in several places agrees."""

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import subsvms

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
RECIPE = yaml.safe_load((ROOT / "recipe/recipe.yaml").read_text())
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*")}
FOUND = {"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}  # by pip-audit
ON_CONDA = {"matplotlib": "matplotlib-base"}  # packages that have another name there


def read_requirements(lines):
    """Return what lists of requirements, Python left out, ask for: {name: (versions, marker)}."""
    found = [Requirement(line) for line in lines if not line.startswith("python ")]
    return {one.name: (str(one.specifier), str(one.marker or "")) for one in found}


def list_steps():
    steps = [step for flow in WORKFLOWS.values() for job in flow["jobs"].values() for step in job["steps"]]
    return [step.get("run") or step["uses"] for step in steps]


def test_the_version_is_the_same_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text()
    version, day = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d)\)$", changes, re.M).groups()
    assert subsvms.__version__ == version == CITATION["version"] == RECIPE["context"]["version"]
    assert CITATION["date-released"] == day
    assert PROJECT["dynamic"] == ["version"]


def test_licence_and_command_are_the_same_everywhere():
    assert RECIPE["build"]["python"]["entry_points"] == [f"subsvms = {PROJECT['scripts']['subsvms']}"]
    assert PROJECT["license"] == CITATION["license"] == RECIPE["about"]["license"] == "BSD-3-Clause"
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")


def test_the_recipe_requires_what_the_application_requires():
    """But for what some systems do not have: a package without compiled code is the same for all of them."""
    required = read_requirements(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["app"])
    expected = {
        ON_CONDA.get(name, name): versions for name, (versions, marker) in required.items() if not marker
    }
    found = read_requirements(RECIPE["requirements"]["run"])
    assert {name: versions for name, (versions, _) in found.items()} == expected
    assert [name for name, (_, marker) in required.items() if marker] == ["uvloop"]
    host = read_requirements(RECIPE["requirements"]["host"])
    assert host == read_requirements(SETTINGS["build-system"]["requires"]) | {"pip": ("", "")}


def test_the_versions_of_python_are_the_same_everywhere():
    listed = [word.rpartition(" ")[2] for word in PROJECT["classifiers"] if "Python :: 3." in word]
    assert WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]["python"] == listed
    assert PROJECT["requires-python"] == f">={listed[0]}"
    for part in ("host", "run"):
        assert f"python {PROJECT['requires-python']}" in RECIPE["requirements"][part]
    tools = SETTINGS["tool"]
    assert tools["mypy"]["python_version"] == listed[0]
    assert tools["ruff"]["target-version"] == f"py{listed[0].replace('.', '')}"


def test_every_extra_bounds_what_it_requires_and_the_recipe_has_the_same_bounds():
    extras = PROJECT["optional-dependencies"]
    used = [one for name in ("app", "dask", "remote", "delta", "sql", "gpu") for one in extras[name]]
    required = read_requirements([*PROJECT["dependencies"], *used])
    assert [
        name for name, (versions, _) in required.items() if name != "subsvms" and "<" not in versions
    ] == []
    limits = read_requirements(RECIPE["requirements"]["run_constraints"])
    assert limits == {name: required[name] for name in ("distributed", "fsspec")}


def test_the_release_has_a_bill_of_what_is_installed():
    assert any("bill_of_materials.py subsvms" in step for step in list_steps())
    said = subprocess.run([sys.executable, ROOT / ".ci/bill_of_materials.py", "numpy"], capture_output=True)
    bill = json.loads(said.stdout)
    own, parts = bill["metadata"]["component"], bill["components"]
    assert (bill["bomFormat"], own["purl"]) == ("CycloneDX", f"pkg:pypi/numpy@{version('numpy')}")
    assert f"pkg:pypi/scikit-learn@{version('scikit-learn')}" in [one["purl"] for one in parts]
    assert not {"numpy", "pip"} & {one["name"] for one in parts}
    assert len({one["bom-ref"] for one in parts}) == len(parts)


@pytest.mark.parametrize("found, code, words", [
    (None, 0, "could not be looked up"), ("", 0, "could not be looked up"),
    ({"dependencies": [FOUND | {"vulns": []}]}, 0, "No known vulnerability"),
    ({"dependencies": [FOUND]}, 1, "a 1: X-1; mended in: 2"),
])  # fmt: skip
def test_a_vulnerability_fails_at_night_and_a_registry_that_does_not_answer_only_warns(
    tmp_path, found, code, words
):
    assert any(".ci/vulnerabilities.py" in step for step in list_steps())
    path = tmp_path / "found.json"
    if found is not None:
        path.write_text(json.dumps(found) if found else "")
    command = [sys.executable, ROOT / ".ci/vulnerabilities.py", path]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == code and words in ended.stdout


@pytest.mark.parametrize("extra", sorted(set(re.findall(r"'\.\[(.+?)\]'", "\n".join(list_steps())))))
def test_an_extra_that_a_workflow_installs_exists(extra):
    assert extra in PROJECT["optional-dependencies"]


def test_a_workflow_may_only_read_except_to_publish():
    for name, flow in WORKFLOWS.items():
        assert flow["permissions"] == {"contents": "read"}, name
        granted = {job: part["permissions"] for job, part in flow["jobs"].items() if "permissions" in part}
        assert granted == ({"publish": {"id-token": "write"}} if name == "release" else {}), name

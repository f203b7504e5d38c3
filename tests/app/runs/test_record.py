"""The record of a run: read with suspicion, and as earlier versions wrote it."""

import json

import pytest
from loans import call

from subsvms.app.runs.record import read_record
from subsvms.exceptions import TableError


def test_a_record_takes_no_further_settings(folder):
    result = call("correct", "--from", folder, "--rule", "majority", code=2)
    assert "leave out --rule" in result.output


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"subsvms": 2}',
        '{"subsvms": 1, "options": {"rule": "x"}, "input": {"paths": 3}}',
        '{"subsvms": 2, "options": {"label": "y", "svm": 3}, "input": {"paths": []}}',
    ],
)
def test_what_is_not_a_record_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(TableError, match="is not the record of a run, or it was changed"):
        read_record(tmp_path)


def test_a_record_of_a_later_version_is_refused(tmp_path):
    (tmp_path / "run.json").write_text('{"subsvms": 99}')
    with pytest.raises(TableError, match="use the version that wrote it"):
        read_record(tmp_path)


def test_the_record_of_an_earlier_version_repeats_its_run(folder, tmp_path):
    """In format 1 options had the names of their flags, and there was no issues.parquet."""
    record = json.loads((folder / "run.json").read_text())
    for new, old in (("n_estimators", "svms"), ("subsample_size", "subset_size"), ("random_state", "seed")):
        record["options"][old] = record["options"].pop(new)
    record["input"].pop("base")
    (folder / "run.json").write_text(json.dumps(record | {"subsvms": 1}))
    (folder / "issues.parquet").unlink()
    call("correct", "--from", folder, "--output", tmp_path / "again", "--quiet")
    for name in ("corrected.csv", "issues.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    result = call("apply", folder, code=2)
    assert "run subsvms correct again" in " ".join(result.output.split())

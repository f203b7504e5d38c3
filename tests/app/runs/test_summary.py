"""The summary of a run: plain values, none too long, and nothing claimed that is not known."""

import json
from dataclasses import asdict, replace

import pytest
from loans import make_rows, write

from subsvms.app.runs.issues import find_issues
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import correct_table
from subsvms.app.runs.summary import CHARACTERS_SHOWN, describe_worst, summarise
from subsvms.app.tables.table import read_table


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rows, _ = make_rows(300)
    for row in rows:
        row["note"] = "word " * 1000 + row["colour"]
    return read_table(write(tmp_path_factory.mktemp("summary") / "t.csv", rows), "default")


def test_a_summary_is_plain_and_its_values_are_cut_short(table):
    run = correct_table(table, Options("default", n_estimators=50))
    run = replace(run, seconds={"reading": 1.2, "voting": 2.3})
    issues = find_issues(run.correction, run.features.X)
    summary = summarise(run, describe_worst(run, issues), len(issues))
    assert json.loads(json.dumps(asdict(summary), allow_nan=False)) == asdict(summary)
    values = [value for row in summary.worst for _, value in row["values"]]
    assert values and max(map(len, values)) == CHARACTERS_SHOWN + 1
    assert summary.next == ["Nothing was written; finding the wrong labels took 3.5 seconds."]
    assert "would be changed" in " ".join(summary.words) and "were changed" not in " ".join(summary.words)
    written = summarise(run, [], 0, folder="t.subsvms", files=[["a.csv", ""], ["issues.csv", ""]])
    assert "were changed" in " ".join(written.words)


def test_the_plain_vote_claims_no_probability(table):
    run = correct_table(table, Options("default", n_estimators=50, rule="majority"))
    summary = summarise(run, [], 0)
    assert summary.changed > 0 and summary.expected_precision is None
    assert "gives no probabilities" in " ".join(summary.words)

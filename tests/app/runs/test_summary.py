"""The summary of a run: plain values, none too long, and nothing claimed that is not known."""

import json
import re
from dataclasses import asdict, replace

import numpy as np
import pytest
from loans import make_rows, write

from subsvms.app.runs.issues import find_issues
from subsvms.app.runs.options import Options
from subsvms.app.runs.run import correct_table
from subsvms.app.runs.summary import (
    CHARACTERS_SHOWN,
    bound_wrong,
    describe_worst,
    format_next_steps,
    summarise,
)
from subsvms.app.runs.tally import add_doubt
from subsvms.app.tables.table import read_table
from subsvms.correction._rule import Halt


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


def test_the_labels_listed_are_counted_and_so_are_those_expected_to_be_wrong(table):
    for options in (Options("default"), Options("default", min_confidence=0.9)):
        run = correct_table(table, replace(options, n_estimators=200))
        issues, correction = find_issues(run.correction, run.features.X), run.correction
        doubt = add_doubt(correction, issues.rows)
        summary = summarise(run, [], len(issues), n_labels=issues.n_labels, doubt=doubt)
        counts = {what: int(count) for count, what in re.findall(r"(\d+) (flag|held|most)", summary.listing)}
        assert summary.flagged and counts["flag"] == summary.flagged
        assert counts.get("held", 0) == summary.held_back and sum(counts.values()) == summary.n_labels
        expected = np.sum(1 - correction.label_quality[issues.rows])
        assert summary.expected_wrong == pytest.approx(expected, abs=1e-6)
        assert f"about {expected:.0f} are expected to be wrong" in " ".join(summary.words)


def test_two_expected_numbers_about_the_same_labels_are_told_apart(table):
    """One is by the rule's probabilities, the other by `label_quality`."""
    run = correct_table(table, Options("default", n_estimators=50))
    for n_more, explained in ((0, True), (5, False)):
        summary = summarise(run, [], 99, n_labels=run.tally.n_flagged + run.tally.held_back + n_more)
        assert run.tally.held_back == 0
        assert ("noise that the rule does not know of included" in summary.listing) == explained


def test_what_kept_a_label_is_said(table):
    """Without a limit or a guard, it is not said that one of them kept a label."""
    run = correct_table(table, Options("default", n_estimators=200, min_confidence=0.97))
    words = " ".join(summarise(run, [], 0).words)
    assert run.tally.held_back and "but min_confidence 0.97 kept the given one." in words
    limited = Options("default", n_estimators=200, min_confidence=0.9, max_error_rate=0.01)
    run = correct_table(table, limited)
    halts = run.correction.judgement.halt[run.correction.held_back].tolist()
    by_confidence, by_limit = halts.count(Halt.NONE), halts.count(Halt.CAPPED)
    assert run.tally.held_back == len(halts) and by_confidence and by_limit
    words = " ".join(summarise(run, [], 0).words)
    assert f"{by_confidence} by min_confidence 0.9" in words and f"{by_limit} by max_error_rate" in words


def test_a_rate_is_not_named_beside_a_wide_interval(table):
    run = correct_table(table, Options("default", n_estimators=50))
    noise = replace(
        run.correction.noise, error_rate_interval=np.array([0.0, 0.5]),
        rate_interval=np.array([[0.0, 0.02], [0.0, 0.9]]),
    )  # fmt: skip
    summary = summarise(replace(run, correction=replace(run.correction, noise=noise)), [], 0)
    assert summary.error_rate is None and summary.error_rate_interval == [0.0, 0.5]
    assert "is not known: anything from 0 to 50 % would fit" in summary.words[0]
    first, second = summary.classes
    assert first["rate"] is not None and second["rate"] is None
    assert first["estimated_wrong"] is None and second["estimated_wrong"] is not None  # each from the other
    nothing = replace(noise, rate_interval=np.array([[0.0, 0.02], [0.0, 1.0]]))
    assert np.array_equal(bound_wrong(nothing, run.tally.given)[1], [0.0, 1.0])


def test_it_says_how_many_svms_voted_and_of_how_many_rows(table):
    for options in (Options("default"), Options("default", n_estimators=50)):
        run = correct_table(table, options)
        model, words = run.model, summarise(run, [], 0).ensemble["words"]
        assert f"{model.n_estimators:,} SVMs voted, each trained on {model.subsets_.shape[1]} rows" in words


@pytest.mark.parametrize(
    "n_labels, flagged, worth", [(400, 10, True), (99, 0, False), (400, 300, False), (100, 49, True)]
)
def test_a_long_list_of_which_little_was_changed_leads_to_an_audit(table, n_labels, flagged, worth):
    run = correct_table(table, Options("default", n_estimators=50))
    written = {"folder": "my loans.subsvms", "files": [["a.csv", ""], ["issues.csv", ""]]}
    summary = replace(summarise(run, [], 1, **written), n_labels=n_labels, flagged=flagged)
    audit = (
        "The rule changed little of a long list. To check about fifty labels, and to change others with a "
        "guarantee: subsvms audit 'my loans.subsvms'"
    )
    assert (audit in format_next_steps(summary, reviewable=True)) is worth
    assert audit not in format_next_steps(summary, reviewable=False)

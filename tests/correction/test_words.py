"""Reasons and notes in words."""

import pytest
from corrections import attacked, quick

from subsvms.correction._rule import Halt, Settings
from subsvms.correction._words import KEEPERS, SPARED, format_keeper, format_vote


def test_reasons_name_vote_probability_and_threshold(cancer):
    pytest.importorskip("pandas")
    X, y = cancer
    given = attacked(y, 0)
    for row in quick(X, given, min_confidence=0.6).to_frame().itertuples():
        assert row.reason.startswith(row.action + ": ")
        assert f"of {row.suggested_label} is {row.confidence:.3f}" in row.reason
        assert "SVMs vote" in row.reason and "0.6" in row.reason and f"is {row.confidence:.3f}" in row.reason
    capped = quick(X, given, max_error_rate=0.02).to_frame()
    assert capped["is_label_issue"].sum() == int(0.02 * len(y))
    assert capped["reason"].str.contains("max_error_rate").any()
    majority = quick(X, given, rule="majority", min_confidence=0.8).to_frame()
    assert majority["reason"].str.contains("most votes").all()
    assert majority["reason"].str.contains("more than 0.8 of them").all()


def test_only_a_unanimous_vote_is_shown_as_all_or_none():
    for n_votes in range(538):
        said = format_vote(["'cat'"], 537, 0, n_votes)
        assert said.startswith("100 % of") == (n_votes == 537)
        assert said.startswith("0 % of") == (n_votes == 0)
        assert format_vote(["'cat'"], 1, 0, n_votes / 537, "A forest").endswith(" 100 %") == (n_votes == 537)


def test_what_kept_a_label_is_named():
    named = {halt: format_keeper(halt, Settings(min_confidence=0.8)) for halt in Halt}
    assert named[Halt.NONE] == "a probability of at most 0.8"
    assert named[Halt.CAPPED] == "the limit on changes"
    assert set(SPARED) <= set(KEEPERS)
    assert format_keeper(Halt.NONE, Settings(rule="majority")) == "the plain vote"
    said = format_keeper(Halt.NONE, Settings(rule="majority"), "LogisticRegression")
    assert said == "the largest share that LogisticRegression gives"

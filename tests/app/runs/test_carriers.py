"""The labels that carry a suggestion, on a small table whose clean labels are known."""

from types import SimpleNamespace

import numpy as np
import pytest

from subsvms import SubSVMClassifier, correct_labels
from subsvms.app.runs import carriers
from subsvms.app.runs.carriers import N_CARRIERS, Carriers, find_carriers
from subsvms.app.runs.describe import describe_standing
from subsvms.app.runs.issues import find_issues
from subsvms.certificates import Standing, certify
from subsvms.ensemble import LinearCommittee


@pytest.fixture(scope="module")
def judged():
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 2, 300)
    given = np.where(rng.random(300) < 0.15, 1 - clean, clean).astype(object)
    given[[5, 50]] = None
    X = rng.normal(clean[:, None], 0.4, (300, 3))
    correction = correct_labels(X, given, estimator=SubSVMClassifier(n_estimators=100, random_state=0))
    return correction, X, find_issues(correction, X).rows


def test_flips_are_one_more_than_the_committee_withstands(judged):
    correction, X, issues = judged
    found = find_carriers(correction, X, issues, random_state=0)
    labelled = np.flatnonzero(correction.given >= 0)
    committee = LinearCommittee(gamma=1 / 3, random_state=0).fit(X[labelled], correction.given[labelled])
    for i, row in enumerate(issues):
        if correction.given[row] >= 0:
            one = certify(committee, rows=[np.searchsorted(labelled, row)], n_carriers=N_CARRIERS)
            rows = labelled[one.carriers[0]]
        else:
            one = certify(committee, X[[row]], n_carriers=N_CARRIERS)
            rows = labelled[one.carriers[0]]
        if one.verdicts[0] == correction.compared[row]:
            assert found.flips[i] == one.withstands[0] + 1
            assert found.rows[i].tolist() == rows.tolist()
        else:
            assert found.flips[i] == 0 and np.all(found.rows[i] == -1)
    assert np.mean(found.flips > 0) > 0.3


def test_rows_without_a_label_carry_nothing(judged):
    correction, X, issues = judged
    assert not set(find_carriers(correction, X, issues, random_state=0).rows.ravel()) & {5, 50}


def test_the_claim_is_about_the_flagged_labels(judged):
    correction, X, issues = judged
    standing = find_carriers(correction, X, issues, random_state=0).standing
    assert standing.n_rows == correction.flagged.sum() >= standing.n_standing > 0.5 * standing.n_rows
    assert standing.n_flips == 2  # one in a hundred of 298
    none = issues[~correction.flagged[issues]]
    assert find_carriers(correction, X, none, random_state=0).standing is None


def test_a_large_table_is_left_out_and_a_long_list_is_cut(judged, monkeypatch):
    correction, X, issues = judged
    monkeypatch.setattr(carriers, "LOOKED_AT", 4)
    found = find_carriers(correction, X, issues, random_state=0)
    columns = found.list_columns(len(issues), 4)
    assert len(found.flips) == 4 and {len(column) for column in columns.values()} == {len(issues)}
    assert columns["flips"][4:] == [None] * (len(issues) - 4) and columns["carriers"][-1] == []
    monkeypatch.setattr(carriers, "MOST_ROWS", 297)
    assert find_carriers(correction, X, issues, random_state=0) is None


def test_the_sentence_says_which_labels_it_is_about():
    def say(n_flagged, *numbers):
        run = SimpleNamespace(tally=SimpleNamespace(n_flagged=n_flagged))
        found = Standing(*numbers) if numbers else None
        return describe_standing(run, Carriers(np.zeros(0), np.zeros(0), np.zeros(0), found))

    assert say(16, 16, 5, 15, 12) == (
        "Of the 16 flagged labels, a second judge, a linear committee, agrees about 15, and at least 12 of "
        "its verdicts would stand whatever 5 labels of the table had been chosen to be changed."
    )
    assert say(900, 200, 1, 150, 140).startswith("Of the first 200 flagged labels")
    assert "whatever label of the table" in say(900, 200, 1, 150, 140)
    assert say(1, 1, 5, 1, 1) == say(0) == ""
    large = SimpleNamespace(tally=SimpleNamespace(n_flagged=7))
    assert "tables of up to 20,000 labels" in describe_standing(large, None)
    assert describe_standing(SimpleNamespace(tally=SimpleNamespace(n_flagged=0)), None) == ""


def test_no_issues_have_no_carriers(judged):
    correction, X, issues = judged
    found = find_carriers(correction, X, issues[:0], random_state=0)
    assert found.standing is None and found.list_columns(0, 4) == {"flips": [], "carriers": [], "carried": []}

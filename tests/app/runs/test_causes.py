"""Labels that carry a suggestion, and values of a column at which labels contradict the votes."""

from types import SimpleNamespace

import numpy as np
import pytest
from loans import call, make_rows, write

from subsvms import SubSVMClassifier, correct_labels
from subsvms.app.runs import causes
from subsvms.app.runs.causes import N_CARRIERS, N_MEMBERS, Origin, find_carriers, find_origins, format_origins
from subsvms.app.runs.describe import describe_standing
from subsvms.app.runs.issues import find_issues
from subsvms.certificates import Standing, certify, count_standing
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
    committee = LinearCommittee(n_estimators=N_MEMBERS, gamma=1 / 3, random_state=0)
    committee.fit(X[labelled], correction.given[labelled])
    for i, row in enumerate(issues):
        one = None
        if correction.flagged[row]:
            one = certify(committee, rows=[np.searchsorted(labelled, row)], n_carriers=N_CARRIERS)
        if one is not None and one.verdicts[0] == correction.compared[row]:
            assert found.flips[i] == one.withstands[0] + 1
            assert found.rows[i].tolist() == labelled[one.carriers[0]].tolist()
        else:
            assert found.flips[i] == 0 and np.all(found.rows[i] == -1)
    assert np.mean(found.flips[correction.flagged[issues]] > 0) > 0.3
    flagged = np.flatnonzero(correction.flagged)
    rows, wanted = np.searchsorted(labelled, flagged), correction.compared[flagged]
    n_flips = found.standing.n_flips
    assert found.standing == count_standing(committee, n_flips, rows=rows, suggested=wanted)


def test_every_flagged_label_is_looked_at_and_no_other(judged, monkeypatch):
    correction, X, issues = judged
    found = find_carriers(correction, X, issues, random_state=0)
    standing, others = found.standing, ~correction.flagged[issues]
    assert standing.n_rows == correction.flagged.sum() >= standing.n_standing > 0.5 * standing.n_rows
    assert standing.n_flips == 2  # one in a hundred of 298
    assert others.any() and np.all(found.flips[others] == 0)
    assert np.sum(found.flips > 0) == standing.n_agreeing
    assert not set(found.rows.ravel()) & {5, 50}  # rows without a label carry nothing
    columns = found.list_columns(4)
    assert {len(column) for column in columns.values()} == {len(issues)}
    assert columns["flips"][np.argmax(others)] is None and columns["carriers"][np.argmax(others)] == []
    assert find_carriers(correction, X, issues[others], random_state=0).standing is None
    none = find_carriers(correction, X, issues[:0], random_state=0)
    assert none.standing is None and none.list_columns(4) == {"flips": [], "carriers": [], "carried": []}
    monkeypatch.setattr(causes, "MOST_LABELS", 297)
    assert find_carriers(correction, X, issues, random_state=0) is None  # the table is too large


def test_the_sentence_is_about_all_changes():
    def say(*numbers, action="fix", audit=None):
        run = SimpleNamespace(options=SimpleNamespace(action=action), correction=SimpleNamespace(audit=audit))
        found = Standing(*numbers) if numbers else None
        return describe_standing(run, causes.Carriers(np.zeros(0), np.zeros(0), np.zeros(0), found))

    assert say(1590, 50, 1453, 1402) == (
        "Of the 1,590 changes a second judge, a linear committee, confirms 1,453, and at least 1,402 of "
        "these verdicts would stand whatever 50 labels of the table had been chosen to be changed."
    )
    assert say(900, 1, 150, 140, action="review").startswith("Of the 900 flagged labels a second judge")
    audited = say(900, 1, 150, 140, audit="people changed some more")
    assert audited.startswith("Of the 900 flagged labels a second judge")
    assert "whatever label of the table had" in say(900, 1, 150, 140)
    assert say(1, 5, 1, 1) == say() == ""
    for n_flagged, labelled, told in ((7, 20_001, True), (0, 20_001, False), (7, 300, False)):
        run = SimpleNamespace(tally=SimpleNamespace(n_flagged=n_flagged, labelled=labelled))
        assert ("tables of up to 20,000 labels" in describe_standing(run, None)) == told


N = 1200


def make_votes(seed, noise):
    """Return shares of votes that know the truth as well as a feature tells it, and noisy labels."""
    rng = np.random.default_rng(seed)
    feature = rng.integers(5, size=N)  # the classes overlap where it is large
    truth = rng.random(N) < 0.5
    sure = np.clip(0.98 - 0.1 * feature + rng.normal(0, 0.02, N), 0.5, 1)
    guess = np.where(rng.random(N) < sure, truth, ~truth)
    share = np.where(guess, sure, 1 - sure)
    who = rng.integers(6, size=N)
    given = truth ^ (rng.random(N) < noise(who, truth))
    return feature * 1.0, who, given.astype(int), np.stack([1 - share, share], axis=1)


def test_an_annotator_who_is_worse_is_found(seed):
    feature, who, given, share = make_votes(seed, lambda who, truth: np.where(who == 3, 0.35, 0.03))
    names = np.array(list("abcdef"), dtype=object)[who]
    (found,) = find_origins({"feature": feature, "who": names}, given, share)
    assert (found.column, found.value, found.n_rows) == ("who", "d", np.sum(who == 3))
    assert found.n_contradicted > 1.5 * found.expected


@pytest.mark.parametrize("noise", [lambda who, truth: 0.1, lambda who, truth: np.where(truth, 0.3, 0.02)])
def test_columns_are_passed_over_where_nobody_is_worse(seed, noise):
    """Nor is a column that goes with overlap or with a noisy class, or has one value, or too many."""
    feature, who, given, share = make_votes(seed, noise)
    columns = {"feature": feature, "who": who * 1.0, "many": np.arange(N) // 20.0, "one": np.zeros(N)}
    given[:30], share[30:60] = -1, np.nan
    assert find_origins(columns, given, share) == []
    assert find_origins(columns, np.full(N, -1), share) == []


def test_a_note_names_the_clearest_value_and_counts_other_columns():
    one = Origin("my site", 3.0, 50, 20, 4.2)
    (note,) = format_origins([one, Origin("b", None, 9, 8, 1.0)])
    assert note.startswith("Where 'my site' is '3', 20 of 50 labels contradict the votes; of other rows with")
    assert "about 4 would. The same holds for 1 more column. " in note and note.endswith("by='my site'.")
    assert format_origins([]) == []
    assert "Where 'b' is missing, " in format_origins([Origin("b", None, 9, 8, 1.0)])[0]


def test_the_command_line_suggests_the_column_until_it_is_used(tmp_path):
    rows, clean = make_rows(600, wrong=0.03)
    rng = np.random.default_rng(0)
    for i, row in enumerate(rows):
        row["desk"] = int(rng.integers(5))
        if row["desk"] == 2 and rng.random() < 0.4:
            row["default"] = {"no": "yes", "yes": "no"}[clean[i]]
    path = write(tmp_path / "loans.csv", rows)
    words = ("correct", path, "--label", "default", "--svms", 100, "--threads", 1, "--dry-run")
    said = " ".join(call(*words).output.split())
    assert "Where 'desk' is '2', " in said and "with --by desk." in said
    assert "Where " not in call(*words, "--by", "desk").output

import warnings

import numpy as np
import pytest
from corrections import attacked, quick
from known_rings import audited, make_ranking, make_suspicious, mark_rows

from subsvms.audit import Audit, Ranking, SimulatedAnnotator, run_audit
from subsvms.exceptions import InputError, LabelNoiseWarning


@pytest.mark.parametrize("n_classes", [2, 4])
def test_fifty_answers_correct_many_more_of_labels(seed, n_classes):
    left = []
    for s in range(5):
        ranking, truth = make_suspicious(10 * seed + s, n_classes=n_classes)
        audit = audited(ranking, truth, random_state=s)
        claim = audit.claim
        assert claim.finished and claim.n_answers == 50
        left.append(np.sum(audit.labels != truth) - np.sum(ranking.given != truth))
        if not claim.rings:
            assert "No other label was changed" in str(claim) and len(claim.changed) == 0
            continue
        assert f"{len(claim.changed)} others were changed without being seen" in str(claim)
        n_wrong = np.sum(ranking.suggested[claim.changed] != truth[claim.changed])
        assert claim.at_most_wrong is None or n_wrong <= claim.at_most_wrong < len(claim.changed) / 2
        assert n_classes == 2 or claim.at_most_wrong is None
        assert ("at most" in str(claim)) == (claim.at_most_wrong is not None)
    assert np.mean(left) < -50


def test_an_audit_ends_where_every_label_is_answered_changed_or_stays(seed):
    ranking = Ranking.make(["ham"] * 60, ["spam"] * 60, range(60), flagged=[True] * 60)
    audit = run_audit(Audit(ranking, 50, random_state=seed), lambda row: "spam")
    assert audit.claim.finished and audit.claim.n_answers < 50 and len(audit.claim.changed) > 10
    assert list(audit.labels) == ["spam"] * 60


def test_an_audit_without_an_answer_leaves_what_the_rule_did(seed):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 100))
    audit = Audit(ranking)
    by_rule = np.where(ranking.flagged, ranking.suggested, ranking.given)
    assert np.array_equal(audit.labels, by_rule) and np.array_equal(audit.claim.standing, np.arange(100))
    assert "The 100 changes of the rule stand so far, without a claim." in str(audit.claim)
    audit.answer(audit.next_row, None)  # nobody can tell: that label is as it was given
    assert np.sum(audit.labels != by_rule) == 1 and len(audit.claim.standing) == 99


@pytest.mark.parametrize("n_answers", [20, 50])
def test_changes_that_are_not_decided_are_kept_if_most_answers_agree(n_answers):
    verdicts = set()
    for s in range(15):
        rng = np.random.default_rng(s)
        score = np.where(mark_rows(0, 200) & (rng.random(600) < 0.75), 1, -1)
        ranking, truth = make_ranking(score, s, flagged=mark_rows(0, 200))
        audit = audited(ranking, truth, n_answers, random_state=s)
        (one,) = audit.claim.sets
        verdicts.add(one.verdict)
        assert len(audit.claim.standing) == (one.n_unseen if one.verdict == "kept" else 0)
    assert {"kept", "passed"} <= verdicts


def test_changes_that_passed_are_not_asked_about_again_and_others_may_be(seed):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 100))
    audit = audited(ranking, truth)
    inside = [row for row in audit.decided if row < 100]
    if audit.claim.sets[0].verdict in ("passed", "kept"):
        assert len(inside) == audit.claim.sets[0].n_checked


def test_two_thirds_are_asked_for_if_a_model_is_to_be_trained(seed):
    n_changed = {}
    for for_model in (False, True):
        ranking, truth = make_suspicious(seed)
        audit = audited(ranking, truth, 100, for_model=for_model)
        n_changed[for_model] = len(audit.claim.changed)
        assert Audit.load(audit.state, ranking).claim.threshold == audit.claim.threshold
        assert all(ring.threshold == audit.claim.threshold for ring in audit.rings)
        if audit.claim.rings:
            assert ("two thirds" in str(audit.claim)) == for_model
            found = audit.claim.rings[0]
            most = found.at_most_wrong
            assert most is None or most < found.n_changed * (1 - audit.claim.threshold)
    several, _ = make_suspicious(seed, n_classes=3)
    with pytest.raises(InputError, match="for_model needs two classes, and there are 3: leave it out"):
        Audit(several, for_model=True)


@pytest.mark.parametrize("n_answers", [10, 50, 200])
def test_each_label_is_asked_about_once(seed, n_answers):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 60), held_back=mark_rows(60, 120))
    audit = audited(ranking, truth, n_answers, held_back=True)
    rows = [row for row, _ in audit.state["answers"]]
    assert len(set(rows)) == len(rows) == n_answers == audit.most_questions
    assert not set(rows) & set(audit.claim.changed)


def test_cannot_tell_counts_as_a_miss_and_keeps_the_label(seed):
    ranking, truth = make_suspicious(seed)
    audit = audited(ranking, truth, person=lambda row: None)
    assert audit.claim.n_overturned == 0 and not audit.decided and len(audit.claim.changed) == 0
    never = audited(ranking, truth, person=lambda row: ranking.given[row])
    assert [row for row, _ in never.state["answers"]] == [row for row, _ in audit.state["answers"]]


def test_stopping_early_keeps_what_passed_and_changes_nothing_else(seed):
    """After each answer: what passed stays, an unfinished set changes nothing, and the words never fail."""
    n_changed = 0
    for s in range(5):
        ranking, truth = make_suspicious(10 * seed + s, flagged=mark_rows(0, 100))
        audit, before = Audit(ranking, 60, repeat=True), set()
        person = SimulatedAnnotator(truth, error_rate=0.1)
        while (row := audit.next_row) is not None:
            assert audit.stage == audit.progress.stage != "done"
            audit.answer(row, person(row))
            changed = set(audit.claim.changed.tolist())
            assert before <= changed and str(audit.claim) and str(audit.progress)
            assert len(audit.labels) == len(truth) and 0 <= audit.progress.share <= 1
            before = changed
        n_changed += len(before)
        assert audit.progress.stage == "done"
    assert n_changed > 100


def test_the_upcoming_rows_are_asked_in_their_order_and_other_seeds_ask_about_others(seed):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 100))
    audit, stages = Audit(ranking, random_state=1), []
    assert audit.upcoming(15) != Audit(ranking, random_state=2).upcoming(15)
    while (row := audit.next_row) is not None:
        if not stages or stages[-1][0] != audit.stage:
            stages.append((audit.stage, audit.upcoming(1000), []))
        assert audit.upcoming(1) == [row] and 1 <= len(audit.upcoming(3)) <= 3
        stages[-1][2].append(row)
        audit.answer(row, truth[row])
    for stage, upcoming, asked in stages:
        if stage == "changes":
            assert upcoming[: len(asked)] == asked and len(upcoming) == 15
        if stage == "locate":
            assert len(upcoming) == 1
        if stage == "rest":
            assert len(upcoming) <= 5 and upcoming == asked[:5]
    assert [stage for stage, *_ in stages][:2] == ["changes", "locate"] and audit.stage == "done"


def test_parameters_are_checked():
    ranking, _ = make_suspicious(0)
    for options, message in [
        ({"n_answers": 9}, "at least 10"),
        ({"n_answers": 601}, "at most the number of labels to ask about, 600; got 601"),
        ({"level": 1.0}, "less than 1"),
        ({"random_state": -1}, "random_state must be a whole number"),
    ]:
        with pytest.raises(InputError, match=message):
            Audit(ranking, **options)
    with pytest.raises(TypeError, match="made from a Correction or a Ranking; got list"):
        Audit([1, 2])


@pytest.fixture(scope="module")
def case(cancer):
    X, y = cancer
    clean = np.array(["malignant", "benign"])[y]
    return X, clean, attacked(clean, rho=0.6, alpha=0.0)


@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_what_is_confirmed_has_the_action_and_rings_have_their_labels_whatever_it_is(action):
    rng = np.random.default_rng(0)
    X = rng.random((1000, 2))
    clean = np.where(X.sum(axis=1) > 1, "high", "low")
    given = np.where((clean == "high") & (rng.random(1000) < X[:, 0] / 1.6), "low", clean)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        correction = quick(X, given, action=action)
    audit = audited(correction, clean, 50)
    after = audit.apply(correction)
    decided = np.isin(np.arange(len(given)), list(audit.decided))
    changed, confirmed = np.zeros((2, len(given)), dtype=bool)
    changed[audit.claim.changed], confirmed[audit.confirmed] = True, True
    rest, acted = ~decided & ~changed, confirmed & (action != "fix")
    assert audit.claim.rings and np.array_equal(confirmed, changed & correction.flagged) and confirmed.any()
    assert np.array_equal(after.audited, changed & ~acted) and after.audited[changed & ~confirmed].all()
    assert np.array_equal(after.labels, np.where(acted, given, audit.labels))
    assert np.array_equal(after.kept, ~acted | (action != "drop"))
    assert np.array_equal(after.flagged, changed) and set(after.action[confirmed]) == {
        "audited" if action == "fix" else action
    }
    assert np.sum(audit.labels != clean) < np.sum(given != clean) / 2
    assert np.array_equal(after.action == "audited", after.audited)
    assert np.array_equal(after.action == "verified", decided) and np.array_equal(after.decided, decided)
    assert np.array_equal(after.changed, after.labels != given)
    assert np.all(after.sample_weight[decided | after.audited] == 1)
    assert np.array_equal(after.labels[rest], given[rest]) and not after.flagged[rest].any()
    reason = after.explain(int(np.flatnonzero(after.audited)[0]))
    assert reason.startswith("audited: random answers show that most labels")


@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_an_audit_without_an_answer_leaves_the_correction_as_it_is(case, action):
    X, clean, given = case
    correction = quick(X, given, action=action)
    after = Audit(correction).apply(correction)
    assert np.array_equal(after.labels, correction.labels) and after.audit is None
    assert np.array_equal(after.flagged, correction.flagged) and np.array_equal(after.kept, correction.kept)
    begun = Audit(correction)
    row = begun.next_row
    begun.answer(row, clean[row])
    after = begun.apply(correction)
    others = np.arange(len(given)) != row
    assert np.array_equal(after.labels[others], correction.labels[others]) and after.labels[row] == clean[row]
    assert np.array_equal(after.action[others], correction.action[others])


def test_rows_without_a_label_or_verified_before_are_not_asked(case):
    X, clean, given = case
    given, verified = given.astype(object), np.full(len(given), None, dtype=object)
    given[:50], verified[50:100] = None, clean[50:100]
    correction = quick(X, given, verified=verified)
    audit = audited(correction, clean, 40)
    assert min(row for row, _ in audit.state["answers"]) >= 100
    after = audit.apply(correction)
    assert np.array_equal(after.labels[50:100], clean[50:100]) and after.decided.sum() == 90
    assert np.array_equal(after.labels[:50], correction.labels[:50]) and audit.labels[0] is None
    assert np.all(after.action[:50] == "missing")
    with pytest.raises(InputError, match="made from another correction"):
        audit.apply(quick(X, clean))

import numpy as np
import pytest
from corrections import attacked, quick
from known_rings import audited, make_suspicious

from subsvms.audit import Audit, SimulatedAnnotator
from subsvms.exceptions import InputError


@pytest.mark.parametrize("n_classes", [2, 4])
def test_fifty_answers_correct_many_more_of_labels(seed, n_classes):
    ranking, truth = make_suspicious(seed, n_classes=n_classes)
    audit = audited(ranking, truth)
    claim = audit.claim
    assert claim.finished and claim.n_answers == 50 and len(claim.changed) > 40
    assert np.sum(audit.labels != truth) < np.sum(ranking.given != truth) - 50
    assert f"{len(claim.changed)} others were changed without being seen" in str(claim)
    if n_classes == 2:
        assert np.sum(ranking.suggested[claim.changed] != truth[claim.changed]) <= claim.at_most_wrong
        assert "at most" in str(claim)
    else:
        assert claim.at_most_wrong is None and "at most" not in str(claim)


@pytest.mark.parametrize("n_answers", [10, 50, 200])
@pytest.mark.parametrize("repeat", [False, True])
def test_each_row_is_asked_once_and_repeats_come_on_top(seed, n_answers, repeat):
    ranking, truth = make_suspicious(seed)
    audit = audited(ranking, truth, n_answers, repeat=repeat)
    rows = [row for row, _ in audit.state["answers"]]
    n_wrong = audit.claim.n_overturned
    assert len(set(rows)) == n_answers and len(rows) == n_answers + repeat * n_wrong


def test_cannot_tell_counts_as_a_miss_and_keeps_the_label(seed):
    ranking, truth = make_suspicious(seed)
    audit = audited(ranking, truth, person=lambda row: None)
    assert audit.claim.n_overturned == 0 and not audit.decided and len(audit.claim.changed) == 0
    never = audited(ranking, truth, person=lambda row: ranking.given[row])
    assert [row for row, _ in never.state["answers"]] == [row for row, _ in audit.state["answers"]]


def test_stopping_early_keeps_what_passed_and_changes_nothing_else(seed):
    """After each answer: what passed stays, an unfinished ring changes nothing, and the words never fail."""
    ranking, truth = make_suspicious(seed)
    audit, person, before = Audit(ranking, 60, repeat=True), SimulatedAnnotator(truth, error_rate=0.1), set()
    while (row := audit.next_row) is not None:
        audit.answer(row, person(row))
        changed = set(audit.claim.changed.tolist())
        assert before <= changed | set(audit.decided) and str(audit.claim) and str(audit.progress)
        assert len(audit.labels) == len(truth) and 0 <= audit.progress.share <= 1
        before = changed
    assert before and audit.progress.stage == "done"


def test_the_upcoming_rows_are_asked_in_their_order_and_other_seeds_ask_about_others(seed):
    ranking, truth = make_suspicious(seed)
    audit = Audit(ranking, random_state=1)
    assert audit.upcoming(20) != Audit(ranking, random_state=2).upcoming(20)
    for row in audit.upcoming(20):
        assert audit.next_row == row
        audit.answer(row, truth[row])
    assert audit.progress.stage == "confirm" and "Checking a set of" in str(audit.progress)


def test_a_repeat_that_differs_is_decided_by_a_third_answer():
    ranking, truth = make_suspicious(0)
    audit = Audit(ranking, repeat=True)
    first, times = audit.next_row, 0
    while (row := audit.next_row) is not None:
        label = ranking.given[row]
        if row == first:  # wrong, right, wrong
            label = [ranking.suggested[row], ranking.given[row], ranking.suggested[row]][times]
            times += 1
            assert times == 3 or first not in audit.decided
        audit.answer(row, label)
    asked = [row for row, _ in audit.state["answers"]]
    assert times == 3 and audit.decided[first] == ranking.suggested[first]
    assert np.all(np.diff([i for i, row in enumerate(asked) if row == first]) > 5)


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
def test_the_audited_correction_has_its_labels_whatever_the_action(case, action):
    X, clean, given = case
    correction = quick(X, given, action=action)
    audit = audited(correction, clean, 40)
    after = audit.apply(correction)
    decided = np.isin(np.arange(len(given)), list(audit.decided))
    rest = ~decided & ~after.audited
    assert np.array_equal(after.labels, audit.labels) and after.kept.all()
    assert np.sum(after.labels != clean) < np.sum(given != clean) / 2
    assert np.array_equal(np.flatnonzero(after.action == "audited"), audit.claim.changed)
    assert np.array_equal(after.action == "verified", decided) and np.array_equal(after.decided, decided)
    assert np.array_equal(after.changed, after.labels != given)
    assert np.all(after.sample_weight[~rest] == 1)
    assert np.array_equal(after.labels[rest], given[rest]) and not after.flagged[rest].any()
    reason = after.explain(int(audit.claim.changed[0]))
    assert reason.startswith("audited: random answers show that most labels")
    kept = np.flatnonzero(correction.flagged & rest)
    assert all("the audit did not confirm" in reason for reason in after.explain(kept))


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

import json

import numpy as np
import pytest
from corrections import attacked, quick
from known_rings import make_ranking, make_suspicious, mark_rows

from subsvms.audit import Audit, Confirmation, SimulatedAnnotator, confirm, run_audit
from subsvms.exceptions import InputError


def confirmed(source, truth, **options):
    return run_audit(confirm(source, **options), SimulatedAnnotator(truth))


def list_rows(found):
    return [row for row, _ in found.state["answers"]]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_right_changes_are_confirmed_and_stay(seed, n_classes):
    truth_score = np.where(mark_rows(0, 150), 1, -1)
    ranking, truth = make_ranking(truth_score, seed, n_classes, flagged=mark_rows(0, 150))
    found = confirmed(ranking, truth)
    (one,) = found.claim.sets
    assert (one.verdict, one.n_rows, one.n_hits) == ("passed", 150, one.n_checked) and one.n_checked <= 15
    assert np.array_equal(found.labels, truth) and len(found.claim.changed) == one.n_unseen
    assert str(found.claim).startswith("Confirmed: ") and "150 changes" in str(found.claim)
    if n_classes == 2:
        assert one.at_most_wrong is None or 0 <= one.at_most_wrong < one.n_unseen / 2


@pytest.mark.parametrize("n_classes", [2, 4])
def test_wrong_changes_are_taken_back(seed, n_classes):
    ranking, truth = make_ranking(-np.ones(600, dtype=int), seed, n_classes, flagged=mark_rows(0, 150))
    found = confirmed(ranking, truth)
    assert found.claim.sets[0].verdict == "back" and found.claim.n_answers == 3
    assert np.array_equal(found.labels, truth) and len(found.claim.standing) == 0
    assert str(found.claim).startswith("Taken back: of 3 of the 150 changes checked at random 0 were right")


def test_changes_that_are_not_decided_are_kept_if_seven_of_ten_answers_agree(seed):
    kept = back = 0
    for s in range(40):
        rng = np.random.default_rng([seed, s])
        score = np.where(mark_rows(0, 200) & (rng.random(600) < 0.7), 1, -1)
        ranking, truth = make_ranking(score, s, flagged=mark_rows(0, 200))
        found = confirmed(ranking, truth, random_state=s)
        one = found.claim.sets[0]
        assert len(found.claim.standing) == (one.n_unseen if one.verdict == "kept" else 0)
        if one.verdict == "passed":
            continue
        assert (one.verdict == "kept") == (one.n_hits >= 0.7 * one.n_checked)
        assert "Not decided" in str(found.claim) or "Taken back" in str(found.claim)
        kept, back = kept + (one.verdict == "kept"), back + (one.verdict == "back")
    assert kept > 3 and back > 3


def test_with_several_classes_labels_that_are_neither_do_not_count_against_the_changes():
    """Half are right, the others are wrong before and after: many are kept or passed, nothing is harmed."""
    verdicts = []
    for s in range(20):
        score = np.where(np.random.default_rng(s).random(600) < 0.6, 1, 0)
        ranking, truth = make_ranking(score, s, 4, flagged=mark_rows(0, 150))
        verdicts.append(confirmed(ranking, truth, random_state=s).claim.sets[0].verdict)
    assert verdicts.count("passed") + verdicts.count("kept") >= 15


def test_what_was_held_back_is_applied_if_it_passes_and_stays_otherwise(seed):
    for score, verdict in ((1, "passed"), (-1, "back")):
        ranking, truth = make_ranking(np.full(600, score), seed, held_back=mark_rows(100, 200))
        found = confirmed(ranking, truth)
        assert [one.verdict for one in found.claim.sets] == [verdict]
        assert np.sum(found.labels != ranking.given) == (100 if score == 1 else 0)
        without = confirm(ranking, held_back=False)
        assert without.next_row is None and without.stage == "done"
        assert str(without.claim).startswith("The rule changed no label")


def test_six_changes_and_fewer_are_all_asked_about(seed):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 6), held_back=mark_rows(10, 13))
    found = confirmed(ranking, truth)
    assert sorted(list_rows(found)) == [0, 1, 2, 3, 4, 5, 10, 11, 12]
    assert [one.verdict for one in found.claim.sets] == ["asked", "asked"]
    assert found.most_questions == 9 and len(found.claim.changed) == 0


def test_there_are_at_most_fifteen_questions_about_a_set_and_only_about_its_rows(seed):
    rng = np.random.default_rng(seed)
    for s in range(20):
        score = np.where(rng.random(600) < rng.random(), 1, -1)
        marks = {"flagged": mark_rows(0, 100), "held_back": mark_rows(300, 400)}
        ranking, truth = make_ranking(score, s, **marks)
        found = confirm(ranking, random_state=s)
        seen = {"changes": 0, "held_back": 0}
        while (row := found.next_row) is not None:
            seen[found.stage] += 1
            assert marks["flagged" if found.stage == "changes" else "held_back"][row]
            assert found.upcoming(1) == [row] and 0 <= found.progress.share <= 1 and str(found.progress)
            found.answer(row, truth[row])
        assert max(seen.values()) <= 15 and found.most_questions == 30


@pytest.mark.parametrize("repeat", [False, True])
@pytest.mark.parametrize("share", [0.1, 0.7, 0.95])
def test_an_audit_begins_with_the_same_questions_and_goes_on_with_their_answers(seed, share, repeat):
    rng = np.random.default_rng(seed)
    score = np.where(rng.random(600) < share, 1, -1)
    ranking, truth = make_ranking(score, seed, flagged=mark_rows(0, 100), held_back=mark_rows(300, 400))
    found = confirmed(ranking, truth, random_state=seed)
    begun = Audit.after(found, 50, repeat=repeat)
    assert begun.state["answers"] == found.state["answers"] and begun.stage not in ("changes", "held_back")
    assert begun.claim.sets == found.claim.sets
    whole = run_audit(
        Audit(ranking, 50, repeat=repeat, random_state=seed, held_back=True), SimulatedAnnotator(truth)
    )
    new = list(dict.fromkeys(list_rows(whole)))
    assert new[: len(list_rows(found))] == list_rows(found)
    after = run_audit(begun, SimulatedAnnotator(truth))
    assert list(dict.fromkeys(list_rows(after))) == new and np.array_equal(after.labels, whole.labels)
    partly = confirm(ranking, random_state=seed)
    partly.answer(partly.next_row, truth[partly.next_row])
    assert Audit.after(partly, 30).upcoming(1) == partly.upcoming(1)
    with pytest.raises(InputError, match="n_answers must be a whole number, at least 30; got 20"):
        Audit.after(partly, 20)


def test_a_saved_confirmation_goes_on_as_if_nothing_had_happened(seed):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 100), held_back=mark_rows(100, 200))
    whole = confirmed(ranking, truth, random_state=seed)
    found = confirm(ranking, random_state=seed)
    while (row := found.next_row) is not None:
        found.answer(row, truth[row])
        found = Confirmation.load(json.loads(json.dumps(found.state)), ranking)
    assert found.state == whole.state and str(found.claim) == str(whole.claim)
    assert repr(found).startswith(f"Confirmation({found.claim.n_answers} of at most 30 answers, changes ")
    with pytest.raises(InputError, match="The confirmation is finished"):
        found.answer(0, truth[0])
    with pytest.raises(InputError, match="The confirmation was made from other labels"):
        Confirmation.load(whole.state, make_suspicious(seed)[0])


@pytest.fixture(scope="module")
def case(cancer):
    X, y = cancer
    clean = np.array(["malignant", "benign"])[y]
    return X, clean, attacked(clean, rho=0.3, alpha=0.5)


@pytest.mark.parametrize("rule", ["posterior", "majority"])
@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_a_confirmed_correction_keeps_its_action_and_one_without_answers_is_unchanged(case, action, rule):
    X, clean, given = case
    correction = quick(X, given, action=action, rule=rule)
    assert confirm(correction).apply(correction) is correction
    found = confirmed(correction, clean, held_back=False)
    after = found.apply(correction)
    unseen = correction.flagged & ~np.isin(np.arange(len(given)), list(found.decided))
    assert found.claim.sets[0].verdict == "passed" and after.audit is not None
    assert np.array_equal(after.flagged & ~after.decided, unseen)
    assert np.array_equal(after.labels[unseen], correction.labels[unseen])
    assert np.array_equal(after.kept[unseen], correction.kept[unseen])
    assert np.array_equal(after.labels[after.decided], clean[after.decided])
    assert set(after.action[unseen]) == {"audited" if action == "fix" else action}
    back = confirmed(correction, given, held_back=False).apply(correction)  # a person who likes what is there
    assert np.array_equal(back.labels, given) and back.kept.all() and not back.flagged.any()
    assert np.all(back.sample_weight[correction.flagged] == 1)


def test_held_back_labels_that_pass_get_the_action(case):
    X, clean, given = case
    correction = quick(X, given, max_error_rate=0.0, action="drop")
    assert not correction.flagged.any() and correction.held_back.sum() > 20
    found = confirmed(correction, clean)
    after = found.apply(correction)
    assert [one.verdict for one in found.claim.sets] == ["passed"]
    assert np.array_equal(np.flatnonzero(~after.kept), found.claim.changed)

import numpy as np
import pytest
from known_rings import audited, make_suspicious, mark_rows

from subsvms.audit import Audit, SimulatedAnnotator
from subsvms.audit._repeats import GAP, Repeats


def list_rows(audit):
    return [row for row, _ in audit.state["answers"]]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n_answers", [10, 50, 200])
@pytest.mark.parametrize("errors", [0.0, 0.2])
def test_questions_about_one_row_lie_apart_and_are_no_more_than_was_said(seed, n_answers, errors, n_classes):
    ranking, truth = make_suspicious(seed, n_classes=n_classes, flagged=mark_rows(0, 80))
    for s in range(3):
        person = SimulatedAnnotator(truth, error_rate=errors, random_state=s)
        audit = audited(ranking, truth, n_answers, person, repeat=True, random_state=s)
        rows = list_rows(audit)
        assert len(set(rows)) == n_answers < len(rows) <= audit.most_questions == int(1.8 * n_answers)
        for row in set(rows):
            times = np.flatnonzero(np.array(rows) == row)
            assert len(times) <= 3 and np.all(np.diff(times) > GAP)


def test_repeats_cannot_be_counted_out_while_there_are_new_questions(seed):
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 80))
    rows = list_rows(audited(ranking, truth, repeat=True, random_state=seed))
    is_repeat = np.array([row in rows[:i] for i, row in enumerate(rows)])
    before_the_last = is_repeat[: np.flatnonzero(~is_repeat)[-1]]
    assert before_the_last.sum() > 10 and not np.any(before_the_last[1:] & before_the_last[:-1])
    gaps = [i - rows.index(row) for i, row in enumerate(rows) if is_repeat[i]]
    assert len(set(gaps)) >= 5


def test_some_kept_labels_are_asked_again_so_that_a_repeat_tells_nothing(seed):
    ranking, truth = make_suspicious(seed)
    kept = audited(ranking, ranking.given, repeat=True)
    again = len(list_rows(kept)) - 50
    assert 5 <= again <= 30 and kept.claim.n_overturned == 0
    audit = audited(ranking, truth, repeat=True)
    rows = list_rows(audit)
    repeated = [row for i, row in enumerate(rows) if row in rows[:i]]
    overturned = [truth[row] != ranking.given[row] for row in repeated]
    assert 0.1 <= np.mean(overturned) <= 0.95


def test_repeats_do_not_change_which_new_labels_are_asked_about(seed):
    """Nor what passes: both rest on the first answers."""
    ranking, truth = make_suspicious(seed, flagged=mark_rows(0, 80))
    found = []
    for repeat in (False, True):
        person = SimulatedAnnotator(truth, error_rate=0.1, random_state=seed)
        audit = audited(ranking, truth, 50, person, repeat=repeat)
        found.append((list(dict.fromkeys(list_rows(audit))), audit.claim.changed.tolist(), audit.claim.sets))
    assert found[0] == found[1]


def test_a_repeat_that_differs_is_decided_by_a_third_answer_and_without_it_the_label_stays():
    ranking, _ = make_suspicious(0)
    for third, n_said in ((True, 3), (False, 2)):
        audit = Audit(ranking, repeat=True)
        first, said = audit.next_row, []
        while (row := audit.next_row) is not None and len(said) < n_said:
            label = ranking.given[row]
            if row == first:  # wrong, right, wrong
                label = [ranking.suggested[row], ranking.given[row], ranking.suggested[row]][len(said)]
                said.append(label)
            audit.answer(row, label)
        assert audit.decided.get(first) == (ranking.suggested[first] if third else None)
        assert audit.labels[first] == (ranking.suggested[first] if third else ranking.given[first])


def test_there_are_no_more_repeats_than_were_said_and_then_the_first_answer_stands():
    repeats = Repeats(2, seed=0)
    for n, row in enumerate(range(10), start=1):
        repeats.add_first(row, True, n)
    assert {one.row for one in repeats.waiting} == {0, 1} and repeats.list_due(5, True) == []
    assert repeats.list_due(6, True) == [0] and not repeats.add_again(0, False, 11)
    assert [one.row for one in repeats.waiting] == [1]  # there is no third question left


def test_an_answer_to_a_new_question_may_come_before_a_repeat_that_is_due():
    ranking, truth = make_suspicious(0)
    audit = Audit(ranking, repeat=True)
    for _ in range(20):
        row = audit.upcoming(1)[0]
        audit.answer(row, truth[row])
    again = audit.next_row
    assert again in audit.decided and again != audit.upcoming(1)[0]
    audit.answer(again, truth[again])
    assert audit.claim.n_answers == 20 and len(audit.state["answers"]) == 21

import json
from dataclasses import replace

import numpy as np
import pytest
from corrections import attacked, quick
from known_rings import audited, make_suspicious

from subsvms.audit import Audit, Ranking, SimulatedAnnotator
from subsvms.exceptions import InputError


@pytest.mark.parametrize("change, message", [
    ({"suggested": ["b", "b"]}, "row 1 has 'b' twice"),
    ({"suggested": ["b"]}, "equal lengths"),
    ({"quality": [1, np.nan]}, "one finite number"),
    ({"given": ["a", None]}, "contains NaN, None"),
    ({"contradicted": [0, 1]}, "contradicted must hold True or False"),
    ({"flagged": [True]}, "flagged must hold True or False"),
    ({"flagged": [True, False], "held_back": [True, True]}, "flagged and held_back overlap"),
])  # fmt: skip
def test_a_ranking_is_checked(change, message):
    with pytest.raises(InputError, match=message):
        Ranking.make(**{"given": ["a", "b"], "suggested": ["b", "a"], "quality": [1, 2]} | change)


@pytest.mark.parametrize("rule", ["posterior", "majority"])
def test_a_ranking_has_the_suggestions_of_the_rule_and_what_it_held_back(cancer, rule):
    X, y = cancer
    correction = quick(X, attacked(y), rule=rule, action="review", max_error_rate=0.05)
    ranking = Ranking.of(correction)
    assert np.array_equal(ranking.flagged, correction.flagged) and ranking.flagged.any()
    assert np.array_equal(ranking.suggested[ranking.flagged], correction.judgement.suggested[ranking.flagged])
    assert np.array_equal(ranking.held_back, correction.held_back) and ranking.held_back.any()
    assert replace(ranking, flagged=None).digest != ranking.digest != replace(ranking, held_back=None).digest


@pytest.mark.parametrize("repeat", [False, True])
def test_a_saved_audit_goes_on_as_if_nothing_had_happened(seed, repeat):
    ranking, truth = make_suspicious(seed)
    whole = audited(ranking, truth, repeat=repeat, random_state=seed)
    audit, person = Audit(ranking, 50, repeat=repeat, random_state=seed), SimulatedAnnotator(truth)
    while (row := audit.next_row) is not None:
        is_repeat = any(row == one for one, _ in audit.state["answers"])
        assert is_repeat if row not in audit.upcoming(1) else not is_repeat
        assert repeat or not is_repeat
        audit.answer(row, person(row))
        if len(audit.state["answers"]) % 7 in (1, 4):
            audit = Audit.load(json.loads(json.dumps(audit.state)), ranking)
    assert audit.state == whole.state and np.array_equal(audit.labels, whole.labels)
    assert str(audit.claim) == str(whole.claim)


@pytest.mark.parametrize("parts, message", [
    ({"format": 9}, "has format 9"),
    ({"format": 1}, "begun with version 0.1 of subsvms, .* with that version, or begin again"),
    ({"held_back": 1}, "no valid 'held_back'"),
    ({"for_model": None}, "no valid 'for_model'"),
    ({"made_from": "ab"}, "made from other labels"),
    ({"n_answers": "50"}, "no valid 'n_answers'"),
    ({"n_answers": 10**9}, "at most the number of labels"),
    ({"random_state": -1}, "no valid 'random_state'"),
    ({"confidence": 2.0}, "level must be"),
    ({"repeat": None}, "no valid 'repeat'"),
    ({"answers": {}}, "no valid 'answers'"),
    ({"answers": [3]}, "Answer 1 of the audit must be a row and a class"),
    ({"answers": [[True, 0]]}, "Answer 1 of the audit must be a row and a class"),
    ({"answers": [[-5, 0]]}, "Answer 1 of the audit must be a row and a class"),
])  # fmt: skip
def test_a_forged_state_is_refused_in_one_sentence(parts, message):
    ranking, _ = make_suspicious(0)
    with pytest.raises(InputError, match=message) as caught:
        Audit.load(Audit(ranking).state | parts, ranking)
    assert str(caught.value).count(". ") == 0


def test_answers_that_were_not_asked_are_refused():
    ranking, truth = make_suspicious(0)
    audit = Audit(ranking)
    row = audit.next_row
    for wrong in (row + 1, -1, None, True, "x", 1.5):
        with pytest.raises(InputError, match=f"asks about row {row} now"):
            audit.answer(wrong, 0)
    for label in ("0", 7, 1.5, [0], True, float("nan")):
        with pytest.raises(InputError, match="An answer must be one of 0, 1, or None"):
            audit.answer(row, label)
    audit.answer(np.int64(row), np.int64(truth[row]))
    state = audit.state
    for forged, message in [
        (state | {"answers": state["answers"] * 2}, "Answer 2 of the audit .*, which was not asked then"),
        (state | {"answers": [[row, 2]]}, "must be a class from 0 to 1 or None; got 2"),
        ([state], "must be a dictionary; got list"),
    ]:
        with pytest.raises(InputError, match=message):
            Audit.load(forged, ranking)
    with pytest.raises(InputError, match="The audit is finished"):
        audited(ranking, truth).answer(row, 0)

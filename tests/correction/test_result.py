import numpy as np
import pytest
from corrections import attacked, make_corrector, quick, quietly
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import minmax_scale

from subsvms.correction._rule import Halt
from subsvms.exceptions import InputError, LabelNoiseWarning, format_interval, format_percent


@pytest.mark.parametrize("action", ["fix", "drop", "weight", "review"])
def test_an_action_changes_labels_rows_or_weights_and_nothing_else(cancer, corrected, action):
    X, y = cancer
    given, flagged = attacked(y), corrected.flagged
    corrector = make_corrector(action=action)
    X_new, y_new = corrector.fit_resample(X, given)
    correction = corrector.correction_
    weight = correction.sample_weight
    assert_array_equal(correction.flagged, flagged)
    assert set(correction.action[flagged]) == {action} and set(correction.action[~flagged]) == {"keep"}
    if action == "drop":
        assert_array_equal(X_new, X[~flagged])
        assert_array_equal(y_new, given[~flagged])
        assert_array_equal(weight, ~flagged)
    else:
        assert X_new is X and correction.kept.all()
        assert_array_equal(y_new, correction.labels)
    assert np.any(correction.labels != given) == correction.changed.any() == (action == "fix")
    if action == "weight":
        assert np.all((weight >= 0) & (weight <= 1))
        assert weight[given != y].mean() < 0.5 < 0.9 < weight[given == y].mean()
        LogisticRegression().fit(X, given, sample_weight=weight)
    elif action != "drop":
        assert np.all(weight == 1)


def test_labels_that_are_kept_for_another_reason_have_full_weight():
    """Here: rows with an equal row of the other label, where rows are often equal."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 6, (900, 3))
    y = (X.sum(axis=1) + rng.normal(0, 1.5, 900) > 7.5).astype(int)
    _, rows = np.unique(np.column_stack([X, y]), axis=0, return_index=True)
    with pytest.warns(LabelNoiseWarning, match="rows share their features"):
        correction = quick(X[rows].astype(float), y[rows], action="weight")
    twins = correction.judgement.halt == Halt.DUPLICATE
    assert twins.sum() > 20 and np.all(correction.sample_weight[twins] == 1)
    assert np.any(correction.judgement.posterior[np.arange(len(rows)), y[rows]][twins] < 1)


def test_a_numpy_user_gets_a_frame_whose_columns_agree(corrected):
    frame = corrected.to_frame()
    assert_array_equal(frame["corrected_label"], corrected.labels)
    assert_array_equal(frame["is_label_issue"], frame["given_label"] != frame["corrected_label"])
    issues = frame[frame["is_label_issue"]]
    assert (issues["confidence"] > 0.5).all() and (issues["label_quality"] < 0.51).all()
    assert (issues["action"] == "fix").all()
    assert frame["label_quality"].between(0, 1).all() and (frame["withstands"] >= 0).all()


def test_printed_it_says_how_many_changes_are_expected_to_be_right(cancer, corrected):
    X, y = cancer
    given, clean = attacked(y), quick(X, y)
    assert corrected == corrected and corrected != clean and hash(corrected)
    right = corrected.confidence[corrected.changed].sum()
    low, high = corrected.noise.error_rate_interval
    assert "labels flagged" in repr(corrected) and ", errors by class " in repr(corrected)
    assert f"{corrected.changed.sum()} changed, about {right:.0f} rightly" in repr(corrected)
    both = f" % ({format_interval(low, high)}), contradicted by votes "
    assert f"{both}{format_percent(corrected.contradicted.mean())})" in repr(corrected)
    assert both in repr(corrected.noise)
    assert "rightly" not in repr(clean) and "rightly" not in repr(quick(X, given, rule="majority"))
    decided = np.where(corrected.changed, (1 - given).astype(object), None)
    settled = quietly(X, given, verified=decided)
    n, by_people = settled.changed.sum(), (settled.changed & settled.decided).sum()
    right = by_people + settled.confidence[settled.changed & ~settled.decided].sum()
    assert by_people == corrected.changed.sum()
    assert f"{n} changed, about {right:.0f} rightly" in repr(settled)


def test_what_has_a_note_of_its_own_is_said_once():
    X, y = np.random.default_rng(0).random((200, 3)), np.tile([0, 1], 100)
    correction = quietly(X, y)
    assert set(correction.judgement.halt) == {Halt.UNEXPLAINED} and len(correction.notes) == 1
    assert "errors by class not known" in repr(correction)


@pytest.mark.parametrize("load", [load_iris, load_digits, load_breast_cancer])
def test_clean_labels_of_separate_classes_need_no_note(load):
    X, y = load(return_X_y=True)
    assert quick(minmax_scale(X), y).notes == ()


def test_notes_say_that_changes_were_held_back_without_a_warning(cancer, corrected):
    X, y = cancer
    many = corrected.notes[0]  # attacked labels: no warning, but what else it may be
    own = format_percent(corrected.flagged[corrected.given == 1].mean())
    assert many.kind == "many" and f"'1' ({own})" in many
    assert "<li>More than a tenth of a class looks wrong: " in corrected._repr_html_()
    capped = quick(X, attacked(y), max_error_rate=0.02, min_confidence=0.9)
    halts = capped.judgement.halt[capped.held_back]
    by_limit, by_rule, by_trees = (int(np.sum(halts == h)) for h in (Halt.CAPPED, Halt.NONE, Halt.DISPUTED))
    assert by_limit and by_rule and by_trees and by_limit + by_rule + by_trees == len(halts)
    assert capped.notes == (
        f"For {len(halts)} more, another label is more probable, but the given one was kept: {by_rule} by a "
        f"probability of at most 0.9, {by_limit} by the limit on changes, {by_trees} by trees on the same "
        "features.",
    )


@pytest.mark.parametrize("rows", [569, -1, "a", 1.0, [[0]], [0, [1]], True, [True], range(600), {0}])
def test_one_row_or_some_can_be_explained_but_none_that_are_not_there(corrected, rows):
    reasons = corrected.reason
    assert corrected.explain(3) == corrected.explain(np.int64(3)) == reasons[3]
    assert corrected.explain([3, 0]) == [reasons[3], reasons[0]]
    assert corrected.explain([]) == []
    assert corrected.explain(corrected.flagged) == [reasons[i] for i in np.flatnonzero(corrected.flagged)]
    message = r"^rows must be whole numbers from 0 to 568, or a bool for each row; "
    with pytest.raises(InputError, match=message):
        corrected.explain(rows)


def test_probabilities_that_add_up_leave_the_given_label_its_quality_and_keep_the_order_of_the_others():
    X, y = load_iris(return_X_y=True)
    given = np.where(np.arange(len(y)) % 9 == 0, (y + 1) % 3, y).astype(object)
    given[::17] = None
    found = quietly(minmax_scale(X), given)
    rows = np.arange(len(y))[::-1]
    p, own, places = found.share_out(rows), found.given[rows], np.arange(len(y))
    known = own >= 0
    assert np.allclose(p.sum(axis=1), 1.0) and p.min() >= 0 and not known.all()
    assert_array_equal(p[places[known], own[known]], found.label_quality[rows][known])
    assert_array_equal(p[~known], found.judgement.posterior[rows][~known])
    before = found.judgement.posterior[rows].copy()
    for table in (p, before):
        table[places[known], own[known]] = -1.0
    assert_array_equal(p.argmax(axis=1), before.argmax(axis=1))

"""What a correction holds, action by action."""

import numpy as np
import pytest
from corrections import attacked, make_corrector, quick, quietly
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

from subsvms.correction._rule import Halt
from subsvms.exceptions import InputError, LabelNoiseWarning, format_interval


def test_fix_replaces_labels_and_drop_leaves_out_the_flagged_rows(cancer):
    X, y = cancer
    given = attacked(y, 0)
    corrector = make_corrector()
    X_new, y_new = corrector.fit_resample(X, given)
    assert X_new is X
    assert_array_equal(y_new, corrector.correction_.labels)
    assert set(corrector.correction_.action) == {"keep", "fix"}
    corrector = make_corrector(action="drop")
    X_new, y_new = corrector.fit_resample(X, given)
    flagged = corrector.correction_.flagged
    assert flagged.any()
    assert_array_equal(X_new, X[~flagged])
    assert_array_equal(y_new, given[~flagged])
    assert_array_equal(corrector.correction_.sample_weight, ~flagged)
    assert not corrector.correction_.changed.any()


def test_wrong_labels_get_less_weight_than_right_ones(cancer):
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given, action="weight")
    assert_array_equal(correction.labels, given)
    weight = correction.sample_weight
    assert np.all((weight >= 0) & (weight <= 1))
    assert weight[given != y].mean() < 0.5 < 0.9 < weight[given == y].mean()
    LogisticRegression().fit(X, given, sample_weight=weight)


def test_labels_that_are_kept_for_another_reason_have_full_weight():
    """The first 100 rows have an equal row with the other label, and none with the same."""
    rng = np.random.default_rng(3)
    X, y = rng.random((400, 2)), np.tile([0, 1], 200)
    X[100:] += 0.5 * y[100:, None]
    X[0:100:2] = X[1:100:2]
    with pytest.warns(LabelNoiseWarning, match="100 rows share their features"):
        correction = quick(X, y, action="weight")
    assert np.any(correction.judgement.posterior[np.arange(400), y] < 1)
    assert np.all(correction.sample_weight[:100] == 1)


def test_review_flags_rows_and_changes_no_label(cancer):
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given, action="review")
    assert_array_equal(correction.labels, given)
    assert not correction.changed.any() and correction.flagged.any() and correction.kept.all()
    assert np.all(correction.action[correction.flagged] == "review")
    assert np.all(correction.sample_weight == 1)


def test_a_numpy_user_gets_a_frame_whose_columns_agree(cancer):
    pytest.importorskip("pandas")
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given)
    frame = correction.to_frame()
    assert_array_equal(frame["corrected_label"], correction.labels)
    assert_array_equal(frame["is_label_issue"], frame["given_label"] != frame["corrected_label"])
    issues = frame[frame["is_label_issue"]]
    assert (issues["confidence"] > 0.5).all() and (issues["label_quality"] < 0.51).all()
    assert (issues["action"] == "fix").all()
    assert frame["label_quality"].between(0, 1).all() and (frame["withstands"] >= 0).all()


def test_a_correction_can_be_printed_compared_and_hashed(cancer):
    X, y = cancer
    correction = quick(X, attacked(y, 0))
    assert "labels flagged" in repr(correction) and "estimated error rate" in repr(correction)
    assert correction == correction and correction != quick(X, y) and hash(correction)
    rng = np.random.default_rng(0)
    unknown = quietly(rng.random((200, 3)), rng.integers(2, size=200))
    assert "error rate not known" in repr(unknown)
    assert set(unknown.judgement.halt) == {Halt.UNEXPLAINED} and len(unknown.notes) == 1  # which says it


def test_printed_it_says_how_many_changes_are_expected_to_be_right(cancer):
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given)
    right = correction.confidence[correction.changed].sum()
    low, high = correction.noise.error_rate_interval
    assert f"{correction.changed.sum()} changed, about {right:.0f} rightly" in repr(correction)
    assert f" % ({format_interval(low, high)}))" in repr(correction)
    assert "rightly" not in repr(quick(X, y)) and "rightly" not in repr(quick(X, given, rule="majority"))
    decided = np.where(correction.changed, 1 - given, -1).astype(object)
    decided[decided == -1] = None
    settled = quietly(X, given, verified=decided)
    n, by_people = settled.changed.sum(), (settled.changed & settled.decided).sum()
    right = by_people + settled.confidence[settled.changed & ~settled.decided].sum()
    assert by_people == correction.changed.sum()
    assert f"{n} changed, about {right:.0f} rightly" in repr(settled)


def test_notes_say_that_changes_were_held_back_without_a_warning(cancer):
    X, y = cancer
    given = attacked(y, 0)
    assert not quick(X, given).notes
    capped = quick(X, given, max_error_rate=0.02, min_confidence=0.9)
    halts = capped.judgement.halt[capped.held_back]
    by_limit, by_rule = int(np.sum(halts == Halt.CAPPED)), int(np.sum(halts == Halt.NONE))
    assert by_limit and by_rule and by_limit + by_rule == len(halts)
    assert capped.notes == (
        f"For {len(halts)} more, another label is more probable, but the given one was kept: {by_rule} by a "
        f"probability of at most 0.9, {by_limit} by the limit on changes.",
    )


def test_one_row_or_some_can_be_explained(corrected):
    reasons = corrected.reason
    assert corrected.explain(3) == corrected.explain(np.int64(3)) == reasons[3]
    assert corrected.explain([3, 0]) == [reasons[3], reasons[0]]
    assert corrected.explain([]) == []
    assert corrected.explain(corrected.flagged) == [reasons[i] for i in np.flatnonzero(corrected.flagged)]


@pytest.mark.parametrize("rows", [569, -1, "a", 1.0, [[0]], [0, [1]], True, [True], range(600), {0}])
def test_rows_that_are_not_there_are_refused_in_one_sentence(corrected, rows):
    with pytest.raises(
        InputError, match=r"^rows must be whole numbers from 0 to 568, or a bool for each row; "
    ):
        corrected.explain(rows)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from subsvms.metrics import skew_insensitive_f_score


@given(seed=st.integers(0, 999), n=st.integers(1, 40))
def test_for_classes_of_equal_size_it_is_the_f_score(seed, n):
    rng = np.random.default_rng(seed)
    y_true, y_pred = np.repeat([0, 1], n), rng.integers(0, 2, 2 * n)
    assert skew_insensitive_f_score(y_true, y_pred) == pytest.approx(
        f1_score(y_true, y_pred, zero_division=0)
    )


def test_repeating_the_rows_of_one_class_changes_nothing():
    y_true, y_pred = np.array([1, 1, 0, 0, 0]), np.array([1, 0, 1, 0, 0])
    negative = y_true == 0
    more = [np.concatenate([y, np.repeat(y[negative], 9)]) for y in (y_true, y_pred)]
    assert skew_insensitive_f_score(*more) == pytest.approx(skew_insensitive_f_score(y_true, y_pred))
    assert f1_score(*more) < f1_score(y_true, y_pred)


def test_it_is_one_if_all_labels_are_right_and_zero_without_true_positives():
    y = ["rare", "usual", "usual"]
    assert skew_insensitive_f_score(y, y, pos_label="rare") == 1.0
    assert skew_insensitive_f_score(y, ["usual"] * 3, pos_label="rare") == 0.0


@pytest.mark.parametrize("y, which", [([0, 0], "no row"), ([1, 1], "every row")])
def test_it_needs_both_classes(y, which):
    with pytest.raises(ValueError, match=f"both classes, but {which} has"):
        skew_insensitive_f_score(y, [0, 1])
    with pytest.raises(ValueError, match="inconsistent"):
        skew_insensitive_f_score([0, 1], [0, 1, 1])

import numpy as np
import pytest
from linear_tables import make_committee, make_table, retrain
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.preprocessing import minmax_scale

from subsvms.ensemble import LinearCommittee
from subsvms.exceptions import InputError


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_weights_times_the_labels_are_what_the_members_say(seed, n_classes):
    X, labels = make_table(seed, 40, n_classes)
    committee = make_committee(X, labels, seed)
    sums = committee.weigh() @ np.eye(n_classes)[labels]
    expected = retrain(committee, X, labels) * (np.bincount(labels) if n_classes == 2 else 1)
    assert_allclose(sums, expected, atol=1e-12)


def test_no_label_changes_a_weight_and_a_row_has_none_in_its_own_verdict():
    X, labels = make_table(0, 40)
    committee, swapped = (make_committee(X, given, 0) for given in (labels, 1 - labels))
    weights = committee.weigh()
    assert_array_equal(weights, swapped.weigh())
    assert_array_equal(committee.weigh(rows=[7, 3]), weights[[7, 3]])
    assert committee.weigh(rows=[]).shape == (0, 40)
    assert_array_equal(np.diag(weights), 0.0)
    assert np.all(committee.predict(X) != swapped.predict(X))


def test_classes_of_any_size_are_treated_alike(cancer):
    """A tenth of the rows are of one class: unbalanced sums would never choose it."""
    X, y = cancer
    rows = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:40]])
    committee = LinearCommittee(n_estimators=100, random_state=0).fit(X[rows], y[rows])
    assert np.mean(committee.predict(X[rows][y[rows] == 0]) == 0) > 0.8


def test_several_classes_and_sparse_tables():
    X, y = load_iris(return_X_y=True)
    X = minmax_scale(X)
    committee = LinearCommittee(random_state=0).fit(X, y)
    assert committee.score(X, y) > 0.85
    assert committee.decision_function(X).shape == (150, 3)
    other = LinearCommittee(random_state=0).fit(sparse.csr_matrix(X), y)
    assert_allclose(other.decision_function(X), committee.decision_function(X), atol=1e-9)


def test_unscaled_features_are_warned_about_and_a_failed_fit_leaves_the_committee_as_it_was():
    X, labels = make_table(0, 40)
    committee = make_committee(X, labels, 0)
    with pytest.raises(InputError, match="only one class"):
        committee.fit(X[:30], np.zeros(30))
    assert len(committee.predict(X)) == 40
    with pytest.raises(InputError, match="ridge must be large enough.*got 1e-300"):
        LinearCommittee(kernel="linear", ridge=1e-300).fit(X, labels)
    with pytest.warns(UserWarning, match="scale the features"):
        LinearCommittee().fit(1000 * X, labels)

"""The posterior, against the formula for two classes and a plain loop for more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from subsvms.correction._posterior import compute_posterior


@given(q=st.floats(0, 1), e_plus=st.floats(0, 0.35), e_minus=st.floats(0, 0.35), label=st.integers(0, 1))
def test_two_classes_follow_the_formula(q, e_plus, e_minus, label):
    matrix = np.array([[1 - e_minus, e_minus], [e_plus, 1 - e_plus]])
    if label == 1:
        top, total = (1 - e_plus) * q, (1 - e_plus) * q + e_minus * (1 - q)
    else:
        top, total = e_plus * q, e_plus * q + (1 - e_minus) * (1 - q)
    found = compute_posterior(np.array([[1 - q, q]]), matrix, np.array([label]))
    expected = top / total if total > 1e-12 else float(label)
    assert found[0, 1] == pytest.approx(expected, abs=1e-6)


def test_several_classes_follow_bayes(seed):
    rng = np.random.default_rng(seed)
    matrix = 0.5 * np.eye(4) + 0.5 * rng.dirichlet(np.ones(4), 4)
    q = rng.dirichlet(np.ones(4), 20)
    labels = rng.integers(4, size=20)
    found = compute_posterior(q, matrix, labels)
    for row in range(20):
        joint = [q[row, c] * matrix[c, labels[row]] for c in range(4)]
        assert_allclose(found[row], np.array(joint) / sum(joint), atol=1e-9)


def test_without_noise_no_label_is_in_doubt():
    q = np.array([[0.9, 0.1], [0.01, 0.99], [1.0, 0.0]])
    assert_array_equal(compute_posterior(q, np.eye(2), np.array([1, 0, 1])), np.eye(2)[[1, 0, 1]])


def test_a_row_without_a_label_is_judged_by_its_vote():
    q = np.array([[0.25, 0.75]])
    assert_allclose(compute_posterior(q, np.array([[1.0, 0.0], [0.4, 0.6]]), np.array([-1])), q)


def test_the_posterior_of_a_row_does_not_depend_on_other_rows():
    rng = np.random.default_rng(0)
    matrix = 0.7 * np.eye(40) + 0.3 / 40
    q, given = rng.dirichlet(np.ones(40), 300), rng.integers(0, 40, 300)
    whole = compute_posterior(q, matrix, given)
    for n in (1, 2, 7, 64):
        parts = [compute_posterior(q[i : i + n], matrix, given[i : i + n]) for i in range(0, 300, n)]
        assert_array_equal(np.concatenate(parts), whole)

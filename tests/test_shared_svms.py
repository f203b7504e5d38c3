"""SVMs of the experiments that share one kernel matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_matrix

from experiments.shared import solve_shared
from subsvms._effort import Effort
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._solver import solve_subsets

LOSSES = ("squared_hinge", "hinge")


def make_problem(seed, n):
    """Make overlapping classes of about the same size."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % 2)
    return rng.normal(size=(n, 4)) + 0.7 * labels[:, None], labels


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shared_problems_have_the_solutions_of_separate_ones(loss, dtype):
    X, labels = make_problem(0, n=80)
    K = kernel_matrix("rbf", X, X, 0.3)
    y = 2.0 * labels - 1
    left_out = np.where(np.arange(80) < 20, 0, y)
    problems, Cs, how = [y, -y, left_out], [1.0, 5.0, 5.0], {"loss": loss, "tol": 1e-6}
    shared = solve_shared(K.astype(dtype), problems, C=Cs, effort=Effort(2), **how)
    for coef, b, targets, C in zip(shared.coef, shared.intercept, problems, Cs, strict=True):
        inside, kernel = np.flatnonzero(targets), Kernel.named("rbf", 0.3)
        alone = solve_subsets(X, (targets > 0).astype(int), inside[None], kernel=kernel, C=C, **how)
        f = K[:, inside] @ alone.coef + alone.intercept.item()
        assert_allclose(K @ coef + b, f, atol=1e-3)
        assert_array_equal(coef[targets == 0], 0)
    # the decision values, including those of the rows that were left out
    assert_allclose(shared.decision, shared.coef @ K + shared.intercept[:, None], atol=1e-4)
    assert np.all(shared.duality_gap <= 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_changes_only_the_number_of_steps(loss):
    X, labels = make_problem(0, n=300)
    K, y = kernel_matrix("rbf", X, X, 0.3), 2.0 * labels - 1
    before = solve_shared(K, y, C=10.0, loss=loss)
    kept = before.coef.copy()
    for C in (15.0, 7.0):
        cold = solve_shared(K, y, C=C, loss=loss, tol=1e-5)
        warm = solve_shared(K, y, C=C, loss=loss, tol=1e-5, start=before)
        assert warm.n_iter[0] < cold.n_iter[0]
        assert_allclose(warm.decision, cold.decision, atol=1e-3)
        assert np.all(warm.duality_gap <= 1e-5)
    assert_array_equal(before.coef, kept)


def test_a_start_for_other_targets_is_ignored():
    X, labels = make_problem(0, n=40)
    K, y = kernel_matrix("rbf", X, X, 0.3), 2.0 * labels - 1
    cold = solve_shared(K, y)
    assert_array_equal(solve_shared(K, -y, start=cold).coef, solve_shared(K, -y).coef)
    one_class = solve_shared(K, np.abs(y), start=cold)
    assert_array_equal(one_class.coef, 0)
    assert_array_equal(one_class.decision, 1)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import KERNELS, kernel_matrix, relative_gap
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from subsvms._effort import Effort
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._solver import solve_subsets

LOSSES = ("squared_hinge", "hinge")


def make_problem(seed, n=30, d=4, n_classes=2):
    """Make overlapping classes of about the same size."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    return rng.normal(size=(n, d)) + 0.7 * labels[:, None], labels


def solve_whole(X, labels, name="rbf", **options):
    """Solve one problem on all rows; return the solution, the kernel matrix and the targets."""
    K = kernel_matrix(name, X, X, *KERNELS[name][1:])
    everything = np.arange(len(labels))[None]
    return solve_subsets(X, labels, everything, kernel=KERNELS[name], **options), K, 2.0 * labels - 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C, tol", [(1.0, 1e-3), (1.0, 1e-6), (100.0, 1e-3), (100.0, 1e-6)])
def test_decision_values_of_training_and_new_rows_agree_with_libsvm(loss, C, tol):
    """Squared hinge: K + I/C with C' = 1e9 is the same problem; LIBSVM keeps K in single precision."""
    rng = np.random.default_rng(0)
    for trial in range(20):
        X, labels = make_problem(trial, n=rng.integers(8, 80), d=rng.integers(1, 30))
        K = kernel_matrix("rbf", X, X, 0.3)
        new = kernel_matrix("rbf", rng.normal(size=(20, X.shape[1])), X, 0.3)
        solution, _, _ = solve_whole(X, labels, C=C, tol=tol, loss=loss)
        own_C, ridge = (C, 0.0) if loss == "hinge" else (1e9, 1 / C)
        svc = SVC(kernel="precomputed", C=own_C, tol=1e-7).fit(K + ridge * np.eye(len(X)), labels)
        for block in (K, new):
            ours = block @ solution.coef + solution.intercept.item()
            assert_allclose(ours, svc.decision_function(block), atol=max(tol, 1e-4))


def test_class_weights_agree_with_svc():
    X, labels = make_problem(0)
    options = dict(C=2.0, loss="hinge", tol=1e-7)
    solution, K, _ = solve_whole(X, labels, "rbf", class_weight=np.array([0.3, 4.0]), **options)
    svc = SVC(gamma=0.3, C=2.0, class_weight={0: 0.3, 1: 4.0}, tol=1e-7).fit(X, labels)
    assert_allclose(K @ solution.coef + solution.intercept.item(), svc.decision_function(X), atol=1e-3)


def test_several_classes_agree_with_svc_pair_by_pair_and_in_the_order_of_dual_coefficients():
    X, labels = make_problem(0, n=60, n_classes=4)
    solution, K, _ = solve_whole(X, labels, "rbf", C=3.0, loss="hinge", tol=1e-8)
    svc = SVC(gamma=0.3, C=3.0, tol=1e-8, decision_function_shape="ovo").fit(X, labels)
    ours = (solution.as_matrix(60) @ K).T + solution.intercept
    assert_allclose(-ours, svc.decision_function(X), atol=1e-3)  # in SVC f > 0 is the first of a pair
    dual_coef = solution.dual_coef(np.arange(60)[None], labels)[0]
    assert_allclose(dual_coef[:, svc.support_], -svc.dual_coef_, atol=1e-4)
    assert_array_equal(np.delete(dual_coef, svc.support_, axis=1), 0)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5, 1e-7])
def test_the_reported_gap_is_correct_and_below_tol(loss, name, C, tol):
    """By duality, no other function has an objective that is lower by more than the gap."""
    X, labels = make_problem(0, n=50)
    solution, K, y = solve_whole(X, labels, name, C=C, loss=loss, tol=tol)
    gap = solution.duality_gap.item()
    true_gap = relative_gap(K, y, C, loss, solution.coef, solution.intercept.item())
    assert_allclose(gap, true_gap, atol=1e-10)
    assert 0 <= gap <= tol
    assert_allclose(solution.coef.sum(), 0, atol=1e-9 * C)
    assert np.all(solution.coef * y >= 0)


@pytest.mark.parametrize("only", [0, 1])
def test_a_subset_with_one_class_votes_for_that_class_everywhere(only):
    X, labels = make_problem(0, n_classes=4)
    subset = np.flatnonzero(labels == 2)[None, :5]
    solution = solve_subsets(X, labels, subset, kernel=KERNELS["rbf"])
    by_pair = {tuple(pair): b for pair, b in zip(solution.pairs, solution.intercept[0], strict=True)}
    assert by_pair == {(0, 1): 0, (0, 2): 1, (0, 3): 0, (1, 2): 1, (1, 3): 0, (2, 3): -1}
    two = np.minimum(labels, 1)
    solution = solve_subsets(X, two, np.flatnonzero(two == only)[None, :5], kernel=KERNELS["rbf"])
    assert_array_equal(solution.coef, 0)
    assert solution.intercept.item() == (1 if only else -1)
    assert solution.duality_gap.item() == 0


@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES), C=st.floats(0.01, 100))
def test_the_order_of_rows_does_not_matter_and_swapping_the_classes_flips_the_sign(seed, loss, C):
    X, labels = make_problem(seed, n=24)
    order = np.random.default_rng(seed).permutation(24)
    options = dict(C=C, loss=loss, tol=1e-7)
    one, K, _ = solve_whole(X, labels, **options)
    other = solve_subsets(X, labels, order[None], kernel=KERNELS["rbf"], **options)
    assert_allclose(K @ one.coef, K[:, order] @ other.coef, atol=1e-4)
    swapped, _, _ = solve_whole(X, 1 - labels, **options)
    assert_allclose(K @ one.coef, -K @ swapped.coef, atol=1e-4)


@given(seed=st.integers(0, 10**6), C=st.floats(0.01, 50), times=st.integers(2, 4))
def test_a_row_drawn_twice_counts_twice(seed, C, times):
    """A subset repeated m times is the same problem with m C."""
    X, labels = make_problem(seed, n=12)
    K = kernel_matrix("rbf", X, X, 0.3)
    options = dict(kernel=KERNELS["rbf"], tol=1e-8)
    repeated = solve_subsets(X, labels, np.tile(np.arange(12), times)[None], C=C, **options)
    heavier = solve_subsets(X, labels, np.arange(12)[None], C=C * times, **options)
    assert_allclose(K @ repeated.as_matrix(12).toarray()[0], K @ heavier.coef, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("density", [0.1, 0.6])
def test_dense_csr_and_precomputed_are_the_same_problem(name, density):
    rng = np.random.default_rng(0)
    X = rng.random((60, 40)) * (rng.random((60, 40)) < density)
    labels = (X[:, 0] + X[:, 1] + 0.3 * rng.random(60) > 0.4).astype(int)
    subsets = rng.integers(0, 60, (20, 30))
    options = dict(C=10.0, tol=1e-7)
    dense = solve_subsets(X, labels, subsets, kernel=KERNELS[name], **options)
    csr = solve_subsets(sparse.csr_array(X), labels, subsets, kernel=KERNELS[name], **options)
    assert_array_equal(dense.coef, csr.coef)
    K = kernel_matrix(name, X, X, *KERNELS[name][1:])
    gram = solve_subsets(K, labels, subsets, kernel=Kernel.named("precomputed"), **options)
    assert_allclose(dense.as_matrix(60) @ K, gram.as_matrix(60) @ K, atol=1e-4)


@pytest.mark.parametrize("n", [5, 128, 129, 300])
def test_problems_larger_than_a_lane_block_are_solved(n):
    """Sparse rows are multiplied in blocks of 128."""
    rng = np.random.default_rng(n)
    X = sparse.random(n, 200, density=0.05, format="csr", random_state=rng)
    labels = np.arange(n) % 2
    solution = solve_subsets(X, labels, np.arange(n)[None], kernel=KERNELS["rbf"], tol=1e-6)
    K = kernel_matrix("rbf", X.toarray(), X.toarray(), 0.3)
    gap = relative_gap(K, 2.0 * labels - 1, 100.0, "squared_hinge", solution.coef, solution.intercept[0, 0])
    assert gap < 1e-6


@pytest.mark.parametrize("density", [0.1, 0.26, 0.9])
@pytest.mark.parametrize("kind", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_and_other_subsets_change_no_bit(n_classes, kind, density):
    """The form of a row's list depends on the table, not on the other rows of a call.

    All subsets take their kernel values from one matrix; one alone computes its own.
    """
    rng = np.random.default_rng(0)
    X, labels = rng.random((60, 30)) * (rng.random((60, 30)) < density), np.arange(60) % n_classes
    subsets = rng.integers(0, 60, (300, 12))
    one, *many = (
        solve_subsets(X, labels, subsets, kernel=KERNELS[kind], effort=Effort(n_jobs)) for n_jobs in (1, 2, 5)
    )
    for other in many:
        assert_array_equal(one.coef, other.coef)
        assert_array_equal(one.intercept, other.intercept)
    for j in range(20):
        alone = solve_subsets(X, labels, subsets[j : j + 1], kernel=KERNELS[kind])
        assert_array_equal(alone.coef, one.take(j).coef)


def test_a_matrix_that_is_not_a_kernel_gives_a_warning_and_one_that_overflows_is_refused():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    indefinite, labels = A + A.T, np.arange(30) % 2
    subsets = np.stack([np.arange(30), np.resize([0, 1], 30)])
    indefinite[:2, :2] = np.eye(2)
    with pytest.warns(ConvergenceWarning, match="1 of 2 SVMs were not solved.*positive semi-definite"):
        solution = solve_subsets(indefinite, labels, subsets, kernel=Kernel.named("precomputed"))
    assert np.isfinite(solution.coef).all() and np.isfinite(solution.duality_gap).all()
    with pytest.raises(ValueError, match="kernel overflows: scale the features"):
        solve_subsets(A, labels, subsets, Kernel.named("poly", 1e100, degree=9))


def test_a_gap_above_tol_always_gives_a_warning():
    """Near a hard margin the loss is a rounding error times C, a large share of a tiny objective."""
    rng = np.random.default_rng(0)
    X = rng.normal(scale=100.0, size=(54, 20))
    labels = (X[:, 0] > 0).astype(int)
    subsets = rng.integers(0, 54, (200, 30))
    with pytest.warns(ConvergenceWarning, match="SVMs did not reach tol") as caught:
        solution = solve_subsets(X, labels, subsets, kernel=KERNELS["linear"], C=1e4, loss="hinge")
    n_above = np.sum(solution.duality_gap > 1e-3)
    assert n_above > 0 and str(caught[0].message).startswith(f"{n_above} of 200 ")
    with pytest.warns(ConvergenceWarning, match="1 of 1 SVMs did not reach tol=0.001.* max_iter=1 "):
        solution, _, _ = solve_whole(*make_problem(0), C=100.0, max_iter=1)
    assert solution.duality_gap.item() > 0.5 and solution.n_iter.item() == 1

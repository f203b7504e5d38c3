from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import KERNELS, count_ballots, kernel_matrix
from scipy import sparse

from subsvms._effort import Effort
from subsvms.ensemble import _votes
from subsvms.ensemble._sampling import draw_subsets
from subsvms.ensemble._solver import Solution, solve_subsets
from subsvms.ensemble._votes import LANES, Votes, count_training_votes, count_votes, gather_voters, lanes_for


@cache
def make_ensemble(seed=0, n=60, d=6, n_classes=2, kernel=KERNELS["rbf"], n_subsets=25, density=1.0):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    X = (rng.normal(size=(n, d)) + 0.5 * labels[:, None]) * (rng.random((n, d)) < density)
    subsets = draw_subsets(labels, n_subsets, 8 * n_classes // 2, seed=seed)
    solution = solve_subsets(X, labels, subsets, kernel=kernel, C=10.0)
    voters = gather_voters(X, solution, np.bincount(labels), kernel)
    return X, labels, subsets, solution, voters


def assert_same_votes(one, other):
    assert_array_equal(one.counts, other.counts)
    assert_array_equal(one.sums, other.sums)
    assert_array_equal(one.n_voters, other.n_voters)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_votes_agree_with_counting_them_one_by_one(name, n_classes):
    """Sums of 25 SVMs' values to 1e-3: they vote in single precision."""
    X, labels, subsets, solution, voters = make_ensemble(n_classes=n_classes, kernel=KERNELS[name])
    K = kernel_matrix(name, X, X, *KERNELS[name][1:])
    decisions = (solution.as_matrix(len(X)) @ K).reshape(25, -1, len(X)) + solution.intercept[..., None]
    seen = np.zeros((25, len(X)), dtype=bool)
    seen[np.arange(25)[:, None], subsets] = True
    votes, oob = count_training_votes(voters, X, subsets)
    for ours, counted in ((votes, np.ones_like(seen)), (oob, ~seen)):
        counts, sums = count_ballots(decisions, solution.pairs, np.bincount(labels), counted)
        assert_array_equal(ours.counts, counts)
        assert_allclose(ours.sums, sums, atol=1e-3)
        assert_array_equal(ours.n_voters, counted.sum(axis=0))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_svm_that_saw_a_row_of_the_group_is_not_heard(n_classes, seed):
    X, labels, subsets, solution, voters = make_ensemble(n_classes=n_classes)
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(20), 3))
    seen = (groups[subsets][:, :, None] == groups).any(axis=1)
    _, oob = count_training_votes(voters, X, subsets, groups=groups)
    assert_array_equal(oob.n_voters, (~seen).sum(axis=0))
    alone = np.arange(len(X))
    assert_same_votes(*(count_training_votes(voters, X, subsets, groups=one)[1] for one in (None, alone)))
    some = np.arange(0, 60, 7)
    _, part = count_training_votes(voters, X, subsets, some, groups=groups)
    assert_same_votes(part, oob.take(some))
    bags = [np.flatnonzero(seen[:, row]) for row in some]
    pointer = np.append(0, np.cumsum([len(bag) for bag in bags]))
    assert_same_votes(count_votes(voters, X[some], bags=(pointer, np.concatenate(bags))), oob.take(some))
    nothing = np.zeros(len(X) + 1, dtype=int), np.zeros(0, dtype=int)
    assert_same_votes(count_votes(voters, X, bags=nothing), count_votes(voters, X))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_rows", [1, 7, LANES, LANES + 1, 1500])
def test_threads_and_block_sizes_change_no_bit(n_classes, n_rows):
    _, _, _, _, voters = make_ensemble(n_classes=n_classes)
    X = np.random.default_rng(1).normal(size=(n_rows, 6))
    whole = count_votes(voters, X)
    for options in (dict(effort=Effort(2)), dict(lanes=8), dict(lanes=16, effort=Effort(3)), dict(lanes=64)):
        assert_same_votes(count_votes(voters, X, **options), whole)


@given(cuts=st.lists(st.integers(0, 300), max_size=4), seed=st.integers(0, 10**6))
def test_batches_in_any_order_get_the_same_votes_as_the_whole_table(cuts, seed):
    _, _, _, _, voters = make_ensemble(n_classes=3)
    rng = np.random.default_rng(seed)
    X, order = rng.normal(size=(300, 6)), rng.permutation(300)
    whole = count_votes(voters, X)
    for rows in np.split(order, sorted(cuts)):
        part = count_votes(voters, X[rows])
        assert_array_equal(part.sums, whole.sums[rows])
        assert_array_equal(part.counts, whole.counts[rows])


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_dense_and_csr_rows_get_the_same_votes(name, density):
    X, _, subsets, _, voters = make_ensemble(kernel=KERNELS[name], d=30, density=density)
    dense = count_training_votes(voters, X, subsets)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        csr = count_training_votes(voters, kind(X), subsets)
        for one, other in zip(dense, csr, strict=True):
            assert_same_votes(one, other)


def test_features_that_are_zero_in_all_training_rows_change_only_the_distance():
    """Such a feature is dropped from the tables, but counts in |x - z|^2."""
    X, labels, subsets, _, _ = make_ensemble()
    wide = np.hstack([X, np.zeros((len(X), 1))])
    solution = solve_subsets(wide, labels, subsets, kernel=KERNELS["rbf"], C=10.0)
    voters = gather_voters(wide, solution, np.bincount(labels), KERNELS["rbf"])
    far = wide.copy()
    far[:, -1] = 1.0
    K = kernel_matrix("rbf", far, wide, 0.3)
    f = (solution.as_matrix(len(X)) @ K.T) + solution.intercept
    assert_allclose(count_votes(voters, far).sums[:, 1], np.clip(f, -1, 1).sum(axis=0), atol=1e-3)


def hand_made_voters(intercepts, sizes):
    """Make an ensemble of SVMs without coefficients: the decision value of each is its intercept."""
    b = np.array(intercepts, dtype=float)[:, None]
    n = len(b)
    nothing = Solution(
        np.array([[0, 1]]), np.zeros(n + 1, int), np.zeros(0, int), np.zeros(0), b, 0 * b, 0 * b
    )
    return gather_voters(np.zeros((2, 1)), nothing, np.array(sizes), KERNELS["rbf"])


def test_an_undecided_svm_votes_for_the_larger_class_and_values_are_clipped():
    for sizes, larger in (([3, 9], 1), ([9, 3], 0)):
        votes = count_votes(hand_made_voters([0.0], sizes), np.zeros((1, 1)))
        assert votes.counts[0, larger] == 1
    votes = count_votes(hand_made_voters([7.0, -0.5], [3, 9]), np.zeros((1, 1)))
    assert_allclose(votes.mean_value, [[-0.25, 0.25]])


@given(n_classes=st.integers(2, 4), own=st.integers(-1, 3), data=st.data())
def test_a_tied_vote_goes_to_the_given_label_or_to_the_larger_class(n_classes, own, data):
    few = st.lists(st.integers(0, 3), min_size=n_classes, max_size=n_classes)
    counts, sizes = data.draw(few), data.draw(few)
    votes = Votes(np.array([counts]), np.zeros((1, n_classes)), np.array([sum(counts)]))
    labels = np.array([own]) if 0 <= own < n_classes else None
    winner = max(range(n_classes), key=lambda c: (counts[c], labels is not None and c == own, sizes[c], -c))
    assert votes.winners(sizes, given=labels) == winner


def test_votes_of_two_ensembles_add_up():
    X, labels, subsets, _, voters = make_ensemble()
    halves = []
    for part in (subsets[:10], subsets[10:]):
        solution = solve_subsets(X, labels, part, kernel=KERNELS["rbf"], C=10.0)
        halves.append(count_votes(gather_voters(X, solution, np.bincount(labels), KERNELS["rbf"]), X))
    both, whole = halves[0] + halves[1], count_votes(voters, X)
    assert_array_equal(both.counts, whole.counts)
    assert_allclose(both.sums, whole.sums, atol=1e-9)


def test_a_large_offset_and_large_coefficients_are_voted_on_in_double_precision():
    """|x|^2 + |z|^2 - 2 x'z cancels if |x| is large; rows in one place have coefficients near C."""
    X, labels, subsets, _, voters = make_ensemble()
    for offset, precision in ((0.0, np.float32), (1e4, np.float64)):
        solution = solve_subsets(X + offset, labels, subsets, kernel=KERNELS["rbf"], C=10.0)
        moved = gather_voters(X + offset, solution, np.bincount(labels), KERNELS["rbf"])
        assert moved.intercept.dtype == precision
        ours, expected = (count_votes(v, Z) for v, Z in ((moved, X + offset), (voters, X)))
        assert_allclose(ours.mean_value, expected.mean_value, atol=1e-3)
    near = np.linspace(0, 1e-3, len(labels))[:, None]
    for C, precision in ((1.0, np.float32), (1e6, np.float64)):
        solution = solve_subsets(near, labels, subsets, kernel=KERNELS["rbf"], C=C)
        assert _votes.vote_precision(near, solution.as_matrix(len(labels)), KERNELS["rbf"]) is precision


def test_huge_values_are_clipped_in_training_and_in_the_vote():
    _, _, _, solution, voters = make_ensemble()
    votes = count_votes(voters, np.full((1, 6), 1e300))  # far from all training rows
    assert_allclose(votes.sums[0, 1], np.clip(solution.intercept, -1, 1).sum(), rtol=1e-5)
    X = np.random.default_rng(0).normal(size=(40, 3)) * 1e100
    labels = (X[:, 0] > 0).astype(int)
    subsets = draw_subsets(labels, 20, 10, seed=0)
    kernel = KERNELS["linear"]
    solution = solve_subsets(X, labels, subsets, kernel=kernel, C=1e-30)
    votes = count_votes(gather_voters(X, solution, np.bincount(labels), kernel), X)
    cut = np.clip(X, -1e15, 1e15)
    f = solution.as_matrix(40) @ (cut @ cut.T) + solution.intercept
    assert_allclose(votes.sums[:, 1], np.clip(f, -1, 1).sum(axis=0), atol=1e-3)


def test_the_memory_of_a_block_is_bounded():
    _, _, _, _, voters = make_ensemble()
    assert lanes_for(voters) == LANES
    wide = voters._replace(lists=voters.lists._replace(n_columns=1_000_000))
    assert lanes_for(wide) == 8

from fractions import Fraction

import numpy as np
import pytest
from linear_tables import GAMMA, RIDGE, make_table
from numpy.testing import assert_allclose, assert_array_equal
from reference import kernel_matrix
from scipy import sparse

from subsvms._effort import Effort
from subsvms.ensemble import _linear
from subsvms.ensemble._linear import draw_blind, solve_members, visit_weights
from subsvms.ensemble._rows import Kernel
from subsvms.ensemble._votes import Block


def collect(members, X, seen, **options):
    parts = {}
    visit_weights(members, X, seen, lambda first, last, weights: parts.update({first: weights}), **options)
    return [np.concatenate(column) for column in zip(*(parts[k] for k in sorted(parts)), strict=True)]


def plain_weights(K, subsets, seen):
    """Return the mean weights, solving the system of each member that did not see the row."""
    a, n_voters = np.zeros(K.shape), np.zeros(len(K), int)
    for x in range(len(K)):
        for subset in subsets:
            if seen is None or seen[x] not in subset:
                own = K[np.ix_(subset, subset)] + RIDGE * np.eye(len(subset))
                a[x, subset] += np.linalg.solve(own, K[subset, x])
                n_voters[x] += 1
    return a / np.maximum(n_voters, 1)[:, None], n_voters


@pytest.mark.parametrize("name", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("out_of_bag", [True, False])
def test_weights_are_those_of_solving_each_member(seed, name, out_of_bag):
    X, _ = make_table(seed, 70, n_features=3)
    subsets = draw_blind(70, 15, 11, seed=seed)
    kernel = Kernel.named(name, GAMMA, 1.0, 2)
    members = solve_members(X, subsets, kernel, RIDGE)
    seen = np.arange(70) if out_of_bag else None
    a, mass, n_voters = collect(members, X, seen)
    expected, n_expected = plain_weights(kernel_matrix(name, X, X, GAMMA, 1.0, 2) + 1, subsets, seen)
    assert_allclose(a, expected, atol=1e-10)  # the condition of poly's systems is 10^5
    assert_array_equal(n_voters, n_expected)
    assert np.all(mass >= np.abs(a).sum(axis=1) - 1e-12)


def test_threads_and_blocks_do_not_change_a_bit_and_sparse_rows_hardly_any(monkeypatch):
    X, _ = make_table(0, 300, n_features=6)
    X[X < 0.6] = 0.0
    subsets, kernel, seen = draw_blind(300, 20, 9, seed=0), Kernel.named("rbf", 1.0), np.arange(300)
    members = solve_members(X, subsets, kernel, 0.1)
    whole, threads = collect(members, X, seen), collect(members, X, seen, effort=Effort(3))
    csr = sparse.csr_matrix(X)
    assert_allclose(collect(solve_members(csr, subsets, kernel, 0.1), csr, seen)[0], whole[0], atol=1e-12)
    monkeypatch.setattr(_linear, "BLOCK_BYTES", 1)
    for values, again, few in zip(whole, threads, collect(members, X, seen), strict=True):
        assert_array_equal(values, again)
        assert_array_equal(values, few)


def test_rounding_is_within_its_bound(seed):
    """Solved with fractions, from the same kernel values."""
    X, _ = make_table(seed, 12)
    subsets = draw_blind(12, 4, 5, seed=seed)
    kernel = Kernel.named("rbf", 0.01)  # all rows look alike: the system is nearly singular
    members = solve_members(X, subsets, kernel, 1e-6)
    K = Block(members.rows, kernel, 12).load(X, np.arange(X.shape[1]), 0, 12)
    K = [[Fraction(float(value)) + 1 for value in line] for line in K]
    a, mass, _ = collect(members, X, None)
    exact = [[Fraction(0)] * 12 for _ in range(12)]
    for subset, places in zip(subsets, members.places, strict=True):
        matrix = [[K[p][j] for j in subset] for p in places]
        for i in range(5):
            matrix[i][i] += Fraction(1e-6)
        for x in range(12):
            solved = solve_fractions(matrix, [K[p][x] for p in places])
            for i, w in zip(subset, solved, strict=True):
                exact[x][i] += w / 4
    for x in range(12):
        off = sum(abs(Fraction(a[x, i]) - exact[x][i]) for i in range(12))
        assert off <= members.rounding * mass[x]


def solve_fractions(matrix, right):
    """Return the solution of a symmetric positive definite system, by elimination."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i, line in enumerate(rows):
        rows[i] = line = [value / line[i] for value in line]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [value - rows[k][i] * own for value, own in zip(rows[k], line, strict=True)]
    return [line[-1] for line in rows]


def test_subsets_have_no_repeats_follow_from_the_seed_and_draw_every_row_equally_often():
    subsets = draw_blind(50, 4000, 10, seed=1)
    assert all(len(set(subset)) == 10 for subset in subsets.tolist())
    assert_array_equal(draw_blind(50, 10, 10, seed=1), subsets[:10])
    assert (draw_blind(50, 4000, 10, seed=2) != subsets).any()
    counts = np.bincount(subsets.ravel(), minlength=50)
    assert np.all(np.abs(counts - 800) < 5 * np.sqrt(4000 * 0.2 * 0.8))

"""The paper's statements, tested from both sides: true where one can count, and false one step below."""

from itertools import product
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from subsvms import theory

SHARES = dict(rho=st.floats(0, 0.999), alpha=st.floats(0, 1), beta=st.floats(0.001, 0.5))
BIASES = st.floats(0.01, 0.99)


@given(**SHARES, p=BIASES)
def test_draw_probabilities_agree_with_the_shares_of_a_corrupted_table(rho, alpha, beta, p):
    from_b, from_a = alpha * rho * beta, (1 - alpha) * rho * beta  # wrong labels, as shares of all rows
    given_a, given_b = beta - from_a + from_b, 1 - beta - from_b + from_a
    expected = [p * (beta - from_a) / given_a, p * from_b / given_a, (1 - p) * (1 - beta - from_b) / given_b]
    draw = theory.draw_probabilities(rho, alpha, beta, p)
    np.testing.assert_allclose(draw[:3], expected, atol=1e-12)
    assert sum(draw) == pytest.approx(1)


@given(**SHARES, p=BIASES)
def test_no_adversary_makes_a_clean_draw_rarer_than_the_worst_case_which_some_reach(rho, alpha, beta, p):
    worst_a, worst_b = theory.worst_draw_probabilities(rho, p)
    draw = theory.draw_probabilities(rho, alpha, beta, p)
    assert draw.a_good >= worst_a - 1e-12 and draw.b_good >= worst_b - 1e-12
    assert theory.draw_probabilities(rho, 1.0, beta, p).a_good == pytest.approx(worst_a)
    assert theory.draw_probabilities(rho, 0.0, 0.5, p).b_good == pytest.approx(worst_b)


@pytest.mark.parametrize("s, r", [(3, 1), (4, 2), (6, 3), (7, 4), (7, 7)])
@pytest.mark.parametrize(
    "rho, alpha, beta, p", [(0, 0.5, 0.3, 0.5), (0.75, 0.2, 0.1, 0.3), (0.9, 1, 0.5, 0.6)]
)
def test_exact_eta_agrees_with_an_enumeration_of_all_subsets(s, r, rho, alpha, beta, p):
    """The sum of the probabilities of all sequences of s draws with too few clean rows of a class."""
    few = -(-r // 2) - 1
    draw = theory.draw_probabilities(rho, alpha, beta, p)
    chances = np.array([draw.a_good, draw.b_good, draw.a_bad + draw.b_bad])
    expected = sum(
        chances[list(sequence)].prod()
        for sequence in product(range(3), repeat=s)
        if sequence.count(0) <= few or sequence.count(1) <= few
    )
    assert theory.eta_exact(s, r, rho=rho, alpha=alpha, beta=beta, p=p) == pytest.approx(expected)


@given(**SHARES, p=BIASES, s=st.integers(2, 200), part=st.floats(0, 1))
def test_each_bound_on_eta_is_above_the_one_before(rho, alpha, beta, p, s, part):
    r = max(1, round(part * s))
    exact = theory.eta_exact(s, r, rho=rho, alpha=alpha, beta=beta, p=p)
    total = theory.eta_sum(s, r, rho=rho, alpha=alpha, beta=beta, p=p)
    worst, hoeffding = (f(s, r, rho=rho, p=p) for f in (theory.eta_worst, theory.eta_hoeffding))
    assert exact <= total + 1e-12 and total <= worst + 1e-9 and worst <= hoeffding + 1e-9
    assert -1e-12 <= exact <= 1 + 1e-12


def test_with_the_papers_factor_of_one_half_the_bound_is_false():
    """Appendix B halves both tails; P[Bin(10, 0.4) <= 4] = 0.63 alone refutes that."""
    s, r, rho = 10, 10, 0.245  # each class is clean with probability 0.4016 in a draw
    assert theory.eta_worst(s, r, rho=rho) > theory.eta_hoeffding(s, r, rho=rho) / 2


GRID = np.linspace(0.001, 0.999, 999)  # has 1/2 in the middle


def best_p(s, r, rho, bound=theory.eta_hoeffding, grid=GRID):
    values = np.array([bound(s, r, rho=rho, p=p) for p in grid])
    return grid[np.argmin(values)], values[len(grid) // 2], values.min()


@pytest.mark.parametrize("r", [2, 3, 8, 16, 25, 40])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.75, 0.95])
def test_one_half_is_the_best_bias_from_the_smallest_size_on_and_not_below_it(r, rho):
    """Lemma 7 in the general form of Appendix B, on a grid of p."""
    s = theory.smallest_size(r, rho)
    for size in (s, s + 1, s + 7, 2 * s):
        p, at_half, least = best_p(size, r, rho)
        assert p == pytest.approx(0.5) and at_half == least <= 1
    if s - 1 >= r:
        p, at_half, least = best_p(s - 1, r, rho)
        assert at_half > 1
        if r >= 8:  # with fewer than ten draws, the second tail does not vanish at any p
            assert p != pytest.approx(0.5) and least < at_half


@pytest.mark.parametrize("r", [2, 4, 9, 10, 30])
def test_lemma_7_has_the_papers_formula_and_holds_for_every_rho(r):
    s = theory.smallest_size_lemma_7(r)
    even = r + r % 2
    bound = 2 * even + 4 * sqrt(even * log(2) + log(2) ** 2 - log(4)) + log(16) - 4
    assert s - 1 < bound <= s
    assert s == max(theory.smallest_size(r, rho) for rho in [*np.linspace(0, 0.99, 12), 1 - 1e-9])
    for rho in (0.0, 0.5, 0.99):
        assert best_p(s, r, rho)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("r", [4, 10, 16])
def test_for_some_smaller_sizes_one_half_is_not_the_best_bias_for_the_binomial_sums_either(r):
    """With s = r, p = 1/2 is even the worst (the paper, Section 3.2)."""
    coarse = GRID[9::10]
    p, at_half, least = best_p(r, r, 0.9, theory.eta_worst, coarse)
    assert p != pytest.approx(0.5) and at_half > least
    s = theory.smallest_size_lemma_7(r)
    p, at_half, least = best_p(2 * s, r, 0.9, theory.eta_worst, coarse)
    assert at_half == pytest.approx(least)


@pytest.mark.parametrize("r", [4, 8, 16, 40])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.75, 0.9])
def test_one_half_is_a_local_minimum_from_the_local_size_on_and_not_below_it(r, rho):
    def is_local(s):
        middle, side = (theory.eta_hoeffding(s, r, rho=rho, p=p) for p in (0.5, 0.5005))
        return middle <= side

    s = theory.smallest_size_local(r, rho)
    assert is_local(s) and s <= theory.smallest_size(r, rho)
    assert s == r or not is_local(s - 1)
    if (r, rho) == (16, 0.75):  # where another bias is better
        p, at_half, least = best_p(s, r, rho)
        assert p != pytest.approx(0.5) and least < at_half


# Theorems 3 and 6

FORMULA = dict(R=1.0, margin=0.5, delta=0.05, c=1.0)


def test_the_generalisation_bound_is_theorem_3_and_epsilon_has_slack_for_the_wrong_rows():
    plain = 2 / 100 * ((9 + 5) / 0.25 * log(100) ** 2 + log(20))
    ours = theory.generalisation_bound(100, R=3.0, margin=0.5, delta=0.05, c=2.0, slack=5.0)
    assert ours == pytest.approx(plain)
    ours = theory.epsilon(54, 16, **FORMULA)
    assert ours == pytest.approx(theory.generalisation_bound(54, slack=4 * 38, **FORMULA))
    options = {key: FORMULA[key] for key in ("R", "margin", "c")}
    clean = theory.generalisation_bound(54, **FORMULA)
    assert theory.epsilon_if_regular(0.2, 54, 16, **options) == pytest.approx(ours - clean + 0.2)


@pytest.mark.parametrize("theta", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("c", [1e-3, 0.05, 1.0])
def test_lemma_2_gives_the_size_above_which_separable_data_are_regular(theta, c):
    options = FORMULA | {"c": c}
    r = theory.regular_size(theta, **options)
    sizes = [*range(r, r + 50), 2 * r, 10 * r, 1000 * r]
    assert all(theory.generalisation_bound(n, **options) <= theta for n in sizes)
    assert r == 1 or theory.generalisation_bound(r - 1, **options) > theta


@given(first=st.floats(0, 1), second=st.floats(0, 1), beta=st.floats(0, 1), p=st.floats(0.01, 0.99))
def test_appendix_a_bounds_every_mix_of_the_two_error_rates_and_is_reached(first, second, beta, p):
    biased = p * first + (1 - p) * second
    assert beta * first + (1 - beta) * second <= theory.uniform_error_rate(biased, p) + 1e-12
    all_in_the_rarer_class = 0.3 * 0.8
    assert theory.uniform_error_rate(all_in_the_rarer_class, 0.3) == pytest.approx(0.8)


@given(epsilon=st.floats(0, 0.3), eta=st.floats(0, 0.3), delta=st.floats(0.001, 0.3), p=st.floats(0.2, 0.8))
def test_the_tolerable_rate_is_where_phi_reaches_one_half(epsilon, eta, delta, p):
    limit = theory.tolerable_error_rate(epsilon, eta=eta, delta=delta, p=p)
    phi = lambda rate: theory.phi(epsilon, eta=eta, delta=delta, error_rate=rate, p=p)  # noqa: E731
    if limit > 1e-6:
        assert phi(limit * (1 - 1e-6)) < 0.5
    if 0 <= limit < 0.499:
        assert phi(limit + 1e-6) > 0.5
    if limit < -1e-9:
        assert phi(0.0) > 0.5


def test_equation_3_of_the_paper_tolerates_too_much():
    """Its second term is half of what phi < 1/2 requires, so at its own limit phi exceeds 1/2."""
    theta, s, r, eta, delta = 0.1, 30, 29, 0.01, 0.05
    constants = dict(R=1.0, margin=1.0, c=0.05)
    extra = theory.epsilon_if_regular(theta, s, r, **constants) - theta
    paper = 1 - 2 * theta - (1 / (2 * (1 - eta - delta)) + extra)
    epsilon = theory.epsilon_if_regular(theta, s, r, **constants)
    assert theory.tolerable_error_rate(epsilon, eta=eta, delta=delta) == pytest.approx(paper - extra)
    assert theory.phi(epsilon, eta=eta, delta=delta, error_rate=paper) > 0.5


@given(J=st.integers(1, 400), phi=st.floats(0, 0.499))
def test_the_bound_on_the_vote_is_never_below_the_exact_failure_and_one_for_coin_tosses(J, phi):
    exact = binom.sf(np.ceil(J / 2) - 1, J, phi)
    assert theory.vote_failure_exact(J, phi) == pytest.approx(exact, abs=1e-12)
    assert exact <= theory.vote_failure(J, phi) + 1e-12
    assert theory.vote_failure(J, 0.5) == theory.vote_failure(J, 0.9) == 1.0


@given(phi=st.floats(0, 0.49), failure=st.floats(1e-9, 0.9))
def test_votes_needed_is_enough_and_one_fewer_is_not(phi, failure):
    J = theory.votes_needed(phi, failure)
    assert theory.vote_failure(J, phi) <= failure * (1 + 1e-9)
    assert J == 1 or theory.vote_failure(J - 1, phi) > failure * (1 - 1e-9)


BAD = [
    (theory.draw_probabilities, dict(rho=1.0, alpha=0, beta=0.3), "rho must be at least 0 and less than 1"),
    (theory.draw_probabilities, dict(rho=0.1, alpha=2, beta=0.3), "alpha must be at least 0 and at most 1"),
    (theory.draw_probabilities, dict(rho=0.1, alpha=0, beta=0.6), "beta must be more than 0 and at most 0.5"),
    (theory.draw_probabilities, dict(rho=np.nan, alpha=0, beta=0.1), "rho must be at least 0"),
    (theory.worst_draw_probabilities, dict(rho=0.5, p=1.0), "p must be more than 0 and less than 1"),
    (theory.eta_worst, dict(s=10, r=11, rho=0.5), "r must be at most s, the size of the subset, 10; got 11"),
    (theory.eta_worst, dict(s=10, r=0, rho=0.5), "r must be a whole number, at least 1"),
    (theory.eta_worst, dict(s=10.5, r=1, rho=0.5), "s must be a whole number"),
    (theory.smallest_size, dict(r=10, rho=1.0), "rho must be at least 0 and less than 1"),
    (theory.generalisation_bound, dict(n=5, **FORMULA | {"delta": 0.5}), "delta must be more than 0"),
    (theory.generalisation_bound, dict(n=5, **FORMULA | {"margin": 0}), "margin must be more than 0 and"),
    (theory.regular_size, dict(theta=0.1, **FORMULA | {"margin": 1e-9}), "larger margin"),
    (theory.epsilon_if_regular, dict(theta=0.5, s=5, r=4, R=1, margin=1, c=1), "theta must be at least 0"),
    (theory.phi, dict(epsilon=0.1, eta=0.1, delta=0.6, error_rate=0), "delta must be at least 0"),
    (theory.phi, dict(epsilon=0.1, eta=1.1, delta=0.1, error_rate=0), "eta must be at least 0 and at most 1"),
    (theory.vote_failure, dict(J=0, phi=0.1), "J must be a whole number, at least 1; got 0"),
    (theory.votes_needed, dict(phi=0.5, failure=0.1), "phi must be at least 0 and less than 0.5; got 0.5"),
    (theory.votes_needed, dict(phi=0.1, failure=0.0), "failure must be more than 0 and less than 1"),
]


@pytest.mark.parametrize("function, arguments, message", BAD)
def test_a_value_out_of_range_is_refused_and_the_range_given(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(**arguments)

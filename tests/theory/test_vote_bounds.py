"""Theorems 3 and 6, tested from both sides: true where one can count, and false one step below."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from subsvms import theory

FORMULA = dict(R=1.0, margin=0.5, delta=0.05, c=1.0)


def test_the_generalisation_bound_is_theorem_3():
    plain = 2 / 100 * ((9 + 5) / 0.25 * log(100) ** 2 + log(20))
    ours = theory.generalisation_bound(100, R=3.0, margin=0.5, delta=0.05, c=2.0, slack=5.0)
    assert ours == pytest.approx(plain)


@pytest.mark.parametrize("theta", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("c", [1e-3, 0.05, 1.0])
def test_lemma_2_gives_the_size_above_which_separable_data_are_regular(theta, c):
    options = FORMULA | {"c": c}
    r = theory.regular_size(theta, **options)
    sizes = [*range(r, r + 50), 2 * r, 10 * r, 1000 * r]
    assert all(theory.generalisation_bound(n, **options) <= theta for n in sizes)
    assert r == 1 or theory.generalisation_bound(r - 1, **options) > theta


def test_a_margin_that_would_need_too_many_rows_is_refused_in_one_sentence():
    with pytest.raises(ValueError, match="larger margin"):
        theory.regular_size(0.1, R=1.0, margin=1e-9, delta=0.05, c=1.0)


def test_epsilon_is_theorem_3_with_slack_for_the_wrong_rows():
    ours = theory.epsilon(54, 16, **FORMULA)
    assert ours == pytest.approx(theory.generalisation_bound(54, slack=4 * 38, **FORMULA))
    options = {key: FORMULA[key] for key in ("R", "margin", "c")}
    clean = theory.generalisation_bound(54, **FORMULA)
    assert theory.epsilon_if_regular(0.2, 54, 16, **options) == pytest.approx(ours - clean + 0.2)


@given(first=st.floats(0, 1), second=st.floats(0, 1), beta=st.floats(0, 1), p=st.floats(0.01, 0.99))
def test_appendix_a_bounds_every_mix_of_the_two_error_rates(first, second, beta, p):
    biased = p * first + (1 - p) * second
    assert beta * first + (1 - beta) * second <= theory.uniform_error_rate(biased, p) + 1e-12


def test_the_bound_of_appendix_a_is_reached():
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
def test_the_bound_on_the_vote_is_never_below_the_exact_failure(J, phi):
    exact = binom.sf(np.ceil(J / 2) - 1, J, phi)
    assert theory.vote_failure_exact(J, phi) == pytest.approx(exact, abs=1e-12)
    assert exact <= theory.vote_failure(J, phi) + 1e-12


@given(phi=st.floats(0, 0.49), failure=st.floats(1e-9, 0.9))
def test_votes_needed_is_enough_and_one_fewer_is_not(phi, failure):
    J = theory.votes_needed(phi, failure)
    assert theory.vote_failure(J, phi) <= failure * (1 + 1e-9)
    assert J == 1 or theory.vote_failure(J - 1, phi) > failure * (1 - 1e-9)


def test_for_a_vote_of_coin_tosses_the_bound_is_one():
    assert theory.vote_failure(10_001, 0.5) == 1.0
    assert theory.vote_failure(10, 0.9) == 1.0


BAD = [
    (theory.generalisation_bound, dict(n=5, **FORMULA | {"delta": 0.5}), "delta must be more than 0"),
    (theory.generalisation_bound, dict(n=5, **FORMULA | {"margin": 0}), "margin must be more than 0 and"),
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

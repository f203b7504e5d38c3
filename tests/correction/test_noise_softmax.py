"""A softmax and one kind of noise, compared with exact and with drawn values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, softmax
from scipy.stats import dirichlet
from several_votes import EVENLY, N_CLASSES, NEXT, make_votes

from subsvms.correction._noise_softmax import (
    LIFT,
    Kind,
    Softmax,
    diverge,
    explain,
    find_floor,
    find_way,
    lift,
    weigh_noise,
)


def test_without_bounds_shares_are_those_of_a_plain_softmax(seed, monkeypatch):
    monkeypatch.setattr("subsvms.correction._noise_softmax.LIFT", 1e12)
    rng = np.random.default_rng(seed)
    values, weights = rng.uniform(-1, 1, (50, 3)), rng.dirichlet(np.ones(3))
    expected = softmax(5.0 * values + np.log(weights), axis=1)
    assert_allclose(Softmax(np.full(3, 5.0), weights, find_floor(3)).shares(values), expected, rtol=1e-6)


def test_no_votes_lift_a_class_more_than_is_allowed():
    values = np.array([[1.0, -1.0, -1.0]])
    q = Softmax(np.full(3, 1e3), np.array([0.2, 0.3, 0.5]), find_floor(3)).shares(values)[0]
    assert q[0] / (1 - q[0]) == pytest.approx(LIFT * 2 * 0.2 / 0.8)


def test_the_derivative_of_the_lift_is_that_of_its_logarithm(seed):
    rng = np.random.default_rng(seed)
    behind, slopes = -rng.uniform(0, 2, (50, 3)), rng.uniform(1, 20, 3)
    step = 1e-6
    (before, _), (after, _) = (lift(behind, slopes * np.exp(sign * step), 0.01) for sign in (-1, 1))
    assert_allclose(lift(behind, slopes, 0.01)[1], np.log(after / before) / (2 * step), atol=1e-5)


def test_divergence_is_the_expected_log_ratio_of_the_densities(seed):
    rng = np.random.default_rng(seed)
    counts, prior = rng.uniform(0.5, 20, 4), rng.uniform(0.5, 5, 4)
    draws = rng.dirichlet(counts, 200_000).T
    ratio = dirichlet.logpdf(draws, counts) - dirichlet.logpdf(draws, prior)
    assert diverge(counts[None], prior[None])[0] == pytest.approx(ratio.mean(), abs=0.05)


def test_the_bound_of_known_classes_is_the_exact_evidence(seed):
    """Where the votes leave no doubt, counts are known: their Dirichlet-multinomial evidence is exact."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, (3, 3)) + 100 * np.eye(3)
    kind = Kind(np.arange(3), (1.0 - np.eye(3)) / 2.0)
    noise = weigh_noise(counts, kind)
    bound = np.sum(counts * noise.log_matrix) - noise.divergence
    wrong, right = counts.sum(axis=1) - np.diag(counts), np.diag(counts)
    exact = np.sum(gammaln(1 + wrong) + gammaln(4 + right) - gammaln(5 + wrong + right) + np.log(4.0))
    assert bound == pytest.approx(exact - np.log(2.0) * wrong.sum(), rel=1e-9)


def test_the_way_of_most_gain_is_looked_at(seed):
    values, given, _ = make_votes(seed, [0.0, 0.0, 0.3, 0.0], NEXT)
    none = Kind(np.full(N_CLASSES, -1), EVENLY)
    order = np.argsort(given, kind="stable")
    softmax_fitted = explain(values[order], given[order], 8.0, none).softmax
    assert find_way(softmax_fitted.shares(values), given).pair == (2, 3)

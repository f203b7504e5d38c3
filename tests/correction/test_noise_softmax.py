"""The noise of three or more classes, compared with made-up data whose truth is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from scipy.special import softmax
from sklearn.preprocessing import minmax_scale

from subsvms import SubSVMClassifier, correct_labels
from subsvms.correction._noise import estimate_noise
from subsvms.correction._noise_softmax import (
    LIFT,
    Softmax,
    climb,
    fit_noise,
    follow_surest,
    least_scale,
    measure_loss,
    mix,
    thin,
)

N_CLASSES = 4
EVENLY = (1.0 - np.eye(N_CLASSES)) / (N_CLASSES - 1)
NEXT = np.roll(np.eye(N_CLASSES), 1, axis=1)  # wrong labels of each class go to the next


def make_votes(seed, rates, spread=EVENLY, n=4000, width=0.2):
    """Return votes, given and true labels; the wider the votes spread, the more the classes overlap."""
    rng = np.random.default_rng(seed)
    true = rng.integers(N_CLASSES, size=n)
    values = np.clip(rng.normal(0.8 * np.eye(N_CLASSES)[true] - 0.6, width), -1, 1)
    matrix = mix(np.broadcast_to(rates, N_CLASSES).astype(float), spread)
    given = np.array([rng.choice(N_CLASSES, p=matrix[t]) for t in true])
    return values, given, true


def make_overlap(seed):
    """Return a table of several classes, of which every other one overlaps with the next."""
    rng = np.random.default_rng(seed)
    n_classes, n_columns, n_rows = rng.integers(3, 8), rng.integers(2, 15), rng.integers(300, 1500)
    means = rng.uniform(0.5, 3.0) * rng.normal(size=(n_classes, n_columns))
    for c in range(0, n_classes - 1, 2):
        means[c + 1] = means[c] + rng.uniform(0.2, 1.2) * rng.normal(size=n_columns) / np.sqrt(n_columns)
    y = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 3.0)))
    return minmax_scale(means[y] + rng.normal(size=(n_rows, n_columns))), y, n_classes, rng


@pytest.mark.parametrize(
    ("rate", "spread"),
    [*((rate, EVENLY) for rate in (0.05, 0.1, 0.2, 0.4)), *((rate, NEXT) for rate in (0.05, 0.1, 0.2))],
)
def test_a_common_rate_and_where_the_labels_went_are_found(seed, rate, spread):
    values, given, _ = make_votes(seed, rate, spread)
    fit = fit_noise(values, given)
    assert_allclose(fit.rates, rate, atol=0.03 if rate < 0.4 else 0.06)
    assert_allclose(fit.matrix, mix(np.full(N_CLASSES, rate), spread), atol=0.05)


def test_separate_rates_are_found_where_classes_hardly_overlap(seed):
    rates = np.array([0.4, 0.0, 0.1, 0.0])
    values, given, _ = make_votes(seed, rates)
    assert_allclose(fit_noise(values, given).rates, rates, atol=0.05)


def test_right_labels_are_thought_right_however_widely_the_votes_spread(seed):
    values, _, true = make_votes(seed, 0.0, width=0.35)
    assert np.all(fit_noise(values, true).rates < 0.005)


def test_directed_noise_is_believed_up_to_a_limit(seed, monkeypatch):
    monkeypatch.setattr("subsvms.correction._noise_softmax.SURE", 2.0)  # so uneven noise is never believed
    for rate, believed in ((0.2, True), (0.38, False)):
        values, given, _ = make_votes(seed, rate, NEXT)
        assert np.allclose(fit_noise(values, given).spread, NEXT, atol=0.05) == believed


def test_without_bounds_shares_are_those_of_a_plain_softmax(seed, monkeypatch):
    monkeypatch.setattr("subsvms.correction._noise_softmax.LIFT", 1e12)
    rng = np.random.default_rng(seed)
    values, weights = rng.uniform(-1, 1, (50, 3)), rng.dirichlet(np.ones(3))
    expected = softmax(5.0 * values + np.log(weights), axis=1)
    assert_allclose(Softmax(5.0, weights).shares(values), expected, rtol=1e-6)


def test_no_votes_lift_a_class_more_than_is_allowed():
    values = np.array([[1.0, -1.0, -1.0]])
    q = Softmax(1e3, np.array([0.2, 0.3, 0.5])).shares(values)[0]
    assert q[0] / (1 - q[0]) == pytest.approx(LIFT * 2 * 0.2 / 0.8)


@pytest.mark.parametrize("group", [None, np.zeros(N_CLASSES, int), np.arange(N_CLASSES)])
def test_the_slope_of_the_loss_is_its_derivative(seed, group):
    values, given, _ = make_votes(seed, 0.1, n=200)
    rng = np.random.default_rng(seed)
    n_rates = 0 if group is None else group.max() + 1
    point = np.concatenate([[1.5], rng.normal(0, 0.3, N_CLASSES - 1), rng.uniform(0.1, 0.4, n_rates)])
    behind = values - values.max(axis=1, keepdims=True)
    spread = follow_surest(values, given)
    arguments = (behind, given, spread, group, np.full(N_CLASSES, 0.2))
    error = check_grad(
        lambda at: measure_loss(at, *arguments)[0], lambda at: measure_loss(at, *arguments)[1], point
    )
    assert error < 1e-5


def test_the_loss_is_the_negative_log_likelihood(seed):
    values, given, _ = make_votes(seed, 0.1, n=300)
    fit = climb(values, given, EVENLY, np.zeros(N_CLASSES, int))
    eta = fit.softmax.shares(values) @ fit.matrix
    assert fit.loss == pytest.approx(-np.sum(np.log(eta[np.arange(300), given])), rel=1e-9)


def test_the_lower_limit_is_where_the_likelihood_falls_too_far(seed):
    values, given, _ = make_votes(seed, 0.1, n=800)
    fit = fit_noise(values, given)
    allowed = fit.loss + 1.353  # half the 90 % quantile of chi-square with one degree of freedom
    inside = [
        share
        for share in np.linspace(0, 1, 51)
        if climb(values, given, fit.spread, None, fixed=share * fit.rates).loss <= allowed
    ]
    assert least_scale(values, given, fit) == pytest.approx(min(inside), abs=0.03)
    assert least_scale(values, given, fit._replace(rates=np.zeros(N_CLASSES))) == 0.0


def test_the_intervals_of_an_estimate_contain_the_truth(seed):
    values, given, true = make_votes(seed, 0.15)
    noise = estimate_noise(values, given, np.arange(N_CLASSES))
    assert np.all(noise.rate_interval[:, 0] < 0.15)
    assert np.sum(noise.rate_interval[:, 1] > 0.15) >= N_CLASSES - 1  # each with confidence 0.95
    low, high = noise.error_rate_interval
    assert low <= np.mean(given != true) <= high
    assert_allclose(noise.shares, np.bincount(true) / len(true), atol=0.03)


@pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")
@pytest.mark.parametrize("kind", ["clean", "uniform", "one class"])
@pytest.mark.parametrize("number", range(4))  # the first tables, not picked by their results
def test_a_correction_of_overlapping_classes_does_no_harm(kind, number):
    X, y, n_classes, rng = make_overlap(number)
    rate = {"clean": 0.0, "uniform": 0.2, "one class": np.where(y == 0, 0.3, 0.0)}[kind]
    given = np.where(rng.random(len(y)) < rate, (y + rng.integers(1, n_classes, len(y))) % n_classes, y)
    labels = correct_labels(X, given, estimator=SubSVMClassifier(n_estimators=200), random_state=0).labels
    assert np.mean(labels != y) <= np.mean(given != y) + 0.002
    if kind == "uniform":
        assert np.mean(labels != y) < np.mean(given != y)


@pytest.mark.parametrize("n_few", [0, 1, 4])
@pytest.mark.parametrize("rates", [(0.2, 0.2, 0.2), (0.3, 0.0, 0.0)])
def test_a_class_of_few_rows_does_not_stop_the_correction_of_others(seed, n_few, rates):
    rng = np.random.default_rng(seed)
    true = np.concatenate([rng.integers(3, size=1500), np.full(n_few, 3)])
    values = np.clip(rng.normal(0.8 * np.eye(4)[true] - 0.6, 0.15), -1, 1)
    hit = (true < 3) & (rng.random(len(true)) < np.array([*rates, 0.0])[true])
    given = np.where(hit, (true + rng.integers(1, 3, len(true))) % 3, true)
    noise = estimate_noise(values, given, np.arange(4))
    assert np.all(noise.rates <= np.array([*rates, 0.0]) + 0.05)
    assert np.all(noise.rates >= 0.5 * np.array([*rates, 0.0]))  # on the safe side, but not useless
    low, high = noise.error_rate_interval
    assert low <= np.mean(hit) <= high


@pytest.mark.slow
def test_many_classes_are_fitted_from_fewer_rows(monkeypatch):
    monkeypatch.setattr("subsvms.correction._noise_softmax.LARGEST_TABLE", 100_000)
    rng = np.random.default_rng(0)
    true = rng.integers(60, size=5000)
    values = rng.normal(0.8 * np.eye(60)[true] - 0.6, 0.1)
    given = np.where(rng.random(len(true)) < 0.1, rng.integers(60, size=len(true)), true)
    assert thin(values, given)[0].size < 100_000 + 60
    assert 0.05 < fit_noise(*thin(values, given)).rates.mean() < 0.11

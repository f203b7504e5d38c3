import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from subsvms.correction import _noise_curve
from subsvms.correction._noise_curve import SLIP, Answers, bin_values, compute_q, find_places, integrate_curve


def draw(seed, n=2000, slope=8.0, offset=0.0, rates=(0.1, 0.3)):
    """Return u, given and true labels of a table that follows the model."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-1, 1, n)
    true = rng.random(n) < expit(offset + slope * u)
    wrong = rng.random(n) < np.where(true, rates[1], rates[0])
    return u, true ^ wrong, true


def ask(u, given, true, n=30):
    """Return true answers about the rows whose labels the values contradict most."""
    rows = np.argsort(np.where(given == 1, u, -u))[:n]
    return Answers(np.stack([-u, u], axis=1)[rows], given[rows] * 1, true[rows] * 1)


def sample_plainly(u, is_given, answers=None, n_draws=300_000, seed=0):
    """Draw curves from the prior, weigh each by its likelihood; a slow reference for the grid."""
    rng = np.random.default_rng(seed)
    bins = bin_values(u, is_given)
    lifts = rng.normal(*_noise_curve.LOG_LIFT, (2, n_draws))
    inside = ((lifts > _noise_curve.WIDEST[0][0]) & (lifts < _noise_curve.WIDEST[0][1])).all(axis=0)
    scale = 1.0 - (1.0 - _noise_curve.TOGETHER) ** _noise_curve.FEW
    e, f = 1.0 - (1.0 - scale * rng.random((2, n_draws))) ** (1.0 / _noise_curve.FEW)
    e, f = (np.where(rng.random(n_draws) < _noise_curve.NO_NOISE, 0.0, rate) for rate in (e, f))
    possible = (e + f < _noise_curve.TOGETHER) & inside
    lifts, e, f = np.exp(lifts[:, possible]), e[possible], f[possible]
    q = expit(bins.logit - lifts[1] + lifts.sum(axis=0) * bins.place[:, None])
    eta = np.clip(f + (1 - e - f) * q, 1e-9, 1 - 1e-9)
    fit = bins.n_given @ np.log(eta) + (bins.n_rows - bins.n_given) @ np.log1p(-eta)
    for values, given, verified in zip(*answers, strict=True) if answers is not None else ():
        second = expit(bins.logit - lifts[1] + lifts.sum(axis=0) * find_places(values[1], bins.ends))
        joint = np.array([1.0 - second, second])
        if given >= 0:
            joint = joint * np.array([[1 - f, f], [e, 1 - e]])[:, given]
        fit = fit + np.log((1 - SLIP) * joint[verified] / joint.sum(axis=0) + SLIP / 2)
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    wrong = [e * q / (e * q + (1 - f) * (1 - q)), f * (1 - q) / (f * (1 - q) + (1 - e) * q)]
    return bins, np.array([weight @ f, weight @ e]), wrong @ weight


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.1, 0.3)])
@pytest.mark.parametrize("asked", ["nobody", "people", "people about rows without labels"])
def test_the_grid_agrees_with_plain_sampling_from_the_prior(rates, asked):
    u, is_given, true = draw(0, n=300, slope=5.0, rates=rates)
    answers = None if asked == "nobody" else ask(u, is_given, true)
    if asked == "people about rows without labels":
        answers = answers._replace(given=np.full(len(answers.given), -1))
    curve = integrate_curve(u, is_given, answers)
    bins, expected, wrong = sample_plainly(u, is_given, answers)
    assert_allclose(curve.rates, expected, atol=0.015)
    assert_allclose(curve.p_wrong, wrong, atol=0.04)
    assert_allclose(curve.place, bins.place)
    if answers is not None:  # they matter
        assert np.abs(wrong - integrate_curve(u, is_given).p_wrong).max() > 0.04


def test_refusals_make_labels_credible_and_agreement_makes_them_doubtful(seed):
    u, is_given, _ = draw(seed, n=400, slope=5.0)
    none = integrate_curve(u, is_given).p_wrong
    refused = integrate_curve(u, is_given, ask(u, is_given, is_given)).p_wrong
    agreed = integrate_curve(u, is_given, ask(u, is_given, ~is_given)).p_wrong
    assert refused.max() < 0.2
    assert np.all(refused.max(axis=1) < none.max(axis=1)) and np.all(none.max(axis=1) < agreed.max(axis=1))


def test_one_answer_can_not_exclude_what_the_labels_say():
    """It multiplies what is likely by SLIP / 2 at least."""
    u = np.linspace(-1, 1, 4000)
    slip = Answers(np.array([[-1.0, 1.0]]), np.array([1]), np.array([0]))
    before, after = (integrate_curve(u, u > 0, answers).p_wrong for answers in (None, slip))
    assert_allclose(after, before, atol=0.02)


def test_probabilities_hold_what_they_promise():
    """Of the labels that are thought wrong with some probability, that share is wrong."""
    stated, wrong = [], []
    for seed in range(20):
        u, is_given, true = draw(seed, n=1000, slope=6.0, rates=(0.1, 0.2))
        curve = integrate_curve(u, is_given)
        low, high = curve.rate_interval.T
        assert np.all((low <= curve.rates) & (curve.rates <= high))
        stated.append(curve.judge(u, is_given.astype(int))[np.arange(1000), 1 - is_given])
        wrong.append(true != is_given)
    stated, wrong = np.concatenate(stated), np.concatenate(wrong)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 1.0)):
        inside = (stated >= low) & (stated < high)
        assert wrong[inside].mean() == pytest.approx(stated[inside].mean(), abs=0.08)


def test_swapping_the_classes_swaps_everything(seed):
    u, is_given, _ = draw(seed, n=800, offset=1.0)
    there, back = integrate_curve(u, is_given), integrate_curve(-u, ~is_given)
    assert_allclose(there.rates, back.rates[::-1], atol=1e-6)
    assert_allclose(there.judge(u, is_given * 1), back.judge(-u, 1 - is_given)[:, ::-1], atol=1e-3)


@pytest.mark.parametrize("rare", [0, 1])
@pytest.mark.parametrize("share", [0.01, 0.003])
def test_a_rare_class_that_is_far_from_the_other_has_finite_probabilities(rare, share):
    rng = np.random.default_rng(0)
    is_rare = rng.random(5000) < share
    u = np.where(is_rare, 0.9, -0.9) + rng.normal(0, 0.05, 5000)
    curve = integrate_curve(u, is_rare) if rare else integrate_curve(-u, ~is_rare)
    assert np.isfinite(curve.p_wrong).all() and curve.p_wrong.min() >= 0
    low, high = curve.error_rate_interval
    assert 0 <= low <= high < 0.01


def test_known_rates_are_used_and_a_row_without_a_label_is_judged_by_its_value_alone():
    u, is_given, _ = draw(0, rates=(0.1, 0.3))
    curve = integrate_curve(u, is_given, rates=np.array([0.05, 0.2]))
    assert_allclose(curve.rates, [0.05, 0.2])
    assert_allclose(curve.rate_interval, [[0.05, 0.05], [0.2, 0.2]])
    assert_allclose(curve.judge(u[:5], np.full(5, -1)), curve.expect(u[:5]))


def test_the_surest_rows_of_a_rare_class_may_be_impure():
    """Half of the rows that look most like it are of the other class by nature."""
    rng = np.random.default_rng(0)
    u = rng.uniform(-1, 1, 4000)
    true = rng.random(4000) < expit(-5.0 + 5.0 * u)
    judged = integrate_curve(u, true).judge(u, true.astype(int))
    assert np.mean(judged[np.arange(4000), 1 - true] > 0.5) < 0.005


@pytest.mark.parametrize("n", [10, 11, 50])
def test_tiny_and_constant_tables_have_a_curve_that_rises(n):
    for u in (np.zeros(n), np.arange(n) / n):
        curve = integrate_curve(u, np.arange(n) % 2 == 0)
        assert np.isfinite(curve.p_wrong).all() and (curve.rates <= _noise_curve.TOGETHER).all()
    q = compute_q(np.linspace(0, 1, n), np.array([2.0, 3.0]), np.array([-3.0]))
    assert_allclose(q[:, 0, [0, -1]], expit([[-3.0, 2.0], [-3.0, 3.0]]))
    assert np.all(np.diff(q, axis=-1) > 0)

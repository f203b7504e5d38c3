import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from subsvms.correction._noise_kinds import Blur, Kind, fit_beta
from subsvms.correction._noise_mixture import integrate_kinds
from subsvms.correction._noise_softmax import explain


def settle(counts, before):
    """Return what fixed counts say in the end."""
    for _ in range(200):
        before = before.weigh(counts, 0.0)
    return before


def begin(kind, n_classes):
    return kind.begin(np.zeros((n_classes, n_classes)))


def test_the_bound_of_known_classes_is_the_exact_evidence(seed):
    """Where the votes leave no doubt, counts are known: their Dirichlet-multinomial evidence is exact."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, (3, 3)) + 100 * np.eye(3)
    kind = Kind(np.arange(3))
    noise = kind.weigh(counts, begin(kind, 3))
    bound = np.sum(counts * np.log(noise.expected)) - noise.divergence
    wrong, right = counts.sum(axis=1) - np.diag(counts), np.diag(counts)
    exact = np.sum(gammaln(1 + wrong) + gammaln(4 + right) - gammaln(5 + wrong + right) + np.log(4.0))
    assert bound == pytest.approx(exact - np.log(2.0) * wrong.sum(), rel=1e-9)


def test_the_bound_of_a_way_is_the_exact_evidence_of_its_row():
    counts = np.array([[70.0, 30.0, 0.0], [0.0, 90.0, 0.0], [0.0, 0.0, 80.0]])
    kind = Kind(np.full(3, -1), ((0, 1),))
    noise = kind.weigh(counts, begin(kind, 3))
    bound = np.sum(counts * np.log(noise.expected)) - noise.divergence
    assert bound == pytest.approx(gammaln(31) + gammaln(74) - gammaln(105) + np.log(4.0), rel=1e-9)
    assert_allclose(noise.matrix[0], [74 / 105, 31 / 105, 0.0])
    assert_allclose(noise.matrix[1:], np.eye(3)[1:])


def test_wrong_labels_are_split_between_background_and_ways():
    counts = 1000 * np.array([[0.7, 0.25, 0.05], [0.05, 0.9, 0.05], [0.05, 0.05, 0.9]])
    noise = settle(counts, begin(Kind(np.zeros(3, int), ((0, 1),)), 3))
    assert_allclose(noise.matrix, counts / 1000, atol=0.01)
    assert noise.kind.sources == [0]


def make_blurred(seed, e, b, n_rows=6000):
    """Return mean values of four classes that are apart, labels of which some are blurred, and the truth."""
    rng = np.random.default_rng(seed)
    true = rng.integers(4, size=n_rows)
    values = np.clip(rng.normal(1.2 * np.eye(4)[true] - 0.8, 0.25), -1, 1)
    s = np.exp(b * values)
    s /= s.sum(axis=1, keepdims=True)
    guess = (rng.random(n_rows)[:, None] > s.cumsum(axis=1)).sum(axis=1).clip(max=3)
    return values, np.where(rng.random(n_rows) < e, guess, true), true


def test_labels_from_a_blurred_look_are_known_as_such_and_their_share_is_found(seed):
    values, given, true = make_blurred(seed, e=0.4, b=2.0)
    found = explain(values, given, 8.0, Blur(2.0, np.bincount(given) / len(given)))
    assert found.noise.e == pytest.approx(0.4, abs=0.1)
    wrong = np.mean(given != true)
    pooled = found.pooled[0] / found.pooled.sum()
    assert pooled == pytest.approx(wrong, abs=0.02)
    assert_allclose(found.shares @ (1.0 - np.diag(found.matrix)), pooled, rtol=1e-6)
    mixture = integrate_kinds(values, given)
    blurred = [isinstance(one.noise.kind, Blur) for one in mixture.explanations]
    assert mixture.weight[blurred].sum() > 0.9
    low, high = mixture.error_rate_interval
    assert low <= wrong <= high
    left = mixture.judge(values, given).argmax(axis=1) != true
    assert left.mean() < 0.5 * wrong


def test_a_blurred_label_is_judged_by_bayes_and_a_class_without_rows_is_left_alone():
    blur = Blur(2.0, np.array([0.5, 0.5, 0.0]))
    noise = blur.weigh(np.array([19.0, 76.0]))  # e = 0.2
    behind = np.array([[0.0, -0.5, -0.5]] * 3)
    allowed = noise.allow(behind, np.array([0, 1, 2]))
    s = 1.0 / (1.0 + np.exp(-1.0))
    assert_allclose(allowed[0], [0.8 + 0.2 * s, 0.2 * s, 0.0])
    assert_allclose(allowed[1], [0.2 * (1 - s), 0.8 + 0.2 * (1 - s), 0.0])
    assert_allclose(allowed[2], [0.0, 0.0, 0.8])  # never taken for another, nor another for it


def test_a_beta_distribution_has_the_mean_and_variance_it_was_made_from():
    wrong, right = fit_beta(0.2, 0.001)
    total = wrong + right
    assert wrong / total == pytest.approx(0.2)
    assert 0.2 * 0.8 / (total + 1) == pytest.approx(0.001)
    assert_allclose(fit_beta(0.0, 1.0), [0.0, 1.0])

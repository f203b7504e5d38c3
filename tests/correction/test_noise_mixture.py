import numpy as np
import pytest
from numpy.testing import assert_allclose
from several_votes import EVENLY, N_CLASSES, NEXT, make_votes, mix
from sklearn.preprocessing import minmax_scale

from subsvms import SubSVMClassifier, correct_labels
from subsvms.correction._noise import estimate_noise
from subsvms.correction._noise_curve import Answers
from subsvms.correction._noise_mixture import FEWEST_FITTED, SLOPES, integrate_kinds, list_slopes, thin


def make_overlap(seed):
    """Return a table of several classes, of which every other one overlaps with the next."""
    rng = np.random.default_rng(seed)
    n_classes, n_columns, n_rows = rng.integers(3, 8), rng.integers(2, 15), rng.integers(300, 1500)
    means = rng.uniform(0.5, 3.0) * rng.normal(size=(n_classes, n_columns))
    for c in range(0, n_classes - 1, 2):
        means[c + 1] = means[c] + rng.uniform(0.2, 1.2) * rng.normal(size=n_columns) / np.sqrt(n_columns)
    y = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 3.0)))
    return minmax_scale(means[y] + rng.normal(size=(n_rows, n_columns))), y, n_classes, rng


@pytest.mark.parametrize("rates, spread", [
    *((rate, EVENLY) for rate in (0.05, 0.1, 0.2, 0.4, [0.4, 0.0, 0.1, 0.0])),
    *((rate, NEXT) for rate in (0.05, 0.1, 0.2)),
])  # fmt: skip
def test_common_and_single_rates_and_where_the_labels_went_are_found(seed, rates, spread):
    values, given, _ = make_votes(seed, rates, spread)
    assert_allclose(integrate_kinds(values, given).matrix, mix(rates, spread), atol=0.05)


def test_labels_of_one_class_that_became_one_other_are_found_where_both_are_apart(seed):
    rates = np.array([0.3, 0.0, 0.0, 0.0])
    values, given, _ = make_votes(seed, rates, NEXT)
    assert_allclose(integrate_kinds(values, given).matrix, mix(rates, NEXT), atol=0.05)
    values, given, true = make_votes(seed, rates, NEXT, width=0.5)  # the classes overlap: it might be nature
    mixture = integrate_kinds(values, given)
    assert not any(getattr(one.noise.kind, "ways", ()) for one in mixture.explanations)
    assert np.mean(mixture.judge(values, given).argmax(axis=1) != given) < 0.01
    assert np.all(np.diag(integrate_kinds(values, true).matrix) > 0.99)  # of right labels as well


def test_labels_of_all_classes_that_went_to_the_next_are_found_where_classes_overlap(seed):
    """One way after another would not do: as long as most are not in the model, each looks like overlap."""
    values, given, true = make_votes(seed, 0.2, NEXT, width=0.4)
    left = integrate_kinds(values, given).judge(values, given).argmax(axis=1) != true
    assert left.mean() < 0.5 * np.mean(given != true)


@pytest.mark.parametrize(("rates", "spread"), [(0.2, EVENLY), (0.2, NEXT), ([0.4, 0.0, 0.1, 0.0], EVENLY)])
def test_of_labels_that_are_wrong_with_a_probability_this_share_is_wrong(seed, rates, spread):
    values, given, true = make_votes(seed, rates, spread, n=8_000, width=0.3)
    posterior = integrate_kinds(values, given).judge(values, given)
    p_wrong = 1.0 - posterior[np.arange(len(given)), given]
    for low, high in ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        chosen = (low <= p_wrong) & (p_wrong < high)
        assert np.mean((given != true)[chosen]) == pytest.approx(p_wrong[chosen].mean(), abs=0.1)


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
@pytest.mark.parametrize(  # the first tables, not picked by their results
    "number", [0, 1, *(pytest.param(number, marks=pytest.mark.nightly) for number in (2, 3))]
)
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
    true = np.concatenate([rng.integers(3, size=4000), np.full(n_few, 3)])
    values = np.clip(rng.normal(0.8 * np.eye(4)[true] - 0.6, 0.15), -1, 1)
    hit = (true < 3) & (rng.random(len(true)) < np.array([*rates, 0.0])[true])
    given = np.where(hit, (true + rng.integers(1, 3, len(true))) % 3, true)
    noise = estimate_noise(values, given, np.arange(4))
    assert np.all(noise.rates <= np.array([*rates, 0.0]) + 0.05)
    assert np.all(noise.rates >= 0.5 * np.array([*rates, 0.0]))  # on the safe side, but not useless
    low, high = noise.error_rate_interval
    assert low <= np.mean(hit) <= high


def test_many_classes_are_fitted_from_fewer_rows(monkeypatch):
    monkeypatch.setattr("subsvms.correction._noise_mixture.LARGEST_TABLE", 10_000)
    rng = np.random.default_rng(0)
    true = np.append(rng.integers(40, size=5000), np.full(7, 40))
    values = rng.normal(0.8 * np.eye(41)[true] - 0.6, 0.1)
    given = np.where(rng.random(len(true)) < 0.1, rng.integers(41, size=len(true)), true)
    kept = thin(values, given)
    assert len(kept) == pytest.approx(41 * FEWEST_FITTED, abs=50)  # more than 10,000 / 41
    assert np.bincount(given[kept]).min() >= FEWEST_FITTED
    mixture = integrate_kinds(values, given)
    assert 0.05 < 1 - np.diag(mixture.matrix).mean() < 0.15
    assert mixture.shares[40] < 0.01  # more of its rows were fitted than of others'
    shuffled = np.random.default_rng(1).permutation(len(given))
    assert_allclose(integrate_kinds(values[shuffled], given[shuffled]).matrix, mixture.matrix, atol=1e-9)


@pytest.mark.parametrize("n_values", [100_000, 4_000])  # the second leaves out three rows in four
def test_answers_count_whether_or_not_their_rows_are_fitted(monkeypatch, n_values):
    monkeypatch.setattr("subsvms.correction._noise_mixture.LARGEST_TABLE", n_values)
    values, given, true = make_votes(0, 0.15, width=0.35)
    rows = np.argsort(values[np.arange(len(given)), given])[:60]
    wrong = {}
    for name, says in (("none", None), ("true", true), ("kept", given)):
        answers = None if says is None else Answers(values[rows], given[rows], says[rows])
        posterior = integrate_kinds(values, given, answers).judge(values, given)
        wrong[name] = 1.0 - posterior[np.arange(len(given)), given]
    assert wrong["kept"].mean() < 0.8 * wrong["none"].mean()
    assert wrong["true"].mean() == pytest.approx(np.mean(given != true), abs=0.04)


def test_a_class_of_few_rows_does_not_narrow_the_interval_of_the_error_rate():
    values, given, _ = make_votes(0, 0.2, n=600)
    interval = estimate_noise(values, given, np.arange(N_CLASSES)).error_rate_interval
    more = np.column_stack([np.vstack([values, values[:4]]), np.full(604, -1.0)])
    labels = np.append(given, np.full(4, N_CLASSES))
    assert_allclose(
        estimate_noise(more, labels, np.arange(N_CLASSES + 1)).error_rate_interval, interval, atol=0.01
    )


def test_separate_classes_without_noise_are_all_treated_alike():
    given = np.repeat([0, 1, 2], 5)
    matrix = integrate_kinds(2.0 * np.eye(3)[given] - 1.0, given).matrix
    assert_allclose(np.diag(matrix), matrix[0, 0], atol=1e-9)


def test_of_more_than_twenty_classes_slopes_grow_with_their_number():
    assert list_slopes(3) == list_slopes(20) == list(SLOPES)
    assert list_slopes(100) == [5 * slope for slope in SLOPES]

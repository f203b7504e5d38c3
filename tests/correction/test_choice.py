import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import make_classification, make_moons
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import minmax_scale

from subsvms import LabelCorrector, SubSVMClassifier, adversaries, correct_labels
from subsvms.correction import _choice
from subsvms.correction._choice import FOLDS, WIDTHS, choose_ensemble, mean_squared_distance, pick_first
from subsvms.correction._learn import Sample, learn
from subsvms.correction._rule import Settings
from subsvms.ensemble._sampling import draw_rows

pytestmark = pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")


def choose(X, labels, **more):
    return choose_ensemble(X, labels, np.bincount(labels), len(labels), **more)


def test_losses_are_those_of_isotonic_regression_in_folds():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=500)
    u = np.clip(rng.normal(labels - 0.5, 1), -1, 1)
    folds = rng.integers(FOLDS, size=500)
    found = _choice.measure_losses(
        np.stack([-u, u], axis=1), labels, np.ones(500), folds, np.array([0.5, 0.5])
    )
    p = np.empty(500)
    for fold in range(FOLDS):
        test = folds == fold
        curve = IsotonicRegression(out_of_bounds="clip").fit(u[~test], labels[~test])
        p[test] = curve.predict(u[test])
    assert_allclose(found.mean(), log_loss(labels, np.clip(p, 1e-3, 1 - 1e-3)), rtol=0.01)


def test_the_simplest_is_picked_unless_another_is_clearly_better_and_distances_are_of_all_pairs():
    simple, gain = np.ones(100), np.tile([0.1, -0.095], 50)
    assert pick_first([simple, simple - gain], np.ones(100), 0.5) == 0  # better by less than chance would
    assert pick_first([simple, simple - gain - 0.1], np.ones(100), 0.5) == 1
    X = np.random.default_rng(0).normal(size=(20, 3))
    mean = np.mean([np.sum((x - z) ** 2) for x in X for z in X])
    assert_allclose([mean_squared_distance(X), mean_squared_distance(sparse.csr_array(X))], mean)


def test_one_of_few_candidates_is_chosen_that_is_as_good_as_the_best_by_any_seed_and_threads():
    X, y = make_moons(600, noise=0.3, random_state=0)
    choice = choose(X, y)
    assert choice.chosen.log_loss <= min(candidate.log_loss for candidate in choice.candidates) + 0.01
    assert len(choice.candidates) in (4, 5)
    assert f"SVMs of {choice.chosen.subset_size} rows" in str(choice)
    assert choice == choose(X, y, n_jobs=3)
    one, other = (correct_labels(X, y, random_state=seed) for seed in (1, 2))
    assert one.choice == other.choice and (one.votes.sums != other.votes.sums).any()


def test_a_linear_table_gets_a_wide_kernel_and_a_chessboard_a_narrow_one(seed):
    X = np.random.default_rng(seed).random((1000, 2))
    linear, chessboard = (X.sum(axis=1) > 1).astype(int), (X * 4).astype(int).sum(axis=1) % 2
    assert choose(X, linear).chosen.width < max(WIDTHS) == choose(X, chessboard).chosen.width


def test_the_largest_subsets_are_tried_where_those_of_the_middle_size_are_far_better():
    X = np.random.default_rng(0).random((2000, 2))
    chessboard, halves = (X * 4).astype(int).sum(axis=1) % 2, (X[:, 0] > 0.5).astype(int)
    tried = [{one.subset_size for one in choose(X, labels).candidates} for labels in (chessboard, halves)]
    assert [len(sizes) for sizes in tried] == [3, 2]
    assert choose(X, chessboard).chosen.subset_size == max(tried[0])


def test_the_papers_svms_help_to_rank_labels_unless_they_see_much_less(seed, monkeypatch):
    X = np.random.default_rng(seed).random((1000, 2))
    clean, chessboard = (X.sum(axis=1) > 1).astype(int), (X * 4).astype(int).sum(axis=1) % 2
    assert choose(X, chessboard).make_second() is None
    monkeypatch.setattr(_choice, "LEAST_WEIGHT", 0.0)
    given = adversaries.uniform_flips(clean, error_rate=0.1, random_state=seed).labels
    choice = choose(X, given)
    assert choice.second_weight > 100 * choose(X, chessboard).second_weight
    odds = choice.second_weight / (1 - choice.second_weight)
    assert_allclose(np.log(odds), 200 * (choice.chosen.log_loss - choice.second.log_loss), atol=1e-6)
    model, second = choice.make_model(), choice.make_second()
    assert_allclose([second.C, second.gamma], [SubSVMClassifier().C, 1 / 2])
    draws, more = (one.n_estimators * one.subsample_size for one in (model, second))
    assert draws / 4 < more <= draws / 2
    sample = Sample(X, given, np.arange(1000), draw_rows(given, 2, seed=seed))
    learned = learn(sample, np.arange(2), {"random_state": seed}, Settings())
    assert learned.second.intercept.dtype == learned.model.voters_.intercept.dtype  # alone they take float64


def test_noisy_labels_choose_what_predicts_clean_ones_well(seed):
    X, clean = make_classification(2000, 20, n_informative=10, flip_y=0, random_state=seed)
    X = minmax_scale(X)
    given = adversaries.uniform_flips(clean, error_rate=0.1, random_state=seed).labels
    chosen, paper = (
        LabelCorrector(estimator, random_state=seed, n_witnesses=0).fit(X, given).correction_
        for estimator in (None, SubSVMClassifier(n_estimators=300))
    )
    area, before = (roc_auc_score(clean, one.votes.mean_value[:, 1]) for one in (chosen, paper))
    assert area > before + 0.02
    assert (chosen.labels != clean).mean() < (given != clean).mean()


def test_rare_classes_are_compared_with_all_their_rows_and_count_as_often_as_they_occur():
    labels = np.repeat([0, 1], [50_000, 300])
    rows = _choice.pick_rows(labels, np.random.default_rng(0))
    assert np.bincount(labels[rows]).tolist() == [750, 300]
    X = np.random.default_rng(0).normal(size=(len(labels), 2)) + labels[:, None]
    assert choose(X, labels).chosen.log_loss < 0.05  # guessing gives 0.037, balanced classes about 0.6


def test_subsets_that_take_all_rows_of_a_rare_class_are_not_chosen():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(2000, 5)), np.repeat([0, 1], [1980, 20])  # which nothing predicts
    small, *others = sorted(choose(X, labels).candidates, key=lambda one: one.subset_size)
    assert all(one.log_loss > small.log_loss - 0.005 for one in others)
    assert choose(X, labels).chosen.subset_size < 100


@pytest.mark.parametrize("X", [np.arange(4.0)[:, None], np.arange(30.0)[:, None], np.ones((50, 3))])
def test_tiny_tables_and_equal_rows_have_a_choice_too(X):
    y = np.arange(len(X)) % 2
    assert 2 <= choose(X, y).chosen.subset_size <= max(len(X) // 2, 2)
    assert len(correct_labels(X, y, random_state=0)) == len(X)


def test_a_given_estimator_is_not_replaced():
    X, y = make_moons(200, noise=0.3, random_state=0)
    corrector = LabelCorrector(SubSVMClassifier(n_estimators=50), random_state=0).fit(X, y)
    assert corrector.correction_.choice is None and corrector.model_.n_estimators == 50
    assert not hasattr(corrector, "scaler_")

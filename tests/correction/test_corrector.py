import inspect

import numpy as np
import pytest
from corrections import attacked, make_corrector, quick, quietly
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import MinMaxScaler, minmax_scale

from subsvms import LabelCorrector, SubSVMClassifier, adversaries, correct_labels
from subsvms._effort import listening
from subsvms.exceptions import LabelNoiseWarning


@pytest.mark.parametrize("n_classes", [2, 4])
def test_clean_labels_stay_and_several_classes_are_corrected(cancer, seed, n_classes):
    X, y = cancer
    if n_classes == 4:
        centers = [(0, 0), (5, 0), (0, 5), (5, 5)]
        X, y = make_blobs(2000, centers=centers, cluster_std=1.3, random_state=seed)
        X = minmax_scale(X)
        given = adversaries.uniform_flips(y, error_rate=0.2, random_state=seed).labels
        correction = quick(X, given, random_state=seed)
        assert np.mean(correction.labels != y) < 0.6 * np.mean(given != y)
        assert correction.noise.matrix.shape == (4, 4)
    clean = quick(X, y, random_state=seed)
    assert clean.changed.mean() <= 0.005 and clean.notes == ()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_an_attack_is_largely_undone(cancer, seed, alpha):
    X, y = cancer
    given = attacked(y, seed, alpha=alpha)
    correction = quietly(X, given, random_state=seed)  # half of a class: some changes may be held back
    assert np.sum(correction.labels != y) < 0.75 * np.sum(given != y)  # most seeds: less than a quarter
    assert correction.changed.sum() == np.sum(correction.labels != given)


@pytest.mark.parametrize("kind", ["rare", "balanced", "five", "logistic"])
def test_clean_labels_of_overlapping_classes_stay(seed, kind):
    """What looks like noise to the votes, but can be distinguished or explained by overlap alone."""
    rng = np.random.default_rng(seed)
    options = {
        "rare": dict(n_samples=2000, n_features=8, n_informative=4, weights=[0.95], class_sep=0.7),
        "balanced": dict(n_samples=1000, n_features=20, n_informative=5),
        "five": dict(n_samples=1500, n_features=20, n_informative=8, n_classes=5),
    }
    if kind == "logistic":
        X = rng.random((1000, 5))
        y = (rng.random(1000) < expit((X - 0.5) @ [4, 3, 2, 1, 0])).astype(int)
    else:
        X, y = make_classification(flip_y=0, random_state=seed, **options[kind])
    assert quietly(minmax_scale(X), y, random_state=seed).changed.mean() <= 0.02


def test_the_estimator_and_the_function_agree_on_any_number_of_threads(cancer, corrected):
    X, y = cancer
    two = make_corrector(n_jobs=2).fit(X, attacked(y)).correction_
    assert_array_equal(corrected.labels, two.labels)
    assert_array_equal(corrected.label_quality, two.label_quality)
    assert_array_equal(corrected.withstands, two.withstands)
    function, estimator = (inspect.signature(one).parameters for one in (correct_labels, LabelCorrector))
    assert set(function) == {*estimator, "X", "y", "verified", "pred_probs", "groups"}
    assert all(function[name].default == estimator[name].default for name in estimator)


def test_votes_are_those_of_the_classifier_and_certified_unless_weights_depend_on_the_labels(cancer):
    X, y = cancer
    model = SubSVMClassifier(n_estimators=200, random_state=0).fit(X, y)
    correction = quick(X, y)
    assert_array_equal(correction.votes.counts, model.oob_votes_.counts)
    majority = quick(X, y, rule="majority")
    assert_array_equal(majority.labels, model.oob_labels_)
    assert correction.withstands.max() > 0
    assert quick(X, y, estimator=SubSVMClassifier(class_weight="balanced")).withstands.max() == 0


@pytest.mark.parametrize("kind", ["csr", "float32", "precomputed", "list"])
def test_all_kinds_of_tables_give_the_same_labels(cancer, corrected, kind):
    X, y = cancer
    if kind == "precomputed":
        table, estimator = rbf_kernel(X, gamma=1 / X.shape[1]), SubSVMClassifier(kernel="precomputed")
    else:
        table = {"csr": sparse.csr_matrix, "float32": np.float32, "list": np.ndarray.tolist}[kind](X)
        estimator = None
    found = quick(table, attacked(y), estimator=estimator).labels
    assert np.mean(found != corrected.labels) < 0.005  # float32 moves a vote here and there


@pytest.mark.parametrize("dtype", [object, str, bool, np.int8, float])
def test_labels_keep_their_type(cancer, dtype):
    X, y = cancer
    given = attacked(y, 0)
    typed = np.array(["no", "yes"], dtype=dtype)[given] if dtype in (object, str) else given.astype(dtype)
    labels = quick(X, typed).labels
    assert labels.dtype == typed.dtype
    assert set(labels.tolist()) <= set(typed.tolist())


@pytest.mark.parametrize("action", ["fix", "drop"])
def test_it_is_a_step_of_imbalanced_learns_pipeline(cancer, action):
    imblearn = pytest.importorskip("imblearn.pipeline")
    X, y = cancer
    given = attacked(y, 0, rho=0.6, alpha=1.0)
    corrector = make_corrector(action=action)
    pipeline = imblearn.make_pipeline(MinMaxScaler(), corrector, LogisticRegression(C=10)).fit(X, given)
    plain = LogisticRegression(C=10).fit(X, given)
    assert pipeline.score(X, y) > plain.score(X, y) + 0.05
    assert len(pipeline[1].correction_) == len(y)


def test_a_class_that_was_given_another_label_in_every_row_is_not_invented(seed):
    """Class 2 has become class 1: two classes are left, and nothing in the labels hints at a third."""
    X, y = make_blobs(600, centers=3, cluster_std=1.0, random_state=seed)
    given = np.where(y == 2, 1, y)
    correction = quick(minmax_scale(X), given, random_state=seed)
    assert np.mean(correction.labels != given) <= 0.005


@pytest.mark.parametrize("rule", ["posterior", "majority"])
def test_pure_noise_is_left_alone_and_noted(seed, rule):
    rng = np.random.default_rng(seed)
    X, y = rng.random((500, 8)), rng.integers(2, size=500)
    with pytest.warns(LabelNoiseWarning, match="features do not predict the labels"):
        correction = quick(X, y, random_state=seed, rule=rule)
    assert not correction.flagged.any()


def test_a_warning_says_that_more_than_half_of_the_labels_may_be_wrong(cancer, seed):
    X, y = make_blobs(2000, centers=[(0, 0), (4, 4)], cluster_std=1.0, random_state=seed)
    given = adversaries.uniform_flips(y, error_rate=0.6, random_state=seed).labels
    with pytest.warns(LabelNoiseWarning, match="if more than half of the labels are wrong"):
        quick(minmax_scale(X), given, random_state=seed)
    X, y = cancer  # in so small a table the labels look like noise, or inverted
    with pytest.warns(LabelNoiseWarning):
        quick(X, adversaries.uniform_flips(y, error_rate=0.6, random_state=seed).labels)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_class_that_is_a_typo_does_not_stop_the_others(cancer, n):
    X, y = cancer
    given = np.array(["m", "b"], dtype=object)[attacked(y, 0)]
    plain = quick(X, given).changed
    given[:n] = "typo"
    correction = quietly(X, given)
    assert any(note.startswith(f"Class 'typo' ({n}): with fewer") for note in correction.notes)
    assert np.isfinite(correction.noise.error_rate)
    assert correction.changed.sum() > 0.2 * plain.sum() and not correction.changed[:n].any()
    assert np.sum(correction.labels == "typo") == n


@pytest.mark.parametrize("kind", ["None", "nan", "pandas", "polars"])
def test_missing_labels_are_filled_in_and_marked_and_never_counted(cancer, kind):
    X, y = cancer
    given = attacked(y, 0, rho=0.2)
    gone = np.arange(0, len(y), 7)
    expected = quick(np.delete(X, gone, axis=0), np.delete(given, gone))
    if kind == "nan":
        labels = given.astype(float)
        labels[gone] = np.nan
    else:
        labels = np.array(["m", "b"], dtype=object)[given]
        labels[gone] = None
        if kind != "None":
            labels = pytest.importorskip(kind).Series(labels.tolist())
    correction = quick(X, labels)
    assert_array_equal(np.flatnonzero(correction.missing), gone)
    assert np.all(correction.action[gone] == "missing") and not correction.changed[gone].any()
    right = correction.classes[y] if kind == "nan" else np.array(["m", "b"])[y]
    assert np.mean(correction.labels[gone] == right[gone]) > 0.9
    matrix = expected.noise.matrix if kind == "nan" else expected.noise.matrix[::-1, ::-1]
    assert_allclose(correction.noise.matrix, matrix, atol=1e-3)
    if kind in ("pandas", "polars"):
        column = correction.to_frame(witnesses=True)["given_label"]
        assert (column.is_null() if kind == "polars" else column.isna()).sum() == len(gone)
    rest = np.setdiff1d(np.arange(len(y)), gone)
    assert np.isin(np.concatenate(correction.witnesses.supporting), rest).all()


def test_missing_labels_work_with_a_precomputed_kernel(cancer):
    X, y = cancer
    labels = np.where(np.arange(len(y)) % 9, y.astype(object), None)
    K = rbf_kernel(X, gamma=1 / X.shape[1])
    plain, computed = quick(X, labels), quick(K, labels, estimator=SubSVMClassifier(kernel="precomputed"))
    assert np.mean(plain.labels != computed.labels) < 0.005


def test_two_rows_of_each_class_are_too_few_to_change_anything_and_no_labels_an_error(cancer):
    X = cancer[0][:4]
    with pytest.warns(LabelNoiseWarning):
        correction = quick(X, [0, 1, 0, 1])
    assert not correction.changed.any() and len(correction) == 4
    with pytest.raises(ValueError, match="every label is missing"):
        quick(X, [None] * 4)
    with pytest.raises(ValueError, match="at least two classes"):
        quick(X, [0] * 4)


def test_seed_and_threads_replace_those_of_the_estimator_and_a_failed_fit_changes_nothing(cancer):
    X, y = cancer
    ensemble = SubSVMClassifier(n_estimators=20, random_state=5, n_jobs=2, verbose=1)
    corrector = LabelCorrector(ensemble, random_state=0, n_jobs=1).fit(X, y)
    model, before = corrector.model_, corrector.correction_
    assert (model.random_state, model.n_jobs, model.verbose, model.n_estimators) == (0, 1, 1, 20)
    assert (ensemble.random_state, ensemble.n_jobs) == (5, 2) and not hasattr(ensemble, "classes_")
    with pytest.raises(ValueError, match="at least two classes"):
        corrector.fit(X[:, :3], np.zeros(len(y), int))
    assert corrector.correction_ is before and corrector.n_features_in_ == X.shape[1]
    assert LabelCorrector(ensemble).fit(X, y).model_.random_state == 5


@pytest.mark.parametrize(
    "params", [{"rule": "best"}, {"action": "burn"}, {"max_error_rate": 1.5}, {"min_confidence": -0.1}]
)
def test_unknown_settings_are_refused(cancer, params):
    with pytest.raises(ValueError, match=next(iter(params))):
        quick(*cancer, **params)


def test_votes_on_rows_outside_the_pool_are_reported(cancer, monkeypatch):
    """They take most of the time with a large table."""
    monkeypatch.setattr("subsvms.ensemble._sampling.choose_pool_size", lambda n_rows: 100)
    X, y = cancer
    seen = []
    with listening(lambda *progress: seen.append(progress)):
        quietly(X, y)
    reported = [(done, total) for stage, done, total in seen if stage == "voting on the other rows"]
    assert reported and reported[-1] == (len(y) - 400, len(y) - 400)  # those outside pool and sample

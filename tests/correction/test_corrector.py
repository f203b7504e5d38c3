"""Correction from end to end, as users meet it: their tables, their mistakes, their pipelines."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.pipeline import make_pipeline
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import MinMaxScaler, minmax_scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from subsvms import LabelCorrector, SubSVMClassifier, adversaries, correct_labels
from subsvms.exceptions import LabelNoiseWarning


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The rbf kernel between two rows:UserWarning")
@pytest.mark.filterwarnings("ignore::subsvms.LabelNoiseWarning")
@parametrize_with_checks(
    [
        LabelCorrector(n_estimators=50),
        LabelCorrector(n_estimators=50, rule="majority", action="drop", kernel="linear", C=1.0),
    ]
)
def test_it_keeps_scikit_learns_promises(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X), y


def attacked(y, seed, rho=0.5, alpha=0.5):
    return adversaries.directed_flips(y, rho=rho, alpha=alpha, random_state=seed).labels


def quick(X, y, **params):
    return correct_labels(X, y, **{"n_estimators": 300, "random_state": 0} | params)


def quietly(X, y, **params):
    """Correct without warnings; the notes hold the same sentences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)
        return quick(X, y, **params)


# --- what it does -------------------------------------------------------------------------------------


def test_clean_labels_stay(cancer, seed):
    X, y = cancer
    correction = quick(X, y, random_state=seed)
    assert correction.changed.mean() <= 0.005 and correction.notes == ()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_an_attack_is_largely_undone(cancer, seed, alpha):
    X, y = cancer
    given = attacked(y, seed, alpha=alpha)
    correction = quick(X, given, random_state=seed)
    assert np.sum(correction.labels != y) < 0.75 * np.sum(given != y)  # most seeds: less than a quarter
    assert correction.changed.sum() == np.sum(correction.labels != given)


def test_several_classes_are_corrected_and_clean_ones_stay(seed):
    centers = [(0, 0), (5, 0), (0, 5), (5, 5)]
    X, y = make_blobs(2000, centers=centers, cluster_std=1.3, random_state=seed)
    X = minmax_scale(X)
    assert quick(X, y, random_state=seed).changed.mean() <= 0.005
    given = adversaries.uniform_flips(y, error_rate=0.2, random_state=seed).labels
    correction = quick(X, given, random_state=seed)
    assert np.mean(correction.labels != y) < 0.6 * np.mean(given != y)
    assert correction.noise.matrix.shape == (4, 4)


@pytest.mark.parametrize("kind", ["rare", "balanced", "five", "logistic"])
def test_clean_labels_of_overlapping_classes_stay(seed, kind):
    """What looks like noise to the votes, but can be told apart or explained by overlap alone."""
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


def test_the_estimator_and_the_function_agree_and_the_seed_decides(cancer):
    X, y = cancer
    given = attacked(y, 0)
    one = quick(X, given)
    two = LabelCorrector(n_estimators=300, random_state=0, n_jobs=2).fit(X, given).correction_
    assert_array_equal(one.labels, two.labels)
    assert_array_equal(one.label_quality, two.label_quality)
    assert_array_equal(one.withstands, two.withstands)


def test_votes_are_those_of_the_classifier(cancer):
    X, y = cancer
    model = SubSVMClassifier(n_estimators=300, random_state=0).fit(X, y)
    correction = quick(X, y)
    assert_array_equal(correction.votes.counts, model.oob_votes_.counts)
    majority = quick(X, y, rule="majority")
    assert_array_equal(majority.labels, model.oob_labels_)


@pytest.mark.parametrize("kind", ["csr", "float32", "precomputed", "list"])
def test_all_kinds_of_tables_give_the_same_labels(cancer, kind):
    X, y = cancer
    given = attacked(y, 0)
    expected = quick(X, given).labels
    if kind == "precomputed":
        K = rbf_kernel(X, gamma=1 / X.shape[1])
        found = quick(K, given, kernel="precomputed").labels
    else:
        table = {"csr": sparse.csr_matrix, "float32": np.float32, "list": np.ndarray.tolist}[kind](X)
        found = quick(table, given).labels
    assert np.mean(found != expected) < 0.005  # float32 moves a vote here and there


@pytest.mark.parametrize("dtype", [object, str, bool, np.int8, float])
def test_labels_keep_their_type(cancer, dtype):
    X, y = cancer
    given = attacked(y, 0)
    typed = np.array(["no", "yes"], dtype=dtype)[given] if dtype in (object, str) else given.astype(dtype)
    labels = quick(X, typed).labels
    assert labels.dtype == typed.dtype
    assert set(labels.tolist()) <= set(typed.tolist())


def test_the_input_is_not_changed(cancer):
    X, y = cancer
    X, given = X.copy(), attacked(y, 0)
    before = X.copy(), given.copy()
    LabelCorrector(n_estimators=100, random_state=0).fit_resample(X, given)
    assert_array_equal(X, before[0])
    assert_array_equal(given, before[1])


# --- actions ------------------------------------------------------------------------------------------


def test_fix_replaces_labels_and_keeps_every_row(cancer):
    X, y = cancer
    given = attacked(y, 0)
    corrector = LabelCorrector(n_estimators=300, random_state=0)
    X_new, y_new = corrector.fit_resample(X, given)
    assert X_new is X
    assert_array_equal(y_new, corrector.correction_.labels)
    assert set(corrector.correction_.action) == {"keep", "fix"}


def test_drop_leaves_out_the_flagged_rows_and_no_other(cancer):
    X, y = cancer
    given = attacked(y, 0)
    corrector = LabelCorrector(n_estimators=300, random_state=0, action="drop")
    X_new, y_new = corrector.fit_resample(X, given)
    flagged = corrector.correction_.flagged
    assert flagged.any()
    assert_array_equal(X_new, X[~flagged])
    assert_array_equal(y_new, given[~flagged])
    assert_array_equal(corrector.correction_.sample_weight, ~flagged)
    assert not corrector.correction_.changed.any()


def test_weight_gives_each_row_what_its_label_deserves(cancer):
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given, action="weight")
    assert_array_equal(correction.labels, given)
    weight = correction.sample_weight
    assert np.all((weight >= 0) & (weight <= 1))
    assert weight[given != y].mean() < 0.5 < 0.9 < weight[given == y].mean()
    LogisticRegression().fit(X, given, sample_weight=weight)


def test_labels_that_a_guard_keeps_have_full_weight():
    """A chessboard is beyond these SVMs, and what they seem to say of its noise with it."""
    X = np.random.default_rng(3).random((600, 4))
    y = (np.floor(4 * X[:, :2]).sum(axis=1) % 2).astype(int)
    with pytest.warns(LabelNoiseWarning):
        correction = correct_labels(X, y, random_state=0, action="weight")
    assert np.any(correction.judgement.posterior[np.arange(600), y] < 1)
    assert np.all(correction.sample_weight == 1)


def test_review_flags_and_touches_nothing(cancer):
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given, action="review")
    assert_array_equal(correction.labels, given)
    assert not correction.changed.any() and correction.flagged.any() and correction.kept.all()
    assert np.all(correction.action[correction.flagged] == "review")
    assert np.all(correction.sample_weight == 1)


# --- frames -------------------------------------------------------------------------------------------

COLUMNS = ["is_label_issue", "label_quality", "given_label", "suggested_label", "corrected_label"]
COLUMNS += ["vote_share", "confidence", "withstands", "action", "reason"]


def test_a_pandas_user_gets_pandas_with_the_own_index(cancer):
    X, y = cancer
    index = [f"patient {i}" for i in range(len(y))]
    given = pd.Series(np.array(["m", "b"])[attacked(y, 0)], index=index, name="diagnosis")
    table = pd.DataFrame(X, index=index, columns=[f"c{i}" for i in range(X.shape[1])])
    corrector = LabelCorrector(n_estimators=300, random_state=0).fit(table, given)
    frame = corrector.correction_.to_frame()
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == COLUMNS
    assert list(frame.index) == index and list(frame["given_label"]) == list(given)
    assert list(corrector.feature_names_in_) == list(table.columns)
    assert len(corrector.model_.predict(table)) == len(table)  # knows the columns: no warning
    X_new, y_new = LabelCorrector(n_estimators=300, random_state=0, action="drop").fit_resample(table, given)
    assert isinstance(X_new, pd.DataFrame) and isinstance(y_new, pd.Series)
    assert list(X_new.index) == list(y_new.index) and y_new.name == "diagnosis"


def test_a_polars_user_gets_polars(cancer):
    X, y = cancer
    given = pl.Series("diagnosis", np.array(["m", "b"])[attacked(y, 0)].tolist())
    table = pl.DataFrame(X)
    corrector = LabelCorrector(n_estimators=300, random_state=0, action="drop")
    X_new, y_new = corrector.fit_resample(table, given)
    frame = corrector.correction_.to_frame(witnesses=True)
    assert isinstance(frame, pl.DataFrame) and frame.columns == [*COLUMNS, "supporting", "opposing"]
    assert isinstance(X_new, pl.DataFrame) and isinstance(y_new, pl.Series)
    assert len(X_new) == len(y_new) == (~frame["is_label_issue"]).sum()


def test_a_numpy_user_gets_a_frame_whose_columns_agree(cancer):
    X, y = cancer
    given = attacked(y, 0)
    correction = quick(X, given)
    frame = correction.to_frame()
    assert_array_equal(frame["corrected_label"], correction.labels)
    assert_array_equal(frame["is_label_issue"], frame["given_label"] != frame["corrected_label"])
    issues = frame[frame["is_label_issue"]]
    assert (issues["confidence"] > 0.5).all() and (issues["label_quality"] < 0.51).all()
    assert (issues["action"] == "fix").all()
    assert frame["label_quality"].between(0, 1).all() and (frame["withstands"] >= 0).all()


def test_reasons_name_vote_probability_and_threshold(cancer):
    X, y = cancer
    given = attacked(y, 0)
    for row in quick(X, given, min_confidence=0.6).to_frame().itertuples():
        assert row.reason.startswith(row.action + ": ")
        assert f"of {row.suggested_label} is {row.confidence:.3f}" in row.reason
        assert "SVMs vote" in row.reason and "0.6" in row.reason and f"is {row.confidence:.3f}" in row.reason
    capped = quick(X, given, max_error_rate=0.02).to_frame()
    assert capped["is_label_issue"].sum() == int(0.02 * len(y))
    assert capped["reason"].str.contains("max_error_rate").any()
    majority = quick(X, given, rule="majority", min_confidence=0.8).to_frame()
    assert majority["reason"].str.contains("most votes").all()
    assert majority["reason"].str.contains("more than 0.8 of them").all()


def test_witnesses_are_in_the_frame_by_the_names_of_the_rows(cancer):
    X, y = cancer
    index = pd.Index(range(1000, 1000 + len(y)))
    correction = quick(pd.DataFrame(X, index=index).rename(columns=str), attacked(y, 0), n_witnesses=2)
    frame = correction.to_frame(witnesses=True)
    flagged = frame[frame["is_label_issue"]]
    for own, supporting, opposing in zip(
        flagged.index, flagged["supporting"], flagged["opposing"], strict=True
    ):
        assert len(supporting) == 2 and set(supporting + opposing) <= set(index) - {own}
    assert all(len(names) == 0 for names in frame[~frame["is_label_issue"]]["supporting"])
    without = quick(X, attacked(y, 0), n_witnesses=0)
    assert without.witnesses is None
    with pytest.raises(ValueError, match="n_witnesses above 0"):
        without.to_frame(witnesses=True)


# --- in a pipeline ------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ["fix", "drop"])
def test_it_is_a_step_of_imbalanced_learns_pipeline(cancer, action):
    X, y = cancer
    given = attacked(y, 0, rho=0.6, alpha=1.0)
    corrector = LabelCorrector(n_estimators=300, random_state=0, action=action)
    pipeline = make_pipeline(MinMaxScaler(), corrector, LogisticRegression(C=10)).fit(X, given)
    plain = LogisticRegression(C=10).fit(X, given)
    assert pipeline.score(X, y) > plain.score(X, y) + 0.05
    assert len(pipeline[1].correction_) == len(y)


# --- bad input ----------------------------------------------------------------------------------------


def test_classes_of_fewer_than_five_rows_are_left_alone(cancer):
    X, y = cancer
    given = np.array(["m", "b"], dtype=object)[attacked(y, 0)]
    given[[3, 99, 200]] = "unsure"
    correction = quietly(X, given)
    assert any("'unsure' has 3 labelled rows" in note for note in correction.notes)
    assert not correction.changed[[3, 99, 200]].any()
    assert np.sum(correction.labels == "unsure") == 3
    assert correction.changed.any()


def test_two_rows_of_each_class_are_enough_to_say_nothing(cancer):
    X = cancer[0][:4]
    with pytest.warns(LabelNoiseWarning):
        correction = quick(X, [0, 1, 0, 1])
    assert not correction.changed.any() and len(correction.to_frame()) == 4


def test_a_class_given_in_full_to_another_is_not_invented(seed):
    """Class 2 has become class 1: two classes are left, and nothing in the labels tells of a third."""
    X, y = make_blobs(600, centers=3, cluster_std=1.0, random_state=seed)
    given = np.where(y == 2, 1, y)
    correction = quick(minmax_scale(X), given, random_state=seed)
    assert np.mean(correction.labels != given) <= 0.005
    with pytest.raises(ValueError, match="at least two classes"):  # of two classes one is left
        quick(minmax_scale(X), np.zeros(600, int))


def test_labels_that_are_all_equal_are_refused(cancer):
    X, _ = cancer
    with pytest.raises(ValueError, match="at least two classes.*check that y is the label column"):
        quick(X, ["same"] * len(X))


@pytest.mark.parametrize("rule", ["posterior", "majority"])
def test_pure_noise_is_left_alone_and_said_so(seed, rule):
    rng = np.random.default_rng(seed)
    X, y = rng.random((500, 8)), rng.integers(2, size=500)
    with pytest.warns(LabelNoiseWarning, match="features do not predict the labels"):
        correction = quick(X, y, random_state=seed, rule=rule)
    assert not correction.flagged.any()


def test_more_than_half_of_the_labels_wrong_is_never_inverted_in_silence(cancer, seed):
    X, y = make_blobs(2000, centers=[(0, 0), (4, 4)], cluster_std=1.0, random_state=seed)
    given = adversaries.uniform_flips(y, error_rate=0.6, random_state=seed).labels
    with pytest.warns(LabelNoiseWarning, match="If more than half of the labels are wrong"):
        quick(minmax_scale(X), given, random_state=seed)
    X, y = cancer  # in so small a table the labels look like noise, or inverted
    with pytest.warns(LabelNoiseWarning):
        quick(X, adversaries.uniform_flips(y, error_rate=0.6, random_state=seed).labels)


def test_a_contradicted_majority_of_a_class_is_named(cancer, seed):
    """Three quarters of the larger class are labelled as the smaller one."""
    X, y = cancer
    rng = np.random.default_rng(seed)
    given = np.where((y == 1) & (rng.random(len(y)) < 0.75), 0, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        correction = quick(X, given, random_state=seed)
    assert any("contradicts" in str(warning.message) for warning in caught)
    assert correction.notes == tuple(str(warning.message) for warning in caught)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_class_of_a_typo_does_not_stop_the_others(cancer, n):
    X, y = cancer
    given = np.array(["m", "b"], dtype=object)[attacked(y, 0)]
    plain = quick(X, given).changed
    given[:n] = "typo"
    correction = quietly(X, given)
    assert any(f"'typo' has {n} labelled row" in note for note in correction.notes)
    assert np.isfinite(correction.noise.error_rate)
    assert correction.changed.sum() > 0.2 * plain.sum() and not correction.changed[:n].any()


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "category", "string"])
def test_pandas_own_types_of_labels_are_kept_and_may_miss_some(cancer, dtype):
    X, y = cancer
    values = {"Int64": [0, 1], "boolean": [False, True]}.get(dtype, ["m", "b"])
    labels = pd.Series([values[c] for c in attacked(y, 0)], dtype=dtype)
    _, whole = LabelCorrector(n_estimators=100, random_state=0).fit_resample(X, labels)
    assert whole.dtype == labels.dtype
    labels.iloc[::9] = pd.NA
    corrector = LabelCorrector(n_estimators=100, random_state=0)
    _, filled = corrector.fit_resample(X, labels)
    assert filled.dtype == labels.dtype and not filled.isna().any()
    assert corrector.correction_.missing.sum() == len(labels[::9])


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
            labels = (pd if kind == "pandas" else pl).Series(labels.tolist())
    correction = quick(X, labels)
    assert_array_equal(np.flatnonzero(correction.missing), gone)
    assert np.all(correction.action[gone] == "missing") and not correction.changed[gone].any()
    right = correction.classes[y] if kind == "nan" else np.array(["m", "b"])[y]
    assert np.mean(correction.labels[gone] == right[gone]) > 0.9
    matrix = expected.noise.matrix if kind == "nan" else expected.noise.matrix[::-1, ::-1]
    assert_allclose(correction.noise.matrix, matrix, atol=1e-3)
    column = correction.to_frame(witnesses=True)["given_label"]
    assert (column.is_null() if kind == "polars" else column.isna()).sum() == len(gone)
    rest = np.setdiff1d(np.arange(len(y)), gone)
    assert np.isin(correction.witnesses.supporting[correction.witnesses.supporting >= 0], rest).all()


def test_missing_labels_work_with_a_precomputed_kernel(cancer):
    X, y = cancer
    labels = [None if i % 9 == 0 else int(label) for i, label in enumerate(y)]
    K = rbf_kernel(X, gamma=1 / X.shape[1])
    plain, computed = quick(X, labels), quick(K, labels, kernel="precomputed")
    assert np.mean(plain.labels != computed.labels) < 0.005


def test_all_labels_missing_is_an_error(cancer):
    with pytest.raises(ValueError, match="no label"):
        quick(cancer[0], [None] * len(cancer[0]))


def test_a_failed_fit_leaves_the_corrector_as_it_was(cancer):
    X, y = cancer
    corrector = LabelCorrector(n_estimators=100, random_state=0).fit(X, y)
    before = corrector.correction_
    with pytest.raises(ValueError, match="at least two classes"):
        corrector.fit(X[:, :3], np.zeros(len(y), int))
    assert corrector.correction_ is before and corrector.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    "params", [{"rule": "best"}, {"action": "burn"}, {"max_error_rate": 1.5}, {"min_confidence": -0.1}]
)
def test_unknown_settings_are_refused(cancer, params):
    with pytest.raises(ValueError, match=next(iter(params))):
        quick(*cancer, **params)


def test_weights_of_classes_go_by_their_names(cancer):
    X, y = cancer
    labels = np.array(["m", "b"])[attacked(y, 0)]
    even = quick(X, labels, class_weight={"m": 1.0, "b": 1.0})
    assert_array_equal(even.labels, quick(X, labels).labels)
    assert np.any(quietly(X, labels, class_weight={"m": 9.0}).votes.counts != even.votes.counts)


def test_certificates_are_not_given_for_weights_that_depend_on_the_labels(cancer):
    X, y = cancer
    assert quick(X, y).withstands.max() > 0
    assert quick(X, y, class_weight="balanced").withstands.max() == 0


def test_a_correction_tells_what_it_is(cancer):
    X, y = cancer
    correction = quick(X, attacked(y, 0))
    assert "labels flagged" in repr(correction) and "estimated error rate" in repr(correction)
    assert correction == correction and correction != quick(X, y) and hash(correction)
    rng = np.random.default_rng(0)
    assert "rate unknown" in repr(quietly(rng.random((200, 3)), rng.integers(2, size=200)))

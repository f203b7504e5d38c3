from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from subsvms import LabelCorrector, SubSVMClassifier, adversaries, correct_labels
from subsvms.correction._other_judges import (
    ClassifierLook,
    ask_trees,
    check_probabilities,
    find_columns_of,
    make_votes,
    predict_rows,
)
from subsvms.correction._overlap import CloserLook, Sides, compare_sides
from subsvms.displays import CertifiedCurveDisplay
from subsvms.exceptions import InputError, LabelNoiseWarning

pytestmark = pytest.mark.filterwarnings("ignore::subsvms.exceptions.LabelNoiseWarning")
JUDGES = {
    "forest": RandomForestClassifier(min_samples_leaf=5),  # with pure leaves a tree repeats wrong labels
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "boosting": HistGradientBoostingClassifier(max_iter=20),
}


def make_rows(seed, n=1200, centers=((0, 0), (3, 3)), rate=0.15):
    X, clean = make_blobs(n, centers=centers, cluster_std=1.0, random_state=seed)
    return X, clean, adversaries.uniform_flips(clean, error_rate=rate, random_state=seed).labels


def correct(X, y, estimator, **params):
    return correct_labels(X, y, estimator=estimator, **{"random_state": 0} | params)


@pytest.mark.parametrize(
    "name, centers",
    [*[(name, ((0, 0), (3, 3))) for name in JUDGES], ("logistic", ((0, 0), (4, 0), (0, 4)))],
)
def test_flips_are_corrected_and_clean_labels_stay(seed, name, centers):
    X, *labels = make_rows(seed, n=2000, centers=centers)
    clean, given = (np.array(["a", "b", "c"])[numbers] for numbers in labels)
    correction = correct(X, given, JUDGES[name], random_state=seed)
    assert np.sum(correction.labels != clean) < 0.75 * np.sum(given != clean)  # mostly less than a quarter
    assert correct(X, clean, JUDGES[name], random_state=seed).changed.mean() <= 0.005


def test_values_are_the_mean_of_the_log_odds_against_each_other_class():
    p = np.array([[0.2, 0.3, 0.5], [np.nan] * 3, [1.0, 0.0, 0.0]])
    votes = make_votes(p)
    by_hand = (np.tanh(np.log(0.2 / 0.3) / 4) + np.tanh(np.log(0.2 / 0.5) / 4)) / 2
    assert votes.mean_value[0, 0] == pytest.approx(by_hand)
    assert_allclose(votes.share[[0, 2]], p[[0, 2]])
    assert_array_equal(votes.n_voters, [1, 0, 1])
    assert np.isnan(votes.mean_value[1]).all() and np.isfinite(votes.mean_value[2]).all()
    two = make_votes(np.array([[0.1, 0.9]]))
    assert_allclose(two.mean_value, [[-np.tanh(logit(0.9) / 4), np.tanh(logit(0.9) / 4)]])


def test_a_forest_is_judged_out_of_bag_and_others_in_folds():
    X, clean, _ = make_rows(0, n=200)
    for judge, n_fits in ((RandomForestClassifier, 1), (GaussianNB, 5)):
        with patch.object(judge, "fit", autospec=True, side_effect=judge.fit) as fit:
            correction = correct(X, clean, judge())  # which changes nothing: nothing is looked at again
        assert not correction.flagged.any() and fit.call_count == n_fits
    forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, clean)
    assert_allclose(correct(X, clean, RandomForestClassifier()).votes.share, forest.oob_decision_function_)


@pytest.mark.parametrize("judge", [RandomForestClassifier(3), BaggingClassifier(n_estimators=3)])
def test_rows_that_every_tree_saw_keep_their_label(judge):
    X, clean, given = make_rows(0, n=300)
    correction = correct(X, given, judge)
    unasked = correction.votes.n_voters == 0
    assert 0 < unasked.sum() < 100 and not correction.flagged[unasked].any()
    assert all("every part of the judge" in reason for reason in correction.explain(unasked))


def test_given_probabilities_lead_to_nearly_the_same_labels(seed):
    X, _, given = make_rows(seed)
    inside = correct(X, given, LogisticRegression(), random_state=seed)
    with pytest.warns(LabelNoiseWarning, match="Probabilities alone do not show"):
        by_hand = correct_labels(inside.votes.share, given, estimator="probabilities")
    assert np.mean(inside.labels != by_hand.labels) < 0.005  # without features there is no check for overlap
    assert_allclose(inside.label_quality, by_hand.label_quality, atol=0.02)
    assert by_hand.witnesses is None and inside.witnesses is not None


def test_probabilities_of_several_are_averaged():
    X, _, given = make_rows(0, n=300)
    judges = [LogisticRegression(), RandomForestClassifier(30), SubSVMClassifier(n_estimators=50)]
    alone = [correct(X, given, [judge]).votes.share for judge in judges]
    together = correct(X, given, judges)
    assert_allclose(together.votes.share, np.mean(alone, axis=0))
    assert together.reason[0].partition(": ")[2].startswith("the mean of 3 classifiers gives")


def test_a_pipeline_takes_a_data_frame_with_text(seed):
    rng = np.random.default_rng(seed)
    clean = np.repeat(["cat", "dog"], 300)
    words = {"cat": ["purrs", "miaows", "sleeps"], "dog": ["barks", "fetches", "sleeps"]}
    text = [" ".join(rng.choice(words[name], 3)) for name in clean]
    table = pd.DataFrame({"text": text, "weight": rng.random(600)}, index=np.arange(600) + 5)
    given = clean.copy()
    wrong = rng.choice(600, 60, replace=False)
    given[wrong] = np.where(clean[wrong] == "cat", "dog", "cat")
    judge = make_pipeline(
        make_column_transformer((CountVectorizer(), "text"), remainder="passthrough"), LogisticRegression()
    )
    correction = correct(table, given, judge)
    assert np.sum(correction.labels != clean) < 60 and correction.witnesses is None
    frame = correction.to_frame()
    assert frame.index.tolist() == table.index.tolist() and "withstands" not in frame
    assert frame["reason"].iloc[0].partition(": ")[2].startswith("LogisticRegression gives")
    with pytest.raises(ValueError, match="no witnesses"):
        correction.to_frame(witnesses=True)
    alone = correct(text, given, make_pipeline(CountVectorizer(), LogisticRegression()))  # a list of texts
    assert np.sum(alone.labels != clean) < 60


@pytest.mark.parametrize("judge", [LogisticRegression(), RandomForestClassifier(30), "probabilities"])
def test_missing_labels_are_filled_in(judge):
    X, clean, given = make_rows(0, n=400)
    gone = np.arange(0, 400, 7)
    labels = [None if i % 7 == 0 else int(label) for i, label in enumerate(given)]
    table = X
    if judge == "probabilities":
        table = predict_rows(LogisticRegression(), X, given, np.array([0, 1]), 0)
    correction = correct(table, labels, judge)
    assert_array_equal(np.flatnonzero(correction.missing), gone)
    assert np.mean(correction.labels[gone] == clean[gone]) > 0.9
    assert not correction.changed[gone].any() and (correction.votes.n_voters[gone] == 1).all()


@pytest.mark.parametrize("n, name", [(1, "logistic"), (2, "logistic"), (4, "logistic"), (2, "forest")])
def test_rare_classes_do_not_stop_the_others(n, name):
    X, clean, given = make_rows(0)
    labels = np.array(["a", "b"], dtype=object)[given]
    labels[:n] = "typo"
    correction = correct(X, labels, JUDGES[name])
    assert any(note.startswith(f"Class 'typo' ({n}): with fewer") for note in correction.notes)
    right = np.array(["a", "b"], dtype=object)[clean]
    assert np.sum(correction.labels[n:] != right[n:]) < 0.7 * np.sum(labels[n:] != right[n:])
    assert np.all(correction.labels[:n] == "typo")


def test_changes_are_checked_by_the_judge_itself(seed):
    """One side lies elsewhere; logistic regression sees that, and not where it lies on both sides."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    one, other = np.arange(300), np.arange(300, 600)
    shifted, split = X.copy(), X.copy()
    shifted[one, 0] += 1.5
    split[one, 0] = 3 * np.sign(X[one, 0])
    for table, judge, expected in (
        (X, LogisticRegression(), False),
        (shifted, LogisticRegression(), True),
        (split, RandomForestClassifier(50, random_state=seed), True),
    ):
        look = ClassifierLook([judge], [table], np.array(["a", "b", "c"]), seed)
        assert (compare_sides(look, Sides(one, other, 0.5)) < 1e-3) == expected


def test_trees_doubt_changes_that_the_features_do_not_support(seed):
    """Labels of random rows are thought wrong, in place of those that are."""
    X, clean, given = make_rows(seed, n=600)
    found = correct(X, given, JUDGES["logistic"])
    judged, noise = found.judgement, found.noise
    rng = np.random.default_rng(seed)
    others = rng.permutation(judged.flagged)
    labels = np.where(others, 1 - given, given)
    false = replace(judged, flagged=others, suggested=labels, posterior=0.1 + 0.8 * np.eye(2)[labels])
    look, votes = CloserLook(seed, X), found.votes
    right, wrong = (ask_trees(look, noise, given, votes, one) for one in (judged, false))
    assert right[0].max() < 0.5 < wrong[0].min() and right[1].max() < 0.5 < wrong[1].min()
    assert ask_trees(CloserLook(seed, sparse.csr_array(X)), noise, given, votes, false)[1].min() > 0.5
    blind = ask_trees(CloserLook(seed, rng.random(X.shape)), noise, given, votes, judged)[1]
    assert blind.max() < 0.05  # trees that see nothing doubt nothing
    noisy = replace(noise, error_rate_interval=np.array([0.2, 0.4]))  # too much for trees to see
    weight, doubt = ask_trees(look, noisy, given, votes, false)
    assert_array_equal(weight, wrong[0])
    assert not doubt.any()
    for none in (None, CloserLook(seed), CloserLook(seed, X * 1e300)):  # no numbers, or not for trees
        assert not np.any(ask_trees(none, noise, given, votes, false))


def test_the_seed_and_threads_of_the_corrector_reach_all_parts():
    X, _, given = make_rows(0, n=300)
    judge = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=5))
    one, two = (correct(X, given, judge, random_state=1, n_jobs=n).votes.share for n in (1, 2))
    assert_array_equal(one, two)
    assert np.any(one != correct(X, given, judge, random_state=2).votes.share)
    assert judge[-1].random_state == 5
    correct(X, given, LogisticRegression(), n_jobs=2)  # which scikit-learn would warn about
    forest = RandomForestClassifier(20, random_state=5)
    kept = [correct(X, given, forest, random_state=None).votes.share for _ in range(2)]
    assert_array_equal(*kept)


def test_verified_labels_stand_class_weights_are_given_by_name_and_certificates_left_out():
    X, clean, given = make_rows(0, n=400)
    clean, given = (np.array(["m", "b"])[numbers] for numbers in (clean, given))
    correction = correct(X, given, LogisticRegression(), verified=np.where(np.arange(400) < 40, clean, None))
    assert_array_equal(correction.labels[:40], clean[:40])
    heavy = correct(X, given, LogisticRegression(class_weight={"m": 20.0, "b": 1.0}))
    assert np.all(heavy.votes.share[:, 1] > correct(X, given, LogisticRegression()).votes.share[:, 1])
    assert correction.withstands is None and "withstands" not in correction.to_frame()
    with pytest.raises(ValueError, match="has no certificates"):
        CertifiedCurveDisplay.from_correction(correction)


@pytest.mark.parametrize("kind", ["coo", "list", "precomputed"])
def test_all_kinds_of_tables_work(kind):
    X, clean, given = make_rows(0, n=400)
    judge = LogisticRegression()
    if kind == "precomputed":
        X, judge = rbf_kernel(X), [SubSVMClassifier(n_estimators=100, kernel="precomputed")]
    table = {"coo": sparse.coo_array, "list": np.ndarray.tolist, "precomputed": np.asarray}[kind](X)
    correction = correct(table, given, judge)
    assert np.sum(correction.labels != clean) < np.sum(given != clean)
    assert len(correction.witnesses.rows) == correction.flagged.sum()


@pytest.mark.parametrize("rule", ["posterior", "majority"])
@pytest.mark.parametrize("judge", [LogisticRegression(), "probabilities"])
def test_words_do_not_speak_of_svms(rule, judge):
    X, _, given = make_rows(0, rate=0.4)
    table = make_rows(0)[0] if judge != "probabilities" else np.eye(2)[given] * 0.6 + 0.2
    correction = correct(table, given, judge, rule=rule, min_confidence=0.6)
    words = " ".join((*correction.reason, *correction.notes))
    assert "SVM" not in words and "vote" not in words


def test_nothing_of_an_earlier_fit_is_left():
    X, _, given = make_rows(0, n=300)
    corrector = LabelCorrector(random_state=0).fit(X, given)
    assert hasattr(corrector, "model_") and hasattr(corrector, "scaler_")
    corrector.set_params(estimator=LogisticRegression()).fit(X, given)
    assert not hasattr(corrector, "model_") and not hasattr(corrector, "scaler_")
    assert corrector.n_features_in_ == 2


def test_a_judge_without_probabilities_or_enough_rows_is_refused(cancer):
    X, y = cancer
    no_probabilities = r"but LinearSVC has none: wrap it, .*CalibratedClassifierCV"
    for judge, labels, error, message in [
        (LinearSVC(), y, TypeError, no_probabilities),
        ([LogisticRegression(), LinearSVC()], y, TypeError, no_probabilities),
        ([], y, InputError, "the list is empty"),
        ("forest", y, ValueError, "estimator"),
        (GaussianNB(), y[:9], InputError, "X and y must have the same number of rows; got 569 and 9"),
        (GaussianNB(), np.arange(569) == 0, InputError, "two classes with two rows each"),
    ]:
        with pytest.raises(error, match=message):
            correct(X, labels, judge)
    assert not correct(X, y, CalibratedClassifierCV(LinearSVC(), ensemble=False)).changed.any()
    assert not correct(X[:6], [0, 1, 0, 1, 0, 1], GaussianNB()).changed.any()  # in fewer folds


@pytest.mark.parametrize("p, message", [
    ([0.5] * 4, r"so of shape \(4, 2\); got \(4,\)"),
    ([[0.2, 0.3, 0.5]] * 4, r"so of shape \(4, 2\); got \(4, 3\): leave out columns"),
    ([[0.5, 0.5]] * 3 + [[0.5, np.nan]], "row 3, .* holds .*from 0 to 1"),
    ([[0.5, 0.5]] * 3 + [[1.5, -0.5]], "row 3, .* holds .*from 0 to 1"),
    ([[0.5, 0.5]] * 3 + [[0.5, 0.4]], "row 3, .* sums to 0.9: divide each row by its sum"),
    ([["a", "b"]] * 4, "not numbers"),
    (sparse.csr_array(np.full((4, 2), 0.5)), "sparse matrix: use X.toarray"),
    (pd.DataFrame({"a": [0.5] * 4, "b": [0.5] * 4}), "its columns are a and b: name them by the classes"),
])  # fmt: skip
def test_probabilities_are_checked_on_entry(p, message):
    with pytest.raises(InputError, match=f"order 'cat', 'dog', .*{message}"):
        correct(p, ["cat", "dog", "cat", "dog"], "probabilities")


def test_columns_with_names_are_taken_by_them_in_any_order():
    classes, p = np.array(["cat", "dog"]), np.array([[0.9, 0.1], [0.2, 0.8]])
    for found in (
        pd.DataFrame(p[:, ::-1], columns=["dog", "cat"]), {"dog": p[:, 1], "cat": p[:, 0].tolist()},
        pd.DataFrame({"row": [0, 1], "p(dog)": p[:, 1], "p(cat)": p[:, 0]}), pd.DataFrame(p), p.tolist(),
    ):  # fmt: skip
        assert_array_equal(check_probabilities(found, classes, 2), p)
    assert find_columns_of(["a", "aa"], ["p_aa", "p_a"]) == ["p_a", "p_aa"]
    assert find_columns_of([0, 1], ["p0", "p1", "q0", "q1"]) is None  # either could be meant
    assert find_columns_of([0, 1], ["p0", "p1", "0", "1"]) == ["0", "1"]


def test_given_probabilities_judge_and_features_check_what_changes():
    rng = np.random.default_rng(0)
    clean = np.repeat([0, 1], 300)
    X = rng.normal(3.5 * clean[:, None], 1.0, (600, 2))
    y = np.where(rng.random(600) < 0.12, 1 - clean, clean)
    p = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")
    with pytest.warns(LabelNoiseWarning, match="Probabilities alone"):
        alone = correct_labels(None, y, pred_probs=p)
    with pytest.warns(LabelNoiseWarning):
        older = correct_labels(p, y, estimator="probabilities")
    assert_array_equal(alone.judgement.posterior, older.judgement.posterior)
    assert alone.witnesses is None and alone.withstands is None
    both = correct_labels(X, y, pred_probs=p, random_state=0)
    assert both.witnesses is not None and not [note for note in both.notes if "Probabilities alone" in note]
    assert np.sum(both.labels != clean) < np.sum(y != clean) / 2
    # a third column tells the flipped rows apart: nothing to change
    apart = np.column_stack([X, np.where(y != clean, 9.0, 0.0) + rng.normal(0, 0.1, 600)])
    assert correct_labels(apart, y, pred_probs=p, random_state=0).changed.sum() < both.changed.sum() / 4


DAYS = pd.to_datetime(["2024-01-01"] * 4)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"X": np.zeros((3, 2)), "pred_probs": np.full((4, 2), 0.5)}, "same number of rows; got 3 and 4"),
        ({"X": None, "pred_probs": np.full((4, 3), 0.3)}, "pred_probs must hold out-of-sample"),
        ({"X": None, "pred_probs": np.full((4, 2), 0.5), "estimator": GaussianNB()}, "give one of them"),
        ({"X": None, "pred_probs": pd.DataFrame({"0": 0.5, "1": DAYS})}, "values that are not numbers"),
        ({"X": None, "pred_probs": pd.DataFrame({"x" * 10**5: DAYS})}, "columns are x{30,300}…: name them"),
    ],
)  # fmt: skip
def test_probabilities_that_do_not_fit_are_refused(how, words):
    with pytest.raises(InputError, match=words):
        correct_labels(y=[0, 1, 0, 1], **how)

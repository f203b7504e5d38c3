import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import minmax_scale

from subsvms import LabelCorrector, SubSVMClassifier, adversaries, correct_labels
from subsvms.correction import _other_judges as judges
from subsvms.ensemble import _sampling
from subsvms.exceptions import InputError


def quietly(X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return correct_labels(X, y, **{"random_state": 0, "n_witnesses": 0} | options)


@pytest.fixture
def planted(seed):
    """A table with a tenth of the labels wrong, and a copy of each of these rows with the same label."""
    X, y = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)
    given = adversaries.uniform_flips(y, error_rate=0.1, random_state=seed).labels
    rows = np.append(np.arange(len(y)), np.flatnonzero(given != y))
    moved = (
        np.random.default_rng(seed).normal(0, 1e-3, (len(rows), X.shape[1]))
        * (np.arange(len(rows)) >= 569)[:, None]
    )
    return X[rows] + moved, y[rows], given[rows]


def rank(correction, wrong):
    return roc_auc_score(wrong, -correction.label_quality)


def test_copies_of_wrong_rows_do_not_hide_them(planted):
    X, y, given = planted
    wrong = given != y
    before, after = (quietly(X, given, groups=groups) for groups in (range(len(y)), None))
    assert rank(before, wrong) < rank(after, wrong) - 0.02 and rank(after, wrong) > 0.98
    assert rank(after, wrong) > rank(quietly(X[:569], given[:569]), wrong[:569]) - 0.01
    assert any("112 rows are copies" in note for note in after.notes)
    assert (after.withstands[569:] == 0).all() and after.withstands.any()


@pytest.mark.parametrize("judge", [RandomForestClassifier(50), LogisticRegression()])
def test_other_judges_are_not_fooled_either(planted, judge):
    X, y, given = planted
    wrong = given != y
    before, after = (
        quietly(X, given, groups=groups, estimator=judge) for groups in (range(len(y)), None)
    )  # fmt: skip
    assert rank(after, wrong) > max(rank(before, wrong) - 0.005, 0.94)


def test_groups_of_five_rank_as_the_table_without_copies(seed):
    X, y = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X)[::2]
    y = y[::2]
    given = adversaries.uniform_flips(y, error_rate=0.1, random_state=seed).labels
    rows = np.repeat(np.arange(len(y)), 5)
    five = X[rows] + np.random.default_rng(seed).normal(0, 1e-3, (len(rows), X.shape[1]))
    plain = rank(quietly(X, given), given != y)
    correction = quietly(five, given[rows], groups=rows)
    assert rank(correction, (given != y)[rows]) > plain - 0.01
    assert (correction.votes.n_voters > 10).all() and not correction.withstands.any()


def test_without_copies_the_bits_are_those_without_groups(cancer):
    X, y = cancer
    one, two = quietly(X, y), quietly(X, y, groups=range(len(y)))
    for name, array in one.votes.arrays.items():
        np.testing.assert_array_equal(array, two.votes.arrays[name])
    np.testing.assert_array_equal(one.label_quality, two.label_quality)
    np.testing.assert_array_equal(one.withstands, two.withstands)


def test_threads_change_no_bit_of_groups(planted):
    X, _, given = planted
    one, two = (quietly(X, given, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.label_quality, two.label_quality)


def test_no_svm_is_heard_that_saw_the_group_also_outside_of_the_pool(monkeypatch):
    monkeypatch.setattr(_sampling, "POOL_SIZE", 200)
    monkeypatch.setattr(_sampling, "KERNELS", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 6))
    y = (X[:, 0] > 0).astype(int)
    X[1500:1600], y[1500:1600] = X[:100] + 1e-4 * rng.normal(size=(100, 6)), y[:100]
    judge = SubSVMClassifier(n_estimators=300, subsample_size=30)
    for groups in (None, np.where(np.arange(3000) < 1500, np.arange(3000), np.arange(3000) - 1500)):
        corrector = LabelCorrector(judge, random_state=0, n_witnesses=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            correction = corrector.fit(X, y, groups=groups).correction_
        model, n_voters = corrector.model_, correction.votes.n_voters
        drawing = _sampling.draw_rows(y, 2, seed=0)
        pool = np.flatnonzero(drawing.in_pool(np.arange(3000), y))
        seen = np.zeros((300, 3000), dtype=bool)
        seen[np.arange(300)[:, None], pool[model.subsets_]] = True
        twins = np.append(np.arange(100), np.arange(1500, 1600))
        twin = np.append(np.arange(1500, 1600), np.arange(100))
        assert (n_voters[twins] == 300 - (seen[:, twins] | seen[:, twin]).sum(axis=0)).all()
        assert (n_voters[twins][np.isin(twin, pool)] < 300).all()
        assert (n_voters[np.setdiff1d(np.arange(1700, 3000), pool)] == 300).all() or groups is not None


def test_groups_are_checked_and_a_row_without_one_is_alone(cancer):
    X, y = cancer
    pairs = ["a", None, *range(len(y) - 3), "a"]
    numbers = quietly(X, y, groups=pairs, rule="majority").votes.n_voters
    alone = quietly(X, y, groups=[*pairs[:-1], "b"], rule="majority").votes.n_voters
    assert np.flatnonzero(numbers != alone).tolist() == [0, len(y) - 1]
    for groups, words in (([1, 2], "one entry for each"), ([1] * len(y), "two groups"), (X, "one dimension")):
        with pytest.raises(InputError, match=words):
            quietly(X, y, groups=groups)


def test_rows_that_few_svms_can_judge_are_said(cancer):
    X, y = cancer
    groups = np.arange(len(y)) % 2
    correction = quietly(X, y, groups=groups, estimator=SubSVMClassifier(n_estimators=90))
    few = int((correction.votes.n_voters < 22).sum())
    assert 0 <= few < len(y)  # half of the SVMs leave out either group
    assert any(note.kind == "few_voters" for note in correction.notes if hasattr(note, "kind")) == (few > 0)


@pytest.mark.parametrize("n_groups", [6, 1200])
def test_no_group_is_in_two_folds(n_groups, seed):
    rng = np.random.default_rng(seed)
    labels, groups = rng.integers(0, 2, 3000), rng.integers(0, n_groups, 3000)
    tested = np.zeros(3000, dtype=int)
    for train, test in judges.split_groups(labels, groups, 5, seed):
        assert not np.isin(groups[train], groups[test]).any()
        tested[test] += 1
    assert (tested == 1).all()


# Equal rows with different labels


def make_equal(seed, n=400, n_pairs=60):
    """Return rows of which some are equal, with true and given labels: one label of each pair is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    return np.vstack([X, X[:n_pairs]]), np.append(y, y[:n_pairs]), np.append(y, 1 - y[:n_pairs])


@pytest.mark.parametrize("judge", [None, LogisticRegression()])
def test_of_equal_rows_with_different_labels_the_wrong_ones_are_found(seed, judge):
    X, y, given = make_equal(seed)
    correction = quietly(X, given, estimator=judge)
    wrong = given != y
    assert (correction.labels != y).sum() <= 35 and correction.label_quality[wrong].max() < 0.95
    assert any("120 rows are equal to others with another label" in note for note in correction.notes)
    assert "rows with the same features have other labels" in correction.explain(
        int(np.flatnonzero(wrong)[0])
    )


def test_where_they_are_rare_they_stand_first(seed):
    from subsvms.correction._result import list_suspicious

    X, _, given = make_equal(seed, n=1000, n_pairs=8)
    correction = quietly(X, given)
    first = list_suspicious(correction)[:16]
    assert sorted(first) == [*range(8), *range(1000, 1008)]
    assert (np.abs(np.diff(first)[::2]) == 1000).all()
    assert any("stand first" in note for note in correction.notes)


def test_the_majority_of_copies_counts():
    X, y, _ = make_equal(0)
    X, y = X[:400], y[:400]
    rows = np.append(np.arange(400), np.repeat(np.arange(20), 4))
    given = y[rows].copy()
    given[:20] = 1 - given[:20]  # one of five
    correction = quietly(X[rows], given)
    assert correction.changed[:20].mean() > 0.8 and correction.changed[20:].sum() <= 2


def test_where_the_columns_do_not_decide_nothing_is_changed_because_of_it(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (600, 3)).astype(float)
    y = (rng.random(600) < 0.2 + 0.6 * (X[:, 0] > 1.5)).astype(int)  # each row has equal ones of either label
    one, two = quietly(X, y), quietly(X, y, groups=range(600))
    assert (one.labels == two.labels).all() and not (one.judgement.halt == 15).any()


def test_tables_whose_duplicates_were_dropped_are_protected(seed, monkeypatch):
    """Without the protection, labels that are as right as others would be changed."""
    from subsvms.correction import _learn

    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (600, 3)).astype(float)
    p = 1 / (1 + np.exp(-(X.sum(axis=1) - 7.5)))
    y = (rng.random(600) < p).astype(int)
    _, rows = np.unique(np.column_stack([X, y]), axis=0, return_index=True)
    X, y = X[rows], y[rows]
    kept = quietly(X, y)
    monkeypatch.setattr(_learn, "find_contradictory", lambda equal, given: np.zeros(len(given), dtype=bool))
    without = quietly(X, y)
    twins = kept.judgement.halt == 10
    assert twins.sum() >= 20 and not kept.changed[twins].any()
    assert kept.noise.error_rate <= without.noise.error_rate

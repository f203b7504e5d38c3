import numpy as np
import pytest
from attacked_rows import C, against_others, make_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, make_classification, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import minmax_scale
from sklearn.svm import SVC

from subsvms.adversaries import ATTACKS, boundary_flips, greedy_flips, surest_flips
from subsvms.adversaries._greedy import WIDTH, Verdict, _Victim, judge

SEEDS = st.integers(0, 999)
TABLES = {
    "cancer": load_breast_cancer(return_X_y=True),
    "moons": make_moons(500, noise=0.2, random_state=0),
    "classification": make_classification(500, 10, n_informative=5, random_state=0),
}


def count_wrong(X, given, clean, **options):
    if len(set(given)) == 1:
        return np.sum(given != clean)
    return np.sum(SVC(**({"C": C, "gamma": "auto"} | options)).fit(X, given).predict(X) != clean)


def test_greedy_flips_harm_an_svm_most():
    """By its errors on clean rows that neither it nor the attack has seen."""
    errors = []
    for name, (X, y) in TABLES.items():
        X, X_test, y, y_test = train_test_split(minmax_scale(X), y, test_size=0.5, random_state=0, stratify=y)
        for rate in (0.1, 0.2):
            for attack in ("uniform", "boundary", "surest", "greedy"):
                options = {"error_rate": rate, "random_state": 0}
                given = ATTACKS[attack](*([y] if attack == "uniform" else [X, y]), **options).labels
                wrong = SVC(C=C, gamma="auto").fit(X, given).predict(X_test) != y_test
                errors.append((name, rate, attack, np.mean(wrong)))
    table = pytest.importorskip("pandas").DataFrame(errors, columns=["table", "rate", "attack", "error"])
    table = table.pivot(index=["table", "rate"], columns="attack", values="error")
    assert np.all(table["greedy"] > table["uniform"] + 0.02), table
    assert np.mean(table["greedy"] - table["uniform"]) > 0.15, table
    for attack in ("boundary", "surest"):
        assert np.sum(table["greedy"] > table[attack] - 0.02) >= 5, table  # of six; 0.02 is five rows
        assert np.mean(table["greedy"] - table[attack]) > 0.05, table


@given(st.integers(8, 40), st.integers(2, 4), st.floats(0.05, 0.5), st.none() | st.floats(0, 1), SEEDS)
def test_greedy_flips_never_do_less_harm_than_surest_flips(n, n_classes, rate, alpha, seed):
    X, y = make_rows(n, n_classes if alpha is None else 2, seed)
    options = {"error_rate": rate} if alpha is None else {"rho": rate, "alpha": alpha}
    greedy, surest = (flips(X, y, **options).labels for flips in (greedy_flips, surest_flips))
    assert count_wrong(X, greedy, y) >= count_wrong(X, surest, y)


def test_greedy_flips_are_chosen_for_the_svm_with_these_parameters_and_do_more_harm_in_more_rounds():
    """Each attack harms its own SVM at least as much as the other attack does, within a tenth."""
    X, y = make_rows(120, 2, 0)
    svms = [{"C": 100.0, "gamma": "auto"}, {"C": 1.0, "gamma": 20.0}]
    given = [greedy_flips(X, y, error_rate=0.15, **options).labels for options in svms]
    assert np.any(given[0] != given[1])
    for own, options in enumerate(svms):
        harm = [count_wrong(X, labels, y, **options) for labels in given]
        assert harm[own] >= 0.9 * harm[1 - own]
    rounds = [1, 2, 4, 8, 16, 32]
    wrong = [count_wrong(X, greedy_flips(X, y, error_rate=0.15, n_rounds=n).labels, y) for n in rounds]
    assert wrong == sorted(wrong) and wrong[-1] > 18  # more rows are wrong than labels were flipped


def test_the_pull_finds_what_the_ease_alone_does_not(monkeypatch):
    """Over many tables, because on a single one either can be lucky."""
    tables = [make_rows(80, 2, t, d=1 + t % 8) for t in range(16)]
    both = sum(count_wrong(X, greedy_flips(X, y).labels, y) for X, y in tables)
    monkeypatch.setattr(_Victim, "pull", _Victim.ease)
    assert both > 1.02 * sum(count_wrong(X, greedy_flips(X, y).labels, y) for X, y in tables)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_rows_go_to_the_class_beyond_the_nearest_boundary(n_classes):
    X, y = make_rows(60, n_classes, 0)
    attack = greedy_flips(X, y, error_rate=0.2)
    almost = boundary_flips(X, y, error_rate=0.999)  # all rows but one
    both = attack.flipped & almost.flipped
    np.testing.assert_array_equal(attack.labels[both], almost.labels[both])
    assert both.sum() >= 11


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_a_verdict_agrees_with_scikit_learn(n_classes):
    X, clean = make_rows(70, n_classes, 0)
    given = np.where(np.random.default_rng(0).random(70) < 0.2, (clean + 1) % n_classes, clean)
    verdict = judge(X, given, clean, C=C)
    assert verdict.n_wrong == count_wrong(X, given, clean)
    expected = against_others(X, given, clean).min(axis=1)
    np.testing.assert_allclose(verdict.margin, expected, atol=0.02)  # libsvm's tol


def test_a_class_without_given_labels_is_never_predicted():
    X, clean = make_rows(30, 3, 0)
    verdict = judge(X, np.where(clean == 1, 0, clean), clean, C=C)
    assert np.all(verdict.margin[clean == 1] == -1)
    assert not np.any(verdict.rival == 1)
    assert verdict.n_wrong == count_wrong(X, np.where(clean == 1, 0, clean), clean) >= 10
    alone = judge(X, np.full(30, 2), clean, C=C)
    assert alone.n_wrong == 20
    np.testing.assert_array_equal(alone.margin, np.where(clean == 2, 1, -1))


@pytest.mark.parametrize("batch", [7, 1000])
def test_the_scores_are_those_of_the_docstring(batch, monkeypatch):
    monkeypatch.setattr("subsvms.adversaries._greedy.BATCH", batch)
    X, clean = make_rows(20, 3, 0)
    rng = np.random.default_rng(0)
    rival = (clean + rng.integers(1, 3, 20)) % 3
    before, margin = rng.normal(size=(2, 20))
    victim = _Victim(X, clean, Verdict(before, rival, 0), C, 0.7)
    for i in range(20):
        pull = 0.0
        for j in range(20):
            slope = np.exp(margin[j] / WIDTH) / (1 + np.exp(margin[j] / WIDTH)) ** 2
            kernel = np.exp(-0.7 * np.sum((X[i] - X[j]) ** 2))
            pull += slope * kernel * (int(clean[j] == clean[i]) - int(clean[j] == rival[i]))
        pull *= int(margin[i] < 1) + int(margin[i] > -1)
        np.testing.assert_allclose(victim.pull(margin)[i], pull, rtol=1e-9, atol=1e-12)
        loss = [max(0, 1 - m) for m in (-before[i], before[i], -margin[i], margin[i])]
        ease = loss[0] - loss[1] - (loss[2] - loss[3])
        np.testing.assert_allclose(victim.ease(margin)[i], ease, atol=1e-12)


@pytest.mark.parametrize(
    "bad", [{"C": 0}, {"C": np.inf}, {"gamma": "scale"}, {"gamma": -1.0}, {"n_rounds": 0.5}]
)
def test_parameters_out_of_range_are_refused(bad):
    ((name, value),) = bad.items()
    with pytest.raises(ValueError, match=f"{name} must be a positive number; got {value!r}: leave it out"):
        greedy_flips(np.eye(4), [0, 1, 0, 1], **bad)

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from subsvms import adversaries
from subsvms.adversaries import (
    ATTACKS,
    boundary_flips,
    class_conditional_flips,
    directed_flips,
    region_flips,
    surest_flips,
    uniform_flips,
)
from subsvms.adversaries._greedy import BOUNDARY_C

NAMES = np.array(["a", "much longer", "bb", "ccc", "dddd"])
KINDS = {
    "int": lambda numbers: numbers - 1,
    "text": lambda numbers: NAMES[numbers],
    "object": lambda numbers: NAMES.astype(object)[numbers],
    "series": lambda numbers: pd.Series(NAMES[numbers], index=range(len(numbers), 0, -1)),
}
WITH_ALPHA = ["directed", "uniform", "boundary", "surest", "greedy"]
QUICK = {"greedy": {"n_rounds": 2}}


def make_rows(n, n_classes, seed, d=3):
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(n) % n_classes)
    return rng.random((n, d)) + 0.3 * numbers[:, None], numbers


def call(name, X, y, **options):
    return adversaries.attack(name, X, y, **(QUICK.get(name, {}) | options))


def test_alpha_zero_strips_the_smaller_class():
    y = np.repeat([1, -1], [40, 100])
    assert np.sum(directed_flips(y, rho=0.75, alpha=0).labels == 1) == 10
    assert np.sum(directed_flips(y, rho=0.75, alpha=1).labels == 1) == 70


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("kind", KINDS)
@given(
    n=st.integers(5, 40),
    n_classes=st.integers(2, 5),
    budget=st.sampled_from(["error_rate", "rho"]),
    share=st.floats(0, 0.999),
    seed=st.integers(0, 999),
)
def test_every_attack_spends_its_budget_and_no_more(name, kind, n, n_classes, budget, share, seed):
    X, numbers = make_rows(n, 2 if name == "directed" else n_classes, seed)
    y = KINDS[kind](numbers)
    before, sizes = y.copy(), np.bincount(numbers)
    whole = n if budget == "error_rate" else sizes.min()
    n_flips = int(np.floor(share * whole + 1e-9))
    halves = round(n_flips / 2), n_flips - round(n_flips / 2)  # of directed flips; the first from the larger
    from_largest = {"directed": halves[0], "region": n_flips}.get(name, 0)
    if from_largest > sizes.max() or (name == "directed" and halves[1] > sizes.min()):
        with pytest.raises(ValueError, match="must lie between 0 and its [0-9]+ rows; got [0-9]+: lower"):
            call(name, X, y, **{budget: share})
        return
    attack = call(name, X, y, **{budget: share}, random_state=seed)
    clean = np.asarray(y)
    assert attack.flipped.sum() == n_flips
    assert attack.flipped.dtype == bool
    assert type(attack.labels) is np.ndarray
    assert attack.labels.dtype == clean.dtype
    assert set(attack.labels) <= set(clean)
    np.testing.assert_array_equal(attack.labels != clean, attack.flipped)
    np.testing.assert_array_equal(y, before)


@pytest.mark.parametrize("name", WITH_ALPHA)
@given(
    smaller=st.integers(2, 20),
    more=st.integers(0, 20),
    first=st.booleans(),
    rho=st.floats(0, 0.999),
    alpha=st.floats(0, 1),
    seed=st.integers(0, 999),
)
def test_alpha_sets_how_many_come_from_each_class(name, smaller, more, first, rho, alpha, seed):
    names = ["rare", "usual"] if first or more == 0 else ["x rare", "usual"]  # sorted first or last
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(names, [smaller, smaller + more]))
    X = rng.random((len(y), 2)) + 0.2 * (y == "usual")[:, None]
    flipped = call(name, X, y, rho=rho, alpha=alpha, random_state=seed).flipped
    n_flips = int(np.floor(rho * smaller + 1e-9))
    assert np.sum(flipped & (y == "usual")) == round(alpha * n_flips)
    assert np.sum(flipped & (y != "usual")) == n_flips - round(alpha * n_flips)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_same_seed_makes_the_same_flips(name, seed):
    X, numbers = make_rows(60, 2 if name == "directed" else 3, seed)
    one, other = (call(name, X, NAMES[numbers], random_state=seed) for _ in range(2))
    np.testing.assert_array_equal(one.labels, other.labels)
    others = [call(name, X, NAMES[numbers], random_state=100 + seed + more).labels for more in range(5)]
    is_random = name in {"directed", "uniform", "class-conditional", "region"}
    assert any(np.any(labels != one.labels) for labels in others) == is_random


@pytest.mark.parametrize("name", ATTACKS)
def test_without_a_budget_the_usual_one_is_spent(name):
    X, numbers = make_rows(60, 2, 0)
    assert call(name, X, numbers).flipped.sum() == (22 if name == "directed" else 6)  # floor(0.75 * 30)


def test_seeds_mean_what_they_always_meant(seed):
    """Drawn here as the first release drew them: published runs name their seeds."""
    rng = np.random.RandomState(seed)
    y = np.arange(90) % 3
    rows = rng.choice(90, 18, replace=False)
    expected = y.copy()
    expected[rows] = (y[rows] + rng.randint(1, 3, size=18)) % 3
    np.testing.assert_array_equal(uniform_flips(y, error_rate=0.2, random_state=seed).labels, expected)
    rng = np.random.RandomState(seed)
    y = np.repeat([1, -1], [40, 100])
    flipped = np.concatenate([40 + rng.choice(100, 9, replace=False), rng.choice(40, 21, replace=False)])
    attack = directed_flips(y, alpha=0.3, random_state=seed)
    np.testing.assert_array_equal(np.flatnonzero(attack.flipped), np.sort(flipped))


BAD = [
    ({"error_rate": -0.1}, "error_rate must be at least 0 and less than 1; got -0.1: .* of all rows"),
    ({"error_rate": 1.0}, "error_rate must be at least 0 and less than 1; got 1.0"),
    ({"error_rate": np.nan}, "error_rate must be at least 0 and less than 1; got nan"),
    ({"error_rate": "0.1"}, "error_rate must be at least 0 and less than 1; got '0.1'"),
    ({"rho": 1.0}, "rho must be at least 0 and less than 1; got 1.0: .* of the smallest class"),
    ({"rho": -0.1}, "rho must be at least 0 and less than 1; got -0.1"),
    ({"rho": 0.2, "error_rate": 0.1}, "Give error_rate or rho, not both; got 0.1 and 0.2"),
    ({"alpha": 1.1}, "alpha must lie between 0 and 1; got 1.1: 1 takes"),
    ({"alpha": np.nan}, "alpha must lie between 0 and 1; got nan"),
]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_budget_out_of_range_is_refused(name, options, message):
    if "alpha" in options and name not in WITH_ALPHA:
        message = f"The attack '{name}' takes .*; got alpha: leave that out"
    with pytest.raises(ValueError, match=message):
        call(name, np.eye(3), [0, 1, 1], **options)


@pytest.mark.parametrize("name", WITH_ALPHA)
def test_alpha_needs_two_classes_with_enough_rows(name):
    with pytest.raises(ValueError, match="with a direction alpha needs labels of two classes; got 3"):
        call(name, np.eye(3), [0, 1, 2], alpha=0.5)
    y = ["no"] * 4 + ["yes"] * 6
    with pytest.raises(ValueError, match="class 'no' must lie between 0 and its 4 rows; got 5: .* alpha"):
        call(name, np.eye(10), y, error_rate=0.5, alpha=0.0)
    assert set(call(name, np.eye(10), y, error_rate=0.4, alpha=0.0).labels) == {"yes"}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("y", [["one"] * 3, [1]])
def test_one_class_leaves_no_other_label(name, y):
    with pytest.raises(ValueError, match="_flips needs labels of at least two classes; got 1"):
        call(name, np.eye(len(y)), y)


@pytest.mark.parametrize("y", [["a", None, "b"], [0.0, np.nan, 1.0], pd.Series([0, pd.NA, 1], dtype="Int64")])
def test_missing_labels_are_refused(y):
    with pytest.raises(ValueError, match="needs one label of one type for each row"):
        uniform_flips(y)
    with pytest.raises(ValueError, match="got missing or mixed ones"):
        uniform_flips(np.array(["a", 1, "b"], dtype=object))


@pytest.mark.parametrize("name", ["boundary", "surest", "region", "greedy"])
def test_attacks_on_the_features_need_a_finite_row_for_each_label(name):
    with pytest.raises(ValueError, match="same number of rows; got 4 and 3: give"):
        call(name, np.eye(4), [0, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        call(name, [[np.nan], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=f"The attack '{name}' looks at the features; got no X: give"):
        call(name, None, [0, 1, 1])


def test_attacks_are_found_by_name():
    y = ["no", "yes"] * 10
    for name in ("directed", "uniform", "class-conditional"):
        expected = ATTACKS[name](y, error_rate=0.2, random_state=0).labels
        options = {"error_rate": 0.2, "rho": None, "random_state": 0}
        np.testing.assert_array_equal(adversaries.attack(name, None, y, **options).labels, expected)
    with pytest.raises(ValueError, match="one of directed, uniform, .*, greedy; got 'clever'"):
        adversaries.attack("clever", None, y)
    with pytest.raises(ValueError, match="'region' takes label, error_rate, rho, random_state; got alpha"):
        adversaries.attack("region", np.eye(20), y, alpha=0.5)


def test_uniform_flips_choose_rows_and_labels_alike():
    """Within five standard deviations; a fixed seed, so it never fails by chance."""
    y = np.repeat([0, 1, 2], [100, 200, 300])
    n_trials = 500
    attacks = [uniform_flips(y, error_rate=0.2, random_state=t) for t in range(n_trials)]
    often = np.mean([attack.flipped for attack in attacks], axis=0)
    assert np.abs(often - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / n_trials)
    for own in range(3):
        new = np.concatenate([attack.labels[attack.flipped & (y == own)] for attack in attacks])
        share = np.bincount(new, minlength=3) / len(new)
        assert share[own] == 0
        assert np.abs(np.delete(share, own) - 0.5).max() < 5 * 0.5 / np.sqrt(len(new))


def test_rows_on_the_wrong_side_are_flipped_last_of_the_surest():
    X, y = np.linspace(0, 1, 21)[:, None], np.repeat([0, 1], [10, 11])
    y[2] = 1
    assert not surest_flips(X, y, error_rate=20 / 21).flipped[2]
    assert surest_flips(X, y, error_rate=2 / 21).flipped[[0, 20]].any()


def test_on_a_line_each_class_is_entered_from_its_neighbour():
    X, y = np.linspace(0, 3, 61)[:, None], np.repeat([10, 20, 30], [20, 21, 20])
    attack = boundary_flips(X, y, error_rate=4 / 61)
    assert np.flatnonzero(attack.flipped).tolist() == [19, 20, 40, 41]
    assert attack.labels[attack.flipped].tolist() == [20, 10, 30, 20]


def test_equally_near_rows_are_taken_in_the_order_of_the_table():
    X, y = np.tile([[0.0], [1.0]], (10, 1)), np.tile(["no", "yes"], 10)
    X[:4] = [[0.4], [0.6], [0.4], [0.6]]  # four equally near rows, and a budget of three
    attack = boundary_flips(X, y, error_rate=3 / 20)
    distance = np.abs(SVC(gamma="auto", C=BOUNDARY_C).fit(X, y).decision_function(X))
    expected = np.lexsort((np.arange(20), distance))[:3]
    np.testing.assert_array_equal(np.flatnonzero(attack.flipped), np.sort(expected))
    assert set(np.flatnonzero(attack.flipped)) < {0, 1, 2, 3}


def test_boundary_flips_take_every_form_of_table(seed):
    X, numbers = make_rows(60, 3, seed)
    X = (X * 8).round() / 8
    expected = boundary_flips(X, numbers).labels
    long = sparse.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    forms = [sparse.csr_matrix(X), long, sparse.csc_array(X), pd.DataFrame(X, columns=list("abc"))]
    for table in [*forms, pl.DataFrame(X, schema=list("abc")), X.tolist()]:
        np.testing.assert_array_equal(boundary_flips(table, numbers).labels, expected)
    assert boundary_flips(X, pd.Series(NAMES[numbers])).labels.dtype == object


def share_out(n, weights):
    """Divide n by largest remainder, in fractions."""
    exact = [Fraction(n * weight, sum(weights)) for weight in weights]
    counts = [int(share) for share in exact]
    order = sorted(range(len(weights)), key=lambda i: counts[i] - exact[i])
    for i in order[: n - sum(counts)]:
        counts[i] += 1
    return counts


def count_moves(y, labels, n_classes):
    return np.bincount(y * n_classes + labels, minlength=n_classes**2).reshape(n_classes, n_classes)


weights = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 9), min_size=k, max_size=k), min_size=k, max_size=k)
)


@given(weights=weights, n=st.integers(5, 120), seed=st.integers(0, 99))
@example(weights=[[0, 0, 0, 0], [1, 1, 4, 1], [0, 0, 0, 0], [0, 0, 0, 0]], n=22, seed=0)
def test_class_conditional_counts_are_those_of_the_matrix(weights, n, seed):
    n_classes = len(weights)
    for own, row in enumerate(weights):
        row[own] += 1  # so that no row is empty
    matrix = np.array(weights) / np.sum(weights, axis=1, keepdims=True)
    y = make_rows(n, n_classes, seed)[1]
    moves = count_moves(y, class_conditional_flips(y, matrix, random_state=seed).labels, n_classes)
    for own, row in enumerate(weights):
        lost = int(np.floor(np.sum(y == own) * (1 - matrix[own, own]) + 1e-9))
        others = [0 if other == own else weight for other, weight in enumerate(row)]
        expected = share_out(lost, others) if lost else [0] * n_classes
        expected[own] = np.sum(y == own) - lost
        assert moves[own].tolist() == expected


@given(weights=weights, rate=st.floats(0, 0.4), n=st.integers(5, 120), seed=st.integers(0, 99))
def test_a_budget_scales_the_matrix_by_one_factor(weights, rate, n, seed):
    n_classes = len(weights)
    matrix = np.array(weights) + 1.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    y = make_rows(n, n_classes, seed)[1]
    sizes, chance = np.bincount(y), 1 - np.diag(matrix)
    expected = int(np.floor(rate * n + 1e-9)) * sizes * chance / np.sum(sizes * chance)
    if np.any(expected > sizes + 1e-6):
        with pytest.raises(ValueError, match="must lie between 0 and its .* or even out the matrix"):
            class_conditional_flips(y, matrix, error_rate=rate)
        return
    attack = class_conditional_flips(y, matrix, error_rate=rate, random_state=seed)
    moves = count_moves(y, attack.labels, n_classes) * (1 - np.eye(n_classes, dtype=int))
    assert moves.sum() == attack.flipped.sum() == int(np.floor(rate * n + 1e-9))
    assert np.abs(moves.sum(axis=1) - expected).max() < 1
    assert (
        np.abs(moves - moves.sum(axis=1, keepdims=True) * matrix / chance[:, None])[moves > 0].max(initial=0)
        < 1
    )


def test_a_class_can_lose_all_its_rows_and_no_more():
    y, matrix = np.repeat([0, 1], [10, 90]), [[0.0, 1.0], [0.5, 0.5]]
    assert class_conditional_flips(y, matrix, error_rate=0.55).flipped[:10].all()
    with pytest.raises(ValueError, match="class '0' must lie between 0 and its 10 rows; got 11: lower"):
        class_conditional_flips(y, matrix, error_rate=0.56)  # would take 10.2


def test_without_a_matrix_each_class_is_confused_with_the_next(seed):
    y = np.repeat([0, 1, 2], [100, 200, 300])
    moves = count_moves(y, class_conditional_flips(y, rho=0.6, random_state=seed).labels, 3)
    assert moves.tolist() == [[90, 10, 0], [0, 180, 20], [30, 0, 270]]


def test_class_conditional_flips_choose_rows_alike():
    """Within five standard deviations; a fixed seed, so it never fails by chance."""
    y, matrix = np.repeat([0, 1], [40, 80]), [[0.75, 0.25], [0.25, 0.75]]
    often = np.mean([class_conditional_flips(y, matrix, random_state=t).flipped for t in range(500)], axis=0)
    assert np.abs(often - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / 500)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0, 0.0]], r"matrix must be 2 by 2, as the classes; got shape \(1, 2\)"),
        (np.eye(3), r"matrix must be 2 by 2, as the classes; got shape \(3, 3\)"),
        ([[1.1, -0.1], [0.0, 1.0]], "finite and not negative; got"),
        ([[np.nan, 1.0], [0.0, 1.0]], "finite and not negative; got"),
        ([[0.9, 0.2], [0.0, 1.0]], r"must sum to one; got \[1.1.*, 1.0\]: divide"),
        (np.eye(2), "must flip some rows to be scaled to 2 flips"),
    ],
)
def test_a_matrix_must_hold_chances(matrix, message):
    with pytest.raises(ValueError, match=message):
        class_conditional_flips([0, 1] * 5, matrix, error_rate=0.2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_a_region_is_what_lies_nearest_to_some_row(form, seed):
    """By brute force over all centres; whole numbers, so that ties are exact."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 6, (60, 2)), NAMES[rng.permutation(np.arange(60) % 3)]
    attack = region_flips(form(X), y, label="bb", error_rate=0.2, random_state=seed)
    rows = np.flatnonzero(y == "bb")
    explained = False
    for centre in rows:
        squared = np.sum((X - X[centre]) ** 2, axis=1)
        nearest = sorted(rows, key=lambda row, squared=squared: (squared[row], row))[:12]
        other = min(np.flatnonzero(y != "bb"), key=lambda row, squared=squared: (squared[row], row))
        explained |= sorted(nearest) == np.flatnonzero(attack.flipped).tolist() and (
            set(attack.labels[attack.flipped]) == {y[other]}
        )
    assert explained


def test_the_centre_of_a_region_is_any_row_of_the_class():
    y = np.repeat([0, 1], [8, 12])
    X = np.arange(20.0)[:, None]
    centres = [
        int(np.flatnonzero(region_flips(X, y, error_rate=0.05, random_state=t).flipped)[0])
        for t in range(200)
    ]
    assert set(centres) == set(range(8, 20))  # the largest class, and all of it
    assert region_flips(X, y, label=0, error_rate=0.05, random_state=0).flipped[:8].any()


def test_a_region_must_fit_into_a_class_that_is_there():
    X, y = np.eye(10), ["no"] * 4 + ["yes"] * 6
    with pytest.raises(ValueError, match="between 0 and its 4 rows; got 5: .* a larger class"):
        region_flips(X, y, label="no", error_rate=0.5)
    with pytest.raises(ValueError, match=r"label must be one of the classes, \['no', 'yes'\]; got 'maybe'"):
        region_flips(X, y, label="maybe")
    assert set(region_flips(X, y, label="no", error_rate=0.4).labels) == {"yes"}

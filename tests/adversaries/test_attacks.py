from fractions import Fraction

import numpy as np
import pytest
from attacked_rows import NAMES, against_others, make_rows
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from subsvms import adversaries
from subsvms.adversaries import ATTACKS, boundary_flips, class_conditional_flips, region_flips, uniform_flips


@pytest.mark.parametrize("name", ATTACKS)
def test_the_same_seed_gives_the_same_flips_as_many_as_usual(name):
    X, numbers = make_rows(60, 2 if name == "directed" else 3, 0)
    first, *others = (
        adversaries.attack(name, X, NAMES[numbers], random_state=seed).labels for seed in (0, 0, 1, 2, 3)
    )
    assert np.sum(first != NAMES[numbers]) == (22 if name == "directed" else 6)  # 22 is floor(0.75 * 30)
    np.testing.assert_array_equal(others[0], first)
    is_random = name in {"directed", "uniform", "class-conditional", "region"}
    assert any(np.any(labels != first) for labels in others) == is_random


def test_a_seed_gives_the_same_flips_as_in_the_first_release():
    """Published runs name their seeds."""
    seed = 3
    rng = np.random.RandomState(seed)
    y = np.arange(90) % 3
    rows = rng.choice(90, 18, replace=False)
    expected = y.copy()
    expected[rows] = (y[rows] + rng.randint(1, 3, size=18)) % 3
    np.testing.assert_array_equal(uniform_flips(y, error_rate=0.2, random_state=seed).labels, expected)
    rng = np.random.RandomState(seed)
    y = np.repeat([1, -1], [40, 100])
    flipped = np.concatenate([40 + rng.choice(100, 9, replace=False), rng.choice(40, 21, replace=False)])
    attack = adversaries.directed_flips(y, alpha=0.3, random_state=seed)
    np.testing.assert_array_equal(np.flatnonzero(attack.flipped), np.sort(flipped))


def test_an_attack_can_be_called_by_its_name():
    y = ["no", "yes"] * 10
    for name in ("directed", "uniform", "class-conditional"):
        expected = ATTACKS[name](y, error_rate=0.2, random_state=0).labels
        options = {"error_rate": 0.2, "rho": None, "random_state": 0}
        np.testing.assert_array_equal(adversaries.attack(name, None, y, **options).labels, expected)
    with pytest.raises(ValueError, match="one of directed, uniform, .*, greedy; got 'clever'"):
        adversaries.attack("clever", None, y)
    with pytest.raises(ValueError, match="'region' takes label, error_rate, rho, random_state; got alpha"):
        adversaries.attack("region", np.eye(20), y, alpha=0.5)


def test_uniform_and_class_conditional_flips_choose_every_row_and_label_equally_often():
    """Within five standard deviations; a fixed seed, so it never fails by chance."""
    y = np.repeat([0, 1, 2], [100, 200, 300])
    matrix = 0.7 * np.eye(3) + 0.1
    for attacks in (
        [uniform_flips(y, error_rate=0.2, random_state=t) for t in range(500)],
        [class_conditional_flips(y, matrix, random_state=t) for t in range(500)],
    ):
        often = np.mean([attack.flipped for attack in attacks], axis=0)
        assert np.abs(often - 0.2).max() < 5 * np.sqrt(0.2 * 0.8 / 500)
        for own in range(3):
            new = np.concatenate([attack.labels[attack.flipped & (y == own)] for attack in attacks])
            share = np.bincount(new, minlength=3) / len(new)
            assert share[own] == 0
            assert np.abs(np.delete(share, own) - 0.5).max() < 5 * 0.5 / np.sqrt(len(new))


@pytest.mark.parametrize("flips", [boundary_flips, adversaries.surest_flips])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_rows_are_ranked_by_their_margin_and_go_to_the_nearest_other_class(flips, n_classes):
    X, numbers = make_rows(81, n_classes, 0)
    values = against_others(X, numbers, numbers)
    margin = values.min(axis=1)
    rank = np.abs(margin) if flips is boundary_flips else -margin
    attack = flips(X, numbers, error_rate=0.25)
    assert rank[attack.flipped].max() <= rank[~attack.flipped].min() + 1e-2  # libsvm's tol
    agree = attack.labels == values.argmin(axis=1)
    assert np.mean(agree[attack.flipped]) >= 0.9  # two classes can be equally near within tol
    if n_classes == 2:  # with alpha rows are ranked within their class
        attack = flips(X, numbers, rho=0.4, alpha=0.75)
        for number, n in ((0, 12), (1, 4)):  # of 41 rows and of 40
            of_class = numbers == number
            assert np.sum(attack.flipped & of_class) == n
            assert rank[attack.flipped & of_class].max() <= rank[~attack.flipped & of_class].min() + 1e-2


def test_boundary_flips_accept_every_kind_of_table():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, numbers = make_rows(60, 3, 0, d=3)
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
def test_class_conditional_flips_are_as_many_as_the_matrix_says(weights, n, seed):
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
        with pytest.raises(ValueError, match="must lie between 0 and its .* rows of the matrix more alike"):
            class_conditional_flips(y, matrix, error_rate=rate)
        return
    attack = class_conditional_flips(y, matrix, error_rate=rate, random_state=seed)
    moves = count_moves(y, attack.labels, n_classes) * (1 - np.eye(n_classes, dtype=int))
    assert moves.sum() == attack.flipped.sum() == int(np.floor(rate * n + 1e-9))
    assert np.abs(moves.sum(axis=1) - expected).max() < 1
    off = np.abs(moves - moves.sum(axis=1, keepdims=True) * matrix / chance[:, None])
    assert off[moves > 0].max(initial=0) < 1


def test_without_a_matrix_each_class_is_confused_with_the_next_and_none_can_lose_more_than_it_has():
    y = np.repeat([0, 1, 2], [100, 200, 300])
    moves = count_moves(y, class_conditional_flips(y, rho=0.6, random_state=0).labels, 3)
    assert moves.tolist() == [[90, 10, 0], [0, 180, 20], [30, 0, 270]]
    y, matrix = np.repeat([0, 1], [10, 90]), [[0.0, 1.0], [0.5, 0.5]]
    assert class_conditional_flips(y, matrix, error_rate=0.55).flipped[:10].all()
    with pytest.raises(ValueError, match="class '0' must lie between 0 and its 10 rows; got 11: lower"):
        class_conditional_flips(y, matrix, error_rate=0.56)  # would take 10.2


@pytest.mark.parametrize(("matrix", "message"), [
    ([[1.0, 0.0]], r"a row and a column for each of 2 classes; got shape \(1, 2\)"),
    (np.eye(3), r"a row and a column for each of 2 classes; got shape \(3, 3\)"),
    ([[1.1, -0.1], [0.0, 1.0]], "finite and not negative; got"),
    ([[np.nan, 1.0], [0.0, 1.0]], "finite and not negative; got"),
    ([[0.9, 0.2], [0.0, 1.0]], r"must sum to one; got \[1.1.*, 1.0\]: divide"),
    (np.eye(2), "must flip some rows to be scaled to 2 flips"),
])  # fmt: skip
def test_a_matrix_that_holds_no_probabilities_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        class_conditional_flips([0, 1] * 5, matrix, error_rate=0.2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_a_region_holds_the_rows_nearest_to_one_of_them(form):
    """By brute force over all centres; whole numbers, so that ties are exact."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (60, 2)), NAMES[rng.permutation(np.arange(60) % 3)]
    attack = region_flips(form(X), y, label="bb", error_rate=0.2, random_state=0)
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


def test_any_row_of_a_class_can_be_the_centre_of_a_region_no_larger_than_the_class():
    X, y = np.arange(20.0)[:, None], np.repeat(["no", "yes"], [8, 12])
    chosen = [region_flips(X, y, error_rate=0.05, random_state=t).flipped.argmax() for t in range(200)]
    assert set(chosen) == set(range(8, 20))  # the largest class, and all of it
    assert region_flips(X, y, label="no", error_rate=0.05, random_state=0).flipped[:8].any()
    assert set(region_flips(X, y, label="no", error_rate=0.4).labels) == {"yes"}
    with pytest.raises(ValueError, match="between 0 and its 8 rows; got 10: .* a larger class"):
        region_flips(X, y, label="no", error_rate=0.5)
    with pytest.raises(ValueError, match=r"label must be one of 'no', 'yes'; got 'maybe'"):
        region_flips(X, y, label="maybe")

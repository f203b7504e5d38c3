import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from subsvms.adversaries import BOUNDARY_C, boundary_flips, directed_flips, uniform_flips

NAMES = np.array(["a", "much longer", "bb", "ccc", "dddd"])


def make_rows(n, n_classes, seed, d=3):
    rng = np.random.default_rng(seed)
    numbers = rng.permutation(np.arange(n) % n_classes)
    return rng.random((n, d)) + 0.3 * numbers[:, None], numbers


@given(
    smaller=st.integers(1, 60),
    more=st.integers(0, 60),
    rho=st.floats(0, 0.99),
    alpha=st.floats(0, 1),
    seed=st.integers(0, 999),
)
def test_flips_keep_to_their_budget_and_their_direction(smaller, more, rho, alpha, seed):
    y = np.array(["rare"] * smaller + ["usual"] * (smaller + more))
    before = y.copy()
    attack = directed_flips(y, rho=rho, alpha=alpha, random_state=seed)
    n_flips = round(rho * smaller)
    assert attack.flipped.sum() == n_flips
    assert np.sum(attack.flipped & (y == "usual")) == round(alpha * n_flips)
    np.testing.assert_array_equal(attack.labels != y, attack.flipped)
    np.testing.assert_array_equal(y, before)


def test_alpha_zero_strips_the_smaller_class():
    y = np.repeat([1, -1], [40, 100])
    assert np.sum(directed_flips(y, rho=0.75, alpha=0).labels == 1) == 10
    assert np.sum(directed_flips(y, rho=0.75, alpha=1).labels == 1) == 70


def test_the_same_seed_flips_the_same_rows(seed):
    y = np.repeat([1, -1], [40, 100])
    one, other = (directed_flips(y, random_state=seed).flipped for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert np.any(one != directed_flips(y, random_state=seed + 1).flipped)


@pytest.mark.parametrize("bad", [{"rho": 1.0}, {"rho": -0.1}, {"alpha": 1.1}, {"alpha": -0.1}])
def test_values_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match="must"):
        directed_flips([0, 1, 1], **bad)


@pytest.mark.parametrize("y", [[1, 1], [1, 2, 3]])
def test_it_needs_two_classes(y):
    with pytest.raises(ValueError, match="two classes"):
        directed_flips(y)


@pytest.mark.parametrize("attack_name", ["uniform", "boundary"])
@pytest.mark.parametrize("kind", ["int", "text", "object"])
@given(
    n=st.integers(5, 60),
    n_classes=st.integers(2, 5),
    error_rate=st.floats(0, 0.999),
    seed=st.integers(0, 999),
)
def test_an_error_rate_is_a_budget(attack_name, kind, n, n_classes, error_rate, seed):
    X, numbers = make_rows(n, n_classes, seed)
    y = {"int": numbers - 1, "text": NAMES[numbers], "object": NAMES.astype(object)[numbers]}[kind]
    before = y.copy()
    if attack_name == "uniform":
        attack = uniform_flips(y, error_rate=error_rate, random_state=seed)
    else:
        attack = boundary_flips(X, y, error_rate=error_rate)
    assert attack.flipped.sum() == round(error_rate * n)
    assert attack.flipped.dtype == bool
    assert attack.labels.dtype == y.dtype
    assert set(attack.labels) <= set(y)
    np.testing.assert_array_equal(attack.labels != y, attack.flipped)
    np.testing.assert_array_equal(y, before)


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


def test_the_same_seed_makes_the_same_uniform_flips(seed):
    y = np.arange(90) % 3
    one, other = (uniform_flips(y, random_state=seed).labels for _ in range(2))
    np.testing.assert_array_equal(one, other)
    assert np.any(one != uniform_flips(y, random_state=seed + 1).labels)


def test_boundary_flips_take_the_rows_nearest_the_boundary_of_two_classes(seed):
    X, numbers = make_rows(80, 2, seed)
    attack = boundary_flips(X, NAMES[numbers], error_rate=0.15)
    distance = np.abs(SVC(gamma="auto", C=BOUNDARY_C).fit(X, numbers).decision_function(X))
    assert distance[attack.flipped].max() <= distance[~attack.flipped].min()


@pytest.mark.parametrize("n_classes", [3, 4])
def test_boundary_flips_go_to_the_nearest_other_class(n_classes, seed):
    """Against SVMs of each pair of classes, trained here one by one."""
    X, numbers = make_rows(80, n_classes, seed)
    for_own = np.full((80, n_classes), np.inf)  # decision value of each row against each other class
    for a in range(n_classes):
        for b in range(a + 1, n_classes):
            two = np.isin(numbers, [a, b])
            value = SVC(gamma="auto", C=BOUNDARY_C).fit(X[two], numbers[two] == a).decision_function(X)
            for_own[numbers == a, b] = value[numbers == a]
            for_own[numbers == b, a] = -value[numbers == b]
    distance = np.abs(for_own.min(axis=1))
    attack = boundary_flips(X, numbers, error_rate=0.25)
    assert distance[attack.flipped].max() <= distance[~attack.flipped].min() + 1e-2  # libsvm's tol
    agree = attack.labels == for_own.argmin(axis=1)
    assert np.mean(agree[attack.flipped]) >= 0.9  # two classes can be equally near within tol


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


def test_random_state_changes_nothing_at_the_boundary(seed):
    X, numbers = make_rows(60, 2, seed)
    one, other = (boundary_flips(X, numbers, random_state=r).labels for r in (None, seed))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("error_rate", [-0.1, 1.0, 1.5, np.nan])
def test_an_error_rate_out_of_range_is_refused(error_rate):
    for attack in (uniform_flips, lambda y, **options: boundary_flips(np.eye(3), y, **options)):
        with pytest.raises(ValueError, match="error_rate must be at least 0 and less than 1"):
            attack([0, 1, 1], error_rate=error_rate)


@pytest.mark.parametrize("y", [["one"] * 3, [1]])
def test_one_class_leaves_no_other_label(y):
    with pytest.raises(ValueError, match="uniform_flips needs labels of at least two classes; got 1"):
        uniform_flips(y)
    with pytest.raises(ValueError, match="boundary_flips needs labels of at least two classes; got 1"):
        boundary_flips(np.eye(len(y)), y)


def test_boundary_flips_need_a_finite_row_for_each_label():
    with pytest.raises(ValueError, match="same number of rows; got 4 and 3"):
        boundary_flips(np.eye(4), [0, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        boundary_flips([[np.nan], [1.0]], [0, 1])

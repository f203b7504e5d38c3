import numpy as np
import pandas as pd
import pytest
from attacked_rows import NAMES, make_rows
from hypothesis import given
from hypothesis import strategies as st

from subsvms import adversaries
from subsvms.adversaries import ATTACKS
from subsvms.adversaries._budget import take_highest

KINDS = {
    "int": lambda numbers: numbers - 1,
    "text": lambda numbers: NAMES[numbers],
    "object": lambda numbers: NAMES.astype(object)[numbers],
    "series": lambda numbers: pd.Series(NAMES[numbers], index=range(len(numbers), 0, -1)),
}
RATES, SEEDS = st.floats(0, 0.999), st.integers(0, 999)
WITH_ALPHA = ["directed", "uniform", "boundary", "surest", "greedy"]


def call(name, X, y, **options):
    return adversaries.attack(name, X, y, **({"n_rounds": 2} if name == "greedy" else {}), **options)


@pytest.mark.parametrize("name", ATTACKS)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(5, 40),
    n_classes=st.integers(2, 5),
    budget=st.sampled_from(["error_rate", "rho"]),
    share=RATES,
    seed=SEEDS,
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
@given(st.integers(2, 20), st.integers(0, 20), st.booleans(), RATES, st.floats(0, 1), SEEDS)
def test_alpha_sets_how_many_flips_come_from_each_class(name, smaller, more, first, rho, alpha, seed):
    names = ["rare", "usual"] if first or more == 0 else ["x rare", "usual"]  # sorted first or last
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(names, [smaller, smaller + more]))
    X = rng.random((len(y), 2)) + 0.2 * (y == "usual")[:, None]
    flipped = call(name, X, y, rho=rho, alpha=alpha, random_state=seed).flipped
    n_flips = int(np.floor(rho * smaller + 1e-9))
    assert np.sum(flipped & (y == "usual")) == round(alpha * n_flips)
    assert np.sum(flipped & (y != "usual")) == n_flips - round(alpha * n_flips)


BAD = [
    ({"error_rate": -0.1}, "error_rate must be at least 0 and less than 1; got -0.1: .* of all rows"),
    ({"error_rate": 1.0}, "error_rate must be at least 0 and less than 1; got 1.0"),
    ({"error_rate": np.nan}, "error_rate must be at least 0 and less than 1; got nan"),
    ({"error_rate": "0.1"}, "error_rate must be at least 0 and less than 1; got '0.1'"),
    ({"rho": 1.0}, "rho must be at least 0 and less than 1; got 1.0: .* of the smallest class"),
    ({"rho": -0.1}, "rho must be at least 0 and less than 1; got -0.1"),
    ({"rho": 0.2, "error_rate": 0.1}, "Give error_rate or rho, not both; got 0.1 and 0.2"),
    ({"alpha": 1.1}, "alpha must lie between 0 and 1; got 1.1: with 1,"),
    ({"alpha": np.nan}, "alpha must lie between 0 and 1; got nan"),
]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_budget_out_of_range_is_refused(name, options, message):
    if "alpha" in options and name not in WITH_ALPHA:
        message = f"The attack '{name}' takes .*; got alpha: leave it out"
    with pytest.raises(ValueError, match=message):
        call(name, np.eye(3), [0, 1, 1], **options)


@pytest.mark.parametrize("name", WITH_ALPHA)
def test_alpha_is_refused_without_two_classes_that_have_enough_rows(name):
    with pytest.raises(ValueError, match="with a direction alpha needs labels of two classes; got 3"):
        call(name, np.eye(3), [0, 1, 2], alpha=0.5)
    y = ["no"] * 4 + ["yes"] * 6
    with pytest.raises(ValueError, match="class 'no' must lie between 0 and its 4 rows; got 5: .* alpha"):
        call(name, np.eye(10), y, error_rate=0.5, alpha=0.0)
    assert set(call(name, np.eye(10), y, error_rate=0.4, alpha=0.0).labels) == {"yes"}


@pytest.mark.parametrize("name", ATTACKS)
def test_labels_of_a_single_class_and_missing_or_mixed_ones_are_refused(name):
    for y in (["one"] * 3, [1]):
        with pytest.raises(ValueError, match="_flips needs labels of at least two classes; got 1"):
            call(name, np.eye(len(y)), y)
    mixed = np.array(["a", 1, "b"], dtype=object)
    for y in (["a", None, "b"], [0.0, np.nan, 1.0], pd.Series([0, pd.NA, 1], dtype="Int64"), mixed):
        with pytest.raises(ValueError, match="_flips needs a label for each row, all of one type"):
            call(name, np.eye(3), y)


@pytest.mark.parametrize("name", ["boundary", "surest", "region", "greedy"])
def test_attacks_on_the_features_need_a_finite_row_for_each_label(name):
    with pytest.raises(ValueError, match="same number of rows; got 4 and 3: give"):
        call(name, np.eye(4), [0, 1, 1])
    with pytest.raises(ValueError, match="NaN"):
        call(name, [[np.nan], [1.0]], [0, 1])
    with pytest.raises(ValueError, match=f"The attack '{name}' looks at the features; got no X: give"):
        call(name, None, [0, 1, 1])


def test_the_highest_of_each_group_are_taken_in_order():
    score = np.array([5.0, 1.0, 1.0, 1.0, 9.0, 0.0])
    groups = [(np.array([1, 2, 3]), 2), (np.array([0, 4, 5]), 1), (np.arange(6), 0)]
    assert take_highest(score, groups).tolist() == [1, 2, 4]

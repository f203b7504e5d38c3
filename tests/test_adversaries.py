import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsvms.adversaries import directed_flips


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

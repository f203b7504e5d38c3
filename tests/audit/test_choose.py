import numpy as np

from subsvms.audit import _locate as _choose


def make_found(shares, n_draws=40, seed=0):
    """Return summed chances of a table whose rows have these shares of hits, as if they were known well."""
    rng = np.random.default_rng(seed)
    p = np.clip(np.asarray(shares) + 0.03 * rng.normal(size=(n_draws, 1)), 0.001, 0.999)
    return np.cumsum(p, axis=1)


def test_sizes_of_rings_and_their_power():
    assert _choose.list_sizes(7).size == 0 and _choose.list_sizes(2000)[-1] > 1500
    power = _choose.chance_to_pass(100, 20, 0.025, 0.5)
    assert np.all(np.diff(power) >= 0) and power[20] < 0.025 and power[-1] == 1
    assert np.all(_choose.chance_to_pass(100, 20, 0.025, 2 / 3) <= power)


def test_a_ring_is_chosen_where_most_rows_are_wrong_and_ends_there():
    found = make_found([0.85] * 150 + [0.05] * 450)
    for several in (False, True):
        N, believed = _choose.choose_size(found, 40, 0.05, 0.5, several)
        assert 80 <= N <= 200 and believed.shape == (40,) and believed.mean() > 0.6


def test_no_ring_is_chosen_where_worst_first_is_better():
    assert _choose.choose_size(make_found([0.3] * 600), 40, 0.05, 0.5, False) is None


def test_two_thirds_are_not_sought_where_only_half_are_wrong():
    found = make_found([0.65] * 200 + [0.05] * 400)
    assert _choose.choose_size(found, 100, 0.05, 0.5, False) is not None
    assert _choose.choose_size(found, 100, 0.05, 2 / 3, False) is None


def test_the_divergence_is_zero_at_the_threshold_and_below_it():
    assert _choose.diverge(np.array([0.2, 0.5]), 0.5).tolist() == [0, 0]
    assert _choose.diverge(np.array([0.9]), 0.5) > _choose.diverge(np.array([0.9]), 2 / 3) > 0

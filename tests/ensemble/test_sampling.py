import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import chisquare

from subsvms import LabelCorrector
from subsvms.ensemble import _sampling as _pool
from subsvms.ensemble._sampling import BLOCK, choose_pool_size, class_probabilities, draw_subsets, subset_size

SURE = 1e-6  # how often a correct sampler fails a test


def make_labels(*sizes):
    return np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("rule, n_samples, n_classes, size", [
    *[("log", 1605, 2, 7), ("log", 9888, 2, 9), ("log", 1000, 2, 7)],
    *[("log_squared", 1605, 2, 54), ("log_squared", 9888, 2, 85), ("log_squared", 1000, 2, 48)],
    *[("log_squared", 10_000, 10, 424), ("log_squared", 10_000, 60, 424)],  # 5 times 84.83
    *[("log", 3, 2, 2), ("log_squared", 20, 10, 20)],  # from two to the number of rows
])  # fmt: skip
def test_every_pair_of_up_to_ten_classes_gets_the_papers_size(rule, n_samples, n_classes, size):
    assert subset_size(rule, n_samples, n_classes=n_classes) == size


@pytest.mark.parametrize("rule", ["cubic", 1, -5, 101])
def test_other_sizes_are_refused(rule):
    with pytest.raises(ValueError, match="subsample_size must"):
        subset_size(rule, 100)


@given(sizes=st.lists(st.integers(1, 1000), min_size=2, max_size=6), p=st.floats(0.01, 0.99))
def test_one_half_is_balanced_the_smallest_share_uniform_and_two_classes_follow_definition_5(sizes, p):
    shares = np.array(sizes) / sum(sizes)
    np.testing.assert_allclose(class_probabilities(sizes, 0.5), 1 / len(sizes))
    if len(sizes) > 2 or sizes[0] != sizes[1]:
        np.testing.assert_allclose(class_probabilities(sizes, shares.min()), shares)
    smaller, larger = min(sizes), max(sizes) + 1
    np.testing.assert_allclose(class_probabilities([smaller, larger], p), [p, 1 - p])
    np.testing.assert_allclose(class_probabilities([larger, smaller], p), [1 - p, p])
    try:
        chances = class_probabilities(sizes, p)
    except ValueError:
        assert len(sizes) > 2  # between two classes any p is possible
    else:
        assert np.isclose(chances.sum(), 1) and chances.min() > 0


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.5])
def test_a_bias_must_lie_between_zero_and_one_and_draw_every_class(p):
    with pytest.raises(ValueError, match="between 0 and 1"):
        class_probabilities([3, 4], p)
    with pytest.raises(ValueError, match="no chance"):
        class_probabilities([900, 50, 50], 0.99)


@pytest.mark.parametrize("sizes", [(90, 10), (50, 50), (60, 30, 10)])
@pytest.mark.parametrize("p", [0.5, 0.3, 0.1])
def test_rows_are_drawn_as_often_as_definition_5_says(sizes, p, seed):
    labels = make_labels(*sizes)
    subsets = draw_subsets(labels, 2000, 20, p, seed=seed)
    expected = (class_probabilities(sizes, p) / sizes)[labels] * subsets.size
    assert chisquare(np.bincount(subsets.ravel(), minlength=len(labels)), expected).pvalue > SURE


def test_draws_of_a_subset_are_independent(seed):
    """Consecutive draws give the same row as often as independent ones would."""
    subsets = draw_subsets(make_labels(10, 10), 4000, 10, seed=seed)
    same = np.sum(subsets[:, 1:] == subsets[:, :-1])
    n = subsets[:, 1:].size
    assert abs(same - n / 20) < 5 * np.sqrt(n / 20)


def test_a_block_follows_from_its_seed_and_number_and_not_from_the_number_of_subsets():
    labels = make_labels(30, 70)
    subsets = draw_subsets(labels, 3 * BLOCK - 5, 9, seed=0)
    assert_array_equal(subsets[: BLOCK + 3], draw_subsets(labels, BLOCK + 3, 9, seed=0))
    first, second, other = (_pool.draw_block(labels, 9, 0.5, b, seed=s) for b, s in ((0, 0), (1, 0), (0, 1)))
    assert_array_equal(subsets[BLOCK : 2 * BLOCK], second)
    assert np.mean(first == second) < 0.1 and np.mean(first == other) < 0.1


@pytest.mark.parametrize("sizes", [(30, 70), (50, 50), (20, 30, 50)])
def test_renaming_the_classes_changes_no_subset(sizes):
    labels = np.random.default_rng(0).permutation(make_labels(*sizes))
    renamed = np.roll(np.arange(len(sizes)), 1)[labels]
    np.testing.assert_array_equal(
        draw_subsets(labels, 50, 9, 0.3, seed=0), draw_subsets(renamed, 50, 9, 0.3, seed=0)
    )


def test_a_small_table_is_its_own_pool_and_the_pool_shrinks_to_a_constant_as_tables_grow():
    given = np.arange(1000) % 2
    drawing = _pool.draw_rows(given, 2, seed=0)
    assert drawing.in_pool(np.arange(1000), given).all() and drawing.in_sample(np.arange(1000)).all()
    assert not drawing.capped
    sizes = [choose_pool_size(n) for n in (10**3, 10**4, 10**5, 10**6, 10**8)]
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == sizes[-2] == _pool.POOL_SIZE


def test_a_table_larger_than_the_pool_is_corrected_as_well(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    clean = np.arange(4000) % 2
    X = rng.normal(size=(4000, 3)) + 2 * clean[:, None]
    given = np.where(rng.random(4000) < 0.1, 1 - clean, clean)
    monkeypatch.setattr(_pool, "KERNELS", 0)
    monkeypatch.setattr(_pool, "POOL_SIZE", 500)
    corrector = LabelCorrector(random_state=seed).fit(X, given)
    correction = corrector.correction_
    assert corrector.model_.class_sizes_.tolist() == [250, 250]
    assert len(correction) == 4000 and (correction.labels != clean).mean() < 0.5 * (given != clean).mean()
    assert (correction.votes.n_voters > 0).all()


def test_subsets_leave_out_half_of_the_large_groups_and_are_not_drawn_again_for_small_ones(seed):
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.permutation(np.arange(1000) % 4 == 0).astype(int))
    plain = draw_subsets(labels, 300, 100, seed=seed)
    pairs = np.repeat(np.arange(500), 2)  # most SVMs see neither row of a pair
    assert (draw_subsets(labels, 300, 40, seed=seed, groups=pairs) == plain_of(labels, 40, seed)).all()
    groups = np.where(np.arange(1000) < 400, rng.integers(0, 4, 1000), 10 + np.arange(1000))
    drawn = draw_subsets(labels, 300, 100, seed=seed, groups=groups)
    seen = (groups[drawn][:, :, None] == np.arange(4)).any(axis=1)
    assert (np.abs(seen.mean(axis=0) - 0.5) < 0.1).all()
    kept = groups[plain] >= 10
    assert (drawn[kept] == plain[kept]).all() and (labels[drawn] == labels[plain]).all()


def plain_of(labels, size, seed):
    return draw_subsets(labels, 300, size, seed=seed)


def test_a_class_of_one_group_is_left_out_with_it_and_one_group_cannot_be():
    labels = np.repeat([0, 1], 100)
    groups = np.where(labels == 1, 0, 1 + np.arange(200))
    drawn = draw_subsets(labels, 200, 20, seed=0, groups=groups)
    without = (labels[drawn] == 0).all(axis=1)
    assert 0.3 < without.mean() < 0.7
    assert draw_subsets(labels, 10, 20, seed=0, groups=np.zeros(200, dtype=int)).shape == (10, 20)

"""Samples by smallest hash: right in number, without bias, and the same however the rows are cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from subsvms.app.runs.draw import EMPTY, draw, take_census
from subsvms.ensemble._sampling import draw_rows, hash_rows

VALUES = ["no", "yes", "maybe"]


def test_no_two_rows_share_a_hash_and_seeds_differ():
    rows = np.arange(300_000)
    one, other = hash_rows(rows, 1), hash_rows(rows, 2)
    assert len(np.unique(one)) == len(rows)
    both = (one < 2**62) & (other < 2**62)  # a quarter each, a sixteenth both
    assert abs(np.mean(one < 2**62) - 0.25) < 0.005 and abs(both.mean() - 0.0625) < 0.003
    assert abs(np.corrcoef(one.astype(float), rows)[0, 1]) < 0.01


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 12), st.randoms(use_true_random=False))
def test_parts_in_any_order_give_the_rows_that_a_plain_sort_gives(seed, pool_size, n_parts, random):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 300))
    codes = rng.integers(-1, 3, n)
    codes[:3] = [0, 1, 2]
    rows = np.arange(n)
    cuts = np.sort(rng.integers(0, n + 1, n_parts - 1))
    parts = [
        take_census(VALUES, codes[part], part, seed=seed, pool_size=pool_size)
        for part in np.split(rows, cuts)
    ]
    random.shuffle(parts)
    census = EMPTY
    for part in parts:
        census = census.merge(part, pool_size)
    drawing = draw(
        census, {**dict(zip(VALUES, range(3), strict=True)), None: -1}, seed=seed, pool_size=pool_size
    )

    hashes = hash_rows(rows, seed).tolist()
    most = max(pool_size // 3, 1)
    for c in range(3):
        plain = sorted(rows[codes == c].tolist(), key=lambda row: hashes[row])[:most]
        found = rows[drawing.in_pool(rows, codes) & (codes == c)]
        assert sorted(plain) == found.tolist()
    plain = sorted(rows.tolist(), key=lambda row: hashes[row])[: 4 * pool_size]
    assert sorted(plain) == rows[drawing.in_sample(rows)].tolist()
    assert_array_equal(drawing.sizes, np.bincount(codes[codes >= 0], minlength=3))
    assert drawing.capped == bool(drawing.sizes.max() + drawing.sizes.min() > most)
    whole = draw_rows(codes, 3, seed=seed, pool_size=pool_size)
    for name, value in vars(drawing).items():
        assert_array_equal(getattr(whole, name), value)


def test_the_sample_has_the_shares_of_the_table():
    codes = (np.arange(200_000) % 10 == 0).astype(int)
    census = take_census(VALUES[:2], codes, np.arange(200_000), seed=5, pool_size=5000)
    drawing = draw(census, {"no": 0, "yes": 1}, seed=5, pool_size=5000)
    rows = np.arange(200_000)
    assert abs(codes[drawing.in_sample(rows)].mean() - 0.1) < 0.01
    assert np.bincount(codes[drawing.in_pool(rows, codes)]).tolist() == [2500, 2500]


@pytest.mark.parametrize("pool_size", [2, 20])
def test_a_class_may_be_smaller_than_its_share(pool_size):
    codes = np.array([0] * 50 + [1])
    census = take_census(VALUES[:2], codes, np.arange(51), seed=0, pool_size=pool_size)
    drawing = draw(census, {"no": 0, "yes": 1}, seed=0, pool_size=pool_size)
    assert np.bincount(codes[drawing.in_pool(np.arange(51), codes)]).tolist() == [pool_size // 2, 1]

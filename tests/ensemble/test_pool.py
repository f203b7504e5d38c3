"""In memory, rows are drawn as the census of a table in parts draws them; small tables are used whole."""

import numpy as np
from numpy.testing import assert_array_equal

from subsvms import LabelCorrector
from subsvms.app.runs.draw import draw, take_census
from subsvms.ensemble import _pool
from subsvms.ensemble._pool import choose_pool_size, draw_rows


def test_memory_and_parts_draw_the_same_rows(seed):
    rng = np.random.default_rng(seed)
    given, rows = rng.integers(-1, 3, 5000), np.arange(5000)
    census = take_census(["a", "b", "c"], given, rows, seed=seed, pool_size=300)
    numbers = {"a": 0, "b": 1, "c": 2, None: -1}
    for one, other in zip(
        vars(draw(census, numbers, seed=seed, pool_size=300)).values(),
        vars(draw_rows(given, 3, seed=seed, pool_size=300)).values(),
        strict=True,
    ):
        assert_array_equal(one, other)


def test_a_small_table_is_its_own_pool_and_sample():
    given = np.arange(1000) % 2
    drawing = draw_rows(given, 2, seed=0)
    assert drawing.in_pool(np.arange(1000), given).all() and drawing.in_sample(np.arange(1000)).all()
    assert not drawing.capped


def test_the_pool_shrinks_to_a_constant_as_tables_grow():
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

"""The first pass: labels are counted, rows drawn by smallest hash however they are cut, and kept."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from large_tables import OPTIONS, learn_in_parts, make_columns, set_labels, write_files
from numpy.testing import assert_array_equal

from subsvms.app.runs.engines import LocalEngine
from subsvms.app.runs.learn import EMPTY, draw, load_drawn, save_drawn, survey_source, take_census
from subsvms.app.runs.source import open_source
from subsvms.ensemble._sampling import draw_rows, hash_rows
from subsvms.exceptions import TableError


def survey(where, pool_size=100):
    options = replace(OPTIONS, pool_size=pool_size)
    return survey_source(open_source(where, "label"), options, LocalEngine(2, 3))


def test_minus_zero_is_zero(tmp_path):
    columns = make_columns(600)
    labels = columns["label"].to_pylist()
    values = [1.0 if label == "yes" else (0.0, -0.0)[i % 2] for i, label in enumerate(labels)]
    counts, drawing, _ = survey(write_files(set_labels(columns, values), tmp_path / "big"))
    assert list(counts) == [0.0, 1.0] and drawing.sizes.sum() == 600


@pytest.mark.parametrize("values", [["a", "b", None], [True, False], [1, 2]])
def test_what_was_drawn_can_be_saved_and_loaded(tmp_path, values):
    columns = set_labels(make_columns(600), [values[i % len(values)] for i in range(600)])
    counts, drawing, digest = survey(write_files(columns, tmp_path / "big"), pool_size=100)
    assert load_drawn(tmp_path) is None
    save_drawn(counts, drawing, digest, columns, tmp_path)
    found = load_drawn(tmp_path)
    assert repr(found[0]) == repr(counts)  # True is not 1
    for name, value in vars(drawing).items():
        other = getattr(found[1], name)
        assert type(other) is type(value) and np.all(np.asarray(other == value)), name
        assert getattr(other, "dtype", None) == getattr(value, "dtype", None)
    assert found[2] == digest and found[3].equals(columns)


def test_a_column_with_too_many_values_is_refused_as_soon_as_that_is_known(tmp_path):
    columns = set_labels(make_columns(12_000), [f"name {i}" for i in range(12_000)])
    with pytest.raises(TableError, match="at most 200"):
        learn_in_parts(write_files(columns, tmp_path / "big"))


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
    options = {"seed": seed, "pool_size": pool_size}
    parts = [take_census(VALUES, codes[part], part, **options) for part in np.split(rows, cuts)]
    random.shuffle(parts)
    census = EMPTY
    for part in parts:
        census = census.merge(part, pool_size)
    drawing = draw(census, {"no": 0, "yes": 1, "maybe": 2, None: -1}, **options)
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subsvms.ensemble._sampling.choose_pool_size", lambda n_rows: pool_size)
        whole = draw_rows(codes, 3, seed=seed)
    for name, value in vars(drawing).items():
        assert_array_equal(getattr(whole, name), value)

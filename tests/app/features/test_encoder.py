"""Columns of every kind become features of about the same weight, and so do new rows."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from mixed_tables import N, distances, make_mixed, make_table
from nasty_texts import assert_refused

from subsvms._states import State
from subsvms.app.features.coders import COMPONENTS, FEWEST_COMPONENTS
from subsvms.app.features.columns import find_meaning, read_column
from subsvms.app.features.encoder import ColumnEncoder
from subsvms.app.features.make import make_features
from subsvms.app.tables.table import read_frame, read_table


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A table with columns of every kind, and its features."""
    table = make_mixed(tmp_path_factory.mktemp("mixed"))
    return table, make_features(table)


def read_text(folder, *lines):
    (folder / "new.csv").write_text("\n".join(lines))
    return read_table(folder / "new.csv", None)


def test_every_kind_of_column_becomes_features(mixed):
    made = mixed[1]
    assert made.X.dtype == np.float64 and made.X.shape == (N, len(made.names)) and np.isfinite(made.X).all()
    assert set(made.sources) == {"size", "colour", "flag", "day", "review"}
    assert {"size", "colour=missing", "colour=red", "flag=true", "day", "day year"} <= set(made.names)
    assert 1 < made.sources.count("review") <= COMPONENTS and made.notes == ()
    assert len(set(made.names)) == len(made.names)


def test_columns_of_text_share_the_components(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join("".join(rng.choice(list("abcdefghijk"), 5)) for _ in range(9)) for _ in range(300)]
    for n, each in ((1, COMPONENTS), (2, COMPONENTS // 2), (9, FEWEST_COMPONENTS)):
        frame = pd.DataFrame({f"t{i}": texts[i:] + texts[:i] for i in range(n)})
        made = make_features(read_frame(frame.assign(y=[0, 1] * 150), "y"))
        assert Counter(made.sources) == dict.fromkeys(frame, each)


def test_the_same_rows_give_the_same_features(mixed, tmp_path):
    table, made = mixed
    again = make_features(make_mixed(tmp_path))
    assert again.names == made.names and np.array_equal(again.X, made.X)
    assert np.array_equal(made.transformer.transform(table), made.X)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    some = made.transformer.transform(read_text(tmp_path, lines[0], *lines[5:8]))
    np.testing.assert_allclose(some, made.X[4:7], atol=1e-6)  # in float32 fewer rows round differently


def test_new_rows_may_hold_anything(mixed, tmp_path):
    made = mixed[1]
    odd = ["1,,,,,", "2,\x00é,tomorrow,maybe,mauve,huge", "3,good,1850-01-01,true,red,1e300"]
    X = made.transformer.transform(read_text(tmp_path, "more,review,day,flag,colour,size", *odd))
    factor, size = made.transformer.factor, made.names.index("size")
    assert np.isfinite(X).all() and X[0, size] == X[1, size] == 0 and X[2, size] == factor
    assert np.all(X[1, [name.startswith("colour") for name in made.names]] == 0)
    assert np.abs(X).max() <= 1.01 * factor
    other = read_text(tmp_path, "sise,colour,flag,day,review", "1,2,3,4,5")
    message = "has no column 'size', which the model needs; did you mean 'sise'?"
    assert_refused(message, made.transformer.transform, other)


def test_an_encoder_built_from_its_state_makes_the_same_features(tmp_path, seed):
    made = make_features(make_mixed(tmp_path, seed, holes=["", *np.arange(N - 1) % 7]))
    state = made.transformer.to_state()
    again = ColumnEncoder.from_state(State(json.loads(json.dumps(state.header)), state.arrays))
    rows = [",,,,,", "\x00é,tomorrow,maybe,mauve,huge,x", "bad,1850-01-01,true,red,1e300,1"]
    odd = read_text(tmp_path, "review,day,flag,colour,size,holes", *rows)
    for table in (make_mixed(tmp_path, seed + 1, holes=np.arange(N)), odd):
        assert np.array_equal(again.transform(table), made.transformer.transform(table))


def test_numbers_have_a_range_of_about_one_whatever_their_unit(tmp_path, seed):
    rng = np.random.default_rng(seed)
    cells = {"normal": rng.normal(size=N), "big": 1e9 + rng.uniform(size=N) * 1e3}
    cells["skewed"] = rng.lognormal(0, 2, N)
    cells["outlier"] = np.where(np.arange(N) == 7, 1e12, rng.normal(size=N))
    cells["mostly zero"] = np.where(rng.random(N) < 0.03, rng.uniform(1, 2, N), 0)
    X = make_features(make_table(tmp_path, **cells)).X
    assert X.shape == (N, 5) and np.abs(X).max() <= 1.0
    spread = np.subtract(*np.percentile(X[:, :4], (95, 5), axis=0))
    np.testing.assert_allclose(spread, 1.0, atol=0.05)  # clipping shortens skewed columns a little
    assert np.ptp(X[:, 4]) > 0.5
    Z = make_features(make_table(tmp_path, a=cells["normal"] * 1e6 - 3e9)).X  # in another unit
    np.testing.assert_allclose(Z[:, 0], X[:, 0], atol=1e-6)
    made = make_features(make_table(tmp_path, a=np.arange(N) * 1e-12))
    X = made.transformer.transform(read_text(tmp_path, "a", "1e300", "-1e300"))
    assert X.ravel().tolist() == [1.0, -1.0]  # without a warning


def test_no_column_dominates_another_and_the_default_kernel_width_suits_all(tmp_path, seed):
    rng = np.random.default_rng(seed)
    table = make_mixed(tmp_path, seed, big=rng.uniform(size=N), city=rng.choice(list("abcdefghijkl"), N))
    made = make_features(table)
    share = {
        source: 2 * made.X[:, [other == source for other in made.sources]].var(axis=0).sum()
        for source in set(made.sources)
    }
    fair = np.mean(list(share.values()))
    assert all(fair / 5 < one < 5 * fair for one in share.values()), share
    for X in (made.X, make_features(table, exclude=["big", "city"]).X, make_features(table, only=["size"]).X):
        exponents = distances(X) / X.shape[1]
        assert 0.1 < exponents.mean() < 0.6 and exponents.max() <= 4.0


def test_categories_that_differ_are_equally_far_apart(tmp_path):
    cells = np.array(["a", "b", "c", "c", "c"] * 40)
    made = make_features(make_table(tmp_path, c=cells))
    squared = distances(made.X)[:3, :3] / made.transformer.factor**2
    np.testing.assert_allclose(squared, 0.5 * (1 - np.eye(3)), atol=1e-6)
    two = make_features(make_table(tmp_path, c=(cells == "a").astype(int), d=cells == "a"))
    squared = (two.X[0] - two.X[1]) ** 2 / two.transformer.factor**2
    np.testing.assert_allclose([squared[0], squared[1:].sum()], 0.5, atol=1e-6)


def test_missing_values_are_filled_and_frequent_ones_marked(tmp_path):
    cells = np.array([""] * 20 + ["?"] * 10 + [str(i * i % 97) for i in range(N - 30)])
    rare = np.array(["NA", *(str(i % 9) for i in range(N - 1))])
    made = make_features(make_table(tmp_path, a=cells, b=rare))
    assert made.names == ("a", "a=missing", "b")
    marked = made.X[:, 1] > 0
    assert marked.sum() == 30 and np.all(made.X[marked, 0] == 0) and made.X[0, 2] == 0


def test_texts_are_as_far_apart_as_categories_and_none_is_an_outlier(tmp_path):
    rng = np.random.default_rng(0)
    cells = [" ".join(rng.choice(["good", "bad", "slow", "quick", "cheap", "dear"], 6)) for _ in range(N)]
    made = make_features(make_table(tmp_path, a=cells))
    np.testing.assert_allclose(distances(made.X).mean() / made.transformer.factor**2, 0.5, rtol=0.1)
    made = make_features(make_table(tmp_path, a=[*cells[:50], *["same"] * (N - 50)]))
    assert np.linalg.norm(made.X, axis=1).max() <= (1 + 1e-9) * made.transformer.factor


def test_decimal_commas_are_understood_where_semicolons_separate(tmp_path):
    lines = [f"{i % 13},{i % 7}25;{'ab'[i % 2]}" for i in range(N)]
    (tmp_path / "t.csv").write_text("\n".join(["amount;label", *lines]))
    table = read_table(tmp_path / "t.csv", "label")
    made = make_features(table)
    assert made.names == ("amount",) and np.array_equal(made.transformer.transform(table), made.X)
    meaning = find_meaning(table.columns["amount"], table.decimal_comma)
    assert read_column(table.columns["amount"], meaning)[:2].tolist() == [0.025, 1.125]


def test_text_as_version_0_1_0_encoded_it_is_refused(mixed):
    header, arrays = mixed[1].transformer.to_state()
    older = json.loads(json.dumps(header).replace('"ngrams"', '"letters"'))
    with pytest.raises(ValueError, match="encodes otherwise: train the model again"):
        ColumnEncoder.from_state(State(older, arrays))

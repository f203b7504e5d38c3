"""Columns of every kind become features of about the same weight, and what is odd is told."""

import json

import numpy as np
import pyarrow as pa
import pytest
from mixed_tables import N, distances, make_mixed, make_table
from pyarrow import parquet

from subsvms._states import State
from subsvms.app.features import coders, encoder
from subsvms.app.features import make as features
from subsvms.app.features.columns import find_meaning, read_column
from subsvms.app.features.make import make_features
from subsvms.app.tables.table import read_table
from subsvms.exceptions import TableError


def test_every_kind_of_column_becomes_features(tmp_path):
    made = make_features(make_mixed(tmp_path))
    assert made.X.dtype == np.float64 and made.X.shape == (N, len(made.names))
    assert np.isfinite(made.X).all()
    assert set(made.sources) == {"size", "colour", "flag", "day", "review"}
    assert {"size", "colour=missing", "colour=red", "flag=true", "day", "day year"} <= set(made.names)
    assert made.sources.count("review") == coders.COMPONENTS
    assert len(set(made.names)) == len(made.names)
    assert made.notes == ()


def test_the_same_file_gives_the_same_matrix(tmp_path):
    first, second = (make_features(make_mixed(tmp_path)) for _ in range(2))
    assert first.names == second.names and np.array_equal(first.X, second.X)


def test_new_rows_become_the_same_features(tmp_path):
    table = make_mixed(tmp_path)
    made = make_features(table)
    assert np.array_equal(made.transformer.transform(table), made.X)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0], *lines[5:8]]))
    again = made.transformer.transform(read_table(tmp_path / "new.csv", None))
    np.testing.assert_allclose(again, made.X[4:7], atol=1e-6)  # in float32 fewer rows round otherwise


def test_new_rows_may_hold_anything(tmp_path):
    made = make_features(make_mixed(tmp_path))
    header = "more,review,day,flag,colour,size"
    odd = ["1,,,,,", "2,\x00é,tomorrow,maybe,mauve,huge", "3,good,1850-01-01,true,red,1e300"]
    (tmp_path / "new.csv").write_text("\n".join([header, *odd]))
    X = made.transformer.transform(read_table(tmp_path / "new.csv", None))
    factor = made.transformer.factor
    assert np.isfinite(X).all()
    size = made.names.index("size")
    assert X[0, size] == X[1, size] == 0 and X[2, size] == factor
    assert np.all(X[1, [name.startswith("colour") for name in made.names]] == 0)
    assert np.abs(X).max() <= 1.01 * factor
    (tmp_path / "new.csv").write_text("sise,colour,flag,day,review\n1,2,3,4,5\n")
    with pytest.raises(TableError) as error:
        made.transformer.transform(read_table(tmp_path / "new.csv", None))
    assert str(error.value).endswith("has no column 'size', which the model needs; did you mean 'sise'?")


def test_an_encoder_built_from_its_state_makes_the_same_features(tmp_path, seed):
    made = make_features(make_mixed(tmp_path, seed, holes=["", *np.arange(N - 1) % 7]))
    state = made.transformer.to_state()
    header = json.loads(json.dumps(state.header))
    again = encoder.ColumnEncoder.from_state(State(header, state.arrays))
    rows = [",,,,,", "\x00é,tomorrow,maybe,mauve,huge,x", "bad,1850-01-01,true,red,1e300,1"]
    (tmp_path / "new.csv").write_text("\n".join(["review,day,flag,colour,size,holes", *rows]))
    for table in (make_mixed(tmp_path, seed + 1, holes=np.arange(N)), read_table(tmp_path / "new.csv", None)):
        assert np.array_equal(again.transform(table), made.transformer.transform(table))
    assert again.n_features == len(made.names)


def test_numbers_beyond_all_others_are_cut_without_a_warning(tmp_path):
    made = make_features(make_table(tmp_path, a=np.arange(N) * 1e-12))
    (tmp_path / "new.csv").write_text("a\n1e300\n-1e300\n")
    X = made.transformer.transform(read_table(tmp_path / "new.csv", None))
    assert X.ravel().tolist() == [1.0, -1.0]


def test_numbers_have_a_range_of_about_one_whatever_their_unit(tmp_path, seed):
    rng = np.random.default_rng(seed)
    cells = {
        "normal": rng.normal(size=N),
        "big": 1e9 + rng.uniform(size=N) * 1e3,
        "skewed": rng.lognormal(0, 2, N),
    }
    cells["outlier"] = np.where(np.arange(N) == 7, 1e12, rng.normal(size=N))
    cells["mostly zero"] = np.where(rng.random(N) < 0.03, rng.uniform(1, 2, N), 0)
    X = make_features(make_table(tmp_path, **cells)).X
    assert X.shape == (N, 5)
    assert np.abs(X).max() <= 1.0
    spread = np.subtract(*np.percentile(X[:, :4], (95, 5), axis=0))
    np.testing.assert_allclose(spread, 1.0, atol=0.05)  # the cut at one shortens skewed columns a little
    assert np.ptp(X[:, 4]) > 0.5


def test_shifting_and_scaling_a_column_changes_nothing(tmp_path, seed):
    values = np.random.default_rng(seed).integers(0, 1000, N).astype(float)
    X, Z = (make_features(make_table(tmp_path, a=cells)).X for cells in (values, values * 1e6 - 3e9))
    np.testing.assert_allclose(X, Z, atol=1e-6)


def test_no_column_drowns_another(tmp_path, seed):
    """On average over pairs of rows each column has between a fifth and five times its fair share."""
    rng = np.random.default_rng(seed)
    made = make_features(
        make_mixed(tmp_path, seed, big=rng.uniform(size=N), city=rng.choice(list("abcdefghijkl"), N))
    )
    share = {
        source: 2 * made.X[:, [other == source for other in made.sources]].var(axis=0).sum()
        for source in set(made.sources)
    }
    fair = np.mean(list(share.values()))
    assert all(fair / 5 < one < 5 * fair for one in share.values()), share


def test_the_default_width_of_the_kernel_makes_sense(tmp_path, seed):
    """Two rows are as alike as in a table of numbers with range one, however many features there are."""
    for made in (
        make_features(make_mixed(tmp_path, seed)),
        make_features(make_mixed(tmp_path, seed), only=["size"]),
    ):
        exponents = distances(made.X) / made.X.shape[1]
        assert 0.1 < exponents.mean() < 0.6
        assert exponents.max() <= 4.0


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
    assert marked.sum() == 30 and np.all(made.X[marked, 0] == 0)
    assert made.X[0, 2] == 0


def test_a_few_words_among_numbers_are_told(tmp_path):
    cells = ["unknown", "n.a.", *(f"{i % 17}.5" for i in range(N - 2))]
    made = make_features(make_table(tmp_path, a=cells))
    assert made.notes == (
        "In the column 'a' 2 of 200 values, such as 'unknown', are no numbers and count as missing.",
    )


def test_constant_columns_and_identifiers_are_dropped_and_told(tmp_path):
    rng = np.random.default_rng(0)
    more = {
        "": np.arange(N),
        "constant": ["x"] * N,
        "nothing": [""] * N,
        "code": [f"k{i:05}" for i in rng.permutation(N)],
        "person": [f"Anna {i}" for i in range(N)],
        "shuffled": rng.permutation(N) + 1000,
        "rising": np.cumsum(rng.integers(1, 9, N)),
        "customerId": rng.choice(10**8, N, replace=False),
        "income": rng.choice(10**8, N, replace=False),
    }
    made = make_features(make_mixed(tmp_path, **more))
    assert set(made.sources) == {"size", "colour", "flag", "day", "review", "income"}
    assert made.notes == (
        "Not used: the columns '', 'code', 'person', 'shuffled', 'rising', 'customerId' each never repeats a "
        "value, as identifiers do.",
        "Not used: the columns 'constant', 'nothing' each holds one value only or nothing.",
    )
    wanted = make_features(make_mixed(tmp_path, **more), only=["rising", "code"])
    assert set(wanted.sources) == {"rising", "code"} and wanted.notes == ()


def test_a_column_that_gives_the_label_away_is_told_but_kept(tmp_path):
    rng = np.random.default_rng(0)
    label = rng.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
    number = np.searchsorted(["a", "b", "c"], label)
    cells = {
        "copy": np.array(["x", "y", "z"])[number],
        "finer": 2 * number + rng.integers(0, 2, N),
        "score": (number + rng.uniform(0, 0.9, N)).round(4),
        "good": np.where(rng.random(N) < 0.8, number, rng.integers(0, 3, N)),
        "noise": rng.normal(size=N),
    }
    made = make_features(make_table(tmp_path, label, **cells))
    assert {"copy", "finer", "score", "good", "noise"} == set(made.sources)
    told = [note.split("'")[1] for note in made.notes]
    assert told == ["copy", "finer", "score"]
    assert (
        "each of its values goes with one label, and each label with one value; exclude it" in made.notes[0]
    )
    assert "its values tell 100.0% of the labels" in made.notes[1]
    assert "sorted by its values, the rows are nearly sorted by label" in made.notes[2]
    made = make_features(make_table(tmp_path, label, **cells), exclude=["copy", "finer", "score"])
    assert made.notes == () and set(made.sources) == {"good", "noise"}


def test_decimal_commas_are_understood_where_semicolons_separate(tmp_path):
    lines = [f"{i % 13},{i % 7}25;{'ab'[i % 2]}" for i in range(N)]
    (tmp_path / "t.csv").write_text("\n".join(["amount;label", *lines]))
    made = make_features(read_table(tmp_path / "t.csv", "label"))
    assert made.names == ("amount",)
    table = read_table(tmp_path / "t.csv", "label")
    meaning = find_meaning(table.columns["amount"], decimal_comma=True)
    assert read_column(table.columns["amount"], meaning)[:2].tolist() == [0.025, 1.125]


def test_typed_columns_are_used_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    moments = pa.array(rng.integers(0, 10**9, N), pa.timestamp("s", "Europe/Berlin"))
    data = {
        "i": pa.array(rng.integers(0, 99, N), pa.int16()),
        "f": pa.array(np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N))),
        "decimal": pa.array([int(x) for x in rng.integers(0, 99, N)], pa.decimal128(9, 2)),
        "b": pa.array(rng.random(N) < 0.5),
        "c": pa.array(rng.choice(["u", "v"], N)).dictionary_encode(),
        "when": moments,
        "day": moments.cast(pa.timestamp("s")).cast(pa.date32()),
        "clock": pa.array(rng.integers(0, 86400, N).astype(np.int32), pa.time32("s")),
        "while": pa.array(rng.integers(0, 86400, N), pa.duration("s")),
        "list": pa.array([[1.0]] * N),
        "y": pa.array(rng.choice(["p", "q"], N)),
    }
    parquet.write_table(pa.table(data), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "y")
    made = make_features(table)
    assert set(made.sources) == set(data) - {"list", "y"}
    assert made.notes == ("Not used: the column 'list' holds neither numbers, text nor dates.",)
    assert np.isfinite(made.X).all() and "f=missing" in made.names and "b=true" in made.names
    assert np.array_equal(made.transformer.transform(table), made.X)


def test_column_names_may_be_odd(tmp_path):
    odd = {"": 1, "a=b": 2, "0": 3, "0_x": 4, "ä, ö": 5, "missing": 6, "<script>": 7, "x" * 5000: 8}
    cells = {name: np.array(["x", "y", ""])[np.arange(N) // k % 3] for name, k in odd.items()}
    made = make_features(make_table(tmp_path, **cells))
    assert set(made.sources) == set(odd) and len(made.names) == 3 * len(odd)


def test_texts_are_as_far_apart_as_categories_and_none_is_far_out(tmp_path):
    rng = np.random.default_rng(0)
    cells = [" ".join(rng.choice(["good", "bad", "slow", "quick", "cheap", "dear"], 6)) for _ in range(N)]
    made = make_features(make_table(tmp_path, a=cells))
    np.testing.assert_allclose(distances(made.X).mean() / made.transformer.factor**2, 0.5, rtol=0.1)
    made = make_features(make_table(tmp_path, a=[*cells[:50], *["same"] * (N - 50)]))
    assert np.linalg.norm(made.X, axis=1).max() <= (1 + 1e-9) * made.transformer.factor


def test_texts_of_few_letters_give_no_warning(tmp_path):
    rng = np.random.default_rng(0)
    cells = [" ".join(rng.choice(list("abcd"), 6)) for _ in range(N)]
    made = make_features(make_table(tmp_path, a=cells))
    assert 1 < made.X.shape[1] <= coders.COMPONENTS
    assert np.isfinite(made.X).all()


def test_wrong_names_get_the_nearest_one(tmp_path):
    table = make_mixed(tmp_path)
    for options, message in (
        ({"exclude": ["Size "]}, "exclude names 'Size ', which is no column of {}; did you mean 'size'?"),
        ({"only": ["weight"]}, "only names 'weight', which is no column of {}."),
        ({"only": ["label"]}, "'label' is the label of {}, so it cannot be a feature, too."),
        ({"only": "size"}, "only must be a list of column names; got the text 'size'."),
    ):
        with pytest.raises(TableError) as error:
            make_features(table, **options)
        assert str(error.value) == message.format(table.name)
    made = make_features(table, only=["size", "colour"], exclude=["size", "label"])
    assert set(made.sources) == {"colour"}


def test_no_features_at_all_is_told(tmp_path):
    table = make_table(tmp_path, id=np.arange(N), c=["x"] * N)
    with pytest.raises(TableError) as error:
        make_features(table)
    assert str(error.value) == (
        f"No column of {table.name} is left to learn from: the column 'id' never repeats a value, as "
        "identifiers do; the column 'c' holds one value only or nothing; add some, or embeddings."
    )
    with pytest.raises(TableError, match="there are none but the label and those excluded"):
        make_features(table, exclude=["id", "c"])


def test_it_has_an_example():
    assert ">>>" in features.make_features.__doc__ and ">>>" in encoder.fit_encoder.__doc__


def test_a_ready_made_feature_that_gives_the_label_away_is_told(tmp_path):
    rng = np.random.default_rng(0)
    y = np.repeat([1, -1], 50)
    values = rng.normal(0, 1, (100, 3))
    values[:, 1] = y + rng.normal(0, 0.05, 100)
    lines = [
        f"{label:+d} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(row, 1))
        for label, row in zip(y, values, strict=True)
    ]
    (tmp_path / "t.libsvm").write_text("\n".join(lines))
    (note,) = make_features(read_table(tmp_path / "t.libsvm", "label")).notes
    assert "feature '2' may give the label away" in note
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *(f"{i % 7},{label}" for i, label in enumerate(y))]))
    np.save(tmp_path / "e.npy", values)
    table = read_table(tmp_path / "t.csv", "y")
    (note,) = make_features(table, features=tmp_path / "e.npy").notes
    assert "'e.npy[1]' may give the label away" in note
    np.save(tmp_path / "e.npy", values[:, ::2])
    assert make_features(table, features=tmp_path / "e.npy").notes == ()

"""Which columns of a table become features, and the notes on the others."""

import numpy as np
import pyarrow as pa
import pytest
from mixed_tables import N, make_mixed, make_table
from pyarrow import parquet

from subsvms._effort import listening
from subsvms.app.features.make import make_features
from subsvms.app.tables.table import read_table
from subsvms.exceptions import TableError


def test_a_few_words_among_numbers_get_a_note(tmp_path):
    cells = ["unknown", "n.a.", *(f"{i % 17}.5" for i in range(N - 2))]
    assert make_features(make_table(tmp_path, a=cells)).notes == (
        "In the column 'a', 2 of 200 values, such as 'unknown', are not numbers and count as missing.",
    )


def test_constant_columns_and_identifiers_are_dropped_with_a_note(tmp_path):
    rng = np.random.default_rng(0)
    cells = {
        "": np.arange(N),
        "constant": ["x"] * N,
        "nothing": [""] * N,
        "code": [f"k{i:05}" for i in rng.permutation(N)],
        "person": [f"Anna {i}" for i in range(N)],
        "shuffled": rng.permutation(N) + 1000,
        "rising": np.cumsum(rng.integers(1, 9, N)),
        "customerId": rng.choice(10**8, N, replace=False),
        "income": rng.choice(10**8, N, replace=False),
        "price": np.sort(rng.choice(10**6, N, replace=False)),  # the table is sorted by it
        "weight": np.arange(N) + 0.5,
    }
    table = make_table(tmp_path, **cells)
    made = make_features(table)
    assert set(made.sources) == {"income", "price", "weight"}
    assert made.notes == (
        "Not used: the columns '', 'code', 'person', 'shuffled', 'rising', 'customerId' never repeat a "
        "value, as identifiers do (to use one: keep).",
        "Not used: the columns 'constant', 'nothing' hold only one value or none.",
    )
    wanted = make_features(table, only=["rising", "code"])
    assert set(wanted.sources) == {"rising", "code"} and wanted.notes == ()


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
    assert made.notes == ("Not used: the column 'list' holds values other than numbers, text and dates.",)
    assert np.isfinite(made.X).all() and "f=missing" in made.names and "b=true" in made.names
    assert np.array_equal(made.transformer.transform(table), made.X)


def test_column_names_may_be_odd(tmp_path):
    odd = {"": 1, "a=b": 2, "0": 3, "0_x": 4, "ä, ö": 5, "missing": 6, "<script>": 7, "x" * 5000: 8}
    cells = {name: np.array(["x", "y", ""])[np.arange(N) // k % 3] for name, k in odd.items()}
    made = make_features(make_table(tmp_path, **cells))
    assert set(made.sources) == set(odd) and len(made.names) == 3 * len(odd)


def test_wrong_names_are_refused_with_the_nearest_one(tmp_path):
    table = make_mixed(tmp_path)
    for options, message in (
        ({"exclude": ["Size "]}, "exclude names 'Size ', which is not a column of {}; did you mean 'size'?"),
        ({"only": ["weight"]}, "only names 'weight', which is not a column of {}."),
        ({"only": ["label"]}, "'label' is the label of {}, so it cannot also be a feature."),
        ({"only": "size"}, "only must be a list of column names; got the text 'size'."),
    ):
        with pytest.raises(TableError) as error:
            make_features(table, **options)
        assert str(error.value) == message.format(table.name)
    made = make_features(table, only=["size", "colour"], exclude=["size", "label"])
    assert set(made.sources) == {"colour"}


def test_a_table_without_useful_columns_is_refused_with_the_reasons(tmp_path):
    table = make_table(tmp_path, id=np.arange(N), c=["x"] * N)
    with pytest.raises(TableError) as error:
        make_features(table)
    assert str(error.value) == (
        f"{table.name} has no column to learn from: the column 'id' never repeats a value, as identifiers "
        "do (to use one: keep); the column 'c' holds only one value or none; add columns or embeddings."
    )
    with pytest.raises(TableError, match="it has only the label and excluded columns"):
        make_features(table, exclude=["id", "c"])


def test_progress_is_reported_column_by_column(tmp_path):
    table = make_table(tmp_path, a=np.arange(N) % 7, b=np.arange(N) % 5)
    seen = []
    with listening(lambda *progress: seen.append(progress)):
        make_features(table)
    assert seen == [("making features", 0, 3), ("making features", 1, 3)]

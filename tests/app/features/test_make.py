"""Which columns of a table become features, what is said of the others, and what became of each."""

import numpy as np
import pyarrow as pa
import pytest
from mixed_tables import N, make_mixed, make_table
from nasty_texts import assert_refused
from pyarrow import parquet
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from subsvms._effort import listening
from subsvms.app.features.make import LEFT_OUT, REASONS, USES, describe_columns, make_features
from subsvms.app.tables.table import read_table


def test_a_few_words_among_numbers_get_a_note(tmp_path):
    cells = ["unknown", "n.a.", *(f"{i % 17}.5" for i in range(N - 2))]
    (note,) = make_features(make_table(tmp_path, a=cells)).notes
    assert note.startswith("In the column 'a', 2 of 200 values, such as 'unknown', are not numbers and count")


def test_of_a_very_long_cell_only_the_beginning_is_looked_at(tmp_path):
    words = [f"some words on row {row} that is long" for row in range(60)]
    first, more = " ".join(words) * 50, " further" * 1_250_000
    long = [(words[:4] + [end] + words[4:]) for end in (first[:60] + more[: 100_000 - 60], first[:60] + more)]
    tables = [make_table(tmp_path, ["a", "b", "b"] * 20 + ["a"], text=texts) for texts in long]
    cut, whole = map(make_features, tables)
    np.testing.assert_array_equal(cut.X, whole.X)
    (note,) = (note for note in whole.notes if note.kind == "long_cells")
    assert str(note) == "Of 1 of the cells of 'text', only the first 100,000 characters are looked at."


def test_constant_columns_and_identifiers_are_dropped_with_a_note(tmp_path):
    rng = np.random.default_rng(0)
    cells = {
        "": np.arange(N), "constant": ["x"] * N, "nothing": [""] * N,
        "code": [f"k{i:05}" for i in rng.permutation(N)], "person": [f"Anna {i}" for i in range(N)],
        "shuffled": rng.permutation(N) + 1000, "rising": np.cumsum(rng.integers(1, 9, N)),
        "customerId": rng.choice(10**8, N, replace=False), "income": rng.choice(10**8, N, replace=False),
        "price": np.sort(rng.choice(10**6, N, replace=False)),  # the table is sorted by it
        "weight": np.arange(N) + 0.5,
    }  # fmt: skip
    table = make_table(tmp_path, **cells)
    made = make_features(table)
    assert set(made.sources) == {"income", "price", "weight"}
    assert made.notes == (
        "Not used: the columns '', 'code', 'person', 'shuffled', 'rising', 'customerId' never repeat a "
        "value, as identifiers do (to use one: keep).",
        "Not used: the columns 'constant', 'nothing' hold only one value or none.",
    )
    seen = []
    with listening(lambda *progress: seen.append(progress)):
        wanted = make_features(table, only=["rising", "code"])
    assert set(wanted.sources) == {"rising", "code"} and wanted.notes == ()
    assert seen == [("making features", 0, 3), ("making features", 1, 3)]


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
        ({"keep": ["weight"]}, "keep names 'weight', which is not a column of {}: its columns are"),
        ({"only": ["label"]}, "only names 'label', which is the label of {}: choose another column."),
        ({"only": "size"}, "only must be a list of column names; got the text 'size'."),
    ):
        assert_refused(message.format(table.name), make_features, table, **options)
    assert set(make_features(table, only=["size", "colour"], exclude=["size"]).sources) == {"colour"}


def test_a_table_without_useful_columns_is_refused_with_the_reasons(tmp_path):
    table = make_table(tmp_path, id=np.arange(N), c=["x"] * N)
    message = "(to use one: keep); the column 'c' holds only one value or none; add columns or embeddings."
    assert_refused(message, make_features, table)
    message = "it has only the label and excluded columns"
    assert_refused(message, make_features, table, exclude=["id", "c"])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("describe") / "t.csv"
    lines = ["id,size,colour,place,day,land,who,note,code,y"]
    for i in range(120):
        day = f"2020-{i % 12 + 1:02d}-0{i % 9 + 1}"
        cells = [
            f"k{i}", i % 7 + i / 500, ("red", "blue")[i // 2 % 2], f"Town {i % 50}x", day, "PT",
            ("ann", "bob")[i % 2], i % 3, "AB"[i % 2], "ab"[i % 2],
        ]  # fmt: skip
        lines.append(",".join(map(str, cells)))
    path.write_text("\n".join(lines))
    return read_table(path, "y")


def list_names(lines):
    return {(line["use"], line["how"]): [name for name, _ in line["columns"]] for line in lines}


def test_every_column_but_the_label_is_named_once(table):
    made = make_features(table, exclude=["who", "note"])
    found = describe_columns(made, {"who": "by"})
    left_out = {"constant": "land", "identifier": "id", "leak": "code", "asked": "note", "by": "who"}
    assert list_names(found) == {
        USES["number"]: ["size"], ("Categories", "a feature for each category"): ["colour"],
        ("Text", "groups of 2 to 4 letters, condensed to at most 100 features"): ["place"],
        ("Dates", "the time as a number, and the parts of the calendar"): ["day"],
    } | {(None, LEFT_OUT[why]): [name] for why, name in left_out.items()}  # fmt: skip
    assert sum(count for line in found for _, count in line["columns"]) == made.X.shape[1]
    names = [name for line in found for name, _ in line["columns"]]
    assert sorted(names) == sorted(set(table.columns.column_names) - {"y"})


def test_ready_made_features_are_described(table, tmp_path):
    rng = np.random.default_rng(0)
    (line,) = describe_columns(make_features(table, features=rng.normal(size=(120, 3))))
    assert line["use"] == "Ready-made features" and len(line["columns"]) == 3
    X = sparse.random(60, 8, density=0.5, random_state=rng, format="csr")
    dump_svmlight_file(X, rng.integers(2, size=60), str(tmp_path / "t.svm"))
    (line,) = describe_columns(make_features(read_table(tmp_path / "t.svm", "label")))
    assert line["use"] == "Numbers" and "zeros stay zeros" in line["how"] and len(line["columns"]) == 8


def test_columns_that_an_option_names_are_said_to_be_left_out(table):
    found = list_names(describe_columns(make_features(table, only=["size"])))
    assert found[USES["number"]] == ["size"]
    assert found[None, LEFT_OUT["asked"]] == ["id", "colour", "place", "day", "land", "who", "note", "code"]
    assert {*REASONS, "leak", "asked", "by"} <= set(LEFT_OUT)
    found = list_names(describe_columns(make_features(table, exclude=["id", "note"]), {"id": "id"}))
    assert found[None, "names the rows (id_column)"] == ["id"] and found[None, LEFT_OUT["asked"]] == ["note"]

import numpy as np
import pytest
from scipy import sparse

from subsvms.app.features.make import LEFT_OUT, REASONS, USES, describe_columns, make_features
from subsvms.app.tables.table import read_table


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
    found = describe_columns(made, by=["who"])
    assert list_names(found) == {
        USES["number"]: ["size"],
        ("Categories", "a feature for each category"): ["colour"],
        ("Text", "groups of 3 and 4 letters, condensed to at most 30 features"): ["place"],
        ("Dates", "the time as a number, and the parts of the calendar"): ["day"],
        (None, LEFT_OUT["constant"]): ["land"],
        (None, LEFT_OUT["identifier"]): ["id"],
        (None, LEFT_OUT["leak"]): ["code"],
        (None, LEFT_OUT["asked"]): ["note"],
        (None, LEFT_OUT["by"]): ["who"],
    }
    n_features = sum(count for line in found for _, count in line["columns"])
    assert n_features == made.X.shape[1]
    names = [name for line in found for name, _ in line["columns"]]
    assert sorted(names) == sorted(set(table.columns.column_names) - {"y"})


def test_with_only_some_columns_the_others_are_left_out(table):
    found = list_names(describe_columns(make_features(table, only=["size"])))
    assert found[USES["number"]] == ["size"]
    assert found[None, LEFT_OUT["asked"]] == ["id", "colour", "place", "day", "land", "who", "note", "code"]


def test_every_reason_has_words():
    assert {*REASONS, "leak", "asked", "by"} <= set(LEFT_OUT)


def test_ready_made_features_are_described(table, tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(120, 3)))
    (line,) = describe_columns(make_features(table, features=tmp_path / "X.npy"))
    assert line["use"] == "Ready-made features" and len(line["columns"]) == 3


def test_sparse_columns_are_described(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    rng = np.random.default_rng(0)
    X = sparse.random(60, 8, density=0.5, random_state=rng, format="csr")
    dump_svmlight_file(X, rng.integers(2, size=60), str(tmp_path / "t.svm"))
    (line,) = describe_columns(make_features(read_table(tmp_path / "t.svm", "label")))
    assert line["use"] == "Numbers" and "zeros stay zeros" in line["how"] and len(line["columns"]) == 8


def test_the_column_that_names_the_rows_is_said_to(table):
    found = list_names(describe_columns(make_features(table, exclude=["id", "note"]), id_column="id"))
    assert found[None, "names the rows (id_column)"] == ["id"] and found[None, LEFT_OUT["asked"]] == ["note"]

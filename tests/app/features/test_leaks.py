"""Columns that give the label away are left out, excellent features are not, and either is said."""

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import assert_refused
from pyarrow import parquet
from sklearn.datasets import dump_svmlight_file

from subsvms.app.features.leaks import Leak, find_leak, is_answer, is_left_out
from subsvms.app.features.make import make_features
from subsvms.app.tables.table import read_table

N = 600


def test_dates_beyond_those_of_python_are_no_answers():
    days = pa.array([2**31 - 1, 0] * 50, pa.int32()).cast(pa.date32())
    assert not is_answer(pa.chunked_array([days]), "rater", np.tile([0, 1], 50), ["no", "yes"])


@pytest.mark.parametrize("p", [0.5, 0.03])
def test_leaks_are_found_despite_a_few_wrong_labels_and_chance_is_not_a_leak(seed, p):
    rng = np.random.default_rng(seed)
    labels = (rng.random(5000) < p).astype(int)
    leak = np.where(np.arange(5000) == np.flatnonzero(labels)[0], 0, labels)
    found = find_leak(leak.astype(float), labels)
    assert found and found.is_code and 0 < found.missed < 0.02
    found = find_leak(labels + rng.uniform(0, 1, 5000), labels)
    assert found and found.missed == 0 and not found.is_code
    assert find_leak(leak.astype(float), np.where(rng.random(5000) < 0.1, -1, labels))
    assert find_leak(np.where(rng.random(5000) < 0.9, labels, 1.0 - labels), labels) is None
    assert find_leak(rng.normal(labels, 0.5), labels) is None
    assert find_leak(rng.integers(0, 4000, 5000).astype(str).astype(object), labels) is None
    assert find_leak(np.array([f"k{i}" for i in range(5000)], dtype=object), labels) is None
    assert find_leak(labels[:19].astype(float), labels[:19]) is None


def test_a_code_may_be_missing_in_some_rows():
    labels = np.arange(600) % 3
    code = np.array(["x", "y", "z"], dtype=object)[labels]
    code[0] = None
    assert find_leak(code, labels) == Leak("its values determine 99.8 % of the labels", 1 / 400, True)


def test_what_the_other_columns_say_decides():
    codes = [(0.0, 0.0, True), (0.0, None, True), (0.01, 0.2, True), (0.01, 0.9, True), (0.04, 0.2, True)]
    for share, missed, out in (*codes, (0.04, 0.1, False), (0.04, None, False)):
        assert is_left_out(Leak("", share, is_code=True), missed) is out
    others = [(0.0, 0.03, False), (0.0, 0.2, True), (0.0, 0.9, True), (0.01, 0.2, True), (0.01, 0.9, False)]
    for share, missed, out in (*others, (0.0, None, False)):
        assert is_left_out(Leak("", share, is_code=False), missed) is out


def make_table(folder, label, **columns):
    parquet.write_table(pa.table(columns | {"species": label}), folder / "t.parquet")
    return read_table(folder / "t.parquet", "species")


def make_flowers(seed=0):
    """Return labels of which a tenth is wrong, their numbers, and two honest columns."""
    rng = np.random.default_rng(seed)
    clean = rng.integers(0, 3, N)
    number = np.where(rng.random(N) < 0.1, (clean + 1) % 3, clean)
    names = np.array(["setosa", "versicolor", "virginica"])
    honest = {"length": rng.normal(clean, 0.3), "width": rng.normal(-clean, 0.3)}
    return names[number], number, honest, rng


def test_codes_near_copies_and_scores_are_left_out_in_one_note(tmp_path):
    label, number, honest, rng = make_flowers()
    near = np.where(np.arange(N) % 100 == 0, 0, number)
    leaks = {"species code": number + 7, "old": near.astype(str), "score": number + rng.uniform(0, 0.9, N)}
    made = make_features(make_table(tmp_path, label, **leaks, **honest))
    assert set(made.sources) == {"length", "width"}
    (note,) = made.notes
    assert note.startswith("The columns 'species code', 'old' and 'score' were left out, because each gives")
    assert note.endswith("use it, as with keep=['species code', 'old', 'score'].")


def test_a_column_that_is_left_out_is_used_if_asked_for(tmp_path):
    label, number, honest, _ = make_flowers()
    table = make_table(tmp_path, label, code=number, **honest)
    (note,) = make_features(table).notes
    assert note == (
        "The column 'code' was left out, because it gives the label away: each of its values goes with one "
        "label, and each label with one value. If it was known before the label, use it with keep=['code']."
    )
    kept = make_features(table, keep=["code"])
    assert set(kept.sources) == {"code", "length", "width"}
    (note,) = kept.notes
    assert note.startswith("The column 'code' was used because you asked for it, though it gives the label")
    assert set(make_features(table, only=["code"]).sources) == {"code"}


def test_an_excellent_feature_among_others_is_used(tmp_path):
    rng = np.random.default_rng(0)
    number = np.arange(N) % 2
    columns = {name: rng.normal(6 * number, 1) for name in "abc"} | {"d": number * 9 + rng.uniform(0, 1, N)}
    made = make_features(make_table(tmp_path, np.array(["no", "yes"])[number], **columns))
    assert set(made.sources) == set("abcd")
    (note,) = made.notes
    assert "may each give the label away" in note and "They were used" in note and "exclude=['a'" in note


def test_the_only_column_is_used_unless_it_is_a_code(tmp_path):
    number = np.arange(N) % 2
    label = np.array(["no", "yes"])[number]
    size = number + np.random.default_rng(0).uniform(0, 0.9, N)
    (note,) = make_features(make_table(tmp_path, label, size=size)).notes
    assert note.startswith("The column 'size' may give the label away: sorted by its values, the rows are")
    assert note.endswith("if it was not known before the label, leave it out with exclude=['size'].")
    message = "has no column to learn from: the column 'code' gives the label away, for each of its values"
    assert_refused(message, make_features, make_table(tmp_path, label, code=number))


def test_a_column_of_libsvm_text_is_left_out_too(tmp_path):
    _, number, _, rng = make_flowers()
    y = np.where(number == 0, 1, -1)
    values = np.column_stack([rng.normal(y, 0.8), 1.5 + y, rng.normal(y, 0.8)])
    dump_svmlight_file(values, y, str(tmp_path / "t.libsvm"), zero_based=False)
    table = read_table(tmp_path / "t.libsvm", "label")
    made = make_features(table)
    assert made.names == ("1", "3") and made.X.shape == (N, 2)
    assert "The column '2' was left out" in made.notes[0] and "keep=['2']" in made.notes[0]
    kept = make_features(table, keep=["2"])
    assert kept.names == ("1", "2", "3") and "'2' was used because you asked for it" in kept.notes[-1]
    np.save(tmp_path / "e.npy", values)
    (note,) = make_features(table, features=tmp_path / "e.npy").notes
    assert "The feature 'e.npy[1]' may give the label away" in note and note.endswith("leave it out.")
    dump_svmlight_file(values[:, [1]], y, str(tmp_path / "t.libsvm"), zero_based=False)
    table = read_table(tmp_path / "t.libsvm", "label")
    message = "has no column to learn from: the column '1' gives the label away, for each of its values"
    assert_refused(message, make_features, table)
    assert make_features(table, keep=["1"]).X.shape == (N, 1)

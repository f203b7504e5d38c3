"""A baseline knows rows by what they hold: not by their place, and exactly."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from subsvms.app.runs.baseline import Baseline, hash_rows, list_columns
from subsvms.app.tables.table import read_frame, read_table
from subsvms.exceptions import TableError


def make_frame(n=60, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(n) % 2)
    return pd.DataFrame({"a": rng.normal(size=n), "b": [f"x{i}" for i in range(n)], "y": label})


def accept(frame, path):
    table = read_frame(frame, "y")
    columns = list_columns(table)
    made = Baseline("y", columns, Counter(hash_rows(table, columns)))
    made.write(path)
    return Baseline.read(path, "y")


def compare(frame, path):
    return Baseline.read(path, "y").compare(read_frame(frame, "y"), path)


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "labels.lock"
    accept(make_frame(), path)
    return path


def test_the_order_of_rows_and_columns_changes_nothing(lock):
    frame = make_frame().sample(frac=1, random_state=0)[["y", "b", "a"]]
    found = compare(frame, lock)
    assert not found.new.any() and found.n_gone == 0


def test_a_row_is_new_if_it_was_not_there_or_has_another_label(lock):
    frame = make_frame()
    frame.loc[3, "y"] = 1 - frame.loc[3, "y"]
    frame.loc[5, "a"] += 1e-9
    frame.loc[len(frame)] = [0.5, "more", 1]
    found = compare(frame, lock)
    assert np.flatnonzero(found.new).tolist() == [3, 5, len(frame) - 1]
    assert np.flatnonzero(found.relabelled).tolist() == [3]
    assert found.n_gone == 2


def test_a_repeated_row_is_known_as_often_as_it_was_there(lock):
    frame = pd.concat([make_frame(), make_frame().iloc[[7, 7]]])
    assert np.flatnonzero(compare(frame, lock).new).tolist() == [60, 61]
    accept(frame, lock)
    assert not compare(frame, lock).new.any()


def test_a_new_column_voids_nothing_and_a_lost_one_is_an_error(lock):
    assert not compare(make_frame().assign(c=1), lock).new.any()
    with pytest.raises(TableError, match="knows rows by columns that .* does not have .'b'."):
        compare(make_frame().drop(columns="b"), lock)


def test_a_table_that_was_written_in_another_way_is_an_error(lock):
    frame = make_frame()
    with pytest.raises(TableError, match="Only 0 of the 60 rows that .* knows are in .*accept"):
        compare(frame.assign(a=frame["a"].round(2)), lock)


def test_the_file_is_one_sorted_line_a_row_and_two_additions_merge(lock):
    first, *lines = lock.read_text().splitlines()
    assert json.loads(first) == {"subsvms baseline": 1, "label": "y", "columns": ["a", "b"]}
    assert lines == sorted(lines) and len(lines) == 60
    again = lock.with_name("again.lock")
    accept(make_frame().iloc[::-1], again)
    assert again.read_bytes() == lock.read_bytes()
    other = hash_rows(read_frame(make_frame(80, seed=1), "y"), ["a", "b"])
    lock.write_text("\r\n".join([first, *lines, *other]))  # not sorted, and with ends of Windows
    assert Baseline.read(lock, "y").rows == Counter(lines + other)


@pytest.mark.parametrize("damage", [
    lambda text: "", lambda text: "a,b,y\n1,2,3\n", lambda text: text[:-5], lambda text: "[]" + text,
    lambda text: text.replace("\n", "\n<<<<<<< HEAD\n", 1), lambda text: '{"subsvms baseline": 1}\n',
])  # fmt: skip
def test_a_damaged_file_is_refused_in_a_sentence(lock, damage):
    lock.write_text(damage(lock.read_text()))
    with pytest.raises(TableError, match="is no baseline, or damaged in line"):
        Baseline.read(lock, "y")


def test_another_version_another_label_and_no_file_are_refused(lock):
    with pytest.raises(TableError, match="is about the label 'y', not 'z'"):
        Baseline.read(lock, "z")
    lock.write_text(lock.read_text().replace(": 1,", ": 2,", 1))
    with pytest.raises(TableError, match="has format 2, but this version of subsvms reads format 1"):
        Baseline.read(lock, "y")
    with pytest.raises(TableError, match="There is no baseline"):
        Baseline.read(lock.with_name("none.lock"), "y")


def test_another_file_is_never_replaced_by_a_baseline(lock):
    lock.write_text("precious")
    with pytest.raises(TableError, match="is no baseline, and is not replaced"):
        accept(make_frame(), lock)
    assert lock.read_text() == "precious"


def test_rows_of_libsvm_text_are_known_without_the_order_of_their_values(tmp_path):
    first, second = tmp_path / "one.svm", tmp_path / "two.svm"
    first.write_text("1 1:0.5 3:2\n-1 2:1\n1 1:0.25\n")
    second.write_text("-1 2:1\n1 1:0.25 2:0\n1 1:0.5 3:2\n")
    one, two = (hash_rows(read_table(path, "label"), ()) for path in (first, second))
    assert sorted(one) == sorted(two) and len(set(one)) == 3


def test_a_table_of_labels_alone_has_no_rows_to_know():
    with pytest.raises(TableError, match="has no column to know its rows by"):
        hash_rows(read_frame(make_frame()[["y"]], "y"), ())

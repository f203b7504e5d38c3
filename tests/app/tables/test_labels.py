"""Labels of every type become classes, or a sentence says why they cannot."""

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import assert_refused, write
from pyarrow import parquet

from subsvms._labels import Classes, check_labels
from subsvms.app.tables.labels import encode_labels, learn_labels, read_labels
from subsvms.app.tables.table import read_table, write_table

TYPES = {
    "text": ["é", "b", "Z", "a", None, "", "10", "9", "b"],
    "whole numbers": [3, -1, None, 10, 3],
    "booleans": [True, None, False],
    "floats": [2.0, -0.0, float("nan"), 0.0, None],
}


@pytest.mark.parametrize("values", TYPES.values(), ids=TYPES)
def test_labels_get_the_numbers_that_the_corrector_gives_them_in_memory_and_in_pieces(values):
    column = pa.chunked_array([pa.array(values), pa.array(values)])
    labels, _ = read_labels(column, "'t'", "y", is_text=False)
    classes, codes = Classes.learn(labels)
    present = codes >= 0
    assert present.tolist() == [value not in (None, "") and value == value for value in values] * 2
    expected, numbers = check_labels(labels[present], present.sum())
    assert classes.labels == expected.tolist() and np.array_equal(codes[present], numbers)
    learned = learn_labels(dict.fromkeys(encode_labels(column)[0], 2), "'t'", "y", is_text=False)
    pieces = [learned.read(pa.table({"y": chunk})) for chunk in column.chunks]
    assert np.array_equal(np.concatenate(pieces), codes)
    assert learned.classes.tolist() == classes.labels and learned.name(codes).tolist() == labels.tolist()
    assert_refused("The label 7 was not in the table", learned.read, pa.table({"y": [7]}))


def test_labels_keep_their_text_and_missing_ones_are_not_a_class(tmp_path):
    read = read_table(write(tmp_path, 'a,label\n1,01\n2,1\n3,\n4,"  "\n5,""\n6,NA\n7,?\n'), "label")
    assert read.labels.tolist() == ["01", "1", None, None, None, None, None]
    assert read.classes == ["01", "1"] and read.codes.tolist() == [0, 1, -1, -1, -1, -1, -1]
    assert read.missing.tolist() == [False] * 2 + [True] * 5
    write_table(read, tmp_path / "out.csv", ["1", "1", "01", None, None, None, None])
    assert (tmp_path / "out.csv").read_text() == 'a,label\n1,1\n2,1\n3,01\n4,"  "\n5,""\n6,NA\n7,?\n'
    assert repr(read).endswith("7 rows, label 'label' of 2 classes, 5 missing)")


def test_a_mark_among_words_may_be_a_class_and_gets_a_note(tmp_path):
    path = write(tmp_path, "a,label\n1,some\n2,None\n3,all\n4,None\n")
    read = read_table(path, "label")
    assert read.classes == ["None", "all", "some"]
    assert read.notes == ("Taken as a class, not as missing labels: 'None' (2 rows).",)
    read = read_table(path, "label", missing_labels=["None"])
    assert read.classes == ["all", "some"] and read.notes == ()
    message = "missing_labels must be a list of labels; got the text 'None'."
    assert_refused(message, read_table, path, "label", missing_labels="None")


@pytest.mark.parametrize(
    "labels, message",
    [
        (
            ["0.5", "1", "NA"],
            "not a class, with 2 different numbers, such as '0.5': choose another",
        ),
        (
            [str(i) for i in range(201)],
            "with 201 different numbers, such as '0': choose another column",
        ),
        ([f"c{i}" for i in range(201)], "has 201 classes, such as 'c0', but at most 200 are possible"),
        (["x", "x", ""], "holds only one class, 'x'"),
        (["", ""], "holds no labels at all"),
        (["x" * 10**6], "holds only one class, 'xxxx"),
    ],
)
def test_text_that_cannot_be_classes_is_refused(tmp_path, labels, message):
    path = write(tmp_path, "a,label\n" + "".join(f"1,{label}\n" for label in labels))
    assert "t.csv'" in assert_refused(message, read_table, path, "label")


@pytest.mark.parametrize(
    "labels, message",
    [
        (
            pa.array([0.5, 1.0]),
            "not a class, with 2 different numbers, such as 0.5: choose",
        ),
        (
            pa.array([1.0, float("inf")]),
            "not a class, with 2 different numbers, such as inf: choose",
        ),
        (
            pa.array(range(300)),
            "not a class, with 300 different numbers, such as 0: choose",
        ),
        (pa.array([1, 2], pa.timestamp("s")), "has the type timestamp[ms]: labels must be text"),
        (pa.array([[1], [2]]), "has the type list<"),
        (pa.array([None, None]), "holds no labels at all"),
        (pa.array([], pa.string()), "has no rows"),
    ],
)
def test_typed_values_that_cannot_be_classes_are_refused(tmp_path, labels, message):
    parquet.write_table(pa.table({"label": labels}), tmp_path / "t.parquet")
    assert_refused(message, read_table, tmp_path / "t.parquet", "label")


@pytest.mark.parametrize(
    "classes",
    [[3, 2**63 + 5], [2**63, 2**64 - 1], [-5, 2**62 + 1], [0.0, 1e300], ["a", "a\0"], [False, True]],
)
def test_classes_stay_what_they_are_as_an_array_and_in_arrow(classes):
    array = Classes.of(classes).names
    assert array.tolist() == classes
    assert pa.array(array).to_pylist() == classes

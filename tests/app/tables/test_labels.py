"""Labels of every type become classes, or a sentence says why they cannot, or asks whether they should."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from nasty_texts import assert_refused, write
from pyarrow import parquet

from subsvms._labels import Classes, check_labels
from subsvms.app.tables.labels import (
    encode_labels,
    find_quantity,
    find_spellings,
    find_typos,
    learn_labels,
    merge_spellings,
    read_labels,
)
from subsvms.app.tables.table import keep_rows, read_frame, read_table, write_table

TYPES = {
    "text": ["é", "b", "Z", "a", None, "", "10", "9", "b"],
    "whole numbers": [3, -1, None, 10, 3],
    "booleans": [True, None, False],
    "floats": [2.0, -0.0, float("nan"), 0.0, None],
}
SPELLED = "a,label\n" + "1,no\n" * 5 + "1,no \n" * 2 + "1,NO\n" + "1,yes\n" * 4 + "1, Yes\n"


@pytest.mark.parametrize("values", TYPES.values(), ids=TYPES)
def test_labels_get_the_numbers_that_the_corrector_gives_them_in_memory_and_in_pieces(values):
    column = pa.chunked_array([pa.array(values), pa.array(values)])
    labels, _, _ = read_labels(column, "'t'", "y", is_text=False)
    classes, codes = Classes.learn(labels)
    present = codes >= 0
    assert present.tolist() == [value not in (None, "") and value == value for value in values] * 2
    expected, numbers = check_labels(labels[present], present.sum())
    assert classes.labels == expected.tolist() and np.array_equal(codes[present], numbers)
    learned = learn_labels(dict.fromkeys(encode_labels(column)[0], 2), "'t'", "y", is_text=False)
    pieces = [learned.read(pa.table({"y": chunk})) for chunk in column.chunks]
    assert np.array_equal(np.concatenate(pieces), codes)
    assert learned.classes.labels == classes.labels
    assert learned.classes.name(codes).tolist() == labels.tolist()
    assert_refused("The label 7 was not in the table", learned.read, pa.table({"y": [7]}))


def test_labels_keep_their_text_and_missing_ones_are_not_a_class(tmp_path):
    read = read_table(write(tmp_path, 'a,label\n1,01\n2,1\n3,\n4,"  "\n5,""\n6,NA\n7,?\n'), "label")
    assert read.labels.tolist() == ["01", "1", None, None, None, None, None]
    assert read.classes == ["01", "1"] and read.codes.tolist() == [0, 1, -1, -1, -1, -1, -1]
    assert read.missing.tolist() == [False] * 2 + [True] * 5
    write_table(read, tmp_path / "out.csv", ["1", "1", "01", None, None, None, None])
    assert (tmp_path / "out.csv").read_text() == 'a,label\n1,1\n2,1\n3,01\n4,"  "\n5,""\n6,NA\n7,?\n'


def test_a_mark_among_words_may_be_a_class_and_gets_a_note(tmp_path):
    path = write(tmp_path, "a,label\n1,some\n2,None\n3,all\n4,None\n")
    read = read_table(path, "label")
    assert read.classes == ["None", "all", "some"]
    (note,) = read.notes
    assert note.startswith("Taken as a class, not as missing labels: 'None' (2 rows). To make")
    assert note.parameter == "missing_label"
    for missing_label in (["None"], "None"):
        read = read_table(path, "label", missing_label=missing_label)
        assert read.classes == ["all", "some"] and read.notes == ()


def test_classes_that_are_perhaps_misspelt_are_named(tmp_path):
    words = (
        ["Gentoo"] * 100 + ["Adelie"] * 90 + ["Gento"] * 4 + ["Other"] * 3 + ["room 1"] * 80 + ["room 2"] * 2
    )
    path = write(tmp_path, "a,label\n" + "".join(f"1,{word}\n" for word in words))
    (note,) = read_table(path, "label").notes
    assert note.kind == "typos"
    assert note == "Perhaps misspelt: 'Gento' (4 rows) for 'Gentoo'? If so, correct the label column."


@pytest.mark.parametrize("rare, usual, likely", [
    ("Gento", "Gentoo", True), ("Gentto", "Gentoo", True), ("Adeile", "Adelie", True),
    ("iris-setsa", "iris-setosa", True), ("ADELI", "Adelie", True), ("very god", "very good", False),
    ("male", "female", False), ("known", "unknown", False), ("hypotension", "hypertension", False),
    ("typical", "atypical", False), ("Type I", "Type II", False), ("class a", "class b", False),
    ("class_a", "class_b", False), ("room1", "room2", False), ("good", "very good", False),
    ("", "Adelie", False),
])  # fmt: skip
def test_a_typo_is_one_letter_of_a_word(rare, usual, likely):
    assert find_typos({rare: 4, usual: 80}) == ({rare: usual} if likely else {})
    assert find_typos({rare: 5, usual: 80}) == {}


def test_empty_text_in_a_data_frame_is_missing_and_named(tmp_path):
    frame = pd.DataFrame({"a": range(8), "label": ["no", "yes", "", "yes", "?", "no", "  ", ""]})
    for missing, kinds in (((), ["blank", "missing_marks"]), (["?"], ["blank"]), (["?", "", "  "], [])):
        read = read_frame(frame, "label", missing_label=missing)
        assert [note.kind for note in read.notes] == kinds
        assert read.missing.sum() == 3 + bool(missing)
        if kinds:
            assert read.notes[0] == "Read as missing labels: '' (2 rows), '  ' (1 row)."
    text = write(tmp_path, frame.to_csv(index=False))
    assert [note.kind for note in read_table(text, "label").notes] == ["missing_marks"]


def test_values_that_cannot_be_classes_are_refused(tmp_path):
    for labels, message in [
        (["0.5", "1", "NA"], "not a class, with 2 different numbers, such as '0.5': choose another"),
        ([str(i) for i in range(201)], "with 201 different numbers, such as '0': choose another column"),
        ([f"c{i}" for i in range(201)], "has 201 classes, such as 'c0', but at most 200 are possible"),
        (["x", "x", ""], "holds only one class, 'x'"),
        (["", ""], "holds no labels at all"),
        (["x" * 10**6], "holds only one class, 'xxxx"),
        (["x" * 1001, "y"], "holds a text of 1,001 characters, 'xxxx"),
    ]:
        path = write(tmp_path, "a,label\n" + "".join(f"1,{label}\n" for label in labels))
        assert "t.csv'" in assert_refused(message, read_table, path, "label")
    for labels, message in [
        (pa.array([1.0, float("inf")]), "not a class, with 2 different numbers, such as inf: choose"),
        (pa.array(range(300)), "not a class, with 300 different numbers, such as 0: choose"),
        (pa.array([1, 2], pa.timestamp("s")), "has the type timestamp[ms]: labels must be text"),
        (pa.array([[1], [2]]), "has the type list<"),
        (pa.array([], pa.string()), "has no rows"),
    ]:
        parquet.write_table(pa.table({"label": labels}), tmp_path / "t.parquet")
        assert_refused(message, read_table, tmp_path / "t.parquet", "label")


def test_classes_stay_what_they_are_as_an_array_and_in_arrow():
    whole = [[3, 2**63 + 5], [2**63, 2**64 - 1], [-5, 2**62 + 1]]
    for classes in (*whole, [0.0, 1e300], ["a", "a\0"], [False, True]):
        array = Classes.of(classes).names
        assert array.tolist() == classes == pa.array(array).to_pylist()


def test_labels_that_differ_in_case_or_space_stop_with_both_ways_out(tmp_path):
    for merge in (None, True, False):
        read = read_table(write(tmp_path, "a,label\n1,no\n2,No sir\n"), "label", merge_labels=merge)
        assert read.classes == ["No sir", "no"] and read.notes == () and read.written_labels is None
    said = assert_refused("in several spellings", read_table, write(tmp_path, SPELLED), "label")
    assert "2 labels in several spellings, 'no' (5 rows), 'no ' (2) and 'NO' (1); 'yes' (4 rows) and" in said
    assert said.endswith("as one class with merge_labels=True, or as different ones with merge_labels=False.")


def test_merged_labels_have_the_most_frequent_spelling_and_are_written_so(tmp_path):
    path = write(tmp_path, SPELLED)
    assert read_table(path, "label", merge_labels=False).classes == [" Yes", "NO", "no", "no ", "yes"]
    read = read_table(path, "label", merge_labels=True)
    assert read.classes == ["no", "yes"] and np.bincount(read.codes).tolist() == [8, 5]
    assert read.notes == (
        "Read in another spelling: 'NO' (1 row) as 'no', 'no ' (2 rows) as 'no' and ' Yes' (1 row) as 'yes'.",
    )
    assert read.as_written.tolist()[4:8] == ["no", "no ", "no ", "NO"]
    write_table(read, tmp_path / "out.csv", read.labels, {"given": read.as_written})
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "a,label,given" and lines[8] == "1,no,NO" and lines[13] == '1,yes," Yes"'
    last = keep_rows(read, np.arange(13) == 12)
    assert last.labels.tolist() == ["yes"] and last.as_written.tolist() == [" Yes"]


def test_what_counts_as_another_spelling():
    for labels, found in [
        (["a", "A"], [["A", "a"]]),
        (["not  spam", "Not spam", "spam"], [["Not spam", "not  spam"]]),
        (["é", "e\u0301"], [["e\u0301", "é"]]),
        (["1", "1.0", "2.5", "2.50"], [["1", "1.0"]]),
        (["01", "1", "001", "ab", "a b", 1, 2, True], []),
    ]:
        assert find_spellings(labels) == found
    assert merge_spellings({"b": 1, "B": 1, "c": 9}) == {"b": "B"}  # of equally frequent ones the first


AGES = {age: 20 for age in range(18, 80)}
COUNTS = {number: max(1, 200 - 9 * number) for number in range(25)}  # of events: rare ones are large


@pytest.mark.parametrize(
    "counts, example", [(AGES, 18), (COUNTS, 0), ({0.5: 50, 1.0: 50}, 0.5), (dict.fromkeys(range(15), 2), 0)]
)
def test_a_quantity_is_recognised(counts, example):
    assert find_quantity(counts) == example
    assert find_quantity({str(label): count for label, count in counts.items()}) == str(example)
    with_comma = {str(label).replace(".", ","): count for label, count in counts.items()}
    assert find_quantity(with_comma) == str(example).replace(".", ",")


def test_class_numbers_codes_and_words_are_no_quantity():
    for counts in (
        dict.fromkeys(range(10), 2),
        dict.fromkeys(range(15), 9),
        dict.fromkeys(range(1, 106), 60),  # class numbers
        dict.fromkeys(range(0, 100, 5), 30),
        {f"{code:03d}": 1 for code in range(50)},
        dict.fromkeys((*range(100), "other"), 1),
    ):
        assert find_quantity(counts) is None


def test_a_quantity_can_be_taken_for_classes(tmp_path):
    values = np.repeat(np.arange(18, 68), 3)
    parquet.write_table(pa.table({"a": values, "age": values}), tmp_path / "t.parquet")
    said = assert_refused("looks like a quantity", read_table, tmp_path / "t.parquet", "age")
    assert said.endswith("ranges; if they are classes all the same, say so with numeric_classes=True.")
    assert len(read_table(tmp_path / "t.parquet", "age", numeric_classes=True).classes) == 50
    parquet.write_table(pa.table({"age": np.arange(300)}), tmp_path / "t.parquet")
    options = {"numeric_classes": True}
    said = assert_refused("with 300 different", read_table, tmp_path / "t.parquet", "age", **options)
    assert said.endswith("into a few named ranges; more than 200 cannot be classes.")


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_merged_labels_of_typed_formats_are_written_in_one_spelling(tmp_path, kind):
    labels = ["no", "No", "yes", "no", None]
    parquet.write_table(pa.table({"y": pa.array(labels).cast(kind)}), tmp_path / "t.parquet")
    read = read_table(tmp_path / "t.parquet", "y", merge_labels=True)
    write_table(read, tmp_path / "out.parquet", ["no", "no", "no", "no", None], {"given": read.as_written})
    written = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert written == {"y": ["no", "no", "no", "no", None], "given": labels}


def test_merged_classes_may_have_more_spellings_than_there_may_be_classes(tmp_path):
    words = [word for i in range(120) for word in (f"kind {i}", f"Kind {i}", f"kind {i}")]
    lines = "".join(f"{i},{word}\n" for i, word in enumerate(words))
    read = read_table(write(tmp_path, f"a,label\n{lines}"), "label", merge_labels=True)
    assert len(read.classes) == 120 and read.as_written.tolist() == words

"""Labels in several spellings, and numbers that are no classes, stop a run until that is settled."""

import numpy as np
import pyarrow as pa
import pytest
from nasty_texts import assert_refused, write
from pyarrow import parquet

from subsvms.app.tables.classes import find_quantity, find_spellings, merge_spellings
from subsvms.app.tables.table import keep_rows, read_table, write_table

SPELLED = "a,label\n" + "1,no\n" * 5 + "1,no \n" * 2 + "1,NO\n" + "1,yes\n" * 4 + "1, Yes\n"


def test_labels_that_differ_in_case_or_space_stop_with_both_ways_out(tmp_path):
    said = assert_refused("in several spellings", read_table, write(tmp_path, SPELLED), "label")
    assert said.startswith("The label column 'label' of ") and said.endswith(
        "t.csv' has 2 labels in several spellings, 'no' (5 rows), 'no ' (2) and 'NO' (1); 'yes' (4 rows) and "
        "' Yes' (1): read them as one class with --merge-labels, or as different ones with --no-merge-labels."
    )


def test_merged_labels_have_the_most_frequent_spelling_and_are_written_so(tmp_path):
    path = write(tmp_path, SPELLED)
    assert read_table(path, "label", merge_labels=False).classes == [" Yes", "NO", "no", "no ", "yes"]
    read = read_table(path, "label", merge_labels=True)
    assert read.classes == ["no", "yes"] and np.bincount(read.codes).tolist() == [8, 5]
    assert read.notes == (
        "Read in another spelling: 'NO' (1 row) as 'no', 'no ' (2 rows) as 'no', ' Yes' (1 row) as 'yes'.",
    )
    assert read.as_written.tolist()[4:8] == ["no", "no ", "no ", "NO"]
    write_table(read, tmp_path / "out.csv", read.labels, {"given": read.as_written})
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "a,label,given" and lines[8] == "1,no,NO" and lines[13] == '1,yes," Yes"'
    last = keep_rows(read, np.arange(13) == 12)
    assert last.labels.tolist() == ["yes"] and last.as_written.tolist() == [" Yes"]


def test_one_spelling_needs_no_merging(tmp_path):
    for merge in (None, True, False):
        read = read_table(write(tmp_path, "a,label\n1,no\n2,No sir\n"), "label", merge_labels=merge)
        assert read.classes == ["No sir", "no"] and read.notes == () and read.written_labels is None


@pytest.mark.parametrize(
    "labels, found",
    [
        (["a", "A"], [["A", "a"]]),
        (["not  spam", "Not spam", "spam"], [["Not spam", "not  spam"]]),
        (["é", "e\u0301"], [["e\u0301", "é"]]),
        (["1", "1.0", "2.5", "2.50"], [["1", "1.0"]]),
        (["01", "1", "001"], []),
        ([1, 2, True], []),
        (["ab", "a b"], []),
    ],
)
def test_what_counts_as_another_spelling(labels, found):
    assert find_spellings(labels) == found


def test_of_equally_frequent_spellings_the_first_is_taken():
    assert merge_spellings({"b": 1, "B": 1, "c": 9}) == {"b": "B"}


AGES = {age: 20 for age in range(18, 80)}
COUNTS = {number: max(1, 200 - 9 * number) for number in range(25)}  # of events: rare ones are large


@pytest.mark.parametrize("counts, example", [(AGES, 18), (COUNTS, 0), ({0.5: 50, 1.0: 50}, 0.5)])
def test_a_quantity_is_recognised(counts, example):
    assert find_quantity(counts) == example
    assert find_quantity({str(label): count for label, count in counts.items()}) == str(example)
    with_comma = {str(label).replace(".", ","): count for label, count in counts.items()}
    assert find_quantity(with_comma) == str(example).replace(".", ",")


@pytest.mark.parametrize(
    "counts",
    [
        dict.fromkeys(range(10), 2),
        dict.fromkeys(range(1, 106), 60),  # class numbers
        dict.fromkeys(range(0, 100, 5), 30),
        {f"{code:03d}": 1 for code in range(50)},
        dict.fromkeys((*range(100), "other"), 1),
    ],
)
def test_class_numbers_codes_and_words_are_no_quantity(counts):
    assert find_quantity(counts) is None


def test_few_rows_for_each_of_many_numbers_are_a_quantity():
    assert (
        find_quantity(dict.fromkeys(range(15), 2)) == 0 and find_quantity(dict.fromkeys(range(15), 9)) is None
    )


def test_a_quantity_can_be_taken_for_classes(tmp_path):
    values = np.repeat(np.arange(18, 68), 3)
    parquet.write_table(pa.table({"a": values, "age": values}), tmp_path / "t.parquet")
    said = assert_refused("looks like a quantity", read_table, tmp_path / "t.parquet", "age")
    assert said.startswith("The label column 'age' of ") and said.endswith(
        "t.parquet' looks like a quantity, not a class, with 50 different numbers, such as 18: choose "
        "another column, or group the numbers into a few named ranges; if they are classes all the same, say "
        "so with --numeric-classes."
    )
    assert len(read_table(tmp_path / "t.parquet", "age", numeric_classes=True).classes) == 50
    parquet.write_table(pa.table({"age": np.arange(300)}), tmp_path / "t.parquet")
    said = assert_refused(
        "with 300 different", read_table, tmp_path / "t.parquet", "age", numeric_classes=True
    )
    assert "--numeric-classes" not in said


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

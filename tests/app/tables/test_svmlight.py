"""LIBSVM text becomes a sparse matrix, and keeps everything but its labels."""

import pytest
from nasty_texts import assert_refused, write

from subsvms.app.tables.table import read_table, write_table

TEXT = "# comment\n+1 1:0.5 3:2 # yes\n-1 qid:3 2:1\n\n1\n \r\v01 2:3\r\n? 1:1\n"


def test_libsvm_text_keeps_everything_but_its_labels(tmp_path):
    read = read_table(write(tmp_path, TEXT, "t.svm"), "label")
    assert read.labels.tolist() == ["+1", "-1", "+1", "+1", None]
    expected = [[0, 0.5, 0, 2], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 3, 0], [0, 1, 0, 0]]
    assert read.matrix.toarray().tolist() == expected
    write_table(read, tmp_path / "same.svm")
    assert (tmp_path / "same.svm").read_bytes() == TEXT.encode()
    write_table(read, tmp_path / "new.svm.gz", ["-1", "-1", None, "+1", "-1"])
    again = read_table(tmp_path / "new.svm.gz", "label")
    assert again.labels.tolist() == ["-1", "-1", None, "01", "-1"]
    assert (again.matrix != read.matrix).nnz == 0


def test_a_suffix_is_not_needed_and_large_whole_numbers_stay_apart(tmp_path):
    assert read_table(write(tmp_path, "1 1:2\n0 qid:3 1:3\n", "a1a"), "label").format == "svmlight"
    assert read_table(write(tmp_path, "spam 0:1\nham 0:2\n", "a1a.t"), "label").classes == ["ham", "spam"]
    labels = [str(2**63), f"+{2**63}", str(2**63 + 1)]
    text = "".join(f"{label} 1:2\n" for label in labels)
    read = read_table(write(tmp_path, text, "t.svm"), "label")
    assert read.labels.tolist() == [labels[0], labels[0], labels[2]]


@pytest.mark.parametrize("text, message", [
    ("# x\n1 1:2\n1:2 3:4\n", "line 3 starts with '1:2' instead of a label"),
    ("1 1:2\n0 1;2\n", "line 2 cannot be read: the label must be followed by index:value pairs"),
    ("1 1:2\n\n0 2:1 1:2\n", "line 3 cannot be read"),
    ("1 1:2\n0 1:nan\n", "line 2 holds nan"),
    ("1 1:2\n0 2147483647:1\n", "with increasing whole numbers as indices, up to 2147483646."),
    ("1 1:2\n0 1:1 " + "9" * 5000 + ":1\n", "line 2 cannot be read"),
    ("1 1:2\n0 2:1 00000000001:1\n", "line 2 cannot be read"),
    ("0 2:1\n" * 70 + "0 2:1 1:1\n" * 2 + "1 1:2\n" * 99, "line 71 cannot be read"),
])  # fmt: skip
def test_text_with_a_wrong_line_is_refused_with_its_number(tmp_path, text, message):
    assert "t.svm'" in assert_refused(message, read_table, write(tmp_path, text, "t.svm"), "label")


def test_the_label_has_a_fixed_name_and_no_columns_beside_it(tmp_path):
    path = write(tmp_path, "1 1:2\n0 1:3\n", "t.svm")
    message = "is LIBSVM text, whose label is the first entry of each line: call it 'label', not 'y'"
    assert_refused(message, read_table, path, "y")
    message = "LIBSVM text has no place for the column 'new'"
    assert_refused(message, write_table, read_table(path, "label"), tmp_path / "o.svm", None, {"new": [1, 2]})

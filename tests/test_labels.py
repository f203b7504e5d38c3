"""Labels become class numbers, or one sentence says which of them cannot and what to do."""

import numpy as np
import pytest
from scipy import sparse

from subsvms._labels import Classes, check_class_weight, check_labels, check_verified, find_missing
from subsvms.exceptions import InputError

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2

LABELS = {
    "one class": (np.zeros(40), "at least two classes, but holds only one class, '0.0'"),
    "too few": (Y[:30], "same number of rows; got 40 and 30"),
    "none": (None, "y is None"),
    "continuous": (X[:, 0], "Unknown label type: continuous"),
    "a huge number": (np.where(Y == 1, 1e308, 0.0), r"but holds 1e\+308"),
    "mixed types": (np.array([1, "a"] * 20, dtype=object), "one type, but holds number and text"),
    "a mixed list": ([1, "a"] * 20, "one type, but holds number and text"),
    "missing number": (np.where(Y == 1, np.nan, 0.0), "NaN.* in 20 of 40 rows, the first in row 1"),
    "missing text": (np.array(["a", None] * 20, dtype=object), "None.* in 20 of 40 rows"),
    "missing in a list": (["a", float("nan")] * 20, "NaN.* in 20 of 40 rows, the first in row 1"),
    "complex": (Y + 1j, "y must hold labels"),
    "infinite": (np.where(Y == 1, np.inf, 0.0), "infinity"),
    "masked": (np.ma.masked_equal(Y, 1), "None.* in 20 of 40 rows"),
    "bytes": (np.array([b"a", b"b"])[Y], "text, whole numbers or booleans, but holds np.bytes_"),
    "integers of 100 bits": ([10**30 + label for label in Y.tolist()], "but holds 1000000000000"),
    "dates": (np.array(["2020", "2021"], dtype="M8[Y]")[Y], "but holds datetime64"),
    "records": (np.zeros(40, dtype=[("a", int)]), "Unknown label type: y must hold text"),
    "sets": ([{label} for label in Y.tolist()], "text, whole numbers or booleans, but holds {0}"),
    "two columns": (np.stack([Y, Y], axis=1), "1d array, got an array of shape .*: give one label for each"),
    "a number": (3, "give one label for each row"),
    "a sparse column": (sparse.csr_array(Y[:, None]), "Sparse data .*give one label for each row"),
    "half of a surrogate pair": (np.array(["a", "\ud800"], dtype=object)[Y], "contains an unpaired surr"),
}


@pytest.mark.parametrize("name", LABELS)
def test_bad_labels_are_refused(name):
    labels, message = LABELS[name]
    with pytest.raises(ValueError, match=message) as error:
        check_labels(labels, 40)
    assert "\n" not in str(error.value)


def test_text_that_ends_in_nul_stays_apart():
    """NumPy cuts it off."""
    for labels in (["a\0", "a"], np.array(["a\0", "a"], dtype=object)):
        assert check_labels(labels, 2)[0].tolist() == ["a", "a\0"]


def test_whole_numbers_of_any_type_stay_whole():
    large = [2**64 - 1, 2**64 - 2]
    assert check_labels(large, 2)[0].tolist() == large[::-1]
    pd = pytest.importorskip("pandas")
    large = [2**62 + 1, 2**62]
    for kind in ("Int64", "int64[pyarrow]"):
        assert check_labels(pd.Series(large, dtype=kind), 2)[0].tolist() == large[::-1]
    assert check_labels(pd.Series([True, False], dtype="boolean"), 2)[0].dtype == bool


@pytest.mark.parametrize("kind", [int, bool, float])
def test_numbers_in_an_object_array_are_labels(kind):
    classes, numbers = check_labels(np.array([kind(label) for label in Y], dtype=object), 40)
    assert classes.tolist() == [kind(0), kind(1)] and classes.dtype == np.dtype(kind)
    np.testing.assert_array_equal(numbers, Y)


def test_missing_labels_are_found_in_any_type():
    assert find_missing(None).tolist() == []
    assert find_missing(np.arange(2)).tolist() == [False, False]
    assert find_missing([np.inf, np.nan]).tolist() == [False, True]
    assert find_missing(np.ma.masked_equal([1, 2], 2)).tolist() == [False, True]
    assert find_missing(sparse.csr_array([[1]])).tolist() == find_missing(3).tolist() == []
    assert find_missing([[1], [1, 2]]).tolist() == [False, False]
    assert find_missing(pytest.importorskip("pyarrow").array(["a", None])).tolist() == [False, True]
    pd = pytest.importorskip("pandas")
    for labels in (pd.Series([1, pd.NA], dtype="Int64"), pd.Series(["a", pd.NA], dtype="string")):
        assert find_missing(labels).tolist() == [False, True]
        with pytest.raises(ValueError, match="in 1 of 2 rows, the first in row 1"):
            check_labels(labels, 2)


def test_class_weights_are_in_the_order_of_the_classes():
    classes, numbers = np.array(["a", "b"]), np.array([0, 0, 0, 1])
    np.testing.assert_array_equal(check_class_weight(None, classes, numbers), [1, 1])
    np.testing.assert_array_equal(check_class_weight({"b": 3}, classes, numbers), [1, 3])
    np.testing.assert_allclose(check_class_weight("balanced", classes, numbers), [2 / 3, 2])


@pytest.mark.parametrize("weight", [{"c": 1.0}, {"a": "heavy"}, {"a": -1.0}, {"a": np.nan}], ids=str)
def test_bad_class_weights_are_refused(weight):
    with pytest.raises(ValueError, match=r"known classes positive finite weights.*\['a', 'b'\]"):
        check_class_weight(weight, np.array(["a", "b"]), np.array([0, 1]))


def test_verified_labels_become_class_numbers():
    classes = np.array(["no", "yes"])
    assert check_verified(None, classes, 2).tolist() == [-1, -1]
    assert check_verified(["yes", None, np.nan, "no"], classes, 4).tolist() == [1, -1, -1, 0]
    for verified, message in (
        (["yes"], "one entry for each of the 2 rows; got 1"),
        (["yes", "maybe"], "label of row 1 must be one of 'no', 'yes'; got 'maybe'"),
        ([["no"], None], r"of row 0 must be one of .*; got \['no'\]"),
        *((one, "each of the 2 rows, in one dimension") for one in (3, np.eye(2), sparse.eye_array(2))),
    ):
        with pytest.raises(ValueError, match=message):
            check_verified(verified, classes, 2)
    pd = pytest.importorskip("pandas")
    assert check_verified(pd.Series([None, "no"], dtype="string"), classes, 2).tolist() == [-1, 0]


def test_labels_of_different_types_are_different_classes():
    numbers, booleans, texts = Classes.of([0, 1]), Classes.of([False, True]), Classes.of(["0", "1"])
    labels = [1, 1.0, np.int64(1), True, np.True_, "1", None, np.nan]
    assert numbers.number(labels, unknown=-2).tolist() == [1, 1, 1, -2, -2, -2, -1, -1]
    assert booleans.number(labels, unknown=-2).tolist() == [-2, -2, -2, 1, 1, -2, -1, -1]
    assert texts.number(labels).tolist() == [-1, -1, -1, -1, -1, 1, -1, -1]
    assert (True in numbers, True in booleans, 1 in booleans, [1] in numbers) == (False, True, False, False)


@pytest.mark.parametrize("labels", [
    ["b", "a\0", None, "a"], [2**63, 1, None], [True, None, False], [-0.5, 2.0], [3, None],
], ids=str)  # fmt: skip
def test_labels_come_back_from_their_numbers(labels):
    classes, numbers = Classes.learn(labels)
    assert len(classes) == len(set(labels) - {None}) and classes.labels == sorted(set(labels) - {None})
    back = classes.name(numbers).tolist()
    assert back == labels and list(map(type, back)) == list(map(type, labels))


def test_merged_spellings_have_the_number_of_their_class():
    classes = Classes.of(["no", "yes"], {"no": 0, "No": 0, "yes": 1, "?": -1})
    assert classes.merged and not Classes.of(["no", "yes"], {"no": 0, "?": -1}).merged
    assert classes.number(["No", "yes", "?", "maybe"], unknown=-2).tolist() == [0, 1, -1, -2]


def test_a_class_that_is_not_there_is_refused_with_a_guess():
    classes = Classes.of(["chinstrap", "gentoo"])
    assert classes.find("gentoo") == classes.find_text("gentoo") == 1
    with pytest.raises(InputError, match="one of 'chinstrap', 'gentoo'; got 'Gento'; did you mean 'gentoo'"):
        classes.find("Gento")
    with pytest.raises(InputError, match="^An answer must be one of 0, 1, or nothing; got '1'; did you mean"):
        Classes.of([0, 1]).find("1", "An answer", ", or nothing")
    with pytest.raises(InputError, match=r"one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, \.\.\.; got \(11,\)\.$"):
        Classes.of(range(11)).find((11,))
    assert Classes.of([0, 1]).find_text("1", "The class") == 1
    with pytest.raises(InputError, match="^The class must be one of 0, 1; got 'x'"):
        Classes.of([0, 1]).find_text("x", "The class")

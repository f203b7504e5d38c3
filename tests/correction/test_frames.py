from dataclasses import replace

import numpy as np
import pytest
from corrections import attacked, make_corrector, quick

from subsvms import correct_labels
from subsvms.correction._frames import FrameStyle, find_style
from subsvms.exceptions import InputError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

COLUMNS = ["is_label_issue", "label_quality", "given_label", "suggested_label", "corrected_label"]
COLUMNS += ["vote_share", "confidence", "withstands", "action", "reason"]


def test_a_pandas_user_gets_pandas_with_the_same_index(cancer):
    X, y = cancer
    index = [f"patient {i}" for i in range(len(y))]
    given = pd.Series(np.array(["m", "b"])[attacked(y, 0)], index=index, name="diagnosis")
    table = pd.DataFrame(X, index=index, columns=[f"c{i}" for i in range(X.shape[1])])
    corrector = make_corrector().fit(table, given)
    frame = corrector.correction_.to_frame()
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == COLUMNS
    assert list(frame.index) == index and list(frame["given_label"]) == list(given)
    assert list(corrector.feature_names_in_) == list(table.columns)
    assert len(corrector.model_.predict(table)) == len(table)  # knows the columns: no warning
    X_new, y_new = make_corrector(action="drop").fit_resample(table, given)
    assert isinstance(X_new, pd.DataFrame) and isinstance(y_new, pd.Series)
    assert list(X_new.index) == list(y_new.index) and y_new.name == "diagnosis"


INDEXES = {
    "text": [f"patient {i}" for i in range(569)],
    "numbers": np.arange(569)[::-1],
    "dates": pd.date_range("2024-01-01", periods=569),
    "levels": pd.MultiIndex.from_product([["a", "b"], range(300)])[:569],
}


@pytest.mark.parametrize("kind", INDEXES)
def test_rows_are_explained_by_the_labels_of_their_index(cancer, corrected, kind):
    frame = pd.DataFrame(cancer[0], index=INDEXES[kind])
    correction = replace(corrected, style=find_style(frame))
    reasons = correction.reason
    for row in (0, 7, 568):
        assert correction.explain(index=frame.index[row]) == correction.explain(row) == reasons[row]
    some = frame.index[[3, 1]]
    for labels in (some, some.tolist()):
        assert correction.explain(index=labels) == [reasons[3], reasons[1]]
    flagged = correction.to_frame().query("is_label_issue").index
    assert correction.explain(index=flagged) == correction.explain(correction.flagged)
    assert correction.explain(index=[]) == []


def test_all_rows_that_share_a_label_are_explained(cancer, corrected):
    for index in (["twice", "once", *["many"] * 567], ["once", "twice", *["many"] * 566, "twice"]):
        correction = replace(corrected, style=FrameStyle("pandas", pd.Index(index)))
        rows = [row for row, label in enumerate(index) if label == "twice"]
        found = correction.explain(index="twice")
        assert found == (correction.explain(rows) if len(rows) > 1 else correction.explain(rows[0]))
        assert correction.explain(index=["twice", "once"]) == correction.explain([*rows, index.index("once")])


@pytest.mark.parametrize("label", ["patient 569", 7, ["patient 0", 7], [["patient 0"]], {}, slice(3), True])
def test_labels_that_the_index_does_not_have_are_refused_in_one_sentence(corrected, label):
    correction = replace(corrected, style=FrameStyle("pandas", pd.Index(INDEXES["text"])))
    with pytest.raises(InputError, match=r"^index must be a label of the data frame's index.*not have\.$"):
        correction.explain(index=label)


def test_rows_and_labels_of_an_index_are_not_mixed_up(corrected):
    hint = r"got 'patient 7'\. Labels of the index are given as explain\(index=\.\.\.\)\.$"
    for wrong, message in [
        ({}, "^Give either rows, by number from 0, or index, labels"),
        ({"rows": 0, "index": 0}, "^Give either rows, by number from 0, or index, labels"),
        ({"index": 0}, "^There is no index, .*: give rows, by number from 0.$"),
    ]:
        with pytest.raises(InputError, match=message):
            corrected.explain(**wrong)
    with pytest.raises(InputError, match=hint):
        replace(corrected, style=FrameStyle("pandas", pd.Index(INDEXES["text"]))).explain("patient 7")


def test_a_polars_user_gets_polars(cancer):
    X, y = cancer
    given = pl.Series("diagnosis", np.array(["m", "b"])[attacked(y, 0)].tolist())
    table = pl.DataFrame(X)
    corrector = make_corrector(action="drop")
    X_new, y_new = corrector.fit_resample(table, given)
    frame = corrector.correction_.to_frame(witnesses=True)
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["index", *COLUMNS, "supporting", "opposing"]
    assert frame["index"].to_list() == list(range(len(y)))
    assert isinstance(X_new, pl.DataFrame) and isinstance(y_new, pl.Series)
    assert len(X_new) == len(y_new) == (~frame["is_label_issue"]).sum()


def test_the_frame_names_witnesses_by_the_index(cancer):
    X, y = cancer
    index = pd.Index(range(1000, 1000 + len(y)))
    correction = quick(pd.DataFrame(X, index=index).rename(columns=str), attacked(y, 0), n_witnesses=2)
    frame = correction.to_frame(witnesses=True)
    flagged = frame[frame["is_label_issue"]]
    for row in flagged.itertuples():
        assert len(row.supporting) == 2
        assert set(row.supporting + row.opposing) <= set(index) - {row.Index}
    assert all(len(names) == 0 for names in frame[~frame["is_label_issue"]]["supporting"])
    without = quick(X, attacked(y, 0), n_witnesses=0)
    assert without.witnesses is None
    with pytest.raises(ValueError, match="n_witnesses above 0"):
        without.to_frame(witnesses=True)


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "category", "string"])
def test_pandas_label_types_are_kept_even_with_missing_labels(cancer, dtype):
    X, y = cancer
    values = {"Int64": [0, 1], "boolean": [False, True]}.get(dtype, ["m", "b"])
    labels = pd.Series([values[c] for c in attacked(y, 0)], dtype=dtype)
    _, whole = make_corrector().fit_resample(X, labels)
    assert whole.dtype == labels.dtype
    labels.iloc[::9] = pd.NA
    corrector = make_corrector()
    _, filled = corrector.fit_resample(X, labels)
    assert filled.dtype == labels.dtype and not filled.isna().any()
    assert corrector.correction_.missing.sum() == len(labels[::9])


TEXT = (
    "X must hold numbers, but could not convert string to float: 'red': encode text and categories first, "
    "for example with skrub's TableVectorizer"
)
GAPS = (
    "X must be finite, but row 1, column 'c' holds NaN: fill or drop such values first, for example with "
    "scikit-learn's SimpleImputer"
)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, "arrow"])
@pytest.mark.parametrize("column, words", [(["red", "blue"] * 50, TEXT), ([1.5, None] * 50, GAPS)])
def test_the_error_about_a_frame_names_correct_table(library, column, words):
    library = pytest.importorskip("pyarrow").table if library == "arrow" else library
    with pytest.raises(InputError) as error:
        correct_labels(library({"c": column, "d": np.arange(100.0)}), ["a", "b"] * 50)
    assert str(error.value) == (
        f"{words}. Or give the whole frame to subsvms.correct_table, which reads text, dates and missing "
        "values."
    )


def test_the_error_about_dates_names_correct_table_and_other_errors_do_not():
    frame = pd.DataFrame({"c": pd.date_range("2024-01-01", periods=100), "d": np.arange(100.0)})
    with pytest.raises(TypeError, match="give the whole frame to subsvms.correct_table"):
        correct_labels(frame, ["a", "b"] * 50)
    for X in (frame[[]], np.array([["x"], ["y"]] * 50)):
        with pytest.raises(InputError) as error:
            correct_labels(X, ["a", "b"] * 50)
        assert "correct_table" not in str(error.value)

"""Answers are read in every form that people have them in, and what is odd about them is said."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from subsvms.annotators import find_consensus
from subsvms.annotators._answers import read_answers
from subsvms.annotators._find import note_answers
from subsvms.exceptions import InputError

WIDE = [["a", "b", None], ["b", "b", "b"], [None, "a", "a"]]
COLUMNS = {f"person {number}": list(said) for number, said in enumerate(zip(*WIDE, strict=True), 1)}


def list_said(answers):
    read = read_answers(answers)
    return sorted(
        zip(read.row.tolist(), [read.names[one] for one in read.person], read.classes[read.label].tolist(),
            read.weight.tolist(), strict=True)
    )  # fmt: skip


@pytest.mark.parametrize(
    "form",
    [
        lambda wide: np.array(wide, dtype=object),
        lambda wide: [[np.nan if one is None else one for one in line] for line in wide],
        lambda wide: COLUMNS,
        lambda wide: pd.DataFrame(COLUMNS),
        lambda wide: pd.DataFrame(COLUMNS, dtype="string"),
        lambda wide: pd.DataFrame(COLUMNS, dtype="category"),
        lambda wide: pl.DataFrame(COLUMNS),
        lambda wide: pa.table(COLUMNS),
    ],
)
def test_forms_of_one_table_are_read_alike(form):
    assert list_said(form(WIDE)) == list_said(WIDE)
    assert len(list_said(WIDE)) == 7


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_one_line_an_answer_is_read_like_a_column_for_each_person(as_lines, kind):
    lines = as_lines(WIDE).sample(frac=1.0, random_state=0).to_dict("list")
    assert list_said(kind(lines)) == list_said(WIDE)


@pytest.mark.parametrize(
    ("wide", "classes"),
    [
        ([[1, 2], [2, np.nan]], [1, 2]),
        (np.array([[1.0, np.nan], [2.0, 1.0]]), [1, 2]),
        (np.ma.masked_equal([[1, -1], [2, 1]], -1), [1, 2]),
        ([[True, False], [None, True]], [False, True]),
        (pd.DataFrame({"x": [1, None], "y": [2, 1]}, dtype="Int64"), [1, 2]),
        ([["a, b", "c"], ["", "c"]], ["", "a, b", "c"]),
    ],
)
def test_labels_keep_their_type(wide, classes):
    assert read_answers(wide).classes.tolist() == classes
    assert [type(one) for one in read_answers(wide).classes.tolist()] == [type(one) for one in classes]


def test_different_answers_of_one_person_share_their_weight_and_equal_ones_are_one():
    lines = {"row": [0, 0, 0, 1, 1], "person": ["x"] * 5, "label": ["a", "b", "b", "a", "a"]}
    assert list_said(lines) == [(0, "x", "a", 0.5), (0, "x", "b", 0.5), (1, "x", "a", 1.0)]
    (note, *_) = note_answers(read_answers(lines))
    assert "'x' gave different answers about 1 row" in note


def list_kinds(answers):
    return {note.kind for note in note_answers(read_answers(answers))}


def test_what_is_odd_has_a_sentence_each_that_names_the_person(ask):
    _, wide = ask([0.1, 0.2, 0.3], n=60)
    assert not list_kinds(wide)
    few = np.full(60, None)
    few[:3] = wide[:3, 0]
    frame = pd.DataFrame(wide, columns=["x", "y", "z"]).assign(few=few, copy=wide[:, 0], same="a")
    said = {note.kind: note for note in note_answers(read_answers(frame))}
    assert said.keys() == {"few_answers", "always_same", "copies"}
    assert "'few' has fewer than 10 answers" in said["few_answers"]
    assert "'same' said 'a' every time (60 answers)" in said["always_same"]
    assert "'copy' and 'x' gave the same answers to all rows" in said["copies"] and "60" in said["copies"]
    assert set(find_consensus(None, frame).notes) >= set(said.values())


def test_one_answer_a_row_is_said():
    assert "one_answer" in list_kinds([["a", None], [None, "b"]])


def test_hundreds_of_people_about_one_row_are_read(ask):
    _, wide = ask([0.2] * 2000, n=2)
    assert not note_answers(read_answers(wide))


@pytest.mark.parametrize(
    ("answers", "how", "words"),
    [
        ([[None, None]], {}, "must not all be missing"),
        (pd.DataFrame(), {}, "has none"),
        (["a", "b"], {}, "list of 1 dimensions"),
        ([["a", "b"], ["a"]], {}, "list of 1 dimensions"),
        ({"x": ["a", "b"], "y": ["a"]}, {}, "each of the rows, and for each person; got 1 and 2"),
        ({"row": [0, 1], "person": ["x"], "label": ["a", "b"]}, {}, "columns of one length"),
        ([["a", "b"]], {"n_rows": 2}, "each of the 2 rows"),
        (pd.DataFrame([["a", "b"]], columns=["x", "x"]), {}, "'x' is there twice"),
        (pd.DataFrame([[0, "x", "a", "b"]], columns=["row", "person", "label", "label"]), {}, "there twice"),
        ([["a", "c"]], {"classes": ["a", "b"]}, "An answer must be one of 'a', 'b'; got 'c'"),
        ([["a", "b"]], {"classes": ["a", "a", "b"]}, "each class once"),
        ([["a", 1]], {}, "text and numbers"),
        ({"x": [["a"], ["b"]], "y": [["a"], ["a"]]}, {}, "one label an answer"),
        ([[0.5, 1.0]], {}, "holds 0.5"),
        ({"row": [0, 5], "person": ["x", "y"], "label": ["a", "b"]}, {"n_rows": 2}, "got row 5"),
        ({"row": [0, -1], "person": ["x", "y"], "label": ["a", "b"]}, {}, "got row -1"),
        ({"row": [0, 10**9], "person": ["x", "y"], "label": ["a", "b"]}, {}, "numbers up to 1,000,000,000"),
        ({"row": ["T1", "T2"], "person": ["x", "y"], "label": ["a", "b"]}, {}, "number the rows first"),
        ({"row": [True, 1], "person": ["x", "y"], "label": ["a", "b"]}, {}, "number the rows first"),
        ({"row": [0, 1], "person": ["x", None], "label": ["a", "b"]}, {}, "the first is line 2"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(answers, how, words):
    with pytest.raises(InputError, match=re.escape(words)):
        read_answers(answers, **how)

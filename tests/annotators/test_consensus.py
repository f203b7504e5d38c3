"""What must hold for every consensus, whoever answers and in whatever order."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix

from subsvms.annotators import find_consensus
from subsvms.annotators._find import scale_values
from subsvms.annotators._model import Powers
from subsvms.audit import Audit
from subsvms.exceptions import InputError


@st.composite
def draw_answers(draw):
    """Return a table of answers of which at least two differ."""
    n, people = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    line = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=people, max_size=people)
    wide = draw(st.lists(line, min_size=n, max_size=n))
    wide[0][0] = "a"
    return [["b"] + [None] * (people - 1), *wide]


@given(answers=draw_answers(), seed=st.integers(0, 99))
@settings(max_examples=10)
def test_any_answers_have_a_consensus_that_is_whole(answers, seed):
    consensus = find_consensus(None, answers, random_state=seed)
    assert_allclose(consensus.probability.sum(axis=1), 1.0)
    empty = [all(one is None for one in line) for line in answers]
    assert_array_equal(np.isnan(consensus.confidence), empty)
    assert [label is None for label in consensus.labels.tolist()] == empty
    assert sum(person.n_answers for person in consensus.people) == np.sum(~pd.isna(np.array(answers)))
    for person in consensus.people:
        assert 0 <= person.low <= person.right <= person.high <= 1 and 0 <= person.chance <= 1
    n_open = np.sum(consensus.answers.per_row < len(consensus.people))
    assert (consensus.gain >= 0).all() and len(consensus.ask_next(3)) == min(3, n_open)
    assert all(isinstance(reason, str) for reason in consensus.explain(np.arange(len(answers))))


@pytest.fixture
def made(ask, seed):
    """Return answers in which people skip some rows, and nobody answers about row 3."""
    _, wide = ask([0.1, 0.2, 0.4], n=60, seed=seed)
    wide[np.random.default_rng(seed).random(wide.shape) < 0.2] = None
    wide[3] = None
    return wide


def find(answers, **how):
    return find_consensus(None, answers, random_state=0, **how)


def test_names_of_classes_do_not_matter(made):
    swapped = np.vectorize({"a": "x", "b": "y", "c": "z", None: None}.get, otypes=[object])(made)
    assert_allclose(find(swapped).probability, find(made).probability, atol=1e-9)


def test_the_order_of_lines_does_not_matter(made, as_lines):
    lines = as_lines(made)
    shuffled = lines.sample(frac=1.0, random_state=1)
    assert_array_equal(find(shuffled).probability, find(lines).probability)


@pytest.mark.parametrize("powers", [(1.0, 0.0), (0.6, 0.0)])
def test_the_order_of_rows_people_and_classes_does_not_matter(made, powers, monkeypatch):
    monkeypatch.setattr("subsvms.annotators._model.choose_powers", lambda *_: (Powers(*powers), []))
    usual, order = find(made), np.random.default_rng(0).permutation(len(made))
    assert_allclose(find(made[order]).probability, usual.probability[order], atol=2e-2)
    assert_allclose(find(made[:, ::-1]).probability, usual.probability, atol=2e-2)
    again = find(made, classes=["c", "b", "a"])
    assert_allclose(again.probability[:, ::-1], usual.probability, atol=2e-2)


def test_a_person_who_says_nothing_changes_nothing(made):
    silent = np.column_stack([made, np.full(len(made), None)])
    assert_array_equal(find(silent).probability, find(made).probability)
    assert len(find(silent).people) == 3


def test_the_same_seed_gives_the_same_bits_with_any_number_of_threads(ask, seed):
    truth, wide = ask([0.2, 0.3, 0.4], n=120, seed=seed)
    X = (truth[:, None] == ["a", "b", "c"]) + np.random.default_rng(seed).normal(0, 0.6, (120, 3))
    first = find_consensus(X, wide, n_jobs=1, random_state=5)
    second = find_consensus(X, wide, n_jobs=2, random_state=5)
    assert_array_equal(first.probability, second.probability)
    assert first.powers == second.powers and first.notes == second.notes
    assert np.mean(first.labels != truth) < np.mean(first.majority != truth)
    assert "the features alone give" in first.explain(0)


def test_probabilities_that_nothing_bears_out_are_said_not_to_be_calibrated(ask):
    _, wide = ask([0.1, 0.2, 0.3], n=80)
    assert find(wide).doubt is None and "not calibrated" not in str(find(wide))
    for few in (wide[:, :2], np.where(np.arange(3) == np.arange(80)[:, None] % 3, wide, None)):
        assert f"not calibrated: {find(few).doubt}" in str(find(few))
    assert "1 answer of 1 person" in str(find([["a"]], classes=["a", "b"]))


def test_frames_have_a_line_for_each_row_and_person_and_the_users_own_index(made):
    consensus = find(made)
    frame = consensus.to_frame()
    assert frame.dtypes.map(lambda kind: kind.kind).to_dict() == {
        "label": "O", "confidence": "f", "majority_label": "O", "n_answers": "i", "n_agreeing": "i",
        "second_label": "O", "gain": "f",
    }  # fmt: skip
    assert pd.isna(frame.loc[3, "label"]) and frame.loc[3, "n_answers"] == 0
    people = consensus.people_to_frame()
    assert list(people["name"]) == ["person 1", "person 2", "person 3"]
    kinds = people.dtypes.map(lambda kind: kind.kind).to_dict()
    assert kinds == {"name": "O", "n_answers": "i"} | dict.fromkeys(
        ["right", "low", "high", "chance", "kappa"], "f"
    ) | {"depends": "b", "advice": "O"}
    assert set(consensus.ask_next(60).columns) == {
        "row", "gain", "label", "second_label", "confidence", "ask"
    }  # fmt: skip
    q = pd.DataFrame(consensus.probability, index=[f"T{row}" for row in range(60)])
    named = find_consensus(None, made, pred_probs=q)
    assert named.to_frame().index[0] == "T0" and str(named.ask_next(1)["row"].iloc[0]).startswith("T")
    assert isinstance(
        find_consensus(None, made, pred_probs=pl.DataFrame(np.array(q))).to_frame(), pl.DataFrame
    )


def test_reasons_name_the_people_and_what_each_said(made):
    consensus = find(made)
    row = int(consensus.disputed[0])
    for person, said in zip(("person 1", "person 2", "person 3"), made[row], strict=True):
        if said is not None:
            assert re.search(rf"{person} \(right in [\d.]+ %\)[^;]* says? '{said}'", consensus.explain(row))
    assert consensus.explain(3) == "nobody answered about this row"
    assert consensus.explain([3, 3]) == [consensus.explain(3)] * 2


def test_whom_to_ask_has_not_answered_about_the_row(made):
    assert (pd.isna(made[find(made).ask_next(60)["row"]]).any(axis=1)).all()
    for row, who in find(made).ask_next(60)[["row", "ask"]].itertuples(index=False):
        assert pd.isna(who) or made[row, int(who.removeprefix("person ")) - 1] is None


def test_audits_take_the_consensus_as_a_correction_of_the_majority(ask):
    _, wide = ask([0.1, 0.2, 0.4], n=150)
    consensus = find(wide)
    correction = consensus.correction
    assert_array_equal(correction.classes[correction.given], consensus.majority)
    changed = correction.labels != consensus.majority
    assert_array_equal(correction.labels[changed], consensus.labels[changed])
    assert Audit(correction, n_answers=10).next_row is not None


def test_one_class_in_every_majority_is_no_correction_and_takes_no_rows_of_it():
    wide = np.full((60, 3), "a", dtype=object)
    wide[np.arange(0, 60, 5), np.arange(12) % 3] = "b"
    consensus = find(wide)
    assert (consensus.labels == "a").all()
    with pytest.raises(InputError, match="the majority says the same of every row"):
        consensus.correction  # noqa: B018


def test_a_crowd_with_few_answers_each_is_not_said_to_be_fewer_than_three_people(ask):
    _, wide = ask([0.2] * 3, n=100)
    rows, people = np.indices(wide.shape)
    lines = {"row": rows.ravel(), "person": np.arange(300) // 2, "label": wide.ravel()}
    assert "few_people" not in {note.kind for note in find(lines).notes}
    assert "few_people" in {note.kind for note in find(wide[:, :2]).notes}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"pred_probs": np.full((2, 2), 0.5), "estimator": "probabilities"}, "give one of them"),
        ({"estimator": "probabilities"}, "X is None"),
        ({"level": 1.0}, "level"),
        ({"classes": ["a"]}, "must be one of 'a'"),
        ({"answers": [["a", "a"]]}, "at least two classes"),
        ({"pred_probs": np.full((2, 3), 0.5)}, "of shape (2, 2)"),
        ({"X": np.zeros((3, 1))}, "each of the 3 rows"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(how, words):
    with pytest.raises(InputError, match=re.escape(words)):
        find_consensus(**{"X": None, "answers": [["a", "b"], ["b", "b"]]} | how)


@pytest.fixture(scope="module")
def table():
    """Return features, answers with a row that nobody answered, and the truth."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=120)
    X = np.column_stack([truth + rng.normal(0, 0.4, 120), rng.normal(size=120)])
    answers = np.where(rng.random((120, 3)) < [0.2, 0.3, 0.4], 1 - truth[:, None], truth[:, None]).astype(
        float
    )
    answers[0] = np.nan
    return X, answers, truth


@pytest.fixture(scope="module")
def judged(table):
    return find_consensus(*table[:2], random_state=0)


FORMS = [
    csr_matrix,
    lambda X: pd.DataFrame(X, columns=["x", "z"]),
    lambda X: pl.DataFrame(X, schema=["x", "z"]),
]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_one_table_give_one_consensus(table, judged, form):
    X, answers, _ = table
    found = find_consensus(form(X), answers, random_state=0)
    assert_allclose(found.probability, judged.probability, atol=5e-3)  # sparse rows add up in another order


def test_features_help_and_judge_rows_that_nobody_answered(table, judged):
    X, answers, truth = table
    alone = find_consensus(None, answers, random_state=0)
    assert np.mean(judged.labels[1:] != truth[1:]) < np.mean(alone.labels[1:] != truth[1:])
    assert judged.labels[0] == truth[0] and alone.labels[0] is None
    assert judged.explain(0).startswith(f"{truth[0]} with probability")


def test_other_judges_and_probabilities_of_a_model_do_the_same(table):
    from sklearn.linear_model import LogisticRegression

    X, answers, truth = table
    other = find_consensus(X, answers, estimator=LogisticRegression(), random_state=0)
    p = np.where(truth[:, None] == [0, 1], 0.9, 0.1)
    told = find_consensus(None, answers, pred_probs=p, random_state=0)
    for consensus in (other, told):
        assert np.mean(consensus.labels != truth) < np.mean(consensus.majority != truth)
    assert "LogisticRegression" in other.explain(1)


def test_features_that_say_nothing_are_left_out_with_a_note(table):
    _, answers, _ = table
    noise = np.random.default_rng(1).normal(size=(120, 2))
    consensus = find_consensus(noise, answers, random_state=0)
    assert consensus.log_q is None and consensus.notes[0].kind == "judge_unused"


def test_probabilities_scaled_from_values_are_those_that_fit_best():
    rng = np.random.default_rng(0)
    values, true = rng.normal(size=(500, 3)), np.array([0.0, 1.0, -1.0])
    p = np.exp(2.0 * values + true)
    p /= p.sum(axis=1, keepdims=True)
    assert_allclose(scale_values(values, values, p), p, atol=0.02)

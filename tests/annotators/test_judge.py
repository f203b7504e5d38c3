"""Features judge in every form that corrections take, and only if they are of use."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix

from subsvms.annotators import find_consensus
from subsvms.annotators._find import scale_values


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

"""The model is that of its formulas, written as loops."""

import numpy as np
import pytest

from subsvms.annotators._answers import read_answers
from subsvms.annotators._model import (
    LEAST_PROBABILITY,
    OTHER_CLASS,
    OWN_CLASS,
    SHRINK,
    Powers,
    choose_powers,
    count_said,
    draw_held,
    fit_answers,
    judge_answers,
    normalise,
)


def list_lines(answers):
    return list(zip(answers.row, answers.person, answers.label, answers.weight, strict=True))


def pool_plainly(answers, posterior):
    pooled = np.full((answers.n_classes, answers.n_classes), OTHER_CLASS) + OWN_CLASS * np.eye(
        answers.n_classes
    )
    for row, _, said, weight in list_lines(answers):
        pooled[:, said] += weight * posterior[row]
    return pooled / pooled.sum(axis=1, keepdims=True)


def judge_plainly(answers, posterior):
    """Return P_w[c, d] of each answer, counted on the other rows, one answer and one class at a time."""
    pooled, found = pool_plainly(answers, posterior), np.zeros((len(answers), answers.n_classes))
    for place, (row, person, said, weight) in enumerate(list_lines(answers)):
        for true in range(answers.n_classes):
            equal = total = 0.0
            for other, who, label, share in list_lines(answers):
                if who == person:
                    part = share * posterior[other, true]
                    part -= weight * posterior[row, true] if (other, label) == (row, said) else 0.0
                    equal, total = equal + part * (label == said), total + part
            found[place, true] = (equal + SHRINK * pooled[true, said]) / (total + SHRINK)
    return found


def step_plainly(answers, posterior, log_q, powers):
    """Return P(true c | i) of the next step."""
    total = np.bincount(answers.label, answers.weight, answers.n_classes) + OWN_CLASS
    log_p = np.where(np.isnan(log_q), 0.0, powers.judge * log_q)
    log_p += np.where(np.isnan(log_q), 1.0, max(0.0, 1.0 - powers.judge)) * np.log(total / total.sum())
    evidence = np.log(np.maximum(judge_plainly(answers, posterior), LEAST_PROBABILITY))
    for place, (row, _, _, weight) in enumerate(list_lines(answers)):
        log_p[row] += powers.answers * weight * evidence[place]
    return normalise(log_p)


@pytest.fixture
def small(ask, seed):
    """Return answers of people who skip rows, and one who answers twice; and a judge of most rows."""
    truth, wide = ask([0.1, 0.3, 0.5], n=30, seed=seed)
    rng = np.random.default_rng(seed)
    wide[rng.random(wide.shape) < 0.3] = None
    wide[7] = None
    rows, people = np.nonzero(wide != None)  # noqa: E711
    lines = {"row": [*rows, 3, 3], "person": [*people, 0, 0], "label": [*wide[rows, people], "a", "b"]}
    log_q = np.log(rng.dirichlet(np.ones(3), 30) + 0.5 * (truth[:, None] == ["a", "b", "c"]))
    log_q[:5] = np.nan
    return read_answers(lines, 30), log_q


def test_answers_are_judged_by_the_other_rows_alone(small):
    answers, log_q = small
    posterior = normalise(np.nan_to_num(log_q))
    np.testing.assert_allclose(
        judge_answers(answers, posterior), judge_plainly(answers, posterior), atol=1e-12
    )
    np.testing.assert_allclose(count_said(answers, posterior)[2], pool_plainly(answers, posterior))


@pytest.mark.parametrize("powers", [Powers(1.0, 0.0), Powers(0.7, 0.5), Powers(0.5, 1.5)])
def test_the_fit_is_where_the_plain_steps_end(small, powers, monkeypatch):
    answers, log_q = small
    monkeypatch.setattr("subsvms.annotators._model.SETTLED", 1e-9)
    monkeypatch.setattr("subsvms.annotators._model.N_STEPS", 500)
    posterior = fit_answers(answers, log_q, powers).posterior
    np.testing.assert_allclose(step_plainly(answers, posterior, log_q, powers), posterior, atol=1e-6)


def test_a_row_without_answers_has_the_judge_or_the_shares_of_the_classes(small):
    answers, log_q = small
    powers = Powers(0.7, 1.0)
    judged = fit_answers(answers, log_q, powers).posterior
    np.testing.assert_allclose(judged[7], normalise(log_q[7:8])[0])
    alone = fit_answers(answers, None, powers).posterior
    np.testing.assert_allclose(alone[7], alone[answers.per_row > 0].mean(axis=0), atol=0.05)


def test_held_out_answers_are_one_a_row_of_rows_with_several(small):
    answers, log_q = small
    for out in draw_held(answers, 0):
        assert len(np.unique(answers.row[out])) == len(out)
        assert (answers.per_row[answers.row[out]] > 1).all()
    assert choose_powers(answers, None, 0)[0].judge == 0.0  # its power is not asked about without a judge


def test_a_judge_that_knows_nothing_counts_less_than_one_that_knows(ask):
    truth, wide = ask([0.3, 0.3, 0.3], n=120)
    answers = read_answers(wide)
    told = np.log(0.05 + 0.85 * (truth[:, None] == ["a", "b", "c"]))
    powers = [
        choose_powers(answers, log_q, 0)[0] for log_q in (told, np.random.default_rng(0).permutation(told))
    ]
    assert powers[0].judge >= 1.0 > powers[1].judge


@pytest.mark.parametrize("share", [0.04, 0.2])
@pytest.mark.parametrize("rates", [(0.1, 0.1, 0.1), (0.1, 0.2, 0.3)])
def test_a_rare_class_does_not_take_the_rows_of_others(ask, share, rates):
    wrong, by_majority = [], []
    for seed in range(5):
        truth, wide = ask(rates, n=400, seed=seed, classes=("no", "yes"), shares=(1 - share, share))
        answers = read_answers(wide)
        wrong.append(np.mean(answers.classes[fit_answers(answers).posterior.argmax(axis=1)] != truth))
        by_majority.append(np.mean(answers.classes[answers.counts.argmax(axis=1)] != truth))
    assert np.mean(wrong) <= np.mean(by_majority) + 0.01


@pytest.mark.parametrize("n_answers", [1, 2])
def test_a_large_class_does_not_take_the_rows_of_others(seed, n_answers):
    rng = np.random.default_rng(seed)
    truth = (rng.random(400) < 0.3).astype(int)
    said = np.where(rng.random((400, 10)) < 0.2, 1 - truth[:, None], truth[:, None])
    asked = rng.random(said.shape).argsort(axis=1)
    wide = np.where(asked < n_answers, said, -1).astype(object)
    wide[wide == -1] = None
    answers = read_answers(wide)
    labels = fit_answers(answers, None, Powers(0.7, 0.0)).posterior.argmax(axis=1)
    if n_answers == 1:
        np.testing.assert_array_equal(labels, answers.label[np.argsort(answers.row)])
    assert np.mean(labels != truth) < 0.27  # .2 of the answers are wrong


def test_somebody_who_always_says_the_same_does_not_make_the_class_large(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=300)
    wide = np.where(rng.random((300, 6)) < 0.2, rng.integers(3, size=(300, 6)), truth[:, None])
    wide[:, :2] = 0
    posterior = fit_answers(read_answers(wide)).posterior
    assert np.mean(posterior.argmax(axis=1) != truth) < 0.08

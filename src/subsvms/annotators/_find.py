"""From answers, and a table or probabilities, to a consensus."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import _num_samples

from subsvms._labels import Classes, name_labels
from subsvms._numbers import check_range, check_seed
from subsvms.annotators import _model as model
from subsvms.annotators._answers import FEW, Answers, read_answers
from subsvms.annotators._consensus import Consensus
from subsvms.annotators._pairs import SAME_BY_CHANCE, count_pairs, find_constant, weigh_answers
from subsvms.annotators._people import describe_people
from subsvms.correction import Correction, correct_labels
from subsvms.correction._frames import find_style
from subsvms.correction._other_judges import check_probabilities
from subsvms.exceptions import InputError, LabelNoiseWarning, Note, format_count, format_value, name_few

FEW_PEOPLE = Note(
    "few_people",
    "Fewer than three people are right clearly more often than by chance, and no features judge between "
    "them: which of them is right more often cannot be told, and the limits of their shares leave that out.",
)
LEAST_JUDGED = 1e-4  # no judge is surer than that a class is wrong
UNUSED = Note(
    "judge_unused",
    "The features do not predict the answers better than chance, so the people alone decide: check that {X} "
    "holds what the answers are about.",
)
ONE_CLASS = Note("judge_unused", "The majority says the same class everywhere, so the people alone decide.")


def find_consensus(
    X: Any, answers: Any, *, pred_probs: Any = None, estimator: Any = None, classes: Iterable | None = None,
    level: float = 0.95, n_jobs: int | None = None, random_state: int | None = None,
) -> Consensus:  # fmt: skip
    """Find the label of each row from several people's answers, and how often each of them is right.

    People are compared with each other and with a judge that learned from the features: rows that look alike
    bear each other out, so that a row with one answer, or with a tie, can be decided as well. How much the
    answers and the judge count is chosen by answers that are held out.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features) or None
        As in `correct_labels`. With None the answers alone decide, by the model of Dawid and Skene.
    answers : data frame, or array-like of shape (n_rows, n_people)
        One line an answer, in columns `row` (numbers of the rows of X, from 0), `person` and `label`; or a
        line for each row and a column for each person, None or NaN where the person did not answer.
    pred_probs : array-like of shape (n_rows, n_classes), default=None
        Out-of-sample probabilities of any model, in the order of `classes`; in place of X as the judge.
    estimator : classifier or list of classifiers, default=None
        Another judge than SVMs, as in `correct_labels`.
    classes : iterable, default=None
        All classes, if some of them may be in no answer; by default those that are.
    level : float, default=0.95
        Of the limits of the share of a person's answers that are right.
    n_jobs, random_state
        As in `correct_labels`; None is the seed 0.

    Returns
    -------
    Consensus
        `labels`, `confidence`, `people`, `notes`, `ask_next()`, `explain(row)`, `to_frame()`, and more.

    Examples
    --------
    >>> import pandas as pd
    >>> from subsvms.annotators import find_consensus
    >>> answers = pd.DataFrame({
    ...     "row": [0, 0, 0, 1, 1, 1, 2, 2, 2], "person": ["ann", "bob", "cem"] * 3,
    ...     "label": ["spam", "spam", "ham", "ham", "ham", "ham", "spam", "ham", "spam"],
    ... })
    >>> find_consensus(None, answers).labels
    array(['spam', 'ham', 'spam'], dtype='<U4')
    """
    seed = check_seed(random_state)
    check_range("level", level, 0, 1, "()")
    if pred_probs is not None and estimator is not None:
        raise InputError("estimator learns from X and pred_probs replaces it as the judge: give one of them.")
    if estimator is not None and X is None:
        raise InputError("estimator learns from X, but X is None: give the features, or leave estimator out.")
    judge = X if X is not None else pred_probs
    n_rows = None if judge is None else _num_samples(judge)
    read = read_answers(answers, n_rows, classes)
    if len(read.classes) < 2:
        raise InputError("answers must hold at least two classes: there is nothing to find out.")
    alone = model.fit_alone(read)
    judged, log_q = None, None
    notes: tuple[Note, ...] = ()
    if pred_probs is not None:
        p = check_probabilities(pred_probs, read.classes, read.n_rows, "pred_probs")
        log_q = np.log(p + LEAST_JUDGED)
    elif X is not None:
        majority = model.count_majority(read, alone)
        judged, notes = judge_rows(X, read.classes, majority, estimator, n_jobs, seed)
        log_q = None if judged is None else scale_votes(judged, read.classes, alone, read.per_row > 0)
    style = find_style(X, pred_probs)
    return combine(read, alone, log_q, seed, level=level, style=style, judged=judged, notes=notes)


def combine(
    answers: Answers, alone: np.ndarray, log_q: np.ndarray | None, seed: int, *, level: float = 0.95,
    notes: tuple[Note, ...] = (), **more: Any,
) -> Consensus:  # fmt: skip
    """Return the consensus of answers and a judge whose probabilities are known; `more` is for the result."""
    several = np.flatnonzero(answers.per_row > 1)
    weighed = weigh_answers(answers, judged=log_q is not None)
    some, q = weighed, log_q
    if len(several) > model.MOST_ROWS:
        drawn = np.sort(np.random.default_rng([seed, 8]).choice(several, model.MOST_ROWS, replace=False))
        some, q = weighed.of_rows(drawn), None if log_q is None else log_q[drawn]
    powers, held = model.choose_powers(some, q, seed)
    fit = model.fit_answers(weighed, log_q, powers)
    fit = model.Fit(fit.posterior, *model.count_said(answers, fit.posterior))  # as people answered
    calibration = None
    if held:
        checked = [model.hold_out(some, q, powers, out) for out in held]
        p, agreed = (np.concatenate([one[part] for one in checked]) for part in (1, 2))
        spread = float(np.sqrt((p * (1.0 - p)).sum()) / len(p))
        calibration = model.Calibration(len(p), float(p.mean()), float(agreed.mean()), spread)
    judged = log_q is not None and powers.judge > 0
    people = describe_people(answers, fit, level)
    n_able = sum(person.is_informed for person in people)
    n_able += sum(person.n_answers for person in people if person.n_answers < FEW) // FEW  # known as a crowd
    two = () if judged or n_able > 2 else (FEW_PEOPLE,)
    notes = (*notes, *note_answers(answers), *two)
    return Consensus(
        answers=answers, alike=weighed.alike, alone=alone, fit=fit, powers=powers, log_q=log_q,
        calibration=calibration, people=people, level=level, notes=notes, **more,
    )  # fmt: skip


def note_answers(answers: Answers) -> tuple[Note, ...]:
    """Return what the user should know about people and answers before using a consensus."""
    notes = [*_note_twice(answers), *_note_single(answers), *_note_same(answers), *_note_copies(answers)]
    few = np.flatnonzero(np.bincount(answers.person, minlength=len(answers.names)) < FEW)
    if len(few) and len(few) < len(answers.names):
        who = name_few([repr(answers.names[one]) for one in few])
        answered = "has" if len(few) == 1 else "have"
        notes.append(Note("few_answers", "{who} {answered} fewer than {few} answers each: about "
                          "how often they err next to nothing is known, and they count much like the others.",
                          who=who, answered=answered, few=FEW))  # fmt: skip
    return tuple(notes)


def _note_twice(answers):
    shared = answers.weight < 1.0
    for person in np.unique(answers.person[shared]):
        n = len(np.unique(answers.row[shared & (answers.person == person)]))
        yield Note("answered_twice", "{who} gave different answers about {rows}: together they count as one.",
                   who=repr(answers.names[person]), rows=format_count(n, "row"))  # fmt: skip


def _note_single(answers):
    if answers.per_row.max() <= 1:
        yield Note(
            "one_answer",
            "No row has more than one answer, so people cannot be compared on the same row: how often each "
            "errs rests on the columns, if there are any, and is not checked by answers.",
        )


def _note_same(answers):
    for person in find_constant(answers):
        said = answers.label[answers.person == person]
        label, who = format_value(answers.classes.tolist()[said[0]]), repr(answers.names[person])
        yield Note("always_same", "{who} said {label} every time ({n:,} answers), which says nothing about a "
                   "row: these answers are used only where nobody else answered.",
                   who=who, label=label, n=len(said))  # fmt: skip


def _note_copies(answers):
    """Note people who agree on all shared rows, although two people rarely would on so many."""
    people, both, equal = count_pairs(answers)
    n_both, n_equal = both.sum(), equal.sum()
    if n_equal in (0, n_both):
        return
    log_limit = np.log(SAME_BY_CHANCE / np.count_nonzero(both))
    always = (both > 0) & (equal == both) & (both * np.log(n_equal / n_both) < log_limit)
    group = connected_components(sparse.csr_array(always), directed=False)[1]
    for number in np.flatnonzero(np.bincount(group) > 1):
        own = np.flatnonzero(group == number)
        who = name_few([repr(answers.names[people[place]]) for place in own])
        yield Note("copies", "{who} gave the same answers to all rows that two of them saw (up to {n:,}): "
                   "they may be one person, or copy each other.",
                   who=who, n=int(both[own][:, own].max()))  # fmt: skip


def judge_rows(
    X: Any, classes: np.ndarray, majority: np.ndarray, estimator: Any, n_jobs: int | None, seed: int
) -> tuple[Correction | None, tuple[Note, ...]]:
    """Return a correction of the majority's labels, with its votes on every row; None if it is of no use."""
    if len(np.unique(majority[majority >= 0])) < 2:
        return None, (ONE_CLASS,)
    how: dict[str, Any] = {"n_witnesses": 0, "n_jobs": n_jobs, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)  # about the majority, which is not the result
        judged = correct_labels(X, name_labels(classes, majority), estimator=estimator, **how)
    return (judged, ()) if judged.noise.explained else (None, (UNUSED,))


def scale_votes(
    judged: Correction, classes: np.ndarray, posterior: np.ndarray, answered: np.ndarray
) -> np.ndarray:
    """Return log q (n_rows, n_classes), from votes and what the answers alone say of the rows (posterior)."""
    # Mean values u of SVMs become q_c ~ exp(b u_c + k_c), with the b and k_c that make the answers likeliest.
    votes, places = judged.votes, Classes(classes).number(judged.classes)
    if judged.judge is not None:
        q = votes.share
    else:
        values = np.where(votes.n_voters[:, None] > 0, votes.mean_value, np.nan)
        used = answered & ~np.isnan(values).any(axis=1)
        q = scale_values(values, values[used], posterior[np.ix_(used, places)])
    log_q = np.full((len(q), len(classes)), np.log(LEAST_JUDGED))
    log_q[:, places] = np.log(q + LEAST_JUDGED)
    return log_q


def scale_values(values: np.ndarray, some: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """Return q of mean values, with the scale and the constants that fit `posterior` on some of them."""
    n_classes = values.shape[1]

    def loss(point):
        p = model.normalise(np.exp(point[0]) * some + point[1:])
        away = p - posterior
        slope = np.exp(point[0]) * (away * some).sum()
        fit = -(posterior * np.log(p + 1e-300)).sum() + (point[1:] ** 2).sum() / 2.0
        return fit, np.concatenate([[slope], away.sum(axis=0) + point[1:]])

    posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    found = minimize(loss, np.concatenate([[1.0], np.zeros(n_classes)]), jac=True, method="L-BFGS-B").x
    return model.normalise(np.exp(found[0]) * values + found[1:])

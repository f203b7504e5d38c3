"""From answers, and a table or probabilities, to a consensus."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from subsvms._numbers import check_range, check_seed
from subsvms.annotators._answers import FEW, Answers, read_answers
from subsvms.annotators._consensus import Consensus
from subsvms.annotators._judge import judge_rows, read_probabilities, scale_votes
from subsvms.annotators._model import Fit, count_majority, count_said, fit_alone, fit_answers
from subsvms.annotators._notes import note_answers
from subsvms.annotators._pairs import weigh_answers
from subsvms.annotators._people import describe_people
from subsvms.annotators._powers import MOST_ROWS, Calibration, choose_powers, hold_out
from subsvms.correction import Correction
from subsvms.correction._frames import find_style
from subsvms.exceptions import InputError, Note

FEW_PEOPLE = Note(
    "few_people",
    "Fewer than three people are right clearly more often than by chance, and no features judge between "
    "them: which of them is right more often cannot be told, and the limits of their shares leave that out.",
)


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
    alone = fit_alone(read)
    judged: Correction | None = None
    notes: tuple[Note, ...] = ()
    log_q = None
    if pred_probs is not None:
        log_q = read_probabilities(pred_probs, read)
    elif X is not None:
        majority = count_majority(read, alone)
        judged, notes = judge_rows(X, read.classes, majority, estimator, n_jobs, seed)
        log_q = None if judged is None else scale_votes(judged, read.classes, alone, read.per_row > 0)
    style = find_style(X, pred_probs)
    return combine(read, alone, log_q, seed, level=level, style=style, judged=judged, notes=notes)


def combine(
    answers: Answers,
    alone: np.ndarray,
    log_q: np.ndarray | None,
    seed: int,
    *,
    level: float = 0.95,
    notes: tuple[Note, ...] = (),
    **more: Any,
) -> Consensus:
    """Return the consensus of answers and a judge whose probabilities are known; `more` is for the result."""
    several = np.flatnonzero(answers.per_row > 1)
    weighed = weigh_answers(answers, judged=log_q is not None)
    some, q = weighed, log_q
    if len(several) > MOST_ROWS:
        drawn = np.sort(np.random.default_rng([seed, 8]).choice(several, MOST_ROWS, replace=False))
        some, q = weighed.of_rows(drawn), None if log_q is None else log_q[drawn]
    powers, held = choose_powers(some, q, seed)
    fit = fit_answers(weighed, log_q, powers)
    fit = Fit(fit.posterior, *count_said(answers, fit.posterior))  # as people answered, whatever it counted
    calibration = None
    if held:
        checked = [hold_out(some, q, powers, out) for out in held]
        p, agreed = (
            np.concatenate([getattr(one, name) for one in checked]) for name in ("agreeing", "agreed")
        )
        spread = float(np.sqrt((p * (1.0 - p)).sum()) / len(p))
        calibration = Calibration(len(p), float(p.mean()), float(agreed.mean()), spread)
    judged = log_q is not None and powers.judge > 0
    people = describe_people(answers, fit, level)
    n_able = sum(person.is_informed for person in people)
    n_able += sum(person.n_answers for person in people if person.n_answers < FEW) // FEW  # known as a crowd
    two = () if judged or n_able > 2 else (FEW_PEOPLE,)
    notes = (*notes, *note_answers(answers), *two)
    return Consensus(
        answers=answers,
        alike=weighed.alike,
        alone=alone,
        fit=fit,
        powers=powers,
        log_q=log_q,
        calibration=calibration,
        people=people,
        level=level,
        notes=notes,
        **more,
    )

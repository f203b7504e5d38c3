"""A judge of rows by their features: out-of-bag votes on the majority's labels, as probabilities."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import minimize

from subsvms._labels import Classes
from subsvms.annotators._answers import Answers
from subsvms.annotators._model import normalise
from subsvms.correction import Correction, correct_labels
from subsvms.correction._other_judges import check_probabilities
from subsvms.exceptions import LabelNoiseWarning, Note

LEAST = 1e-4  # no judge is surer than that a class is wrong
UNUSED = Note(
    "judge_unused",
    "The features do not predict the answers better than chance, so the people alone decide: check that {X} "
    "holds what the answers are about.",
)
ONE_CLASS = Note("judge_unused", "The majority says the same class everywhere, so the people alone decide.")


def judge_rows(
    X: Any, classes: np.ndarray, majority: np.ndarray, estimator: Any, n_jobs: int | None, seed: int
) -> tuple[Correction | None, tuple[Note, ...]]:
    """Return a correction of the majority's labels, with its votes on every row; None if it is of no use."""
    if len(np.unique(majority[majority >= 0])) < 2:
        return None, (ONE_CLASS,)
    labels = Classes(classes).name(majority) if np.any(majority < 0) else classes[majority]
    how: dict[str, Any] = {"n_witnesses": 0, "n_jobs": n_jobs, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelNoiseWarning)  # about the majority, which is not the result
        judged = correct_labels(X, labels, estimator=estimator, **how)
    return (judged, ()) if judged.noise.explained else (None, (UNUSED,))


def scale_votes(
    judged: Correction, classes: np.ndarray, posterior: np.ndarray, answered: np.ndarray
) -> np.ndarray:
    """Return log q (n_rows, n_classes), from votes and what the answers alone say of the rows (posterior).

    Probabilities of other judges than SVMs are taken as they are. The mean values u of SVMs become
    q_c proportional to exp(b u_c + k_c), with b and k_c those that make the answers most probable.
    """
    votes, places = judged.votes, Classes(classes).number(judged.classes)
    if judged.judge is not None:
        q = votes.share
    else:
        values = np.where(votes.n_voters[:, None] > 0, votes.mean_value, np.nan)
        used = answered & ~np.isnan(values).any(axis=1)
        q = scale_values(values, values[used], posterior[np.ix_(used, places)])
    log_q = np.full((len(q), len(classes)), np.log(LEAST))
    log_q[:, places] = np.log(q + LEAST)
    return log_q


def scale_values(values: np.ndarray, some: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """Return q of mean values, with the scale and the constants that fit `posterior` on some of them."""
    n_classes = values.shape[1]

    def loss(point):
        p = normalise(np.exp(point[0]) * some + point[1:])
        away = p - posterior
        slope = np.exp(point[0]) * (away * some).sum()
        fit = -(posterior * np.log(p + 1e-300)).sum() + (point[1:] ** 2).sum() / 2.0
        return fit, np.concatenate([[slope], away.sum(axis=0) + point[1:]])

    posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    found = minimize(loss, np.concatenate([[1.0], np.zeros(n_classes)]), jac=True, method="L-BFGS-B").x
    return normalise(np.exp(found[0]) * values + found[1:])


def read_probabilities(pred_probs: Any, answers: Answers) -> np.ndarray:
    """Return log q from a table of probabilities, checked."""
    p = check_probabilities(pred_probs, answers.classes, answers.n_rows, "pred_probs")
    return np.log(p + LEAST)

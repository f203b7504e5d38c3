"""The methods, one small file each, behind one interface.

A method is a module with a NAME, SEES_TEST_LABELS and a function `run(task) -> Answer`. Put a file here, name
it in `MODULES`, and every preset, table and comparison includes it. Test labels never reach a method; one
that the paper lets choose by them (SEES_TEST_LABELS) gets the measures of the candidates, and nothing else.
"""

from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets import Dataset
from experiments.judge import METRICS
from experiments.protocol import UNWEIGHTED, Protocol

MODULES = ("subsvms", "rule", "oracle", "blind", "bag", "cv", "cv_accuracy")


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is given.

    Attributes
    ----------
    data : Dataset
        Without its test labels.
    given : ndarray of int of shape (n_train,)
        The labels to learn from, 0 or 1.
    seed : int
    protocol : Protocol
    candidates : DataFrame
        SVMs of the grid for this case; empty for methods that need none.
    """

    data: Dataset
    given: np.ndarray
    seed: int
    protocol: Protocol
    candidates: pd.DataFrame


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method returns: predictions for the test rows, or candidates that the judge has scored.

    The paper's tables agree with SVMs that were tuned for each table's own measure, so a method that chooses
    among candidates chooses once for each measure.

    Attributes
    ----------
    train_seconds, test_seconds : float
    labels : ndarray of int of shape (n_test,), optional
        0 or 1.
    values : ndarray of shape (n_test,), optional
        Larger values speak for class 1; for the AUC.
    chosen : dict of str to DataFrame, optional
        For each measure, the candidates over which it is averaged.
    parameters : dict
        gamma, C and ratio, if there are any.
    """

    train_seconds: float
    labels: np.ndarray | None = None
    values: np.ndarray | None = None
    chosen: dict[str, pd.DataFrame] | None = None
    test_seconds: float = 0.0
    parameters: dict[str, Any] = field(default_factory=dict)


def load_methods():
    """Return the methods by name; those that choose among candidates also without class weights."""
    found = {}
    for name in MODULES:
        method = import_module(f"experiments.methods.{name}")
        found[method.NAME] = method
        if getattr(method, "CHOOSES", False):
            found[method.NAME + UNWEIGHTED] = Unweighted(method)
    return found


class Unweighted:
    """A method that may only choose candidates whose classes have equal weights."""

    def __init__(self, method):
        self.method = method
        self.NAME = method.NAME + UNWEIGHTED
        self.SEES_TEST_LABELS = method.SEES_TEST_LABELS
        self.EVERYWHERE = getattr(method, "EVERYWHERE", False)

    def run(self, task):
        """Let the method choose among fewer candidates."""
        fewer = task.candidates[np.isclose(task.candidates["ratio"], 1.0)]
        return self.method.run(replace(task, candidates=fewer))


def hide(candidates, method):
    """Return the candidates without what a method must not see."""
    return candidates if method.SEES_TEST_LABELS else candidates.drop(columns=list(METRICS))

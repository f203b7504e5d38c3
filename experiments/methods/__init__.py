"""The methods, one small file each, behind one interface.

A method is a module with a NAME, SEES_TEST_LABELS and a function `run(task) -> Answer`. Put a file here, name
it in `MODULES`, and every preset, table and comparison knows it. Test labels never reach a method; one that
the paper lets choose by them (SEES_TEST_LABELS) gets the measures of the candidates, and nothing else.
"""

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets import Dataset
from experiments.judge import METRICS
from experiments.protocol import Protocol

MODULES = ("subsvms", "oracle", "blind", "bag", "cv")


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is given."""

    data: Dataset  # its test labels are removed
    given: np.ndarray  # (n_train,), 0 or 1: the labels to learn from
    seed: int
    protocol: Protocol
    candidates: pd.DataFrame  # SVMs of the grid for this case; empty for methods that need none


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method gives: predictions for the test rows, or candidates, which the judge has scored."""

    train_seconds: float
    labels: np.ndarray | None = None  # (n_test,), 0 or 1
    values: np.ndarray | None = None  # (n_test,), the larger, the more for class 1; for the AUC
    candidates: pd.DataFrame | None = None  # chosen; the measures are their mean
    test_seconds: float = 0.0
    parameters: dict[str, Any] = field(default_factory=dict)


def load_methods():
    """Return the methods by their names."""
    modules = [import_module(f"experiments.methods.{name}") for name in MODULES]
    return {module.NAME: module for module in modules}


def hide(candidates, method):
    """Return the candidates without what a method must not see."""
    return candidates if method.SEES_TEST_LABELS else candidates.drop(columns=list(METRICS))

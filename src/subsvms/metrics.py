"""Measures that scikit-learn does not have.

It has the paper's other measures: `balanced_accuracy_score`, `roc_auc_score`, `accuracy_score`. (Appendix C
prints specificity as tn / (tp + fn); it is tn / (tn + fp), as in scikit-learn.)
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from subsvms._numbers import read_array
from subsvms.exceptions import InputError, format_value

__all__ = ["skew_insensitive_f_score"]


def skew_insensitive_f_score(y_true: ArrayLike, y_pred: ArrayLike, *, pos_label: Any = 1) -> float:
    """Return what the F-score would be if the classes were equally common (Flach, ICML 2003).

    SIF = 2 tpr / (tpr + fpr + 1), with the true and the false positive rate (Appendix C of the paper).

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        True and predicted labels of two classes.
    pos_label : label, default=1
        The positive class; every other label is negative.

    Examples
    --------
    >>> skew_insensitive_f_score([1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0])  # tpr 1/2, fpr 1/4
    0.5714285714285714
    """
    y_true = column_or_1d(read_array("y_true", y_true, None))
    y_pred = column_or_1d(read_array("y_pred", y_pred, None))
    check_consistent_length(y_true, y_pred)
    if not isinstance(pos_label, Hashable):
        raise InputError(f"pos_label must be one of the labels; got {format_value(pos_label)}.")
    positive: Any = y_true == pos_label
    proposed: Any = y_pred == pos_label
    if not positive.any() or positive.all():
        which = "no row" if not positive.any() else "every row"
        said = f"y_true must hold both classes, but {which} has the label pos_label={pos_label!r}"
        raise ValueError(f"{said}: name the positive class with pos_label.")
    tpr, fpr = np.mean(proposed[positive]), np.mean(proposed[~positive])
    return float(2.0 * tpr / (tpr + fpr + 1.0))

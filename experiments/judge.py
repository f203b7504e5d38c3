"""Score predictions on test rows: the four measures of the paper. Methods never score themselves."""

import numpy as np
from sklearn.metrics import roc_auc_score

from subsvms.metrics import skew_insensitive_f_score

METRICS = ("bac", "sif", "auc", "accuracy")


def score(clean, labels, values):
    """Return the measures of one prediction.

    Parameters
    ----------
    clean : ndarray of int of shape (n_test,)
        Right labels, 1 for the smaller class.
    labels : ndarray of int of shape (n_test,)
        Predicted labels.
    values : ndarray of float of shape (n_test,)
        Larger values speak for class 1.
    """
    positive = clean == 1
    tpr, fpr = np.mean(labels[positive] == 1), np.mean(labels[~positive] == 1)
    return {
        "bac": float((tpr + 1.0 - fpr) / 2.0),
        "sif": skew_insensitive_f_score(clean, labels),
        "auc": float(roc_auc_score(positive, values)),
        "accuracy": float(np.mean(labels == clean)),
    }

"""Judge corrected labels by the clean ones, which no method has seen.

left        wrong labels after the correction, as a share of the rows
changed     labels changed, as a share of the rows
precision   share of the changed labels that are right now
recall      share of the wrong labels that are right now
auc, ap     area under the ROC curve, and average precision, of the ranking by quality, in which wrong labels
            should come first
bac         balanced accuracy, on clean test rows, of an SVC with balanced class weights trained on the labels
"""

import numpy as np
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.svm import SVC

MEASURES = ("given", "left", "changed", "precision", "recall", "auc", "ap", "bac")


def measure(table, given, labels, quality):
    """Return the measures of one correction; NaN where there is nothing to measure.

    Parameters
    ----------
    table : Table
    given : ndarray of int of shape (n_rows,)
    labels : ndarray of int of shape (n_rows,)
    quality : ndarray of float of shape (n_rows,)
        Lower is worse; NaN, where a method knows nothing, counts as no doubt.
    """
    clean = table.y
    wrong, changed = given != clean, labels != given
    n_righted = np.sum(changed & (labels == clean))
    return {
        "given": np.mean(wrong),
        "left": np.mean(labels != clean),
        "changed": np.mean(changed),
        "precision": n_righted / changed.sum() if changed.any() else np.nan,
        "recall": n_righted / wrong.sum() if wrong.any() else np.nan,
        **rank(wrong, quality),
        "bac": retrain(table, labels),
    }


def rank(wrong, quality):
    """Return how well a quality ranks wrong labels first; NaN where none is wrong."""
    if not wrong.any():
        return {"auc": np.nan, "ap": np.nan}
    most = np.finfo(float).max
    doubt = -np.nan_to_num(quality, nan=most, posinf=most, neginf=-most)
    return {"auc": roc_auc_score(wrong, doubt), "ap": average_precision_score(wrong, doubt)}


def retrain(table, labels):
    """Return the balanced accuracy on test rows of a classifier trained on these labels."""
    if len(np.unique(labels)) == 1:
        return 1.0 / len(np.unique(table.y_test))
    model = SVC(class_weight="balanced").fit(table.X, labels)
    return balanced_accuracy_score(table.y_test, model.predict(table.X_test))

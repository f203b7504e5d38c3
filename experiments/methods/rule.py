"""SubSVMs after the rule: it learns the labels that `LabelCorrector` with its defaults leaves.

The AUC is that of an SVM on the labels that the rule left, where SubSVMs has those of its vote.
"""

import time
import warnings

from experiments.methods import subsvms
from subsvms import LabelCorrector

NAME, SEES_TEST_LABELS = "SubSVMs after the rule", False


def run(task):
    """Correct the labels, and let SVMs that learn the corrected ones vote on the test rows."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes about the correction
        fitted = LabelCorrector(random_state=task.seed, n_jobs=2).fit(task.data.X_train, task.given)
    corrected = fitted.correction_.labels
    return subsvms.vote(task, corrected, began, corrected)

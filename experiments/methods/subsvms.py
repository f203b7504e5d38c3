"""SubSVMs: the vote of a thousand tiny SVMs, nothing tuned.

The AUC is that of an SVM retrained on the corrected labels, as in the paper (Appendix C); it has the vote's
own C and gamma.
"""

import time

import numpy as np

from experiments.grid import solve, training_kernel, values_on_test
from experiments.methods import Answer
from subsvms import SubSVMClassifier

NAME, SEES_TEST_LABELS = "SubSVMs", False


def run(task):
    """Vote on the test rows."""
    began = time.perf_counter()
    return vote(task, task.given, began)


def vote(task, labels, began, corrected=None):
    """Return the vote of SVMs that learn these labels; for the AUC, its own labels if none are given."""
    protocol, data = task.protocol, task.data
    model = SubSVMClassifier(
        n_estimators=protocol.n_svms,
        subsample_size=protocol.subset,
        loss=protocol.loss,
        random_state=task.seed,
        n_jobs=2,
    )
    model.fit(data.X_train, labels)
    trained = time.perf_counter()
    predicted = model.predict(data.X_test)
    tested = time.perf_counter()
    corrected = model.predict(data.X_train) if corrected is None else corrected
    if len(np.unique(corrected)) == 1:  # nothing to retrain on
        values = np.zeros(len(predicted))
    else:
        svm = solve(training_kernel(data, 1.0)[0], 2.0 * corrected[None] - 1.0, model.C, 1.0, protocol)
        values = values_on_test(data, 1.0, svm.coef, svm.intercept)[0]
    parameters = {"C": model.C, "gamma": 1.0, "ratio": 1.0}
    return Answer(trained - began, predicted, values, test_seconds=tested - trained, parameters=parameters)

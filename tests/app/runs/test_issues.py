"""Which labels are listed, and in which order."""

import numpy as np
import pyarrow as pa

from subsvms import SubSVMClassifier, correct_labels
from subsvms.app.runs.issues import find_issues, tabulate


def test_labels_are_held_back_where_another_one_is_more_probable():
    rng = np.random.default_rng(0)
    clean = rng.integers(0, 3, 600)
    given = np.where(rng.random(600) < 0.3, rng.integers(0, 3, 600), clean)
    X = rng.normal(np.array([[0, 0], [2, 0], [1, 2]])[clean], 0.8)
    ensemble = SubSVMClassifier(n_estimators=100, random_state=0)
    correction = correct_labels(X, given, estimator=ensemble, min_confidence=0.9)
    issues = find_issues(correction, X)
    posterior, rows = correction.judgement.posterior, issues.rows
    own, other = posterior[rows, correction.given[rows]], posterior[rows, correction.compared[rows]]
    n = correction.flagged.sum() + correction.held_back.sum()
    assert correction.held_back.sum() > 10
    assert np.all((other > own) == (np.arange(len(issues)) < n))


def test_a_row_without_a_label_has_no_quality():
    """It is null and not NaN, which JSON, and so the page and the exports, could not hold."""
    rng = np.random.default_rng(0)
    given = np.repeat(["no", "yes"], 100).astype(object)
    X = rng.normal(3.0 * (given == "yes")[:, None], 1.0, (200, 2))
    given[7] = None
    correction = correct_labels(X, given, estimator=SubSVMClassifier(n_estimators=50, random_state=0))
    columns = pa.table({"x": X[:, 0], "label": given.tolist()})
    found = tabulate(correction, np.array([7, 8]), columns, "label", pa.string())
    assert found["label_quality"].null_count == 1 and found["label_quality"][0].as_py() is None

"""One large problem with a precomputed kernel, as the comparison with plain SVMs needs it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from experiments.shared import solve_shared
from subsvms._effort import Effort

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_thousands_of_rows_agree_with_svc(loss):
    """In single precision, with a fold left out and a warm start from a smaller C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=2000) > 0.4, 1.0, -1.0)
    targets = np.stack([np.where(np.arange(2000) % 4 == fold, 0.0, y) for fold in range(2)])
    K = rbf_kernel(X, gamma=1 / 8)
    start = solve_shared(K.astype(np.float32), targets, C=3.0, loss=loss, effort=Effort(2))
    ours = solve_shared(K.astype(np.float32), targets, C=10.0, loss=loss, start=start, effort=Effort(2))
    assert np.all(ours.duality_gap <= 1e-3)
    for fold in range(2):
        inside = targets[fold] != 0
        kernel = K[np.ix_(inside, inside)]
        if loss == "hinge":
            svc = SVC(kernel="precomputed", C=10.0, tol=1e-5).fit(kernel, y[inside])
        else:
            ridge = np.eye(inside.sum()) / 10
            svc = SVC(kernel="precomputed", C=1e9, tol=1e-5).fit(kernel + ridge, y[inside])
        theirs = svc.decision_function(K[:, inside])
        assert_allclose(ours.decision[fold], theirs, atol=2e-3)

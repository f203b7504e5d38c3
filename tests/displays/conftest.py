import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import minmax_scale

from subsvms import LabelCorrector, SubSVMClassifier, adversaries


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def fit():
    """Return a function that fits a small corrector."""
    small = SubSVMClassifier(n_estimators=200)
    return lambda X, y, **options: LabelCorrector(small, random_state=0, **options).fit(X, y)


@pytest.fixture(scope="session")
def attacked_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    attack = adversaries.directed_flips(y, rho=0.5, alpha=0.5, random_state=0)
    return minmax_scale(X), np.array(["bad", "good"])[attack.labels]


@pytest.fixture(scope="session")
def cancer(fit, attacked_cancer):
    return fit(*attacked_cancer)


@pytest.fixture(scope="session")
def blobs(fit):
    X, y = make_blobs(500, centers=4, n_features=5, cluster_std=3.0, random_state=0)
    return fit(minmax_scale(X), adversaries.uniform_flips(y, error_rate=0.2, random_state=0).labels)


@pytest.fixture
def assert_within_the_page():
    def check(figure):
        figure.canvas.draw()
        drawn, page = figure.get_tightbbox(), figure.bbox_inches
        assert drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= page.x1 and drawn.y1 <= page.y1

    return check

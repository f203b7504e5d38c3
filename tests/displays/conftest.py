import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from corrections import attacked, make_corrector
from sklearn.datasets import make_blobs
from sklearn.preprocessing import minmax_scale

from subsvms import adversaries


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def attacked_cancer(cancer):
    X, y = cancer
    return X, np.array(["bad", "good"])[attacked(y)]


@pytest.fixture(scope="session")
def corrector(attacked_cancer):
    return make_corrector().fit(*attacked_cancer)


@pytest.fixture(scope="session")
def blobs():
    X, y = make_blobs(500, centers=4, n_features=5, cluster_std=3.0, random_state=0)
    given = adversaries.uniform_flips(y, error_rate=0.2, random_state=0).labels
    return make_corrector().fit(minmax_scale(X), given)


@pytest.fixture
def assert_within_the_page():
    def check(figure):
        figure.canvas.draw()
        drawn, page = figure.get_tightbbox(), figure.bbox_inches
        assert drawn.x0 >= 0 and drawn.y0 >= 0 and drawn.x1 <= page.x1 and drawn.y1 <= page.y1

    return check

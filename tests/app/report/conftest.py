import numpy as np
import pytest

from subsvms import SubSVMClassifier, adversaries, correct_labels
from subsvms.app.report import draw_charts


def make_rows():
    rng = np.random.default_rng(0)
    clean = rng.integers(2, size=1000)
    return clean, rng.normal(0.5, 0.5, (2, 4))[clean] + rng.normal(0, 0.12, (1000, 4))


@pytest.fixture(scope="session")
def features():
    return make_rows()[1]


@pytest.fixture(scope="session")
def correction():
    clean, X = make_rows()
    given = adversaries.uniform_flips(clean, error_rate=0.1, random_state=0).labels
    labels = np.array(["no", "yes"], dtype=object)[given]
    return correct_labels(X, labels, estimator=SubSVMClassifier(n_estimators=100), random_state=0)


@pytest.fixture(scope="session")
def charts(correction, features):
    return draw_charts(correction, features=features)

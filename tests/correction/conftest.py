import pytest
from corrections import attacked, quick
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return minmax_scale(X), y


@pytest.fixture(scope="session")
def corrected(cancer):
    """The correction of an attacked table, shared by the tests that only look at it."""
    X, y = cancer
    return quick(X, attacked(y))

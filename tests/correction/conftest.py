import pytest
from corrections import attacked, quick


@pytest.fixture(scope="session")
def corrected(cancer):
    """The correction of an attacked table, shared by the tests that only look at it."""
    X, y = cancer
    return quick(X, attacked(y))

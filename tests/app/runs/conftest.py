"""A file of decisions, and a trained model."""

import pytest
from decision_books import Book
from trained_models import draw_columns, fit_model, save_model, write


@pytest.fixture
def book(tmp_path):
    made = Book(tmp_path / "decisions.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with a table, and a model trained on it."""
    folder = tmp_path_factory.mktemp("trained")
    model, X = fit_model(write(folder / "t.csv", draw_columns()))
    save_model(model, folder / "model")
    return folder, model, X

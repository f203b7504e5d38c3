"""Answers of made people."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def ask():
    return ask_people


def ask_people(rates, n=200, seed=0, classes=("a", "b", "c"), shares=None):
    """Return the truth, and answers (n, n_people) of people who are wrong as often as `rates` says."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(classes), n, p=shares)
    away = rng.integers(1, len(classes), (n, len(rates)))
    wrong = rng.random((n, len(rates))) < rates
    names = np.array(classes)
    return names[truth], names[(truth[:, None] + away * wrong) % len(classes)].astype(object)


@pytest.fixture
def as_lines():
    def melt(answers):
        places = [(row, person) for row in range(len(answers)) for person in range(len(answers[0]))]
        lines = [(row, f"person {person + 1}", answers[row][person]) for row, person in places]
        return pd.DataFrame(lines, columns=["row", "person", "label"]).dropna(subset=["label"])

    return melt

"""A check fails for new rows as often as stated, and for errors by class by the lower end."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import hypergeom

from subsvms.app.runs.check import CHANCE, judge_rate, measure_chance


def make_labels(seed, n=400, n_classes=3):
    rng = np.random.default_rng(seed)
    given = rng.integers(-1, n_classes, n)
    contradicted = (rng.random(n) < 0.05 * (1 + given)) & (given >= 0)
    return rng, given, contradicted


def test_the_chance_is_that_of_draws_of_as_many_new_rows_of_each_label(seed):
    rng, given, contradicted = make_labels(seed)
    new = rng.random(400) < 0.1
    chance, found = measure_chance(contradicted, new, given), []
    for _ in range(4000):
        drawn = new.copy()
        for label in range(3):
            rows = np.flatnonzero(given == label)
            drawn[rows] = rng.permutation(new[rows])
        found.append((contradicted & drawn).sum())
    share = np.mean(np.array(found) >= (contradicted & new).sum())
    assert abs(chance - share) < 4 * np.sqrt(0.25 / 4000)


def test_new_rows_like_the_others_fail_at_most_as_often_as_stated(seed):
    rng, given, contradicted = make_labels(seed)
    fails = [measure_chance(contradicted, rng.random(400) < 0.05, given) < CHANCE for _ in range(1000)]
    assert np.mean(fails) <= CHANCE + 2 * np.sqrt(CHANCE * (1 - CHANCE) / 1000)


def test_with_one_label_it_is_the_hypergeometric_tail_and_without_new_rows_one():
    given, contradicted = np.zeros(100, dtype=int), np.arange(100) < 8
    new = np.isin(np.arange(100), [1, 2, 50, 51])
    assert measure_chance(contradicted, new, given) == pytest.approx(hypergeom.sf(1, 100, 8, 4))
    assert measure_chance(contradicted, np.zeros(100, dtype=bool), given) == 1


@pytest.mark.parametrize("interval, explained, outcome", [
    ((0.051, 0.2), True, "failed"), ((0.05, 0.1), True, "passed"), ((0.0, 0.04), True, "passed"),
    ((0.0, 0.15), True, "unknown"), ((0.0, 1.0), False, "unknown"),
])  # fmt: skip
def test_the_lower_end_decides_and_an_interval_that_is_too_wide_says_nothing(interval, explained, outcome):
    noise = SimpleNamespace(error_rate_interval=interval, explained=explained)
    assert judge_rate(noise, 0.05)["outcome"] == outcome

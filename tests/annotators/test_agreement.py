"""Alpha and kappa are those of the literature and of other packages."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from subsvms.annotators import measure_agreement
from subsvms.annotators._answers import read_answers
from subsvms.annotators._people import measure_kappa

FOUR_OBSERVERS = """
    1 2 3 3 2 1 4 1 2 . . .
    1 2 3 3 2 2 4 1 2 5 . 3
    . 3 3 3 2 3 4 2 2 5 1 .
    1 2 3 3 2 4 4 1 2 5 1 .
"""  # Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011: a line for each observer
TWO_OBSERVERS = "0 1 0 0 0 0 0 0 1 0\n1 1 1 0 0 1 0 0 0 0"  # the same, two observers, binary data


def list_answers(text):
    lines = [line.split() for line in text.strip().splitlines()]
    return [[None if one == "." else one for one in line] for line in zip(*lines, strict=True)]


@pytest.mark.parametrize(("text", "alpha"), [(FOUR_OBSERVERS, 0.743), (TWO_OBSERVERS, 0.095)])
def test_alpha_is_that_of_published_examples(text, alpha):
    assert measure_agreement(list_answers(text)) == pytest.approx(alpha, abs=5e-4)


def test_alpha_is_that_of_the_krippendorff_package(ask):
    other = pytest.importorskip("krippendorff")
    _, wide = ask([0.1, 0.3, 0.5])
    wide[np.random.default_rng(0).random(wide.shape) < 0.3] = None
    numbers = np.array([[np.nan if one is None else "abc".index(one) for one in line] for line in wide.T])
    assert measure_agreement(wide) == pytest.approx(other.alpha(numbers, level_of_measurement="nominal"))


@pytest.mark.parametrize("answers", [[["a", "a"], ["a", "a"]], [["a", None], [None, "b"]]])
def test_alpha_is_not_known_where_nothing_can_differ(answers):
    assert np.isnan(measure_agreement(answers))


def test_kappa_is_the_mean_of_pairs_and_not_known_of_few_shared_rows(ask):
    _, wide = ask([0.1, 0.3, 0.5], n=50)
    wide[5:, 2] = None
    found = measure_kappa(read_answers(wide))
    pair = cohen_kappa_score(wide[:, 0].tolist(), wide[:, 1].tolist())
    np.testing.assert_allclose(found, [pair, pair, np.nan])

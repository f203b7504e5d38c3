"""People are described as they are, beside chance."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from subsvms.annotators import find_consensus, measure_agreement
from subsvms.annotators._answers import read_answers
from subsvms.annotators._people import measure_kappa


def test_limits_hold_the_share_that_is_right_of_good_people_and_guessers(ask):
    truth, wide = ask([0.1, 0.2, 0.3, 2 / 3], n=500)
    for person, said in zip(find_consensus(None, wide).people, wide.T, strict=True):
        assert person.low - 0.03 <= np.mean(said == truth) <= person.high + 0.03
        assert person.low <= person.right <= person.high
        np.testing.assert_allclose(person.matrix.sum(axis=1), 1.0)
    assert [person.depends for person in find_consensus(None, wide).people] == [True, True, True, False]


def test_an_adversary_says_the_opposite_and_is_used_as_such(ask):
    truth, wide = ask([0.1, 0.15, 0.2], n=400, classes=("no", "yes"))
    opposite = np.where(truth == "no", "yes", "no")
    with_liar = find_consensus(None, np.column_stack([wide, opposite]))
    assert with_liar.people[3].advice.startswith("says the opposite") and with_liar.people[3].depends
    assert np.mean(with_liar.labels != truth) < np.mean(find_consensus(None, wide).labels != truth)


def test_classes_that_a_person_mixes_up_are_named(ask):
    truth, wide = ask([0.1, 0.1, 0.1], n=400)
    wide[:, 2] = np.where((truth == "a") & (np.arange(400) % 2 == 0), "b", truth)
    (mixed, *_) = (person := find_consensus(None, wide).people[2]).mixed
    assert mixed[:2] == ("a", "b") and mixed[2] == pytest.approx(0.5, abs=0.1)
    assert person.advice.startswith("says 'b' for") and "person 3: 400 answers" in str(person)


def test_of_three_answers_not_much_is_said(ask):
    _, wide = ask([0.1] * 4, n=60)
    wide[3:, 3] = None
    person = find_consensus(None, wide).people[3]
    assert person.advice == "too few answers to say" and person.high - person.low > 0.3
    assert np.isnan(person.kappa)


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

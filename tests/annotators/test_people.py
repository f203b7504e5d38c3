"""People are described as they are, beside chance."""

import numpy as np
import pytest

from subsvms.annotators import find_consensus


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

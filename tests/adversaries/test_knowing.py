"""Flips that are chosen against a corrector, which is only called."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from subsvms.adversaries import ATTACKS, attack, greedy_flips, knowing_flips
from subsvms.exceptions import InputError

X, Y = make_moons(150, noise=0.25, random_state=0)


def smooth(labels):
    return KNeighborsClassifier(9).fit(X, labels).predict(X)


def count_left(given):
    return int(np.sum(smooth(given.labels) != Y))


@pytest.mark.parametrize("alpha", [None, 0.5])
def test_more_labels_stay_wrong_than_after_any_attack_that_does_not_know_the_corrector(alpha):
    how = {"error_rate": 0.1, "alpha": alpha, "random_state": 0}
    known = knowing_flips(X, Y, smooth, **how)
    names = ATTACKS.keys() - {"class-conditional"} - ({"region"} if alpha else {"directed"})
    others = [attack(name, X, Y, **how) for name in names]
    assert known.flipped.sum() == np.sum(known.labels != Y) == 15
    assert count_left(known) > max(map(count_left, others))


def test_more_rounds_do_more_harm_and_the_same_seed_the_same():
    few, many, again = (knowing_flips(X, Y, smooth, n_rounds=n, random_state=1) for n in (1, 30, 30))
    assert count_left(many) > count_left(few)
    np.testing.assert_array_equal(many.labels, again.labels)


def test_flips_that_a_corrector_mends_are_traded_for_others():
    harmless = np.arange(len(Y)) % 2 == 0  # the corrector knows these labels, and mends no other

    def correct(labels):
        return np.where(harmless, Y, labels)

    assert (
        not knowing_flips(X, Y, correct, error_rate=0.05, n_rounds=60, random_state=0).flipped[harmless].any()
    )
    assert greedy_flips(X, Y, error_rate=0.05).flipped[harmless].any()


def test_classes_may_be_many_words_and_a_budget_of_nothing_flips_nothing():
    y = np.array(["one", "two", "three"])[np.arange(len(Y)) % 3]
    assert knowing_flips(X, y, np.copy, error_rate=0.1).flipped.sum() == 15
    assert not knowing_flips(X, y, np.copy, error_rate=0.0).flipped.any()


@pytest.mark.parametrize("bad, message", [
    ({"correct": 3}, "correct must be a function of labels; got int"),
    ({"correct": lambda labels: labels[:2]}, "must return a label for each of the 150 rows; it returned"),
    ({"n_rounds": 0}, "n_rounds must be a positive whole number; got 0"),
])  # fmt: skip
def test_what_cannot_be_is_refused(bad, message):
    with pytest.raises(InputError, match=message):
        knowing_flips(X, Y, **({"correct": np.copy} | bad))

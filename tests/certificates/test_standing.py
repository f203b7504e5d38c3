from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from linear_tables import list_flips, make_committee, make_table, retrain, still_stands
from numpy.testing import assert_array_equal
from scipy.optimize import linprog
from sklearn.base import clone

from subsvms.certificates import _standing, certify, count_standing
from subsvms.certificates._standing import bound_turned, certify_together
from subsvms.ensemble import LinearCommittee
from subsvms.exceptions import InputError


@pytest.fixture(scope="module")
def committee(cancer):
    return LinearCommittee(random_state=0).fit(*cancer)


@given(st.integers(0, 10**6), st.integers(0, 4))
def test_no_choice_of_flips_turns_more_than_the_bound(seed, n_flips):
    rng = np.random.default_rng(seed)
    shares = np.maximum(rng.normal(size=(6, 8)), 0) * rng.uniform(0.1, 1)
    worst = max(np.sum(shares[:, list(z)].sum(axis=1) >= 1) for z in combinations(range(8), n_flips))
    assert worst <= bound_turned(shares, np.ones(6, dtype=int), n_flips)
    grouped = np.stack([shares[:4].sum(axis=0), shares[4:].sum(axis=0), np.zeros(8)])
    assert worst <= bound_turned(grouped, np.array([4, 2, 0]), n_flips)


def test_the_bound_is_close_to_that_of_the_linear_program(seed):
    """It is never below, as every theta gives a bound; and after the last step it is hardly above."""
    rng = np.random.default_rng(seed)
    for n_flips in (2, 5, 10):
        shares = np.maximum(rng.normal(size=(60, 80)), 0) * rng.uniform(0.02, 0.3, size=(60, 1))
        n_rows, n = shares.shape
        goal = np.concatenate([np.zeros(n), -np.ones(n_rows)])
        limits = np.block([[-shares, np.eye(n_rows)], [np.ones((1, n)), np.zeros((1, n_rows))]])
        right = np.concatenate([np.zeros(n_rows), [n_flips]])
        optimum = -linprog(goal, limits, right, bounds=(0, 1)).fun
        found = bound_turned(shares, np.ones(n_rows, dtype=int), n_flips)
        assert int(optimum - 1e-6) <= found <= optimum + 0.02 * n_rows


@pytest.mark.parametrize("n_classes, n_flips", [(2, 2), (2, 1), (3, 1)])
def test_at_least_as_many_verdicts_stand_as_is_said(n_classes, n_flips):
    """Every choice of labels, with retraining; in most tables some verdicts stand."""
    n_tables = 0
    for seed in range(6):
        X, labels = make_table(seed, 12, n_classes)
        committee = make_committee(X, labels, seed, size=5)
        verdicts = certify(committee).verdicts
        n_standing = count_standing(committee, n_flips).n_standing
        for flipped in list_flips(labels, n_classes, n_flips):
            assert still_stands(retrain(committee, X, flipped), verdicts).sum() >= n_standing
        n_tables += n_standing > 0
    assert n_tables >= 4


def test_together_at_least_as_many_stand_as_one_by_one(committee, monkeypatch):
    withstands = certify(committee).withstands
    numbers = {m: count_standing(committee, m).n_standing for m in (0, 1, 10, 50, 150)}
    assert numbers[0] == len(withstands)
    assert list(numbers.values()) == sorted(numbers.values(), reverse=True)
    assert all(number >= np.sum(withstands >= m) for m, number in numbers.items())
    assert numbers[10] > np.sum(withstands >= 10)
    threads = clone(committee).set_params(n_jobs=3).fit(committee._table, committee.labels_)
    assert count_standing(threads, 50).n_standing == numbers[50]
    monkeypatch.setattr(_standing, "N_GROUPS", 1)  # a weaker bound that is true
    assert np.sum(withstands >= 50) <= count_standing(committee, 50).n_standing <= numbers[50]


def test_rows_with_another_verdict_do_not_count_and_one_pass_gives_what_both_functions_give(committee):
    rows = np.arange(100)
    certificate, standing = certify_together(committee, 5, rows=rows, n_carriers=3)
    assert standing == count_standing(committee, 5, rows=rows)
    for name, values in vars(certify(committee, rows=rows, n_carriers=3)).items():
        assert_array_equal(getattr(certificate, name), values)
    suggested = np.where(rows < 40, 1 - certificate.verdicts, certificate.verdicts)
    standing = count_standing(committee, 5, rows=rows, suggested=suggested.tolist())
    assert (standing.n_rows, standing.n_agreeing) == (100, 60)
    assert standing.n_standing == count_standing(committee, 5, rows=rows[40:]).n_standing
    assert count_standing(committee, 5, rows=rows, suggested=["?"] * 100).n_standing == 0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_attackers_of_a_whole_run_never_leave_fewer_than_is_said(seed, n_classes):
    """Sets of labels that are chosen for many rows at once, most influential first, and random ones."""
    rng = np.random.default_rng(seed)
    X, clean = make_table(seed, 90, n_classes, n_features=3)
    labels = np.where(rng.random(90) < 0.15, rng.integers(0, n_classes, 90), clean)
    committee = make_committee(X, labels, seed, size=12, n_members=30)
    rows = np.flatnonzero(labels != clean)
    verdicts, a = certify(committee, rows=rows).verdicts, committee.weigh(rows=rows)
    agreeing = verdicts == clean[rows]
    towards = np.where(labels == verdicts[:, None], a, -a)[agreeing]
    n_tight = 0
    for n_flips in (1, 3, 8):
        standing = count_standing(committee, n_flips, rows=rows, suggested=clean[rows])
        assert (standing.n_rows, standing.n_agreeing) == (len(rows), agreeing.sum())
        order = np.argsort(-towards.sum(axis=0))
        choices = [order[:n_flips]]
        choices += [np.argsort(-one)[:n_flips] for one in towards]
        choices += [np.argsort(-rng.random(len(towards)) @ towards)[:n_flips] for _ in range(10)]
        choices += [rng.choice(order[:30], n_flips, replace=False) for _ in range(10)]
        choices += [rng.choice(90, n_flips, replace=False) for _ in range(10)]
        fewest = len(rows)
        for chosen in choices:
            flipped = labels.copy()
            flipped[chosen] = (labels[chosen] + rng.integers(1, n_classes, n_flips)) % n_classes
            if len(np.unique(flipped)) == n_classes:
                scores = retrain(committee, X, flipped, rows)
                fewest = min(fewest, int(np.sum(agreeing & still_stands(scores, clean[rows]))))
        assert fewest >= standing.n_standing
        n_tight += fewest < agreeing.sum()
    assert n_tight > 0  # the attackers are not harmless


def test_mistakes_are_answered_with_a_sentence(committee):
    with pytest.raises(InputError, match="n_flips must be a whole number, at least 0; got 1.5"):
        count_standing(committee, 1.5)
    with pytest.raises(InputError, match="suggested must have a label for each of 2 rows; got 3"):
        count_standing(committee, 1, rows=[3, 4], suggested=[0, 1, 0])

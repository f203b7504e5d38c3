"""Claims at any stop: by counting all draws of small tables, by their proof, and by whole audits."""

import numpy as np
import pytest
from known_rings import make_suspicious

from subsvms.audit import Target, certify_target
from subsvms.audit import _any_stop as any_stop
from subsvms.audit._any_stop import Totals, plan_answers


def make_target(seed=0, **how):
    ranking, truth = make_suspicious(seed)
    return certify_target(ranking, 0.05, any_stop=True, random_state=seed, **how), ranking, truth


def follow(wrong, n_hunted, rate, delta):
    """Return the probability that a claim is ever false, if these rows are looked at before the draws."""
    n, total = len(wrong), sum(wrong)
    found = sum(wrong[:n_hunted])

    def ever_false(totals, n_left, n_found):
        if total - n_found > totals.count_most(n_left, n_found):
            return 1.0
        if not n_left:
            return 0.0
        p = (total - n_found) / n_left
        parts = ((p, True), (1 - p, False))
        return sum(
            share * ever_false(totals.draw(bad, n_left, n_found, rate, delta), n_left - 1, n_found + bad)
            for share, bad in parts
            if share
        )

    return ever_false(Totals.begin(n), n - n_hunted, found)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.6])
@pytest.mark.parametrize("delta", [0.1, 0.3])
@pytest.mark.parametrize("n_hunted", [0, 3])
def test_no_table_breaks_a_claim_at_any_moment_too_often(rate, delta, n_hunted):
    for total in range(9):
        for hits in range(max(0, total - 8 + n_hunted), min(n_hunted, total) + 1):
            wrong = [True] * hits + [False] * (n_hunted - hits) + [True] * (total - hits)
            wrong += [False] * (8 - len(wrong))
            assert follow(wrong, n_hunted, rate, delta) <= delta + 1e-9


def test_a_bet_that_is_made_after_the_draw_breaks_it(monkeypatch):
    """The proof needs a bet before the draw: one that knows the answer rejects what is true."""
    honest, broken = follow([True] * 3 + [False] * 6, 0, 0.2, 0.1), Totals.draw
    monkeypatch.setattr(
        Totals, "draw", lambda self, bad, *how: broken(self, bad, *how[:2], 0.9 if bad else 0.01, *how[3:])
    )
    monkeypatch.setattr(any_stop, "SAFE", 5.0)
    assert honest <= 0.1 < follow([True] * 3 + [False] * 6, 0, 0.2, 0.1)


def test_what_is_impossible_is_rejected_without_any_doubt():
    totals = Totals.begin(5).draw(True, 5, 0, 0.5, 0.05)
    assert totals.numbers[0] == 1 and totals.draw(False, 4, 1, 0.5, 0.05).numbers[-1] == 4
    assert Totals.begin(5).count_most(2, 1) == 2 and totals.count_most(0, 1) == 0


def test_each_draw_keeps_the_mean_of_every_number_that_may_be_the_true_one():
    before = Totals.begin(40)
    for w in range(1, 40):
        means = 0.0
        for bad, p in ((True, w / 40), (False, 1 - w / 40)):
            after = before.draw(bad, 40, 0, 0.1, 1e-9)
            means += p * np.exp(after.log_e[after.numbers == w])[0]
        assert means == pytest.approx(1.0)


def test_a_good_order_is_looked_through_first_and_a_useless_one_is_drawn_from():
    good = np.concatenate([np.full(100, 0.9), np.full(900, 0.001)])
    looked, answers = plan_answers(good, 20, 3.0)
    assert 80 <= looked <= 110 and looked < answers < 400
    looked, answers = plan_answers(np.full(1000, 0.01), 20, 3.0)
    assert looked == 0 and answers < 1000
    assert plan_answers(np.full(10, 0.5), 10, 3.0) == (0, 0)


def test_an_audit_claims_after_each_answer_and_ends_at_its_target(seed):
    target, ranking, truth = make_target(seed)
    rng = np.random.default_rng(seed)
    assert target.claim.at_most == target.n_rows and target.forecast.n_answers > 0
    before = target.n_rows
    while (row := target.next_row) is not None:
        target.answer(row, truth[row])
        now = target.claim
        assert now.holds and now.at_most <= before and now.at_most >= 0
        before = now.at_most
        if rng.random() < 0.02:
            again = Target.load(target.state, ranking)
            assert again.next_row == target.next_row and again.claim.at_most == now.at_most
    claim = target.claim
    assert claim.finished and claim.at_most <= target.n_allowed and target.forecast.factor == 1
    assert 0 < target.n_sample <= claim.n_answers < target.n_rows
    assert f"With 95 % confidence at most {claim.at_most} of the 600 labels" in str(claim)
    assert "if your answers are right" in str(claim)


def test_stopped_early_the_labels_are_those_of_the_claim():
    target, ranking, truth = make_target()
    for _ in range(30):
        row = target.next_row
        target.answer(row, None if row % 7 == 0 else truth[row])
    untold = [row for row, label in target.state["answers"] if label is None]
    assert target.claim.n_untold == len(untold) and target.claim.at_most >= len(untold)
    changed = np.flatnonzero(target.labels != ranking.classes[ranking.given])
    assert set(changed) <= {row for row, _ in target.state["answers"]}


def test_claims_at_any_stop_are_false_as_seldom_as_they_say(seed):
    """Whatever the order: a person who stops at the worst moment is told too little as seldom."""
    false, runs, n = 0, 25, 100
    rng = np.random.default_rng(seed)
    for run in range(runs):
        ranking, truth = make_suspicious(run)
        order = ranking.order[:: rng.choice([-1, 1])][:n]
        object.__setattr__(ranking, "order", order)
        target = certify_target(ranking, 0.1, any_stop=True, random_state=run)
        ever = False
        while (row := target.next_row) is not None:
            target.answer(row, truth[row])
            left = np.setdiff1d(order, list(target._first))
            ever |= np.sum((ranking.classes[ranking.given] != truth)[left]) > target.claim.at_most
        false += ever
    assert false / runs <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)

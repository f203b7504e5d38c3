"""Labels that people verified: they stand, and the rule learns from them."""

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from subsvms import LabelCorrector, SubSVMClassifier
from subsvms.correction._learn import learn_rule
from subsvms.correction._overlap import CloserLook, weigh_agreement
from subsvms.correction._rule import Judgement, Settings, apply_rule
from subsvms.ensemble._sampling import draw_rows


def make_noisy(seed, n=500, wrong=0.2):
    rng = np.random.default_rng(seed)
    clean = np.where(rng.random(n) < 0.4, "yes", "no")
    X = rng.normal(0.5 * (clean == "yes")[:, None], 0.16, (n, 4))
    given = np.where(rng.random(n) < wrong, np.where(clean == "yes", "no", "yes"), clean)
    return X, clean, given


def as_numbers(labels):
    return (labels == "yes").astype(int)


def correct(X, given, verified=None, **options):
    return (
        LabelCorrector(SubSVMClassifier(n_estimators=200), random_state=0, **options)
        .fit(X, given, verified)
        .correction_
    )


def verify(first, labels, n=50):
    """Return what a person says about the most suspicious rows."""
    order = np.argsort(np.where(first.flagged, 0.0, 1.0) + first.label_quality, kind="stable")[:n]
    verified = np.full(len(labels), None, dtype=object)
    verified[order] = labels[order]
    return verified


def test_without_verified_labels_nothing_changes(seed):
    X, _, given = make_noisy(seed)
    plain, empty = correct(X, given), correct(X, given, np.full(len(given), None, dtype=object))
    assert np.array_equal(plain.labels, empty.labels)
    assert np.array_equal(plain.judgement.posterior, empty.judgement.posterior)


def test_fifty_true_decisions_stand_and_leave_fewer_wrong_labels(seed):
    X, clean, given = make_noisy(seed)
    first = correct(X, given)
    again = correct(X, given, verify(first, clean))
    assert np.sum(again.labels != clean) <= np.sum(first.labels != clean)
    assert again.decided.sum() == 50 and np.array_equal(again.labels[again.decided], clean[again.decided])


def test_verified_labels_are_metadata_that_scikit_learn_routes():
    X, clean, given = make_noisy(0, n=100)
    verified = np.where(np.arange(100) < 20, clean, None)
    corrector = LabelCorrector(SubSVMClassifier(n_estimators=50), random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(MinMaxScaler(), corrector.set_fit_request(verified=True))
        found = pipeline.fit(X, given, verified=verified)[-1].correction_
    assert found.decided.sum() == 20 and np.array_equal(found.labels[:20], clean[:20])
    assert np.array_equal(corrector.fit_resample(X, given, verified)[1][:20], clean[:20])


def test_verified_rows_take_no_place_of_the_labels_that_may_change():
    X, _, given = make_noisy(0)
    first = correct(X, given, max_error_rate=0.05)
    surest = np.flatnonzero(first.flagged)
    verified = np.full(len(given), None, dtype=object)
    verified[surest] = first.labels[surest]  # a person agrees
    second = correct(X, given, verified, max_error_rate=0.05)
    assert len(surest) == 25 and second.flagged.sum() == 25 and not second.flagged[surest].any()


@pytest.mark.parametrize("n", [20, 50])
def test_decisions_that_contradict_the_rule_stop_it(seed, n):
    """A person who keeps every label: the classes overlap by nature, and nothing more is changed."""
    X, _, given = make_noisy(seed)
    first = correct(X, given)
    again = correct(X, given, verify(first, given, n))
    assert first.changed.sum() > 60 and again.changed.sum() == 0


def test_decisions_on_rows_outside_the_sample_stand_and_say_nothing_about_others(monkeypatch):
    """Of a large table only a sample is looked at; in parts the others are not even there."""
    monkeypatch.setattr("subsvms.ensemble._sampling.choose_pool_size", lambda n_rows: 100)
    X, _, given = make_noisy(0)
    outside = np.flatnonzero(~draw_rows(as_numbers(given), 2, seed=0).in_sample(np.arange(500)))
    assert len(outside) == 100
    verified = np.full(500, None, dtype=object)
    verified[outside] = given[outside]
    plain, again = correct(X, given), correct(X, given, verified)
    others = np.setdiff1d(np.arange(500), outside)
    assert np.array_equal(plain.judgement.posterior[others], again.judgement.posterior[others])
    assert np.array_equal(again.labels[outside], given[outside])
    verified[others[:50]] = given[others[:50]]
    again = correct(X, given, verified)
    assert not np.array_equal(plain.judgement.posterior[others], again.judgement.posterior[others])


def test_the_frame_says_what_a_person_decided(seed):
    pytest.importorskip("pandas")
    X, clean, given = make_noisy(seed)
    first = correct(X, given)
    row = int(np.flatnonzero(first.flagged)[0])
    verified = np.full(len(given), None, dtype=object)
    verified[row] = given[row]
    frame = correct(X, given, verified).to_frame()
    assert frame["action"][row] == "verified" and frame["corrected_label"][row] == given[row]
    assert frame["reason"][row].startswith("verified: a person decided") and not frame["is_label_issue"][row]
    assert frame["label_quality"][row] == 1.0


def test_what_a_person_decided_has_full_weight(seed):
    """Also where they say that the given label was wrong: the label is theirs now."""
    X, clean, given = make_noisy(seed)
    rows = np.flatnonzero(given != clean)[:5]
    verified = np.full(len(given), None, dtype=object)
    verified[rows] = clean[rows]
    correction = correct(X, given, verified, action="weight")
    assert np.all(correction.labels[rows] == clean[rows]) and np.all(correction.sample_weight[rows] == 1)


def test_a_row_without_a_label_can_be_verified():
    X, clean, given = make_noisy(0)
    given = given.astype(object)
    given[7] = None
    verified = np.full(len(given), None, dtype=object)
    verified[7] = clean[7]
    found = correct(X, given, verified)
    assert found.labels[7] == clean[7] and found.action[7] == "verified" and not found.changed[7]


class AlwaysApart(CloserLook):
    """Tells any two sets of rows apart."""

    def separate(self, rows, side):
        return side.astype(float)


@pytest.mark.parametrize(("says", "stopped"), [("nothing", True), ("given", True), ("clean", False)])
def test_people_who_agree_overrule_the_test_for_overlap(seed, says, stopped):
    X, clean, given = make_noisy(seed)
    first = correct(X, given)
    numbers = {"given": as_numbers(given), "clean": as_numbers(clean)}
    verified = np.full(len(given), -1)
    if says != "nothing":
        asked = np.argsort(first.label_quality)[:40]
        verified[asked] = numbers[says][asked]
    rule, _ = learn_rule(
        first.classes, numbers["given"], first.votes, Settings(), look=AlwaysApart(0), verified=verified
    )
    flagged = apply_rule(rule, first.votes, numbers["given"]).flagged
    assert (np.sum(flagged & (verified < 0)) == 0) == stopped


def test_agreement_is_the_odds_of_the_answers(seed):
    """Written out row by row: the rule's posterior against the given label, both with slips."""
    rng = np.random.default_rng(seed)
    posterior, given = rng.dirichlet(np.ones(3), 40), rng.integers(3, size=40)
    verified = rng.integers(-1, 3, 40)
    suggested = (given + rng.integers(1, 3, 40)) % 3
    flagged = rng.random(40) < 0.7
    judgement = Judgement(posterior, suggested, flagged, *[np.zeros(40)] * 4)
    expected = np.zeros(3)
    for i in range(40):
        if flagged[i] and verified[i] >= 0:
            wrong = 0.98 * posterior[i, verified[i]] + 0.02 / 3
            right = 0.98 * (verified[i] == given[i]) + 0.02 / 3
            expected[suggested[i]] += np.log(wrong / right)
    assert np.allclose(weigh_agreement(judgement, given, verified), expected)

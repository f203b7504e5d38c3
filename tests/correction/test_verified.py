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
    corrector = LabelCorrector(SubSVMClassifier(n_estimators=200), random_state=0, **options)
    return corrector.fit(X, given, verified).correction_


def tell(rows, labels):
    """Return verified labels: those of some rows, and None elsewhere."""
    verified = np.full(len(labels), None, dtype=object)
    verified[rows] = labels[rows]
    return verified


def verify(first, labels, n=50):
    """Return what a person says about the most suspicious rows."""
    order = np.argsort(np.where(first.flagged, 0.0, 1.0) + first.label_quality, kind="stable")
    return tell(order[:n], labels)


def test_true_decisions_leave_fewer_wrong_labels_those_that_contradict_the_rule_stop_it_none_do_nothing(seed):
    """A person who keeps every label: the classes overlap by nature, and nothing more is changed."""
    X, clean, given = make_noisy(seed)
    first, without = correct(X, given), correct(X, given, tell([], given))
    assert np.array_equal(first.labels, without.labels) and first.changed.sum() > 60
    assert np.array_equal(first.judgement.posterior, without.judgement.posterior)
    again = correct(X, given, verify(first, clean))
    assert np.sum(again.labels != clean) <= np.sum(first.labels != clean)
    assert again.decided.sum() == 50 and np.array_equal(again.labels[again.decided], clean[again.decided])
    for n in (20, 50):
        assert correct(X, given, verify(first, given, n)).changed.sum() == 0


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
    second = correct(X, given, tell(surest, first.labels), max_error_rate=0.05)  # a person agrees
    assert len(surest) == 25 and second.flagged.sum() == 25 and not second.flagged[surest].any()


def test_decisions_on_rows_outside_the_sample_stand_and_say_nothing_about_others(monkeypatch):
    """Of a large table only a sample is looked at; in parts the others are not even there."""
    monkeypatch.setattr("subsvms.ensemble._sampling.choose_pool_size", lambda n_rows: 100)
    X, _, given = make_noisy(0)
    is_outside = ~draw_rows(as_numbers(given), 2, seed=0).in_sample(np.arange(500))
    outside, others = np.flatnonzero(is_outside), np.flatnonzero(~is_outside)
    assert len(outside) == 100
    plain, again, more = (
        correct(X, given, tell(rows, given)) for rows in ([], outside, [*outside, *others[:50]])
    )
    assert np.array_equal(plain.judgement.posterior[others], again.judgement.posterior[others])
    assert np.array_equal(again.labels[outside], given[outside])
    assert not np.array_equal(plain.judgement.posterior[others], more.judgement.posterior[others])


def test_what_a_person_decided_is_said_and_has_full_weight_also_without_a_given_label(seed):
    X, clean, given = make_noisy(seed)
    wrong, (gone, *right) = (np.flatnonzero(rows)[:5] for rows in (given != clean, given == clean))
    given = given.astype(object)
    given[gone] = None
    rows = [*wrong, gone, *right]
    correction = correct(X, given, tell(rows, clean), action="weight")
    assert np.all(correction.sample_weight[rows] == 1) and not correction.changed[gone]
    frame = correction.to_frame().iloc[rows]
    assert np.all(frame["action"] == "verified") and np.all(frame["corrected_label"] == clean[rows])
    assert frame["reason"].str.startswith("verified: a person decided").all()
    assert not frame["is_label_issue"].any() and np.all(frame["label_quality"][right] == 1.0)


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

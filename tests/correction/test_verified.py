"""Labels that people verified: they stand, and make the rule more careful, never bolder."""

import numpy as np
import pytest

from subsvms import LabelCorrector, SubSVMClassifier
from subsvms.correction._verified import find_shift, temper
from subsvms.exceptions import InputError


def make_noisy(seed, n=500, wrong=0.2):
    rng = np.random.default_rng(seed)
    clean = np.where(rng.random(n) < 0.4, "yes", "no")
    X = rng.normal(0.5 * (clean == "yes")[:, None], 0.16, (n, 4))
    given = np.where(rng.random(n) < wrong, np.where(clean == "yes", "no", "yes"), clean)
    return X, clean, given


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


def test_fifty_true_decisions_are_never_worse_than_none(seed):
    X, clean, given = make_noisy(seed)
    first = correct(X, given)
    again = correct(X, given, verify(first, clean))
    assert np.sum(again.labels != clean) <= np.sum(first.labels != clean)
    assert again.decided.sum() == 50 and np.array_equal(again.labels[again.decided], clean[again.decided])


def test_decisions_that_contradict_the_rule_stop_it(seed):
    """A person who keeps every label: the classes overlap by nature, and nothing more is changed."""
    X, _, given = make_noisy(seed)
    first = correct(X, given)
    again = correct(X, given, verify(first, given))
    assert first.changed.sum() > 60 and again.changed.sum() == 0


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


def test_another_class_or_length_is_refused():
    X, _, given = make_noisy(0)
    with pytest.raises(InputError, match="verified must hold classes of y.*got 'maybe' in row 0"):
        correct(X, given, ["maybe", *[None] * 499])
    with pytest.raises(InputError, match="one entry for each of the 500 rows; got 3"):
        correct(X, given, [None] * 3)


def test_posteriors_stay_probabilities_and_only_shrink_towards_the_given_label(seed):
    rng = np.random.default_rng(seed)
    posterior = rng.dirichlet([1, 1, 1], 200)
    given = rng.integers(-1, 3, 200)
    verified = np.where(rng.random(200) < 0.3, given, -1)
    found = temper(posterior, given, verified)
    assert np.allclose(found.sum(axis=1), 1.0) and found.min() >= 0
    known = (given >= 0) & (verified < 0)
    own = found[known, given[known]], posterior[known, given[known]]
    assert np.all(own[0] >= np.minimum(own[1], 0.98) - 1e-9)
    assert np.array_equal(found[given < 0], posterior[given < 0])


@pytest.mark.parametrize(("n_refused", "shifted"), [(0, False), (2, False), (3, True), (20, True)])
def test_refusals_matter_only_if_there_are_more_than_predicted(n_refused, shifted):
    """Of fifty labels that are thought wrong with probability 0.98 one is expected to be right."""
    posterior = np.tile([0.02, 0.98], (80, 1))
    given = np.zeros(80, dtype=int)
    verified = np.r_[np.zeros(n_refused, dtype=int), np.ones(50 - n_refused, dtype=int), np.full(30, -1)]
    found = temper(posterior, given, verified)
    assert np.all(found[50:, 0] > 0.02) == shifted
    if not shifted:
        assert np.array_equal(found[50:], posterior[50:])


def test_the_shift_is_where_the_derivative_is_zero(seed):
    rng = np.random.default_rng(seed)
    wrong, z = rng.uniform(0.02, 0.98, 40), rng.random(40) < 0.3
    b = find_shift(wrong, z)
    grid = np.linspace(-6, 6, 4001)
    logits = np.log(wrong / (1 - wrong))[:, None] + grid
    value = (
        np.where(z[:, None], -np.logaddexp(0, -logits), -np.logaddexp(0, logits)).sum(axis=0) - grid**2 / 2
    )
    assert b == pytest.approx(grid[value.argmax()], abs=0.004)
